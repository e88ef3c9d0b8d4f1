from __future__ import annotations

import pytest

from proctor.generate.candidate import Answer, Candidate, Provenance
from proctor.generate.summary import distinct_n, summarise_candidates
from proctor.records import Dropped


def candidate(question: str, form: str, *answers: Answer) -> Candidate:
    return Candidate(
        id=question,
        example_id="e",
        recording_id="r",
        type="next",
        question=question,
        answers=answers,
        provenance=Provenance(generator="rules", version="1", form=form, details={"style": "wh"}),
    )


def test_counts() -> None:
    made = summarise_candidates(
        [
            candidate(
                "What now?", "next.what:1/I/plain", Answer("Yes, stir."), Answer("Stir.", "suggestion")
            ),
            candidate("What now?", "next.what:1/we/novice", Answer("No.")),
            Dropped("x", "no_graph"),
        ]
    )
    assert made.candidates == 2
    assert made.dropped == {"no_graph": 1}
    assert made.forms == {"next": 1}
    assert made.form_counts == {"next.what:1": 2}
    assert made.styles == {"wh": 2}
    assert made.tones == {"novice": 1, "plain": 1}
    assert made.answer_kinds == {"direct": 2, "suggestion": 1}
    assert made.leads == {"no": 1, "other": 1, "yes": 1}
    assert made.answers_per_question == pytest.approx(1.5)
    assert made.distinct_questions == pytest.approx(0.5)
    assert made.distinct_1 == pytest.approx(0.5)


def test_nothing() -> None:
    made = summarise_candidates([])
    assert (made.candidates, made.answers_per_question, made.distinct_1) == (0, 0.0, 0.0)


def test_candidates_of_other_generators_say_less() -> None:
    other = Candidate(
        id="c", example_id="e", recording_id="r", type="next", question="Q?", answers=(),
        provenance=Provenance(generator="model", version="1"),
    )  # fmt: skip
    made = summarise_candidates([other])
    assert (made.forms, made.styles, made.tones) == ({}, {}, {})


@pytest.mark.parametrize(
    ("texts", "n", "value"), [([], 1, 0.0), (["a b a"], 1, 2 / 3), (["a b", "a b"], 2, 0.5), (["a"], 2, 0.0)]
)
def test_distinct_n(texts: list[str], n: int, value: float) -> None:
    assert distinct_n(texts, n) == pytest.approx(value)
