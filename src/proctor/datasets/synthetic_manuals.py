"""Manuals made up for tests and trials: the right order is known, and neither texts nor images alone tell it.

Each of four tasks has five stages. The text of a stage has one word that tells its text bucket, among words that tell
nothing; its image has one patch that tells its image bucket, in noise. Stages (0, 1) and (3, 4) share a text bucket,
(1, 2, 3) share an image bucket, and the two together are different for every stage. A folder is written that the reader
``wikihow`` reads.
"""

from __future__ import annotations

import json
import random
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from proctor.errors import UserError
from proctor.procedure.inflect import word_list
from proctor.records import atomic_folder

__all__ = [
    "IMAGE_BUCKETS",
    "PATCH_SIDE",
    "TASKS",
    "TELLING_WORDS",
    "TEXT_BUCKETS",
    "MadeStep",
    "make_step",
    "write_manuals",
]

TEXT_BUCKETS: Final = (0, 0, 1, 2, 2)
"""What the text of each stage tells."""
IMAGE_BUCKETS: Final = (0, 1, 1, 1, 2)
"""What the image of each stage tells."""

TASKS: Final = ("potting", "folding", "baking", "binding")

TELLING_WORDS: Final = {
    "potting": ("gravel", "seedling", "watering"),
    "folding": ("sheet", "crease", "wings"),
    "baking": ("flour", "dough", "crust"),
    "binding": ("pages", "thread", "cover"),
}
"""The word of each text bucket, by task."""

_OTHER_WORDS: Final = word_list(
    "above again along around aside away barely below beside between both briefly calmly corner edge "
    "evenly firmly first gently half hand hold keep left level lightly little look middle move near "
    "neatly one open outer over piece place press quickly rest right side slowly small smooth softly "
    "table turn until with work"
)
"""With the twelve telling words a vocabulary of 64."""

PATCH_SIDE: Final = 4
"""Pixels; an image has two by two patches of 4 x 4 pixels with three colours: 4 patches of 48 values."""
_PATCHES: Final = 4
_NOISE: Final = 0.3
_SHIFT: Final = 1.5
_GREY: Final = 128
_UNIT: Final = 40
"""A value v is the byte 128 + 40 v: a shift of 1.5 and four deviations of the noise fit."""


@dataclass(frozen=True, slots=True)
class MadeStep:
    """A stage of a task.

    Attributes:
        text: three to six words that tell nothing and one that tells the text bucket, as a sentence.
        png: the picture, 8 x 8 pixels.
    """

    text: str
    png: bytes


def make_step(task: str, stage: int, rng: random.Random) -> MadeStep:
    """Make up one stage.

    Raises:
        UserError: if there is no such task or stage.
    """
    if task not in TELLING_WORDS or not 0 <= stage < len(TEXT_BUCKETS):
        raise UserError(
            f"there is no stage {stage} of {task!r}.", hint=f"stages 0 to 4 of {', '.join(TASKS)}"
        )
    words = [rng.choice(_OTHER_WORDS) for _ in range(rng.randint(3, 6))]
    words.insert(rng.randint(0, len(words)), TELLING_WORDS[task][TEXT_BUCKETS[stage]])
    return MadeStep(f"{' '.join(words).capitalize()}.", _picture(IMAGE_BUCKETS[stage], rng))


def _picture(bucket: int, rng: random.Random) -> bytes:
    shifted = rng.randrange(_PATCHES)
    side = 2 * PATCH_SIDE
    rows = [bytearray() for _ in range(side)]
    for y in range(side):
        for x in range(side):
            patch = 2 * (y // PATCH_SIDE) + x // PATCH_SIDE
            shift = _SHIFT * (bucket - 1) if patch == shifted else 0.0
            rows[y].extend(
                min(255, max(0, round(_GREY + _UNIT * rng.gauss(shift, _NOISE)))) for _ in range(3)
            )
    return _png(side, rows)


def _png(side: int, rows: list[bytearray]) -> bytes:
    """Encode 8-bit RGB rows; so small a part of the format needs no library of pictures, which is an extra."""
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    data = zlib.compress(b"".join(b"\x00" + row for row in rows), 9)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def write_manuals(root: Path, count: int, seed: int) -> Path:
    """Write a folder of made-up manuals for the reader ``wikihow``: articles, categories and images.

    Args:
        root: a new or an empty folder.
        count: manuals, of the four tasks in turn, each with one section of five steps.
        seed: the same gives the same bytes.

    Returns:
        ``root``.

    Raises:
        UserError: if ``count`` is below 1, or the folder is not empty or cannot be written.
    """
    if count < 1:
        raise UserError(f"{count} manuals are wanted.", hint="give a number from 1 on")
    rng = random.Random(seed)  # noqa: S311 - not a secret
    with atomic_folder(root) as folder:
        (folder / "images").mkdir()
        with (
            (folder / "articles.jsonl").open("w", encoding="utf-8", newline="\n") as articles,
            (folder / "categories.jsonl").open("w", encoding="utf-8", newline="\n") as categories,
        ):
            for number in range(count):
                task = TASKS[number % len(TASKS)]
                url = f"made-up/{task}-{number}"
                articles.write(json.dumps(_article(folder, url, task, number, rng)) + "\n")
                names = ("Root", "Made up", task.capitalize(), f"{task.capitalize()} {number % 8 // 4}")
                entry = {"url": url, "categories": [{"category title": name} for name in names]}
                categories.write(json.dumps(entry) + "\n")
    return root


def _article(folder: Path, url: str, task: str, number: int, rng: random.Random) -> dict[str, object]:
    steps = []
    for stage in range(len(TEXT_BUCKETS)):
        made = make_step(task, stage, rng)
        image = (
            f"images/{task}-{number}-{rng.getrandbits(48):012x}.png"  # a name that does not tell the stage
        )
        (folder / image).write_bytes(made.png)
        steps.append(
            {
                "step_headline": "",
                "step_text": {"text": made.text, "bullet_points": []},
                "step_assets": {"image-large": image},
            }
        )
    return {
        "url": url,
        "title": f"Some {task}",
        "summary": "Made up; tells nothing.",
        "sections": [{"steps": steps}],
    }
