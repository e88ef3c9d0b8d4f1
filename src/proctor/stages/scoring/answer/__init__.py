"""Options of ``proctor score answer``; what it computes is in ``score``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from proctor.settings import option
from proctor.stages.scoring.settings import ScoreSettings

__all__ = ["AnswerSettings"]


class AnswerSettings(ScoreSettings, frozen=True, kw_only=True):
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

    gt: Annotated[Path, option("Reference: id, and answer, answers or options with gold.", metavar="FILE")]
    pred: Annotated[Path, option("Predictions: id, and response or judgement.", metavar="FILE")]
    metrics: Annotated[
        tuple[str, ...],
        option(
            "exact, f1, rouge1, rougel, bertscore, choice, judge; repeatable (default: what the files hold).",
            "--metric",
            metavar="NAME",
        ),
    ] = ()
    choices: Annotated[bool, option("Read letters of multiple choice (same as --metric choice).")] = False
    normalisation: Annotated[
        Literal["none", "squad", "unicode"],
        option("Of exact match and F1; unicode for other languages than English."),
    ] = "squad"
    tokeniser: Annotated[
        Literal["ascii", "unicode"],
        option("Of ROUGE; ascii is the published one, which drops all but a-z and 0-9."),
    ] = "ascii"
    model: Annotated[
        Path | None, option("Local model for BERTScore; nothing is downloaded.", metavar="FOLDER")
    ] = None
    layer: Annotated[int | None, option("Its layer (default: the tuned one, else the last).", ge=0)] = None
    idf: Annotated[bool, option("BERTScore with inverse document frequencies of the references.")] = False
    baseline: Annotated[Path | None, option("Rescale BERTScore: LAYER,P,R,F.", metavar="FILE")] = None
    device: Annotated[str, option("For BERTScore: cpu or cuda.")] = "cpu"
    option_count: Annotated[
        int | None, option("Number of options, if the reference has no texts.", ge=2, le=26)
    ] = None
    opened_bracket: Annotated[bool, option("The prompt ended on '(': the response completes it.")] = False
    judge_scale: Annotated[
        Literal["smmqg", "promqa"],
        option("How a judge's words are read: first or last number behind the marker."),
    ] = "smmqg"
    scale: Annotated[
        Literal["ternary", "binary"] | None,
        option("Of judgements: 0, 1, 2, or 0, 1; needed where no judgement is 2."),
    ] = None
    missing: Annotated[
        Literal["failed", "wrong"], option("Questions without a response: left out and counted, or 0.")
    ] = "failed"
    slices: Annotated[
        tuple[str, ...],
        option("Also score every value of this column by itself.", "--slice", metavar="COLUMN"),
    ] = ()
    cluster: Annotated[
        str | None, option("Column the bootstrap draws by (default: recording).", metavar="COLUMN")
    ] = None

    @property
    def chosen(self) -> tuple[str, ...]:
        """The metrics that were asked for; empty for what the files hold."""
        return (*self.metrics, *(["choice"] if self.choices else []))

    @property
    def slow(self) -> str:
        """BERTScore runs a model over all texts."""
        return "BERTScore" if "bertscore" in self.chosen else ""
