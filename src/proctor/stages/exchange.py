"""Published benchmarks and releases in and out of a workspace."""

from __future__ import annotations

from pathlib import Path

import msgspec

from proctor.ask.moment.promqa import read_promqa
from proctor.corpus.collection import has_words, write_corpus
from proctor.datasets.dataset import load_dataset
from proctor.errors import UserError
from proctor.exam.kinds.moment_question import MOMENT
from proctor.exam.question import Item
from proctor.records import atomic_write, read_bytes, read_jsonl, write_jsonl
from proctor.release.folder import load_benchmark
from proctor.release.promqa import (
    Layout,
    detect_layout,
    export_promqa,
    import_promqa,
    read_origins,
    render_promqa,
    write_origins,
)
from proctor.stages.documents.reading import CORPUS
from proctor.stages.inputs import load_items
from proctor.stages.questions import workspace_questions
from proctor.stages.verify import open_store
from proctor.tables import Shown
from proctor.verify.store import VerdictStore
from proctor.workspace import Workspace

__all__ = ["export_published", "import_published", "import_release"]

ORIGINS = "promqa.origins.jsonl"


class Published(msgspec.Struct, frozen=True):
    """What a published file brought in: how many of each."""

    examples: int
    candidates: int
    verdicts: int
    items: int
    golds: int


class Released(Shown, msgspec.Struct, frozen=True):
    """What a release brought in: how many of each, and its signature."""

    items: int
    golds: int
    recordings: int
    signature: str


class Exported(msgspec.Struct, frozen=True):
    """A published file that was written, and how many examples it holds."""

    file: str
    examples: int


def import_published(file: Path, annotations: Path, root: Path) -> Published:
    """Bring a published ProMQA file into a new workspace: examples, candidates, verdicts and items.

    Args:
        file: JSON file of published examples.
        annotations: folder of the CaptainCook4D annotations, for the task graphs.
        root: the workspace.

    Raises:
        UserError: if a file is broken, or the workspace holds another benchmark's verdicts.
    """
    workspace = Workspace(root)
    published = read_promqa(file)
    if not published:
        raise UserError("there are no examples in it.", where=str(file), hint="is it the right file?")
    read = load_dataset("captaincook4d").read(annotations, "published")
    records = import_promqa(published, read.graphs)
    workspace.create()
    if workspace.file("verification.sqlite").exists():
        raise UserError(
            "the workspace holds verdicts already.", where=str(root), hint="import into a new folder"
        )
    used = {e.activity_id for e in records.examples}
    wanted = {e.recording_id for e in records.examples}
    write_jsonl(workspace.file("recordings.jsonl"), [r for r in read.recordings if r.id in wanted])
    workspace.write_graphs({i: g for i, g in read.graphs.items() if i in used})
    write_jsonl(workspace.file("examples.jsonl"), records.examples)
    write_jsonl(workspace.file("candidates.jsonl"), records.candidates)
    write_jsonl(workspace.file("items.jsonl"), records.items)
    write_origins(workspace.file(ORIGINS), records.origins, detect_layout(read_bytes(file)))
    with VerdictStore.open(workspace.file("verification.sqlite")) as store:
        store.append_many(records.verdicts)
        store.latest_on(records.questions)  # notes what people saw
    result = Published(
        examples=len(records.examples),
        candidates=len(records.candidates),
        verdicts=len(records.verdicts),
        items=len(records.items),
        golds=sum(len(i.golds) for i in records.items),
    )
    counts = {**msgspec.structs.asdict(result), "dropped": {}}
    settings = {"name": "promqa", "version": "published", "accept": "published"}
    outputs = ("recordings.jsonl", "graphs.json", "examples.jsonl", "candidates.jsonl", "items.jsonl")
    workspace.record("build", settings=settings, counts=counts, outputs=outputs)
    return result


def import_release(name_or_path: str | Path, root: Path) -> Released:
    """Bring somebody's released benchmark into a new workspace, to evaluate systems on it; the same one may come again.

    Args:
        name_or_path: a release folder, or the name of a registered benchmark.
        root: the workspace.

    Raises:
        UserError: if there is no such release, a file of it was changed, or the workspace has other items already.
    """
    workspace, _ = Workspace(root), Workspace(Path(name_or_path))  # neither may be of an older version
    benchmark = load_benchmark(name_or_path)
    there = workspace.file("items.jsonl")
    if (
        there.exists() and tuple(read_jsonl(there, Item)) != benchmark.items
    ):  # the same release may come again
        raise UserError("the workspace has items already.", where=str(root), hint="import into a new folder")
    workspace.create()
    write_jsonl(workspace.file("items.jsonl"), benchmark.items)
    workspace.write_graphs(benchmark.graphs)
    for name, file in benchmark.pictures.items():
        with atomic_write(workspace.file(name)) as stream:
            stream.write(read_bytes(file))
    if benchmark.sources:  # those that are only named have no words, and can be in no corpus
        write_corpus(workspace.file(CORPUS), [source for source in benchmark.sources if has_words(source)])
    rules = benchmark.manifest.rules.name if benchmark.manifest else ""
    licence = benchmark.manifest.info.licence if benchmark.manifest else ""
    settings = {"name": benchmark.name, "version": benchmark.version, "accept": rules, "licence": licence}
    result = Released(
        items=len(benchmark.items),
        golds=sum(len(i.golds) for i in benchmark.items),
        recordings=len({i.question.cluster for i in benchmark.items}),
        signature=benchmark.signature,
    )
    counts = {**msgspec.structs.asdict(result), "dropped": {}}
    outputs = ("items.jsonl", "graphs.json")
    workspace.record("build", settings=settings, counts=counts, outputs=outputs)
    return result


def export_published(root: Path, file: Path) -> Exported:
    """Write a workspace's benchmark as a published ProMQA file.

    Raises:
        UserError: if the workspace has no items, or the file cannot be written.
    """
    workspace = Workspace(root)
    graphs = workspace.graphs()
    items = load_items(workspace, graphs)
    questions = [q for q in workspace_questions(workspace) if q.kind == MOMENT]
    with open_store(workspace, create=False) as store:
        verdicts = store.latest()
    kept = workspace.file(ORIGINS)
    origins, layout = read_origins(kept) if kept.exists() else ((), Layout())
    objects = export_promqa(items, questions, verdicts, origins, order="published" if origins else "blind")
    with atomic_write(file) as stream:
        stream.write(render_promqa(objects, layout))
    return Exported(str(file), len(items))
