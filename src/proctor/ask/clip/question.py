"""A pair, or a pair with options, as the question that is verified and asked (InstructionBench)."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from proctor.ask.clip.record import ChoiceItem, ClipPair, ShownClip, render_step
from proctor.errors import UserError
from proctor.exam.kinds.clip_prompt import ClipFacts
from proctor.exam.question import Choice, Footage, Open, Pick, Proposed, Question, Text
from proctor.metrics.choice.letters import LETTERS

__all__ = ["choice_question", "pair_question"]


def pair_question(pair: ClipPair, clips: Mapping[str, ShownClip]) -> Question:
    """Return an open-ended question with its answer as the proposal.

    Args:
        pair: as it was generated.
        clips: by id; without any nothing can be shown of it.

    Raises:
        UserError: if its clip is not there although others are.
    """
    made = Question(
        id=pair.id,
        kind="clip",
        text=pair.question,
        form=Open(),
        proposals=(Proposed(value=Text(text=pair.answer)),),
        facts=msgspec.to_builtins(ClipFacts()),
        cluster=f"question/{pair.id}",
    )
    return _about(made, pair, clips)


def choice_question(item: ChoiceItem, pair: ClipPair | None, clips: Mapping[str, ShownClip]) -> Question:
    """Return a question with options, ``<its id>.choice``: one of them claims to be right, the others to be wrong.

    Args:
        item: the question with its options.
        pair: that options were made for; None for a question of another benchmark, which stands alone.
        clips: by id.

    Raises:
        UserError: if the options are fewer than two, more than letters, or equal, the letter is none of them, or the pair's clip
            is not there although others are.
    """
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
    made = Question(
        id=f"{item.id}.choice",
        parent=item.id,
        kind="clip",
        text=item.question,
        form=Choice(options=item.options),
        proposals=tuple(
            Proposed(
                value=Pick(option=n),
                claim="right" if letter == item.letter else "wrong",
                origin=origins.get(option, ""),
            )
            for n, (letter, option) in enumerate(zip(valid, item.options, strict=True))
        ),
        facts=msgspec.to_builtins(ClipFacts()),
        cluster=f"question/{item.id}",
        provenance=item.details,
    )
    return made if pair is None else _about(made, pair, clips)


def _about(question: Question, pair: ClipPair, clips: Mapping[str, ShownClip]) -> Question:
    """Return the question with what its pair and clip say of it."""
    facets = {"dataset": pair.dataset, "level": pair.level, "category": pair.category}
    made = msgspec.structs.replace(
        question,
        facets={name: value for name, value in {**facets, "position": pair.position}.items() if value},
        cluster=f"{pair.dataset}/{pair.video_id}" if pair.video_id else question.cluster,
        provenance={**pair.details, **question.provenance},
    )
    clip = clips.get(pair.clip_id)
    if clip is None and clips:
        raise UserError(
            f"there is no clip '{pair.clip_id[:80]}'.",
            where=pair.id,
            hint="are the clips those from which the pairs were made?",
        )
    if clip is None:
        return made
    footage = Footage(
        recording=clip.video_id, start=clip.start, end=clip.end, video=clip.video or "", dataset=clip.dataset
    )
    facts = ClipFacts(steps=tuple(render_step(step) for step in clip.steps), goal=clip.task)
    return msgspec.structs.replace(made, evidence=(footage,), facts=msgspec.to_builtins(facts))
