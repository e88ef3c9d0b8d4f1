from __future__ import annotations

import msgspec
import pytest

from proctor.ask.moment.promqa import PromqaAdjudication, PromqaExample, PromqaInit, PromqaJudge, read_promqa
from proctor.errors import UserError
from proctor.procedure.graph import TaskGraph
from proctor.verify.oracle import Oracle
from proctor.verify.oracle.published import adjudicated_labels, answer_rows, graphs_by_key


@pytest.fixture
def tiny(tests_data) -> list[PromqaExample]:
    return read_promqa(tests_data / "promqa/tiny.json")


def _case(
    published: PromqaExample,
    machine: tuple[str, ...],
    shuffled: tuple[tuple[str, str], ...],
    init: tuple[bool | None, ...],
    judge: tuple[bool, ...] | None = None,
    question: bool | None = True,
    judged_question: bool = True,
) -> PromqaExample:
    return msgspec.structs.replace(
        published,
        verification=msgspec.structs.replace(published.verification, answers=machine),
        adjudication=PromqaAdjudication(
            question=published.question,
            answers=tuple(text for text, _ in shuffled),
            answer_tags=tuple(tag for _, tag in shuffled),  # type: ignore[arg-type]
            init=PromqaInit(question=question, answers=init),
            judge=None if judge is None else PromqaJudge(question=judged_question, answers=judge),
        ),
    )


def test_labels_follow_the_shuffled_order(tiny: list[PromqaExample]) -> None:
    case = _case(
        tiny[0],
        ("a", "b"),
        (("own", "human"), ("b", "machine"), ("a", "machine")),
        (None, True, None),
        (True, True, False),
    )
    assert adjudicated_labels(case) == (False, True)


def test_equal_machine_answers_are_taken_in_order(tiny: list[PromqaExample]) -> None:
    case = _case(tiny[0], ("a", "a"), (("a", "machine"), ("a", "machine")), (True, False))
    assert adjudicated_labels(case) == (True, False)


def test_a_human_answer_of_the_same_text_is_not_the_machines(tiny: list[PromqaExample]) -> None:
    case = _case(tiny[0], ("a",), (("a", "human"), ("a", "machine")), (None, False), (True, False))
    assert adjudicated_labels(case) == (False,)


def test_a_rejected_question_drops_its_answers(tiny: list[PromqaExample]) -> None:
    case = _case(tiny[0], ("a",), (("a", "machine"),), (None,), (True,), question=None, judged_question=False)
    assert adjudicated_labels(case) == (False,)


def test_what_nobody_settled_has_no_label(tiny: list[PromqaExample]) -> None:
    case = _case(tiny[0], ("a", "b"), (("a", "machine"),), (None,))
    assert adjudicated_labels(case) == (None, None)


def test_rows(tiny: list[PromqaExample], tests_data) -> None:
    import json

    from proctor.procedure.graph import Step

    raw = json.loads((tests_data / "promqa/tea.json").read_text(encoding="utf-8"))
    graph = TaskGraph(
        "tea",
        "Tea",
        tuple(Step(k, v) for k, v in raw["steps"].items()),
        tuple((str(a), str(b)) for a, b in raw["edges"]),
        "0",
        max(raw["steps"], key=int),
    )
    seen: list[None] = []
    rows, unsettled = answer_rows(
        tiny,
        graphs_by_key({"tea": graph}, lambda name: name.split()[0].lower()),
        Oracle(),
        step=lambda: seen.append(None),
    )
    assert len(seen) == len(tiny)
    assert len(rows) + len(unsettled) == sum(len(e.verification.answers) for e in tiny)
    assert {r.question_id for r in rows} <= {e.question_id for e in tiny}
    assert all(0.0 <= r.probability <= 1.0 for r in rows)
    assert all(len(r.humans) == 2 for r in rows)


def test_a_recipe_without_a_graph(tiny: list[PromqaExample]) -> None:
    with pytest.raises(UserError, match="no task graph for the recipe") as caught:
        answer_rows(tiny, lambda _: None, Oracle(), where="file.json")
    assert caught.value.where is not None
    assert "file.json" in caught.value.where
