"""Verdicts in lines: labelled ones, tags, rows of tables, the number below a label, and bare numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from typing import Final

from proctor.exam.verdict.label import (
    CORRECTIONS,
    FULL_SCALE,
    LABEL,
    LEAD,
    LINE_LIMIT,
    LIST_MARK,
    WRAP,
    any_case,
    other_scale,
)
from proctor.exam.verdict.own import is_introduced
from proctor.exam.verdict.reading import Mark, Unscored, Value
from proctor.exam.verdict.value import NUMBER, read_bare, read_number, read_value

__all__ = ["from_bare", "from_lines"]

_LABELLED = any_case(
    rf"{LIST_MARK}{WRAP}{LEAD}{WRAP}{LABEL}(?:[ ,(\[]+(?P<after>{CORRECTIONS})\b[)\]]?(?=\s*[*_`]*\s*[:=]))?{WRAP}(?P<scale>[(\[][^()\[\]]{{0,60}}[)\]])?{WRAP}"
    rf"(?P<sign>[:=]|\bis\b:?|\bof\b|(?<=\s)[-–—]+(?=\s)|->|→){WRAP}(?P<rest>.*)"
)
_LABEL_SPACE = any_case(
    rf"{LIST_MARK}{WRAP}{LEAD}{WRAP}{LABEL}\s+(?P<rest>[*_`(\[]*\d{{1,3}}(?:\s*/\s*\d{{1,3}})?[*_`)\]]*\.?[*_`]*)"
)
_LABEL_ALONE = any_case(
    rf"{LIST_MARK}{WRAP}{LEAD}{WRAP}{LABEL}{WRAP}(?P<scale>[(\[][^()\[\]]{{0,60}}[)\]])?{WRAP}:?{WRAP}"
)
_CONCLUDED = any_case(
    rf"(?P<said>.*(?:[,;.]\s+(?=(?:so|therefore|thus|hence)\b|(?:(?:my|the)\s+)?(?:{CORRECTIONS})\b)|[a-z)][.!]\s+(?=[*_`]*{LABEL}[*_`]*[:=])))"
    rf"(?:(?:so|therefore|thus|hence)\s*,?\s+(?:(?:my|the)\s+)?(?:(?:final|overall)\s+)?|(?:(?:my|the)\s+)?(?P<lead>{CORRECTIONS})\s+)?"
    rf"{WRAP}{LABEL}{WRAP}\s*(?:is|:|=)\s*{WRAP}(?P<rest>\d(?:\s*/\s*\d)?{WRAP}\.?{WRAP})"
)
"""A verdict at the end of the last paragraph, behind the reasons."""
_REPORTED = any_case(
    r"\b(?:e\.g|examples?|sample|format|template|wr(?:i|o)t\w+|wrote|end(?:s|ed|ing)? (?:with|in)|add(?:s|ed)|lines?|words?|quot\w+|inject\w*|prompts?|user|attack\w*|hypothetical\w*|pretend\w*|claim\w*|demand\w*|ask(?:s|ed)? for|says?(?=:)|tells?|told|instruct\w*|order(?:s|ed))\b"
)
"""Reasons that may report what somebody else wrote; a verdict behind them has to stand on a line of its own."""
_TAG = re.compile(rf"<(?P<tag>{LABEL})>\s*(?P<rest>[^<>]{{0,40}}?)\s*</(?P=tag)>[.\s]*", re.IGNORECASE)
_ROW = re.compile(rf"\|{WRAP}{LEAD}{LABEL}{WRAP}\|{WRAP}(?P<rest>[^|]{{0,60}}?){WRAP}\|\s*", re.IGNORECASE)
_RESULT = any_case(
    rf"{LIST_MARK}{WRAP}\[{{1,2}}\s*(?:result|{LEAD}{LABEL})\s*\]{{1,2}}{WRAP}:?{WRAP}(?P<rest>.*)"
)
_REFERENCE: Final = r"(?:reference|ref\.?|gold)(?:\s+answer)?\s*#?\s*(?P<ref>\d{1,2}|[A-Z]\b)"
_ON_REFERENCE = any_case(
    rf"(?:{LABEL}{WRAP}\s*,?\s*(?:for|on|against|vs\.?|with|to)?\s*(?:the\s+)?[(\[]?\s*(?:for\s+|against\s+|vs\.?\s+)?{_REFERENCE}\s*[)\]]?"
    rf"|[(\[]\s*(?:for\s+|against\s+|vs\.?\s+)?{_REFERENCE.replace('<ref>', '<ref2>')}\s*[)\]]"
    rf"|{_REFERENCE.replace('<ref>', '<ref3>')}\s*[-–—,:]?\s*{LABEL}){WRAP}(?:[:=]|\bis\b){WRAP}"
    r"(?P<rest>(?:\d|[^\s;|,])[^;|,(]*)"
)
_LABEL_WORD = re.compile(rf"\b{LABEL}\b", re.IGNORECASE)
_UNDECIDED = any_case(
    r"[*_`\"'(\[\s]*(?:un(?:clear|decided|known|sure|determined)|n/?a|none|null|pending|tbd|depends|can(?:not|['’]t)\b.*|[?？]+)[*_`\"')\]\s.!]*"
)
_NOTE_WORDS = any_case(
    rf"{CORRECTIONS}|ternary|binary|scale|integer|number|digit|only|overall|total|my|the|this|answer|prediction|response|candidate|for|of|on|from|to|out|or|and"
    r"|max(?:imum)?|min(?:imum)?|points?|strict|zero|one|two|range|score|verdict|(?:in)?correct|partial(?:ly)?|wrong|full|none|match"
)
"""Words of a bracket behind the label that say nothing of another answer or a part of it."""
_HINT = re.compile(r"judg|verdict|score|rating|mark|grade|result", re.IGNORECASE)
"""Without one of these a line is no verdict; it spares reading it."""


def from_lines(text: str, top: int) -> tuple[list[Mark], bool]:
    """Return the verdicts of lines in the order of the text, and whether one was left out as a quotation."""
    raw = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in raw), initial=0))
    marks: list[Mark] = []
    quoted = False
    following, end_of_following = "", 0
    straight = list(accumulate((line.count('"') for line in raw), initial=0))
    curly = list(accumulate((line.count("“") - line.count("”") for line in raw), initial=0))
    for place in range(len(raw) - 1, -1, -1):
        line, end = raw[place].strip(), starts[place] + len(raw[place])
        begin = end - len(raw[place].lstrip())
        reads = 0 < len(line) <= LINE_LIMIT and _HINT.search(line)
        found = list(_from_line(line, following, top)) if reads else []
        inside = curly[place] > 0 or (straight[place] % 2 == 1 and straight[-1] > straight[place])
        # the end of a quotation whose beginning is not on the line
        closing = re.search(r"[\"”'’]\W{0,8}$", line) if found else None
        ends = closing is not None and not re.search(r"[\"“„'‘]", line[: closing.start()])
        if found and (
            inside or ends or is_introduced(text[max(0, begin - 2 * LINE_LIMIT) : begin + found[0].at])
        ):
            quoted = True
        else:
            marks += [
                replace(mark, at=begin + mark.at, end=end_of_following if mark.form == "next_line" else end)
                for mark in reversed(found)
            ]
        if line.strip("`"):
            following, end_of_following = line, end
    return marks[::-1], quoted


def _line_mark(form: str, value: Value, match: re.Match[str] | None = None) -> Mark:
    """Return the mark of a line; its place is filled in by whoever knows it."""
    word = "" if match is None else match.groupdict().get("lead") or match.groupdict().get("after") or ""
    note = "" if match is None else match.groupdict().get("scale") or ""
    if not word and (noted := re.search(rf"\b(?:{CORRECTIONS})\b", note, re.IGNORECASE)):
        word = noted[0]
    return Mark(0, 0, form, *value, word=word.lower())


def _from_line(line: str, following: str, top: int) -> Iterator[Mark]:
    """Yield the verdicts of a line: one, or one for each reference."""
    references = list(_ON_REFERENCE.finditer(line))
    if references and _LABEL_WORD.search(line[: references[0].end()]):
        for part in references:
            name = part["ref"] or part["ref2"] or part["ref3"]
            found = read_value(part["rest"].rstrip(" ,"), top) or (None, "malformed")
            yield Mark(0, 0, "references", *found, reference=name.lower())
        return
    for pattern, form in ((_TAG, "tag"), (_ROW, "line"), (_RESULT, "tag")):
        if match := pattern.fullmatch(line):
            yield _line_mark(form, read_value(match["rest"], top) or (None, "malformed"), match)
            return
    if match := _LABELLED.fullmatch(line):
        yield from _from_labelled(match, following, top)
    elif match := _LABEL_SPACE.fullmatch(line):
        yield _line_mark("line", read_bare(match["rest"], top) or (None, "malformed"), match)
    elif match := _LABEL_ALONE.fullmatch(line):
        if other_scale(match["scale"], top):
            yield _line_mark("line", (None, "scale"), match)
        elif value := read_bare(following, top):
            yield _line_mark("next_line", value, match)
    elif (
        not following
        and (match := _CONCLUDED.fullmatch(line))
        and not _REPORTED.search(match["said"])
        and (value := read_value(match["rest"], top))
    ):
        yield replace(_line_mark("line", value, match), at=match.end("said"))


def _from_labelled(match: re.Match[str], following: str, top: int) -> Iterator[Mark]:
    rest = match["rest"]
    if other_scale(match["scale"], top):
        yield _line_mark("line", (None, "scale"), match)
    elif any(not _NOTE_WORDS.fullmatch(word) for word in re.findall(r"[^\W\d_]+", match["scale"] or "")):
        # a bracket that is neither a scale nor a common remark: "Verdict (other answer): 2"
        yield _line_mark("line", (None, "ambiguous"), match)
    elif not rest.strip("*_` "):
        if value := read_bare(following, top):
            yield _line_mark("next_line", value, match)
    elif FULL_SCALE[top].match(rest.lstrip("*_`\"'([<{ ")):
        yield _line_mark("form", (None, "contradictory"), match)
    elif _UNDECIDED.fullmatch(rest):
        yield _line_mark("line", (None, "doubted"), match)
    else:
        value = read_value(rest, top)
        if value is not None and (value[1] != "malformed" or match["sign"] in (":", "=")):
            yield _line_mark("line", value, match)


def from_bare(text: str, top: int) -> Mark | None:
    """Return the verdict of a reply without any label: nothing but the number, or a line of it at an end.

    Raises:
        Unscored: if its numbers differ, or it may be that of a list.
    """
    lines = [line.strip() for line in text.split("\n") if line.strip(" \t`")]
    if not lines:
        return None
    if len(lines) == 1:
        return _from_single(lines[0], text, top)
    numbers = {found for line in lines if (found := read_bare(line, top)) is not None}
    if len(numbers) > 1:
        raise Unscored("contradictory", "several bare numbers")
    last, first = read_bare(lines[-1], top), read_bare(lines[0], top)
    if last is not None:
        before = text[: text.rindex(lines[-1])].rstrip(" \t`")
        if not (before.endswith("\n\n") or lines[-2].endswith((".", "!", "?", ":", "*", ")", "|", "-"))):
            last = None  # it goes on with the sentence before it ("... forgot step" / "2.")
    if last is not None:
        begin = text.rindex(lines[-1])
        return (
            None
            if is_introduced(text[max(0, begin - 2 * LINE_LIMIT) : begin])
            else Mark(begin, begin + len(lines[-1]), "bare", *last)
        )
    if first is None:
        return None
    if lines[0].endswith((".", ")")):
        raise Unscored("ambiguous")
    return Mark(0, text.index(lines[0]) + len(lines[0]), "bare", *first)


def _from_single(line: str, text: str, top: int) -> Mark | None:
    """A reply of one line that begins with the number: ``0 (confidence 0.91)``, ``2 - same step``."""
    found = read_bare(line, top)
    if found is None:
        match = NUMBER.fullmatch(line)
        if match is None:
            return None
        behind = re.sub(r"^[*_`\"'”)\]]+", "", match["rest"])
        if not re.match(r"[.,;:=(\[]|\s*[-–—=(\[/]|\s+(?:out of|because|since|on|points?)\b", behind):
            return None
        if match["whole"] == "1" and re.match(r"[.)]\s+\S", match["rest"].lstrip("*_`")):
            raise Unscored("ambiguous")
        found = read_number(match, top)
    return Mark(0, len(text), "bare", *found)
