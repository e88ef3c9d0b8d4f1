"""What can be asked about forgotten steps, and the answers that the task graph gives."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Final

from proctor.ask.moment.candidate import Answer
from proctor.ask.moment.facts import Moment, StepClass, stems, word_set
from proctor.ask.moment.say import Ask, Option, answer, distinct, one_of

__all__ = ["IRREVERSIBLE", "missing_options"]

IRREVERSIBLE: Final = word_set(
    "cook microwave boil fry saute toast bake roast grill simmer blend blitz grind puree melt brew "
    "freeze glue weld solder drill saw mince grate rivet dilute "
)
"""Verbs whose result cannot be taken back: what should have come before them calls for starting over."""

_MANY: Final = 6
"""With more missing steps than this, each is named once only."""

_NUMBERS: Final = ("None", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")


def missing_options(moment: Moment) -> Iterator[Option]:
    """Yield every intent of a ``missing`` question that is certain at this moment."""
    yield Option(
        6, lambda rng: Ask("missing.any", moment.slots(), _forgotten(moment, rng, moment.missing, "Yes, "))
    )
    yield Option(
        4, lambda rng: Ask("missing.what", moment.slots(), _forgotten(moment, rng, moment.missing, ""))
    )
    yield Option(3, lambda rng: Ask("missing.complete", moment.slots(), _complete(moment, rng)))
    if moment.current_brief is not None:
        yield Option(2, lambda rng: _before_current(moment, rng))
    if moment.missing:
        yield Option(3, lambda rng: _did_forget(moment, rng))
        yield Option(1, lambda rng: _choice(moment, rng))
    if moment.done_well:
        yield Option(1 if moment.missing else 2, lambda rng: _did_do(moment, rng))
    if moment.later or moment.next:
        yield Option(1, lambda rng: _not_yet(moment, rng))
    if len(moment.missing) <= 3:
        yield Option(1, lambda rng: _count(moment, rng))
    yield Option(2, lambda rng: _group(moment, rng))
    yield Option(2, lambda rng: _object(moment, rng))


# -- open questions ----------------------------------------------------------------------------------------------


def _forgotten(
    moment: Moment, rng: random.Random, steps: Sequence[StepClass], yes: str
) -> tuple[Answer, ...]:
    """Answers to "Did I forget anything?" (``yes`` = "Yes, ") and "What did I forget?" (``yes`` = "")."""
    if not steps:
        return _nothing_missing(moment, rng, "No, " if yes else "Nothing, ")
    answers = [_you_forgot(rng, c, yes) for c in steps]
    if len(steps) <= _MANY:
        answers += [a for c in steps for a in _remedies(moment, c, yes)]
    return distinct(answers)


def _you_forgot(rng: random.Random, step: StepClass, lead: str) -> Answer:
    p = step.phrase
    text = one_of(
        rng, f"you forgot to {p.imperative}", f"you should have {p.participle}", f"you didn't {p.imperative}"
    )
    return answer(f"{lead}{text}", "direct", step.ids)


def _remedies(moment: Moment, step: StepClass, lead: str) -> Iterator[Answer]:
    """A suggestion for what can be made up for now, an intervention where something was done that cannot be undone."""
    after = moment.dependent(step)
    if (
        after is not None
        and after.phrase.verb in IRREVERSIBLE
        and any(a in moment.graph.successors(b) for b in step.ids for a in after.ids)
    ):
        text = f"you have to start over from there, because you {after.phrase.past} before you had {step.phrase.participle}"
        yield answer(f"{lead}{text}", "intervention", (*step.ids, *after.ids))
    elif any(step.key == c.key for c in moment.repairs):
        yield answer(
            f"{lead}you have to {step.phrase.imperative} before you continue", "suggestion", step.ids
        )


def _nothing_missing(moment: Moment, rng: random.Random, lead: str) -> tuple[Answer, ...]:
    answers = [
        answer(
            lead
            + one_of(rng, "nothing is missing", "you haven't skipped a step", "you haven't left out any step")
        )
    ]
    if lead.startswith("Nothing"):
        answers = [answer(lead + one_of(rng, "you haven't skipped a step", "you haven't left out any step"))]
    if moment.all_done:
        answers.append(answer(f"{lead}all the steps are done"))
    return distinct(answers)


def _complete(moment: Moment, rng: random.Random) -> tuple[Answer, ...]:
    if moment.missing:
        return _forgotten(moment, rng, moment.missing, "No, ")
    return _nothing_missing(moment, rng, "Yes, ")


def _before_current(moment: Moment, rng: random.Random) -> Ask:
    before = [c for c in moment.missing if any(c.key == b.key for b in moment.before_current)]
    if rng.random() < 0.6:
        if before:
            return Ask(
                "missing.before_current",
                moment.slots(),
                distinct([_you_forgot(rng, c, "Yes, ") for c in before]),
            )
        text = one_of(
            rng,
            "No, nothing that had to come before it is missing",
            "No, all that had to come before it was done",
        )
        return Ask("missing.before_current", moment.slots(), (answer(text),))
    if before:
        return Ask(
            "missing.ready_current", moment.slots(), distinct([_you_forgot(rng, c, "No, ") for c in before])
        )
    text = one_of(
        rng,
        "Yes, all that had to come before it was done",
        "Yes, nothing that had to come before it was missing",
    )
    return Ask("missing.ready_current", moment.slots(), (answer(text),))


# -- one step ----------------------------------------------------------------------------------------------------


def _step_slots(moment: Moment, step: StepClass) -> dict[str, str]:
    p = step.phrase
    return moment.slots(step=p.imperative, gerund=p.gerund, participle=p.participle)


def _did_forget(moment: Moment, rng: random.Random) -> Ask:
    step = rng.choice(moment.missing)
    p = step.phrase
    answers = [
        answer(
            one_of(rng, f"Yes, you forgot to {p.imperative}", f"Yes, you didn't {p.imperative}"),
            "direct",
            step.ids,
        )
    ]
    after = moment.dependent(step)
    if after is not None:
        text = f"Yes, that should have been done before {after.phrase.gerund}"
        answers.append(answer(text, "direct", (*step.ids, *after.ids)))
    answers += _remedies(moment, step, "Yes, ")
    return Ask(rng.choice(("missing.did", "missing.already")), _step_slots(moment, step), distinct(answers))


def _did_do(moment: Moment, rng: random.Random) -> Ask:
    step = rng.choice(moment.done_well)
    p = step.phrase
    text = one_of(
        rng, f"No, you have already {p.participle}", f"No, you {p.past}", "No, you have already done that"
    )
    return Ask("missing.did", _step_slots(moment, step), (answer(text, "direct", step.ids),))


def _not_yet(moment: Moment, rng: random.Random) -> Ask | None:
    """Ask for a step that is not due before something that was done: it is not forgotten."""
    due = {c.key for c in moment.next}
    pool = [c for c in (*moment.next, *moment.later) if moment.is_clear(c)]
    if not pool:
        return None
    step = rng.choice(pool)
    if step.key in due:
        answers = [
            answer("No, that is something you can do now", "direct", step.ids),
            answer("No, that comes next", "direct", step.ids),
        ]
        answers = answers if len(due) == 1 and not step.optional else answers[:1]
    else:
        answers = [answer("No, that step comes later", "direct", step.ids)]
        for c in moment.unmet(step.ids[0])[:4]:
            answers.append(answer(f"No, you first have to {c.phrase.imperative}", "suggestion", c.ids))
    return Ask(rng.choice(("missing.did", "missing.already")), _step_slots(moment, step), distinct(answers))


def _choice(moment: Moment, rng: random.Random) -> Ask | None:
    if not moment.done_well:
        return None
    step, other = rng.choice(moment.missing), rng.choice(moment.done_well)
    first, second = (step, other) if rng.random() < 0.5 else (other, step)
    slots = moment.slots(
        step=first.phrase.imperative,
        gerund=first.phrase.gerund,
        other=second.phrase.imperative,
        other_gerund=second.phrase.gerund,
    )
    return Ask("missing.choice", slots, (_you_forgot(rng, step, ""),))


def _count(moment: Moment, rng: random.Random) -> Ask | None:
    steps = moment.missing
    if any(len(c.ids) > 1 for c in steps):
        return None
    if not steps:
        return Ask(
            "missing.count",
            moment.slots(),
            (answer(one_of(rng, "None", "None, nothing is missing", "Zero")),),
        )
    number = _NUMBERS[len(steps)]
    named = "; ".join(c.phrase.imperative for c in steps)
    ids = tuple(i for c in steps for i in c.ids)
    text = one_of(rng, number, f"{number}: {named}")
    return Ask("missing.count", moment.slots(), (answer(text, "direct", ids),))


# -- groups and objects ------------------------------------------------------------------------------------------


def _group(moment: Moment, rng: random.Random) -> Ask | None:
    group = rng.choice(("add", "cut", "heat", "attach"))
    if any(c.phrase.quoted for c in moment.missing):
        return None
    if group not in moment.view.groups:
        return None
    if any(c.may_act_as(group) and not c.acts_as(group) for c in moment.missing):
        return None
    inside = [c for c in moment.missing if c.acts_as(group)]
    if inside:
        return Ask(
            f"missing.{group}", moment.slots(), distinct([_you_forgot(rng, c, "Yes, ") for c in inside])
        )
    return Ask(f"missing.{group}", moment.slots(), _no_such(moment, rng))


def _object(moment: Moment, rng: random.Random) -> Ask | None:
    if not moment.view.things:
        return None
    thing = rng.choice(moment.view.things)
    words = stems(thing)
    inside = [c for c in moment.missing if words <= c.words]
    if any(not words <= c.words and (words & c.words or not c.is_explicit) for c in moment.missing):
        return None
    slots = moment.slots(object=thing)
    if inside:
        return Ask("missing.object", slots, distinct([_you_forgot(rng, c, "Yes, ") for c in inside]))
    return Ask("missing.object", slots, _no_such(moment, rng))


def _no_such(moment: Moment, rng: random.Random) -> tuple[Answer, ...]:
    """Nothing of the asked sort is missing; what else is missing makes a suggestion."""
    answers = [
        answer(
            one_of(
                rng, "No, nothing of that sort is missing", "No, none of the missing steps is of that sort"
            )
        )
    ]
    if not moment.missing:
        answers = [answer(one_of(rng, "No, nothing is missing", "No, you haven't skipped any step"))]
    answers += [
        answer(f"No, but you forgot to {c.phrase.imperative}", "suggestion", c.ids)
        for c in moment.missing[:_MANY]
    ]
    return distinct(answers)
