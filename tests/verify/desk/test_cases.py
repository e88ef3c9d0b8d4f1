"""What becomes of an item: an independent model plays along, and the published examples are played through."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from proctor.ask.moment.promqa import read_promqa, read_promqa_graphs
from proctor.ask.moment.question import moment_question
from proctor.release.promqa import PromqaRecords, import_promqa
from proctor.verify.desk import work
from proctor.verify.desk.cases import refresh_item, standing, take_over_verdicts
from proctor.verify.desk.events import check_chain
from proctor.verify.desk.items import sync_items
from proctor.verify.desk.records import ConflictError, Person, Sheet
from proctor.verify.desk.roster import dispute_resolved
from proctor.verify.store import append_verdicts

Raw = dict[str, Any]


@pytest.fixture
def cast(bench: Any) -> tuple[Person, Person, Person]:
    ana, ben = bench.hire("ana", "ben")
    (edda,) = bench.hire("edda", role="adjudicator")
    return ana, ben, edda


def judge(bench: Any, cast: Any, name: str, *judged: Any) -> list[str]:
    pids: list[str] = bench.give(name, *cast[: len(judged)])
    for pid, person, said in zip(pids, cast, judged, strict=False):
        bench.submit(pid, person, *((said,) if isinstance(said, str) else said))
    return pids


@pytest.mark.parametrize(
    ("first", "second", "state", "agreement"),
    [
        ("+ ++", "+ ++", "settled", "same"),
        ("+ +-", "+ ++", "case", "answers"),
        ("+ ++", "-", "case", "question"),
        ("-", "-", "rejected", "same"),
        ("+ --", "+ --", "held", "same"),
        (("+ ++", "own"), "+ ++", "case", "same"),
    ],
)
def test_the_second_reading_decides(
    bench: Any, cast: Any, a_pair: Any, first: Any, second: Any, state: str, agreement: str
) -> None:
    bench.sync(a_pair("c", "a", "b"))
    pids = bench.give("c", *cast[:2])
    bench.submit(pids[0], cast[0], *((first,) if isinstance(first, str) else first))
    assert (bench.state("c"), bench.item("c").agreement) == ("judging", "")
    assert bench.rows("cases") == bench.rows("final_answers") == []
    bench.submit(pids[1], cast[1], second)
    assert (bench.state("c"), bench.item("c").agreement) == (state, agreement)
    assert bool(bench.final("c")) == (state == "settled")


def test_a_case_says_what_is_open(bench: Any, cast: Any, a_pair: Any) -> None:
    bench.sync(a_pair("c", "a", "b"), a_pair("q", "a", "b"))
    judge(bench, cast, "c", ("+ +-", "own"), "+ ++")
    judge(bench, cast, "q", "-", ("+ ++", "mine"))
    rows = {row.item_id: row for row in bench.rows("cases")}
    case, question = rows[bench.item("c").id], rows[bench.item("q").id]
    assert (case.open_question, case.open_answers, case.may_add) == (False, 2, False)
    assert (question.open_question, question.open_answers, question.may_add) == (True, 3, True)
    assert case.case_hash == bench.see(standing, bench.item("c")).case.hash


def test_an_adjudicators_word_settles_and_taking_it_back_opens(bench: Any, cast: Any, a_pair: Any) -> None:
    edda = cast[2]
    bench.sync(a_pair("c", "a", "b", "d"))
    judge(bench, cast, "c", ("+ ++-", "ana's"), ("+ +--", "ben's"))
    pid = bench.next(edda, "adjudicate")
    cards = bench.look(pid, edda).cards
    assert set(cards.texts) == {"b", "ana's", "ben's"}  # what is settled is not shown
    assert (cards.question_open, cards.may_add) == (False, "no")
    bench.decide(pid, edda, {"b": "+", "ana's": "-", "ben's": "+"})
    assert bench.state("c") == "settled"
    assert sorted(bench.final("c")) == [
        ("a", "machine", "annotator"), ("b", "machine", "adjudicator"), ("ben's", "annotator", "adjudicator"),
    ]  # fmt: skip
    assert bench.rows("cases")[0].decided_at is not None
    bench.undo(pid, edda)
    assert (bench.state("c"), bench.final("c")) == ("case", [])
    assert bench.rows("cases")[0].decided_at is None
    bench.submit(pid, edda, Sheet(answers=("wrong",) * 3), rev=1)
    assert bench.final("c") == [("a", "machine", "annotator")]


def test_the_second_chance_is_there_only_when_the_question_was_in_conflict(
    bench: Any, cast: Any, a_pair: Any
) -> None:
    edda = cast[2]
    bench.sync(a_pair("c", "a", "b"))
    judge(bench, cast, "c", "+ ++", "-")
    pid = bench.next(edda, "adjudicate")
    cards = bench.look(pid, edda).cards
    assert (cards.question_open, cards.may_add, set(cards.texts)) == (True, "if-valid", {"a", "b"})
    bench.decide(pid, edda, {"a": "+", "b": "-"}, "added")
    assert sorted(bench.final("c")) == [
        ("a", "machine", "adjudicator"),
        ("added", "adjudicator", "adjudicator"),
    ]
    bench.submit(pid, edda, "- ", rev=1)
    assert (bench.state("c"), bench.final("c")) == ("rejected", [])


def test_an_adjudication_without_any_answer_is_held(bench: Any, cast: Any, a_pair: Any) -> None:
    edda = cast[2]
    bench.sync(a_pair("c", "a"))
    judge(bench, cast, "c", "+ +", "+ -")
    bench.decide(bench.next(edda, "adjudicate"), edda, {"a": "-"})
    assert (bench.state("c"), bench.item("c").reason) == ("held", "accepted without any answer")
    assert bench.final("c") == []


def test_while_somebody_adjudicates_readings_stay_as_they_are(bench: Any, cast: Any, a_pair: Any) -> None:
    ana, ben, edda = cast
    bench.sync(a_pair("c", "a"))
    first, second = judge(bench, cast, "c", "+ +", "+ -")
    bench.submit(first, ana, "+ -", rev=1)
    assert bench.state("c") == "held"
    bench.submit(first, ana, "+ +", rev=2)
    pid = bench.next(edda, "adjudicate")
    for job in (lambda: bench.submit(second, ben, "+ +", rev=1), lambda: bench.undo(first, ana, 3)):
        with pytest.raises(ConflictError, match="closed"):
            job()
    bench.decide(pid, edda, {"a": "+"})
    with pytest.raises(ConflictError, match="closed"):
        bench.submit(second, ben, "+ +", rev=1)
    assert bench.final("c") == [("a", "machine", "adjudicator")]


def test_a_case_that_changed_under_an_open_page_is_not_decided(
    bench: Any, cast: Any, a_pair: Any, make_verdict: Any
) -> None:
    edda = cast[2]
    bench.sync(a_pair("c", "a"))
    judge(bench, cast, "c", "+ +", "+ -")
    pid = bench.next(edda, "adjudicate")
    bench.append([make_verdict("c", "imported", "+ +", "from elsewhere")])
    with pytest.raises(ConflictError, match="has changed"):
        bench.submit(pid, edda, "_ ++")
    with pytest.raises(ConflictError, match="has changed"):
        bench.submit(pid, edda, "_ +")
    assert not [v for v in bench.verdicts("c") if v.role == "adjudicator"]


def test_a_dispute_goes_to_the_coordinator_and_back(bench: Any, cast: Any, a_pair: Any) -> None:
    edda = cast[2]
    bench.sync(a_pair("c", "a"))
    judge(bench, cast, "c", "+ +", "+ -")
    pid = bench.next(edda, "adjudicate")
    bench.do(work.cant_judge, pid, edda, reason="other", note="both are wrong")
    assert (bench.state("c"), bench.item("c").reason) == ("held", "dispute: Something else: both are wrong")
    assert bench.next(edda, "adjudicate") is None
    bench.do(refresh_item, bench.item("c").id)
    assert bench.state("c") == "held"  # whatever is computed anew
    bench.do(dispute_resolved, bench.item("c").id, reopen=False, actor="cli", note="judge on")
    assert bench.state("c") == "case"
    again = bench.next(edda, "adjudicate")
    assert again not in (None, pid)
    bench.decide(again, edda, {"a": "+"})
    assert bench.state("c") == "settled"


def test_telling_a_state_again_changes_nothing(bench: Any, cast: Any, a_pair: Any) -> None:
    bench.sync(*(a_pair(name, "a", "b") for name in "cdef"))
    judge(bench, cast, "c", "+ ++", "+ +-")
    judge(bench, cast, "d", "-", "-")
    judge(bench, cast, "e", "+ ++")
    tables = ("items", "cases", "final_answers", "assignments", "verdicts")

    def shot() -> list[Any]:
        return [[r._asdict() | {"changed_at": 0} for r in bench.rows(name)] for name in tables]

    before = shot()
    bench.time += 100
    bench.do(take_over_verdicts)
    assert shot() == before


# -- a model plays along -----------------------------------------------------------------------------------------

PEOPLE = ("ana", "ben", "cyd")
ITEMS = {"c0": 0, "c1": 1, "c2": 3}
_sheets = st.tuples(
    st.booleans(),
    st.lists(st.booleans(), min_size=3, max_size=3),
    st.lists(st.sampled_from(["x", "y"]), max_size=2),
)


class Model(RuleBasedStateMachine):
    """Two of three people judge each item, an adjudicator decides; beside the desk a dozen lines say what must be.

    The model knows the last acknowledged sheet of each (item, person), and computes outcomes from those by the rules
    of docs/verify.md, written down again.
    """

    target = ""
    make: Callable[[str], Any]
    pair: Callable[..., Any]
    number = 0

    @initialize(pick=st.randoms(use_true_random=False))
    def begin(self, pick: random.Random) -> None:
        type(self).number += 1
        self.bench = self.make(self.target.format(type(self).number))
        self.people = dict(zip(PEOPLE, self.bench.hire(*PEOPLE), strict=True))
        self.people["edda"] = self.bench.hire("edda", role="adjudicator")[0]
        self.bench.sync(*(self.pair(name, *(f"m{k}" for k in range(n))) for name, n in ITEMS.items()))
        self.readers = {name: pick.sample(PEOPLE, 2) for name in ITEMS}
        self.pids: dict[tuple[str, str], str] = {}
        for name, readers in self.readers.items():
            given = self.bench.give(name, *(self.people[r] for r in readers))
            self.pids |= {(name, r): pid for r, pid in zip(readers, given, strict=True)}
        self.rev = dict.fromkeys(self.pids, 0)
        self.said: dict[tuple[str, str], Any] = {}
        self.acknowledged: list[tuple[str, int]] = []
        self.decided: dict[str, Any] = {}
        self.reserved: dict[str, str] = {}
        self.revs_of_cases: dict[str, int] = {}
        self.returned: set[tuple[str, str]] = set()

    def teardown(self) -> None:
        if hasattr(self, "bench"):
            self.bench.desk.close()

    # -- what people do

    @rule(where=st.sampled_from(sorted(ITEMS)), who=st.integers(0, 1), said=_sheets, twice=st.booleans())
    def submits(self, where: str, who: int, said: Any, twice: bool) -> None:
        key = (where, self.readers[where][who])
        question, answers, own = said
        sheet = self._sheet(question, answers[: ITEMS[where]], own)
        token = f"key-{len(self.acknowledged)}-{self.rev[key]}-{where}-{who}"
        pid, person = self.pids[key], self.people[key[1]]
        if where in self.reserved:
            with pytest.raises(ConflictError):
                self.bench.submit(pid, person, sheet, rev=self.rev[key], key=token)
            return
        done = self.bench.submit(pid, person, sheet, rev=self.rev[key], key=token)
        assert done.rev == self.rev[key] + 1
        if twice:
            assert self.bench.submit(pid, person, sheet, rev=self.rev[key], key=token).again
        self.rev[key] = done.rev
        self.returned.discard(key)
        self.acknowledged.append((pid, done.rev))
        self.said[key] = (question, answers[: ITEMS[where]] if question else [], own if question else [])

    @rule(where=st.sampled_from(sorted(ITEMS)), who=st.integers(0, 1))
    def takes_back(self, where: str, who: int) -> None:
        key = (where, self.readers[where][who])
        if key not in self.said or where in self.reserved:
            with pytest.raises(ConflictError):
                self.bench.undo(self.pids[key], self.people[key[1]], self.rev[key])
            return
        self.bench.undo(self.pids[key], self.people[key[1]], self.rev[key])
        del self.said[key]

    @rule(where=st.sampled_from(sorted(ITEMS)), who=st.integers(0, 1))
    def gives_back(self, where: str, who: int) -> None:
        key = (where, self.readers[where][who])
        pid, person = self.pids[key], self.people[key[1]]
        if key in self.said:
            with pytest.raises(ConflictError, match="take that back first"):
                self.bench.do(work.cant_judge, pid, person, reason="media")
            return
        self.bench.do(work.cant_judge, pid, person, reason="media")
        self.returned.add(key)

    @rule()
    def reserves(self) -> None:
        edda = self.people["edda"]
        pid = self.bench.next(edda, "adjudicate")
        waiting = [n for n in ITEMS if self._outcome(n)[0] == "case" and n not in self.reserved]
        held = [n for n, p in self.reserved.items() if p not in self.revs_of_cases]
        assert (pid is not None) == bool(waiting or held)
        if pid is not None:
            name = self.bench.look(pid, edda).item.question.id
            assert name in (held or waiting)
            self.reserved[name] = pid

    @precondition(lambda self: self.reserved)
    @rule(
        question=st.booleans(), right=st.sets(st.sampled_from(["m0", "m1", "m2", "x", "y"])), data=st.data()
    )
    def decides(self, question: bool, right: set[str], data: Any) -> None:
        name = data.draw(st.sampled_from(sorted(self.reserved)))
        pid, edda = self.reserved[name], self.people["edda"]
        cards = self.bench.look(pid, edda).cards
        valid = question or not cards.question_open
        sheet = Sheet(
            question=("right" if question else "wrong") if cards.question_open else None,
            answers=tuple("right" if t in right else "wrong" for t in cards.texts) if valid else (),
            own_answers=("added",) if valid and cards.may_add != "no" else (),
        )
        rev = self.revs_of_cases.get(pid, 0)
        done = self.bench.submit(pid, edda, sheet, rev=rev)
        self.revs_of_cases[pid] = done.rev
        self.acknowledged.append((pid, done.rev))
        self.decided[name] = (valid, right, "added" in sheet.own_answers)

    # -- what must be

    def _sheet(self, question: bool, answers: list[bool], own: list[str]) -> Sheet:
        return Sheet(
            question="right" if question else "wrong",
            answers=tuple("right" if a else "wrong" for a in answers),
            own_answers=tuple(own),
        )

    def _outcome(self, name: str) -> tuple[str, list[str]]:
        """The rules of 2.2, once more."""
        if any(key[0] == name for key in self.returned):
            return "returned", []
        readings = [self.said[name, r] for r in self.readers[name] if (name, r) in self.said]
        if len(readings) < 2:
            return "judging", []
        (q1, a1, h1), (q2, a2, h2) = readings
        if not q1 and not q2:
            return "rejected", []
        machine = [f"m{k}" for k in range(ITEMS[name])]
        settled = {} if q1 != q2 else {m: x for m, x, y in zip(machine, a1, a2, strict=True) if x == y}
        still = [m for m in machine if m not in settled] + h1 + h2
        final = [m for m, yes in settled.items() if yes]
        if q1 != q2 or still:
            if name not in self.decided:
                return "case", []
            valid, right, added = self.decided[name]
            if not valid:
                return "rejected", []
            final += [text for text in still if text in right] + ["added"] * added
        return ("settled", sorted(final)) if final else ("held", [])

    @invariant()
    def outcomes_follow_the_rules(self) -> None:
        if not hasattr(self, "bench"):
            return
        for name in ITEMS:
            state, final = self._outcome(name)
            assert self.bench.state(name) == state
            assert sorted(text for text, _, _ in self.bench.final(name)) == final

    @invariant()
    def every_acknowledged_response_is_there_once(self) -> None:
        if not hasattr(self, "bench"):
            return
        pid_of = {row.id: row.pid for row in self.bench.rows("assignments")}
        kept = sorted((pid_of[row.assignment_id], row.rev) for row in self.bench.rows("responses"))
        assert kept == sorted(self.acknowledged)
        assert len(self.bench.rows("verdicts")) == len(kept)

    @invariant()
    def nobody_shares_a_slot(self) -> None:
        if not hasattr(self, "bench"):
            return
        live = [r for r in self.bench.rows("assignments") if r.live]
        assert len({(r.item_id, r.stage, r.slot) for r in live}) == len(live)
        assert len({(r.item_id, r.stage, r.person_id) for r in live}) == len(live)
        assert self.bench.desk.read(check_chain)[1] is None


def test_any_sequence_of_work_ends_by_the_rules(tmp_path: Path, open_bench: Any, a_pair: Any) -> None:
    class Here(Model):
        target = str(tmp_path / "store-{}.sqlite")
        make = staticmethod(open_bench)
        pair = staticmethod(a_pair)

    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Here,
        settings=settings(
            max_examples=25, stateful_step_count=24, deadline=None, derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )  # fmt: skip


# -- golden: the published data played again ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def raw(shared_data: Path) -> list[Raw]:
    given: list[Raw] = json.loads((shared_data / "promqa/examples_dev.json").read_text(encoding="utf-8"))
    return given


@pytest.fixture(scope="module")
def records(shared_data: Path, raw: list[Raw], tmp_path_factory: pytest.TempPathFactory) -> PromqaRecords:
    gathered = {}
    for one in raw:
        name = one["activity_name"].lower().replace(" ", "")
        graph = json.loads((shared_data / f"captaincook4d/task_graphs/{name}.json").read_text("utf-8"))
        gathered[one["recording_id"].partition("_")[0]] = {"name": one["activity_name"], **graph}
    path = tmp_path_factory.mktemp("graphs") / "graphs.json"
    path.write_text(json.dumps(gathered), encoding="utf-8")
    return import_promqa(read_promqa(shared_data / "promqa/examples_dev.json"), read_promqa_graphs(path))


def published(raw: list[Raw]) -> Iterator[tuple[str, bool, Raw, list[tuple[str, str, str]]]]:
    """Of each example: id, whether an adjudicator was needed, their sheet as it was filled in, the final answers."""
    for one in raw:
        tags = zip(one["answers"], one["answer_tags"], one["answer_approved_by"], strict=True)
        yield one["question_id"], "judge" in one["adjudication"], one["adjudication"], list(tags)


SETTLED = {None: None, "right": True, "wrong": False}


def check_fills(bench: Any, raw: list[Raw]) -> None:
    """What is settled before an adjudicator comes is what the file had filled in."""
    for name, _, sheet, _ in published(raw):
        case = bench.see(standing, bench.item(name)).case
        assert SETTLED[case.question_init] == sheet["init"]["question"], name
        mine = sorted(((row.text, SETTLED[row.init]) for row in case.rows), key=repr)
        theirs = sorted(zip(sheet["answers"], sheet["init"]["answers"], strict=True), key=repr)
        assert mine == theirs, name


@pytest.mark.shared
def test_the_published_verdicts_give_the_published_outcome(
    bench: Any, raw: list[Raw], records: PromqaRecords
) -> None:
    """Imported: needs-adjudication, what is open, and the final answers, from the desk's tables."""
    examples = {e.id: e for e in records.examples}
    pairs = [moment_question(c, examples[c.example_id]) for c in records.candidates]
    bench.do(sync_items, pairs, {}, actor="cli")
    bench.do(
        lambda d, c: append_verdicts(d.database, c, [v for v in records.verdicts if v.role == "annotator"])
    )
    bench.do(take_over_verdicts)
    states = {row.candidate_id: row.state for row in bench.rows("items")}
    needed = {name for name, needs, *_ in published(raw) if needs}
    ids = {c.id for c in records.candidates}
    assert needed <= ids
    assert len(ids) == 195
    assert {name for name, state in states.items() if state == "case"} == needed
    assert len(needed) == 109
    open_question = {row.item_id for row in bench.rows("cases") if row.open_question}
    assert len(open_question) == 11
    check_fills(bench, raw)
    bench.do(
        lambda d, c: append_verdicts(d.database, c, [v for v in records.verdicts if v.role == "adjudicator"])
    )
    bench.do(take_over_verdicts)
    check_finals(bench, raw)


def check_finals(bench: Any, raw: list[Raw]) -> None:
    numbers = {row.candidate_id: row.id for row in bench.rows("items")}
    found: dict[int, list[tuple[str, str, str]]] = {}
    for row in bench.rows("final_answers"):
        found.setdefault(row.item_id, []).append((row.text, row.source, row.approved_by))
    for name, _, _, wanted in published(raw):
        assert sorted(found.get(numbers[name], [])) == sorted(wanted), name


@pytest.mark.shared
def test_playing_the_published_judgments_gives_the_published_answers(
    bench: Any, raw: list[Raw], records: PromqaRecords
) -> None:
    """Played: two annotators and an adjudicator submit what the file says, through the form's own way."""
    ana, ben = bench.hire("ana", "ben")
    (edda,) = bench.hire("edda", role="adjudicator")
    examples = {e.id: e for e in records.examples}
    pairs = [moment_question(c, examples[c.example_id]) for c in records.candidates]
    bench.sync(*pairs)
    said: dict[str, list[Any]] = {}
    decided: dict[str, Any] = {}
    for verdict in records.verdicts:
        if verdict.role == "annotator":
            said.setdefault(verdict.candidate_id, []).append(verdict)
        else:
            decided[verdict.candidate_id] = verdict
    for candidate in pairs:
        readings = sorted(said[candidate.id], key=lambda v: v.annotator)
        assert len(readings) == 2
        # The case lists people's own answers by the readers' names: let the first have the smaller one.
        two = sorted((ana, ben), key=lambda p: p.pid)
        for pid, person, verdict in zip(bench.give(candidate.id, *two), two, readings, strict=True):
            bench.submit(
                pid,
                person,
                Sheet(
                    question=verdict.question.value,
                    answers=tuple(a.value for a in verdict.answers),
                    own_answers=verdict.own_answers,
                ),
            )
    needed = {name for name, needs, *_ in published(raw) if needs}
    seen = set()
    while (pid := bench.next(edda, "adjudicate")) is not None:
        found = bench.look(pid, edda)
        name = found.item.question.id
        seen.add(name)
        verdict, cards = decided[name], found.cards
        # An own answer is kept as it was written but for blanks around it, which the form takes away.
        bench.submit(
            pid,
            edda,
            Sheet(
                question=verdict.question.value if cards.question_open else None,
                answers=tuple(verdict.answers[t].value for t in cards.targets) if verdict.answers else (),
                own_answers=verdict.own_answers if cards.may_add != "no" else (),
            ),
        )
    assert seen == needed
    check_finals(bench, raw)
    assert len(bench.rows("responses")) == 2 * 195 + 109
