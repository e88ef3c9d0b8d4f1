"""The page of a workspace of clips: pairs, funnel of the filters, options and their tells, accuracy, examples with frames."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.errors import UserError
from proctor.exam.clip_question import ClipQuestion
from proctor.exam.clip_view import ClipView
from proctor.exam.kinds.clip import KIND, ClipAsking, clip_items
from proctor.exam.library import Library
from proctor.exam.prediction import Prediction
from proctor.exam.table import ScoreRow, ScoreTable
from proctor.generate.instructional.audit import AuditReport, Rate
from proctor.generate.instructional.choice_summary import ChoiceSummary, RetryLeak, Share
from proctor.generate.instructional.funnel import FilterFunnel, count_funnel, results_of
from proctor.generate.instructional.record import ChoiceItem, InstructionalPair, ShownClip
from proctor.generate.instructional.statistics import (
    choice_statistics,
    compare_with_published,
    open_statistics,
)
from proctor.llm.media import MediaStore
from proctor.metrics.figure import Bars, IntervalPlot
from proctor.records import is_there, read_json
from proctor.report.section_page import write_page
from proctor.report.sections import (
    AnswerView,
    ExampleView,
    Heat,
    Page,
    Paragraph,
    Section,
    SourceView,
    Table,
)
from proctor.stages.instructional.answer import Form, load_runs, questions_of_form
from proctor.stages.instructional.audit import load_audit
from proctor.stages.instructional.choices import CHOICES, CHOICES_SUMMARY, load_choices
from proctor.stages.instructional.filter import VERDICTS, load_kept, load_training, load_verdicts
from proctor.stages.instructional.pairs import PAIRS_SUMMARY, load_clips, load_pairs
from proctor.stages.models import MEDIA
from proctor.stages.rehearsing import played_in
from proctor.stages.videos import workspace_videos
from proctor.workspace import Workspace

__all__ = ["report"]

_EXAMPLES: Final = 16
_STEPS: Final = 40
_SHOWN: Final = ClipAsking(view=ClipView(frames=4, size="quarter-side"))
_FUNNEL: Final = ("tasks", "replied", "read", "entries", "passed", "new", "kept")


def report(
    root: Path,
    *,
    out: Path | None = None,
    examples: int = _EXAMPLES,
    videos: Path | None = None,
    seen: Callable[[], None] | None = None,
) -> dict[str, Any]:
    """Write the page of a workspace of clips.

    Args:
        root: the workspace.
        out: the file; ``report.html`` in the workspace by default.
        examples: questions that are shown.
        videos: folder of the clips' videos; frames of the examples are shown where they are there.
        seen: called after each of them.

    Raises:
        UserError: if there are no pairs.
    """
    workspace = Workspace(root)
    pairs, clips = load_pairs(workspace), load_clips(workspace)
    items = load_choices(workspace) if is_there(workspace.file(CHOICES)) else []
    filtered = is_there(workspace.file(VERDICTS))
    sections = [_pairs_section(workspace, pairs, clips)]
    if filtered:
        sections.append(_funnel_section(workspace, pairs))
    if (audit := load_audit(workspace)) is not None:
        sections.append(_audit_section(audit))
    if items:
        sections.append(_options_section(workspace, items))
    for form, title in (("choice", "Multiple choice"), ("open", "Open-ended")):
        if runs := load_runs(workspace, form):  # type: ignore[arg-type]
            sections.append(_runs_section(form, title, [table for table, _ in runs.values()]))
    sections.append(_statistics_section(workspace, pairs, items, clips, filtered=filtered))
    shown = _spread(workspace, items, examples)
    warning = "This is a rehearsal: all models were played on one machine." if played_in(root) else ""
    page = Page(
        title=workspace.root.resolve().name,
        lead=f"{len(pairs):,} pairs about {len(clips):,} clips; {len(items):,} of them with options.",
        warning=warning,
        sections=tuple(sections),
        examples=tuple(_watched(_examples(workspace, shown, _Frames(workspace, videos, shown)), seen)),
        method=tuple(_method(workspace)),
    )
    path = write_page(out or workspace.file("report.html"), page)
    return {
        "report": str(path), "pairs": len(pairs), "choices": len(items), "examples": len(shown), "bytes": path.stat().st_size,
    }  # fmt: skip


def _watched(entries: Iterator[ExampleView], seen: Callable[[], None] | None) -> Iterator[ExampleView]:
    for entry in entries:
        if seen is not None:
            seen()
        yield entry


# -- pairs ---------------------------------------------------------------------------------------------------------


def _summary(workspace: Workspace, name: str) -> dict[str, Any]:
    path = workspace.file(name)
    if not is_there(path):
        return {}
    found: dict[str, Any] = read_json(path, dict[str, Any])
    summary = found.get("summary")
    return summary if isinstance(summary, dict) else {}


def _pairs_section(
    workspace: Workspace, pairs: Sequence[InstructionalPair], clips: Sequence[ShownClip]
) -> Section:
    summary = _summary(workspace, PAIRS_SUMMARY)
    categories = tuple(dict.fromkeys(p.category for p in sorted(pairs, key=lambda p: p.category)))
    levels = ("coarse", "fine")
    counts = {(p.level, p.category): 0 for p in pairs}
    for pair in pairs:
        counts[pair.level, pair.category] += 1
    most = max(counts.values(), default=1)
    parts: list[Any] = [
        Heat(
            "Pairs by level and category", "level", categories,
            tuple((level, tuple(float(counts.get((level, c), 0)) for c in categories)) for level in levels),  # type: ignore[arg-type]
            high=float(most), digits=0,
        ),
        Table(
            "Pairs by data set and place in the clip", ("data set", "early", "middle", "late", "all"),
            tuple(_by_place(name, pairs) for name in dict.fromkeys(p.dataset for p in pairs)),
        ),
    ]  # fmt: skip
    funnel = summary.get("funnel") or {}
    if funnel:
        rows = tuple((name, f"{funnel[name]:,}") for name in _FUNNEL if isinstance(funnel.get(name), int))
        parts.append(Table("How far tasks and entries came", ("", "how many"), rows))
    if reasons := summary.get("reasons"):
        parts.append(
            Table("Left out", ("reason", "entries"), tuple((k, f"{n:,}") for k, n in reasons.items()))
        )
    facts = (
        ("clips", f"{len(clips):,}"),
        ("videos", f"{len({(c.dataset, c.video_id) for c in clips}):,}"),
        ("pairs", f"{len(pairs):,}"),
        ("asked for", f"{summary.get('asked', 0):,}"),
        ("cost", f"${float(summary['cost']):.4f}" if summary.get("cost") else "not known"),
    )
    return Section("pairs", "Pairs", tuple(parts), facts)


def _by_place(name: str, pairs: Sequence[InstructionalPair]) -> tuple[str, ...]:
    own = [p for p in pairs if p.dataset == name]
    return (
        name,
        *(f"{sum(p.position == place for p in own):,}" for place in ("early", "middle", "late")),
        f"{len(own):,}",
    )


# -- filters -------------------------------------------------------------------------------------------------------


def _funnel_section(workspace: Workspace, pairs: Sequence[InstructionalPair]) -> Section:
    verdicts = load_verdicts(workspace)
    ids = {pair.id for pair in pairs} | {v.item_id for v in verdicts}
    funnel: FilterFunnel = count_funnel(results_of(sorted(ids), verdicts))
    rows = tuple(
        (
            row.filter, f"{row.seen:,}", f"{row.kept:,}", f"{row.dropped:,}", f"{row.postponed:,}",
            ", ".join(f"{n} {problem}" for problem, n in row.problems.items()), f"{row.calls:,}",
            f"${float(row.cost):.4f}" if row.cost is not None else "not known",
        )
        for row in funnel.rows
    )  # fmt: skip
    head = ("filter", "seen", "kept", "dropped", "postponed", "problems", "calls", "cost")
    bars = Bars(
        "Pairs that are left",
        ("before", *(row.filter for row in funnel.rows)),
        (float(funnel.asked), *(float(row.kept) for row in funnel.rows)),
        high=float(max(funnel.asked, 1)),
    )
    facts = (
        ("asked", f"{funnel.asked:,}"),
        ("kept", f"{funnel.kept:,}"),
        ("postponed", f"{funnel.postponed:,}"),
    )
    note = Paragraph(
        "The names of the filters are the paper's; their decision rules are ours, since it does not print them. A drop is final; "
        "what cannot be read is dropped."
    )
    return Section("filters", "Filters", (note, bars, Table("The funnel", head, rows, digits=False)), facts)


def _audit_section(audit: AuditReport) -> Section:
    rows = tuple(
        (
            row.filter, row.catches, f"{row.seen:,}", f"{row.dropped:,}", _rate(row.precision), _rate(row.precision_any),
            _rate(row.recall), _rate(row.false_alarm), _rate(row.f1),
        )
        for row in audit.rows
    )  # fmt: skip
    head = ("filter", "catches", "seen", "dropped", "precision", "any fault", "recall", "false alarm", "F1")
    rules = tuple((name, _rate(rate)) for name, rate in audit.by_rule.items())
    together = f"All filters together: precision {_rate(audit.precision)}, recall {_rate(audit.recall)}, F1 {_rate(audit.f1)}."
    note = "Faults were planted by rule into questions from these annotations. In brackets: Wilson intervals at 95 %."
    return Section(
        "audit",
        "Planted audit",
        (
            Paragraph(f"{together} {note}"),
            Table("Filters held against what was planted", head, rows),
            audit.matrix,
            Table("Share of planted questions that any filter dropped, by rule", ("rule", "dropped"), rules),
        ),
        tuple((kind, f"{n:,}") for kind, n in audit.planted.items()),
    )


def _rate(rate: Rate) -> str:
    if rate.value is None:
        return "–"
    ends = (
        f" [{100 * rate.low:.0f}, {100 * rate.high:.0f}]"
        if rate.low is not None and rate.high is not None
        else ""
    )
    return f"{100 * rate.value:.1f}{ends}"


# -- options -------------------------------------------------------------------------------------------------------


def _options_section(workspace: Workspace, items: Sequence[ChoiceItem]) -> Section:
    path = workspace.file(CHOICES_SUMMARY)
    if not is_there(path):
        raise UserError(
            f"{CHOICES_SUMMARY} is not there.",
            where=str(workspace.root),
            hint=f"run again: proctor choices {workspace.root}",
        )
    found: _Choices = read_json(path, _Choices)
    summary = found.summary
    parts: list[Any] = [
        *_letters(summary),
        *_attempts(summary),
        *_leak(summary.leak),
        Table(
            "Assistants",
            ("assistant", "votes", "unparsed", "right with steps", "right without"),
            tuple(
                (
                    a.assistant,
                    f"{a.votes:,}",
                    f"{a.unparsed:,}",
                    _share(a.with_steps),
                    _share(a.without_steps),
                )
                for a in summary.assistants
            ),
        ),
    ]
    facts = (
        ("asked", f"{summary.asked:,}"),
        ("with options", f"{len(items):,}"),
        ("open-ended only", f"{summary.open_ended:,}"),
        ("postponed", f"{summary.postponed:,}"),
        ("calls", f"{summary.calls:,}"),
        ("cost", f"${float(summary.cost):.4f}" if summary.cost is not None else "not known"),
    )
    return Section("options", "Options", tuple(parts), facts)


class _Choices(msgspec.Struct):
    """What the report takes from the summary of options."""

    summary: ChoiceSummary


def _letters(summary: ChoiceSummary) -> Iterator[Any]:
    letters, tells = summary.letters, summary.tells
    yield Bars(
        "Letters of the right options",
        tuple(letters.counts),
        tuple(float(n) for n in letters.counts.values()),
        high=float(max(letters.counts.values(), default=1)),
    )
    yield Table(
        "Option tells",
        ("", "value", "without a tell"),
        (
            ("right option is the longest one", _percentage(tells.longest_right), _percentage(tells.chance)),
            (
                "mean words of right and of wrong options",
                _shown(tells.words_right),
                _shown(tells.words_wrong),
            ),
            (
                "mean characters of right and of wrong options",
                _shown(tells.characters_right),
                _shown(tells.characters_wrong),
            ),
            (
                f"letters: chi² with {letters.df} degrees of freedom",
                _shown(letters.chi2),
                f"p {_shown(letters.p)}",
            ),
        ),
    )


def _attempts(summary: ChoiceSummary) -> Iterator[Any]:
    if summary.outcomes:
        yield Bars(
            "What became of attempts",
            tuple(name.replace("_", " ") for name in summary.outcomes),
            tuple(float(n) for n in summary.outcomes.values()),
            high=float(max(summary.outcomes.values())),
        )
    needed = tuple((k, f"{n:,}") for k, n in summary.attempts_needed.items())
    yield Table("Attempts that a question took", ("attempts", "questions"), needed)
    if summary.kinds:
        yield Table(
            "Wrong answers by kind",
            ("kind", "how many"),
            tuple((k, f"{n:,}") for k, n in summary.kinds.items()),
        )


def _leak(leak: RetryLeak) -> Iterator[Any]:
    yield Table(
        "Retry leak",
        ("", "seen", "expected of independent votes"),
        (
            ("blind accuracy of a single vote", _share(leak.blind_accuracy), ""),
            (
                "first attempts that fail the blind vote",
                _share(leak.seen_to_fail),
                _percentage(leak.expected_to_fail),
            ),
            (
                "questions that pass within all attempts",
                _share(leak.seen_to_pass),
                _percentage(leak.expected_to_pass),
            ),
            ("fresh votes on accepted options that fail", _share(leak.confirmation_failed), ""),
        ),
        note="Retrying until a vote passes selects luck; the fresh vote, in new orders, says how much of it there is.",
    )
    yield Table(
        "What chance lets pass",
        ("blind accuracy", "fails one attempt", "passes within all"),
        tuple(
            (f"{r.blind_accuracy:.2f}", f"{r.fails_one_attempt:.3f}", f"{r.passes_within:.3f}")
            for r in leak.table
        ),
    )


def _share(share: Share) -> str:
    if share.share is None:
        return "–"
    ends = (
        f" [{100 * share.low:.1f}, {100 * share.high:.1f}]"
        if share.low is not None and share.high is not None
        else ""
    )
    return f"{100 * share.share:.1f} %{ends} of {share.whole:,}"


def _percentage(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _shown(value: object) -> str:
    return "–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


# -- runs ----------------------------------------------------------------------------------------------------------


def _runs_section(form: str, title: str, tables: Sequence[ScoreTable]) -> Section:
    parts: list[Any] = []
    overall = [(table, table.row()) for table in tables]
    parts.append(
        IntervalPlot(
            f"{overall[0][1].measure.replace('_', ' ').capitalize()}, all questions",
            tuple(_label(t) for t, _ in overall),
            tuple(None if r.value is None else 100 * r.value for _, r in overall),
            tuple(None if r.low is None else 100 * r.low for _, r in overall),
            tuple(None if r.high is None else 100 * r.high for _, r in overall),
            chance=tuple(None if r.chance is None else 100 * r.chance for _, r in overall),
            scale=(0.0, 100.0),
        )
    )
    for kind, name in (
        ("category", "category"),
        ("level", "level"),
        ("dataset", "data set"),
        ("position", "place in the clip"),
    ):
        slices = tuple(dict.fromkeys(r.slice for t in tables for r in t.rows if r.kind == kind))
        if slices:
            rows = tuple((_label(t), tuple(_percent(_row(t, s)) for s in slices)) for t in tables)
            parts.append(
                Heat(
                    f"By {name}, percent",
                    "system",
                    tuple(s.partition("=")[2] for s in slices),
                    rows,
                    high=100.0,
                    digits=1,
                )
            )
    rows_text = tuple(
        (
            _label(t), _interval(r), f"{r.n:,}", f"{r.clusters:,}", f"{r.unparsed:,}", f"{r.failed:,}",
            t.privilege or "–", ", ".join(f"{k} {n:,}" for k, n in t.counts.items()),
        )
        for t, r in overall
    )  # fmt: skip
    head = ("system", "percent", "questions", "videos", "unparsed", "failed", "was told", "counted")
    parts.append(
        Table(
            "All systems",
            head,
            rows_text,
            digits=False,
            note="Intervals are bootstrapped over videos. An unreadable reply is wrong; a failed call is in no mean.",
        )
    )
    return Section(f"runs-{form}", title, tuple(parts))


def _label(table: ScoreTable) -> str:
    return table.predictor


def _row(table: ScoreTable, slice_: str) -> ScoreRow | None:
    return next((row for row in table.rows if row.slice == slice_), None)


def _percent(row: ScoreRow | None) -> float | None:
    return None if row is None or row.value is None else 100 * row.value


def _interval(row: ScoreRow) -> str:
    if row.value is None:
        return "–"
    ends = (
        f" [{100 * row.low:.1f}, {100 * row.high:.1f}]"
        if row.low is not None and row.high is not None
        else ""
    )
    return f"{100 * row.value:.1f}{ends}"


# -- statistics ----------------------------------------------------------------------------------------------------


def _statistics_section(
    workspace: Workspace,
    pairs: Sequence[InstructionalPair],
    items: Sequence[ChoiceItem],
    clips: Sequence[ShownClip],
    *,
    filtered: bool,
) -> Section:
    sets: list[tuple[str, Any]] = []
    if items:
        sets.append(("Multiple choice", choice_statistics(items, pairs, clips)))
    kept = load_kept(workspace) if filtered and is_there(workspace.file("open.jsonl")) else pairs
    sets.append(("Open-ended", open_statistics(kept, clips)))
    if training := load_training(workspace):
        sets.append(("Training", open_statistics(training, clips, kind="training")))
    parts = []
    for title, statistics in sets:
        rows = tuple(
            (f"{row.label} ({row.unit})" if row.unit else row.label, _shown(row.ours), _shown(row.published))
            for row in compare_with_published(statistics)
        )
        parts.append(Table(title, ("", "ours", "published"), rows))
    return Section("statistics", "Statistics", tuple(parts))


# -- examples ------------------------------------------------------------------------------------------------------


def _spread(workspace: Workspace, items: Sequence[ChoiceItem], most: int) -> list[ClipQuestion]:
    """Choose questions of all categories and levels in turn."""
    form: Form = "choice" if items else "open"
    try:
        questions = questions_of_form(workspace, form)
    except UserError:
        return []
    cells: dict[tuple[str, str], list[ClipQuestion]] = {}
    for question in questions:
        cells.setdefault((question.level, question.category), []).append(question)
    chosen: list[ClipQuestion] = []
    for turn in range(max(map(len, cells.values()), default=0)):
        chosen += [cell[turn] for cell in cells.values() if turn < len(cell)]
    return chosen[:most]


def _examples(
    workspace: Workspace, questions: Sequence[ClipQuestion], frames: _Frames
) -> Iterator[ExampleView]:
    pairs = {pair.id: pair for pair in load_pairs(workspace)}
    verdicts: dict[str, list[str]] = {}
    for verdict in load_verdicts(workspace):
        verdicts.setdefault(verdict.item_id, []).append(f"{verdict.filter}: {verdict.reason or 'kept'}")
    said = _said(workspace, questions)
    for q in questions:
        pair = pairs.get(q.id)
        facts = [
            (letter, text + ("  ✓" if letter == q.letter else ""))
            for letter, text in zip("ABCDEFGHIJ", q.options, strict=False)
        ]
        facts += [("filters", "; ".join(verdicts[q.id]))] if q.id in verdicts else []
        yield ExampleView(
            id=q.id,
            kind=f"{q.level}, {q.category}",
            question=q.question,
            answer=q.answer,
            facts=tuple(facts),
            sources=(*_views(q, pair), *frames.of(q)),
            answers=tuple(said.get(q.id, ())),
        )


def _views(q: ClipQuestion, pair: InstructionalPair | None) -> Iterator[SourceView]:
    if q.clip is None:
        return
    cited = set(pair.step_ids) if pair is not None else set()
    steps = q.clip.steps[:_STEPS]
    yield SourceView(
        id=q.clip.id,
        modality="steps",
        role="",
        title=q.clip.task,
        header=("step", "seconds", "text", "cited"),
        rows=tuple(
            (s.id, f"{s.start:.0f}–{s.end:.0f}", s.text, "yes" if s.id in cited else "") for s in steps
        ),
        more=f"{len(q.clip.steps) - len(steps):,} more steps" if len(q.clip.steps) > len(steps) else "",
        origin=f"{q.dataset}, {q.clip.video_id}, {q.clip.start:.0f} to {q.clip.end:.0f} s",
    )


class _Frames:
    """Some frames of a clip as pictures, where its video is there."""

    def __init__(self, workspace: Workspace, folder: Path | None, questions: Sequence[ClipQuestion]) -> None:
        self._media = MediaStore(workspace.file(MEDIA))
        self._library: Library | None = None
        ids = {q.clip.video_id for q in questions if q.clip is not None}
        with suppress(UserError, ImportError):  # without videos, or what reads them, steps are shown alone
            videos = workspace_videos(workspace, folder, ids)
            self._library = Library(media=self._media, videos=videos)

    def of(self, q: ClipQuestion) -> list[SourceView]:
        """Return the frames of a question's clip; none where they cannot be had."""
        if self._library is None:
            return []
        try:
            (item,) = clip_items([q])
            shown = next(KIND.exhibits(item, _SHOWN, self._library))
        except (UserError, ImportError):
            return []
        return [
            SourceView(
                id=f"{q.video_id}, {piece.time:.1f} s",
                modality="frame",
                role="",
                title=f"{piece.time:.1f} s",
                picture="data:image/jpeg;base64,"
                + base64.b64encode(self._media.get(piece.media.sha256)).decode("ascii"),
            )
            for piece in shown.pieces
            if piece.media is not None
        ]


def _said(workspace: Workspace, questions: Sequence[ClipQuestion]) -> Mapping[str, list[AnswerView]]:
    wanted = {q.id for q in questions}
    found: dict[str, list[AnswerView]] = {}
    for form in ("choice", "open"):
        for system, (table, predictions) in load_runs(workspace, form).items():
            for p in predictions:
                if p.item_id in wanted:
                    found.setdefault(p.item_id, []).append(
                        AnswerView(f"{system} · {form}", _answer(p), _mark(table, p.item_id))
                    )
    return found


def _answer(p: Prediction) -> str:
    text = p.answer if p.answer is not None else f"(no answer: {p.failure})"
    letter = p.details.get("letter")
    times = ", ".join(f"{t:.1f}" for t in p.frame_times[:16])
    return (
        text[:600]
        + (f"  [read as {letter}]" if letter else "")
        + (f"  [frames at {times} s]" if times else "")
    )


def _mark(table: ScoreTable, id_: str) -> str:
    mark = table.item_marks.get(id_)
    return "not marked" if mark is None else f"{mark:.2f}".rstrip("0").rstrip(".")


def _method(workspace: Workspace) -> Iterator[tuple[str, str]]:
    for name, record in sorted(workspace.stages().items()):
        if name in ("pairs", "filter", "choices") or name.startswith("clips/"):
            yield name, msgspec.json.encode(record.settings).decode()[:1_800]
