"""Step texts as they are read aloud.

Many data sets write a step as ``Verb-Verb the rest`` (CaptainCook4D: "Peel-Peel one garlic clove",
"add-1/4 tsp salt to a bowl"). ``render_step`` turns that into a plain imperative without changing its words.
``parse_phrase`` goes further and makes the forms that sentences need: "peel one garlic clove", "peeling one garlic
clove", "peeled one garlic clove", "the garlic clove". A text in which no verb can be found is quoted instead, so
every text has all forms.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from proctor.procedure.inflect import VERBS, base_form, gerund, participle, past, word_set

__all__ = ["Phrase", "has_tag", "parse_phrase", "render_step"]


_TAGGED = re.compile(r"^\s*(?P<verb>[A-Za-z]+(?: (?:and |or )?[A-Za-z]+)?)\s*-\s*(?P<rest>\S.*)$", re.DOTALL)
_COMPOUND: Final = word_set(
    "pan deep stir air double cross hand re pre over under un self semi non spin cold hot dry wet pressure micro "
    "spot half twin single slow machine laser blind"
)
"""First halves of hyphenated verbs ("stir-fry", "re-insert"), which are no tags."""


def render_step(text: str, *, capital: bool = True) -> str:
    """Return the instruction as a sentence part without final stop: ``"Peel one garlic clove"``.

    The verb before the dash is dropped when the rest starts with a form of it, and kept in front otherwise
    (``"add-1/4 tsp salt"`` becomes ``"Add 1/4 tsp salt"``). Text without such a tag is only trimmed.
    """
    plain = _split_tag(text)[1].rstrip(" .;,")
    if not plain:
        return plain
    return (plain[0].upper() if capital else _lower_first(plain)) + plain[1:]


def has_tag(text: str) -> bool:
    """True when a text begins with the verb of a tag (``"Peel-Peel one garlic clove"``)."""
    return _split_tag(text)[0] != ""


def _split_tag(text: str) -> tuple[str, str]:
    """Return the verb of the tag (lower case, may be empty) and the text without the tag."""
    plain = " ".join(text.split())
    match = _TAGGED.match(plain)
    if not match or not _is_tag(match["verb"], match["rest"]):
        return "", plain
    verb, rest = match["verb"], match["rest"]
    keeps_verb = rest[0].isupper() or _names_verb(verb, rest)
    return verb.lower(), rest if keeps_verb else f"{verb} {rest}"


def _is_tag(verb: str, rest: str) -> bool:
    words = [w for w in verb.lower().split() if w not in ("and", "or")]
    if _names_verb(verb, rest):
        return True
    if words[0] in ("lower", "higher", "low", "high", "medium") and re.match(r"(?:low|medium|high)", rest):
        return False
    return words[0] not in _COMPOUND and (not rest[0].islower() or base_form(words[0]) != "")


def _names_verb(verb: str, rest: str) -> bool:
    """True when the first words of the rest hold a form of the verb, so that it need not be repeated."""
    stems = [v[: max(3, len(v) - 3)] for v in verb.lower().split() if v not in ("and", "or")]
    words = re.findall(r"[a-z]+", rest.lower())[:8]
    return all(any(w.startswith(stem) for w in words) for stem in stems)


def _lower_first(text: str) -> str:
    first = text.split()[0]
    return text[0] if len(first) > 1 and first.isupper() else text[0].lower()


# -- the forms of a step -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Phrase:
    """One step in every form that a sentence may need; no form has a final stop.

    Attributes:
        imperative: ``"peel one garlic clove"``.
        gerund: ``"peeling one garlic clove"``.
        past: ``"peeled one garlic clove"``.
        participle: ``"peeled one garlic clove"`` (after "have").
        verb: base form of the main verb; empty when none was found and the text is quoted.
        object: what the verb acts on, without article and quantity: ``"garlic clove"``; empty when unknown.
        brief: ``"peel the garlic clove"``: names the step without quantities, times, levels and tools, so that a
            question can refer to it without giving the answer away; empty when that cannot be done.
        brief_gerund: ``"peeling the garlic clove"`` or empty.
        brief_past: ``"peeled the garlic clove"`` or empty.
        brief_participle: ``"peeled the garlic clove"`` (after "have") or empty.
    """

    imperative: str
    gerund: str
    past: str
    participle: str
    verb: str = ""
    object: str = ""
    brief: str = ""
    brief_gerund: str = ""
    brief_past: str = ""
    brief_participle: str = ""

    @property
    def quoted(self) -> bool:
        """True when the text had to be quoted because no verb was found in it."""
        return not self.verb


@lru_cache(maxsize=65_536)
def parse_phrase(text: str) -> Phrase:
    """Return the forms of a step text. Remarks in brackets and all but the main sentence are left out."""
    tag, plain = _split_tag(text)
    core = _core(plain, tag)
    head = _head(core, tag)
    if head is None:
        return _quoted(core or plain or text.strip())
    adverb, verb, joined, rest = head
    if verb == "season" and re.match(r" (?:\d|[a-z ]+ to taste)", rest) and not rest.startswith(" with "):
        rest = f" with{rest}"
    front = f"{adverb} " if adverb else ""
    if verb in ("continue", "keep") and joined == "":
        continued = _continued(front, verb, rest)
        if continued is not None:
            return continued
    noun = _object(verb, rest)
    brief = _brief(verb, rest, noun)

    def inflected(form: str) -> str:
        return f"{front}{_inflect(verb, form)}{_joined(joined, form)}{_inflect_rest(verb, rest, form)}"

    return Phrase(
        imperative=f"{front}{verb}{joined}{rest}",
        gerund=inflected("gerund"),
        past=inflected("past"),
        participle=inflected("participle"),
        verb=verb,
        object="" if verb in ("let", "allow", "stop") else noun,
        brief=f"{verb}{joined}{brief}" if brief is not None else "",
        brief_gerund=f"{gerund(verb)}{_joined(joined, 'gerund')}{brief}" if brief is not None else "",
        brief_past=f"{past(verb)}{_joined(joined, 'past')}{brief}" if brief is not None else "",
        brief_participle=f"{participle(verb)}{_joined(joined, 'participle')}{brief}"
        if brief is not None
        else "",
    )


def _quoted(text: str) -> Phrase:
    name = text.strip(' ."“”').replace('"', "'")
    step = f"the step “{name}”"
    return Phrase(f"do {step}", f"doing {step}", f"did {step}", f"done {step}")


# -- the main sentence -------------------------------------------------------------------------------------------

_BRACKETS = re.compile(r"\s*[(\[{][^()\[\]{}]*[)\]}]\s*")
_SENTENCE_END = re.compile(r"(?<=[\w%°)])\s*[.!;]\s+(?=[A-Z0-9])")
_FRONTED = re.compile(
    r"^(?P<front>(?:in|on|into|onto|with|once|when|while|after|before|if|as|using|for|at|from)\b[^,.]*), (?P<main>.+)$",
    re.IGNORECASE,
)
_LEADING = re.compile(
    r"^(?:(?:and|then|now|next|finally|first|please|also|lastly|immediately)\b,?\s+)+", re.IGNORECASE
)


def _core(plain: str, tag: str) -> str:
    """Return the sentence that holds the action: the tag's verb if there is one, else the first."""
    without = _BRACKETS.sub(" ", plain).replace(" ,", ",").replace(" .", ".")
    sentences = [_main_clause(s) for s in _SENTENCE_END.split(" ".join(without.split()))]
    sentences = [s for s in sentences if s]
    if not sentences:
        return ""
    stem = tag.split()[0] if tag else ""
    if stem and len(sentences) > 1 and not _names_verb(stem, sentences[0]):
        return next((s for s in sentences if _names_verb(stem, " ".join(s.split()[:2]))), sentences[0])
    return sentences[0]


def _main_clause(sentence: str) -> str:
    """Put a clause that stands in front ("Once the pan is hot, add …") behind the main clause."""
    clean = _LEADING.sub("", sentence.strip(" .,;:!-*•\t?")).replace("?", "")
    match = _FRONTED.match(clean)
    if match and _head(_LEADING.sub("", match["main"]), "") is not None:
        clean = _move_back(_LEADING.sub("", match["main"]), match["front"][0].lower() + match["front"][1:])
    return clean[:1] and _lower_first(clean) + clean[1:]


def _move_back(main: str, front: str) -> str:
    """Put a place before "until" or "for 30 seconds", any other clause at the end."""
    limit = re.search(r" (?:until|for (?:about )?\d)", main)
    if limit and front.startswith(("in ", "on ", "into ", "onto ")):
        return f"{main[: limit.start()]} {front}{main[limit.start() :]}"
    return f"{main} {front}"


# -- the verb ----------------------------------------------------------------------------------------------------

_DETERMINER: Final = word_set(
    "the a an this that these those your my our his her its all both each every some any one two three four five six "
    "seven eight nine ten half another more it them enough"
)
_PREPOSITION: Final = word_set(
    "to into in on onto over from with for until till under inside around at by between using off out through across "
    "about while so that without before after against along per via beside behind below above toward towards "
    "when once if because as within during up down upto than leaving making ensuring often where which"
)
_NOUNS_TOO: Final = word_set(
    "water plant wire tin layer drink design ladle top cover slice cut mix season butter place spoon heat cool whisk strip wrap roll plug screw bolt clamp label dust "
    "light line level mount plate pan oil paint paste press print process pump quarter record rest scale seat "
    "shape skin spot stack staple steam store strain tape thread tie touch trim turn use wash wheel wind file fork "
    "fit fix form frost glaze glue grease grip guide hook hull juice load lock mark mash match measure nail note open "
    "pass peel pierce pin pinch pipe pit pop position pound prime pulse punch seal sand saw score seed sort spray "
    "spread start staples stem stick stop stuff swirl tap taste toast toss transfer twist watch water weld wipe zest "
    "fluff flour drip drain drop dress drill double divide dip crack cross cream core coat close clip clean clear chill "
    "charge change center carve cap cube brush broil bread break brown build bundle button beat balance bend bottle "
    "finish fill fold freeze grate grill grind hammer hold insert join keep lift lay move poach polish pour pull push "
    "reach release return reverse rinse run salt scoop scrape scratch set shake shell shift skewer snap soak splash "
    "split squeeze stir stretch sweep test warm wet whip empty dry"
)
"""Verbs that are nouns or adjectives too: after "and" they count as verbs only before a determiner or at the end."""
_NO_VERB: Final = word_set(
    "the a an this that these those your my our not no one two there step in on at of with and or but it is "
    "was are were he she they we you i"
)


def _head(core: str, tag: str) -> tuple[str, str, str, str] | None:
    """Split into adverb, verb, further verbs joined to it (`" and add"`) and the rest; None without a verb."""
    words = core.split()
    adverb = ""
    if len(words) > 1 and _modifies_verb(words[0].lower(), words[1].lower()):
        adverb, words = words[0].lower(), words[1:]
    if not words:
        return None
    verb = _verb_of(words, tag)
    if not verb:
        return None
    joined = ""
    if len(words) > 2 and words[1] in ("and", "or") and base_form(words[2]):
        joined = f" {words[1]} {base_form(words[2])}"
    rest = " ".join(words[3 if joined else 1 :])
    separator = "" if not rest else " "
    if words[0].endswith(",") and not joined:
        separator = ", " if rest else ""
    return adverb, verb, joined, separator + rest


def _modifies_verb(first: str, second: str) -> bool:
    """True for an adverb ("slowly pour") and for the first half of a compound verb ("deep fry")."""
    if re.fullmatch(r"[a-z]+ly", first) and not base_form(first):
        return True
    return first in _COMPOUND and second in VERBS


def _verb_of(words: list[str], tag: str) -> str:
    """Return the base form of the first word if it is a verb here."""
    first = words[0].strip(",:").lower()
    if not re.fullmatch(r"[a-z]+(?:-[a-z]+)?", first) or first in _NO_VERB:
        return ""
    if first in VERBS:
        return first
    half = first.split("-")
    if len(half) == 2 and half[0] in _COMPOUND and base_form(half[1]) == half[1]:
        return first
    if tag and first == tag.split()[0] and not first.endswith("ing"):
        return first
    listed = base_form(first)
    if listed:
        return listed
    following = words[1].lower() if len(words) > 1 else ""
    is_followed = following in _DETERMINER or following[:1].isdigit()
    return first if is_followed and not first.endswith(("s", "ed", "ing")) else ""


def _inflect(verb: str, form: str) -> str:
    prefix, _, last = verb.rpartition("-")
    word = {"gerund": gerund, "past": past, "participle": participle}[form](last)
    return f"{prefix}-{word}" if prefix else word


def _joined(joined: str, form: str) -> str:
    if not joined:
        return ""
    _, conjunction, verb = joined.split(" ")
    return f" {conjunction} {_inflect(verb, form)}"


_THEN_VERB = re.compile(r"(?P<link>,? (?:and(?: then)?|then|or) )(?P<verb>[a-z]+)(?=$|[ ,])")


def _inflect_rest(verb: str, rest: str, form: str) -> str:
    """Inflect verbs that follow "and" or "then" ("… and serve"), unless they depend on "to" or "let"."""
    if verb in ("let", "allow", "make", "have", "help", "use"):
        return rest

    def replace(match: re.Match[str]) -> str:
        word = match["verb"]
        if word not in VERBS or re.search(
            r"\bto [a-z]+\b(?<!to the)(?<!to a)",
            _infinitives(rest[: match.start()]),
        ):
            return match[0]
        following = rest[match.end() :].split()[:1]
        after = following[0].strip(",").lower() if following else ""
        is_object = (
            after in _DETERMINER or after[:1].isdigit() or (after == "" and word not in ("top", "bottom"))
        )
        if not is_object and (word in _NOUNS_TOO or after not in _PREPOSITION):
            return match[0]
        return match["link"] + _inflect(word, form)

    return _THEN_VERB.sub(replace, rest)


def _infinitives(text: str) -> str:
    """Keep only the "to" that stand before a listed verb."""
    return " ".join(
        f"to {w}" for w in re.findall(r"\bto ([a-z]+)", text) if w in VERBS and w not in _NOUNS_TOO
    )


def _continued(front: str, verb: str, rest: str) -> Phrase | None:
    """Forms of "keep mixing …" and "continue to cook …", whose gerund drops the first verb."""
    match = re.match(r"^ (?:to )?(?P<inner>[A-Za-z]+)(?P<tail>.*)$", rest)
    inner = base_form(match["inner"]) if match else ""
    if match is None or not inner:
        return None
    tail = match["tail"]
    noun = _object(inner, tail)
    brief = _brief(inner, tail, noun)
    lowered = f" {'to ' if rest.startswith(' to ') else ''}{match['inner'].lower()}{tail}"
    return Phrase(
        imperative=f"{front}{verb}{lowered}",
        gerund=f"{front}{gerund(inner)}{_inflect_rest(inner, tail, 'gerund')}",
        past=f"{front}{past(verb)}{lowered}",
        participle=f"{front}{participle(verb)}{lowered}",
        verb=inner,
        object=noun,
        brief=f"{inner}{brief}" if brief is not None else "",
        brief_gerund=f"{gerund(inner)}{brief}" if brief is not None else "",
        brief_past=f"{past(inner)}{brief}" if brief is not None else "",
        brief_participle=f"{participle(inner)}{brief}" if brief is not None else "",
    )


# -- the object --------------------------------------------------------------------------------------------------

_VERBS_WITH_PARTICLES: Final = """
    turn on off up down; switch on off; set aside up; lay out; pull out off; roll up out; pick up; add in;
    mix in; stir in; fold in; take out off; cut off out; break off up; scoop out up; plug in; screw in on;
    clean up; put on together; pour in out; rinse off out; wipe off down; thin out; spread out
    """
_PARTICLES: Final = {
    verb: frozenset(particles)
    for verb, *particles in (words.split() for words in _VERBS_WITH_PARTICLES.split(";"))
}
_UNITS: Final = word_set(
    "tsp tbsp teaspoon teaspoons tablespoon tablespoons tbs cup cups ounce ounces oz lb lbs pound pounds g kg mg gram "
    "grams ml l liter liters litre litres µl ul microliter microliters mm cm m inch inches quart quarts pint pints pinch "
    "pinches dash dashes knob drizzle splash slice slices clove cloves piece pieces block blocks can cans sheet sheets "
    "drop drops bit bits handful handfuls package packages packet packets stick sticks head heads bunch sprig sprigs "
    "spoonful spoonfuls amount rest layer number bottle jar tube tubes bag degree degrees percent %"
)
_SIZES: Final = word_set(
    "about approximately heaped heaping level generous medium large small big sized thick thin extra "
    "roughly around little medium-sized little equal exactly only just"
)
_TEMPERATURE_WORDS: Final = word_set("low high medium low-medium medium-low medium-high")
_STOPS: Final = word_set(
    "dry tight open apart flat well thoroughly gently carefully tightly firmly evenly covered uncovered roughly again "
    "twice together aside slowly quickly properly completely straight off halfway downwards upwards lightly perpendicular cut-side face-down face-up"
)
_VAGUE: Final = word_set("it them this that everything anything something things thing")
_INTRANSITIVE: Final = word_set(
    "cook microwave stir mix whisk simmer bake boil wait heat fry blend centrifuge vortex incubate spin blitz saute "
    "toast roast grill steam"
)


def _object(verb: str, rest: str) -> str:
    """Return the noun phrase after the verb without article, quantity and size; empty when there is none."""
    words = _object_words(verb, rest)
    while words and _measures(words[0].lower(), len(words)):
        words = words[1:]
    if not words or words[0].lower() in _VAGUE or not all(re.search(r"[A-Za-z]", w) for w in words):
        return ""
    noun = " ".join(words)
    return "" if noun.lower().rstrip(".") in _UNITS or len(words) > 6 else noun


_QUANTITY: Final = re.compile(r"(?:[\d½¼¾⅓⅔⅛]+(?:[./–-]\d+)*(?:/\d+)?)(?:[-\s]?[a-zµ°%]{0,6}\.?)?")


def _measures(word: str, length: int) -> bool:
    """True when the first word of a noun phrase tells how much or how big, not what."""
    if word == "of" or _QUANTITY.fullmatch(word) or word in _SIZES or word in _TEMPERATURE_WORDS:
        return True
    return (word in _DETERMINER and word not in _VAGUE) or (word.rstrip(".") in _UNITS and length > 1)


def _object_words(verb: str, rest: str) -> list[str]:
    words = rest.split()
    if words and words[0] in _PARTICLES.get(verb, frozenset()) and (len(words) > 1):
        words = words[1:]
    taken: list[str] = []
    for n, word in enumerate(words):
        bare = word.strip(",.;:").lower()
        if (
            bare in _PREPOSITION
            or bare in _STOPS
            or (bare in ("and", "or", "then") and _starts_verb(words[n + 1 :]))
        ):
            break
        if taken and bare in ("the", "a", "an") and taken[-1].lower() != "of":
            break
        taken.append(word.rstrip(",.;:"))
        if word[-1] in ",.;:" and not (re.match(r"^(?:small|short|clean|large|fresh|dry)$", bare)):
            # unless an enumeration of nouns goes on ("carrots, onion and garlic")
            if not any(w in ("and", "or") for w in words[n + 1 : n + 4]) or _starts_verb(words[n + 1 :]):
                break
            taken[-1] += ","
    return taken if not (taken and taken[-1].lower() in ("and", "or")) else taken[:-1]


def _starts_verb(words: list[str]) -> bool:
    if not words:
        return False
    first = words[0].strip(",.").lower()
    if first in ("then", "and"):
        return _starts_verb(words[1:])
    if first not in VERBS:
        return False
    after = words[1].strip(",").lower() if len(words) > 1 else ""
    return first not in _NOUNS_TOO or after in _DETERMINER or after[:1].isdigit() or not after


def _brief(verb: str, rest: str, noun: str) -> str | None:
    """Return what follows the verb in the brief form; None when the step cannot be named briefly."""
    if verb in ("use", "stop", "allow"):
        return None
    words = rest.split()
    particle = (
        f" {words[0]}" if words and words[0] in _PARTICLES.get(verb, frozenset()) and len(words) > 1 else ""
    )
    if noun and verb != "put":  # "put the sticker" is no sentence: "put" needs its place
        return f"{particle} the {noun}"
    if not rest.strip() or (
        verb in _INTRANSITIVE and words[0].strip(",").lower() in _PREPOSITION | _STOPS | {""}
    ):
        return ""
    if verb in _INTRANSITIVE and rest.startswith(", "):
        return ""
    plain = re.split(r"[,;]| (?:just )?(?:if|until|so|once|when) ", rest)[0]
    if re.search(r"\d|\b(?:low|medium|high|heat)\b", plain) or len(plain.split()) > 6:
        return None
    return plain
