"""``proctor study``: what studies with people need, before and after."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from proctor.cli.console import WorkspaceArgument, emit, group_app, table, warn
from proctor.cli.options import Output, with_settings
from proctor.spreadsheet import safe_cell
from proctor.stages.order_tables import OrderTableSettings
from proctor.stages.order_tables import order_table as make_order_table
from proctor.stages.study import (
    BallotSettings,
    FormSettings,
    GoldenSettings,
    ManualSettings,
    RatingSettings,
    SampleSettings,
    choose_golden,
    deal_forms,
    draw_manuals,
    draw_sample,
    evaluate_ratings,
    tally,
)

app = group_app(
    "Draw samples for people, deal forms, and evaluate what they say.\n\n"
    "Of questions about documents (SMMQG's study): 'sample', 'forms', 'ratings'. Of manuals whose steps have a real order: "
    "'manuals', 'ballots', 'golden', 'order-table'. Tables are printed as CSV, for a file."
)


@app.command()
@with_settings
def sample(workspace: WorkspaceArgument, settings: SampleSettings, output: Output) -> None:
    """Draw the same number of questions of every style, as evenly over modalities as there are questions.

    Example: proctor study sample bench --per-style 60 > pool.csv
    """
    drawn = draw_sample(workspace, settings)
    rows = [(q.id, q.facets["style"], q.facets["combination"]) for q in drawn]
    emit([q.id for q in drawn], _csv(("sample", "style", "modalities"), rows), as_json=output.as_json)


@app.command()
@with_settings
def forms(settings: FormSettings, output: Output) -> None:
    """Deal samples to forms: each once, the test samples and attention checks on every form, in random order.

    Example: proctor study forms pool.csv --test t1 --test t2 --per-form 20 > forms.csv
    """
    plan = deal_forms(settings)
    rows = [(form.number, place, s) for form in plan.forms for place, s in enumerate(form.samples, 1)]
    emit(plan, _csv(("form", "place", "sample"), rows), as_json=output.as_json)


@app.command()
@with_settings
def ratings(settings: RatingSettings, output: Output) -> None:
    """Compare groups of samples by people's ratings: Mann-Whitney for fluency, Fisher's exact test for yes and no.

    Example: proctor study ratings ratings.csv groups.csv --compare mmqa=smmqg --key key.csv
    """
    found = evaluate_ratings(settings)
    parts = [
        table(
            [
                (
                    r.metric,
                    _number(r.a, 2),
                    _number(r.b, 2),
                    r.n_a,
                    r.n_b,
                    _number(r.p, 4),
                    _number(r.p_holm, 4),
                )
                for r in pair.rows
            ],
            ("", pair.a, pair.b, f"n {pair.a}", f"n {pair.b}", "p", "p (Holm)"),
        )
        for pair in found.study.comparisons
    ]
    parts += [f"{name}: {n:,}" for name, n in found.study.counts.items()]
    if found.payment is not None:
        paid = found.payment
        parts.append(f"{paid.workers} workers, {paid.bonuses} with the bonus: {paid.total:g}")
    if found.study.reviewed:
        parts.append(f"to be reviewed: {', '.join(found.study.reviewed)}")
    for note in found.study.notes:
        warn(note)
    emit(found, "\n\n".join(parts), as_json=output.as_json)


@app.command()
@with_settings
def manuals(settings: ManualSettings, output: Output) -> None:
    """Draw manuals for people to vote on, from categories that are likely to have a real order.

    Example: proctor study manuals ~/data/wikihow --count 100 > manuals.csv
    """
    found = draw_manuals(settings)
    rows = [(manual.id, manual.title) for manual in found.manuals]
    result = {"manuals": [id_ for id_, _ in rows], "candidates": found.candidates, "refused": found.refused}
    emit(result, _csv(("id", "title"), rows), as_json=output.as_json)


@app.command()
@with_settings
def ballots(settings: BallotSettings, output: Output) -> None:
    """Count the votes on manuals: a strict majority on each criterion keeps one.

    Example: proctor study ballots votes.csv --raters 3
    """
    found = tally(settings)
    rows = [(id_, "kept", "") for id_ in found.kept] + [(d.id, d.reason, d.detail) for d in found.dropped]
    result = {"kept": found.kept, "dropped": msgspec.to_builtins(found.dropped), "ballots": found.ballots}
    emit(result, _csv(("id", "outcome", "detail"), rows), as_json=output.as_json)


@app.command()
@with_settings
def golden(settings: GoldenSettings, output: Output) -> None:
    """Choose golden sequences by the votes on them: beside FILE.jsonl stand then FILE.golden.jsonl, .dev and .train.

    What shares a task or a third-level category with a golden one goes to dev, so that training never sees its category.

    Example: proctor study golden votes.csv --sequences wikihow.jsonl
    """
    found = choose_golden(settings)
    rows = [(name, f"{found.sizes[name]:,}", file) for name, file in found.files.items()]
    text = table(rows) + "".join(f"\nleft out: {d.id}: {d.reason} ({d.detail})" for d in found.dropped)
    if found.unknown:
        warn(f"{len(found.unknown):,} ids of the votes are not in the file: {', '.join(found.unknown[:5])}")
    emit(found, text, as_json=output.as_json)


@app.command("order-table")
@with_settings
def order_table(settings: OrderTableSettings, output: Output) -> None:
    """Make a table of people and alternative orders of the paper on sequencing of one's own files, printed rows below.

    Example: proctor study order-table 4 --sequences golden.jsonl --people answers.jsonl --predictions model=orders.jsonl
    """
    from proctor.report.grid import render_grid

    made = make_order_table(settings)
    notes = list(dict.fromkeys(row.note for row in made.rows if row.note))
    body = [
        (
            row.corpus if row.corpus == "ours" else f"paper, {row.corpus}",
            row.modality or "",
            f"{row.name} [{notes.index(row.note) + 1}]" if row.note else row.name,
            *("–" if v is None else f"{v}" if isinstance(v, int) else f"{v:.2f}" for v in row.values),
        )
        for row in made.rows
    ]
    below = [*(f"[{n}] {text}" for n, text in enumerate(notes, 1)), *made.notes]
    below += [f"censored: assignment {c.assignment!r}, {c.accuracy:.1%}" for c in made.censored]
    below += [f"left out: {n:,} {reason}" for reason, n in Counter(d.reason for d in made.dropped).items()]
    grid = render_grid(("", "shown", "", *made.columns), body, settings.form, text_columns=3)
    sign = "% " if settings.form == "latex" else ""
    emit(made, "\n".join([grid, "", *(sign + line for line in below)]), as_json=output.as_json)


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _csv(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(
        [head, *([safe_cell(c) if isinstance(c, str) else c for c in row] for row in rows)]
    )
    return stream.getvalue()
