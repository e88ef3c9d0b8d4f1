"""Filters over questions of other kinds, and over HTTP: a run that is cut short again and again pays for nothing twice."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from tests.ask.clip.filtered import (
    PROMPTS,
    Played,
    fences,
    filters,
    judge_says,
    kind_of_call,
    question,
)
from tests.ask.documents.rehearsed import Scripted, corpus

from proctor.ask.clip.filters import (
    FilterModels,
    FilterRun,
    Filters,
    FilterSettings,
    run_filters,
)
from proctor.ask.clip.known import Known, known_question
from proctor.exam.library import Library
from proctor.exam.question import Open, Proposed, Question, Source
from proctor.exam.question import Text as Answered
from proctor.llm.media import MediaStore
from proctor.llm.message import Message, Request, Text
from proctor.llm.outcome import Reply
from proctor.stages.models import Limits, open_models
from proctor.workspace import Workspace
from proctor_rehearsal.standin import Standin
from proctor_rehearsal.standin.answer import Answer
from proctor_rehearsal.standin.call import Call
from proctor_rehearsal.standin.script import Script

KEEP = {"reason": "fine", "problem": "none", "verdict": "keep"}


# -- other kinds of questions ----------------------------------------------------------------------------------------


def test_styled_questions_are_filtered_by_their_sources() -> None:
    made = corpus(3)
    library = Library(media=MediaStore(), corpus=made)
    asked = [
        Question(
            id=f"s{n}", kind="documents", text=f"How many live in place {n}?", form=Open(need="all"),
            proposals=(Proposed(value=Answered(text="1,000")),),
            evidence=(Source(id=f"text:{n}"), Source(id=f"table:{n}")),
        )
        for n in range(3)
    ]  # fmt: skip
    port = Scripted(judge_says(hallucination={**KEEP, "ids": ["text:0", "table:0"]}))
    found = run_filters([known_question(q, library) for q in asked], filters(), port)
    assert found.kept == {"s0"}
    assert {d.reason for d in found.dropped} == {"hallucination:unknown-id"}
    shown = [fences(r) for r in port.sent if kind_of_call(r) == "hallucination"]
    assert len(shown) == 3
    for told in shown:
        assert told["context line 1"].startswith("text:")
        assert "Town | Houses | Works" in told["context line 2"]
    assert all("some documents" in r.messages[0].text for r in port.sent if kind_of_call(r) == "blind")


def test_candidates_with_several_answers_are_solved_blind_by_any_of_them() -> None:
    asked = question(answers=("Add tea", "Add milk"), matter="procedure")
    port = Scripted(judge_says(blind="put milk in", consistency={"consistent": "yes"}))
    found = run_filters([asked], filters(), port)
    assert found.funnel.rows[3].problems == {"blind-solved": 1}
    compared = next(fences(r) for r in port.sent if kind_of_call(r) == "consistency")
    assert compared["accepted answer 1"] == "Add tea"
    assert compared["accepted answer 2"] == "Add milk"


# -- over HTTP ---------------------------------------------------------------------------------------------------------


def audience() -> tuple[list[Known], Played]:
    kinds = ("vague", "tricky", "hallucinated", "blind-solvable", "sound")
    questions = [question(f"q{n}") for n in range(25)]
    by_text = {q.text: kinds[n % 5] for n, q in enumerate(questions)}
    return questions, Played(by_text, {q.text: q.answers[0] for q in questions})


def as_request(call: Call) -> Request:
    """What a server got, as a request again."""
    body = json.loads(call.body)
    messages = []
    for message in body["messages"]:
        content = message["content"]
        text = content if isinstance(content, str) else "\n".join(part["text"] for part in content)
        messages.append(Message(message["role"], (Text(text),)))
    return Request(model=body["model"], messages=tuple(messages))


def run(folder: Path, url: str, questions: Sequence[Known], max_calls: int | None = None) -> FilterRun:
    models = FilterModels(
        judges=(f"compat/judge@{url}/v1",),
        assistants=tuple(f"compat/{name}@{url}/v1" for name in "abc"),
        consistency=f"compat/comparer@{url}/v1",
    )
    with open_models(Workspace(folder), Limits(max_connections=8, max_calls=max_calls)) as opened:
        made = Filters(models, PROMPTS, opened.secret, FilterSettings(), opened.price)
        return run_filters(questions, made, opened.ask("filter"))


def test_a_run_cut_short_by_its_budget_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    questions, played = audience()

    def answer(call: Call) -> Answer:
        said = played(as_request(call))
        assert isinstance(said, Reply)
        return Answer(text=said.text)

    secret = "0123456789abcdef" * 4
    folders = [tmp_path / "whole", tmp_path / "cut"]
    for folder in folders:
        folder.mkdir()
        (folder / "prompt-secret").write_text(secret)
    with Standin(Script(seed=1), answer=answer) as server:
        whole = run(folders[0], server.url, questions)
        needed = server.count
        runs = 0
        while (cut := run(folders[1], server.url, questions, max_calls=30)).postponed:
            assert list(cut.dropped) == [d for d in whole.dropped if d.id in {x.id for x in cut.dropped}]
            runs += 1
            assert runs < 20
        assert runs >= 2
        assert server.count == 2 * needed
        assert server.errors == []
    assert msgspec.json.encode(cut.results) == msgspec.json.encode(whole.results)
    assert whole.kept
    assert whole.funnel.dropped


@pytest.mark.parametrize("exhaustive", [False, True])
def test_one_assistant_that_is_down_postpones_what_reaches_it_and_nothing_else(exhaustive: bool) -> None:
    from proctor.llm.outcome import Failure, Outcome

    questions, played = audience()

    def reply(request: Request) -> Outcome:
        return Failure(kind="budget", message="spent") if request.model == "made/b" else played(request)

    settings = FilterSettings(exhaustive=exhaustive)
    whole = run_filters(questions, filters(settings), Scripted(played))
    found = run_filters(questions, filters(settings), Scripted(reply))
    reached = {r.item_id for r in whole.results if r.dropped_by is None or r.dropped_by.filter == "blind"}
    assert found.postponed == reached
    assert {d.id for d in found.dropped} == {q.id for q in questions} - reached
