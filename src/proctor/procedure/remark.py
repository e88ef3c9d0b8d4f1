"""Annotators' remarks about mistakes, turned into something that can be said to the person.

Remarks come as imperatives ("Spill some cheese"), in the past ("Added salt"), as gerunds ("Toasting for too long"),
negated ("Not peeled"), as bare comparisons ("bowl instead of plate") and as sentences. Their words are kept; where
the form is not understood, the remark is quoted as a fragment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from proctor.procedure.inflect import VERBS, base_form, past
from proctor.procedure.phrase import parse_phrase

__all__ = ["Remark", "describe_performed", "read_remark"]

_NEGATED = re.compile(
    r"^(?:did not|didn'?t|do not|don'?t|does not|doesn'?t|dont|didnt|have not|haven'?t)\s+(?P<rest>.+)$", re.I
)
_NOT_HOW = re.compile(r"^not\s+(?P<how>\w+ly|exactly|enough)\s+(?P<verb>\w+ing)\b(?P<rest>.*)$", re.I)
_NOT = re.compile(r"^not\s+(?P<verb>\w+)(?P<rest>.*)$", re.I)
_COMPARED = re.compile(r"\b(?:instead of|rather than|instead|in place of)\b", re.I)
_SUBJECT = re.compile(
    r"^(?:the |this |that |it |some |all |there |a |an )?[\w-]+(?: [\w-]+){0,4}? (?:is|are|was|were|has|have|might|may|will|"
    r"does|did|falls?|fell|gets?|got|leaks?|leaked|burns?|burnt|burned|became|becomes)\b",
    re.I,
)
_DISTURBED = re.compile(r"[<>{}\[\]|\\]|\?|https?:")


@dataclass(frozen=True, slots=True)
class Remark:
    """What can be said: ``text`` follows "you" (``you``), stands alone (``clause``) or is quoted (``fragment``)."""

    text: str
    form: Literal["you", "clause", "fragment"]

    def after(self, lead: str) -> str:
        """Return the remark behind a lead such as ``"Yes, "`` or nothing."""
        if self.form == "you":
            return f"{lead}you {self.text}"
        if self.form == "clause":
            return f"{lead}{self.text}"
        return f"{lead.rstrip(', ')}: {self.text}" if lead else self.text


@lru_cache(maxsize=16_384)
def read_remark(text: str) -> Remark:
    """Read a remark; ``text`` of the result is empty when nothing can be said with it."""
    plain = re.sub(r"\([^()]*\)", " ", " ".join(text.split()))
    plain = re.sub(r"^\s*[-–:]+\s*|^\s*\w+-(?=\w+ing\b)", "", plain)
    plain = re.sub(r"^(?:accidentally|mistakenly|by mistake),?\s+", "", plain, flags=re.I)
    plain = re.split(r"(?<=[a-z0-9])\.\s+", plain.strip())[0].strip(" .,;:-")
    plain = " ".join(re.sub(r"\s+([,.;])", r"\1", plain).split())
    if re.match(r"(?:we|i|he|she|they)\b", plain, re.I):
        return Remark("", "fragment")
    if len(plain) < 3 or _DISTURBED.search(plain) or not re.search(r"[A-Za-z]", plain):
        return Remark("", "fragment")
    return (
        _negated(plain)
        or _compared(plain)
        or _sentence(plain)
        or _verbal(plain)
        or Remark(_small(plain), "fragment")
    )


def _negated(plain: str) -> Remark | None:
    match = _NEGATED.match(plain)
    if match:
        return Remark(f"did not {_small(_untagged_base(match['rest']))}", "you")
    match = _NOT_HOW.match(plain)
    if match and base_form(match["verb"]):
        return Remark(f"did not {match['how'].lower()} {base_form(match['verb'])}{match['rest']}", "you")
    match = _NOT.match(plain)
    if match and base_form(match["verb"]) and re.search(r"(?:ing|ed)$", match["verb"]):
        return Remark(f"did not {base_form(match['verb'])}{match['rest']}", "you")
    return None


def _untagged_base(rest: str) -> str:
    """Put the verb after "did not" into its base form ("did not peeled" → "did not peel")."""
    first, _, tail = rest.partition(" ")
    base = (
        base_form(first)
        if re.search(r"(?:ing|ed|s)$", first) and first.lower() not in ("press", "pass")
        else ""
    )
    return f"{base or first} {tail}".strip()


def _compared(plain: str) -> Remark | None:
    """Read "X instead of Y" where X is a thing or an amount."""
    match = _COMPARED.search(plain)
    if match is None:
        return None
    before = plain[: match.start()].split()
    if not before:
        return None
    first = before[0].strip(",").lower()
    is_thing = re.match(r"[\d½¼¾]", first) or first in (
        "a",
        "an",
        "the",
        "one",
        "two",
        "three",
        "four",
        "five",
        "only",
        "half",
    )
    after = plain[match.end() :].split()
    if not is_thing and len(before) == 1 and base_form(first) == first and after and base_form(after[0]):
        return Remark(f"{past(first)} {plain[match.start() :]}", "you")
    if not is_thing and (base_form(first) or re.search(r"(?:ing|ed|ly)$", first)) and len(before) > 1:
        return None
    if not is_thing and re.search(r"(?:ing|ed|ly)$", first):
        return None
    if not is_thing and len(before) > 4:
        return None
    return Remark(f"used {_small(plain)}", "you")


def _sentence(plain: str) -> Remark | None:
    first = plain.split()[0].lower()
    if _SUBJECT.match(plain) and not base_form(first):
        return Remark(_small(plain), "clause")
    return None


def _verbal(plain: str) -> Remark | None:
    if re.match(r"^\w+ (?:set|level|power|temperature|amount|quantity|size)\b", plain):
        return None
    phrase = parse_phrase(plain)
    if phrase.quoted or phrase.verb not in VERBS or _stutters(phrase.past):
        return None
    return Remark(phrase.past, "you")


def _stutters(text: str) -> bool:
    """True when the first word returns at once, which happens with tags that are written as one word."""
    words = text.lower().split()[:4]
    return len(words) > 1 and any(w.startswith(base_form(words[0]) or words[0]) for w in words[1:3])


def _small(text: str) -> str:
    first = text.split()[0]
    return text if len(first) > 1 and first[:2].isupper() else text[0].lower() + text[1:]


@lru_cache(maxsize=16_384)
def describe_performed(text: str, instruction: str) -> Remark:
    """Say what was done from the text of the performed step; empty when it equals the instruction or is no action."""
    if _words(text) == _words(instruction) or _DISTURBED.search(text):
        return Remark("", "fragment")
    phrase = parse_phrase(text)
    if (
        phrase.quoted
        or _stutters(phrase.past)
        or _words(phrase.imperative) == _words(parse_phrase(instruction).imperative)
    ):
        return Remark("", "fragment")
    return Remark(phrase.past, "you")


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9/.]+", text.lower().rstrip(" ."))
