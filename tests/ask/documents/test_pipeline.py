"""One attempt, step by step: what is asked of whom, and what becomes of every kind of reply."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.ask.documents.rehearsed import MODELS, Port, Scripted, corpus, generator

from proctor.ask.documents.difficulty import DifficultyRules
from proctor.ask.documents.distractors import DistractorSearch
from proctor.ask.documents.pipeline import DocumentsGenerator, DocumentsSettings, TargetResult
from proctor.ask.documents.record import AttemptRecord, Target
from proctor.corpus.index.hits import Hits
from proctor.errors import UserError
from proctor.exam.kinds.documents_question import ROLES, document_facts, gold_of
from proctor.exam.question import Question, proposed_texts
from proctor.llm.converse import converse
from proctor.llm.message import Image, Request
from proctor.llm.outcome import Failure, Outcome, Refusal, Reply, Truncated

PAIR = Target(id="compound/1-1-0/0001", style="compound", modalities=(1, 1, 0))
ONE = Target(id="information-extraction/1-0-0/0001", style="information-extraction", modalities=(1, 0, 0))
SUM = Target(id="numerical/1-0-0/0001", style="numerical", modalities=(1, 0, 0))
SIGHT = Target(id="information-extraction/0-0-1/0001", style="information-extraction", modalities=(0, 0, 1))
HOPS = Target(id="multi-hop/1-1-0/0001", style="multi-hop", modalities=(1, 1, 0))

Said = str | Outcome | Callable[[Request], str | Outcome]

GOOD_ONE = "How many lanterns are carried in Arlen? | Three lanterns are carried. | 1"


def role_of(request: Request) -> str:
    """Tell what a request asks for by its first words."""
    text = request.messages[0].text
    for words, role in (
        ("You name what a source", "entity"),
        ("You write one question", "question"),
        ("You check questions", "verifier"),
        ("You join two questions", "join"),
        ("You answer a question", "answer"),
        ("You mark an attempt", "mark"),
    ):
        if text.startswith(words):
            return f"{role} again" if request.messages[-1].text.startswith("Your reply could not") else role
    raise AssertionError(text[:100])


def scripted(replies: Mapping[str, Said]) -> Scripted:
    defaults: dict[str, Said] = {"entity": "Arlen", "verifier": "PASS"}

    def reply(request: Request) -> Outcome:
        said = (defaults | dict(replies))[role_of(request)]
        said = said(request) if callable(said) else said
        return Reply(text=said) if isinstance(said, str) else said

    return Scripted(reply)


def attempt(
    target: Target, replies: Mapping[str, Said], **more: Any
) -> tuple[AttemptRecord, Question | None, list[str]]:
    port = scripted(replies)
    made = more.pop("made", None) or generator([target], **more)
    ((_, (record, question)),) = converse([("x", made.attempt(target, 0))], port)
    return record, question, [role_of(r) for r in port.sent]


def numbers_of(request: Request, modalities: tuple[int, int, int]) -> str:
    """Cite the first sources of the wanted kinds."""
    kinds = re.findall(r"^Source (\d+) \(([a-z]+)", request.messages[-1].text, re.MULTILINE)
    by_kind = {k: [n for n, kind in kinds if kind == k] for k in ("text", "table", "image")}
    return ", ".join(n for k, count in zip(by_kind, modalities, strict=True) for n in by_kind[k][:count])


def prompts_of(question: Question) -> set[str]:
    return {n.removeprefix("prompt:") for n in question.provenance if n.startswith("prompt:")}


# -- the way of a good question ------------------------------------------------------------------------------------


def test_a_good_question_is_recorded_with_everything_about_it():
    record, question, asked = attempt(
        PAIR,
        {
            "question": lambda r: (
                f"How many live in Arlen, and how many houses has it? | 1,000 live there, in 20 houses. | {numbers_of(r, (1, 1, 0))}"
            )
        },
    )
    assert asked == ["entity", "question", "verifier"]
    assert record.outcome == "accepted"
    assert question is not None
    assert proposed_texts(question)[0] == "1,000 live there, in 20 houses."
    assert document_facts(question).entity == record.entity == "Arlen"
    assert [id.split(":")[0] for id in gold_of(question)] == ["text", "table"]
    assert set(gold_of(question)) | set(document_facts(question).distractors) == set(record.candidates)
    assert len(record.candidates) == 4
    assert document_facts(question).seed_id == record.seed_id != ""
    assert set(document_facts(question).ranks) == set(record.candidates)
    assert sorted(document_facts(question).ranks.values()) == [1, 1, 2, 2]
    assert prompts_of(question) == {"styled-entity", "styled-question", "styled-verification"}
    assert {role: question.provenance.get(role) for role in ROLES} == {
        "entity": MODELS.entity,
        "generator": MODELS.generator,
        "verifier": MODELS.verifier,
        "retriever": "",
    }
    assert document_facts(question).checks["modalities"] == "1 text, 1 table"
    assert document_facts(question).checks["verifier"].startswith("PASS")
    assert (
        document_facts(question).attempts,
        len(document_facts(question).calls),
        document_facts(question).calls,
    ) == (1, 3, record.calls)
    made = generator([PAIR])
    assert question.provenance["corpus_hash"] == made.corpus.fingerprint
    assert {p.id: p.hash for p in question.evidence} == {
        id: made.corpus.get(id).content_hash for id in gold_of(question)
    }  # type: ignore[union-attr]
    assert len(question.provenance["config_hash"]) == len(question.provenance["style_hash"]) == 16
    assert record.cost is None, "prices are not known"


def test_prices_are_added_up():
    record, _, _ = attempt(ONE, {"question": GOOD_ONE}, price=lambda _model, _outcome: 1_500_000)
    assert record.cost == "0.0045"


def test_settings_and_models_are_in_the_hash_of_the_configuration():
    one = generator([ONE])
    style = one.styles[0]
    others = [
        replace(one, settings=DocumentsSettings(k_modality=3)),
        replace(one, seed=5),
        replace(one, retriever="lsa"),
        replace(one, models=type(MODELS)(entity="a/b", generator="c/d", verifier="e/f")),
    ]
    assert len({g.config_hash(style) for g in (one, *others)}) == 5
    assert replace(one).config_hash(style) == one.config_hash(style)


# -- how attempts end ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("replies", "outcome", "asked"),
    [
        ({"entity": "None"}, "entity_refused", ["entity"]),
        ({"entity": Refusal(text="no")}, "entity_refused", ["entity"]),
        ({"entity": Truncated(text="Arl")}, "entity_refused", ["entity"]),
        ({"question": "None"}, "refused", ["entity", "question"]),
        ({"question": Refusal(text="I cannot")}, "refused", ["entity", "question"]),
        ({"question": Failure(kind="content_filter", message="blocked")}, "refused", ["entity", "question"]),
        ({"question": "How many? | Three."}, None, None),
        ({"question": "How many? | Three. | 9"}, "citation_out_of_range", ["entity", "question"]),
        ({"question": "How many? | Three. | here"}, "no_citation", ["entity", "question"]),
        ({"question": "How many? | Three. | 1, 2"}, "modality_mismatch", ["entity", "question"]),
        ({"question": "What does the table say? | Three. | 1"}, "mentions_sources", ["entity", "question"]),
        ({"question": GOOD_ONE, "verifier": "FAIL: style"}, "style_fail", ["entity", "question", "verifier"]),
        ({"question": GOOD_ONE, "verifier": "FAIL: answer, necessity"}, "answer_fail", ["entity", "question", "verifier"]),
        ({"question": GOOD_ONE, "verifier": "fail: necessity"}, "necessity_fail", ["entity", "question", "verifier"]),
        ({"entity": Failure(kind="timeout", message="late")}, "api_error", ["entity"]),
        ({"question": Failure(kind="budget", message="spent")}, "budget_stop", ["entity", "question"]),
        ({"question": GOOD_ONE, "verifier": Failure(kind="server", message="x")}, "api_error", ["entity", "question", "verifier"]),
    ],
)  # fmt: skip
def test_every_step_can_end_an_attempt(
    replies: dict[str, Said], outcome: str | None, asked: list[str] | None
):
    if outcome is None:  # one bar: asked once more, and the same again
        record, question, sent = attempt(ONE, replies | {"question again": "How many? | Three."})
        assert (record.outcome, sent) == ("format_error", ["entity", "question", "question again"])
        return
    record, question, sent = attempt(ONE, replies)
    assert (record.outcome, question, sent) == (outcome, None, asked)
    assert record.detail
    assert len(record.calls) == len(sent)


def test_a_numerical_answer_needs_a_number():
    record, _, _ = attempt(SUM, {"question": GOOD_ONE.replace("Three", "Several")})
    assert record.outcome == "no_digit"


def test_a_caption_has_to_be_in_the_question():
    reply = "What can be seen? | Towers. | 1"
    assert attempt(SIGHT, {"question": reply})[0].outcome == "caption_missing"


def test_what_cannot_be_read_is_asked_for_once_more():
    replies: dict[str, Said] = {
        "question": "Here you are: how many lanterns?",
        "question again": GOOD_ONE,
        "verifier": "It looks fine.",
        "verifier again": "PASS",
    }
    record, question, asked = attempt(ONE, replies)
    assert asked == ["entity", "question", "question again", "verifier", "verifier again"]
    assert record.outcome == "accepted"
    assert question is not None
    once = DocumentsSettings(repair=False)
    assert attempt(ONE, replies, settings=once)[0].outcome == "format_error"
    assert attempt(ONE, replies | {"verifier again": "Well."})[0].outcome == "verify_unparsed"


def test_too_few_candidates_cost_one_call_and_short_ones_are_noted():
    small = corpus(1)
    record, _, asked = attempt(replace_modalities(ONE, (2, 0, 0)), {"question": GOOD_ONE}, corpus=small)
    assert (record.outcome, asked) == ("too_few_candidates", ["entity"])
    record, _, _ = attempt(ONE, {"question": GOOD_ONE}, corpus=small)
    assert record.short_candidates
    assert record.outcome == "accepted"


def replace_modalities(target: Target, modalities: tuple[int, int, int]) -> Target:
    return Target(id=target.id, style="compound", modalities=modalities)


def test_an_entity_that_nothing_is_found_for():
    def nothing(_entity: str, _modality: str, k: int) -> Hits:
        return Hits(np.full((1, k), -1, np.int64), np.full((1, k), -np.inf, np.float32))

    assert attempt(ONE, {}, find=nothing)[0].outcome == "too_few_candidates"


def test_the_seed_is_among_the_candidates_by_choice():
    settings = DocumentsSettings(include_seed=True, k_modality=1)
    for seed in range(6):
        made = generator([ONE], settings=settings, seed=seed)
        record, _, _ = attempt(ONE, {"entity": "Jorvik", "question": GOOD_ONE}, made=made)
        if record.seed_id.startswith("text:"):
            assert record.candidates == (record.seed_id,)


def test_of_several_entities_an_attempt_draws_one():
    settings, drawn = DocumentsSettings(num_entities=3), set()
    for seed in range(8):
        made = generator([ONE], settings=settings, seed=seed)
        record, _, _ = attempt(ONE, {"entity": "Arlen\nBorga\nGorm\nHalden", "question": GOOD_ONE}, made=made)
        drawn.add(record.entity)
        assert (
            attempt(ONE, {"entity": "Arlen\nBorga\nGorm", "question": GOOD_ONE}, made=made)[0].entity
            == record.entity
        )
    assert drawn == {"Arlen", "Borga", "Gorm"}


# -- several attempts ----------------------------------------------------------------------------------------------


def pursue(
    made: DocumentsGenerator, target: Target, port: Scripted, after: TargetResult | None = None
) -> TargetResult:
    ((_, result),) = converse([("x", made.target(target, after=after))], port)
    return result


def test_attempts_go_on_with_new_seeds_until_there_is_a_question():
    replies = iter(["None", "None", GOOD_ONE])
    result = pursue(generator([ONE]), ONE, scripted({"question": lambda _: next(replies)}))
    assert [a.outcome for a in result.attempts] == ["refused", "refused", "accepted"]
    assert [a.number for a in result.attempts] == [0, 1, 2]
    assert len({a.seed_id for a in result.attempts}) == 3
    assert result.question is not None
    assert document_facts(result.question).attempts == 3


def test_after_eight_attempts_there_is_none():
    result = pursue(generator([ONE]), ONE, scripted({"question": "None"}))
    assert [a.outcome for a in result.attempts] == ["refused"] * 8
    assert pursue(generator([ONE]), ONE, scripted({}), after=result).attempts == result.attempts


def test_a_failed_call_is_no_attempt_and_is_made_again():
    outcomes: list[str | Outcome] = ["None", Failure(kind="overload", message="busy")]
    result = pursue(generator([ONE]), ONE, scripted({"question": lambda _: outcomes.pop(0)}))
    assert [a.outcome for a in result.attempts] == ["refused", "api_error"]
    later = pursue(generator([ONE]), ONE, scripted({"question": GOOD_ONE}), after=result)
    assert [(a.number, a.outcome) for a in later.attempts] == [(0, "refused"), (1, "accepted")]
    assert later.attempts[1].seed_id == result.attempts[1].seed_id


def test_what_would_ask_the_same_again_is_a_new_draw():
    one_source = corpus(1)
    port = scripted({"question": "None"})
    pursue(generator([ONE], corpus=one_source), ONE, port)
    questions = [r for r in port.sent if role_of(r) == "question"]
    assert len(questions) == 8
    assert set(port.counts.values()) == {1}
    assert [r.draw for r in questions] == list(range(8))
    entities = [r for r in port.sent if role_of(r) == "entity"]
    assert {r.parameters.temperature for r in entities} == {1.0}
    assert max(r.draw for r in entities) == 2, "three sources, eight attempts"


# -- two halves ----------------------------------------------------------------------------------------------------


def hop_replies(first: str, second: str, joined: str) -> dict[str, Said]:
    def write(request: Request) -> str:
        style = request.messages[0].text
        return (second if "whose answer is the entity" in style else first) + " | 1"

    return {"question": write, "join": joined}


GOOD_HOPS = hop_replies(
    "How many houses has Arlen? | Arlen has 20 houses.",
    "Which town lies beside the river Oster0? | Arlen",
    "How many houses has the town beside the river Oster0? | That is Arlen; it has 20 houses.",
)


def test_two_halves_are_joined():
    record, question, asked = attempt(HOPS, GOOD_HOPS)
    assert record.outcome == "accepted"
    assert asked == ["entity", "question", "question", "join", "verifier"]
    assert question is not None
    assert [hop.answer for hop in document_facts(question).hops] == ["Arlen has 20 houses.", "Arlen"]
    assert gold_of(question) == (
        *document_facts(question).hops[0].sources,
        *document_facts(question).hops[1].sources,
    )
    assert prompts_of(question) == {
        "styled-entity",
        "styled-question",
        "styled-combination",
        "styled-verification",
    }


@pytest.mark.parametrize(
    ("replies", "outcome"),
    [
        (hop_replies("How many houses has it? | 20.", "Which town? | Arlen", "x | y"), "hop_mismatch"),
        (hop_replies("Is Arlen old? | Yes.", "Which town? | The town of Arlen", "x | y"), "hop_mismatch"),
        (hop_replies("Is Arlen old? | Yes.", "Which town is Arlen? | Arlen", "x | y"), "hop_leak"),
        (
            hop_replies(
                "Is Arlen old? | Yes.", "Which town lies there? | Arlen", "Is Arlen old, the town? | Yes."
            ),
            "hop_leak",
        ),
        (hop_replies("Is Arlen old? | Yes.", "Which town lies there? | Arlen", "None"), "refused"),
        (
            hop_replies(
                "Is Arlen old? | Yes.", "Which town lies there? | Arlen", "Which town lies there? | Yes."
            ),
            "hop_leak",
        ),
    ],
)
def test_what_goes_wrong_with_halves(replies: dict[str, Said], outcome: str):
    assert attempt(HOPS, replies)[0].outcome == outcome


def test_halves_that_are_refused_are_swapped_once():
    record, _, asked = attempt(HOPS, {"question": "None"})
    assert record.outcome == "refused"
    assert asked == ["entity", "question", "question"]
    calls = iter(["None"])
    good = GOOD_HOPS["question"]
    assert callable(good)
    record, question, asked = attempt(HOPS, GOOD_HOPS | {"question": lambda r: next(calls, None) or good(r)})
    assert record.outcome == "accepted"
    assert asked.count("question") == 3
    assert question is not None
    assert "swapped" in document_facts(question).checks


def test_three_sources_of_which_two_are_one_half():
    target = Target(id="multi-hop/2-1-0/0001", style="multi-hop", modalities=(2, 1, 0))

    def write(request: Request) -> str:
        numbers = (
            "1, 2"
            if "2 texts" in request.messages[-1].text or "1 text, 1 table" in request.messages[-1].text
            else "1"
        )
        if "whose answer is the entity" in request.messages[0].text:
            return f"Which town lies beside the river Oster0? | Arlen | {numbers}"
        numbers = numbers_of(request, wanted(request))
        return f"How many houses has Arlen, and how many people? | Many. | {numbers}"

    def wanted(request: Request) -> tuple[int, int, int]:
        text = request.messages[-1].text.rsplit("Choose exactly: ", 1)[1]
        return (2 if "2 texts" in text else int("1 text" in text), int("1 table" in text), 0)

    replies = GOOD_HOPS | {"question": write}
    record, question, _ = attempt(target, replies)
    assert record.outcome == "accepted", record.detail
    assert question is not None
    assert sorted(id.split(":")[0] for id in gold_of(question)) == ["table", "text", "text"]
    assert sorted(len(hop.sources) for hop in document_facts(question).hops) == [1, 2]


# -- pixels --------------------------------------------------------------------------------------------------------


def test_pixels_go_to_the_models_that_see_but_not_to_the_one_that_names():
    port = scripted({"question": "What stands at Arlen at dusk? | A tower. | 1"})
    made = generator(
        [SIGHT], picture=lambda source: Image(source.id[-1] * 64, "image/png", 8, 8), corpus=corpus(1)
    )
    ((_, (record, question)),) = converse([("x", made.attempt(SIGHT, 0))], port)
    assert record.outcome == "accepted", record.detail
    assert question is not None
    assert {role_of(r): (r.model, len(r.media)) for r in port.sent} == {
        "entity": (MODELS.entity, 0),
        "question": (MODELS.generator_lmm, 1),
        "verifier": (MODELS.verifier_lmm, 1),
    }


# -- ablation, difficulty, distractors -----------------------------------------------------------------------------


def good_pair(request: Request) -> str:
    question = "How many live in Arlen, and how many houses has it?"
    return f"{question} | 1,000 and 20. | {numbers_of(request, (1, 1, 0))}"


@pytest.mark.parametrize(("mark", "outcome"), [("2", "necessity_fail"), ("1", "accepted"), ("0", "accepted")])
def test_a_source_that_is_not_missed_is_not_needed(mark: str, outcome: str):
    replies = {"question": good_pair, "answer": "1,000 and 20.", "mark": f"Well.\nScore: {mark}"}
    settings = DocumentsSettings(necessity="ablate")
    record, question, asked = attempt(PAIR, replies, settings=settings)
    assert record.outcome == outcome
    assert asked.count("answer") == 2, "each source is left out once"
    assert question is None or document_facts(question).checks["necessity"] == f"{mark} {mark}"
    assert "answer" not in attempt(ONE, replies | {"question": GOOD_ONE}, settings=settings)[2]


def test_difficulty_is_measured_and_refused():
    replies = {"question": good_pair, "answer": "1,000 and 20.", "mark": "Score: 2"}
    measured = DocumentsSettings(difficulty=DifficultyRules(closed_book="measure", one_source="measure"))
    _, question, asked = attempt(PAIR, replies, settings=measured)
    assert question is not None
    assert document_facts(question).difficulty == {"closed_book": "2", "one_source": "2 2"}
    assert asked.count("answer") == 3
    refused = DocumentsSettings(difficulty=DifficultyRules(closed_book="refuse"))
    record, _, _ = attempt(PAIR, replies, settings=refused)
    assert (record.outcome, record.detail) == ("too_easy", "closed_book 2")


def test_ranks_of_gold_sources():
    with pytest.raises(UserError, match="no search that ranks"):
        generator([PAIR], settings=DocumentsSettings(difficulty=DifficultyRules(gold_rank=True)))
    rank = lambda _q, gold: [3 if id.startswith("text") else None for id in gold]  # noqa: E731
    settings = DocumentsSettings(difficulty=DifficultyRules(gold_rank=True))
    _, question, _ = attempt(PAIR, {"question": good_pair}, settings=settings, rank=rank)
    assert question is not None
    assert document_facts(question).difficulty == {"gold_rank": "none", "gold_ranks": "3 none"}
    hard = DocumentsSettings(difficulty=DifficultyRules(max_rank=10))
    assert attempt(PAIR, {"question": good_pair}, settings=hard, rank=rank)[0].outcome == "too_hard"


def test_further_distractors_are_recorded_by_kind():
    search = DistractorSearch(
        document=lambda id: [f"image:{id[-1]}", f"text:{id[-1]}", f"table:{id[-1]}"],
        entity=lambda _e, m, _k: [f"image:{n}" for n in range(3)] if m == 2 else [],
    )
    _, question, _ = attempt(PAIR, {"question": good_pair}, distractor_search=search)
    assert question is not None
    kinds = document_facts(question).typed_distractors
    assert next(iter(kinds)) == "candidate"
    assert all(
        id.startswith("image:") for kind in ("same_document", "other_modality") for id in kinds.get(kind, ())
    )
    assert not {id for ids in kinds.values() for id in ids} & set(gold_of(question))


def test_an_unreadable_mark_refuses_nothing():
    replies = {"question": GOOD_ONE, "answer": "Three.", "mark": "hm", "mark again": "hm"}
    settings = DocumentsSettings(difficulty=DifficultyRules(closed_book="refuse"))
    record, question, asked = attempt(ONE, replies, settings=settings)
    assert record.outcome == "accepted"
    assert question is not None
    assert document_facts(question).difficulty == {"closed_book": "unknown"}
    assert asked[-2:] == ["mark", "mark again"]


def test_a_failed_examination_is_no_verdict():
    replies = {"question": GOOD_ONE, "answer": Failure(kind="timeout", message="late")}
    settings = DocumentsSettings(difficulty=DifficultyRules(closed_book="refuse"))
    assert attempt(ONE, replies, settings=settings)[0].outcome == "api_error"


def test_played_models_of_full_quality_pass_an_ablation():
    made = generator(
        [PAIR],
        settings=DocumentsSettings(necessity="ablate", difficulty=DifficultyRules(one_source="refuse")),
    )
    result = pursue(made, PAIR, Port(quality=1.0))
    assert result.question is not None
    assert set(document_facts(result.question).checks["necessity"].split()) <= {"0", "1"}
