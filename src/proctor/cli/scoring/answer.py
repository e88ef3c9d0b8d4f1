"""``proctor score answer``: written answers, letters of multiple choice, judgements, from files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from proctor.cli.console import JsonFlag, command_app, progress
from proctor.cli.scoring.common import (
    ConfidenceOption,
    LatexFlag,
    ReportOption,
    ResamplesOption,
    SeedOption,
    emit_scores,
)

app = command_app()


@app.command()
def answer(
    gt: Annotated[
        Path,
        typer.Option("--gt", metavar="FILE", help="Reference: id, and answer, answers or options with gold."),
    ],
    pred: Annotated[
        Path, typer.Option("--pred", metavar="FILE", help="Predictions: id, and response or judgement.")
    ],
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="exact, f1, rouge1, rougel, bertscore, choice, judge; repeatable (default: what the files hold).",
        ),
    ] = None,
    choices: Annotated[
        bool, typer.Option("--choices", help="Read letters of multiple choice (same as --metric choice).")
    ] = False,
    normalisation: Annotated[
        Literal["none", "squad", "unicode"],
        typer.Option(
            "--normalisation", help="Of exact match and F1; unicode for other languages than English."
        ),
    ] = "squad",
    tokeniser: Annotated[
        Literal["ascii", "unicode"],
        typer.Option(
            "--tokeniser", help="Of ROUGE; ascii is the published one, which drops all but a-z and 0-9."
        ),
    ] = "ascii",
    model: Annotated[
        Path | None,
        typer.Option("--model", metavar="FOLDER", help="Local model for BERTScore; nothing is downloaded."),
    ] = None,
    layer: Annotated[
        int | None, typer.Option("--layer", min=0, help="Its layer (default: the tuned one, else the last).")
    ] = None,
    idf: Annotated[
        bool, typer.Option("--idf", help="BERTScore with inverse document frequencies of the references.")
    ] = False,
    baseline: Annotated[
        Path | None, typer.Option("--baseline", metavar="FILE", help="Rescale BERTScore: LAYER,P,R,F.")
    ] = None,
    device: Annotated[str, typer.Option("--device", help="For BERTScore: cpu or cuda.")] = "cpu",
    option_count: Annotated[
        int | None,
        typer.Option(
            "--option-count", min=2, max=26, help="Number of options, if the reference has no texts."
        ),
    ] = None,
    opened_bracket: Annotated[
        bool, typer.Option("--opened-bracket", help="The prompt ended on '(': the response completes it.")
    ] = False,
    judge_scale: Annotated[
        Literal["smmqg", "promqa"],
        typer.Option(
            "--judge-scale", help="How a judge's words are read: first or last number behind the marker."
        ),
    ] = "smmqg",
    scale: Annotated[
        Literal["ternary", "binary"] | None,
        typer.Option("--scale", help="Of judgements: 0, 1, 2, or 0, 1; needed where no judgement is 2."),
    ] = None,
    missing: Annotated[
        Literal["failed", "wrong"],
        typer.Option("--missing", help="Questions without a response: left out and counted, or 0."),
    ] = "failed",
    slices: Annotated[
        list[str] | None,
        typer.Option("--slice", metavar="COLUMN", help="Also score every value of this column by itself."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster", metavar="COLUMN", help="Column the bootstrap draws by (default: recording)."
        ),
    ] = None,
    confidence: ConfidenceOption = 0.95,
    resamples: ResamplesOption = 10_000,
    seed: SeedOption = None,
    as_json: JsonFlag = False,
    latex: LatexFlag = False,
    report: ReportOption = None,
) -> None:
    """Score answers: exact match, F1, ROUGE, BERTScore, letters of multiple choice, judgements.

    Files are CSV, TSV, JSON Lines or JSON, joined by id. Open questions have answer (a text) or answers (a list,
    any of them is right; in CSV split at |). Multiple choice has options (a list, in the order shown) and gold
    (the letter, or the text of the right option). Predictions have response, or judgement (0 wrong, 1 partial,
    2 match; with --scale binary 0 wrong, 1 right; yes or no; or the judge's words), or both. Columns recording, recording_id, video_id or cluster say what belongs
    together; intervals come from drawing these as a whole.

    \b
      gt.jsonl       {"id": "q1", "answers": ["Add the salt.", "salt"], "recording": "1_7", "type": "next"}
      pred.jsonl     {"id": "q1", "response": "You should add salt"}
      choices.jsonl  {"id": "q1", "options": ["salt", "milk"], "gold": "B", "recording": "1_7"}
      letters.jsonl  {"id": "q1", "response": "The answer is B."}

    A question without a prediction, or with a null response, failed: it is counted, and not dropped in silence. An
    empty response is an answer, and wrong. A response in which no letter can be read is wrong, and counted apart.

    With letters the JSON also has the balance of gold and predicted letters, recall by letter, and what the options
    give away by their length.

    Example: proctor score answer --gt gt.jsonl --pred pred.jsonl --metric exact --metric rouge1 --slice type
    """  # noqa: D301  # \b keeps the lines of the example apart
    from proctor.stages.scoring.answer import score_answer

    chosen = [*(metric or ()), *(["choice"] if choices else [])]
    with progress("BERTScore", quiet="bertscore" not in chosen) as step:
        table = score_answer(
            gt,
            pred,
            metrics=chosen,
            normalisation=normalisation,
            tokeniser=tokeniser,
            model=model,
            layer=layer,
            idf=idf,
            baseline=baseline,
            device=device,
            option_count=option_count,
            opened_bracket=opened_bracket,
            judge_scale=judge_scale,
            scale=scale,
            missing=missing,
            slices=tuple(slices or ()),
            cluster=cluster,
            confidence=confidence,
            resamples=resamples,
            seed=seed or 0,
            step=step,
        )
    emit_scores(table, as_json=as_json, latex=latex, report=report)
