"""ChromaDB, the store of the paper, beside ours: the same vectors, queries and modalities.

Chroma is installed into a virtual environment of its own (see ``studio/peer.py``) and run as a process; nothing of it is imported
here. It gets vectors, ids and the modality of each source as metadata, in batches as large as it takes, with the settings it
comes with (HNSW over cosine, 16 links, 100 candidates while building and searching) and a client in the same process, which is its
fastest way. Ours is asked for the same hits: exact, and approximate as it comes. All are asked 100 queries at a time. The recall
is against plain products.

Run: python benchmarks/corpus/peer_chroma.py [--sources 50000 300000] [--limit 200]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from material import Watch, head, home, material, part, peak
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "studio"))
from peer import NotInstalledError, environment, version

PACKAGE = "chromadb"
SIZES = (50_000,)
K = 10
QUERIES = 500
AT_ONCE = 100
LIMIT = 200.0
"""Seconds after which Chroma stops to take sources, and is measured with those that it has."""

CHROMA = """
import json, os, resource, sys, time
import numpy as np
import chromadb
from chromadb.config import Settings

folder, into, limit, at_once, k = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
vectors = np.load(os.path.join(folder, "vectors.npy"), mmap_mode="r")
queries = np.load(os.path.join(folder, "queries.npy"))
modalities = np.load(os.path.join(folder, "modalities.npy")).tolist()
names = ("text", "table", "image")
client = chromadb.PersistentClient(into, settings=Settings(anonymized_telemetry=False))
collection = client.create_collection(
    "sources", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
)

def both():
    return np.array([time.perf_counter(), time.process_time()])

batch = min(client.get_max_batch_size(), 5000)
began, taken = both(), 0
while taken < len(vectors) and time.perf_counter() - began[0] < limit:
    stop = min(taken + batch, len(vectors))
    collection.add(
        ids=[str(n) for n in range(taken, stop)],
        embeddings=np.asarray(vectors[taken:stop]),
        metadatas=[{"modality": names[m]} for m in modalities[taken:stop]],
    )
    taken = stop
found = {"taken": taken, "build": (both() - began).tolist()}

def ask(where):
    rows, began = [], both()
    for start in range(0, len(queries), at_once):
        got = collection.query(
            query_embeddings=queries[start : start + at_once], n_results=k, where=where, include=["distances"]
        )
        rows += [[int(name) for name in ids] for ids in got["ids"]]
    return rows, (both() - began).tolist()

ask(None)
found["rows"], found["all"] = ask(None)
found["tables"], found["within"] = ask({"modality": "table"})
found["disk"] = sum(os.path.getsize(os.path.join(at, name)) for at, _, files in os.walk(into) for name in files)
found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps(found))
"""


def chroma(home_: Path, label: str, folder: Path, limit: float) -> int:
    """Print Chroma's row; return how many sources it took."""
    with tempfile.TemporaryDirectory(prefix="chroma-") as into:
        command = [
            str(home_ / "bin" / "python"), "-c", CHROMA, str(folder), into, str(limit), str(AT_ONCE), str(K),
        ]  # fmt: skip
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=into, timeout=limit + 240
        )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    taken = int(found["taken"])
    vectors, queries, modalities = _loaded(folder)
    print(
        row(
            f"{label}, {taken:,} sources" + (f" of {len(vectors):,}" if taken < len(vectors) else ""),
            *found["build"],
            *found["all"],
            recall(found["rows"], vectors[:taken], queries, np.ones(taken, np.bool_)),
            *found["within"],
            recall(found["tables"], vectors[:taken], queries, modalities[:taken] == 1),
            found["disk"],
            found["peak"],
        ),
        flush=True,
    )
    return taken


def ours(folder: Path, sources: int, method: str) -> None:
    """Print our row: built, written, opened again, asked."""
    from proctor.corpus.index.approximate import ApproximateIndex, parse_method
    from proctor.corpus.index.dense import DenseIndex
    from proctor.corpus.index.folder import open_vectors, write_index

    vectors, queries, modalities = _loaded(folder)
    vectors, modalities = vectors[:sources], modalities[:sources]
    with tempfile.TemporaryDirectory(prefix="ours-") as name:
        watch = Watch()
        built = DenseIndex.build(vectors, modalities, embedder="lsa")
        index = built if method == "exact" else ApproximateIndex.build(built, parse_method(method))
        write_index(Path(name) / "index", index, "0" * 64)
        build = watch.wall, watch.cpu
        disk = sum(path.stat().st_size for path in (Path(name) / "index").iterdir())
        index = open_vectors(Path(name) / "index", "0" * 64)
        index.search(queries[:AT_ONCE], K)
        asked = []
        for within in (None, "table"):
            watch = Watch()
            rows = [
                index.search(queries[start : start + AT_ONCE], K, within).positions  # type: ignore[arg-type]
                for start in range(0, len(queries), AT_ONCE)
            ]
            time = watch.wall, watch.cpu
            free = np.ones(sources, np.bool_) if within is None else modalities == 1
            asked += [*time, recall(np.concatenate(rows).tolist(), vectors, queries, free)]
        told = index.signature.rpartition("|")[2]
        print(row(f"Proctor, {told}, {sources:,} sources", *build, *asked, disk, peak()), flush=True)


def row(
    name: str,
    build: float,
    build_cpu: float,
    wall: float,
    cpu: float,
    found: float,
    within: float,
    within_cpu: float,
    found_within: float,
    disk: float,
    memory: float,
) -> str:
    """Return one line of the table."""
    return (
        f"| {name} | built in {build:.1f} s ({build_cpu:.1f} s CPU); top {K}: {QUERIES / wall:,.0f} queries/s "
        f"({1_000 * cpu / QUERIES:.2f} ms CPU each), recall {found:.3f}; within the tables: {QUERIES / within:,.0f} queries/s "
        f"({1_000 * within_cpu / QUERIES:.2f} ms), recall {found_within:.3f}; {disk / 2**20:,.0f} MB on disk, peak {memory:,.0f} MB "
        "| |"
    )


def recall(
    found: list[list[int]], vectors: NDArray[Any], queries: NDArray[Any], free: NDArray[np.bool_]
) -> float:
    """Return the share of the ``K`` best sources of each query that were found; fewer hits count as missed."""
    good = 0
    for start in range(0, len(queries), 50):
        scores = np.where(free, queries[start : start + 50] @ vectors.T, -np.inf)
        least = np.partition(scores, -K, axis=1)[:, -K]
        for rows, last, of_query in zip(found[start : start + 50], least, scores, strict=True):
            there = [n for n in rows if n >= 0]
            good += int((of_query[there] >= last - 1e-6).sum())
    return good / (K * len(queries))


def _loaded(folder: Path) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")
    return vectors, np.load(folder / "queries.npy"), np.load(folder / "modalities.npy")


def measure(peer: Path | None, label: str, sources: int, limit: float) -> None:
    """Print the rows of one size."""
    made = material()
    folder = Path(tempfile.mkdtemp(prefix="peer-", dir=home()))
    try:
        for name, array in {
            "vectors": made.vectors[:sources],
            "queries": made.queries[:QUERIES],
            "modalities": made.modalities[:sources],
        }.items():
            np.save(folder / f"{name}.npy", array)
        taken = sources
        if peer is not None:
            try:
                taken = chroma(peer, label, folder, limit)
            except (RuntimeError, subprocess.TimeoutExpired, ValueError) as error:
                print(
                    f"| {label} | installed, but was not measured: {str(error).splitlines()[-1]} | |",
                    flush=True,
                )
        for method in ("exact", "hnsw", "ivf"):
            part(__file__, method, "--folder", str(folder), "--sources", str(taken), limit=300)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--sources", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for Chroma to take the sources")
    parser.add_argument("--part", choices=["exact", "hnsw", "ivf"])
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.part:
        ours(given.folder, given.sources[0], given.part)
        return
    head()
    peer, label = None, PACKAGE
    try:
        peer = environment("chroma", PACKAGE)
        label = f"{PACKAGE} {version(peer, PACKAGE)}"
    except NotInstalledError as error:
        print(f"| {PACKAGE} | did not install here: {error} | |")
    for sources in given.sources:
        measure(peer, label, sources, given.limit)


if __name__ == "__main__":
    main()
