from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.media.frames import extract_frames
from proctor.media.probe import probe
from proctor_rehearsal.drawing.render import Job, render_many, render_recording
from proctor_rehearsal.drawing.scene import Scene, Sprite, scenes_from_segments
from proctor_rehearsal.drawing.shapes import SHAPES, draw_sprite
from proctor_rehearsal.drawing.stage import Stage

ROOT = Path(__file__).parents[3]
STEPS = [
    (1.0, 4.0, "Pour 200 ml of hot water into the cup"),
    (4.5, 7.0, "Stir the cup with a spoon"),
    (7.0, 9.0, "Screw the bulb crookedly into the socket"),
]
SCENES = scenes_from_segments("Tea & Light", STEPS, 10.0)


def picture(text: str, time: float = 2.6, seed: int = 0) -> np.ndarray:
    return np.asarray(Stage(scenes_from_segments("T", [(0, 5, text)], 6), 6, seed).picture(time)).astype(int)


# -- videos ----------------------------------------------------------------------------------------------------


def test_renders_a_video_of_the_right_length(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "r.mp4"
    render_recording(path, SCENES, seed=1)
    info = probe(path)
    assert (info.width, info.height, info.fps, info.frames, info.duration) == (480, 270, 8.0, 80, 10.0)
    assert not info.variable_frame_rate
    assert info.start_time == 0
    assert info.warnings == ()
    assert path.stat().st_size < 60_000
    assert [p.name for p in path.parent.iterdir()] == ["r.mp4"]


def test_the_video_shows_the_stage(tmp_path: Path) -> None:
    path = tmp_path / "r.mp4"
    render_recording(path, SCENES, seed=1)
    stage = Stage(SCENES, 10.0, 1)
    for frame in extract_frames(path, [0.5, 2.5, 5.5, 8.0], height=None):
        drawn = np.asarray(stage.picture(frame.time)).astype(int)
        assert np.abs(drawn - frame.image).mean() < 6


def test_same_scenes_same_bytes_here_and_in_other_processes(tmp_path: Path) -> None:
    jobs = [Job(tmp_path / f"{n}.mp4", SCENES, seed=4) for n in range(4)]
    seen: list[Path] = []
    assert render_many(jobs, processes=2, seen=seen.append) == [job.path for job in jobs]
    assert sorted(seen) == sorted(job.path for job in jobs)
    render_recording(tmp_path / "here.mp4", SCENES, seed=4)
    assert len({p.read_bytes() for p in tmp_path.glob("*.mp4")}) == 1
    render_many([Job(tmp_path / "other.mp4", SCENES, seed=5)])
    assert (tmp_path / "other.mp4").read_bytes() != (tmp_path / "here.mp4").read_bytes()


def test_jobs_have_sizes_and_rates_of_their_own(tmp_path: Path) -> None:
    slow = Job(tmp_path / "slow.mp4", SCENES, seed=4, width=160, height=90, fps=1)
    usual = Job(tmp_path / "usual.mp4", SCENES, seed=4)
    for processes in (1, 2):
        render_many([slow, usual], processes=processes)
        found = [probe(job.path) for job in (slow, usual)]
        assert [(i.width, i.height, i.fps, i.frames) for i in found] == [(160, 90, 1, 10), (480, 270, 8, 80)]


def test_what_was_in_memory_before_changes_nothing(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.rehearsal.drawing.test_render import SCENES, render_recording;"
        "render_recording(Path(sys.argv[1]), SCENES, seed=4)"
    )
    for fill in ("0", "1", "2", "127", "254"):
        # glibc fills what it hands out with this byte; elsewhere the five runs are merely five processes
        environment = {**os.environ, "MALLOC_PERTURB_": fill}
        subprocess.run(
            [sys.executable, "-c", code, tmp_path / f"{fill}.mp4"], check=True, env=environment, cwd=ROOT
        )
    assert len({p.read_bytes() for p in tmp_path.glob("*.mp4")}) == 1


def test_other_sizes_and_rates(tmp_path: Path) -> None:
    path = tmp_path / "r.mp4"
    render_recording(path, SCENES[:2], width=240, height=136, fps=4)
    info = probe(path)
    assert (info.width, info.height, info.frames) == (240, 136, 16)


@pytest.mark.parametrize(
    ("scenes", "options", "message"),
    [
        ((), {}, "no scenes"),
        ((Scene(0, 0, "t"),), {}, "does not follow"),
        ((Scene(0, 2, "t"), Scene(1, 3, "t")), {}, "does not follow"),
        ((Scene(0, float("nan"), "t"),), {}, "does not follow"),
        ((Scene(0, 1e9, "t"),), {}, "within 4 hours"),
        (SCENES, {"width": 241}, "not possible"),
        (SCENES, {"fps": 0}, "not possible"),
    ],
)
def test_impossible_wishes(
    scenes: tuple[Scene, ...], options: dict[str, int], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message):
        render_recording(tmp_path / "r.mp4", scenes, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_in_another_process_is_told(tmp_path: Path) -> None:
    jobs = [Job(tmp_path / "a.mp4", SCENES[:1]), Job(tmp_path / "b.mp4", ())]
    with pytest.raises(UserError, match="no scenes"):
        render_many(jobs, processes=2)


# -- pictures --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("right", "wrong", "time"),
    [
        ("Add 2 teaspoons of sugar to the jug", "Add 5 teaspoons of sugar to the jug", 4.9),
        ("Pour 5 ml of vinegar into the tube", "Pour 10 ml of vinegar into the tube", 4.6),
        ("Pour hot water into the beaker", "Pour cold water into the beaker", 2.6),
        ("Cut the lemon into thin slices", "Cut the lemon into thick wedges", 4.6),
        ("Stir the jug with a spoon", "Stir the jug with a knife", 2.6),
        (
            "Press the ring onto the socket until it clicks",
            "Press the ring onto the socket without a click",
            1.85,
        ),
        ("Screw the bulb into the socket", "Screw the bulb crookedly into the socket", 2.6),
        ("Place the base on the table", "Place the base on the table with the felt side up", 3.5),
        ("Dip the strips in the dish", "Dip the strips halfway in the dish", 2.6),
        ("Cut the paper into four strips", "Tear the paper into four strips", 3.0),
        (
            "Tighten the joint with the key for three turns",
            "Tighten the joint with the key for one turn",
            4.5,
        ),
        ("Attach the arm to the pole", "Attach the arm to the pole after dropping it", 1.6),
    ],
)
def test_what_was_done_wrong_can_be_seen(right: str, wrong: str, time: float) -> None:
    differing = (np.abs(picture(right, time) - picture(wrong, time)).sum(axis=2) > 60).sum()
    assert differing > 100


def test_pictures_depend_on_the_moment_alone() -> None:
    forward, jumping = Stage(SCENES, 10.0, 2), Stage(SCENES, 10.0, 2)
    moments = [0.5, 2.0, 3.0, 5.0, 8.0]
    drawn = [np.asarray(forward.picture(t)) for t in moments]
    for time, image in reversed(list(zip(moments, drawn, strict=True))):
        assert np.array_equal(np.asarray(jumping.picture(time)), image)


def test_seeds_change_the_room() -> None:
    assert len({picture("Wait", seed=s).tobytes() for s in range(6)}) > 3


def test_a_moment_without_a_scene_shows_an_empty_surface() -> None:
    assert Stage((Scene(5, 6, "t"),), 10, 0).picture(1.0).size == (480, 270)


def test_names_from_data_are_drawn_as_one_plain_line() -> None:
    odd = Sprite("box", "a\nb\x00\u202e" + "x" * 500, "target")
    scene = Scene(0, 2, "T\r\n" * 100, "c" * 500, (odd, *(Sprite("box", str(n)) for n in range(60))), "put")
    assert Stage((scene,), 2, 0).picture(1.0).size == (480, 270)


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=60), st.floats(0, 5.9))
def test_any_text_can_be_drawn(text: str, time: float) -> None:
    assert picture(text, time).shape == (270, 480, 3)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_drawn_and_fits(shape: str) -> None:
    alpha = np.asarray(draw_sprite(Sprite(shape, "", fill=0.5, contents=("cube",)), 60))[:, :, 3]
    assert alpha.shape == (60, 60)
    assert 0.02 < (alpha > 0).mean() < 0.95


def test_unknown_shapes_are_boxes() -> None:
    assert (
        draw_sprite(Sprite("frobnicator", ""), 40).tobytes() == draw_sprite(Sprite("box", ""), 40).tobytes()
    )


def test_more_liquid_is_more_colour() -> None:
    images = [
        np.asarray(draw_sprite(Sprite("jug", "", liquid="tea"), 80, fill=f)).astype(int)
        for f in (0.1, 0.5, 0.9)
    ]
    brown = [((i[:, :, 0] > i[:, :, 2] + 80) & (i[:, :, 3] > 200)).sum() for i in images]
    assert brown[0] < brown[1] < brown[2]
