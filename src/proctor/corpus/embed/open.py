"""Embedders by what the user writes: ``lsa``, ``lsa:256``, ``onnx/PATH``, ``st/PATH``, ``clip/PATH``, ``compat/NAME@URL``, ``openai/NAME``."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from proctor.corpus.collection import Corpus
from proctor.corpus.embed.embed_corpus import embed_corpus, embed_texts
from proctor.corpus.embed.embedder import Embedder
from proctor.corpus.embed.lsa import DIMENSION, LsaEmbedder, fit_lsa, load_lsa, lsa_name
from proctor.errors import UserError

__all__ = ["SPECS", "embed_corpus", "embed_texts", "open_embedder"]

SPECS: Final = (
    ("lsa", f"words of the corpus itself, {DIMENSION} numbers; no model, no download"),
    ("lsa:N", "the same with N numbers"),
    ("onnx/PATH", "a folder with model.onnx and tokenizer.json"),
    ("st/PATH", "a folder of sentence-transformers"),
    ("clip/PATH", "a folder of CLIP or SigLIP, which sees pictures too"),
    ("compat/NAME@URL", "a server that speaks OpenAI's /embeddings; key in COMPAT_API_KEY, if it wants one"),
    ("openai/NAME", "OpenAI's own; key in OPENAI_API_KEY"),
)
"""What ``open_embedder`` takes, and what it is."""

_LSA: Final = re.compile(r"lsa(?::(\d{1,5}))?\Z")


def open_embedder(spec: str, *, corpus: Corpus | None = None, folder: Path | None = None) -> Embedder:
    """Return the embedder that a user named.

    Args:
        spec: one of ``SPECS``.
        corpus: on which ``lsa`` is fitted; the others need none.
        folder: where the fitted ``lsa`` is kept beside the vectors, and found again; not kept where it is None.

    Raises:
        UserError: if there is no such embedder, its folder, key or address is missing, or ``lsa`` has neither a corpus nor a folder
            where it was kept.
    """
    found = _LSA.match(spec)
    if found:
        return _open_lsa(int(found[1]) if found[1] else DIMENSION, corpus, folder)
    kind, slash, path = spec.partition("/")
    if slash and path:
        if kind == "onnx":
            from proctor.corpus.embed.local_models import OnnxEmbedder

            return OnnxEmbedder(path)
        if kind == "st":
            from proctor.corpus.embed.local_models import SentenceTransformersEmbedder

            return SentenceTransformersEmbedder(path)
        if kind == "clip":
            from proctor.corpus.embed.local_models import ClipEmbedder

            return ClipEmbedder(path)
        if kind in ("compat", "openai"):
            from proctor.corpus.embed.endpoint import open_endpoint

            return open_endpoint(spec)
    near = get_close_matches(spec, ("bm25", "lsa"), n=1)
    raise UserError(
        f"{spec[:200]!r} is not an embedder.",
        hint=(f"did you mean {near[0]}? There are " if near else "there are ")
        + "; ".join(f"{name} ({what})" for name, what in SPECS),
    )


def _open_lsa(dimension: int, corpus: Corpus | None, folder: Path | None) -> LsaEmbedder:
    if corpus is None:
        return _found_lsa(dimension, folder)
    name = lsa_name(corpus.fingerprint, dimension)
    file = None if folder is None else folder / f"{name.replace(':', '-')}.npz"
    if file is not None and file.exists():
        held = load_lsa(file)
        if held.name == name:
            return held
    fitted = fit_lsa(corpus.texts(), fingerprint=corpus.fingerprint, dimension=dimension)
    return fitted if file is None else fitted.save(file)


def _found_lsa(dimension: int, folder: Path | None) -> LsaEmbedder:
    """Return the one that was fitted before."""
    start = lsa_name("", dimension).replace(":", "-")
    files = sorted(folder.glob(f"{start}*.npz")) if folder is not None and folder.is_dir() else []
    if len(files) == 1:
        return load_lsa(files[0])
    raise UserError(
        f"{len(files)} fitted embedders of {dimension} numbers are here, and there is no corpus to say which."
        if files
        else "lsa is fitted on a corpus, and there is neither a corpus nor one that was fitted before.",
        where=str(folder) if folder else None,
        hint="give the corpus",
    )
