"""``proctor calibrate``: judges held against people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from proctor.cli.console import WorkspaceArgument, command_app, emit, table
from proctor.cli.options import Output, with_settings
from proctor.settings import Settings, option
from proctor.stages.exam_settings import CalibrateSettings
from proctor.terminal import progress

if TYPE_CHECKING:
    from proctor.exam.corrected import CorrectedScore
    from proctor.exam.estimate import Estimate
    from proctor.exam.judge_calibration import Calibration, JudgeReport
    from proctor.exam.self_preference import Preference, PreferenceCell, SelfPreference

app = command_app()


class _AndReport(Settings, frozen=True, kw_only=True):
    """What is made besides."""

    report: Annotated[bool, option("Write the report page as well.")] = False


@app.command()
@with_settings
def calibrate(
    workspace: WorkspaceArgument, settings: CalibrateSettings, more: _AndReport, output: Output
) -> None:
    """Measure how reliable judges are, which one to use, and what scores would be if people had judged.

    Every judge and template is compared with people's marks on the same answers, with intervals clustered by recording, video or
    question. Judges are calibrated for each kind of questions separately. The result is kept in calibration.json (of kinds other
    than moments calibration.KIND.json): 'proctor score' and 'proctor report' print corrected scores from it.

    Example: proctor calibrate bench --human marks.csv --report
    """
    import msgspec

    from proctor.stages import calibrate as stage

    with progress("calibrating", quiet=output.as_json) as _:
        result = stage.calibrate(workspace, settings)
    found = {
        "kind": result.kind,
        "hash": result.hash,
        **msgspec.to_builtins(result.file),
        "corrected": msgspec.to_builtins(result.corrected),
    }
    parts = [
        _judges(result.file.calibration),
        _choice(result.file.calibration),
        _agreement(result.file.calibration),
        corrected_table(result.corrected),
        _self_preference(result.file.self_preference),
        (
            f"calibration {result.hash}, {100 * result.file.calibration.confidence:g} % intervals clustered by "
            f"{result.file.calibration.cluster}"
        ),
    ]
    if more.report:
        from proctor.stages.report import report as write_report

        found["report"] = write_report(workspace).report
        parts.append(f"report: {found['report']}")
    else:
        parts.append(f"next: proctor report {workspace}")
    emit(found, "\n\n".join(filter(None, parts)), as_json=output.as_json)


# -- numbers -----------------------------------------------------------------------------------------------------------


def _show(estimate: Estimate, digits: int = 2, *, sign: bool = False) -> str:
    if estimate.value is None:
        return "–"
    form = f"{'+' if sign else ''}.{digits}f"
    text = f"{estimate.value:{form}}"
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} [{estimate.low:{form}}, {estimate.high:{form}}]"


def _p(value: float | None) -> str:
    return "–" if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"


# -- tables ------------------------------------------------------------------------------------------------------------


def _judges(calibration: Calibration) -> str:
    if not calibration.judges:
        return ""
    rows = [
        (
            r.name,
            _show(r.correlation),
            _show(r.accuracy),
            _show(r.kappa),
            _show(r.weighted_kappa),
            _show(r.bias, 1, sign=True),
            r.n,
            r.absent,
            r.unscored,
        )
        for r in calibration.judges
    ]
    head = (
        "judge · template",
        "Pearson",
        "accuracy",
        "κ",
        "weighted κ",
        "bias, points",
        "n",
        "not shown",
        "unscored",
    )
    text = table(rows, head)
    who = ", ".join(f"{name} ({n})" for name, n in calibration.people.items())
    text += f"\nagainst {len(calibration.human)} answers marked by {who}"
    notes = [*calibration.notes, *_why(calibration.judges)]
    return "\n".join([text, *(f"note: {n}" for n in notes)])


def _why(reports: Sequence[JudgeReport]) -> list[str]:
    found = {f"{r.name}: {r.correlation.note}" for r in reports if r.correlation.value is None and r.n}
    return sorted(found)


def _choice(calibration: Calibration) -> str:
    choice = calibration.choice
    name = choice.criterion.replace("_", " ")
    if not choice.judge:
        return f"no judge can be chosen by {name}: {choice.note}"
    lines = [f"chosen by {name}: {choice.judge}"]
    if choice.best_in:
        lines[0] += f" (best in {100 * choice.best_in[choice.judge]:.0f} % of resamples)"
        rows = [
            (
                d.other,
                _show(d.difference, sign=True),
                "yes" if d.separated else "no",
                f"{100 * choice.best_in[d.other]:.0f} %",
            )
            for d in choice.differences
        ]
        lines.append(table(rows, ("against", "difference", "distinguished", "best in")))
    if choice.note:
        lines.append(f"note: {choice.note}")
    return "\n".join(lines)


def _agreement(calibration: Calibration) -> str:
    parts = []
    rows = [(f"{a.a} / {a.b}", _show(a.raw), _show(a.kappa), a.raw.n) for a in calibration.people_agreement]
    template = {r.name: r.judge.template for r in calibration.judges}
    rows += [
        (f"{a.a} / {a.b}", _show(a.raw), _show(a.kappa), a.raw.n)
        for a in calibration.agreement
        if template[a.a] == template[a.b]
    ]
    if rows:
        parts.append(table(rows, ("pair", "same mark", "weighted κ", "answers")))
    steady = [
        (
            r.name,
            r.consistency.repeats,
            _show(r.consistency.same),
            _show(r.consistency.alpha),
            r.consistency.same.n,
        )
        for r in calibration.judges
        if r.consistency
    ]
    if steady:
        parts.append(table(steady, ("asked again", "times", "same mark", "α", "answers")))
    return "\n\n".join(parts)


def corrected_table(corrected: Mapping[str, Sequence[CorrectedScore]]) -> str:
    """Lay out the corrected scores of runs, with what is not identified below."""
    shown = [(run, s) for run, scores in corrected.items() for s in scores]
    if not shown:
        return ""
    rows = [
        (
            run,
            s.judge.name,
            _show(s.judged, 1),
            _show(s.mean, 1),
            _show(s.people, 1),
            s.labels,
            _show(s.judged_share, 1),
            _show(s.share, 1) + ("" if s.own_error or s.share.value is None else "*"),
        )
        for run, s in shown
    ]
    head = (
        "run",
        "judge",
        "judged",
        "corrected",
        "people alone",
        "marks",
        "judged right, %",
        "corrected right, %",
    )
    lines = [table(rows, head)]
    if any(not s.own_error and s.share.value is not None for _, s in shown):
        lines.append("* by the judge's error on all runs: right only if it makes the same errors on each")
    notes: dict[str, list[str]] = {}
    for run, s in shown:
        for note in filter(None, (_why_not(s.mean), _why_not(s.share), s.warning)):
            notes.setdefault(note, []).append(run)
    lines += [f"note: {', '.join(dict.fromkeys(runs))}: {note}" for note, runs in notes.items()]
    return "\n".join(lines)


def _why_not(estimate: Estimate) -> str:
    return estimate.note if estimate.value is None else ""


def _self_preference(found: SelfPreference) -> str:
    parts = [_cells(found.judge_cells, "predictor \\ judge"), _preferences(found.judges, "as a judge")]
    if found.generator_cells:
        parts += [
            _cells(found.generator_cells, "predictor \\ generator"),
            _preferences(found.generators, "as a generator"),
        ]
    parts += [f"note: {n}" for n in found.notes]
    return "\n\n".join(filter(None, parts))


def _cells(cells: Sequence[PreferenceCell], corner: str) -> str:
    if not cells:
        return ""
    columns = list(dict.fromkeys(c.column for c in cells))
    rows = {c.predictor: [""] * len(columns) for c in cells}
    for cell in cells:
        rows[cell.predictor][columns.index(cell.column)] = _show(cell.score, 1) + ("*" if cell.own else "")
    text = table([(name, *line) for name, line in rows.items()], (corner, *columns))
    return text + ("\n* the same family" if any(c.own for c in cells) else "")


def _preferences(found: Sequence[Preference], title: str) -> str:
    if not found:
        return ""
    rows = [
        (
            p.family,
            _show(p.plain, 1, sign=True),
            _p(p.plain.p_holm),
            _show(p.adjusted, 1, sign=True),
            _p(p.adjusted.p_holm),
        )
        for p in found
    ]
    notes = [f"note: {p.family}: {p.adjusted.note}" for p in found if p.adjusted.note]
    head = (f"own − other, {title}", "plain", "p (Holm)", "adjusted", "p (Holm)")
    return "\n".join([table(rows, head), *notes])
