"""The stage ``corpus``: files, data sets and workspaces of recordings to one corpus folder."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from proctor.corpus.adopt import IMAGES, adopt_images
from proctor.corpus.collection import Corpus, build_corpus, collapse, read_manifest, write_corpus
from proctor.corpus.dedupe import NearDuplicates, exact_duplicates, near_duplicates
from proctor.corpus.ingest.decoding import GUESSED
from proctor.corpus.procedural import is_procedural
from proctor.corpus.question import CorpusQuestion
from proctor.corpus.source import Source, body_length, render_source
from proctor.corpus.verbalise import Verbaliser, corpus_prompts
from proctor.datasets.dataset import Dataset, Log, guess_dataset, load_dataset
from proctor.errors import UserError
from proctor.llm.estimate import Estimate
from proctor.records import Dropped, read_jsonl, write_jsonl
from proctor.stages.documents.procedures import iter_procedure_sources, procedure_questions
from proctor.stages.documents.reading import CORPUS, QUESTIONS, corpus_of, questions_of
from proctor.stages.documents.settings import CorpusOptions
from proctor.stages.models import Closing, Limits, Models, open_models
from proctor.stages.rehearsing import find_rehearser
from proctor.tables import Shown
from proctor.workspace import Workspace, is_there

__all__ = [
    "Built",
    "Deduped",
    "Described",
    "build",
    "dedupe",
    "describe",
    "estimate_corpus",
]


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """What every look at a corpus says.

    Attributes:
        sources: how many.
        modalities: of them.
        aliases: duplicates that are known by another's name.
        fingerprint: of all contents.
    """

    sources: int
    modalities: dict[str, int]
    aliases: int
    fingerprint: str


class Built(Shown, Counted, frozen=True, kw_only=True):
    """A corpus that was built, or was not because images are still to be described.

    Attributes:
        questions: that came with the data.
        drawn: pictures that are drawn cards.
        dropped: what was left out, by reason.
        guessed: files that were read in an encoding that was guessed; unset for none.
        complete: it was written.
        calls: of the verbaliser.
    """

    questions: int | msgspec.UnsetType = msgspec.UNSET
    drawn: int | msgspec.UnsetType = msgspec.UNSET
    dropped: dict[str, int]
    guessed: int | msgspec.UnsetType = msgspec.UNSET
    complete: bool
    calls: Closing | msgspec.UnsetType = msgspec.UNSET


class Pictured(msgspec.Struct, frozen=True, kw_only=True):
    """Images of a corpus: with pixels, described by a model, and drawn cards among them."""

    with_pixels: int
    verbalised: int
    drawn: int


class Described(Counted, frozen=True, kw_only=True):
    """What a corpus holds.

    Attributes:
        documents: that the sources are of.
        characters: of the sources as they are read, by modality: min, median, mean, max.
        body_characters: of the texts' bodies.
        images: of them.
        licences: sources of each.
        dropped: what was left out, by reason.
        guessed: files that were read in an encoding that was guessed; unset for none.
        questions: that came with the data.
    """

    documents: int
    characters: dict[str, dict[str, float]]
    body_characters: dict[str, float]
    images: Pictured
    licences: dict[str, int]
    dropped: dict[str, int]
    guessed: int | msgspec.UnsetType = msgspec.UNSET
    questions: int


class Group(msgspec.Struct, frozen=True):
    """Sources that say the same: the one that stays, and the others."""

    kept: str
    aliases: list[str]


class Deduped(msgspec.Struct, frozen=True, kw_only=True):
    """Duplicates of a corpus.

    Attributes:
        sources: before.
        exact: equal ones.
        near: nearly equal ones.
        known_aliases: collapsed before.
        groups: of sources that say the same.
        applied: they were collapsed.
        left: sources afterwards.
        fingerprint: afterwards.
    """

    sources: int
    exact: int
    near: int
    known_aliases: int
    groups: list[Group]
    applied: bool = False
    left: int | msgspec.UnsetType = msgspec.UNSET
    fingerprint: str | msgspec.UnsetType = msgspec.UNSET


def build(
    root: Path,
    options: CorpusOptions,
    *,
    limits: Limits | None = None,
    seen: Callable[[], None] | None = None,
) -> Built:
    """Build the corpus of a workspace; one that is there is replaced.

    Args:
        root: the workspace; made where it is not there.
        options: where sources come from.
        limits: of the verbaliser's calls.
        seen: called after each source that is found, and after each call.

    Raises:
        UserError: if there is nothing to read, something cannot be read, or not one source is left.
    """
    _require_elsewhere(root, options.files)
    with _nothing_left_of(root):
        return _build(Workspace(root), options, limits, seen)


@contextmanager
def _nothing_left_of(root: Path) -> Iterator[None]:
    """Where an error ends what would have made a workspace, take away its folder, but for calls that were paid."""
    new = not is_there(root)
    try:
        yield
    except UserError:
        if new:
            shutil.rmtree(root / CORPUS, ignore_errors=True)
            with suppress(OSError):  # it holds something else
                root.rmdir()
        raise


def _build(
    workspace: Workspace,
    options: CorpusOptions,
    limits: Limits | None,
    seen: Callable[[], None] | None,
) -> Built:
    folder = workspace.file(CORPUS)
    questions: list[CorpusQuestion] = []
    corpus, dropped, drawn = _gathered(workspace, options, questions, seen)
    calls: Closing | None = None
    if options.verbaliser is not None:
        described, lost, calls = _verbalise(workspace, corpus, options.verbaliser, options, limits, seen)
        if (calls.stopped or calls.mute) and not (limits is not None and limits.accept_failures):
            # Images that were not asked about would be missing for good from a corpus that looks complete.
            return Built(
                **msgspec.structs.asdict(_counts(corpus)),
                **msgspec.structs.asdict(_left_out(d.reason for d in dropped)),
                complete=False,
                calls=calls,
            )
        corpus = described
        dropped += lost
    if not len(corpus):
        gone = _left_out(d.reason for d in dropped).dropped
        reasons = ", ".join(f"{n} {reason}" for reason, n in gone.items())
        first = next((entry for entry in dropped if entry.reason in gone and entry.detail), None)
        reasons += f"; the first is {first.id}: {first.detail}" if first is not None else ""
        raise UserError(
            f"not one source is left of what was found; {sum(gone.values()):,} were left out.",
            where=str(workspace.root),
            hint=f"left out: {reasons}" if reasons else "the folders hold nothing that can be read",
        )
    about = {"drawn": str(drawn)} if drawn else {}
    asked, lost_questions = procedure_questions(options.recordings, corpus)
    questions += asked
    dropped += lost_questions
    _write_questions(workspace, questions)
    corpus = write_corpus(folder, corpus, dropped=dropped, about=about)
    built = Built(
        **msgspec.structs.asdict(_counts(corpus)),
        questions=len(questions),
        drawn=drawn,
        **msgspec.structs.asdict(_left_out(d.reason for d in dropped)),
        complete=True,
    )
    workspace.record(
        "corpus",
        settings=options.recorded(),
        counts=msgspec.to_builtins(built),
        outputs=(f"{CORPUS}/manifest.json", *([QUESTIONS] if questions else [])),
    )
    return built if calls is None else msgspec.structs.replace(built, calls=calls)


def _require_input(options: CorpusOptions) -> None:
    if not (options.files or options.data or options.recordings):
        raise UserError(
            "there is nothing to build a corpus from.",
            hint="name files or folders (--from), folders of a data set (--data) or workspaces of recordings (--recordings)",
        )


def _labels(files: Sequence[Path]) -> dict[Path, str]:
    """Return what the ids of each file's or folder's sources begin with, so that those of several folders stay apart.

    One folder needs none; a path that is named twice is read once.

    Raises:
        UserError: if two folders, or two files, have the same name.
    """
    given = {path.resolve(): path for path in reversed(files)}
    paths = list(reversed(given.values()))
    if len(paths) < 2:
        return dict.fromkeys(paths, "")
    names: dict[str, Path] = {}
    for path in paths:
        other = names.setdefault(path.resolve().name, path)
        if other is not path:
            raise UserError(
                f"'{other}' and '{path}' have the same name, so that their sources could not be distinguished.",
                hint="name the folder that holds both, or rename one of them",
            )
    return {path: path.resolve().name if path.is_dir() else "" for path in paths}


def _require_elsewhere(root: Path, files: Sequence[Path]) -> None:
    """A workspace within a folder of documents would be read as documents itself."""
    for path in files:
        if root.resolve().is_relative_to(path.resolve()):
            raise UserError(
                f"the workspace {str(root)!r} is inside the folder that is read: its own files would become sources.",
                where=str(path),
                hint="put the workspace next to the folder",
            )


def _labelled(found: Iterable[Source | Dropped], label: str) -> Iterator[Source | Dropped]:
    """Put a folder's name before the paths in ids and documents."""
    from proctor.corpus.ingest.blocks import safe_name

    if not label:
        yield from found
        return
    for entry in found:
        if isinstance(entry, Dropped):
            yield Dropped(f"{label}/{entry.id}", entry.reason, entry.detail)
            continue
        kind, _, rest = entry.id.partition(":")
        yield msgspec.structs.replace(
            entry, id=f"{kind}:{safe_name(label)}/{rest}", doc_id=f"{label}/{entry.doc_id}"
        )


def _write_questions(workspace: Workspace, questions: Sequence[CorpusQuestion]) -> None:
    """Write them before the corpus, whose manifest says that all is there; that of an earlier one is taken away first."""
    for name in (f"{CORPUS}/manifest.json", *(() if questions else (QUESTIONS,))):
        if is_there(workspace.file(name)):
            workspace.file(name).unlink()
    if questions:
        write_jsonl(workspace.file(QUESTIONS), questions)


def estimate_corpus(root: Path, options: CorpusOptions, *, limits: Limits | None = None) -> Estimate | None:
    """Say what describing the images would take; nothing is sent. None where nobody describes them.

    The sources are read as they will be: their pictures are put into the workspace, so let it be a copy (``stages.trial``).

    Raises:
        UserError: as ``build``.
    """
    if options.verbaliser is None:
        return None
    workspace = Workspace(root)
    corpus, _, _ = _gathered(workspace, options, [], None)
    with open_models(workspace, limits, options) as models:
        who = _verbaliser(models, options.verbaliser, limits)
        return models.estimate([("verbalise", who.requests(corpus))])


def _gathered(
    workspace: Workspace,
    options: CorpusOptions,
    questions: list[CorpusQuestion],
    seen: Callable[[], None] | None,
) -> tuple[Corpus, list[Dropped], int]:
    """Read all sources; return the corpus before images are described, what was left out, and how many pictures were drawn."""
    _require_input(options)
    labels = _labels(options.files)
    workspace.create()
    folder = workspace.file(CORPUS)
    near = NearDuplicates(threshold=options.near) if options.near is not None else None
    made = build_corpus(
        _watched(_found(options, labels, folder, questions), seen),
        root=folder,
        minimum=options.minimum,
        near=near,
        uncaptioned=options.verbaliser is not None,
        exempt=is_procedural,
    )
    if not options.draw_missing:
        return made.corpus, list(made.dropped), 0
    corpus, drawn = find_rehearser("Drawing pictures").draw_missing(made.corpus, folder / IMAGES)
    return corpus, list(made.dropped), drawn


def _watched(
    found: Iterable[Source | Dropped], seen: Callable[[], None] | None
) -> Iterator[Source | Dropped]:
    for entry in found:
        if seen is not None:
            seen()
        yield entry


def _found(
    options: CorpusOptions, labels: Mapping[Path, str], corpus: Path, questions: list[CorpusQuestion]
) -> Iterator[Source | Dropped]:
    from proctor.corpus.ingest import IngestOptions, ingest_path

    for path, label in labels.items():
        read = ingest_path(path, out_images=corpus / IMAGES, options=IngestOptions(licence=options.licence))
        yield from _labelled(read, label)
    for folder in options.data:
        dataset = _dataset(folder, options.dataset)
        yield from adopt_images(_from_dataset(dataset, folder), folder / IMAGES, corpus)
        if dataset.questions is not None:
            questions.extend(dataset.questions(folder, "corrected", Log()))
    for root in options.recordings:
        yield from iter_procedure_sources(root)


def _dataset(folder: Path, name: str | None) -> Dataset:
    dataset = load_dataset(name) if name is not None else guess_dataset(folder)
    if dataset.kind != "corpus":
        raise UserError(
            f"{dataset.title} holds {dataset.kind}, not a corpus.",
            where=str(folder),
            hint="read it into a workspace (proctor read), and name that workspace: --recordings WORKSPACE",
        )
    return dataset


def _from_dataset(dataset: Dataset, folder: Path) -> Iterator[Source | Dropped]:
    """Yield a data set's sources and what its reader dropped."""
    log = Log()
    told = 0
    for source in dataset.iter_records(folder, "corrected", log):
        yield source
        while told < len(log.dropped):
            yield log.dropped[told]
            told += 1
    yield from log.dropped[told:]


def _verbalise(
    workspace: Workspace,
    corpus: Corpus,
    model: str,
    options: CorpusOptions,
    limits: Limits | None,
    seen: Callable[[], None] | None,
) -> tuple[Corpus, list[Dropped], Closing]:
    """Have images described that nobody has described; those that stay without a word are left out."""
    with open_models(workspace, limits, options) as models:
        models.require_prices(model)
        told = _verbaliser(models, model, limits).verbalise(corpus, models.ask("verbalise", seen))
        closing = models.closing()
    return told.corpus, list(told.dropped), closing


def _verbaliser(models: Models, model: str, limits: Limits | None) -> Verbaliser:
    prompts = corpus_prompts(limits.prompts if limits else None)
    return Verbaliser(
        model=model,
        prompts=prompts,
        secret=models.secret,
        media=models.media,
        replying=models.replying,
    )


# -- what it is ------------------------------------------------------------------------------------------------


def describe(root: Path) -> Described:
    """Return what a corpus holds: counts, documents, lengths, licences, duplicates, what was left out.

    Raises:
        UserError: if there is no corpus, or it is broken.
    """
    workspace = Workspace(root)
    corpus = corpus_of(workspace)
    manifest = read_manifest(workspace.file(CORPUS))
    lengths = {
        modality: sorted(len(render_source(s)) for s in corpus if s.modality == modality)
        for modality in ("text", "table", "image")
    }
    pictures = [source for source in corpus if source.modality == "image"]
    return Described(
        **msgspec.structs.asdict(_counts(corpus)),
        documents=len({s.doc_id or s.id for s in corpus}),
        characters={m: _spread(values) for m, values in lengths.items() if values},
        body_characters=_spread(sorted(body_length(s) for s in corpus if s.modality == "text")),
        images=Pictured(
            with_pixels=sum(corpus.pixels(s) is not None for s in pictures),
            verbalised=sum(bool(s.verbalisation) for s in pictures),
            drawn=int(manifest.about.get("drawn", "0")),
        ),
        licences=manifest.licences,
        **msgspec.structs.asdict(_left_out(manifest.dropped)),
        questions=len(questions_of(workspace)),
    )


def _counts(corpus: Corpus) -> Counted:
    return Counted(
        sources=len(corpus),
        modalities={str(m): n for m, n in corpus.counts().items()},
        aliases=len(corpus.aliases),
        fingerprint=corpus.fingerprint,
    )


def _spread(values: Sequence[int]) -> dict[str, float]:
    if not values:
        return {}
    return {
        "min": values[0],
        "median": values[len(values) // 2],
        "mean": round(sum(values) / len(values), 1),
        "max": values[-1],
    }


# -- duplicates ------------------------------------------------------------------------------------------------


def dedupe(root: Path, *, near: float | None = 0.9, apply: bool = False) -> Deduped:
    """Find sources that say the same, and collapse them where that is wanted.

    Args:
        root: the workspace.
        near: similarity (Jaccard of word shingles) from which two texts or tables count as one; None for equal ones alone.
        apply: write the corpus without them; questions and indexes over the old one are then out of step.

    Raises:
        UserError: if there is no corpus.
    """
    workspace = Workspace(root)
    corpus = corpus_of(workspace)
    manifest = read_manifest(workspace.file(CORPUS))
    exact = exact_duplicates(corpus)
    alike = dict(exact)
    if near is not None:
        rest = [source for source in corpus if source.id not in exact]
        alike |= near_duplicates(rest, NearDuplicates(threshold=near))
    groups: dict[str, list[str]] = {}
    for id_, kept in alike.items():
        groups.setdefault(kept, []).append(id_)
    result = Deduped(
        sources=len(corpus),
        exact=len(exact),
        near=len(alike) - len(exact),
        known_aliases=len(corpus.aliases),
        groups=[Group(kept, ids) for kept, ids in groups.items()],
    )
    if apply and alike:
        folder = workspace.file(CORPUS)
        lost: list[Dropped] = (
            read_jsonl(folder / "dropped.jsonl", Dropped) if is_there(folder / "dropped.jsonl") else []
        )
        corpus = write_corpus(folder, collapse(corpus, alike), dropped=lost, about=manifest.about)
        result = msgspec.structs.replace(
            result, applied=True, left=len(corpus), fingerprint=corpus.fingerprint
        )
        workspace.record(
            "corpus-dedupe", settings={"near": near}, counts={"near": result.near, "exact": len(exact)},
            outputs=(f"{CORPUS}/manifest.json",),
        )  # fmt: skip
    return result


# -- records ---------------------------------------------------------------------------------------------------


class _LeftOut(msgspec.Struct):
    """What was left out by reason, and apart how many of the entries are files that were read all the same."""

    dropped: dict[str, int]
    guessed: int | msgspec.UnsetType = msgspec.UNSET


def _left_out(reasons: Iterable[str] | Mapping[str, int]) -> _LeftOut:
    counts = dict(sorted(Counter(reasons).items()))
    guessed = counts.pop(GUESSED, 0)
    return _LeftOut(counts, guessed or msgspec.UNSET)
