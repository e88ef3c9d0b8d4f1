"""Questions: which categories are asked of a step, what they say and do not give away, and their right answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from proctor.ask.step.entry import Entry
from proctor.ask.step.questions import CATEGORIES, CATEGORY_TEMPLATES, STEP, Asker, categories_of
from proctor.exam.question import Choice, Footage, Open, Pick, Text, check_questions
from proctor.learn.samples import read_step_data
from proctor.learn.zeroshot.entries import entries_of

ENTRY = Entry("1_7", 3, "12", "Whisk 1 egg with a fork", "Omelette", "1", 3.0, 9.0)
THINGS = {"1": ("bowl", "fork", "plate", "egg"), "2": ("kettle", "mug")}
ASKER = Asker(THINGS)


def text(entry: Entry, category: str) -> str:
    return ASKER.item(entry, category).question.text


@pytest.mark.parametrize(
    ("step", "before", "asked"),
    [
        ("Stir", (), "technique missing"),
        ("Whisk 1 egg with a fork", (), "technique preparation missing measurement"),
        ("Microwave the mug for 2 minutes", ("Stir",), "technique preparation order missing temperature timing"),
        ("Heat the pan on medium-high heat", (), "technique preparation missing temperature"),
        ("Pour it into a microwave-safe cup", (), "technique preparation missing"),
        ("Whisk the baking powder in", (), "technique preparation missing"),
        ("Coat the cup with cooking spray", (), "technique missing"),
    ],
)  # fmt: skip
def test_a_category_is_skipped_where_the_step_has_nothing_of_it(
    step: str, before: tuple[str, ...], asked: str
) -> None:
    entry = replace(ENTRY, text=step, before=before)
    assert categories_of(entry, "v2", "right") == tuple(asked.split())
    assert categories_of(entry, "v2", "published") == CATEGORIES
    assert categories_of(entry, "v1", "published") == (STEP,)


def test_each_question_says_what_its_category_needs() -> None:
    heat = replace(
        ENTRY, text="Cook the egg on medium heat for 2 minutes", before=("Whisk it.", "Heat the pan")
    )
    assert '"Whisk it" and "Heat the pan" comes before' in text(heat, "order")
    assert "needs medium heat or power." in text(heat, "temperature")
    assert "to last 2 minutes." in text(heat, "timing")
    assert "asks for 1 egg." in text(ENTRY, "measurement")
    for category in (STEP, "missing", "technique"):
        assert '"Whisk 1 egg with a fork"' in text(ENTRY, category)
        assert "Omelette" in text(ENTRY, category)
    assert text(ENTRY, STEP) == text(ENTRY, "missing")


def test_what_was_used_is_one_of_four_and_not_named_by_the_question() -> None:
    item = ASKER.item(ENTRY, "preparation")
    form = item.question.form
    assert isinstance(form, Choice)
    assert '"Whisk 1 egg with a …"' in item.question.text
    assert (
        sorted(form.options)[1] == "fork"
    )  # of the recipe bowl and plate, then one of another; no egg: the step has one
    assert {"bowl", "fork", "plate"} < set(form.options)
    assert len(form.options) == 4
    place = form.options.index("fork")
    assert item.question.facts["right"] == place
    assert [g.value for g in item.golds] == [Pick(option=place)]
    wrong = ASKER.item(replace(ENTRY, kinds=("preparation",)), "preparation")
    assert [g.value for g in wrong.golds] == [Pick(option=n) for n in range(4) if n != place]
    assert (
        ASKER.item(replace(ENTRY, recording="1_9"), "preparation").question.form == form
    )  # equal questions are one call


def test_one_and_many_of_a_thing_are_not_two_options() -> None:
    asker = Asker({"1": ("tomato", "tomatoes", "bowl", "onion", "onions", "fork", "plate")})
    for step in ("Rinse a tomato", "Slice the tomatoes", "Wash the plate"):
        form = asker.item(replace(ENTRY, text=step), "preparation").question.form
        assert isinstance(form, Choice)
        assert len({o.removesuffix("es").removesuffix("s") for o in form.options}) == 4, form.options


def test_an_option_ends_where_its_clause_does() -> None:
    entry = replace(ENTRY, text="Let it drain into the mug before removing the dripper")
    form = Asker({"1": ("bowl", "fork", "plate")}).item(entry, "preparation").question.form
    assert isinstance(form, Choice)
    assert "mug" in form.options


def test_with_too_few_other_things_it_is_a_question_of_yes_or_no() -> None:
    item = Asker({"1": ("fork",)}).item(ENTRY, "preparation")
    assert isinstance(item.question.form, Open)
    assert item.question.facts["right"] == -1


def test_right_answers_follow_the_category() -> None:
    entry = replace(ENTRY, kinds=("timing",))
    said = {c: ASKER.item(entry, c).golds[0].value for c in (STEP, "timing", "technique")}
    assert said == {STEP: Text(text="no"), "timing": Text(text="no"), "technique": Text(text="yes")}
    question = ASKER.item(entry, "timing", of="asked").question
    assert question.evidence == (Footage(recording="1_7", start=3.0, end=9.0),)
    assert (question.id, question.cluster) == ("asked/1_7:3:timing:none", "1_7")


def test_every_template_can_be_filled_and_names_the_step() -> None:
    for category, templates in CATEGORY_TEMPLATES.items():
        assert len({t.name for t in templates}) == len(templates) > 1
        for template in templates:
            made = template.text.format(
                step="STEP", recipe="RECIPE", before="B", amount="A", heat="H", time="T"
            )
            assert "STEP" in made, category
            assert "RECIPE" in made, category


@pytest.mark.shared
def test_how_many_are_asked_of_the_real_steps(shared_data: Path) -> None:
    entries, _ = entries_of(read_step_data(shared_data / "captaincook4d")[0])
    asker = Asker.of(entries)
    counts = Counter(c for e in entries for c in categories_of(e, "v2", "right"))
    assert counts == COUNTS
    assert sum(len(categories_of(e, "v2", "published")) for e in entries) == 7 * 5700
    lost = Counter(
        k for e in entries for k in e.kinds if k in CATEGORIES and k not in categories_of(e, "v2", "right")
    )
    assert lost == LOST
    mistakes = Counter(k for e in entries for k in e.kinds)
    page = (Path(__file__).parents[3] / "docs" / "zeroshot.md").read_text(encoding="utf-8")
    told = {
        row[1].strip(): row[3:5] for row in (line.split("|") for line in page.splitlines()) if len(row) == 6
    }
    for c in CATEGORIES:
        assert [cell.strip() for cell in told[c]] == [f"{counts[c]:,}", f"{lost[c]} of {mistakes[c]}"], c
    assert f"{counts.total():,} questions in place of 39,900" in page
    items = [asker.item(e, c) for e in entries for c in categories_of(e, "v2", "published")]
    check_questions(item.question for item in items)
    right = Counter(item.question.facts["right"] for item in items if isinstance(item.question.form, Choice))
    assert (
        min(right.values()) > 0.22 * right.total()
    )  # no place of the right option is much rarer than others
    for item in items:
        if isinstance(item.question.form, Choice):
            assert (
                item.question.form.options[item.question.facts["right"]]
                not in item.question.text.split('"')[1].split()
            )


COUNTS = {
    "technique": 5700, "missing": 5700, "preparation": 4780, "order": 4337, "measurement": 2506, "temperature": 1070,
    "timing": 652,
}  # fmt: skip
LOST = {"preparation": 45, "order": 142, "measurement": 22, "timing": 17, "temperature": 2}
"""Mistakes of a category in steps that have nothing of it: what skipping costs at most."""
