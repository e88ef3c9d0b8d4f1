"""What the benchmarks of corpora search: 300,000 vectors whose neighbourhoods are like those of real ones, and as many texts.

Real vectors are the different texts of ``../shared/data`` (passages, tables and captions of MultiModalQA, steps of four sets of
recordings) through LSA with 384 numbers. A made one lies between a real one and one of its hundred nearest, moved by the difference of
two real ones (so that noise has the directions of the data) by so much that cells of a search are as hard to choose as with
real ones (in 4, 8, 16 and 32 of 613 cells are .88, .91, .94 and .96 of the ten nearest among 23,000 made from 1,800 real ones, and .88,
.93, .95 and .97 of those among 23,000 real ones). Passages are runs of real sentences with invented names. Without the shared data
both are drawn: vectors around 3,000 centres, words by Zipf's law.

Run: python benchmarks/corpus/material.py [--sources 300000] makes the vectors; every script does so when they are missing. They lie
in PROCTOR_BENCH_CORPUS (a folder in the system's temporary one when unset) and take 0.5 GB.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

SOURCES: Final = 300_000
DIMENSION: Final = 384
QUERIES: Final = 2_048
SHARED: Final = Path(__file__).resolve().parents[3] / "shared" / "data"
VERSION: Final = 3
"""Of the folder: raise it when other vectors are made."""

_NEAR: Final = 100
_SHIFT: Final = 0.7
"""Length of the noise; by trial, see above."""
_BLOCK: Final = 20_000
_MODALITIES: Final = (0.7, 0.85)
"""Shares up to which sources are texts and tables; the rest are images."""


@dataclass(frozen=True, slots=True)
class Material:
    """Vectors to be searched.

    Attributes:
        vectors: shape (sources, 384), float32, rows of length one, memory-mapped.
        queries: further ones, made alike.
        questions: real questions, embedded alike; none where the shared data are missing.
        modalities: one number for each source.
        kind: says what they are.
    """

    vectors: Vectors
    queries: Vectors
    questions: Vectors
    modalities: NDArray[np.int8]
    kind: str


# -- measuring -----------------------------------------------------------------------------------------------------


class Watch:
    """Wall and processor seconds since it was made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    @property
    def wall(self) -> float:
        """Seconds that passed."""
        return time.perf_counter() - self._wall

    @property
    def cpu(self) -> float:
        """Seconds that the threads of this process computed."""
        return time.process_time() - self._cpu


def peak() -> float:
    """Return the peak memory of this process in MB, mapped files included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def head() -> None:
    """Print the head of the table."""
    print("| what | measured | target |\n|---|---|---|", flush=True)


def part(script: str, *arguments: str, limit: float = 600.0) -> None:
    """Run a part of a script in a process of its own, so that its memory is its own; a row says so where it fails."""
    command = [sys.executable, script, "--part", *arguments]
    what = f"{Path(script).name} {' '.join(arguments)}"
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired as late:
        print(_text(late.stdout), end="")
        print(f"| {what} | not done in {limit:.0f} s | |", flush=True)
        return
    print(done.stdout, end="", flush=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
        print(f"| {what} | failed: {lines[-1].replace('|', '/')} | |", flush=True)
        print(done.stderr, file=sys.stderr)


def _text(output: str | bytes | None) -> str:
    return output.decode() if isinstance(output, bytes) else output or ""


# -- vectors -------------------------------------------------------------------------------------------------------


def material(sources: int = SOURCES) -> Material:
    """Return vectors, made in a process of its own when they are missing."""
    folder = home() / f"vectors-{VERSION}-{sources}-{'shared' if SHARED.exists() else 'drawn'}"
    if not (folder / "kind.txt").exists():
        subprocess.run(
            [sys.executable, __file__, "--sources", str(sources), "--into", str(folder)], check=True
        )
    return Material(
        vectors=np.load(folder / "vectors.npy", mmap_mode="r"),
        queries=np.load(folder / "queries.npy"),
        questions=np.load(folder / "questions.npy"),
        modalities=np.load(folder / "modalities.npy"),
        kind=(folder / "kind.txt").read_text().strip(),
    )


def home() -> Path:
    """Return the folder of what is made once."""
    named = os.environ.get("PROCTOR_BENCH_CORPUS")
    return Path(named) if named else Path(tempfile.gettempdir()) / "proctor-bench-corpus"


def make(sources: int, folder: Path) -> None:
    """Make vectors into a folder, which takes its name when they are complete."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".making-"))
    rng = np.random.default_rng(7)
    if SHARED.exists():
        real, questions = embedded()
        mixer = Mixer(real, rng)
        vectors, queries = mixer.made(sources), mixer.made(QUERIES)
        kind = f"made from {len(real):,} real ones ({shape(real, real)}; made: {shape(vectors, vectors)})"
    else:
        vectors, queries = drawn(sources, 1), drawn(QUERIES, 9)
        questions = np.empty((0, DIMENSION), np.float32)
        kind = f"drawn around centres, without the shared data ({shape(vectors, vectors)})"
    modalities = np.digitize(rng.random(sources), _MODALITIES).astype(np.int8)
    for name, array in {
        "vectors": vectors, "queries": queries, "questions": questions, "modalities": modalities,
    }.items():  # fmt: skip
        np.save(work / f"{name}.npy", array)
    (work / "kind.txt").write_text(kind)
    if not folder.exists():  # or another process was faster
        work.replace(folder)


def embedded() -> tuple[Vectors, Vectors]:
    """Return vectors of the different real texts, and those of the questions."""
    from proctor.corpus.embed.lsa import fit_lsa

    texts = list(dict.fromkeys(" ".join(text.split()) for text in real_texts()))
    embedder = fit_lsa(texts, fingerprint="0" * 64, dimension=DIMENSION)
    rows = embedder.embed(texts, "passage")
    _, first = np.unique(
        rows, axis=0, return_index=True
    )  # other words, the same direction: duplicates to a search
    return rows[np.sort(first)], embedder.embed(questions(), "query")


class Mixer:
    """Makes vectors between neighbours."""

    def __init__(self, real: Vectors, rng: np.random.Generator) -> None:
        from proctor.corpus.index.exact import import_faiss

        self._real, self._rng = real, rng
        _, near = import_faiss().knn(real, real, _NEAR + 1, metric=0)
        self._near = near[:, 1:]

    def made(self, number: int) -> Vectors:
        """Return so many vectors."""
        out = np.empty((number, self._real.shape[1]), np.float32)
        for start in range(0, number, _BLOCK):
            out[start : start + _BLOCK] = self._block(min(_BLOCK, number - start))
        return out

    def _block(self, number: int) -> Vectors:
        rng, real = self._rng, self._real
        one = rng.integers(len(real), size=number)
        other = self._near[one, rng.integers(_NEAR, size=number)]
        share = rng.uniform(0, 0.5, (number, 1)).astype(np.float32)
        noise = real[rng.integers(len(real), size=number)] - real[rng.integers(len(real), size=number)]
        return unit(unit((1 - share) * real[one] + share * real[other]) + _SHIFT * unit(noise))


def drawn(number: int, seed: int) -> Vectors:
    """Return vectors around 3,000 centres, some of them of many."""
    centres = np.random.default_rng(7).standard_normal((3_000, DIMENSION), np.float32)
    rng = np.random.default_rng(seed)
    out = np.empty((number, DIMENSION), np.float32)
    for start in range(0, number, _BLOCK):
        size = min(_BLOCK, number - start)
        noise = 0.7 * rng.standard_normal((size, DIMENSION), np.float32)
        out[start : start + size] = unit(centres[rng.zipf(1.3, size) % 3_000] + noise)
    return out


def unit(rows: Vectors) -> Vectors:
    """Return rows of length one."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.maximum(lengths, 1e-9)).astype(np.float32)


def shape(asked: Vectors, within: Vectors, sample: int = 400, k: int = 20) -> str:
    """Return what neighbourhoods are like: distance of the five nearest, and how many dimensions they fill.

    The dimension is the maximum-likelihood estimate of Levina and Bickel (2004) over the 20 nearest.
    """
    from proctor.corpus.index.exact import import_faiss

    rows = np.random.default_rng(0).choice(len(asked), min(sample, len(asked)), replace=False)
    cosines, _ = import_faiss().knn(np.ascontiguousarray(asked[rows]), within, k + 1, metric=0)
    apart = np.sqrt(np.maximum(2 - 2 * cosines[:, 1:], 1e-9))
    inverse = np.log(apart[:, -1:] / apart[:, :-1]).mean(axis=1)
    filled = 1 / np.maximum(inverse.mean(), 1e-9)
    five = (1 - cosines[:, 1:6]).mean()
    return f"cosine distance of the 5 nearest {five:.2f}, local dimension {filled:.0f}"


# -- texts ---------------------------------------------------------------------------------------------------------


def real_texts() -> Iterator[str]:
    """Yield the texts of the shared data."""
    for line in _lines(SHARED / "mmrag" / "sources.jsonl"):
        row = json.loads(line)
        if row["modality"] == "table":
            cells = " . ".join(" , ".join(map(str, cells)) for cells in row["rows"])
            yield f"{row['title']} {row.get('section') or ''} {' '.join(map(str, row['header']))} {cells}"
        else:
            yield f"{row.get('title') or ''} {row.get('text') or row.get('caption') or ''}"
    for name in ("captaincook4d.jsonl.gz", "goalstep_val.jsonl.gz", "hirest.jsonl", "youcook2.jsonl.gz"):
        for line in _lines(SHARED / "steps" / name):
            row = json.loads(line)
            task = row.get("task") or row.get("goal") or ""
            for step in row["steps"]:
                yield f"{task} {step.get('text') or ''}"


def questions() -> list[str]:
    """Return the different real questions; drawn words without the shared data."""
    if not SHARED.exists():
        return list(drawn_passages(300, seed=5, words=(8, 16)))
    rows = (json.loads(line) for line in _lines(SHARED / "mmrag" / "questions.jsonl"))
    return list(dict.fromkeys(str(row["question"]) for row in rows))


def _lines(path: Path) -> Iterator[str]:
    if not path.exists():
        return
    with (
        gzip.open(path, "rt", encoding="utf-8")
        if path.suffix == ".gz"
        else path.open(encoding="utf-8") as lines
    ):
        yield from lines


def passages(number: int) -> Iterator[str]:
    """Yield texts of 40 to 160 words: runs of real sentences, with names that most of the others do not have."""
    if not SHARED.exists():
        yield from drawn_passages(number, seed=3, words=(40, 140))
        return
    sentences = [s for text in real_texts() for s in re.split(r"(?<=[.;!?]) ", text) if s]
    ends = np.cumsum([len(s.split()) for s in sentences])
    rng = np.random.default_rng(3)
    starts = rng.integers(len(sentences) - 200, size=(number, 2))
    lengths = rng.integers(8, 45, size=(number, 2))
    names = rng.zipf(1.2, size=(number, 6)) % 400_000
    for pair, wanted, rare in zip(starts.tolist(), lengths.tolist(), names.tolist(), strict=True):
        runs = [_run(sentences, ends, start, words) for start, words in zip(pair, wanted, strict=True)]
        yield f"{' '.join(runs)} {' '.join(f'n{name:x}' for name in rare)}"


def _run(sentences: Sequence[str], ends: NDArray[Any], start: int, words: int) -> str:
    stop = int(np.searchsorted(ends, ends[start] + words)) + 1
    return " ".join(sentences[start:stop])


def drawn_passages(number: int, *, seed: int, words: tuple[int, int]) -> Iterator[str]:
    """Yield texts of words drawn from 400,000 by Zipf's law."""
    shares = np.cumsum(1 / np.arange(1, 400_001) ** 1.05)
    rng = np.random.default_rng(seed)
    for length in rng.integers(*words, number).tolist():
        yield " ".join(f"w{n:x}" for n in np.searchsorted(shares, rng.random(length) * shares[-1]).tolist())


def main() -> None:
    """Make the vectors."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--sources", type=int, default=SOURCES)
    parser.add_argument("--into", type=Path)
    given = parser.parse_args()
    if given.into is None:
        print(material(given.sources).kind)
    else:
        make(given.sources, given.into)


if __name__ == "__main__":
    main()
