"""RecipeQA: recipes from questions, pictures by their names, and everything that is left out is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.datasets.dataset import Log
from proctor.datasets.manual_caps import Caps, derive_sequences
from proctor.datasets.recipeqa import DATASET, parse_stem
from proctor.errors import UserError
from proctor.procedure.manual import Manual


@pytest.fixture
def fixture(tests_data: Path) -> Path:
    return tests_data / "datasets" / "recipeqa"


def question(recipe: str = "soup", steps: int = 2, **changes: Any) -> dict[str, Any]:
    context = [{"id": n, "title": "", "body": f"Do {n}.", "images": []} for n in range(1, steps + 1)]
    return {"recipe_id": recipe, "context": context, "task": "visual_cloze", **changes}


def folder(root: Path, *questions: Any, split: str = "train", images: list[str] | None = None) -> Path:
    (root / "texts").mkdir(parents=True, exist_ok=True)
    (root / "texts" / f"{split}.json").write_text(json.dumps({"version": "1.0", "data": questions}))
    place = root / "images" / "images-qa" / split / "images-qa"
    place.mkdir(parents=True, exist_ok=True)
    for name in images or []:
        (place / name).touch()
    return root


def read(root: Path, **options: str) -> tuple[list[Manual], Log]:
    log = Log()
    return list(DATASET.iter_records(root, "published", log, **options)), log


def reasons(log: Log) -> list[tuple[str, str]]:
    return [(d.reason, d.id) for d in log.dropped]


def rules(log: Log) -> list[str]:
    return [f.rule for f in log.findings]


def test_the_fixture(fixture: Path):
    manuals, log = read(fixture)
    assert [m.id for m in manuals] == ["leek-soup", "mint-tea", "garlic-toast"]
    assert [m.attributes["split"] for m in manuals] == ["train", "train", "val"]
    assert [m.title for m in manuals] == ["leek soup", "mint tea", "garlic toast"]
    assert [len(m.sections[0].steps) for m in manuals] == [6, 5, 5]
    soup = manuals[0].sections[0]
    assert soup.steps[1].images == (
        "images/images-qa/train/images-qa/leek-soup_2_0.png",
        "images/images-qa/train/images-qa/leek-soup_2_1.png",
    )
    assert soup.steps[0].headline == "Wash"
    assert (log.dropped, log.findings) == ([], [])
    assert log.counts["questions"] == 4
    assert log.counts["questions_of_a_recipe_seen"] == 1
    for manual in manuals:
        for step in manual.sections[0].steps:
            assert all((fixture / path).is_file() for path in step.images)


def test_sequences_of_the_fixture(fixture: Path):
    derived = [derive_sequences(m) for m in read(fixture)[0]]
    assert [s.id for d in derived for s in d.sequences] == [
        "leek-soup###0",
        "mint-tea###0",
        "garlic-toast###0",
    ]
    assert [x.reason for d in derived for x in d.dropped] == ["beyond-max-steps"]


def test_only_the_first_question_of_a_recipe_counts(tmp_path: Path):
    manuals, log = read(folder(tmp_path, question(steps=2), question(steps=4), question("pie")))
    assert [(m.id, len(m.sections[0].steps)) for m in manuals] == [("soup", 2), ("pie", 2)]
    assert log.counts["questions_of_a_recipe_seen"] == 1


def test_the_next_question_counts_when_the_first_cannot_be_read(tmp_path: Path):
    manuals, log = read(folder(tmp_path, question(context=None), question(steps=3)))
    assert len(manuals[0].sections[0].steps) == 3
    assert reasons(log) == [("bad-question", "train.json question 0")]


def test_splits_come_in_order_and_a_recipe_in_two_is_told(tmp_path: Path):
    for split in ("test", "train", "val", "extra"):
        folder(tmp_path, question(), question(f"only-{split}"), split=split)
    manuals, log = read(tmp_path)
    assert [m.id for m in manuals] == ["soup", "only-train", "only-val", "only-test", "only-extra"]
    assert rules(log).count("recipe-in-two-splits") == 3


def test_pictures_are_sorted_by_number_not_by_text(tmp_path: Path):
    images = [f"soup_1_{k}.jpg" for k in (10, 2, 1)] + ["soup_2.jpg"]
    manuals, _ = read(folder(tmp_path, question(), images=images))
    names = [[Path(p).name for p in s.images] for s in manuals[0].sections[0].steps]
    assert names == [["soup_1_1.jpg", "soup_1_2.jpg", "soup_1_10.jpg"], ["soup_2.jpg"]]


def test_the_longest_known_recipe_gets_the_picture(tmp_path: Path):
    root = folder(
        tmp_path,
        question("soup"),
        question("soup_2"),
        images=["soup_2_1.jpg", "soup_1_1.jpg", "soup_2_2_1.jpg"],
    )
    manuals, log = read(root)
    names = {m.id: [[Path(p).name for p in s.images] for s in m.sections[0].steps] for m in manuals}
    assert names == {"soup": [["soup_1_1.jpg"], []], "soup_2": [["soup_2_1.jpg"], ["soup_2_2_1.jpg"]]}
    assert log.counts["images_of_no_recipe"] == 0


def test_pictures_that_are_missing_or_nobodys_are_counted(tmp_path: Path):
    listed = question()
    listed["context"][0]["images"] = ["soup_1_0.jpg", "soup_1_1.jpg"]
    images = ["soup_1_0.jpg", "pie_1_0.jpg", "soup_x.jpg", "readme.txt"]
    manuals, log = read(folder(tmp_path, listed, images=images))
    assert len(manuals[0].sections[0].steps[0].images) == 1
    assert log.counts["images_missing"] == 1
    assert log.counts["images_of_no_recipe"] == 3
    assert rules(log) == ["image-missing"]


def test_without_a_folder_of_pictures_there_are_none_and_it_is_said_once(fixture: Path, tmp_path: Path):
    (tmp_path / "texts").symlink_to(fixture / "texts")
    manuals, log = read(tmp_path)
    assert not any(s.images for m in manuals for s in m.sections[0].steps)
    assert [(f.rule, f.where) for f in log.findings] == [("no-images", "train"), ("no-images", "val")]
    assert log.counts["images_missing"] == 17
    assert not any(derive_sequences(m).sequences for m in manuals)
    assert all(derive_sequences(m, Caps(paired=False)).sequences for m in manuals)


def test_listed_pictures_are_taken_as_they_stand(fixture: Path, tmp_path: Path):
    (tmp_path / "texts").symlink_to(fixture / "texts")
    manuals, log = read(tmp_path, images="listed")
    assert manuals[0].sections[0].steps[1].images == ("leek-soup_2_0.png", "leek-soup_2_1.png")
    assert log.findings == []


@pytest.mark.parametrize("number", [1, "1", " 1 ", 0])
def test_a_step_number_may_be_a_text(number: Any, tmp_path: Path):
    changed = question()
    changed["context"][0]["id"] = number
    assert len(read(folder(tmp_path, changed))[0][0].sections[0].steps) == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("id", None),
        ("id", "one"),
        ("id", True),
        ("id", -1),
        ("id", 1.0),
        ("id", "٣"),
        ("id", 10**30),
        ("body", 7),
        ("body", ["x"]),
        ("body", "\ud800"),
        ("title", {}),
        ("images", "soup_1.jpg"),
    ],
)
def test_a_step_that_makes_no_sense_is_dropped_alone_and_the_others_keep_their_ids(
    name: str, value: Any, tmp_path: Path
):
    changed = question(steps=3)
    changed["context"][0][name] = value
    manuals, log = read(folder(tmp_path, changed))
    assert [s.id for s in manuals[0].sections[0].steps] == ["1", "2"]
    assert reasons(log) == [("bad-step", "soup step 0")]


@pytest.mark.parametrize(
    "recipe", [None, "", "  ", 7, ["a"], "a/b", "..", "a\\b", "a\nb", "x" * 5_000, "\x00"]
)
def test_a_question_whose_recipe_cannot_be_an_id_is_dropped(recipe: Any, tmp_path: Path):
    manuals, log = read(folder(tmp_path, question(recipe), question("pie")))
    assert [m.id for m in manuals] == ["pie"]
    assert reasons(log) == [("bad-id", "train.json question 0")]


@pytest.mark.parametrize("odd", ["NaN", "1e999", '"\\ud800"', "[" * 20 + "]" * 20])
def test_one_odd_value_that_is_not_read_refuses_nothing(odd: str, tmp_path: Path):
    root = folder(tmp_path, question(answer="ODD"), question("pie"), 7)
    path = root / "texts" / "train.json"
    path.write_text(path.read_text().replace('"ODD"', odd))
    manuals, log = read(root)
    assert [m.id for m in manuals] == ["soup", "pie"]
    assert reasons(log) == [("bad-question", "train.json question 2")]


def test_oddities_of_one_recipe_are_told_once_each(tmp_path: Path):
    odd = question(steps=5, task="riddle")
    for step, number in zip(odd["context"], (1, 3, 2, 2, 5), strict=True):
        step["id"] = number
        step["images"] = None
    del odd["context"][4]["body"]
    odd["context"][3]["images"] = ["../x.jpg", 7]
    manuals, log = read(folder(tmp_path, odd))
    assert len(manuals[0].sections[0].steps) == 5
    assert sorted(rules(log)) == [
        "missing-images",
        "missing-text",
        "odd-image-name",
        "step-number-twice",
        "step-numbers-unsorted",
        "unknown-task",
    ]
    assert (
        next(f.seen for f in log.findings if f.rule == "missing-images") == "no list of images (and 3 more)"
    )


def test_a_recipe_without_a_readable_step_is_dropped(tmp_path: Path):
    manuals, log = read(folder(tmp_path, question(context=[7]), question("pie")))
    assert [m.id for m in manuals] == ["pie"]
    assert reasons(log) == [("bad-step", "soup step 0"), ("no-steps", "soup")]


def test_a_key_that_stands_twice_is_told(tmp_path: Path):
    root = folder(tmp_path, question())
    path = root / "texts" / "train.json"
    path.write_text(path.read_text().replace('"body": "Do 1."', '"body": "First.", "body": "Second."'))
    manuals, log = read(root)
    assert manuals[0].sections[0].steps[0].text == "First."
    assert reasons(log) == [("repeated-key", "body")]


@pytest.mark.parametrize(
    "data", [{}, {"data": {}}, {"data": []}, [], {"data": [7]}, {"data": [{"recipe_id": 1}]}]
)
def test_a_file_without_questions_is_refused_by_name(data: Any, tmp_path: Path):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "train.json").write_text(json.dumps(data))
    with pytest.raises(UserError, match=r"train\.json"):
        read(tmp_path)


def test_references_need_their_semantics(tmp_path: Path):
    root = folder(tmp_path, question(steps=3, multiref_gt=[[0, 1, 2], [1, 2, 0]]))
    unsaid, log = read(root)
    assert unsaid[0].sections[0].references == {}
    assert reasons(log) == [("semantics-unsaid", "soup")]
    orders = read(root, semantics="order")[0][0].sections[0].references["text"]
    ranks = read(root, semantics="ranks")[0][0].sections[0].references["text"]
    assert orders == ((0, 1, 2), (1, 2, 0))
    assert ranks == ((0, 1, 2), (2, 0, 1))


def test_figures_of_the_fixture(fixture: Path):
    assert DATASET.measure is not None
    figures = DATASET.measure(fixture)
    assert {p.quantity for p in DATASET.published} <= figures.keys()
    assert figures["manuals"] == 3
    assert (figures["manuals_train"], figures["manuals_val"]) == (2, 1)
    assert figures["images"] == 17
    assert figures["steps_per_task_mean"] == pytest.approx(16 / 3)


@pytest.mark.parametrize(
    ("stem", "parsed"),
    [
        ("soup_3_1", ("soup", 3, 1)),
        ("soup_3", ("soup", 3, 0)),
        ("soup_2_3", ("soup_2", 3, 0)),
        ("soup_2_3_4", ("soup_2", 3, 4)),
        ("soup_2", ("soup", 2, 0)),
        ("soup_10_02", ("soup", 10, 2)),
        ("soup", None),
        ("soup_", None),
        ("soup_x", None),
        ("soup_1_2_3", None),
        ("soupe_1", None),
        ("", None),
        ("_1", None),
    ],
)
def test_stems(stem: str, parsed: Any):
    assert parse_stem(stem, ["pie", "soup", "soup_2"]) == parsed


@given(
    st.lists(
        st.from_regex(r"[a-z]{1,3}(_[0-9]{1,2}){0,2}", fullmatch=True), min_size=1, max_size=8, unique=True
    ),
    st.data(),
)
def test_stems_of_known_recipes_are_found_with_the_longest_id_that_fits(ids: list[str], data: st.DataObject):
    recipe = data.draw(st.sampled_from(ids))
    step, k = data.draw(st.integers(0, 99)), data.draw(st.integers(0, 99))
    parsed = parse_stem(f"{recipe}_{step}_{k}", sorted(ids))
    assert parsed is not None
    assert len(parsed[0]) >= len(recipe)
    if parsed[0] == recipe:
        assert parsed == (recipe, step, k)
    else:
        assert parsed[0] == f"{recipe}_{step}"
        assert parsed[0] in ids
