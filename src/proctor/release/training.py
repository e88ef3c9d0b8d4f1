r"""The training set: open-ended pairs in the forms that people fine-tune on, each with where it came from.

Two files of JSON Lines, one pair a line, in the same order:

- ``llava.jsonl``: LLaVA's and ShareGPT's conversations, ``{"id", "video", "conversations": [{"from": "human", "value": "<video>\\n…"},
  {"from": "gpt", "value": "…"}]}``;
- ``messages.jsonl``: the messages of Hugging Face's trainers, ``{"messages": [{"role": "user", "content": [{"type": "video"}, {"type":
  "text", "text": "…"}]}, {"role": "assistant", …}], "videos": ["…"]}``.

Both carry ``start`` and ``end`` (seconds of the video: a clip need not be all of it) and ``provenance``. ``manifest.json`` says how many
there are, what was left out and why, the SHA-256 of the files and that no video is shared with the benchmark; nothing is written when
one is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.ask.clip.record import ClipPair, ShownClip
from proctor.errors import UserError
from proctor.records import Dropped, file_sha256, write_json, write_jsonl
from proctor.release.training_split import Leakage, check_leakage, require_no_leak

__all__ = [
    "TrainingManifest",
    "llava_record",
    "messages_record",
    "video_of",
    "write_training",
]

PLACEHOLDERS: Final = ("<video>", "<image>", "<audio>")
"""What trainers replace by media, wherever it stands: a text that holds one cannot be trained on."""
MANIFEST: Final = "manifest.json"


class TrainingManifest(msgspec.Struct, frozen=True, kw_only=True):
    """What is in a training set.

    Attributes:
        name: of the set.
        pairs: written.
        videos: of these pairs.
        clips: of these pairs.
        by_dataset: pairs.
        by_level: pairs.
        by_category: pairs.
        dropped: pairs that were left out, by reason.
        files: SHA-256 by name.
        benchmark: name and version of the benchmark that it shares no video with.
        leakage: the check that proves it.
        settings: of the split and of generation, as text.
    """

    name: str
    pairs: int
    videos: int
    clips: int
    by_dataset: Mapping[str, int]
    by_level: Mapping[str, int]
    by_category: Mapping[str, int]
    dropped: Mapping[str, int]
    files: Mapping[str, str]
    benchmark: str
    leakage: Leakage
    settings: Mapping[str, str] = {}


def video_of(pair: ClipPair, clip: ShownClip) -> str:
    """Return the path of a pair's video relative to the folder of the videos: what the data set names, else ``<id>.mp4``."""
    return clip.video or f"{pair.video_id}.mp4"


def llava_record(pair: ClipPair, clip: ShownClip) -> dict[str, Any]:
    """Return a pair as a conversation of LLaVA and ShareGPT."""
    return {
        "id": pair.id,
        "video": video_of(pair, clip),
        "start": clip.start,
        "end": clip.end,
        "conversations": [
            {"from": "human", "value": f"<video>\n{pair.question}"},
            {"from": "gpt", "value": pair.answer},
        ],
        "provenance": _provenance(pair, clip),
    }


def messages_record(pair: ClipPair, clip: ShownClip) -> dict[str, Any]:
    """Return a pair as messages with a column of videos."""
    asked = [{"type": "video"}, {"type": "text", "text": pair.question}]
    return {
        "id": pair.id,
        "messages": [
            {"role": "user", "content": asked},
            {"role": "assistant", "content": [{"type": "text", "text": pair.answer}]},
        ],
        "videos": [video_of(pair, clip)],
        "start": clip.start,
        "end": clip.end,
        "provenance": _provenance(pair, clip),
    }


def write_training(
    folder: Path,
    pairs: Sequence[ClipPair],
    clips: Iterable[ShownClip],
    benchmark: Sequence[ClipPair],
    *,
    name: str = "training",
    benchmark_name: str = "",
    settings: Mapping[str, str] | None = None,
) -> tuple[TrainingManifest, list[Dropped]]:
    """Write a training set, and return its manifest and what was left out of it.

    Args:
        folder: where the files go; made if it is not there.
        pairs: open-ended pairs for training.
        clips: of these and of the benchmark.
        benchmark: all pairs of the benchmark, those above a cap included.
        name: of the set.
        benchmark_name: its name and version.
        settings: what made it, for the manifest.

    Raises:
        UserError: if a video is in the benchmark too, ids are there twice, nothing is left to write, or it cannot be written.
    """
    known = list(clips)
    leakage = check_leakage(benchmark, pairs, clips=known)
    require_no_leak(leakage)
    if twice := [id_ for id_, n in Counter(pair.id for pair in pairs).items() if n > 1]:
        raise UserError(f"{len(twice):,} pairs are there twice, such as '{twice[0][:80]}'.")
    by_id = {clip.id: clip for clip in known}
    dropped = list(_unfit(pairs, by_id))
    gone = {drop.id for drop in dropped}
    kept = [(pair, by_id[pair.clip_id]) for pair in pairs if pair.id not in gone]
    if not kept:
        raise UserError(
            f"none of {len(pairs):,} pairs can be trained on.",
            hint="see what was left out; a larger share for training may help"
            if pairs
            else "all went to the benchmark",
        )
    files = {}
    for file, make in (("llava.jsonl", llava_record), ("messages.jsonl", messages_record)):
        path = folder / file
        write_jsonl(path, (make(pair, clip) for pair, clip in kept))
        files[path.name] = file_sha256(path)
    manifest = _manifest(
        name, benchmark_name, [pair for pair, _ in kept], dropped, files, leakage, settings or {}
    )
    write_json(folder / MANIFEST, manifest)
    return manifest, dropped


def _unfit(pairs: Sequence[ClipPair], clips: Mapping[str, ShownClip]) -> Iterator[Dropped]:
    for pair in pairs:
        texts = f"{pair.question}\n{pair.answer}".casefold()
        found = next((word for word in PLACEHOLDERS if word in texts), None)
        if pair.clip_id not in clips:
            yield Dropped(pair.id, "no_clip", pair.clip_id[:100])
        elif found is not None:
            yield Dropped(pair.id, "placeholder", f"a text holds {found}")
        elif not pair.question.strip() or not pair.answer.strip():
            yield Dropped(pair.id, "empty", "question or answer")


def _provenance(pair: ClipPair, clip: ShownClip) -> dict[str, Any]:
    return {
        "pair_id": pair.id,
        "clip_id": pair.clip_id,
        "dataset": pair.dataset,
        "video_id": pair.video_id,
        "split": clip.split,
        "task": clip.task,
        "level": pair.level,
        "category": pair.category,
        "position": pair.position,
        "step_ids": list(pair.step_ids),
        # A list and no object: columns of a data set have the same fields in every row.
        "generation": [{"name": key, "value": value} for key, value in sorted(pair.details.items())],
    }


def _manifest(
    name: str,
    benchmark_name: str,
    pairs: Sequence[ClipPair],
    dropped: Sequence[Dropped],
    files: Mapping[str, str],
    leakage: Leakage,
    settings: Mapping[str, str],
) -> TrainingManifest:
    return TrainingManifest(
        name=name,
        pairs=len(pairs),
        videos=len({(pair.dataset, pair.video_id) for pair in pairs}),
        clips=len({(pair.dataset, pair.clip_id) for pair in pairs}),
        by_dataset=_count(pair.dataset for pair in pairs),
        by_level=_count(pair.level for pair in pairs),
        by_category=_count(pair.category for pair in pairs),
        dropped=_count(drop.reason for drop in dropped),
        files=dict(sorted(files.items())),
        benchmark=benchmark_name,
        leakage=leakage,
        settings=dict(sorted(settings.items())),
    )


def _count(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))
