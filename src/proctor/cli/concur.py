"""``proctor concur``: do two benchmarks rank the same systems alike?"""

from __future__ import annotations

from typing import Annotated

from proctor.cli.console import command_app, emit, table
from proctor.cli.options import Output, with_settings
from proctor.settings import Settings, argument, option
from proctor.stages.settings import Seed
from proctor.terminal import warn

app = command_app()


class ConcurSettings(Settings, frozen=True, kw_only=True):
    """Which benchmarks are compared, and how the interval is drawn."""

    reference: Annotated[
        str,
        argument(
            "CSV file with system,question,mark (of printed scores system,mark), or WORKSPACE:data.",
            "REFERENCE",
        ),
    ]
    other: Annotated[str, argument("The same of the other benchmark, such as WORKSPACE:styled.", "OTHER")]
    by: Annotated[
        str,
        option(
            "What a workspace's systems are ranked by: retrieval (recall) or answers (marks).",
            metavar="retrieval|answers",
        ),
    ] = "retrieval"
    resamples: Annotated[int, option("Of the bootstrap over questions.", ge=0)] = 10_000
    confidence: Annotated[float, option("Level of the interval.", ge=0.5, le=0.999)] = 0.95
    seed: Seed = 0


@app.command()
@with_settings
def concur(settings: ConcurSettings, output: Output) -> None:
    """Compare the order that two benchmarks put the same systems in: Kendall's tau-b with its exact p.

    The interval is a bootstrap over the questions of both benchmarks: it shows how much depends on which ones were asked. Concurrence above 0.8 is called strong. Few systems, and systems of one family, are reported.

    Example: proctor concur bench:data bench:styled --by retrieval

    Example: proctor concur human.csv synthetic.csv
    """
    from proctor.stages.documents.concur import compare

    found = compare(
        settings.reference, settings.other, by=settings.by, confidence=settings.confidence,
        resamples=settings.resamples, seed=settings.seed,
    )  # fmt: skip
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
    emit(found, text, as_json=output.as_json)
