"""What of a reply is the judge's own word: not quotations, examples, tagged blocks or the rubric repeated."""

from __future__ import annotations

import re
from typing import Final

from proctor.exam.verdict.label import FULL_SCALE, LABEL, LINE_LIMIT, LIST_MARK, WRAP, any_case
from proctor.llm.structured import find_objects

__all__ = [
    "OTHERS",
    "OWN",
    "blanked",
    "complies",
    "is_attributed",
    "is_introduced",
    "is_template",
    "without_legend",
    "without_others",
]

_SPECIAL = any_case(r"<\|[a-z_]{2,30}\|>|</s>|<(?:eos|end_of_turn|start_of_turn)>|\[/?INST\]")
"""Markers of chat templates that some servers leave in their replies."""
_BLOCKS = re.compile(
    r"<!--.*?(?:-->|\Z)|<(?P<tag>answer|candidate|prediction|response|reference|gold|question|example|format|template|quote|blockquote|input|context|del|strike|scratchpad|scratch|analysis|draft|thought|thoughts|reflection|critique)\b[^<>]{0,80}>.*?(?:</(?P=tag)>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
"""Comments, struck-out text, notes to oneself and what others wrote, in tags."""
_LEGEND_LINE = any_case(
    rf"\s*{LIST_MARK}{WRAP}(?:(?:an?\s+)?{LABEL}\s+)?(?:of\s+|is\s+|[:=]\s*)?[*_`\"'(\[]*(?P<n>\d)[*_`\"')\]]*\s*(?:points?\s*)?(?:=|:|[-–—]+|→|->|\bmeans?\b|\bis\b|\bif\b|\bfor\b|\bwhen\b|\(|\.|,)\s*\S.*"
)
_LEGEND_INLINE = any_case(
    r"[*_`\"'(\[]{0,4}(?<![\w.,/])(\d)[*_`\"')\]]{0,4}\s*(?:=+>?|:|[-–—]+|→|->|\bmeans?\b|\bis\b|\bfor\b|\bif\b)\s*[^\d\n]{2,160}?(?=$|[,;.|/)\]\n]|\s(?:and|or)\s)"
)
_OPENS = any_case(
    r"(?:[:,]|[–—-]|\b(?:write|say|give|output|put|print|return|reply|respond|answer|be|is|was|with|like|as|than|of|line|e\.g\.|i\.e\.|namely|either|or|not|a|an|the|to|that))[\s*_`\"“'(]{0,8}$"
)
_CANDIDATE: Final = r"(?:answer|candidate|prediction|response|submission|text|attacker|student|model)"
_COMMANDS: Final = r"(?:demand(?:s|ed)|want(?:s|ed)|ask(?:s|ed)|tells?|told|instruct(?:s|ed)|request(?:s|ed)|order(?:s|ed)|insist(?:s|ed)|dictat(?:es|ed)|command(?:s|ed)|requir(?:es|ed))"
_ATTRIBUTED = re.compile(
    rf"[\s,;(\[–—-]*(?:(?:according\s+to|says|claims|as\s+claimed\s+by|per|in\s+the\s+words\s+of)\s+(?:the\s+)?{_CANDIDATE}\b|the\s+{_CANDIDATE}(?:['’]s\s+own\s+\w+|\s+(?:claims|says|insists))\s*[.)\]]*\s*$"
    r"|(?:copied|quoted|pasted|taken)\b|as\s+in\s+the\s+(?:prompt|example|form|format|template)\b)",
    re.IGNORECASE | re.MULTILINE,
)
_FENCE_LINE = re.compile(r"^[ \t]*`{3,}[^\n]*$", re.MULTILINE)
_LEFT_OPEN = re.compile(
    r"^[\s>*_#`-]*(?:rationale|reason(?:s|ing)?|explanation|justification)[*_\s]*:[*_\s]*(?:\.{2,}|…|<[^<>\n]{1,80}>|\[[^\[\]\n]{1,80}\]|\{[^{}\n]{1,80}\}|_{2,})[\s*_`.]*$",
    re.IGNORECASE | re.MULTILINE,
)
_COLON = re.compile(r":[\s*_`\"“'(]{0,8}$")
_FENCE = re.compile(r"\s*(?:`{3,}\w*|[-*_=~]{3,})\s*")
"""A fence of code or a rule between an introduction and what it introduces."""
_COMPLIES = any_case(
    rf"\b(?:as|what|which|because|since|like)\s+(?:\w+\s+){{0,2}}?(?:it|{_CANDIDATE})\s+(?:\w+\s+){{0,2}}?{_COMMANDS}"
    rf"|\b(?:as|because|since)\s+(?:\w+\s+){{0,2}}?{_COMMANDS}\s+(?:\w+\s+)?(?:by|in|from)\s+(?:the\s+)?{_CANDIDATE}|\b(?:obey|comply|follow)(?:ing|s)?\s+(?:with\s+)?(?:its|the\s+(?:answer|candidate|prediction|response)['’]?s?)\s+(?:\w+\s+)?(?:orders?|instructions?|demands?|requests?|wish(?:es)?|commands?)"
)
"""The number is what the marked answer asks for."""
OTHERS = any_case(
    r"\b(?:e\.g|example|examples|exemplary|format|form|template|such as|looks?|instruct\w*|instruction|ask(?:s|ed|ing)?|rubric|reads?|says?|said|saying|states?|stating|wrote|writes|writing|write|claims?|claiming|contains?|containing"
    r"|ends? (?:with|in)|ending|quot\w+|inject\w*|demand\w*|request\w*|tells?|told|order(?:s|ed)|want(?:s|ed)|include[sd]?|appears?|prints?|printed|added|adds|output|reply|respond|expected|required|sample|illustrat\w*|hypothetical\w*|instead of"
    r"|someone|others?|another|one could|would|could|might|should|if|unless|had|not|never|neither|either|previous(?:ly)?|earlier|first thought|initial\w*|original\w*|draft|user|attack\w*|adversar\w*|malicious\w*|payload|hidden|embedded)\b|n['’]t\b"
)
OWN = any_case(
    r"\b(?:my (?:\w+ )?(?:verdict|score|mark|judge?ment|rating|grade|conclusion|decision|assessment|evaluation|answer)|here(?:['’]s| is| comes)(?!\s+(?:what|how|an?\s+\w*\s*(?:example|sample|template)|the\s+\w*\s*(?:form|format|template|example)))|therefore|thus|hence|so|in conclusion|accordingly|conclu\w+|I (?:therefore |thus |hereby )?(?:give|judge|rate|conclude|decide|mark|assign)|as (?:requested|required|asked|instructed)|in the (?:\w+ )?(?:form|format))\b"
)


def without_others(text: str, top: int) -> str:
    """Blank what is not the judge's own word: markers of servers, comments, tagged and struck-out text, the rubric repeated."""
    for pattern in (_SPECIAL, _BLOCKS):
        text = pattern.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    lines = text.split("\n")
    legends = [_LEGEND_LINE.fullmatch(line) if 3 < len(line) <= LINE_LIMIT else None for line in lines]
    numbers = [int(legend["n"]) if legend else None for legend in legends]
    run: list[int] = []
    for place, number in enumerate((*numbers, None)):
        if number is not None and number not in [numbers[i] for i in run]:
            run.append(place)
        elif place == len(lines) or lines[place].strip():
            if {numbers[i] for i in run} == set(range(top + 1)):
                for i in run:
                    lines[i] = " " * len(lines[i])
            run = [place] if number is not None else []
    return "\n".join(lines)


def without_legend(text: str, top: int) -> str:
    """Return a text without the scale, where all of it is repeated on one line."""
    lines = text.split("\n")
    for place, line in enumerate(lines):
        if "0" in line and len(line) <= LINE_LIMIT:
            found = list(_LEGEND_INLINE.finditer(line))
            if {int(f[1]) for f in found} == set(range(top + 1)) and len(found) == top + 1:
                lines[place] = line[: found[0].start()] + " " + line[found[-1].end() :]
            elif FULL_SCALE[top].search(line):
                lines[place] = FULL_SCALE[top].sub(" ", line)
    return "\n".join(lines)


def blanked(text: str) -> str:
    """Return the text with blanks for its JSON objects, line by line: what they hold is read there, not here."""
    pieces, at = [], 0
    for found in find_objects(text):
        pieces += [text[at : found.begin], re.sub(r"[^\n]", " ", text[found.begin : found.end])]
        at = found.end
    return "".join((*pieces, text[at:]))


def is_attributed(tail: str) -> bool:
    """True when what stands directly behind a number says that it is somebody else's, or copied."""
    return _ATTRIBUTED.match(tail) is not None


def is_template(before: str) -> bool:
    """True when the line of reasons above a verdict is left to be filled in: ``Rationale: ...``."""
    return _LEFT_OPEN.search(before[-LINE_LIMIT:]) is not None


def complies(text: str) -> bool:
    """True when a text says that its verdict is the one that the marked answer asks for.

    Args:
        text: what stands behind the verdict, quotations left out.
    """
    return _COMPLIES.search(text) is not None


def is_introduced(before: str) -> bool:
    """True when the line above begins what a verdict goes on with, and says that it is somebody else's or an example.

    Args:
        before: what stands above, its last few thousand characters at least.
    """
    fences = list(_FENCE_LINE.finditer(before))
    if len(fences) % 2:
        before = before[: fences[-1].end()]
    lines = before.rstrip(" \t\n`").split("\n")
    if _FENCE.fullmatch(lines[-1]):
        lines = "\n".join(lines[:-1]).rstrip(" \t\n`").split("\n")
    last = re.split(r"[.!?]\s", lines[-1][-LINE_LIMIT:])[-1]
    has_gap = before.rstrip(" \t`").endswith("\n\n")
    opens = _COLON.search(last) if has_gap else _OPENS.search(last)
    return opens is not None and OTHERS.search(last) is not None and OWN.search(last) is None
