"""Annotators' remarks about mistakes, read into something that can be said to the person.

A remark is read into what it is: a negation ("Not peeled"), a clause with its own subject and verb ("The sugar went
into a cup"), one that lacks only "was" ("Skin not removed"), a contrast of things, amounts, manners or verbs ("bowl
instead of plate"), an action ("Spill some cheese"), an amount or a degree. Only what such a reading supports is
said. A remark that has no reading says nothing: it is never forced into a sentence (docs/generate.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from proctor.procedure.inflect import (
    COUNTED,
    DETERMINERS,
    FOODS,
    UNCOUNTED,
    UNITS,
    VERBS,
    base_form,
    gerund,
    past,
    singular,
    word_set,
)
from proctor.procedure.language import find_faults
from proctor.procedure.phrase import parse_phrase, render_step
from proctor.procedure.wording import NUMBER, article_for, plain_english

__all__ = ["Remark", "describe_performed", "read_remark", "read_remarks"]


@dataclass(frozen=True, slots=True)
class Remark:
    """What can be said: ``text`` follows "you" (``you``) or stands by itself (``clause``); empty: nothing."""

    text: str
    form: Literal["you", "clause"]

    def after(self, lead: str) -> str:
        """Return the remark behind a lead such as ``"Yes, "`` or nothing."""
        return f"{lead}you {self.text}" if self.form == "you" else f"{lead}{self.text}"


_NOTHING: Final = Remark("", "clause")
_DISTURBED = re.compile(r"[<>{}\[\]|\\]|\?|https?:")
_CONTRAST: Final = r"(?:instead of|rather than|in place of|contrary to)"


@lru_cache(maxsize=16_384)
def read_remark(text: str, instruction: str = "") -> Remark:
    """Read a remark; ``text`` of the result is empty when nothing can be said with it.

    Args:
        text: as the annotator wrote it.
        instruction: of the step; it lends a missing unit, and a sentence that only repeats it is passed over.
    """
    return next(iter(read_remarks(text, instruction)), _NOTHING)


@lru_cache(maxsize=16_384)
def read_remarks(text: str, instruction: str = "") -> tuple[Remark, ...]:
    """Read every sentence of a remark that says something of its own and has a reading, in order."""
    said = _content(instruction)
    found = []
    for sentence in _sentences(text):
        rest = iter(said)
        if said and all(w in rest for w in _content(sentence)):
            continue  # the words stand in the other text in this order: they say nothing of their own
        remark = _read(sentence, instruction)
        if remark is not None and not find_faults(remark.after("")):
            found.append(remark)
    return tuple(dict.fromkeys(found))


def _content(text: str) -> list[str]:
    words = re.findall(r"[a-z0-9/.-]*[a-z0-9]", render_step(text).lower())
    return [
        w.rstrip("s") if len(w) > 3 else w for w in words if w not in ("the", "a", "an", "to", "of", "it")
    ]


def _sentences(text: str) -> Iterator[str]:
    """Split a remark, without its ``Verb-`` prefix, its brackets and what an annotator adds behind a dash."""
    if _DISTURBED.search(text):
        return
    plain = re.sub(rf"(\b{_CONTRAST}\s*)\(([^()]*)\)", r"\1\2", " ".join(text.split()), flags=re.I)
    plain = re.sub(r"\([^()]*\)", " ", plain)
    plain = re.sub(r"^\s*[-–:]+\s*", "", plain)
    plain = re.sub(
        r"^([A-Za-z]+)-(?=([a-z]+) )", lambda m: "" if _verb(m[1]) and _verb(m[2]) else m[0], plain
    )
    plain = " ".join(render_step(plain, capital=False).split())
    plain = re.sub(r"\s+([,.;])", r"\1", plain)
    for part in re.split(r"(?<=[A-Za-z0-9])(?:\.+\s+|;\s+)(?=\S)", plain):
        core = re.split(r"\s[-–]\s", part)[0].strip(" .,;:-")
        core = re.sub(
            r"^(?:accidentally|mistakenly|by mistake|also|and|then|instead(?! of)|ensure),?\s+",
            "",
            core,
            flags=re.I,
        )
        if len(core) > 2 and not re.match(r"(?:we|i|he|she|they|you)\b", core, re.I):
            yield core


def _read(sentence: str, instruction: str) -> Remark | None:
    # the hands that did it: "use hand" -> "use your hands"
    plain = re.sub(r"^hands? (?=instead|rather)", "use your hands ", sentence, flags=re.I)
    plain = re.sub(r"\b(us(?:e|ed|ing)|with) hands?\b(?! finger)", r"\1 your hands", plain, flags=re.I)
    plain = _repaired(plain_english(plain))
    plain = _with_units(_fronted(plain), instruction)
    if re.search(rf"\b{_CONTRAST}\s*$", plain, re.I):
        return None
    for reading in (_negated, _clause, _elliptic, _contrasted, _verbal, _measured):
        remark = reading(plain)
        if remark is not None:
            words = plain_english(remark.text)
            return Remark(_lowered(words), remark.form)
    return None


def _repaired(plain: str) -> str:
    """Mend the words that join the two sides of a contrast, and verbs that lack their "it"."""
    plain = re.sub(
        r"\binstead (?=(?:a |the )?([a-z]+))",
        lambda m: "instead of " if (m[1] in COUNTED or m[1] in FOODS or m[1] in UNCOUNTED) else m[0],
        plain,
    )
    if not re.search(r"\b(?:more|less|rather|other|[a-z]+er) than\b", plain):
        plain = re.sub(r"(?<!rather) than (?=a |an |the )", " rather than ", plain)
    plain = re.sub(r"(\b(?:more|less) than .+) than ", r"\1 instead of ", plain)
    plain = re.sub(r"\bthe (?=\d+(?:/\d+)? ?(?:tsp|tbsp|cup|teaspoon|tablespoon)\b)", "", plain)
    plain = re.sub(r"\b(ma(?:d|k)e|making) into\b", r"\1 it into", plain, flags=re.I)
    plain = re.sub(
        r", not (really )?(?=([a-z]+) )",
        lambda m: f", but did not {m[1] or ''}" if _is_base(m[2]) else m[0],
        plain,
    )
    plain = re.sub(r",? and there [a-z ]+ (?:is|are)\b.*$", "", plain)
    return re.sub(r"^([a-z]+) (instead of .+ \1\b)", r"\2", plain, flags=re.I)


def _is_base(word: str) -> bool:
    return _verb(word) == word and not _is_noun(word)


# -- words -------------------------------------------------------------------------------------------------------

_MISHAPS: Final = word_set("""
    burn crumble fail forget go increase leak miss occur overcook overflow perform pile rise squish stay tilt
    undercook fall come stand lie remain boil
    """)
"""Verbs of remarks that instructions do not have."""
_MISHAP_FORMS: Final = {
    form: verb
    for verb in sorted(_MISHAPS)
    for form in (verb, f"{verb}s", f"{verb}es", gerund(verb), past(verb))
} | {"burnt": "burn"}
_ADVERB: Final = r"(?:[a-z]+ly|just|only|also|half|very|too|first|straight|not really)"
_INTRANSITIVE: Final = ("remain", "occur", "rise", "stay", "stand", "come", "lie", "fall")
_QUALITIES: Final = word_set("""
    thin clean dry wet warm cool open level clear smooth slow double light top even loose close separate
    """)
"""Verbs that are adjectives before a noun."""
_AUX: Final = (
    r"(?:is|are|was|were|has|have|had|does|did|might|may|will|could|would|cannot|can|gets?|got|bec[ao]mes?)"
)


def _verb(word: str) -> str:
    """Return the base form of a verb of instructions or of mishaps, or nothing."""
    low = word.strip(",.").lower()
    if low in ("hand", "hands"):
        return ""
    return base_form(low) or _MISHAP_FORMS.get(low, "")


def _is_past(word: str) -> bool:
    low = word.strip(",.").lower()
    base = _verb(low)
    return bool(base) and (low == past(base) or low.endswith("ed") or low == "burnt") and low != base


def _is_gerund(word: str) -> bool:
    low = word.strip(",.").lower()
    return low.endswith("ing") and bool(_verb(low)) and _verb(low) != low


def _is_noun(word: str) -> bool:
    low = word.strip(",.").lower()
    return low in UNCOUNTED or low in COUNTED or low in FOODS or bool(singular(low))


_PROPER: Final = ("English", "Italian", "French", "Greek", "Sriracha", "Indian", "Swiss")


def _lowered(text: str) -> str:
    first = text.split()[0] if text.split() else ""
    return (
        text if first in _PROPER or (len(first) > 1 and first[:2].isupper()) else text[:1].lower() + text[1:]
    )


def _starts_action(text: str) -> bool:
    """True when the text begins with a verb that the person did, an adverb before it or not."""
    words = re.sub(rf"^(?:{_ADVERB} )+", "", text, flags=re.I).split()
    if not words or not _verb(words[0]) or _verb(words[0]) in _INTRANSITIVE:
        return False
    low, follower = words[0].strip(",").lower(), words[1].lower() if len(words) > 1 else ""
    if _is_noun(low) and low in UNCOUNTED | COUNTED and not _is_gerund(low):
        rest = " ".join(words[1:])
        if re.match(rf"{_CONTRAST} ", rest, re.I):
            return _is_action(re.sub(rf"^{_CONTRAST} ", "", rest, flags=re.I), bare=True)
        return not (follower in ("too", "not", "set") or re.match(_AUX + "$", follower))
    return True


# -- what stands in front ----------------------------------------------------------------------------------------


def _fronted(plain: str) -> str:
    """Put "Instead of Y, X" and "While doing Y X" into their usual order."""
    match = re.match(rf"^(?P<lead>{_CONTRAST}) (?P<rest>.+)$", plain, re.I)
    if match:
        split = _second_action(match["rest"])
        if split is None:
            return plain
        before, main = split
        return f"{main} {match['lead'].lower()} {before}"
    match = re.match(r"^while (?P<rest>\w+ing\b.+)$", plain, re.I)
    if match:
        split = _second_action(match["rest"])
        if split is None:
            return plain
        before, main = split
        return f"{main} while {before}"
    return plain


_HAPPENED: Final = re.compile(
    r"^(?P<what>[a-z]+ing) (?:occurs|occurred|happens|happened|takes place|took place)\b(?P<rest>.*)$", re.I
)


def _second_action(text: str) -> tuple[str, str] | None:
    """Split where a second action begins: at a comma, or at a verb that no word before it governs."""
    words = text.split()
    for n, word in enumerate(words[1:], 1):
        before = words[n - 1].lower()
        if words[n - 1].endswith(",") and _starts_action(" ".join(words[n:])):
            return " ".join(words[:n]).rstrip(","), " ".join(words[n:])
        opens = (
            _is_gerund(word)
            or _is_past(word)
            or (_verb(word) and word.lower() in VERBS and not _is_noun(word))
        )
        if word.lower() in _QUALITIES or re.fullmatch(
            _AUX, words[n - 2].lower() if before in ("just", "only") else before
        ):
            continue
        governed = before in DETERMINERS or before in _BEFORE_NOUNS
        if before == "and" and _is_past(word):
            return " ".join(words[: n - 1]), " ".join(words[n:])
        if opens and not governed:
            cut = n - 1 if before in ("only", "just") else n
            if cut:
                return " ".join(words[:cut]), " ".join(words[cut:])
    return None


# -- units that one side of a contrast has for both ---------------------------------------------------------------

_SIDES: Final = re.compile(
    rf"(?P<left>\b{NUMBER})(?P<unit>(?: (?:of )?[a-z-]+){{0,4}}?) (?P<link>{_CONTRAST}) "
    rf"(?P<the>the )?(?P<right>{NUMBER})(?P<tail>(?: [A-Za-z-]+)*)",
    re.I,
)
_PHRASE_END: Final = word_set("""
    to in into on onto from with for of and or at until by while straight as so such when
    """)


def _with_units(plain: str, instruction: str) -> str:
    """Give both amounts of a contrast what they are amounts of; without it, the contrast is cut to nothing."""
    match = _SIDES.search(plain)
    if match is None:
        return plain
    unit, tail = match["unit"].split(), match["tail"].split()
    noun = _leading_noun(tail)
    front, back = plain[: match.start()], plain[match.end() :]
    rest = " ".join(tail[len(noun) :])
    lent = _unit_of(match["right"], instruction)
    named = " ".join(unit) or " ".join(noun) or lent
    if not named:
        return f"{front}{match['link']}" if not unit else plain
    if unit and noun:
        return plain
    left = f"{match['left']} {named}"
    right = match["right"]
    first = named.split()[0].lower()
    if singular(first) in UNITS:
        right = f"{right} {first}"
    kept = f" {rest}" if rest else ""
    the = match["the"] or ""
    return f"{front}{left} {match['link']} {the}{right}{kept}{back}"


def _leading_noun(words: list[str]) -> list[str]:
    taken: list[str] = []
    for n, word in enumerate(words):
        if word.lower() in _PHRASE_END and not (
            word.lower() == "of" and n == 1 and singular(words[0]) in UNITS
        ):
            break
        taken.append(word)
    return taken[:4]


def _unit_of(number: str, instruction: str) -> str:
    """Return what the instruction counts or measures by this very number."""
    match = re.search(
        rf"(?<![\w/.]){re.escape(number)}(?P<tail>(?: [A-Za-z-]+){{1,4}})", plain_english(instruction), re.I
    )
    if match is None:
        return ""
    words = _leading_noun(match["tail"].split())[:3]
    return " ".join(words[:1] if words and singular(words[0]) in UNITS else words)


# -- negations ---------------------------------------------------------------------------------------------------

_NEGATED: Final = re.compile(
    r"^(?:did not|didn't|do not|don't|does not|doesn't|have not|haven't)\s+(?P<rest>.+)$", re.I
)
_NOT: Final = re.compile(
    r"^not (?P<how>(?:[a-z]+ly|really|even) )?(?P<verb>[a-z]+)(?P<rest>.*)$",
    re.I,
)


def _negated(plain: str) -> Remark | None:
    match = _NEGATED.match(plain)
    if match:
        adverbs = re.match(r"^(?P<how>(?:[a-z]+ly |really |even )*)(?P<rest>.+)$", match["rest"], re.I)
        how, rest = (adverbs["how"], adverbs["rest"]) if adverbs else ("", match["rest"])
        verb, _, tail = rest.partition(" ")
        base = _verb(verb)
        if not base:
            return None
        return _not_done(how, base, verb, tail)
    match = re.match(r"^(?:not able|unable) to (?P<rest>.+)$", plain, re.I)
    if match:
        return Remark(f"were not able to {match['rest']}", "you")
    match = re.match(r"^cannot (?P<rest>.+)$", plain, re.I)
    if match:
        return Remark(f"could not {match['rest']}", "you")
    match = re.match(r"^not (?P<how>[a-z]+)$", plain, re.I)
    if (
        match
        and (match["how"].lower() in _QUALITIES or not _verb(match["how"]))
        and not match["how"].endswith("ly")
    ):
        return Remark(f"it was not {match['how']}", "clause")
    match = re.match(r"^should (?:not )?have (?P<rest>.+)$", plain, re.I)
    if match:
        return Remark(_lowered(plain), "you")
    match = _NOT.match(plain)
    if match and _verb(match["verb"]) and match["verb"].lower() not in ("well",):
        return _not_done(match["how"] or "", _verb(match["verb"]), match["verb"], match["rest"].strip())
    return None


def _not_done(how: str, base: str, verb: str, tail: str) -> Remark:
    """Say that something was not done; what follows in another form, or goes wrong by nature, was done."""
    rest = f" {tail}" if tail and not tail.startswith(",") else tail
    rest = re.sub(r",? (?=just [a-z]+\b|instead (?!of\b|to\b))", ", but ", rest)
    rest = re.sub(r"\bbut instead\b|, but,? but\b", "but", rest)
    form = _form(verb, base)

    def settle(match: re.Match[str]) -> str:
        word, link = match["verb"], match["link"]
        other = _verb(word)
        before = rest[: match.start()].split()
        if not other or any(w in _GOVERNING for w in before[-5:]):
            return match[0]
        if match["how"].strip() in ("do not", "don't"):
            return f"{link}did not {other}"
        done = _form(word, other) != form or other in _GOES_WRONG or (form == "gerund" and len(before) > 1)
        if "but" in link or done:
            lacking = (
                " some" if other == "spill" and re.match(r" (?:while|when)\b|$", rest[match.end() :]) else ""
            )
            return f"{link}{match['how']}{past(other)}{lacking}"
        return f"{link}{match['how']}{other}"

    rest = re.sub(
        r"(?P<link>,? (?:and|but) )(?P<how>(?:do not |don't |[a-z]+ly |just |only )?)(?P<verb>[a-z]+)(?= |$)",
        settle,
        rest,
    )
    return Remark(f"did not {how.lower()}{base}{rest}", "you")


_GOVERNING: Final = ("while", "without", "by", "before", "after", "when")
_GOES_WRONG: Final = ("spill", "leave", "burn", "drop", "splash", "leak")


def _form(word: str, base: str) -> str:
    return "base" if word.lower() == base else "gerund" if _is_gerund(word) else "past"


# -- clauses -----------------------------------------------------------------------------------------------------


def _clause(plain: str) -> Remark | None:
    """Read a sentence with its own subject and a finite verb."""
    match = _HAPPENED.match(plain)
    if match:
        return Remark(f"there was {match['what'].lower()}{match['rest']}", "clause")
    words = plain.split()
    first = words[0].lower()
    if re.fullmatch(_ADVERB, first) and first != "only" and first != "half":
        return None
    opens = first in DETERMINERS or re.fullmatch(NUMBER, first, re.I) or first in (
        "only", "it", "there", "nobody", "nothing", "everything", "almost", "it's",
    )  # fmt: skip
    if not opens and not _is_subject(words):
        return None
    head = re.split(rf" {_CONTRAST} ", plain, flags=re.I)[0].split()
    for n, word in enumerate(head[1:9], 1):
        after = head[n + 1].lower() if n + 1 < len(head) else ""
        if re.fullmatch(_AUX, word.lower()):
            return _stated(words, opens=bool(opens))
        if word.lower() in ("while", "when", "until") or (not opens and word.lower() in ("to", "with")):
            return None
        noun_follows = after and (_is_noun(after) or after in FOODS)
        if _is_finite(word) and not noun_follows and head[n - 1].lower() not in DETERMINERS:
            return _stated(words, opens=bool(opens))
    return None


def _is_subject(words: list[str]) -> bool:
    """True when a sentence without determiner begins with a noun."""
    first, follower = words[0].lower(), words[1].lower() if len(words) > 1 else ""
    if first in _ALREADY or first in ("until", "if", "once", "in", "on", "with", "not", "no", "should"):
        return False
    if _is_past(first) and (_is_noun(follower) or _is_noun(words[-1])) and _own_verb(" ".join(words[1:])):
        return True
    if _verb(first) and not _is_noun(first) and not re.fullmatch(_AUX, follower) and first != "filling":
        return False
    if _verb(first) and not re.fullmatch(_AUX, follower) and not _is_finite(follower):
        return bool(len(words) > 2 and first not in VERBS and _is_noun(first))
    return (
        bool(re.fullmatch(r"[a-z-]+", first))
        and not first.endswith("ly")
        and first not in ("not", "no", "while")
    )


def _own_verb(rest: str) -> bool:
    """True when a finite verb follows with nothing before it that opens another clause."""
    match = re.search(r"\b(?:will|would|does|is|are|was|were|leads|results)\b", rest)
    return match is not None and not re.search(
        r"\b(?:that|which|until|till|when|because|as|so|while|if|before|after|since|where|once|and|but|without|even)\b|,",
        rest[: match.start()],
    )


def _is_finite(word: str) -> bool:
    """True for a past form, and for a third person of what things do by themselves."""
    low = word.strip(",.").lower()
    base = _verb(low)
    if not base or low in ("covered", "uncovered", "used", "set", "cut", "put", "done", "performed"):
        return False
    return (low == past(base) and low != base) or low in ("leaks", "spills", "falls", "sticks", "burns")


_ECHO: Final = re.compile(
    r"(?P<clause>\b(?P<word>[a-z]{3,})\b.*), (?!and\b|but\b|so\b|or\b|not\b|only\b)(?:[a-z-]+ )?(?P=word)(?:s|d|ed|ing)?$"
)
"""A word or two behind the last comma of a clause, which repeat a word of it (", half cover")."""


def _stated(words: list[str], *, opens: bool) -> Remark:
    text = " ".join(words)
    text = re.sub(r",? and (?:did not|didn't|do not) .*$", "", text)
    text = _ECHO.sub(r"\g<clause>", text)
    if opens or (_is_gerund(words[0]) and words[0].lower() != "filling"):
        return Remark(text, "clause")
    return Remark(f"the {_lowered(text)}", "clause")


_OUTCOMES: Final = (
    "done|used|performed|set|made|removed|left|kept|measured|washed|chopped|cleaned|peeled|cooked"
)
_ELLIPTIC: Final = re.compile(
    rf"^(?P<subject>(?:the |a |an |no |only )?(?:{NUMBER} )?[a-z-]+(?: [a-z-]+){{0,3}}?)"
    rf" (?P<how>(?:not )?(?:{_ADVERB} )?(?:well )?)(?P<done>{_OUTCOMES})(?P<rest>(?: .*)?)$",
    re.I,
)


def _elliptic(plain: str) -> Remark | None:
    """Read a passive that lacks its "was": "Skin not removed properly", "heat set to low"."""
    match = re.match(r"^(?P<subject>(?:the )?[a-z]+) too (?P<how>[a-z]+)(?:,.*)?$", plain, re.I)
    if match and _is_noun(match["subject"].split()[-1]):
        return Remark(f"{_the(match['subject'])} was too {match['how']}", "clause")
    match = _ELLIPTIC.match(plain)
    if match is None:
        return None
    subject = match["subject"]
    words = subject.lower().split()
    if not (
        _is_noun(words[-1]) or words[-1].endswith("ing") or words[-1] in ("measurements", "chopping", "mince")
    ):
        return None
    if any(w in _ALREADY for w in words):
        return None
    if (_is_past(words[0]) or words[0] in ("use", "did", "not", "take", "put", "add")) or (
        _is_gerund(words[0]) and len(words) > 1
    ):
        return None
    many = words[-1].endswith("s") and not words[-1].endswith("ss")
    was = "were" if many else "was"
    return Remark(f"{_the(subject)} {was} {match['how']}{match['done']}{match['rest']}", "clause")


def _the(subject: str) -> str:
    first = subject.split()[0].lower()
    if first in DETERMINERS or re.fullmatch(NUMBER, first, re.I) or first == "only":
        return subject
    if len(subject.split()) > 1 and subject.split()[-1].lower() in UNCOUNTED:
        return subject
    return f"the {_lowered(subject)}"


# -- contrasts ---------------------------------------------------------------------------------------------------

_CUTTING: Final = word_set("""
    cut chop slice mince dice trim peel grate shred crush tear garnish season sprinkle pat
    """)
_LEVEL: Final = r"(?:(?:low|medium|high)(?:-(?:low|medium|high))?)"
_TIME: Final = r"(?:s|secs?|seconds?|mins?|minutes?|hours?|h)"


def _contrasted(plain: str) -> Remark | None:
    """Read "X instead of Y" where X is no action: a thing, an amount, a degree, a manner."""
    match = re.search(rf" (?P<link>{_CONTRAST}) ", plain, re.I)
    if match is None or _starts_action(plain):
        return None
    left, right = plain[: match.start()], plain[match.end() :]
    words = left.lower().split()
    if len(words) > 5 or not right.strip() or "only" in words[1:-1]:
        return None
    link = match["link"].lower()
    if words[0] in ("has", "had"):
        return Remark(f"it had {left.split(' ', 1)[1]} {link} {right}", "clause") if len(words) > 1 else None
    if words[-1].endswith("ly") or words[-1] in ("fast", "straight"):
        return Remark(f"did it {_lowered(left)} {link} {right}", "you")
    if re.fullmatch(_LEVEL, left, re.I):
        return Remark(f"it was set to {left.lower()} {link} {right}", "clause")
    if re.search(rf"\d\s?{_TIME}$|\b{_TIME}$", left) and re.search(
        rf"^(?:about |only )?(?:{NUMBER}|half|a) ", left, re.I
    ):
        return Remark(f"it was {_lowered(left)} {link} {right}", "clause")
    head = _head_noun(words)
    if _is_noun(head) or head in ("heat", "power", "hands") or re.match(rf"(?:only )?{NUMBER}\b", left, re.I):
        return Remark(f"used {_lowered(left)} {link} {right}", "you")
    if _is_noun(_head_noun(right.lower().split())) and all(re.fullmatch(r"[a-z-]+", w) for w in words):
        thing = (
            left if words[0] in DETERMINERS or head.endswith("s") else f"{article_for(left)} {_lowered(left)}"
        )
        counted = _head_noun(right.lower().split()) in COUNTED
        return Remark(f"used {thing if counted else _lowered(left)} {link} {right}", "you")
    return Remark(f"it was {_lowered(left)} {link} {right}", "clause")


def _head_noun(words: list[str]) -> str:
    for n, word in enumerate(words):
        if n and (word in _PHRASE_END or word in ("that", "which")):
            return words[n - 1].strip(",.")
    return words[-1].strip(",.") if words else ""


def _is_action(text: str, *, bare: bool) -> bool:
    """True when the side of a contrast names something to do: "mincing", "chop or grate", "season the salt"."""
    words = text.lower().split()
    if not words:
        return False
    first, follower = words[0].strip(","), words[1] if len(words) > 1 else ""
    base = _verb(first)
    if not base or first in ("covered", "uncovered", "closed", "opened"):
        return False
    if first in _QUALITIES and follower not in DETERMINERS:
        return False
    if _is_gerund(first):
        return follower not in COUNTED
    if first != base:
        return _is_past(first) and not follower
    if _is_noun(first) or first in ("brush", "whisk", "water", "set"):
        return (first in _CUTTING and (bare or not follower)) or follower in DETERMINERS
    return True


def _right_side(left: str, right: str) -> str:
    """Give an action after "instead of" its -ing form."""
    bare = len(left.split()) <= 1 or base_form(left.split()[0]) in _CUTTING
    lead = re.match(r"^(?:just |only )?", right)
    front, core = (lead[0], right[lead.end() :]) if lead else ("", right)
    core = re.sub(r"^([a-z]+)/([a-z]+)(?= |$)", r"\1 or \2", core)
    if not _is_action(core, bare=bare):
        return right
    words = core.split()
    words[0] = _gerund_of(words[0])
    for n in range(1, len(words) - 1):
        if words[n] in ("or", "and") and _verb(words[n + 1]) == words[n + 1].strip(",."):
            words[n + 1] = _gerund_of(words[n + 1])
    return front + " ".join(words)


def _gerund_of(word: str) -> str:
    if _is_gerund(word):
        return word
    return gerund(_verb(word)) + ("," if word.endswith(",") else "")


_BEFORE_NOUNS: Final = word_set("to by without of and or with in for")


# -- actions -----------------------------------------------------------------------------------------------------

_ALREADY: Final = word_set("while without by of before after than when using to instead for such that")


def _verbal(plain: str) -> Remark | None:
    """Read an action: its verbs go into the past."""
    plain = re.sub(
        r"^([a-z]+)/([a-z]+)(?= )", lambda m: m[2] if _verb(m[1]) and _verb(m[2]) else m[0], plain, flags=re.I
    )
    if not _starts_action(plain):
        return None
    match = re.match(rf"^(?P<how>(?:{_ADVERB} )*)(?P<verb>[A-Za-z]+)(?P<mark>,?)(?P<rest>.*)$", plain, re.I)
    if match is None:
        return None
    verb = _verb(match["verb"])
    rest = match["rest"]
    if re.match(rf" (?:action|set|not|{_AUX})\b", rest) or _own_verb(rest):
        return None
    if verb == "use":
        rest = re.sub(r"^ of (?=[a-z])", " ", rest)
    rest = _with_object(verb, rest)
    sides = re.split(rf"( {_CONTRAST} )", rest, maxsplit=1, flags=re.I)
    left = _coordinated(sides[0])
    if len(sides) == 3:
        right = _right_side(f"{verb}{sides[0]}", sides[2])
        rest = f"{left}{sides[1]}{_coordinated(right) if _verb(right.split()[0] if right.split() else '') == '' else right}"
    else:
        rest = left
    how = match["how"].lower()
    if verb in ("burn", "crumble", "leak", "overflow") and re.match(r"$| (?:because|due|on|in|out)\b", rest):
        return Remark(f"it {how}{past(verb)}{rest}", "clause")
    return Remark(f"{how}{past(verb)}{match['mark']}{rest}", "you")


_NEEDS_IT: Final = word_set("make place add invert replace transfer do set perform spread sprinkle crack")
"""Verbs that cannot stand without an object."""


def _with_object(verb: str, rest: str) -> str:
    """Add what the verb lacks: something that is spilled, and "for" before how long something lasts."""
    if verb in ("spill", "drop", "splash") and re.match(
        r"(?:$| (?:while|when|and|out|outside|in|as|also)\b)", rest
    ):
        rest = f" {'some' if verb != 'drop' else 'something'}{rest}"
    if rest.startswith(" into ") or (
        verb in _NEEDS_IT
        and re.match(
            r" (?:into|to|in|on|onto|with|from|for|using|before|after|while|too|hastily|parallel)\b(?! \d)",
            rest,
        )
    ):
        rest = f" it{rest}"
    if verb == "season" and re.match(rf" {NUMBER}", rest):
        rest = f" with{rest}"
    if verb in ("undercook", "overcook") and not rest.strip(" ,"):
        rest = " it"
    return re.sub(
        rf"^ (?P<much>(?:only |more than |less than |about )*(?:{NUMBER}|a|one) {_TIME}\b)",
        r" for \g<much>",
        rest,
    )


_FOLLOWS_VERB: Final = ("it", "them", "some", "on", "off", "up", "down", "out", "over")


def _coordinated(rest: str) -> str:
    """Put verbs that follow "and", "then" or "but" into the past, where nothing before them governs them."""

    def settle(match: re.Match[str]) -> str:
        before = rest[: match.start()].split()
        word, base = match["verb"], _verb(match["verb"])
        after = rest[match.end() :].split()[:1]
        follower = after[0].strip(",.").lower() if after else ""
        if not base or _is_past(word):
            return match[0]
        if match["how"].strip() in ("do not", "don't", "not"):
            if match["how"].strip() == "not" and not _is_gerund(word):
                return match[0]
            return f"{match['link']}did not {base}"
        infinitive = re.search(r"\bto ([a-z]+)\b(?!.*\bto [a-z]+ing\b)", " ".join(before))
        if _is_gerund(word) and infinitive and _is_base(infinitive[1]):
            return f"{match['link']}{match['how']}{base}"
        if _is_gerund(word):
            if any(w.lower() in _ALREADY for w in before[-6:]) or any(_is_gerund(w) for w in before[-4:]):
                return match[0]
            return f"{match['link']}{match['how']}{past(base)}"
        if word != base or (_is_noun(word) and follower not in DETERMINERS and follower not in _FOLLOWS_VERB):
            return match[0]
        if re.search(r"\bto [a-z]+$", " ".join(before)) or re.search(
            r"\bto (?!the|a|an|it|your)[a-z]+ [^,]*$", " ".join(before)
        ):
            infinitive = re.search(r"\bto ([a-z]+)\b(?!.*\bto\b)", " ".join(before))
            if infinitive and infinitive[1] in VERBS and not _is_noun(infinitive[1]):
                return match[0]
        return f"{match['link']}{match['how']}{past(base)}"

    rest = re.sub(r"(?<=\band )([a-z]+) or ([a-z]+)(?= )", _both_past, rest)
    return re.sub(
        r"(?P<link>,? (?:and then|and|then|but) )(?P<how>(?:do not |don't |not |[a-z]+ly |just |only |first )?)(?P<verb>[a-z]+)(?=[ ,.]|$)",
        settle,
        rest,
    )


def _both_past(match: re.Match[str]) -> str:
    one, other = match[1], match[2]
    if _is_base(one) and _is_base(other):
        return f"{past(one)} or {past(other)}"
    return match[0]


# -- amounts and degrees -----------------------------------------------------------------------------------------


def _measured(plain: str) -> Remark | None:
    """Read a bare amount, duration or degree."""
    if re.search(rf"\b{_CONTRAST}\b|,", plain, re.I):
        return None
    degree = rf"(?:only |almost |about |more than |less than |nearly )*(?:{NUMBER}|half|a|an|one)"
    if re.fullmatch(rf"{degree} {_TIME}(?: only)?", plain, re.I):
        return Remark(f"it was {_lowered(plain)}", "clause")
    if re.fullmatch(rf"(?:on|at|in|over) (?:a )?{_LEVEL} (?:heat|power|temperature|flame)", plain, re.I):
        return Remark(f"did it {_lowered(plain)}", "you")
    if re.fullmatch(rf"(?:a )?(?:{_LEVEL}|lower|higher|lower-medium) (?:heat|power)", plain, re.I):
        return Remark(f"used {_lowered(plain)}", "you")
    if re.fullmatch(rf"{degree} [a-z -]+?(?: of [a-z ]+)?", plain, re.I) and _is_noun(
        _head_noun(plain.lower().split())
    ):
        return Remark(f"used {_lowered(plain)}", "you")
    return None


# -- performed texts ---------------------------------------------------------------------------------------------


@lru_cache(maxsize=16_384)
def describe_performed(text: str, instruction: str) -> Remark:
    """Say what was done from the text of the performed step; empty when it equals the instruction or is no action."""
    if _words(text) == _words(instruction) or _DISTURBED.search(text):
        return _NOTHING
    phrase = parse_phrase(text)
    said = phrase.past.lower().split()[:3]
    # the first word returns at once, which happens with tags that are written as one word
    stutters = any(w.startswith(base_form(said[0]) or said[0]) for w in said[1:])
    if phrase.quoted or stutters or _words(phrase.imperative) == _words(parse_phrase(instruction).imperative):
        return _NOTHING
    remark = Remark(plain_english(phrase.past), "you")
    return _NOTHING if find_faults(remark.after("")) else remark


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9/.]+", text.lower().rstrip(" ."))
