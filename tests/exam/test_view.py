"""What systems are shown, as a record and as the short text that commands take."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.exam.view import SAMPLINGS, VIEWS, View, frame_times

KINDS = st.sampled_from(VIEWS)
NUMBERS = st.integers(1, 10_000)
HEIGHTS = st.integers(16, 4_320)


@st.composite
def views(draw: st.DrawFn) -> View:
    kind = draw(KINDS)
    return View(
        kind=kind,
        frames=draw(NUMBERS),
        height=draw(HEIGHTS),
        sampling=draw(st.sampled_from(SAMPLINGS)),
        captioner="openai/gpt-4o-mini" if kind == "captions" else "",
    )


@given(views())
def test_a_view_is_read_back_from_its_text(view: View) -> None:
    assert View.parse(view.spec, captioner=view.captioner) == view
    assert View.parse(f"  {view.spec} ", captioner="openai/gpt-4o-mini") == view


@given(views(), views())
def test_different_views_have_different_texts_and_names(one: View, two: View) -> None:
    assert (one == two) == (one.spec == two.spec) == (one.label == two.label)


@given(views())
def test_a_view_survives_the_record_of_a_run(view: View) -> None:
    assert msgspec.json.decode(msgspec.json.encode(view), type=View) == view


@given(st.text(max_size=40) | st.from_regex(r"(frames|video|recipe)([:@]\w{0,8}){0,4}", fullmatch=True))
def test_any_text_is_a_view_or_a_clear_error(text: str) -> None:
    try:
        view = View.parse(text)
    except UserError:
        return
    assert View.parse(view.spec) == view


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("frames:50@765p:published", {"frames": 50, "height": 765}),
        ("frames", {}),
        ("frames:10", {"frames": 10}),
        ("frames@288p", {"height": 288}),
        ("frames:uniform:288p:100f", {"frames": 100, "height": 288, "sampling": "uniform"}),
        ("recipe", {"kind": "recipe"}),
        ("question", {"kind": "question"}),
        ("video", {"kind": "video"}),
        ("video:288p", {"kind": "video", "height": 288}),
        ("frames:20:steps", {"frames": 20, "sampling": "steps"}),
        ("captions:50@288p", {"kind": "captions", "height": 288, "captioner": "a/b"}),
    ],
)
def test_what_is_left_out_has_its_default(text: str, options: dict[str, object]) -> None:
    assert View.parse(text, captioner="a/b") == View(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is none of question, recipe"),
        ("smell:50", "'smell' is none of"),
        ("frames:", "'' is neither a number of frames"),
        ("frames:50@765", "gives its frames twice"),
        ("frames:50:20", "gives its frames twice"),
        ("frames:288p:765p", "gives its height twice"),
        ("frames:-5", "'-5' is neither"),
        ("frames:5.5", "'5.5' is neither"),
        ("frames:٥", "'٥' is neither"),
        ("frames:dice", "'dice' is neither a number of frames (50), a height (765p) or a sampling"),
        ("frames:0", "0 frames of 360 pixels"),
        ("frames:20000", "20000 frames of 360 pixels"),
        ("frames@8p", "50 frames of 8 pixels"),
        ("recipe:50", "a view 'recipe' has no frames ('50')"),
        ("question@288p", "a view 'question' has no height ('288p')"),
        ("captions:50", "needs a captioner"),
        ("video:50", "a view 'video' has no frames ('50')"),
        ("video:uniform", "a view 'video' has no sampling ('uniform')"),
        ("frames:999999999", "'999999999' is neither"),
    ],
)
def test_what_is_no_view_is_said_with_an_example(text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        View.parse(text)
    assert message in caught.value.message
    assert caught.value.hint


def test_a_view_without_frames_has_no_number_of_frames() -> None:
    assert View(kind="recipe", frames=10, height=20, sampling="fps") == View(kind="recipe")
    assert View(kind="recipe", frames=10).details == {"view": "recipe"}


def test_frames_at_steps_are_a_privilege() -> None:
    assert View.parse("frames:5:steps").privilege == "when the performed steps begin and end"
    assert View.parse("captions:5:steps", captioner="a/b").privilege
    assert not View.parse("frames:5:uniform").privilege
    assert View(kind="recipe", sampling="steps").privilege == ""


def test_two_captioners_are_two_systems_wherever_they_are() -> None:
    labels = [
        View(kind="captions", captioner=name).label
        for name in ("compat/a@http://127.0.0.1:1/v1", "compat/a@http://127.0.0.1:2/v1", "compat/b")
    ]
    assert labels[0] == labels[1] == "captions-50f-360p-published by compat/a"
    assert labels[2] == "captions-50f-360p-published by compat/b"


@given(views(), st.floats(0.01, 5_000), st.lists(st.tuples(st.floats(0, 100), st.floats(0, 100)), max_size=9))
def test_moments_are_few_increasing_and_before_the_question(
    view: View, end: float, pairs: list[tuple[float, float]]
) -> None:
    steps = [(start, start + length) for start, length in pairs]
    times = frame_times(view, end, steps)
    assert 1 <= len(times) <= view.frames
    assert times == sorted(set(times))
    assert all(0 <= t < end for t in times)
    if view.frames > 1 and view.sampling != "steps":
        fewer = msgspec.structs.replace(view, frames=view.frames - 1)
        assert len(frame_times(fewer, end, steps)) <= len(times)
