"""Which step of the graph a piece of text speaks of.

A step is recognised by its own words, weighted by how rare they are among the steps of its graph (a word that
every step holds identifies none), by words of the same family at a discount, and by how much of the text it
explains. Words that no step knows count against every step: they are how a made-up instruction shows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from proctor.procedure.graph import TaskGraph
from proctor.procedure.phrase import render_step
from proctor.verify.oracle.text import (
    Quantity,
    concepts,
    content,
    find_quantities,
    is_talk,
    is_tool,
    normalise,
)

__all__ = ["Match", "Reading", "StepIndex"]

FAMILY: Final = 0.6
"""Worth of a word of the same family, against 1 for the same word."""
TALK: Final = 0.25
"""Worth of words such as "continue" where a step text holds them."""
OTHER_VERB: Final = 0.5
"""Worth of an unknown word that says what is done, not to what: verbs are paraphrased more freely than things."""
DETAIL: Final = 0.35
"""Worth of words in brackets or behind "until" in a step text: people leave them out."""
NEEDED_DETAIL: Final = 0.8
"""The same where the step text holds hardly anything else."""
ASIDE: Final = 0.6
"""Worth of such a word for explaining a text: "microwave it" does not mean "... after the microwave stops"."""
IN_FULL: Final = 0.55
"""Score of a step that is named in full, however much else is said."""
ENOUGH: Final = 0.42
"""A step that scores less is not recognised."""
QUANTITY: Final = 0.12
"""Bonus for a step that holds one of the stated quantities."""
ACTION: Final = 0.1
"""Bonus for a step whose action, the first word of its text, is among the words of the text."""
OBJECT: Final = 0.08
"""Bonus for a step whose action and the word behind it stand side by side in the text."""
LEFTOVER: Final = 0.25
"""Share of the text's weight from which a further step is looked for in what is left unexplained."""
TIE: Final = 0.06
"""Steps within this distance of the best are as good as it."""

_DETAIL = re.compile(r"\([^)]*\)|\b(?:until|so that|about)\b.*|(?<=[a-z]{2})[.;] .*")
_INDIRECT = re.compile(r"(?<=[a-z] )(?:to|into|in|on|onto|over|with|from|at|for|of|until|off|by)\b")
"""What stands behind the thing that a step is done to."""


@dataclass(frozen=True, slots=True)
class Match:
    """A recognised step, its score in [0, 1], and the steps that fit about as well (itself included)."""

    step_id: str
    score: float
    alternatives: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What was recognised in a text.

    Attributes:
        matches: the best first.
        foreign: share of the content weight in words that the procedure does not know, in [0, 1].
        foreign_words: these stems.
        weight: content weight of the text.
    """

    matches: tuple[Match, ...]
    foreign: float
    foreign_words: tuple[str, ...]
    weight: float


@dataclass(frozen=True, slots=True)
class _Profile:
    step_id: str
    stems: dict[str, float]
    families: dict[int, frozenset[str]]
    total: float
    typical: float
    action: str
    opening: frozenset[str]


class StepIndex:
    """The steps of one graph, ready to be recognised; built once a graph."""

    def __init__(self, graph: TaskGraph) -> None:
        self.graph = graph
        texts = {s.id: normalise(render_step(s.text)) for s in graph.actions}
        raw = {i: self._stems(t) for i, t in texts.items()}
        count = max(1, len(raw))
        self._seen: dict[str, int] = {}
        for stems in raw.values():
            for word in stems:
                self._seen[word] = self._seen.get(word, 0) + 1
        self._rare = math.log(1 + count)
        self.weights = {
            w: math.log(1 + count / n) * (TALK if is_talk(w) else 1) for w, n in self._seen.items()
        }
        self._profiles = tuple(self._profile(i, stems) for i, stems in raw.items())
        self._actions = {p.step_id: p.action for p in self._profiles}
        self._direct = {i: frozenset(content(_INDIRECT.split(t, maxsplit=1)[0])) for i, t in texts.items()}
        self._families = frozenset(f for w in self.weights for f in concepts(w))
        self.quantities = {i: frozenset(find_quantities(t)) for i, t in texts.items()}
        held = [q for quantities in self.quantities.values() for q in quantities]
        # "let it sit for 10 seconds": where one step alone holds a measured quantity, it helps to recognise the step
        self._telling = frozenset(q for q in held if q.unit and held.count(q) == 1)
        self._speaking: dict[str, frozenset[str]] = {}
        self.stems_of = {i: frozenset(stems) for i, stems in raw.items()}

    @staticmethod
    def _stems(text: str) -> dict[str, float]:
        main = set(content(_DETAIL.sub(" ", text)))
        every = content(text)
        # "cook until brown": where little else is said, the detail is what tells the step from others
        share = DETAIL if sum(not is_talk(w) for w in main) > 1 else NEEDED_DETAIL
        return {w: 1.0 if w in main else share for w in every}

    def _profile(self, step_id: str, stems: dict[str, float]) -> _Profile:
        weighted = {w: self.weights[w] * share for w, share in stems.items()}
        main = [w for w, share in stems.items() if share == 1.0]
        families = {f: frozenset(w for w in main if f in concepts(w)) for v in main for f in concepts(v)}
        total = sum(weighted.values()) or 1.0
        action, opening = next(iter(stems), ""), frozenset(list(stems)[:2])
        return _Profile(step_id, weighted, families, total, total / max(1, len(weighted)), action, opening)

    def knows(self, word: str) -> bool:
        """True when a stem, or a word of its family, occurs in the steps."""
        return word in self.weights or bool(concepts(word) & self._families)

    def weigh(
        self, stems: Iterable[str], extra: frozenset[str] = frozenset(), actions: frozenset[str] = frozenset()
    ) -> dict[str, float]:
        """Return the content weight of each stem; talk about procedures that no step holds weighs nothing."""
        weighted: dict[str, float] = {}
        # an action that the lexicon knows and no step holds is another action; one it does not know may be any
        strange = frozenset(w for w in actions if not concepts(w))
        for word in stems:
            known = self.weights.get(word)
            if known is not None:
                weighted[word] = known
            elif not is_talk(word) and len(word) > 1:
                loose = word in extra or word in strange or is_tool(word)
                weighted[word] = self._rare * (OTHER_VERB if loose else 1.0)
        return weighted

    def read(
        self,
        stems: Sequence[str],
        extra: frozenset[str] = frozenset(),
        stated: frozenset[Quantity] = frozenset(),
        limit: int = 6,
        actions: frozenset[str] = frozenset(),
    ) -> Reading:
        """Recognise steps in the stems of a text, greedily: the best step first, then what it left unexplained.

        Args:
            stems: content stems, in order.
            extra: stems that are known from elsewhere (what was really done), which are never foreign.
            stated: quantities of the text; they tell apart steps that differ in nothing else.
            limit: the largest number of steps to recognise.
            actions: stems that say what is done; unknown ones count less against a step than unknown things.
        """
        weighted = self.weigh(stems, extra, actions)
        if all(is_talk(w) for w in weighted):
            return Reading((), 0.0, (), 0.0)
        total = sum(weighted.values())
        foreign = tuple(w for w in weighted if not self.knows(w) and w not in extra and not is_tool(w))
        left, matches, taken = dict(weighted), list[Match](), set[str]()
        while left and len(matches) < limit:
            best = self._best(left, taken, stated)
            if best is None:
                break
            matches.append(best)
            taken.update(best.alternatives)
            profile = next(p for p in self._profiles if p.step_id == best.step_id)
            rest = {
                w: v
                for w, v in left.items()
                if w not in profile.stems and not concepts(w) & profile.families.keys()
            }
            if len(rest) == len(left) or sum(rest.values()) < LEFTOVER * total:
                break
            left = rest
        share = sum(weighted[w] for w in foreign) / total if total else 0.0
        return Reading(tuple(matches), share, foreign, total)

    def _best(self, weighted: dict[str, float], taken: set[str], stated: frozenset[Quantity]) -> Match | None:
        order = list(weighted)
        pairs = frozenset(frozenset(pair) for pair in pairwise(order))
        words = [(w, weight, concepts(w)) for w, weight in weighted.items()]
        total = sum(weighted.values())
        scored = [
            (self._score(words, weighted, total, p) + self._bonus(weighted, pairs, p, stated), p)
            for p in self._profiles
            if p.step_id not in taken
        ]
        if not scored:
            return None
        top, best = max(scored, key=lambda pair: pair[0])
        if top < ENOUGH + self._bonus(weighted, pairs, best, stated - self._telling):
            return None
        told = _explained(words, best)
        # "stir it": where nothing but the action is named, every step that is done so fits
        bare = told == {best.action}
        close = tuple(
            p.step_id
            for score, p in scored
            if (score >= top - TIE and 2 * len(_explained(words, p) & told) >= len(told))
            or (bare and p.action == best.action)
        )
        return Match(best.step_id, min(1.0, top), close)

    def _bonus(
        self,
        weighted: dict[str, float],
        pairs: frozenset[frozenset[str]],
        profile: _Profile,
        stated: frozenset[Quantity],
    ) -> float:
        """Signs that decide between steps, but recognise none by themselves."""
        bonus = QUANTITY if stated & self.quantities[profile.step_id] else 0.0
        if profile.action not in weighted:
            return bonus
        return bonus + ACTION + (OBJECT if profile.opening in pairs else 0.0)

    @staticmethod
    def _score(
        words: Sequence[tuple[str, float, frozenset[int]]],
        weighted: dict[str, float],
        total: float,
        profile: _Profile,
    ) -> float:
        """Mean of how much of the text the step explains and how much of the step the text names.

        A step that is named in full is recognised in a long text as well, where it explains only a part.
        """
        explained = named = exact = 0.0
        stems, known, typical = profile.stems, profile.families, profile.typical
        named_words = weighted.keys()
        for word, weight, families in words:
            own = stems.get(word)
            if own is not None:
                explained += weight if own >= weight else ASIDE * weight
                named += own
                exact += own
            elif families and any(f in known and not known[f] <= named_words for f in families):
                # "beat the mixture": what "mixture" stands for is not "beat" as well
                explained += FAMILY * weight
                named += FAMILY * min(weight, typical)
        if not total:
            return 0.0
        score = 0.6 * explained / total + 0.4 * min(1.0, named / profile.total)
        in_full = exact / profile.total if len(stems) > 1 else 0.0
        return max(score, IN_FULL * in_full) if in_full > 0.8 else score

    def action_of(self, step_id: str) -> str:
        """Return the stem of what is done in a step; empty when its text has no content."""
        return self._actions[step_id]

    def does(self, word: str) -> bool:
        """True when a stem is what is done in one of the steps."""
        return word in self._actions.values()

    def acts(self, step_id: str, actions: frozenset[str]) -> bool:
        """True when a step is done with one of these verbs, or with one of the same family."""
        own = self._actions[step_id]
        return own in actions or any(concepts(own) & concepts(w) for w in actions)

    def does_to(self, step_id: str, stems: Iterable[str]) -> bool:
        """True when these stems hold the verb of a step and the very thing that it is done to."""
        held = frozenset(stems)
        things = {w for w in held & self._direct[step_id] if w != self._actions[step_id]}
        return bool(things) and self.acts(step_id, held - things)

    def objects_of(self, step_id: str) -> frozenset[str]:
        """Return the stems of what a step is done to, without where, with what or until when."""
        return self._direct[step_id] - {self._actions[step_id]}

    def things_of(self, step_id: str) -> frozenset[str]:
        """Return the stems of a step without its verb."""
        return self.stems_of[step_id] - {self._actions[step_id]}

    def speaking_of(self, word: str) -> frozenset[str]:
        """Return the steps that hold a stem or a word of its family."""
        held = self._speaking.get(word)
        if held is None:
            families = concepts(word)
            held = frozenset(
                i
                for i, stems in self.stems_of.items()
                if word in stems or any(families & concepts(s) for s in stems)
            )
            if len(self._speaking) < 10_000:
                self._speaking[word] = held
        return held


def _explained(words: Sequence[tuple[str, float, frozenset[int]]], profile: _Profile) -> frozenset[str]:
    return frozenset(
        w for w, _, families in words if w in profile.stems or families & profile.families.keys()
    )
