"""The whole job through the command line: on the sample, on the real annotations, resumed, reordered, with videos."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Proctor = Callable[..., Any]
Contents = Callable[[Path], dict[str, bytes]]

KEYS = {
    "read": {"dataset", "about", "corrections", "counts", "dropped", "findings"},
    "derive": {"protocol", "examples", "by_type", "noisy", "states", "recordings", "dropped"},
    "generate": {"examples", "sampled", "candidates", "by_type", "dropped", "sampling"},
    "verify": {"candidates", "judged_now", "annotators"},
    "build": {
        "candidates",
        "items",
        "golds",
        "recordings",
        "by_type",
        "dropped",
        "rules",
        "release",
        "signature",
    },
    "predict": {"runs"},
    "judge": {"judge", "runs"},
    "score": {"runs", "tables", "comparisons", "kinds", "roles"},
    "report": {"report", "bytes", "items", "runs", "examples", "items_with_frames", "without_frames"},
    "doctor": {"proctor", "python", "extras", "graphviz", "files", "runs", "leftovers", "problems"},
    "check": {"dataset", "changed", "counts", "rules", "findings"},
}


def arguments(command: str, home: Path) -> list[object]:
    """Return what a command works on."""
    match command:
        case "read":
            return ["read", "plain", home / "sample", home / "bench"]
        case "check":
            return ["datasets", "check", "plain", home / "sample"]
        case _:
            return [command, home / "bench"]


@pytest.mark.parametrize("command", KEYS)
def test_json_has_the_documented_keys_and_nothing_beside_it(
    command: str, home: Path, proctor: Proctor
) -> None:
    outcome = proctor(*arguments(command, home), "--json")
    assert outcome.status == 0, outcome.err
    assert set(outcome.json) == KEYS[command]
    assert outcome.err == ""


@pytest.mark.parametrize("command", KEYS)
def test_the_text_says_what_was_done_and_what_is_next(command: str, home: Path, proctor: Proctor) -> None:
    outcome = proctor(*arguments(command, home))
    assert outcome.status == 0, outcome.err
    assert outcome.out.endswith("\n")
    assert not outcome.out.endswith("\n\n")
    order = ["read", "derive", "generate", "verify", "build", "predict", "judge", "score", "report"]
    if command in order[:-1]:
        following = order[order.index(command) + 1]
        assert f"next: proctor {following} {home / 'bench'}" in outcome.out


def test_the_counts_agree_along_the_way(home: Path, proctor: Proctor) -> None:
    bench = home / "bench"
    derived = proctor("derive", bench, "--json").json
    assert derived["examples"] == sum(derived["by_type"].values()) == lines(bench / "examples.jsonl")
    generated = proctor("generate", bench, "--json").json
    assert generated["examples"] == derived["examples"]
    assert generated["candidates"] == lines(bench / "candidates.jsonl") == 40 or generated["candidates"] > 40
    verified = proctor("verify", bench, "--json").json
    assert verified["candidates"] == generated["candidates"]
    built = proctor("build", bench, "--json").json
    assert built["items"] + sum(built["dropped"].values()) == generated["candidates"]
    assert built["items"] == lines(bench / "items.jsonl") == sum(built["by_type"].values())
    run = proctor("predict", bench, "-p", "constant", "--json").json["runs"][0]
    assert run["answered"] == run["items"] == built["items"]
    judged = proctor("judge", bench, "--run", "constant", "--json").json["runs"]["constant"]
    assert sum(judged.values()) == built["items"]
    scored = proctor("score", bench, "--run", "constant", "--json").json["tables"]["constant"]
    everything = next(r for r in scored["rows"] if r["slice"] == "all")
    assert everything["n"] == built["items"]
    by_hand = 50 * sum(json.loads(x)["score"] for x in text(bench / "runs/constant/judgements.jsonl"))
    assert everything["value"] == pytest.approx(by_hand / built["items"])


def text(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def lines(path: Path) -> int:
    return len(text(path))


# -- the same again ----------------------------------------------------------------------------------------------


def test_doing_everything_again_changes_no_byte(home: Path, proctor: Proctor, contents: Contents) -> None:
    proctor(*arguments("read", home))  # the copy lies elsewhere, and settings say where
    before = stable(contents(home))
    for command in ("read", "derive", "generate", "verify", "build", "predict", "judge", "score", "report"):
        flags = {"generate": ["--limit", "40"], "predict": ["-p", "constant", "-p", "annotations"]}
        assert proctor(*arguments(command, home), *flags.get(command, ())).status == 0
    after = stable(contents(home))
    assert [n for n in before.keys() | after.keys() if before.get(n) != after.get(n)] == []


def stable(files: dict[str, bytes]) -> dict[str, bytes]:
    """Leave out SQLite's pages: verdicts carry the time at which they were given."""
    return {n: b for n, b in files.items() if ".sqlite" not in n}


def test_two_fresh_workspaces_are_equal(
    home: Path, tmp_path: Path, proctor: Proctor, contents: Contents
) -> None:
    """Also with another name of the folder, and verified at another time."""
    other = tmp_path / "other place"
    proctor("read", "plain", home / "sample", other)
    flags = {
        "generate": ["--sample", "all", "--limit", "40"],
        "predict": ["-p", "constant", "-p", "annotations"],
        "score": ["--resamples", "200"],
    }
    for command in ("derive", "generate", "verify", "build", "predict", "judge", "score", "report"):
        outcome = proctor(command, other, *flags.get(command, ()))
        assert outcome.status == 0, outcome.err
    one, two = contents(home / "bench"), contents(other)
    assert one.keys() == two.keys()
    elsewhere = {"proctor.toml", "stages.json"}  # these name folders
    differ = {n for n in one if one[n] != two[n] and ".sqlite" not in n} - elsewhere
    assert differ == set()


def test_another_order_of_recordings_gives_the_same_candidates(home: Path, proctor: Proctor) -> None:
    bench = home / "bench"
    for sample in ("all", "quota"):
        proctor("derive", bench)
        flags = ["--sample", sample, "--examples", "60", "--seed", "5"]
        assert proctor("generate", bench, *flags).status == 0
        first = sorted(text(bench / "candidates.jsonl"))
        shuffled = text(bench / "recordings.jsonl")
        random.Random(3).shuffle(shuffled)
        (bench / "recordings.jsonl").write_text("".join(x + "\n" for x in shuffled), encoding="utf-8")
        proctor("derive", bench)
        assert proctor("generate", bench, *flags).status == 0
        assert sorted(text(bench / "candidates.jsonl")) == first


def test_the_seed_matters_and_nothing_else(home: Path, proctor: Proctor) -> None:
    bench = home / "bench"

    def candidates(seed: int) -> bytes:
        assert proctor("generate", bench, "--sample", "quota", "--examples", "50", "--seed", seed).status == 0
        return (bench / "candidates.jsonl").read_bytes()

    first = candidates(1)
    assert candidates(2) != first
    assert candidates(1) == first


def test_limits(home: Path, proctor: Proctor) -> None:
    bench = home / "bench"
    (bench / "verification.sqlite").unlink()
    shutil.rmtree(bench / "runs")
    assert proctor("generate", bench, "--limit", "12", "--json").json["sampled"] == 12
    assert [proctor("verify", bench, "--limit", "5", "--json").json["judged_now"] for _ in range(3)] == [
        5,
        5,
        2,
    ]
    proctor("build", bench)
    runs = [
        proctor("predict", bench, "-p", "constant", "--limit", "4", "--json").json["runs"][0] for _ in "ab"
    ]
    assert [(r["asked_now"], r["answered"]) for r in runs] == [(4, 4), (4, 8)]


def test_a_run_in_pieces_is_the_run_in_one(home: Path, proctor: Proctor) -> None:
    bench = home / "bench"
    assert proctor("predict", bench, "-p", "random-step", "--run", "whole").status == 0
    while proctor("predict", bench, "-p", "random-step", "--run", "pieces", "--limit", "7", "--json").json[
        "runs"
    ][0]["asked_now"]:
        pass
    whole, pieces = (bench / f"runs/{n}/predictions.jsonl" for n in ("whole", "pieces"))
    assert pieces.read_bytes() == whole.read_bytes()


# -- what changed behind a stage's back --------------------------------------------------------------------------


def test_marks_of_older_answers_are_not_scored(bench: Path, proctor: Proctor) -> None:
    proctor("predict", bench, "-p", "random-step", "--run", "dice", "--seed", "1")
    proctor("judge", bench)
    assert proctor("score", bench, "--resamples", "200").status == 0
    proctor("predict", bench, "-p", "random-step", "--run", "dice", "--seed", "2")
    outcome = proctor("score", bench)
    assert outcome.status == 2
    assert "'dice' was judged before" in outcome.err
    proctor("judge", bench)
    assert proctor("score", bench).status == 0


def test_a_run_of_another_benchmark_is_begun_anew(bench: Path, proctor: Proctor) -> None:
    proctor("generate", bench, "--sample", "all", "--limit", "20")
    proctor("verify", bench)
    built = proctor("build", bench, "--json").json
    assert "answered other items" in proctor("judge", bench).err
    run = proctor("predict", bench, "-p", "constant", "--json").json["runs"][0]
    assert run["asked_now"] == run["answered"] == built["items"]


def test_how_recordings_are_read_decides_how_examples_are_derived(home: Path, proctor: Proctor) -> None:
    bench = home / "bench"
    assert proctor("derive", bench, "--json").json["protocol"] == "corrected"
    proctor("read", "plain", home / "sample", bench, "--corrections", "published")
    assert proctor("derive", bench, "--json").json["protocol"] == "published"
    assert proctor("derive", bench, "--protocol", "corrected", "--json").json["protocol"] == "corrected"
    assert proctor("derive", bench, "--json").json["protocol"] == "corrected", "a flag holds from then on"


DOCTOR = {
    "a changed source": ("recordings.jsonl", b"\n", "run 'proctor derive' again"),
    "a changed result": ("candidates.jsonl", b"\n", "was changed by hand after 'generate'"),
    "changed items": ("items.jsonl", b"\n", "run 'proctor judge' again"),
    "changed answers": ("runs/constant/predictions.jsonl", b"\n", "after 'judge/constant' had read it"),
    "a broken record": ("examples.jsonl", b"{}\n", "examples.jsonl"),
}


@pytest.mark.parametrize("kind", DOCTOR)
def test_the_doctor_finds(kind: str, bench: Path, proctor: Proctor) -> None:
    assert proctor("doctor", bench).status == 0
    name, added, named = DOCTOR[kind]
    with (bench / name).open("ab") as stream:
        stream.write(added)
    outcome = proctor("doctor", bench)
    assert outcome.status == 2
    assert named in outcome.out
    assert named in " ".join(proctor("doctor", bench, "--json").json["problems"])


def test_the_doctor_finds_what_is_gone_and_what_was_left_over(bench: Path, proctor: Proctor) -> None:
    (bench / "examples.jsonl").unlink()
    (bench / ".items.jsonl.0011223344556677.tmp").write_bytes(b"half")
    outcome = proctor("doctor", bench)
    assert outcome.status == 2
    assert "examples.jsonl is gone" in outcome.out
    assert "left over" in outcome.out


def test_the_doctor_opens_videos(home: Path, proctor: Proctor) -> None:
    outcome = proctor("doctor", home / "bench", "--videos")
    assert outcome.status == 2
    assert outcome.out.count(".mp4") == 12
    (home / "sample/videos").mkdir(exist_ok=True)
    (home / "sample/videos/tea_1.mp4").write_bytes(b"not a film")
    outcome = proctor("doctor", home / "bench", "--videos")
    assert "tea_1.mp4: " in outcome.out
    assert "Traceback" not in outcome.err


# -- names -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["with spaces", "çay-☕", "a'quote\"", "-dash", "$(echo)", "日本語", "x" * 120]
)
def test_names_of_runs_and_folders(name: str, home: Path, proctor: Proctor) -> None:
    bench = (home / "bench").rename(home / f"b {name}")
    for step in (
        ("predict", bench, "-p", "constant", f"--run={name}"),
        ("judge", bench, f"--run={name}"),
        ("score", bench, "--resamples", "200"),
        ("report", bench, "--output", home / f"{name[:50]}.html"),
    ):
        outcome = proctor(*step)
        assert outcome.status == 0, outcome.err
    assert (bench / "runs" / name / "scores.json").is_file()
    assert (home / f"{name[:50]}.html").is_file()


def test_text_from_data_cannot_steer_the_terminal(home: Path, proctor: Proctor) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\nproctor: all is well\r\u202e\x9b31m"
    path = home / "sample/recordings/tea_2.json"
    recording = json.loads(path.read_text(encoding="utf-8"))
    recording["id"] = evil
    path.write_text(json.dumps(recording), encoding="utf-8")
    bench = home / "evil"
    steps = [
        ("datasets", "check", "plain", home / "sample"),
        ("read", "plain", home / "sample", bench),
        ("derive", bench),
    ]
    steps += [("generate", bench), ("verify", bench), ("build", bench), ("predict", bench), ("judge", bench)]
    steps += [("score", bench, "--resamples", "200"), ("report", bench), ("doctor", bench)]
    for step in [*steps, *((*s, "--json") for s in steps)]:
        outcome = proctor(*step)
        for shown in (outcome.out, outcome.err):
            assert all(c.isprintable() or c == "\n" for c in shown), (step, shown)
        assert "\nproctor: all is well" not in outcome.out + outcome.err
        assert "Traceback" not in outcome.err


# -- with pictures -----------------------------------------------------------------------------------------------


def eight_times_faster(recording: str) -> str:
    return re.sub(r'("(?:start|end|duration)": )([\d.]+)', lambda m: f"{m[1]}{float(m[2]) / 8}", recording)


def test_frames_of_rendered_videos_are_in_the_report(home: Path, proctor: Proctor) -> None:
    pytest.importorskip("av")
    from contextlib import nullcontext

    from proctor.stages.demo import render_videos

    for path in (home / "sample/recordings").glob("*.json"):
        if path.stem != "tea_1":
            path.unlink()
        else:  # a film of eleven seconds shows as much as one of 87
            path.write_text(eight_times_faster(path.read_text(encoding="utf-8")), encoding="utf-8")
    rendered = render_videos(home / "sample", show=lambda title, total=None: nullcontext(lambda: None))
    assert rendered == 1
    assert render_videos(home / "sample", show=lambda title, total=None: nullcontext(lambda: None)) == 0
    bench = home / "pictures"
    proctor("read", "plain", home / "sample", bench)
    flags = {"generate": ["--limit", "6"], "report": ["--frames", "2", "--json"]}
    for command in ("derive", "generate", "verify", "build", "report"):
        outcome = proctor(command, bench, *flags.get(command, ()))
        assert outcome.status == 0, outcome.err
    assert outcome.json["items_with_frames"] == outcome.json["items"]["moments"] > 0
    page = (bench / "report.html").read_text(encoding="utf-8")
    assert page.count("image/webp;base64,UklGR") >= 2, "a WebP file begins like this in base 64"
    pictures = re.findall(r"data:image/[^\"]+", page)
    assert len(pictures) == len(set(pictures)), "no picture is in the page twice"
    assert page.count("frame moment") >= outcome.json["examples"], "every example shows its moment"
    before = (bench / "report.html").read_bytes()
    assert proctor("report", bench).status == 0
    assert (bench / "report.html").read_bytes() == before


# -- the demonstration -------------------------------------------------------------------------------------------


def test_the_demo_twice_goes_on_from_what_is_there(
    tmp_path: Path, proctor: Proctor, contents: Contents
) -> None:
    first = proctor("demo", tmp_path / "demo", "--no-video")
    assert first.status == 0, first.err
    for named in ("report.html", "release", "try"):
        assert named in first.out
    before = stable(contents(tmp_path / "demo"))
    second = proctor("demo", tmp_path / "demo", "--no-video", "--json")
    assert second.status == 0, second.err
    assert second.json["verify"]["judged_now"] == 0
    assert stable(contents(tmp_path / "demo")) == before


# -- the real annotations ----------------------------------------------------------------------------------------


@pytest.mark.shared
def test_the_published_protocol_on_all_recordings(
    shared_data: Path, tmp_path: Path, proctor: Proctor
) -> None:
    bench = tmp_path / "bench"
    read = proctor(
        "read", "captaincook4d", shared_data / "captaincook4d", bench, "--corrections", "published", "--json"
    )
    counts = read.json["counts"]
    assert (counts["recordings"], counts["steps"], counts["error_recordings"]) == (384, 5700, 220)
    derived = proctor("derive", bench, "--json").json
    assert (derived["protocol"], derived["examples"]) == ("published", 11_781)
    assert derived["by_type"]["next"] == 5024
    assert proctor("generate", bench, "--sample", "published", "--limit", "30").status == 0


@pytest.mark.shared
def test_the_corrected_protocol_on_all_recordings(
    shared_data: Path, tmp_path: Path, proctor: Proctor
) -> None:
    bench = tmp_path / "bench"
    read = proctor("read", "captaincook4d", shared_data / "captaincook4d", bench, "--json").json
    assert (read["corrections"], read["counts"]["recordings"]) == ("corrected", 384)
    derived = proctor("derive", bench, "--json").json
    assert derived["protocol"] == "corrected"
    assert derived["examples"] == sum(derived["by_type"].values())
    assert set(derived["states"]) == {"started", "ongoing", "finished", "blocked"}


@pytest.mark.shared
def test_every_published_field_is_reproduced(shared_data: Path, proctor: Proctor) -> None:
    result = proctor(
        "reproduce",
        "promqa",
        "--annotations",
        shared_data / "captaincook4d",
        "--examples",
        shared_data / "promqa/examples_dev.json",
        "--json",
    ).json
    assert result["examples"] == 195
    fields = {
        "previous_steps",
        "current_step",
        "next_steps",
        "missing_steps",
        "error_description",
        "is_noisy",
        "end_time",
    }
    assert set(result["fields"]) == fields
    parts = [result[p] for p in ("all_fields", "response_parsing", "adjudication_case", "adjudication_merge")]
    for count in [*result["fields"].values(), *parts]:
        assert count["equal"] == count["n"] > 0
        assert count["different"] == []


@pytest.mark.shared
def test_published_examples_come_out_as_they_went_in(
    shared_data: Path, tmp_path: Path, proctor: Proctor
) -> None:
    file, bench, out = shared_data / "promqa/examples_dev.json", tmp_path / "bench", tmp_path / "out.json"
    imported = proctor(
        "import", "promqa", file, bench, "--annotations", shared_data / "captaincook4d", "--json"
    )
    assert imported.json["examples"] == imported.json["items"] == 195
    assert proctor("export", "promqa", bench, out, "--json").json == {"file": str(out), "examples": 195}
    assert out.read_bytes() == file.read_bytes()
    for command, *flags in (("predict",), ("judge",), ("score", "--resamples", "200"), ("report",)):
        outcome = proctor(command, bench, *flags)
        assert outcome.status == 0, outcome.err
    assert proctor("doctor", bench).status == 0
