"""How fast questions in styles are generated: targets against a stand-in that plays the models, as a share of the ideal.

Ideal is one reply in every ``latency / connections`` seconds, for as many calls as the run made: no waiting for the first
replies, none for the last. The server is a process of its own. Without the real corpus (``../shared/data/mmrag``) a drawn one
is used. CPU time of both processes is told, because two cores have to do for both.

Usage: python benchmarks/corpus/generation.py [--targets 1000] [--latency 0.2] [--connections 32 64] [--quality 0.8]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proctor.ask.documents.pipeline import DocumentsGenerator, DocumentsModels, DocumentsSettings
from proctor.ask.documents.plan import plan_targets
from proctor.ask.documents.prompting import PromptKit
from proctor.ask.documents.run import DocumentsRun, generate_documents
from proctor.ask.documents.seed_levels import SeedLevels
from proctor.ask.documents.style import load_styles
from proctor.ask.moment.promqa_prompt import generation_prompts
from proctor.corpus.collection import Corpus
from proctor.corpus.index.lexical import LexicalIndex
from proctor.corpus.source import Source, image_source, is_long_enough, table_source, text_source
from proctor.stages.models import Closing, Limits, open_models
from proctor.workspace import Workspace

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "mmrag" / "sources.jsonl"
TICK = os.sysconf("SC_CLK_TCK")
SERVER = """
import sys
from pathlib import Path
from proctor_rehearsal.standin import Standin
from proctor_rehearsal.standin.script import Latency, Script
from proctor_rehearsal.players.player import Rehearsal
seconds = float(sys.argv[1])
script = Script(seed=0, latency=Latency(low=seconds, high=seconds))
with Standin(script, answer=Rehearsal(Path("/nonexistent"), quality=float(sys.argv[2]))) as server:
    print(server.url, flush=True)
    sys.stdin.read()
    print(server.count, flush=True)
"""


def main() -> None:
    """Measure and print a row for each number of connections."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--targets", type=int, default=1_000)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--connections", type=int, nargs="+", default=[32, 64])
    parser.add_argument("--quality", type=float, default=0.8)
    given = parser.parse_args()
    corpus = read_corpus(SHARED) if SHARED.exists() else drawn_corpus(300)
    index = LexicalIndex.build(corpus.texts(), corpus.modalities)
    for connections in given.connections:
        print(row(measure(corpus, index, connections, given), connections, given), flush=True)


def measure(
    corpus: Corpus, index: LexicalIndex, connections: int, given: argparse.Namespace
) -> dict[str, Any]:
    """Generate once in an empty workspace, and once more from its store."""
    with server(given.latency, given.quality) as (url, pid), tempfile.TemporaryDirectory() as folder:
        warm(Path(folder) / "warm", corpus, index, url)
        home = Path(folder) / "home"
        home.mkdir()
        used, before = cpu(pid), time.process_time()
        start = time.perf_counter()
        run, calls = generate(home, corpus, index, url, connections, given.targets)
        wall = time.perf_counter() - start
        own, served = time.process_time() - before, cpu(pid) - used
        start = time.perf_counter()
        again, resent = generate(home, corpus, index, url, connections, given.targets)
        resumed = time.perf_counter() - start
    assert again.questions == run.questions
    assert resent.sent == 0
    return {
        "run": run, "calls": calls.sent, "wall": wall, "cpu": own, "server": served, "resumed": resumed,
    }  # fmt: skip


def row(found: dict[str, Any], connections: int, given: argparse.Namespace) -> str:
    """Return one line of the table."""
    run: DocumentsRun = found["run"]
    ideal = found["calls"] * given.latency / connections
    return (
        f"| {given.targets:,} targets, {1_000 * given.latency:.0f} ms, {connections} connections | {run.summary.achieved:,} questions, "
        f"{found['calls']:,} calls in {found['wall']:.1f} s: {found['calls'] / found['wall']:.0f}/s = "
        f"{ideal / found['wall']:.0%} of ideal ({ideal:.1f} s); {1_000 * found['cpu'] / found['calls']:.2f} ms CPU a call, server "
        f"{1_000 * found['server'] / found['calls']:.2f} ms; from the store {found['resumed']:.1f} s; "
        f"load {os.getloadavg()[0]:.1f} | ≥ 85 % |"
    )


def generate(
    home: Path, corpus: Corpus, index: LexicalIndex, url: str, connections: int, wanted: int
) -> tuple[DocumentsRun, Closing]:
    """Generate in a workspace; return the run and what its calls came to."""
    name = f"compat/one@{url}/v1"  # limits hold for each model: of one model the ideal is plain
    styles = load_styles()
    targets = plan_targets(styles, total=wanted)

    def draw(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        return rng.integers(0, len(corpus), n)

    with open_models(Workspace(home), Limits(max_connections=connections)) as models:
        generator = DocumentsGenerator(
            corpus=corpus,
            find=lambda entity, modality, k: index.search([entity], k, modality),
            seeds=SeedLevels(targets, draw, len(corpus), 0),
            styles=styles,
            models=DocumentsModels(entity=name, generator=name, verifier=name),
            kit=PromptKit(generation_prompts(), models.secret),
            settings=DocumentsSettings(),
            price=models.price,
        )
        run = generate_documents(targets, generator, models.ask("generate"))
        return run, models.closing()


def warm(home: Path, corpus: Corpus, index: LexicalIndex, url: str) -> None:
    """Import, compile and connect before the clock runs."""
    home.mkdir()
    generate(home, corpus, index, url, 4, 5)


@contextmanager
def server(latency: float, quality: float) -> Iterator[tuple[str, int]]:
    """Run the stand-in in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(latency), str(quality)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), process.pid
    finally:
        process.communicate("")


def cpu(pid: int) -> float:
    """Return the CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


# -- corpora -------------------------------------------------------------------------------------------------------


def read_corpus(path: Path) -> Corpus:
    """Read the shared subset of MultiModalQA."""
    sources = (source_of(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines())
    return Corpus([source for source in sources if is_long_enough(source)])


def source_of(row: dict[str, Any]) -> Source:
    """Return a source of the shared file."""
    if row["modality"] == "text":
        return text_source(row["id"], row["title"], row["text"], doc_id=row["url"])
    if row["modality"] == "table":
        section = row.get("section") or ""
        return table_source(
            row["id"], row["title"], row["header"], row["rows"], section=section, doc_id=row["url"]
        )
    return image_source(
        row["id"], row["caption"], row["path"], verbalisation=row.get("verbalisation"), doc_id=row["url"]
    )


def drawn_corpus(size: int) -> Corpus:
    """Make texts, tables and images about towns."""
    sources: list[Source] = []
    for n in range(size):
        town, other = f"Arl{n}en", f"Arl{(n * 7 + 3) % size}en"
        body = f"The town of {town} has {1000 + 37 * n} inhabitants. In {1200 + n} the bridge to {other} was built by Quenby{n}. "
        sources += [
            text_source(f"text:{n}", town, body * 3, doc_id=str(n)),
            table_source(
                f"table:{n}", f"Houses of {town}", ["Town", "Houses"], [[town, str(n)], [other, str(2 * n)]]
            ),
            image_source(
                f"image:{n}", f"{town} at dusk", f"{n}.png", verbalisation=f"{town} has {n} towers."
            ),
        ]
    return Corpus(sources)


if __name__ == "__main__":
    main()
