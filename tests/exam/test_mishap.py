import pytest

from proctor.exam.kinds.example import Example, Performed
from proctor.exam.mishap import Mishap
from proctor.procedure.graph import Step, TaskGraph

TEXTS = {
    "1": "Add 2 cups of plaster to the bucket",
    "2": "Stir the plaster for 3 minutes",
    "3": "Heat the glue on medium heat",
    "4": "Take 4 screws",
    "5": "Cut the board with a saw",
}
GRAPH = TaskGraph("g", "g", tuple(Step(i, t) for i, t in TEXTS.items()), ())


def mishap(type_, step, performed="", remark=""):
    example = Example(
        id="e", clip_id="c", recording_id="r", activity_id="g", activity_name="g", type=type_, end=1.0,
        state="ongoing", noisy=False, current=Performed(step, performed or TEXTS[step], TEXTS[step]),
        mistake_texts=(remark,) if remark else (),
    )  # fmt: skip
    return Mishap.of(example, GRAPH)


@pytest.mark.parametrize(
    ("type_", "step", "performed", "contrast", "remedy"),
    [
        ("measurement", "1", "Add 1 cup of plaster to the bucket", "you used 1 cup instead of 2 cups", "add another cup"),
        ("measurement", "1", "Add 3 cups of plaster to the bucket", "you used 3 cups instead of 2 cups", "start over with 2 cups"),
        ("measurement", "4", "Take 6 screws", "you used 6 screws instead of 4 screws", "set the surplus aside and go on with 4 screws only"),
        ("timing", "2", "Stir the plaster for 1 minute", "it was 1 minute instead of 3 minutes", "keep going for another 2 minutes"),
        ("timing", "2", "Stir the plaster for 5 minutes", "it was 5 minutes instead of 3 minutes", "start over with 3 minutes"),
        ("temperature", "3", "Heat the glue on high heat", "it was high instead of medium", "turn the heat down to medium"),
        ("temperature", "3", "Heat the glue on low heat", "it was low instead of medium", "turn the heat up to medium"),
    ],
)  # fmt: skip
def test_difference_and_remedy(type_, step, performed, contrast, remedy):
    found = mishap(type_, step, performed)
    assert found.contrast == contrast
    assert found.report.startswith(contrast)
    assert remedy in found.remedy


def test_performed_text_counts_more_than_the_remark():
    found = mishap("timing", "2", "Stir the plaster for 1 minute", "5 minutes instead of 3 minutes")
    assert found.contrast == "it was 1 minute instead of 3 minutes"
    assert (
        mishap("timing", "2", remark="5 minutes instead of 3 minutes").contrast
        == "it was 5 minutes instead of 3 minutes"
    )


def test_remark_is_said_as_a_sentence():
    assert mishap("technique", "2", remark="Not stirring evenly").report == "you did not stir evenly"
    assert mishap("technique", "2").report == "you should have stirred the plaster for 3 minutes"


def test_what_was_done_instead_is_followed_by_what_was_asked_for():
    found = mishap("preparation", "5", "Cut the board with a knife", "Used a knife")
    assert found.report == "you used a knife. You should have cut the board with a saw."


def test_spills_are_wiped_up_first():
    assert "wipe up" in mishap("technique", "1", remark="Spilled some plaster").remedy


def test_without_a_current_step_nothing_breaks():
    example = Example(
        id="e", clip_id="c", recording_id="r", activity_id="g", activity_name="g", type="technique", end=1.0,
        state="started", noisy=False,
    )  # fmt: skip
    found = Mishap.of(example, GRAPH)
    assert found.advice == found.report == "you should have followed the instructions"
    assert found.contrast == found.remedy == ""
