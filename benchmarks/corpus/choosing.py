"""What chooses candidates best without a download: titles and real questions of the real corpora, all searches in one run.

A candidate is about an entity, so the least that a search must do is to find a page by its own title: among the first two texts,
tables or images, as many as SMMQG takes. Two harder tries are a table for the title of a passage that one of its cells links to,
and recall@5 of real questions over all sources. Also told: how many titles find no two sources of a modality at all (words that a
modality never uses), since an attempt ends there.

Corpora: the multimodal corpus of ``../shared/data/mmrag`` (OTT-QA's tables and passages, MultiModalQA's captions) and the pages
of this project's own documentation. Run: python benchmarks/corpus/choosing.py
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from material import SHARED, Watch, head

from proctor.ask.documents.candidates import K_MODALITY, find_by_title
from proctor.corpus.source import MODALITIES
from proctor.stages.documents.corpus import build
from proctor.stages.documents.library import Library
from proctor.stages.documents.retrieve import retrieve_all
from proctor.stages.documents.settings import CorpusOptions, RetrievalOptions
from proctor.workspace import Workspace

SPECS = ("bm25", "lsa", "lsa:1000", "bm25+lsa", "bm25+lsa:zscore", "bm25+lsa:1000", "bm25+lsa:fill")
MMRAG = SHARED / "mmrag"
DOCS = Path(__file__).resolve().parents[2] / "docs"


def main() -> None:
    """Print one row for each search and corpus."""
    head()
    with tempfile.TemporaryDirectory() as folder:
        if MMRAG.exists():
            build(Path(folder, "mmrag"), CorpusOptions(data=(MMRAG,)))
            tell("mmrag", Path(folder, "mmrag"), linked_tables())
        else:
            print(f"| candidates: mmrag | not run: {MMRAG} is not there | |")
        build(Path(folder, "docs"), CorpusOptions(files=(DOCS,)))
        tell("docs", Path(folder, "docs"), {})


def tell(name: str, root: Path, links: dict[str, set[str]]) -> None:
    """Print the rows of a corpus."""
    library = Library(Workspace(root))
    sources = library.corpus.sources
    recall = {}
    if links:
        options = RetrievalOptions(retrievers=SPECS, questions="data", resamples=0)
        table = retrieve_all(root, options).table
        recall = {
            spec: table.cell(system, "recall@5") for spec, system in zip(SPECS, table.runs, strict=True)
        }
    for spec in SPECS:
        watch = Watch()
        search = library.search(spec)
        told = [f"own title in the first {K_MODALITY} {find_by_title(sources, search, sample=None)}"]
        if spec in recall:
            told.append(f"recall@5 of {recall[spec].n} real questions {recall[spec].value:.1f}")
        told += linked(library, spec, links)
        titles = [s.title for s in sources if s.title]
        there = [m for m in MODALITIES if library.corpus.counts()[m] >= K_MODALITY]
        none = sum(int((search(titles, m, K_MODALITY).positions < 0).any(axis=1).sum()) for m in there)
        told.append(f"no {K_MODALITY} of a modality {none / len(titles) / len(there):.1%}")
        print(
            f"| candidates: {name} ({len(sources):,} sources), {spec} | {'; '.join(told)}; {watch.wall:.1f} s | |"
        )


def linked(library: Library, spec: str, links: dict[str, set[str]]) -> Sequence[str]:
    """Say for how many passages a table that links to them is among the first two tables for their title."""
    asked = [(s.title, links[s.id]) for s in library.corpus if links.get(s.id)]
    if not asked:
        return ()
    hits = library.search(spec)([title for title, _ in asked], "table", K_MODALITY).positions.tolist()
    sources = library.corpus.sources
    right = sum(
        any(at >= 0 and sources[at].id in tables for at in row)
        for row, (_, tables) in zip(hits, asked, strict=True)
    )
    return (f"linked table {right / len(asked):.1%}",)


def linked_tables() -> dict[str, set[str]]:
    """Return the tables that link to each passage."""
    found: dict[str, set[str]] = defaultdict(set)
    for line in (MMRAG / "sources.jsonl").read_text().splitlines():
        row = json.loads(line)
        for link in row.get("links", ()):
            found[f"text:{link.removeprefix('/wiki/')}"].add(row["id"])
    return found


if __name__ == "__main__":
    main()
