"""A whole run: waves, repeats, order and concurrency, what stops it, and going on afterwards."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.ask.documents.rehearsed import MODELS, Port, Scripted, embed_words, generator, plan
from tests.documents import document

from proctor.ask.documents.pipeline import DocumentsSettings, TargetResult
from proctor.ask.documents.record import AttemptRecord, Target
from proctor.ask.documents.run import DocumentsRun, generate_documents
from proctor.errors import UserError
from proctor.exam.kinds.documents_question import DocumentFacts, document_facts, gold_of, modalities_of
from proctor.exam.question import Question
from proctor.llm.converse import Conversation
from proctor.llm.message import Request, user
from proctor.llm.outcome import Failure, Outcome, Reply
from proctor.records import canonical_json


def written(run: DocumentsRun) -> bytes:
    """Everything that a run would write."""
    return canonical_json([run.questions, run.attempts, run.summary, list(run.dropped), run.waves])


# -- waves, with a generator that does as it is told ---------------------------------------------------------------


class Told:
    """A generator whose attempts ask one question each: the reply is the question, or an outcome in capitals."""

    styles = ()

    attempts = 3

    def __init__(self, plan: dict[str, list[str]]) -> None:
        self.plan = plan
        self.corpus = generator([]).corpus

    def target(self, target: Target, *, after: TargetResult | None = None) -> Conversation[TargetResult]:
        attempts = [
            a for a in (after.attempts if after else ()) if a.outcome not in ("api_error", "budget_stop")
        ]
        question = None
        while question is None and len(attempts) < self.attempts:
            number = len(attempts)
            outcome = yield Request(model="compat/m@http://h/v1", messages=(user(f"{target.id} {number}"),))
            said = self.plan[target.id][number]
            if isinstance(outcome, Failure):
                said = "BUDGET_STOP" if outcome.kind == "budget" else "API_ERROR"
            code = "accepted" if said != said.upper() else said.lower()
            attempts.append(AttemptRecord(target=target.id, number=number, outcome=code))  # type: ignore[arg-type]
            if code in ("api_error", "budget_stop"):
                break
            if code == "accepted":
                question = document(
                    target.id, style=target.style, modalities=target.modalities, text=said, answer="a",
                    gold=(f"{target.id}/{number}",), facts=DocumentFacts(attempts=number + 1),
                )  # fmt: skip
        return TargetResult(target, question, tuple(attempts))


def told(plan: dict[str, list[str]], reply: Any = None, **more: Any) -> tuple[DocumentsRun, Scripted]:
    targets = [Target(id=id, style="s", modalities=(1, 0, 0)) for id in plan]
    port = Scripted(reply or (lambda _: Reply(text="x")))
    return generate_documents(targets, Told(plan), port, **more), port  # type: ignore[arg-type]


def test_who_comes_later_goes_on_when_questions_are_alike():
    run, port = told(
        {
            "a": ["REFUSED", "who won?"],
            "b": ["who lost?", "Who WON", "who played?"],
            "c": ["Who lost", "why did they play?"],
        }
    )
    assert [(q.id, q.text, document_facts(q).attempts) for q in run.questions] == [
        ("a", "who won?", 2),
        ("b", "who lost?", 1),
        ("c", "why did they play?", 2),
    ]
    assert run.waves == 2
    outcomes = [(a.target, a.outcome) for a in run.attempts]
    assert outcomes == [
        ("a", "refused"),
        ("a", "accepted"),
        ("b", "accepted"),
        ("c", "duplicate_question"),
        ("c", "accepted"),
    ]
    assert run.attempts[3].detail == "repeats b (the same words)"
    assert len(port.sent) == 5


@pytest.mark.parametrize(("second", "waves"), [("REFUSED", 2), ("WHO won", 3)])
def test_the_next_waves_are_asked_for_while_somebody_is_still_busy_and_come_out_the_same(
    second: str, waves: int
):
    """One target is answered only when nothing else is asked any more: by then the repeated question has a new one."""
    told_to = {"slow": ["last"], "a": ["who won?"], "b": ["Who won", second, "who lost?"]}
    asked: list[str] = []

    def holding(requests: Any) -> Iterator[tuple[Request, Outcome]]:
        patience = threading.Timer(3.0, requests.end)
        patience.start()
        held = []
        while (taken := requests.take(1)) and len(asked) < 5:
            asked.append(taken[0].messages[0].text)
            if asked[-1].startswith("slow"):
                held = taken
            else:
                yield taken[0], Reply(text="x")
            if len(asked) == 5:
                break
        for request in held:
            asked.append("slow is answered")
            yield request, Reply(text="x")
        patience.cancel()

    targets = [Target(id=id, style="s", modalities=(1, 0, 0)) for id in told_to]
    run = generate_documents(targets, Told(told_to), holding)  # type: ignore[arg-type]
    assert asked == ["slow 0", "a 0", "b 0", "b 1", "b 2", "slow is answered"]
    assert written(run) == written(told(told_to)[0])
    assert run.waves == waves


def test_questions_that_mean_the_same_are_one():
    run, _ = told(
        {"a": ["who won the big cup in Ulm?"], "b": ["who won the big cup then in Ulm?"] * 3},
        embed=embed_words,
        near=0.8,
    )
    assert [q.id for q in run.questions] == ["a"]
    assert [a.outcome for a in run.attempts] == ["accepted"] + ["duplicate_question"] * 3
    assert "cosine 0." in run.attempts[1].detail
    assert run.waves == 3, "a target that has no attempts left is in no wave"
    assert [(d.id, d.reason) for d in run.dropped] == [("b", "duplicate_question")]
    assert run.is_complete


def test_a_question_of_an_earlier_wave_stays_although_its_target_comes_later():
    run, _ = told({"a": ["same"], "b": ["same", "mine", "REFUSED"], "c": ["mine"]})
    assert [(q.id, q.text) for q in run.questions] == [("a", "same"), ("c", "mine")]
    assert [a.outcome for a in run.attempts if a.target == "b"] == ["duplicate_question"] * 2 + ["refused"]


def test_a_call_that_failed_ends_its_target_and_one_not_made_leaves_it_open():
    plan = {"a": ["REFUSED", "one"], "b": ["two"], "c": ["three"]}

    def failing(request: Request) -> Outcome:
        text = request.messages[0].text
        if text == "a 1":
            return Failure(kind="timeout", message="late")
        return Failure(kind="budget", message="spent") if text.startswith("c") else Reply(text="x")

    run, _ = told(plan, failing)
    assert [q.id for q in run.questions] == ["b"]
    assert [(a.target, a.number, a.outcome) for a in run.attempts] == [
        ("a", 0, "refused"),
        ("a", 1, "api_error"),
        ("b", 0, "accepted"),
        ("c", 0, "budget_stop"),
    ]
    assert not run.is_complete
    assert run.summary.open == 1, "what failed is asked again only if that is wanted"
    assert not run.interrupted
    later, _ = told(plan)
    assert [(q.id, document_facts(q).attempts) for q in later.questions] == [("a", 2), ("b", 1), ("c", 1)]
    assert later.is_complete


def test_ctrl_c_leaves_what_there_is_and_says_so():
    class Interrupted(Scripted):
        def __call__(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Outcome]]:
            for number, pair in enumerate(super().__call__(requests)):
                if number == 2:
                    raise KeyboardInterrupt
                yield pair

    plan = {name: [f"question {name}"] for name in "abcd"}
    targets = [Target(id=id, style="s", modalities=(1, 0, 0)) for id in plan]
    run = generate_documents(targets, Told(plan), Interrupted(lambda _: Reply(text="x")))  # type: ignore[arg-type]
    assert run.interrupted
    assert not run.is_complete
    assert len(run.questions) == 2
    assert run.summary.open == 2
    assert len(run.results) == 4


def test_ids_are_unique():
    target = Target(id="a", style="s", modalities=(1, 0, 0))
    with pytest.raises(UserError, match="the same id"):
        generate_documents([target, target], Told({}), Scripted(lambda _: Reply(text="")))  # type: ignore[arg-type]


def test_nothing_to_do():
    run = generate_documents([], generator([]), Port())
    assert run.questions == []
    assert run.is_complete
    assert run.waves == 0


def test_progress_is_told_of_every_target():
    seen: list[tuple[str, int]] = []
    told({"a": ["x"], "b": ["X", "x y"]}, progress=lambda result, wave: seen.append((result.target.id, wave)))
    assert sorted(seen) == [("a", 0), ("b", 0)]


# -- with the real one, models played ------------------------------------------------------------------------------

TARGETS = plan()


@pytest.fixture(scope="module")
def straight() -> bytes:
    """A run in which replies come in the order of requests, one at a time."""
    return written(
        generate_documents(TARGETS, generator(TARGETS), Port(ahead=1), embed=embed_words, in_flight=1)
    )


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.integers(0, 2**32), ahead=st.integers(1, 60), in_flight=st.integers(1, 60))
def test_order_and_concurrency_change_nothing(straight: bytes, order: int, ahead: int, in_flight: int):
    port = Port(order=order, ahead=ahead)
    run = generate_documents(TARGETS, generator(TARGETS), port, embed=embed_words, in_flight=in_flight)
    assert written(run) == straight
    assert max(port.counts.values()) <= 2, "a call store would answer the second one"


def test_another_seed_is_another_run(straight: bytes):
    assert (
        written(generate_documents(TARGETS, generator(TARGETS, seed=1), Port(), embed=embed_words))
        != straight
    )


def test_every_style_and_combination_is_there(straight: bytes):
    run = generate_documents(TARGETS, generator(TARGETS), Port(quality=1.0), embed=embed_words)
    assert run.summary.achieved == len(TARGETS)
    assert {(q.facets["style"], modalities_of(q)) for q in run.questions} == {
        (t.style, t.modalities) for t in TARGETS
    }
    corpus = generator(TARGETS).corpus
    for question in run.questions:
        kinds = [corpus.get(id).modality for id in gold_of(question)]  # type: ignore[union-attr]
        assert tuple(kinds.count(m) for m in ("text", "table", "image")) == modalities_of(question)
        assert not set(gold_of(question)) & set(document_facts(question).distractors)


def test_models_that_see_write_and_verify_where_images_are():
    run = generate_documents(TARGETS, generator(TARGETS), Port(quality=1.0))
    for question in run.questions:
        sees = modalities_of(question)[2] > 0
        assert question.provenance["verifier"] == (MODELS.verifier_lmm if sees else MODELS.verifier)
        assert question.provenance["entity"] == MODELS.entity


def replayed(port: Port, kept: dict[str, Outcome], chance: float, rng: random.Random) -> Scripted:
    """Replies from what is kept, as a store does; else asks, unless the call is made to fail."""

    def reply(request: Request) -> Outcome:
        if request.key in kept:
            return kept[request.key]
        if rng.random() < chance:
            kind = rng.choice(["timeout", "budget", "overload", "cancelled"])
            return Failure(kind=kind, message="not now")  # type: ignore[arg-type]
        kept[request.key] = outcome = port.reply(request)
        port.sent.append(request)
        return outcome

    return Scripted(reply, order=rng.randrange(2**32))


@pytest.mark.parametrize("seed", range(3))
def test_runs_that_fail_again_and_again_end_as_one_that_did_not(straight: bytes, seed: int, tmp_path: Path):
    port, kept, rng = Port(), {}, random.Random(seed)
    runs = [
        generate_documents(TARGETS, generator(TARGETS), replayed(port, kept, chance, rng), embed=embed_words)
        for chance in (0.5, 0.3, 0.1, 0.0)
    ]
    assert not runs[0].is_complete
    assert written(runs[-1]) == straight
    assert set(port.counts.values()) == {1}, "nothing is asked twice"


def test_refusal_storms_are_counted_and_end():
    run = generate_documents(TARGETS, generator(TARGETS), Scripted(lambda _: Reply(text="None")))
    assert run.questions == []
    assert run.summary.outcomes == {"entity_refused": 8 * len(TARGETS)}
    assert run.is_complete
    assert run.summary.yield_ == 0.0


def test_fewer_attempts_by_choice():
    targets = TARGETS[:3]
    short = generator(targets, settings=DocumentsSettings(attempts=2))
    run = generate_documents(targets, short, Scripted(lambda _: Reply(text="None")))
    assert len(run.attempts) == 6
    with pytest.raises(UserError, match="attempts is 0"):
        DocumentsSettings(attempts=0)


def test_records_can_be_written_and_read():
    run = generate_documents(TARGETS[:5], generator(TARGETS[:5]), Port())
    for question in run.questions:
        assert msgspec.json.decode(msgspec.json.encode(question), type=Question) == question
