"""A workspace from Python: stages that chain, records that are tables, scores that show themselves in a notebook.

Example::

    import proctor

    ws = proctor.Workspace("bench").read("plain", "recordings/").derive().generate().verify().build()
    ws.predict(my_function, name="mine").judge().score()
    ws.leaderboard()

Each method is the command of the same name: the same options with ``_`` for ``-``, the same files, the same messages. An option that
is not given is what ``proctor.toml`` says, then the default. What a stage did is in ``ws.results``.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast

from proctor.compute import Place, place_of
from proctor.errors import UserError, did_you_mean
from proctor.exam.question import item_cells, question_cells
from proctor.settings import Settings, fields_of
from proctor.stages.clip.settings import ChoiceOptions, FilterOptions, PairOptions
from proctor.stages.documents.settings import CorpusOptions, DocumentsOptions, RetrievalOptions
from proctor.stages.exam_settings import JudgeSettings, PredictSettings, ScoreSettings, VerifySettings
from proctor.stages.limits import Limits
from proctor.stages.settings import (
    BuildSettings,
    DeriveSettings,
    GenerateFiles,
    GenerateSettings,
    ReadSettings,
    ReportFiles,
    ReportSettings,
)
from proctor.tables import Records, html_table
from proctor.terminal import progress, warn
from proctor.workspace import StageRecord, place_in_job
from proctor.workspace import Workspace as Folder

if TYPE_CHECKING:
    from proctor.exam.function import Answering, Marking
    from proctor.exam.kinds.example import Example
    from proctor.exam.prediction import Judgement, Prediction
    from proctor.exam.question import Item, Question
    from proctor.procedure.graph import TaskGraph
    from proctor.procedure.recording import Recording
    from proctor.stages.models import Closing
    from proctor.stages.score import RunScore

__all__ = ["Workspace"]

M = TypeVar("M", bound=Callable[..., Any])
S = TypeVar("S", bound=Settings)


def _with(*structs: type[Settings]) -> Callable[[M], M]:
    """Let ``help()`` and editors show the options of structs as those of a method that takes ``**options``."""

    def declare(method: M) -> M:
        declared = {field.name: field for struct in structs for field in fields_of(struct)}
        signature = inspect.signature(method)
        own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        taken = {parameter.name for parameter in own}
        options = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=field.kind)
            for name, field in declared.items()
            if name not in taken
        ]
        lines = [f"    {name}: {field.help}" for name, field in declared.items() if name not in taken]
        method.__doc__ = "\n".join([inspect.getdoc(method) or "", "", "Options:", *lines])

        @functools.wraps(method)
        def checked(self: Workspace, *args: Any, **kwargs: Any) -> Any:
            for name in kwargs:
                if name not in declared and name not in taken:
                    hint = did_you_mean(name, [*sorted(taken - {"self"}), *declared])
                    raise UserError(f"{method.__name__}() has no option '{name}'.", hint=hint)
            return method(self, *args, **kwargs)

        checked.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
        return cast("M", checked)

    return declare


class Workspace:
    """A benchmark in the making: a folder, and the stages that work on it.

    Args:
        root: the folder; the first stage makes it.
        progress: False for no bars.

    Attributes:
        root: the folder.
        results: what each stage that ran here returned, by its name.

    Raises:
        UserError: if its records are of another format.
    """

    def __init__(self, root: str | os.PathLike[str], *, progress: bool = True) -> None:
        self.root = Path(root)
        self.results: dict[str, object] = {}
        self._folder = Folder(self.root)
        self._progress = progress

    # -- stages ----------------------------------------------------------------------------------------------------

    @_with(ReadSettings)
    def read(
        self,
        dataset: str,
        folder: str | os.PathLike[str],
        *,
        workers: int | str | None = None,
        **options: Any,
    ) -> Self:
        """Read a data set's recordings and task graphs; your own come in the plain format (docs/datasets/plain.md)."""
        from proctor.stages.read import read

        settings = self._settings(ReadSettings, options)
        return self._did("read", read(dataset, Path(folder), self.root, settings, place=_place(workers)))

    def import_release(self, release: str | os.PathLike[str]) -> Self:
        """Bring another group's benchmark into this new workspace, by its folder or name (``everyday`` is shipped)."""
        from proctor.stages.exchange import import_release

        return self._did("import release", import_release(os.fspath(release), self.root))

    @_with(DeriveSettings)
    def derive(self, *, workers: int | str | None = None, **options: Any) -> Self:
        """Derive every moment that may be asked about, with the facts that decide the answer."""
        from proctor.stages.derive import derive

        settings = self._settings(DeriveSettings, options)
        return self._did("derive", derive(self.root, settings, place=_place(workers)))

    @_with(CorpusOptions, Limits)
    def corpus(self, *files: str | os.PathLike[str], **options: Any) -> Self:
        """Read documents (PDF, HTML, Markdown, CSV, pictures) into the corpus."""
        from proctor.stages.documents.corpus import build

        settings, limits = self._settings(CorpusOptions, {"files": files, **options}), self._limits(options)
        with self._bar("reading sources") as seen:
            done = build(self.root, settings, limits=limits, seen=seen)
        return self._did("corpus", done, limits)

    @_with(GenerateSettings, GenerateFiles, PairOptions, DocumentsOptions, Limits)
    def generate(self, kind: Literal["moment", "clip", "documents"] = "moment", **options: Any) -> Self:
        """Generate questions with their answers: about moments (rules or models), clips or documents (models)."""
        limits = self._limits(options)
        with self._bar("generating") as seen:
            if kind == "clip":
                from proctor.stages.clip.pairs import generate as of_clips

                settings = self._settings(PairOptions, options)
                return self._did("generate", of_clips(self.root, settings, limits=limits, seen=seen), limits)
            if kind == "documents":
                from proctor.stages.documents.generate import generate as of_documents

                wanted = self._settings(DocumentsOptions, options)
                return self._did(
                    "generate", of_documents(self.root, wanted, limits=limits, seen=seen), limits
                )
            if kind != "moment":
                raise UserError(
                    f"there are no questions of the kind '{kind}'.", hint="moment, clip or documents"
                )
            from proctor.stages.generate import generate

            files = self._settings(GenerateFiles, options)
            chosen = self._settings(GenerateSettings, options)
            made = generate(
                self.root, chosen, limit=files.limit, videos=files.videos, limits=limits, seen=seen
            )
            return self._did("generate", made, limits)

    @_with(FilterOptions, Limits)
    def filter(self, **options: Any) -> Self:
        """Drop questions that are vague, tricky, made up, or answered without seeing anything."""
        from proctor.stages.clip.filter import filter_questions

        settings, limits = self._settings(FilterOptions, options), self._limits(options)
        with self._bar("filtering") as seen:
            done = filter_questions(self.root, settings, limits=limits, seen=seen)
        return self._did("filter", done, limits)

    @_with(ChoiceOptions, Limits)
    def choices(self, **options: Any) -> Self:
        """Make multiple choice of open-ended questions."""
        from proctor.stages.clip.choices import make

        settings, limits = self._settings(ChoiceOptions, options), self._limits(options)
        with self._bar("writing options") as seen:
            done = make(self.root, settings, limits=limits, seen=seen)
        return self._did("choices", done, limits)

    @_with(VerifySettings, Limits)
    def verify(
        self, verifier: str | None = None, *, workers: int | str | None = None, **options: Any
    ) -> Self:
        """Have questions judged by the task graph, or by a model (``verifier="openai/gpt-4o"``)."""
        from proctor.stages.verify import verify_as

        settings = self._settings(VerifySettings, {"verifier": verifier, **options})
        limits = self._limits(options)
        with self._bar("verifying") as seen:
            done = verify_as(self.root, settings, limits=limits, place=_place(workers), seen=seen)
        return self._did("verify", done, limits)

    @_with(BuildSettings)
    def build(self, **options: Any) -> Self:
        """Let accepted questions in, and write the release folder."""
        from proctor.stages.build import build

        return self._did("build", build(self.root, self._settings(BuildSettings, options)))

    @_with(RetrievalOptions, Limits)
    def retrieve(self, *retrievers: str, **options: Any) -> Self:
        """Let retrievers rank all sources for every question."""
        from proctor.stages.documents.retrieve import retrieve_all

        settings = self._settings(RetrievalOptions, {"retrievers": retrievers, **options})
        limits = self._limits(options)
        with self._bar("searching") as seen:
            done = retrieve_all(self.root, settings, limits=limits, seen=seen)
        return self._did("retrieve", done, limits)

    @_with(PredictSettings, Limits)
    def predict(self, *who: str | Answering, name: str | None = None, **options: Any) -> Self:
        """Have systems answer the questions.

        Args:
            *who: models (``openai/gpt-4o``), functions of one ``ShownQuestion``, floors (``constant``), ``human:FILE``; every floor and
                bound of Proctor's own when left out.
            name: of the run; the system's by default. A function's answers are kept under it: it continues where it was stopped, and
                when its module changes, all is asked again.
            **options: those of ``proctor predict``.
        """
        from proctor.stages.predict import floor_names, predict

        settings = self._settings(PredictSettings, {"run": name, **options})
        limits = self._limits(options)
        answering = who or floor_names(self.root, settings)
        if name is not None and len(answering) > 1:
            raise UserError(
                "name is the name of one run, but several systems answer.", hint="give one system"
            )
        done = []
        for one in answering:
            title = one if isinstance(one, str) else getattr(one, "__name__", "a function")
            with self._bar(f"{title} answers") as seen:
                done += predict(self.root, one, settings, limits=limits, seen=seen)
        return self._did("predict", done, limits)

    @_with(JudgeSettings, Limits)
    def judge(
        self, judge: str | Marking | None = None, *, workers: int | str | None = None, **options: Any
    ) -> Self:
        """Mark the answers: by rules, by a model (``judge="openai/gpt-4o"``), or by a function of one ``ShownAnswer``."""
        from proctor.stages.judge import judge as stage

        function = None if judge is None or isinstance(judge, str) else judge
        settings = self._settings(JudgeSettings, {"judge": judge if function is None else None, **options})
        limits = self._limits(options)
        with self._bar("marking") as seen:
            done = stage(
                self.root, settings, function=function, limits=limits, place=_place(workers), seen=seen
            )
        return self._did("judge", done, limits)

    @_with(ScoreSettings)
    def score(self, *, workers: int | str | None = None, **options: Any) -> Self:
        """Compute scores with intervals, and compare every two runs."""
        from proctor.stages.score import score

        settings = self._settings(ScoreSettings, options)
        return self._did("score", score(self.root, settings, place=_place(workers)))

    @_with(ReportSettings, ReportFiles)
    def report(self, **options: Any) -> Self:
        """Write the page ``report.html``."""
        from proctor.stages.report import report

        settings, files = self._settings(ReportSettings, options), self._settings(ReportFiles, options)
        with self._bar("drawing examples") as seen:
            done = report(self.root, settings, output=files.output, videos=files.videos, seen=seen)
            return self._did("report", done)

    # -- what is there ---------------------------------------------------------------------------------------------

    @property
    def recordings(self) -> Records[Recording]:
        """The recordings that were read."""
        from proctor.stages.inputs import load_recordings

        return Records(load_recordings(self._folder, self._folder.graphs()), "recordings")

    @property
    def graphs(self) -> Mapping[str, TaskGraph]:
        """The task graphs, by activity."""
        return self._folder.graphs()

    @property
    def examples(self) -> Records[Example]:
        """The moments that may be asked about."""
        from proctor.stages.inputs import load_examples

        return Records(load_examples(self._folder, self._folder.graphs()), "moments")

    @property
    def questions(self) -> Records[Question]:
        """The questions of every kind, with what is proposed as their answers."""
        from proctor.stages.questions import workspace_questions

        return Records(workspace_questions(self._folder), "questions", row=question_cells)

    @property
    def items(self) -> Records[Item]:
        """The verified questions with their gold answers."""
        from proctor.stages.inputs import load_all_items

        return Records(load_all_items(self._folder), "verified questions", row=item_cells)

    @property
    def runs(self) -> list[str]:
        """Names of the runs."""
        return self._folder.run_names()

    def predictions(self, run: str) -> Records[Prediction]:
        """Return what a run answered, by the question's id."""
        from proctor.stages.inputs import load_predictions

        return Records(load_predictions(*self._of_run(run)), "answers", key=lambda p: p.item_id)

    def judgements(self, run: str) -> Records[Judgement]:
        """Return the marks of a run, by the question's id."""
        from proctor.stages.inputs import load_judgements

        return Records(load_judgements(*self._of_run(run)), "marks", key=lambda j: j.item_id)

    def leaderboard(self) -> Records[RunScore]:
        """Return the runs with their scores: systems and people, best first, then floors and upper bounds, in a notebook grey.

        Scores are computed unless ``score`` was the last stage here but for reports.
        """
        if [name for name in self.results if name != "report"][-1:] != ["score"]:
            self.score()
        scored: Any = self.results["score"]
        kinds = list(dict.fromkeys(line.kind for line in scored.runs))
        lines = sorted(scored.runs, key=lambda line: (kinds.index(line.kind), _is_aside(line)))
        why = "floors and upper bounds, which are compared with and not ranked (see role)"
        return Records(lines, "runs", row=_score_row, aside=_is_aside, why=why)

    def __repr__(self) -> str:
        done = [name for name in self._stages() if "/" not in name]
        n = len(self.runs)
        return f"Workspace({str(self.root)!r}: {', '.join(done) or 'empty'}; {n} run{'s' * (n != 1)})"

    def _repr_html_(self) -> str:
        rows = [
            {
                "stage": name,
                "what": ", ".join(
                    f"{v:,} {k.replace('_', ' ')}"
                    for k, v in record.counts.items()
                    if isinstance(v, int) and v
                ),
            }
            for name, record in self._stages().items()
        ]
        title = f"<p><b>{escape(str(self.root))}</b></p>"
        return title + (html_table(rows) if rows else "<p>empty; start with .read() or .corpus()</p>")

    # -- for the methods above -------------------------------------------------------------------------------------

    def _settings(self, struct: type[S], given: Mapping[str, Any]) -> S:
        declared = {field.name: field for field in fields_of(struct)}
        values = {name: declared[name].convert(v) for name, v in given.items() if name in declared}
        known = {name: value for name, value in values.items() if value not in (None, ())}
        return self._folder.resolve(struct, **known) if struct.section else struct(**known)

    def _stages(self) -> dict[str, StageRecord]:
        if not self.root.is_dir():
            return {}
        return dict(sorted(self._folder.stages().items(), key=lambda pair: place_in_job(pair[0])))

    def _limits(self, given: Mapping[str, Any]) -> Limits:
        return self._settings(Limits, given)

    def _did(self, stage: str, result: object, limits: Limits | None = None) -> Self:
        self.results.pop(stage, None)  # the last is what was done last
        self.results[stage] = result
        for one in result if isinstance(result, list) else [result]:
            _require_said(
                getattr(one, "run", stage), one, accepted=limits is not None and limits.accept_failures
            )
        return self

    def _bar(self, title: str) -> AbstractContextManager[Callable[[], None]]:
        return progress(title) if self._progress else nullcontext(lambda: None)

    def _of_run(self, run: str) -> tuple[Path, list[Item]]:
        from proctor.stages.inputs import load_all_items

        folder = self._folder.run_folder(run)
        if not folder.is_dir():
            raise UserError(
                f"there is no run '{run}'.", where=str(self.root), hint=did_you_mean(run, self.runs)
            )
        return folder, load_all_items(self._folder)


def _require_said(title: str, result: object, *, accepted: bool) -> None:
    """Warn of what failed, and end a chain whose next stage would go on without what is lacking.

    Raises:
        KeyboardInterrupt: if a person stopped the stage.
        UserError: if no model said anything or calls were left, unless failures are accepted.
    """
    from proctor.llm.outcome import FAILURE_KINDS

    if getattr(result, "interrupted", False):
        raise KeyboardInterrupt
    calls: Closing | None = getattr(result, "calls", None) or None
    asked = {} if calls is None else {k: n for k, n in calls.outcomes.items() if k in FAILURE_KINDS}
    why = ({} if calls is None else calls.why) | getattr(result, "why", {})
    kinds: Mapping[str, int] = getattr(result, "failures", asked)
    failed = ", ".join(
        f"{kind} {n:,}" + (f" ({why[kind]})" if kind in why else "") for kind, n in kinds.items()
    )
    ended = calls is not None and (calls.mute or calls.stopped or not getattr(result, "complete", True))
    if calls is not None and ended and not accepted:
        said = (
            f"no model said anything: {failed}" if calls.mute else f"stopped early: {calls.stopped or failed}"
        )
        hint = "the same call goes on from here; accept_failures=True goes on without what is lacking"
        raise UserError(f"{title}: {said}.", hint=hint)
    if failed:
        warn(f"{title}: failed: {failed}")


def _place(workers: int | str | None) -> Place:
    return place_of(None if workers is None else str(workers))


def _is_aside(score: RunScore) -> bool:
    return score.role in ("floor", "upper")


def _score_row(score: RunScore) -> dict[str, object]:
    low, high = score.interval or (None, None)
    return {
        "rank": score.rank,
        "run": score.run,
        "role": score.role,
        "kind": score.kind,
        "score": score.score,
        "low": low,
        "high": high,
        "questions": score.questions,
        "coverage": score.coverage,
        "measure": score.measure,
        "judge": score.judge,
    }
