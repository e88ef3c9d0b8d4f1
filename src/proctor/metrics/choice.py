"""Multiple choice: reading the chosen letter out of a response, accuracy, and the tells of a set of options.

Conventions: options are lettered A, B, C, … in the order in which they were shown; letters are upper case in every
result. A response in which no letter can be read is *unparsed*: it counts as wrong, because the question was asked
and answered, and it is counted apart, because it says more about the form of the answers than about knowledge. A
question without a response is another matter: it *failed*, and the caller counts it.

References: InstructionBench B1.4 (options, votes) and B1.5 (order of the rules); Zheng et al. 2024 (selection bias).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from proctor.metrics.errors import MetricInputError
from proctor.metrics.figure import Matrix
from proctor.metrics.metric import Metric

__all__ = [
    "LETTERS",
    "METRICS",
    "PARSER",
    "ChoiceCounts",
    "LetterBalance",
    "LetterRule",
    "OptionTells",
    "ParsedLetter",
    "balanced_letter_counts",
    "blind_pass_probability",
    "chance_accuracy",
    "choice_accuracy",
    "letter_balance",
    "letter_confusion",
    "letter_counts",
    "longest_option_credit",
    "option_tells",
    "parse_letter",
    "recall_by_letter",
    "recall_spread",
    "vote_probability",
]

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
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


# -- reading a response ------------------------------------------------------------------------------------------

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

    Reference: InstructionBench B1.5.
    """
    texts = () if isinstance(options, int) else tuple(options)
    valid = LETTERS[: _require_options(options if isinstance(options, int) else len(texts))]
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


def _require_options(count: int) -> int:
    if isinstance(count, bool) or not 2 <= count <= len(LETTERS):
        raise MetricInputError(f"a question has 2 to {len(LETTERS)} options, got {count}")
    return count


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


# -- accuracy ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChoiceCounts:
    """Right, wrong and unparsed responses; ``marks`` keeps them by question.

    Attributes:
        right: the gold letter was read.
        wrong: another letter was read.
        unparsed: no letter was read; part of the denominator.
        marks: 1.0 for right, 0.0 for wrong and unparsed, in the order of the questions.
    """

    right: int
    wrong: int
    unparsed: int
    marks: tuple[float, ...]

    @property
    def n(self) -> int:
        """All responses."""
        return self.right + self.wrong + self.unparsed

    @property
    def accuracy(self) -> float:
        """Right over all responses, unparsed ones included as wrong; ``nan`` without responses."""
        return self.right / self.n if self.n else math.nan

    @property
    def accuracy_of_parsed(self) -> float:
        """Right over the parsed ones: an upper reading that rewards silence; ``nan`` when nothing was parsed."""
        return self.right / (self.right + self.wrong) if self.right + self.wrong else math.nan


def choice_accuracy(gold: Sequence[str], predicted: Sequence[str | None]) -> ChoiceCounts:
    """Count right, wrong and unparsed letters.

    Args:
        gold: the right letter of each question, A to Z.
        predicted: the letter that was read, None for unparsed; parallel to ``gold``.

    Raises:
        MetricInputError: if lengths differ or something is not a letter A to Z.

    Reference: InstructionBench B1.5; chance is ``chance_accuracy``.
    """
    if len(gold) != len(predicted):
        raise MetricInputError(f"{len(gold)} gold letters for {len(predicted)} predictions")
    for i, (wanted, said) in enumerate(zip(gold, predicted, strict=True)):
        _require_letter(wanted, i, "gold")
        if said is not None:
            _require_letter(said, i, "predicted")
    marks = tuple(float(g == p) for g, p in zip(gold, predicted, strict=True))
    unparsed = sum(p is None for p in predicted)
    right = int(sum(marks))
    return ChoiceCounts(right, len(gold) - right - unparsed, unparsed, marks)


def _require_letter(letter: object, row: int, what: str) -> None:
    if not (isinstance(letter, str) and len(letter) == 1 and letter in LETTERS):
        raise MetricInputError(f"{what} letter of question {row} is {letter!r}", "give one letter A to Z")


def chance_accuracy(options: Sequence[int]) -> float:
    """Expected accuracy of guessing: the mean of 1 over the number of options; ``nan`` for no questions.

    Raises:
        MetricInputError: if a question has fewer than 2 or more than 26 options.
    """
    return math.fsum(1 / _require_options(k) for k in options) / len(options) if options else math.nan


# -- letters -----------------------------------------------------------------------------------------------------


def letter_counts(letters: Sequence[str | None], options: int) -> dict[str, int]:
    """How often each of the first ``options`` letters occurs; unparsed ones (None) are left out.

    Raises:
        MetricInputError: if a letter is not one of them.
    """
    valid = LETTERS[: _require_options(options)]
    counts = dict.fromkeys(valid, 0)
    for row, letter in enumerate(letters):
        if letter is None:
            continue
        if letter not in counts:
            raise MetricInputError(
                f"letter {letter!r} of question {row} is not one of {valid[0]} to {valid[-1]}"
            )
        counts[letter] += 1
    return counts


def balanced_letter_counts(questions: int, options: int) -> tuple[int, ...]:
    """Counts of an exactly balanced set, largest first: each letter ⌈n/k⌉ or ⌊n/k⌋ times (InstructionBench B1.4).

    Raises:
        MetricInputError: if the number of questions is negative or that of options out of range.
    """
    if questions < 0:
        raise MetricInputError(f"the number of questions must not be negative, got {questions}")
    each, more = divmod(questions, _require_options(options))
    return (each + 1,) * more + (each,) * (options - more)


@dataclass(frozen=True, slots=True)
class LetterBalance:
    """Pearson's test of equally frequent letters.

    Attributes:
        chi2: the statistic.
        df: degrees of freedom.
        p: probability of a statistic at least as large under uniform letters; ``nan`` when nothing was counted.
        note: why it is undefined, or that the approximation is poor.
    """

    chi2: float
    df: int
    p: float
    note: str = ""


def letter_balance(*counts: Sequence[int]) -> LetterBalance:
    """Test whether letters are equally frequent: of the golds, or of what a system says (position bias).

    Args:
        counts: how often each letter occurs. Questions with different numbers of options are no one multinomial:
            give one sequence for each number of options; statistics and degrees of freedom add up.

    Returns:
        The test. A p-value near 1 is as it should be for golds that were balanced on purpose.

    Raises:
        MetricInputError: if a sequence has fewer than 2 counts, or a count is negative or no whole number.

    Reference: Pearson 1900; InstructionBench B1.4 asks for it. Equals ``scipy.stats.chisquare``.
    """
    chi2, df, smallest, total = 0.0, 0, math.inf, 0
    for group in counts:
        values = [int(c) for c in group]
        if len(values) < 2 or min(values) < 0 or any(v != c for v, c in zip(values, group, strict=True)):
            raise MetricInputError(
                f"counts of at least two letters are wanted, none negative, got {list(group)}"
            )
        if not sum(values):
            continue
        expected = sum(values) / len(values)
        chi2 += math.fsum((v - expected) ** 2 for v in values) / expected
        df += len(values) - 1
        smallest = min(smallest, expected)
        total += sum(values)
    if not total:
        return LetterBalance(math.nan, 0, math.nan, "no letter was counted")
    from scipy.special import chdtrc  # a tenth of the import time of scipy.stats

    poor = "fewer than 5 expected per letter: the p-value is rough" if smallest < 5 else ""
    return LetterBalance(chi2, df, float(chdtrc(df, chi2)), poor)


def recall_by_letter(
    gold: Sequence[str], predicted: Sequence[str | None], options: int
) -> dict[str, float | None]:
    """Accuracy on the questions of each gold letter; None where a letter is never gold.

    Raises:
        MetricInputError: if lengths differ or a letter is not one of the first ``options``.
    """
    counts = choice_accuracy(gold, predicted)
    asked = letter_counts(gold, options)
    right = Counter(g for g, mark in zip(gold, counts.marks, strict=True) if mark)
    return {letter: right[letter] / n if n else None for letter, n in asked.items()}


def recall_spread(recalls: Sequence[float | None]) -> float:
    """Standard deviation of the recalls by letter (RStd): 0 without selection bias; ``nan`` with fewer than 2.

    The population form (divided by the number of letters). It measures bias also when gold letters are not balanced,
    which the balance of predicted letters does not.

    Reference: Zheng et al. 2024.
    """
    known = [r for r in recalls if r is not None]
    if len(known) < 2:
        return math.nan
    mean = math.fsum(known) / len(known)
    return math.sqrt(math.fsum((r - mean) ** 2 for r in known) / len(known))


def letter_confusion(
    gold: Sequence[str], predicted: Sequence[str | None], options: int, *, title: str = "Letters"
) -> Matrix:
    """Picture of gold letters (rows) by predicted letters (columns), unparsed ones in the last column.

    Raises:
        MetricInputError: if lengths differ or a letter is not one of the first ``options``.
    """
    choice_accuracy(gold, predicted)
    letter_counts(gold, options)
    letter_counts(predicted, options)
    valid = LETTERS[:options]
    cells = Counter(zip(gold, predicted, strict=True))
    columns = (*valid, None)
    return Matrix(
        title=title,
        rows=tuple(valid),
        columns=(*valid, "unparsed"),
        cells=tuple(tuple(float(cells[g, p]) for p in columns) for g in valid),
        row_title="gold letter",
        column_title="predicted letter",
    )


# -- tells of the options ----------------------------------------------------------------------------------------


def longest_option_credit(options: Sequence[str], gold: str) -> float:
    """Chance that who always takes the longest option (characters, edges stripped) is right: 1, 0, or 1/m of m ties.

    Raises:
        MetricInputError: if the gold letter is not one of the options or their number is out of range.
    """
    right = _gold_index(options, gold)
    lengths = [len(text.strip()) for text in options]
    longest = [i for i, n in enumerate(lengths) if n == max(lengths)]
    return 1 / len(longest) if right in longest else 0.0


def _gold_index(options: Sequence[str], gold: str) -> int:
    valid = LETTERS[: _require_options(len(options))]
    if len(gold) != 1 or gold not in valid:
        raise MetricInputError(f"gold letter {gold!r} is not one of {valid[0]} to {valid[-1]}")
    return valid.index(gold)


@dataclass(frozen=True, slots=True)
class OptionTells:
    """What the options give away without the question.

    Attributes:
        questions: how many.
        longest_right: share of questions whose longest option is right, ties shared; ``nan`` without questions.
        chance: what that share would be without a tell.
        words_right: mean words between white space of the right options.
        words_wrong: of the wrong ones.
        characters_right: mean characters of the right options.
        characters_wrong: of the wrong ones.
        credits: ``longest_option_credit`` of each question.
    """

    questions: int
    longest_right: float
    chance: float
    words_right: float
    words_wrong: float
    characters_right: float
    characters_wrong: float
    credits: tuple[float, ...]


def option_tells(options: Sequence[Sequence[str]], gold: Sequence[str]) -> OptionTells:
    """Compare right with wrong options by length, over all questions.

    Args:
        options: texts of each question's options, in the order shown.
        gold: the right letter of each; parallel.

    Raises:
        MetricInputError: if lengths differ, a gold letter is none of its options, or a number of options is out of range.

    Reference: InstructionBench B1.4 ("longest option is right", mean length of right and wrong options).
    """
    if len(options) != len(gold):
        raise MetricInputError(f"options of {len(options)} questions for {len(gold)} gold letters")
    right: list[str] = []
    wrong: list[str] = []
    for texts, letter in zip(options, gold, strict=True):
        index = _gold_index(texts, letter)
        right.append(texts[index])
        wrong += [text for i, text in enumerate(texts) if i != index]
    credits_ = tuple(
        longest_option_credit(texts, letter) for texts, letter in zip(options, gold, strict=True)
    )
    return OptionTells(
        questions=len(options),
        longest_right=_mean(credits_),
        chance=chance_accuracy([len(texts) for texts in options]),
        words_right=_mean([len(text.split()) for text in right]),
        words_wrong=_mean([len(text.split()) for text in wrong]),
        characters_right=_mean([len(text.strip()) for text in right]),
        characters_wrong=_mean([len(text.strip()) for text in wrong]),
        credits=credits_,
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


# -- retry leak --------------------------------------------------------------------------------------------------


def vote_probability(accuracy: float, *, voters: int = 3, needed: int = 2) -> float:
    """Probability that at least ``needed`` of independent voters are right (binomial tail).

    With the defaults: that one attempt at a set of options fails because two of three assistants answer without
    seeing the steps (stage 3 of InstructionBench B1.4).

    Args:
        accuracy: of each voter, 0 to 1.
        voters: how many vote.
        needed: how many must be right.

    Raises:
        MetricInputError: if the accuracy is no probability, or not 0 <= needed <= voters with a voter.
    """
    if not 0.0 <= accuracy <= 1.0:
        raise MetricInputError(f"an accuracy lies between 0 and 1, got {accuracy}")
    if voters < 1 or not 0 <= needed <= voters:
        raise MetricInputError(f"{needed} of {voters} voters cannot be asked for")
    return math.fsum(
        math.comb(voters, k) * accuracy**k * (1 - accuracy) ** (voters - k) for k in range(needed, voters + 1)
    )


def blind_pass_probability(accuracy: float, *, attempts: int = 10, voters: int = 3, needed: int = 2) -> float:
    """Probability that a question guessable with this accuracy passes the blind vote in one of several attempts.

    Retrying until a vote passes selects luck (the *retry leak*): with three assistants right on 80 % of the questions
    without seeing anything, one attempt passes 10.4 %, ten attempts 66.7 %. A fresh vote on the accepted options
    shows it.

    Raises:
        MetricInputError: as ``vote_probability``, or if there is no attempt.

    Reference: InstructionBench B1.4 (10 attempts are ours, inferred from its 5,635 → 5,000 pairs).
    """
    if attempts < 1:
        raise MetricInputError(f"at least one attempt is needed, got {attempts}")
    return 1.0 - vote_probability(accuracy, voters=voters, needed=needed) ** attempts


METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        name="choice_accuracy",
        label="Accuracy",
        family="answer",
        function="choice:choice_accuracy",
        signature=f"choice_accuracy|parser:{PARSER}|unparsed:wrong",
        range="0 to 1; chance 1/options",
        direction="higher",
        definition="Share of responses whose letter is the gold letter; responses without a letter are wrong.",
        citation="InstructionBench B1.5",
        traps="Leaving unparsed responses out rewards silence. Naive parsers read the T of 'The' and the A of "
        "'A good choice'. A question without any response failed; it is no unparsed one.",
    ),
    Metric(
        name="letter_balance",
        label="χ² letters",
        family="answer",
        function="choice:letter_balance",
        signature="letter_balance|test:pearson-uniform",
        range="0 to infinity; p 0 to 1",
        direction="neither",
        definition="Σ (count - n/k)² / (n/k) over k letters, p from χ² with k-1 degrees of freedom.",
        citation="Pearson 1900; InstructionBench B1.4",
        traps="Unequal numbers of options need one table each. Predicted letters follow the golds: judge bias by "
        "recall_spread unless golds are balanced.",
    ),
    Metric(
        name="recall_spread",
        label="RStd",
        family="answer",
        function="choice:recall_spread",
        signature="recall_spread|deviation:population",
        range="0.5 to 0",
        direction="lower",
        definition="Standard deviation over letters of the accuracy on questions with that gold letter.",
        citation="Zheng et al. 2024",
        traps="Few questions per letter give spread by luck alone.",
    ),
    Metric(
        name="longest_option_right",
        label="longest right",
        family="answer",
        function="choice:option_tells",
        signature="longest_option_right|length:characters|ties:shared",
        range="0 to 1; no tell at 1/options",
        direction="neither",
        definition="Share of questions whose longest option is the right one, ties shared.",
        citation="InstructionBench B1.4",
        traps="Above chance, who reads no question scores above chance too.",
    ),
    Metric(
        name="blind_pass_probability",
        label="retry leak",
        family="answer",
        function="choice:blind_pass_probability",
        signature="blind_pass_probability|attempts:10|needed:2|voters:3",
        range="0 to 1",
        direction="lower",
        definition="1 - P(at least 2 of 3 blind voters right)^attempts.",
        citation="InstructionBench B1.4, our computation",
        traps="Ten attempts let 66.7 % of the questions pass that 80 % of blind voters answer: retries select luck.",
    ),
)
