"""Prompts of multiple choice and how their replies are read (wrong answers, the best of them, votes); letters and order of the options.

What cannot be read is never guessed at: a vote without a letter counts as wrong where the context is shown, and as not
right where it is not, so that both votes fail closed. A failed call is no reply at all; ``choices`` postpones the question.

Letters are dealt over the whole set at once, so that each is right ⌊n/k⌋ or ⌈n/k⌉ times, and not roughly so (InstructionBench's
supplement). They depend on the run's seed and on the set of ids: neither order nor concurrency change them, but a further question
may change all of them. So letters are dealt when a set is complete.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import msgspec

from proctor.ask.clip.known import Known
from proctor.ask.documents.prompting import SHOWN, squeeze
from proctor.ask.documents.rng import attempt_random
from proctor.errors import UserError
from proctor.llm.fence import FenceSecret
from proctor.llm.message import Parameters
from proctor.llm.outcome import Outcome, Refusal, Reply, Truncated
from proctor.llm.prompt import PromptSet, Rendered
from proctor.llm.structured import Unreadable, find_objects, read_object, spoken_text
from proctor.metrics.choice.letters import LETTERS, balanced_letter_counts
from proctor.metrics.choice.reading import parse_letter

__all__ = [
    "LONGEST_OPTION",
    "PICKING",
    "PICK_FORM",
    "VOTING",
    "WRITE_FORM",
    "WRITING",
    "ChoicePrompts",
    "Unwritten",
    "arrange_options",
    "deal_letters",
    "like_answer",
    "normalise_option",
    "read_best",
    "read_vote",
    "read_wrong",
    "says_all_of_the_above",
    "vote_order",
]


T = TypeVar("T")


def deal_letters(ids: Iterable[str], options: int, seed: int) -> dict[str, str]:
    """Return the letter of the right option for each question, exactly balanced.

    Args:
        ids: of the questions.
        options: of each, 2 to 26.
        seed: of the run.

    Raises:
        UserError: if an id occurs twice or there are no letters for so many options.
    """
    names = sorted(ids)
    if len(set(names)) < len(names):
        raise UserError("two questions have the same id.")
    if not 2 <= options <= len(LETTERS):
        raise UserError(f"a question has 2 to {len(LETTERS)} options, not {options}.")
    rng = attempt_random(seed, "", options, "letters")
    letters = list(LETTERS[:options])
    rng.shuffle(letters)  # chance says which letters are right once more than others
    counts = balanced_letter_counts(len(names), options)
    dealt = [letter for letter, count in zip(letters, counts, strict=True) for _ in range(count)]
    rng.shuffle(dealt)
    return dict(zip(names, dealt, strict=True))


def arrange_options(answer: T, wrong: Sequence[T], letter: str, id: str, seed: int) -> tuple[T, ...]:
    """Return options in the order in which they are printed: the answer at its letter, the others in an order of their own.

    Raises:
        UserError: if there is no such letter among so many options.
    """
    valid = LETTERS[: len(wrong) + 1]
    if len(letter) != 1 or letter not in valid:
        raise UserError(f"{letter!r} is no letter of {len(wrong) + 1} options.")
    others = list(wrong)
    attempt_random(seed, id, 0, "options").shuffle(others)
    at = valid.index(letter)
    return (*others[:at], answer, *others[at:])


def vote_order(options: int, *, seed: int, id: str, attempt: int, stage: str, voter: int) -> tuple[int, ...]:
    """Return how the options are shuffled for one vote: positions in the unshuffled list, in which the answer is first.

    Args:
        options: how many.
        seed: of the run.
        id: of the question.
        attempt: counted from 0.
        stage: of the vote.
        voter: place among the assistants: two that are the same model are shown different orders.
    """
    order = list(range(options))
    attempt_random(seed, id, attempt, f"vote {stage} {voter}").shuffle(order)
    return tuple(order)


WRITING: Final = Parameters(temperature=1.0, max_tokens=1024)
"""Parameters of the call that writes wrong answers; attempts differ by chance alone, so the temperature is not 0 [R]."""
PICKING: Final = Parameters(temperature=0.0, max_tokens=512)
VOTING: Final = Parameters(temperature=0.0, max_tokens=512)

LONGEST_OPTION: Final = 1_000
"""Characters beyond which something is no option."""

WRITE_FORM: Final = '{"wrong": ["first wrong answer", "second wrong answer", …]}'
"""The wanted form in words, for a repair round."""
PICK_FORM: Final = '{"best": [numbers of the chosen proposals]}'


@dataclass(frozen=True, slots=True)
class Unwritten:
    """Why nothing could be read of a reply; for people."""

    detail: str


@dataclass(frozen=True, slots=True)
class ChoicePrompts:
    """Makes the prompts.

    Attributes:
        prompts: templates of the room ``generate`` (``proctor.ask.moment.promqa_prompt.generation_prompts``).
        secret: of the workspace, for fences.
    """

    prompts: PromptSet
    secret: FenceSecret

    def write(self, question: Known, count: int, tried: Sequence[str] = ()) -> Rendered:
        """Ask for wrong answers other than those that were tried before."""
        return self.prompts["choices-write"].render(
            self.secret,
            context=[line.shown for line in question.lines],
            question=question.text,
            answer=question.answer,
            also=list(question.answers[1:]) or None,
            tried=list(tried) or None,
            count=count,
            words=max(1, len(question.answer.split())),
        )

    def pick(self, question: Known, wrong: Sequence[str], count: int) -> Rendered:
        """Ask for the best of some wrong answers."""
        return self.prompts["choices-pick"].render(
            self.secret,
            context=[line.shown for line in question.lines],
            question=question.text,
            answer=question.answer,
            also=list(question.answers[1:]) or None,
            wrong=list(wrong),
            count=count,
        )

    def vote(self, question: Known, options: Sequence[str], *, with_context: bool) -> Rendered:
        """Ask which option is right; options are in the order in which they are shown."""
        lettered = [f"{letter}. {text}" for letter, text in zip(LETTERS, options, strict=False)]
        return self.prompts["choices-vote"].render(
            self.secret,
            context=[line.shown for line in question.lines] if with_context else None,
            question=question.text,
            options=lettered,
            last=LETTERS[len(options) - 1],
        )


# -- replies -----------------------------------------------------------------------------------------------------


class _Wrong(msgspec.Struct):
    wrong: list[str]


class _Best(msgspec.Struct):
    best: list[int]


_ITEM = re.compile(r"^\s*(?:[-*•]|\(?(?:[A-Za-z]|\d{1,2})[).:])\s+")


def _unsaid(outcome: Outcome) -> Unwritten | None:
    """Say why an outcome is no reply; None when it is one. Failures are the caller's to see to."""
    if isinstance(outcome, Refusal):
        return Unwritten(f"refused: {outcome.text[:SHOWN]}".rstrip(": "))
    if isinstance(outcome, Truncated):
        return Unwritten(f"cut off by the limit on tokens after {len(outcome.text):,} characters")
    return None if isinstance(outcome, Reply) else Unwritten("no reply")


def read_wrong(outcome: Outcome) -> tuple[str, ...] | Unwritten:
    """Return the wrong answers of a reply, each on one line, empty and endless ones left out.

    Numbers or letters in front of them go when all have some: an option that begins with one by itself keeps it.
    """
    unsaid = _unsaid(outcome)
    if unsaid is not None or not isinstance(outcome, Reply):
        return unsaid or Unwritten("no reply")
    found = read_object(outcome.text, _Wrong, required=("wrong",))
    if isinstance(found, Unreadable):
        return Unwritten(f"{found.reason} {found.detail}".strip())
    texts = [squeeze(text) for text in found.wrong]
    texts = [text for text in texts if text]
    if len(texts) > 1 and all(_ITEM.match(text) for text in texts):
        texts = [_ITEM.sub("", text) for text in texts]
    return tuple(text for text in texts if _is_option(text))


def _is_option(text: str) -> bool:
    """True for a text that says something, is not endless, and can be written down (no half of a character)."""
    if len(text) > LONGEST_OPTION or any("\ud800" <= char <= "\udfff" for char in text):
        return False
    return bool(normalise_option(text))


def read_best(outcome: Outcome, proposals: int) -> tuple[int, ...] | Unwritten:
    """Return positions (from 0) of the chosen proposals in the order in which they were named.

    Numbers that do not exist cannot be read as a choice; one that is named twice counts once.
    """
    unsaid = _unsaid(outcome)
    if unsaid is not None or not isinstance(outcome, Reply):
        return unsaid or Unwritten("no reply")
    found = read_object(outcome.text, _Best, required=("best",))
    if isinstance(found, Unreadable):
        return Unwritten(f"{found.reason} {found.detail}".strip())
    unknown = [n for n in found.best if not 1 <= n <= proposals]
    if unknown:
        return Unwritten(f"there is no proposal {unknown[0]}")
    return tuple(dict.fromkeys(n - 1 for n in found.best))


def read_vote(outcome: Outcome, options: Sequence[str]) -> str:
    """Return the letter of a vote, empty where none can be read."""
    if not isinstance(outcome, Reply):
        return ""
    text = spoken_text(outcome.text)
    if isinstance(text, Unreadable):
        return ""
    objects = find_objects(text)
    if objects:  # some models cannot but reply with one
        said = objects[-1].value
        named = [
            said[key] for key in ("answer", "letter", "choice", "option") if isinstance(said.get(key), str)
        ]
        text = named[0] if named else text
    return parse_letter(text, list(options)).letter or ""


# -- options -----------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r"\d+(?:[./:,]\d+)*|\w+|[%°$€£]")
_ARTICLES: Final = frozenset({"a", "an", "the"})
_REFERS = re.compile(
    r"\b(?!each other\b)(?:all|none|any|both|neither|either|each|some|most|two|three|several)\s+(?:of\s+)?(?:the\s+|these\s+|those\s+)?"
    r"(?:(?:above|foregoing|preceding|previous|following|other|listed|given)\b"
    r"(?!\s+(?!options?|choices?|answers?|alternatives?|statements?|mentioned|listed|given|are|is|apply)\w)"
    r"|(?:options?|choices?|answers?|alternatives?)\b)"
    r"|\bthe (?:above|other|previous|preceding) (?:options?|choices?|answers?)\b"
    r"|^(?:all|none|both|neither|either|any) of (?:these|those|them)$",
    re.IGNORECASE,
)
_LETTERS_ONLY = re.compile(
    r"^(?i:both|either|neither|all of)?\s*(?i:options?|answers?|choices?)?\s*\(?[A-H]\)?"
    r"(?:\s*(?:,|,?\s*and|,?\s*or|nor|&|/|\+)\s*\(?[A-H]\)?)+$"
)


def normalise_option(text: str) -> str:
    """Return what an option says without case, punctuation, spacing and articles: equal ones are one option.

    Numbers stay whole ("1/2" is not "12", "1.5" not "1 5"). Empty for a text that says nothing.
    """
    plain = unicodedata.normalize("NFKC", text).replace("\u2044", "/").casefold()
    words = _TOKEN.findall(plain)
    return " ".join([word for word in words if word not in _ARTICLES] or words)


def says_all_of_the_above(text: str) -> bool:
    """True for an option that refers to other options: "all of the above", "none of these", "both A and C"."""
    plain = squeeze(unicodedata.normalize("NFKC", text)).strip(" .!,;:\"'()")
    return bool(_REFERS.search(plain) or _LETTERS_ONLY.match(plain))


def like_answer(text: str, answer: str) -> str:
    """Give a wrong answer the outward form of the right one: full stop at the end or none, and a capital where that has one.

    A capital is never taken away: it may belong to a name.
    """
    text, answer = squeeze(text), squeeze(answer)
    if answer.endswith("."):
        text = text if text.endswith((".", "!", "?", "…")) else f"{text}."
    elif text.endswith(".") and text.count(".") == 1:
        text = text[:-1].rstrip()
    return text[0].upper() + text[1:] if answer[:1].isupper() and text[:1].islower() else text
