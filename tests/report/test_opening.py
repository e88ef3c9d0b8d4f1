"""Every number of a table opens its questions, or says in ``tests.report.opening`` why it has none; counts open as many lines."""

from __future__ import annotations

import re
from dataclasses import replace

import msgspec
from tests.documents import document, items_of
from tests.report.exams import make_run, small_data, small_exam, small_items
from tests.report.opening import closed, miscounted
from tests.report.pages import listed
from tests.report.test_page_browser import report

from proctor.records import Dropped
from proctor.report.benchmark import funnel_section, verification_section
from proctor.report.compose import compose
from proctor.report.data import Asked, Exam, ReportData, ReportOptions, Stage
from proctor.report.examples import Evidence, example_cards
from proctor.report.page import render_page
from proctor.report.parts import Cell, Heat, Listing, Page, Section, Table
from proctor.report.standing import stand
from proctor.verify.agreement import machines_against_people

QUICK = ReportOptions(resamples=200)


def test_a_number_that_opens_nothing_is_found_and_so_is_a_count_of_other_lines() -> None:
    lines = [((f"line {n}",), ("two",)) for n in range(2)]
    table = Table(
        "Numbers",
        ("", "right", "wrong", "closed", "none"),
        (("a", Cell("2", among=("all", "two")), Cell("3", among=("all", "two")), Cell("12 of 30", "4 to 5"), "0.0"),
         ("7", Cell(parts=(Cell("late 2", among=("all", "two")), Cell("early 2"))), "word", "M5", "–")),
    )  # fmt: skip
    heat = Heat("Shades", "", ("x", "y"), (("a", (0.0, 1.5)),))
    facts = (("closed", "5"), ("open", Cell("2", among=("all", "two"))))
    section = Section("s", "S", (table, heat, Listing.of("all", "Each", ("Line",), lines)), facts)
    text = render_page(Page("Page", sections=(section,)))
    assert closed(text) == {
        "Numbers: closed": "a: 12 of 30",
        "Numbers: right": "7: , early 2",
        "Shades: y": "a: 1.50",
        "facts: closed": ": 5",
    }
    assert [*miscounted(text)] == ["Numbers: wrong: a: 3 opens 2"]


def test_every_number_about_moments_opens_its_questions() -> None:
    text = render_page(report())
    assert closed(text) == {}
    assert [*miscounted(text)] == []


def test_questions_without_room_among_the_examples_are_listed() -> None:
    exam = small_exam()
    cards = tuple(example_cards(stand(exam, QUICK), lambda _: Evidence(), {}, {}))
    page = compose(small_data(examples=cards[:5]), QUICK)
    text = render_page(page)
    assert page.left == 7
    assert '<a class="find" href="#list-left" data-tag="no room"><bdi>7</bdi></a> more are left out' in text
    (left,) = (p for s in page.sections for p in s.parts if isinstance(p, Listing) and p.id == "left")
    lines = [row[0] for row in left.table.rows]
    assert {c.small for c in lines if isinstance(c, Cell)} == {i.id for i in exam.items} - {
        c.id for c in cards[:5]
    }
    assert (
        closed(text) == {}
    )  # what none of the five examples has, such as 'not asked', opens those without room
    assert "list-left" not in render_page(compose(small_data(examples=cards), QUICK))


def test_values_that_a_composition_does_not_list_are_opened_and_many_of_them_can_be_found() -> None:
    items = tuple(
        msgspec.structs.replace(
            item, question=msgspec.structs.replace(item.question, facets={"place": f"place {n // 2:02}"})
        )
        for n, item in enumerate(small_items(140))
    )
    exam = Exam("moment", "moments", items, ())
    cards = tuple(example_cards(stand(exam, QUICK), lambda _: Evidence(), {}, {}))
    text = render_page(compose(ReportData(exams=(exam,), examples=cards), QUICK))
    assert closed(text) == {}
    assert 'data-tag="more of place"><bdi>80</bdi>' in text  # 40 of 70 places, two questions each
    assert 'data-n="40"' in text
    assert 'data-find="place=place+69"><bdi>2</bdi>' in text
    fields, _, folded = text.partition('<details class="rare">')
    assert 'data-key="place"' not in fields
    assert 'data-key="place"' in folded


def test_a_cluster_of_one_question_opens_it() -> None:
    exam = Exam("documents", "documents", tuple(items_of([document("q1"), document("q2")])))
    cards = tuple(example_cards(stand(exam, QUICK), lambda _: Evidence(), {}, {}))
    text = render_page(compose(ReportData(exams=(exam,), examples=cards), QUICK))
    assert closed(text) == {}
    lines = text.partition('id="list-clusters-documents"')[2].partition("</table>")[0]
    assert re.findall(r'<td><a href="#item-(\d)"><bdi>1</bdi>', lines) == ["1", "2"]


def test_what_one_stage_dropped_twice_of_one_thing_stands_in_two_lines() -> None:
    gone = (Dropped("a#", "stray", "Hello"), Dropped("a#", "stray", "Bye"), Dropped("b", "short"))
    funnel = (
        Stage("read", 2, passed=("a#", "b")),
        Stage("generated", 0, dropped={"stray": 2, "short": 1}, gone=gone),
    )
    opened = listed([funnel_section(funnel)])
    table = "How the questions came about"
    assert opened[table, "generated", "Dropped"] == ("3", 3)
    assert opened[table, "read", "Passed on"] == ("2", 2)
    assert opened[table, "generated", "Why"] == ("stray 2", 2)


def test_what_failed_opens_failures_and_answers_without_a_mark() -> None:
    text = render_page(report())
    board = text.partition(">Leaderboard<")[2].partition("</table>")[0]
    assert (
        'href="#list-answers-moment" data-tag="weak: without a mark"><bdi>4</bdi>' in board
    )  # two failed, two have no mark


def test_agreement_of_people_and_machines_opens_what_they_judged() -> None:
    asked = small_data().asked["moment"]
    again = msgspec.structs.replace(
        asked.verdicts[0], annotator="eve", role="adjudicator", own_answers=("Pour.", "Stir.")
    )
    verdicts = (*asked.verdicts, again)
    against = machines_against_people(asked.questions, verdicts, {"oracle": 1.5})
    section = verification_section({"moment": Asked(asked.questions, verdicts)}, against)
    assert section is not None
    opened = listed([section])
    pair, people = "Agreement of every two people on questions", "People"
    assert [opened[pair, "ana and bo", x][1] for x in ("Same", "Questions")] == [12, 12]
    assert opened[people, "judged alike: answers, where both kept the question", "value"] == (
        "23 of 24 (0.958)",
        12,
    )
    assert opened[people, "answers added by adjudicators", "value"][1] == 1
    assert opened[people, "Cohen's κ: questions", "value"][1] == 12
    (table,) = (p for p in section.parts if isinstance(p, Table) and p.title == "Machines against people")
    lists = (p for p in section.parts if isinstance(p, Listing))
    of_questions = Section("s", "S", (replace(table, rows=table.rows[:1]), *lists))
    machines = {key[2]: of for key, of in listed([of_questions]).items()}
    assert machines["Judged"] == ("12", 12)
    assert machines["With people"][1] == machines["Agreement"][1] == machines["US dollars"][1] == 12
    assert machines["Upheld of what it keeps"][1] == 11  # all but the one that it drops
    two = {"moment": Asked(asked.questions, verdicts), "clip": Asked(asked.questions[:3], verdicts[:3])}
    both = verification_section(two, against)
    assert both is not None
    assert ("Machines against people", "oracle", "Judged") not in listed(
        [both]
    )  # it judged questions of both kinds


def test_answers_whose_descriptions_are_not_there_are_opened() -> None:
    items = small_items()
    run = make_run("seer", items, "21", view="captions", request="abc")
    there = {items[0].id: ("a pot",)}
    exam = Exam("moment", "moments", items, (replace(run, captions=there),))
    page = compose(small_data(exams=(exam,), missing_captions=11), QUICK)
    name = "answers whose descriptions of frames are not shown"
    (cell,) = (value for key, value in page.method if key == name)
    assert isinstance(cell, Cell)
    (part,) = cell.parts
    assert part == Cell("11", among=("answers-moment", "descriptions not there"))
    assert (
        'data-tag="descriptions not there"><bdi>11</bdi></a>'
        in render_page(page).partition(f"<dt>{name}</dt>")[2]
    )
    assert closed(render_page(page)) == {}
    other = compose(
        small_data(exams=(exam,), missing_captions=3), QUICK
    )  # what nobody can name opens nothing
    (cell,) = (value for key, value in other.method if key == name)
    assert isinstance(cell, Cell)
    assert cell.parts == (Cell("3"),)
