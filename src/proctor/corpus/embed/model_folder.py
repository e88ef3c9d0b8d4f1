"""What is known of a model from its folder: a fingerprint of its files, its prefixes, its longest text."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import xxhash

from proctor.corpus.embed.texts import Prefixes, guess_prefixes, prefixes_in
from proctor.errors import UserError
from proctor.records import read_json

__all__ = ["MAX_TOKENS", "find_prefixes", "fingerprint", "max_tokens", "model_folder", "read_config"]

MAX_TOKENS: Final = 512
"""Tokens of a text at most, whatever a model says."""
_PARTS: Final = ("*.json", "*.onnx", "*.onnx_data", "*.safetensors", "*.bin", "*.txt", "*.model")
_BLOCK: Final = 2**24


def model_folder(path: str | Path, *, needs: Sequence[str]) -> Path:
    """Return the folder of a model.

    Args:
        path: as the user wrote it.
        needs: files, of which one has to be there.

    Raises:
        UserError: if it is no such folder.
    """
    folder = Path(path).expanduser()
    try:
        there = any((folder / name).is_file() for name in needs)
    except (OSError, ValueError):
        there = False
    if not there:
        raise UserError(
            f"this is not the folder of such a model: it has no {' and no '.join(needs)}.",
            where=str(folder),
            hint="models are not downloaded; name a local folder",
        )
    return folder.absolute()


@functools.lru_cache(maxsize=64)
def fingerprint(folder: Path) -> str:
    """Return 16 hex digits that change with any file of the model, and not with the folder's name.

    Raises:
        UserError: if a file cannot be read.
    """
    digest = xxhash.xxh3_128()
    files = sorted({file for pattern in _PARTS for file in folder.rglob(pattern) if file.is_file()})
    try:
        for file in files:
            digest.update(f"{file.relative_to(folder).as_posix()}\0{file.stat().st_size}\0".encode())
            with file.open("rb") as stream:
                while block := stream.read(_BLOCK):
                    digest.update(block)
    except OSError as error:
        raise UserError(
            f"cannot be read: {error.strerror or error}.",
            where=str(folder),
            hint="check the files of the model",
        ) from None
    return digest.hexdigest()[:16]


def read_config(folder: Path, name: str) -> dict[str, Any]:
    """Return a JSON object of the folder; empty where there is no such file.

    Raises:
        UserError: if the file cannot be read, or holds something else.
    """
    file = folder / name
    if not file.is_file():
        return {}
    value: Any = read_json(file)
    if not isinstance(value, dict):
        raise UserError("this is not a JSON object.", where=str(file), hint="restore the model's file")
    return value


def find_prefixes(folder: Path) -> Prefixes:
    """Return the words that a model wants in front of texts: from its own configuration, else those that its name calls for.

    Raises:
        UserError: if a configuration cannot be read.
    """
    found = prefixes_in(read_config(folder, "config_sentence_transformers.json").get("prompts"))
    if found is not None:
        return found
    return guess_prefixes(folder.name, str(read_config(folder, "config.json").get("_name_or_path", "")))


def max_tokens(folder: Path) -> int:
    """Return how many tokens of a text the model sees, at most ``MAX_TOKENS``.

    Raises:
        UserError: if a configuration cannot be read.
    """
    stated = (
        read_config(folder, "sentence_bert_config.json").get("max_seq_length"),
        read_config(folder, "config.json").get("max_position_embeddings"),
    )
    return min([MAX_TOKENS, *(n for n in stated if isinstance(n, int) and n > 2)])
