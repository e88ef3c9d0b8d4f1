"""What can be asked about what comes next, and the answers that the task graph gives."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Final

from proctor.ask.moment.candidate import Answer
from proctor.ask.moment.facts import Moment, StepClass, stems
from proctor.ask.moment.say import Ask, Option, answer, distinct, one_of

__all__ = ["next_options"]

_FEW: Final = 3
"""Of many missing steps only so many are brought up as a remark beside the answer."""


def next_options(moment: Moment) -> Iterator[Option]:
    """Yield every intent of a ``next`` question that is certain at this moment."""
    started = moment.progress.state == "started"
    if started:
        yield Option(6, lambda rng: Ask("next.start", moment.slots(), _what_answers(moment, rng)))
    else:
        yield Option(7, lambda rng: Ask("next.what", moment.slots(), _what_answers(moment, rng)))
        yield Option(2, lambda rng: Ask("next.left", moment.slots(), _left_answers(moment, rng)))
        yield Option(2, lambda rng: Ask("next.done", moment.slots(), _done_answers(moment, rng)))
    if moment.due:
        yield Option(3, lambda rng: _should(moment, rng))
        if any(moment.unmet(c.ids[0]) for c in moment.later):
            yield Option(2, lambda rng: _choice(moment, rng))
    if moment.later:
        yield Option(2, lambda rng: _too_early(moment, rng))
    if moment.done_well:
        yield Option(1, lambda rng: _already(moment, rng))
    if len(moment.due) > 1:
        yield Option(1, lambda rng: _either(moment, rng))
    if moment.missing:
        yield Option(2, lambda rng: _without(moment, rng))
    if not started:
        yield Option(2, lambda rng: _group(moment, rng))
        yield Option(2, lambda rng: _object(moment, rng))


# -- open questions ----------------------------------------------------------------------------------------------


def _what_answers(moment: Moment, rng: random.Random) -> tuple[Answer, ...]:
    if moment.required:
        return _open(moment, rng, moment.next)
    if moment.repairs:
        back = [_go_back(moment, rng, c, "") for c in moment.repairs]
        return distinct([*_open(moment, rng, moment.next), *back])
    return _finished(
        moment,
        rng,
        "Nothing, ",
        ("Nothing, you're done", "Nothing, all the steps are done", "There is nothing left to do"),
    )


def _finished(moment: Moment, rng: random.Random, lead: str, forms: Sequence[str]) -> tuple[Answer, ...]:
    """All that has to be done is done; what may be left out can still be named."""
    if moment.all_done:
        return (answer(one_of(rng, *forms)),)
    more = [
        answer(f"{lead}but you can {c.phrase.imperative} if you like", "suggestion", c.ids)
        for c in moment.due
    ]
    return distinct([answer(f"{lead}you have done all that you have to do"), *more])


def _open(
    moment: Moment, rng: random.Random, steps: Sequence[StepClass], lead: str = ""
) -> tuple[Answer, ...]:
    """Each step as an answer; where something is missing further up, that has to be made up for before."""
    answers: list[Answer] = []
    due = {c.key for c in moment.due}
    for c in steps:
        if c.key in due:
            verb = "can" if c.optional else "should"
            answers.append(
                answer(f"{lead}you {verb} {c.phrase.imperative}", "direct", c.ids) if lead else _do(rng, c)
            )
            continue
        above = {a for i in c.ids for a in moment.graph.ancestors(i)}
        for m in [m for m in moment.repairs if above & set(m.ids) and m.key != c.key][:_FEW]:
            text = f"{lead}you have to {m.phrase.imperative}, which you skipped, before you {c.phrase.imperative}"
            answers.append(answer(text, "suggestion", (*m.ids, *c.ids)))
    return distinct(answers)


def _do(rng: random.Random, step: StepClass) -> Answer:
    p = step.phrase
    if step.optional:
        return answer(f"you can {p.imperative}, but you can also leave that out", "direct", step.ids)
    text = one_of(
        rng,
        f"you should {p.imperative}",
        f"next, {p.imperative}",
        f"now {p.imperative}",
        f"you can {p.imperative} now" if len(p.imperative) < 60 else f"now you can {p.imperative}",
        p.imperative,
    )
    return answer(text, "direct", step.ids)


def _go_back(moment: Moment, rng: random.Random, step: StepClass, lead: str) -> Answer:
    p = step.phrase
    rest = "nothing else has to be done" if moment.next else "nothing else can follow"
    text = one_of(
        rng,
        f"go back and {p.imperative}; {rest} before that",
        f"you first have to go back and {p.imperative}, a step that you skipped",
        f"you skipped a step, so go back and {p.imperative} before anything else",
    )
    return answer(f"{lead}{text}", "intervention", step.ids)


def _still_open(moment: Moment, lead: str) -> tuple[Answer, ...]:
    """What may be done now, and what was skipped: both keep the activity from being finished."""
    answers = [answer(f"{lead} {c.phrase.imperative}", "direct", c.ids) for c in moment.required]
    taken = {i for c in moment.required for i in c.ids}
    answers += [
        answer(f"{lead} {c.phrase.imperative}, which you skipped", "suggestion", c.ids)
        for c in moment.missing
        if not taken & set(c.ids)
    ]
    return distinct(answers)


def _left_answers(moment: Moment, rng: random.Random) -> tuple[Answer, ...]:
    if moment.required:
        lead = one_of(rng, "Yes, you still have to", "Yes, you still need to")
        return _still_open(moment, lead)
    if moment.repairs:
        return distinct([_go_back(moment, rng, c, "Yes, ") for c in moment.repairs])
    return _finished(
        moment,
        rng,
        "No, ",
        ("No, you're done", "No, all the steps are done", "No, there is nothing left to do"),
    )


def _done_answers(moment: Moment, rng: random.Random) -> tuple[Answer, ...]:
    if moment.required:
        lead = one_of(rng, "No, you still have to", "No, you still need to", "Not yet, you have to")
        return _still_open(moment, lead)
    if moment.repairs:
        return distinct([_go_back(moment, rng, c, "No, ") for c in moment.repairs])
    return _finished(
        moment,
        rng,
        "Yes, ",
        ("Yes, you're done", "Yes, all the steps are done", "Yes, there is nothing left to do"),
    )


# -- one step ----------------------------------------------------------------------------------------------------


def _should(moment: Moment, rng: random.Random) -> Ask:
    step = rng.choice(moment.due)
    p = step.phrase
    forms = [
        f"Yes, you can {p.imperative} now",
        f"Yes, you should {p.imperative} now",
        f"Yes, {p.imperative}",
    ]
    direct = one_of(rng, *(forms[:1] if step.optional else forms))
    answers = [answer(direct, "direct", step.ids)]
    for m in moment.repairs[:_FEW]:
        text = f"Yes, but you also have to {m.phrase.imperative}, which you skipped"
        answers.append(answer(text, "suggestion", (*step.ids, *m.ids)))
    return Ask("next.should", moment.slots(step=p.imperative), distinct(answers))


def _too_early(moment: Moment, rng: random.Random) -> Ask | None:
    step = rng.choice(moment.later)
    first = moment.unmet(step.ids[0])
    if not first:
        return None
    variants = ("No, first you have to {}", "Not yet, you need to {} first", "No, {} first")
    lead = one_of(rng, *variants)
    answers = [answer(lead.replace("{}", c.phrase.imperative), "direct", c.ids) for c in first]
    return Ask("next.should", moment.slots(step=step.phrase.imperative), distinct(answers))


def _already(moment: Moment, rng: random.Random) -> Ask:
    step = rng.choice(moment.done_well)
    p = step.phrase
    lead = one_of(rng, f"No, you have already {p.participle}", f"No, you already {p.past}")
    answers = [answer(lead, "direct", step.ids)]
    answers += [
        answer(f"No, you have done that, so you can {c.phrase.imperative} now", "suggestion", c.ids)
        for c in moment.due
    ]
    if not moment.next:
        for c in moment.repairs:
            text = f"No, that is done, but you have to go back and {c.phrase.imperative}"
            answers.append(answer(text, "intervention", c.ids))
    if moment.all_done:
        answers.append(answer("No, all the steps are done"))
    return Ask("next.should", moment.slots(step=p.imperative), distinct(answers))


def _choice(moment: Moment, rng: random.Random) -> Ask | None:
    due = [c for c in moment.due if not c.optional]
    if not due:
        return None
    step = rng.choice(due)
    others = [c for c in moment.later if moment.unmet(c.ids[0]) and c.key != step.key]
    if not others:
        return None
    other = rng.choice(others)
    text = one_of(
        rng,
        f"You should {step.phrase.imperative}",
        f"{step.phrase.imperative}",
        f"You should {step.phrase.imperative}; the other step comes later",
    )
    pair = {"step": step.phrase, "other": other.phrase}
    if rng.random() < 0.5:
        pair = {"step": other.phrase, "other": step.phrase}
    slots = {name: phrase.imperative for name, phrase in pair.items()}
    return Ask("next.choice", moment.slots(**slots), (answer(text, "direct", step.ids),))


def _either(moment: Moment, rng: random.Random) -> Ask:
    one, two = rng.sample(moment.due, 2)
    slots = moment.slots(
        step=one.phrase.imperative,
        gerund=one.phrase.gerund,
        other=two.phrase.imperative,
        other_gerund=two.phrase.gerund,
    )
    text = one_of(
        rng,
        "No, either of the two can come first",
        "No, you can do these two in any order",
        "No, both can be done now",
    )
    return Ask("next.either", slots, (answer(text, "direct", (*one.ids, *two.ids)),))


def _without(moment: Moment, rng: random.Random) -> Ask | None:
    step = rng.choice(moment.missing)
    after = moment.dependent(step)
    if after is None:
        return None
    p = step.phrase
    answers = [
        answer(f"No, you have to {p.imperative}", "direct", step.ids),
        answer(
            f"No, you should have {p.participle} before {after.phrase.gerund}",
            "direct",
            (*step.ids, *after.ids),
        ),
    ]
    if step.key in {c.key for c in moment.repairs}:
        answers.append(answer(f"No, go back and {p.imperative} first", "intervention", step.ids))
    slots = moment.slots(step=p.imperative, gerund=p.gerund, participle=p.participle)
    return Ask("next.without", slots, distinct(answers))


# -- groups and objects ------------------------------------------------------------------------------------------


def _group(moment: Moment, rng: random.Random) -> Ask | None:
    """Ask for the steps of one group of verbs; a "nothing" is certain only when every verb is known."""
    group = rng.choice(("add", "cut", "attach", "heat"))
    open_steps = (*moment.next, *moment.missing)
    if any(c.phrase.quoted for c in open_steps):
        return None
    if any(c.may_act_as(group) and not c.acts_as(group) for c in open_steps):
        return None
    inside = [c for c in moment.next if c.acts_as(group)]
    if inside:
        if group != "heat" and rng.random() < 0.6:
            return Ask(f"next.{group}", moment.slots(), _open(moment, rng, inside))
        return Ask(f"next.any_{group}", moment.slots(), _open(moment, rng, inside, "Yes, "))
    if group not in moment.view.groups or any(c.acts_as(group) for c in open_steps):
        return None
    return Ask(f"next.any_{group}", moment.slots(), _nothing_now(moment, rng, "No, not at this point"))


def _nothing_now(moment: Moment, rng: random.Random, plain: str) -> tuple[Answer, ...]:
    if moment.all_done:
        return (answer(one_of(rng, "No, you're done", "No, all the steps are done", plain)),)
    answers = [answer(plain)]
    answers += [answer(f"No, but you can {c.phrase.imperative} now", "suggestion", c.ids) for c in moment.due]
    if not moment.next:
        answers += [
            answer(f"No, but you have to go back and {c.phrase.imperative}", "intervention", c.ids)
            for c in moment.repairs
        ]
    return distinct(answers)


def _object(moment: Moment, rng: random.Random) -> Ask | None:
    """Ask about one thing; every open step must clearly have to do with it or clearly not."""
    if not moment.view.things:
        return None
    thing = rng.choice(moment.view.things)
    words = stems(thing)
    open_steps = (*moment.next, *moment.missing)
    inside = [c for c in moment.next if words <= c.words]
    unclear = [c for c in open_steps if not words <= c.words and (words & c.words or not c.is_explicit)]
    if unclear:
        return None
    slots = moment.slots(object=thing)
    if inside:
        if rng.random() < 0.6:
            return Ask("next.object", slots, _open(moment, rng, inside))
        return Ask("next.any_object", slots, _open(moment, rng, inside, "Yes, "))
    if any(words <= c.words for c in open_steps) or not moment.is_untouched(thing):
        return None
    return Ask(
        "next.any_object",
        slots,
        _nothing_now(moment, rng, f"No, there is nothing to do with the {thing} right now"),
    )
