"""From what a judge model wrote to a verdict, or to *unscored* with the reason. Never a guess.

What counts, in this order:

1. Labelled lines: ``Verdict: 1`` in its varieties (bold, headings, ``Score``, ``2/2``, ``Judgement (0-2): 1``, the number
   on the next line, ``<verdict>1</verdict>``), and JSON objects with such a key. All of them have to agree, unless the
   last one is marked as the correction (``Revised verdict: 1``). Verdicts on single references ("Verdict (reference 1): 2")
   count as the best of them. A line that offers the whole scale is the form, not a verdict.
2. Without any of these, a reply that is nothing but the number, ends in a line that is nothing but the number, or is one
   line that begins with it (``0 (confidence 0.91)``).

Numbers inside of sentences are never a verdict, nor are quotations, examples, struck-out text, or what stands in fences of
the prompt. A number that is not on the scale that was asked for (``8/10``, ``0 out of 1`` on a scale to 2, ``1.5``,
``80%``), a second verdict, a doubt, a change of mind behind the verdict and words that contradict the number leave the
answer unscored: a person can look at it, a mis-score nobody finds. Text behind a verdict that cannot be read as English
cannot be checked for any of this, so that it leaves the answer unscored too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, islice
from typing import Any, Final, Literal

from proctor.evaluate.verdict_claims import Level, disagreement
from proctor.evaluate.verdict_words import (
    contradicts,
    free_numbers,
    is_doubted,
    is_level,
    is_vetted,
    retraction,
    without_quotations,
)
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
    "retracted",  # what stands behind the verdict takes it back
    "doubted",  # the verdict depends on something, or asks
    "quoted",  # it is somebody else's verdict, or an example of the form
    "unvetted",  # text behind the verdict that cannot be read, so that it may take the verdict back
    "ambiguous",  # it may be the number of a list, or a verdict on one of several references
]

_FORMAT = re.compile("[\xad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe0f\ufeff]")
_WIDE: Final = str.maketrans("０１２３４５６７８９：＊／（）．，＝", "0123456789:*/().,=")

_LINE_ENDS = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")

_LABEL: Final = (
    r"(?:(?:judge(?:['’]s)?|judge?ment|verdict)\s+)?(?:verdict|judge?ment|judge|score|rating|mark|grade)"
)
_MARKS: Final = r"final|definitive|revised|corrected|updated|new|amended|adjusted|modified|correction"
"""Words that mark a verdict as the one that replaces what was said before."""
_LEAD: Final = (
    r"(?:(?:so|therefore|thus|hence|overall|finally|in conclusion|in summary|correction)\s*[,:]?\s+)?"
    rf"(?:(?:my|the|your|our)\s+)?(?:(?P<lead>{_MARKS})\s+)?(?:(?:overall|total|resulting|ternary|binary|numeric(?:al)?)\s+)?"
)
_WRAP: Final = r"[*_`\s]*+"
_LIST_MARK: Final = r"(?:[-*+•·]\s+|\d{1,2}[.)]\s+|#{1,6}\s+){0,4}"
_LABELLED = re.compile(
    rf"{_LIST_MARK}{_WRAP}{_LEAD}{_WRAP}{_LABEL}(?:[ ,(\[]+(?P<after>{_MARKS})\b[)\]]?(?=\s*[*_`]*\s*[:=]))?{_WRAP}(?P<scale>[(\[][^()\[\]]{{0,60}}[)\]])?{_WRAP}"
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
    rf".*[,;.]\s+(?:(?:so|therefore|thus|hence)\s*,?\s+(?:(?:my|the)\s+)?(?:(?:final|overall)\s+)?|(?:(?:my|the)\s+)?(?P<lead>{_MARKS})\s+){_LABEL}\s*(?:is|:|=)\s*{_WRAP}"
    rf"(?P<rest>\d(?:\s*/\s*\d)?{_WRAP}\.?{_WRAP})",
    re.IGNORECASE,
)
_TAG = re.compile(rf"<(?P<tag>{_LABEL})>\s*(?P<rest>[^<>]{{0,40}}?)\s*</(?P=tag)>[.\s]*", re.IGNORECASE)
_ROW = re.compile(
    rf"\|{_WRAP}{_LEAD}{_LABEL}{_WRAP}\|{_WRAP}(?P<rest>[^|]{{0,60}}?){_WRAP}\|\s*", re.IGNORECASE
)
_RESULT = re.compile(
    rf"{_LIST_MARK}{_WRAP}\[{{1,2}}\s*(?:result|{_LEAD}{_LABEL})\s*\]{{1,2}}{_WRAP}:?{_WRAP}(?P<rest>.*)",
    re.IGNORECASE,
)
_BOX = re.compile(r"(?:\$*\\boxed\{\s*(?P<a>[^{}]{1,12}?)\s*\}\$*|\[\[\s*(?P<b>[^\[\]]{1,12}?)\s*\]\])\.?")

_NUMBER = re.compile(
    r"(?P<open>[*_`\"'“”(\[<]*)(?P<sign>[-−–+]?)(?P<whole>\d{1,6})(?:(?P<point>[.,])(?P<part>\d{1,9}))?(?P<rest>.*)",
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
_KEYS = re.compile(rf"\s*(?:(?P<mark>{_MARKS})[_ ])?{_LABEL}\s*", re.IGNORECASE)
_SCALE_KEYS = re.compile(
    r"(?:max(?:imum)?|out[_ ]?of|of|total|scale|range|top)(?:[_ ](?:score|points?|mark|value|rating|verdict))?",
    re.IGNORECASE,
)
_RIGHT_KEYS = re.compile(
    r"(?:is[_ ])?(?:an?[_ ])?(?:correct|right|match(?:es)?|equivalent|accepted|pass(?:ed)?)", re.IGNORECASE
)
_REFERENCE_KEYS = re.compile(r"(?:reference|ref|gold)(?:[_ ](?:id|index|number|answer|no))?", re.IGNORECASE)
_REFERENCE_VERDICT = re.compile(
    rf"(?:{_LABEL})[_ ]*(?:for|on|against|vs)?[_ ]*(?:reference|ref|gold)|(?:reference|ref|gold)(?:[_ ]?answer)?[_ ]?\w{{0,3}}[_ ]+{_LABEL}",
    re.IGNORECASE,
)
_COUNT_KEYS = re.compile(
    r"confiden|certain|initial|first|previous|prelim|draft|original|prob|index|idx|(?:^|[_ ])id|step|reference|ref\b|gold|num|count|time|token|max|min\b|scale|total|out[_ ]?of|length|words|version|seed|page|line|attempt|question|example|weight|answer|prediction|range|temperature|cups|minutes|of\b",
    re.IGNORECASE,
)
"""Keys whose numbers are no marks."""
_LOOSE_KEY = re.compile(
    rf"[\"'“‘](?:(?:{_MARKS})[_ ])?{_LABEL}[\"'”’]\s*[:=]\s*[\"'“‘]?(?P<rest>[^\s,}}\"']{{1,12}})",
    re.IGNORECASE,
)
"""A key of an object that is no JSON."""
_REFERENCE: Final = r"(?:reference|ref\.?|gold)(?:\s+answer)?\s*#?\s*(?P<ref>\d{1,2}|[A-Z]\b)"
_ON_REFERENCE = re.compile(
    rf"(?:{_LABEL}{_WRAP}\s*,?\s*(?:for|on|against|vs\.?|with|to)?\s*(?:the\s+)?[(\[]?\s*(?:for\s+|against\s+|vs\.?\s+)?{_REFERENCE}\s*[)\]]?"
    rf"|[(\[]\s*(?:for\s+|against\s+|vs\.?\s+)?{_REFERENCE.replace('<ref>', '<ref2>')}\s*[)\]]"
    rf"|{_REFERENCE.replace('<ref>', '<ref3>')}\s*[-–—,:]?\s*{_LABEL}){_WRAP}(?:[:=]|\bis\b){_WRAP}"
    r"(?P<rest>(?:\d|[^\s;|,])[^;|,(]*)",
    re.IGNORECASE,
)
_BLOCKS = re.compile(
    r"<!--.*?(?:-->|\Z)|<(?P<tag>answer|candidate|prediction|response|reference|gold|question|example|format|template|quote|blockquote|input|context|del|strike|scratchpad|scratch|analysis|draft|thought|thoughts|reflection|critique)\b[^<>]{0,80}>.*?(?:</(?P=tag)>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
"""Comments, struck-out text, notes to oneself and what others wrote, in tags."""
_LEGEND_LINE = re.compile(
    rf"\s*{_LIST_MARK}{_WRAP}(?:(?:an?\s+)?{_LABEL}\s+)?(?:of\s+|is\s+|[:=]\s*)?[*_`\"'(\[]*(?P<n>\d)[*_`\"')\]]*\s*(?:points?\s*)?(?:=|:|[-–—]+|→|->|\bmeans?\b|\bis\b|\bif\b|\bfor\b|\bwhen\b|\(|\.|,)\s*\S.*",
    re.IGNORECASE,
)
_LEGEND_INLINE = re.compile(
    r"[*_`\"'(\[]{0,4}(?<![\w.,/])(\d)[*_`\"')\]]{0,4}\s*(?:=+>?|:|[-–—]+|→|->|\bmeans?\b|\bis\b|\bfor\b|\bif\b)\s*[^\d\n]{2,160}?(?=$|[,;.|/)\]\n]|\s(?:and|or)\s)",
    re.IGNORECASE,
)
_SCALE_STATED = re.compile(
    r"\b(?:scale|range)\b(?:\s+(?:used|is|was|of|from|runs?|goes|between))*\s*[:=(\[]?\s*(?:of|from|between)?\s*(?P<range>-?\d+\s*(?:-|–|—|to|\.\.|/|and)\s*\d+)"
    r"|\b(?:max(?:imum)?\.?|highest)\s+(?:possible\s+)?(?:score|mark|verdict|rating|grade|points?)\s*(?:is|of|:|=|are)?\s*(?P<max>\d+)"
    r"|^\s*[*_`]*(?:max(?:imum)?|out of|total points)[*_`]*\s*[:=]\s*[*_`]*(?P<line>\d+)",
    re.IGNORECASE | re.MULTILINE,
)
_OTHER_LABEL = re.compile(
    rf"{_LIST_MARK}{_WRAP}(?:(?:final|my|the|overall)\s+)*(?:result|decision|conclusion|final\s+answer|assessment|evaluation|points?|total|overall|output|classification|label|category"
    r"|Urteil|Bewertung|Wertung|Punktzahl|Punkte|Verdikt|Ergebnis|Nota|Veredicto|Puntuación|Puntaje|Calificación|Punteggio|Giudizio|Verdetto|Voto|Veredito|Pontuação|Oordeel|Beoordeling"
    r"|оценка|вердикт|评分|評分|判定|分数|得分|结论|スコア|評価|判決|점수|평가|판정)"
    rf"{_WRAP}[:=：]{_WRAP}(?P<n>\d)(?:\s*/\s*\d)?{_WRAP}\.?{_WRAP}",
    re.IGNORECASE,
)
"""Labels that were not asked for; a number behind them is no verdict, but may contradict one."""
_CLAIMED = re.compile(
    rf"(?:\bI(?:['’]d|['’]ll|\s+would|\s+will)?\s+(?:therefore\s+|thus\s+|hereby\s+)?(?:give|rate|score|assign|award|grade|mark|judge)\b[^.\d\n]{{0,40}}?"
    rf"|(?:[.!?;)][ \t]+|\b(?:so|therefore|thus|hence)[ \t]*,?[ \t]+)(?:(?:my|the)\s+)?(?:(?:final|overall)\s+)?{_LABEL}\s*(?:is|:|=)\s*[*_`]*(?:an?\s+)?)(?P<n>\d)(?![\w%]|[.,/:]\d)(?P<after>[^.!?\n]{{0,200}})",
    re.IGNORECASE | re.MULTILINE,
)
_UNREAL = re.compile(
    r"\b(?:if|unless|had|were|have|could|might|but|however|except|although|though|otherwise|require[sd]?|need(?:s|ed)?|would\s+be|not|never)\b|n['’]t\b",
    re.IGNORECASE,
)
_OPENS = re.compile(
    r"(?:[:,]|[–—-]|\b(?:write|say|give|output|put|print|return|reply|respond|answer|be|is|was|with|like|as|than|of|line|e\.g\.|i\.e\.|namely|either|or|not|a|an|the|to|that))[\s*_`\"“'(]{0,8}$",
    re.IGNORECASE,
)
_COLON = re.compile(r":[\s*_`\"“'(]{0,8}$")
_FENCE = re.compile(r"\s*`{3,}\w*\s*")
_OTHERS = re.compile(
    r"\b(?:e\.g|example|examples|exemplary|format|form|template|such as|looks?|instruct\w*|instruction|ask(?:s|ed|ing)?|rubric|reads?|says?|said|saying|states?|stating|wrote|writes|writing|write|claims?|claiming|contains?|containing"
    r"|ends? (?:with|in)|ending|quot\w+|inject\w*|demand\w*|request\w*|tells?|told|order(?:s|ed)|want(?:s|ed)|include[sd]?|appears?|prints?|printed|added|adds|output|reply|respond|expected|required|sample|illustrat\w*|hypothetical\w*|instead of"
    r"|someone|others?|another|one could|would|could|might|should|if|unless|had|not|never|neither|either|previous(?:ly)?|earlier|first thought|initial\w*|original\w*|draft|user)\b|n['’]t\b",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"\b(?:my (?:\w+ )?(?:verdict|score|mark|judge?ment|rating|grade|conclusion|decision|assessment|evaluation|answer)|here(?:['’]s| is| comes)|therefore|thus|hence|so|in conclusion|accordingly|conclu\w+|I (?:therefore |thus |hereby )?(?:give|judge|rate|conclude|decide|mark|assign)|as (?:requested|required|asked|instructed)|in the (?:\w+ )?(?:form|format))\b",
    re.IGNORECASE,
)
_LABEL_WORD = re.compile(rf"\b{_LABEL}\b", re.IGNORECASE)
_AND: Final = r"\s*(?:,|/|\||\bor\b|\band\b|-|–|\bto\b)+\s*(?:or\s+|and\s+)?"
_TO: Final = r"\s*(?:-|–|\bto\b|\.\.+)\s*"
_FULL_SCALE: Final = {
    1: re.compile(
        r"(?<![\d.])0\s*(?:,|\||\bor\b|-|–|\bto\b|/\s*or\b)+\s*(?:or\s+)?1(?![\d.]*\d)", re.IGNORECASE
    ),
    2: re.compile(rf"(?<![\d.])0(?:{_AND}1{_AND}|{_TO})2(?![\d.]*\d)", re.IGNORECASE),
}
"""All of a scale, as forms and rubrics name it."""
_REFUSED_TO_JUDGE = re.compile(
    r"(?:^|[.!?\n]\s*)(?:(?:sorry|unfortunately)[^\n.]{0,20}?\s)?I(?:['’]m| am)?\s+(?:can\s?not|can['’]?t|unable to|not able to|will not|won['’]?t|refuse to|decline to)\s+"
    r"(?:help|assist|comply|judge|evaluate|assess|score|rate|grade|mark)\b",
    re.IGNORECASE,
)
_INLINE = re.compile(rf"\b{_LABEL}\s*[:=]\s*[*_`]*(?P<n>\d)(?![\d.,:/]*\d)", re.IGNORECASE)
_PART_ONLY = re.compile(
    r"\b(?:for|on|about|regarding|as\s+to|concerns?|covers?)\s+(?:the\s+|its\s+)?(?:\w+\s+){1,4}(?:only|alone)\b|\b(?:only|just|solely|exclusively)\s+(?:for|about|regarding|concerns|covers|applies\s+to)\b"
    r"|^\W*(?:for|regarding|concerning|as\s+to)\s+(?:the\s+)?(?:first|second|last|other|tool|amount|action|order|part|half|beginning|end)\b",
    re.IGNORECASE,
)
_UNDECIDED = re.compile(
    r"[*_`\"'(\[\s]*(?:un(?:clear|decided|known|sure|determined)|n/?a|none|null|pending|tbd|depends|can(?:not|['’]t)\b.*|[?？]+)[*_`\"')\]\s.!]*",
    re.IGNORECASE,
)
_ASKS = re.compile(r"(?:Human|User)[*_]*[ \t]*:|<\|im_start\|>\s*user", re.IGNORECASE)
_ANSWERS = re.compile(r"(?:Assistant|Judge)[*_]*[ \t]*:|<\|im_start\|>\s*assistant", re.IGNORECASE)
_HINT = re.compile(r"judg|verdict|score|rating|mark|grade|result", re.IGNORECASE)
"""Without one of these a line is no verdict; it spares reading it."""
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
        form: how the verdict stood there (``line``, ``next_line``, ``json``, ``tag``, ``bare``, ``references``); empty when unscored.
        detail: for people, what the score was read from or what spoke against one.
    """

    score: int | None
    rationale: str = ""
    reason: UnscoredReason | None = None
    form: str = ""
    detail: str = ""

    @property
    def problem(self) -> Unreadable | None:
        """Why there is no score, for the repair round."""
        return None if self.reason is None else Unreadable(self.reason)


Value = tuple[int | None, UnscoredReason | None]
"""A score, or why what stands there is none."""


@dataclass(frozen=True, slots=True)
class _Mark:
    """Something that claims to be a verdict: where, how, and its score or why it has none.

    Attributes:
        at: where it begins.
        end: where it ends, so that the rest is behind it.
        form: as in a reading.
        score: on the scale, or None.
        reason: why it has none.
        rationale: of an object.
        word: that marks it as a correction, such as "revised".
        reference: the one reference that it is about.
    """

    at: int
    end: int
    form: str
    score: int | None
    reason: UnscoredReason | None = None
    rationale: str | None = None
    word: str = ""
    reference: str = ""


class _Unscored(Exception):  # noqa: N818 - not an error: the reply has no score
    """Why a reply has no score: ends the reading from anywhere below."""

    def __init__(self, reason: UnscoredReason, detail: str = "") -> None:
        super().__init__(detail)
        self.reason: UnscoredReason = reason
        self.detail = detail


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
        reason = _AS_IT_IS.get(text.reason, "no_verdict")
        return VerdictReading(None, "", reason, detail=text.detail or _WHY[reason])
    text = _LINE_ENDS.sub("\n", _FORMAT.sub("", text).translate(_WIDE))
    if not text.strip():
        return VerdictReading(None, "", "empty", detail=_WHY["empty"])
    try:
        mark = _verdict(text, maximum(scale))
    except _Unscored as why:
        return _unscored(text, why.reason, why.detail)
    rationale = mark.rationale if mark.rationale is not None else text[: mark.at]
    if not rationale.strip() and mark.rationale is None:
        rationale = text
    said = " ".join(text[mark.at : mark.end].split())[:120]
    return VerdictReading(mark.score, _tidy(rationale), None, mark.form, f"read from: {said}")


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


_WHY: Final[dict[UnscoredReason, str]] = {
    "empty": "the reply is empty",
    "too_long": "the reply is far longer than anything that was asked for",
    "not_a_reply": "the reply is an error page",
    "unfinished_thinking": "the thinking has no end",
    "refusal": "it declines to judge",
    "truncated": "it is cut off, so that a verdict in it may not be the last one",
    "no_verdict": "nothing in it has the form of a verdict",
    "malformed": "what stands behind the label is no number alone",
    "scale": "the number is not on the scale that was asked for",
    "contradictory": "it says two things at once",
    "retracted": "what stands behind the verdict takes it back",
    "doubted": "the verdict depends on something, or asks",
    "quoted": "the verdict is quoted, or an example of the form",
    "unvetted": "what stands behind the verdict cannot be read as English, so that it may take the verdict back",
    "ambiguous": "the number may be another one than the verdict",
}


def _unscored(text: str, reason: UnscoredReason, detail: str = "") -> VerdictReading:
    return VerdictReading(None, _tidy(text), reason, detail=detail or _WHY[reason])


def _tidy(text: str) -> str:
    return _RATIONALE_LABEL.sub("", text.strip())[:_RATIONALE_LIMIT].strip()


# -- deciding ----------------------------------------------------------------------------------------------------


def _verdict(text: str, top: int) -> _Mark:
    """Return the mark that counts.

    Raises:
        _Unscored: if there is none, or something speaks against it.
    """
    if _declines(text):
        raise _Unscored("refusal")
    text = _without_others(text, top)
    objects = list(_from_objects(text, top))
    plain = _blanked(text)
    lines, quoted = _from_lines(plain, top)
    loose = list(_from_loose_objects(plain))
    mark = _decided([*objects, *loose, *lines], text, top)
    if mark is None:
        mark = _from_bare(text, top)
        if mark is None or quoted:
            refused = _REFUSED.search(text[:2_000])
            raise _Unscored("refusal" if refused else "quoted" if quoted else "no_verdict")
        if mark.score is None:
            raise _Unscored(mark.reason or "no_verdict")
    _hold_against_rest(mark, text, plain, top)
    return mark


def _without_others(text: str, top: int) -> str:
    """Blank what is not the judge's own word: markers of servers, comments, tagged and struck-out text, the rubric repeated."""
    for pattern in (_SPECIAL, _BLOCKS):
        text = pattern.sub(_blank, text)
    lines = text.split("\n")
    found = [_LEGEND_LINE.fullmatch(line) if 3 < len(line) <= _LINE_LIMIT else None for line in lines]
    run: list[int] = []
    for place in range(len(lines) + 1):
        legend = found[place] if place < len(lines) else None
        if legend is not None and int(legend["n"]) not in [int(found[i]["n"]) for i in run]:  # type: ignore[index]
            run.append(place)
        elif place == len(lines) or lines[place].strip():
            if {int(found[i]["n"]) for i in run} == set(range(top + 1)):  # type: ignore[index]
                for i in run:
                    lines[i] = " " * len(lines[i])
            run = [place] if legend is not None else []
    return "\n".join(lines)


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def _decided(marks: list[_Mark], text: str, top: int) -> _Mark | None:
    """Return the mark that all others agree with, or that is marked as their correction; None without any.

    Raises:
        _Unscored: if they do not agree, or the last one cannot be read.
    """
    marks = sorted(marks, key=lambda mark: mark.at)
    if not marks:
        return None
    last = marks[-1]
    if any(mark.reference for mark in marks):
        last = _best_reference(marks, top)
    elif last.score is None:
        raise _Unscored(last.reason or "malformed")
    else:
        others = [m for m in marks if m.score != last.score and m.reason != "malformed" and m.form != "form"]
        if others and not _corrects(last, others, text):
            said = ", ".join(
                "one that cannot be read" if m.score is None else str(m.score) for m in (*others, last)
            )
            raise _Unscored(
                "contradictory", f"verdicts that differ: {said}; the last one is not marked as the correction"
            )
    asked = _ASKS.search(text, 0, last.at)
    answers = _ANSWERS.search(text, asked.end(), last.at) if asked else None
    if asked and answers and not any(m.end <= asked.start() and m.score == last.score for m in marks):
        raise _Unscored(
            "contradictory", "the verdict stands in what looks like the next turn of a conversation"
        )
    return last


def _corrects(last: _Mark, others: Sequence[_Mark], text: str) -> bool:
    """True when the last verdict says of itself that it replaces those before it, in the same form and the same turn."""
    if not last.word or any(last.word == mark.word for mark in others):
        return False
    if any((mark.form == "json") != (last.form == "json") or mark.reason == "scale" for mark in others):
        return False
    return _NEXT_TURN.search(text, others[0].at, last.at) is None


def _best_reference(marks: Sequence[_Mark], top: int) -> _Mark:
    """Return the best of the verdicts on single references; a verdict on the whole beside them has to say the same.

    Raises:
        _Unscored: if one cannot be read, two on one reference differ, or only one reference was looked at, with no match.
    """
    scores: dict[str, int] = {}
    for mark in marks:
        if mark.score is None:
            raise _Unscored(mark.reason or "malformed")
        if mark.reference and scores.setdefault(mark.reference, mark.score) != mark.score:
            raise _Unscored("contradictory", f"two verdicts on reference {mark.reference}")
    best = max(scores.values())
    if any(mark.score != best for mark in marks if not mark.reference):
        raise _Unscored("contradictory", "the verdict is not that of the best reference")
    if len(scores) < 2 and best < top and all(mark.reference for mark in marks):
        raise _Unscored("ambiguous", "a verdict on one reference only")
    first, last = marks[0], marks[-1]
    return _Mark(first.at, last.end, "references" if last.reference else last.form, best)


def _hold_against_rest(mark: _Mark, text: str, plain: str, top: int) -> None:
    """Hold a verdict against everything else that the judge says.

    Raises:
        _Unscored: if something speaks against it.
    """
    assert mark.score is not None
    before, behind = without_quotations(text[: mark.at]), text[mark.end :]
    own = without_quotations(plain)
    for stated in islice(_SCALE_STATED.finditer(own), _TURNS):
        number = stated["max"] or stated["line"]
        if _other_scale(stated["range"], top) if stated["range"] else int(number) != top:
            raise _Unscored("scale", f"another scale is named: {stated[0].strip()[:60]}")
    for line in plain.split("\n"):
        other = _OTHER_LABEL.fullmatch(line.strip()) if len(line) <= 200 else None
        if other and int(other["n"]) != mark.score:
            raise _Unscored("contradictory", f"another mark: {line.strip()[:60]}")
    first = _bare(text.strip().partition("\n")[0], top)
    if first is not None and first[0] != mark.score:
        raise _Unscored("contradictory", "the first line is another number")
    for claim in islice(_CLAIMED.finditer(before), 200):
        sentence = before[before.rfind("\n", 0, claim.start() + 1) + 1 : claim.start()]
        if int(claim["n"]) != mark.score and not _UNREAL.search(claim[0] + re.split(r"[.!?;]", sentence)[-1]):
            raise _Unscored(
                "contradictory", f"the reasons say {claim['n']}: {' '.join(claim[0].split())[:60]}"
            )
    if _REFUSED_TO_JUDGE.search(before[:_RATIONALE_LIMIT]):
        raise _Unscored("refusal", "the reasons decline to judge")
    for inline in islice(_INLINE.finditer(before), 200):
        begin, end = before.rfind("\n", 0, inline.start()) + 1, before.find("\n", inline.end())
        above = before[begin : inline.start()][-_LINE_LIMIT:]
        marked = re.search(r"[\"“”]", before[begin : end if end >= 0 else len(before)])
        if int(inline["n"]) == mark.score and not marked and _OTHERS.search(above) and not _OWN.search(above):
            raise _Unscored("quoted", f"somebody else asked for this verdict: {inline[0]}")
    if part := _PART_ONLY.search(without_quotations(_tail(mark, text) + "\n" + behind[:_LINE_LIMIT])):
        raise _Unscored("ambiguous", f"a verdict on a part: {' '.join(part[0].split())[:60]}")
    _hold_against_behind(mark, behind, top)
    for said in _own_words(mark, text, plain, top):
        if words := disagreement(mark.score, top, said):
            raise _Unscored("contradictory", f"the words say otherwise: {' '.join(words.split())}")


def _own_words(mark: _Mark, text: str, plain: str, top: int) -> Iterator[str]:
    """Yield all that the judge says beside the number: the text around it, and the strings of objects."""
    strings = _strings([found.value for found in find_objects(text)])
    below = f"{_tail(mark, text)}\n{plain[mark.end :][:_RATIONALE_LIMIT]}"
    for said in (plain[: mark.at][-_RATIONALE_LIMIT:], below, *strings):
        kept = "\n".join(line for line in said.split("\n") if not line.lstrip().startswith(">"))
        yield _without_legend(without_quotations(kept), top)


def _tail(mark: _Mark, text: str) -> str:
    """Return what stands behind the number on the verdict's own line."""
    return "" if mark.form == "json" else re.sub(r"^[^\d]*\d(?:\s*/\s*\d)?", "", text[mark.at : mark.end])


def _strings(values: list[Any]) -> list[str]:
    """Return the strings of objects, at any depth, but not what they show of the question."""
    found: list[str] = []
    for _ in range(1_000):
        if not values:
            break
        value = values.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            values += [v for k, v in value.items() if k.lower() not in _SHOWN_KEYS]
        elif isinstance(value, list):
            values += value
    return found


def _hold_against_behind(mark: _Mark, behind: str, top: int) -> None:
    """Raise if what stands behind a verdict takes it back, doubts it, gives another one, or cannot be read."""
    assert mark.score is not None
    behind = _without_legend(behind, top)
    kept = "\n".join(line for line in behind.split("\n") if not line.lstrip().startswith(">"))
    kept = without_quotations(kept)[:_RATIONALE_LIMIT]
    if not kept.strip(" \n\t`*_.!)]}\"'"):
        return
    if _REFUSED_TO_JUDGE.search(kept):
        raise _Unscored("refusal", "what stands behind the verdict declines to judge")
    if words := retraction(kept):
        raise _Unscored("retracted", f"what stands behind the verdict takes it back: {words}")
    if others := [n for n in free_numbers(kept, top) if n != mark.score]:
        raise _Unscored("contradictory", f"another number stands behind the verdict: {others[0]}")
    if contradicts(mark.score, top, kept.lstrip(" \n\t`*_.)]}\"'")):
        raise _Unscored("contradictory", "what stands behind the verdict says the contrary")
    if not is_vetted(kept):
        raise _Unscored("unvetted")


def _without_legend(text: str, top: int) -> str:
    """Return a text without the scale, where all of it is repeated on one line."""
    lines = text.split("\n")
    for place, line in enumerate(lines):
        if "0" in line and len(line) <= _LINE_LIMIT:
            found = list(_LEGEND_INLINE.finditer(line))
            if {int(f[1]) for f in found} == set(range(top + 1)) and len(found) == top + 1:
                lines[place] = line[: found[0].start()] + " " + line[found[-1].end() :]
            elif _FULL_SCALE[top].search(line):
                lines[place] = _FULL_SCALE[top].sub(" ", line)
    return "\n".join(lines)


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


# -- JSON ------------------------------------------------------------------------------------------------------


def _from_objects(text: str, top: int) -> Iterator[_Mark]:
    """Yield verdicts of JSON objects that stand on lines of their own; those inside of sentences are quotations."""
    for found in find_objects(text):
        before = text[: found.begin].rpartition("\n")[2].strip()
        after = text[found.end :].partition("\n")[0].strip()
        if not _BEFORE_OBJECT.fullmatch(before) or after.strip("`], \t"):
            continue
        mark = _from_object(found.value, top)
        if mark is not None and not _is_introduced(text[max(0, found.begin - 2 * _LINE_LIMIT) : found.begin]):
            score, reason, word = mark
            yield _Mark(
                found.begin,
                found.end,
                "json",
                score,
                reason,
                _rationale(found.value),
                word,
                _reference(found.value),
            )


def _from_object(value: Mapping[str, Any], top: int) -> tuple[int | None, UnscoredReason | None, str] | None:
    """Return score, reason and the word that marks a correction; None for an object without a verdict."""
    keys = {key: match for key in value if (match := _KEYS.fullmatch(key))}
    referring = [
        _json_score(v, top) for k, v in value.items() if k not in keys and _REFERENCE_VERDICT.search(k)
    ]
    if not keys:
        return _best_of(referring, top) if referring else None
    scores = {key: _json_score(value[key], top) for key in keys}
    last = list(keys)[-1]
    word = (keys[last]["mark"] or "").lower()
    said = set(scores.values())
    if len(said) > 1 and not (word and all((keys[k]["mark"] or "").lower() != word for k in list(keys)[:-1])):
        return None, "contradictory", ""
    score, reason = scores[last]
    if score is None:
        return None, reason, word
    for key, other in value.items():
        if key in keys:
            continue
        if _SCALE_KEYS.fullmatch(key) and not _is_own_scale(other, top):
            return None, "scale", ""
        if isinstance(other, bool) and _RIGHT_KEYS.fullmatch(key) and score != (top if other else 0):
            return None, "contradictory", ""
        if isinstance(other, str) and key.lower() not in _REASONS:
            level = is_level(other.strip()) if key.lower() not in _SHOWN_KEYS else None
            if level is not None and _level_score(level, top)[0] != score:
                return None, "contradictory", ""
    if referring and _best_of(referring, top)[0] != score:
        return None, "contradictory", ""
    if not _agree(
        score,
        [
            v
            for k, v in value.items()
            if k not in keys and not _COUNT_KEYS.search(k) and not _REFERENCE_VERDICT.search(k)
        ],
        top,
    ):
        return None, "contradictory", ""
    if any(nested != score for nested in _nested(value, top)):
        return None, "contradictory", ""
    return score, None, word


def _best_of(scores: Sequence[Value], top: int) -> tuple[int | None, UnscoredReason | None, str]:
    """Return the best of the verdicts on single references of one object."""
    read = [score for score, _ in scores if score is not None]
    if len(read) < len(scores):
        return None, "malformed", ""
    return (None, "ambiguous", "") if len(read) < 2 and max(read) < top else (max(read), None, "")


def _agree(score: int, others: Sequence[Any], top: int) -> bool:
    """True when the other numbers of an object say the same as its verdict, or differ among themselves around a middle one."""
    said = {
        int(v)
        for v in others
        if (isinstance(v, int) and not isinstance(v, bool) and 0 <= v <= top)
        or (isinstance(v, str) and re.fullmatch(r"\s*[0-2]\s*", v))
    }
    return said <= {score} or (0 < score < top and len(said) > 1)


def _nested(value: Mapping[str, Any], top: int) -> list[int | None]:
    """Return what objects inside of an object give as verdicts; of several references the best."""
    inner: list[Any] = [v for v in value.values() if isinstance(v, dict | list)]
    found: list[tuple[str, int | None]] = []
    for _ in range(1_000):
        if not inner:
            break
        held = inner.pop()
        if isinstance(held, dict):
            found += [
                (_reference(held), _json_score(v, top)[0]) for k, v in held.items() if _KEYS.fullmatch(k)
            ]
            inner += [v for v in held.values() if isinstance(v, dict | list)]
        else:
            inner += [v for v in held if isinstance(v, dict | list)]
    referring = [score for reference, score in found if reference and score is not None]
    return [score for reference, score in found if not reference or score is None] + (
        [max(referring)] if referring else []
    )


_REASONS: Final = frozenset(
    {"rationale", "reason", "reasons", "reasoning", "explanation", "comment", "feedback"}
)
_SHOWN_KEYS: Final = frozenset(
    {"question", "answer", "prediction", "reference", "references", "gold", "candidate", "response"}
)


def _rationale(value: Mapping[str, Any]) -> str | None:
    return next((v for k, v in value.items() if k.lower() in _REASONS and isinstance(v, str)), None)


def _reference(value: Mapping[str, Any]) -> str:
    return next(
        (str(v)[:20] for k, v in value.items() if _REFERENCE_KEYS.fullmatch(k) and isinstance(v, int | str)),
        "",
    )


def _is_own_scale(value: Any, top: int) -> bool:
    """True when the value of a key such as ``max`` names the scale that was asked for."""
    if isinstance(value, bool):
        return True
    if isinstance(value, int | float):
        return value == top
    if isinstance(value, str):
        named = _RANGE.search(value) or re.fullmatch(r"\s*(?P<top>\d+)\s*", value)
        return named is None or (int(named["top"]) == top and named.groupdict().get("low", "0") == "0")
    if isinstance(value, list):
        return value == list(range(top + 1)) or value == [0, top]
    return True


def _from_loose_objects(text: str) -> Iterator[_Mark]:
    """Yield verdicts of what looks like an object and is none (single quotes, no end): they only ever contradict."""
    for found in islice(_LOOSE_KEY.finditer(text), 200):
        begin = text.rfind("\n", 0, found.start()) + 1
        end = text.find("\n", found.end())
        end = len(text) if end < 0 else end
        around = without_quotations(text[begin : found.start()])
        if _OTHERS.search(around) or re.search(
            r"\b(?:answer|prediction|candidate|response)\b", around, re.IGNORECASE
        ):
            continue
        value = re.match(r"\d", found["rest"])
        yield _Mark(begin, end, "json", None, "malformed" if value is None else "contradictory")


def _json_score(value: Any, top: int) -> Value:
    if isinstance(value, bool) or value is None:
        return None, "malformed"
    if isinstance(value, int | float):
        return (int(value), None) if value in range(top + 1) else (None, "scale")
    if isinstance(value, str):
        return _read_value(value.strip(), top) or (None, "malformed")
    return None, "malformed"


# -- lines -----------------------------------------------------------------------------------------------------


def _from_lines(text: str, top: int) -> tuple[list[_Mark], bool]:
    """Return the verdicts of lines in the order of the text, and whether one was left out as a quotation."""
    raw = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in raw), initial=0))
    marks: list[_Mark] = []
    quoted = False
    following, end_of_following = "", 0
    straight = list(accumulate((line.count('"') for line in raw), initial=0))
    curly = list(accumulate((line.count("“") - line.count("”") for line in raw), initial=0))
    for place in range(len(raw) - 1, -1, -1):
        line, begin, end = raw[place].strip(), starts[place], starts[place] + len(raw[place])
        reads = 0 < len(line) <= _LINE_LIMIT and _HINT.search(line)
        found = list(_from_line(line, following, top)) if reads else []
        inside = curly[place] > 0 or (straight[place] % 2 == 1 and straight[-1] > straight[place])
        if found and (
            inside or _ends_quotation(line) or _is_introduced(text[max(0, begin - 2 * _LINE_LIMIT) : begin])
        ):
            quoted = True
        else:
            marks += [
                replace(mark, at=begin, end=end_of_following if mark.form == "next_line" else end)
                for mark in reversed(found)
            ]
        if line.strip("`"):
            following, end_of_following = line, end
    return marks[::-1], quoted


def _ends_quotation(line: str) -> bool:
    """True for a line with the end of a quotation whose beginning is not on it."""
    closing = re.search(r"[\"”'’]\W{0,8}$", line)
    return closing is not None and not re.search(r"[\"“„'‘]", line[: closing.start()])


def _is_introduced(before: str) -> bool:
    """True when the line above begins what a verdict goes on with, and says that it is somebody else's or an example.

    Args:
        before: what stands above, its last few thousand characters at least.
    """
    lines = before.rstrip(" \t\n`").split("\n")
    if _FENCE.fullmatch(lines[-1]):
        lines = "\n".join(lines[:-1]).rstrip(" \t\n`").split("\n")
    last = re.split(r"[.!?]\s", lines[-1][-_LINE_LIMIT:])[-1]
    has_gap = before.rstrip(" \t`").endswith("\n\n")
    opens = _COLON.search(last) if has_gap else _OPENS.search(last)
    return opens is not None and _OTHERS.search(last) is not None and _OWN.search(last) is None


def _line_mark(form: str, value: Value, match: re.Match[str] | None = None) -> _Mark:
    """Return the mark of a line; its place is filled in by whoever knows it."""
    word = "" if match is None else match.groupdict().get("lead") or match.groupdict().get("after") or ""
    note = "" if match is None else match.groupdict().get("scale") or ""
    if not word and (noted := re.search(rf"\b(?:{_MARKS})\b", note, re.IGNORECASE)):
        word = noted[0]
    return _Mark(0, 0, form, *value, word=word.lower())


def _from_line(line: str, following: str, top: int) -> Iterator[_Mark]:
    """Yield the verdicts of a line: one, or one for each reference."""
    references = list(_ON_REFERENCE.finditer(line))
    if references and _LABEL_WORD.search(line[: references[0].end()]):
        for part in references:
            name = part["ref"] or part["ref2"] or part["ref3"]
            found = _read_value(part["rest"].rstrip(" ,"), top) or (None, "malformed")
            yield _Mark(0, 0, "references", *found, reference=name.lower())
        return
    for pattern, form in ((_TAG, "tag"), (_ROW, "line"), (_RESULT, "tag")):
        if match := pattern.fullmatch(line):
            yield _line_mark(form, _read_value(match["rest"], top) or (None, "malformed"), match)
            return
    if match := _LABELLED.fullmatch(line):
        yield from _from_labelled(match, following, top)
    elif match := _LABEL_SPACE.fullmatch(line):
        yield _line_mark("line", _bare(match["rest"], top) or (None, "malformed"), match)
    elif match := _LABEL_ALONE.fullmatch(line):
        if _other_scale(match["scale"], top):
            yield _line_mark("line", (None, "scale"), match)
        elif value := _bare(following, top):
            yield _line_mark("next_line", value, match)
    elif (
        not following and (match := _CONCLUDED.fullmatch(line)) and (value := _read_value(match["rest"], top))
    ):
        yield _line_mark("line", value, match)


def _from_labelled(match: re.Match[str], following: str, top: int) -> Iterator[_Mark]:
    rest = match["rest"]
    if _other_scale(match["scale"], top):
        yield _line_mark("line", (None, "scale"), match)
    elif not rest.strip("*_` "):
        if value := _bare(following, top):
            yield _line_mark("next_line", value, match)
    elif _FULL_SCALE[top].match(rest.lstrip("*_`\"'([<{ ")):
        yield _line_mark("form", (None, "contradictory"), match)
    elif _UNDECIDED.fullmatch(rest):
        yield _line_mark("line", (None, "doubted"), match)
    else:
        value = _read_value(rest, top)
        if value is not None and (value[1] != "malformed" or match["sign"] in (":", "=")):
            yield _line_mark("line", value, match)


def _other_scale(note: str | None, top: int) -> bool:
    """True for a bracket such as (0-10) or (out of 5) that names another scale."""
    if not note:
        return False
    if match := _RANGE.search(note):
        return int(match["low"]) != 0 or int(match["top"]) != top
    match = re.search(r"(?:out of|/|max(?:imum)?\.?)\s*(\d+)", note, re.IGNORECASE)
    return match is not None and int(match[1]) != top


# -- values ----------------------------------------------------------------------------------------------------


def _read_value(text: str, top: int) -> Value | None:
    """Return score and reason for what stands behind a label; None when it is no number at all."""
    text = text.strip()
    if match := _BOX.fullmatch(text):
        text = match["a"] or match["b"]
    if match := _SPELLED_ALONE.fullmatch(text):
        text = _SPELLED[match[1].lower()]
    if level := is_level(text):
        return _level_score(level, top)
    match = _NUMBER.fullmatch(text)
    if match is None:
        return (None, "malformed") if re.search(r"\d", text[:40]) else None
    return _checked(match, top)


def _level_score(level: Level, top: int) -> Value:
    if level == "middle":
        return (1, None) if top == 2 else (None, "scale")
    return (top if level == "top" else 0), None


def _checked(match: re.Match[str], top: int) -> Value:
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
    if "<" in match["open"] and not re.match(r"[*_`\"'”\])]*>", match["rest"]):
        return None, "malformed"
    if part and int(part):
        return None, "scale"
    if part and match["point"] == ",":
        return None, "contradictory"
    if re.match(r"[:;|_'’,-]\d", rest):
        return None, "contradictory"
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


def _against_tail(value: int, rest: str, top: int) -> Value:
    """Hold what follows the number against it: a second number, another scale, a doubt, a word that says the contrary."""
    rest = _without_legend(rest, top)
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
    if _names_other_scale(near, value, top):
        return None, "scale"
    if value == 1 and rest[:1] in (".", ")") and _ENUMERATED.search(rest):
        return None, "ambiguous"
    return _against_words(value, rest, top)


def _names_other_scale(near: str, value: int, top: int) -> bool:
    """True when a bracket or a remark behind the number names another scale or another share than the number's."""
    for pattern in (
        r"(?:scale|range)\b[^\d]{0,20}(?P<range>.{0,30})|\bout of\s+(?P<top>\d+)",
        r"[\s*_`]*[(\[]\s*(?:(?:out\s+)?of|from|/|max(?:imum|\.)?[:\s]*)\s*(?P<top>\d+)(?P<range>)",
        r"[\s*_`]*[(\[]\s*(?P<range>\d+\s*(?:-|–|—|to|\.\.)\s*\d+)\s*[)\]](?P<top>)",
    ):
        match = re.match(pattern, near, re.IGNORECASE) or (
            re.search(pattern, near, re.IGNORECASE) if "scale" in pattern else None
        )
        if match and ((match["top"] and int(match["top"]) != top) or _other_scale(match["range"], top)):
            return True
    share = re.match(r"[\s*_`]*[-–—=(\[,]*\s*(\d{1,3})\s*(?:%|per\s?cent)\s*(?:[)\].,;]|$)", near)
    return share is not None and int(share[1]) * top != 100 * value


def _against_words(value: int, rest: str, top: int) -> Value:
    """Hold the words behind the number, on its line, against it."""
    said = without_quotations(rest)
    if is_doubted(rest):
        return None, "doubted"
    if contradicts(value, top, rest) or any(n != value for n in free_numbers(said, top)):
        return None, "contradictory"
    if retraction(said):
        return None, "retracted"
    return (value, None) if is_vetted(said) else (None, "unvetted")


# -- replies without any label ---------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _bare(line: str, top: int) -> Value | None:
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
        return _from_single(lines[0], text, top)
    numbers = {found for line in lines if (found := _bare(line, top)) is not None}
    if len(numbers) > 1:
        raise _Unscored("contradictory", "several bare numbers")
    last, first = _bare(lines[-1], top), _bare(lines[0], top)
    if last is not None and not _stands_apart(text, lines):
        last = None
    if last is not None:
        begin = text.rindex(lines[-1])
        return (
            None
            if _is_introduced(text[max(0, begin - 2 * _LINE_LIMIT) : begin])
            else _Mark(begin, begin + len(lines[-1]), "bare", *last)
        )
    if first is None:
        return None
    if lines[0].endswith((".", ")")):
        raise _Unscored("ambiguous")
    return _Mark(0, text.index(lines[0]) + len(lines[0]), "bare", *first)


def _stands_apart(text: str, lines: list[str]) -> bool:
    """True when the last line does not go on with the sentence before it ("... forgot step" / "2.")."""
    before = text[: text.rindex(lines[-1])].rstrip(" \t`")
    return before.endswith("\n\n") or lines[-2].endswith((".", "!", "?", ":", "*", ")", "|", "-"))


def _from_single(line: str, text: str, top: int) -> _Mark | None:
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
            raise _Unscored("ambiguous")
        found = _checked(match, top)
    return _Mark(0, len(text), "bare", *found)
