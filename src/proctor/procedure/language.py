"""A small linter for the English of questions and answers: what no careful writer would have written.

It knows nothing of what a sentence means. Every rule names a shape that is wrong whatever the sentence says, and is
listed with an example in docs/generate.md. Text that does not look like English, and text in “quotation marks”, is
left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from proctor.procedure.inflect import COUNTED, FOODS, UNCOUNTED, VERBS, base_form, past, word_set
from proctor.procedure.wording import NUMBER, agree, article_for, with_articles

__all__ = ["RULES", "Fault", "find_faults"]


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong: the name of the rule (a key of ``RULES``) and the words that it found."""

    rule: str
    found: str

    def __str__(self) -> str:
        return f"{self.rule}: “{self.found}”"


@lru_cache(maxsize=65_536)
def find_faults(text: str) -> tuple[Fault, ...]:
    """Return the faults of one question or answer, each rule at most once; nothing for text that is not English."""
    plain = re.sub(r"“[^”]*”|\"[^\"]*\"", "“…”", " ".join(text.split()))
    if not _is_english(plain):
        return ()
    found = ((rule, next(check(plain), "")) for rule, check in RULES.items())
    return tuple(Fault(rule, words) for rule, words in found if words)


_ENGLISH: Final = word_set("""
    the you your i my we our it is was were be been should did do does not no yes have has had and of to with
    before after this that what how which when can will would instead used step need for from into in on a while
    by it's
    """)
_SHARED: Final = word_set("a in on no do was will me by has")
"""Of these, the words that other languages have, too: alone they prove nothing."""
_ENOUGH: Final = 2
"""So many common English words make a text English; one is enough for a short one."""


def _is_english(text: str) -> bool:
    words = re.findall(r"[A-Za-z']+", text.lower())
    common = [w for w in words if w in _ENGLISH]
    return bool(set(common) - _SHARED) and (len(common) >= _ENOUGH or len(words) <= 6)


def _matches(pattern: str, *, flags: re.RegexFlag = re.I) -> Callable[[str], Iterator[str]]:
    """Make a rule of a pattern."""
    compiled = re.compile(pattern, flags)
    return lambda text: (m[0].strip() for m in compiled.finditer(text))


_CONTRAST: Final = r"(?:instead of|rather than|in place of)"
_FINITE: Final = r"(?:is|are|was|were|has|had|went|stayed|fell|got|came|became)"
_LINK: Final = r"(?:that|which|who|and|but|when|while|because|as|until|so|since|after|before|if|where|it|you)"
_END: Final = r"(?=\s*(?:[.,;:!?](?!\d)|$))"


_MANNER: Final = (
    r"(?:properly|completely|correctly|fully|finely|slowly|gently|horizontally|vertically|thoroughly)"
)


# -- verbs -------------------------------------------------------------------------------------------------------


def _verb_as_thing(text: str) -> Iterator[str]:
    """A verb or a whole clause where "used" wants a thing."""
    for match in re.finditer(r"\b(?:used|using|use) (?P<rest>[^.?!]+)", text, re.I):
        words = match["rest"].split()
        first = words[0].strip(",").lower()
        finite = re.match(
            rf"(?:(?!{_LINK}\b)[\w/'-]+ ){{1,5}}?{_FINITE}\b(?! (?:for|in|with)\b$)", match["rest"], re.I
        )
        if finite and not re.search(r"\b(?:what|which|how|if|that) [^.?!]*$", text[: match.start()], re.I):
            yield f"used {finite[0]}"
        elif re.fullmatch(r"up|down|left|right|in|out|on|off|has|is|was|did", first) and len(words) > 1 and words[1] in (
            "instead", "rather",
        ):  # fmt: skip
            yield f"used {' '.join(words[:2])}"
        elif first in _PLAIN_VERBS and len(words) > 1 and not match[0].lower().startswith("use "):
            yield f"used {first}"


_PLAIN_VERBS: Final = word_set("""
    add chop mince dice peel pour stir whisk boil bake fry saute simmer attach assemble insert remove detach
    connect tighten loosen increase reduce lower raise microwave place put take get give keep let make leave bring
    throw squeeze sprinkle drizzle spread transfer unscrew unplug clean wipe rinse cook melt crack knead combine
    fasten pull push drop spill turn twist wait wash dip dry heat cut tear soften season
    """) - {"cut", "heat", "place", "microwave", "mince", "dry", "clean", "take", "drop", "lower"}  # fmt: skip


def _doubled_verb(text: str) -> Iterator[str]:
    """Two forms of one verb, or two finite verbs, side by side."""
    words = [w.strip(",.;:!?").lower() for w in text.split()]
    for n, (one, other) in enumerate(pairwise(words)):
        base = base_form(one)
        if (
            base
            and base == base_form(other)
            and base not in ("do", "have")
            and not text.split()[n].endswith((",", "."))
        ):
            yield f"{one} {other}"
        before = words[n - 1] if n else ""
        if (
            before == "you"
            and base
            and one == past(base)
            and one != base
            and (
                other.endswith("ed")
                or (base_form(other) != other and other == past(base_form(other) or other))
            )
            and not other.endswith(("covered", "need", "seed", "feed", "speed"))
            and (
                n + 2 >= len(words)
                or words[n + 2] in ("in", "on", "instead", "to", "with", "properly", "from")
            )
        ):
            yield f"{one} {other}"


def _tense(text: str) -> Iterator[str]:
    """A verb in a form that the words before it do not allow."""
    for match in re.finditer(
        r"\b(?:did|do|does) not (?:[a-z]+ly )?(?P<verb>[a-z]+)\b|\b(?:(?:I|you|we|they|it) (?:should|must|can|could|will)|(?:have|had|need) to) "
        r"(?P<after>[a-z]+)\b",
        text,
        re.I,
    ):
        word = (match["verb"] or match["after"]).lower()
        base = base_form(word)
        if base and word != base and word not in VERBS and not (match["after"] and word in ("used", "left")):
            yield match[0]
    for match in re.finditer(rf"\b{_CONTRAST} (?P<verb>[a-z]+)\b(?P<next> [a-z]+)?", text, re.I):
        word, after = match["verb"].lower(), (match["next"] or "").strip().lower()
        if word in _PLAIN_VERBS or (
            word in ("mince", "cut", "heat", "slice") and after in ("", "the", "it", "or", "into")
        ):
            yield match[0]
    for match in re.finditer(
        r"\byou (?:did not|used (?:[\w-]+ ){1,4}to) [a-z]+(?: (?!while|without|by|before|after|instead|of|for|from|when|to|than)[\w-]+)* and "
        r"(?P<verb>[a-z]+ing)\b",
        text,
        re.I,
    ):
        if base_form(match["verb"]):
            yield f"and {match['verb']}"
    for match in re.finditer(
        r"\byou (?P<first>[a-z]+)(?P<middle>(?: (?!to\b|let\b|make\b|made\b|should\b|can\b|have\b|need\b|that\b)[\w,'/-]+)*) "
        r"and (?P<verb>[a-z]+)(?: on| off| up| down| out)? (?:the|a|an|it|them|some|your)\b",
        text,
        re.I,
    ):
        first, verb = match["first"].lower(), match["verb"].lower()
        base = base_form(first)
        if base and first != "did" and first == past(base) != base and verb in VERBS and verb != past(verb):
            yield f"{first} … and {verb}"
    for match in re.finditer(r"\byou (?P<verb>[a-z]+ing|[a-z]+)\b(?= (?:the|a|an)\b)", text, re.I):
        if (
            match["verb"].endswith("ing")
            and base_form(match["verb"])
            and base_form(match["verb"]) != match["verb"]
        ):
            before = text[: match.start()].rstrip().lower()
            if not before or before.endswith(("yes,", "no,", ".")):
                yield match[0]


def _word_order(text: str) -> Iterator[str]:
    """A manner between a verb and its object."""
    for match in re.finditer(
        rf"\b(?P<verb>[a-z]+) {_MANNER} (?!the (?:wrong|right|same)\b)(?P<next>[a-z]+)\b", text, re.I
    ):
        thing = match["next"].lower() in {"the", "a", "an", "your"} | COUNTED | FOODS | UNCOUNTED
        if (
            thing
            and base_form(match["verb"])
            and match["verb"].lower() not in ("be", "is", "was", "are", "were")
        ):
            yield match[0]


# -- numbers, articles -------------------------------------------------------------------------------------------


def _no_unit(text: str) -> Iterator[str]:
    """Numbers of which nobody can tell what they count or measure."""
    bare = rf"(?<![\w/.-]){NUMBER}"
    yield from _matches(
        rf"{bare} {_CONTRAST} (?:the )?{NUMBER}(?={_END}| (?:to|in|into|on|for|from|as|when)\b)"
    )(text)
    yield from _matches(
        rf"\b(?:should have been|should be|up to|comes to|start over with|go on with|keep it to|to be) {NUMBER}(?: only)?{_END}"
    )(text)
    yield from _matches(rf"^{NUMBER}(?:, not {NUMBER})?[.!]?$")(text)
    yield from _matches(rf"\banother {NUMBER}{_END}")(text)


def _agreement(text: str) -> Iterator[str]:
    settled = agree(text)
    if settled != text:
        yield _first_change(text, settled)
    yield from _matches(
        r"\b(?:you|we|they) (?:was|is|has)\b|\bI (?:is|are|were)\b|\bit (?:are|were|have)\b(?<!if it were)"
    )(text)
    yield from _matches(r"\banother (?:1|one) [a-z]+|\banother (?:a|an|the)\b")(text)
    for match in re.finditer(r"\ban? (?P<noun>[a-z]+)s\b", text, re.I):
        if match["noun"].lower() in COUNTED | FOODS:
            yield match[0]


def _article(text: str) -> Iterator[str]:
    settled = with_articles(text)
    if settled != text:
        yield _first_change(text, settled)
    for match in re.finditer(r"(?<![\w'/-])(?P<article>an?) (?P<word>[a-z]{2,})", text, re.I):
        if match["article"].lower() != article_for(match["word"]) and not match["word"].isupper():
            yield match[0]
    yield from _matches(
        r"\b(?:a|an|the) (?:a|an|the|your|my|this)\b|\b(?:a|an) (?:some|all|both|two|three|four|five|six)\b"
    )(text)
    for match in re.finditer(r"\ban? (?P<noun>[a-z]+)" + _END, text, re.I):
        if match["noun"].lower() in UNCOUNTED - {
            "baking",
            "bacon",
            "coffee",
            "tea",
            "bread",
            "spray",
            "cheese",
        }:
            yield match[0]


def _first_change(before: str, after: str) -> str:
    """The words around the first place where two texts part."""
    one, other = before.split(), after.split()
    at = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    return " ".join(one[max(0, at - 1) : at + 2])


def _number_word(text: str) -> Iterator[str]:
    yield from _matches(
        rf"\b{NUMBER} and half\b|\bhalf (?:minute|hour|cup|banana|tomato|onion)\b(?<!a half hour)"
    )(text)
    for match in re.finditer(r"\b(?P<one>[a-z]+) (?P<two>[a-z]+)\b", text, re.I):
        numbers = {"two", "three", "four", "five", "six", "seven", "eight", "nine"}
        if match["one"].lower() in numbers and match["two"].lower() in numbers:
            yield match[0]


# -- shapes ------------------------------------------------------------------------------------------------------


def _prefix(text: str) -> Iterator[str]:
    """What is left of a ``Verb-`` prefix of a data set's step texts."""
    yield from _matches(r"(?<![\w-])(?P<verb>[a-z]+)-(?P=verb)\b")(text)
    yield from _matches(
        r"(?<![\w-])[a-z]+-(?:Add|Put|Cut|Mix|Pour|Place|Heat|Take|Peel|Slice|Chop|Measure|When)\b",
        flags=re.NOFLAG,
    )(text)
    for match in re.finditer(r"(?<![\w-])(?P<verb>[A-Za-z]+)-(?=\d)", text):
        if match["verb"].lower() in VERBS:
            yield match[0]


_SIZE: Final = "long|short|thick|thin|small|large|big"
RULES: Final[dict[str, Callable[[str], Iterator[str]]]] = {
    "unfinished": _matches(
        rf"\b(?:{_CONTRAST}|(?:and|or|the|an?|than|because|with|of|into|but)){_END}|\b(?:into|in) (?:{_SIZE}) {_CONTRAST}"
        rf"|{_CONTRAST} (?:{_SIZE}|full){_END}|\binstead (?!of\b|and\b|but\b|by\b)(?:[a-z]+ing|to)\b"
        rf"|(?:^|(?<=[.,;:!?] )|(?<=\band )|(?<=\bbut ))you did for (?:only |about )?{NUMBER}|\bdo not (?:until|for)\b|\bdid not do (?:[a-z]+ and|{_MANNER})\b"
        rf"|, but (?:all|both|none|some) (?:[a-z]+ly )?(?:connected|attached|joined)(?: together)?{_END}"
    ),
    "verb as a thing": _verb_as_thing,
    "doubled verb": _doubled_verb,
    "form of the verb": _tense,
    "order of words": _word_order,
    "prefix": _prefix,
    "no unit": _no_unit,
    "agreement": _agreement,
    "article": _article,
    "number words": _number_word,
    "doubled word": _matches(
        r"\b(?P<word>the|an?|to|of|you|is|was|and|in|on|with|for|instead|should) (?P=word)\b"
    ),
    "punctuation": _matches(r"[,;:][.,;:?!]|(?<!\.)\.\.(?!\.)| [,.;:?!](?!\d)|^[,.;:]|[,;:]$|\(\s*\)"),
}
"""Every rule by name; each yields the words that it objects to."""
