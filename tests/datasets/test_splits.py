"""Splits by group: nothing leaks whatever the keys, shares are met as groups allow, and what leaks is told."""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.datasets.captaincook4d import DATASET
from proctor.datasets.captaincook4d.raw import VIDEOS, read_videos
from proctor.datasets.splits import (
    DEFAULT_FRACTIONS,
    category_keys,
    compare_splits,
    find_near_duplicates,
    group_records,
    leakage_report,
    split_records,
)
from proctor.errors import UserError

KEYS = st.dictionaries(
    st.text("abcdefgh", min_size=1, max_size=3),
    st.frozensets(st.sampled_from("uvwxyz"), max_size=3),
    min_size=1,
)


def by(**keys: str) -> dict[str, list[str]]:
    return {id_: own.split() for id_, own in keys.items()}


class TestGroups:
    def test_records_join_through_others(self) -> None:
        groups = group_records(by(a="p1", b="p2 e1", c="e1", d="p1 e9", e=""))
        assert groups == (("a", "d"), ("b", "c"), ("e",))

    @given(KEYS)
    def test_it_is_the_components_of_a_graph(self, keys: dict[str, frozenset[str]]) -> None:
        import networkx as nx

        graph = nx.Graph()
        graph.add_nodes_from(("record", i) for i in keys)
        graph.add_edges_from((("record", i), ("key", k)) for i, own in keys.items() for k in own)
        components = {
            frozenset(n for kind, n in c if kind == "record") for c in nx.connected_components(graph)
        }
        assert set(map(frozenset, group_records(keys))) == components

    def test_a_long_chain_is_one_group_and_fast(self) -> None:
        keys = {str(i): (f"k{i}", f"k{i + 1}") for i in range(50_000)}
        assert len(group_records(keys)) == 1

    def test_third_level_categories(self) -> None:
        paths = [("Root", "Home", "Garden", "Roses", "Red"), ("Root", "Travel"), ("Root",), ()]
        assert category_keys(paths) == {"Roses", "Travel", "Others"}
        assert category_keys(paths, 1) == {"Home", "Travel", "Others"}
        with pytest.raises(UserError, match="level"):
            category_keys(paths, 0)


class TestMaking:
    @given(KEYS, st.integers(0, 5), st.sampled_from(["balanced", "in-order"]))
    def test_nothing_leaks_and_nothing_is_lost(self, keys: Any, seed: int, fill: Any) -> None:
        made = split_records(keys, rng=random.Random(seed), fill=fill)
        assert sorted(i for ids in made.split.values() for i in ids) == sorted(keys)
        report = leakage_report(made.split, {"key": keys})
        assert report.disjoint == ("key",)
        assert (report.twice, report.unknown, report.unused) == ({}, (), ())
        assert sum(made.reached.values()) == pytest.approx(1)
        assert made == split_records(keys, rng=random.Random(seed), fill=fill)

    def test_single_records_meet_the_shares_exactly(self) -> None:
        keys = {str(i): () for i in range(1000)}
        for fill in ("balanced", "in-order"):
            made = split_records(keys, rng=random.Random(1), fill=fill)
            assert {n: len(ids) for n, ids in made.split.items()} == {"train": 800, "val": 100, "test": 100}
            assert made.notes == ()

    def test_another_seed_is_another_split(self) -> None:
        keys = {str(i): () for i in range(100)}
        a, b = (split_records(keys, rng=random.Random(s)).split for s in (1, 2))
        assert a != b

    def test_ids_stay_in_the_order_of_the_data_set(self) -> None:
        keys = {str(i): (str(i // 3),) for i in range(60)}
        for ids in split_records(keys, rng=random.Random(0)).split.values():
            assert list(ids) == sorted(ids, key=int)

    def test_strata_are_alike_in_all_subsets(self) -> None:
        strata = {str(i): "rare" if i % 10 == 0 else "usual" for i in range(1000)}
        made = split_records(dict.fromkeys(strata, ()), rng=random.Random(3), strata=strata)
        for name, ids in made.split.items():
            rare = sum(strata[i] == "rare" for i in ids)
            assert rare == 100 * DEFAULT_FRACTIONS[name], name

    def test_strata_of_groups_are_nearer_than_without(self) -> None:
        rng = random.Random(5)
        keys = {str(i): (str(rng.randrange(60)),) for i in range(600)}
        strata = {i: "ab"[int(own[0]) % 3 == 0] for i, own in keys.items()}

        def off(split: Any) -> float:
            share = sum(s == "b" for s in strata.values()) / len(strata)
            return sum(abs(sum(strata[i] == "b" for i in ids) - share * len(ids)) for ids in split.values())

        with_strata = [off(split_records(keys, rng=random.Random(s), strata=strata).split) for s in range(10)]
        without = [off(split_records(keys, rng=random.Random(s)).split) for s in range(10)]
        assert sum(with_strata) < 0.5 * sum(without)

    def test_what_is_not_possible_is_told(self) -> None:
        one = split_records(by(a="x", b="x", c="x"), rng=random.Random(0))
        assert "only one group" in one.notes[0]
        assert {"'val' is empty", "'test' is empty"} <= set(one.notes)
        two = split_records(by(a="x", b="y"), rng=random.Random(0))
        assert "2 groups for 3 subsets" in two.notes[0]
        big = split_records(
            {str(i): ("x",) if i < 90 else (str(i),) for i in range(100)}, rng=random.Random(0)
        )
        assert "the largest group holds 90 of 100" in big.notes[0]
        assert len(big.split["train"]) == 90

    @pytest.mark.parametrize(
        "fractions",
        [{}, {"a": 0.0}, {"a": -1.0}, {"a": float("nan")}, {"a": float("inf")}, {" ": 1.0}],
        ids=str,
    )
    def test_fractions_that_make_no_sense(self, fractions: dict[str, float]) -> None:
        with pytest.raises(UserError, match=r"fraction|no subsets"):
            split_records(by(a=""), fractions, rng=random.Random(0))

    def test_nothing_to_split_and_strata_in_order(self) -> None:
        with pytest.raises(UserError, match="no records"):
            split_records({}, rng=random.Random(0))
        with pytest.raises(UserError, match="stratified"):
            split_records(by(a=""), rng=random.Random(0), strata={"a": "x"}, fill="in-order")


class TestLeakage:
    def test_values_are_counted_by_subset(self) -> None:
        split = {"train": ("a", "b", "c"), "test": ("d", "e", "stranger")}
        report = leakage_report(
            split, {"person": by(a="1", b="1", c="2", d="1", e="3", f="3"), "room": by(a="k", d="l")}
        )
        (leak,) = report.leaks["person"]
        assert (leak.value, dict(leak.counts)) == ("1", {"train": 2, "test": 1})
        assert report.disjoint == ("room",)
        assert (report.unknown, report.unused) == (("stranger",), ("f",))
        assert dict(report.values) == {"person": 3, "room": 2}

    def test_an_id_in_two_subsets(self) -> None:
        report = leakage_report({"train": ("a", "b"), "test": ("a",)}, {"person": by(a="1", b="2")})
        assert report.twice == {"a": ("train", "test")}
        assert dict(report.leaks["person"][0].counts) == {"train": 1, "test": 1}

    def test_no_keys_know_no_ids(self) -> None:
        assert leakage_report({"train": ("a",)}, {}).unknown == ()

    @given(
        st.dictionaries(st.text("ab", min_size=1, max_size=4), st.text("uvw ", max_size=12), max_size=12),
        st.sampled_from([0.3, 0.5, 0.7, 0.8, 1.0]),
    )
    def test_near_duplicates_are_those_of_every_pair(self, texts: dict[str, str], likeness: float) -> None:
        split: dict[str, list[str]] = defaultdict(list)
        for n, id_ in enumerate(texts):
            split["ab"[n % 2]].append(id_)
        home = {i: name for name, ids in split.items() for i in ids}
        expected = set()
        for a, b in itertools.combinations(texts, 2):
            x, y = set(texts[a].split()), set(texts[b].split())
            if home[a] != home[b] and x and y and len(x & y) / len(x | y) >= likeness - 1e-9:
                expected.add(frozenset((a, b)))
        found = find_near_duplicates({k: tuple(v) for k, v in split.items()}, texts, likeness)
        assert {frozenset((n.a, n.b)) for n in found} == expected
        assert len(found) == len(expected)

    @pytest.mark.parametrize("likeness", [0.0, 1.1, -1.0, float("nan")])
    def test_a_likeness_out_of_range(self, likeness: float) -> None:
        with pytest.raises(UserError, match="likeness"):
            find_near_duplicates({"a": ("x",)}, {"x": "text"}, likeness)


def test_differences_of_two_splits() -> None:
    found = compare_splits({"train": ("a", "b"), "test": ("c",)}, {"train": ("b",), "test": ("a", "d")})
    assert [(d.id, d.ours, d.theirs) for d in found] == [
        ("a", "train", "test"),
        ("c", "test", None),
        ("d", None, "test"),
    ]
    assert compare_splits({"x": ("1", "2")}, {"x": ("2", "1")}) == ()


class TestRelease:
    """CaptainCook4D: Peddi et al. 2024."""

    SIZES: ClassVar = {
        "environment": (216, 115, 53),
        "environment-normal": (84, 48, 32),
        "person": (204, 84, 96),
        "person-normal": (90, 35, 39),
        "recordings": (213, 62, 109),
        "recordings-normal": (90, 26, 48),
        "recordings-2023": (210, 55, 119),
        "er-person": (273, 55, 55),
        "er-environment": (253, 66, 64),
        "steps": (3758, 776, 799),
        "recipes": (172, 103, 109),
        "recipes-normal": (71, 51, 42),
    }

    @pytest.mark.parametrize("name", SIZES)
    def test_sizes(self, shared_data: Path, name: str) -> None:
        (rule,) = (r for r in DATASET.splits if r.name == name)
        made = rule.make(shared_data / "captaincook4d")
        assert tuple(len(made[s]) for s in ("train", "val", "test")) == self.SIZES[name]

    def test_released_files_are_reproduced(self, shared_data: Path) -> None:
        root = shared_data / "captaincook4d"
        differences = {
            r.name: len(compare_splits(r.make(root), r.read_released(root)))
            for r in DATASET.splits
            if r.read_released is not None
        }
        without_rule = {"recipes": 384, "recipes-normal": 164, "er-recordings": 67}
        assert differences == without_rule | dict.fromkeys(differences.keys() - without_rule.keys(), 0)
        assert len(differences) == 11

    def test_roles_of_the_two_recordings_splits_are_exchanged(self, shared_data: Path) -> None:
        root = shared_data / "captaincook4d"
        rules = {r.name: r for r in DATASET.splits}
        er, ours = (rules[n].read_released(root) for n in ("er-recordings", "recordings"))  # type: ignore[misc]
        assert {s: len(ids) for s, ids in er.items()} == {"train": 287, "val": 48, "test": 48}
        assert len(set(er["test"]) & set(ours["val"])) == 47
        assert set(er["val"]) <= set(ours["test"])
        for subset in ("val", "test"):
            assert set(Counter(i.partition("_")[0] for i in er[subset]).values()) == {2}

    def test_the_person_split_leaks_by_the_table_of_videos(self, shared_data: Path) -> None:
        root = shared_data / "captaincook4d"
        (rule,) = (r for r in DATASET.splits if r.name == "person")
        split = rule.make(root)
        recordings = DATASET.read(root).recordings
        listed = {i: (v.person,) for i, v in read_videos(root / VIDEOS).items()}
        annotated = {r.id: (r.attributes["person"],) for r in recordings}
        rooms = {r.id: (r.attributes["environment"],) for r in recordings}
        report = leakage_report(split, {"annotated": annotated, "listed": listed, "environment": rooms})
        assert report.disjoint == ("annotated",)
        strange = {
            s: sum(listed[i][0] in those for i in split[s])
            for s, those in (("test", "34678"), ("train", "128"))
        }
        assert strange == {"test": 10, "train": 5}

    def test_a_split_of_our_own_by_person_and_environment(self, shared_data: Path) -> None:
        recordings = DATASET.read(shared_data / "captaincook4d").recordings
        person = {r.id: (f"person {r.attributes['person']}",) for r in recordings}
        both = {
            i: (*own, f"room {r.attributes['environment']}")
            for (i, own), r in zip(person.items(), recordings, strict=True)
        }
        made = split_records(person, {"train": 6, "val": 2, "test": 2}, rng=random.Random(0))
        assert made.groups == {"train": 4, "val": 2, "test": 2} or sum(made.groups.values()) == 8
        assert all(abs(made.reached[s] - made.wanted[s]) < 0.06 for s in made.wanted)
        together = split_records(both, rng=random.Random(0))
        assert sum(together.groups.values()) == len(group_records(both))
