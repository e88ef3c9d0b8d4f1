"""What the page says of questions about documents: counts, the order of positions, ranks that were not found."""

from __future__ import annotations

import msgspec
from tests.documents import document, items_of
from tests.report.opening import closed, miscounted
from tests.report.pages import listed
from tests.report.test_compose import column

from proctor.ask.documents.plan import ImpossibleCell
from proctor.ask.documents.record import AttemptRecord, Target
from proctor.ask.documents.summary import summarise_documents
from proctor.exam.concur import MarkSheet, concur
from proctor.exam.kinds.documents_question import DocumentFacts
from proctor.exam.retrieval_scores import RetrievalTable
from proctor.exam.style_overlap import OverlapRow, OverlapTable, StyleClaim, score_overlap
from proctor.exam.table import ScoreRow
from proctor.report.data import Exam
from proctor.report.documents import (
    Writing,
    concurrence_section,
    overlap_section,
    retrieval_section,
    writing_sections,
)
from proctor.report.examples import item_facets
from proctor.report.page import render_page
from proctor.report.parts import Cell, ExampleView, Fold, Heat, Listing, Page, Row, Section, Table


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
    made = [("attempts", f"a/b{of}: made") for of in (", 1 text", "")]
    assert [c for c in row if isinstance(c, Cell)] == [
        Cell("2 of 3", find=(*find, ("combination", "text")), among=made[0]),
        Cell("2 of 3", find=find, among=made[1]),
    ]
    shades = {part.title: part for part in whole[0].parts if isinstance(part, Heat)}
    assert shades["Dollars a question"].rows == (("a/b", (0.75,)),)  # six attempts, two questions
    each = (((*find, ("combination", "text")),),)
    assert [shades[f"{what} a question"].finds for what in ("Dollars", "Calls")] == [each, each]
    (part,) = table(sections(Exam("d", "d", tuple(items_of(questions[:1]))))[0], "Asked for and made").rows
    cells = [c for c in part if isinstance(c, Cell)]
    assert [c.find for c in cells] == [(), ()]  # not all of them are asked in the exam
    assert [c.among for c in cells] == made
    assert listed(whole) == {
        ("Questions about documents", "asked for", ""): ("3", 3),
        ("Questions about documents", "made", ""): ("2", 2),
        ("Questions about documents", "attempts", ""): ("6", 6),
        ("Questions about documents", "yield", ""): ("33.3 %", 6),
        ("Questions about documents", "calls", ""): ("6", 6),
        ("Questions about documents", "cost", ""): ("$1.50", 6),
        ("Asked for and made", "a/b", "1 text"): ("2 of 3", 2),
        ("Asked for and made", "a/b", "all"): ("2 of 3", 2),
        ("Share of the questions asked for that were made", "a/b", "1 text"): ("0.67", 6),
        ("Dollars a question", "a/b", "1 text"): ("0.7500", 6),
        ("Calls a question", "a/b", "1 text"): ("3.0", 6),
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


def page(*sections: Section) -> str:
    return render_page(Page("Documents", sections=sections))


def test_every_number_of_the_writing_opens_questions_attempts_or_what_was_planned() -> None:
    names = ("a/1-0-0/0001", "a/1-0-0/0002", "a/0-1-0/0001")
    targets = [Target(id=n, style="a", modalities=(1, 0, 0) if "1-0-0" in n else (0, 1, 0)) for n in names]
    measured = [
        {"gold_rank": "none", "gold_ranks": "2 none", "closed_book": "2", "one_source": "0 1"},
        {"gold_rank": "40", "gold_ranks": "40", "closed_book": "unknown"},
    ]
    questions = [
        document(
            t.id, style="a", gold=("x", "y")[: 2 - n], facts=DocumentFacts(attempts=1, difficulty=measured[n])
        )
        for n, t in enumerate(targets[:2])
    ]
    tried = [
        AttemptRecord(target=t.id, number=0, outcome="accepted", seed_id="x", calls=(t.id,), cost="0.5")
        for t in targets[:2]
    ]
    near = [{"id": names[0], "list": "known.jsonl", "by": "words", "value": 0.91, "other": "Like it?"}]
    found = Writing(
        summarise_documents(targets, questions, tried),
        coverage={
            "modalities": {"text": {"sources": 9, "share": 1.0, "seeds": 2, "seed_share": 1.0}},
            "seeds": 2, "distinct": 1, "documents_used": 1, "documents": 1, "largest_share": 1.0,
        },
        seed_statistics={"ratio": 1.2, "total_variation": 0.1, "outlier_mass": 0.2, "acceptance": 0.9, "measured": 9, "sources": 9},
        near_known=near,
        impossible=[
            ImpossibleCell(style="a", combination="0-0-2", questions=3, reason="2 image sources, and the corpus has 1"),
            ImpossibleCell(style="b", combination="0-0-1", questions=1, reason="1 image source, and the corpus has 0"),
        ],
    )  # fmt: skip
    sources = Listing.of(
        "corpus", "Each source", ("Source",), [((f"s{n}",), ("modality: text",)) for n in range(9)]
    )
    exam = Exam("documents", "documents", tuple(items_of(questions)))
    written = (
        *writing_sections(found, questions, attempts=tried, exam=exam, modalities={"x": "text"}),
        Section("c", "C", (sources,)),
    )
    opened = listed(written)
    left, ranks = "Left out of the plan", "Difficulty: ranks of the cited sources"
    assert opened[left, "a", "questions"] == ("3", 3)
    assert opened[left, "b", "questions"] == ("1", 1)
    assert opened["Questions about documents", "impossible here", ""] == ("4", 4)
    assert opened["Questions about documents", "asked for", ""] == (
        "3",
        3,
    )  # what was left out was never asked for
    (each,) = (p for p in written[1].parts if isinstance(p, Listing) and p.id == "attempts")
    gone = [
        row for row, tags in zip(each.table.rows, each.tags, strict=True) if "left out of the plan" in tags
    ]
    assert [row[0] for row in gone] == [f"a/0-0-2/{n:04d}" for n in (1, 2, 3)] + ["b/0-0-1/0001"]
    assert gone[0][1:] == ("a, 0-0-2", "", "left out of the plan", "2 image sources, and the corpus has 1")
    columns = ("found", "best rank", "median of all", "last rank found")
    assert [opened[ranks, "the worst one of a question", x] for x in columns] == [
        ("1 of 2", 1),
        ("40", 1),
        ("40", 2),
        ("40", 1),
    ]
    assert [opened[ranks, "every one", x] for x in columns] == [("2 of 3", 2), ("2", 2), ("40", 3), ("40", 2)]
    (of_ranks,) = (p for p in written[1].parts if isinstance(p, Listing) and p.id == "ranks")
    assert [(row[0], row[2]) for row in of_ranks.table.rows] == [("x", "2"), ("y", "not found"), ("x", "40")]
    cards = tuple(
        ExampleView(id=q.id, kind="", question=q.text, answer="") for q in questions
    )  # what was near is among them
    text = render_page(Page("Documents", sections=written, examples=cards))
    assert closed(text) == {}
    assert [*miscounted(text)] == []


def claims(*said: bool | None) -> list[StyleClaim]:
    """Of each question two: whether it is of style s, and of the other."""
    pairs = [(f"q{n // 2 + 1}", ("s", "other")[n % 2]) for n in range(len(said))]
    return [StyleClaim(qid=id_, style=style, said=one) for (id_, style), one in zip(pairs, said, strict=True)]


def test_shares_of_overlapping_styles_open_the_questions_that_overlap() -> None:
    asked = [document(f"q{n}", text=f"Which {n}?", style="s" if n < 4 else "other") for n in range(1, 6)]
    said = claims(True, True, True, False, True, None, False, False, False, True)
    table_ = score_overlap(asked, said)
    section = overlap_section(table_, (), None, asked, said)
    assert listed([section]) == {
        ("Overlap", "other", "questions"): ("2", 2),
        ("Overlap", "other", "no style %"): ("50.0", 1),
        ("Overlap", "other", "own style %"): ("50.0", 1),
        ("Overlap", "s", "questions"): ("2", 2),
        ("Overlap", "s", "overlap %"): ("50.0", 1),
        ("Overlap", "s", "own style %"): ("100.0", 2),
        ("Overlap", "s", "unread"): ("1", 1),
        ("Overlap", "all", "questions"): ("4", 4),
        ("Overlap", "all", "overlap %"): ("25.0", 1),
        ("Overlap", "all", "no style %"): ("25.0", 1),
        ("Overlap", "all", "own style %"): ("75.0", 3),
        ("Overlap", "all", "unread"): ("1", 1),
        **{("Styles that are claimed, by the style that was meant, in percent", whose, style): (share, n)
           for whose, style, share, n in (("other", "other", "50.0", 1), ("s", "s", "100.0", 2), ("s", "other", "50.0", 1),
                                          ("all", "s", "50.0", 2), ("all", "other", "50.0", 2))},
    }  # fmt: skip
    assert closed(page(section)) == {}
    assert [*miscounted(page(section))] == []
    others = overlap_section(
        table_, (), None, asked[:3], said
    )  # of other questions than the table's: nothing is listed
    assert listed([others]) == {}
    text = page(overlap_section(table_, (), Exam("d", "d", tuple(items_of(asked)))))
    assert "list-overlap" not in text


def test_numbers_of_concurrence_open_the_questions_of_both_sets() -> None:
    theirs, ours = [document(f"d{n}") for n in range(3)], [document(f"q{n}") for n in range(2)]
    marks = {
        "bm25@5": ({"d0": 1.0, "d1": 0.0, "d2": 1.0}, {"q0": 1.0, "q1": 0.5}),
        "lsa@5": ({"d0": 0.0, "d1": 0.0, "d2": None}, {"q0": 0.0, "q1": 0.5}),
    }
    sheets = [
        MarkSheet(benchmark=name, marks={s: both[n] for s, both in marks.items()})
        for n, name in enumerate(("w:data", "w:styled"))
    ]
    found = concur(*sheets, resamples=20)
    section = concurrence_section(
        {"retrieval": found, "answers": "there is one system"}, {"retrieval": (theirs[:2], ours)}
    )
    assert section is not None
    by, alike = "Concurrence by retrieval", "How alike both rank systems by retrieval"
    opened = listed([section])
    assert opened[by, "bm25@5", "w:data"] == ("0.50", 2)
    assert opened[by, "lsa@5", "w:styled"] == ("0.25", 2)
    assert opened[alike, "Kendall's tau-b", "value"] == ("1.000", 4)
    assert opened[alike, "p", "value"][1] == 4
    assert table(section, alike).rows[-1] == (
        "pairs in opposite order",
        Cell("0 of 1", among=("concurrence-retrieval", "both")),
    )
    assert closed(page(section)) == {}
    unknown = concurrence_section(
        {"retrieval": found}, {"retrieval": (theirs, ours)}
    )  # of more questions than were compared
    assert unknown is not None
    assert listed([unknown]) == {}


def test_what_was_retrieved_opens_its_questions_where_an_exam_asks_fewer_and_where_rankings_failed() -> None:
    asked = [document("q1"), document("q2"), document("q3", style="other")]
    cells = tuple(
        ScoreRow(slice=name, kind=kind, value=50.0, measure="recall@5", system=system, n=n)
        for system, left in (("bm25", 0), ("model", 1))
        for name, kind, n in (
            ("all", "all", 3 - left),
            ("style=s", "style", 2 - left),
            ("style=other", "style", 1),
        )
    )
    ranked = {
        "bm25": {"recall@5": dict.fromkeys(("q1", "q2", "q3"), 0.5)},
        "model": {"recall@5": {"q1": 0.5, "q3": 0.5}},
    }
    runs = {"bm25": "", "model": ""}
    retrieved = RetrievalTable(
        cells=cells, recalls=ranked, runs=runs, questions=3, counts={"repeated in rankings": 2}
    )
    again = [("bm25", "q1", "a"), ("bm25", "q3", "b")]
    exam = Exam("documents", "documents", tuple(items_of(asked[:2])))
    section = retrieval_section("styled", retrieved, exam=exam, questions=asked, repeated=again)
    opened = {key[1:]: of for key, of in listed([section]).items() if key[0] == "Retrieval by style"}
    rows = table(section, "Retrieval by style").rows
    counts = next(p for p in section.parts if isinstance(p, Listing) and p.id == "searched-styled").counts
    assert [[counts.get(c.among[1]) for c in row[1:] if isinstance(c, Cell) and c.among] for row in rows] == [
        [3, 2, 1],
        [2, 1, 1],
    ]
    assert set(opened) == {(name, x) for name in runs for x in ("all (n 3)", "s (n 2)", "other (n 1)")}
    assert listed([section])["Counted in retrieval", "repeated in rankings", "how many"] == ("2", 2)
    assert closed(page(section)) == {}
    lost = retrieval_section("styled", retrieved, exam=exam, questions=asked, repeated=again[:1])
    assert "Counted in retrieval: how many" in closed(page(lost))  # of rankings that changed since
