"""Checks of a question that need no model (SMMQG): made before any call is paid for.

Each returns None, or the miss whose outcome the attempt then has.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Literal, get_args

from proctor.ask.documents.prompting import SHOWN, Miss, requirement_in_words
from proctor.corpus.detokenise import detokenise
from proctor.corpus.question import count_modalities
from proctor.corpus.source import Source
from proctor.metrics.answer import normalise_answer

__all__ = [
    "STYLE_CHECKS",
    "StyleCheck",
    "check_captions",
    "check_mentions",
    "check_modalities",
    "check_question",
    "check_style",
    "comparable",
    "contains_phrase",
    "question_key",
    "same_answer",
]

StyleCheck = Literal["digit"]
STYLE_CHECKS: Final[tuple[StyleCheck, ...]] = get_args(StyleCheck)
"""Checks that a style can ask for: ``digit``, the answer has one."""

CAPTION_WORDS: Final = 12
"""Captions of more words (whole paragraphs under figures of documents) need not be in the question word for word [ours]."""

_QUALIFIER = re.compile(r"\s*[(（][^()（）]*[)）]\s*$")
_QUOTES: Final = str.maketrans(
    {**dict.fromkeys("‘’‚‛′`´", "'"), **dict.fromkeys("“”„‟″«»", '"'), **dict.fromkeys("‐‑‒–—−", "-")}
)
_KINDS: Final = r"(?:passage|image|picture|photo(?:graph)?|table|text|caption|paragraph|snippet|excerpt)"
_AMBIGUOUS: Final = r"(?:source|figure|document|chart|extract)"
"""Words that name other things as well (the source of a river, the figure skater, the charts)."""
_ANY: Final = rf"(?:{_KINDS}|{_AMBIGUOUS})"
_POINTING: Final = r"(?:given|provided|following|above|shown|displayed|cited|accompanying)"
_NUMBERED = re.compile(
    rf"\b{_ANY}s? ?(?:no\.? ?|number |# ?)?(?:\d+|\(\d+\)|\[\d+\])(?![\w.]*\d)|\[\d+(?: ?, ?\d+)*\]",
    re.IGNORECASE,
)
_NAMED = re.compile(
    rf"\b(?:the|this|these|that|those|both|either) (?:(?:{_POINTING}|first|second|third|other|same|two) )*{_KINDS}s?\b(?! tennis\b)"
    rf"|\b{_POINTING} (?:two )?{_ANY}s?\b"
    rf"|\b(?:both|these|this) {_AMBIGUOUS}s?\b(?! skat)"
    rf"|\b(?:in|from|per) (?:an? )?{_ANY}\b(?! ?\w)"
    rf"|\baccording to (?:an?|the|your|my|this|these) (?:\w+ )?{_ANY}s?\b",
    re.IGNORECASE,
)


def check_question(
    question: str,
    answer: str,
    gold: Sequence[Source],
    modalities: tuple[int, int, int],
    *,
    checks: Sequence[StyleCheck] = (),
    combined: bool = False,
) -> Miss | None:
    """Make all checks of a question in their order; the first miss counts.

    Args:
        question: as asked.
        answer: long form.
        gold: the cited sources.
        modalities: how many of each kind were required.
        checks: of the style.
        combined: True for the final question of a multi-hop style, which hides captions on purpose.
    """
    return (
        check_modalities(gold, modalities)
        or check_mentions(question, answer, gold)
        or (None if combined else check_captions(question, gold))
        or check_style(checks, answer)
    )


def check_modalities(gold: Sequence[Source], modalities: tuple[int, int, int]) -> Miss | None:
    """The cited sources are exactly as many of each modality as were required."""
    found = count_modalities(tuple(source.modality for source in gold))
    if found == tuple(modalities):
        return None
    has = requirement_in_words(found) or "nothing"
    return Miss("modality_mismatch", f"{has} instead of {requirement_in_words(modalities)}")


def check_mentions(question: str, answer: str = "", gold: Sequence[Source] = ()) -> Miss | None:
    """The question does not speak of its sources (``the table``, ``passage 2``), nor the answer of their numbers.

    Titles and captions of the gold sources may be in both, whatever words they have.
    """
    names = sorted({bare_caption(s.title) for s in gold} - {""}, key=lambda name: (-len(name), name))
    asked, said = (_without(comparable(text), names) for text in (question, answer))
    found = _NUMBERED.search(asked) or _NAMED.search(asked) or _NUMBERED.search(said)
    if found is None:
        return None
    where = "the question" if found.string is asked else "the answer"
    return Miss("mentions_sources", f"{where} says '{found[0][:60]}'")


def check_captions(question: str, gold: Sequence[Source]) -> Miss | None:
    """The caption of every cited image is in the question; a qualifier in brackets at its end may be left out."""
    asked = comparable(question)
    for source in gold:
        if source.modality != "image":
            continue
        caption = bare_caption(source.caption)
        if caption and len(caption.split()) <= CAPTION_WORDS and not contains_phrase(asked, caption):
            return Miss("caption_missing", source.caption[:SHOWN])
    return None


def check_style(checks: Sequence[StyleCheck], answer: str) -> Miss | None:
    """The answer passes the checks that its style asks for."""
    if "digit" in checks and not any(char.isdecimal() for char in answer):
        return Miss("no_digit", answer[:SHOWN])
    return None


# -- texts compared --------------------------------------------------------------------------------------------


@lru_cache(maxsize=8_192)  # titles and captions of a corpus are compared with every question
def comparable(text: str) -> str:
    """Return a text for comparison: detokenised in any case, case-folded, one kind of quotes and dashes, single blanks."""
    plain = unicodedata.normalize("NFKC", text.translate(_QUOTES)).translate(_QUOTES)
    plain = detokenise(plain, is_tokenised=True)
    return " ".join(plain.casefold().split())


def bare_caption(caption: str) -> str:
    """Return a caption for comparison, without the qualifier in brackets at its end (``(album)``) and without a full stop."""
    plain = comparable(caption)
    bare = _QUALIFIER.sub("", plain).strip()
    return (bare or plain).rstrip(".")


def contains_phrase(text: str, phrase: str) -> bool:
    """True when a text has a phrase as whole words; case, quotes, dashes and blanks do not matter.

    A phrase without any letter or digit is in no text.
    """
    wanted = comparable(phrase)
    if not any(char.isalnum() for char in wanted):
        return False
    begin = r"(?<!\w)" if wanted[0].isalnum() else ""
    end = r"(?!\w)" if wanted[-1].isalnum() else ""
    return re.search(begin + re.escape(wanted) + end, comparable(text)) is not None


def _without(text: str, names: Sequence[str]) -> str:
    for name in names:
        if len(name) > 3:
            text = text.replace(name, " ... ")
    return text


def same_answer(answer: str, entity: str) -> bool:
    """True when an answer is an entity and nothing more; case, articles and punctuation do not matter (SQuAD's rules)."""
    wanted = normalise_answer(comparable(entity))
    return bool(wanted) and normalise_answer(comparable(answer)) == wanted


def question_key(question: str) -> str:
    """Return what two questions share that differ in case, punctuation, articles and blanks only."""
    return normalise_answer(comparable(question)) or comparable(question)
