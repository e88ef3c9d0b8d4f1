"""The whole page: sections of every kind, numbers of the tables, nothing that acts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from tests.report.exams import GRAPHS, make_item, make_run, small_data, small_exam, small_items
from tests.report.pages import HOSTILE

from proctor.exam.choice import CREDIT
from proctor.exam.prediction import Prediction
from proctor.exam.question import Choice, Gold, Item, Open, Pick, Picture, Question, Text
from proctor.exam.table import LetterRow, Letters, ScoreRow, ScoreTable
from proctor.report.benchmark import verification_section
from proctor.report.compose import compose, summarize
from proctor.report.data import About, Exam, ReportData, ReportOptions, Run, SharedCost
from proctor.report.examples import MAX_TEXT, Evidence, example_cards, take
from proctor.report.highlights import spread
from proctor.report.moment import moment_evidence
from proctor.report.numbers import guessed
from proctor.report.page import render_page
from proctor.report.parts import Cell, ExampleView, Fold, Page, Part, SourceView, Table
from proctor.report.standing import stand

QUICK = ReportOptions(resamples=200)


def tables(page: Page) -> dict[str, Table]:
    """All tables of a page by title, folded ones, too."""

    def walk(parts: tuple[Part, ...]) -> Iterator[Table]:
        for part in parts:
            if isinstance(part, Table):
                yield part
            elif isinstance(part, Fold):
                yield from walk(part.parts)

    return {table.title: table for section in page.sections for table in walk(section.parts)}


def said(cell: Cell) -> str:
    return cell.text or ", ".join(part.text for part in cell.parts)


def column(table: Table, name: str) -> dict[str, str]:
    """One column of a table by the labels of its lines."""
    place = table.head.index(name)
    texts = [[said(c) if isinstance(c, Cell) else c for c in row] for row in table.rows]
    return {row[0]: row[place] for row in texts}


@pytest.fixture(scope="module")
def page() -> Page:
    return compose(small_data(), QUICK)


def test_every_section_that_has_something_to_say_is_there_and_no_other(page: Page) -> None:
    ids = [section.id for section in page.sections]
    assert ids == ["moment", "benchmark", "dataset", "graphs", "words", "funnel", "verification"]
    places = {section.id: section.place for section in page.sections}
    assert (places["moment"], places["funnel"], places["words"]) == ("main", "behind", "appendix")
    bare = compose(ReportData(exams=(Exam("moment", "moments", small_items()),)), QUICK)
    assert [section.id for section in bare.sections] == ["moment", "benchmark"]
    assert "There is no run yet" in render_page(bare)
    assert "no questions" in render_page(compose(ReportData(), QUICK))


def test_the_leaderboard_prints_the_tables(page: Page) -> None:
    board = tables(page)["Leaderboard"]
    rows = {run.name: run.table.row() for run in small_exam().runs if run.table is not None}
    assert column(board, "Score") == {
        name: f"{row.value:.1f}" + ("*" if row.note else "")
        for name, row in rows.items()
        if row.value is not None
    }
    assert list(column(board, "Rank").items()) == [
        ("strong", "1"), ("weak", "–"), ("annotations", "–"), ("constant", "–"),
    ]  # fmt: skip
    names = [row[0] for row in board.rows if isinstance(row[0], Cell)]
    assert [(c.text, c.tone) for c in names[-2:]] == [("annotations", "upper"), ("constant", "floor")]
    assert column(board, "Failures wrong to right")["weak"] == "8.3 to 58.3"
    assert column(board, "Coverage")["weak"] == "50.0 %"
    assert set(column(board, "Judge").values()) == {"rules 1"}
    assert "Not ranked: weak: 6 of 12 questions have a mark; ranked from 95 % on." in render_page(page)
    assert column(board, "Failed")["weak"] == f"{rows['weak'].failed}"
    assert column(board, "Not asked")["weak"] == f"{rows['weak'].skipped}" == "2"
    noise = tables(page)["Clean and noisy moments"]
    strong = small_exam().runs[1].table
    assert strong is not None
    assert column(noise, "clean (n 6)")["strong"].rstrip("*") == f"{strong.row('clean').value:.1f}"
    floors = [
        t.row("clean").value or 0.0
        for r in small_exam().runs
        if r.role == "floor" and (t := r.table) is not None
    ]
    assert column(noise, "clean (n 6)")["Best floor"] == f"{max(floors):.1f}"


def test_what_has_no_mark_is_counted_and_listed_and_never_0(page: Page) -> None:
    found = tables(page)
    assert column(found["Answers without a mark"], "Answers") == {"refusal": "2", "unreadable": "2"}
    assert column(found["Marks given"], "no mark")["weak"] == "6"
    assert "never a score of 0" in render_page(page)


def test_verification_says_who_dropped_what(page: Page) -> None:
    found = tables(page)
    people = column(found["People"], "value")
    assert people["judged alike: questions"] == "12 of 12 (1.000)"
    assert people["judged alike: answers, where both kept the question"] == "23 of 24 (0.958)"
    assert column(found["Annotators"], "Rejected") == {"ana": "0", "bo": "0", "oracle": "1"}
    assert column(found["Annotators"], "Why rejected")["oracle"] == "vague 1"
    assert column(found["Who dropped what"], "Rejected by machines alone") == {
        "missing": "1",
        "next": "0",
        "order": "0",
    }
    assert verification_section({}, ()) is None


def test_the_data_sets_figures_stand_beside_the_published_ones_only_where_they_are_the_published_questions(
    page: Page,
) -> None:
    figures = tables(page)["Key figures"]
    assert figures.head == ("", "here")
    assert column(figures, "here")["noisy moments: after a mistake"] == "6"
    assert column(figures, "here")["accepted answers per question, mean"] == "2.00"
    assert column(tables(page)["Questions and answers by type"], "Suggestion")["all"] == "12"


def test_the_summary_says_who_leads_and_what_is_missing() -> None:
    text = summarize(stand(small_exam(), QUICK))
    assert "strong scores 87.5 of 100" in text
    assert "weak is not ranked: 6 of 12 questions have a mark; ranked from 95 % on" in text
    text = summarize(stand(small_exam(), replace(QUICK, min_coverage=0.5)))
    assert "strong is first of 2 systems with 87.5 of 100" in text
    assert "The best floor, constant, answers without the evidence and reaches 12.5" in text
    assert "The upper bound, annotations" in text
    assert (
        "In 1 run 6 marks are missing and count neither for nor against: 2 failed, 2 not judged, 2 not asked."
        in text
    )
    assert summarize(stand(Exam("e", "e", small_items()), QUICK)) == "No run has been scored yet."
    items = small_items()
    runs = tuple(make_run(name, items, marks) for name, marks in (("low", "0"), ("one", "02"), ("two", "20")))
    text = summarize(stand(Exam("e", "e", items, runs), QUICK))
    assert "one, two share the first place of 3 systems with 50.0 of 100." in text


def test_costs_that_are_not_known_for_all_are_lower_bounds() -> None:
    items = small_items(4)
    run = make_run("openai/m", items, "2", model="openai/m", tokens_in="100", cost="0.5")
    first, *rest = run.predictions
    unpriced = msgspec.structs.replace(
        first, details={"model": "openai/m", "tokens_in": "1e400", "cost": "-3"}
    )
    exam = Exam("e", "e", items, (replace(run, predictions=(unpriced, *rest)),))
    shared = (SharedCost("descriptions of frames", 3, 10, 5, 0.25, unpriced=True),)
    cost = tables(compose(ReportData(exams=(exam,), shared=shared), QUICK))["What it cost"]
    assert column(cost, "answering: US dollars") == {
        "openai/m": "≥ 1.50",
        "descriptions of frames": "≥ 0.2500",
    }
    assert column(cost, "answering: tokens in")["openai/m"] == "≥ 300"
    found = [[c.find for c in row[1:] if isinstance(c, Cell) and c.text != "–"] for row in cost.rows]
    assert found == [
        [(("exam", "e"), ("run", "openai/m"))] * 2,
        [],
    ]  # its own answers; what all runs share has none


# -- a kind that this room has never heard of ----------------------------------------------------------------------


def stars() -> Exam:
    """Questions with options about pictures of the sky."""
    items = tuple(
        Item(
            question=Question(
                id=f"s{n}", kind="sky", text=f"Which star is this, {n}?", form=Choice(options=("Vega", "Deneb")),
                evidence=(Picture(path=f"{n}.png"),), facets={"season": "summer" if n % 2 else "winter"}, cluster=f"night{n % 3}",
            ),
            golds=(Gold(value=Pick(option=0)),),
        )
        for n in range(6)
    )  # fmt: skip
    marks = {i.id: float(n % 2) for n, i in enumerate(items)}
    rows = tuple(
        ScoreRow(slice=s, kind=k, measure="accuracy", value=v, n=n, chance=0.5, full=1.0)
        for s, k, v, n in (
            ("all", "all", 0.5, 6),
            ("season=summer", "season", 1.0, 3),
            ("season=winter", "season", 0.0, 3),
        )
    )
    table = ScoreTable(predictor="eye", rows=rows, marks={"accuracy": marks})
    predictions = tuple(
        Prediction(item_id=i.id, predictor="eye", answer="A", details={"letter": "A"}) for i in items
    )
    return Exam("sky", "stars", items, (Run("eye", "eye", predictions=predictions, table=table),))


def test_what_guessing_gets_has_a_range_and_draws_of_a_floor_are_not_counted_as_answers() -> None:
    exam = stars()
    letters = Letters(answers=6, rows=(LetterRow(letter="A", gold=3, right=2, said=4),))
    counts = {"right": 2, "wrong": 4}
    assert exam.runs[0].table is not None
    rows = tuple(
        msgspec.structs.replace(row, signature="choice_accuracy|parser:sky")
        for row in exam.runs[0].table.rows
    )
    table = msgspec.structs.replace(exam.runs[0].table, rows=rows, letters=letters, counts=counts)
    eye = replace(exam.runs[0], table=table)
    drawn = tuple(msgspec.structs.replace(p, details={**p.details, CREDIT: "0.5"}) for p in eye.predictions)
    chance = replace(eye, name="chance", role="floor", predictions=drawn)
    runs = [eye, replace(eye, name="blind", role="floor"), chance]
    found = tables(compose(ReportData(exams=(replace(exam, runs=tuple(runs)),)), QUICK))
    board = found["Leaderboard"]
    (guess, *_) = [row[board.head.index("Guessing gets")] for row in board.rows]
    assert isinstance(guess, Cell)
    assert (guess.text, guess.small) == ("50.0", "16.7 to 83.3")  # of six tosses
    assert guessed(20.0, 13) == Cell("20.0", "0.0 to 46.2")  # 4 of 13 right is what guesses get
    assert (guessed(None, 5).text, guessed(100.0, 5)) == ("–", Cell("100.0", "100.0 to 100.0"))
    assert (
        list(column(found["Counted"], "right"))
        == list(column(found["Letters that were named"], "A"))
        == ["eye", "blind"]
    )
    assert "of one draw" in found["Counted"].note
    assert column(found["Answered right, by letter of the right option"], "A")["eye"] == "2 of 3"


def test_a_kind_from_outside_has_all_common_sections_without_code() -> None:
    exam = stars()
    cards = take(example_cards(stand(exam, QUICK), lambda _: Evidence(), {}, {}))
    page = compose(ReportData(exams=(exam,), examples=cards), QUICK)
    found = tables(page)
    assert column(found["Leaderboard"], "Accuracy") == {"eye": "50.0"}
    assert column(found["Leaderboard"], "Guessing gets") == {"eye": "50.0"}
    assert column(found["Season"], "winter (n 3)") == {"eye": "0.0"}
    assert column(found["Composition: stars"], "Questions") == {"season: summer": "3", "season: winter": "3"}
    assert dict(page.examples[0].facts)["A"] == "Vega  ✓"
    assert {a.code for e in page.examples for a in e.answers} == {"match", "wrong"}
    assert "A: Vega" in render_page(page)


# -- examples ------------------------------------------------------------------------------------------------------


def cards(exam: Exam, **votes: tuple[int, ...]) -> list[ExampleView]:
    said = {("strong", item): given for item, given in votes.items()}
    return list(example_cards(stand(exam, QUICK), moment_evidence(GRAPHS, lambda _: ()), {}, said))


def test_an_example_says_what_happened_what_was_answered_and_why_it_got_its_mark() -> None:
    card = next(c for c in cards(small_exam(), i0=(2, 1)) if c.id == "i0")
    facts = dict((*card.facts, *card.made))
    assert facts["moment"] == "1:01, ongoing, clean"
    assert "2. suggestion, by annotator, approved by adjudicator" in facts["accepted answers"]
    history, states = card.sources
    assert history.rows[0] == (
        "0:01–1:01",
        "Boil two cups of water (instruction: Boil one cup of water)",
        "measurement: two cups",
    )
    assert ("Put the bag into the mug", "next") in states.rows
    strong = next(a for a in card.answers if a.system == "strong")
    assert (strong.mark, strong.code) == ("match (100)", "match")
    assert strong.more == ("by rule: because of 2", "people: 2, 1", "2 frames at 1.0, 2.0 s")
    for said, more in [
        ({"frame_numbers": "video"}, "2 frames (counted in the video from 0): 30 at 1.0 s, 60 at 2.0 s"),
        ({"frame_numbers": "second"}, "2 frames (one a second, counted from 1): 30 at 1.0 s, 60 at 2.0 s"),
        ({}, "2 frames at 1.0, 2.0 s"),  # time stamps of an older version say nothing
    ]:
        exam = small_exam()
        run = next(run for run in exam.runs if run.name == "strong")
        seen = [msgspec.structs.replace(p, frame_indices=(30, 60), details=said) for p in run.predictions]
        card = cards(replace(exam, runs=(replace(run, predictions=tuple(seen)),)))[0]
        assert card.answers[0].more[-1] == more
    weak = {c.id: {a.system: a.code for a in c.answers}.get("weak") for c in cards(small_exam())}
    assert [weak[f"i{n}"] for n in range(6)] == ["wrong", "partial", "failed", "wrong", "unscored", None]


def test_the_first_examples_show_every_combination_of_facets() -> None:
    items = tuple(make_item(n, "next" if n < 90 else "order") for n in range(100))
    assert {i.question.facets["type"] for i in spread(items)[:2]} == {"next", "order"}
    assert sorted(i.id for i in spread(items)) == sorted(i.id for i in items)


def test_a_page_holds_so_much_text_and_so_many_pictures() -> None:
    long = "x" * (MAX_TEXT // 10)
    many = [ExampleView(str(n), "k", "?", "!", (("f", long),)) for n in range(30)]
    assert 5 <= len(take(many)) <= 10
    picture = SourceView("p", "frame", "", "p", picture="data:image/jpeg;base64," + "A" * 3_000_000)
    other = replace(picture, picture=picture.picture + "B")
    shown = take(
        [
            ExampleView("a", "k", "?", "!", sources=(picture,)),
            ExampleView("b", "k", "?", "!", sources=(other, picture)),
        ]
    )
    assert [len(e.sources) for e in shown] == [1, 1]  # what is there already is shown once more


def test_hostile_text_of_data_models_and_people_stays_text() -> None:
    items = tuple(make_item(n, HOSTILE, HOSTILE) for n in range(4))
    run = make_run(HOSTILE, items, "20fu", model=HOSTILE, frames=HOSTILE, shrunk=HOSTILE)
    exam = Exam("e", HOSTILE, items, (run,), (HOSTILE,))
    about = About(name=HOSTILE, licence=HOSTILE, made=HOSTILE, hashes={HOSTILE: HOSTILE}, rehearsal=HOSTILE)
    data = ReportData(exams=(exam,), about=about, examples=tuple(cards(exam)))
    text = render_page(compose(data, QUICK))
    assert text.count("<script") == 3
    assert not re.search(r"<img src=x|\x1b|\u202e", text)


def test_equal_data_give_equal_bytes(page: Page) -> None:
    assert render_page(page) == render_page(compose(small_data(), QUICK))


def test_ten_thousand_questions_stay_a_page(tmp_path: Any) -> None:
    items = tuple(
        Item(
            question=Question(id=f"q{n}", kind="k", text=f"What is it, {n}?", form=Open(), facets={"type": f"t{n % 7}"}, cluster=f"c{n % 500}"),
            golds=(Gold(value=Text(text="It is so. " * 8)),),
        )
        for n in range(10_000)
    )  # fmt: skip
    runs = []
    for name in ("a", "b", "c", "d"):
        marks = {i.id: 100.0 * ((n * len(runs)) % 3 > 0) for n, i in enumerate(items)}
        row = ScoreRow(
            slice="all",
            kind="all",
            measure="judge",
            value=50.0,
            n=len(items),
            signature="mean_score|slice:all",
        )
        table = ScoreTable(predictor=name, rows=(row,), marks={"judge": marks})
        said = tuple(Prediction(item_id=i.id, predictor=name, answer="It may be so. " * 10) for i in items)
        runs.append(Run(name, name, predictions=said, table=table))
    exam = Exam("k", "k", items, tuple(runs))
    taken = take(example_cards(stand(exam, QUICK), lambda _: Evidence(), {}, {}))
    text = render_page(compose(ReportData(exams=(exam,), examples=taken), QUICK))
    assert len(text.encode()) < 10_000_000
    assert f"{len(items) - len(taken):,}</bdi></a> more are left out" in text
