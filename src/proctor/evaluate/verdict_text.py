"""From what a judge model wrote to a verdict, or to *unscored* with the reason. Never a guess.

What counts, in this order:

1. A labelled line: ``Verdict: 1`` in its varieties (bold, headings, ``Score``, ``2/2``, ``Judgement (0-2): 1``, the number
   on the next line, ``<verdict>1</verdict>``), or a JSON object with such a key. The *last* one counts; where lines and
   objects disagree, neither does; the same holds for verdicts before and behind what looks like the next turn of a conversation.
2. Without any of these, a reply that is nothing but the number, ends in a line that is nothing but the number, or is one
   line that begins with it (``0 (confidence 0.91)``).

Numbers inside of sentences are never a verdict, nor are quoted lines or what stands in fences of the prompt. A number that
is not on the scale that was asked for (``8/10``, ``0 out of 1`` on a scale to 2, ``1.5``, ``80%``), two verdicts on one line
and a word that contradicts the number leave the answer unscored: a person can look at it, a mis-score nobody finds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Any, Final, Literal

from proctor.llm.outcome import Refusal, Reply, Truncated
from proctor.llm.structured import Unreadable, find_objects, spoken_text

__all__ = ["Scale", "UnscoredReason", "VerdictReading", "maximum", "read_outcome", "read_verdict"]

Scale = Literal["binary", "ternary"]

UnscoredReason = Literal[
    "empty",  # nothing, or blanks
    "too_long",  # more than anybody was asked for
    "not_a_reply",  # an error page
    "unfinished_thinking",  # the model was still thinking
    "refusal",  # it declines to judge
    "truncated",  # cut off by a limit on tokens; a verdict in it may not be the last one
    "no_verdict",  # nothing that could be one
    "malformed",  # a verdict line without a number that can be read
    "scale",  # a number of another scale
    "contradictory",  # two verdicts at once, or a word against the number
    "ambiguous",  # it may be the number of a list
]

_FORMAT = re.compile("[\xad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe0f\ufeff]")
_WIDE: Final = str.maketrans("０１２３４５６７８９：＊／（）．，＝", "0123456789:*/().,=")

_LABEL: Final = (
    r"(?:(?:judge(?:['’]s)?|judge?ment|verdict)\s+)?(?:verdict|judge?ment|judge|score|rating|mark|grade)"
)
_LEAD: Final = (
    r"(?:(?:so|therefore|thus|hence|overall|finally|in conclusion|in summary)\s*,?\s+)?"
    r"(?:(?:my|the|your|our)\s+)?(?:(?:final|overall|total|resulting|ternary|binary|numeric(?:al)?)\s+)?"
)
_WRAP: Final = r"[*_`\s]*+"
_LIST_MARK: Final = r"(?:[-*+•·]\s+|\d{1,2}[.)]\s+|#{1,6}\s+){0,4}"
_LABELLED = re.compile(
    rf"{_LIST_MARK}{_WRAP}{_LEAD}{_WRAP}{_LABEL}{_WRAP}(?P<scale>[(\[][^()\[\]]{{0,60}}[)\]])?{_WRAP}"
    rf"(?P<sign>[:=]|\bis\b:?|\bof\b|(?<=\s)[-–—]+(?=\s)|->|→){_WRAP}(?P<rest>.*)",
    re.IGNORECASE,
)
_LABEL_SPACE = re.compile(
    rf"{_LIST_MARK}{_WRAP}{_LEAD}{_WRAP}{_LABEL}\s+(?P<rest>[*_`(\[]*\d{{1,3}}(?:\s*/\s*\d{{1,3}})?[*_`)\]]*\.?[*_`]*)",
    re.IGNORECASE,
)
_LABEL_ALONE = re.compile(
    rf"{_LIST_MARK}{_WRAP}{_LEAD}{_WRAP}{_LABEL}{_WRAP}(?P<scale>[(\[][^()\[\]]{{0,60}}[)\]])?{_WRAP}:?{_WRAP}",
    re.IGNORECASE,
)
_CONCLUDED = re.compile(
    rf".*[,;.]\s+(?:so|therefore|thus|hence)\s*,?\s+(?:(?:my|the)\s+)?(?:(?:final|overall)\s+)?{_LABEL}\s*(?:is|:|=)\s*{_WRAP}"
    rf"(?P<rest>\d(?:\s*/\s*\d)?{_WRAP}\.?{_WRAP})",
    re.IGNORECASE,
)
_TAG = re.compile(rf"<(?P<tag>{_LABEL})>\s*(?P<rest>[^<>]{{0,40}}?)\s*</(?P=tag)>[.\s]*", re.IGNORECASE)
_ROW = re.compile(
    rf"\|{_WRAP}(?:final\s+)?{_LABEL}{_WRAP}\|{_WRAP}(?P<rest>[^|]{{0,60}}?){_WRAP}\|\s*", re.IGNORECASE
)
_RESULT = re.compile(
    rf"{_LIST_MARK}{_WRAP}\[{{1,2}}\s*(?:result|{_LEAD}{_LABEL})\s*\]{{1,2}}{_WRAP}:?{_WRAP}(?P<rest>.*)",
    re.IGNORECASE,
)
_BOX = re.compile(r"(?:\$*\\boxed\{\s*(?P<a>[^{}]{1,12}?)\s*\}\$*|\[\[\s*(?P<b>[^\[\]]{1,12}?)\s*\]\])\.?")

_NUMBER = re.compile(
    r"(?P<open>[*_`\"'“”(\[<]*)(?P<sign>[-−–+]?)(?P<whole>\d{1,6})(?:[.,](?P<part>\d{1,9}))?(?P<rest>.*)",
    re.DOTALL,
)
_OUT_OF = re.compile(
    r"[*_`\"'”)\]>\s]*(?:points?\s+)?(?:/|out\s+of|of|from)\s*[*_`]*(?P<top>\d+(?:[.,]\d+)?)(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_RANGE = re.compile(
    r"(?<![\d.])(?P<low>-?\d+)\s*(?:-|–|—|to|\.\.|/|and|or|,)\s*(?:\d+\s*(?:,|or|/|and|,\s*or)\s*)*(?P<top>\d+)(?![\d.]*\d)",
    re.IGNORECASE,
)
_TAIL_BEGINS = re.compile(
    r"$|[.,;:!(\[{–—→|…]|-[-\s\d>]|=|\s+[-–—→(\[=*_]|\s*[✅✔✓❌✗✘]|"
    r"\s*(?:because|since|as|for|given|due|on|with|and|or|but|to|vs|no|wait|actually|rather|maybe|perhaps|possibly|not)\b|"
    r"\s*(?:points?|match(?:es)?|(?:partial|partly|partially)(?:\s+(?:match|correct|right))?|correct|right|wrong|incorrect|mismatch|full)\s*(?:$|[.,;:!)*/]|out\b)",
    re.IGNORECASE,
)
_CONNECTED = re.compile(
    r"[*_`\"'()\[\]\s]*(?:or|to|and|vs\.?|versus|but|maybe|perhaps|possibly|~|→|->|=>|–|—|-|,|;|/|\\|\||&|\.\.+)[\s*_`\"'(\[]*"
    r"(?:(?:or|to|maybe|perhaps|possibly|even|rather|actually|better|no|wait|not|a|an?)\b[\s,*_`]*){0,4}"
    r"(?P<other>\d+(?:[.,]\d+)?)(?=$|[\s.,;:!?)\]*_`\"'/])",
    re.IGNORECASE,
)
_CORRECTED = re.compile(
    r"\b(?:no|wait|hmm|actually|on reflection|scratch that|rather|i mean|sorry|correction|instead|change[ds]?|should (?:really )?be|make (?:that|it)|in fact|"
    r"reconsider\w*|on second thought|revis\w+|updat\w+)\b[^.\d]{0,40}?(?<![\w.])(?P<other>[0-9])(?![\d.]*\d|\w)",
    re.IGNORECASE,
)
_SPLIT = re.compile(
    r"(?<![\w.,/])(?P<other>[0-9])\s+(?:for|on)\s+(?:the|reference|gold|part)\b", re.IGNORECASE
)
"""A second number for another part: "1 for the first reference, 0 for the second"."""
_STEP_BEFORE = re.compile(
    r"\b(?:step|steps|number|no\.|item|node|frame|line|point|part|minutes?|id|reference|gold|answer)\s*#?\s*$",
    re.IGNORECASE,
)
_WORDS: Final = (
    (
        r"(?:an?\s+)?(?:exact |full |complete |perfect |good )?match(?:es)?|(?:fully |completely |entirely )?(?:correct|right)|[✅✔✓]",
        "top",
    ),
    (
        r"(?:an?\s+)?partial(?:ly)?(?: (?:match(?:es)?|correct|right))?|partly(?: (?:correct|right))?",
        "middle",
    ),
    (
        r"(?:completely |entirely |totally )?(?:wrong|incorrect)|mis-?match|no match|not (?:an? )?(?:match|correct|right)|does not match|[❌✗✘]",
        "bottom",
    ),
)
_WORD_ALONE = tuple(
    (re.compile(rf"[*_`\"'(\[\s]*(?:{words})[*_`\"')\]\s.!]*", re.IGNORECASE), level)
    for words, level in _WORDS
)
_WORD_BEHIND = tuple(
    (
        re.compile(
            rf"[*_`\"'\s]*(?:[-–—=>→#:,(\[{{.]|\s)+[*_`\"'\s]*(?:{words})[*_`\"'\s]*(?:[)\]}}.!;,]|$)",
            re.IGNORECASE,
        ),
        level,
    )
    for words, level in _WORDS
)
_SPELLED: Final = {"zero": "0", "one": "1", "two": "2"}
_SPELLED_ALONE = re.compile(r"[*_`\"'(\[\s]*(zero|one|two)[*_`\"')\]\s.!]*", re.IGNORECASE)
_ENUMERATED = re.compile(r"(?:^|[\s.;,:])2[.)]\s+\S")
_REFUSED = re.compile(
    r"(?:I(?:['’]m| am)?|we|as an? (?:AI|language model|assistant)[^.\n]{0,60}?)\s*(?:['’]m|am|are)?\s*"
    r"(?:sorry,?\s*(?:but\s*)?I\s*)?(?:am\s+)?"
    r"(?:can\s?not|can['’]?t|unable to|not able to|will not|won['’]?t|refuse to|(?:must )?decline to)\s+"
    r"(?:help|assist|comply|continue with|(?:judge|evaluate|assess|score|rate|grade|mark|give|provide|issue)\s+"
    r"(?:this|it|that|such|the (?:answer|prediction|request|response|content)|you|a (?:verdict|score|rating|judge?ment|mark|grade)))\b",
    re.IGNORECASE,
)
_APOLOGY = re.compile(
    r"(?:unfortunately|sorry|apologies|i apologi[sz]e)[^\n]{0,20}?[,.]\s*(?:but\s+)?", re.IGNORECASE
)
_BEFORE_OBJECT = re.compile(r"[`\[\s]*(?:(?:json|output|result|response)\b\s*:?)?[`\[\s]*", re.IGNORECASE)
_SPECIAL = re.compile(
    r"<\|[a-z_]{2,30}\|>|</s>|<(?:eos|end_of_turn|start_of_turn)>|\[/?INST\]", re.IGNORECASE
)
"""Markers of chat templates that some servers leave in their replies."""
_NEXT_TURN = re.compile(
    r"<\|(?:im_start|start_header_id|user)\|>|<start_of_turn>|\[INST\]|^[ \t]*[*#_]*(?:Human|User|Assistant|(?:The )?Question)[*_]*[ \t]*:",
    re.IGNORECASE | re.MULTILINE,
)
_REVOKES = re.compile(
    r"[-*_\s(]*(?:wait|hmm|hold on|actually|correction|on (?:second thought|reflection)|sorry|scratch that|i take (?:it|that) back|"
    r"i was wrong|let me (?:re|correct|fix|change)|no,|edit:)",
    re.IGNORECASE,
)
"""How a line begins that takes back what was said before it."""
_KEYS = re.compile(rf"\s*(?:final[_ ])?{_LABEL}\s*", re.IGNORECASE)
_RATIONALE_LABEL = re.compile(
    r"^[#*_\s]*(?:rationale|reason(?:s|ing)?|explanation)[*_\s]*:[*_\s]*", re.IGNORECASE
)
_RATIONALE_LIMIT: Final = 20_000
_LINE_LIMIT: Final = 2_000
_TURNS: Final = 20


@dataclass(frozen=True, slots=True)
class VerdictReading:
    """What was read: a score with the reasons given for it, or why there is none.

    Attributes:
        score: on the scale that was asked for; None when unscored.
        rationale: what the judge wrote before its verdict, trimmed; all of it when unscored.
        reason: why it is unscored; None when scored.
        form: how the verdict stood there (``line``, ``next_line``, ``json``, ``tag``, ``bare``); empty when unscored.
    """

    score: int | None
    rationale: str = ""
    reason: UnscoredReason | None = None
    form: str = ""

    @property
    def problem(self) -> Unreadable | None:
        """Why there is no score, for the repair round."""
        return None if self.reason is None else Unreadable(self.reason)


@dataclass(frozen=True, slots=True)
class _Mark:
    """Something that claims to be a verdict: where, how, and its score or why it has none."""

    at: int
    form: str
    score: int | None
    reason: UnscoredReason | None = None
    rationale: str | None = None


def maximum(scale: Scale) -> int:
    """Return the score of a full match."""
    return 1 if scale == "binary" else 2


def read_verdict(reply: str, scale: Scale) -> VerdictReading:
    """Read a judge's reply; never raises, whatever the text.

    Args:
        reply: what the model answered.
        scale: what it was asked for.
    """
    text = spoken_text(reply)
    if isinstance(text, Unreadable):
        return VerdictReading(None, "", _AS_IT_IS.get(text.reason, "no_verdict"))
    text = _FORMAT.sub("", text).translate(_WIDE).replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        return VerdictReading(None, "", "empty")
    top = maximum(scale)
    if _declines(text):
        return _unscored(text, "refusal")
    decided = _across_turns(text, top)
    if decided is not None and decided.score is not None and _is_taken_back(text, decided, top):
        return _unscored(text, "contradictory")
    decided = decided or _from_bare(_SPECIAL.sub("", text), top)
    if decided is None:
        return _unscored(text, "refusal" if _REFUSED.search(text[:2_000]) else "no_verdict")
    if decided.score is None:
        return _unscored(text, decided.reason or "no_verdict")
    rationale = decided.rationale if decided.rationale is not None else text[: decided.at]
    if not rationale.strip() and decided.rationale is None:
        rationale = text
    return VerdictReading(decided.score, _tidy(rationale), None, decided.form)


def read_outcome(outcome: Reply | Truncated | Refusal, scale: Scale) -> VerdictReading:
    """Read what became of a judge's call; failures are no business of this function: there is nothing to read.

    Args:
        outcome: of the call. A truncated reply is unscored even if it holds a verdict, and so is a refusal.
        scale: what it was asked for.
    """
    if isinstance(outcome, Reply):
        return read_verdict(outcome.text, scale)
    return _unscored(outcome.text, "truncated" if isinstance(outcome, Truncated) else "refusal")


_AS_IT_IS: Final[dict[str, UnscoredReason]] = {
    "empty": "empty",
    "too_long": "too_long",
    "not_a_reply": "not_a_reply",
    "unfinished_thinking": "unfinished_thinking",
}


def _unscored(text: str, reason: UnscoredReason) -> VerdictReading:
    return VerdictReading(None, _tidy(text), reason)


def _tidy(text: str) -> str:
    return _RATIONALE_LABEL.sub("", text.strip())[:_RATIONALE_LIMIT].strip()


def _marked(text: str, top: int) -> _Mark | None:
    text = _SPECIAL.sub(lambda found: " " * len(found[0]), text)
    return _decide(list(_from_objects(text, top)), list(_from_lines(_blanked(text), top)))


def _across_turns(text: str, top: int) -> _Mark | None:
    """Return the last mark, unless another one stands before what looks like the next turn of a conversation.

    Some models go on by themselves with the next question, whose verdict must not count; but an answer that a judge
    quotes may hold the looks of a turn as well, so the mark before it must not count either.
    """
    last = _marked(text, top)
    if last is None or last.score is None:
        return last
    for turn in islice(_NEXT_TURN.finditer(text), _TURNS):
        before = _marked(text[: turn.start()], top)
        if before is not None and before.score != last.score:
            return _Mark(last.at, "", None, "contradictory")
    return last


def _is_taken_back(text: str, mark: _Mark, top: int) -> bool:
    """True when something behind the verdict revokes it: a line that begins so, or another bare number at the end."""
    behind = [line.strip() for line in text[mark.at :].split("\n")[1:] if line.strip(" \t`")]
    if not behind or mark.form in ("json", "next_line"):
        return any(_REVOKES.match(line) for line in behind)
    last = _bare(behind[-1], top)
    return any(_REVOKES.match(line) for line in behind) or (last is not None and last[0] != mark.score)


def _declines(text: str) -> bool:
    """True for a reply that begins with a refusal, whatever it goes on with. Later ones may be quoted from the answer."""
    opening = _RATIONALE_LABEL.sub("", text.lstrip()[:2_000])
    return (
        _REFUSED.match(opening[apology.end() :] if (apology := _APOLOGY.match(opening)) else opening)
        is not None
    )


def _blanked(text: str) -> str:
    """Return the text with blanks for its JSON objects, line by line: what they hold is read there, not here."""
    pieces, at = [], 0
    for found in find_objects(text):
        pieces += [text[at : found.begin], re.sub(r"[^\n]", " ", text[found.begin : found.end])]
        at = found.end
    return "".join((*pieces, text[at:]))


def _decide(objects: list[_Mark], lines: list[_Mark]) -> _Mark | None:
    """The last mark counts; objects against lines is a contradiction, since one of them may be a quotation."""
    if objects and lines:
        last, other = objects[-1], lines[-1]
        if last.score != other.score:
            return _Mark(last.at, "", None, "contradictory")
        return max(last, other, key=lambda mark: mark.at)
    marks = objects or lines
    return marks[-1] if marks else None


# -- JSON ------------------------------------------------------------------------------------------------------


def _from_objects(text: str, top: int) -> Iterator[_Mark]:
    """Yield verdicts of JSON objects that stand on lines of their own; those inside of sentences are quotations."""
    for found in find_objects(text):
        before = text[: found.begin].rpartition("\n")[2].strip()
        after = text[found.end :].partition("\n")[0].strip()
        if not _BEFORE_OBJECT.fullmatch(before) or after.strip("`], \t"):
            continue
        values = [v for k, v in found.value.items() if _KEYS.fullmatch(k)]
        if not values:
            continue
        scores = [_json_score(v, top) for v in values]
        rationale = next(
            (
                v
                for k, v in found.value.items()
                if k.lower() in ("rationale", "reason", "reasons", "reasoning", "explanation")
                and isinstance(v, str)
            ),
            None,
        )
        if len({s[0] for s in scores}) > 1:
            yield _Mark(found.begin, "json", None, "contradictory")
        else:
            yield _Mark(found.begin, "json", *scores[0], rationale)


def _json_score(value: Any, top: int) -> tuple[int | None, UnscoredReason | None]:
    if isinstance(value, bool) or value is None:
        return None, "malformed"
    if isinstance(value, int | float):
        return (int(value), None) if value in range(top + 1) else (None, "scale")
    if isinstance(value, str):
        return _read_value(value.strip(), top) or (None, "malformed")
    return None, "malformed"


# -- lines -----------------------------------------------------------------------------------------------------


def _from_lines(text: str, top: int) -> Iterator[_Mark]:
    """Return the verdicts of lines in the order of the text; lines inside of quotation marks or ``>`` are none."""
    lines = [line.strip() for line in text.split("\n")]
    places = list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))
    following = ""
    marks: list[_Mark] = []
    for line, at in zip(reversed(lines), reversed(places[:-1]), strict=True):
        if 0 < len(line) <= _LINE_LIMIT:
            mark = _from_line(line, following, top)
            if mark is not None:
                marks.append(_Mark(at, *mark))
        if line.strip("`"):
            following = line
    return reversed(marks)


def _from_line(line: str, following: str, top: int) -> tuple[str, int | None, UnscoredReason | None] | None:
    for pattern, form in ((_TAG, "tag"), (_ROW, "line"), (_RESULT, "tag")):
        if match := pattern.fullmatch(line):
            return form, *(_read_value(match["rest"], top) or (None, "malformed"))
    if match := _LABELLED.fullmatch(line):
        if _other_scale(match["scale"], top):
            return "line", None, "scale"
        if not match["rest"].strip("*_` "):
            return _from_next(following, top)
        found = _read_value(match["rest"], top)
        if found is None or (found[1] == "malformed" and match["sign"] not in (":", "=")):
            return None
        return "line", *found
    if match := _LABEL_SPACE.fullmatch(line):
        return "line", *(_bare(match["rest"], top) or (None, "malformed"))
    if match := _LABEL_ALONE.fullmatch(line):
        if _other_scale(match["scale"], top):
            return "line", None, "scale"
        return _from_next(following, top)
    if not following and (match := _CONCLUDED.fullmatch(line)):
        found = _read_value(match["rest"], top)
        return None if found is None else ("line", *found)
    return None


def _from_next(following: str, top: int) -> tuple[str, int | None, UnscoredReason | None] | None:
    """The number stands below its label."""
    found = _bare(following, top)
    return None if found is None else ("next_line", *found)


def _other_scale(note: str | None, top: int) -> bool:
    """True for a bracket such as (0-10) or (out of 5) that names another scale."""
    if not note:
        return False
    if match := _RANGE.search(note):
        return int(match["low"]) != 0 or int(match["top"]) != top
    match = re.search(r"(?:out of|/|max(?:imum)?\.?)\s*(\d+)", note, re.IGNORECASE)
    return match is not None and int(match[1]) != top


# -- values ----------------------------------------------------------------------------------------------------


def _read_value(text: str, top: int) -> tuple[int | None, UnscoredReason | None] | None:
    """Return score and reason for what stands behind a label; None when it is no number at all."""
    text = text.strip()
    if match := _BOX.fullmatch(text):
        text = match["a"] or match["b"]
    if match := _SPELLED_ALONE.fullmatch(text):
        text = _SPELLED[match[1].lower()]
    for pattern, level in _WORD_ALONE:
        if pattern.fullmatch(text):
            return _level_score(level, top)
    match = _NUMBER.fullmatch(text)
    if match is None:
        return (None, "malformed") if re.search(r"\d", text[:40]) else None
    return _checked(match, top)


def _level_score(level: str, top: int) -> tuple[int | None, UnscoredReason | None]:
    if level == "middle":
        return (1, None) if top == 2 else (None, "scale")
    return (top if level == "top" else 0), None


def _checked(match: re.Match[str], top: int) -> tuple[int | None, UnscoredReason | None]:
    value, part, rest = int(match["whole"]), match["part"], match["rest"]
    if len(match["whole"]) > 1 and match["whole"].startswith("0"):
        return None, "malformed"
    rest = rest.lstrip("*_`\"'”") if match["open"].strip("([<") else rest
    closers = match["open"].count("(") + match["open"].count("[") + match["open"].count("<")
    for _ in range(closers):
        rest = re.sub(r"^[*_`\"'”]*[)\]>]", "", rest)
    rest = re.sub(r"^[*_`\"'”]+", "", rest)
    if match["sign"] in ("-", "−", "–"):
        return None, "scale"
    if match["sign"] or re.match(r"\s*[%°]|\s*per\s?cent", rest):
        return None, "scale"
    if part and int(part):
        return None, "scale"
    if out_of := _OUT_OF.match(rest):
        if float(out_of["top"].replace(",", ".")) != top:
            other = int(float(out_of["top"].replace(",", ".")))
            return None, "contradictory" if rest.lstrip().startswith("/") and other <= top else "scale"
        rest = re.sub(r"^[*_`\"'”)\]]+", "", out_of["rest"])
    if not _TAIL_BEGINS.match(rest):
        return None, "malformed"
    if value > top:
        return None, "scale"
    return _against_tail(value, rest, top)


def _against_tail(value: int, rest: str, top: int) -> tuple[int | None, UnscoredReason | None]:
    """Hold what follows the number against it: a second number, another scale, a word that says the contrary."""
    near = rest[:300]
    if re.fullmatch(r"\s*\.\s*\d+\s*", near):
        return None, "malformed"
    if (match := _CONNECTED.match(near)) and match["other"] != str(value):
        return None, "contradictory"
    for match in (*_CORRECTED.finditer(near), *_SPLIT.finditer(near)):
        if match["other"] != str(value) and not _STEP_BEFORE.search(near[: match.start("other")]):
            return None, "contradictory"
    if re.search(
        rf"\b{_LABEL}{_WRAP}(?:[:=]|\bis\b|\bof\b){_WRAP}(?!{value}(?![\d.,]*\d))\d", near, re.IGNORECASE
    ):
        return None, "contradictory"
    if match := re.search(
        r"(?:scale|range)\b[^\d]{0,20}(?P<range>.{0,30})|\bout of\s+(?P<top>\d+)", near, re.IGNORECASE
    ):
        if match["top"] and int(match["top"]) != top:
            return None, "scale"
        if match["range"] and _other_scale(match["range"], top):
            return None, "scale"
    for pattern, level in _WORD_BEHIND:
        if pattern.match(" " + near if near[:1].isalpha() else near):
            said, _ = _level_score(level, top)
            if said is not None and said != value:
                return None, "contradictory"
    if value == 1 and rest[:1] in (".", ")") and _ENUMERATED.search(rest):
        return None, "ambiguous"
    return value, None


# -- replies without any label ---------------------------------------------------------------------------------


def _bare(line: str, top: int) -> tuple[int | None, UnscoredReason | None] | None:
    """Read a line that is nothing but the number, decorated at most."""
    line = line.strip()
    if match := _BOX.fullmatch(line):
        return _read_value(match["a"] or match["b"], top)
    core = re.sub(r"^[*_`\"'(\[\s]+|[*_`\"')\]\s.!]+$", "", line)
    if re.fullmatch(r"[-−+]?\d{1,6}(?:[.,]\d{1,9})?\s*%?(?:\s*/\s*\d{1,6})?", core):
        return _read_value(core, top)
    return None


def _from_bare(text: str, top: int) -> _Mark | None:
    lines = [line.strip() for line in text.split("\n") if line.strip(" \t`")]
    if not lines:
        return None
    if len(lines) == 1:
        return _from_single(lines[0], top)
    numbers = {found for line in lines if (found := _bare(line, top)) is not None}
    if len(numbers) > 1:
        return _Mark(0, "", None, "contradictory")
    last, first = _bare(lines[-1], top), _bare(lines[0], top)
    if last is not None and not _stands_apart(text, lines):
        last = None
    if last is not None:
        return _Mark(text.rindex(lines[-1]), "bare", *last)
    if first is None:
        return None
    return _Mark(0, "", None, "ambiguous") if lines[0].endswith((".", ")")) else _Mark(0, "bare", *first)


def _stands_apart(text: str, lines: list[str]) -> bool:
    """True when the last line does not go on with the sentence before it ("... forgot step" / "2.")."""
    before = text[: text.rindex(lines[-1])].rstrip(" \t`")
    return before.endswith("\n\n") or lines[-2].endswith((".", "!", "?", ":", "*", ")", "|", "-"))


def _from_single(line: str, top: int) -> _Mark | None:
    """A reply of one line that begins with the number: ``0 (confidence 0.91)``, ``2 - same step``."""
    found = _bare(line, top)
    if found is None:
        match = _NUMBER.fullmatch(line)
        if match is None:
            return None
        behind = re.sub(r"^[*_`\"'”)\]]+", "", match["rest"])
        if not re.match(r"[.,;:=(\[]|\s*[-–—=(\[/]|\s+(?:out of|because|since|on|points?)\b", behind):
            return None
        if match["whole"] == "1" and re.match(r"[.)]\s+\S", match["rest"].lstrip("*_`")):
            return _Mark(0, "", None, "ambiguous")
        found = _checked(match, top)
    return _Mark(0, "bare", *found)
