"""The reviewer's role: questions about clips, documents and footage, with answers or options, asked for by the real prompt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import pytest
from tests.rehearsal.players.clip_material import NOWHERE, SALAD, answer_to, pair

from proctor.ask.clip.record import ChoiceItem, choice_question, pair_question
from proctor.corpus.collection import Corpus
from proctor.corpus.source import text_source
from proctor.exam.library import Library
from proctor.exam.question import Footage, Open, Proposed, Question, Source, Text
from proctor.llm.fence import FenceSecret
from proctor.llm.media import MediaStore
from proctor.llm.message import Request
from proctor.llm.outcome import Outcome, Reply
from proctor.records import write_jsonl
from proctor.verify.llm_prompt import verification_prompts
from proctor.verify.model_verifier import ModelVerifier
from proctor.verify.verdict import Verdict

LIBRARY = Library(
    media=MediaStore(),
    corpus=Corpus([text_source("t", "Arlen", "It was founded in 1207.\n\nIts mayor is called Borga.")]),
)
CLIPS = {SALAD.id: SALAD}
CUT = pair_question(pair("What does the person cut into slices?", "The tomato"), CLIPS)
FOUNDED = Question(
    id="d", kind="documents", text="When was Arlen founded?", form=Open(), evidence=(Source(id="t"),),
    proposals=(Proposed(value=Text(text='As for Arlen, it is "1207".')),),
)  # fmt: skip
SEEN = Question(
    id="v", kind="clip", text="What is in the pan?", form=Open(), evidence=(Footage(recording="v", end=9.0),),
    proposals=(Proposed(value=Text(text="An egg")),),
)  # fmt: skip


def reviewed(
    question: Question, *, quality: float = 1.0, root: Path = NOWHERE, model: str = "m", secret: bytes = b"s"
) -> Verdict:
    def ask(requests: Iterable[Request]) -> Iterator[tuple[Request, Outcome]]:
        for request in requests:
            said = answer_to(request.messages, quality=quality, root=root, model=model)
            yield request, Reply(text=said)

    who = ModelVerifier(
        "compat/m@http://127.0.0.1:1/v1", verification_prompts(), FenceSecret(secret * 32), LIBRARY
    )
    made = who.verify([question], ask)
    assert made.dropped == ()
    return made.verdicts[0]


def proposing(question: Question, *answers: str) -> Question:
    proposals = tuple(Proposed(value=Text(text=answer)) for answer in answers)
    return msgspec.structs.replace(question, proposals=proposals)


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        (CUT, "The tomato", "The carrot"),
        (FOUNDED, 'As for Arlen, it is "1207".', 'As for Arlen, it is "1310".'),
        (msgspec.structs.replace(FOUNDED, text="Who is mayor of Arlen?"), "Borga", "Calder"),
    ],
    ids=["clip", "values", "words"],
)
def test_answers_are_held_against_what_is_shown(question: Question, right: str, wrong: str) -> None:
    verdict = reviewed(proposing(question, right, wrong))
    assert verdict.question.value == "right"
    assert [answer.value for answer in verdict.answers] == ["right", "wrong"]


@pytest.mark.parametrize(
    ("question", "criterion"),
    [
        (msgspec.structs.replace(CUT, text="What is one of the things that the person cuts?"), "one_meaning"),
        (msgspec.structs.replace(CUT, text="How is the tomato spelled backwards?"), "needed"),
        (msgspec.structs.replace(CUT, text="What is said in line s2?"), "well_formed"),
        (msgspec.structs.replace(FOUNDED, text="How deep is the ocean?"), "needed"),
    ],
)
def test_a_question_that_is_not_fit_fails_by_its_criterion(question: Question, criterion: str) -> None:
    verdict = reviewed(question)
    assert verdict.question.value == "wrong"
    assert [name for name, said in verdict.question.evidence.items() if said == "no"] == [criterion]


def test_each_option_is_held_against_its_claim() -> None:
    options = ("The cheese", "The tomato", "The plate")
    honest, false = (
        choice_question(ChoiceItem(id="p", question=CUT.text, options=options, letter=letter), None, CLIPS)
        for letter in "BA"
    )
    shown = msgspec.structs.replace
    about = {"evidence": CUT.evidence, "facts": CUT.facts}
    assert {a.value for a in reviewed(shown(honest, **about)).answers} == {"right"}
    assert [a.value for a in reviewed(shown(false, **about)).answers] == ["wrong", "wrong", "right"]


def test_where_nothing_is_shown_in_words_answers_are_looked_up(tmp_path: Path) -> None:
    assert reviewed(SEEN).answers[0].value == "right"
    write_jsonl(tmp_path / "pairs.jsonl", [pair(SEEN.text, "A fish")])
    assert reviewed(SEEN, root=tmp_path).answers[0].value == "wrong"


def test_slips_follow_quality_and_depend_on_model_and_content_alone() -> None:
    many = [proposing(CUT, *(["The tomato"] * n)) for n in range(1, 9)]
    said = {
        model: [
            (v.question.value, *(a.value for a in v.answers))
            for q in many
            for v in [reviewed(q, quality=0.6, model=model)]
        ]
        for model in ("a", "b")
    }
    flat = [value for rows in said.values() for row in rows for value in row[1:]]
    assert 0.4 < flat.count("right") / len(flat) < 0.8
    assert said["a"] != said["b"]
    assert reviewed(many[3], quality=0.6).answers == reviewed(many[3], quality=0.6, secret=b"z").answers
