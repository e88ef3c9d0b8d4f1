"""What can be asked about a mistake in the step just done, and the answers that the annotations give.

Facts come from three places, most exact first: the difference between instruction and performed text where it can be
read off, the annotators' remark, and the instruction itself. The remedy follows fixed rules (docs/generate.md): too
little can be topped up and too short can be prolonged (suggestion), what was mixed in, cut, ground or heated too
much cannot be taken back (intervention).
"""

from __future__ import annotations

import difflib
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from proctor.ask.moment.ask_missing import IRREVERSIBLE
from proctor.ask.moment.candidate import Answer, AnswerKind
from proctor.ask.moment.facts import GROUPS, Moment, StepClass, stems, word_set
from proctor.ask.moment.say import Ask, Option, answer, distinct, one_of
from proctor.procedure.inflect import base_form
from proctor.procedure.language import find_faults
from proctor.procedure.phrase import render_step
from proctor.procedure.quantity import Difference, Dimension, find_difference, find_levels, find_quantities
from proctor.procedure.remark import Remark, describe_performed, read_remarks

__all__ = ["mistake_options"]

_DIMENSIONS: Final[Mapping[str, tuple[Dimension, ...]]] = {
    "measurement": ("amount", "count", "length"),
    "timing": ("time",),
    "temperature": ("temperature",),
}
_ABOUT: Final[Mapping[str, str]] = {
    "measurement": r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|half|whole|entire|full|twice|once|all|more|less|"
    r"most|much|many|little|few|only|extra|another|enough|some|large|small|big|bigger|larger|smaller|thick|thin|long|short|"
    r"measur\w*|amounts?|quantit\w+|size|pinch|pieces|tsp|tbsp|teaspoon|tablespoon|cup|random|approximate\w*)\b",
    "timing": r"\b(?:\w*seconds?|secs?|min|mins|minutes?|hours?|times?|timer|long|longer|short|shorter|quick\w*|fast\w*|"
    r"slow\w*|wait\w*|until|till|before|after|soon|sooner|early|late|later|burn\w*|over\w+|under\w+|uncooked|melt\w*|"
    r"properly|enough|once|immediately|raw|coarse|pebbles)\b",
    "temperature": r"\b(?:heat|hot|cold|warm|cool|lukewarm|cooler|hotter|boil\w*|temperature|power|level|low|medium|high|"
    r"lower|higher|degrees?|flame|burn\w*|scorched|melt\w*|freez\w+|froze\w*|thaw\w*|chill\w*|preheat\w*|smoke|"
    r"well done|tap|microwaved? on)\b|°",
}
"""What a sentence must speak of to answer a question about amounts, times or temperatures."""
_ACCIDENT: Final = re.compile(r"\b(?:spill|splash|drop)", re.I)
"""What happens in passing: the instruction does not say that it should not."""
_BROAD: Final = ("preparation", "technique")
"""Types whose questions ask for the step as a whole, so that its other mistakes are right answers too."""

_DURATIVE: Final = word_set(
    "cook microwave boil fry saute toast bake roast grill simmer heat wait mix stir whisk blend "
    "blitz grind melt soak incubate centrifuge vortex steam shake rest let "
)
_REDO: Final = word_set(
    "stir whisk mix place put spread fold brush coat pat wipe rinse lay roll combine tighten align "
    "secure cover attach fasten insert shake press clean peel drain set "
)
_MAX_GOLDS: Final = 6


@dataclass(frozen=True)
class _Case:
    """Everything known about the mistake of one type in the current step."""

    moment: Moment
    step: StepClass
    kind: str
    instruction: str
    performed: str

    @cached_property
    def difference(self) -> Difference | None:
        """What was done instead of what was asked for, if it can be read off exactly.

        The performed text counts more than a remark; sources that contradict each other cancel out.
        """
        dimensions = _DIMENSIONS.get(self.kind, ())
        if not dimensions:
            return None
        if self.performed and describe_performed(self.performed, self.instruction).text:
            found = find_difference(self.instruction, self.performed, dimensions)
            if found is not None and found.is_sayable:
                return found
        for text in reversed(self.moment.example.mistake_texts):
            found = find_difference(self.instruction, text, dimensions)
            if found is not None and found.is_sayable:
                return found
        return None

    @cached_property
    def replaced(self) -> tuple[str, str, bool] | None:
        """(done with, asked for, is a tool or place) when exactly one thing was replaced by another."""
        if self.kind not in _BROAD or not self.performed:
            return None
        if _verbs(self.step) & GROUPS["cut"]:
            return None  # what something is cut into is made, not used
        found = _replacement(self.instruction, self.performed)
        if found is not None and self.has_others and not stems(f"{found[0]} {found[1]}") & self._remark_words:
            return None
        return found

    @cached_property
    def _remark_words(self) -> frozenset[str]:
        return stems(" ".join(self.moment.example.mistake_texts))

    @cached_property
    def remarks(self) -> tuple[Remark, ...]:
        """What the annotators said of this kind of mistake, latest first, without what the exact difference says."""
        read = [self.read(t) for t in reversed(self.moment.example.mistake_texts) if not self._contradicts(t)]
        return tuple(dict.fromkeys(r for r in read if r is not None and not self._adds_nothing(r)))

    def read(self, text: str) -> Remark | None:
        """Read a remark; None when nothing in it is about this kind of mistake."""
        plain = render_step(self.instruction)
        return next((r for r in read_remarks(text, plain) if self.is_about(r.text)), None)

    def is_about(self, text: str) -> bool:
        """True when a sentence speaks of what the question asks about, not of another kind of mistake."""
        return re.search(_ABOUT.get(self.kind, ""), text, re.I) is not None

    def _adds_nothing(self, remark: Remark) -> bool:
        """True for a bare amount or a comparison of durations when the exact difference is said anyway."""
        return (
            self.difference is not None
            and remark.text.startswith("it was ")
            and bool(find_quantities(remark.text))
        )

    def _contradicts(self, text: str) -> bool:
        """True when a remark swaps the amounts ("1 instead of 2" where the instruction says 1)."""
        found = self.difference
        parts = re.split(r"\b(?:instead of|rather than)\b", text)
        if found is None or len(parts) != 2:
            return False
        said, asked = find_quantities(parts[0]), find_quantities(found.right)
        levels = find_levels(parts[0])
        swapped_level = len(levels) == 1 and levels[0][0] == found.right
        return swapped_level or (
            len(said) == 1 == len(asked) and said[0].low in (asked[0].low, _plain_number(found.right))
        )

    @cached_property
    def has_others(self) -> bool:
        """True when the step holds mistakes of other kinds, too: nothing is asked then of the step as a whole."""
        current = self.moment.current
        return current is not None and any(
            m.kind not in (self.kind, "order", "missing") for m in current.mistakes
        )

    @cached_property
    def instruction_answers(self) -> bool:
        """True when quoting the instruction answers the question: it says what was not done."""
        dimensions = _DIMENSIONS.get(self.kind)
        if dimensions is not None and not self._states(dimensions):
            return False
        if self.difference is not None or self.replaced is not None:
            return True
        texts = self.moment.example.mistake_texts
        if self.kind in _BROAD and any(_ACCIDENT.search(t) for t in texts):
            return False
        named = stems(self.step.phrase.imperative)
        if self.performed and named - stems(self.performed) and not (self.has_others and self.kind in _BROAD):
            return True
        contrasts = [re.split(r"\b(?:instead of|rather than)\b", t, flags=re.I) for t in texts]
        return any((stems(part) - stems(parts[0])) & named for parts in contrasts for part in parts[1:])

    def _states(self, dimensions: Sequence[Dimension]) -> bool:
        text = self.step.phrase.imperative
        stated = any(q.dimension in dimensions for q in find_quantities(text))
        return stated or ("temperature" in dimensions and bool(find_levels(text)))


def _plain_number(text: str) -> object:
    found = find_quantities(text)
    first = re.match(r"[\d/ .]+", text)
    bare = find_quantities(first[0]) if first else ()
    return bare[0].low if bare else (found[0].low if found else None)


def mistake_options(moment: Moment) -> Iterator[Option]:
    """Yield every intent that is certain for the mistake type of the example."""
    current, step = moment.current, moment.current_class
    if current is None or step is None:
        return
    case = _Case(moment, step, moment.example.type, moment.graph[current.step_id].text, current.text)
    if not _statements(case, random.Random(0), ""):  # noqa: S311
        return
    kind = case.kind
    yield Option(5, lambda rng: Ask(f"{kind}.wrong", _slots(case), _answers(case, rng, "Yes, ")))
    yield Option(5, lambda rng: Ask(f"{kind}.right", _slots(case), _answers(case, rng, "No, ")))
    yield Option(4, lambda rng: Ask(f"{kind}.what", _slots(case), _answers(case, rng, "")))
    if case.replaced is not None and kind == "preparation":
        yield Option(3, lambda rng: Ask("preparation.instead", _slots(case), _target(case, rng)))
    plain = case.instruction_answers and not case.step.phrase.quoted  # the instruction by itself says how
    if case.difference is not None or case.replaced is not None or plain:
        yield Option(4, lambda rng: Ask(f"{kind}.should", _slots(case), _target(case, rng)))
    if case.difference is not None and case.difference.direction and case.difference.dimension != "length":
        yield Option(3, lambda rng: _direction(case, rng))
    if _remedy(case) is not None:
        yield Option(3, lambda rng: Ask(f"{kind}.fix", _slots(case), _fix(case, rng)))


def _slots(case: _Case) -> dict[str, str]:
    slots: dict[str, str] = {}
    brief = case.moment.current_brief
    if brief is not None and not (case.has_others and case.kind in _BROAD):
        slots.update(
            current_past=brief.brief_past, current_gerund=brief.brief_gerund, current_brief=brief.brief
        )
    found, noun = case.difference, case.step.phrase.object
    if found is not None:
        if found.noun and noun and found.dimension in ("amount", "count") and found.noun in stems(noun):
            slots["object"] = noun
        if found.dimension == "temperature" and not found.right.endswith("water"):
            slots["setting"] = "power setting" if "microwave" in case.instruction.lower() else "heat setting"
    return slots


# -- answers -----------------------------------------------------------------------------------------------------


def _statements(case: _Case, rng: random.Random, lead: str) -> list[Answer]:
    """Every way to say what was wrong, each under the lead."""
    out: list[Answer] = []
    ids = case.step.ids if case.moment.current is None else (case.moment.current.step_id,)
    if case.difference is not None:
        out.append(answer(lead + _difference_words(case), "direct", ids))
    if case.replaced is not None:
        out.append(answer(f"{lead}you used {case.replaced[0]} instead of {case.replaced[1]}", "direct", ids))
    out += [answer(r.after(lead), "direct", ids) for r in case.remarks]
    if case.instruction_answers:
        p = case.step.phrase
        text = one_of(rng, f"you should have {p.participle}", f"you were supposed to {p.imperative}")
        out.append(answer(lead + text, "direct", ids))
    elif not out and not (case.has_others and case.kind in _BROAD):
        done = describe_performed(case.performed, case.instruction)
        out += [answer(done.after(lead), "direct", ids)] if done.text and case.is_about(done.text) else []
    return [a for a in out if not find_faults(a.text)]


def _difference_words(case: _Case) -> str:
    found = case.difference
    if found is None:
        return ""
    subject = "it was"
    if (
        (found.dimension == "count" and stems(found.counted) & stems(case.step.phrase.object))
        or found.dimension == "amount"
        or found.right.endswith("water")
    ):
        subject = "you used"
    elif found.dimension == "temperature" and not re.search(r"\d", found.right):
        subject = "the power was" if "microwave" in case.instruction.lower() else "the heat was"
    return f"{subject} {found.wrong_words} instead of {found.right_words}"


def _answers(case: _Case, rng: random.Random, lead: str) -> tuple[Answer, ...]:
    out = _statements(case, rng, lead)
    remedy = _remedy(case) if lead else None  # "What is wrong?" asks for no remedy
    if remedy is not None:
        out = [*out[: _MAX_GOLDS - 1], answer(f"{lead}{remedy[1]}", remedy[0], case.step.ids)]
    return distinct(out, _MAX_GOLDS)


def _target(case: _Case, rng: random.Random) -> tuple[Answer, ...]:
    p, ids = case.step.phrase, case.step.ids
    out: list[Answer] = []
    if case.difference is not None:
        right = case.difference.right_words
        out.append(
            answer(
                one_of(
                    rng, f"it should have been {right}", right, f"{right}, not {case.difference.wrong_words}"
                ),
                "direct",
                ids,
            )
        )
    if case.replaced is not None:
        out.append(answer(f"you should have used {case.replaced[1]}", "direct", ids))
    if case.instruction_answers:
        text = one_of(rng, f"you should have {p.participle}", f"you were supposed to {p.imperative}")
        out.append(answer(text, "direct", ids))
    return distinct(out)


def _direction(case: _Case, rng: random.Random) -> Ask | None:
    found = case.difference
    if found is None or found.direction is None:
        return None
    asked = rng.choice(("more", "less"))
    lead = "Yes" if asked == found.direction else "No"
    words = _difference_words(case)
    out = [answer(f"{lead}, {words}", "direct", case.step.ids)]
    opposite = {
        "time": {"more": "it was too long", "less": "it was too short"},
        "temperature": {"more": "it was too high", "less": "it was too low"},
    }.get(found.dimension, {"more": "it was too much", "less": "it was too little"})
    out.append(answer(f"{lead}, {opposite[found.direction]}", "direct", case.step.ids))
    return Ask(f"{case.kind}.{asked}", _slots(case), distinct(out))


# -- remedies ----------------------------------------------------------------------------------------------------


def _fix(case: _Case, rng: random.Random) -> tuple[Answer, ...]:
    remedy = _remedy(case)
    if remedy is None:
        return ()
    lead = one_of(rng, "", "you should ") if not remedy[1].startswith(("what", "that", "it")) else ""
    return (answer(lead + remedy[1], remedy[0], case.step.ids),)


def _remedy(case: _Case) -> tuple[AnswerKind, str] | None:
    """Return kind and words of the corrective action, by rule; None where no rule is certain."""
    rules = {"measurement": _mend_amount, "timing": _mend_time, "temperature": _mend_heat}
    rule = rules.get(case.kind, _mend_handling)
    return rule(case)


def _mend_amount(case: _Case) -> tuple[AnswerKind, str] | None:
    found, verbs = case.difference, _verbs(case.step)
    if found is None or found.direction is None or found.dimension == "length":
        return None
    then_added = re.search(r"\b(?:and|then) (?:add|pour|mix|stir)\b", case.step.phrase.imperative)
    mixed_in = bool(verbs & GROUPS["add"]) or "mix" in verbs or then_added is not None
    thing = case.step.phrase.object if found.noun and found.noun in stems(case.step.phrase.object) else ""
    if found.direction == "less":
        if not mixed_in:
            return "suggestion", f"make up for the rest, so that it comes to {found.right_words}"
        amount = f"another {found.another}" if found.another and found.dimension == "amount" else "more"
        of_thing = f" of the {thing}" if thing and found.dimension == "amount" else ""
        return (
            "suggestion",
            f"add {amount}{of_thing} to make up for it"
            if amount != "more"
            else f"add more, up to {found.right_words}",
        )
    if mixed_in:
        return (
            "intervention",
            f"what went in can't be taken out again, so start over with {found.right_words}",
        )
    if found.dimension == "count" or "take" in verbs or "measure" in verbs:
        return "suggestion", f"set the surplus aside and go on with {found.right_words} only"
    return None


def _mend_time(case: _Case) -> tuple[AnswerKind, str] | None:
    found, verbs = case.difference, _verbs(case.step)
    if found is None or found.direction is None or not verbs & _DURATIVE:
        return None
    if found.direction == "less":
        return (
            "suggestion",
            f"keep going for another {found.another}"
            if found.another
            else f"keep going until it has been {found.right}",
        )
    if verbs & IRREVERSIBLE:
        return "intervention", f"that can't be undone, so start over and keep it to {found.right}"
    return None


def _mend_heat(case: _Case) -> tuple[AnswerKind, str] | None:
    found = case.difference
    if found is None or found.direction is None or re.search(r"\d", found.right):
        return None
    if found.right.endswith("water"):
        return (
            ("suggestion", f"do it again with {found.right}")
            if _verbs(case.step) & {"rinse", "wash"}
            else None
        )
    if "microwave" in case.instruction.lower():
        return None
    return "suggestion", f"turn the heat {'down' if found.direction == 'more' else 'up'} to {found.right}"


def _mend_handling(case: _Case) -> tuple[AnswerKind, str] | None:
    verbs, p = _verbs(case.step), case.step.phrase
    performed = "" if case.has_others else case.performed
    texts = " ".join((*case.moment.example.mistake_texts, performed)).lower()
    if re.search(r"\bspill|\bsplash", texts) and "spill" not in case.instruction.lower():
        return "suggestion", "wipe up what was spilled before you go on"
    if p.quoted:
        return None
    if case.replaced is not None:
        done, asked, is_tool = case.replaced
        if is_tool:
            return "suggestion", f"switch to {asked}"
        if verbs & GROUPS["add"] or "mix" in verbs:
            return (
                "intervention",
                f"what went in can't be taken out again, so start over with {asked} and without {done}",
            )
        return None
    if case.kind == "technique" and case.instruction_answers:
        if p.verb in GROUPS["cut"] - {"peel"}:  # not "two slices" that are brushed
            return (
                "intervention",
                f"what is cut can't be put together again, so start over and {p.imperative}",
            )
        if verbs & _REDO:
            return "suggestion", f"do it again and {p.imperative}"
    return None


def _verbs(step: StepClass) -> frozenset[str]:
    words = step.phrase.imperative.lower().replace(",", " ").split()
    return frozenset(base_form(w) for w in words[:4] if base_form(w)) | {step.phrase.verb}


# -- one thing in place of another -------------------------------------------------------------------------------

_ARTICLES: Final = ("a", "an", "the")
_TOOL_PREPOSITIONS: Final = ("in", "into", "on", "onto", "with", "using", "to", "from")
_FUNCTION_WORDS: Final = word_set(
    "to in on with and but or of for until not no without using into onto from by at over under it "
    "is too very more less some all than instead while that "
    "low medium high higher lower up down left right upwards downwards clockwise anticlockwise counterclockwise sideways backwards forwards "
)


_NAMES: Final = word_set("baking olive vegetable bell soy chili chilli garlic paper cutting mixing measuring")
"""First words of names: what follows them is no name by itself."""


def _replacement(instruction: str, performed: str) -> tuple[str, str, bool] | None:
    """Find the one thing that was replaced, articles included; None unless everything else is word for word equal."""
    asked, done = _plain_words(render_step(instruction)), _plain_words(render_step(performed))
    changes = [
        c for c in difflib.SequenceMatcher(None, asked, done, autojunk=False).get_opcodes() if c[0] != "equal"
    ]
    if len(changes) != 1 or changes[0][0] != "replace":
        return None
    _, i1, i2, j1, j2 = changes[0]
    right, wrong = asked[i1:i2], done[j1:j2]
    if len(right) > 3 or len(wrong) > 3 or not _is_thing(right) or not _is_thing(wrong) or i1 == 0:
        return None
    tail = _shared_noun(asked[i2:], done[j2:])
    while i1 > 1 and asked[i1 - 1] in _NAMES:
        i1 -= 1
        right, wrong = [asked[i1], *right], [asked[i1], *wrong]
    right, wrong = [*right, *tail], [*wrong, *tail]
    before = asked[i1 - 1]
    if before in ("and", "or", "then"):
        return None
    article = f"{before} " if before in _ARTICLES and right[0] not in _ARTICLES else ""
    place = asked[i1 - 2] if article and i1 > 1 else before
    return f"{article}{' '.join(wrong)}", f"{article}{' '.join(right)}", place in _TOOL_PREPOSITIONS


def _shared_noun(asked: list[str], done: list[str]) -> list[str]:
    """Words that follow the replaced ones in both texts and belong to the same noun ("softened | butter")."""
    tail: list[str] = []
    for one, other in zip(asked, done, strict=False):
        if one != other or one in _FUNCTION_WORDS or one in _ARTICLES or not one.isalpha():
            break
        tail.append(one)
    return tail


def _plain_words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9/'-]+|[,.;:()]", text.lower())


def _is_thing(words: list[str]) -> bool:
    return not any(
        not re.fullmatch(r"[a-z'-]+", w) or w in _FUNCTION_WORDS or w.endswith(("ly", "ing")) for w in words
    )
