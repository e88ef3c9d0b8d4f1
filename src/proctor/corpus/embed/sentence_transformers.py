"""``st/PATH``: a model of sentence-transformers in a local folder (extra ``sentence-transformers``). Nothing is downloaded."""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from proctor.corpus.embed.embedder import TextRole, Vectors
from proctor.corpus.embed.model_folder import find_prefixes, fingerprint, model_folder
from proctor.corpus.embed.rows import unit_rows
from proctor.corpus.embed.texts import Prefixes, check_texts
from proctor.errors import MissingExtraError, UserError

__all__ = ["SentenceTransformersEmbedder", "stay_offline"]

_BATCH: Final = 32


def stay_offline() -> None:
    """Tell the Hugging Face libraries to download nothing; has to be called before they are first imported."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TRANSFORMERS_OFFLINE"] = "1"
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"


class SentenceTransformersEmbedder:
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

    def __repr__(self) -> str:
        return f"SentenceTransformersEmbedder({self.name!r})"

    @property
    def dimension(self) -> int:
        """Numbers in a vector.

        Raises:
            UserError: if the model cannot be loaded.
        """
        return int(self.embed(["dimension"], "query").shape[1])

    def embed(self, texts: Sequence[str], role: TextRole) -> Vectors:
        """Return one row for each text.

        Raises:
            UserError: if a text is empty, or the model cannot be run; MissingExtraError without sentence-transformers.
        """
        check_texts(texts)
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        model = _load(str(self._folder))
        try:
            rows = model.encode(
                self._prefixes.put(texts, role),
                batch_size=_BATCH,
                prompt="",  # ours is in front already
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        except Exception as error:  # of torch, or what the model makes of its input
            raise _broken(self._folder, error) from None
        return unit_rows(np.asarray(rows))


@functools.lru_cache(maxsize=2)
def _load(folder: str) -> Any:
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


def _broken(folder: Path, error: Exception) -> UserError:
    told = " ".join(str(error).split())[:300]
    return UserError(
        f"the model cannot be run: {type(error).__name__}: {told}", where=str(folder), hint="check its files"
    )
