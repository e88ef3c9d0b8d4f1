"""``onnx/PATH``: a text encoder in a local folder with ``model.onnx`` and ``tokenizer.json`` (extra ``onnx``).

Texts are cut to the model's length, run through the model, and the vectors of their tokens are averaged without the padding
(or the first one is taken, where the folder's ``1_Pooling/config.json`` says so) and scaled to length one.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from proctor.corpus.embed.embedder import TextRole, Vectors
from proctor.corpus.embed.model_folder import (
    find_prefixes,
    fingerprint,
    max_tokens,
    model_folder,
    read_config,
)
from proctor.corpus.embed.rows import unit_rows
from proctor.corpus.embed.texts import Prefixes, check_texts
from proctor.errors import MissingExtraError, UserError

__all__ = ["OnnxEmbedder"]

_FILES: Final = ("model.onnx", "onnx/model.onnx")
_BATCH: Final = 32
_KNOWN: Final = frozenset({"input_ids", "attention_mask", "token_type_ids", "position_ids"})
Pooling = Literal["mean", "cls"]


class OnnxEmbedder:
    """A text encoder run by onnxruntime; loaded when it is first asked.

    Args:
        path: folder with ``model.onnx`` (or ``onnx/model.onnx``) and ``tokenizer.json``.
        prefixes: words in front of texts; those of the model's own configuration, or of its name, when None.

    Raises:
        UserError: if the folder is not that of such a model.
    """

    def __init__(self, path: str | Path, *, prefixes: Prefixes | None = None) -> None:
        self._folder = model_folder(path, needs=_FILES)
        model_folder(path, needs=("tokenizer.json",))
        self._prefixes = find_prefixes(self._folder) if prefixes is None else prefixes
        self._tokens = max_tokens(self._folder)
        self._pooling = _pooling(self._folder)
        self.name = (
            f"onnx:{self._folder.name}:{fingerprint(self._folder)}:{self._pooling}{self._prefixes.tag}"
        )

    def __repr__(self) -> str:
        return f"OnnxEmbedder({self.name!r})"

    @property
    def dimension(self) -> int:
        """Numbers in a vector.

        Raises:
            UserError: if the model cannot be run.
        """
        return int(self.embed(["dimension"], "query").shape[1])

    def embed(self, texts: Sequence[str], role: TextRole) -> Vectors:
        """Return one row for each text.

        Raises:
            UserError: if a text is empty, or the model cannot be run; MissingExtraError without onnxruntime or tokenizers.
        """
        check_texts(texts)
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        encoder = _load(str(self._folder), self._tokens)
        return unit_rows(encoder.pooled(self._prefixes.put(texts, role), self._pooling))


def _pooling(folder: Path) -> Pooling:
    config = read_config(folder, "1_Pooling/config.json")
    chosen = [
        name.removeprefix("pooling_mode_")
        for name, on in config.items()
        if name.startswith("pooling_mode_") and on is True
    ]
    if isinstance(config.get("pooling_mode"), str):
        chosen = [config["pooling_mode"]]
    if chosen in ([], ["mean_tokens"], ["mean"]):
        return "mean"
    if chosen in (["cls_token"], ["cls"]):
        return "cls"
    raise UserError(
        f"the model pools its tokens in a way that is not known here: {', '.join(map(str, chosen))[:200]}.",
        where=str(folder / "1_Pooling" / "config.json"),
        hint="open it with st/PATH (sentence-transformers)",
    )


class _Encoder:
    """A model and its tokenizer in memory."""

    def __init__(self, folder: Path, tokens: int) -> None:
        try:
            runtime = importlib.import_module("onnxruntime")
            tokenizers = importlib.import_module("tokenizers")
        except ImportError as error:
            raise MissingExtraError(
                error.name or "onnxruntime", "onnx", "an embedder in a folder (onnx/PATH)"
            ) from None
        self._folder = folder
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
            held = self._tokenizer.padding
            self._pad = (
                int(held["pad_id"]) if isinstance(held, dict) and isinstance(held.get("pad_id"), int) else 0
            )
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(tokens)
            file = next(folder / name for name in _FILES if (folder / name).is_file())
            options = runtime.SessionOptions()
            options.log_severity_level = 3
            self._session = runtime.InferenceSession(
                str(file), options, providers=runtime.get_available_providers()
            )
        except Exception as error:  # of onnxruntime and tokenizers, which have no common class
            raise self._broken(error) from None
        self._inputs = [entry.name for entry in self._session.get_inputs()]
        self._output = _output(self._session)
        strange = sorted(set(self._inputs) - _KNOWN)
        if strange or "input_ids" not in self._inputs:
            raise UserError(
                f"the model asks for {', '.join(self._inputs)[:200]}; that is no encoder of texts.",
                where=str(folder),
                hint="export it as feature extraction",
            )

    def pooled(self, texts: list[str], pooling: Pooling) -> NDArray[np.float64]:
        """Return a row for each text; texts of about the same length are computed together."""
        try:
            encoded = self._tokenizer.encode_batch(texts)
        except Exception as error:
            raise self._broken(error) from None
        order = sorted(range(len(texts)), key=lambda index: len(encoded[index].ids))
        rows: list[NDArray[np.float64] | None] = [None] * len(texts)
        for start in range(0, len(order), _BATCH):
            chosen = order[start : start + _BATCH]
            for index, row in zip(chosen, self._run([encoded[i] for i in chosen], pooling), strict=True):
                rows[index] = row
        return np.array(rows)

    def _run(self, encoded: list[Any], pooling: Pooling) -> NDArray[np.float64]:
        longest = max(1, *(len(entry.ids) for entry in encoded))
        ids = np.full((len(encoded), longest), self._pad, np.int64)
        mask = np.zeros((len(encoded), longest), np.int64)
        types = np.zeros((len(encoded), longest), np.int64)
        for row, entry in enumerate(encoded):
            size = len(entry.ids)
            ids[row, :size], mask[row, :size], types[row, :size] = entry.ids, 1, entry.type_ids
        positions = np.broadcast_to(np.arange(longest, dtype=np.int64), ids.shape)
        given = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": types,
            "position_ids": positions,
        }
        try:
            (states,) = self._session.run([self._output], {name: given[name] for name in self._inputs})
        except Exception as error:
            raise self._broken(error) from None
        if states.ndim == 2:  # the model pools by itself
            return np.asarray(states, np.float64)
        if states.ndim != 3 or states.shape[:2] != ids.shape:
            raise UserError(
                f"the model's output has the shape {states.shape}, not (texts, tokens, numbers).",
                where=str(self._folder),
                hint="export it as feature extraction",
            )
        if pooling == "cls":
            return np.asarray(states[:, 0], np.float64)
        weights = mask[:, :, None].astype(np.float64)
        return np.asarray((states * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1.0))

    def _broken(self, error: Exception) -> UserError:
        told = " ".join(str(error).split())[:300]
        return UserError(
            f"the model cannot be run: {type(error).__name__}: {told}",
            where=str(self._folder),
            hint="check its files",
        )


def _output(session: Any) -> str:
    """Return the name of the output that is read: the states of the tokens where there are several."""
    names = [str(entry.name) for entry in session.get_outputs()]
    for wanted in ("last_hidden_state", "token_embeddings"):
        if wanted in names:
            return wanted
    return names[0]


@functools.lru_cache(maxsize=2)
def _load(folder: str, tokens: int) -> _Encoder:
    return _Encoder(Path(folder), tokens)
