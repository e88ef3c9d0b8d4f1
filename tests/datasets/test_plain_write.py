"""Any data set to a plain folder and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proctor.datasets.plain import check_plain, read_plain, write_plain
from proctor.errors import UserError
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import MISTAKE_KINDS, Mistake, Recording, Segment

GRAPH = TaskGraph("t", "Tea: hot!", (Step("1", "Boil"), Step("2", "Stir"), Step("3", "Stir")), (("1", "2"),))
SEGMENT = Segment("1", "Boil", 0.0, 1.0)
RECORDING = Recording("r", "t", "Tea: hot!", (SEGMENT,))


def everything(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def test_the_sample_comes_back_equal(tmp_path: Path):
    from proctor.samples import path

    result = read_plain(path(), "published")
    assert write_plain(tmp_path / "out", result.recordings, result.graphs, about=result.about) == 12
    again = read_plain(tmp_path / "out", "published")
    assert again == result
    write_plain(tmp_path / "twice", again.recordings, again.graphs, about=again.about)
    assert everything(tmp_path / "out") == everything(tmp_path / "twice")


@pytest.mark.shared
@pytest.mark.parametrize("corrections", ["published", "corrected"])
def test_captaincook4d_comes_back_equal(corrections: Any, shared_data: Path, tmp_path: Path):
    from proctor.datasets.captaincook4d import DATASET

    result = DATASET.read(shared_data / "captaincook4d", corrections)
    write_plain(tmp_path / "out", result.recordings, result.graphs)
    again = read_plain(tmp_path / "out", "published")
    assert again.recordings == result.recordings
    assert again.graphs == dict(result.graphs)


texts = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1, max_size=9).filter(
    str.strip
)
times = st.floats(0, 99_000).map(lambda t: round(t, 3))


@st.composite
def segments(draw: st.DrawFn) -> Segment:
    step = draw(st.sampled_from(GRAPH.steps))
    start, length = draw(times), draw(st.floats(0.001, 900))
    skipped = draw(st.booleans())
    return Segment(
        step.id,
        step.text,
        None if skipped else start,
        None if skipped else start + length,
        draw(st.none() | texts),
        tuple(
            draw(
                st.lists(st.builds(Mistake, st.sampled_from(MISTAKE_KINDS), st.just("") | texts), max_size=2)
            )
        ),
    )


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.lists(st.lists(segments(), min_size=1, max_size=4), min_size=1, max_size=3),
    st.none() | st.floats(1, 1e6),
    st.none() | st.sampled_from(["a.mp4", "vidéos/a b.mp4"]),
    st.dictionaries(texts, texts, max_size=2),
)
def test_any_recording_comes_back_equal(
    tmp_path_factory: pytest.TempPathFactory,
    performances: list[list[Segment]],
    duration: float | None,
    video: str | None,
    attributes: dict[str, str],
):
    recordings = tuple(
        Recording(
            f"r {n}",
            "t",
            GRAPH.name,
            tuple(sorted(found, key=lambda s: -1.0 if s.start is None else s.start)),
            duration,
            video,
            attributes,
        )
        for n, found in enumerate(performances)
    )
    root = tmp_path_factory.mktemp("x") / "out"
    write_plain(root, recordings, {"t": GRAPH})
    result = read_plain(root, "published")
    assert result.recordings == recordings
    assert result.graphs == {"t": GRAPH}
    check_plain(root)


def test_files_are_readable_and_named_after_the_activity(tmp_path: Path):
    write_plain(tmp_path / "new" / "out", [RECORDING], {"t": GRAPH}, about={"name": "X", "licence": "MIT"})
    root = tmp_path / "new" / "out"
    assert sorted(everything(root)) == ["activities/001-tea-hot.json", "dataset.json", "recordings.jsonl"]
    assert json.loads((root / "dataset.json").read_text()) == {"name": "X", "licence": "MIT"}
    assert read_plain(root).about == {"name": "X", "licence": "MIT"}


UNWRITABLE = {
    "id": Recording("a/b", "t", "T", (SEGMENT,)),
    "step": Recording("r", "t", "T", (Segment("9", "Fly", 0.0, 1.0),)),
    "activity": Recording("r", "u", "T", (SEGMENT,)),
    "video": Recording("r", "t", "T", (SEGMENT,), video="../x.mp4"),
    "times": Recording("r", "t", "T", (Segment("1", "Boil", 5.0, 1.0),)),
    "not a number": Recording("r", "t", "T", (Segment("1", "Boil", float("nan"), 1.0),)),
    "nothing done": Recording("r", "t", "T", ()),
}


@pytest.mark.parametrize("case", UNWRITABLE)
def test_what_cannot_be_read_again_is_not_written(case: str, tmp_path: Path):
    target = tmp_path / "out"
    with pytest.raises(UserError) as caught:
        write_plain(target, [UNWRITABLE[case]], {"t": GRAPH})
    assert str(caught.value).startswith(str(target))
    assert ".tmp" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_description_of_unknown_keys_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match="unknown field `license`"):
        write_plain(tmp_path / "out", [RECORDING], {"t": GRAPH}, about={"name": "X", "license": "MIT"})
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_already_is_left_alone(tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("mine")
    for name in ("file", "full", "file/below"):
        with pytest.raises(UserError):
            write_plain(tmp_path / name, [RECORDING], {"t": GRAPH})
    assert everything(tmp_path) == {"file": b"mine", "full/x": b"mine"}
