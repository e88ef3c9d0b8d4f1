"""Files of sequences from manuals, rows of steps, lists and task graphs; what is left out is listed with its reason."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from tests.typed import proctor

from proctor.datasets.sequence_files import read_sequences
from proctor.datasets.splits import category_keys
from proctor.datasets.synthetic_manuals import write_manuals
from proctor.errors import UserError
from proctor.learn.sequencing.data import divide_by_task
from proctor.procedure.manual import Sequence
from proctor.records import Dropped, read_jsonl
from proctor.stages.sequences import MadeSequences, SequenceSettings, make_sequences


def _articles(folder: Path, *articles: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "articles.jsonl").write_text("".join(json.dumps(a) + "\n" for a in articles))
    return folder


def _article(url: str, *sections: list[dict[str, Any]], **rest: Any) -> dict[str, Any]:
    steps = [{"steps": s} for s in sections]
    return {"url": url, "title": f"How to {url}", "summary": "", "sections": steps, **rest}


def _step(text: str, image: str = "") -> dict[str, Any]:
    step = {"step_headline": "do", "step_text": {"text": text, "bullet_points": []}, "step_assets": {}}
    return {**step, "step_assets": {"image-large": image}} if image else step


def _make(out: Path, dataset: str, folder: Path, **rest: Any) -> MadeSequences:
    return make_sequences(SequenceSettings(place=(dataset, str(folder)), out=out, **rest))


def _reasons(path: Path) -> Counter[str]:
    dropped: list[Dropped] = read_jsonl(path.with_suffix(".dropped.jsonl"), Dropped)
    return Counter(d.reason for d in dropped)


def _keys(part: Iterable[Sequence]) -> set[str]:
    return {key for s in part for key in category_keys([p for p in s.category_paths if len(p) > 3])}


def test_manuals_with_pictures_are_beside_the_file_and_no_category_is_in_two_parts(tmp_path: Path) -> None:
    folder, out = write_manuals(tmp_path / "made", 24, 3), tmp_path / "f.jsonl"
    found = proctor("sequences", "wikihow", folder, "--out", out, "--json")
    assert found.status == 0, found.err
    assert [found.json[k] for k in ("sequences", "steps", "pictures")] == [24, 120, 120]
    read = read_sequences(out)
    assert all((read.root / i).is_file() for s in read.sequences for step in s.steps for i in step.images)
    assert all(s.task == s.id.partition("###")[0] for s in read.sequences)
    parts = divide_by_task(read.sequences, seed=1)
    keys = [_keys(part) for part in (parts.train, parts.dev, parts.test)]
    assert all(keys)
    assert all(a.isdisjoint(b) for a, b in combinations(keys, 2))
    again = proctor("sequences", "wikihow", folder, "--out", out, "--pictures", "link", "--json")
    assert again.json["hash"] == found.json["hash"]


def test_caps_filters_and_reasons(tmp_path: Path) -> None:
    png = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
    folder = _articles(
        tmp_path / "wikihow",
        _article("a", [_step(f"One {n}. Two. Three.", f"{n}.png") for n in range(7)], [_step("alone")]),
        _article("baby", [_step(f"{n}") for n in range(5)]),
        _article("same", [_step("just the same") for _ in range(5)]),
        _article("long", [_step("x" * 10_000_000), *(_step(f"{n}") for n in range(4))]),
        _article("r", [_step(f"{n}") for n in range(3)], multiref_gt=[[1, 2, 0], [0, 1]]),
    )
    (folder / "images").mkdir()
    for n in range(7):
        (folder / "images" / f"{n}.png").write_bytes(b"<html>" if n == 1 else b"" if n == 2 else png)
    out = tmp_path / "f.jsonl"
    made = _make(out, "wikihow", folder, sentences_per_step=2)
    (only,) = read_sequences(out).sequences
    # paired: broken ones are no pictures
    assert [s.text for s in only.steps] == [f"One {n}. Two." for n in (0, 3, 4, 5, 6)]
    assert _reasons(out) == made.dropped
    assert (made.dropped["picture"], made.dropped["no-image"]) == (2, 21)
    out2 = tmp_path / "g.jsonl"
    made = _make(out2, "wikihow", folder, protocol="whole", filter="released", semantics="ranks")
    by_id = {s.id: s for s in read_sequences(out2).sequences}
    assert set(by_id) == {"a###0", "r###0"}
    assert by_id["r###0"].orders("text") == ((0, 1, 2), (2, 0, 1))
    expected = {"title-word": 1, "all-alike": 1, "text-too-long": 1, "too-few-steps": 1, "reference-of-other-steps": 3, "picture": 2}  # fmt: skip
    assert {k: made.dropped[k] for k in expected} == expected
    with pytest.raises(UserError, match="no sequence is left"):
        _make(tmp_path / "h.jsonl", "wikihow", folder, deny_word=("how",))
    assert not (tmp_path / "h.jsonl").exists()


def test_nothing_that_is_read_is_overwritten_and_no_picture_is_of_other_data(tmp_path: Path) -> None:
    def picture(root: Path, end: bytes) -> Path:
        _articles(root, _article("a", [_step(str(n), "1.png") for n in range(5)]))
        (root / "images").mkdir(exist_ok=True)
        (root / "images" / "1.png").write_bytes(b"\x89PNG\r\n\x1a\n" + end)
        return root / "images" / "1.png"

    one, two, out = tmp_path / "one", tmp_path / "two", tmp_path / "f.jsonl"
    first, second = picture(one, b"one"), picture(two, b"two")
    for folder, shown, how in ((one, first, "copy"), (two, second, "copy"), (one, first, "link"), (two, second, "copy")):  # fmt: skip
        _make(out, "wikihow", folder, pictures=how)
        (image,) = read_sequences(out).sequences[0].steps[0].images
        assert (tmp_path / image).read_bytes() == shown.read_bytes()
        assert (tmp_path / image).is_symlink() == (how == "link")
    _make(tmp_path / "one.jsonl", "wikihow", one.rename(tmp_path / "one.pictures"), pictures="link")
    assert (tmp_path / "one.pictures/images/1.png").read_bytes().endswith(b"one")
    articles = two / "articles.jsonl"
    kept = articles.read_bytes()
    for bad in (articles, tmp_path, Path("/")):
        with pytest.raises(UserError, match=r"no file of sequences|a folder"):
            _make(bad, "wikihow", two)
    assert articles.read_bytes() == kept


def test_rows_of_steps_without_mistakes_and_repetitions(tmp_path: Path) -> None:
    def row(id_: str, *steps: tuple[str, float, dict[str, Any]], **rest: Any) -> str:
        rows = [{"start": t, "end": t + 1, "text": text, **more} for text, t, more in steps]
        return json.dumps({"video_id": id_, "task": "tea", "duration": 99, "steps": rows, **rest}) + "\n"

    folder, out = tmp_path / "rows", tmp_path / "f.jsonl"
    folder.mkdir()
    rows = [
        row("1", ("Pour-Pour it", 5, {}), ("boil", 1, {}), ("drink", 9, {"is_continued": True}), ("Boil", 7, {})),
        row("2", ("boil", 1, {"has_errors": True}), ("pour", 3, {})),
        row("3", ("boil", 1, {})),
        row("4", ("boil", 3, {}), ("pour", 1, {}), split="train"),
        '{"video_id": "5", "steps": [{"text": "cut short',
    ]  # fmt: skip
    (folder / "x.jsonl").write_text("".join(rows))
    made = _make(out, "steps", folder)
    read = read_sequences(out).sequences
    assert [[step.text for step in s.steps] for s in read] == [["boil", "Pour it"], ["pour", "boil"]]
    assert {s.task for s in read} == {"tea"}
    reasons = ("continued-step", "mistakes", "not-json", "repeated-step", "too-few-steps")
    assert made.dropped == dict.fromkeys(reasons, 1)
    _make(out, "steps", folder, only=("split=train",))
    assert [s.id for s in read_sequences(out).sequences] == ["4###0"]


def test_lists_and_graphs(tmp_path: Path) -> None:
    steps = ["Boil", "Pour", "Drink"]
    howto = {"@context": "https://schema.org", "@type": "HowTo", "name": "Tea", "step": steps}
    (tmp_path / "tea.JSONLD").write_text(json.dumps(howto))
    (tmp_path / "broken.jsonld").write_text('{"@type": "HowTo"')
    out = tmp_path / "f.jsonl"
    made = _make(out, "howto", tmp_path)
    (tea,) = read_sequences(out).sequences
    assert (tea.task, tea.before, made.dropped) == ("tea", None, {"unreadable": 1})
    assert [s.text for s in tea.steps] == steps
    cake = "digraph cake { a [label=Mix]; b [label=Heat]; c [label=Bake]; a -> c; b -> c }"
    (tmp_path / "cake.dot").write_text(cake)
    _make(out, "dot", tmp_path / "cake.dot", max_steps=2)
    (only,) = read_sequences(out).sequences
    assert ([s.text for s in only.steps], only.before) == (["Mix", "Heat"], ())


def test_real_graphs_and_rows_of_steps(shared_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "f.jsonl"
    made = _make(out, "captaincook4d", shared_data / "captaincook4d")
    read = read_sequences(out)
    assert (made.sequences, made.tasks, made.steps, read.dropped) == (24, 24, 358, ())
    assert all(s.before is not None for s in read.sequences)
    assert not any(step.text.startswith("Coat -") for s in read.sequences for step in s.steps)
    made = _make(out, "steps", shared_data / "steps", only=("dataset=YouCook2",))
    assert (made.sequences, made.tasks, made.steps) == (1_790, 89, 13_817)


def test_golden_sequences_by_votes_are_in_no_other_file(tmp_path: Path) -> None:
    folder, out = write_manuals(tmp_path / "made", 24, 3), tmp_path / "f.jsonl"
    _make(out, "wikihow", folder)
    out.write_text(out.read_text() + '{"id": "alone", "steps": ["a"]}\n')
    drawn = proctor("study", "manuals", out, "--count", 3, "--json").json["manuals"]
    votes = [
        (id_, rater, "yes", "no" if n == 1 and rater != "r0" else "yes")
        for n, id_ in enumerate(drawn)
        for rater in ("r0", "r1", "r2")
    ]
    ballots = tmp_path / "votes.csv"
    ballots.write_text("id,rater,procedural,complementary\n" + "".join(",".join(v) + "\n" for v in votes))
    found = proctor("study", "golden", ballots, "--sequences", out, "--json")
    assert found.status == 0, found.err
    files, sizes = found.json["files"], found.json["sizes"]
    parts = {name: read_sequences(Path(files[name])).sequences for name, n in sizes.items() if n}
    assert {s.id for s in parts["golden"]} == {drawn[0], drawn[2]}
    assert [d["reason"] for d in found.json["dropped"]] == ["not-complementary", "too-few-steps"]
    ids = [s.id for part in parts.values() for s in part]
    assert sorted(ids) == sorted(s.id for s in read_sequences(out).sequences)
    keys = {name: _keys(part) for name, part in parts.items()}
    assert keys["train"].isdisjoint(keys["golden"] | keys.get("dev", set()))
    ballots.write_text("id,rater,procedural,complementary\n" + "".join(f"x,r{n},yes,yes\n" for n in range(3)))
    assert proctor("study", "golden", ballots, "--sequences", out).status == 2
