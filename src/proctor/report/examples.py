"""Questions with their evidence, accepted answers and what every run answered, as many as a page can hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from markupsafe import Markup

from proctor.errors import UserError
from proctor.exam.choice import right_letter
from proctor.exam.judge_marks import JudgeSetup, judge_sort
from proctor.exam.kind import kind_named
from proctor.exam.kinds.documents_question import cited_modalities
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Choice, Item, Pick, Procedure, Text, gold_texts, part_of
from proctor.metrics.choice.letters import LETTERS
from proctor.report.highlights import in_order
from proctor.report.naming import judge_parts, without_address
from proctor.report.numbers import show_value
from proctor.report.parts import AnswerView, ExampleView, SourceView, values_of
from proctor.report.standing import Standing, slice_label
from proctor.verify.verdict import Verdict

__all__ = ["Evidence", "example_cards", "item_facets", "take"]

MAX_TEXT: Final = 1_800_000
"""Characters of all examples of a page."""
MAX_PICTURES: Final = 1_800_000
"""Characters of their pictures. Frames before a moment fill half of them; the other half is kept for the moments' own."""
_ANSWER: Final = 1_500
_OPINIONS: Final = 400
_TIMES: Final = 16
_COUNTED: Final = {"video": "counted in the video from 0", "second": "one a second, counted from 1"}
"""What ``Prediction.details["frame_numbers"]`` says, in words."""


_NEAREST: Final = re.compile(
    r"nearest gold (?P<number>\d+), (['\"]).*\2: (?P<why>.*?)(?: \(\d\.\d\d\))?", re.DOTALL
)
"""How ``exam.judge`` begins the reason of a rule's mark."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is shown of a question beside its words and answers.

    Attributes:
        sources: sources, frames, steps.
        facts: further lines, by name.
        drawing: of a task graph at this moment.
        facets: further ones that the examples can be filtered by.
    """

    sources: tuple[SourceView, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    drawing: Markup | None = None
    facets: Mapping[str, str] = field(default_factory=dict)


def take(cards: Iterable[ExampleView]) -> tuple[ExampleView, ...]:
    """Take examples until text or pictures fill a page; a picture that several questions show is counted once.

    Of frames the last one, the moment's own, is always there: where it has no room no further example is taken.
    """
    found: list[ExampleView] = []
    seen: set[str] = set()
    text = pictures = 0
    for offered in cards:
        card = offered
        text += _size(card)
        if found and text > MAX_TEXT:
            break
        own = next((s.picture for s in reversed(card.sources) if s.modality == "frame"), "")
        rest = {source.picture for source in card.sources} - seen - {own}
        cost, own_cost = sum(map(len, rest)), 0 if own in seen else len(own)
        if found and own_cost and pictures + own_cost > MAX_PICTURES:
            break
        if pictures + own_cost + cost > (MAX_PICTURES // 2 if own else MAX_PICTURES):
            kept = {*seen, own, ""}
            card, rest, cost = (
                replace(card, sources=tuple(s for s in card.sources if s.picture in kept)),
                set(),
                0,
            )
        pictures += own_cost + cost
        seen |= {*rest, own}
        found.append(card)
    return tuple(found)


def _size(card: ExampleView) -> int:
    """Return about how many characters an example takes on the page."""
    rows = sum(len(cell) + 22 for source in card.sources for row in source.rows for cell in row)
    sources = sum(600 + len(source.text) for source in card.sources)
    answers = sum(160 + len(a.text) + sum(len(m) + 25 for m in a.more) for a in card.answers)
    return (
        900
        + len(card.drawing or "")
        + rows
        + sources
        + answers
        + sum(60 + len(v) for _, v in (*card.facts, *card.made))
    )


def example_cards(
    standing: Standing,
    evidence: Callable[[Item], Evidence],
    verdicts: Mapping[str, Sequence[Verdict]],
    votes: Mapping[tuple[str, str], Sequence[int]],
) -> Iterator[ExampleView]:
    """Yield the questions of an exam: those to be seen first, then the others, spread over their facets.

    Args:
        standing: of the exam's runs.
        evidence: finds what is shown of a question; asked only for those that are taken.
        verdicts: on each question, by its id or that of its parent.
        votes: people's marks by run and item.
    """
    answers, sliced = _Answers(standing, votes), _slices(standing)
    for item in in_order(standing):
        q = item.question
        shown = evidence(item)
        said = verdicts.get(q.provenance.get("candidate", "") or q.parent or q.id, ())
        facts = (*q.facets.items(), *shown.facts, *_options(item))
        made = (*_approved(item), *map(_verdict, said), *_made(item))
        facets = {"exam": standing.exam.title, **sliced.get(item.id, {}), **item_facets(item), **shown.facets}
        yield ExampleView(
            id=item.id,
            kind=", ".join([*q.facets.values()][:2]) or q.kind,
            question=q.text,
            answer=_golds(item),
            facts=tuple((name, value) for name, value in facts if value),
            made=tuple((name, value) for name, value in made if value),
            sources=shown.sources,
            answers=tuple(answers.of(item)),
            drawing=shown.drawing,
            facets=facets,
        )


def item_facets(item: Item) -> dict[str, str | tuple[str, ...]]:
    """Return what a question can be filtered by, whatever its kind is: its own facets, and its accepted answers'."""
    procedure = part_of(item.question, Procedure)
    kinds = {g.value.kind: None for g in item.golds if isinstance(g.value, Text) and g.value.kind}
    by = dict.fromkeys(f"{g.written_by}, approved by {g.approved_by}" for g in item.golds)
    return {
        **item.question.facets,
        **({"activity": procedure.title or procedure.id} if procedure is not None else {}),
        "accepted answers": str(len(item.golds)),
        "answers by": tuple(by),
        **({"cluster": item.question.cluster} if item.question.cluster not in ("", item.id) else {}),
        **({"letter": letter} if (letter := right_letter(item)) else {}),
        **({"kind of answer": tuple(kinds)} if kinds else {}),
        **({"cites": cited} if (cited := cited_modalities(item.question)) else {}),
    }


def _slices(standing: Standing) -> dict[str, dict[str, str | tuple[str, ...]]]:
    """Return of each item the slices of the tables that it is in, by what they cut by; nothing where its kind is not known here."""
    found: dict[str, dict[str, str | tuple[str, ...]]] = {}
    try:
        slices = kind_named(standing.exam.kind).slices(standing.exam.items) if standing.exam.items else {}
    except UserError:
        return found
    for name, (kind, ids) in slices.items():
        for id_ in ids if kind != "all" else ():
            own = found.setdefault(id_, {})
            own[kind] = (*values_of(own[kind]), slice_label(name)) if kind in own else slice_label(name)
    return found


def _golds(item: Item) -> str:
    """Return what counts as right, one line each."""
    texts = [
        f"{LETTERS[gold.value.option]}: {text}" if isinstance(gold.value, Pick) else text
        for gold, text in zip(item.golds, gold_texts(item), strict=True)
    ]
    return texts[0] if len(texts) == 1 else "\n".join(f"{n}. {text}" for n, text in enumerate(texts, 1))


def _options(item: Item) -> Iterator[tuple[str, str]]:
    if isinstance(item.question.form, Choice):
        right = {gold.value.option for gold in item.golds if isinstance(gold.value, Pick)}
        origins = {p.value.option: p.origin for p in item.question.proposals if isinstance(p.value, Pick)}
        for n, option in enumerate(item.question.form.options):
            origin = f" ({origins[n]})" if origins.get(n) else ""
            yield LETTERS[n], option + ("  ✓" if n in right else origin)


def _approved(item: Item) -> Iterator[tuple[str, str]]:
    if len(item.golds) > 1 or any(gold.written_by != "machine" for gold in item.golds):
        kinds = (f"{g.value.kind}, " if isinstance(g.value, Text) else "" for g in item.golds)
        yield (
            "accepted answers",
            "; ".join(
                f"{n}. {kind}by {g.written_by}, approved by {g.approved_by}"
                for n, (g, kind) in enumerate(zip(item.golds, kinds, strict=True), 1)
            ),
        )
    yield "question approved by", item.approved_by


def _verdict(verdict: Verdict) -> tuple[str, str]:
    judged = ", ".join(
        f"{n}. {a.value}{f' ({a.reason})' if a.reason else ''}" for n, a in enumerate(verdict.answers, 1)
    )
    parts = [
        f"question {verdict.question.value}"
        + (f" ({verdict.question.reason})" if verdict.question.reason else ""),
        f"answers {judged}" if judged else "",
        f"own answers: {'; '.join(verdict.own_answers)}" if verdict.own_answers else "",
        verdict.note,
    ]
    return f"verdict of {verdict.annotator} ({verdict.annotator_kind})", "; ".join(filter(None, parts))


def _made(item: Item) -> Iterator[tuple[str, str]]:
    made = ", ".join(
        f"{name} {value}" for name, value in sorted(item.question.provenance.items()) if len(value) < 200
    )
    yield "provenance", made


class _Answers:
    """Answers of all runs by item."""

    def __init__(self, standing: Standing, votes: Mapping[tuple[str, str], Sequence[int]]) -> None:
        self._standing, self._votes = standing, votes
        self._said: dict[str, dict[str, list[Prediction]]] = {}
        self._judged: dict[tuple[str, str], Judgement] = {}
        self._opinions: dict[tuple[str, str], list[Judgement]] = {}
        for line in standing.lines:
            name = line.run.name
            for p in line.run.predictions:
                self._said.setdefault(p.item_id, {}).setdefault(name, []).append(p)
            self._judged |= {(name, j.item_id): j for j in line.run.judgements}
            for j in line.run.opinions:
                self._opinions.setdefault((name, j.item_id), []).append(j)

    def of(self, item: Item) -> Iterator[AnswerView]:
        """Yield what every run answered, best run first; those that said the same and got the same for it together."""
        found: dict[tuple[object, ...], AnswerView] = {}
        for line in self._standing.lines:
            given = self._said.get(item.id, {}).get(line.run.name)
            if not given:
                continue
            mark, code = self._mark(line.run.name, item.id, given)
            text = " / ".join(_text(p) for p in given)
            more = tuple(self._more(line.run.name, item.id, given))
            known = found.get((text, mark, more))
            found[text, mark, more] = (
                replace(known, also=(*known.also, line.name.label))
                if known is not None
                else AnswerView(line.name.label, text[:_ANSWER], mark, more, code, score=line.mark(item.id))
            )
        yield from found.values()

    def _mark(self, run: str, item_id: str, given: Sequence[Prediction]) -> tuple[str, str]:
        line = next(line for line in self._standing.lines if line.run.name == run)
        mark = line.mark(item_id)
        if mark is None:
            code = "failed" if all(p.answer is None for p in given) else "unscored"
            return code, code
        code = "match" if mark >= 100 else "wrong" if mark <= 0 else "partial"
        return f"{code} ({show_value(mark, 0)})", code

    def _more(self, run: str, item_id: str, given: Sequence[Prediction]) -> Iterator[str]:
        judgement = self._judged.get((run, item_id))
        if judgement is not None and (why := judgement.rationale or judgement.failure):
            yield f"{_judge(judgement.judge)}: {_plainly(why)[:_ANSWER]}"
        opinions = self._opinions.get((run, item_id), [])
        if opinions:
            marks = "; ".join(
                f"{without_address(j.judge)} {'–' if j.score is None else j.score}" for j in opinions
            )
            yield f"other judges: {marks}"[: _OPINIONS * 2]
        if votes := self._votes.get((run, item_id)):
            yield f"people: {', '.join(map(str, votes))}"
        if times := given[0].frame_times:
            yield _frames(given[0], times)
        captions = next(line.run.captions for line in self._standing.lines if line.run.name == run).get(
            item_id, ()
        )
        if captions:
            yield f"descriptions: {' | '.join(captions)}"[:_ANSWER]


def _judge(name: str) -> str:
    """Return who gave a mark, without version and settings; the appendix has them."""
    sort = judge_sort(name)
    return "by rule" if sort == "rule" else without_address(judge_parts(JudgeSetup(name))[0])


def _plainly(why: str) -> str:
    """Return a reason in plain words: the accepted answers stand above and need not be said again, nor likenesses in figures."""
    match = _NEAREST.fullmatch(why)
    if match is None:
        return why
    said = match["why"].replace("the gold", "the accepted answer")
    return f"compared with accepted answer {match['number']}: {said}"


def _frames(p: Prediction, times: Sequence[float]) -> str:
    counted, more = _COUNTED.get(p.details.get("frame_numbers", "")), " …" if len(times) > _TIMES else ""
    if counted is None or len(p.frame_indices) != len(times):  # older records hold time stamps of the stream
        return f"{len(times)} frames at {', '.join(f'{t:.1f}' for t in times[:_TIMES])}{more} s"
    named = zip(p.frame_indices[:_TIMES], times, strict=False)
    return f"{len(times)} frames ({counted}): {', '.join(f'{n} at {t:.1f} s' for n, t in named)}{more}"


def _text(p: Prediction) -> str:
    if p.answer is None:
        return f"(no answer: {p.failure})"
    letter = p.details.get("letter", "")
    return p.answer + (f"  [read as {letter}]" if letter else "")
