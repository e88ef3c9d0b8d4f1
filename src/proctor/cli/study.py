"""``proctor study``: what studies with people need, before and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from proctor.cli.console import WorkspaceArgument, emit, group_app, table
from proctor.cli.options import Output, with_settings
from proctor.exam.human_study import METRICS, PUBLISHED, PUBLISHED_TAU
from proctor.spreadsheet import csv_text
from proctor.stages.order_tables import OrderTableSettings
from proctor.stages.order_tables import order_table as make_order_table
from proctor.stages.study import (
    BallotSettings,
    DrawSettings,
    GoldenSettings,
    ManualSettings,
    RatingSettings,
    StudyResult,
    choose_golden,
    draw_manuals,
    draw_study,
    evaluate_ratings,
    tally,
)
from proctor.terminal import warn

app = group_app(
    "Draw samples for people, deal forms, and evaluate what they say.\n\n"
    "Example: proctor study draw bench study --tests 3\n\n"
    "Of questions about documents (SMMQG's study): 'draw', then 'proctor round rate', 'tables'. Of manuals whose steps have a real order: "
    "'manuals', 'ballots', 'golden', 'order-table'. Tables are printed as CSV, for a file."
)


@app.command()
@with_settings
def draw(workspace: WorkspaceArgument, settings: DrawSettings, output: Output) -> None:
    """Draw generated questions and the data set's own for people to rate (SMMQG), as evenly over modalities as possible.

    300 + 60 + 60; with --concurrence 150 + 150 against 150 + 150, to rank systems by. Only groups.csv says where each question comes from.

    Example: proctor study draw bench study --tests 3

    Example: proctor study draw bench again --concurrence --ratings ratings.csv
    """
    found = draw_study(workspace, settings)
    if found.refused:
        warn(f"{found.refused:,} questions were left out for their ratings")
    emit(found, f"{table(list(found.groups.items()))}\n\nin {found.folder}", as_json=output.as_json)


@app.command()
@with_settings
def tables(settings: RatingSettings, output: Output) -> None:
    """Make SMMQG's Tables 4, 5, 12 and 15 of people's ratings, or the same tables for your own form and groups.

    Mann-Whitney for scales, Fisher's exact test for yes and no, each with Holm's correction, the difference with its interval, the
    size of the effect (Cliff's delta, odds ratio) and the smallest difference that so many ratings find (power of 80 %).

    Example: proctor study tables ratings.csv study/groups.csv --key study/key.csv --retrieval bench:data=bench:styled

    Example: proctor study tables ratings.csv groups.csv --compare mmqa=smmqg --fields form.toml
    """
    found = evaluate_ratings(settings)
    parts = list(_tables(found))
    parts += [f"{name}: {n:,}" for name, n in found.study.counts.items()]
    if found.payment is not None:
        paid = found.payment
        parts.append(f"{paid.workers} workers, {paid.bonuses} with the bonus: {paid.total:g}")
    if found.study.reviewed:
        parts.append(f"to be reviewed: {', '.join(found.study.reviewed)}")
    for note in (*found.study.notes, *(n for c in found.concurrence.values() for n in c.notes)):
        warn(note)
    emit(found, "\n\n".join(parts), as_json=output.as_json)


def _tables(found: StudyResult) -> Iterator[str]:
    """Yield comparisons with the published rows beside them, means of groups, agreement, and concurrence."""
    for pair in found.study.comparisons:
        title, text = PUBLISHED.get((pair.a, pair.b), (f"{pair.a} and {pair.b}", ""))
        printed = dict(zip(METRICS, text.split("; "), strict=False))
        rows = [
            (
                r.metric, _number(r.a, 2), _number(r.b, 2), r.n_a, r.n_b,
                _ends(r.a - r.b if r.a is not None and r.b is not None else None, r.low, r.high), _number(r.effect, 2),
                _number(r.detectable, 2), _number(r.p, 4), _number(r.p_holm, 4), printed.get(r.metric) or "–",
            )
            for r in pair.rows
        ]  # fmt: skip
        head = ("", pair.a, pair.b, "n", "n", "difference", "effect", "detectable", "p", "p (Holm)", "paper")
        yield f"{title}\n{table(rows, head)}"
    metrics = list(dict.fromkeys(metric for own in found.groups.values() for metric in own))
    means = [
        (name, *(_ends(*own[m]) if m in own else "–" for m in metrics)) for name, own in found.groups.items()
    ]
    yield f"Means, shares of yes in percent (Table 12 is such a row)\n{table(means, ('', *metrics))}"
    if found.agreement.numbers:
        yield "\n".join(found.agreement.lines())
    for by, c in found.concurrence.items():
        tau = f"Table 5, {by}: Kendall's tau-b {_ends(c.tau, c.low, c.high)}, p {_number(c.p, 4)}"
        yield f"{tau}, {c.discordant} of {c.pairs} pairs in opposite order ({PUBLISHED_TAU[by]})"


@app.command()
@with_settings
def manuals(settings: ManualSettings, output: Output) -> None:
    """Draw manuals for people to vote on, from categories that are likely to have a real order.

    Example: proctor study manuals ~/data/wikihow --count 100 > manuals.csv
    """
    found = draw_manuals(settings)
    rows = [(manual.id, manual.title) for manual in found.manuals]
    result = {"manuals": [id_ for id_, _ in rows], "candidates": found.candidates, "refused": found.refused}
    emit(result, csv_text(("id", "title"), rows), as_json=output.as_json)


@app.command()
@with_settings
def ballots(settings: BallotSettings, output: Output) -> None:
    """Count the votes on manuals: a strict majority on each criterion keeps one.

    Example: proctor study ballots votes.csv --raters 3
    """
    found = tally(settings)
    rows = [(id_, "kept", "") for id_ in found.kept] + [(d.id, d.reason, d.detail) for d in found.dropped]
    result = {"kept": found.kept, "dropped": msgspec.to_builtins(found.dropped), "ballots": found.ballots}
    emit(result, csv_text(("id", "outcome", "detail"), rows), as_json=output.as_json)


@app.command()
@with_settings
def golden(settings: GoldenSettings, output: Output) -> None:
    """Choose golden sequences by the votes on them, and write FILE.golden.jsonl, .dev and .train next to FILE.jsonl.

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
    """Make a table of the paper on sequencing (people, alternative orders) from your own files, with the printed rows below.

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


def _ends(value: float | None, low: float | None, high: float | None) -> str:
    ends = "" if low is None or high is None else f" [{low:.2f}, {high:.2f}]"
    return f"{_number(value, 2)}{ends}"
