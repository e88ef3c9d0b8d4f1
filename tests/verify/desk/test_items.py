"""Candidates into the store: new, changed, gone, back again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from proctor.errors import UserError
from proctor.exam.question import version_of
from proctor.procedure.graph import Step, TaskGraph
from proctor.verify.desk.browse import Narrow, page_items
from proctor.verify.desk.cases import human_verdicts, take_over_verdicts
from proctor.verify.desk.items import (
    Synced,
    count_items,
    find_item,
    get_item,
    iter_questions,
    load_graphs,
    sync_items,
)
from proctor.verify.desk.records import GoneError
from proctor.verify.desk.training import Reference, add_training, list_training
from proctor.verify.store import VerdictStore, alike_versions, split_stale

MakePair = Callable[..., Any]


@pytest.fixture
def people(bench: Any) -> Any:
    return bench.hire("ana", "ben")


def test_new_items_are_taken_in_once(bench: Any, a_pair: MakePair) -> None:
    pairs = [a_pair(f"c{n}", "a", "b") for n in range(5)]
    assert bench.sync(*pairs) == Synced(new=5, changed=0, gone=0, same=0)
    assert bench.sync(*pairs) == Synced(new=0, changed=0, gone=0, same=5)
    assert {row.state for row in bench.rows("items")} == {"undealt"}
    assert len({row.pid for row in bench.rows("items")}) == 5
    kinds = [row.kind for row in bench.rows("events")]
    assert kinds == ["items.synced"]  # nothing changed, so nothing is told
    assert [q.id for q in bench.desk.read(lambda c: list(iter_questions(c)))] == [f"c{n}" for n in range(5)]


def test_an_item_is_as_the_candidate_was(bench: Any, a_pair: MakePair) -> None:
    hostile = '<b>"; 💥 \u202e\x00'
    pair = a_pair("c", hostile, "b", kind="order", recording="r9", end=12.5)
    bench.sync(pair)
    item = bench.item("c")
    assert item.question == pair
    (row,) = bench.rows("items")
    assert (row.kind, row.stratum, row.cluster, row.place, row.topic, row.title) == (
        "moment", "order", "r9", 12.5, "tea", "Tea"
    )  # fmt: skip
    assert bench.desk.read(lambda c: find_item(c, item.pid)).id == item.id
    with pytest.raises(GoneError):
        bench.desk.read(lambda c: find_item(c, "nobody"))
    with pytest.raises(GoneError):
        bench.desk.read(lambda c: get_item(c, 999))


def test_an_id_that_no_database_can_hold_is_refused_whole(bench: Any, a_pair: MakePair) -> None:
    with pytest.raises(UserError, match="NUL"):
        bench.sync(a_pair("good"), a_pair("bad\x00"))
    assert bench.rows("items") == []


def test_who_had_a_changed_item_gets_it_again_under_another_address(
    bench: Any, people: Any, a_pair: MakePair, a_sheet: Any
) -> None:
    ana, ben = people
    bench.sync(a_pair("c", "a", "b"))
    first, second = bench.give("c", ana, ben, at=7)
    bench.submit(first, ana, "+ ++")
    bench.draft(second, ben, a_sheet("+ -?"))
    assert bench.sync(a_pair("c", "a", "changed")) == Synced(new=0, changed=1, gone=0, same=0)
    assert bench.state("c") == "judging"
    live = {row.person_id: row for row in bench.rows("assignments", live=True)}
    assert {row.state for row in live.values()} == {"open"}
    assert {row.slot for row in live.values()} == {0, 1}
    assert {row.queue_pos for row in live.values()} == {7}
    assert not {row.pid for row in live.values()} & {first, second}
    # A page that is still open with the old text must not be taken for a judgement of the new one.
    for pid, person in ((first, ana), (second, ben)):
        with pytest.raises(GoneError):
            bench.submit(pid, person, "+ --", rev=0)
    assert bench.look(live[ben.id].pid, ben).draft is None
    assert len(bench.rows("drafts")) == 1  # what was written stays
    # The old verdict stays in the history, and counts no more.
    assert len(bench.rows("verdicts")) == 1
    bench.submit(live[ben.id].pid, ben, "+ ++")
    assert bench.state("c") == "judging"
    bench.submit(live[ana.id].pid, ana, "+ ++")
    assert bench.final("c") == [("a", "machine", "annotator"), ("changed", "machine", "annotator")] or sorted(
        bench.final("c")
    ) == [("a", "machine", "annotator"), ("changed", "machine", "annotator")]


def remade(pair: Any) -> Any:
    """The same question and answers, made by another version."""
    made = msgspec.structs.replace(pair, provenance={"version": "99"})
    return msgspec.structs.replace(made, provenance={**made.provenance, "candidate_hash": version_of(made)})


def test_an_item_of_which_people_see_the_same_keeps_all_that_was_done(
    bench: Any, people: Any, a_pair: MakePair, a_sheet: Any
) -> None:
    ana, ben = people
    old = a_pair("c", "a", "b")
    bench.sync(old, a_pair("d", "a"))
    first, second = bench.give("c", ana, ben)
    bench.submit(first, ana, "+ ++")
    bench.draft(second, ben, a_sheet("+ -?"))
    lesson = Reference(sheet=a_sheet("+ +"))
    bench.do(add_training, bench.item("d"), lesson, actor="cli")
    before = bench.rows("assignments"), bench.rows("drafts"), bench.rows("verdicts"), bench.rows("events")
    new, other = remade(old), remade(a_pair("d", "a"))
    for _ in range(2):
        assert bench.sync(new, other) == Synced(new=0, changed=0, gone=0, same=2)
        assert bench.item("c").question == new
        now = bench.rows("assignments"), bench.rows("drafts"), bench.rows("verdicts"), bench.rows("events")
        assert now == before
    assert [one.is_stale for one in bench.desk.read(list_training)] == [False]
    # Another process that looks at other candidates changes nothing here.
    with VerdictStore.open(bench.target) as store:
        store.latest_on([old])
        raw = [stored.verdict for stored in store.history()]  # as another studio exports them
    held, _ = split_stale(raw, {"c": new}, bench.desk.read(alike_versions))
    assert (held, split_stale(raw, {"c": new})[0]) == (raw, [])
    bench.submit(second, ben, "+ ++")
    assert bench.state("c") == "settled"
    assert bench.do(take_over_verdicts) == 1
    assert sorted(text for text, *_ in bench.final("c")) == ["a", "b"]
    back = remade(a_pair("c", "a", "changed"))
    assert len(bench.desk.read(lambda c: human_verdicts(c, bench.item("c")))) == 2
    assert bench.sync(back, other) == Synced(new=0, changed=1, gone=0, same=1)
    assert bench.state("c") == "judging"
    assert bench.desk.read(lambda c: human_verdicts(c, bench.item("c"))) == []


def test_a_settled_item_that_changes_has_no_final_answers_and_no_case(
    bench: Any, people: Any, a_pair: MakePair
) -> None:
    (edda,) = bench.hire("edda", role="adjudicator")
    bench.sync(a_pair("c", "a", "b"), a_pair("d", "a", "b"))
    for name, judged in (("c", ("+ ++", "+ +-")), ("d", ("+ ++", "+ ++"))):
        for pid, person, text in zip(bench.give(name, *people), people, judged, strict=True):
            bench.submit(pid, person, text)
    bench.decide(bench.next(edda, "adjudicate"), edda, {"b": "+"})
    assert (bench.state("c"), bench.state("d")) == ("settled", "settled")
    bench.sync(a_pair("c", "a", "x"), a_pair("d", "a", "x"))
    assert bench.rows("final_answers") == []
    assert bench.rows("cases") == []
    assert {bench.state("c"), bench.state("d")} == {"judging"}
    assert not bench.rows("assignments", live=True, stage="adjudicate")


def test_a_gone_item_is_taken_from_every_list_and_comes_back_to_those_who_had_it(
    bench: Any, people: Any, a_pair: MakePair
) -> None:
    ana, ben = people
    bench.sync(a_pair("c", "a", "b"), a_pair("d", "a", "b"))
    first, second = bench.give("c", ana, ben)
    bench.submit(first, ana, "+ ++")
    assert bench.sync(a_pair("d", "a", "b")).gone == 1
    assert bench.sync(a_pair("d", "a", "b")).gone == 0
    assert bench.state("c") == "gone"
    assert [q.id for q in bench.desk.read(lambda c: list(iter_questions(c)))] == ["d"]
    assert bench.next(ben) is None
    with pytest.raises(GoneError):
        bench.submit(second, ben, "+ ++")
    assert bench.sync(a_pair("c", "a", "b"), a_pair("d", "a", "b")).same == 2
    bench.do(take_over_verdicts)
    assert bench.state("c") == "judging"
    assert bench.next(ben) == second
    bench.submit(second, ben, "+ ++")
    assert bench.state("c") == "settled"


def test_a_settled_item_that_was_gone_is_settled_again(bench: Any, people: Any, a_pair: MakePair) -> None:
    bench.sync(a_pair("c", "a"), a_pair("d", "a"))
    for pid, person in zip(bench.give("c", *people), people, strict=True):
        bench.submit(pid, person, "+ +")
    before = bench.final("c")
    bench.sync(a_pair("d", "a"))
    bench.sync(a_pair("c", "a"), a_pair("d", "a"))
    bench.do(take_over_verdicts)
    assert bench.state("c") == "settled"
    assert bench.final("c") == before != []


def test_who_left_meanwhile_does_not_get_a_returning_item(bench: Any, people: Any, a_pair: MakePair) -> None:
    from proctor.verify.desk import people as accounts

    ana, ben = people
    bench.sync(a_pair("c", "a"))
    first, _ = bench.give("c", ana, ben)
    bench.sync()
    bench.do(accounts.leave, ben, actor="cli")
    bench.sync(a_pair("c", "a"))
    assert [row.pid for row in bench.rows("assignments", live=True)] == [first]
    bench.submit(first, ana, "+ +")
    assert bench.state("c") == "returned"
    assert "reader is missing" in bench.item("c").reason


def test_lists_go_page_by_page(bench: Any, a_pair: MakePair) -> None:
    bench.sync(*(a_pair(f"c%{n}", kind="next" if n % 2 else "order") for n in range(7)), a_pair("d_1"))
    listed = bench.desk.read(lambda c: page_items(c, Narrow(), (), limit=3))
    assert [x.candidate_id for x in listed] == ["c%0", "c%1", "c%2"]
    more = bench.desk.read(lambda c: page_items(c, Narrow(), (), after=listed[-1].id, limit=3))
    assert [x.candidate_id for x in more] == ["c%3", "c%4", "c%5"]
    assert len(bench.desk.read(lambda c: page_items(c, Narrow(stratum="order"), ("next", "order")))) == 4
    assert bench.desk.read(count_items) == {"next": {"undealt": 4}, "order": {"undealt": 4}}


def test_graphs_are_those_of_today(bench: Any, a_pair: MakePair) -> None:
    graph = TaskGraph("g", "Tea", (Step("1", "Boil <b>water</b>"),), ())
    bench.do(sync_items, [a_pair("c")], {"tea": graph}, actor="cli")
    assert bench.desk.read(load_graphs) == {"tea": graph}
    bench.do(sync_items, [a_pair("c")], {}, actor="cli")
    assert bench.desk.read(load_graphs) == {}


# -- verdicts that came from elsewhere -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("judged", "state", "agreement"),
    [
        (["+ ++", "+ ++"], "settled", "same"),
        (["+ ++", "+ +-"], "case", "answers"),
        (["+ ++", "-"], "case", "question"),
        (["-", "-"], "rejected", "same"),
        (["+ --", "+ --"], "held", "same"),
        (["+ ++"], "settled", ""),
    ],
)
def test_imported_verdicts_are_opened(
    bench: Any, a_pair: MakePair, make_verdict: Any, judged: list[str], state: str, agreement: str
) -> None:
    bench.sync(a_pair("c", "a", "b"), a_pair("d", "a"))
    bench.append([make_verdict("c", f"p{n}", text) for n, text in enumerate(judged)])
    bench.append([make_verdict("d", "oracle", "+ +", annotator_kind="oracle")])
    assert bench.do(take_over_verdicts) == 1
    assert (bench.state("c"), bench.item("c").agreement) == (state, agreement)
    assert bench.state("d") == "undealt"
    assert len(bench.rows("cases")) == (state in ("case", "held"))
    assert bool(bench.final("c")) == (state == "settled")


def test_verdicts_of_an_older_text_are_passed_over(bench: Any, a_pair: MakePair, make_verdict: Any) -> None:
    bench.sync(a_pair("c", "a", "b"))
    bench.append([make_verdict("c", "ana", "+ +++", candidate_hash="older")])
    assert bench.do(take_over_verdicts) == 1
    assert bench.state("c") == "undealt"
