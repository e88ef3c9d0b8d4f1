"""Pages of answering, marking and writing: what is there, and what is absent."""

from typing import Any

import msgspec
import pytest
from starlette.testclient import TestClient
from tests.verify.rounds.test_exam_kinds import SECRETS, a_moment

from proctor.exam.kind import kind_named
from proctor.exam.kinds.moment_question import moment_example
from proctor.exam.library import Library
from proctor.llm.media import MediaStore
from proctor.procedure.graph import Step, TaskGraph
from proctor.records import canonical_json
from proctor.verify.desk import rounds
from proctor.verify.rounds.answer import AnswerTask
from proctor.verify.rounds.kind import NoOptions
from proctor.verify.rounds.mark import MarkOptions, MarkTask
from proctor.verify.rounds.records import RoundSettings, Task
from proctor.verify.rounds.write import WriteOptions, WriteTask

BODIES = {
    "answer": (AnswerTask(question=kind_named("moment").blind(a_moment())), NoOptions()),
    "mark": (MarkTask(question=a_moment(), golds=("Stir <b>",), answer="Pour."), MarkOptions(scale="binary")),
    "write": (WriteTask(example=moment_example(a_moment())), WriteOptions()),
}


@pytest.fixture
def page(office: Any) -> Any:
    def show(kind: str) -> tuple[TestClient, str]:
        body, options = BODIES[kind]
        graph = TaskGraph("soup", "Soup", (Step("salt", "Salt it."), Step("stir", "Stir.")))
        office.studio.library = Library(media=MediaStore(), graphs={"soup": graph})
        task = Task(
            name="1_7_stir_next",
            body=msgspec.Raw(canonical_json(body)),
            stratum="gpt-4o/next",
            variant="stir-too-early",
        )
        found = office.do(
            rounds.add_round,
            name="r",
            kind=kind,
            tasks=[task],
            settings=RoundSettings(),
            options=options,
            actor="x",
        )
        ana = office.hire("ana")
        batch = office.do(rounds.open_batch, found, ana)
        pid = office.desk.read(lambda c: rounds.count_batch(c, batch).following)
        return office.client(ana), f"/w/{pid}"

    return show


def test_who_answers_sees_the_procedure_and_no_word_of_what_was_done(page: Any) -> None:
    client, address = page("answer")
    text = client.get(address).text
    assert "What now?" in text
    assert all(step in text for step in ("Salt it", "Stir"))
    assert not any(secret in text for secret in (*SECRETS[:4], "not done", "done last", "is-todo", "gpt-4o"))


def test_who_marks_sees_question_right_answers_and_answer_and_no_system(page: Any) -> None:
    client, address = page("mark")
    text = client.get(address).text
    assert all(shown in text for shown in ("What now?", "Stir &lt;b&gt;", "Pour.", "The right answer"))
    assert "Partly right" not in text
    assert not any(secret in text for secret in (*SECRETS[:4], "gpt-4o"))


def test_who_writes_sees_what_was_done_and_no_candidate(page: Any) -> None:
    client, address = page("write")
    text = client.get(address).text
    assert all(shown in text for shown in ("Salted", "too much salt", "what is to be done next"))
    assert "What now?" not in text
    assert "gpt-4o" not in text
