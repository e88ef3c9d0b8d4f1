"""Splits as people ask for them: by attribute, from rules, and checked from any file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proctor.corpus.source import text_source
from proctor.datasets.captaincook4d import DATASET
from proctor.datasets.dataset import DataFile, Dataset, Log, checker, reader
from proctor.errors import UserError
from proctor.procedure.manual import Manual, ManualSection, ManualStep
from proctor.stages import datasets_splits
from proctor.stages.datasets_splits import (
    check_split,
    make_split,
    parse_fractions,
    read_split,
    render_check,
    render_made,
    render_rules,
    reproduce_splits,
    split_dataset,
)


@pytest.fixture
def cook(tests_data: Path) -> Path:
    return tests_data / "datasets" / "captaincook4d"


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Replace the registry by one data set of the given records."""

    def do(records: list[Any], kind: Any) -> None:
        def iterate(root: Path, corrections: Any, log: Log, **options: str) -> Iterator[Any]:
            yield from records

        dataset = Dataset(
            name="mine", title="Mine", version="1", licence="MIT", citation="c", homepage="h",
            files=(DataFile("a", "a"),), read=reader(iterate, kind), check=checker(iterate), kind=kind, iterate=iterate,
        )  # fmt: skip
        monkeypatch.setattr(datasets_splits, "load_dataset", lambda name: dataset)

    return do


def manual(name: str, *categories: str, text: str = "Fold it") -> Manual:
    paths = tuple(("Root", *c.split("/")) for c in categories)
    return Manual(name, "x", name, (ManualSection(0, (ManualStep("0", text),)),), category_paths=paths)


class TestMaking:
    def test_by_person(self, cook: Path, tmp_path: Path) -> None:
        made = split_dataset(
            "captaincook4d", cook, ["person"], fractions={"train": 0.6, "test": 0.4}, out=tmp_path
        )
        assert json.loads((tmp_path / "person.json").read_text()) == made.split
        about = json.loads((tmp_path / "person.about.json").read_text())
        assert (about["by"], about["seed"], about["sizes"]) == (["person"], 0, made.sizes)
        assert made.files == [str(tmp_path / f"person{end}.json") for end in ("", ".about")]
        report = check_split("captaincook4d", cook, tmp_path / "person.json")
        assert "person" in report.disjoint
        assert sum(made.sizes.values()) == 5
        assert "written: " in render_made(made)

    def test_equal_seeds_equal_files(self, cook: Path, tmp_path: Path) -> None:
        for name in ("a", "b"):
            split_dataset("captaincook4d", cook, ["id"], seed=7, out=tmp_path / name)
        assert (tmp_path / "a/id.json").read_bytes() == (tmp_path / "b/id.json").read_bytes()

    def test_several_attributes_at_once(self, cook: Path) -> None:
        made = split_dataset("captaincook4d", cook, ["person", "environment"])
        assert made.groups["train"] + made.groups["val"] + made.groups["test"] == 1
        assert "only one group" in render_made(made)

    def test_values_of_different_attributes_are_not_mixed_up(self, cook: Path) -> None:
        """Person 2 and environment 2 are two things."""
        apart = split_dataset("captaincook4d", cook, ["person"])
        assert sum(apart.groups.values()) == 3
        rooms = split_dataset("captaincook4d", cook, ["environment"])
        assert sum(rooms.groups.values()) == 2

    def test_manuals_by_category(self, use: Callable[..., None]) -> None:
        use(
            [
                manual("a", "Home/Garden/Roses/Red"),
                manual("b", "Home/Garden/Roses", "Travel/Trains/Night"),
                manual("c", "Travel/Trains/Night/Cheap"),
                manual("d", "Travel/Trains/Day"),
                manual("e"),
            ],
            "manuals",
        )
        made = split_dataset("mine", Path("x"), ["category:3"], fractions={"train": 1, "test": 1})
        assert sum(made.groups.values()) == 3
        assert made.without == {"category:3": 1}
        top = split_dataset("mine", Path("x"), ["category:1"], fractions={"train": 1, "test": 1})
        assert sum(top.groups.values()) == 2
        with pytest.raises(UserError, match="level"):
            split_dataset("mine", Path("x"), ["category:x"])
        with pytest.raises(UserError, match="level"):
            split_dataset("mine", Path("x"), ["category:0"])

    def test_sources_by_document(self, use: Callable[..., None]) -> None:
        use([text_source(str(n), "t", "b", doc_id=str(n // 3)) for n in range(30)], "corpus")
        made = split_dataset("mine", Path("x"), ["document"], fractions={"train": 8, "test": 2})
        assert made.sizes == {"train": 24, "test": 6}

    def test_stratified(self, shared_data: Path) -> None:
        root = shared_data / "captaincook4d"
        wrong = {r.id: r.has_mistakes for r in DATASET.read(root).recordings}

        def off(**options: Any) -> float:
            made = split_dataset("captaincook4d", root, ["activity"], **options)
            shares = [sum(wrong[i] for i in ids) / len(ids) for ids in made.split.values()]
            return max(shares) - min(shares)

        seeds = range(4)
        mixed = [off(seed=s, stratify="mistakes") for s in seeds]
        assert max(mixed) < 0.1
        assert sum(mixed) < 0.7 * sum(off(seed=s) for s in seeds)

    def test_bad_requests(self, cook: Path, tmp_path: Path) -> None:
        for by, message in (
            (["colour"], "no record has a 'colour'"),
            ([], "nothing to split by"),
            (["document"], "no record"),
        ):
            with pytest.raises(UserError, match=message):
                split_dataset("captaincook4d", cook, by)
        with pytest.raises(UserError, match="known here: activity, video, person, environment") as caught:
            split_dataset("captaincook4d", cook, ["x" * 10_000])
        assert len(str(caught.value)) < 2_000
        with pytest.raises(UserError, match="corrections"):
            split_dataset("captaincook4d", cook, ["person"], corrections="x")
        (tmp_path / "file").touch()
        with pytest.raises(UserError):
            split_dataset("captaincook4d", cook, ["person"], out=tmp_path / "file")

    @pytest.mark.parametrize("text", ["", "train", "train=x", "=1", "a=1,a=2", "train=0.8,,"])
    def test_fractions_that_are_none(self, text: str) -> None:
        with pytest.raises(UserError, match=r"fractions"):
            parse_fractions(text)

    def test_fractions(self) -> None:
        assert parse_fractions("train=8, val=1,test=1") == {"train": 8.0, "val": 1.0, "test": 1.0}


class TestRules:
    def test_all_of_the_release(self, shared_data: Path) -> None:
        result = reproduce_splits("captaincook4d", shared_data / "captaincook4d")
        differences = {r.name: r.differences for r in result.rules}
        assert differences == {
            "environment": 0, "environment-normal": 0, "person": 0, "person-normal": 0, "recordings": 0,
            "recordings-normal": 0, "er-person": 0, "er-environment": 0, "er-recordings": 67, "recipes": 384,
            "recipes-normal": 164, "recordings-2023": None, "steps": None,
        }  # fmt: skip
        text = render_rules(result)
        assert text.count("is empty") == 2
        assert "67 differences to er_annotations/recordings_combined_splits.json" in text

    def test_without_released_files(self, cook: Path) -> None:
        result = reproduce_splits("captaincook4d", cook)
        assert all(r.differences is None for r in result.rules)
        assert "is not in the folder" in render_rules(result)

    def test_one_rule_as_a_file(self, cook: Path, tmp_path: Path) -> None:
        made = make_split("captaincook4d", cook, "person", out=tmp_path)
        assert read_split(tmp_path / "person.json") == {k: tuple(v) for k, v in made.split.items()}
        assert "persons 3, 4, 5, 6" in render_made(made)
        with pytest.raises(UserError, match="known here: environment, environment-normal"):
            make_split("captaincook4d", cook, "colour")

    def test_a_data_set_without_rules(self, use: Callable[..., None], tmp_path: Path) -> None:
        use([manual("a")], "manuals")
        (tmp_path / "a").touch()
        assert "no rules" in render_rules(reproduce_splits("mine", tmp_path))
        with pytest.raises(UserError, match="known here: none"):
            make_split("mine", tmp_path, "x")


class TestChecking:
    def test_what_leaks(self, cook: Path, tmp_path: Path) -> None:
        file = tmp_path / "s.json"
        file.write_text(json.dumps({"train": ["61_1", "62_2", "61_3", "nobody"], "test": ["61_30", "61_1"]}))
        report = check_split("captaincook4d", cook, file, near=0.8)
        assert (report.unknown, report.unused) == (("nobody",), ("62_27",))
        assert report.twice == {"61_1": ("train", "test")}
        assert {leak.value: leak.counts for leak in report.leaks["person"]} == {
            "1": {"train": 2, "test": 1},
            "2": {"train": 1, "test": 1},
        }
        assert {n.a for n in report.near} | {n.b for n in report.near} >= {"61_3"}
        text = render_check(report)
        for said in (
            "2 of 3 values",
            "nobody",
            "61_1 (train and test)",
            "pairs of nearly the same text",
            "1: train 2, test 1",
        ):
            assert said in text, said
        msgspec.json.encode(report)

    def test_only_what_is_asked(self, cook: Path, tmp_path: Path) -> None:
        file = tmp_path / "s.csv"
        file.write_text("recording_id,split\n61_1,train\n61_3,test\n")
        report = check_split("captaincook4d", cook, file, ["person"])
        assert list(report.leaks) == ["person"]
        assert not report.compared_texts
        assert "person: disjoint" in render_check(report)

    def test_manuals_by_their_categories(self, use: Callable[..., None], tmp_path: Path) -> None:
        use(
            [manual("a", "Home/Garden/Roses"), manual("b", "Travel/Trains/Roses"), manual("c", "Work")],
            "manuals",
        )
        file = tmp_path / "s.json"
        file.write_text(json.dumps({"a": "train", "b": "test", "c": "train"}))
        report = check_split("mine", Path("x"), file, near=1.0)
        assert msgspec.to_builtins(report.leaks["category:3"]) == [
            {"value": "Roses", "counts": {"train": 1, "test": 1}}
        ]
        assert len(report.near) == 2

    def test_hostile_names(self, cook: Path, tmp_path: Path) -> None:
        file = tmp_path / "s.json"
        file.write_text(json.dumps({"\x1b[31mtrain" + "x" * 1000: ["\x1b[2J" * 500], "t": []}))
        text = render_check(check_split("captaincook4d", cook, file))
        assert "\x1b" not in text
        assert len(text) < 3_000


class TestFiles:
    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("s.json", '{"train": ["a", "b"], "test": ["c"]}'),
            ("s.json", '{"a": "train", "b": "train", "c": "test"}'),
            ("s.csv", "\ufeffid,split\na,train\nb,train\nc,test\n"),
            ("s.csv", "Video,note,Subset\na,x,train\nb,,train\nc,,test\n"),
            ("s.TSV", "id\tsplit\na\ttrain\nb\ttrain\nc\ttest\n"),
        ],
    )
    def test_shapes(self, tmp_path: Path, name: str, text: str) -> None:
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert read_split(tmp_path / name) == {"train": ("a", "b"), "test": ("c",)}

    @pytest.mark.parametrize(
        ("name", "data", "message"),
        [
            ("s.json", b"[]", "no split"),
            ("s.json", b"{}", "no split"),
            ("s.json", b'{"train": [1]}', "no split"),
            ("s.json", b'{"train": ["a"], "x": "y"}', "no split"),
            ("s.json", b"", "empty"),
            ("s.json", b"\xff", "UTF-8|not valid JSON"),
            ("s.json", b"[" * 100_000, "not valid JSON|no split"),
            ("s.csv", b"", "columns are nothing"),
            ("s.csv", b"a,b\n1,2\n", "columns are a, b"),
            ("s.csv", b"id,split\na\n", "row 2"),
            ("s.csv", b"id,split\na,train\n,test\n", "row 3"),
            ("s.csv", b"\xff\xfe", "UTF-8"),
            ("s.csv", b'id,split\n"' + b"x" * 200_000, "not a table"),
        ],
        ids=lambda v: str(v)[:20],
    )
    def test_what_is_none(self, tmp_path: Path, name: str, data: bytes, message: str) -> None:
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UserError, match=message) as caught:
            read_split(tmp_path / name)
        assert str(tmp_path / name) in str(caught.value)

    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="no such file"):
            read_split(tmp_path / "no.json")

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
    @given(st.binary(max_size=60), st.sampled_from(["b.json", "b.csv", "b.tsv"]))
    def test_any_bytes(self, tmp_path: Path, data: bytes, name: str) -> None:
        (tmp_path / name).write_bytes(data)
        try:
            split = read_split(tmp_path / name)
        except UserError:
            return
        assert all(isinstance(i, str) for ids in split.values() for i in ids)
