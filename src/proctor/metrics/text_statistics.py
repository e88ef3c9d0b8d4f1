"""How long and how varied the texts of a benchmark are.

Conventions: words are counted in two ways, because published tables do not agree on one (ProMQA:
8.91 and 11.82 words a question and an answer are tokens including punctuation, 7.87 and 9.97 by white space).
``tokenize`` follows the rules that matter of the usual English tokenizers: contractions are two tokens, marks of
punctuation one each, ``1/2`` one, ``non-stick`` three. Measures of variety leave punctuation out and fold the letter
case. Undefined values (nothing to count) have a note that says why.

Every share of different words falls with the amount of text, so it compares only collections of like size, except
``hd_d`` and ``moving_average_ttr``, which look at samples of one size.

References: Li et al. 2016 (distinct-n); McCarthy and Jarvis 2007, 2010 (HD-D); Covington and McFall 2010 (MATTR);
ProMQA.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from proctor.metrics.catalogue import Entries
from proctor.metrics.errors import MetricInputError, require_texts
from proctor.metrics.score import Score, Signature

__all__ = [
    "HD_D_SAMPLE",
    "METRICS",
    "MOVING_WINDOW",
    "count_tokens",
    "count_words",
    "distinct_n",
    "distinct_texts",
    "drawn_variety",
    "first_words",
    "hd_d",
    "mean_tokens",
    "mean_words",
    "moving_average_ttr",
    "tokenize",
    "type_token_ratio",
    "vocabulary_share",
]

HD_D_SAMPLE: Final = 42
"""Words in a sample of ``hd_d``, as published."""
MOVING_WINDOW: Final = 50
"""Words in the window of ``moving_average_ttr``."""

_TOKEN = re.compile(
    r"""
      \d+(?:[.,/]\d+)*            # 30, 1.5, 1/2, 1,000
    | [^\W\d_]+(?=n['’]t\b)       # did|n't
    | n['’]t\b
    | ['’](?:s|re|ve|ll|d|m)\b    # you|'ve
    | [^\W_]+                     # words
    | \.{2,}
    | [^\w\s] | _                 # one mark each
    """,
    re.VERBOSE | re.IGNORECASE,
)


def tokenize(text: str) -> list[str]:
    """Split into words and marks of punctuation, in order, in the text's own letter case."""
    return _TOKEN.findall(text)


def count_words(text: str) -> int:
    """Number of words between white space."""
    return len(text.split())


def count_tokens(text: str) -> int:
    """Number of tokens, punctuation included."""
    return len(tokenize(text))


def mean_words(texts: Sequence[str]) -> Score:
    """Mean number of words between white space; undefined for no texts.

    Raises:
        MetricInputError: if ``texts`` is one text, or an entry is none. So with all functions here.
    """
    return _mean_of(count_words, texts, Signature("mean_words", {"split": "white-space"}))


def mean_tokens(texts: Sequence[str]) -> Score:
    """Mean number of tokens, punctuation included; undefined for no texts."""
    parts = {"punctuation": "counted", "tokeniser": "proctor-1"}
    return _mean_of(count_tokens, texts, Signature("mean_tokens", parts))


def _mean_of(count: Callable[[str], int], texts: Sequence[str], signature: Signature) -> Score:
    given = require_texts(texts)
    return _share(sum(map(count, given)), len(given), signature, "there are no texts", n=len(given))


def _share(top: float, bottom: int, signature: Signature, why: str, *, n: int) -> Score:
    """A quotient of counts from ``n`` texts; undefined, with the reason, where there is nothing to divide by."""
    if not bottom:
        return Score(math.nan, signature, n, note=why)
    return Score(top / bottom, signature, n)


_LOWER: Final = {"case": "lower", "punctuation": "out"}


def _words(text: str) -> list[str]:
    """Lower-case tokens without punctuation."""
    return [token.lower() for token in tokenize(text) if any(c.isalnum() for c in token)]


def type_token_ratio(texts: Iterable[str]) -> Score:
    """Different words over all words (lower case, punctuation left out), 0 to 1; undefined when there is no word.

    It falls with the amount of text: compare only collections of like size, or use ``hd_d``.

    Erratum: ProMQA (section 8) prints 0.09 for 50 machine-written questions and calls it a type-token ratio; this
    definition gives 0.21 there. Only dividing by the vocabulary of all generated questions and answers gives 0.093
    (``vocabulary_share``), which is no property of the 50 questions alone.
    """
    given = require_texts(texts)
    words = [word for text in given for word in _words(text)]
    signature = Signature("type_token_ratio", _LOWER)
    return _share(len(set(words)), len(words), signature, "there is no word", n=len(given))


def vocabulary_share(texts: Iterable[str], all_texts: Iterable[str]) -> Score:
    """Different words of some texts over the different words of all texts: the reading of ProMQA's 0.09.

    Args:
        texts: the texts that are described.
        all_texts: the collection that they are part of; the share is undefined when it has no word.

    Returns:
        0 to 1. It grows with the amount of ``texts`` where the type-token ratio falls.

    Raises:
        MetricInputError: if ``texts`` has a word that ``all_texts`` lacks.
    """
    given = require_texts(texts)
    some = {word for text in given for word in _words(text)}
    every = {word for text in require_texts(all_texts, "all texts") for word in _words(text)}
    if missing := some - every:
        raise MetricInputError(
            f"{len(missing)} words are not among all texts, {min(missing)!r} for one",
            "the second argument must hold the first",
        )
    return _share(
        len(some), len(every), Signature("vocabulary_share", _LOWER), "there is no word", n=len(given)
    )


def hd_d(texts: Iterable[str], sample: int = HD_D_SAMPLE) -> Score:
    """Expected type-token ratio of so many words drawn at random without replacement: variety whatever the length.

    Each word contributes the probability that the sample holds it (hypergeometric). Neither the amount of text nor
    the order of the texts changes what it estimates, so it is the one to compare collections of unlike size with.

    Args:
        texts: the collection.
        sample: words in a sample.

    Returns:
        1/sample to 1; undefined with fewer words than a sample.

    Raises:
        MetricInputError: if ``sample`` is not positive.

    Reference: McCarthy and Jarvis 2007 (they sum the same terms; divided by the sample here, as they define ATTR).
    """
    if sample < 1:
        raise MetricInputError(f"a sample has at least one word, got {sample}")
    given = require_texts(texts)
    counts = Counter(word for text in given for word in _words(text))
    total = counts.total()
    signature = Signature("hd_d", {**_LOWER, "sample": str(sample)})
    if total < sample:
        return Score(math.nan, signature, len(given), note=f"fewer than {sample} words")
    often = Counter(counts.values())  # few different frequencies, however many words
    value = math.fsum(n * (1 - _absent(total, f, sample)) for f, n in sorted(often.items())) / sample
    return Score(value, signature, len(given))


def _absent(total: int, frequency: int, sample: int) -> float:
    """Probability that a sample lacks a word: C(total - frequency, sample) / C(total, sample)."""
    if total - frequency < sample:
        return 0.0
    if frequency <= sample:
        return math.prod((total - sample - i) / (total - i) for i in range(frequency))
    return math.prod((total - frequency - i) / (total - i) for i in range(sample))


def moving_average_ttr(texts: Iterable[str], window: int = MOVING_WINDOW) -> Score:
    """Mean type-token ratio of all runs of ``window`` words, the texts read one after the other.

    Runs cross the borders of texts, so the order of the texts matters; ``hd_d`` has no such dependence.

    Returns:
        1/window to 1; undefined with fewer words than a window.

    Raises:
        MetricInputError: if ``window`` is not positive.

    Reference: Covington and McFall 2010.
    """
    if window < 1:
        raise MetricInputError(f"a window has at least one word, got {window}")
    given = require_texts(texts)
    words = [word for text in given for word in _words(text)]
    signature = Signature("moving_average_ttr", {**_LOWER, "window": str(window)})
    if len(words) < window:
        return Score(math.nan, signature, len(given), note=f"fewer than {window} words")
    inside = Counter(words[:window])
    different = types = len(inside)
    for old, new in zip(words, words[window:], strict=False):
        inside[old] -= 1
        types += (inside[new] == 0) - (inside[old] == 0)
        inside[new] += 1
        different += types
    return Score(different / (window * (len(words) - window + 1)), signature, len(given))


def distinct_texts(texts: Sequence[str]) -> Score:
    """Different texts over all texts, letter case and white space aside, 0 to 1; undefined for no texts.

    ProMQA has 351 different questions among 401; the most frequent one occurs 11 times.
    """
    given = require_texts(texts)
    different = len({" ".join(text.casefold().split()) for text in given})
    signature = Signature("distinct_texts", {"case": "folded", "white-space": "collapsed"})
    return _share(different, len(given), signature, "there are no texts", n=len(given))


def distinct_n(texts: Iterable[str], n: int) -> Score:
    """Different n-grams over all n-grams, none across texts (Li et al. 2016), 0 to 1; undefined when there is none.

    Raises:
        MetricInputError: if ``n`` is not positive.
    """
    if n < 1:
        raise MetricInputError(f"n must be positive, got {n}")
    given = require_texts(texts)
    grams: Counter[tuple[str, ...]] = Counter()
    for text in given:
        words = _words(text)
        if n == 2:
            grams.update(pairwise(words))
        else:
            grams.update(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
    signature = Signature("distinct_n", {"across-texts": "no", **_LOWER, "n": str(n)})
    return _share(len(grams), grams.total(), signature, f"there is no run of {n} words", n=len(given))


def drawn_variety(
    sets: Mapping[str, Mapping[str, Sequence[str]]], *, size: int = 50, draws: int = 1_000, seed: int = 0
) -> dict[str, Score]:
    """Type-token ratio of collections (stratum to texts): mean and 95 % of draws of equal size, without replacement (ProMQA, A.3).

    Of the strata that every collection has, draws hold the same number of texts each, together at most ``size``. What every draw
    takes whole has no interval.

    Raises:
        MetricInputError: if ``size`` or ``draws`` is not positive.
    """
    if size < 1 or draws < 1:
        raise MetricInputError(f"size and draws must be positive, got {size} and {draws}")
    common = sorted(set.intersection(*(set(strata) for strata in sets.values()))) if sets else []
    there = [name for name in common for _ in range(min(len(strata[name]) for strata in sets.values()))]
    take = Counter(random.Random(f"{seed}").sample(there, min(size, len(there))))  # noqa: S311
    signature = Signature("type_token_ratio", {**_LOWER, "draws": str(draws), "seed": str(seed)})
    found = {}
    for which, strata in sets.items():
        rng = random.Random(f"{seed}/{which}")  # noqa: S311
        whole = all(len(strata[name]) == take[name] for name in common)
        drawn = ([t for n in common for t in rng.sample(list(strata[n]), take[n])] for _ in range(draws))
        values = sorted(type_token_ratio(texts).value for texts in (next(drawn),) * whole or drawn)
        low, high = (None, None) if whole else (values[int(0.025 * draws)], values[int(0.975 * draws)])
        note = "every draw is the whole collection" if whole else ""
        found[which] = Score(math.fsum(values) / len(values), signature, take.total(), low, high, note=note)
    return found


def first_words(texts: Iterable[str]) -> list[tuple[str, int]]:
    """How often each first word occurs (lower case), most frequent first, ties by alphabet."""
    counts = Counter(words[0] for text in require_texts(texts) if (words := _words(text)))
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


_SIZE_TRAP: Final = "Falls with the amount of text: compare collections of like size."

_entry: Final = Entries("text", "text_statistics")

METRICS: Final = (
    _entry(
        "mean_words",
        "words",
        "Mean number of words between white space.",
        range="0 to infinity",
        direction="neither",
        signature="split:white-space",
        citation="InstructionBench; ProMQA",
        traps="Papers do not say what a word is: ProMQA's 8.9 and 11.8 are tokens with punctuation (7.87 and 9.97 by "
        "white space).",
    ),
    _entry(
        "mean_tokens",
        "tokens",
        "Mean number of words and marks of punctuation.",
        range="0 to infinity",
        direction="neither",
        signature="punctuation:counted|tokeniser:proctor-1",
        citation="ProMQA",
        traps="Near spaCy's English tokens, on which ProMQA's figures stand, but not equal to them.",
    ),
    _entry(
        "type_token_ratio",
        "TTR",
        "Different words over all words.",
        signature="case:lower|punctuation:out",
        citation="Templin 1957; ProMQA",
        traps=f"{_SIZE_TRAP} ProMQA prints 0.09 where this gives 0.21; 0.09 is a share of the vocabulary of all "
        "generated text (vocabulary_share).",
    ),
    _entry(
        "vocabulary_share",
        "vocabulary",
        "Different words of some texts over the different words of all texts.",
        direction="neither",
        signature="case:lower|punctuation:out",
        citation="ProMQA, the reading that gives its 0.09",
        traps="Grows with the number of texts described; depends on what else is in the collection.",
    ),
    _entry(
        "hd_d",
        "HD-D",
        "Σ over words of the probability that 42 words drawn at random hold it, over 42.",
        range="1/42 to 1",
        signature="case:lower|punctuation:out|sample:42",
        citation="McCarthy and Jarvis 2007",
        traps="Undefined below 42 words. Some programs print the sum without dividing by 42.",
    ),
    _entry(
        "moving_average_ttr",
        "MATTR",
        "Mean type-token ratio of all runs of 50 words.",
        range="1/50 to 1",
        signature="case:lower|punctuation:out|window:50",
        citation="Covington and McFall 2010",
        traps="Depends on the order of short texts, because runs cross their borders.",
    ),
    _entry(
        "distinct_n",
        "distinct-n",
        "Different n-grams over all n-grams, none across texts.",
        signature="across-texts:no|case:lower|n:2|punctuation:out",
        citation="Li et al. 2016",
        traps=f"{_SIZE_TRAP} Distinct-1 is the type-token ratio. Punctuation counted as words changes it.",
    ),
    _entry(
        "distinct_texts",
        "distinct texts",
        "Different texts over all texts.",
        signature="case:folded|white-space:collapsed",
        citation="ProMQA (351 of 401 questions)",
    ),
)
