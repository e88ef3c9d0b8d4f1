"""WikiHow: sections, categories, pictures where they may be, lines that are broken."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from proctor.datasets import json_files, manual_parts
from proctor.datasets.dataset import Log
from proctor.datasets.manual_caps import Caps, derive_sequences
from proctor.datasets.manual_categories import category_keys, top_categories
from proctor.datasets.wikihow import DATASET
from proctor.errors import UserError
from proctor.metrics.ordering import shuffle_targets
from proctor.procedure.manual import Manual


@pytest.fixture
def fixture(tests_data: Path) -> Path:
    return tests_data / "datasets" / "wikihow"


def step(image: Any = None, **changes: Any) -> dict[str, Any]:
    return {
        "step_headline": "Head.",
        "step_text": {"text": "Body.", "bullet_points": ["Point."]},
        "step_assets": {"image-large": image},
        **changes,
    }


def article(url: str = "u", steps: int = 2, **changes: Any) -> dict[str, Any]:
    return {
        "url": url,
        "title": "How",
        "summary": "Sum.",
        "sections": [{"steps": [step() for _ in range(steps)]}],
        **changes,
    }


def folder(
    root: Path, *lines: Any, categories: list[Any] | None = None, name: str = "articles.jsonl"
) -> Path:
    def dump(path: Path, values: Any) -> None:
        path.write_text("".join((v if isinstance(v, str) else json.dumps(v)) + "\n" for v in values))

    dump(root / name, lines)
    if categories is not None:
        dump(root / "categories.jsonl", categories)
    (root / "images").mkdir(exist_ok=True)
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
    assert [m.title for m in manuals] == ["How to Clean a Brush", "How to Pot a Cactus", "How to Fold a Boat"]
    assert [m.attributes["split"] for m in manuals] == ["dev", "train", "train"]
    assert [[len(s.steps) for s in m.sections] for m in manuals] == [[3], [5, 3], [4]]
    assert manuals[1].category_paths == (
        ("Root", "Home and Garden", "Gardening", "Houseplants", "Cacti"),
        ("Root", "Hobbies and Crafts", "Gifts"),
    )
    assert (log.dropped, log.findings) == ([], [])
    images = [p for m in manuals for s in m.sections for step in s.steps for p in step.images]
    assert len(images) == 14
    assert all((fixture / path).is_file() for path in images)


def test_one_sequence_a_section(fixture: Path):
    caps = Caps(min_steps=2)
    derived = [derive_sequences(m, caps) for m in read(fixture)[0]]
    assert [(s.id.rsplit("/", 1)[1], len(s.steps)) for d in derived for s in d.sequences] == [
        ("Clean-a-Brush###0", 3),
        ("Pot-a-Cactus###0", 5),
        ("Pot-a-Cactus###1", 2),
        ("Fold-a-Boat###0", 4),
    ]
    cactus = derived[1].sequences[0]
    assert cactus.steps[0].text == "Take one with a hole in its bottom. Clay dries faster."
    assert cactus.goal == "How to Pot a Cactus"


def test_categories_of_the_fixture(fixture: Path):
    brush, cactus, _ = read(fixture)[0]
    assert top_categories(brush) == ("Others",)
    assert top_categories(cactus) == ("Home and Garden", "Hobbies and Crafts")
    assert len(category_keys(cactus)) == 2
    assert any("Houseplants" in key and "Cacti" not in key for key in category_keys(cactus))


# -- pictures -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stored", "there"),
    [
        ("a/b.jpg", "a/b.jpg"),
        ("/a/b.jpg", "a/b.jpg"),
        ("a/b.jpg", "www.wikihow.com/a/b.jpg"),
        ("www.wikihow.com/a/b.jpg", "a/b.jpg"),
        ("www.wikihow.com/a/b.jpg", "wikihow.com/a/b.jpg"),
        ("wikihow.com/a/b.jpg", "www.wikihow.com/a/b.jpg"),
        ("https://www.wikihow.com/a/b.jpg?x=1", "a/b.jpg"),
        ("a/b.jpg", "images/a/b.jpg"),
        ("./a//b.jpg", "a/b.jpg"),
        ("www.wikihow.com/a/b.jpg", "images/www.wikihow.com/a/b.jpg"),
    ],
)
def test_a_picture_is_found_with_and_without_its_host(stored: str, there: str, tmp_path: Path):
    (tmp_path / there).parent.mkdir(parents=True)
    (tmp_path / there).touch()
    manuals, log = read(folder(tmp_path, article(sections=[{"steps": [step(stored)]}])))
    assert manuals[0].sections[0].steps[0].images == (there,)
    assert log.findings == []
    assert log.counts["images"] == 1


def test_the_large_picture_is_preferred_and_the_other_taken_when_it_is_missing(tmp_path: Path):
    assets = {"image-large": "large.jpg", "image-src-1": "small.jpg"}
    root = folder(tmp_path, article(sections=[{"steps": [step(step_assets=assets)]}]))
    (root / "small.jpg").touch()
    assert read(root)[0][0].sections[0].steps[0].images == ("small.jpg",)
    (root / "large.jpg").touch()
    assert read(root)[0][0].sections[0].steps[0].images == ("large.jpg",)


def test_a_missing_picture_is_counted_and_the_step_kept(tmp_path: Path):
    manuals, log = read(
        folder(tmp_path, article(sections=[{"steps": [step("x.jpg"), step("y.jpg"), step()]}]))
    )
    assert [s.images for s in manuals[0].sections[0].steps] == [(), (), ()]
    assert log.counts["images_missing"] == 2
    assert [(f.rule, f.seen) for f in log.findings] == [("image-missing", "'x.jpg' (and 1 more)")]


@pytest.mark.parametrize(
    "stored", ["../x.jpg", "a/../../x.jpg", "C:/x.jpg", "a\\x.jpg", "a\x00b", "/", "x" * 5_000, 7, ["x.jpg"]]
)
def test_a_path_that_leads_elsewhere_is_no_picture(stored: Any, tmp_path: Path):
    (tmp_path / "x.jpg").touch()
    root = tmp_path / "data"
    root.mkdir()
    manuals, log = read(folder(root, article(sections=[{"steps": [step(stored)]}])))
    assert manuals[0].sections[0].steps[0].images == ()
    assert rules(log) == ["odd-assets"]


def test_a_name_that_no_disk_takes_is_a_missing_file(tmp_path: Path):
    _, log = read(folder(tmp_path, article(sections=[{"steps": [step("x" * 900)]}])))
    assert rules(log) == ["image-missing"]


def test_without_any_folder_there_are_no_pictures_and_it_is_said_once(tmp_path: Path):
    root = folder(tmp_path, article(sections=[{"steps": [step("x.jpg")] * 3}]))
    (root / "images").rmdir()
    _, log = read(root)
    assert rules(log) == ["no-images"]
    assert log.counts["images_missing"] == 3
    assert read(root, images="listed")[0][0].sections[0].steps[0].images == ("x.jpg",)


@pytest.mark.parametrize(
    ("assets", "odd"), [(None, 0), ({}, 0), ([], 0), ("", 0), (7, 1), ("x.jpg", 1), (0, 1)]
)
def test_assets_that_are_none(assets: Any, odd: int, tmp_path: Path):
    manuals, log = read(folder(tmp_path, article(sections=[{"steps": [step(step_assets=assets)]}])))
    assert manuals[0].sections[0].steps[0].images == ()
    assert rules(log) == ["odd-assets"] * odd


# -- articles -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "bad-line"),
        ("7", "bad-line"),
        ('{"url": NaN}', "bad-article"),
        (article(url=None), "bad-article"),
        (article(url=""), "bad-article"),
        (article(url="a\nb"), "bad-article"),
        (article(url="x" * 2_000), "bad-article"),
        (article(title=7), "bad-article"),
        (article(title="\ud800"), "bad-article"),
        (article(sections=None), "bad-article"),
        (article(sections={}), "bad-article"),
        (article(url="good"), "duplicate-id"),
    ],
)
def test_an_article_that_makes_no_sense_is_dropped_alone(line: Any, reason: str, tmp_path: Path):
    manuals, log = read(folder(tmp_path, article("good"), line, article("last")))
    assert [m.id for m in manuals] == ["good", "last"]
    assert reasons(log) == [(reason, "articles.jsonl:2")]


@pytest.mark.parametrize(
    "bad",
    [
        7,
        None,
        step(step_text="Body."),
        step(step_text={"text": 7, "bullet_points": []}),
        step(step_text={"text": "x", "bullet_points": "y"}),
        step(step_text={"text": "x", "bullet_points": [7]}),
        step(step_headline=[]),
    ],
)
def test_a_step_that_makes_no_sense_is_dropped_alone(bad: Any, tmp_path: Path):
    manuals, log = read(folder(tmp_path, article(sections=[{"steps": [step(), bad, step()]}])))
    assert [s.id for s in manuals[0].sections[0].steps] == ["0", "2"]
    assert reasons(log) == [("bad-step", "u section 0 step 1")]


def test_a_section_that_makes_no_sense_is_dropped_and_the_others_keep_their_number(tmp_path: Path):
    sections = [{"steps": None}, 7, {"steps": []}, {"steps": [step()]}]
    manuals, log = read(folder(tmp_path, article(sections=sections)))
    assert [s.index for s in manuals[0].sections] == [2, 3]
    assert reasons(log) == [("bad-section", "u section 0"), ("bad-section", "u section 1")]
    assert rules(log) == ["empty-section"]


def test_an_article_without_sections_is_dropped(tmp_path: Path):
    manuals, log = read(folder(tmp_path, article("a", sections=[]), article("b")))
    assert [m.id for m in manuals] == ["b"]
    assert reasons(log) == [("no-sections", "a")]


def test_missing_texts_are_empty_and_told_once(tmp_path: Path):
    bare = {"sections": [{"steps": [{}, {"step_text": {}}]}], "url": "u"}
    manuals, log = read(folder(tmp_path, bare))
    assert [s.text for s in manuals[0].sections[0].steps] == ["", ""]
    assert sorted(rules(log)) == ["missing-bullets", "missing-text"]


def test_a_file_of_another_format_is_refused_early(tmp_path: Path):
    root = folder(tmp_path, *["x"] * (manual_parts.HOPELESS + 50))
    with pytest.raises(UserError, match="first 1,000 lines hold no JSON object") as caught:
        read(root)
    assert caught.value.where == str(root / "articles.jsonl")
    folder(tmp_path, "x", "y")
    with pytest.raises(UserError, match=r"no article that can be read \(left out: 2 bad-line\)"):
        read(root)
    folder(tmp_path)
    with pytest.raises(UserError, match="no article that can be read"):
        read(root)


def test_an_article_of_two_splits_is_not_trained_on(tmp_path: Path):
    for split in ("train", "dev", "golden", "apart"):
        folder(tmp_path, article("both"), article(f"only-{split}"), name=f"articles-{split}.jsonl")
    manuals, log = read(tmp_path)
    assert [(m.id, m.attributes["split"]) for m in manuals] == [
        ("both", "golden"),
        ("only-golden", "golden"),
        ("only-dev", "dev"),
        ("only-apart", "apart"),
        ("only-train", "train"),
    ]
    assert [i for _, i in reasons(log)] == [f"articles-{s}.jsonl:1" for s in ("dev", "apart", "train")]


def test_a_line_that_is_too_long_costs_only_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(json_files, "MAX_LINE_BYTES", 2_000)
    root = folder(tmp_path, article("a"), article("b", summary="x" * 9_000), article("c"))
    manuals, log = read(root)
    assert [m.id for m in manuals] == ["a", "c"]
    assert reasons(log) == [("line-too-long", "articles.jsonl:2")]


def test_articles_stream(tmp_path: Path):
    """Twenty times as many articles need no more memory; only their urls are kept."""
    peaks = []
    for count in (50, 1_000):
        root = folder(tmp_path, *(article(f"u{i}", summary="x" * 5_000) for i in range(count)))
        tracemalloc.start()
        for _ in DATASET.iter_records(root, "published", Log()):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 500_000  # the articles have 5 MB


# -- categories ---------------------------------------------------------------------------------------------


def category(url: Any, *names: Any) -> dict[str, Any]:
    return {"url": url, "categories": [{"category title": n} for n in names]}


def test_paths_are_joined_by_url(tmp_path: Path):
    categories = [category("a", "Root", "A"), category("b", "Root"), category("a", "Root", "B", "C")]
    manuals, log = read(folder(tmp_path, article("a"), article("b"), article("c"), categories=categories))
    assert [m.category_paths for m in manuals] == [(("Root", "A"), ("Root", "B", "C")), (("Root",),), ()]
    assert [(f.rule, f.where) for f in log.findings] == [("no-category", "c")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("x", "bad-line"),
        (category(7, "Root"), "bad-category"),
        (category("a"), "bad-category"),
        (category("a", "Root", None), "bad-category"),
        ({"url": "a", "categories": "Root"}, "bad-category"),
        ({"categories": []}, "bad-category"),
    ],
)
def test_a_broken_line_of_categories_is_dropped(line: Any, reason: str, tmp_path: Path):
    categories = [category("a", "Root", "A"), line]
    manuals, log = read(folder(tmp_path, article("a"), categories=categories))
    assert manuals[0].category_paths == (("Root", "A"),)
    assert reasons(log) == [(reason, "categories.jsonl:2")]


def test_the_same_category_twice_counts_once(tmp_path: Path):
    categories = [category("a", "Root", "A")] * 2
    manuals, log = read(folder(tmp_path, article("a"), categories=categories))
    assert manuals[0].category_paths == (("Root", "A"),)
    assert rules(log) == ["category-twice"]


# -- further right orders -------------------------------------------------------------------------------------


def test_orders_come_through_to_the_targets_as_expected(tmp_path: Path, shared_expected: Any):
    """sequencing.json: shuffle_targets, read as orders and, for contrast, as ranks."""
    expected = shared_expected("sequencing")["shuffle_targets"]
    slots, wanted = expected["slot_to_step"], expected["refs_as_orders_of_steps"]
    root = folder(tmp_path, article(steps=4, multiref_gt=wanted))
    caps = Caps(min_steps=4, paired=False)
    for semantics, targets in (
        ("order", expected["targets_as_slots"]),
        ("ranks", expected["wrong_if_refs_read_as_ranks"]),
    ):
        manual = read(root, semantics=semantics)[0][0]
        (sequence,) = derive_sequences(manual, caps).sequences
        for modality in ("multimodal", "text", "image"):
            assert [shuffle_targets(slots, o) for o in sequence.orders(modality)] == targets


def test_ranks_become_orders_as_expected(tmp_path: Path, shared_expected: Any):
    for case in shared_expected("sequencing")["order_rank_conversion"]:
        root = folder(tmp_path, article(multiref_gt={"image": [case["ranks"]]}))
        manual = read(root, semantics="ranks")[0][0]
        assert manual.sections[0].references == {"image": (tuple(case["order"]),)}
        assert case["back"] == case["order"]


def test_orders_of_several_sections_are_nobodys(tmp_path: Path):
    sections = [{"steps": [step()]}] * 2
    manuals, log = read(folder(tmp_path, article(sections=sections, multiref_gt=[[0]])), semantics="order")
    assert all(s.references == {} for s in manuals[0].sections)
    assert reasons(log) == [("orders-of-which-section", "u")]


def test_figures_have_the_published_keys(fixture: Path):
    assert DATASET.measure is not None
    figures = DATASET.measure(fixture)
    missing = {p.quantity for p in DATASET.published} - figures.keys()
    assert missing == {"manuals_golden"}  # the fixture has no such file
    assert (figures["manuals"], figures["images"]) == (3, 14)


def test_every_reason_and_rule_is_explained():
    assert all(text.endswith(".") for text in DATASET.rules.values())
