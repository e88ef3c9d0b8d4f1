"""What can be asked about a step done out of order.

The answers come from the task graph where it shows the violation (a prerequisite that was not done before, or a
dependent step that was), and from the annotators' words where it does not.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from proctor.ask.moment.ask_missing import IRREVERSIBLE
from proctor.ask.moment.candidate import Answer
from proctor.ask.moment.facts import Moment, StepClass
from proctor.ask.moment.say import Ask, Option, answer, distinct, one_of
from proctor.procedure.remark import Remark, read_remark

__all__ = ["order_options"]

_LATE = ("this step should have come before {}", "you should have done this before {}")
_OVERTAKEN = ("you should have done this step before {}", "this step should have come before {}")
_PERFORMED = re.compile(
    r"^\s*(?:the )?step (?:was |is )?(?:performed|done) (?P<when>(?:before|after|while|instead|too)\b.+)$",
    re.I,
)


def order_options(moment: Moment) -> Iterator[Option]:
    """Yield every intent of an ``order`` question that is certain at this moment."""
    early, late = moment.before_current, moment.overtaken_by
    said = (a for text in moment.example.mistake_texts for a in _said(text, ""))
    if not (early or late or any(said)):
        return
    yield Option(5, lambda rng: Ask("order.wrong", _slots(moment), _reasons(moment, rng, "Yes, ")))
    yield Option(5, lambda rng: Ask("order.right", _slots(moment), _reasons(moment, rng, "No, ")))
    yield Option(3, lambda rng: Ask("order.what", _slots(moment), _reasons(moment, rng, "")))
    if early and not late:
        yield Option(3, lambda rng: Ask("order.early", _slots(moment), _early(rng, early, "Yes, ")))
        yield Option(
            1, lambda rng: Ask("order.late", _slots(moment), _early(rng, early, "No, it was too early: "))
        )
    if early:
        yield Option(3, lambda rng: Ask("order.before", _slots(moment), _early(rng, early, "")))
        yield Option(2, lambda rng: _should(moment, rng))
        yield Option(2, lambda rng: _fix(moment, rng))
    if late and not early:
        yield Option(3, lambda rng: Ask("order.late", _slots(moment), _late(rng, late, "Yes, ")))
        yield Option(
            1, lambda rng: Ask("order.early", _slots(moment), _late(rng, late, "No, it was too late: "))
        )
    if late:
        yield Option(2, lambda rng: Ask("order.after", _slots(moment), _late(rng, late, "", _OVERTAKEN)))


def _slots(moment: Moment, **more: str) -> dict[str, str]:
    brief = moment.current_brief
    if brief is None:
        return more
    return {"current_past": brief.brief_past, "current_gerund": brief.brief_gerund, **more}


def _reasons(moment: Moment, rng: random.Random, lead: str) -> tuple[Answer, ...]:
    answers = list(_early(rng, moment.before_current, lead)) + list(_late(rng, moment.overtaken_by, lead))
    answers += [a for text in reversed(moment.example.mistake_texts) for a in _said(text, lead)]
    return distinct(answers)


def _early(rng: random.Random, before: tuple[StepClass, ...], lead: str) -> tuple[Answer, ...]:
    form = one_of(
        rng, "you should have {} first", "you should have {} before this step", "you had to {} first"
    )
    out = []
    for c in before:
        words = c.phrase.imperative if form.startswith("you had") else c.phrase.participle
        out.append(answer(lead + form.replace("{}", words), "direct", c.ids))
    return distinct(out)


def _late(
    rng: random.Random, after: tuple[StepClass, ...], lead: str, forms: tuple[str, ...] = _LATE
) -> tuple[Answer, ...]:
    form = one_of(rng, *forms)
    return distinct([answer(lead + form.replace("{}", c.phrase.gerund), "direct", c.ids) for c in after])


def _said(text: str, lead: str) -> Iterator[Answer]:
    """The annotators' words: when the step was done, and what follows from that if the words allow only one reading."""
    plain = " ".join(text.split()).rstrip(" .")
    match = _PERFORMED.match(plain)
    if match is None:
        remark: Remark = read_remark(plain)
        if remark.text:
            yield answer(remark.after(lead))
        return
    when = match["when"]
    if re.search(r"\border\b|\bstep\b", when):
        return
    yield answer(f"{lead}this step was done {when}")
    single = re.fullmatch(r"(before|after) (\w+ing\b(?:(?!\b(?:before|after|but)\b).)+)", when, re.I)
    if single:
        other = "after" if single[1].lower() == "before" else "before"
        yield answer(f"{lead}this step should have come {other} {single[2]}", "suggestion")


def _should(moment: Moment, rng: random.Random) -> Ask:
    step = rng.choice(moment.before_current)
    p = step.phrase
    text = one_of(
        rng,
        f"Yes, you should have {p.participle} first",
        f"Yes, you had to {p.imperative} first",
        "Yes, that had to come first",
    )
    slots = _slots(moment, step=p.imperative, gerund=p.gerund, participle=p.participle)
    return Ask("order.should", slots, (answer(text, "direct", step.ids),))


def _fix(moment: Moment, rng: random.Random) -> Ask | None:
    """Make up for what is still missing; when the step done too early cannot be undone, start over."""
    current = moment.current_class
    still = {c.key for c in moment.repairs}
    open_steps = [c for c in moment.before_current if c.key in still]
    if current is None or not open_steps:
        return None
    if current.phrase.verb in IRREVERSIBLE:
        form = one_of(
            rng,
            "that can't be undone, so start over and {} first",
            "you have to start over and {} before this step",
        )
        answers = [answer(form.replace("{}", c.phrase.imperative), "intervention", c.ids) for c in open_steps]
    else:
        form = one_of(rng, "you should {} before you go on", "stop here and {} first")
        answers = [answer(form.replace("{}", c.phrase.imperative), "suggestion", c.ids) for c in open_steps]
    return Ask("order.fix", _slots(moment), distinct(answers))
