"""Telegraphic English made whole: spacing, common slips of the pen, agreement of numbers, articles.

Steps and remarks are often written like telegrams ("Use bowl instead of cup", "2 minute"). ``plain_english`` repairs
what a list of nouns settles without doubt and leaves everything else as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from proctor.procedure.inflect import (
    COUNTED,
    DETERMINERS,
    FOODS,
    UNCOUNTED,
    UNITS,
    VERBS,
    base_form,
    participle,
    past,
    plural,
    singular,
    word_list,
    word_set,
)

__all__ = ["NUMBER", "agree", "article_for", "plain_english", "with_articles"]

_SPELLING: Final = {
    "choclate": "chocolate", "zuccini": "zucchini", "knofe": "knife", "seive": "sieve", "parmeasan": "parmesan",
    "mozarella": "mozzarella", "siracha": "sriracha", "trasfer": "transfer", "utelsil": "utensil",
    "tighly": "tightly", "fastly": "fast", "swiflty": "swiftly", "grinded": "ground", "teared": "tore",
    "microvawe": "microwave", "baugette": "baguette", "seperate": "separate", "seperates": "separates",
    "plater": "platter", "omlet": "omelette", "unhyginic": "unhygienic", "sprinking": "sprinkling",
    "tofucrumbled": "tofu crumbled", "tablespoonds": "tablespoons", "ol": "oil", "dont": "don't", "didnt": "didn't",
    "donot": "do not", "tbsps": "tbsp", "tsps": "tsp", "whisker": "whisk", "overflown": "spilled",
    "english": "English", "italian": "Italian", "greek": "Greek", "french": "French",
}  # fmt: skip
"""Slips that occur in the remarks of real annotators."""

_REPAIRS: Final = (
    (re.compile(r"\b(table|tea) spoon"), r"\1spoon"),
    (re.compile(r"(?<=\d)(?=(?:tbsps?|tsps?|oz|tablespoons?|teaspoons?|cups?|min|mins|minutes?|secs?|seconds?)\b)"), " "),
    (re.compile(r"(?<=\d)- (?=\d)"), "-"),
    (re.compile(r"/ (?=[a-z])"), "/"),
    (re.compile(r"(?<=\d/\d)th\b"), ""),
    (re.compile(r"\bcounter top\b"), "countertop"),
    (re.compile(r"\b(on|to|from|with|of|in) (other|same) (?=[a-z])"), r"\1 the \2 "),
    (re.compile(r"(?<!the )(?<!an )(?<!\d )\bentire (?=[a-z])"), "the entire "),
    (re.compile(r"\b(put|add|added|used|use) extra (?=\d)"), r"\1 an extra "),
    (re.compile(r"\bits (?=nearly|not|too|already|still)"), "it's "),
    (re.compile(r"\b(?:the )?complete water\b"), "all the water"),
    (re.compile(r"\bhalf stem\b"), "half of the stem"),
    (re.compile(r"\bresults into\b"), "results in"),
    (re.compile(r"\bof (different|wrong|bad) (type|kind|sort)\b"), r"of a \1 \2"),
    (re.compile(r"\bwait (?=the\b|it\b)"), "wait for "),
    (re.compile(r"(?<=\d )((?:large |sliced |minced |peeled )*)garlic(?= (?:instead|to|are|is|and|in)\b|$)"), r"\1garlic cloves"),
    (re.compile(r"\bin to (?=\d|halves|pieces|parts)"), "into "),
    (re.compile(r"\binstead if\b"), "instead of"),
    (re.compile(r"\bdue (?=improper)"), "due to "),
    (re.compile(r"\bun peeled\b"), "unpeeled"),
    (re.compile(r"\b(over|under)[- ](?=cook)"), r"\1"),
    (re.compile(r"\bmore of ([a-z]+) so that\b"), r"more \1 so that"),
    (re.compile(r"\band half (?=[a-z])"), "and a half "),
    (re.compile(r"\b(half) (?=(?:banana|tomato|onion|can|cup|carrot|mug|minute|hour|shallot|zucchini|lemon)\b)"), r"\1 a "),
    (re.compile(r"\b(all|both) the the\b"), r"\1 the"),
    (re.compile(r"\b(of|than|for|at|to|cover|with) (required|prescribed|specified|desired) (?=[a-z]+(?:$|[ ,.]))"), r"\1 the \2 "),
    (re.compile(r"\b(of|than|cover|on|from|into|at) (bottom|top|upper|lower|down|left|right) (?=(?:piece|side|part|half|end|slice)\b)"), r"\1 the \2 "),
    (re.compile(r"\b(properly|completely|horizontally|vertically) (the [a-z]+)(?= (?:to|in|on|with|for)\b|$|[.,])"), r"\2 \1"),
    (re.compile(r", no (?=[a-z]+ing\b)"), " without "),
)  # fmt: skip
_NUMBER_WORDS: Final = {
    w: n for n, w in enumerate(word_list("zero one two three four five six seven eight nine ten"))
}
NUMBER: Final = (
    rf"(?:\d+ \d+/\d+|\d+/\d+|\d+(?:\.\d+)?(?:(?: ?- ?| to | or )\d+(?:\.\d+)?)?|{'|'.join(_NUMBER_WORDS)})"
)
"""A number as remarks write it, ranges included; to be matched without regard to case."""


@lru_cache(maxsize=65_536)
def plain_english(text: str) -> str:
    """Return the text with slips repaired, numbers agreeing with their nouns, and articles where they lack."""
    words = " ".join(text.split())
    for pattern, repair in _REPAIRS:
        words = pattern.sub(repair, words)
    return with_articles(agree(re.sub(r"(?<![\w-])[A-Za-z]+(?![\w-])", _spelled, words)))


def _spelled(found: re.Match[str]) -> str:
    word, before = found[0], found.string[: found.start()]
    # at the beginning of a sentence a capital belongs
    opens = not before or before.rstrip()[-1:] in (".", "!", "?", ":", "“")
    low = word.lower()
    right = _SPELLING.get(low, low)
    if word == low or (not opens and right != low):
        return right
    if not opens and (low in UNCOUNTED or low in VERBS or singular(low)):
        return right  # it takes no capital inside a sentence
    return right[0].upper() + right[1:] if right != low else word


# -- numbers and their nouns -------------------------------------------------------------------------------------

_NOUNS: Final = sorted({f for n in {*UNITS, *COUNTED, *FOODS} - {"min", "sec"} for f in (n, plural(n))})
_COUNT: Final = re.compile(
    rf"(?<![\w/.-])(?P<number>{NUMBER})(?P<between>(?: [a-z-]+){{0,3}}?) (?P<noun>{'|'.join(_NOUNS)})(?=$|[ ,.;:!?)])",
    re.I,
)
_AFTER_HEAD: Final = word_set("""
    of in on into onto to from with without at for and or but instead rather than as until before after while when
    if so that which by per only more apart each together long is are was were has have had went came straight
    additionally separately
    """)


def agree(text: str) -> str:
    """Put a noun into the number of what counts it: ``"2 minute"`` → ``"2 minutes"``, ``"1/4 cloves"`` → ``"1/4 clove"``."""

    def settle(match: re.Match[str]) -> str:
        noun, one = match["noun"], singular(match["noun"])
        words = match["between"].lower().split()
        if any(w in _AFTER_HEAD or w in _LINKS or w in DETERMINERS or singular(w) in UNITS for w in words):
            return match[0]
        if any(w in UNCOUNTED for w in words[:-1]):
            return match[0]
        many = _is_many(match["number"])
        follower = re.match(r" ([A-Za-z]+)", match.string[match.end() :])
        after = follower[1].lower() if follower else ""
        if many and noun.lower() == one:
            if after and after not in _AFTER_HEAD and not (one in UNITS and after in UNCOUNTED):
                return match[0]
            return f"{match['number']}{match['between']} {plural(noun)}"
        if not many and noun.lower() != one and match["number"].lower() != "zero":
            return f"{match['number']}{match['between']} {one}"
        return match[0]

    return _TWO_SUBJECTS.sub(_settle_verb, _COUNT.sub(settle, text))


_TWO_SUBJECTS: Final = re.compile(
    r"\b(?P<lead>(?:that|because|when|until|if) (?:the )?(?P<one>[a-z]+) and (?:the )?(?:[a-z]+ )?(?P<other>[a-z]+)) "
    r"(?P<verb>[a-z]+s)\b"
)


def _settle_verb(match: re.Match[str]) -> str:
    """Give two subjects the verb of many: ``"that cheese and pepper separates"`` → ``"… separate"``."""
    base = base_form(match["verb"])
    things = all(n in UNCOUNTED or n in COUNTED or n in FOODS for n in (match["one"], match["other"]))
    return f"{match['lead']} {base}" if things and base and match["verb"] == f"{base}s" else match[0]


def _is_many(number: str) -> bool:
    last = re.split(r" ?- ?| to | or ", number.lower())[-1]
    if last in _NUMBER_WORDS:
        return _NUMBER_WORDS[last] > 1
    if " " in last:
        return True
    if "/" in last:
        top, bottom = last.split("/")
        return int(top) > int(bottom) > 0
    return float(last) > 1


# -- articles ----------------------------------------------------------------------------------------------------

_PLACES: Final = word_set("""
    in on into onto to from inside outside under over at off through
    """)
_MEANS: Final = frozenset(("with", "using", "of", "by", "without", "like", "than", "as", "for"))
_LINKS: Final = word_set("""
    and or but then while when before after until till if so that which where because not only just also first
    directly completely instead rather is are was were be been has have had you it them did do does
    """)
_NAMING: Final = word_set("""
    mixing measuring frying cutting chopping weighing buttering serving baking grinding coated stirring cooking
    rotating hot cold clean sharp dry wet set open cool light level double
    """)
"""Verb forms that stand before a noun as part of its name ("cutting board")."""
_TAKING: Final = frozenset(("use", "take", "pick", "choose", "get", "need"))
_SUBJECTS: Final = word_set("""
    you i we and or then but while without by just only not to did also when after before if should must have has had can could
    will would may might shall
    """)
"""Words after which a verb form is a verb, not part of a name."""
_UNIQUE: Final = frozenset(["microwave", "oven", "stove", "fridge", "sink", "countertop", "counter"])
_ANY: Final = frozenset(["amount", "quantity", "motion", "layer"])
_BOTH: Final = word_set("""
    cover slice hand can layer scoop scale blend file nail screw plug pump switch tape tap surface hole cube hook
    saw pin pipe fan box bottle microwave drill hammer clip clamp brush whisk grate strain circle square chunk
    wedge
    """)
"""Nouns that are verbs after "to"."""


def article_for(word: str) -> str:
    """Return ``"a"`` or ``"an"`` for the word that follows."""
    return (
        "an" if re.match(r"(?!one\b|once\b|uni|use|euro|ukr|ute|uti)[aeiou]|hour|honest", word, re.I) else "a"
    )


def with_articles(text: str) -> str:
    """Put an article before bare nouns of things that are counted: ``"use bowl"`` → ``"use a bowl"``."""
    words = text.split(" ")
    places = dict(
        _gaps(words, contrasts=re.search(r"\b(?:instead of|rather than|in place of)\b", text) is not None)
    )
    return " ".join(f"{places[n]} {w}" if n in places else w for n, w in enumerate(words))


def _gaps(words: list[str], *, contrasts: bool) -> Iterator[tuple[int, str]]:
    """Yield where an article lacks, and which."""
    bare = []
    for word in words:
        parts = word.strip(",.;:!?()“”\"'").lower().split("/")
        # the last of several things that are counted ("blender/mixer") stands for all
        bare.append(parts[-1] if all(part in COUNTED for part in parts) else "/".join(parts))
    for n, noun in enumerate(bare):
        named = noun == "pepper" and bare[n - 1] == "bell"
        if n == 0 or (
            not named
            and noun not in COUNTED
            and noun not in FOODS
            and noun not in ("tbsp", "tsp", "cup", "one")
        ):
            continue
        if not _is_head(words, bare, n):
            continue
        first = n
        while first > 1 and n - first < 4 and _modifies(words, bare, first - 1):
            first -= 1
        if noun == "one" and first == n:
            continue
        closes = first > 1 and words[first - 2].endswith(",")
        kind = _article(bare, first, n, contrasts=contrasts, closes=closes)
        if kind and words[first - 1][-1:] not in ",.;:)”":
            yield first, article_for(bare[first]) if kind == "a" else kind


def _is_head(words: list[str], bare: list[str], n: int) -> bool:
    """True when the noun phrase ends here, so that the word is its head and not part of a compound."""
    if n + 1 == len(words) or words[n][-1:] in ",.;:!?)":
        return True
    after = bare[n + 1]
    return (
        after in _AFTER_HEAD or after in _LINKS or after in _PLACES or after in _MEANS or after.endswith("ly")
    )


def _modifies(words: list[str], bare: list[str], n: int) -> bool:
    """True for a word that belongs to the noun phrase after it."""
    word = bare[n]
    if word.isdigit() and bare[n + 1] == "inch":
        return True
    if words[n][-1:] in ",.;:!?)”" or not re.fullmatch(r"(?:\d+-)?[a-z]+(?:-[a-z]+)*", word):
        return False
    if word in DETERMINERS or word in _NUMBER_WORDS or word.endswith("ly"):
        return False
    if word in _LINKS or word in _PLACES or word in _MEANS or word in _AFTER_HEAD:
        return False
    if word in _NAMING or word in UNCOUNTED or word in COUNTED or word in FOODS or base_form(word):
        return not _is_verb(bare, n)
    return not word.endswith("s") or word.endswith("ss")


def _is_verb(bare: list[str], n: int) -> bool:
    """True when the verb form is one here, by what stands before it, and no part of a name ("the folded filter")."""
    word, before = bare[n], bare[n - 1] if n else ""
    base = base_form(word)
    if not base or (before in _SUBJECTS and word == participle(base) != past(base)):
        return False
    if before == "not" and word.endswith("ed"):
        return False
    if before in ("and", "or") and any(w in DETERMINERS for w in bare[max(0, n - 4) : n - 1]):
        return False
    if word.endswith("ing"):
        return word not in _NAMING or before in _SUBJECTS - {"to"}
    return n == 0 or before in _SUBJECTS or (before.endswith("ly") and n == 1)


def _article(bare: list[str], first: int, n: int, *, contrasts: bool, closes: bool) -> str:
    """Return ``a`` or ``the`` when the word before the noun phrase calls for one, else nothing.

    ``closes``: a comma stands before the word before the noun phrase (", not fork").
    """
    before, noun = bare[first - 1], bare[n]
    two_before = bare[first - 2] if first > 1 else ""
    after = bare[n + 1] if n + 1 < len(bare) else ""
    if before in ("until", "till", "when", "if", "because") and after in ("is", "are", "was", "were"):
        return "the"
    if before == "not" and closes:
        return "a"
    if (
        before in DETERMINERS
        or before in _NUMBER_WORDS
        or before in _LINKS
        or not re.fullmatch(r"[a-z]+", before)
    ):
        return ""
    if before == "of":
        if two_before in ("instead", "place"):
            return "a"
        return (
            "the"
            if two_before in ("contents", "side", "top", "bottom", "out", "half", "edge", "base")
            else ""
        )
    if before == "to" and noun in _BOTH:
        return ""
    if before in _PLACES:
        return "a" if (contrasts and noun not in _UNIQUE) or noun in _ANY else "the"
    if before in _MEANS:
        if before == "for":
            return "the" if noun in COUNTED and noun not in _ANY and first == n else ""
        if before == "as":
            return "a" if noun in COUNTED and noun not in _ANY and first == n else ""
        return "" if before == "like" else "a"
    if not _is_verb(bare, first - 1) or bare[first] == "open":
        return ""
    if noun in _UNIQUE:
        return "the"
    return "a" if base_form(before) in _TAKING or noun in _ANY or (contrasts and noun in COUNTED) else "the"
