"""What the page shows of questions: frames of recordings, sources of a corpus, pictures, the steps of a clip."""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

from proctor.corpus.collection import Corpus
from proctor.corpus.picture import PictureError, read_picture
from proctor.errors import MissingExtraError, UserError
from proctor.exam.kinds.documents_question import document_facts, gold_of
from proctor.exam.question import Footage, Item, Picture, Question, Source, Words, part_of
from proctor.records import is_there
from proctor.report.data import Exam
from proctor.report.examples import Evidence
from proctor.report.highlights import in_order
from proctor.report.moment import moment_evidence
from proctor.report.parts import SourceView
from proctor.report.standing import Standing
from proctor.stages.clip.reading import CLIPS, PAIRS, VERDICTS, load_clips, load_pairs, load_verdicts
from proctor.stages.documents.reading import (
    CORPUS,
    QUESTION_SETS,
    WRITTEN,
    corpus_of,
    find_run,
    fits,
    load_questions,
    load_written,
    run_names,
)
from proctor.stages.settings import ReportSettings
from proctor.stages.videos import workspace_videos
from proctor.workspace import Workspace

__all__ = ["EvidenceFinder"]

_WITH_FRAMES: Final = 400
"""Examples of an exam with the frame of their moment: as many as a page holds."""
_STRIPS: Final = 80
"""Of them, those with earlier frames before it."""
_LARGE: Final = 24
"""Of them, those whose own frame is of full size; all other frames are half as high."""
_SIDE: Final = 480
"""Pixels of the longer side of a picture of a corpus."""
_DISTRACTORS: Final = 4
_JUST_BEFORE: Final = 0.001
"""Seconds before the end of what may be seen at which the last picture is taken: more than the decoder's tolerance."""


class EvidenceFinder:
    """Finds the evidence of questions of any kind, part by part.

    Args:
        workspace: where it is.
        standings: of the exams whose frames are extracted at once, since a video is opened once for all its questions.
        settings: of the frames.
        videos: folder of the videos; the data set's by default.

    Attributes:
        with_frames: questions with frames.
        without_frames: questions without, by reason.
    """

    def __init__(
        self,
        workspace: Workspace,
        standings: Sequence[Standing],
        settings: ReportSettings,
        videos: Path | None,
    ) -> None:
        self._workspace, self._settings, self._videos = workspace, settings, videos
        self.without_frames: Counter[str] = Counter()
        self._frames: dict[str, tuple[SourceView, ...]] = {}
        for standing in standings:
            self._extract(standing)
        self.with_frames = len(self._frames)
        graphs = workspace.known_graphs()
        self._moment = moment_evidence(graphs, lambda item: self._frames.get(item.id, ()))

    def of(self, item: Item) -> Evidence:
        """Return the evidence of a question."""
        if item.question.kind == "moment":
            return self._moment(item)
        goal = item.question.facts.get("goal")
        facts: tuple[tuple[str, str], ...] = (("goal", goal),) if isinstance(goal, str) else ()
        sources = [*self._frames.get(item.id, ()), *self._parts(item)]
        parent = item.question.parent or item.id
        if (clip := self._clips.get(parent)) is not None:
            sources.append(clip)
            facts = (("filters", "; ".join(self._filtered.get(parent, ()))),)
        if (written := self._written.get(item.id)) is not None:
            from proctor.report.documents import question_facts

            facts = tuple(question_facts(written, self._ranks.get(item.id, {})))
            sources += self._sources(document_facts(written).distractors[:_DISTRACTORS], "not cited")
        return Evidence(tuple(sources), facts)

    def _parts(self, item: Item) -> Iterator[SourceView]:
        parts = item.question.evidence
        yield from self._sources((part.id for part in parts if isinstance(part, Source)), "cited")
        for part in parts:
            if isinstance(part, Picture):
                picture = thumbnail(self._workspace.root / part.path)
                title = part.caption or part.id or part.path
                yield SourceView(part.id or part.path, "picture", "", title, picture=picture)
            elif isinstance(part, Words):
                yield SourceView(part.id, "text", "", part.id, text=part.text)

    def _sources(self, ids: Iterable[str], role: str) -> Iterator[SourceView]:
        if (corpus := self._corpus) is None:
            return
        from proctor.report.documents import source_view

        for id_ in ids:
            if (source := corpus.get(id_)) is not None:
                pixels = corpus.pixels(source) if source.modality == "image" else None
                yield source_view(source, role, thumbnail(pixels) if pixels is not None else "")

    @cached_property
    def _corpus(self) -> Corpus | None:
        return corpus_of(self._workspace) if is_there(self._workspace.file(CORPUS)) else None

    @cached_property
    def _written(self) -> dict[str, Question]:
        there = is_there(self._workspace.file(WRITTEN))
        return {q.id: q for q in load_written(self._workspace)} if there else {}

    @cached_property
    def _clips(self) -> dict[str, SourceView]:
        """Annotated steps of the clip of each question."""
        workspace = self._workspace
        if not (is_there(workspace.file(PAIRS)) and is_there(workspace.file(CLIPS))):
            return {}
        from proctor.report.clip import clip_steps

        clips = {clip.id: clip for clip in load_clips(workspace)}
        return {
            p.id: clip_steps(clips[p.clip_id], p.step_ids)
            for p in load_pairs(workspace)
            if p.clip_id in clips
        }

    @cached_property
    def _filtered(self) -> dict[str, list[str]]:
        """What the filters said of each pair."""
        found: dict[str, list[str]] = {}
        if is_there(self._workspace.file(VERDICTS)):
            for verdict in load_verdicts(self._workspace):
                said = f"{verdict.filter}: {verdict.reason.rstrip('.') or 'kept'}"
                found.setdefault(verdict.item_id, []).append(said)
        return found

    @cached_property
    def _ranks(self) -> dict[str, dict[str, str]]:
        """For each question the ranks of its cited sources, by retriever; those of earlier questions are left out."""
        found: dict[str, dict[str, str]] = {}
        for which in QUESTION_SETS:
            for spec in run_names(self._workspace, which):
                questions = load_questions(self._workspace, which)
                if not fits(self._workspace, questions, which, spec):
                    continue
                gold = {q.id: gold_of(q) for q in questions}
                run = find_run(self._workspace, questions, which, spec)
                for ranking in run.rankings:
                    places = {id_: str(n) for n, id_ in enumerate(ranking.ids, 1)}
                    text = ", ".join(places.get(id_, "–") for id_ in gold.get(ranking.qid, ()))
                    found.setdefault(ranking.qid, {})[run.retriever] = text
        return found

    # -- frames --------------------------------------------------------------------------------------------------

    def _extract(self, standing: Standing) -> None:
        """Extract frames of those questions that come first as examples; a video is opened once for all of them."""
        shown = [
            (item, part)
            for item in in_order(standing)
            if (part := part_of(item.question, Footage)) is not None
        ]
        if not self._settings.frames or not shown:
            return
        if len(shown) > _WITH_FRAMES:
            self.without_frames["beyond the limit"] += len(shown) - _WITH_FRAMES
        shown = shown[:_WITH_FRAMES]
        videos = workspace_videos(self._workspace, self._videos, {part.recording for _, part in shown})
        by_video: dict[Path, list[Item]] = {}
        for item, part in shown:
            path = None
            try:
                path = videos.find(part.recording, part.video or None, height=self._settings.height)
            except MissingExtraError as error:
                self.without_frames[f"{error.message} {error.hint}"] += len(shown)
                return
            except UserError:
                pass
            if path is None:
                self.without_frames["no video"] += 1
            else:
                by_video.setdefault(path, []).append(item)
        order = [item for item, _ in shown]
        times = choose_times(order[:_STRIPS], standing.exam, self._settings.frames)
        times |= choose_times(order[_STRIPS:], standing.exam, 1)
        large = {item.id for item in order[:_LARGE]}
        for path, items in by_video.items():
            try:
                wanted = {item.id: times[item.id] for item in items}
                self._frames |= frames_of(path, wanted, self._settings.height, large)
            except MissingExtraError as error:
                self.without_frames[f"{error.message} {error.hint}"] += len(items)
            except UserError:
                self.without_frames["video cannot be read"] += len(items)


def choose_times(items: Sequence[Item], exam: Exam, count: int) -> dict[str, list[float]]:
    """Choose the moments to show of each item: what the run that saw most was shown, evenly, and then the end.

    What no run saw says nothing about an answer; only where no run saw anything the moments are spread over the footage. The
    last picture is the one at which the footage ends: the one after it is no part of the question.

    Args:
        items: with footage.
        exam: whose runs are looked at.
        count: of the pictures of each item.
    """
    from proctor.media.sampling import uniform

    seen: dict[str, tuple[float, ...]] = {}
    for run in exam.runs:
        for p in run.predictions:
            if len(p.frame_times) > len(seen.get(p.item_id, ())):
                seen[p.item_id] = p.frame_times
    chosen = {}
    for item in items:
        part = part_of(item.question, Footage)
        if part is not None:
            length = part.end - part.start
            even = [part.start + t for t in uniform(count - 1, length)] if count > 1 and length > 0 else ()
            before = seen.get(item.id) or even
            chosen[item.id] = [
                *_spread(before, count - 1),
                *([max(part.start, part.end - _JUST_BEFORE)] if length > 0 else []),
            ]
    return chosen


def _spread(times: Sequence[float], count: int) -> list[float]:
    """Take some of them, evenly spread, the last one always."""
    kept = min(len(times), count)
    return sorted({times[-1 - (len(times) * k) // kept] for k in range(kept)})


def frames_of(
    path: Path, wanted: Mapping[str, Sequence[float]], height: int, large: Collection[str] = ()
) -> dict[str, tuple[SourceView, ...]]:
    """Decode all wanted times of one video in one pass and hand them to the items that they were wanted for.

    A frame is encoded once, however many items show it: at full height where it is the last one of an item in ``large``.

    Args:
        path: of the video.
        wanted: item to its times.
        height: of a large picture, in pixels; others are half as high.
        large: items whose last frame is large.

    Raises:
        UserError: if the video cannot be read.
        MissingExtraError: if what reads it is not installed.
    """
    from proctor.media.frames import extract_frames
    from proctor.media.paint import encode_webp

    times = sorted({t for some in wanted.values() for t in some})
    pictures = dict(zip(times, extract_frames(path, times, height=height), strict=True))
    images = {f.time: f.image for f in pictures.values()}
    full = {pictures[some[-1]].time for name, some in wanted.items() if some and name in large}
    addresses = {
        time: _address(encode_webp(image, height=height if time in full else max(8, height // 2)), "webp")
        for time, image in images.items()
    }
    frames = {}
    for name, some in wanted.items():
        shown = {pictures[t].time for t in some}  # one picture may be on screen at two of the moments
        frames[name] = tuple(
            SourceView(
                f"{path.stem}, {time:.1f} s", "frame", "", f"{time:.1f} s", picture=addresses[time], time=time
            )
            for time in sorted(shown)
        )
    return frames


def _address(picture: bytes, kind: str) -> str:
    return f"data:image/{kind};base64," + base64.b64encode(picture).decode("ascii")


def thumbnail(path: Path, side: int = _SIDE) -> str:
    """Return a small picture as a data address; nothing where there are no pixels.

    Raises:
        MissingExtraError: if Pillow is not installed.
    """
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtraError("Pillow", "corpus", "pictures on the page") from None
    try:
        picture = read_picture(path)
    except PictureError:
        return ""
    with Image.open(io.BytesIO(picture.data)) as image:
        image.thumbnail((side, side))
        stream = io.BytesIO()
        image.convert("RGB").save(stream, "WEBP", quality=70)
    return _address(stream.getvalue(), "webp")
