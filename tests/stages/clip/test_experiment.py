"""InstructionBench's whole experiment on small annotations, all models played over HTTP."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from tests.report.opening import closed, miscounted
from tests.stages.clip.material import (
    JUDGE,
    MADE,
    PREDICTORS,
    do,
    fingerprints,
    plan,
    quietly,
    rehearsed,
    row,
    same_secret,
    write_rows,
)

from proctor.ask.clip.record import ChoiceItem, ClipPair
from proctor.errors import UserError
from proctor.llm.flow import FlowSettings
from proctor.llm.gate import GateRules
from proctor.llm.model import Model
from proctor.llm.registry import resolve
from proctor.records import read_jsonl
from proctor.stages.build import build
from proctor.stages.clip.pairs import generate
from proctor.stages.experiment.stage import Done
from proctor.stages.models import Limits
from proctor.stages.score import scored_tables
from proctor.workspace import Workspace
from proctor_rehearsal.rehearsal import open_rehearsal

Finished = tuple[Path, Path, Done, int]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Workspace (called ``bench``), data, what came of it, requests that the server saw; not to be changed."""
    home = tmp_path_factory.mktemp("clip")
    rows = [*(row(n) for n in range(8)), row(8, steps=1), row(9, steps=0)]
    data = write_rows(home / "data", rows)
    done, server = rehearsed(home / "bench", plan(data))
    return home / "bench", data, done, server.count


def test_every_part_is_done_and_every_call_counted(finished: Finished) -> None:
    root, _, done, count = finished
    assert not done.stopped
    names = [part.name for part in done.parts]
    assert names[:3] == ["generate", "filter", "choices"]
    assert names[-1] == "report"
    assert sum(part.calls.sent for part in done.parts if part.calls) == count > 100
    assert fingerprints(root).keys() >= set(MADE)
    model = PREDICTORS[0]
    assert [n for n in names if n.startswith(("predict/", "open/"))] == [
        f"predict/{model} (question)", f"open/{model} (question)",
        f"predict/{model} (steps)", f"open/{model} (steps)",
    ]  # fmt: skip


def test_letters_are_exactly_balanced_and_no_video_is_on_both_sides(finished: Finished) -> None:
    root = finished[0]
    items = read_jsonl(root / "choices.jsonl", ChoiceItem)
    letters = Counter(item.letter for item in items)
    counts = [letters.get(letter, 0) for letter in "ABCDE"]
    assert len(items) >= 5
    assert max(counts) - min(counts) <= 1
    kept = read_jsonl(root / "open.jsonl", ClipPair)
    training = read_jsonl(root / "training.jsonl", ClipPair)
    assert training
    assert not {p.video_id for p in kept} & {p.video_id for p in training}
    assert {item.id for item in items} <= {p.id for p in kept}


def test_videos_without_steps_are_listed_and_the_report_has_its_sections(finished: Finished) -> None:
    root, _, done, _ = finished
    assert len(read_jsonl(root / "clips.dropped.jsonl", dict)) >= 1
    page = Path(done.report).read_text(encoding="utf-8")
    for section in ("pairs", "clip-filters", "options", "clip-choice", "clip", "statistics"):
        assert f'id="{section}"' in page, section
    assert "This is a rehearsal" in page
    assert closed(page) == {}
    assert [*miscounted(page)] == []
    kept = re.findall(r'data-tag="task: [^"]+"><bdi>(\d+) pairs? kept', page)
    assert sum(map(int, kept)) == len(read_jsonl(root / "pairs.jsonl", ClipPair))


def test_again_nothing_is_sent_and_every_file_is_the_same(finished: Finished, tmp_path: Path) -> None:
    root, data, _, _ = finished
    copy = Path(shutil.copytree(root, tmp_path / "bench"))
    before = fingerprints(copy), (copy / "stages.json").read_bytes()
    done, server = rehearsed(copy, plan(data))
    assert (server.count, done.stopped) == (0, "")
    assert (fingerprints(copy), (copy / "stages.json").read_bytes()) == before
    done, server = rehearsed(copy, plan(None))  # the folder of the data need not be named again
    assert (server.count, done.stopped) == (0, "")
    assert (fingerprints(copy), (copy / "stages.json").read_bytes()) == before


def test_a_budget_holds_for_all_stages_and_the_rest_is_done_later(finished: Finished, tmp_path: Path) -> None:
    root, data, _, count = finished
    other = same_secret(root, tmp_path / "bench")
    stops = []
    for most in (20, 90, 10_000):
        done, server = rehearsed(other, plan(data), limits=Limits(max_calls=most))
        assert server.count <= most
        stops.append((bool(done.stopped), bool(done.report)))
        count -= server.count
    assert stops == [(True, False)] * 2 + [(False, True)]
    assert count == 0, "nothing is paid twice"
    assert fingerprints(other) == fingerprints(root)


def test_no_call_at_all_is_said_and_writes_no_pairs(finished: Finished, tmp_path: Path) -> None:
    _, data, _, _ = finished
    root = tmp_path / "bench"
    with pytest.raises(UserError, match="limit of 0 calls"):
        rehearsed(root, plan(data), limits=Limits(max_calls=0))
    assert not (root / "pairs.jsonl").exists()


@pytest.mark.parametrize(
    ("down", "stage"), [("google/gemini-2.0-flash", "filter"), ("anthropic/claude-sonnet-4-5", "filter")]
)
def test_a_model_that_is_down_postpones_and_leaves_no_trace_in_the_end(
    finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, down: str, stage: str
) -> None:
    """The endpoint that is down is given up soon; no call has a short time, since those to the others would end, too."""
    rules = GateRules(first_backoff=0.002, longest_backoff=0.01, breaker_seconds=0.01, breaker_longest=0.02)
    monkeypatch.setattr("proctor.stages.models.FlowSettings", partial(FlowSettings, rules=rules))
    root, data, _, _ = finished
    other = same_secret(root, tmp_path / "bench")
    with open_rehearsal(other, 0.9, seed=3, show=quietly) as models:

        def without(name: str) -> Model:
            if name == down:
                return resolve(f"compat/{name.partition('/')[2]}@http://127.0.0.1:9/v1")
            return models.resolve(name)

        limits = Limits(rehearsal=SimpleNamespace(resolve=without))
        done = do(other, plan(data), limits=limits, show=quietly)
    assert done.stopped.startswith(stage)
    assert done.parts[-1].name == stage
    assert not (other / "choices.jsonl").exists()
    done, _ = rehearsed(other, plan(data))
    assert not done.stopped
    assert fingerprints(other) == fingerprints(root)


def test_what_cannot_be_is_said_before_anything_is_paid(finished: Finished, tmp_path: Path) -> None:
    _, data, _, _ = finished
    root, usual = tmp_path / "bench", plan(data)
    (tmp_path / "no-videos").mkdir()
    twice = (JUDGE, JUDGE)
    for wrong, message in (
        (replace(usual, views=("frames:8",)), "clips has a video"),
        (replace(usual, views=("frames:8",), videos=tmp_path / "no-videos"), "clips has a video"),
        (replace(usual, views=("frames:8",), videos=tmp_path / "nowhere"), "no such folder of videos"),
        (replace(usual, views=("smell",)), "no view of a clip"),
        (replace(usual, style="e"), "one of a, b"),
        (replace(usual, systems=("gpt",)), "gpt"),
        (replace(usual, filters=msgspec.structs.replace(usual.filters, assistant=twice)), "named twice"),
        (replace(usual, pairs=msgspec.structs.replace(usual.pairs, dataset=("nobody",))), "nobody"),
        (replace(usual, pairs=msgspec.structs.replace(usual.pairs, dataset=("steps", "steps"))), "2 readers"),
        (replace(usual, pairs=msgspec.structs.replace(usual.pairs, data=())), "no videos to ask about"),
    ):
        with open_rehearsal(root, 0.9, show=quietly) as models:
            with pytest.raises(UserError, match=message):
                do(root, wrong, limits=Limits(rehearsal=models), show=quietly)
            assert models.server.count == 0, message
    assert not (root / "pairs.jsonl").exists()


def test_a_missing_key_is_named_before_anything_is_done(finished: Finished, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="API_KEY"):
        do(tmp_path / "bench", plan(finished[1]), show=quietly)
    assert not (tmp_path / "bench").exists()


def test_a_stage_that_leaves_nothing_ends_it_with_the_reason(finished: Finished, tmp_path: Path) -> None:
    usual = plan(finished[1])
    none = replace(usual, filters=msgspec.structs.replace(usual.filters, benchmark_share=0.0))
    with pytest.raises(UserError, match="nothing is left of the stage 'filter'"):
        rehearsed(tmp_path / "bench", none)


def test_runs_over_questions_that_were_made_anew_are_not_shown(finished: Finished, tmp_path: Path) -> None:
    root, data, _, _ = finished
    copy = Path(shutil.copytree(root, tmp_path / "renamed"))
    assert len(list(scored_tables(Workspace(copy), "clip"))) == 7  # three floors, two views, open-ended too
    usual = plan(data, systems=(), judge=None)
    other = replace(usual, choices=msgspec.structs.replace(usual.choices, seed=4))
    rehearsed(copy, other)
    of_choices = [info for info, _ in scored_tables(Workspace(copy), "clip") if info.form == "choice"]
    assert {info.predictor.partition(":")[0] for info in of_choices} == {"floor"}
    fewer = replace(usual, pairs=msgspec.structs.replace(usual.pairs, total=8, seed=5))
    with open_rehearsal(copy, 0.9, seed=3, show=quietly) as models:
        generate(copy, fewer.pairs, limits=Limits(rehearsal=models))
    with pytest.raises(UserError, match="its pair is not there") as error:
        build(copy)
    assert "pairs were made again" in error.value.render()


@pytest.mark.parametrize("title", ["writing pairs", "filtering", "making options"])
def test_ctrl_c_ends_a_stage_and_the_same_command_goes_on(
    finished: Finished, tmp_path: Path, title: str
) -> None:
    root, data, _, count = finished
    other = same_secret(root, tmp_path / "bench")
    done_now = []

    @contextmanager
    def impatient(part: str, _total: int | None = None) -> Iterator[Callable[[], None]]:
        def seen() -> None:
            done_now.append(part)
            if done_now.count(title) == 3:
                raise KeyboardInterrupt

        yield seen

    with open_rehearsal(other, 0.9, seed=3, show=quietly) as models:
        with pytest.raises(KeyboardInterrupt):
            do(other, plan(data), limits=Limits(rehearsal=models, max_connections=2), show=impatient)
        first = models.server.count
    assert not (other / "report.html").exists()
    done, server = rehearsed(other, plan(data))
    assert not done.stopped
    assert first + server.count <= count + 8, "at most what was on its way is paid twice"
    assert fingerprints(other) == fingerprints(root)
