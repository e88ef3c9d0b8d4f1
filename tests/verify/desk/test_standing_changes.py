"""What changes under the hands of people: imports into decided cases, people who left, sheets taken back, blind repeats."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.verify.desk import flow, people
from proctor.verify.desk.cases import take_over_verdicts
from proctor.verify.desk.documents import Protocol
from proctor.verify.desk.records import ConflictError, GoneError
from proctor.verify.queue import repeat_lot


@pytest.fixture
def cast(bench: Any) -> Any:
    ann, ben, cid = bench.hire("ann", "ben", "cid")
    (edda, fritz) = bench.hire("edda", "fritz", role="adjudicator")
    return ann, ben, cid, edda, fritz


def _open_case(bench: Any, a_pair: Any, cast: Any, name: str = "x") -> list[str]:
    bench.sync(a_pair(name, "Stir.", "Pour."))
    first, second = bench.give(name, cast[0], cast[1])
    bench.submit(first, cast[0], "+ ++")
    bench.submit(second, cast[1], "+ +-")
    assert bench.state(name) == "case"
    return [first, second]


def _import_reading(bench: Any, name: str, value: str) -> None:
    """A verdict of somebody from elsewhere, as ``proctor studio import`` brings it."""
    import msgspec

    template = bench.verdicts(name)[0]
    other = msgspec.structs.replace(
        template,
        annotator="elsewhere",
        answers=tuple(msgspec.structs.replace(a, value=value) for a in template.answers),
    )
    bench.append([other])
    bench.do(take_over_verdicts)


def test_a_case_that_changes_while_it_is_reserved_goes_back_to_the_queue(
    bench: Any, cast: Any, a_pair: Any
) -> None:
    _open_case(bench, a_pair, cast)
    edda = cast[3]
    old = bench.next(edda, "adjudicate")
    _import_reading(bench, "x", "wrong")
    new = bench.next(edda, "adjudicate")
    assert new is not None
    assert new != old
    with pytest.raises(GoneError):
        bench.decide(old, edda, {"Stir.": "+", "Pour.": "+"})
    bench.decide(new, edda, {"Stir.": "+", "Pour.": "-"})
    assert bench.state("x") == "settled"


def test_a_decision_that_no_longer_fits_is_asked_for_again(bench: Any, cast: Any, a_pair: Any) -> None:
    _open_case(bench, a_pair, cast)
    edda, fritz = cast[3], cast[4]
    bench.decide(bench.next(edda, "adjudicate"), edda, {"Pour.": "+"})
    assert bench.state("x") == "settled"
    _import_reading(bench, "x", "wrong")
    assert bench.state("x") == "case"
    pid = bench.next(fritz, "adjudicate")
    assert pid is not None
    bench.decide(pid, fritz, {"Stir.": "-", "Pour.": "+"})
    assert bench.state("x") == "settled"
    assert [text for text, _, _ in bench.final("x")] == ["Pour."]


def test_a_changed_item_goes_only_to_people_who_are_still_here(bench: Any, cast: Any, a_pair: Any) -> None:
    _open_case(bench, a_pair, cast)
    ann, ben = cast[0], cast[1]
    bench.do(people.leave, ben, actor="cli")
    bench.sync(a_pair("x", "Stir.", "Pour slowly."))
    live = [a.person_id for a in bench.rows("assignments", stage="judge", live=True)]
    assert live == [ann.id]


def test_what_was_taken_back_is_as_it_was_filled_in_without_any_draft(
    bench: Any, cast: Any, a_pair: Any, a_sheet: Any
) -> None:
    bench.sync(a_pair("x", "Stir."))
    (pid,) = bench.give("x", cast[0])
    bench.submit(pid, cast[0], "+ -", "Wait.")
    bench.undo(pid, cast[0])
    draft = bench.look(pid, cast[0]).draft
    assert draft is not None
    assert draft.sheet == a_sheet("+ -", "Wait.")


def test_a_key_that_comes_again_with_another_sheet_is_no_repetition(
    bench: Any, cast: Any, a_pair: Any
) -> None:
    """The browser's back button brings a form with its old key; what was changed there must not be lost silently."""
    bench.sync(a_pair("x", "Stir."))
    (pid,) = bench.give("x", cast[0])
    bench.submit(pid, cast[0], "+ -", key="form-key-1")
    assert bench.submit(pid, cast[0], "+ -", key="form-key-1").again
    with pytest.raises(ConflictError) as caught:
        bench.submit(pid, cast[0], "+ +", key="form-key-1")
    assert caught.value.rev == 1
    assert caught.value.theirs is not None
    assert caught.value.theirs.answers == ("wrong",)


def test_who_takes_a_decision_back_has_it_for_a_whole_lease(bench: Any, cast: Any, a_pair: Any) -> None:
    _open_case(bench, a_pair, cast)
    edda, fritz = cast[3], cast[4]
    pid = bench.next(edda, "adjudicate")
    bench.decide(pid, edda, {"Pour.": "+"})
    bench.time += 3 * 3600
    bench.undo(pid, edda)
    assert bench.next(fritz, "adjudicate") is None
    bench.decide_again = bench.submit(pid, edda, "_ -", rev=1)
    assert bench.state("x") == "settled"


def test_the_count_of_waiting_cases_does_not_tell_a_repeat_from_a_case(
    bench: Any, cast: Any, a_pair: Any
) -> None:
    bench.protocol = Protocol(repeat_share=0.5)
    repeated = next(n for n in map(str, range(99)) if repeat_lot(bench.desk.secret, n) < 0.5)
    bench.sync(a_pair(repeated, "Stir."), a_pair("case", "Stir."))
    for name in (repeated, "case"):
        first, second = bench.give(name, cast[0], cast[1])
        bench.submit(first, cast[0], "+ +")
        bench.submit(second, cast[1], "+ +" if name == repeated else "+ -")
    edda = cast[3]

    def waiting() -> int:
        counts = bench.desk.read(lambda c: flow.stage_counts(c, edda, bench.protocol))
        return next(c.waiting for c in counts if c.stage == "adjudicate")

    seen = [waiting()]
    for _ in range(2):
        pid = bench.next(edda, "adjudicate")
        seen.append(waiting())
        found = bench.look(pid, edda)
        bench.submit(pid, edda, f"{'+' if found.cards.question_open else '_'} {'+' * len(found.cards.texts)}")
        seen.append(waiting())
    assert seen == [2, 2, 1, 1, 0]


def test_blind_repeats_go_on_however_many_items_are_settled(
    bench: Any, cast: Any, a_pair: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first settled items that are no repeats must not stand in front of those that are."""
    monkeypatch.setattr(flow, "LOOK_AHEAD", 3)
    flow._settled_unrepeated.cache_clear()
    names = [f"n{i:02d}" for i in range(40)]
    bench.protocol = Protocol(repeat_share=0.2)
    bench.sync(*(a_pair(name, "Stir.") for name in names))
    for name in names:
        first, second = bench.give(name, cast[0], cast[1])
        bench.submit(first, cast[0], "+ +")
        bench.submit(second, cast[1], "+ +")
    wanted = {name for name in names if repeat_lot(bench.desk.secret, name) < 0.2}
    edda, seen = cast[3], set()
    while (pid := bench.next(edda, "adjudicate")) is not None:
        found = bench.look(pid, edda)
        seen.add(found.item.question.id)
        bench.submit(pid, edda, "+ +")
    flow._settled_unrepeated.cache_clear()
    assert len(wanted) > 3
    assert seen == wanted


def test_what_an_annotator_is_told_says_nothing_of_the_others(bench: Any, cast: Any, a_pair: Any) -> None:
    first, _ = _open_case(bench, a_pair, cast)
    bench.next(cast[3], "adjudicate")
    for call in (lambda: bench.submit(first, cast[0], "+ --", rev=1), lambda: bench.undo(first, cast[0])):
        with pytest.raises(ConflictError) as caught:
            call()
        assert "adjudicat" not in caught.value.message.lower()
        assert "decided" not in caught.value.message.lower()


def test_who_is_no_adjudicator_any_more_decides_nothing(bench: Any, cast: Any, a_pair: Any) -> None:
    import msgspec

    _open_case(bench, a_pair, cast)
    edda = cast[3]
    pid = bench.next(edda, "adjudicate")
    with pytest.raises(GoneError):
        bench.decide(pid, msgspec.structs.replace(edda, role="annotator"), {"Pour.": "+"})
    assert bench.state("x") == "case"


def test_exports_hold_nothing_that_is_half_done(bench: Any, cast: Any, a_pair: Any, tmp_path: Any) -> None:
    import json

    from proctor.studio.exporting import write_export

    _open_case(bench, a_pair, cast)
    bench.sync(*bench.pairs.values(), a_pair("half", "Stir."), a_pair("done", "Stir."))
    first, _ = bench.give("half", cast[0], cast[1])
    bench.submit(first, cast[0], "+ +")
    for pid, person in zip(bench.give("done", cast[0], cast[1]), cast, strict=False):
        bench.submit(pid, person, "+ +")
    assert write_export(bench.desk, "published", tmp_path / "out.json") == 1
    assert json.loads((tmp_path / "out.json").read_text())[0]["question_id"] == "done"
