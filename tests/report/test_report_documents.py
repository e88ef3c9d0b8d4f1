"""What the page says of questions about documents: counts, the order of positions, ranks that were not found."""

from __future__ import annotations

import msgspec
from tests.documents import document, items_of
from tests.report.pages import listed
from tests.report.test_compose import column

from proctor.ask.documents.record import AttemptRecord, Target
from proctor.ask.documents.summary import summarise_documents
from proctor.exam.kinds.documents_question import DocumentFacts
from proctor.exam.retrieval_scores import RetrievalTable
from proctor.exam.style_overlap import OverlapRow, OverlapTable
from proctor.exam.table import ScoreRow
from proctor.report.data import Exam
from proctor.report.documents import Writing, overlap_section, retrieval_section, writing_sections
from proctor.report.examples import item_facets
from proctor.report.parts import Cell, Fold, Heat, Row, Section, Table


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
    counts = [column(answered, name) for name in answered.head[1:]]
    assert [c["from no source"] for c in counts] == ["1", "0", "1", "1", "3"]
    assert [c["from a single one of its sources, the best"] for c in counts] == ["1", "1", "0", "1", "3"]


def test_what_was_made_opens_its_questions_and_attempts_are_listed() -> None:
    targets = [Target(id=f"a/b/1-0-0/000{n}", style="a/b", modalities=(1, 0, 0)) for n in (1, 2, 3)]
    facts = DocumentFacts(attempts=2, difficulty={"closed_book": "1"})
    questions = [document(t.id, style="a/b", facts=facts) for t in targets[:2]]
    tried = [
        AttemptRecord(target=t.id, number=n, outcome=o, seed_id="x", calls=(f"{t.id} {n}",), cost="0.25")
        for t in targets
        for n, o in enumerate(("hop_leak", "hop_leak" if t == targets[2] else "accepted"))  # type: ignore[misc]
    ]
    summary = Writing(summarise_documents(targets, questions, tried), coverage={
        "modalities": {"table": {"sources": 9, "share": 1.0, "seeds": 6, "seed_share": 1.0}},
        "seeds": 6, "distinct": 1, "documents_used": 1, "documents": 1, "largest_share": 1.0,
    })  # fmt: skip

    def sections(exam: Exam) -> tuple[Section, ...]:
        return tuple(
            writing_sections(summary, questions, attempts=tried, exam=exam, modalities={"x": "table"})
        )

    whole = sections(Exam("documents", "documents", tuple(items_of(questions))))
    (row,) = table(whole[0], "Asked for and made").rows
    find = (("exam", "documents"), ("style", "a/b"))
    assert [c for c in row if isinstance(c, Cell)] == [
        Cell("2 of 3", find=(*find, ("combination", "text"))),
        Cell("2 of 3", find=find),
    ]
    shades = {part.title: part for part in whole[0].parts if isinstance(part, Heat)}
    assert shades["Dollars a question"].rows == (("a/b", (0.75,)),)  # six attempts, two questions
    each = (((*find, ("combination", "text")),),)
    assert [shades[f"{what} a question"].finds for what in ("Dollars", "Calls")] == [each, each]
    (part,) = table(sections(Exam("d", "d", tuple(items_of(questions[:1]))))[0], "Asked for and made").rows
    assert [c.find for c in part if isinstance(c, Cell)] == [(), ()]  # not all of them are asked in the exam
    assert listed(whole) == {
        ("Questions about documents", "asked for", ""): ("3", 3),
        ("Questions about documents", "made", ""): ("2", 2),
        ("Questions about documents", "attempts", ""): ("6", 6),
        ("Questions about documents", "yield", ""): ("33.3 %", 6),
        ("Questions about documents", "calls", ""): ("6", 6),
        ("Questions about documents", "cost", ""): ("$1.50", 6),
        ("Yield: questions by attempt", "a/b", "1 text"): ("0.33", 6),
        ("Outcomes by style, share of its attempts", "a/b", "accepted"): ("0.33", 2),
        ("Outcomes by style, share of its attempts", "a/b", "hop leak"): ("0.67", 4),
        ("What became of attempts", "accepted", "how many"): ("2", 2),
        ("What became of attempts", "accepted", "share"): ("33.3 %", 2),
        ("What became of attempts", "hop leak", "share"): ("66.7 %", 4),
        ("Attempts that a question took", "2", "share"): ("100.0 %", 2),
        ("Seeds", "table", "share of seeds"): ("100.0 %", 6),
        ("What became of attempts", "hop leak", "how many"): ("4", 4),
        ("Attempts that a question took", "2", "how many"): ("2", 2),
        ("Difficulty: answers without the sources", "from no source", "partly right"): ("2", 2),
        ("Difficulty: answers without the sources", "from no source", "questions"): ("2", 2),
        ("Seeds", "table", "seeds"): ("6", 6),
    }
    # A call was not made, and one question was not begun: both were asked for, and nothing was found out about either.
    stopped = [AttemptRecord(target="a/b/1-0-0/0001", number=0, outcome="budget_stop", seed_id="x")]
    begun = Writing(summarise_documents(targets[:2], [], stopped))
    facts_of = {
        key[1]: of for key, of in listed(writing_sections(begun, [], attempts=stopped)).items() if not key[2]
    }
    assert facts_of == {"asked for": ("2", 2)}


def test_what_was_retrieved_of_a_modality_opens_the_questions_that_cite_it() -> None:
    asked = [document("q1"), document("q2", modalities=(1, 1, 0)), document("q3", modalities=(0, 2, 0))]
    cells = tuple(
        ScoreRow(slice="all", kind="all", value=50.0, measure=f"recall@{k}{of}", system="bm25", n=n)
        for of, n in (("", 3), (" table", 2), (" text", 2), (" image", 1))
        for k in (5, 10)
    )
    retrieved = RetrievalTable(cells=cells, recalls={}, runs={"bm25": ""}, questions=3)
    exam = Exam("documents", "documents", tuple(items_of(asked)))
    of_one = table(
        retrieval_section("styled", retrieved, exam=exam), "Share of the cited sources of one modality"
    )
    assert of_one.head == ("", "image (n 1)", "table (n 2)", "text (n 2)")
    whole = ("exam", "documents")
    row = [(), (whole, ("cites", "table")), (whole, ("cites", "text"))]  # of images this exam asks none
    assert [finds(line) for line in of_one.rows] == [row, row]
    cited = [item_facets(item)["cites"] for item in exam.items]
    assert cited == [("text",), ("text", "table"), ("table",)]


def finds(row: Row) -> list[tuple[tuple[str, str], ...]]:
    return [cell.find for cell in row[1:] if isinstance(cell, Cell)]


def test_what_was_retrieved_opens_its_questions_where_an_exam_asks_them_all() -> None:
    exam = Exam("documents", "documents", tuple(items_of([document("q1"), document("q2", style="other")])))
    slices = {"all": ("all", 2), "style=s": ("style", 1), "style=other": ("style", 2),
              "style=s/modalities=text": ("style-modalities", 1)}  # fmt: skip
    cells = tuple(
        ScoreRow(slice=name, kind=kind, value=50.0, measure="recall@5", system="bm25", n=n)
        for name, (kind, n) in slices.items()
    )
    retrieved = RetrievalTable(cells=cells, recalls={}, runs={"bm25": ""}, questions=2)
    section = retrieval_section("styled", retrieved, exam=exam)
    whole = ("exam", "documents")
    (row,) = table(section, "Retrieval by style").rows
    assert finds(row) == [
        (whole,),
        (whole, ("style", "s")),
        (),
    ]  # of the last style another exam asks one more
    (heat,) = next(part for part in section.parts if isinstance(part, Fold)).parts
    assert isinstance(heat, Heat)
    assert heat.finds == (((whole, ("style", "s"), ("combination", "text")),),)
    rows = tuple(
        OverlapRow(style=name, n=n, unread=0, overlap=None, none=None, own=None, claimed={})
        for name, n in (("s", 1), ("other", 2), ("all", 2))
    )
    overlap = table(overlap_section(OverlapTable(rows=rows, styles=(), failures={}), exam=exam), "Overlap")
    assert [finds(row) for row in overlap.rows] == [
        [(whole, ("style", "s"))] + [()] * 4,
        [()] * 5,
        [(whole,)] + [()] * 4,
    ]
