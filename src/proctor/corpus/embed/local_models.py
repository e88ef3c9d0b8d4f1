"""Models in local folders: ``st/PATH`` of sentence-transformers, ``clip/PATH`` of transformers, ``onnx/PATH``.

Such models read only the beginning of a text: CLIP 77 tokens, SigLIP 64. What is cut off is counted and reported once.

Texts are cut to the model's length, run through the model, and the vectors of their tokens are averaged without the padding
(or the first one is taken, where the folder's ``1_Pooling/config.json`` says so) and scaled to length one.
"""

from __future__ import annotations

import functools
import importlib
import logging
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import xxhash
from numpy.typing import NDArray

from proctor.corpus.embed.embedder import (
    Prefixes,
    TextRole,
    Vectors,
    check_texts,
    guess_prefixes,
    prefixes_in,
    unit_rows,
)
from proctor.errors import MissingExtraError, UserError
from proctor.records import Json, read_json

__all__ = [
    "MAX_PIXELS",
    "MAX_TOKENS",
    "ClipEmbedder",
    "OnnxEmbedder",
    "SentenceTransformersEmbedder",
    "find_prefixes",
    "fingerprint",
    "max_tokens",
    "model_folder",
    "open_picture",
    "read_config",
    "stay_offline",
]

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


def read_config(folder: Path, name: str) -> Mapping[str, Json]:
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


_TEXT_BATCH: Final = 32


def stay_offline() -> None:
    """Tell the Hugging Face libraries to download nothing; has to be called before they are first imported."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TRANSFORMERS_OFFLINE"] = "1"
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"


class _FolderModel(ABC):
    """What the three share: a name, and a dimension that the model itself is asked for."""

    name: str

    @abstractmethod
    def embed(self, texts: Sequence[str], role: TextRole) -> Vectors:
        """Return one row for each text."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def dimension(self) -> int:
        """Numbers in a vector.

        Raises:
            UserError: if the model cannot be loaded.
        """
        return int(self.embed(["dimension"], "query").shape[1])


def _broken(folder: Path, error: Exception) -> UserError:
    told = " ".join(str(error).split())[:300]
    return UserError(
        f"the model cannot be run: {type(error).__name__}: {told}", where=str(folder), hint="check its files"
    )


# -- ``st/PATH``: a model of sentence-transformers (extra ``sentence-transformers``) -------------------------------


class SentenceTransformersEmbedder(_FolderModel):
    """A model in a folder as sentence-transformers saves it; loaded when it is first asked. No code from the folder is run.

    Args:
        path: of the folder.
        prefixes: words in front of texts; those of the model's own configuration, or of its name, when None.

    Raises:
        UserError: if the folder is not that of such a model.
    """

    def __init__(self, path: str | Path, *, prefixes: Prefixes | None = None) -> None:
        self._folder = model_folder(path, needs=("modules.json", "config.json"))
        self._prefixes = find_prefixes(self._folder) if prefixes is None else prefixes
        self.name = f"st:{self._folder.name}:{fingerprint(self._folder)}{self._prefixes.tag}"

    def embed(self, texts: Sequence[str], role: TextRole) -> Vectors:
        """Return one row for each text.

        Raises:
            UserError: if a text is empty, or the model cannot be run; MissingExtraError without sentence-transformers.
        """
        check_texts(texts)
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        model = _load_transformer(str(self._folder))
        try:
            rows = model.encode(
                self._prefixes.put(texts, role),
                batch_size=_TEXT_BATCH,
                prompt="",  # ours is in front already
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        except Exception as error:  # of torch, or what the model makes of its input
            raise _broken(self._folder, error) from None
        return unit_rows(np.asarray(rows))


@functools.lru_cache(maxsize=2)
def _load_transformer(folder: str) -> Any:
    stay_offline()
    try:
        package = importlib.import_module("sentence_transformers")
    except ImportError as error:
        raise MissingExtraError(
            error.name or "sentence_transformers", "sentence-transformers", "an embedder by st/PATH"
        ) from None
    try:
        model = package.SentenceTransformer(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:
        raise _broken(Path(folder), error) from None
    model.eval()
    return model


# -- ``clip/PATH``: texts and pictures in one space, CLIP or SigLIP (extra ``transformers``) -----------------------

MAX_PIXELS: Final = 100_000_000
"""A larger picture is refused before it is unpacked: a small file may hold billions of pixels."""
_CLIP_BATCH: Final = 16
_LOG: Final = logging.getLogger("proctor.corpus")


class ClipEmbedder(_FolderModel):
    """A model with a text side and a picture side; loaded when it is first asked. No code from the folder is run.

    Args:
        path: folder as ``save_pretrained`` writes it, with the model's processor.

    Attributes:
        name: folder's name and a fingerprint of its files.
        cut: texts so far of which the model saw only the beginning.

    Raises:
        UserError: if the folder is not that of such a model.
    """

    def __init__(self, path: str | Path) -> None:
        self._folder = model_folder(path, needs=("config.json",))
        self.name = f"clip:{self._folder.name}:{fingerprint(self._folder)}"
        self.cut = 0

    @property
    def text_limit(self) -> int:
        """Tokens of a text that the model sees, begin and end marks included.

        Raises:
            UserError: if the model cannot be loaded.
        """
        return _load_clip(str(self._folder)).text_limit

    def embed(self, texts: Sequence[str], role: TextRole) -> Vectors:  # noqa: ARG002 - both are the same here
        """Return one row for each text, of its beginning where it is longer than ``text_limit``.

        Raises:
            UserError: if a text is empty, or the model cannot be run; MissingExtraError without transformers.
        """
        check_texts(texts)
        loaded = _load_clip(str(self._folder))
        rows: list[NDArray[np.float32]] = []
        for start in range(0, len(texts), _CLIP_BATCH):
            row, cut = loaded.texts(list(texts[start : start + _CLIP_BATCH]))
            rows.append(row)
            self._tell(cut, loaded.text_limit)
        return unit_rows(np.concatenate(rows)) if rows else np.zeros((0, self.dimension), np.float32)

    def embed_images(self, paths: Sequence[Path]) -> Vectors:
        """Return one row for each picture.

        Raises:
            UserError: if a file is no picture that can be read, or has too many pixels; MissingExtraError without transformers.
        """
        loaded = _load_clip(str(self._folder))
        rows = [
            loaded.pictures([open_picture(path) for path in paths[start : start + _CLIP_BATCH]])
            for start in range(0, len(paths), _CLIP_BATCH)
        ]
        return unit_rows(np.concatenate(rows)) if rows else np.zeros((0, self.dimension), np.float32)

    def _tell(self, cut: int, limit: int) -> None:
        if cut and not self.cut:
            _LOG.warning(
                "%s sees %d tokens of a text; of longer ones it sees the beginning only", self.name, limit
            )
        self.cut += cut


def open_picture(path: Path) -> Any:
    """Return a picture as RGB, in memory.

    Raises:
        UserError: if there is none, it cannot be decoded, or it has more than ``MAX_PIXELS``; MissingExtraError without Pillow.
    """
    try:
        pillow = importlib.import_module("PIL.Image")
    except ImportError:
        raise MissingExtraError("pillow", "transformers", "embedding pictures") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ours is an error, and damaged metadata matters to nobody here
            with pillow.open(path) as picture:
                width, height = picture.size
                if width * height > MAX_PIXELS:
                    raise UserError(
                        f"the picture has {width:,} by {height:,} pixels, more than {MAX_PIXELS:,}.",
                        where=str(path),
                        hint="make it smaller, or leave it out",
                    )
                return picture.convert("RGB")
    except FileNotFoundError:
        raise UserError("there is no such file.", where=str(path), hint="check the path") from None
    except pillow.DecompressionBombError:
        raise UserError(
            f"the picture has far more than {MAX_PIXELS:,} pixels.", where=str(path), hint="leave it out"
        ) from None
    except (OSError, ValueError, SyntaxError, MemoryError) as error:
        raise UserError(
            f"this is no picture that can be read: {type(error).__name__}.",
            where=str(path),
            hint="replace it, or leave it out",
        ) from None


class _Loaded:
    """A model in memory, and what prepares its input."""

    def __init__(self, folder: Path) -> None:
        stay_offline()
        try:
            self._torch = importlib.import_module("torch")
            transformers = importlib.import_module("transformers")
        except ImportError as error:
            raise MissingExtraError(
                error.name or "transformers", "transformers", "an embedder by clip/PATH"
            ) from None
        self._folder = folder
        local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        try:
            config = transformers.AutoConfig.from_pretrained(folder, **local)
            text = getattr(config, "text_config", None)
            if text is None or getattr(config, "vision_config", None) is None:
                raise UserError(
                    f"a model of the kind {config.model_type!r} does not see texts and pictures side by side.",
                    where=str(folder),
                    hint="name the folder of a CLIP or SigLIP model",
                )
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **local)
            self._processor = transformers.AutoImageProcessor.from_pretrained(folder, **local)
            self._device = "cuda" if self._torch.cuda.is_available() else "cpu"
            model = transformers.AutoModel.from_pretrained(folder, **local)
            self._model = model.to(self._device).eval()
        except UserError:
            raise
        except Exception as error:
            raise _broken(self._folder, error) from None
        self.text_limit = int(text.max_position_embeddings)
        # SigLIP was trained on texts filled up to its length, and reads others badly.
        self._fills = config.model_type.startswith("siglip")

    def texts(self, texts: list[str]) -> tuple[NDArray[np.float32], int]:
        """Return rows, and of how many texts the end was not seen."""
        try:
            long = sum(
                len(ids) > self.text_limit for ids in self._tokenizer(texts, verbose=False)["input_ids"]
            )
            given = self._tokenizer(
                texts,
                padding="max_length" if self._fills else True,
                truncation=True,
                max_length=self.text_limit,
                return_tensors="pt",
            ).to(self._device)
            with self._torch.inference_mode():
                return _numbers(self._model.get_text_features(**given)), long
        except Exception as error:
            raise _broken(self._folder, error) from None

    def pictures(self, pictures: list[Any]) -> NDArray[np.float32]:
        """Return rows of pictures."""
        try:
            given = self._processor(images=pictures, return_tensors="pt").to(self._device)
            with self._torch.inference_mode():
                return _numbers(self._model.get_image_features(**given))
        except Exception as error:
            raise _broken(self._folder, error) from None


def _numbers(features: Any) -> NDArray[np.float32]:
    """Return features as an array; newer versions of transformers wrap them."""
    wrapped = getattr(features, "pooler_output", None)
    rows: NDArray[np.float32] = (features if wrapped is None else wrapped).float().cpu().numpy()
    return rows


@functools.lru_cache(maxsize=1)
def _load_clip(folder: str) -> _Loaded:
    return _Loaded(Path(folder))


# -- ``onnx/PATH``: ``model.onnx`` and ``tokenizer.json`` (extra ``onnx``) -----------------------------------------

_FILES: Final = ("model.onnx", "onnx/model.onnx")
_KNOWN: Final = frozenset({"input_ids", "attention_mask", "token_type_ids", "position_ids"})
Pooling = Literal["mean", "cls"]


class OnnxEmbedder(_FolderModel):
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

    def embed(self, texts: Sequence[str], role: TextRole) -> Vectors:
        """Return one row for each text.

        Raises:
            UserError: if a text is empty, or the model cannot be run; MissingExtraError without onnxruntime or tokenizers.
        """
        check_texts(texts)
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        encoder = _load_onnx(str(self._folder), self._tokens)
        return unit_rows(encoder.pooled(self._prefixes.put(texts, role), self._pooling))


def _pooling(folder: Path) -> Pooling:
    config = read_config(folder, "1_Pooling/config.json")
    chosen = [
        name.removeprefix("pooling_mode_")
        for name, on in config.items()
        if name.startswith("pooling_mode_") and on is True
    ]
    if isinstance(mode := config.get("pooling_mode"), str):
        chosen = [mode]
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
            raise _broken(self._folder, error) from None
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
            raise _broken(self._folder, error) from None
        order = sorted(range(len(texts)), key=lambda index: len(encoded[index].ids))
        rows: list[NDArray[np.float64] | None] = [None] * len(texts)
        for start in range(0, len(order), _TEXT_BATCH):
            chosen = order[start : start + _TEXT_BATCH]
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
            raise _broken(self._folder, error) from None
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


def _output(session: Any) -> str:
    """Return the name of the output that is read: the states of the tokens where there are several."""
    names = [str(entry.name) for entry in session.get_outputs()]
    for wanted in ("last_hidden_state", "token_embeddings"):
        if wanted in names:
            return wanted
    return names[0]


@functools.lru_cache(maxsize=2)
def _load_onnx(folder: str, tokens: int) -> _Encoder:
    return _Encoder(Path(folder), tokens)
