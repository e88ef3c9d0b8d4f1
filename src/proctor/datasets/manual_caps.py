"""Sequences of steps from manuals: which are kept, how much of each is shown, and the figures of whole data sets.

Sentences are found by rule, enough to count them and to keep the first few. One ends at ``.``, ``!`` or ``?`` (closing quotes and brackets included) before white space and something that can
begin a sentence, or at the end of a line. No stop ends one after an abbreviation that needs more to follow (``tsp.``,
``e.g.``), a single capital, or the number of a list at the beginning of a sentence (``2. Stir``).

The defaults of ``Caps`` are those of Wu et al. 2022. Lengths in tokens and the size of pictures are the business of
whoever encodes them; they stand here so that one value says all.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from proctor.errors import UserError
from proctor.procedure.inflect import word_set
from proctor.procedure.manual import (
    Manual,
    ManualSection,
    ManualStep,
    Modality,
    Order,
    Sequence,
    SequenceStep,
    sequence_id,
)
from proctor.records import Dropped

__all__ = [
    "PUBLISHED_CAPS",
    "RELEASED_CAPS",
    "Caps",
    "Derived",
    "TextField",
    "derive_sequences",
    "measure_manuals",
    "middle_frame",
    "split_sentences",
    "step_text",
]

_INNER: Final = word_set(
    "e.g i.e eg ie cf vs approx ca incl excl esp dr mr mrs ms prof st jr sr nos fig figs vol dept tsp "
    "tsps tbsp tbsps tbs oz lb lbs pt pts qt qts gal deg pkg"
)
"""Abbreviations that seldom end a sentence; ``etc.``, ``a.m.`` and ``in.`` often do."""

_END: Final = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s)|\n++")
"""Begins only where a run of marks does, so that a text of marks alone takes no quadratic time."""

_OPENER: Final = re.compile(r"[\"'“‘(\[\s*•-]*(?P<first>.)", re.DOTALL)


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text in order, with white space at their ends removed; none for a blank text."""
    sentences: list[str] = []
    start = 0
    for match in _END.finditer(text):
        if _ends(text, start, match):
            sentences.append(text[start : match.end()].strip())
            start = match.end()
    sentences.append(text[start:].strip())
    return [s for s in sentences if s]


def _ends(text: str, start: int, match: re.Match[str]) -> bool:
    mark = match[0]
    if mark.isspace():
        return True
    opener = _OPENER.match(text, match.end())
    if opener is not None and opener["first"].islower():
        return False
    if not mark.startswith(".") or mark.startswith(".."):
        return True
    before = text[max(start, match.start() - 20) : match.start()].split()
    last = before[-1].lstrip("\"'“‘([") if before else ""
    if last.lower() in _INNER or (len(last) == 1 and last.isupper()):
        return False
    return not (last.isdigit() and text[start : match.start()].strip() == last)


# -- sequences of steps from manuals: which steps are kept, and how much of each is shown --------------------------

TextField = Literal["headline", "text", "bullets"]


@dataclass(frozen=True, slots=True)
class Caps:
    """What of a manual is used. None is no limit.

    Attributes:
        images_per_step: the first so many.
        min_steps: a section with fewer left is dropped.
        max_steps: the first so many are kept.
        sentences_per_step: the first so many, joined by spaces.
        paired: every step has an image; one without is dropped alone and the others are kept.
        text_fields: joined by spaces in this order. The headline is not among the published ones: it says in a few
            words what the step does, which is another task.
        tokens_per_step: of the model, its own marks included; for whoever encodes.
        tokens_in_all: the same of the sequence.
        image_size: side in pixels, by resizing without a crop; for whoever encodes.

    Raises:
        UserError: if a limit is below 1, there are more least than most steps, or the text has no or repeated fields.
    """

    images_per_step: int | None = 1
    min_steps: int = 5
    max_steps: int | None = 5
    sentences_per_step: int | None = 5
    paired: bool = True
    text_fields: tuple[TextField, ...] = ("text", "bullets")
    tokens_per_step: int = 60
    tokens_in_all: int = 300
    image_size: int = 224

    def __post_init__(self) -> None:
        for name in (
            "images_per_step",
            "min_steps",
            "max_steps",
            "sentences_per_step",
            "tokens_per_step",
            "tokens_in_all",
            "image_size",
        ):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise UserError(f"{name} is {value!r}.", hint="give a whole number from 1 on")
        if self.max_steps is not None and self.max_steps < self.min_steps:
            raise UserError(
                f"at least {self.min_steps} and at most {self.max_steps} steps are wanted.",
                hint="min_steps must not be above max_steps",
            )
        known = get_args(TextField)
        unknown = [f for f in self.text_fields if f not in known]
        if unknown or not self.text_fields or len(set(self.text_fields)) < len(self.text_fields):
            raise UserError(
                f"text_fields is {self.text_fields!r}.", hint=f"some of {', '.join(known)}, each once"
            )


PUBLISHED_CAPS: Final = Caps()
"""As the paper says: five steps, five sentences and one image each."""
RELEASED_CAPS: Final = Caps(sentences_per_step=None)
"""As the released scripts run: they never switch the limit of sentences on."""


@dataclass(frozen=True, slots=True)
class Derived:
    """What became of a manual: its sequences, and what was left out with a reason.

    Reasons: ``no-image`` (a step), ``beyond-max-steps`` (a step), ``too-few-steps`` (a section),
    ``reference-of-other-steps`` (an order that is no permutation of the steps that are left).
    """

    sequences: tuple[Sequence, ...]
    dropped: tuple[Dropped, ...] = ()


def derive_sequences(
    manual: Manual,
    caps: Caps = PUBLISHED_CAPS,
    *,
    sentences: Callable[[str], list[str]] = split_sentences,
) -> Derived:
    """Return one sequence a section of a manual that has enough steps.

    Args:
        manual: any.
        caps: what is kept.
        sentences: text to its sentences, where another tokenizer is wanted.

    Returns:
        sequences in the order of the sections, and everything that was dropped.
    """
    sequences: list[Sequence] = []
    dropped: list[Dropped] = []
    for section in manual.sections:
        id_ = sequence_id(manual.id, section.index)
        steps = _chosen(section, caps, id_, dropped)
        if len(steps) < caps.min_steps:
            dropped.append(
                Dropped(
                    id_,
                    "too-few-steps",
                    f"{len(steps)} of {len(section.steps)} left, {caps.min_steps} needed",
                )
            )
            continue
        sequences.append(
            Sequence(
                id=id_,
                goal=manual.title,
                steps=tuple(_shown(step, caps, sentences) for step in steps),
                category_paths=manual.category_paths,
                references=_references(section.references, len(steps), id_, dropped),
            )
        )
    return Derived(tuple(sequences), tuple(dropped))


def _chosen(section: ManualSection, caps: Caps, id_: str, dropped: list[Dropped]) -> list[ManualStep]:
    steps: list[ManualStep] = []
    for step in section.steps:
        if caps.paired and not step.images:
            dropped.append(Dropped(f"{id_} step {step.id}", "no-image"))
        elif caps.max_steps is not None and len(steps) >= caps.max_steps:
            dropped.append(Dropped(f"{id_} step {step.id}", "beyond-max-steps"))
        else:
            steps.append(step)
    return steps


def step_text(step: ManualStep, fields: tuple[TextField, ...] = PUBLISHED_CAPS.text_fields) -> str:
    """Return the chosen fields of a step joined by spaces, empty ones left out."""
    parts: list[str] = []
    for name in fields:
        parts.extend(step.bullets if name == "bullets" else (step.text if name == "text" else step.headline,))
    return " ".join(part.strip() for part in parts if part.strip())


def _shown(step: ManualStep, caps: Caps, sentences: Callable[[str], list[str]]) -> SequenceStep:
    text = step_text(step, caps.text_fields)
    if caps.sentences_per_step is not None:
        kept = sentences(text)
        text = " ".join(kept[: caps.sentences_per_step]) if len(kept) > caps.sentences_per_step else text
    return SequenceStep(step.id, text, step.images[: caps.images_per_step])


def _references(
    references: Mapping[Modality, tuple[Order, ...]], steps: int, id_: str, dropped: list[Dropped]
) -> dict[Modality, tuple[Order, ...]]:
    """Put the authored order first, each order once; orders of another number of steps are dropped."""
    authored = tuple(range(steps))
    found: dict[Modality, tuple[Order, ...]] = {}
    for modality, orders in references.items():
        kept = {authored: None}
        for order in orders:
            if sorted(order) == list(authored):
                kept[order] = None
            else:
                dropped.append(
                    Dropped(
                        f"{id_} {modality}",
                        "reference-of-other-steps",
                        f"{list(order[:20])} over {steps} steps",
                    )
                )
        found[modality] = tuple(kept)
    return found


def middle_frame(frames: int) -> int:
    """Return the index of the frame that stands for a clip or an animated picture: the middle one.

    Raises:
        UserError: if there are no frames.
    """
    if frames < 1:
        raise UserError(f"a clip of {frames} frames has no middle one.", hint="is the file complete?")
    return frames // 2


# -- figures of manuals as in Table 1 of Wu et al. 2022, in one pass and without keeping the manuals ---------------


@dataclass(slots=True)
class _Spread:
    """Mean, population standard deviation and ends of whole numbers that come one by one."""

    count: int = 0
    total: int = 0
    squares: int = 0
    least: int = 0
    most: int = 0

    def add(self, value: int) -> None:
        self.least = value if self.count == 0 else min(self.least, value)
        self.most = max(self.most, value)
        self.count += 1
        self.total += value
        self.squares += value * value

    def figures(self, name: str) -> dict[str, float]:
        if not self.count:
            return {f"{name}_{part}": math.nan for part in ("mean", "std", "min", "max")}
        mean = self.total / self.count
        # whole numbers to the end, so that nothing is cancelled out
        variance = (self.count * self.squares - self.total**2) / self.count**2
        return {
            f"{name}_mean": mean,
            f"{name}_std": math.sqrt(variance),
            f"{name}_min": float(self.least),
            f"{name}_max": float(self.most),
        }


def measure_manuals(
    manuals: Iterable[Manual], fields: tuple[TextField, ...] = PUBLISHED_CAPS.text_fields
) -> dict[str, float]:
    """Return the figures of Table 1 by name.

    Args:
        manuals: read once.
        fields: of a step that count as its text.

    Returns:
        ``manuals``, ``manuals_<split>``, ``images``, ``types``, ``tokens`` and ``type_token_ratio`` (words in lower case
        and marks of punctuation), and ``tokens_per_step_*``, ``sentences_per_step_*`` and ``steps_per_task_*`` (a task is a
        section) with ``mean``, ``std`` (of the population), ``min`` and ``max``; ``nan`` where there is nothing to measure.
    """
    from proctor.metrics.text_statistics import tokenize

    splits: Counter[str] = Counter()
    vocabulary: set[str] = set()
    tokens, sentences, steps, images, total = _Spread(), _Spread(), _Spread(), 0, 0
    for manual in manuals:
        total += 1
        if split := manual.attributes.get("split"):
            splits[f"manuals_{split}"] += 1
        for section in manual.sections:
            steps.add(len(section.steps))
            for step in section.steps:
                text = step_text(step, fields)
                words = tokenize(text.lower())
                vocabulary.update(words)
                tokens.add(len(words))
                sentences.add(len(split_sentences(text)))
                images += len(step.images)
    return {
        "manuals": float(total),
        **{name: float(n) for name, n in sorted(splits.items())},
        "images": float(images),
        "types": float(len(vocabulary)),
        "tokens": float(tokens.total),
        "type_token_ratio": len(vocabulary) / tokens.total if tokens.total else math.nan,
        **tokens.figures("tokens_per_step"),
        **sentences.figures("sentences_per_step"),
        **steps.figures("steps_per_task"),
    }
