"""What the texts of two steps say of their order: shared things, the same place, and what kind of work each is.

It knows a few kinds of work (fetching, preparing, adding, mixing, heating, waiting, finishing) and some vessels; all else
goes by words that steps share, in any language that sets words apart. Nothing here is a rule: ``order_weights`` learns what
each remark is worth.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from proctor.procedure.inflect import base_form, singular, word_set
from proctor.procedure.phrase import parse_phrase, render_step

__all__ = ["KINDS", "StepTexts"]

KINDS: Final[Mapping[str, frozenset[str]]] = {
    "fetch": word_set("""
        take get grab pick gather measure weigh prepare open unpack fetch collect select lay choose find"""),
    "prepare": word_set("""
        peel cut chop slice dice mince grate trim tear crack extract squeeze grind crush rinse wash dry pat pull puree
        spiralize shred halve core clean wipe sand drill bend fold line coat brush"""),
    "add": word_set("""
        add pour put place sprinkle season drizzle spread fill scoop spoon return load splash"""),
    "mix": word_set("mix stir whisk combine beat blend blitz toss shake knead swirl"),
    "heat": word_set("""
        heat microwave cook boil melt fry toast bake simmer saute roast preheat grill steam warm turn"""),
    "wait": word_set("""
        wait let allow cool rest stand set check continue keep stop cover seal remove flip drain lower drop chill"""),
    "finish": word_set("""
        serve garnish top transfer plate enjoy discard finish replace roll wrap secure store decorate"""),
}
"""Verbs by kind of work; any other verb is ``other``."""
_KIND_OF: Final = {verb: kind for kind, verbs in KINDS.items() for verb in verbs}

_VESSELS: Final = word_set("""
    bowl pan mug plate skillet cup blender pot kettle dish platter ramekin jar bag tray oven microwave board beaker
    flask tube vial""")
_EMPTY: Final = word_set("""
    the a an of to in on into onto with and or for from at it its until is are be by as each any this that them they you
    your if not when while then over off out up down all both about well more one two three four five six seven eight
    nine ten inch inches cup cups tbsp tsp teaspoon teaspoons tablespoon tablespoons minute minutes second seconds ounce
    ounces oz high medium low large small very so has have will should do does did no can may step steps clove cloves
    piece pieces content contents ingredient ingredients mixture""")
"""Words that name no thing."""

_TELLING: Final = 0.5
"""So many of the steps must say something before texts count at all."""


@dataclass(frozen=True, slots=True)
class _Words:
    verb: str
    kind: str
    things: frozenset[str]
    vessels: frozenset[str]
    done: frozenset[str]
    """Verbs whose participle describes a thing: "add the *chopped* cilantro"."""


def _read(text: str) -> _Words:
    verb = parse_phrase(text).verb
    things, vessels, done = set(), set(), set()
    for word in re.findall(r"[^\W\d_]+", render_step(text).lower()):
        if word in _EMPTY or len(word) < 3:
            continue
        base = base_form(word)
        if base and base != word and not word.endswith(("s", "ing")):
            done.add(base)
        one = singular(word)
        if (one or word) in _VESSELS:
            vessels.add(one or word)
        elif one or not base:
            things.add(one or word)
        elif base != verb and base not in _KIND_OF:
            things.add(base)
    return _Words(verb, _KIND_OF.get(verb, "other"), frozenset(things), frozenset(vessels), frozenset(done))


class StepTexts:
    """The texts of one activity.

    Args:
        texts: of the steps, by number.
        places: mean place of each step, which says whose mention of a thing is the next.

    Attributes:
        telling: whether the texts say anything: half of the steps have a verb that is known, or share a word with some other
            step but not with all.
        kinds: kind of work of each step.
    """

    def __init__(self, texts: Sequence[str], places: Sequence[float]) -> None:
        read = [_read(text) for text in texts]
        counts = Counter(word for words in read for word in words.things)
        general = {word for word, n in counts.items() if n == len(read) > 2}
        self._words = [
            _Words(w.verb, w.kind, w.things - general, w.vessels, w.done) if general else w for w in read
        ]
        self._counts = counts
        telling = [
            bool(w.verb) or any(counts[t] > 1 for t in w.things) or bool(w.vessels) for w in self._words
        ]
        self.telling = sum(telling) >= _TELLING * len(telling)
        self.kinds = [w.kind for w in self._words]
        self._order = sorted(range(len(read)), key=lambda i: (places[i], i))
        self._next_thing = self._mentions([w.things for w in self._words])
        self._next_vessel = self._mentions([w.vessels for w in self._words])
        self._first_in: dict[str, int] = {}
        self._last_of: dict[str, int] = {}
        for i in self._order:
            for vessel in self._words[i].vessels:
                self._first_in.setdefault(vessel, i)
            for thing in self._words[i].things:
                self._last_of[thing] = i

    def _mentions(self, words: Sequence[frozenset[str]]) -> frozenset[tuple[int, int]]:
        """Return pairs of steps of which the second is the next to mention some word of the first."""
        steps: dict[str, list[int]] = {}
        for i in self._order:
            for word in words[i]:
                steps.setdefault(word, []).append(i)
        return frozenset(pair for found in steps.values() for pair in pairwise(found))

    def kinship(self, a: int, b: int) -> dict[str, float]:
        """Return what ties step a to a later step b; remarks that do not apply are left out."""
        one, other = self._words[a], self._words[b]
        shared, vessels = one.things & other.things, one.vessels & other.vessels
        size = len(self._words)
        apart = not shared and not vessels
        first, second = one.kind, other.kind
        early = first in ("prepare", "fetch")
        made = bool(shared) and one.verb in other.done
        following = (a, b) in self._next_thing
        introduced = any(self._first_in[v] == a for v in vessels)
        remarks = {
            "shares": bool(shared),
            "only_these_two": any(self._counts[w] == 2 for w in shared),
            "made": made,
            "next": following,
            "same_vessel": bool(vessels),
            "other_vessel": bool(one.vessels and other.vessels) and not vessels,
            "later_names_nothing": not other.things,
            "earlier_names_nothing": not one.things,
            "same_verb": one.verb == other.verb != "",
            "both_add_here": bool(vessels) and first == second == "add",
            "both_add": not shared and first == second == "add",
            "both_prepare": not shared and early and second in ("prepare", "fetch"),
            "prepared_then_used": bool(shared) and early and second in ("add", "mix"),
            "prepared_for_other": not shared and early and second in ("add", "mix"),
            "added_then_worked": first == "add"
            and second in ("mix", "heat")
            and (bool(vessels) or not other.things),
            "worked_then_added": bool(vessels) and first in ("mix", "heat") and second == "add",
            "nothing": apart and bool(one.things and other.things),
            "brings_vessel": introduced,
            "next_in_vessel": bool(vessels) and (a, b) in self._next_vessel,
            "fetches_vessel": introduced and first == "fetch",
            "last_mention": not shared and any(self._last_of[w] == a for w in one.things),
            "prepared_further": bool(shared) and early and second in ("prepare", "fetch"),
            "made_next": made and following,
        }
        found = {name: 1.0 for name, holds in remarks.items() if holds}
        if shared:
            found["rarity"] = math.fsum(math.log(1 + size / self._counts[w]) for w in sorted(shared)) / (
                2 * math.log(1 + size / 2)
            )
        return found
