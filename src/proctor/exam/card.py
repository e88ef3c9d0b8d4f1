"""What people see beside a question when they verify it, as data: the studio has one look for each part, and no kind writes HTML."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from proctor.exam.lines import Line
from proctor.exam.question import Footage, Picture, Procedure, Question, Source, Words
from proctor.said import say

if TYPE_CHECKING:
    from proctor.exam.kinds.example import Example
    from proctor.exam.library import Library

__all__ = ["GENERAL", "Criterion", "Exhibited", "Judging", "evidence_parts"]


class Exhibited(NamedTuple):
    """One part of a card; whatever it has is shown, in this order.

    Attributes:
        heading: what it is.
        text: in words.
        header: of a table.
        rows: of a table.
        lines: what is known, one by one.
        picture: file of its pixels, which the studio reads (``proctor.corpus.picture``) and sends; None where there are none.
        sound: file of one that browsers play, which the studio sends; None where there is none.
        link: the text is an address of the web.
        footage: of a recording; None where there is none. The studio plays the first of the question.
        progress: what was done of a procedure, with its task graph; the studio draws it. None where there is none.
    """

    heading: str
    text: str = ""
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    lines: tuple[Line, ...] = ()
    picture: Path | None = None
    sound: Path | None = None
    link: bool = False
    footage: Footage | None = None
    progress: Example | None = None


class Criterion(NamedTuple):
    """What a right question fulfils, with a one-line example."""

    text: str
    example: str


class Judging(NamedTuple):
    """How people judge questions of a kind.

    Attributes:
        criteria: of a right question.
        reasons: why one is wrong, by code.
        guideline: text to begin with, in Markdown.
        ask: what is asked about the proposed answers.
    """

    criteria: tuple[Criterion, ...]
    reasons: Mapping[str, str]
    guideline: str
    ask: str = say("Are these right answers?")


def evidence_parts(question: Question, library: Library) -> tuple[Exhibited, ...]:
    """Return the parts of evidence in order."""
    found = []
    for part in question.evidence:
        if isinstance(part, Footage):
            found.append(Exhibited(say("Recording"), footage=part))
        elif isinstance(part, Words):
            found.append(Exhibited(say("Text"), part.text))
        elif isinstance(part, Picture):
            found.append(_picture(part, library))
        elif isinstance(part, Source):
            found.append(_source(part, library))
        elif isinstance(part, Procedure):
            found.append(_procedure(part, library))
    return tuple(found)


def _picture(part: Picture, library: Library) -> Exhibited:
    from proctor.corpus.collection import find_image  # few questions have pictures, and it loads arrays

    file = find_image(library.root, part.path)
    if isinstance(file, Path):
        return Exhibited(say("Picture"), part.caption, picture=file)
    why = say("(Not shown: {why}.)", why=file.detail)
    text = (
        say("{caption} (Not shown: {why}.)", caption=part.caption, why=file.detail) if part.caption else why
    )
    return Exhibited(say("Picture"), text)


def _source(part: Source, library: Library) -> Exhibited:
    source = library.corpus.get(part.id) if library.corpus is not None else None
    if source is None or library.corpus is None:
        return Exhibited(say("Source"), say("The source '{id}' is not there.", id=part.id))
    if source.modality == "table":
        return Exhibited(
            " – ".join(filter(None, (source.title, source.section))) or say("Table"),
            "",
            source.header,
            source.rows,
        )
    if source.modality == "image":
        from proctor.corpus.source import render_source  # few kinds have sources

        return Exhibited(say("Image"), render_source(source), picture=library.corpus.pixels(source))
    return Exhibited(source.title or say("Text"), source.body)


def _procedure(part: Procedure, library: Library) -> Exhibited:
    graph = library.graphs.get(part.id)
    steps = graph.actions if graph is not None else ()
    title = part.title or (graph.name if graph is not None else part.id)
    return Exhibited(
        say("Procedure: {title}", title=title), lines=tuple(Line(step.id, step.text) for step in steps)
    )


_GUIDELINE = """\
You judge questions that are to become an exam, and what was proposed as their answers.

# One item, step by step

1. **Look at what is shown:** the recording, the sources or the picture. Nothing else counts.
2. **Judge the question.**
3. If the question is right, **judge each proposal** on its own. Where there are options, each says whether it is meant to
   be right or wrong: say *yes* if that holds.
4. **Add answers** that are right and missing, where the page asks for them.
5. Submit. You can change what you submitted until the coordinator closes this part of the work.

# A question is right when all of these hold

- **It can be answered from what is shown,** and not without it.
- **It needs nothing from outside.**
- **It has one meaning.**
- **It is natural, clear and grammatical.**

If one of them fails, the question is wrong. You then need not judge its answers.

# An answer is right when

- it is true by what is shown, and
- it answers the question that was asked, completely where the question asks for all.

An answer that names something true and something false is wrong. Style does not matter as long as you understand it.

# When you cannot judge

Use *Can't judge* when something does not play, a text is broken, or you do not want to see it. The item goes back to the
coordinator and does not count against you. If you are only unsure, decide for what is more likely.

Work alone. Do not look for the material elsewhere, and do not ask a chat assistant: we need your judgement.
"""

GENERAL = Judging(
    criteria=(
        Criterion(
            say("It can be answered from what is shown, and not without it"),
            say("Common sense alone must not be enough; what is shown must be."),
        ),
        Criterion(
            say("It needs no knowledge from outside"),
            say("Names, dates or facts that nothing here tells are outside."),
        ),
        Criterion(say("It has one meaning"), say("Two careful readers would look for the same answer.")),
        Criterion(say("It is natural, clear and grammatical"), say("A person could ask it like this.")),
    ),
    reasons={
        "not-needed": say("It can be answered without what is shown"),
        "unanswerable": say("What is shown does not answer it"),
        "outside-knowledge": say("It needs knowledge from elsewhere"),
        "unclear": say("It is unclear or can be read in two ways"),
        "language": say("The language is wrong or not natural"),
    },
    guideline=_GUIDELINE,
)
"""How questions of a kind are judged that says nothing else."""
