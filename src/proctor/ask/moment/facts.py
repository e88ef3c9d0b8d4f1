"""The facts of one example, arranged for asking: what is next, missing, done and not yet due, each with its wording.

Steps with the same wording cannot be told apart in a sentence, so facts are kept in *classes*: one wording with all
the step ids that have it. A class may be used for a claim only when the claim holds for every step that a listener
could mean by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from proctor.exam.kinds.example import Example, Performed
from proctor.procedure.graph import TaskGraph
from proctor.procedure.inflect import base_form, word_set
from proctor.procedure.phrase import Phrase, parse_phrase
from proctor.procedure.progress import Progress, progress_after

__all__ = ["GROUPS", "GraphView", "Moment", "StepClass", "UncertainError", "stems", "word_set"]


class UncertainError(ValueError):
    """The facts of an example contradict each other or the graph, so nothing can be asked. ``reason`` is counted."""

    def __init__(self, reason: str, detail: str) -> None:
        self.reason = reason
        self.detail = detail
        super().__init__(f"{reason}: {detail}")


GROUPS: Final[Mapping[str, frozenset[str]]] = {
    "add": frozenset(
        ("add", "pour", "sprinkle", "drizzle", "splash", "season", "top", "garnish", "crack", "stir in")
    ),
    "cut": frozenset(
        ("cut", "chop", "slice", "mince", "dice", "trim", "peel", "tear", "grate", "spiralize", "shred")
    ),
    "heat": word_set("heat cook microwave boil fry saute toast melt simmer bake roast grill blanch"),
    "attach": frozenset(
        ("attach", "screw", "mount", "fasten", "bolt", "fix", "join", "connect", "insert", "clip", "glue")
    ),
    "remove": frozenset(("remove", "detach", "unscrew", "disconnect", "discard", "drain")),
}
"""Verbs that people would count under one question ("What should I add next?")."""

BORDERS: Final[Mapping[str, frozenset[str]]] = {
    "add": word_set(
        "place put transfer spread fill spoon coat brush line scoop mix combine fold return insert load pipette dispense "
        "squeeze cover lay melt"
    ),
    "cut": word_set("crush break split pull remove puree blend grind open extract halve crack"),
    "heat": word_set("warm brew turn return lower light thaw steam dry cool set preheat"),
    "attach": word_set("place put secure position slide press fit line set tighten lay assemble plug"),
    "remove": word_set("take pull empty transfer"),
}
"""Verbs of which it is unclear whether they belong to the group; with one of them about, the group is not asked for."""

_TOOL_VERBS: Final = word_set("use clean wipe wash turn switch set heat")

_DENIED = re.compile(r"\b(?:not|no|never|without|instead|don'?t|didn'?t|isn'?t)\b", re.IGNORECASE)
"""In a performed text: something was not done as its other words say."""

_STOPWORDS: Final = word_set("the a an of to in on into onto with and or for from until it is")
_IMPLICIT: Final = word_set(
    "content mixture ingredient bowl mug pan plate pot cup skillet tube blender microwave platter "
    "dish batter sauce wrap sample solution assembly part thing vegetable everything "
)
"""Heads of objects that may stand for anything that went in before, so that no noun is safely out of scope."""


@lru_cache(maxsize=65_536)
def stems(text: str) -> frozenset[str]:
    """Return the content words of a text in a rough stem: lower case, without plural s."""
    words = re.findall(r"[a-z0-9/.]*[a-z0-9]", text.lower())
    return (
        frozenset(w[:-1] if len(w) > 3 and w.endswith("s") and not w.endswith("ss") else w for w in words)
        - _STOPWORDS
    )


@dataclass(frozen=True, slots=True)
class StepClass:
    """All steps of a kind (next, missing, …) that have the same wording."""

    ids: tuple[str, ...]
    phrase: Phrase
    words: frozenset[str]
    optional: bool = False

    @property
    def key(self) -> str:
        """What makes two steps sound the same."""
        return self.phrase.imperative.lower()

    def acts_as(self, group: str) -> bool:
        """True when the main verb or a further verb of the step belongs to the group."""
        return group in _groups_of(self.phrase.imperative)

    def may_act_as(self, group: str) -> bool:
        """True when people could disagree whether the step belongs to the group ("put" for adding)."""
        return group in _borders_of(self.phrase.imperative)

    @property
    def is_explicit(self) -> bool:
        """True when the step names all that it acts on, so that other nouns are safely out of its scope."""
        return _is_explicit(self.phrase.object)


@lru_cache(maxsize=65_536)
def _groups_of(imperative: str) -> frozenset[str]:
    words = imperative.lower().replace(",", " ").split()
    verbs = {
        base_form(w)
        for n, w in enumerate(words)
        if n == 0 or words[n - 1] in ("and", "or", "then") or words[0].endswith("ly")
    }
    return frozenset(name for name, members in GROUPS.items() if members & verbs)


@lru_cache(maxsize=65_536)
def _borders_of(imperative: str) -> frozenset[str]:
    verbs = {base_form(w) for w in imperative.lower().replace(",", " ").split()}
    return frozenset(name for name, members in BORDERS.items() if (members | GROUPS[name]) & verbs)


@lru_cache(maxsize=65_536)
def _is_explicit(thing: str) -> bool:
    return bool(thing) and not (stems(thing) & _IMPLICIT)


class GraphView:
    """What is the same for every moment of an activity: wording and stems of each step."""

    def __init__(self, graph: TaskGraph) -> None:
        self.graph = graph
        self.phrases: dict[str, Phrase] = {s.id: parse_phrase(s.text) for s in graph.actions}
        self.words: dict[str, frozenset[str]] = {i: stems(p.imperative) for i, p in self.phrases.items()}
        everything = self.classes(self.phrases)
        self.groups: frozenset[str] = frozenset(g for c in everything for g in GROUPS if c.acts_as(g))
        tools = [
            stems(c.phrase.object) for c in everything if c.phrase.verb in _TOOL_VERBS and c.phrase.object
        ]
        self.things: tuple[str, ...] = tuple(
            sorted(
                {
                    c.phrase.object
                    for c in everything
                    if c.is_explicit and not any(stems(c.phrase.object) & tool for tool in tools)
                }
            )
        )
        self.unnamed = tuple(s.id for s in graph.actions if not re.search(r"\w", s.text))

    def classes(self, step_ids: Iterable[str]) -> tuple[StepClass, ...]:
        """Group steps by wording, in the given order."""
        grouped: dict[str, list[str]] = {}
        for i in step_ids:
            grouped.setdefault(self.phrases[i].imperative.lower(), []).append(i)
        return tuple(
            StepClass(
                tuple(ids),
                self.phrases[ids[0]],
                self.words[ids[0]],
                all(self.graph[i].optional for i in ids),
            )
            for ids in grouped.values()
        )


class Moment:
    """One example together with its graph.

    Args:
        example: the moment.
        view: its activity.

    Raises:
        UncertainError: a step that the graph does not have or that has no text, or facts that contradict the graph.
    """

    def __init__(self, example: Example, view: GraphView) -> None:
        self.example = example
        self.view = view
        self.graph = view.graph
        if view.unnamed:
            raise UncertainError("no_step_text", f"steps without text: {', '.join(view.unnamed)}")
        self.history = tuple(
            p.step_id for p in example.performed if p.step_id not in (self.graph.start, self.graph.end)
        )
        unknown = [i for i in self.history if i not in view.phrases]
        if unknown:
            raise UncertainError("unknown_step", f"not in the task graph: {', '.join(unknown)}")
        self.progress: Progress = progress_after(self.graph, example.performed)
        self._check_facts()

    def _check_facts(self) -> None:
        """The example's own sets must be those of the graph; otherwise one of the two is wrong."""
        given = {"next": self.example.next_steps, "missing": self.example.missing_steps}
        derived = {"next": self.progress.next, "missing": self.progress.missing}
        for name, refs in given.items():
            if refs is not None and {r.step_id for r in refs} != set(derived[name]):
                seen = ", ".join(r.step_id for r in refs) or "none"
                raise UncertainError(
                    "facts_disagree", f"{name}: {seen}, by the graph {', '.join(derived[name]) or 'none'}"
                )
        if self.example.state != self.progress.state:
            raise UncertainError(
                "facts_disagree", f"state: {self.example.state}, by the graph {self.progress.state}"
            )

    # -- sets of steps ---------------------------------------------------------------------------------------

    @cached_property
    def next(self) -> tuple[StepClass, ...]:
        """What may be done now."""
        return self.view.classes(self.progress.next)

    @cached_property
    def due(self) -> tuple[StepClass, ...]:
        """What may be done now with nothing missing before it, however far up."""
        missing = set(self.progress.missing)
        return tuple(c for c in self.next if any(not missing & set(self.graph.ancestors(i)) for i in c.ids))

    @cached_property
    def required(self) -> tuple[StepClass, ...]:
        """What may be done now and has to be done some time."""
        return tuple(c for c in self.next if not c.optional)

    @property
    def all_done(self) -> bool:
        """True when every step stands done, optional ones included."""
        return not self.undone

    @cached_property
    def missing(self) -> tuple[StepClass, ...]:
        """What should have been done before something that was done."""
        return self.view.classes(self.progress.missing)

    @cached_property
    def repairs(self) -> tuple[StepClass, ...]:
        """Missing steps that can be made up for right now: nothing else has to come before them."""
        missing = set(self.progress.missing)
        return self.view.classes(
            i for i in self.progress.missing if not missing & set(self.graph.ancestors(i))
        )

    @cached_property
    def _passed(self) -> tuple[str, ...]:
        start = self.graph.start
        return self.progress.done if start is None else (start, *self.progress.done)

    @cached_property
    def undone(self) -> tuple[str, ...]:
        """Ids of all steps not done yet, in file order."""
        done = set(self.progress.done)
        return tuple(s.id for s in self.graph.actions if s.id not in done)

    @cached_property
    def later(self) -> tuple[StepClass, ...]:
        """Steps that are neither due nor missing, and sound like nothing that is done, due or missing."""
        taken = set(self.progress.next) | set(self.progress.missing)
        above = {
            a for i in self.progress.done for a in self.graph.ancestors(i)
        }  # optional steps that were left out
        ids = [i for i in self.undone if i not in taken | above]
        return self._distinct(ids, [*self.progress.done, *taken])

    @cached_property
    def done_well(self) -> tuple[StepClass, ...]:
        """Steps done without any mistake, before the current one, that sound like nothing still to be done."""
        flawed = {p.step_id for p in self.example.performed if p.mistakes}
        current = self.example.current.step_id if self.example.current is not None else None
        ids = [i for i in self.progress.done if i not in flawed and i != current]
        return self._distinct(ids, self.undone)

    def _distinct(self, ids: Iterable[str], others: Iterable[str]) -> tuple[StepClass, ...]:
        """Classes of ``ids`` that cannot be mistaken for one of ``others``: no wording contains the other's words."""
        rivals = [self.view.words[o] for o in others]
        return tuple(
            c for c in self.view.classes(ids) if not any(c.words <= r or r <= c.words for r in rivals)
        )

    def is_untouched(self, thing: str) -> bool:
        """True when no step that mentions the thing has been done."""
        words = stems(thing)
        return not any(words & self.view.words[i] for i in self.history)

    def is_clear(self, chosen: StepClass) -> bool:
        """True when no step outside the class sounds like it (its words contain those of the other or reverse)."""
        others = (w for i, w in self.view.words.items() if i not in chosen.ids)
        return not any(chosen.words <= w or w <= chosen.words for w in others)

    def unmet(self, step_id: str) -> tuple[StepClass, ...]:
        """What has to be done first, and can be done now, before this step can be."""
        actionable = set(self.graph.ready(self._passed))
        return self.view.classes(self._needed(i for i in self.graph.ancestors(step_id) if i in actionable))

    def _needed(self, ids: Iterable[str]) -> list[str]:
        """Those of the steps that somebody performs and has to perform."""
        return [i for i in ids if i in self.view.phrases and not self.graph[i].optional]

    def dependent(self, missing: StepClass) -> StepClass | None:
        """The latest thing that was done although this had to come first; direct dependents are preferred."""
        direct = {s for i in missing.ids for s in self.graph.successors(i)}
        below = {s for i in missing.ids for s in self.graph.descendants(i)}
        for pool in (direct, below):
            found = [i for i in self.progress.done if i in pool]
            if found:
                return self.view.classes(found[-1:])[0]
        return None

    # -- the current step ------------------------------------------------------------------------------------

    @property
    def current(self) -> Performed | None:
        """The step just performed."""
        return self.example.current

    @cached_property
    def current_class(self) -> StepClass | None:
        """The current step as the procedure words it."""
        current = self.example.current
        if current is None or current.step_id not in self.view.phrases:
            return None
        return self.view.classes([current.step_id])[0]

    @cached_property
    def current_brief(self) -> Phrase | None:
        """Wording of the current step for use in questions; None when it would be false or give something away.

        The brief wording names verb and object only. When the person did something else than the instruction
        says, both must still be true of what was done.
        """
        current, known = self.example.current, self.current_class
        if current is None or known is None or not known.phrase.brief:
            return None
        phrase = known.phrase
        needed = stems(phrase.object) | {phrase.verb}
        if current.text.strip() and current.text != self.graph[current.step_id].text:
            seen = {base_form(w) or w for w in re.findall(r"[a-z]+", current.text.lower())} | stems(
                current.text
            )
            if not needed <= seen or _DENIED.search(current.text):
                return None
        denied = [
            t.lower().split("instead of", 1)[1]
            for m in current.mistakes
            for t in [m.text]
            if "instead of" in t.lower()
        ]
        if any(needed & ({base_form(w) or w for w in re.findall(r"[a-z]+", d)} | stems(d)) for d in denied):
            return None
        return phrase

    def slots(self, **more: str) -> dict[str, str]:
        """Slots of a form: the wordings of the current step, where it has any, and ``more``."""
        brief = self.current_brief
        if brief is None:
            return more
        return {
            "current_past": brief.brief_past,
            "current_gerund": brief.brief_gerund,
            "current_participle": brief.brief_participle,
            **more,
        }

    @cached_property
    def before_current(self) -> tuple[StepClass, ...]:
        """Prerequisites of the current step, implied ones included, that were not done before it."""
        current = self.example.current
        if current is None or current.step_id not in self.view.phrases:
            return ()
        earlier = progress_after(self.graph, self.example.previous).done
        return self.view.classes(
            self._needed(i for i in self.graph.ancestors(current.step_id) if i not in earlier)
        )

    @cached_property
    def overtaken_by(self) -> tuple[StepClass, ...]:
        """Steps done before the current one although the current one had to come first."""
        current = self.example.current
        if current is None or current.step_id not in self.view.phrases:
            return ()
        if current.step_id in {p.step_id for p in self.example.previous}:
            return ()
        below = set(self.graph.descendants(current.step_id))
        return self.view.classes(
            dict.fromkeys(p.step_id for p in self.example.previous if p.step_id in below)
        )
