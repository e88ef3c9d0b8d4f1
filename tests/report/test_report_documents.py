"""What the page says of questions about documents: counts, the order of positions, ranks that were not found."""

from __future__ import annotations

import msgspec
from tests.documents import document
from tests.report.test_compose import column

from proctor.ask.documents.summary import summarise_documents
from proctor.exam.kinds.documents_question import DocumentFacts
from proctor.report.documents import Writing, writing_sections
from proctor.report.parts import Heat, Section, Table


def attempts(facts: list[dict[str, str]], summary: dict[str, object]) -> Section:
    questions = [
        document(f"q{n}", facts=DocumentFacts(difficulty=measured)) for n, measured in enumerate(facts)
    ]
    empty = msgspec.to_builtins(summarise_documents([], [], []))
    _, section = writing_sections(msgspec.convert({"summary": {**empty, **summary}}, Writing), questions)
    return section


def table(section: Section, title: str) -> Table:
    (found,) = (part for part in section.parts if isinstance(part, Table) and part.title == title)
    return found


def test_outcomes_are_whole_numbers_in_the_order_of_the_steps_and_positions_in_theirs() -> None:
    # As they lie in documents.json, whose keys are sorted.
    stored = {
        "outcomes": {"accepted": 12, "answer_fail": 1, "refused": 3},
        "by_style": {"s": {"accepted": 12, "answer_fail": 1, "refused": 3}},
        "attempts_needed": {"1": 9, "10": 1, "2": 2},
    }
    section = attempts([], stored)
    became = table(section, "What became of attempts")
    assert column(became, "how many") == {"accepted": "12", "refused": "3", "answer fail": "1"}
    assert [row[0] for row in became.rows] == ["accepted", "refused", "answer fail"]
    assert column(became, "share")["accepted"] == "75.0 %"
    assert next(p for p in section.parts if isinstance(p, Heat)).columns == (
        "accepted",
        "refused",
        "answer fail",
    )
    assert [row[0] for row in table(section, "Attempts that a question took").rows] == ["1", "2", "10"]


def test_ranks_say_how_many_were_found_and_what_was_not_is_beyond_all_ranks() -> None:
    found = [{"gold_rank": "3", "gold_ranks": "1 3"}, {"gold_rank": "40", "gold_ranks": "40"}]
    lost = [{"gold_rank": "none", "gold_ranks": "2 none"}] * 3
    ranks = table(attempts(found + lost, {}), "Difficulty: ranks of the cited sources")
    assert column(ranks, "found") == {"the worst one of a question": "2 of 5", "every one": "6 of 9"}
    assert column(ranks, "median of all") == {"the worst one of a question": "not found", "every one": "3"}
    assert column(ranks, "last rank found") == {"the worst one of a question": "40", "every one": "40"}
    assert "not found" in ranks.note


def test_answers_without_sources_are_counted_by_their_best_mark() -> None:
    facts = [{"closed_book": "2", "one_source": "0 1"}, {"closed_book": "0", "one_source": "unknown 2"},
             {"closed_book": "unknown", "one_source": "1 unknown"}]  # fmt: skip
    answered = table(attempts(facts, {}), "Difficulty: answers without the sources")
    assert answered.rows[0] == ("from no source", "1", "0", "1", "1", "3")
    assert answered.rows[1] == ("from a single one of its sources, the best", "1", "1", "0", "1", "3")
