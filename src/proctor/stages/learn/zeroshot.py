"""The stage ``learn zeroshot``: an exam about steps, from annotations to figures.

The folder of a run is a workspace of questions of the kind ``step``; asking, prices, budgets, resuming and records are those of
``proctor predict``. Beside them: ``templates.json`` (how the wordings competed), ``predictions.jsonl`` and ``run.json``.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.ask.step.entry import Entry
from proctor.ask.step.questions import CATEGORIES, Asker, Template, categories_of
from proctor.ask.step.writing import Writer, reworded
from proctor.errors import UserError
from proctor.exam.prediction import Prediction
from proctor.exam.question import Item
from proctor.learn.runs import PredictedStep, RunRecord, require_free, write_run
from proctor.learn.samples import Division, StepData, divide, read_step_data
from proctor.learn.zeroshot.competing import Competition, choose_templates, development_items
from proctor.learn.zeroshot.deciding import Replies, Weights, fit_weights, read_replies, require_both
from proctor.learn.zeroshot.entries import entries_of
from proctor.learn.zeroshot.figures import Figures, judge_calls
from proctor.llm.estimate import Estimate
from proctor.records import Dropped, is_there, iter_jsonl, write_json, write_jsonl
from proctor.report.page import write_page
from proctor.stages.exam_settings import PredictSettings
from proctor.stages.inputs import load_predictions
from proctor.stages.learn.zeroshot_page import zeroshot_page
from proctor.stages.learn.zeroshot_settings import ZeroshotSettings
from proctor.stages.limits import Limits
from proctor.stages.models import Closing, Models, open_models
from proctor.stages.predict import Predicted, estimate_prediction, predict
from proctor.stages.settings import REPLY_NAMES
from proctor.stages.show import Show
from proctor.stages.trial import trial
from proctor.workspace import Workspace

__all__ = ["Zeroshot", "estimate_zeroshot", "zeroshot"]

ASKED, DEVELOPED = "asked", "develop"
"""Sets of questions: those that are scored, and those on which wordings compete."""
FIGURES, PAGE, TEMPLATES, WRITTEN = "figures.json", "page.html", "templates.json", "written.jsonl"


class Zeroshot(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a run.

    Attributes:
        model: who was asked.
        variant: ``v1`` or ``v2``.
        protocol: which categories were asked of a step.
        combine: how replies of one step were combined.
        scored: which steps: ``all``, or ``test`` of the split.
        clips: entries by what stood for their clip.
        left_out: entries that were not asked about, by reason.
        questions: by category, how many were asked.
        figures: what it is worth.
        templates: how wordings competed; empty where they did not.
        weights: of the combination, where it was fitted.
        worded: by category, how many questions are a language model's; empty where none writes.
        runs: the exam's runs, those of the competition first.
        writing: the closing line of the model that writes.
    """

    model: str
    variant: str
    protocol: str
    combine: str
    scored: str
    clips: dict[str, int]
    left_out: dict[str, int]
    questions: dict[str, int]
    figures: Figures
    templates: tuple[Competition, ...] = ()
    weights: Weights | None = None
    worded: dict[str, int] = {}
    runs: tuple[Predicted, ...] = ()
    writing: Closing | None = None

    @property
    def calls(self) -> list[Closing]:
        """Closing lines of the models."""
        return [calls for calls in (self.writing, *(run.calls for run in self.runs)) if calls is not None]


@dataclass(frozen=True)
class _Exam:
    """Everything that is asked, before anything is.

    Attributes:
        settings: of the run.
        data: as annotated.
        entries: that are asked about, in the order of the data set.
        parts: by entry, the part of the split that it is in; empty for those that the split leaves out.
        training: entries of the training part.
        asker: makes questions.
        dropped: entries that are left out.
    """

    settings: ZeroshotSettings
    data: StepData
    entries: list[Entry]
    parts: dict[str, str]
    training: list[Entry]
    asker: Asker
    dropped: list[Dropped]

    @classmethod
    def of(cls, settings: ZeroshotSettings) -> _Exam:
        """Read the annotations.

        Raises:
            UserError: if they cannot be read, or have no such split, or what is asked for cannot come of it; or the folder
                holds something else.
        """
        if settings.variant == "v1" and settings.writer is not None:
            raise UserError(
                "one question for all steps needs no writer.", hint="leave --writer out, or ask --variant v2"
            )
        if settings.variant == "v1" and settings.combine == "logistic":
            raise UserError(
                "of one question there is nothing to weigh.", hint="leave --combine out, or ask --variant v2"
            )
        data, dataset = read_step_data(settings.annotations)
        every, dropped = entries_of(data, settings.missing)
        division = divide(data, dataset, settings.annotations, settings.split)
        parts = _parts(every, data, division)
        wanted = every
        if settings.part == "test" or settings.combine == "logistic":
            kept = {"test", "val"} if settings.combine == "logistic" else {"test"}
            wanted = [e for e in every if parts[e.id] in kept]
        if settings.sample is not None and settings.sample < len(wanted):
            rng = random.Random(f"{settings.seed}/sample")  # noqa: S311
            drawn = set(rng.sample(range(len(wanted)), settings.sample))
            wanted = [e for n, e in enumerate(wanted) if n in drawn]
        training = [e for e in every if parts[e.id] == "train"]
        exam = cls(settings, data, wanted, parts, training, Asker.of(every, settings.seed), dropped)
        exam._require_sound()
        return exam

    def _require_sound(self) -> None:
        """Refuse, before anything is paid for, what would be refused afterwards."""
        require_free(self.settings.out, self.record())
        _require_no_benchmark(Workspace(self.settings.out))
        if self.settings.combine == "logistic":
            require_both([e.mistaken for e in self.entries if self.parts[e.id] == "val"])
            if not any(self.parts[e.id] == "test" for e in self.entries):
                raise UserError(
                    f"none of the {len(self.entries):,} steps is in the test part.",
                    where="--sample",
                    hint="ask about more",
                )

    def development(self) -> list[Item]:
        """Return the questions on which wordings compete; none where the first ones are taken."""
        size = self.settings.develop
        if size < 2:
            return []
        return development_items(
            self.training, self.asker, self.settings.variant, size, self.settings.seed, of=DEVELOPED
        )

    def questions(self, chosen: dict[str, Template]) -> list[Item]:
        """Return the questions that are scored."""
        variant, protocol = self.settings.variant, self.settings.protocol
        return [
            self.asker.item(entry, category, chosen.get(category), of=ASKED)
            for entry in self.entries
            for category in categories_of(entry, variant, protocol)
        ]

    def exam(self, which: str) -> PredictSettings:
        """Return the settings of the exam over one set of questions."""
        s = self.settings
        return PredictSettings(
            kind="step", questions=which, show=s.show, style=s.style, videos=s.videos or s.annotations, seed=s.seed,
            **{name: getattr(s, name) for name in REPLY_NAMES},
        )  # fmt: skip

    def record(self) -> RunRecord:
        """Return what the run is the answer to."""
        s = self.settings
        asked: dict[str, object] = {
            "variant": s.variant,
            "show": s.show,
            "style": s.style,
            "missing": s.missing,
            "combine": s.combine,
        }
        asked |= {"part": s.part, "writer": s.writer, "develop": s.develop, "sample": s.sample, **s.said()}
        return RunRecord(
            model=s.model, split=s.split, data=self.data.name, data_hash=self.data.hash,
            seed=s.seed, protocol=s.protocol, settings=asked,
        )  # fmt: skip


def _parts(entries: Sequence[Entry], data: StepData, division: Division) -> dict[str, str]:
    """Return the part of each entry; one without times is where its recording is."""
    by_recording: dict[str, str] = {}
    by_step: dict[tuple[str, str], str] = {}
    for part in ("train", "val", "test"):
        for place in division[part]:
            sample = data.samples[place]
            by_step[sample.recording_id, sample.step] = part
            by_recording[sample.recording_id] = part
    if division.split == "S":  # recordings are in several parts, and what was never done is in none
        return {e.id: by_step.get((e.recording, e.step), "") for e in entries}
    return {e.id: by_recording.get(e.recording, "") for e in entries}


def estimate_zeroshot(settings: ZeroshotSettings, limits: Limits) -> list[Estimate]:
    """Say what a run would take, from the real prompts; nothing is sent, and nothing is written.

    The wordings that will be chosen are not known; they are about as long as the first ones.

    Raises:
        UserError: as ``zeroshot``.
    """
    exam = _Exam.of(settings)
    with trial(settings.out, limits) as (copy, tried):
        workspace = Workspace(copy)
        written = []
        if settings.writer is not None:
            with open_models(workspace, tried, settings) as models:
                requests = _writer(models, settings.writer).requests(exam.questions({}))
                written.append(models.estimate([("zeroshot/write", requests)]))
        sets = {DEVELOPED: exam.development(), ASKED: exam.questions({})}
        write_jsonl(workspace.file("items.jsonl"), [item for items in sets.values() for item in items])
        return written + [
            estimate_prediction(copy, settings.model, exam.exam(which), limits=tried)
            for which, items in sets.items()
            if items
        ]


def zeroshot(settings: ZeroshotSettings, *, limits: Limits | None = None, show: Show) -> Zeroshot:
    """Ask a model about steps, and score what it says.

    Run again, it goes on: what was answered is not asked again. Wordings compete first, where there are several; then all
    questions are asked, replies become decisions, and the folder gets ``predictions.jsonl``, ``validation.jsonl``, ``run.json``,
    ``figures.json``, ``templates.json`` and ``page.html``.

    Args:
        settings: whom to ask about what.
        limits: what it may cost.
        show: shows progress.

    Raises:
        UserError: if annotations, videos or model cannot be used, or the folder holds another run.
    """
    limits = (limits or Limits()).shared()
    exam = _Exam.of(settings)
    workspace = Workspace(settings.out)
    record = exam.record()
    workspace.create()
    workspace.write_dropped("zeroshot", exam.dropped)
    chosen: dict[str, Template] = {}
    competitions: tuple[Competition, ...] = ()
    developed: list[Predicted] = []
    if development := exam.development():
        developed, answers = _taken(workspace, exam, DEVELOPED, development, limits, show)
        chosen, competitions = choose_templates(exam.training, development, answers)
        write_json(workspace.file(TEMPLATES), competitions)
    items, writing = _worded(workspace, exam, exam.questions(chosen), limits, show)
    runs, answers = _taken(workspace, exam, ASKED, [*development, *items], limits, show)
    replies = read_replies(exam.entries, items, answers)
    scores, weights, scored = _decided(exam, replies)
    calls = scores > (0.5 if weights is None else weights.threshold)
    told = Replies(tuple(np.array(exam.entries, object)[scored]), replies.said)
    who = settings.model.partition("@")[0]
    figures = judge_calls(
        who,
        settings.variant,
        told,
        calls[scored],
        resamples=settings.resamples,
        seed=settings.seed,
    )
    result = Zeroshot(
        model=settings.model, variant=settings.variant, protocol=settings.protocol, combine=settings.combine,
        scored="test" if settings.combine == "logistic" else settings.part,
        clips=dict(Counter(e.clip for e in told.entries)),
        left_out=dict(Counter(d.reason for d in exam.dropped)),
        questions=dict(Counter(item.question.facets["category"] for item in items)),
        figures=figures, templates=competitions, weights=weights, runs=(*developed, *runs), writing=writing,
        worded=dict(Counter(i.question.facets["category"] for i in items if i.question.provenance["template"] == "written")),
    )  # fmt: skip
    rows = _rows(exam.entries, replies, scores, settings.variant)
    test = [row for row, mine in zip(rows, scored, strict=True) if mine]
    val = [row for row, mine in zip(rows, scored, strict=True) if not mine]
    found: dict[str, object] = msgspec.to_builtins(figures)
    picked = {
        "templates": {c.category: c.chosen for c in competitions},
        "weights": msgspec.to_builtins(weights),
    }
    write_run(settings.out, msgspec.structs.replace(record, chosen=picked, results=found), test, val)
    # Which calls were made this time is no part of what came out.
    write_json(workspace.file(FIGURES), msgspec.structs.replace(result, runs=(), writing=None))
    title = f"Zero-shot recognition of mistakes, {settings.variant.upper()}: {who}"
    method = [(name, str(value)) for name, value in record.asked.items()]
    marks = calls[scored].tolist()
    write_page(
        workspace.file(PAGE), zeroshot_page(title, figures, told, marks, items, answers, competitions, method)
    )
    return result


def _require_no_benchmark(workspace: Workspace) -> None:
    """Refuse a folder with questions of others, which those about steps would replace."""
    path = workspace.file("items.jsonl")
    first: Item | None = next(iter_jsonl(path, Item), None) if is_there(path) else None
    if first is not None and first.question.kind != "step":
        raise UserError(
            f"this is a benchmark with questions of the kind '{first.question.kind}', which the run would replace.",
            where=str(path),
            hint="give another folder with --out",
        )


def _writer(models: Models, name: str) -> Writer:
    return Writer(name, models.prompts, models.secret, models.price, models.replying)


def _worded(
    workspace: Workspace, exam: _Exam, items: list[Item], limits: Limits, show: Show
) -> tuple[list[Item], Closing | None]:
    """Return the questions as a language model writes them for each step; as they are where nobody does."""
    name = exam.settings.writer
    if name is None:
        return items, None
    with open_models(workspace, limits, exam.settings) as models, show(f"{name}: writing") as seen:
        written = _writer(models, name).write(items, models.ask("zeroshot/write", seen))
        closing = models.closing()
    write_jsonl(workspace.file(WRITTEN), written.values())
    return [reworded(item, written) for item in items], closing


def _taken(
    workspace: Workspace, exam: _Exam, which: str, items: list[Item], limits: Limits, show: Show
) -> tuple[list[Predicted], list[Prediction]]:
    """Have the questions of one set answered, and return the runs with all answers."""
    write_jsonl(workspace.file("items.jsonl"), items)
    with show(f"{exam.settings.model}: {which}", len(items)) as seen:
        made = predict(workspace.root, exam.settings.model, exam.exam(which), limits=limits, seen=seen)
    return made, [p for run in made for p in load_predictions(workspace.run_folder(run.run), items)]


def _decided(exam: _Exam, replies: Replies) -> tuple[NDArray[np.float64], Weights | None, NDArray[np.bool_]]:
    """Return a score for each entry, the weights that gave it, and which entries are scored."""
    if exam.settings.combine == "or":
        test = exam.settings.part == "test"
        scored = np.array([not test or exam.parts[e.id] == "test" for e in exam.entries], np.bool_)
        return replies.any.astype(np.float64), None, scored
    held = np.array([exam.parts[e.id] == "val" for e in exam.entries], np.bool_)
    features, labels = replies.features(), np.array([e.mistaken for e in exam.entries], np.bool_)
    weights = fit_weights(features[held], labels[held])
    return weights.probabilities(features), weights, ~held


def _rows(
    entries: Sequence[Entry], replies: Replies, scores: NDArray[np.float64], variant: str
) -> list[PredictedStep]:
    by_kind = {c: replies.signals(c).tolist() for c in CATEGORIES} if variant == "v2" else {}
    return [
        PredictedStep(
            recording=e.recording, step=f"{e.step}#{e.number}", label=e.mistaken, kinds=tuple(sorted(e.kinds)), score=score,
            activity=e.activity, text=e.text, times=((e.start, e.end),),
            kind_scores={kind: float(flags[n]) for kind, flags in by_kind.items()},
        )
        for n, (e, score) in enumerate(zip(entries, scores.tolist(), strict=True))
    ]  # fmt: skip
