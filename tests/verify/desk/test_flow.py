"""What a person does next: training, their queue, cases of others, and items that they see again without knowing."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from proctor.verify import queue
from proctor.verify.desk import documents, flow, training, work
from proctor.verify.desk.records import GoneError, Person, Sheet


@pytest.fixture
def cast(bench: Any) -> tuple[Person, Person, Person, Person]:
    ana, ben = bench.hire("ana", "ben")
    edda, fritz = bench.hire("edda", "fritz", role="adjudicator")
    return ana, ben, edda, fritz


def conflict(bench: Any, cast: Any, *names: str, judged: tuple[str, str] = ("+ +-", "+ ++")) -> None:
    for name in names:
        for pid, person, said in zip(bench.give(name, *cast[:2]), cast, judged, strict=False):
            bench.submit(pid, person, said)


# -- the order of things -----------------------------------------------------------------------------------------


def test_training_comes_first_and_nothing_else_before_the_gate(bench: Any, a_pair: Any, a_sheet: Any) -> None:
    (dev,) = bench.hire("dev", gate="training")
    bench.protocol = documents.Protocol(training_required=True, gate="coordinator", repeat_share=0.0)
    bench.sync(*(a_pair(n, "a") for n in ("t1", "t2", "work")))
    for name in ("t1", "t2"):
        bench.do(
            training.add_training, bench.item(name), training.Reference(sheet=a_sheet("+ +")), actor="cli"
        )
    (queued,) = bench.give("work", dev)
    for expected in ("t1", "t2"):
        pid = bench.next(dev)
        assert bench.look(pid, dev).item.question.id == expected
        assert bench.next(dev) == pid  # asking again reserves nothing more
        assert bench.next(dev, "judge") is None
        bench.submit(pid, dev, "+ +")
    from proctor.verify.desk import people

    assert bench.next(dev) is None
    dev = bench.see(people.by_id, dev.id)
    assert dev.gate == "waiting"
    bench.do(people.set_gate, dev, "open", actor="cli")
    dev = bench.see(people.by_id, dev.id)
    assert bench.next(dev) == queued


def test_the_queue_is_walked_in_its_order(bench: Any, cast: Any, a_pair: Any) -> None:
    ana = cast[0]
    bench.sync(*(a_pair(f"c{n}", "a") for n in range(4)))
    pids = [bench.give(f"c{n}", ana, at=[3, 1, 2, 0][n])[0] for n in range(4)]
    order = [pids[3], pids[1], pids[2], pids[0]]
    for n, pid in enumerate(order):
        assert bench.next(ana) == pid
        place = bench.desk.read(lambda c, p=pid: flow.neighbours(c, work.own_assignment(c, p, ana)))
        assert (place.position, place.total) == (n + 1, 4)
        assert place.previous == (order[n - 1] if n else None)
        assert place.following == (order[n + 1] if n < 3 else None)
        if n == 1:
            bench.do(work.cant_judge, pid, ana, reason="media")
        else:
            bench.submit(pid, ana, "+ +")
    assert bench.next(ana) is None
    counts = {c.stage: c for c in bench.desk.read(lambda c: flow.stage_counts(c, ana, bench.protocol))}
    assert (counts["judge"].waiting, counts["judge"].done, counts["judge"].returned) == (0, 3, 1)


def test_own_readings_come_before_the_cases_of_others(bench: Any, cast: Any, a_pair: Any) -> None:
    edda = cast[2]
    bench.sync(a_pair("c", "a", "b"), a_pair("d", "a", "b"))
    conflict(bench, cast, "c")
    (own,) = bench.give("d", edda)
    assert bench.next(edda) == own
    bench.submit(own, edda, "+ ++")
    assert bench.look(bench.next(edda), edda).assignment.stage == "adjudicate"


def test_who_is_no_adjudicator_gets_no_case_and_who_has_left_gets_nothing(
    bench: Any, cast: Any, a_pair: Any
) -> None:
    from proctor.verify.desk import people

    bench.sync(a_pair("c", "a", "b"), a_pair("d", "a", "b"))
    conflict(bench, cast, "c")
    (cyd,) = bench.hire("cyd")
    assert bench.next(cyd) is None
    assert bench.next(cyd, "adjudicate") is None
    bench.do(people.leave, cast[2], actor="cli")
    assert bench.next(bench.see(people.by_id, cast[2].id)) is None


def test_a_frozen_stage_is_passed_over(bench: Any, cast: Any, a_pair: Any) -> None:
    edda = cast[2]
    bench.sync(a_pair("c", "a", "b"), a_pair("d", "a", "b"))
    conflict(bench, cast, "c")
    (own,) = bench.give("d", edda)
    bench.protocol = documents.Protocol(frozen_stages=("judge",), repeat_share=0.0)
    assert bench.look(bench.next(edda), edda).assignment.stage == "adjudicate"
    bench.protocol = documents.Protocol(frozen_stages=("adjudicate",), repeat_share=0.0)
    assert bench.next(edda) == own
    bench.protocol = documents.Protocol(frozen_stages=("judge", "adjudicate"), repeat_share=0.0)
    assert bench.next(edda) is None


# -- cases -------------------------------------------------------------------------------------------------------


def test_cases_take_turns_by_type_the_oldest_first(bench: Any, cast: Any, a_pair: Any) -> None:
    edda = cast[2]
    kinds = {"n0": "next", "n1": "next", "n2": "next", "o0": "order", "m0": "missing"}
    bench.sync(*(a_pair(name, "a", "b", kind=kind) for name, kind in kinds.items()))
    conflict(bench, cast, *kinds)
    order = []
    while (pid := bench.next(edda, "adjudicate")) is not None:
        order.append(bench.look(pid, edda).item.question.id)
        bench.decide(pid, edda, {"b": "+"})
    assert order == ["n0", "o0", "m0", "n1", "n2"]


def test_nobody_adjudicates_what_they_have_read(
    bench: Any, cast: Any, a_pair: Any, make_verdict: Any
) -> None:
    ana, _, edda, fritz = cast
    bench.sync(a_pair("c", "a", "b"), a_pair("d", "a", "b"))
    for pid, person, said in zip(bench.give("c", edda, ana), (edda, ana), ("+ +-", "+ ++"), strict=True):
        bench.submit(pid, person, said)
    assert bench.next(edda, "adjudicate") is None
    assert bench.look(bench.next(fritz, "adjudicate"), fritz).item.question.id == "c"
    # A reading that came from elsewhere under their name bars them as well.
    bench.append([make_verdict("d", edda.pid, "+ ++"), make_verdict("d", "someone", "+ +-")])
    from proctor.verify.desk.cases import take_over_verdicts

    bench.do(take_over_verdicts)
    assert bench.state("d") == "case"
    assert bench.next(edda, "adjudicate") is None
    counts = {
        c.stage: c.waiting for c in bench.desk.read(lambda c: flow.stage_counts(c, edda, bench.protocol))
    }
    assert counts["adjudicate"] == 0


def test_a_case_is_one_persons_for_half_an_hour(bench: Any, cast: Any, a_pair: Any, a_sheet: Any) -> None:
    _, _, edda, fritz = cast
    bench.sync(a_pair("c", "a", "b"))
    conflict(bench, cast, "c")
    first = bench.next(edda, "adjudicate")
    assert bench.next(edda, "adjudicate") == first
    bench.time += 29 * 60
    assert bench.next(fritz, "adjudicate") is None
    bench.draft(first, edda, a_sheet("_ +"))  # work on it renews the time
    bench.time += 29 * 60
    assert bench.next(fritz, "adjudicate") is None
    bench.time += 2 * 60
    second = bench.next(fritz, "adjudicate")
    assert second not in (None, first)
    with pytest.raises(GoneError):
        bench.submit(first, edda, "_ +")
    assert len(bench.rows("drafts")) == 1  # what was written stays
    assert "adjudicate.expired" in [e.kind for e in bench.rows("events")]
    bench.submit(second, fritz, "_ +")
    assert bench.state("c") == "settled"


def test_a_lease_that_ran_out_is_still_ones_own_while_nobody_else_asks(
    bench: Any, cast: Any, a_pair: Any
) -> None:
    edda = cast[2]
    bench.sync(a_pair("c", "a", "b"))
    conflict(bench, cast, "c")
    pid = bench.next(edda, "adjudicate")
    bench.time += 3 * 3600
    bench.submit(pid, edda, "_ +")
    assert bench.state("c") == "settled"


def test_a_clock_that_was_wrong_locks_no_case_away(bench: Any, cast: Any, a_pair: Any) -> None:
    _, _, edda, fritz = cast
    bench.sync(a_pair("c", "a", "b"))
    conflict(bench, cast, "c")
    bench.time += 1e8
    bench.next(edda, "adjudicate")
    bench.time -= 1e8
    assert bench.next(fritz, "adjudicate") is not None


def test_two_who_ask_at_once_get_two_cases(bench: Any, cast: Any, a_pair: Any) -> None:
    _, _, edda, fritz = cast
    names = [f"c{n}" for n in range(6)]
    bench.sync(*(a_pair(n, "a", "b") for n in names))
    conflict(bench, cast, *names)
    futures = [
        bench.desk.write(lambda c, p=p: flow.next_work(bench.desk, c, p, bench.protocol, "adjudicate"))
        for _ in range(5)
        for p in (edda, fritz)
    ]
    got = Counter(f.result(60) for f in futures)
    assert sorted(got.values()) == [5, 5]


# -- blindness -----------------------------------------------------------------------------------------------------


def test_cards_are_in_an_order_of_the_persons_own(bench: Any, cast: Any, a_pair: Any) -> None:
    """A6: two adjudicators see different orders, each of them the same one at every visit."""
    _, _, edda, fritz = cast
    texts = [f"answer {n}" for n in range(8)]
    bench.sync(a_pair("c", *texts))
    conflict(bench, cast, "c", judged=("-", "+ " + "+" * 8))
    pid = bench.next(edda, "adjudicate")
    hers = bench.look(pid, edda).cards
    assert bench.look(pid, edda).cards == hers
    bench.time += 3600
    his_pid = bench.next(fritz, "adjudicate")
    his = bench.look(his_pid, fritz).cards
    assert set(hers.texts) == set(his.texts) == set(texts)
    assert len({hers.texts, his.texts, tuple(texts)}) == 3
    # What is said of a card counts for the answer on it, wherever it stood.
    bench.submit(
        his_pid,
        fritz,
        Sheet(question="right", answers=tuple("right" if t == "answer 3" else "wrong" for t in his.texts)),
    )
    assert bench.final("c") == [("answer 3", "machine", "adjudicator")]


def repeats_of(bench: Any, cast: Any, a_pair: Any) -> tuple[str, Person]:
    """One settled item that goes to Edda again."""
    bench.sync(a_pair("c", "a", "b"), a_pair("q", "a", "b"))
    bench.protocol = documents.Protocol(repeat_share=0.5)
    bench.desk.secret = next(
        bytes([n]) * 32
        for n in range(64)
        if [queue.repeat_lot(bytes([n]) * 32, i) < 0.5 for i in ("c", "q")] == [True, False]
    )
    conflict(bench, cast, "c", judged=("+ +-", "+ +-"))
    return bench.next(cast[2], "adjudicate"), cast[2]


def test_a_settled_item_is_shown_again_and_nothing_comes_of_it(bench: Any, cast: Any, a_pair: Any) -> None:
    pid, edda = repeats_of(bench, cast, a_pair)
    before = (bench.verdicts(), bench.final("c"), bench.state("c"))
    assert bench.rows("assignments", pid=pid)[0].blind_repeat
    bench.submit(pid, edda, "+ -+", "added")
    assert (bench.verdicts(), bench.final("c"), bench.state("c")) == before
    assert [r.value for r in bench.rows("question_judgements")] == ["right"] * 3
    assert bench.next(edda, "adjudicate") is None  # once is enough
    assert bench.next(cast[3], "adjudicate") is None
    bench.undo(pid, edda)
    bench.submit(pid, edda, "-", rev=1)
    assert (bench.verdicts(), bench.final("c"), bench.state("c")) == before


def test_a_repeat_looks_like_a_case_whose_question_is_open(bench: Any, cast: Any, a_pair: Any) -> None:
    pid, edda = repeats_of(bench, cast, a_pair)
    repeat = bench.look(pid, edda).cards
    bench.submit(pid, edda, "+ ++")
    conflict(bench, cast, "q", judged=("+ ++", "-"))
    real = bench.look(bench.next(edda, "adjudicate"), edda).cards
    assert (repeat.question_open, repeat.may_add) == (real.question_open, real.may_add) == (True, "if-valid")
    assert set(repeat.texts) == set(real.texts)


def test_a_repeat_in_progress_bars_no_reader_from_changing_their_mind(
    bench: Any, cast: Any, a_pair: Any
) -> None:
    repeats_of(bench, cast, a_pair)
    ana = cast[0]
    (row,) = [r for r in bench.rows("assignments", person_id=ana.id) if r.stage == "judge"]
    bench.submit(row.pid, ana, "+ ++", rev=1)
    assert bench.state("c") == "case"


def test_nobody_gets_a_second_look_at_what_they_read(bench: Any, cast: Any, a_pair: Any) -> None:
    ana, _, edda, fritz = cast
    bench.sync(a_pair("c", "a"), a_pair("q", "a"))
    bench.protocol = documents.Protocol(repeat_share=0.5)
    bench.desk.secret = next(
        bytes([n]) * 32 for n in range(64) if queue.repeat_lot(bytes([n]) * 32, "c") < 0.5
    )
    for pid, person in zip(bench.give("c", ana, edda), (ana, edda), strict=True):
        bench.submit(pid, person, "+ +")
    assert bench.next(edda, "adjudicate") is None
    assert bench.next(fritz, "adjudicate") is not None


def test_the_same_queries_run_whatever_is_on_the_cards(
    bench: Any, cast: Any, a_pair: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attack 16: a page must not take longer for one kind of case than for another."""
    from sqlalchemy import event

    from proctor import database

    edda = cast[2]
    bench.sync(*(a_pair(n, "a", "b") for n in ("machine", "person", "repeat")))
    bench.protocol = documents.Protocol(repeat_share=0.5)
    bench.desk.secret = next(
        bytes([n]) * 32 for n in range(64) if queue.repeat_lot(bytes([n]) * 32, "repeat") < 0.5
    )
    conflict(bench, cast, "machine", judged=("+ +-", "+ ++"))
    for pid, person, said in zip(
        bench.give("person", *cast[:2]), cast, (("+ ++", "own"), ("+ ++",)), strict=False
    ):
        bench.submit(pid, person, *said)
    conflict(bench, cast, "repeat", judged=("+ ++", "+ ++"))
    ran: list[str] = []
    engine = bench.desk.database.engine
    event.listen(engine, "before_cursor_execute", lambda _c, _k, sql, *_: ran.append(sql))
    ask = database._ask

    def noted(connection: Any, asked: Any) -> Any:
        ran.extend(bound.compiled.sql for bound in asked)
        return ask(connection, asked)

    monkeypatch.setattr(database, "_ask", noted)
    seen: dict[str, list[str]] = {}
    while (pid := bench.next(edda, "adjudicate")) is not None:
        ran.clear()
        found = bench.look(pid, edda)
        seen[found.item.question.id] = list(ran)
        answers = tuple("right" for _ in found.cards.texts)
        bench.submit(
            pid, edda, Sheet(question="right" if found.cards.question_open else None, answers=answers)
        )
    assert set(seen) == {"machine", "person", "repeat"}
    assert seen["machine"] == seen["person"] == seen["repeat"] != []


def test_neighbours_of_somebody_else_are_not_told(bench: Any, cast: Any, a_pair: Any) -> None:
    ana, ben, *_ = cast
    bench.sync(a_pair("c0", "a"), a_pair("c1", "a"))
    first = bench.give("c0", ana, ben, at=1)
    bench.give("c1", ben, at=2)
    around = bench.desk.read(lambda c: flow.neighbours(c, work.own_assignment(c, first[0], ana)))
    assert (around.previous, around.following, around.total) == (None, None, 1)
    assert bench.rows("assignments", live=False) == []
