"""Which of the verdicts in a reply counts, and what of the rest speaks against it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from proctor.exam.verdict.agreement import disagreement
from proctor.exam.verdict.doubt import (
    contradicts,
    free_numbers,
    is_vetted,
    retraction,
    unsure,
    without_quotations,
)
from proctor.exam.verdict.label import LABEL, LINE_LIMIT, LIST_MARK, WRAP, any_case, other_scale
from proctor.exam.verdict.line import from_bare, from_lines
from proctor.exam.verdict.object import from_loose_objects, from_objects, strings_of
from proctor.exam.verdict.own import (
    OTHERS,
    OWN,
    blanked,
    complies,
    is_attributed,
    is_template,
    without_legend,
    without_others,
)
from proctor.exam.verdict.reading import RATIONALE_LABEL, RATIONALE_LIMIT, Mark, Unscored
from proctor.exam.verdict.value import read_bare
from proctor.llm.structured import find_objects

__all__ = ["decide"]

_REFUSAL: Final = (
    r"(?:I(?:['’]m| am)?|we|as an? (?:AI|language model|assistant)[^.\n]{0,60}?)\s*(?:['’]m|am|are)?\s*"
    r"(?:sorry,?\s*(?:but\s*)?I\s*)?(?:am\s+)?"
    r"(?:can\s?not|can['’]?t|unable to|not able to|will not|won['’]?t|refuse to|(?:must )?decline to)\s+"
    r"(?:help(?!\s+but)|assist|comply|continue with|(?:judge|evaluate|assess|score|rate|grade|mark|give|assign|award|provide|issue)"
    r"(?:\s+(?:this|it|that|such|the (?:answer|prediction|request|response|content)|you|a (?:verdict|score|rating|judge?ment|mark|grade))\b|\s*(?:[.!,;\n]|$)))"
)
_REFUSED = re.compile(_REFUSAL, re.IGNORECASE)
_REFUSED_LATER = any_case(rf"(?:^|[.!?\n](?!\n)\s*)(?:(?:sorry|unfortunately)[^\n.]{{0,20}}?\s)?{_REFUSAL}")
_APOLOGY = any_case(r"(?:unfortunately|sorry|apologies|i apologi[sz]e)[^\n]{0,20}?[,.]\s*(?:but\s+)?")
_NEXT_TURN = re.compile(
    r"<\|(?:im_start|start_header_id|user)\|>|<start_of_turn>|\[INST\]|^[ \t]*[*#_]*(?:Human|User|Assistant|(?:The )?Question)[*_]*[ \t]*:",
    re.IGNORECASE | re.MULTILINE,
)
_SCALE_STATED = re.compile(
    r"\b(?:scale|range)\b(?:\s+(?:used|is|was|of|from|runs?|goes|between))*\s*[:=(\[]?\s*(?:of|from|between)?\s*(?P<range>-?\d+\s*(?:-|–|—|to|\.\.|/|and)\s*\d+)"
    r"|\b(?:max(?:imum)?\.?|highest)\s+(?:possible\s+)?(?:score|mark|verdict|rating|grade|points?)\s*(?:is|of|:|=|are)?\s*(?P<max>\d+)"
    r"|^[^\S\n]*[*_`]*(?:max(?:imum)?|out of|total points)[*_`]*\s*[:=]\s*[*_`]*(?P<line>\d+)",
    re.IGNORECASE | re.MULTILINE,
)
_OTHER_LABEL = any_case(
    rf"{LIST_MARK}{WRAP}(?:(?:final|my|the|overall)\s+)*(?:result|decision|conclusion|final\s+answer|assessment|evaluation|points?|total|overall|output|classification|label|category"
    r"|Urteil|Bewertung|Wertung|Punktzahl|Punkte|Verdikt|Ergebnis|Nota|Veredicto|Puntuación|Puntaje|Calificación|Punteggio|Giudizio|Verdetto|Voto|Veredito|Pontuação|Oordeel|Beoordeling"
    r"|оценка|вердикт|评分|評分|判定|分数|得分|结论|スコア|評価|判決|점수|평가|판정)"
    rf"{WRAP}[:=：]{WRAP}(?P<n>\d)(?:\s*/\s*\d)?{WRAP}\.?{WRAP}"
)
"""Labels that were not asked for; a number behind them is no verdict, but may contradict one."""
_INLINE = re.compile(rf"\b{LABEL}\s*[:=]\s*[*_`]*(?P<n>\d)(?![\d.,:/]*\d)", re.IGNORECASE)
_PART_ONLY = any_case(
    r"\b(?:for|on|about|regarding|as\s+to|concerns?|covers?)\s+(?:the\s+|its\s+)?(?:\w+\s+){1,4}(?:only|alone)\b|\b(?:only|just|solely|exclusively)\s+(?:for|about|regarding|concerns|covers|applies\s+to)\b"
    r"|^\W*(?:for|regarding|concerning|as\s+to)\s+(?:the\s+)?(?:first|second|last|other|tool|amount|action|order|part|half|beginning|end)\b|\A\s*for\s+(?:(?:the|its|good)\s+)?(?:style|effort|honesty|tone|grammar|form|length|fluency|clarity|wording|trying|politeness)\b"
)
_LABEL_AGAIN = re.compile(
    rf"^{LIST_MARK}{WRAP}(?:verdict|score|judge?ment){WRAP}(?:[:=]{WRAP}(?:$|[^\W\d]).*|$)",
    re.IGNORECASE | re.MULTILINE,
)
_ASKS = re.compile(r"(?:Human|User)[*_]*[ \t]*:|<\|im_start\|>\s*user", re.IGNORECASE)
_ANSWERS = re.compile(r"(?:Assistant|Judge)[*_]*[ \t]*:|<\|im_start\|>\s*assistant", re.IGNORECASE)
_TURNS: Final = 20


def decide(text: str, top: int) -> Mark:
    """Return the mark that counts.

    Raises:
        Unscored: if there is none, or something speaks against it.
    """
    if _declines(text):
        raise Unscored("refusal")
    text = without_others(text, top)
    objects = list(from_objects(text, top))
    plain = blanked(text)
    lines, quoted = from_lines(plain, top)
    loose = list(from_loose_objects(plain))
    mark = _decided([*objects, *loose, *lines], text, top)
    if mark is None:
        mark = from_bare(text, top)
        if mark is None or quoted:
            refused = _REFUSED.search(text[:2_000])
            raise Unscored("refusal" if refused else "quoted" if quoted else "no_verdict")
        if mark.score is None:
            raise Unscored(mark.reason or "no_verdict")
    _hold_against_rest(mark, text, plain, top)
    return mark


def _decided(marks: list[Mark], text: str, top: int) -> Mark | None:
    """Return the mark that all others agree with, or that is marked as their correction; None without any.

    Raises:
        Unscored: if they do not agree, or the last one cannot be read.
    """
    marks = sorted(marks, key=lambda mark: mark.at)
    if not marks:
        return None
    last = marks[-1]
    if any(mark.reference for mark in marks):
        last = _best_reference(marks, top)
    elif last.score is None:
        raise Unscored(last.reason or "malformed")
    else:
        others = [m for m in marks if m.score != last.score and m.reason != "malformed" and m.form != "form"]
        if others and not _corrects(last, others, text):
            said = ", ".join(
                "one that cannot be read" if m.score is None else str(m.score) for m in (*others, last)
            )
            raise Unscored(
                "contradictory", f"verdicts that differ: {said}; the last one is not marked as the correction"
            )
    asked = _ASKS.search(text, 0, last.at)
    answers = _ANSWERS.search(text, asked.end(), last.at) if asked else None
    if asked and answers and not any(m.end <= asked.start() and m.score == last.score for m in marks):
        raise Unscored(
            "contradictory", "the verdict stands in what looks like the next turn of a conversation"
        )
    return last


def _corrects(last: Mark, others: Sequence[Mark], text: str) -> bool:
    """True when the last verdict says of itself that it replaces those before it, in the same form and the same turn."""
    if not last.word or any(last.word == mark.word for mark in others):
        return False
    if any((mark.form == "json") != (last.form == "json") or mark.reason == "scale" for mark in others):
        return False
    return _NEXT_TURN.search(text, others[0].at, last.at) is None


def _best_reference(marks: Sequence[Mark], top: int) -> Mark:
    """Return the best of the verdicts on single references; a verdict on the whole beside them has to say the same.

    Raises:
        Unscored: if one cannot be read, two on one reference differ, or only one reference was looked at, with no match.
    """
    scores: dict[str, int] = {}
    for mark in marks:
        if mark.score is None:
            raise Unscored(mark.reason or "malformed")
        if mark.reference and scores.setdefault(mark.reference, mark.score) != mark.score:
            raise Unscored("contradictory", f"two verdicts on reference {mark.reference}")
    best = max(scores.values())
    if any(mark.score != best for mark in marks if not mark.reference):
        raise Unscored("contradictory", "the verdict is not that of the best reference")
    if len(scores) < 2 and best < top and all(mark.reference for mark in marks):
        raise Unscored("ambiguous", "a verdict on one reference only")
    first, last = marks[0], marks[-1]
    return Mark(first.at, last.end, "references" if last.reference else last.form, best)


def _hold_against_rest(mark: Mark, text: str, plain: str, top: int) -> None:
    """Hold a verdict against everything else that the judge says.

    Raises:
        Unscored: if something speaks against it.
    """
    assert mark.score is not None
    before, behind = without_quotations(text[: mark.at]), text[mark.end :]
    own = without_quotations(plain)
    for stated in islice(_SCALE_STATED.finditer(own), _TURNS):
        number = stated["max"] or stated["line"]
        if other_scale(stated["range"], top) if stated["range"] else int(number) != top:
            raise Unscored("scale", f"another scale is named: {stated[0].strip()[:60]}")
    for line in plain.split("\n"):
        other = _OTHER_LABEL.fullmatch(line.strip()) if len(line) <= 200 else None
        if other and int(other["n"]) != mark.score:
            raise Unscored("contradictory", f"another mark: {line.strip()[:60]}")
    first = read_bare(text.strip().partition("\n")[0], top)
    if first is not None and first[0] != mark.score:
        raise Unscored("contradictory", "the first line is another number")
    if _REFUSED_LATER.search(before[:RATIONALE_LIMIT]):
        raise Unscored("refusal", "the reasons decline to judge")
    for inline in islice(_INLINE.finditer(before), 200):
        begin, end = before.rfind("\n", 0, inline.start()) + 1, before.find("\n", inline.end())
        above = before[begin : inline.start()][-LINE_LIMIT:]
        marked = re.search(r"[\"“”]", before[begin : end if end >= 0 else len(before)])
        if int(inline["n"]) == mark.score and not marked and OTHERS.search(above) and not OWN.search(above):
            raise Unscored("quoted", f"another person asked for this verdict: {inline[0]}")
    if is_template(before):
        raise Unscored("quoted", "the reasons are left to be filled in: it is an example of the form")
    tail = without_quotations(_tail(mark, text) + "\n" + behind[:LINE_LIMIT])
    if part := _PART_ONLY.search(tail):
        raise Unscored("ambiguous", f"a verdict on a part: {' '.join(part[0].split())[:60]}")
    if is_attributed(tail) or (mark.score and complies(tail)):
        raise Unscored("quoted", "it is the verdict of another person, or the one that the answer asks for")
    _hold_against_behind(mark, behind, top)
    for said in _own_words(mark, text, plain, top):
        if words := unsure(said):
            raise Unscored("doubted", f"the judge does not rely on it: {words}")
        if words := disagreement(mark.score, top, said):
            raise Unscored("contradictory", f"the words say otherwise: {' '.join(words.split())}")


def _own_words(mark: Mark, text: str, plain: str, top: int) -> Iterator[str]:
    """Yield all that the judge says beside the number: the text around it, and the strings of objects."""
    strings = strings_of([found.value for found in find_objects(text)])
    below = f"{_tail(mark, text)}\n{plain[mark.end :][:RATIONALE_LIMIT]}"
    for said in (plain[: mark.at][-RATIONALE_LIMIT:], below, *strings):
        kept = "\n".join(line for line in said.split("\n") if not line.lstrip().startswith(">"))
        yield without_legend(without_quotations(kept), top)


def _tail(mark: Mark, text: str) -> str:
    """Return what stands behind the number on the verdict's own line."""
    return "" if mark.form == "json" else re.sub(r"^[^\d]*\d(?:\s*/\s*\d)?", "", text[mark.at : mark.end])


def _hold_against_behind(mark: Mark, behind: str, top: int) -> None:
    """Raise if what stands behind a verdict takes it back, doubts it, gives another one, or cannot be read."""
    assert mark.score is not None
    behind = without_legend(behind, top)
    kept = "\n".join(line for line in behind.split("\n") if not line.lstrip().startswith(">"))
    kept = without_quotations(kept)[:RATIONALE_LIMIT]
    if not kept.strip(" \n\t`*_.!)]}\"'"):
        return
    if _REFUSED_LATER.search(kept):
        raise Unscored("refusal", "what stands behind the verdict declines to judge")
    if words := retraction(kept):
        raise Unscored("retracted", f"what stands behind the verdict takes it back: {words}")
    if others := [n for n in free_numbers(kept, top) if n != mark.score]:
        raise Unscored("contradictory", f"another number stands behind the verdict: {others[0]}")
    if contradicts(mark.score, top, kept.lstrip(" \n\t`*_.)]}\"'")):
        raise Unscored("contradictory", "what stands behind the verdict says the contrary")
    if _LABEL_AGAIN.search(kept):
        raise Unscored("contradictory", "another verdict, which cannot be read, stands behind the verdict")
    if not is_vetted(kept):
        raise Unscored("unvetted")


def _declines(text: str) -> bool:
    """True for a reply that begins with a refusal, whatever it goes on with. Later ones may be quoted from the answer."""
    opening = RATIONALE_LABEL.sub("", text.lstrip()[:2_000])
    return (
        _REFUSED.match(opening[apology.end() :] if (apology := _APOLOGY.match(opening)) else opening)
        is not None
    )
