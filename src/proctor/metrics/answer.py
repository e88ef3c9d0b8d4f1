"""Answers in words: marks of a judge and their mean in points from 0 to 100; exact match, token F1 and ROUGE.

A judge says 0 (wrong), 1 (partial) or 2 (match); a mark is 50 points a step (ProMQA). Values are
kept per item and aggregated last, so every slice (question type, clean, noisy, activity) is a mean over the same
marks. Items without a judgement are None: they are counted and never become 0, and never silently raise a mean
either, because every score carries how many of them there are. ``mean_score`` takes any values by item (exact match,
ROUGE, letters), not only marks.

References: ProMQA; SMMQG (judge, style overlap).
"""

from __future__ import annotations

import math
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal, get_args

from proctor.metrics.bootstrap import BootstrapMethod, bootstrap_interval, cluster_sums
from proctor.metrics.catalogue import Entries
from proctor.metrics.errors import MetricInputError
from proctor.metrics.figure import Matrix
from proctor.metrics.score import Score, Signature

__all__ = [
    "METRICS",
    "POINTS",
    "JudgeScale",
    "Normalisation",
    "Overlap",
    "StyleOverlap",
    "Tokeniser",
    "best_constant_answer",
    "is_exact_match",
    "lost_words",
    "mean_score",
    "normalise_answer",
    "parse_judge_score",
    "points",
    "rouge_1_overlap",
    "rouge_l_overlap",
    "rouge_tokens",
    "style_overlap",
    "token_overlap",
]


POINTS = 50.0
"""Points of one step of the ternary scale."""

JudgeScale = Literal["smmqg", "promqa"]
"""Whose rule reads a judge's words: ``smmqg`` takes the first number behind the last marker "score", ``promqa`` the last
0, 1 or 2 behind the last "judge", "judgement", "judgment" or "score"."""

_MARKERS: Final[dict[str, str]] = {"smmqg": "score", "promqa": "judgement|judgment|judge|score"}
_MARKER_FORMS: Final = (r"(?:{})[\"']?\s*[:=]", r"(?:{})\b")
"""A marker with a colon is preferred: the word "score" also stands in explanations."""
_JUDGE_MARKUP: Final = re.compile(r"[*_`~#$]+")
_DENOMINATOR: Final = re.compile(r"(?<=\d)\s*(?:/|\bout of\b)\s*\d+")
_NUMBER: Final = re.compile(r"(?<![\w.])-?\d+(?:[.,]\d+)?(?!\w)")
_RANGE: Final = re.compile(r"\s*(?:-|–|—|/|\bor\b|\bto\b)\s*\d")
_MAX_JUDGEMENT: Final = 100_000
"""Characters of a judge's words that are read, from the end."""


def points(judgement: int | None) -> float | None:
    """Return the mark of a judgement in points; an unscored answer has none.

    Raises:
        ValueError: if the judgement is not 0, 1, 2 or None.
    """
    if judgement is None:
        return None
    if isinstance(judgement, bool) or judgement not in (0, 1, 2):
        raise ValueError(f"a judgement is 0, 1 or 2, got {judgement!r}")
    return POINTS * judgement


def parse_judge_score(response: str, *, scale: JudgeScale = "smmqg") -> int | None:
    """Read the judgement from a judge's words: an explanation, a marker ("Score:"), a number.

    Markdown is taken out first, and so is a denominator ("2/2" is 2, "1/2" is 1). A number that is no judgement (3, -1,
    1.5) or a range ("1-2", "1 or 2") reads as nothing; no number is guessed from words.

    Args:
        response: what the judge wrote.
        scale: whose rule; see ``JudgeScale``.

    Returns:
        0, 1 or 2; None when the judgement is unparsed. Ask once more, then exclude it and report the count: such an
        answer is no 0.

    Raises:
        MetricInputError: if the response is not a text or the scale is unknown.

    Reference: SMMQG; ProMQA.
    """
    if not isinstance(response, str):
        raise MetricInputError(f"a judge's response is a text, got {response!r}")
    if scale not in get_args(JudgeScale):
        raise MetricInputError(f"unknown scale {scale!r}", f"use one of {', '.join(get_args(JudgeScale))}")
    text = _JUDGE_MARKUP.sub("", response[-_MAX_JUDGEMENT:])
    rest = _behind_marker(text, _MARKERS[scale])
    if rest is None:
        return None
    rest = _DENOMINATOR.sub("", rest)
    numbers = list(_NUMBER.finditer(rest))
    if scale == "promqa":
        numbers = [m for m in reversed(numbers) if m[0] in {"0", "1", "2"}]
    if not numbers or _RANGE.match(rest, numbers[0].end()):
        return None
    value = float(numbers[0][0].replace(",", "."))
    return int(value) if value in (0.0, 1.0, 2.0) else None


def _behind_marker(text: str, markers: str) -> str | None:
    for form in _MARKER_FORMS:
        found = list(re.finditer(rf"\b{form.format(markers)}", text, re.IGNORECASE))
        if found:
            return text[found[-1].end() :]
    return None


@dataclass(frozen=True, slots=True)
class StyleOverlap:
    """How many questions several style classifiers claim at once.

    Attributes:
        n: questions.
        overlap: share that two or more classifiers claim, 0 to 1; ``nan`` without questions.
        unclaimed: share that no classifier claims.
        own: share whose true style is among the claims; ``nan`` when the true styles are not known.
        matrix: picture of the percentage claimed, true styles by classifiers; None when true styles are not known.
        note: why shares are undefined.
    """

    n: int
    overlap: float
    unclaimed: float
    own: float
    matrix: Matrix | None = None
    note: str = ""


def style_overlap(positives: Sequence[Collection[str]], true: Sequence[str] | None = None) -> StyleOverlap:
    """Share of questions that at least two binary style classifiers claim.

    Args:
        positives: the styles whose classifier said yes, for each question; none is no overlap.
        true: the style that each question was written in.

    Raises:
        MetricInputError: if lengths differ or a question's styles are one text instead of a collection.

    Reference: SMMQG, Table 8 (4.3, 0.0, 4.9, 2.8, 20.0 by true style). The paper reports the overlap only; a
    question that no classifier claims is as ambiguous and counts as no overlap there.
    """
    if any(isinstance(styles, str | bytes) for styles in positives):
        raise MetricInputError(
            "the styles of a question are a collection, got one text", "put it into a list"
        )
    if true is not None and len(true) != len(positives):
        raise MetricInputError(f"{len(true)} true styles for {len(positives)} questions")
    claims = [frozenset(styles) for styles in positives]
    n = len(claims)
    if not n:
        return StyleOverlap(0, math.nan, math.nan, math.nan, note="there are no questions")
    own = math.nan
    if true is not None:
        own = sum(t in c for t, c in zip(true, claims, strict=True)) / n
    return StyleOverlap(
        n=n,
        overlap=sum(len(c) >= 2 for c in claims) / n,
        unclaimed=sum(not c for c in claims) / n,
        own=own,
        matrix=None if true is None else _style_matrix(true, claims),
        note="the true styles are not known" if true is None else "",
    )


def _style_matrix(true: Sequence[str], claims: Sequence[frozenset[str]]) -> Matrix:
    rows = tuple(sorted(set(true)))
    columns = tuple(sorted(set(true).union(*claims)))
    asked = Counter(true)
    said = Counter((t, style) for t, c in zip(true, claims, strict=True) for style in c)
    return Matrix(
        title="Styles claimed",
        rows=rows,
        columns=columns,
        cells=tuple(tuple(100 * said[row, column] / asked[row] for column in columns) for row in rows),
        kind="values",
        row_title="true style",
        column_title="classifier that says yes",
        high=100.0,
    )


def mean_score(
    values: Sequence[float | None],
    clusters: Sequence[str],
    signature: Signature,
    *,
    skipped: int = 0,
    method: BootstrapMethod = "bca",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Score:
    """Mean over items, each item the same weight, with an interval clustered by recording.

    Args:
        values: one mark an item, None where prediction or judgement failed.
        clusters: recording of each item.
        signature: of this number; its interval options are the caller's.
        skipped: items that were not asked at all.
        method: see ``bootstrap_interval``.
        confidence: see ``bootstrap_interval``.
        resamples: see ``bootstrap_interval``; 0 leaves the interval out.
        seed: see ``bootstrap_interval``.

    Raises:
        ValueError: if lengths differ or a value is not finite.
    """
    if isinstance(clusters, str):
        raise MetricInputError(
            f"clusters are a list, got the text {clusters[:60]!r}", "name one for each item"
        )
    if len(values) != len(clusters):
        raise ValueError(f"{len(values)} values for {len(clusters)} clusters")
    kept = [(v, c) for v, c in zip(values, clusters, strict=True) if v is not None]
    failed = len(values) - len(kept)
    if not kept:
        why = "every answer failed" if failed else "there are no items"
        return Score(math.nan, signature, 0, failed=failed, skipped=skipped, note=why)
    marks = [float(v) for v, _ in kept]
    if not resamples:
        if not all(map(math.isfinite, marks)):
            raise ValueError("values must be finite: leave failed items out and count them")
        return Score(math.fsum(marks) / len(marks), signature, len(marks), failed=failed, skipped=skipped)
    sums = cluster_sums([marks, [1.0] * len(marks)], [c for _, c in kept])
    interval = bootstrap_interval(sums, method=method, confidence=confidence, resamples=resamples, seed=seed)
    return Score(
        value=math.fsum(marks) / len(marks),
        signature=signature,
        n=len(marks),
        low=interval.low,
        high=interval.high,
        failed=failed,
        skipped=skipped,
        note=interval.note,
    )


# Overlap of a written answer with the reference answers: exact match, token F1, ROUGE-1 and ROUGE-L.
#
# Conventions: references come first. Several references of one question are alternatives, so the best of them counts;
# the order in which they are given never matters. Values lie between 0 and 1. What is done to a text before it is
# compared changes every number, so it is an argument with a name, and the name belongs into the signature:
#
# * ``normalisation`` of exact match and token F1: ``none`` compares the texts as they are; ``squad`` is the published
#   one of SQuAD (lower case, ASCII punctuation out, the words *a*, *an*, *the* out, white space collapsed); ``unicode``
#   does the like for any script (compatibility form, case folding, all punctuation out) and keeps the articles.
# * ``tokeniser`` of ROUGE: ``ascii`` is the published one (lower case, runs of a-z and 0-9, no stemming), which drops
#   every other letter: *Käse* becomes *k* and *se*, a Chinese sentence becomes nothing. ``unicode`` keeps the words of
#   all scripts; Han, Hiragana and Katakana count one token a character, because they are written without spaces.
#
# An empty prediction scores 0 against a reference with words. A reference without any token scores 0 as in the
# published package, unless it has letters that the tokeniser dropped: that is an error, since 0 would be no finding.
#
# References: Rajpurkar et al. 2016, 2018 (SQuAD 1.1 and 2.0 evaluation); Lin 2004 (ROUGE); SMMQG.

Normalisation = Literal["none", "squad", "unicode"]
Tokeniser = Literal["ascii", "unicode"]

_ASCII_TOKEN: Final = re.compile(r"[a-z0-9]+")
_ARTICLE: Final = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)
_ONE_BY_ONE: Final = ("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA", "KATAKANA")
"""Beginnings of the Unicode names of characters that are a token each."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """Shared tokens over the prediction's (precision), over the reference's (recall), and their harmonic mean."""

    precision: float
    recall: float
    f1: float

    @classmethod
    def of(cls, shared: int, reference: int, prediction: int) -> Overlap:
        """Compute from numbers of tokens; 0 throughout when nothing is shared."""
        if not shared:
            return cls(0.0, 0.0, 0.0)
        precision, recall = shared / prediction, shared / reference
        return cls(precision, recall, 2 * precision * recall / (precision + recall))


def normalise_answer(text: str, normalisation: Normalisation = "squad") -> str:
    """Return the form in which exact match and token F1 compare a text.

    Raises:
        MetricInputError: if the normalisation is unknown.
    """
    if normalisation == "none":
        return text
    if normalisation == "squad":
        bare = text.lower().translate(_NO_PUNCTUATION)
        return " ".join(_ARTICLE.sub(" ", bare).split())
    if normalisation == "unicode":
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
        bare = _without_joiners(folded)
        kept = "".join(" " if unicodedata.category(c)[0] in "PC" else c for c in bare)
        return " ".join(kept.split())
    raise MetricInputError(
        f"unknown normalisation {normalisation!r}", f"use one of {', '.join(get_args(Normalisation))}"
    )


def is_exact_match(
    references: str | Sequence[str], prediction: str, *, normalisation: Normalisation = "squad"
) -> bool:
    """Whether the prediction equals one of the references after normalisation.

    Args:
        references: one reference, or several alternatives.
        prediction: the answer.
        normalisation: what is done to both before they are compared.

    Returns:
        True or False. With ``squad``, a reference that consists of articles and punctuation only (the letter *A*!)
        becomes the empty text and equals any other such text: read letters with ``parse_letter`` instead.

    Raises:
        MetricInputError: if there is no reference or one is not a text.

    Reference: Rajpurkar et al. 2016; ``squad`` equals its evaluation script.
    """
    found = normalise_answer(_text(prediction), normalisation)
    return any(normalise_answer(r, normalisation) == found for r in _alternatives(references))


def token_overlap(
    references: str | Sequence[str], prediction: str, *, normalisation: Normalisation = "squad"
) -> Overlap:
    """Overlap of the normalised texts as bags of words between white space, for the best reference.

    Two texts without words are equal and score 1, one without words scores 0 (SQuAD 2.0; version 1.1 gives 0 to both).

    Raises:
        MetricInputError: if there is no reference or one is not a text.

    Reference: Rajpurkar et al. 2016, 2018.
    """
    found = normalise_answer(_text(prediction), normalisation).split()
    return _best(
        _bag_f1(normalise_answer(r, normalisation).split(), found) for r in _alternatives(references)
    )


def _bag_f1(reference: Sequence[str], prediction: Sequence[str]) -> Overlap:
    if not reference and not prediction:
        return Overlap(1.0, 1.0, 1.0)
    return _bag_overlap(reference, prediction)


def _bag_overlap(reference: Sequence[str], prediction: Sequence[str]) -> Overlap:
    left: dict[str, int] = {}
    for word in reference:
        left[word] = left.get(word, 0) + 1
    shared = 0
    for word in prediction:
        if n := left.get(word, 0):
            left[word] = n - 1
            shared += 1
    return Overlap.of(shared, len(reference), len(prediction))


def rouge_tokens(text: str, tokeniser: Tokeniser = "ascii") -> list[str]:
    """Split a text as ROUGE does, in order.

    Raises:
        MetricInputError: if the tokeniser is unknown.
    """
    if tokeniser not in get_args(Tokeniser):
        raise MetricInputError(
            f"unknown tokeniser {tokeniser!r}", f"use one of {', '.join(get_args(Tokeniser))}"
        )
    if tokeniser == "ascii" or text.isascii():
        return _ASCII_TOKEN.findall(text.lower())
    return list(_unicode_tokens(_without_joiners(unicodedata.normalize("NFC", text.casefold()))))


def _without_joiners(text: str) -> str:
    """Leave out characters that only steer how others are written, as Persian and emoji have within words."""
    return "".join(c for c in text if unicodedata.category(c) != "Cf")


def _unicode_tokens(text: str) -> Iterator[str]:
    """Runs of letters, figures and the marks that belong to them; some scripts one character at a time."""
    for kind, run in groupby(text, _kind):
        if kind == "word":
            word = "".join(run)
            if any(c.isalnum() for c in word):
                yield word
        elif kind == "single":
            yield from run


def _kind(character: str) -> str:
    if not (character.isalnum() or unicodedata.category(character)[0] == "M"):
        return "gap"
    if character >= "\u2e80" and unicodedata.name(character, "").startswith(_ONE_BY_ONE):
        return "single"
    return "word"


def lost_words(text: str) -> tuple[int, int]:
    """Count the words that the published tokeniser of ROUGE cuts up or drops, and all words of a text.

    Returns:
        Words (between white space) with a letter or figure outside of ASCII, and all words with a letter or figure.
    """
    words = [word for word in text.split() if any(c.isalnum() for c in word)]
    return sum(any(c.isalnum() and not c.isascii() for c in word) for word in words), len(words)


def rouge_1_overlap(
    references: str | Sequence[str], prediction: str, *, tokeniser: Tokeniser = "ascii"
) -> Overlap:
    """Overlap of the words without regard to order, each counted as often as it stands in both (clipped).

    Args:
        references: one reference, or several alternatives: the one with the best F1 counts, precision and recall
            are those of the same reference.
        prediction: the answer.
        tokeniser: ``ascii`` as published, ``unicode`` for other languages than English.

    Returns:
        Precision, recall and F1, 0 to 1; no stemming, as in the package ``rouge-score`` by default.

    Raises:
        MetricInputError: if there is no reference, one is not a text, or a reference has letters but no token.

    Reference: Lin 2004; SMMQG reports F1 and names no tokeniser.
    """
    found = rouge_tokens(_text(prediction), tokeniser)
    return _best(_bag_overlap(_reference_tokens(r, tokeniser), found) for r in _alternatives(references))


def rouge_l_overlap(
    references: str | Sequence[str], prediction: str, *, tokeniser: Tokeniser = "ascii"
) -> Overlap:
    """Overlap by the longest common subsequence of words: the words of both that stand in the same order.

    Arguments, result, errors and conventions are those of ``rouge_1_overlap``. It is the sentence-level form: line breaks
    do not count (the package calls it ``rougeL``; ``rougeLsum`` is another number).

    Raises:
        MetricInputError: as ``rouge_1_overlap``.

    Reference: Lin 2004.
    """
    found = rouge_tokens(_text(prediction), tokeniser)
    return _best(
        Overlap.of(_longest_common(words, found), len(words), len(found))
        for words in (_reference_tokens(r, tokeniser) for r in _alternatives(references))
    )


def _longest_common(a: Sequence[str], b: Sequence[str]) -> int:
    """Length of the longest common subsequence, one big-integer step per word of ``b`` (Hyyrö 2004)."""
    places: dict[str, int] = {}
    for i, word in enumerate(a):
        places[word] = places.get(word, 0) | 1 << i
    full = (1 << len(a)) - 1
    open_ = full
    for word in b:
        hit = open_ & places.get(word, 0)
        open_ = (open_ + hit | open_ - hit) & full
    return len(a) - open_.bit_count()


def best_constant_answer(
    references: Iterable[Sequence[str]], *, normalisation: Normalisation = "squad"
) -> tuple[str, int]:
    """Find the one answer that is right for most questions, as a chance row for exact match (ProMQA).

    Returns:
        The normalised answer and how many questions accept it; the first by alphabet of equally good ones; the
        empty text and 0 for no questions.
    """
    counts: Counter[str] = Counter()
    for alternatives in references:
        counts.update({normalise_answer(r, normalisation) for r in alternatives} - {""})
    return min(counts.items(), key=lambda pair: (-pair[1], pair[0]), default=("", 0))


def _best(overlaps: Iterable[Overlap]) -> Overlap:
    return max(overlaps, key=lambda o: (o.f1, o.recall, o.precision))


def _reference_tokens(reference: str, tokeniser: Tokeniser) -> list[str]:
    tokens = rouge_tokens(reference, tokeniser)
    if not tokens and any(c.isalnum() for c in reference):
        raise MetricInputError(
            f"the {tokeniser} tokeniser finds no word in the reference {_shown(reference)}",
            "use the tokeniser 'unicode' for other scripts than a-z",
        )
    return tokens


def _alternatives(references: str | Sequence[str]) -> Sequence[str]:
    if isinstance(references, str):
        return (references,)
    if not references:
        raise MetricInputError("there is no reference answer", "give at least one, or leave the question out")
    for reference in references:
        if not isinstance(reference, str):
            raise MetricInputError(f"a reference answer is a text, got {_shown(reference)}")
    return references


def _text(prediction: object) -> str:
    if not isinstance(prediction, str):
        raise MetricInputError(
            f"an answer is a text, got {_shown(prediction)}",
            "an answer that was not given is no prediction: leave it out and count it as failed",
        )
    return prediction


def _shown(value: object, limit: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}…"


_ROUGE_TRAPS: Final = (
    "The published tokeniser drops every letter but a-z and 0-9: 'Käse' is 'k', 'se'; a Chinese text is empty. "
    "Stemming changes the value. Correlates badly with correctness: SMMQG Table 7 prints tau 0.72 with its judge, "
    "its own Table 6 gives 0.714."
)

_entry: Final = Entries("answer", "answer")

METRICS: Final = (
    _entry(
        "mean_score",
        "score",
        "50 times the mean judgement (0 wrong, 1 partial, 2 match), each item the same weight.",
        range="0 to 100",
        signature="benchmark:NAME|cluster:recording|interval:bca-95|judge:NAME|resamples:10000|"
        "scale:0-50-100|seed:0|slice:all|weighting:item",
        citation="SMMQG; ProMQA",
        traps="An unparsed judgement is excluded and counted, never 0. Means of slices pool by item counts: SMMQG's "
        "weighted style means lie below its Table 6, unweighted ones above. ProMQA's Table 14 has eight rows with "
        "permuted columns, and its text swaps the counts of clean (176) and noisy (225).",
    ),
    _entry(
        "style_overlap",
        "overlap",
        "Share of questions that at least two binary style classifiers claim.",
        range="1 to 0",
        direction="lower",
        signature="positives:2+",
        citation="SMMQG, Table 8",
        traps="A question that no classifier claims is no overlap: report the share of unclaimed ones beside it.",
    ),
    _entry(
        "exact_match",
        "EM",
        "Share of answers that equal one of the references after the declared normalisation.",
        function="is_exact_match",
        signature="normalisation:squad|references:any",
        citation="Rajpurkar et al. 2016 (SQuAD)",
        traps="SQuAD's normalisation deletes the letter A as an article: an answer letter is no text to match. "
        "Only ASCII punctuation goes, so typographic quotes make two texts different.",
    ),
    _entry(
        "token_f1",
        "F1",
        "2PR/(P+R), P and R the shared words over the answer's and over the reference's, best reference.",
        function="token_overlap",
        signature="normalisation:squad|references:best",
        citation="Rajpurkar et al. 2016, 2018 (SQuAD)",
        traps="Two empty texts are 1 in SQuAD 2.0 (and here), 0 in 1.1. Word order and negation do not count.",
    ),
    _entry(
        "rouge_1",
        "ROUGE-1",
        "F1 of the shared words (each counted min of both) over the answer's and over the reference's.",
        function="rouge_1_overlap",
        signature="references:best-f1|stemming:no|tokeniser:ascii|value:f1",
        citation="Lin 2004; SMMQG, Table 6",
        traps=_ROUGE_TRAPS,
    ),
    _entry(
        "rouge_l",
        "ROUGE-L",
        "F1 of the longest common subsequence of words over both lengths.",
        function="rouge_l_overlap",
        signature="references:best-f1|stemming:no|tokeniser:ascii|value:f1",
        citation="Lin 2004",
        traps="rougeL ignores line breaks, rougeLsum does not: two numbers under one name. Tokeniser as ROUGE-1.",
    ),
)
