"""Which test reproduces which number of recognition.json (CaptainCook4D, Peddi et al. 2024).

Of the other numbers: rows as whole counts are in metrics/test_printed_counts.py and docs/test_paper_numbers.py; pairs of
matched segments and data_all need predictions that are not shared; clustering is in metrics/test_clustering.py; soft-NMS, detection and Hungarian matching are in metrics/test_soft_nms.py,
metrics/localization/test_scores.py and metrics/test_clustering.py; its losses and learning rates belong to training.
"""

import csv
import json
from collections import Counter, defaultdict

import pytest

from proctor.metrics.classification import chance_scores

pytestmark = pytest.mark.shared

LOCALIZATION = "stages/scoring/test_localization.py::test_golden_numbers_of_the_shared_predictions"
HERE = "golden/test_expected_recognition.py::"

COVERED = {
    "tiou": LOCALIZATION,
    "published_row": "stages/scoring/test_localization.py::test_published_rows_to_the_last_printed_digit",
    "reference_semantics": LOCALIZATION,
    "no_label_collision": LOCALIZATION,
    "correct_subset_semantics": LOCALIZATION,
    "error_recognition_test_sets.R": "stages/scoring/test_classification.py::test_test_set_r_of_the_published_split",
    "error_recognition_test_sets.S": f"{HERE}test_test_set_s_of_the_published_split",
    "all_positive_baseline": "metrics/test_classification.py::test_anchors_equal_the_expected_file",
    **dict.fromkeys(
        (
            f"dataset.{key}"
            for key in (
                *(
                    "recordings",
                    "hours",
                    "step_entries",
                    "missing_entries",
                    "timed_segments",
                    "normal",
                    "error",
                ),
                *("steps_with_errors", "timed_steps_with_errors", "error_tags_instances"),
            )
        ),
        f"{HERE}test_counts_of_the_annotations",
    ),
    "dataset.per_recipe": f"{HERE}test_rows_of_the_recipes",
    "dataset.paper_table17": f"{HERE}test_rows_of_the_recipes",
}
ELSEWHERE = {
    "error_recognition_test_sets.source": "says where the sizes come from",
    "ptg_pair": "cannot be computed here: the PTG predictions and their ground truth are not among the shared data",
}


@pytest.fixture(scope="module")
def expected(shared_expected):
    return shared_expected("recognition")


@pytest.fixture(scope="module")
def recordings(shared_data):
    """Every recording with its steps, seconds and recipe."""
    folder = shared_data / "captaincook4d"
    entries = json.loads((folder / "annotation_json/error_annotations.json").read_text(encoding="utf-8"))
    complete = json.loads(
        (folder / "annotation_json/complete_step_annotations.json").read_text(encoding="utf-8")
    )
    with (folder / "metadata/video_information.csv").open(encoding="utf-8") as stream:
        seconds = {row["recording_id"]: float(row["duration(sec)"]) for row in csv.DictReader(stream)}
    return [
        {
            **one,
            "seconds": seconds[one["recording_id"]],
            "recipe": complete[one["recording_id"]]["activity_name"],
        }
        for one in entries
    ]


def test_every_number_is_accounted_for(account, expected):
    assert account(expected, COVERED, ELSEWHERE) == []


def test_test_set_s_of_the_published_split(recordings, expected):
    """Cut at 75 and 91 per cent of the steps of each kind; a repeated step is placed by its first execution, labelled by its last."""
    found = {}
    for name, left_out in (("steps", ()), ("imagebind_steps", ("12_6",))):
        labels = []
        for one in recordings:
            if one["recording_id"] in left_out:
                continue
            timed = [step for step in one["step_annotations"] if step["start_time"] >= 0]
            first, last = {}, {}
            for step in timed:
                first.setdefault(step["step_id"], bool(step.get("errors")))
                last[step["step_id"]] = bool(step.get("errors"))
            for kind in (False, True):
                ids = [step for step, wrong in first.items() if wrong is kind]
                labels += [last[step] for step in ids[int(0.75 * len(ids)) : int(0.91 * len(ids))]]
        found[name] = len(labels)
        found["positives"] = sum(labels)
    assert found == expected["error_recognition_test_sets"]["S"]
    rows = chance_scores([int(label) for label in labels] + [0], "always-error")  # with the step of 12_6
    assert round(100 * rows["f1_score"].value, 2) == expected["all_positive_baseline"]["S"]["f1"]
    assert round(100 * rows["accuracy"].value, 2) == expected["all_positive_baseline"]["S"]["acc"]


def test_counts_of_the_annotations(recordings, expected):
    steps = [step for one in recordings for step in one["step_annotations"]]
    timed = [step for step in steps if step["start_time"] >= 0]
    normal = sum(not one["is_error"] for one in recordings)
    wanted = expected["dataset"]
    assert {
        "recordings": len(recordings),
        "step_entries": len(steps),
        "missing_entries": len(steps) - len(timed),
        "timed_segments": len(timed),
        "normal": normal,
        "error": len(recordings) - normal,
        "steps_with_errors": sum(bool(step.get("errors")) for step in steps),
        "timed_steps_with_errors": sum(bool(step.get("errors")) for step in timed),
        "error_tags_instances": dict(
            Counter(error["tag"] for step in steps for error in step.get("errors") or ())
        ),
    }.items() <= wanted.items()
    assert sum(one["seconds"] for one in recordings) / 3600 == pytest.approx(wanted["hours"], abs=2e-4)


def test_rows_of_the_recipes(recordings, expected):
    """Steps (as most recordings have them), recordings and hours without and with a mistake; 7 printed rows differ."""
    recipes = defaultdict(list)
    for one in recordings:
        recipes[one["recipe"]].append(one)
    wanted = expected["dataset"]["per_recipe"]
    printed = expected["dataset"]["paper_table17"]
    assert recipes.keys() == wanted.keys() == printed.keys()
    differ = set()
    for name, several in recipes.items():
        steps, normal, normal_hours, error, error_hours = wanted[name]
        parts = [[one for one in several if one["is_error"] is wrong] for wrong in (False, True)]
        assert [len(part) for part in parts] == [normal, error], name
        hours = [sum(one["seconds"] for one in part) / 3600 for part in parts]
        assert hours == pytest.approx([normal_hours, error_hours], abs=6e-4), name
        assert steps in Counter(len(one["step_annotations"]) for one in several), name
        if [normal, error] != [printed[name][1], printed[name][3]]:
            differ.add(name)
        else:
            assert hours == pytest.approx([printed[name][2], printed[name][4]], abs=0.04), name
    assert sorted(differ) == [
        "Broccoli Stir Fry",
        "Butter Corn Cup",
        "Microwave Egg Sandwich",
        "Microwave Mug Pizza",
        "Pan Fried Tofu",
        "Tomato Chutney",
        "Zoodles",
    ]
