"""A question about a clip as it is put to a system: with options (multiple choice) or without (open-ended).

It joins what generation keeps apart: the question with its options, the pair that it came from (level, category, position) and
the clip that is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from proctor.ask.clip.record import ChoiceItem, InstructionalPair, ShownClip
from proctor.errors import UserError
from proctor.metrics.choice.letters import LETTERS

__all__ = ["ClipQuestion", "choice_questions", "open_questions"]


class ClipQuestion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question with all that evaluation needs.

    Attributes:
        id: of the question.
        question: as asked.
        answer: the right one; for multiple choice the text of the right option.
        options: as printed; empty for open-ended questions.
        letter: of the right option as printed; empty for open-ended questions.
        clip: what is shown; None where it is not known (then only text-only systems can be asked).
        video_id: what intervals are clustered by; the question's own id where no video is known.
        dataset: name of the reader, for the table of scores.
        level: ``coarse`` or ``fine``.
        category: of the closed list.
        position: ``early``, ``middle`` or ``late`` in the clip.
        origins: of each option, where it came from (``DistractorKind``, with the step for those made by rule); empty for the
            right one, and where it is not known.
        provenance: who made it, as text.
    """

    id: str
    question: str
    answer: str
    options: tuple[str, ...] = ()
    letter: str = ""
    clip: ShownClip | None = None
    video_id: str = ""
    dataset: str = ""
    level: str = ""
    category: str = ""
    position: str = ""
    origins: tuple[str, ...] = ()
    provenance: Mapping[str, str] = {}

    @property
    def cluster(self) -> str:
        """Name of the cluster in intervals; questions of one id in two data sets share none."""
        return f"{self.dataset}/{self.video_id}" if self.video_id else f"question/{self.id}"


def choice_questions(
    items: Sequence[ChoiceItem],
    pairs: Iterable[InstructionalPair] = (),
    clips: Iterable[ShownClip] = (),
) -> list[ClipQuestion]:
    """Join questions with options with their pairs and clips, in the order of the items.

    An item whose pair is not given (a question of another benchmark) keeps its question and options alone.

    Raises:
        UserError: if two items have one id, the options are fewer than two, more than letters, or equal, the letter is none of
            them, or a pair's clip is not given although clips are.
    """
    by_pair = {pair.id: pair for pair in pairs}
    by_clip = {clip.id: clip for clip in clips}
    _unique([item.id for item in items])
    return [_choice(item, by_pair.get(item.id), by_clip) for item in items]


def open_questions(pairs: Sequence[InstructionalPair], clips: Iterable[ShownClip] = ()) -> list[ClipQuestion]:
    """Join open-ended pairs with their clips, in the order of the pairs.

    Raises:
        UserError: if two pairs have one id, or a pair's clip is not given although clips are.
    """
    by_clip = {clip.id: clip for clip in clips}
    _unique([pair.id for pair in pairs])
    return [
        _placed(ClipQuestion(id=pair.id, question=pair.question, answer=pair.answer), pair, by_clip)
        for pair in pairs
    ]


def _choice(item: ChoiceItem, pair: InstructionalPair | None, clips: Mapping[str, ShownClip]) -> ClipQuestion:
    if not 2 <= len(item.options) <= len(LETTERS):
        raise UserError(
            f"the question has {len(item.options)} options.", where=item.id, hint=f"give 2 to {len(LETTERS)}"
        )
    if len(set(item.options)) < len(item.options):
        raise UserError(
            "two options are the same.", where=item.id, hint="make the options anew (proctor choices)"
        )
    valid = LETTERS[: len(item.options)]
    if len(item.letter) != 1 or item.letter not in valid:
        raise UserError(
            f"the letter of the right option is {item.letter[:20]!r}.",
            where=item.id,
            hint=f"it has to be one of {valid[0]} to {valid[-1]}",
        )
    origins = {d.text: f"{d.kind}: {d.origin}" if d.origin else d.kind for d in item.distractors}
    question = ClipQuestion(
        id=item.id,
        question=item.question,
        answer=item.options[valid.index(item.letter)],
        options=item.options,
        letter=item.letter,
        origins=tuple(origins.get(option, "") for option in item.options),
        provenance=item.details,
    )
    return question if pair is None else _placed(question, pair, clips)


def _placed(question: ClipQuestion, pair: InstructionalPair, clips: Mapping[str, ShownClip]) -> ClipQuestion:
    """Return the question with what its pair and clip say of it."""
    clip = clips.get(pair.clip_id)
    if clips and clip is None:
        raise UserError(
            f"there is no clip '{pair.clip_id[:80]}'.",
            where=pair.id,
            hint="are the clips those from which the pairs were made?",
        )
    return msgspec.structs.replace(
        question,
        clip=clip,
        video_id=pair.video_id,
        dataset=pair.dataset,
        level=pair.level,
        category=pair.category,
        position=pair.position,
        provenance={**pair.details, **question.provenance},
    )


def _unique(ids: Sequence[str]) -> None:
    twice = [id_ for id_, n in Counter(ids).items() if n > 1]
    if twice:
        raise UserError(
            f"{len(twice):,} ids are there twice, such as '{twice[0][:80]}'.", hint="ids must be unique"
        )
