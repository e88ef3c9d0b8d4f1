"""``proctor concur``: do two benchmarks rank the same systems alike?"""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from proctor.cli.console import JsonFlag, command_app, emit, table, warn

app = command_app()


@app.command()
def concur(
    reference: Annotated[
        str,
        typer.Argument(
            metavar="REFERENCE",
            help="CSV file with system,question,mark (of printed scores system,mark), or WORKSPACE:data.",
        ),
    ],
    other: Annotated[str, typer.Argument(metavar="OTHER", help="Likewise, such as WORKSPACE:styled.")],
    by: Annotated[
        str,
        typer.Option(help="What a workspace's systems are ranked by: retrieval (recall) or answers (marks)."),
    ] = "retrieval",
    resamples: Annotated[int, typer.Option(min=0, help="Of the bootstrap over questions.")] = 10_000,
    confidence: Annotated[float, typer.Option(min=0.5, max=0.999, help="Level of the interval.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Of the bootstrap.")] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Compare the order that two benchmarks put the same systems in: Kendall's tau-b with its exact p.

    The interval draws the questions of both benchmarks anew: it says how much hangs on those that happened to be asked. Above
    0.8 concurrence is called strong. Few systems, and systems of one family, are reported.

    Example: proctor concur bench:data bench:styled --by retrieval

    Example: proctor concur human.csv synthetic.csv
    """
    from proctor.stages.documents.concur import compare

    found = compare(reference, other, by=by, confidence=confidence, resamples=resamples, seed=seed)
    rows = [(system, a, b) for system, (a, b) in found.scores.items()]
    text = table(rows, ("system", *found.benchmarks))
    tau = "undefined" if found.tau is None else f"{found.tau:.4f}"
    interval = (
        f" [{found.low:.3f}, {found.high:.3f}]" if found.low is not None and found.high is not None else ""
    )
    p = "" if found.p is None else f", p {found.p:.4g}"
    text += (
        f"\n\nKendall's tau-b {tau}{interval}{p}; {found.discordant} of {found.pairs} pairs in opposite order"
    )
    text += f"\nquestions: {found.questions[0]:,} and {found.questions[1]:,}"
    if found.left_out:
        text += f"\nonly in one of them: {', '.join(found.left_out)}"
    for note in found.notes:
        warn(note)
    emit(msgspec.to_builtins(found), text, as_json=as_json)
