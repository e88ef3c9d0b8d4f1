"""``proctor learn``: train and test what recognises mistakes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from proctor.cli.console import counted, emit, group_app, share_text, table
from proctor.cli.learn_decode import decode, localize_page
from proctor.cli.learn_localize import localize
from proctor.cli.learn_paper import protocols, sweep
from proctor.cli.learn_paper import table as paper_table
from proctor.cli.learn_procedure import procedure
from proctor.cli.learn_sequence import sequence, sequence_page, sequence_table
from proctor.cli.options import Output, Spread, with_settings
from proctor.cli.zeroshot import zeroshot
from proctor.learn.settings import TrainOptions
from proctor.stages.learn.settings import (
    AnomalySettings,
    LearnDemoSettings,
    MistakesSettings,
    PageSettings,
    RunsSettings,
    StudySettings,
)
from proctor.terminal import progress, warn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proctor.learn.anomaly.figures import FrameFigures
    from proctor.stages.learn import study as studies
    from proctor.stages.learn.anomaly import LearnedAnomaly
    from proctor.stages.learn.mistakes import LearnedMistakes, Part

app = group_app(
    "Recognise mistakes in recorded steps: train models, test them, and see what they look at.\n\n"
    "Everything is chosen on validation data. Every figure is given over all steps, within recordings and between them, "
    "since mistakes cluster in recordings (docs/learn.md).\n\n"
    "Example: proctor learn mistakes --annotations ~/data/captaincook4d --model context --split R"
)

app.command()(zeroshot)
app.command()(localize)
app.command()(decode)
app.command("localize-page")(localize_page)
app.command("table")(paper_table)
app.command()(protocols)
app.command()(sweep)
app.command()(procedure)
app.command()(sequence)
app.command("sequence-table")(sequence_table)
app.command("sequence-page")(sequence_page)

_STEPS: Final = (
    "part", "steps", "mistakes", "AUC", "within recordings", "between", "in mistaken recordings", "AP",
)  # fmt: skip
_FRAMES: Final = (
    "frames", "AUC, all videos (micro)", "AUC, mean of videos (macro)", "EER", "AUC inside of steps",
)  # fmt: skip


@app.command()
@with_settings
def mistakes(settings: MistakesSettings, options: TrainOptions, output: Output) -> None:
    """Train one model to recognise mistakes in steps, and test it.

    Without features a model sees rates, durations and the task graph alone, which already say a good deal.

    Example: proctor learn mistakes --annotations ~/data/captaincook4d --model context --split R --seed 0 --json
    """
    from proctor.stages.learn.mistakes import is_first, learn_mistakes

    if not is_first():
        learn_mistakes(settings, options)
        return
    if options.devices > 1 and settings.model not in ("v1", "v2", "v3"):
        warn(
            f"the model '{settings.model}' learns in one process: --devices {options.devices} changes nothing"
        )
    elif options.devices > 1:
        import sys

        from proctor.learn.group import started

        if started(options.devices, ["-m", "proctor", *sys.argv[1:]]):
            return
    result = learn_mistakes(settings, options, progress)
    for note in result.notes:
        warn(note)
    emit(result, _text(result), as_json=output.as_json)


def _text(result: LearnedMistakes) -> str:
    rows = [(name, *_figures(part)) for name, part in (("test", result.test), ("val", result.val))]
    decisions = [
        (
            f"{d.threshold:.3f} ({d.chosen_on})",
            *(share_text(f.value) for f in (d.accuracy, d.precision, d.recall, d.f1)),
        )
        for d in result.test.decided
    ]
    kinds = [
        (k, v.positives, share_text(v.auc.value), share_text(v.average_precision.value))
        for k, v in result.kinds.items()
    ]
    parts = [
        f"{result.model}, split {result.split}, seed {result.seed}",
        table(rows, _STEPS),
        table(decisions, ("threshold", "accuracy", "precision", "recall", "F1")),
    ]
    if kinds:
        parts.append(table(kinds, ("kind", "mistakes", "AUC", "AP")))
    if result.missing is not None:
        left_out = [
            (name, t.called, *(share_text(f.value) for f in (t.precision, t.recall, t.f1)))
            for name, t in (("absent", result.missing.absent), ("passed over", result.missing.passed_over))
        ]
        header = (
            f"{result.missing.positives} steps left out, by graph",
            "called",
            "precision",
            "recall",
            "F1",
        )
        parts.append(table(left_out, header))
    listed = f", listed in {result.run}/dropped.jsonl" if result.run and result.dropped else ""
    parts.append(f"chosen on {result.chosen_on}; left out: {counted(result.dropped)}{listed}")
    return "\n\n".join(parts)


def _figures(part: Part) -> tuple[object, ...]:
    values = (
        (part.auc, part.auc_interval),
        (part.auc_within, part.auc_within_interval),
        (part.auc_between, part.auc_between_interval),
        (part.auc_mistaken, part.auc_mistaken_interval),
        (part.average_precision, part.average_precision_interval),
    )
    return part.n, part.positives, *(share_text(value, interval) for value, interval in values)


@app.command()
@with_settings
def study(settings: StudySettings, spread: Spread, output: Output) -> None:
    """Compare what needs no pixels on every split, early and by kind of mistake: the tables of docs/learn.md.

    Example: proctor learn study --annotations ~/data/captaincook4d --markdown docs/learn-numbers.md
    """
    from proctor.compute import place_of
    from proctor.stages.learn.study import learn_study, trainings

    with progress("training", len(trainings(settings)), quiet=output.as_json) as seen:
        result = learn_study(settings, place_of(spread.workers), seen)
    rows = [
        (
            r.split,
            r.model,
            f"{r.observed:.0%}",
            r.n,
            r.positives,
            *map(_spread, (r.auc, r.within, r.between, r.mistaken)),
        )
        for r in result.rows
    ]
    header = (
        "split",
        "model",
        "seen",
        "steps",
        "mistakes",
        "AUC",
        "within",
        "between",
        "in mistaken recordings",
    )
    kinds = [
        (r.split, r.model, r.kind, r.positives, *map(_spread, (r.auc, r.within, r.average_precision)))
        for r in result.kinds
    ]
    text = (
        table(rows, header)
        + "\n\n"
        + table(kinds, ("split", "model", "kind", "mistakes", "AUC", "within", "AP"))
    )
    emit(result, text, as_json=output.as_json)


def _spread(spread: studies.Spread) -> str:
    return "-" if spread.mean is None else f"{spread.mean:.1%} ± {spread.deviation:.1%}"


@app.command()
@with_settings
def page(settings: PageSettings, output: Output) -> None:
    """Draw runs side by side as one page: scores, what they mean, and every step with its prediction and the reason.

    The page is one file that works offline. Runs of one page were tested on the same steps.

    Example: proctor learn page runs/floor runs/causal runs/offline --out page.html
    """
    from proctor.stages.learn.page import draw_runs

    result = draw_runs(settings)
    notes = [f"note: {note}" for note in result.notes]
    emit(
        result,
        "\n".join([f"{result.page}: {result.steps:,} steps; {'; '.join(result.runs)}", *notes]),
        as_json=output.as_json,
    )


@app.command()
@with_settings
def anomaly(settings: AnomalySettings, training: TrainOptions, output: Output) -> None:
    """Learn what normal recordings look like, and find the frames of the others that do not.

    Labels are used for testing, and for the one threshold of steps; what is normal is learned from recordings without
    mistakes alone.

    Example: proctor learn anomaly --annotations ~/data/captaincook4d --features omnivore --block knn --per-step
    """
    from proctor.stages.learn.anomaly import learn_anomaly

    result = learn_anomaly(settings, training, show=partial(progress, quiet=output.as_json))
    for note in result.notes:
        warn(note)
    emit(result, _anomaly_text(result), as_json=output.as_json)


def _anomaly_text(result: LearnedAnomaly) -> str:
    rows: list[tuple[object, ...]] = [
        (
            f"{result.block}, scores {'as they are' if post == 'none' else 'as published'}",
            *_of_frames(found),
        )
        for post, found in result.frames.items()
    ]
    if result.published:
        auc, eer = result.published
        rows.append((f"{result.block} in the paper", f"{auc:.2%}", "-", f"{eer:.2%}", "-"))
    rows.append(("inside of any step (no pixels)", *_of_frames(result.any_step)))
    rows.append(("chance", *["50.0%"] * 4))
    found = next(iter(result.frames.values()))
    counts = (
        f"{found.frames:,} frames of {found.recordings} recordings, {found.anomalous:,} in mistaken steps; macro leaves out "
        f"{found.one_class} recordings with one class"
    )
    if result.fallen_back:
        counts += f"; {result.fallen_back:,} frames compared with all steps, since theirs is never normal"
    steps = [(name, *_figures(part)) for name, part in (("test", result.test), ("val", result.val))]
    learned = ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in result.learned.items()
    )
    return "\n\n".join(
        [
            f"{result.block}, split {result.split}, seed {result.seed}; learned and chosen: {learned}",
            table(rows, _FRAMES),
            counts,
            table(steps, _STEPS),
            f"steps by the mean of their frames, scores: {result.post}; left out: {counted(result.dropped)}",
        ]
    )


def _of_frames(found: FrameFigures) -> Iterator[str]:
    for figure in (found.auc, found.auc_macro, found.eer, found.auc_in_steps):
        yield share_text(figure.value, figure.interval)


@app.command()
@with_settings
def runs(settings: RunsSettings, output: Output) -> None:
    """List the runs in a folder and its subfolders, with their results; damaged ones with the reason.

    Example: proctor learn runs runs
    """
    from proctor.stages.learn.runs import list_runs

    found = list_runs(settings)
    share = "{:.1%}".format
    rows = [
        (run.run, run.wrong)
        if run.wrong
        else (
            run.run,
            run.model,
            run.split,
            run.seed,
            f"{run.observed:.0%}",
            *(
                "-" if v is None else share(v)
                for v in (run.auc, run.auc_within, run.mean_ap, run.perfect_match)
            ),
            "-" if run.kendall_tau is None else f"{run.kendall_tau:.3f}",
        )
        for run in found
    ]
    good = [row for row in rows if len(row) > 2]
    head = ("run", "model", "split", "seed", "seen", "AUC", "within", "mAP@.5", "PMR", "tau")
    text = table(good, head) if good else "no runs"
    wrong = [f"{row[0]}: {row[1]}" for row in rows if len(row) == 2]
    emit(found, "\n".join([text, *wrong]), as_json=output.as_json)


@app.command()
@with_settings
def demo(settings: LearnDemoSettings, output: Output) -> None:
    """Run everything on the shipped sample: videos are drawn, plain features extracted, V2 trained, and a page made.

    Needs no weights and no network. With twelve recordings nothing is learned that generalises: it only shows the steps. What is there already is used again.

    Example: proctor learn demo my-first-recogniser
    """
    from proctor.stages.learn.demo import learn_demo

    result = learn_demo(settings, show=partial(progress, quiet=output.as_json))
    rows = [(name, *_figures(learned.test)) for name, learned in result.learned.items()]
    spent = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in result.seconds.items())
    emit(
        result,
        f"{table(rows, ('model', *_STEPS[1:]))}\n\n{spent}\nopen     {result.page}",
        as_json=output.as_json,
    )
