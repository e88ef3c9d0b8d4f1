"""The page of a zero-shot run: whether it is better than not looking, by category, and steps with what was asked and said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from proctor.exam.prediction import Prediction
from proctor.exam.question import Choice, Item
from proctor.learn.zeroshot.competing import Competition
from proctor.learn.zeroshot.deciding import Replies
from proctor.learn.zeroshot.figures import CategoryFigures, Figures, Row
from proctor.report.numbers import number, show_value
from proctor.report.parts import AnswerView, Cell, ExampleView, Page, Paragraph, Section, Table

__all__ = ["zeroshot_page"]

CARDS: Final = 200
"""Steps that a page shows; taken evenly, those that were called wrongly and rightly alike."""
_TONES: Final = {"run": "own", "chance": "floor", "published": "floor"}
_HEAD: Final = ("", "accuracy", "precision", "recall", "F1")
_MARKS: Final = {"mistake": "signals a mistake", "fine": "signals none", "failed": "no reply"}


def zeroshot_page(
    title: str,
    figures: Figures,
    replies: Replies,
    called: Sequence[bool],
    items: Sequence[Item],
    predictions: Sequence[Prediction],
    competitions: Sequence[Competition],
    method: Sequence[tuple[str, str]],
) -> Page:
    """Return the page; equal runs give equal pages.

    Args:
        title: heading.
        figures: of the run.
        replies: what was said of the scored entries.
        called: which of them are called a mistake.
        items: the questions.
        predictions: the answers.
        competitions: how wordings competed.
        method: what has to be known to make it again.
    """
    facts = (
        ("steps", f"{figures.n:,}"),
        ("mistakes", f"{figures.mistakes:,} ({100 * figures.mistakes / max(1, figures.n):.1f} %)"),
        ("recordings", f"{len({e.recording for e in replies.entries}):,}"),
        ("questions", f"{sum(sum(said.values()) for said in figures.said.values()):,}"),
    )
    note = (
        "In per cent, of steps; positive is the mistake. Below each figure its 95 % interval, from drawing whole recordings. "
        "Published rows are about all 5,700 entries, 287 of which have no clip."
    )
    table = Table("Called a mistake or not", _HEAD, tuple(map(_row, figures.rows)), note)
    summary = (Paragraph(figures.verdict, beware=True), table, _replies(figures))
    sections = [Section("summary", "Better than not looking?", summary, facts)]
    if figures.categories:
        sections.append(Section("categories", "Categories", tuple(map(_category, figures.categories))))
    if competitions:
        sections.append(Section("wordings", "Wordings", (_wordings(competitions),)))
    cards, left = _cards(replies, called, items, predictions)
    return Page(
        title,
        (
            "A vision-language model was asked about each step of a recording whether it was carried out as it should be.",
        ),
        sections=tuple(sections),
        examples=cards,
        left=left,
        examples_title="Steps",
        examples_note=f"{len(cards):,} of {figures.n:,} steps, taken evenly, with what was asked of them and what was said.",
        method=tuple(method),
    )


def _row(row: Row) -> tuple[Cell, ...]:
    figures = (row.accuracy, row.precision, row.recall, row.f1)
    digits = 2 if row.source == "published" else 1
    head = Cell(
        row.name, figures[0].note if row.source == "published" else "", _TONES[row.source], tag=row.source
    )
    return (head, *(number(figure, digits, scale=100) for figure in figures))


def _replies(figures: Figures) -> Table:
    head = ("category", *next(iter(figures.said.values()), {}))
    rows = tuple((category, *(f"{n:,}" for n in said.values())) for category, said in figures.said.items())
    note = (
        "What replies come to. Whatever is neither a mistake nor fine counts as “no mistake”: a reply that hedges, says nothing, "
        "cannot be read, or did not come."
    )
    return Table("What was said", head, rows, note)


def _category(found: CategoryFigures) -> Table:
    skipped = (
        f"; {found.unasked:,} such mistakes are in steps that it was not asked of" if found.unasked else ""
    )
    note = f"Asked of {found.asked:,} steps; {found.mistakes:,} carry such a mistake{skipped}."
    return Table(found.category.capitalize(), _HEAD, tuple(map(_row, found.rows)), note)


def _wordings(competitions: Sequence[Competition]) -> Table:
    rows: tuple[tuple[str | Cell, ...], ...] = tuple(
        (
            Cell(c.category, tag="chosen" if one.name == c.chosen else ""),
            one.text,
            f"{one.n:,}",
            *(show_value(None if v is None else 100 * v) for v in (one.balanced, one.f1)),
            f"{one.unread:,}",
        )
        for c in competitions
        for one in c.tried
    )
    note = (
        "Each wording on the same steps of the training part, half of them with such a mistake; the best balanced accuracy is chosen, "
        "of equals the first. So few steps hardly tell wordings apart."
    )
    head = ("category", "wording", "steps", "balanced accuracy", "F1", "said nothing")
    return Table("How wordings competed", head, rows, note, words=frozenset({1}))


def _cards(
    replies: Replies, called: Sequence[bool], items: Sequence[Item], predictions: Sequence[Prediction]
) -> tuple[tuple[ExampleView, ...], int]:
    asked: dict[str, list[Item]] = {}
    for item in items:
        asked.setdefault(str(item.question.facts["entry"]), []).append(item)
    answers = {p.item_id: p for p in predictions}
    every = max(1, -(-len(replies.entries) // CARDS))
    shown = list(zip(replies.entries, called, strict=True))[::every]
    cards = []
    for entry, call in shown:
        mark = "right" if call == entry.mistaken else "missed" if entry.mistaken else "false alarm"
        facts = (
            ("recording", entry.recording),
            ("recipe", entry.recipe),
            ("clip", f"{entry.start:.1f} to {entry.end:.1f} s ({entry.clip})"),
        )
        cards.append(
            ExampleView(
                entry.id,
                f"{entry.recording}, {mark}",
                entry.text,
                "A mistake: " + ", ".join(entry.kinds) if entry.kinds else "No mistake.",
                facts,
                answers=tuple(_answer(item, replies, answers, mark) for item in asked.get(entry.id, ())),
                facets={"decision": mark, "recipe": entry.recipe},
            )
        )
    return tuple(cards), len(replies.entries) - len(cards)


def _answer(item: Item, replies: Replies, answers: Mapping[str, Prediction], mark: str) -> AnswerView:
    question, made = item.question, answers.get(item.id)
    category = question.facets["category"]
    said = replies.said[str(question.facts["entry"]), category]
    options = question.form.options if isinstance(question.form, Choice) else ()
    text = "" if made is None else made.answer if made.answer is not None else made.failure
    more = (question.text, *([" / ".join(options)] if options else []))
    return AnswerView(category, text or "(nothing)", _MARKS.get(said, said), more, code=mark)
