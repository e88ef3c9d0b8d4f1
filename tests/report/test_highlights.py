"""What a reader sees first: the question on which systems disagree most, failures that teach something, plain reasons."""

from __future__ import annotations

import re
from dataclasses import replace

import msgspec
from tests.report.exams import GRAPHS, make_run, small_data, small_items

from proctor.report.compose import compose
from proctor.report.data import Exam, ReportOptions
from proctor.report.examples import MAX_PICTURES, Evidence, example_cards, take
from proctor.report.highlights import highlights, in_order, pick, takers
from proctor.report.moment import moment_evidence
from proctor.report.page import render_page
from proctor.report.parts import Cell, Drawn, ExampleView, Heat, Page, SourceView, Table
from proctor.report.results import standing_plot
from proctor.report.standing import Standing, stand

QUICK = ReportOptions(resamples=200)
MARKS = {"best": "222220002222", "other": "222002022222", "floor": "000000002000", "notes": "222222222222"}
"""All are right on 0 to 2; best alone on 3 and 4; nobody on 6, other alone on 5 and 7; a floor and other, but not the best, on 8."""


def exam() -> Exam:
    items = small_items()
    marks = {**MARKS, "best": "222220002222"[:8] + "0222"}
    runs = tuple(
        make_run(name, items, given, {"floor": "floor", "notes": "upper"}.get(name, "system"))  # type: ignore[arg-type]
        for name, given in marks.items()
    )
    return Exam("moment", "moments", items, runs)


def test_the_first_example_is_the_one_on_which_systems_disagree_as_they_rank() -> None:
    standing = stand(exam(), QUICK)
    assert [line.run.name for line in takers(standing)] == ["other", "best"]  # by their scores
    first = pick(standing)[0]
    assert first.item_id == "i5"  # other, which leads, is right, and best is not
    assert first.why == "1 of 2 got it right: other."
    order = in_order(standing)
    assert order[0].id == "i5"
    assert sorted(i.id for i in order) == sorted(i.id for i in standing.exam.items)


def test_the_gallery_has_failures_of_each_sort_about_different_types() -> None:
    found = {(p.tag, p.item_id): p for p in pick(stand(exam(), QUICK))}
    assert found["none right", "i6"].why == "None of 2 is right. The annotations hold the answer."
    assert {id_ for tag, id_ in found if tag == "leader wrong"} <= {"i3", "i4"}
    assert len({id_ for _, id_ in found}) == len(found)


def test_what_one_system_alone_has_wrong_is_shown_first() -> None:
    items = small_items()
    runs = (make_run("only", items, "20"), make_run("notes", items, "2", "upper"))
    standing = stand(Exam("moment", "moments", items, runs), QUICK)
    first = pick(standing)[0]
    assert (first.item_id, first.tag, first.why) == (
        "i1",
        "wrong",
        "only is wrong. The annotations hold the answer.",
    )
    assert in_order(standing)[0].id == "i1"


def test_a_model_that_a_rehearsal_played_is_called_so_on_the_leaderboard() -> None:
    items = small_items()
    runs = (replace(make_run("model", items, "20"), played=True), make_run("mine", items, "02"),
            replace(make_run("blind", items, "0", "floor"), played=True))  # fmt: skip
    page = render_page(compose(replace(small_data(), exams=(Exam("moment", "moments", items, runs),)), QUICK))
    board = page[page.index('aria-label="Leaderboard"') :].partition("</table>")[0]
    tags = dict(
        re.findall(
            r'<th scope="row"[^>]* title="(\w+)"[^>]*>(?:(?!</th>).)*?<span class="tag">(\w+)</span>', board
        )
    )
    assert tags == {"model": "rehearsed", "blind": "floor"}


def test_floors_are_looked_at_where_there_is_no_system() -> None:
    items = small_items()
    runs = (
        make_run("constant", items, "20", "floor"),
        make_run("chance", items, "02", "floor"),
        make_run("notes", items, "2", "upper"),
    )
    standing = stand(Exam("moment", "moments", items, runs), QUICK)
    assert {line.run.name for line in takers(standing)} == {"constant", "chance"}
    assert pick(standing)[0].tag == "separates runs"
    assert pick(stand(Exam("moment", "moments", items), QUICK)) == []


def cards(standing: Standing) -> tuple[ExampleView, ...]:
    return take(example_cards(standing, lambda _: Evidence(), {}, {}))


def test_runs_that_said_the_same_and_got_the_same_stand_in_one_line() -> None:
    items = small_items(3)
    first = make_run("a", items, "0")
    alike = [
        replace(run, predictions=first.predictions, judgements=first.judgements)
        for run in (first, make_run("b", items, "0"), make_run("c", items, "0"))
    ]
    (answer,) = cards(stand(Exam("e", "e", items, tuple(alike)), QUICK))[0].answers
    assert (answer.system, answer.also, answer.score) == ("a", ("b", "c"), 0.0)


def test_reasons_of_rules_are_in_plain_words() -> None:
    items = small_items(1)
    run = make_run("a", items, "0")
    why = "nearest gold 2, 'Put the bag into the mug.': says nothing that the gold says (0.00)"
    judged = msgspec.structs.replace(run.judgements[0], judge="rules-2(partial=0.4,match=0.7)", rationale=why)
    (answer,) = cards(stand(Exam("e", "e", items, (replace(run, judgements=(judged,)),)), QUICK))[0].answers
    assert (
        answer.more[0]
        == "by rule: compared with accepted answer 2: says nothing that the accepted answer says"
    )


def test_the_moments_own_frame_is_always_there_and_earlier_ones_give_way() -> None:
    def frame(n: int, k: int) -> SourceView:
        picture = f"data:image/webp;base64,{n:03}{k}" + "A" * (MAX_PICTURES // 20)
        return SourceView(f"{n}-{k}", "frame", "", "t", picture=picture)

    offered = [
        ExampleView(str(n), "k", "?", "!", sources=tuple(frame(n, k) for k in range(4))) for n in range(40)
    ]
    taken = take(offered)
    assert 5 <= len(taken) < 20
    for n, card in enumerate(taken):
        assert [s.id for s in card.sources][-1] == f"{n}-3"
    assert len(taken[0].sources) == 4
    assert len(taken[-1].sources) == 1
    assert sum(len(s.picture) for card in taken for s in card.sources) <= MAX_PICTURES
    assert len(render_page(Page("p", examples=taken)).encode()) < 4_000_000


def test_the_page_opens_with_the_result_a_chart_and_a_striking_example() -> None:
    made = exam()
    page = compose(small_data(exams=(made,), examples=cards(stand(made, QUICK))), QUICK)
    assert "other is first of 2 systems" in page.lead[0]
    (chart,) = page.charts
    assert isinstance(chart, Drawn)
    assert chart.markup.count('class="band low"') == 2  # behind each system
    assert "what the best floor reaches without the evidence (8.3)" in chart.guide
    assert chart.markup.count('class="bound"') == 2
    assert "The upright line: the upper bound (100.0)." in chart.guide
    assert page.striking is not None
    assert page.striking.item == page.examples[0].id == "i5"
    assert [a.code for a in page.striking.answers] == ["match", "wrong"]
    assert {h.tag for h in page.gallery} >= {"none right"}
    assert highlights(stand(made, QUICK), ()) == []  # what is not on the page is not shown apart


def test_what_lies_beyond_the_upper_bound_is_shaded_too() -> None:
    items = small_items()
    runs = (make_run("best", items, "2220"), make_run("notes", items, "222222222220", "upper"))
    chart = standing_plot(stand(Exam("moment", "moments", items, runs), QUICK))
    assert chart is not None
    assert chart.markup.count('class="band high"') == 1
    assert "The upright line: the upper bound (91.7); shaded beyond." in chart.guide


def test_numbers_lead_to_their_questions_and_few_are_grey() -> None:
    page = compose(small_data(exams=(exam(),)), QUICK)
    section = page.sections[0]
    heat = next(p for p in section.parts if isinstance(p, Heat) and p.title.startswith("Question types"))
    assert heat.columns[:2] == ("other", "best")
    assert heat.counts[0][0] == 4
    assert heat.few(0, 0)
    assert heat.finds[0][0] == (("exam", "moments"), ("run", "other"), ("type", "next"))
    tables = {part.title: part for part in section.parts if isinstance(part, Table)}
    differ = tables["Which runs differ significantly"]
    both = [cell.find for row in differ.rows for cell in row[1:] if isinstance(cell, Cell) and cell.text]
    assert (("exam", "moments"), ("run", "other"), ("other", "best")) in both
    assert len(set(both)) == 12  # of four runs, each with each
    board = tables["Leaderboard"]
    own = (("exam", "moments"), ("run", "other"))
    first = dict(zip(board.head, board.rows[0], strict=True))
    assert first["Questions"] == Cell("12", find=own)
    assert first["Coverage"] == Cell("100.0 %", "12 of 12", "soft", find=own)
    facts = next(dict(one.facts) for one in page.sections if one.id == "benchmark")
    assert facts["questions: moments"] == Cell("12", find=(("exam", "moments"),))
    beside = tables["other beside best"]
    cells = [c for c in beside.rows[0] if not isinstance(c, str)][1:]
    assert [c.text for c in cells] == ["3", "7", "2"]
    assert cells[2].find == (("exam", "moments"), ("run", "other"), ("other", "best"), ("than", "worse"))


def test_frames_name_their_step_and_its_mistakes_and_the_last_one_is_the_moment() -> None:
    (item,) = small_items(1)
    frames = tuple(SourceView(f"{t}", "frame", "", f"{t} s", time=t) for t in (0.5, 30.0, 61.4))
    shown = [s for s in moment_evidence(GRAPHS, lambda _: frames)(item).sources if s.modality == "frame"]
    assert [s.role for s in shown] == ["", "", "the moment"]
    assert [(s.text, s.mark) for s in shown] == [("", ""), *[("Boil two cups of water", "measurement")] * 2]
