"""smmqg-instructionbench.json, ``trimming``: cases A–I with all variants, and the variants measured on Goal-Step."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import pytest

from proctor.procedure.clip import leaf_segments
from proctor.procedure.clip_statistics import find_oddities
from proctor.procedure.recording import Recording, Segment
from proctor.procedure.trim_rules import VARIANTS, trim_recording

pytestmark = pytest.mark.shared

RULES = {"few_steps": "rule2", "few_categories": "rule3", "long_run": "rule4"}
MEASURED = {
    "default": "default",
    "exclude": "boundary=exclude",
    "overlap": "boundary=overlap",
    "grow": "on_fail=grow",
}


@pytest.fixture(scope="module")
def expected(shared_expected):
    return shared_expected("smmqg-instructionbench")["trimming"]


@pytest.fixture(scope="module")
def goalstep(shared_data):
    """The recordings of Goal-Step validation at both levels."""
    with gzip.open(shared_data / "steps" / "goalstep_val.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return {"step": [recording(r, leaf=False) for r in rows], "leaf": [recording(r, leaf=True) for r in rows]}


def recording(row, *, leaf):
    def segment(step):
        return Segment(step["category"], step["text"], step["start"], step["end"])

    steps = [(segment(s), [segment(u) for u in s.get("substeps", []) if leaf]) for s in row["steps"]]
    return Recording(
        row["video_id"], row["goal_category"], row["goal"], leaf_segments(steps), duration=row["end"]
    )


def made(steps):
    segments = tuple(Segment(name, name, float(start), float(end)) for start, end, name in steps)
    return Recording("case", "case", "case", segments)


def seen(recording, found):
    """Write what was found as the expected file does."""
    names = [s.step_id for s in recording.segments]

    def span(stretch):
        return {
            "steps": [names[p] for p in stretch.positions],
            "start": stretch.start,
            "end": stretch.end,
            "duration": stretch.end - stretch.start,
            "n_steps": len(stretch.positions),
        }

    clips = [
        span(c)
        | {"n_categories": len(c.categories), "max_run": longest_run([s.category for s in c.segments])}
        for c in found.clips
    ]
    rejected = [
        span(r)
        | {"n_categories": r.n_categories, "max_run": r.longest_run}
        | {"failed": [RULES[f] for f in r.failed], "tail": r.tail}
        for r in found.rejected
    ]
    return {"clips": clips, "rejected": rejected}


def longest_run(categories):
    longest = run = 0
    before = None
    for category in categories:
        run = run + 1 if category == before else 1
        longest, before = max(longest, run), category
    return longest


def test_every_case_with_every_variant(expected):
    assert len(expected["cases"]) == 9
    for case in expected["cases"]:
        recording = made(case["input"])
        for variant in ("default", "exclude", "overlap", "grow", "rule4_literal"):
            found = seen(recording, trim_recording(recording, VARIANTS[variant]))
            assert found == case[variant], (case["name"], variant)


def test_defaults_are_those_of_the_file(expected):
    default, written = VARIANTS["default"], expected["defaults"]
    assert default.longer_than == written["max_dur_s"]
    assert default.min_steps == written["min_steps"]
    assert default.min_distinct == written["min_distinct_ratio"]
    assert default.max_run == written["max_run_ratio"]
    assert (default.boundary, default.on_failure, default.tail) == ("include", "restart", "whole_video")
    assert written["boundary"] == "crossing step included"
    assert written["on_fail"] == "discard and restart"
    assert written["tail"].startswith("whole_video")


@pytest.mark.parametrize("level", ["step", "leaf"])
@pytest.mark.parametrize("variant", MEASURED)
def test_variants_measured_on_goalstep(goalstep, expected, level, variant):
    trimmed = [trim_recording(r, VARIANTS[variant]) for r in goalstep[level]]
    clips = [clip for t in trimmed for clip in t.clips]
    written = expected["real_goalstep_val_134_videos"][f"{level}/{MEASURED[variant]}"]
    assert len(clips) == written["clips"]
    assert sum(bool(t.clips) for t in trimmed) == written["videos_with_clip"]
    assert round(fmean(len(c.segments) for c in clips), 3) == written["mean_steps"]
    # measured on the file of Ego4D; the rows at hand are rounded to milliseconds (279.7615 s for leaf/default)
    assert fmean(c.seconds for c in clips) == pytest.approx(written["mean_duration"], abs=0.0005 + 1e-5)


def test_rule_4_as_printed_makes_no_difference_on_goalstep(goalstep):
    """153 clips either way."""
    literal = [trim_recording(r, VARIANTS["rule4_literal"]) for r in goalstep["step"]]
    assert sum(len(t.clips) for t in literal) == 153


def test_the_real_example(goalstep, expected):
    example = expected["real_example"]
    (recording,) = (r for r in goalstep["step"] if r.id == example["video_uid"])
    assert len(recording.segments) == example["n_steps"]
    found = trim_recording(recording)
    keys = ("start", "end", "n_steps", "n_categories", "max_run")
    assert [{k: clip[k] for k in keys} for clip in seen(recording, found)["clips"]] == example["clips"]
    assert len(found.rejected) == example["n_rejected"]


def test_oddities_of_goalstep(goalstep):
    """2 unsorted and 60 overlapping neighbours in 3,349 steps."""
    odd = [find_oddities(r) for r in goalstep["step"]]
    assert sum(len(r.segments) for r in goalstep["step"]) == 3349
    assert sum(o.unsorted for o in odd) == 2
    assert sum(o.overlapping for o in odd) == 60
    assert sum(o.zero_length for o in odd) == 0


def test_the_order_of_the_rows_does_not_matter(goalstep):
    for recording in goalstep["step"]:
        backwards = Recording(
            recording.id,
            recording.activity_id,
            recording.activity_name,
            recording.segments[::-1],
            recording.duration,
        )
        spans = [
            [(c.id, [s.segment for s in c.segments]) for c in trim_recording(r).clips]
            for r in (recording, backwards)
        ]
        assert spans[0] == spans[1]


@pytest.mark.parametrize(
    ("level", "name", "clips", "touched", "sharing", "beyond"),
    [
        ("step", "default", 153, 1, 0, 1),
        ("step", "overlap", 171, 1, 81, 2),
        ("step", "grow", 273, 32, 3, 1),
        ("step", "between_steps", 154, 0, 0, 0),
        ("leaf", "default", 322, 23, 5, 3),
        ("leaf", "between_steps", 313, 0, 0, 0),
    ],
)
def test_what_clips_of_goalstep_show_beside_their_steps(
    goalstep, level, name, clips, touched, sharing, beyond
):
    """Own numbers, as in docs/clips.md: only clips cut between steps show nothing but what they list."""
    trimmed = [(r, trim_recording(r, VARIANTS[name])) for r in goalstep[level]]
    assert sum(len(t.clips) for _, t in trimmed) == clips
    shown = [out for _, t in trimmed for c in t.clips for out in c.left_out]
    assert {out.reason for out in shown} <= {"reaches_in"}
    assert sum(len(out.positions) for out in shown) == touched
    assert sum(b.start < a.end for _, t in trimmed for a, b in pairwise(t.clips)) == sharing
    assert sum(c.end > r.duration for r, t in trimmed for c in t.clips) == beyond


def test_the_page_says_what_is_measured(goalstep):
    """Every row of the table in docs/clips.md."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "clips.md").read_text(encoding="utf-8")
    rows = [
        line.strip("| \n").split(" | ") for line in page.splitlines() if line.startswith(("| step", "| leaf"))
    ]
    assert len(rows) == 11
    for level, variant, *written in rows:
        trimmed = [(r, trim_recording(r, VARIANTS[variant.strip("`")])) for r in goalstep[level]]
        clips = [c for _, t in trimmed for c in t.clips]
        found = [
            len(clips),
            sum(bool(t.clips) for _, t in trimmed),
            f"{fmean(c.seconds for c in clips):.1f}",
            f"{fmean(len(c.segments) for c in clips):.1f}",
            sum(len(out.positions) for c in clips for out in c.left_out),
            sum(b.start < a.end for _, t in trimmed for a, b in pairwise(t.clips)),
            sum(c.end > r.duration for r, t in trimmed for c in t.clips),
        ]
        assert [str(value) for value in found] == written, (level, variant)


def test_the_raw_sample_gives_the_clips_of_the_rows(shared_data, goalstep):
    """The rows are the raw annotations rounded to milliseconds; both levels, all variants."""
    raw = json.loads((shared_data / "steps" / "raw_goalstep_sample.json").read_text(encoding="utf-8"))

    def segment(s):
        return Segment(s["step_category"], s["step_description"], s["start_time"], s["end_time"])

    assert len(raw["videos"]) == 2
    for video in raw["videos"]:
        levels = [(segment(s), [segment(u) for u in s["segments"]]) for s in video["segments"]]
        for level, found in (("step", tuple(s for s, _ in levels)), ("leaf", leaf_segments(levels))):
            (rows,) = (r for r in goalstep[level] if r.id == video["video_uid"])
            assert len(found) == len(rows.segments)
            for rules in (*VARIANTS.values(), replace(VARIANTS["default"], min_steps=2, max_run=None)):
                ours = trim_recording(replace(rows, segments=found), rules)
                theirs = trim_recording(rows, rules)
                assert [c.positions for c in ours.clips] == [c.positions for c in theirs.clips]
                assert [c.start for c in ours.clips] == pytest.approx(
                    [c.start for c in theirs.clips], abs=0.00051
                )
                assert [r.reason for r in ours.rejected] == [r.reason for r in theirs.rejected]
