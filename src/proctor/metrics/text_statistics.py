"""How long and how varied the texts of a benchmark are.

Conventions: words are counted in two ways, because published tables do not agree on one (promqa.md section 8:
8.91 and 11.82 words a question and an answer are tokens including punctuation, 7.87 and 9.97 by white space).
``tokenize`` follows the rules that matter of the usual English tokenizers: contractions are two tokens, marks of
punctuation one each, ``1/2`` one, ``non-stick`` three.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

__all__ = [
    "count_tokens",
    "count_words",
    "distinct_n",
    "first_words",
    "mean_tokens",
    "mean_words",
    "tokenize",
    "type_token_ratio",
]

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


def mean_words(texts: Sequence[str]) -> float:
    """Mean number of words between white space; ``nan`` for no texts."""
    return sum(map(count_words, texts)) / len(texts) if texts else math.nan


def mean_tokens(texts: Sequence[str]) -> float:
    """Mean number of tokens, punctuation included; ``nan`` for no texts."""
    return sum(map(count_tokens, texts)) / len(texts) if texts else math.nan


def _words(text: str) -> list[str]:
    """Lower-case tokens without punctuation."""
    return [token.lower() for token in tokenize(text) if any(c.isalnum() for c in token)]


def type_token_ratio(texts: Iterable[str]) -> float:
    """Different words over all words (lower case, punctuation left out); ``nan`` when there is no word.

    It falls with the amount of text: compare only collections of like size.
    """
    words = [word for text in texts for word in _words(text)]
    return len(set(words)) / len(words) if words else math.nan


def distinct_n(texts: Iterable[str], n: int) -> float:
    """Different n-grams over all n-grams, none across texts (Li et al. 2016); ``nan`` when there is none.

    Raises:
        ValueError: if ``n`` is not positive.
    """
    if n < 1:
        raise ValueError(f"n must be positive, got {n}")
    grams: Counter[tuple[str, ...]] = Counter()
    for text in texts:
        words = _words(text)
        if n == 2:
            grams.update(pairwise(words))
        else:
            grams.update(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
    return len(grams) / total if (total := grams.total()) else math.nan


def first_words(texts: Iterable[str]) -> list[tuple[str, int]]:
    """How often each first word occurs (lower case), most frequent first, ties by alphabet."""
    counts = Counter(words[0] for text in texts if (words := _words(text)))
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
