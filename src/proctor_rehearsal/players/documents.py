"""The models that write questions about documents, and of evaluation over sources, played from what their prompts say.

Nothing is looked up but what a model may know (closed book, from the corpus of the workspace): a namer of entities takes
titles and names, a writer asks for facts that it finds in the sources, a verifier checks the values of an answer against them,
an answerer reads a question and looks for its parts, a marker compares values. A model of quality *q* errs in a share of
``1 - q`` of its replies; how, is said in ``MISTAKES`` and at each role.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from proctor.corpus.source import Source, render_source
from proctor.errors import UserError
from proctor.records import read_jsonl
from proctor_rehearsal.players.documents_facts import (
    Fact,
    ShownSource,
    facts_of,
    number_of,
    plain,
    quoted,
    says,
    solve,
    sum_of,
    title_of,
)
from proctor_rehearsal.players.documents_reading import DocumentsAsked
from proctor_rehearsal.standin.answer import Answer
from proctor_rehearsal.standin.behaviours import pick

__all__ = ["MISTAKES", "Knowledge", "play_documents"]

MISTAKES: Final = {
    "declines": 3.0,
    "refuses": 0.5,
    "wrong citation": 1.0,
    "no citation": 0.5,
    "other sources": 1.5,
    "another form": 1.0,
    "names sources": 1.0,
    "wrong value": 2.0,
    "spare source": 1.5,
}
"""Kinds of mistakes in a question and how often they are made, in proportion."""

_KNOWN: Final = 0.3
"""Of quality, the share of questions that a model answers without any source."""
_UNREADABLE: Final = 0.1
"""Of what is not quality, the share of verdicts and marks that cannot be read at first."""
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][\w'-]+(?: (?:of |the )?[A-Z][\w'-]+){0,3}")
_REFUSAL: Final = "I'm sorry, but I can't help with questions about this material."
_KINDS: Final = ("text", "table", "image")


class Knowledge:
    """What a model knows without sources: a corpus, read when it is needed first.

    Args:
        folder: of the corpus; where there is none, nothing is known.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "sources.jsonl"
        self._texts: list[tuple[str, str]] | None = None

    def about(self, question: str) -> list[str]:
        """Return texts of sources whose titles are in a question."""
        if self._texts is None:
            self._texts = [(title.lower(), text) for text in self._read() if (title := _title(text))]
        asked = question.lower()
        return [text for title, text in self._texts if title in asked]

    def _read(self) -> list[str]:
        try:
            sources: list[Source] = read_jsonl(self._path, Source) if self._path.exists() else []
        except UserError:  # whoever uses the corpus is told
            return []
        return [render_source(source) for source in sources]


def _title(text: str) -> str:
    return re.split(r"[:.\n(]", text, maxsplit=1)[0].strip()


def play_documents(asked: DocumentsAsked, quality: float, seed: int, knowledge: Knowledge) -> Answer:
    """Reply to a request in its role."""
    if asked.role == "answer":
        return _answer(asked, quality, seed, knowledge)
    roles: dict[str, Callable[[DocumentsAsked, float, int], Answer]] = {
        "entity": _entity,
        "question": _question,
        "combination": _combination,
        "verification": _verify,
        "mark": _mark,
        "verbalise": _verbalise,
        "rerank": _rerank,
    }
    return roles[asked.role](asked, quality, seed)


# -- entity and description ----------------------------------------------------------------------------------------


def _entity(asked: DocumentsAsked, quality: float, seed: int) -> Answer:
    """Name the title, or another name of the source; a bad model declines or writes an essay."""
    call, source = asked.call, asked.sources[0]
    title = re.sub(r"\s*\([^()]*\)$", "", re.split(r": |\. |\n", source.text, maxsplit=1)[0]).rstrip(".")
    slip = call.draw("entity", seed)
    if slip < 0.1 * (1 - quality):
        return Answer(text="None")
    names = [n for n in dict.fromkeys(_NAME.findall(source.text)) if n not in title]
    if slip < 0.2 * (1 - quality):
        return Answer(
            text=f"This source is mainly about {title_of(source)} and about many other things that matter"
        )
    name = title_of(source)
    if names and call.draw("which", seed) < 0.3:
        name = pick(call, names, "name", seed)
    form = pick(call, ("{}", "{}", "{}", "- {}", "**{}**", "{}."), "form", seed)
    return Answer(text=form.format(" ".join(name.split()[:8])))


def _verbalise(asked: DocumentsAsked, quality: float, seed: int) -> Answer:
    """Describe a picture: the same words for the same picture and caption."""
    call = asked.call
    caption = asked.blocks.get("caption", "")
    colour = pick(call, ("grey", "blue", "green", "red", "brown"), "colour", seed)
    place = pick(call, ("in the middle", "on the left", "in the background"), "place", seed)
    if call.draw("nothing", seed) < 0.05 * (1 - quality):
        return Answer(text="NONE")
    subject = f"It belongs to {caption}." if caption else "There is no lettering."
    return Answer(text=f"Something large and {colour} stands {place}, in front of a light sky. {subject}")


def _rerank(asked: DocumentsAsked, quality: float, seed: int) -> Answer:
    """Put sources that answer a part of the question first."""
    call, question = asked.call, asked.blocks["question"]
    helps = {s.number: bool(solve(question, [s.text])[0]) for s in asked.sources}
    wrong = {n: call.draw("rerank", seed, n) > quality for n in helps}
    order = sorted(helps, key=lambda n: (helps[n] == wrong[n], n))
    return Answer(text=", ".join(map(str, order)))


# -- writing -------------------------------------------------------------------------------------------------------


def _question(asked: DocumentsAsked, quality: float, seed: int) -> Answer:
    """Write a question on sources that have what the style needs, as many of each kind as are wanted."""
    chosen = _chosen(asked, seed)
    written = None if chosen is None else _write(asked, chosen, seed)
    if chosen is None or written is None:
        return Answer(text="None")
    question, answer = written
    numbers = [source.number for source in chosen]
    if asked.again or asked.call.draw("right", seed) < quality:
        return Answer(text=f"{question} | {answer} | {', '.join(map(str, numbers))}")
    return _spoilt(asked, question, answer, numbers, seed)


def _chosen(asked: DocumentsAsked, seed: int) -> list[ShownSource] | None:
    """Return as many sources of each kind as are wanted, one where nothing is said; None where there are too few."""
    entity = asked.blocks.get("entity", "")
    usable = [s for s in asked.sources if _facts(asked, s, seed)]
    if asked.style == "a fact about the entity":
        usable = [s for s in usable if any(w.lower() in s.text.lower() for w in entity.split())]
    wanted = asked.wanted
    if wanted is None:
        return usable[:1] or None
    order = sorted(usable, key=lambda s: (entity.lower() not in s.text.lower(), s.number))
    chosen: list[ShownSource] = []
    for kind, count in zip(_KINDS, wanted, strict=True):
        of_kind = [s for s in order if s.kind == kind][:count]
        if len(of_kind) < count:
            return None
        chosen += of_kind
    return chosen


def _facts(asked: DocumentsAsked, source: ShownSource, seed: int) -> list[Fact]:
    """Return the facts of a source that fit the style, in an order of this request."""
    facts = facts_of(source)
    if asked.style == "numerical":
        facts = [fact for fact in facts if number_of(fact.value) is not None]
    return sorted(facts, key=lambda fact: asked.call.draw("fact", seed, source.number, fact.part))


def _write(asked: DocumentsAsked, chosen: Sequence[ShownSource], seed: int) -> tuple[str, str] | None:
    if asked.style == "a question whose answer is the entity":
        return _about_entity(asked.blocks.get("entity", ""), chosen)
    facts = [_facts(asked, source, seed)[0] for source in chosen]
    if asked.style == "numerical":
        if len(chosen) == 1:
            facts += _facts(asked, chosen[0], seed)[1:2]
        total = sum_of([fact.value for fact in facts])
        said = " ".join(fact.said for fact in facts)
        joined = " and ".join(f'"{fact.value}"' for fact in facts)
        return f"Added up, {_parts(facts)}?", f"{said} Added up, {joined} make {total}."
    said = " ".join(fact.said for fact in facts)
    if asked.style == "compare and contrast":
        titles = " and ".join(dict.fromkeys(title_of(source) for source in chosen))
        return f"How do {titles} compare: {_parts(facts)}?", f"They are of one kind and differ. {said}"
    if asked.style == "a fact about the entity":
        entity = asked.blocks.get("entity", "")
        return f"{_capital(_parts(facts))}, as far as {entity} goes?", said
    return f"{_capital(_parts(facts))}?", said


def _parts(facts: Sequence[Fact]) -> str:
    return ", and ".join(fact.part for fact in facts)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _about_entity(entity: str, chosen: Sequence[ShownSource]) -> tuple[str, str] | None:
    """Ask for the name that a sentence of the sources lacks, or that goes with a title."""
    masked = []
    for source in chosen:
        sentences = re.split(r"(?<=[.!?])\s+|\n", source.text)
        lines = [s for s in sentences if re.search(rf"\b{re.escape(entity)}\b", s, re.IGNORECASE)]
        if lines:
            line = re.sub(re.escape(entity), "…", lines[0], flags=re.IGNORECASE)
            line = line.replace('"', "'").replace(" | ", ", ").replace("|", " ")
            masked.append(f'is the gap in "{line[:160]}"')
        elif entity.lower() not in source.title.lower():
            masked.append(f"goes with {title_of(source)}")
        else:
            return None
    return f"Which name {' and '.join(masked)}?", entity


def _spoilt(asked: DocumentsAsked, question: str, answer: str, numbers: list[int], seed: int) -> Answer:
    """Make one of the mistakes that models make."""
    cited = ", ".join(map(str, numbers))
    kind = _mistake(asked, seed)
    if kind == "refuses":
        return Answer(text=_REFUSAL, outcome="refusal")
    if kind == "wrong citation":
        return Answer(text=f"{question} | {answer} | {cited}, {len(asked.sources) + 3}")
    if kind == "no citation":
        return Answer(text=f"{question} | {answer} | none of them by number")
    if kind == "other sources":
        others = [s.number for s in asked.sources if s.number not in numbers]
        return Answer(text=f"{question} | {answer} | {', '.join(map(str, [*numbers, *others[:1]]))}")
    if kind == "another form":
        return Answer(text=f"Question: {question}\nAnswer: {answer}\nSources: {cited}")
    if kind == "names sources":
        return Answer(
            text=f"According to the text, {question[:1].lower()}{question[1:]} | {answer} | {cited}"
        )
    if kind == "wrong value":
        return Answer(text=f"{question} | {_wrong(answer)} | {cited}")
    if kind == "spare source" and len(numbers) > 1:
        kept = re.split(r"(?<=\.) (?=[A-Z])", answer)
        return Answer(text=f"{question} | {' '.join(kept[:-1]) or answer} | {cited}")
    return Answer(text="None")


def _mistake(asked: DocumentsAsked, seed: int) -> str:
    place = asked.call.draw("mistake", seed) * sum(MISTAKES.values())
    for kind, weight in MISTAKES.items():
        place -= weight
        if place < 0:
            return kind
    return "declines"


def _wrong(answer: str) -> str:
    """Put something else in the place of the first value."""
    values = quoted(answer)
    return answer.replace(f'"{values[0]}"', f'"not {values[0]}"') if values else f"not {answer}"


def _combination(asked: DocumentsAsked, quality: float, seed: int) -> Answer:
    """Describe the entity in the first question by the second one; a bad model names it all the same."""
    blocks, call = asked.blocks, asked.call
    entity = blocks.get("entity", "")
    first, second = blocks["part question 1"], blocks.get("part question 2", "")
    description = "the name that " + re.sub(r"^Which name |\?$", "", second)
    slip = call.draw("right", seed) >= quality and not asked.again
    if slip and call.draw("how", seed) < 0.5:
        return Answer(text="None")
    question = re.sub(re.escape(entity), lambda _: description, first, count=1, flags=re.IGNORECASE)
    question = re.sub(re.escape(entity), "it", question, flags=re.IGNORECASE)
    if slip:
        question = f"{question} (It is about {entity}.)"
    clues = [s for s in asked.sources if asked.owners.get(s.number) == 2]
    told = " and ".join(f'"{source.title}"' for source in clues)
    return Answer(
        text=f"{question} | That name is {entity}, as {told} tells. {blocks.get('part answer 1', '')}"
    )


# -- judging -------------------------------------------------------------------------------------------------------


def _verify(asked: DocumentsAsked, quality: float, seed: int) -> Answer:
    """Check that the sources have every value of the answer, and that every source has one of them."""
    call = asked.call
    if not asked.again and call.draw("unreadable", seed) < _UNREADABLE * (1 - quality):
        return Answer(text="The question reads well to me.")
    values = quoted(asked.blocks["answer to check"])
    texts = [plain(source.text) for source in asked.sources]
    failed = []
    lacking = [value for value in values if not any(says(text, value) for text in texts)]
    miscounted = asked.style == "numerical" and not _adds_up(asked.blocks["answer to check"])
    if not values or lacking or miscounted:
        failed.append("answer")
    if any(not any(says(text, value) for value in values) for text in texts):
        failed.append("necessity")
    if call.draw("slip", seed) < (1 - quality) / 2:
        failed = [] if failed else [pick(call, ("style", "answer", "necessity"), "which", seed)]
    said = ["The values are there, each in a source of its own.", "PASS"]
    if failed:
        said = ["Something is not as it should be.", f"FAIL: {', '.join(failed)}"]
    return Answer(text="\n".join(said if "First the reason" in asked.words else reversed(said)))


def _adds_up(answer: str) -> bool:
    found = re.search(r"Added up, (.+) make ([\d.e+-]+?)\.?$", answer)
    return found is not None and sum_of(quoted(found[1])) == found[2]


def _answer(asked: DocumentsAsked, quality: float, seed: int, knowledge: Knowledge) -> Answer:
    """Look for the parts of the question in the sources; without any, now and then in what is known."""
    call = asked.call
    question = asked.blocks.get("question to answer") or asked.blocks.get("question", "")
    texts = [source.text for source in asked.sources]
    if not texts and call.draw("known", seed) < _KNOWN * quality:
        texts = knowledge.about(question)
    values, parts = solve(question, texts)
    if call.draw("right", seed) >= quality:
        values = [f"not {value}" for value in values[:1]]
    if not values:
        return Answer(text="That cannot be known from what I was given.")
    said = " ".join(f'It is "{value}".' for value in values)
    if question.lower().startswith("added up,") and (total := sum_of(values)) and len(values) == parts:
        said += f" Added up, that makes {total}."
    lacking = "" if len(values) >= parts else " The rest cannot be known."
    return Answer(text=said + lacking)


def _mark(asked: DocumentsAsked, quality: float, seed: int) -> Answer:
    """Compare the values of two answers: all are there, some, or none."""
    call, blocks = asked.call, asked.blocks
    if not asked.again and call.draw("unreadable", seed) < _UNREADABLE * (1 - quality):
        return Answer(text="Both say something about it.")
    reference = next(
        blocks[n] for n in ("accepted answer", "model answer", "reference answer") if n in blocks
    )
    attempt = plain(blocks.get("attempt") or blocks.get("answer", ""))
    wanted = list(dict.fromkeys(plain(v) for v in quoted(reference)))
    there = sum(f'"{value}"' in attempt for value in wanted)
    mark = 2 if wanted and there == len(wanted) else 1 if there else 0
    if call.draw("slip", seed) < (1 - quality) / 2:
        mark = 1 if mark != 1 else pick(call, (0, 2), "way", seed)
    reason = ("It says something else.", "A part of it is there.", "It says the same.")[mark]
    return Answer(text=f"{reason}\nScore: {mark}")
