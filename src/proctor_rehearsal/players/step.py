"""Who is asked about a step: right with the chance of its quality where it is told when the step was, else it guesses.

What a model would see is looked up in the workspace by the question and its times, since the stand-in sees no pixels. Of wrong
replies ``HEDGED`` say neither yes nor no. Blind it says "yes" mostly (``YES``), or takes any option. Who writes
questions writes those that pass the checks with the chance of its quality.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from proctor.exam.question import Choice, Item, Pick, gold_texts, part_of
from proctor.exam.question import Footage as Seen
from proctor.llm.fence import escape_text
from proctor.metrics.choice.letters import LETTERS
from proctor_rehearsal.players.items_known import ItemsKnown, Key
from proctor_rehearsal.players.prompt import named_by, open_fences, tokens_of, without
from proctor_rehearsal.standin.answer import Answer
from proctor_rehearsal.standin.behaviours import pick
from proctor_rehearsal.standin.call import Call, draw

__all__ = ["HEDGED", "YES", "play_step", "step_keys"]

HEDGED: Final = 0.1
"""Of replies that are not right, the share that hedges."""
YES: Final = 0.8
"""How often "yes" is said by who has seen nothing."""
_TIMES: Final = re.compile(r"from (\d+\.\d\d) s to (\d+\.\d\d) s")
_HEDGES: Final = ("I cannot tell.", "That is not clear from the pictures.", "Maybe.")
_YES: Final = ("Yes", "Yes.", "yes", "Yes, it was.")
_NO: Final = ("No", "No.", "no", "No, not as it should be.")


def step_keys(item: Item) -> Iterator[Key]:
    """Yield the text and the times of a question about a step, as prompts show them."""
    if (clip := part_of(item.question, Seen)) is not None:
        yield escape_text(item.question.text), f"{clip.start:.2f}", f"{clip.end:.2f}"


def play_step(call: Call, quality: float, seed: int, known: ItemsKnown) -> Answer | None:
    """Reply to a question about a step; None where the request is none."""
    prompt = f"{call.system}\n{call.last}"
    for token in tokens_of(prompt):
        blocks, words = open_fences(prompt, token)
        if not {"step question", "written step"} & blocks.keys():
            continue
        named = named_by(call, call.model, without(token, prompt))
        if "written step" in blocks:
            return _write(named, blocks["written step"], blocks["written model"], quality, seed)
        times = _TIMES.search(words)
        item = None if times is None else known.find((blocks["step question"], times[1], times[2]))
        if item is None:
            return _guess(named, blocks, seed)
        return _say(named, item, quality, draw(seed, call.model, item.id), seed)
    return None


def _write(call: Call, step: str, model: str, quality: float, seed: int) -> Answer:
    """Write a question about a step; who is wrong turns yes and no round, or forgets the step."""
    if call.draw("right", seed) < quality:
        return Answer(text=f"{model.rstrip('?')}, just as the step says: {step.rstrip('.')}?")
    return Answer(
        text=str(pick(call, (f"Did the person not do this: {step}?", "Was it fine?"), "wrong", seed))
    )


def _guess(call: Call, blocks: Mapping[str, str], seed: int) -> Answer:
    options = blocks.get("step options", "").count("- (")
    if options:
        return Answer(text=LETTERS[int(call.draw("option", seed) * options)])
    return Answer(text="Yes" if call.draw("yes", seed) < YES else "No")


def _say(call: Call, item: Item, quality: float, luck: float, seed: int) -> Answer:
    form = item.question.form
    if luck >= quality and luck < quality + HEDGED * (1 - quality):
        return Answer(text=str(pick(call, _HEDGES, "hedge", seed)))
    if isinstance(form, Choice):
        rights = [gold.value.option for gold in item.golds if isinstance(gold.value, Pick)]
        wrongs = [n for n in range(len(form.options)) if n not in rights]
        return Answer(text=LETTERS[int(pick(call, rights if luck < quality else wrongs, "option", seed))])
    yes = (gold_texts(item)[0] == "yes") == (luck < quality)
    return Answer(text=str(pick(call, _YES if yes else _NO, "form", seed)))
