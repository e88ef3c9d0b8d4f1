"""Wrong answers by rule from annotations, each with its kind and the step that it came from (ours).

Nothing is guessed: a rule applies where the answer can be traced to the steps, and a text that the steps could bear out is
none of its distractors. The kinds:

``order``
    the step before or after the ones that are asked about; or the answer's two steps the other way round.
``object``
    the object of a cited step, as the answer names it, becomes an object of another step.
``quantity``
    an amount, number, length or temperature becomes another one of the same unit.
``time``
    a duration becomes another one.
``other-step``
    another step of the same video that is no neighbour.
``other-video``
    a step, or an object, of another video.

What is false by the annotations need not be false in the video: people annotate what they notice. So typed distractors go
through the same votes as all others.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from proctor.ask.clip.choice_prompt import like_answer, normalise_option, says_all_of_the_above
from proctor.ask.clip.distractor_numbers import change_numbers, sound_quantities
from proctor.ask.clip.known import Known
from proctor.ask.clip.record import Distractor, DistractorKind
from proctor.ask.documents.prompting import squeeze
from proctor.exam.lines import Line
from proctor.procedure.inflect import base_form
from proctor.procedure.phrase import Phrase, parse_phrase
from proctor.procedure.quantity import Quantity

__all__ = ["TYPED", "TypedPool", "choose_typed", "typed_distractors"]

TYPED: Final[tuple[DistractorKind, ...]] = (
    "order",
    "object",
    "quantity",
    "time",
    "other-step",
    "other-video",
)
"""Kinds that rules make."""

TypedPool = Mapping[DistractorKind, tuple[Distractor, ...]]
"""Distractors by kind, best ones first."""

_ALIKE: Final = 0.6
"""Share of common words (Jaccard) from which two steps count as the same one."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FILLING: Final = _words(
    "a an the this that these those it its their his her to of in on onto into with and or for at by from as is are was were be "
    "been then so some any all more up out off over about he she they person man woman cook chef what which how does do did "
    "right immediately directly just after before while during when following once next first last finally begin end"
)


# -- what a text is about ----------------------------------------------------------------------------------------


@lru_cache(maxsize=65_536)
def _content(text: str) -> frozenset[str]:
    """Return the words that carry the meaning, verbs and nouns without their endings."""
    words = re.findall(r"\d+(?:[./]\d+)*|[^\W\d_]+", text.casefold())
    return frozenset(_stem(word) for word in words if word not in _FILLING)


def _stem(word: str) -> str:
    verb = base_form(word)
    if verb:
        return verb
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("oes", "shes", "ches", "xes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _same(one: frozenset[str], other: frozenset[str]) -> bool:
    """True when two texts may tell of the same thing: one says no more than the other, or most words are common."""
    if not one or not other:
        return True
    return one <= other or other <= one or len(one & other) / len(one | other) >= _ALIKE


@dataclass(frozen=True, slots=True)
class _Facts:
    """A question with what its annotation says, read once."""

    question: Known
    steps: tuple[Line, ...]
    cited: tuple[Line, ...]

    @classmethod
    def of(cls, question: Known) -> _Facts:
        steps = tuple(line for line in question.lines if line.is_step)
        cites = frozenset(question.cites)
        return cls(question, steps, tuple(line for line in question.lines if line.id in cites))

    @property
    def others(self) -> tuple[Line, ...]:
        """Steps that do not support the answer."""
        cites = frozenset(self.question.cites)
        return tuple(step for step in self.steps if step.id not in cites)

    @property
    def names(self) -> frozenset[str]:
        """What the question names."""
        return _content(self.question.text)

    @property
    def asks(self) -> frozenset[str]:
        """What the question names and asks about: not the step that only says when ("after adding the salt")."""
        text = self.question.text
        when = _RELATION.search(text)
        if when is None:
            return self.names
        before, after = text[: when.start()], text[when.end() :].partition(",")[2]
        return _content(before if _content(before) or not after else after)

    def supports_as_well(self, words: frozenset[str]) -> bool:
        """True when a step bears these words out and fits the question no worse than the cited ones do.

        A cited step that has all the words bears them out in any case.
        """
        if any(words <= _content(line.text) for line in self.cited):
            return True
        fit = max((len(self.asks & _content(line.text)) for line in self.cited), default=0)
        for step in self.others:
            known = _content(step.text)
            named = len(self.asks & known)
            if words <= known and named and named >= fit:
                return True
        return False

    def says_an_answer(self, text: str) -> bool:
        """True for a text that says what a right answer says, or nothing."""
        plain = normalise_option(text)
        return not plain or any(plain == normalise_option(answer) for answer in self.question.answers)


# -- all kinds ---------------------------------------------------------------------------------------------------


def typed_distractors(
    question: Known, rng: random.Random, *, kinds: Sequence[DistractorKind] = TYPED
) -> dict[DistractorKind, tuple[Distractor, ...]]:
    """Return wrong answers that rules make of annotations, by kind; a kind that has none is left out.

    Within a kind those that are about as long as the answer come first, equal ones in an order of chance. None says what a
    right answer says, none is borne out by the cited steps, and no two say the same.

    Args:
        question: with its context; without steps or citations only quantities and times of the answer can be changed.
        rng: for this question and attempt.
        kinds: that are wanted.
    """
    facts = _Facts.of(question)
    makers = {
        "order": _order,
        "object": lambda f: (
            made for step in _untimely(f, f.others) for made in _with_object(f, _thing(step.text), step.id)
        ),
        "quantity": lambda f: _changed(f, time=False),
        "time": lambda f: _changed(f, time=True),
        "other-step": _other_step,
        "other-video": _other_video,
    }
    words = len(question.answer.split())
    found: dict[DistractorKind, tuple[Distractor, ...]] = {}
    seen: set[str] = set()
    for kind in kinds:
        kept: list[Distractor] = []
        for text, origin in makers[kind](facts):
            distractor = Distractor(text=like_answer(text, question.answer), kind=kind, origin=origin)
            plain = normalise_option(distractor.text)
            if (
                plain in seen
                or facts.says_an_answer(distractor.text)
                or says_all_of_the_above(distractor.text)
            ):
                continue
            seen.add(plain)
            kept.append(distractor)
        rng.shuffle(kept)
        # by how many words longer or shorter, in steps of a quarter of the answer
        kept.sort(key=lambda d: abs(len(d.text.split()) - words) // max(1, words // 4))
        if kept:
            found[kind] = tuple(kept)
    return found


def choose_typed(pool: TypedPool, wanted: int, *, used: Iterable[str] = ()) -> tuple[Distractor, ...]:
    """Choose distractors of as many kinds as possible; those that earlier attempts used come last.

    Args:
        pool: from ``typed_distractors``.
        wanted: at most so many are returned.
        used: texts of earlier attempts.
    """
    times: dict[str, int] = {}
    for text in used:
        times[text] = times.get(text, 0) + 1
    rows = [sorted(row, key=lambda d: times.get(d.text, 0)) for row in pool.values()]
    turns = [d for turn in itertools.zip_longest(*rows) for d in turn if d is not None]
    turns.sort(key=lambda d: times.get(d.text, 0))
    return tuple(turns[:wanted])


# -- steps as answers --------------------------------------------------------------------------------------------

_LEAD: Final = re.compile(
    r"^(?:(?:the|a) (?:person|man|woman|cook|chef|baker|presenter|instructor|user|camera wearer)|he|she|they|someone)\s+",
    re.IGNORECASE,
)
_FORM = Literal["imperative", "gerund", "past", "third"]


@dataclass(frozen=True, slots=True)
class _Shape:
    """How the answer tells of a step: what stands in front, and the form of the verb."""

    lead: str
    form: _FORM

    def say(self, text: str) -> str:
        """Tell of another step in the same way; empty when no verb is found in it."""
        phrase = parse_phrase(text)
        if not phrase.verb:
            return ""
        return f"{self.lead}{_in_form(phrase, self.form)}"


def _shape(facts: _Facts) -> _Shape | None:
    """Return how the answer tells of a step; None when it is no step: its verb must be one of the video's steps."""
    answer = squeeze(facts.question.answer)
    if _LINKED.match(answer):
        return None  # it tells of two
    lead = _LEAD.match(answer)
    rest = answer[lead.end() :] if lead else answer
    form = _form(rest)
    if form is None or len(rest.split()) < 2:
        return None
    if base_form(rest.split()[0].strip(".,;:")) not in {parse_phrase(step.text).verb for step in facts.steps}:
        return None
    return _Shape(lead[0] if lead else "", form)


def _third_person(phrase: Phrase) -> str:
    """Return "adds the salt", from "add the salt"; a second verb that is joined follows."""
    first, _, rest = phrase.imperative.partition(" ")
    joined = re.match(r"(and|or) ([a-z]+)\b", rest)
    if joined and base_form(joined[2]) == joined[2]:
        rest = f"{joined[1]} {_with_s(joined[2])}{rest[joined.end() :]}"
    return f"{_with_s(first)} {rest}".rstrip()


def _with_s(verb: str) -> str:
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2:-1] not in tuple("aeiou") else f"{verb}s"


_RELATION = re.compile(
    r"\b(?P<word>after|following|once|before|prior to|until|while|during|when|as soon as)\b", re.IGNORECASE
)
_AFTER: Final = frozenset({"after", "following", "once", "as soon as"})
_BEFORE: Final = frozenset({"before", "prior to", "until"})
_AT_ONCE = re.compile(
    r"\b(?:right|immediately|directly|just|straight|next|first|last|final|finally)\b", re.IGNORECASE
)
_REPEATS = re.compile(
    r"\b(?:repeat\w*|twice|again|more than once|several times|how often|how many times)\b", re.I
)


def _wrong_steps(facts: _Facts) -> list[Line]:
    """Return steps that are wrong as an answer by what the annotation says, in the order of the video."""
    if not facts.cited:
        return []
    return [step for step in _untimely(facts, facts.others) if _is_wrong_step(facts, step)]


def _untimely(facts: _Facts, steps: Sequence[Line]) -> list[Line]:
    """Leave out what may be when the question asks for: after a step, before one, during one; and that step itself.

    "Right after" leaves out only what follows at once, for each step that the question may mean. Where it asks for what comes
    at any time after, and the step that is meant is not clear, nothing is left.
    """
    relation = _RELATION.search(facts.question.text)
    if relation is None:
        return list(steps)
    word, meant = relation["word"].lower(), _meant(facts)
    ids = {step.id for step in meant}
    if _AT_ONCE.search(facts.question.text):
        beside = _beside(facts, ids, word)
        return [step for step in steps if step.id not in ids and step.id not in beside]
    if len(meant) != 1:
        return []
    return [step for step in steps if step.id not in ids and not _holds(word, step, meant[0])]


def _beside(facts: _Facts, ids: frozenset[str] | set[str], word: str) -> frozenset[str]:
    """Return ids of the steps that follow some others at once, come before them at once, or do either."""
    pairs = list(itertools.pairwise(facts.steps))
    following = {b.id for a, b in pairs if a.id in ids} if word not in _BEFORE else set()
    preceding = {a.id for a, b in pairs if b.id in ids} if word not in _AFTER else set()
    return frozenset(following | preceding)


def _is_wrong_step(facts: _Facts, step: Line) -> bool:
    known = _content(step.text)
    for line in facts.cited:
        # what is said of a step may be said of its substep too: s3.2 of s3
        if step.id.startswith(f"{line.id}.") or line.id.startswith(f"{step.id}."):
            return False
        if _same(known, _content(line.text)):
            return False
    if any(_same(known, _content(answer)) for answer in facts.question.answers):
        return False
    if known <= facts.names:
        return False  # the question names it
    if _REPEATS.search(facts.question.text) and sum(_same(known, _content(s.text)) for s in facts.steps) > 1:
        return False
    return not facts.supports_as_well(known)


def _meant(facts: _Facts) -> list[Line]:
    """Return the steps that "after …" may mean: those that the question's words fit best."""
    fit = [len(facts.names & _content(step.text)) for step in facts.steps]
    best = max(fit, default=0)
    return [step for step, n in zip(facts.steps, fit, strict=True) if n == best and best]


def _holds(word: str, step: Line, anchor: Line) -> bool:
    """True when a step may well be after, before or during another one; without times nothing is known."""
    if step.start is None or step.end is None or anchor.start is None or anchor.end is None:
        return True
    if word in _AFTER:
        return step.end > anchor.end
    if word in _BEFORE:
        return step.start < anchor.start
    return step.start < anchor.end and anchor.start < step.end


def _neighbours(facts: _Facts) -> frozenset[str]:
    """Return ids of the steps beside the cited ones."""
    return _beside(facts, frozenset(facts.question.cites), "")


def _order(facts: _Facts) -> Iterator[tuple[str, str]]:
    yield from _swapped(facts)
    shape = _shape(facts)
    if shape is not None:
        beside = _neighbours(facts)
        yield from _said(shape, (s for s in _wrong_steps(facts) if s.id in beside))


def _other_step(facts: _Facts) -> Iterator[tuple[str, str]]:
    shape = _shape(facts)
    if shape is not None:
        beside = _neighbours(facts)
        yield from _said(shape, (s for s in _wrong_steps(facts) if s.id not in beside))


def _said(shape: _Shape, steps: Iterable[Line], prefix: str = "") -> Iterator[tuple[str, str]]:
    for step in steps:
        said = shape.say(step.text)
        if said:
            yield said, f"{prefix}{step.id}"


_LINKED = re.compile(
    r"^(?P<a>[^,;.]+?),? (?P<link>before|after|(?:and )?then|and afterwards) (?P<b>[^,;.]+?)\.?$",
    re.IGNORECASE,
)


def _swapped(facts: _Facts) -> Iterator[tuple[str, str]]:
    """Turn "A before B" into "B before A", where the steps say that it never was the other way round."""
    answer = squeeze(facts.question.answer)
    lead = re.match(r"^first,? ", answer, re.IGNORECASE)
    found = _LINKED.match(answer[lead.end() :] if lead else answer)
    if found is None:
        return
    one, other = _told_by(facts, found["a"]), _told_by(facts, found["b"])
    if not one or not other or {s.id for s in one} & {s.id for s in other}:
        return
    if found["link"].lower() == "after":
        one, other = other, one
    # the swapped answer says that ``other`` came first: no performance of it may
    if any(a.end is None or b.start is None or a.end > b.start for a in one for b in other):
        return
    told = [step.id for step in (*one, *other)]
    origin = [id for id in told if id in facts.question.cites] or told
    first, second = _exchanged(found["a"].strip(), found["b"].strip())
    if first:
        yield f"{lead[0] if lead else ''}{first} {found['link']} {second}", " ".join(origin)


def _exchanged(a: str, b: str) -> tuple[str, str]:
    """Put two parts of an answer in each other's place, each in the form of the one that stood there; empty if unsure."""
    forms = [_form(part) for part in (a, b)]
    if forms[0] != forms[1]:
        phrases = parse_phrase(a), parse_phrase(b)
        if None in forms or not all(phrase.verb for phrase in phrases):
            return "", ""
        a, b = _in_form(phrases[0], forms[1]), _in_form(phrases[1], forms[0])
    elif a[:1].isupper() and not a[1:2].isupper():
        a = a[0].lower() + a[1:]
    return b, a


def _form(text: str) -> _FORM | None:
    """Return the form of the verb that a text begins with; None where it begins with none."""
    word = text.split(maxsplit=1)[0].strip(".,;:").lower() if text else ""
    verb = base_form(word)
    if not verb:
        return None
    if word == verb:
        return "imperative"
    if word.endswith("ing"):
        return "gerund"
    return "third" if word.endswith("s") and not verb.endswith("s") else "past"


def _in_form(phrase: Phrase, form: _FORM | None) -> str:
    forms = {"gerund": phrase.gerund, "past": phrase.past, "third": _third_person(phrase)}
    return forms.get(form or "", phrase.imperative)


def _told_by(facts: _Facts, clause: str) -> list[Line]:
    """Return the steps that a part of the answer may tell of."""
    words = _content(clause)
    return [
        s for s in facts.steps if words and len(words & _content(s.text)) >= max(1, (len(words) + 1) // 2)
    ]


# -- objects -----------------------------------------------------------------------------------------------------

_ARTICLE = re.compile(r"^(?:(?:a|an|the|some)\s+)?(?P<noun>[a-z][a-z' -]*)\.?$", re.IGNORECASE)
_VAGUE: Final = _words(
    "mixture ingredient content everything stuff food rest dish thing item material piece part side other another recipe meal"
)
"""What may be anything is wrong of nothing."""
_NO_THING = re.compile(
    r"\b(?:in|on|at|with|by|to|into|until|for|from|when|while|after|before|than)\b", re.IGNORECASE
)
_ASKS_FOR_A_THING = re.compile(
    r"^(?:what|which)\b(?! (?:does|did|do|is done|happens|happened|colou?r|shape|size|way)\b)", re.IGNORECASE
)


@lru_cache(maxsize=65_536)
def _thing(text: str) -> str:
    """Return the object of a step, at most four words, empty where none is found."""
    found = parse_phrase(text).object.strip(" .,").lower()
    return found if 0 < len(found.split()) <= 4 and "," not in found else ""


def _with_object(facts: _Facts, thing: str, origin: str) -> Iterator[tuple[str, str]]:
    """Put another object in the place of the one that the answer names, where the steps do not bear it out."""
    words = _content(thing)
    if not thing or words <= _VAGUE:
        return
    if any(words & _content(line.text) for line in facts.cited) or words & facts.names:
        return
    if facts.supports_as_well(words):
        return
    said = _replaced(facts, thing)
    if said and not facts.supports_as_well(_content(said)):
        yield said, origin


def _replaced(facts: _Facts, thing: str) -> str:
    answer = squeeze(facts.question.answer)
    named = sorted({t for line in facts.cited if (t := _thing(line.text))}, key=lambda t: (-len(t), t))
    for known in named:
        found = re.search(rf"\b(?P<article>an? )?{re.escape(known)}\b", answer, re.IGNORECASE)
        if found:
            return f"{answer[: found.start()]}{_articled(found['article'], thing)}{answer[found.end() :]}"
    alone = _ARTICLE.match(answer)
    if alone is None or _NO_THING.search(answer) or len(alone["noun"].split()) > 4:
        return ""
    if not _ASKS_FOR_A_THING.match(squeeze(facts.question.text)):
        return ""
    words = _content(answer)
    if not words or not any(words <= _content(line.text) for line in facts.cited):
        return ""
    article = answer[: alone.start("noun")]
    return _articled(article, thing)


def _articled(article: str | None, thing: str) -> str:
    if not article or article.strip().lower() not in ("a", "an"):
        return f"{article or ''}{thing}"
    fitting = "an " if thing[:1] in "aeiou" else "a "
    return (fitting.capitalize() if article[:1].isupper() else fitting) + thing


def _other_video(facts: _Facts) -> Iterator[tuple[str, str]]:
    """Steps and objects of other videos that no step of this one tells of."""
    shape = _shape(facts)
    known = [_content(step.text) for step in facts.steps]
    rights = [_content(answer) for answer in facts.question.answers]
    for sibling in facts.question.siblings:
        for step in sibling.steps:
            origin = f"{sibling.id}/{step.id}"
            if shape is None:
                thing = _thing(step.text)
                if not any(_content(thing) & words for words in known):
                    yield from _with_object(facts, thing, origin)
            elif (told := _content(step.text)) and not any(_same(told, words) for words in (*known, *rights)):
                yield from _said(shape, (step,), f"{sibling.id}/")


# -- numbers -----------------------------------------------------------------------------------------------------


def _changed(facts: _Facts, *, time: bool) -> Iterator[tuple[str, str]]:
    """Change one number of the answer, to none that the context, the question or an answer has for the like."""
    context = (f"{line.text} {line.note}" for line in facts.question.lines)
    texts = (*context, *facts.question.answers, facts.question.text)
    known = [quantity for text in texts for quantity in sound_quantities(text)]
    for change in change_numbers(facts.question.answer):
        if (change.before.dimension == "time") != time or any(_may_be(change.after, q) for q in known):
            continue
        yield change.text, _origin_of(facts, change.before)


def _may_be(made: Quantity, known: Quantity) -> bool:
    """True when the context has this value for the like: the same kind, and of things that are counted the same noun."""
    if made.kind != known.kind:
        return False
    if made.dimension == "count" and made.noun and known.noun and made.noun != known.noun:
        return False
    return known.low <= made.low <= known.high


def _origin_of(facts: _Facts, quantity: Quantity) -> str:
    """Return the cited line that has the quantity, else the first cited one."""
    for line in facts.cited:
        if any(q.same_value(quantity) for q in sound_quantities(line.text)):
            return line.id
    return facts.cited[0].id if facts.cited else ""
