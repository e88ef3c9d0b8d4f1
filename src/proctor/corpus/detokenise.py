"""Text of corpora that were cut into tokens, put together again so that people and models read it as it was written.

Many corpora (OTT-QA and others made with the Penn Treebank's rules) set blanks around punctuation: ``the world 's second ,
by area ( 9 km ) .`` Text that does not look like that is left as it is, to the letter.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["detokenise", "looks_tokenised"]

_TOKENISED = re.compile(
    r"\S ,(?=\s|$)|[\w)\]'\"] \.(?=\s|$)|(?<!\S)`` |\w ''(?=\s|$)|\w 's\b|\w n't\b|\( (?=[^()]* \))|@[-.,]@"
)
_RULES: Final = tuple(
    (re.compile(pattern), put)
    for pattern, put in (
        (r" ?@([-–,./:])@ ?", r"\1"),  # WikiText: 3 @,@ 000
        (r"(?<!\S)``[ \t]+", '"'),
        (r"(?<!\S)``", '"'),
        (r"(?<![ \t])[ \t]+''(?=\s|[,.;:!?)\]]|$)", '"'),
        (r"''(?=\s|[,.;:!?)\]]|$)", '"'),
        (r"(?<=\w)[ \t]+('(?:s|S|m|d|re|ve|ll))\b", r"\1"),
        (r"(?<=\w)[ \t]+(n't)\b", r"\1"),
        (r"(?<=s)[ \t]+'(?=[ \t]\w)(?![ \t]\w[^']*')", "'"),  # the girls ' team
        (r"([(\[])[ \t]+", r"\1"),
        (r"(?<![ \t])[ \t]+([)\]])", r"\1"),
        (r"(?<=\S)[ \t]+([,;:!?%])(?=\s|[)\]\"',.]|$)", r"\1"),
        (r"(?<=\w\.)[ \t]+\.(?=\s|$)(?![ \t]*\.)", ""),  # the end of a sentence after U.S.
        (r"(?<=[^\s.])[ \t]+(\.)(?=\s|[)\]\"']|$)", r"\1"),
        (r"(?<=[$£€])[ \t]+(?=\d)", ""),
        (r"(?<=\w)\([ \t]*(s|es)[ \t]*\)", r"(\1)"),
        (r"(?<=[a-z])[ \t]+\((s|es)\)", r"(\1)"),  # Network ( s )
    )
)


def looks_tokenised(text: str) -> bool:
    """True where blanks stand before commas, full stops, ``'s`` or inside of brackets, as tokenisers leave them."""
    return _TOKENISED.search(text) is not None


def detokenise(text: str, *, is_tokenised: bool | None = None) -> str:
    """Return a text without the blanks and quotation marks of a tokeniser; other texts come back unchanged.

    Args:
        text: any.
        is_tokenised: where it is known from the text's surroundings; None to look.
    """
    if not (looks_tokenised(text) if is_tokenised is None else is_tokenised):
        return text
    for pattern, put in _RULES:
        text = pattern.sub(put, text)
    return text
