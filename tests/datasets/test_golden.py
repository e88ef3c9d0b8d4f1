"""Golden manuals: what may be sampled, that samples are uniform and stay, and how votes are counted."""

from __future__ import annotations

import contextlib
import json
import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.datasets.golden import (
    DENIED_CATEGORIES,
    DENIED_TITLE_WORDS,
    RELEASED_SELECTION,
    Ballot,
    Selection,
    read_ballots,
    sample_manuals,
    tally_ballots,
)
from proctor.errors import UserError
from proctor.procedure.manual import Manual


def manual(id_: str = "m", title: str = "How to Pot", *tops: str) -> Manual:
    return Manual(id_, "hand", title, (), category_paths=tuple(("Root", top) for top in tops))


def refusal(selection: Selection, *given_: str) -> str:
    dropped = selection.refuses(manual("m", *given_))
    return dropped.reason if dropped is not None else ""


def test_the_lists_are_the_released_ones():
    assert len(DENIED_CATEGORIES) == 10
    assert len(DENIED_TITLE_WORDS) == 17
    assert {"Youth", "Root", "Personal Care and Style"} <= DENIED_CATEGORIES
    assert {"life", "family"} <= DENIED_TITLE_WORDS


@pytest.mark.parametrize(
    ("title", "tops", "reason"),
    [
        ("How to Pot a Cactus", ("Home and Garden",), ""),
        ("How to Pot a Cactus", (), ""),
        ("How to Pot a Cactus", ("Home and Garden", "Health"), "category-denied"),
        ("How to Make FRIENDS", ("Hobbies and Crafts",), "title-word"),
        ("How to Clean a Man's Hat", (), "title-word"),
        ("How to Fold a Human Figure", (), ""),
        ("How to Run a Funfair", (), ""),
        ("How to Be Loved", (), ""),
    ],
)
def test_the_released_selection(title: str, tops: tuple[str, ...], reason: str):
    assert refusal(RELEASED_SELECTION, title, *tops) == reason


def test_allowed_categories():
    selection = Selection(allow=frozenset({"Crafts"}), deny=frozenset({"Health"}))
    assert refusal(selection, "t", "Crafts") == ""
    assert refusal(selection, "t", "Crafts", "Travel") == ""
    assert refusal(selection, "t", "Travel") == "category-not-allowed"
    assert refusal(selection, "t") == "category-not-allowed"
    assert refusal(selection, "t", "Crafts", "Health") == "category-denied"


def test_a_sample_tells_what_it_refused_and_keeps_the_order_of_the_data():
    manuals = [manual(f"m{i}", "How to Pot" if i % 4 else "How to Love") for i in range(40)]
    sampled = sample_manuals(iter(manuals), 10, random.Random(1))
    assert sampled.candidates == 30
    assert sampled.refused == {"title-word": 10}
    ids = [m.id for m in sampled.manuals]
    assert len(set(ids)) == 10
    assert ids == sorted(ids, key=lambda i: int(i[1:]))
    assert sampled == sample_manuals(iter(manuals), 10, random.Random(1))
    assert sampled.manuals != sample_manuals(iter(manuals), 10, random.Random(2)).manuals


def test_all_are_taken_where_there_are_too_few():
    manuals = [manual("a"), manual("b")]
    assert sample_manuals(manuals, 10, random.Random(1)).manuals == tuple(manuals)
    with pytest.raises(UserError, match="0 manuals"):
        sample_manuals(manuals, 0, random.Random(1))


def test_every_manual_is_drawn_as_often():
    rng = random.Random(7)
    manuals = [manual(f"m{i}") for i in range(10)]
    drawn = Counter(m.id for _ in range(2_000) for m in sample_manuals(manuals, 3, rng).manuals)
    # 600 expected of each, standard deviation 20.5
    assert all(500 < drawn[m.id] < 700 for m in manuals)


# -- votes ----------------------------------------------------------------------------------------------------


def ballots(id_: str, procedural: str, complementary: str) -> list[Ballot]:
    pairs = zip(procedural, complementary, strict=True)
    return [Ballot(id_, f"r{i}", a == "y", b == "y") for i, (a, b) in enumerate(pairs)]


@pytest.mark.parametrize(
    ("procedural", "complementary", "reason"),
    [
        ("yyy", "yyy", ""),
        ("yyn", "nyy", ""),
        ("ynn", "yyy", "not-procedural"),
        ("yyy", "nny", "not-complementary"),
        ("nnn", "nnn", "not-procedural"),
        ("yy", "yy", "too-few-raters"),
        ("yynn", "yyyy", "not-procedural"),
        ("yyyn", "yyyn", ""),
    ],
)
def test_a_strict_majority_on_each_criterion(procedural: str, complementary: str, reason: str):
    tally = tally_ballots(ballots("m", procedural, complementary))
    assert [d.reason for d in tally.dropped] == ([reason] if reason else [])
    assert tally.kept == (() if reason else ("m",))
    assert tally.ballots == len(procedural)


def test_two_votes_of_one_person_are_refused():
    with pytest.raises(UserError, match="'r0' votes twice on 'm'"):
        tally_ballots([*ballots("m", "yyy", "yyy"), Ballot("m", "r0", True, True)])
    with pytest.raises(UserError, match="0 raters"):
        tally_ballots([], raters=0)


@given(st.dictionaries(st.sampled_from("abc"), st.text("yn", min_size=1, max_size=5)), st.randoms())
def test_every_manual_is_kept_or_told_whatever_the_order(votes: dict[str, str], rng: Any):
    cast = [b for id_, v in votes.items() for b in ballots(id_, v, v)]
    tally = tally_ballots(cast)
    assert sorted([*tally.kept, *(d.id for d in tally.dropped)]) == sorted(votes)
    rng.shuffle(cast)
    assert set(tally_ballots(cast).kept) == set(tally.kept)


ROWS = [("u###0", "Ann", True, False), ("u###0", "Bo, jr.", False, True)]


def test_votes_are_read_from_a_table_and_from_lines(tmp_path: Path):
    table, lines = tmp_path / "votes.csv", tmp_path / "votes.jsonl"
    table.write_text(
        '\ufeffrater,note,id,complementary,procedural\r\nAnn,x,u###0,no,YES\r\n"Bo, jr.",, u###0 ,1,false\r\n'
    )
    names = ("id", "rater", "procedural", "complementary")
    lines.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in ROWS))
    expected = [Ballot(*row) for row in ROWS]
    assert read_ballots(table) == expected
    assert read_ballots(lines) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no column complementary, id, procedural, rater"),
        ("id,rater,procedural\n", "no column complementary"),
        ("id,rater,procedural,complementary\nu,a,maybe,yes\n", "procedural is 'maybe'"),
        ("id,rater,procedural,complementary\nu,a,yes\n", "complementary is ''"),
        ("id,rater,procedural,complementary\n,a,yes,no\n", "no id"),
        ("id,rater,procedural,complementary\nu,,yes,no\n", "no rater"),
        ('id,rater,procedural,complementary\nu,"a,yes,no\n', "not a table"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused_with_its_line(text: str, why: str, tmp_path: Path):
    path = tmp_path / "votes.csv"
    path.write_text(text)
    with pytest.raises(UserError, match=why) as caught:
        read_ballots(path)
    assert caught.value.where is not None
    assert caught.value.where.startswith(str(path))


def test_a_table_in_another_encoding_is_refused(tmp_path: Path):
    path = tmp_path / "votes.csv"
    path.write_bytes("id,rater,procedural,complementary\nu,Zoë,yes,no\n".encode("latin-1"))
    with pytest.raises(UserError, match="not UTF-8"):
        read_ballots(path)


@given(st.binary(max_size=200))
def test_any_bytes_give_votes_or_a_message(data: bytes):
    with tempfile.TemporaryDirectory() as folder:
        for name in ("votes.csv", "votes.jsonl"):
            path = Path(folder) / name
            path.write_bytes(b"id,rater,procedural,complementary\n" * (name == "votes.csv") + data)
            with contextlib.suppress(UserError):
                assert all(isinstance(b, Ballot) for b in read_ballots(path))
