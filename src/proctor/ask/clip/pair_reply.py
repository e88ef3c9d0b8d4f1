"""Pairs out of a reply (JSON, read tolerantly about what is around it and strictly about what it says), and what code can see of them.

Wanted is a list of objects; an object with a list ``pairs`` does as well, as providers with structured output give it. Of several
lists the last counts: models think first and answer last.

The checks are ours. Whoever answers sees the video, so a pair must not speak of the annotations that it was made from: numbers of
steps, times of the video, lists. What a step itself says is no such thing: a timer that is set to 12:00 may be asked about.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from proctor.ask.clip.record import ShownStep
from proctor.ask.documents.duplicates import normalise_question
from proctor.llm.structured import FoundObject, Unreadable, find_objects, spoken_text

__all__ = [
    "ANSWER_WORDS",
    "CHECKS",
    "QUESTION_WORDS",
    "BadEntry",
    "RawPair",
    "check_pair",
    "read_pair_list",
    "words_of",
]


_BETWEEN: Final = re.compile(r"[\s,]*")
_NOTHING: Final = re.compile(r"[`\s]*(?:json)?\s*\[\s*\][`\s.]*", re.IGNORECASE)
_SPLIT: Final = re.compile(r"[,;]|\band\b|\s")
_SHOWN: Final = 300


@dataclass(frozen=True, slots=True)
class RawPair:
    """A pair as a reply has it: texts on one line, and cited ids as they were written, brackets and case aside."""

    question: str
    answer: str
    step_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BadEntry:
    """An entry of a list that is no pair: the reason, and what was seen."""

    reason: str
    detail: str = ""


def read_pair_list(reply: str) -> list[RawPair | BadEntry] | Unreadable:
    """Read the pairs of a reply, in order; an empty list is a reply that found nothing to ask."""
    text = spoken_text(reply)
    if isinstance(text, Unreadable):
        return text
    objects = find_objects(text)
    entries = _entries(text, objects)
    if entries is None:
        if _NOTHING.fullmatch(text):
            return []
        return Unreadable("no_json", "no well-formed JSON list of pairs was found")
    return [_entry(entry) for entry in entries]


def _entries(text: str, objects: list[FoundObject]) -> list[Any] | None:
    """Return the entries of the last list, None where there is none."""
    last: list[Any] | None = None
    open_until = -1
    for found in objects:
        listed = found.value.get("pairs")
        if isinstance(listed, list):
            last, open_until = listed, -1
        elif "question" in found.value:
            if last is not None and open_until >= 0 and _BETWEEN.fullmatch(text, open_until, found.begin):
                last.append(found.value)
            else:
                last = [found.value]
            open_until = found.end
    return last


def _entry(entry: Any) -> RawPair | BadEntry:
    if not isinstance(entry, dict):
        return BadEntry("bad_entry", f"{str(entry)[:_SHOWN]} is no object")
    question, answer = entry.get("question"), entry.get("answer")
    if isinstance(answer, list):
        if len(answer) != 1:
            return BadEntry("several_answers", f"{str(question)[:_SHOWN]}: {len(answer)} answers")
        answer = answer[0]
    if isinstance(answer, int | float) and not isinstance(answer, bool):
        answer = str(answer)
    if not isinstance(question, str) or not isinstance(answer, str):
        return BadEntry("bad_entry", f"question or answer is no text: {str(entry)[:_SHOWN]}")
    return RawPair(_line(question), _line(answer), _ids(entry.get("step_ids")))


def _line(text: str) -> str:
    return " ".join(text.split())


def _ids(value: Any) -> tuple[str, ...]:
    """Return cited ids; what is no id stays what it is, so that it is seen that there is no such step."""
    values = value if isinstance(value, list) else [value]
    found: dict[str, None] = {}
    for one in values:
        if isinstance(one, int) and not isinstance(one, bool):
            found[f"s{one}"] = None
        elif isinstance(one, str):
            for part in _SPLIT.split(one):
                id_ = part.strip("[]()\"'`. ").casefold()
                if id_:
                    found[f"s{id_}" if re.fullmatch(r"\d+(?:\.\d+)?", id_) else id_] = None
        elif one is not None:
            found[str(one)[:40]] = None
    return tuple(found)


ANSWER_WORDS: Final = 30
"""Words of an answer, at most [R]; the published mean is 11."""

QUESTION_WORDS: Final = 60
"""Words of a question, at most [R]."""

_LETTERS: Final = 15
"""Characters of a word, on average at most: a text without blanks has an end as well."""

CHECKS: Final = {
    "bad_entry": "an entry of the reply is no object with a question and an answer",
    "several_answers": "an entry gives a list of answers",
    "no_question": "the question is empty, or has no word in it",
    "no_answer": "the answer is empty, or has no word in it",
    "no_steps": "no step is cited",
    "unknown_step": "a step is cited that was not shown",
    "question_too_long": f"the question has more than {QUESTION_WORDS} words",
    "answer_too_long": "the answer has more words than allowed",
    "answer_longer_than_steps": "the answer has more words than everything that was shown",
    "mentions_step_number": "question or answer name a step by its number or id, or ask how many steps there are",
    "mentions_time": "question or answer name a time of the video",
    "mentions_annotation": "question or answer speak of annotations, of a list of steps or of the data",
    "answer_is_question": "the answer is the question again",
    "yes_no": "the answer is yes or no",
    "no_single_answer": "the answer says that all, none or nothing known is right",
}
"""Reasons, in the order in which they are looked for."""

_NUMBERS: Final = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|"
    "nineteen|twenty"
)
_ORDINALS: Final = (
    r"\d+(?:st|nd|rd|th)|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth|fourteenth|"
    "fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|twentieth|penultimate"
)
_STEP: Final = r"(?:sub-?|key-?)?(?:steps?|segments?)"
_STEP_NUMBER: Final = re.compile(
    rf"\b{_STEP}\s*(?:\#|no\b\.?|nr\b\.?|numbers?\b)?\s*[-:(\[]?\s*(?:\d+|(?:{_NUMBERS})\b)"
    rf"|\b(?:{_ORDINALS})[\s-]{_STEP}\b"
    r"|\bhow\s+many\s+(?:\w+\s+)?(?:sub-?|key-?)?steps?\b"
    rf"|\b{_STEP}\s+(?:numbers?|ids?|index|indices|indexes)\b",
    re.IGNORECASE,
)
_ID: Final = re.compile(r"(?<![\w.-])s\d{1,3}(?:\.\d+)?(?![\w-])")
"""Ids of our own form, whether or not there are such steps."""
_UNIT: Final = r"(?:s|secs?|seconds?|m|mins?|minutes?)"
_AMOUNT: Final = rf"(?:\d+(?:\.\d+)?|{_NUMBERS}|thirty|forty|fifty|half\s+a|a\s+few|a)"
_TIME: Final = re.compile(
    r"(?<![\d:])\d{1,3}:[0-5]\d(?::[0-5]\d)?(?:\.\d+)?(?![\d:])"
    rf"|\b{_AMOUNT}[\s-]?{_UNIT}\s+(?:in|into)\s+(?:the|this)\s+(?:\w+\s+)?(?:video|clip|recording|footage|film)\b"
    rf"|\b{_AMOUNT}[\s-]?{_UNIT}\s+(?:in(?![\s-]\w)|into\b|mark\b|point\b)"
    rf"|\b{_AMOUNT}[\s-]?{_UNIT}\s+(?:of|after\s+the\s+(?:start|beginning)\s+of)\s+the\s+(?:video|clip|recording|footage|film)\b"
    rf"|\bat\s+(?:about\s+|around\s+)?(?:the\s+)?{_AMOUNT}[\s-]?{_UNIT}\b(?!\s+(?:each|per|at\s+a|intervals?))"
    r"|\b(?:at|from|until|till|by|around|to|in)\s+(?:the\s+)?(?:second|minute)s?\s+\d+(?:\.\d+)?\b"
    r"|\b\d+\s?m(?:in)?\s?\d+\s?s(?:ec)?\b"
    r"|\btime-?\s?(?:stamps?|codes?)\b",
    re.IGNORECASE,
)
_ANNOTATION: Final = re.compile(
    r"\bannotat\w*"
    r"|\bmeta-?data\b|\bdata\s?set\b|\btranscripts?\b|\bnarrations?\b|\bcaptions?\b|\bsubtitles?\b"
    rf"|\b(?:listed|described|labell?ed|given|provided|numbered|annotated|mentioned|documented|above|following)\s+(?:\w+\s+)?{_STEP}\b"
    rf"|\b{_STEP}\s+(?:(?:that\s+)?(?:is|are|was|were)\s+)?(?:listed|described|labell?ed|given|provided|mentioned|documented|above|below)\b"
    rf"|\b(?:lists?|listings?|descriptions?|labels?|headings?|texts?)\s+of\s+(?:the\s+|all\s+)?{_STEP}\b"
    rf"|\b{_STEP}[\s-](?:lists?|descriptions?|labels?|headings?|categor(?:y|ies))\b"
    r"|\b(?:according\s+to|based\s+on|in|from)\s+the\s+(?:text|description|list|data|notes|document)\b",
    re.IGNORECASE,
)
_YES_NO: Final = re.compile(r"(?:yes|no|yeah|nope|true|false)(?:\s+(?:it|he|she|they|there|the person)\b.*)?")
_NO_SINGLE: Final = re.compile(
    r"(?:all|none)(?:\s+of)?(?:\s+(?:the|these|those))?\s*(?:above|them|these|those|options|answers|choices)?"
    r"|(?:it\s+is\s+|this\s+is\s+|that\s+is\s+)?(?:not|never|un)\s*(?:known|clear|specified|stated|mentioned|said|given|shown|"
    r"described|provided|determinable|answerable|available|applicable)\b.*"
    r"|n\s?a|(?:it\s+)?(?:depends|cannot\s+be\s+(?:determined|said|known|answered|inferred))\b.*|i\s+(?:do\s+not|don\s?t)\s+know\b.*"
)
_HAS_WORD: Final = re.compile(r"\w")


def words_of(text: str) -> int:
    """Return the number of words of a text, as blanks part them."""
    return len(text.split())


def check_pair(
    pair: RawPair, steps: Sequence[ShownStep], task: str = "", *, answer_words: int = ANSWER_WORDS
) -> BadEntry | None:
    """Return why a pair cannot be used, None when nothing speaks against it.

    Args:
        pair: as the reply has it.
        steps: that the model was shown; only these may be cited.
        task: what is done, as it was shown.
        answer_words: of an answer, at most.
    """
    cited = set(pair.step_ids)
    known = {step.id for step in steps}
    told = " ".join([task, *(f"{s.text} {s.category} {s.narration}" for s in steps)])
    reason, detail = "", f"{pair.question} / {pair.answer}"
    if not _HAS_WORD.search(pair.question):
        reason = "no_question"
    elif not _HAS_WORD.search(pair.answer):
        reason = "no_answer"
    elif not cited:
        reason = "no_steps"
    elif cited - known:
        reason, detail = "unknown_step", f"{', '.join(sorted(cited - known))[:100]}: {detail}"
    else:
        reason = _too_long(pair, told, answer_words) or _mentioned(pair, told) or _no_answer(pair)
    return BadEntry(reason, detail) if reason else None


def _mentioned(pair: RawPair, told: str) -> str:
    """Return which part of the annotations a pair speaks of; empty for none."""
    context = _plain(told)
    for text in (_plain(pair.question), _plain(pair.answer)):
        if _found(_STEP_NUMBER, text, context) or _found(_ID, text, context):
            return "mentions_step_number"
        if _found(_TIME, text, context):
            return "mentions_time"
        if _found(_ANNOTATION, text, context):
            return "mentions_annotation"
    return ""


def _found(pattern: re.Pattern[str], text: str, context: str) -> bool:
    """True when something matches that the steps do not say themselves."""
    return any(found[0].strip() not in context for found in pattern.finditer(text))


def _too_long(pair: RawPair, told: str, answer_words: int) -> str:
    """Look at lengths first: nothing is searched in a text that goes on and on."""
    if words_of(pair.question) > QUESTION_WORDS or len(pair.question) > _LETTERS * QUESTION_WORDS:
        return "question_too_long"
    if words_of(pair.answer) > answer_words or len(pair.answer) > _LETTERS * answer_words:
        return "answer_too_long"
    return "answer_longer_than_steps" if words_of(pair.answer) > words_of(told) else ""


def _no_answer(pair: RawPair) -> str:
    answer = normalise_question(pair.answer)
    if answer == normalise_question(pair.question):
        return "answer_is_question"
    if _YES_NO.fullmatch(answer):
        return "yes_no"
    return "no_single_answer" if _NO_SINGLE.fullmatch(answer) else ""


def _plain(text: str) -> str:
    """Return a text in one way of writing: wide digits and colons are ordinary ones, small letters, single blanks."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
