"""The letter that a response gives: rules in a fixed order, and no guess where they do not agree."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from proctor.metrics.choice.letters import LETTERS, require_options
from proctor.metrics.errors import MetricInputError

__all__ = ["PARSER", "LetterRule", "ParsedLetter", "parse_letter"]

PARSER: Final = "letters-1"
"""Name and version of the rules of ``parse_letter``, for signatures."""

LetterRule = Literal["bracket", "answer", "sole", "bracketed", "start", "text", "conflict", "none", "empty"]


@dataclass(frozen=True, slots=True)
class ParsedLetter:
    """A letter, or None, and the rule that decided: for looking into what was not understood.

    Attributes:
        letter: upper case, one of the question's letters; None when the response is unparsed.
        rule: ``bracket`` (completion of an opened bracket), ``answer`` ("the answer is B"), ``sole`` (nothing but a
            letter), ``bracketed``, ``start`` (letter with ``.``, ``)`` or ``:``), ``text`` (the option's own words);
            unparsed: ``conflict`` (several letters), ``none``, ``empty``.
    """

    letter: str | None
    rule: LetterRule


_MAX_RESPONSE: Final = 200_000
"""Characters beyond which only the end of a response is read: the answer stands there, and time stays bounded."""

_THOUGHT: Final = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_TAG: Final = re.compile(r"</?[A-Za-z][A-Za-z_]{0,20}>")
_BOXED: Final = re.compile(r"\\boxed\s*\{([^{}]{0,200})\}")
_LATEX_TEXT: Final = re.compile(r"\\(?:text|textbf|mathrm|mathbf|mathit|textit|rm|bf)\s*\{([^{}]{0,200})\}")
_MARKUP: Final = re.compile(r"\*+|`+|(?<!\w)_+|_+(?!\w)|~~|\\[()\[\]]|\$+|^ ?[#>]+ ?", re.MULTILINE)
_SPACE: Final = re.compile(r"[^\S\n]+")
_LINES: Final = re.compile(r"\n\s*")
_QUOTES: Final = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "„": '"', "«": '"', "»": '"'})

_LEAD: Final = r"(?:(?:the|my|an?)\s+)?(?:(?:final|correct|right|best|most\s+\w+)\s+){0,2}"
_LABEL: Final = r"(?:\s*(?:option|choice|letter|answer)\b\s*:?)?"
_OPENING: Final = r"\s*[(\[{\"']{0,2}\s*"
_STATEMENT: Final = re.compile(
    r"(?P<before>\b\w+(?:'t)?\s+)?\b(?:answer|option|choice|letter)[\"']?\s*"
    r"(?:(?:is|to\s+be|would\s+be|should\s+be|must\s+be|will\s+be)\b\s*:?(?:\s*(?:clearly|likely|probably|definitely|therefore|thus)\b)?"
    rf"|[:=]){_LABEL}{_OPENING}(?P<letter>[A-Za-z])(?!\w)(?!['-]\w)",
    re.IGNORECASE,
)
_DECISION: Final = re.compile(
    r"(?P<before>\b\w+(?:'t)?\s+)?\b(?:choose|chose|pick|picked|select|selected|go\s+with|going\s+with|opt\s+for)\b"
    rf"(?:\s+(?:option|choice|letter|answer)\b)?{_OPENING}(?P<letter>[A-Za-z])(?!\w)(?!['-]\w)",
    re.IGNORECASE,
)
_VERDICT: Final = re.compile(
    r"(?<![\w'])(?P<letter>[A-Z])[)\]}\"']{0,2}\s+(?:is|must\s+be|would\s+be|seems|looks)\s+"
    r"(?:(?:the|my)\s+)?(?:(?:most|clearly|likely|final)\s+)?"
    r"(?:correct|right|accurate|likely|probable|plausible|appropriate|suitable|fitting|answer|best\s+(?:answer|option|choice)|(?:correct|right)\s+(?:answer|option|choice))\b"
)
_ALSO: Final = re.compile(
    r"\s*[)\]}\"']{0,2}\s*(?:(?:,\s*)?(?:and|or|&|/|and/or)|[,/])\s*(?:option\s+)?[(\[\"']?(?P<letter>[A-Z])(?P<end>(?!\w)(?!['-]\w).{0,12})",
    re.DOTALL,
)
_BRACKETED: Final = re.compile(r"(?<!\w)(?:\(\s*([A-Za-z])\s*\)|\[\s*([A-Za-z])\s*\]|\{\s*([A-Za-z])\s*\})")
_START: Final = re.compile(
    r"^\s*(?:(?:option|choice|answer|letter)\s+)?[\"']?([A-Za-z])[\"']?\s*[.):](?:(?=\s|$|[\"'])|(?=[A-Z](?!\.)))",
    re.IGNORECASE | re.MULTILINE,
)
_SECOND: Final = re.compile(r"\s*[(\"']?([A-Z])[)\"']?\s*(?:[.):](?!\w)|$)", re.MULTILINE)
_SPELT: Final = re.compile(r"([A-Za-z])[ ,–—-]+(\S.*)")
_LINE: Final = 40
"""Characters of a line that can be nothing but a letter."""
_SOLE: Final = re.compile(r"(?:(?:option|choice|answer|letter)\b[\s:]*)?([A-Za-z])", re.IGNORECASE)
_NEGATED: Final = re.compile(
    r"\b(?:not|never|neither|nor|cannot|wrong|incorrect|eliminate|exclude|rule\s+out)\b|n't\b", re.IGNORECASE
)
_REFUSED_BEFORE: Final = frozenset(
    {"wrong", "incorrect", "false", "worst", "impossible", "not", "never", "wouldn't", "can't", "cannot"}
    | {"don't", "didn't", "won't", "couldn't", "shouldn't"}
)
_CLAUSE: Final = re.compile(r"[.,;:!?\n]|\b(?:so|but|therefore|thus|hence)\b", re.IGNORECASE)
_AFTER_WORD_LETTER: Final = re.compile(
    r"\s*(?:$|[.,;:!?)\]}\"'\n–—/&-]|(?:because|since|as|for|due|based|given|according|which|with|in|and|or)\b)",
    re.IGNORECASE,
)
_EDGES: Final = " \t\r\n.,;:!?\"'()[]{}<>-–—"


def parse_letter(
    response: str, options: int | Sequence[str], *, opened_bracket: bool = False
) -> ParsedLetter:
    r"""Read which option a response chooses.

    The rules, of which the first that finds something decides: with ``opened_bracket``, the first character; an explicit
    statement ("the answer is B", "I choose B", "B is correct", ``\boxed{B}``); nothing but a letter
    on a line; a letter in brackets; a letter with ``.``, ``)`` or ``:``, or with its own option, at the start; the exact text of one option. Letters that the question
    does not have are not letters. Where one rule finds several different letters the response is unparsed
    (``conflict``): no guess is made, except that what is called final, or boxed, outranks other statements.
    "The" is no T and "A good choice" no A: a letter has to stand alone, and *a*, *A* and *I* as words of a sentence
    are told apart by what follows. What stands between ``<think>`` tags is not the response. Lower-case letters are
    read where nothing else can be meant: alone, in brackets, before the punctuation at the start, after "answer is".
    Statements are understood in English.

    Args:
        response: the model's words.
        options: the texts of the options, or only their number (then no rule about texts applies).
        opened_bracket: True when the prompt ended on an opened bracket, which the response completes.

    Raises:
        MetricInputError: if the response is not a text or there are fewer than 2 or more than 26 options.

    Reference: ours; InstructionBench's supplement names a matcher by a model.
    """
    texts = () if isinstance(options, int) else tuple(options)
    valid = LETTERS[: require_options(options if isinstance(options, int) else len(texts))]
    if not isinstance(response, str):
        raise MetricInputError(
            f"a response is a text, got {response!r}",
            "a question without a response has failed: leave it out and count it",
        )
    raw = _legible(response)
    final = {letter for text in _BOXED.findall(raw) if (letter := _sole(_plain(text), valid))}
    plain = _plain(raw)
    if not plain.strip(_EDGES):
        return ParsedLetter(None, "empty")
    if opened_bracket and (letter := _completion(plain, valid)):
        return ParsedLetter(letter, "bracket")
    found = final or _stated(plain, texts, valid)
    if found:
        return _one(found, "answer")
    if found := _alone(plain, valid):
        return _one(found, "sole")
    if found := _bracketed(plain, valid):
        return _one(found, "bracketed")
    if found := _started(plain, texts, valid):
        return _one(found, "start")
    if found := _quoted(plain, texts):
        return _one(found, "text")
    return ParsedLetter(None, "none")


def _one(letters: set[str], rule: LetterRule) -> ParsedLetter:
    return ParsedLetter(next(iter(letters)), rule) if len(letters) == 1 else ParsedLetter(None, "conflict")


def _legible(response: str) -> str:
    """Take out thoughts and LaTeX fonts; runs of white space become one character, which keeps the rules linear."""
    text = _THOUGHT.sub(" ", unicodedata.normalize("NFKC", response[-_MAX_RESPONSE:])).translate(_QUOTES)
    return _LATEX_TEXT.sub(r"\1", _LINES.sub("\n", _SPACE.sub(" ", text)))


def _plain(text: str) -> str:
    """Take out markdown, LaTeX and tags, which models put around a letter."""
    for pattern, kept in ((_BOXED, r" \1 "), (_TAG, " "), (_MARKUP, "")):
        text = pattern.sub(kept, text)
    return text.strip()


def _completion(text: str, valid: str) -> str | None:
    """The first character, when it is no beginning of a word."""
    first = text.lstrip("([{\"' ")[:2]
    letter = first[:1].upper()
    return letter if letter and letter in valid and not first[1:].isalnum() else None


def _sole(text: str, valid: str) -> str | None:
    found = _SOLE.fullmatch(text.strip(_EDGES))
    letter = found[1].upper() if found else ""
    return letter if letter and letter in valid else None


def _alone(text: str, valid: str) -> set[str]:
    """Letters that have a line of their own: all of the response, or before or after an explanation."""
    return {letter for line in text.split("\n") if len(line) <= _LINE and (letter := _sole(line, valid))}


def _stated(text: str, options: Sequence[str], valid: str) -> set[str]:
    """Letters of explicit statements; only those that are called final, where there are such."""
    found: list[tuple[str, bool]] = []
    for pattern in (_STATEMENT, _DECISION, _VERDICT):
        for match in pattern.finditer(text):
            letter = match["letter"].upper()
            if letter not in valid or _denied(text, match, has_before=pattern is not _VERDICT):
                continue
            if not _is_letter(text, match, letter, options, valid):
                continue
            is_final = "final" in text[max(0, match.start() - 12) : match.end()].lower()
            found.append((letter, is_final))
            found += [(other, is_final) for other in _also(text, match.end("letter"), valid)]
    finals = {letter for letter, is_final in found if is_final}
    return finals or {letter for letter, _ in found}


def _denied(text: str, match: re.Match[str], *, has_before: bool) -> bool:
    """True for "the wrong answer is B", "I would not choose B", "neither A nor B is correct"."""
    if has_before and (match["before"] or "").strip().lower() in _REFUSED_BEFORE:
        return True
    return _negated_before(text, match.start() if has_before else match.start("letter"))


def _negated_before(text: str, position: int) -> bool:
    """Is there a negation earlier in the same clause?"""
    clause = _CLAUSE.split(text[max(0, position - 80) : position])[-1]
    return bool(_NEGATED.search(clause))


def _is_letter(text: str, match: re.Match[str], letter: str, options: Sequence[str], valid: str) -> bool:
    """Is it a letter and no word? Only lower case, *A* and *I* are in doubt; what follows decides."""
    if match.re is _VERDICT or (match["letter"].isupper() and letter not in "AI"):
        return True
    rest = text[match.end("letter") :]
    if _AFTER_WORD_LETTER.match(rest):
        return True
    own = options[valid.index(letter)] if options else ""
    return bool(own) and _folded(rest).startswith(_folded(own))


def _also(text: str, end: int, valid: str) -> list[str]:
    """Further letters of a list: "B and D", "A or C", "A, B"."""
    found = []
    while (match := _ALSO.match(text, end)) and match["letter"] in valid:
        end = match.end("letter")
        if not _AFTER_WORD_LETTER.match(text[end:]):
            break
        found.append(match["letter"])
    return found


def _bracketed(text: str, valid: str) -> set[str]:
    found = set()
    for match in _BRACKETED.finditer(text):
        letter = (match[1] or match[2] or match[3]).upper()
        if letter in valid and not _negated_before(text, match.start()):
            found.add(letter)
    return found


def _started(text: str, options: Sequence[str], valid: str) -> set[str]:
    """The letter at the start; letters at the start of further lines only show that the options were repeated."""
    first = _START.match(text)
    if first and first[1].upper() in valid:
        found = {m[1].upper() for m in _START.finditer(text) if m[1].upper() in valid}
        found.update(_also(text, first.end(1), valid))
        said = _SECOND.match(text, first.end())  # "A: B" may mean "answer: B"
        return found | ({said[1]} if said and said[1] in valid else set())
    spelt = _SPELT.match(text)
    letter = spelt[1].upper() if spelt else ""
    if spelt and letter in valid[: len(options)] and not _quoted(text, options):
        own = _folded(options[valid.index(letter)])
        if own and _folded(spelt[2]).startswith(own):
            return {letter}
    return set()


def _quoted(text: str, options: Sequence[str]) -> set[str]:
    said = {_folded(text), _folded(re.sub(rf"^\s*{_LEAD}answer\s*(?:is\b|:)", "", text, flags=re.IGNORECASE))}
    said.discard("")
    return {LETTERS[i] for i, option in enumerate(options) if _folded(_plain(option)) in said}


def _folded(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).translate(_QUOTES).casefold()
    return " ".join(folded.strip(_EDGES).split())
