"""The rule-based generator: questions and answers from the facts of an example, without a model.

Every answer follows from the task graph or from the annotations; what is not certain is not asked. The wording is
drawn with a generator seeded by the run seed and the example's id, so the result of one example depends on nothing
else.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from proctor.ask.moment.ask_missing import missing_options
from proctor.ask.moment.ask_mistake import mistake_options
from proctor.ask.moment.ask_next import next_options
from proctor.ask.moment.ask_order import order_options
from proctor.ask.moment.candidate import Answer, Candidate, Generator, Provenance
from proctor.ask.moment.facts import GraphView, Moment, UncertainError
from proctor.ask.moment.forms import following, missing, mistakes, order
from proctor.ask.moment.forms.form import Form, Rendered, forms_of, missing_slots, render_question
from proctor.ask.moment.say import Option, tidy
from proctor.errors import UserError
from proctor.exam.kinds.example import QUESTION_TYPES, STEP_TYPES, Example
from proctor.procedure.graph import TaskGraph
from proctor.procedure.language import find_faults
from proctor.records import Dropped, content_hash

__all__ = ["FORMS", "VERSION", "RuleGenerator", "flaws", "generate_candidates"]

VERSION: Final = "2"
"""Part of provenance; goes up when the same seed may give other candidates."""

FORMS: Final[Mapping[str, tuple[Form, ...]]] = {
    intent: forms_of(intent, style, templates)
    for table in (following.FORMS, missing.FORMS, order.FORMS, mistakes.FORMS)
    for intent, (style, templates) in table.items()
}
"""Every surface form by intent."""

_OPTIONS: Final[Mapping[str, Callable[[Moment], Iterator[Option]]]] = {
    "next": next_options,
    "missing": missing_options,
    "order": order_options,
    **dict.fromkeys(STEP_TYPES, mistake_options),
}
_ATTEMPTS: Final = 8


class RuleGenerator:
    """Implements ``Generator`` by rules.

    Args:
        seed: of the run; the same seed gives the same candidates, whatever the order of the examples.
        per_example: how many candidates with different forms to make of one example, where there are as many.

    Raises:
        UserError: if ``per_example`` is less than 1.
    """

    def __init__(self, seed: int = 0, per_example: int = 1) -> None:
        if per_example < 1:
            raise UserError(f"{per_example} candidates per example were asked for.", hint="ask for 1 or more")
        self.seed = seed
        self.per_example = per_example
        self._views: dict[int, GraphView] = {}

    @property
    def name(self) -> str:
        """Name for provenance."""
        return "rules"

    def generate(self, example: Example, graph: TaskGraph) -> Iterator[Candidate]:
        """Yield the candidates of one example.

        Raises:
            UncertainError: if nothing certain can be asked; ``reason`` says why.
        """
        asker = _OPTIONS.get(example.type)
        if asker is None:
            raise UncertainError("unknown_type", f"'{example.type}' is none of {', '.join(QUESTION_TYPES)}")
        moment = Moment(example, self._view(graph))
        options = list(asker(moment))
        digest = hashlib.sha256(f"{self.seed}\n{example.id}".encode()).digest()
        rng = random.Random(int.from_bytes(digest[:8]))  # noqa: S311
        example_hash = content_hash(example)
        used: set[str] = set()
        rejected = ""
        for _ in range(_ATTEMPTS * self.per_example):
            if len(used) == self.per_example or not options:
                break
            ask = rng.choices(options, weights=[o.weight for o in options])[0].make(rng)
            if ask is None or not ask.answers:
                continue
            forms = [f for f in FORMS[ask.intent] if f.id not in used and not missing_slots(f, ask.slots)]
            if not forms:
                continue
            started = moment.progress.state == "started"
            rendered = render_question(rng.choice(forms), ask.slots, rng, started=started)
            question = tidy(rendered.question)
            rejected = flaws(question, ask.answers)
            if not rejected:
                used.add(rendered.form.id)
                yield self._candidate(example, example_hash, question, ask.answers, rendered)
        if not used:
            raise UncertainError(
                "unreadable" if rejected else "nothing_certain",
                rejected or f"no fact to ask for ({example.type})",
            )

    def _view(self, graph: TaskGraph) -> GraphView:
        view = self._views.get(id(graph))
        if view is None or view.graph is not graph:
            view = self._views[id(graph)] = GraphView(graph)
        return view

    def _candidate(
        self,
        example: Example,
        example_hash: str,
        question: str,
        answers: tuple[Answer, ...],
        rendered: Rendered,
    ) -> Candidate:
        key = hashlib.sha256(f"{self.seed}\n{rendered.form.id}\n{question}".encode()).hexdigest()[:10]
        return Candidate(
            id=f"{example.id}__rules-{key}",
            example_id=example.id,
            recording_id=example.recording_id,
            type=example.type,
            question=question,
            answers=answers,
            provenance=Provenance(
                generator=self.name,
                version=VERSION,
                seed=self.seed,
                form=rendered.form_id,
                example_hash=example_hash,
                details={"style": rendered.form.style, "level": rendered.form.level},
            ),
        )


# -- the last check ----------------------------------------------------------------------------------------------

_PLACEHOLDER = re.compile(r"[{}]|<\w+>|\[\w*\]|\b(?:START|END|None|null|NaN|TODO)\b(?!,|\.)")
_DOUBLED = re.compile(r"[.,;:?!]\s*[.,;:?!]|  |\b(the|a|an|to|you|of) \1\b", re.I)
_MAX_QUESTION: Final = 400


def flaws(question: str, answers: Iterable[Answer]) -> str:
    """Return what keeps a candidate from being shown to people; empty when nothing does."""
    texts = [question, *(a.text for a in answers)]
    for text in texts:
        if _PLACEHOLDER.search(text):
            return f"placeholder: {text}"
        if _DOUBLED.search(text):
            return f"doubled: {text}"
    for text in texts:
        for fault in find_faults(text):
            return str(fault)
    if not question.endswith("?"):
        return f"no question mark: {question}"
    if len(question) > _MAX_QUESTION:
        return f"too long: {question[:80]}…"
    bare = [t.lower().strip(" .!") for t in texts]
    if any(len(a.split()) > 2 and a in bare[0] for a in bare[1:]) and "next.choice" not in question:
        return "" if " or " in question else f"the question holds its answer: {question}"
    return ""


def generate_candidates(
    examples: Iterable[Example],
    graphs: Mapping[str, TaskGraph],
    generator: Generator,
    *,
    seen: Callable[[], None] | None = None,
) -> Iterator[Candidate | Dropped]:
    """Yield the candidates of all examples in order, and the examples that gave none, with the reason.

    Reasons: ``no_graph``, ``unknown_type``, ``unknown_step``, ``no_step_text``, ``facts_disagree``, ``nothing_certain``,
    ``unreadable``. ``seen`` is called once for each example.
    """
    for example in examples:
        graph = graphs.get(example.activity_id)
        if graph is None:
            yield Dropped(example.id, "no_graph", f"no task graph for activity '{example.activity_id}'")
        else:
            try:
                yield from generator.generate(example, graph)
            except UncertainError as error:
                yield Dropped(example.id, error.reason, error.detail)
        if seen is not None:
            seen()
