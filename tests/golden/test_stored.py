"""Old workspaces as users have them, opened by today's code: people's work is whole, and verdicts hang on what they hung on."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.golden.now import differences
from tests.golden.playing import Asked, Pictures, Table, replaying
from tests.golden.test_replays import STORED, unpacked
from tests.typed import proctor

from proctor.ask.clip.filters import FilterResult
from proctor.ask.moment.candidate import Candidate
from proctor.llm.outcome import Failure
from proctor.records import content_hash, read_jsonl, write_jsonl
from proctor.stages.clip.reading import load_verdicts
from proctor.stages.questions import workspace_questions
from proctor.stages.studio import open_desk, sync_desk
from proctor.stages.verify import store_filters
from proctor.verify.desk.events import check_chain
from proctor.verify.filter_verdict import ALL_FILTERS
from proctor.verify.store import VerdictStore
from proctor.workspace import Workspace

PEOPLE = STORED / "people"


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    return unpacked("people", tmp_path)


def exported(bench: Path, name: str) -> list[Any]:
    """Return every raw row of what people said; when a case was decided is written anew by every start, of old."""
    done = proctor("studio", "export", bench, "rows", bench / name)
    assert done.status == 0, done.err
    rows = [json.loads(line) for line in (bench / name).read_text().splitlines()]
    return [{field: value for field, value in row.items() if field != "decided_at"} for row in rows]


def test_the_studio_starts_on_an_old_project_and_only_what_had_changed_is_judged_anew(bench: Path) -> None:
    known = json.loads((bench / "known.json").read_text())
    before = exported(bench, "before.rows.jsonl")
    with open_desk(bench, create=False) as desk:
        synced = sync_desk(bench, desk)
        assert synced is not None
        assert (synced.new, synced.changed, synced.gone) == (0, len(known["changed"]), 1)
        assert synced.same == 45
        assert desk.read(check_chain) == (116, None)  # one more: what was brought in line
        assert sync_desk(bench, desk) is None
    touched = {*known["changed"], known["gone"]}
    after = exported(bench, "after.rows.jsonl")
    lost = [r for r in before if r not in after and r.get("candidate_id") not in touched]
    fresh = [r for r in after if r not in before and r.get("candidate_id") not in touched]
    assert (lost, [r.get("kind", r["table"]) for r in fresh]) == ([], ["items.synced"])


def test_candidates_that_came_about_in_another_way_void_nothing(bench: Path) -> None:
    known = json.loads((bench / "known.json").read_text())
    path = bench / "candidates.jsonl"
    was = list(read_jsonl(path, Candidate))
    made = [msgspec.structs.replace(c.provenance, version="99", example_hash="") for c in was]
    write_jsonl(path, [msgspec.structs.replace(c, provenance=p) for c, p in zip(was, made, strict=True)])
    with open_desk(bench, create=False) as desk:
        synced = sync_desk(bench, desk)
        assert synced is not None
        assert (synced.new, synced.changed, synced.gone) == (0, len(known["changed"]), 1)
        write_jsonl(path, was)  # and back again
        synced = sync_desk(bench, desk)
        assert synced is not None
        assert (synced.new, synced.changed, synced.gone) == (0, 0, 0)
    assert proctor("build", bench, "--accept", "humans").status == 0
    stored = PEOPLE / "results" / "release" / "items.jsonl"
    assert differences("items.jsonl", stored.read_text(), (bench / "items.jsonl").read_text()) == []


def test_the_chain_of_events_is_whole(bench: Path) -> None:
    assert proctor("studio", "check", bench).status == 0
    with open_desk(bench, create=False) as desk:
        assert desk.read(check_chain) == (115, None)


def test_verdicts_hang_on_what_they_hung_on(bench: Path) -> None:
    stored = json.loads((PEOPLE / "hashes.json").read_text())
    now = {c.id: content_hash(c) for c in read_jsonl(bench / "candidates.jsonl", Candidate)}
    assert now == {name: entry["now"] for name, entry in stored.items() if entry["now"] is not None}
    verdicts: dict[str, dict[str, str]] = {}
    with VerdictStore.open(bench / "verification.sqlite", create=False) as store:
        for _, v in store.history():
            verdicts.setdefault(v.candidate_id, {})[f"{v.annotator} ({v.role}) {v.at}"] = v.candidate_hash
    assert verdicts == {name: entry["verdicts"] for name, entry in stored.items() if entry["verdicts"]}


def test_what_is_built_today_is_the_stored_release_byte_for_byte(bench: Path) -> None:
    done = proctor("build", bench, "--accept", "humans")
    assert done.status == 0, done.err
    stored = (PEOPLE / "results/release/items.jsonl").read_text()
    assert differences("items.jsonl", stored, (bench / "items.jsonl").read_text()) == []
    for name in ("release/data/test.jsonl", "release/graphs.json"):
        assert (bench / name).read_bytes() == (PEOPLE / "results" / "release" / name).read_bytes(), name


def test_filters_are_annotators_and_majority_builds(bench: Path) -> None:
    """They judge questions alone, which no rule but two could read when the store was made; they have no vote on answers."""
    workspace = Workspace(bench)
    said = load_verdicts(workspace)
    questions = workspace_questions(workspace)
    asked = {question.id for question in questions}
    by_id: dict[str, list[Any]] = {}
    for verdict in said:
        by_id.setdefault(verdict.item_id, []).append(verdict)
    results = [FilterResult(name, tuple(given)) for name, given in by_id.items() if name in asked]
    assert store_filters(workspace, results, questions) > 0
    assert store_filters(workspace, results, questions) == 0  # said before in the same way
    with VerdictStore.open(bench / "verification.sqlite") as store:
        kept = {v.candidate_id: v.question.value for v in store.latest() if v.annotator == ALL_FILTERS}
        assert {v.voice for v in store.latest() if v.annotator.startswith("filter:")} == {"filter"}
    dropped = {r.item_id for r in results if r.outcome == "dropped"}
    assert {name for name, value in kept.items() if value == "wrong"} >= dropped & asked
    done = proctor("build", bench, "--accept", "majority", "--min-confidence", "0.5")
    assert done.status == 0, done.err
    with_filters = (bench / "items.jsonl").read_bytes()
    assert with_filters.count(b"\n") > 5


def whole(store: str, home: Path) -> Path:
    """Return a stored workspace after all its cells, as the old code left it, brought up to date."""
    with zipfile.ZipFile(STORED / store / "workspace.zip") as archive:
        archive.extractall(home)
    done = proctor("upgrade", home / "bench", "--output", home / "today" / "bench")
    assert done.status == 0, done.err
    return home / "today" / "bench"


CLIP = "--kind clip --form {form} --show {show}"
GONE_ON: dict[str, dict[str, str]] = {
    "clips": {
        "clip-choice-openai-gpt-4o-question": f"-p openai/gpt-4o {CLIP.format(form='choice', show='question')}",
        "clip-choice-google-gemini-2.0-flash-steps-circular": f"-p google/gemini-2.0-flash {CLIP.format(form='choice', show='steps')} --circular",
        "clip-anthropic-claude-sonnet-4-5-frames-8f-half-side-style-d": f"-p anthropic/claude-sonnet-4-5 {CLIP.format(form='open', show='frames:8')} --videos {{w}}/videos",
    },
    "documents": {
        "documents-styled-openai-gpt-4o-mini-google-gemini-2.0-flash-gold": "-p openai/gpt-4o-mini --image-model google/gemini-2.0-flash --questions styled",
        "documents-data-anthropic-claude-sonnet-4-5-bm25-lsa-2": "-p anthropic/claude-sonnet-4-5 --questions data --show bm25+lsa@2",
    },
    "moment": {
        "clip-choice-openai-gpt-4o-question": f"-p openai/gpt-4o {CLIP.format(form='choice', show='question')}"
    },
}
"""Commands that go on with a run of the old code, by store and by the name that the run has today."""


JUDGES = {
    "clip-anthropic-claude-sonnet-4-5-frames-8f-half-side-style-d": "openai/gpt-4o",
    "documents-styled-openai-gpt-4o-mini-google-gemini-2.0-flash-gold": "anthropic/claude-sonnet-4-5",
    "documents-data-anthropic-claude-sonnet-4-5-bm25-lsa-2": "openai/gpt-4o",
}


@pytest.mark.parametrize("store", GONE_ON)
def test_upgraded_runs_are_gone_on_with(store: str, tmp_path: Path) -> None:
    bench = whole(store, tmp_path)
    assert not [*bench.glob("clip-runs/*/*/*"), *bench.glob("answers/*/*/*")]
    assert not [line for line in Workspace(bench).stale() if "items.jsonl" in line]
    pictures = Pictures(
        msgspec.json.decode((tmp_path / "pictures.json").read_bytes(), type=Table), bench / "media"
    )
    failures = msgspec.json.decode((STORED / store / "failures.json").read_bytes(), type=dict[str, Failure])
    asked = Asked()
    before = {path: records(path.read_text()) for path in bench.glob("runs/*/*.jsonl")}
    with replaying(asked, pictures, failures):
        for run, typed in GONE_ON[store].items():
            again = ("--retry-failed", "--json")  # the limits of replies stand in proctor.toml
            done = proctor("predict", bench, *typed.format(w=bench).split(), *again)
            assert done.status == 0 or "no model said anything" in done.err, done.err  # again
            (told,) = done.json["runs"]
            failed = {
                p["item_id"] for p in before[bench / "runs" / run / "predictions.jsonl"] if "failure" in p
            }
            assert (told["run"], told.get("note", ""), told["asked_now"]) == (run, "", len(failed))
            if judge := JUDGES.get(run):
                judged = proctor("judge", bench, "-r", run, "-j", judge)
                assert judged.status == 0, judged.err
        rebuilt = (bench / "items.jsonl").read_bytes()
        runs = [word for run in GONE_ON[store] for word in ("-r", run)]
        scored = proctor("score", bench, *runs, "--resamples", "100")
        assert scored.status == 0, scored.err
    assert asked.missed == {}
    assert {path: records(path.read_text()) for path in before} == before
    assert proctor("build", bench).status == 0
    assert (bench / "items.jsonl").read_bytes() == rebuilt


def records(text: str) -> list[Any]:
    """Return records without their details and places of frames: both were others once (``LEFT_OUT``)."""
    return [{**json.loads(line), "details": None, "frame_indices": None} for line in text.splitlines()]
