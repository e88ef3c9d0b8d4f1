"""Who puts steps into order: right with the chance of its quality where it is shown the steps, else it guesses.

The steps are looked up in the workspace by their texts or pictures as prompts show them. Who is wrong exchanges two steps, and now and
then forgets one (``FORGOTTEN``) or names none. Replies come in several notations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations
from typing import Final

from proctor.exam.kinds.order_marks import right_orders, slot_texts
from proctor.exam.question import Item, Order, Picture
from proctor.llm.fence import escape_text
from proctor_rehearsal.players.items_known import ItemsKnown, Key
from proctor_rehearsal.players.prompt import named_by, open_fences, tokens_of, without
from proctor_rehearsal.standin.answer import Answer
from proctor_rehearsal.standin.call import Call, draw

__all__ = ["FORGOTTEN", "SILENT", "order_keys", "play_order"]

FORGOTTEN: Final = 0.2
"""Of replies that are not right, the share that leaves a step out."""
SILENT: Final = 0.1
"""Of these, the share that names none."""
_LIST: Final = re.compile(r"Reply with a JSON list of all (\d+) numbers")
_PAIR: Final = re.compile(r"Which of the two is done first\?")


def order_keys(item: Item) -> Iterator[Key]:
    """Yield what prompts show of an item's steps: all of them, and every two, by their texts and by their pictures."""
    texts, shown = [text or "(no text)" for text in slot_texts(item)], _pictures(item)
    yield ("texts", *(escape_text(f"{n}: {text}", one_line=True) for n, text in enumerate(texts, 1)))
    yield ("media", *(sha for pictures in shown for sha in pictures))
    for i, j in permutations(range(len(texts)), 2):
        yield ("texts of two", escape_text(texts[i]), escape_text(texts[j]))
        yield ("media of two", *shown[i], *shown[j])


def _pictures(item: Item) -> list[list[str]]:
    """Return the hashes of the pictures of each step, as presented."""
    ids = item.question.form.ids if isinstance(item.question.form, Order) else ()
    shown = [part for part in item.question.evidence if isinstance(part, Picture)]
    return [[part.sha256 for part in shown if part.id == id_] for id_ in ids]


def play_order(call: Call, quality: float, seed: int, known: ItemsKnown) -> Answer | None:
    """Reply to a question about the order of steps; None where the request is none."""
    prompt = f"{call.system}\n{call.last}"
    for token in tokens_of(prompt):
        blocks, words = open_fences(prompt, token)
        many, media = _LIST.search(words), tuple(medium.sha256 for medium in call.media)
        if many is None and _PAIR.search(words) is None:
            continue
        named = named_by(call, call.model, without(token, prompt))
        if many is not None:
            lines = blocks.get("steps to order", "").splitlines()
            keys: list[Key] = [("texts", *(line.removeprefix("- ") for line in lines)), ("media", *media)]
            item = _found(known, keys)
            return _list(named, item, int(many[1]), quality, seed)
        texts = blocks.get("step a", ""), blocks.get("step b", "")
        item = _found(known, [("texts of two", *texts), ("media of two", *media)])
        return _pair(named, item, texts, media, quality, seed)
    return None


def _found(known: ItemsKnown, keys: Iterable[Key]) -> Item | None:
    return next((item for key in keys if any(key[1:]) and (item := known.find(key)) is not None), None)


def _list(call: Call, item: Item | None, count: int, quality: float, seed: int) -> Answer:
    if item is None:
        order = sorted(range(count), key=lambda slot: call.draw("guess", slot, seed))
        return Answer(text=_spelt(call, order, seed))
    order = list(right_orders(item).orders[0])
    luck = draw(seed, call.model, item.id)
    if luck < quality:
        return Answer(text=_spelt(call, order, seed))
    at = int(call.draw("exchanged", seed) * (len(order) - 1))
    order[at], order[at + 1] = order[at + 1], order[at]
    lapse = (luck - quality) / (1 - quality)
    if lapse < FORGOTTEN * SILENT:
        return Answer(text="I cannot tell.")
    return Answer(text=_spelt(call, order[: len(order) - (lapse < FORGOTTEN)], seed))


def _spelt(call: Call, order: Sequence[int], seed: int) -> str:
    numbers = [str(slot + 1) for slot in order]
    notations = (
        f"[{', '.join(numbers)}]",
        "```json\n[" + ", ".join(numbers) + "]\n```",
        " → ".join(f"Step {number}" for number in numbers),
        "\n".join(f"{n}. Step {number}" for n, number in enumerate(numbers, 1)),
    )
    return notations[int(call.draw("notation", seed) * len(notations))]


def _pair(
    call: Call, item: Item | None, texts: tuple[str, str], media: tuple[str, ...], quality: float, seed: int
) -> Answer:
    first = call.draw("guess", seed) < 0.5
    told = texts if all(texts) else (media[0], media[-1]) if len(media) > 1 else ()
    if item is not None and told and call.draw("right", seed) < quality:
        slots = {escape_text(text or "(no text)"): slot for slot, text in enumerate(slot_texts(item))}
        slots |= {sha: slot for slot, pictures in enumerate(_pictures(item)) for sha in pictures}
        a, b = (right_orders(item).orders[0].index(slots[one]) for one in told)
        first = a < b
    return Answer(text="A" if first else "B")
