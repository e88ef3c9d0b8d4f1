"""``clip/PATH``: a model that sees texts and pictures in one space (CLIP, SigLIP), from a local folder (extra ``transformers``).

Such models read only the beginning of a text: CLIP 77 tokens, SigLIP 64. What is cut off is counted and reported once.
"""

from __future__ import annotations

import functools
import importlib
import logging
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from proctor.corpus.embed.embedder import TextRole, Vectors
from proctor.corpus.embed.model_folder import fingerprint, model_folder
from proctor.corpus.embed.rows import unit_rows
from proctor.corpus.embed.sentence_transformers import stay_offline
from proctor.corpus.embed.texts import check_texts
from proctor.errors import MissingExtraError, UserError

__all__ = ["MAX_PIXELS", "ClipEmbedder", "open_picture"]

MAX_PIXELS: Final = 100_000_000
"""A larger picture is refused before it is unpacked: a small file may hold billions of pixels."""
_BATCH: Final = 16
_LOG: Final = logging.getLogger("proctor.corpus")


class ClipEmbedder:
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

    def __repr__(self) -> str:
        return f"ClipEmbedder({self.name!r})"

    @property
    def text_limit(self) -> int:
        """Tokens of a text that the model sees, begin and end marks included.

        Raises:
            UserError: if the model cannot be loaded.
        """
        return _load(str(self._folder)).text_limit

    @property
    def dimension(self) -> int:
        """Numbers in a vector.

        Raises:
            UserError: if the model cannot be loaded.
        """
        return int(self.embed(["dimension"], "query").shape[1])

    def embed(self, texts: Sequence[str], role: TextRole) -> Vectors:  # noqa: ARG002 - both are the same here
        """Return one row for each text, of its beginning where it is longer than ``text_limit``.

        Raises:
            UserError: if a text is empty, or the model cannot be run; MissingExtraError without transformers.
        """
        check_texts(texts)
        loaded = _load(str(self._folder))
        rows: list[NDArray[np.float32]] = []
        for start in range(0, len(texts), _BATCH):
            row, cut = loaded.texts(list(texts[start : start + _BATCH]))
            rows.append(row)
            self._tell(cut, loaded.text_limit)
        return unit_rows(np.concatenate(rows)) if rows else np.zeros((0, self.dimension), np.float32)

    def embed_images(self, paths: Sequence[Path]) -> Vectors:
        """Return one row for each picture.

        Raises:
            UserError: if a file is no picture that can be read, or has too many pixels; MissingExtraError without transformers.
        """
        loaded = _load(str(self._folder))
        rows = [
            loaded.pictures([open_picture(path) for path in paths[start : start + _BATCH]])
            for start in range(0, len(paths), _BATCH)
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
            raise self._broken(error) from None
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
            raise self._broken(error) from None

    def pictures(self, pictures: list[Any]) -> NDArray[np.float32]:
        """Return rows of pictures."""
        try:
            given = self._processor(images=pictures, return_tensors="pt").to(self._device)
            with self._torch.inference_mode():
                return _numbers(self._model.get_image_features(**given))
        except Exception as error:
            raise self._broken(error) from None

    def _broken(self, error: Exception) -> UserError:
        told = " ".join(str(error).split())[:300]
        return UserError(
            f"the model cannot be run: {type(error).__name__}: {told}",
            where=str(self._folder),
            hint="check its files",
        )


def _numbers(features: Any) -> NDArray[np.float32]:
    """Return features as an array; newer versions of transformers wrap them."""
    wrapped = getattr(features, "pooler_output", None)
    rows: NDArray[np.float32] = (features if wrapped is None else wrapped).float().cpu().numpy()
    return rows


@functools.lru_cache(maxsize=1)
def _load(folder: str) -> _Loaded:
    return _Loaded(Path(folder))
