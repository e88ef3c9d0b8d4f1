"""One person, one item: drafts, submitted sheets, taking back, giving back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from proctor.verify.desk import documents, work
from proctor.verify.desk.events import check_chain
from proctor.verify.desk.records import (
    MAX_OWN_ANSWERS,
    MAX_TEXT,
    ConflictError,
    GoneError,
    InvalidError,
    Saved,
    Sheet,
    Submitted,
)

MakeSheet = Callable[..., Sheet]
HARD = '"; <b>x</b>"'


@pytest.fixture
def pair(bench: Any, a_pair: Any) -> Any:
    """Ana and Ben with one item of two answers; returns (ana, ben, pid of ana's, pid of ben's)."""
    ana, ben = bench.hire("ana", "ben")
    bench.sync(a_pair("c", "a", "b"))
    return (ana, ben, *bench.give("c", ana, ben))


# -- drafts ----------------------------------------------------------------------------------------------------


def test_drafts_of_one_page_count_up_and_late_ones_are_passed_over(
    bench: Any, pair: Any, a_sheet: MakeSheet
) -> None:
    ana, _, pid, _ = pair
    assert bench.draft(pid, ana, a_sheet("+"), seq=1) == Saved(version=1, saved_at=bench.time)
    assert bench.draft(pid, ana, a_sheet("+ +"), seq=3).version == 2
    late = bench.draft(pid, ana, a_sheet("-"), seq=2)
    assert (late.stale, late.version) == (True, 2)
    assert bench.draft(pid, ana, a_sheet("-"), seq=3).stale  # sent twice
    found = bench.look(pid, ana).draft
    assert found is not None
    assert (found.sheet, found.seq, found.version) == (a_sheet("+ +"), 3, 2)
    assert len(bench.rows("drafts")) == 1


def test_another_page_that_knows_the_draft_goes_on_and_one_that_does_not_is_told(
    bench: Any, pair: Any, a_sheet: MakeSheet
) -> None:
    ana, _, pid, _ = pair
    bench.draft(pid, ana, a_sheet("+ ++"), client="one", seq=9)
    with pytest.raises(ConflictError) as caught:
        bench.draft(pid, ana, a_sheet("-"), client="two", seq=1, base=0)
    assert (caught.value.theirs, caught.value.version) == (a_sheet("+ ++"), 1)
    assert bench.draft(pid, ana, a_sheet("-"), client="two", seq=1, base=1).version == 2
    with pytest.raises(ConflictError):
        bench.draft(pid, ana, a_sheet("+"), client="one", seq=10, base=1)
    assert bench.look(pid, ana).draft.sheet == a_sheet("-")


def test_a_draft_holds_what_cannot_be_submitted_yet(bench: Any, pair: Any) -> None:
    ana, _, pid, _ = pair
    odd = Sheet(question="unsure", answers=(None, "wrong"), own_answers=("", " x\x00", HARD), note="\x1b")
    bench.draft(pid, ana, odd)
    assert bench.look(pid, ana).draft.sheet == odd


def test_a_draft_cannot_fill_the_disk(bench: Any, pair: Any) -> None:
    ana, _, pid, _ = pair
    for n in range(1, 30):
        bench.draft(pid, ana, Sheet(note="x" * (work.MAX_DRAFT - 200)), seq=n)
    assert len(bench.rows("drafts")) == 1
    with pytest.raises(InvalidError, match="256 kB"):
        bench.draft(pid, ana, Sheet(note="x" * work.MAX_DRAFT), seq=99)
    with pytest.raises(InvalidError, match="256 kB"):  # it is bytes that are counted
        bench.draft(pid, ana, Sheet(note="€" * (work.MAX_DRAFT // 3 + 1)), seq=99)


def test_nobody_elses_draft_can_be_read_or_written(bench: Any, pair: Any, a_sheet: MakeSheet) -> None:
    ana, ben, pid, _ = pair
    bench.draft(pid, ana, a_sheet("+"))
    for job in (
        lambda: bench.look(pid, ben),
        lambda: bench.draft(pid, ben, a_sheet("-")),
        lambda: bench.submit(pid, ben, "-"),
        lambda: bench.undo(pid, ben, 0),
        lambda: bench.do(work.cant_judge, pid, ben, reason="media"),
        lambda: bench.look("nobody", ana),
    ):
        with pytest.raises(GoneError):
            job()
    assert bench.look(pid, ana).draft.sheet == a_sheet("+")


# -- submitting ------------------------------------------------------------------------------------------------


def test_a_sheet_is_in_the_store_as_a_whole(bench: Any, pair: Any) -> None:
    ana, _, pid, _ = pair
    assert bench.submit(pid, ana, "+ +-", f"  {HARD} ", "", "zwei", note=" n ") == Submitted(rev=1)
    (response,) = bench.rows("responses")
    assert (response.rev, response.active_ms, response.created_at) == (1, 1_500, bench.time)
    assert [(r.value, r.reasons) for r in bench.rows("question_judgements")] == [("right", "[]")]
    assert [(r.target, r.value) for r in bench.rows("answer_judgements")] == [(0, "right"), (1, "wrong")]
    assert [(r.position, r.text) for r in bench.rows("own_answers")] == [(0, HARD), (1, "zwei")]
    (verdict,) = bench.verdicts("c")
    assert (verdict.annotator, verdict.annotator_kind, verdict.role) == (ana.pid, "human", "annotator")
    assert verdict.candidate_hash == bench.item("c").candidate_hash
    assert ([a.value for a in verdict.answers], verdict.own_answers) == (["right", "wrong"], (HARD, "zwei"))
    assert (verdict.note, verdict.question.evidence) == ("n", {"response": f"{pid}/1"})
    assert response.verdict_digest == bench.rows("verdicts")[0].digest
    row = bench.rows("assignments", pid=pid)[0]
    assert (row.state, row.rev, row.submitted_at, row.active_ms) == ("submitted", 1, bench.time, 1_500)
    assert bench.rows("events")[-1].kind == "judge.submitted"
    assert bench.desk.read(check_chain)[1] is None
    found = bench.look(pid, ana)
    assert found.submitted.own_answers == (HARD, "zwei")


def test_a_question_that_is_not_right_takes_no_answers_with_it(
    bench: Any, pair: Any, a_sheet: MakeSheet
) -> None:
    """A1: the draft keeps them, the submitted sheet does not."""
    ana, _, pid, _ = pair
    bench.draft(pid, ana, a_sheet("- +-", "mine"))
    bench.submit(pid, ana, "- +-", "mine", reasons=("unclear",))
    (verdict,) = bench.verdicts("c")
    assert (verdict.question.value, verdict.question.reason) == ("wrong", "unclear")
    assert (verdict.answers, verdict.own_answers) == ((), ())
    assert bench.rows("answer_judgements") == bench.rows("own_answers") == []
    assert bench.look(pid, ana).draft.sheet == a_sheet("- +-", "mine")


def test_the_same_key_gets_the_first_answer_again(bench: Any, pair: Any) -> None:
    ana, _, pid, _ = pair
    first = bench.submit(pid, ana, "+ +-", key="k")
    before = bench.counts()
    assert bench.submit(pid, ana, "+ +-", key="k") == Submitted(rev=1, again=True)
    with pytest.raises(ConflictError):
        bench.submit(pid, ana, "-", key="k")  # another sheet is no repetition
    assert bench.submit(pid, ana, "+ +-", key="k", rev=1).again
    assert first == Submitted(rev=1)
    assert bench.counts() == before


def test_one_key_of_two_assignments_is_two_submits(bench: Any, pair: Any) -> None:
    ana, ben, first, second = pair
    assert (
        bench.submit(first, ana, "+ ++", key="k").rev == bench.submit(second, ben, "+ ++", key="k").rev == 1
    )
    assert len(bench.rows("responses")) == 2


def test_a_page_that_is_behind_is_told_what_stands(bench: Any, pair: Any, a_sheet: MakeSheet) -> None:
    ana, _, pid, _ = pair
    bench.submit(pid, ana, "+ +-")
    before = bench.counts()
    for rev in (0, 2, -1):
        with pytest.raises(ConflictError) as caught:
            bench.submit(pid, ana, "- ", rev=rev)
        assert (caught.value.rev, caught.value.theirs) == (1, a_sheet("+ +-"))
    assert bench.counts() == before
    assert bench.submit(pid, ana, "-", rev=1).rev == 2
    assert [r.rev for r in bench.rows("responses")] == [1, 2]
    assert [v.question.value for v in bench.verdicts("c")] == ["wrong"]
    assert len(bench.rows("verdicts")) == 2


@pytest.mark.parametrize(
    ("judged", "own", "fields"),
    [
        ("?", [], ["question"]),
        ("+ ?-", [], ["answers.0"]),
        ("+", ["x" * (MAX_TEXT + 1)], ["answers.0", "answers.1", "own_answers.0"]),
        ("+ ++", ["ok", "nul\x00"], ["own_answers.1"]),
        ("+ ++", ["\ud83d"], ["own_answers.0"]),
        ("+ ++", ["x"] * (MAX_OWN_ANSWERS + 1), ["own_answers"]),
        ("+ +++", [], ["answers"]),
    ],
)
def test_what_is_missing_is_named_in_order_and_nothing_is_written(
    bench: Any, pair: Any, judged: str, own: list[str], fields: list[str]
) -> None:
    ana, _, pid, _ = pair
    before = bench.counts()
    with pytest.raises(InvalidError) as caught:
        bench.submit(pid, ana, judged, *own)
    assert [name for name, _ in caught.value.errors] == fields
    assert bench.counts() == before
    assert bench.look(pid, ana).assignment.state == "open"


def test_texts_of_any_kind_come_back_as_they_were(bench: Any, pair: Any) -> None:
    ana, _, pid, _ = pair
    own = ("💥 é e\u0301", "\u202egnirts", "{{7*7}} %s {0}", "a\tb\nc", "x" * MAX_TEXT)
    bench.submit(pid, ana, "+ ++", *own)
    assert tuple(r.text for r in bench.rows("own_answers")) == own
    assert bench.verdicts("c")[0].own_answers == own


def test_twelve_answers_are_twelve_rows(bench: Any, a_pair: Any) -> None:
    """A4."""
    (ana,) = bench.hire("ana")
    bench.sync(a_pair("c", *(f"a{n}" for n in range(12))))
    (pid,) = bench.give("c", ana)
    assert len(bench.look(pid, ana).cards.texts) == 12
    bench.submit(pid, ana, "+ " + "+-" * 6)
    assert [r.value for r in bench.rows("answer_judgements")] == ["right", "wrong"] * 6


def test_twenty_clicks_at_once_are_one_row(bench: Any, pair: Any, a_sheet: MakeSheet) -> None:
    """C2, from as many threads, some with a key of their own: one wins, the others are told."""
    ana, _, pid, _ = pair
    futures = [
        bench.desk.write(
            lambda c, n=n: work.submit(
                bench.desk,
                c,
                pid,
                ana,
                sheet=a_sheet("+ ++"),
                rev=0,
                key=f"k{n % 5}",
                protocol=bench.protocol,
            )
        )
        for n in range(20)
    ]
    done = [f.exception(30) or f.result() for f in futures]
    assert len(bench.rows("responses")) == len(bench.rows("verdicts")) == 1
    assert sum(isinstance(d, Submitted) and not d.again for d in done) == 1
    assert sum(isinstance(d, Submitted) and d.again for d in done) == 3
    assert sum(isinstance(d, ConflictError) for d in done) == 16


def test_crosswise_submits_go_each_to_their_own_item(bench: Any, a_pair: Any) -> None:
    """A8, at the desk."""
    (ana,) = bench.hire("ana")
    bench.sync(*(a_pair(f"c{n}", "a") for n in range(8)))
    pids = {f"c{n}": bench.give(f"c{n}", ana)[0] for n in range(8)}

    def send(n: int) -> None:
        bench.desk.write(
            lambda c: work.submit(
                bench.desk,
                c,
                pids[f"c{n}"],
                ana,
                sheet=Sheet(question="right", answers=("right",), own_answers=(f"for c{n}",)),
                rev=0,
                key=f"key-{n}",
                protocol=bench.protocol,
            )
        ).result(30)

    threads = [threading.Thread(target=send, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert {v.candidate_id: v.own_answers for v in bench.verdicts()} == {
        f"c{n}": (f"for c{n}",) for n in range(8)
    }


def test_a_frozen_stage_takes_nothing_and_loses_nothing(bench: Any, pair: Any, a_sheet: MakeSheet) -> None:
    ana, ben, first, second = pair
    bench.submit(first, ana, "+ +-")
    bench.protocol = documents.Protocol(frozen_stages=("judge",))
    bench.do(lambda d, c: documents.ensure_defaults(d, c))
    bench.do(documents.set_protocol, bench.protocol, actor="cli")
    before = bench.counts()
    for job in (
        lambda: bench.submit(second, ben, "+ ++"),
        lambda: bench.submit(first, ana, "-", rev=1),
        lambda: bench.undo(first, ana),
        lambda: bench.do(work.cant_judge, second, ben, reason="media"),
    ):
        with pytest.raises(ConflictError, match="closed this stage"):
            job()
    assert bench.counts() == before
    assert bench.next(ben) is None
    assert bench.look(first, ana).submitted == a_sheet("+ +-")


def test_a_clock_that_is_set_back_takes_no_verdict_away(bench: Any, pair: Any) -> None:
    ana, _, pid, _ = pair
    bench.submit(pid, ana, "+ ++")
    bench.time -= 1e7
    bench.submit(pid, ana, "-", rev=1)
    assert [v.question.value for v in bench.verdicts("c")] == ["wrong"]  # later is what was saved later


# -- taking back -----------------------------------------------------------------------------------------------


def test_what_is_taken_back_counts_no_more_and_stays(bench: Any, pair: Any, a_sheet: MakeSheet) -> None:
    ana, ben, first, second = pair
    bench.submit(first, ana, "+ +-", HARD)
    bench.submit(second, ben, "+ +-")
    assert bench.state("c") == "case"
    typed = (bench.rows("responses"), bench.rows("answer_judgements"), bench.rows("own_answers"))
    assert bench.undo(first, ana) == Submitted(rev=1)
    assert [v.annotator for v in bench.verdicts("c")] == [ben.pid]
    assert len(bench.rows("verdicts")) == 2
    assert (bench.rows("responses"), bench.rows("answer_judgements"), bench.rows("own_answers")) == typed
    assert bench.state("c") == "judging"
    assert bench.rows("cases") == []
    row = bench.rows("assignments", pid=first)[0]
    assert (row.state, row.rev, row.submitted_at) == ("open", 1, None)
    assert bench.submit(first, ana, "+ +-", rev=1).rev == 2
    assert bench.state("c") == "settled"
    assert bench.final("c") == [("a", "machine", "annotator")]


def test_every_revision_is_taken_back_with_the_last(bench: Any, pair: Any) -> None:
    ana, _, pid, _ = pair
    bench.submit(pid, ana, "+ ++")
    bench.submit(pid, ana, "-", rev=1)
    bench.undo(pid, ana, 2)
    assert bench.verdicts("c") == []
    assert len(bench.rows("voids")) == 2


def test_taking_back_twice_or_from_behind_is_refused(bench: Any, pair: Any) -> None:
    ana, _, pid, _ = pair
    with pytest.raises(ConflictError, match="not submitted"):
        bench.undo(pid, ana, 0)
    bench.submit(pid, ana, "+ ++")
    with pytest.raises(ConflictError) as caught:
        bench.undo(pid, ana, 0)
    assert caught.value.rev == 1
    bench.undo(pid, ana, 1)
    with pytest.raises(ConflictError, match="not submitted"):
        bench.undo(pid, ana, 1)


# -- giving back -----------------------------------------------------------------------------------------------


def test_an_item_that_cannot_be_judged_goes_to_the_coordinator_and_is_no_judgement(
    bench: Any, pair: Any
) -> None:
    ana, ben, first, second = pair
    bench.do(work.cant_judge, first, ana, reason="other", note="  the sound is missing ")
    assert bench.state("c") == "returned"
    assert "the sound is missing" in bench.item("c").reason
    assert bench.verdicts("c") == []
    bench.do(work.cant_judge, first, ana, reason="media")  # a second click changes nothing
    assert sum(e.kind == "judge.returned" for e in bench.rows("events")) == 1
    bench.submit(second, ben, "+ ++")
    assert bench.state("c") == "returned"


@pytest.mark.parametrize(
    ("reason", "note", "field"),
    [("", "", "reason"), ("bored", "", "reason"), ("other", "  ", "note"), ("media", "x" * 4_001, "note"),
     ("media", "nul\x00", "note")],
)  # fmt: skip
def test_giving_back_needs_a_reason(bench: Any, pair: Any, reason: str, note: str, field: str) -> None:
    ana, _, pid, _ = pair
    with pytest.raises(InvalidError) as caught:
        bench.do(work.cant_judge, pid, ana, reason=reason, note=note)
    assert [name for name, _ in caught.value.errors] == [field]
    assert bench.look(pid, ana).assignment.state == "open"


def test_what_is_submitted_is_not_given_back(bench: Any, pair: Any) -> None:
    ana, _, pid, _ = pair
    bench.submit(pid, ana, "+ ++")
    with pytest.raises(ConflictError, match="take that back first"):
        bench.do(work.cant_judge, pid, ana, reason="media")


def test_a_training_item_is_judged_once(bench: Any, a_pair: Any, a_sheet: MakeSheet) -> None:
    """Its reference is shown afterwards; a second try would be copied from it."""
    from proctor.verify.desk import training

    (dev,) = bench.hire("dev", gate="training")
    bench.protocol = documents.Protocol(training_required=True, gate="automatic")
    bench.sync(a_pair("c", "a"), a_pair("d", "a"))
    for name in "cd":
        reference = training.Reference(sheet=a_sheet("+ +"))
        bench.do(training.add_training, bench.item(name), reference, actor="cli")
    pid = bench.next(dev)
    assert pid is not None
    bench.submit(pid, dev, "+ -")
    for job in (lambda: bench.submit(pid, dev, "+ +", rev=1), lambda: bench.undo(pid, dev)):
        with pytest.raises(ConflictError, match="reference"):
            job()
    assert bench.verdicts() == []
    assert len(bench.rows("responses")) == 1


def test_nothing_of_a_submit_that_fails_halfway_is_kept(
    bench: Any, pair: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana, _, pid, _ = pair
    before = bench.counts()

    def broken(*_args: Any, **_more: Any) -> None:
        raise RuntimeError("power")

    monkeypatch.setattr(work, "refresh_item", broken)
    with pytest.raises(RuntimeError, match="power"):
        bench.submit(pid, ana, "+ ++")
    monkeypatch.undo()
    assert bench.counts() == before
    assert bench.submit(pid, ana, "+ ++").rev == 1
    assert len(bench.rows("voids")) == 0
