"""From texts to numbers: words that are counted in given texts, or the tokenizer of a folder of transformers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import torch
from torch import Tensor

from proctor.corpus.embed.local_models import model_folder
from proctor.errors import UserError
from proctor.learn.features.backbones import load_library
from proctor.records import content_hash

__all__ = ["FolderTokenizer", "WordTokenizer"]

_WORD: Final = re.compile(r"\w{1,64}")
_SPECIAL: Final = 4


class WordTokenizer:
    """Words in small letters, without punctuation: 4 special ones, the words, then buckets of unknown words by their hash."""

    pad, cls, sep, mask = range(_SPECIAL)

    def __init__(self, words: Sequence[str], buckets: int = 1) -> None:
        self.words, self.buckets = tuple(words), buckets
        self.size = _SPECIAL + len(words) + buckets
        self.identity = content_hash({"words": self.words, "buckets": buckets})
        self._number = {word: _SPECIAL + k for k, word in enumerate(self.words)}

    @classmethod
    def of(cls, texts: Iterable[str], most: int = 8_000, buckets: int = 64) -> WordTokenizer:
        """Make the vocabulary of texts: the words that are there twice or more, the most frequent, ties by alphabet.

        Buckets for the other words are not more than there are such words to learn from, and at least one.
        """
        counted = Counter(word for text in texts for word in _words(text))
        kept = sorted((w for w, n in counted.items() if n > 1), key=lambda w: (-counted[w], w))[:most]
        return cls(kept, max(1, min(buckets, len(counted) - len(kept))))

    def encode(self, text: str, most: int) -> list[int]:
        """Return [CLS], words, [SEP]: at most ``most`` numbers."""
        unknown, words = _SPECIAL + len(self.words), islice(_words(text), max(0, most - 2))
        inner = (self._number.get(word, unknown + crc32(word.encode()) % self.buckets) for word in words)
        return [self.cls, *inner, self.sep]

    def is_special(self, tokens: Tensor) -> Tensor:
        """Return which are special, of the same shape."""
        return tokens < _SPECIAL


def _words(text: str) -> Iterable[str]:
    return (found[0].lower() for found in _WORD.finditer(text))


class FolderTokenizer:
    """The tokenizer of a folder as transformers saves it. Nothing is downloaded, and no code of the folder is run.

    A UserError is raised if there is none, or it lacks one of the special tokens; a MissingExtraError without transformers.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = model_folder(folder, needs=("config.json", "tokenizer.json", "tokenizer_config.json"))
        transformers = load_library("transformers")
        try:
            self._own: Any = transformers.AutoTokenizer.from_pretrained(
                self.folder, local_files_only=True, trust_remote_code=False
            )
        except Exception as error:  # whatever its own code makes of missing or broken files
            raise UserError(
                f"it has no tokenizer that can be loaded: {' '.join(str(error).split())[:300]}",
                where=str(folder),
                hint="put the tokenizer's files (tokenizer.json, tokenizer_config.json) next to the weights",
            ) from None
        names = ("pad", "cls", "sep", "mask")
        special: list[Any] = [getattr(self._own, f"{name}_token_id", None) for name in names]
        if None in special or len({*special}) < len(special):
            wrong, hint = "no different pad, cls, sep and mask token", "take a model like BERT or RoBERTa"
            raise UserError(f"its tokenizer has {wrong}.", where=str(folder), hint=hint)
        self.pad, self.cls, self.sep, self.mask = (int(number) for number in special)
        vocabulary: dict[str, int] = self._own.get_vocab()
        self.size = max(len(self._own), 1 + max(vocabulary.values(), default=0))
        self.identity = content_hash(sorted(vocabulary.items()))
        self._all = torch.tensor(sorted({*self._own.all_special_ids}))

    def encode(self, text: str, most: int) -> list[int]:
        """Return at most ``most`` numbers, [CLS] and [SEP] at the ends; special tokens that a text spells out are left out."""
        near = text[: 64 * most]  # what follows would be cut off
        found = self._own(near, add_special_tokens=False, verbose=False)["input_ids"]
        inner = (number for number in found if number not in (self.pad, self.cls, self.sep, self.mask))
        return [self.cls, *islice(inner, max(0, most - 2)), self.sep]

    def is_special(self, tokens: Tensor) -> Tensor:
        """Return which are special, of the same shape."""
        return torch.isin(tokens, self._all.to(tokens.device))
