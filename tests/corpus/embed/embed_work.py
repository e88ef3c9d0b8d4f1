"""Embedders that the tests make: in a file of its own, so that a worker can import them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from proctor.corpus.embed.embedder import TextRole, Vectors
from proctor_rehearsal.standin.protocols.embeddings import standin_vector


class WordEmbedder:
    """Sums directions of words; notes what it was asked, and can be told to fail."""

    def __init__(
        self, *, fails_at: str = "", spoils: str = "", how: str = "nan", log: Path | None = None
    ) -> None:
        self.name = "tests/words"
        self.dimension = 16
        self.asked: list[str] = []
        self.fails_at, self.spoils, self.how, self.log = fails_at, spoils, how, log

    def embed(self, texts: Sequence[str], role: TextRole) -> Vectors:
        self.asked += texts
        if self.log is not None:
            with self.log.open("a") as stream:
                stream.writelines(f"{text}\n" for text in texts)
        if self.fails_at and any(self.fails_at in text for text in texts):
            raise RuntimeError("the model fell over")
        rows = np.array([standin_vector(f"{role} {text}", 16) for text in texts], np.float32)
        for index, text in enumerate(texts):
            if self.spoils and self.spoils in text:
                if self.how == "shape":
                    return rows[:-1]
                rows[index] = {"nan": np.nan, "zero": 0.0, "long": 2.0}[self.how]
        return rows


class PictureEmbedder(WordEmbedder):
    """The same, with eyes: a picture is the words of its file's name."""

    def embed_images(self, paths: Sequence[Path]) -> Vectors:
        self.asked += [path.name for path in paths]
        return np.array([standin_vector(path.stem.replace("-", " "), 16) for path in paths], np.float32)
