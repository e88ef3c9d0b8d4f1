"""Values of every metric of answers by question, None where a question failed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

from proctor.errors import UserError
from proctor.metrics.answer import (
    JudgeScale,
    Overlap,
    Tokeniser,
    is_exact_match,
    lost_words,
    normalise_answer,
    parse_judge_score,
    points,
    rouge_1_overlap,
    rouge_l_overlap,
    token_overlap,
)
from proctor.metrics.bert_score import Match, bert_score
from proctor.metrics.choice.letters import LETTERS
from proctor.metrics.choice.marks import choice_counts
from proctor.metrics.choice.reading import PARSER, ParsedLetter, parse_letter
from proctor.stages.scoring.files import Table, explained, read_table
from proctor.stages.scoring.options import AnswerSettings

__all__ = [
    "ANSWER_METRICS",
    "METRIC_LABELS",
    "METRIC_NAMES",
    "AnswerData",
    "AnswerMetric",
    "MarkScale",
    "Measured",
    "Missing",
    "Question",
    "Reply",
    "bert_values",
    "choice_values",
    "given_responses",
    "judged_values",
    "overlap_values",
    "parsed_letters",
    "read_answers",
    "without_gaps",
]


# Questions with their references, and what a system answered, from two files joined by id.

_ID: Final = ("id", "question_id", "item_id", "item")

_REFERENCES: Final = ("answers", "references")

_REFERENCE: Final = ("answer", "reference")

_OPTIONS: Final = ("options", "choices")

_GOLD: Final = ("gold", "letter", "gold_letter", "answer_letter")

_RESPONSE: Final = ("response", "answer", "prediction", "predicted", "letter")

_JUDGEMENT: Final = ("judgement", "judgment", "judge")

_CLUSTER: Final = ("recording", "recording_id", "video_id", "cluster")

MarkScale = Literal["ternary", "binary"]

"""What the number 1 means: ``ternary`` marks are 0, 1, 2 (wrong, partial, match), ``binary`` ones 0, 1 (wrong, right)."""

_DIGITS: Final = {"0": 0, "1": 1, "2": 2, "0.0": 0, "1.0": 1, "2.0": 2}

_WORDS: Final = {"yes": 2, "no": 0, "true": 2, "false": 0}

"""A judge of consistency says yes or no, which are the ends of either scale."""


@dataclass(frozen=True, slots=True)
class Question:
    """One line of the reference.

    Attributes:
        id: joins it with the reply.
        references: right answers, alternatives of each other; the text of the right option where there are options.
        options: texts in the order shown; empty for open questions, or when only their number is known.
        option_count: how many options; 0 for open questions.
        gold: letter of the right option; empty for open questions.
        cluster: what is drawn as a whole by the bootstrap.
        slices: values of the columns to slice by, in their order.
    """

    id: str
    references: tuple[str, ...]
    options: tuple[str, ...]
    option_count: int
    gold: str
    cluster: str
    slices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a system said, and what a judge said about it.

    Attributes:
        response: None when there is none: the question failed.
        judgement: 0, 1 or 2; None when there is none or it was not understood.
        unparsed: the judge said something that is no judgement.
    """

    response: str | None
    judgement: int | None = None
    unparsed: bool = False


@dataclass(frozen=True, slots=True)
class AnswerData:
    """Both files, joined.

    Attributes:
        questions: sorted by id.
        replies: by id; questions that were not answered are not in it.
        cluster: name of the column of clusters, ``item`` when every question stands for itself.
        has_responses: the predictions have a column of responses.
        has_judgements: they have one of judgements.
        unknown: ids of predictions that the reference does not have, sorted.
        scale: of the judgements that were numbers; they are kept as 0, 1, 2, so a binary 1 is 2 here.
    """

    questions: tuple[Question, ...]
    replies: Mapping[str, Reply]
    cluster: str
    has_responses: bool
    has_judgements: bool
    unknown: tuple[str, ...]
    scale: MarkScale = "ternary"


def read_answers(settings: AnswerSettings) -> AnswerData:
    """Read and join both files: ``gt`` with id, and answer, answers (list) or options (list) with gold; ``pred`` with id, and response or judgement.

    Raises:
        UserError: if a column is missing, the scale of the judgements cannot be known, an id occurs twice, a gold letter is no option, or a value is of another kind.
    """
    gt, pred = settings.gt, settings.pred
    table, replied = read_table(gt), read_table(pred)
    column = table.named(settings.cluster, *_CLUSTER)
    questions = _read_questions(table, settings.slices, column, settings.option_count)
    replies, found = _read_replies(replied, settings.judge_scale, gt, settings.scale)
    known = {question.id for question in questions}
    unknown = tuple(sorted(replies.keys() - known))
    if len(unknown) == len(replies):
        raise UserError(
            f"none of the {len(replies):,} predictions has the id of a question; {unknown[0]!r} is not in {gt}.",
            where=str(pred),
            hint="write the ids of the reference into the predictions",
        )
    return AnswerData(
        questions=tuple(sorted(questions, key=lambda q: q.id)),
        replies={i: reply for i, reply in replies.items() if i in known},
        cluster=column or "item",
        has_responses=replied.find(*_RESPONSE) is not None,
        has_judgements=replied.find(*_JUDGEMENT) is not None,
        unknown=unknown,
        scale=found,
    )


def _ids(table: Table) -> list[str]:
    def twice(name: str, first: int) -> tuple[str, str]:
        where = f"{table.unit} {table.lines[first]}"
        return f"the id {name!r} occurs twice, first at {where}.", "keep one of them"

    return table.unique(*_ID, twice=twice)


def _read_questions(
    table: Table, slices: Sequence[str], cluster: str | None, option_count: int | None
) -> list[Question]:
    ids = _ids(table)
    several, one = table.find(*_REFERENCES), table.find(*_REFERENCE)
    options_column, gold_column = table.find(*_OPTIONS), table.find(*_GOLD)
    if several is None and one is None and gold_column is None:
        table.require("answers", "answer", "gold")
    options = table.lists(options_column) if options_column else [[] for _ in ids]
    references = table.lists(several) if several else [[] for _ in ids]
    singles = table.columns[one] if one else [None] * len(ids)
    golds = table.columns[gold_column] if gold_column else [None] * len(ids)
    clusters = table.texts(cluster) if cluster else ids
    values = [table.texts(name) for name in slices]
    out = []
    for row, name in enumerate(ids):
        right = [text for v in references[row] if (text := _text(table, row, several or "", v)).strip()]
        if not right and one and singles[row] not in (None, ""):
            right = [_text(table, row, one, singles[row])]
        texts = tuple(_text(table, row, options_column or "", v) for v in options[row])
        count = len(texts) or option_count or 0
        letter = _gold(table, row, gold_column or one or "", golds[row], right, texts, count)
        if (
            texts
            and letter
            and (not right or (right != [texts[LETTERS.index(letter)]] and len(right[0]) == 1))
        ):
            right = [texts[LETTERS.index(letter)]]  # a letter is no answer to compare words with
        if not right and not letter:
            raise table.wrong(
                row,
                several or one or gold_column or "",
                "the question has no answer.",
                "add it, or remove the row",
            )
        out.append(
            Question(name, tuple(right), texts, count, letter, clusters[row], tuple(v[row] for v in values))
        )
    return out


def _text(table: Table, row: int, column: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise table.wrong(row, column, f"a text was expected, got {str(value)[:60]}.")
    return f"{value:g}" if isinstance(value, float) else str(value)


def _gold(
    table: Table, row: int, column: str, value: Any, right: Sequence[str], options: Sequence[str], count: int
) -> str:
    """Return the right letter: as given, or of the option that the gold value or the only answer spells out."""
    if not count:
        return ""
    if not 2 <= count <= len(LETTERS):
        raise table.wrong(row, column, f"a question has 2 to {len(LETTERS)} options, got {count}.")
    wanted = (right[0] if len(right) == 1 else "") if value in (None, "") else str(value).strip()
    valid = LETTERS[:count]
    if len(wanted) == 1 and wanted.upper() in valid:
        return wanted.upper()
    same = [i for i, text in enumerate(options) if text.strip() == wanted.strip()]
    if len(same) != 1:
        raise table.wrong(
            row,
            column,
            f"{wanted!r} is neither a letter from A to {valid[-1]} nor the text of exactly one option.",
            "write the letter of the right option",
        )
    return valid[same[0]]


def _read_replies(
    table: Table, judge_scale: JudgeScale, gt: Path, scale: MarkScale | None
) -> tuple[dict[str, Reply], MarkScale]:
    ids = _ids(table)
    said, judged = table.find(*_RESPONSE), table.find(*_JUDGEMENT)
    if said is None and judged is None:
        table.require("response", "judgement")
    if said == "answer" and table.path.resolve() == gt.resolve():
        raise UserError(
            "the references would be scored against themselves: both files are the same one.",
            where=str(table.path),
            hint="give the predictions to --pred, or add them to the file as a column 'response'",
        )
    marks = [_judgement(table, row, judged, judge_scale) for row in range(len(ids))]
    found = _mark_scale(table, judged or "", marks, scale)
    out = {}
    for row, (name, mark) in enumerate(zip(ids, marks, strict=True)):
        response = table.columns[said][row] if said else None
        if response is not None:
            response = _text(table, row, said or "", response)
        doubled = mark.value == 1 and mark.number and found == "binary"
        out[name] = Reply(response, 2 if doubled else mark.value, mark.unparsed)
    return out, found


@dataclass(frozen=True, slots=True)
class _Mark:
    """A judgement, whether it was a number, and whether there was one that could not be read."""

    value: int | None = None
    number: bool = False
    unparsed: bool = False


def _judgement(table: Table, row: int, column: str | None, scale: JudgeScale) -> _Mark:
    value = table.columns[column][row] if column else None
    if column is None or value in (None, ""):
        return _Mark()
    text = str(value) if isinstance(value, bool) else _text(table, row, column, value).strip()
    if text.lower() in _WORDS:
        return _Mark(_WORDS[text.lower()])
    if text in _DIGITS:
        return _Mark(_DIGITS[text], number=True)
    if isinstance(value, int | float) or text.lstrip("-").replace(".", "", 1).isdigit():
        raise table.wrong(
            row, column, f"a judgement is 0, 1 or 2, got {text}.", "use the scale 0 wrong, 1 partial, 2 match"
        )
    found = parse_judge_score(text, scale=scale)
    return _Mark(found, number=found is not None, unparsed=found is None)


def _mark_scale(table: Table, column: str, marks: Sequence[_Mark], scale: MarkScale | None) -> MarkScale:
    """Find out what a 1 means; a mean of 0s and 1s would be half of the truth or twice it.

    Raises:
        UserError: if no number is above 1, some are 1, and nobody says what that is; or a binary mark is 2.
    """
    numbers = [mark.value if mark.number else None for mark in marks]
    if scale == "binary" and 2 in numbers:
        raise table.wrong(
            numbers.index(2), column, "a binary judgement is 0 or 1, got 2.", "use --scale ternary"
        )
    if scale is None and 1 in numbers and 2 not in numbers:
        raise UserError(
            "the judgements are 0 and 1: 1 may be the best mark, or the middle one of 0, 1, 2.",
            where=f"{table.path}, column {column!r}",
            hint="say which by --scale binary (1 is right) or --scale ternary (1 is partial)",
        )
    return scale or "ternary"


AnswerMetric = Literal["exact", "f1", "rouge1", "rougel", "bertscore", "choice", "judge"]

ANSWER_METRICS: Final[tuple[AnswerMetric, ...]] = get_args(AnswerMetric)

Missing = Literal["failed", "wrong"]

METRIC_LABELS: Final[Mapping[AnswerMetric, str]] = {
    "exact": "EM",
    "f1": "F1",
    "rouge1": "ROUGE-1",
    "rougel": "ROUGE-L",
    "bertscore": "BERTScore",
    "choice": "Accuracy",
    "judge": "score",
}

METRIC_NAMES: Final[Mapping[AnswerMetric, str]] = {
    "exact": "exact_match",
    "f1": "token_f1",
    "rouge1": "rouge_1",
    "rougel": "rouge_l",
    "bertscore": "bert_score",
    "choice": "choice_accuracy",
    "judge": "mean_score",
}

_MANY_LOST: Final = 0.01

"""Share of words with letters outside of a-z from which on ROUGE's published tokeniser is worth a warning."""

Values = list[float | None]


@dataclass(frozen=True, slots=True)
class Measured:
    """Values of one metric by question, None where the question failed."""

    metric: AnswerMetric
    values: Values
    parameters: Mapping[str, str]
    headline: Mapping[str, object]
    notes: Sequence[str] = ()


def given_responses(data: AnswerData) -> list[str | None]:
    """The response to every question, None where there is none."""
    return [reply.response if (reply := data.replies.get(q.id)) else None for q in data.questions]


def overlap_values(data: AnswerData, metric: AnswerMetric, settings: AnswerSettings) -> Measured:
    """Exact match, F1 and ROUGE."""
    pairs = [(q, r) for q, r in zip(data.questions, given_responses(data), strict=True) if r is not None]
    normal, tokens = {"normalisation": settings.normalisation}, {"tokeniser": settings.tokeniser}
    if metric == "exact":
        values = {
            q.id: is_exact_match(q.references, r, normalisation=settings.normalisation) for q, r in pairs
        }
        return Measured(
            metric,
            _by_question(data, values),
            {**normal, "references": "any"},
            {},
            _erased_note(data, settings),
        )
    functions: Mapping[str, Callable[[Question, str], Overlap]] = {
        "f1": lambda q, r: token_overlap(q.references, r, normalisation=settings.normalisation),
        "rouge1": lambda q, r: rouge_1_overlap(q.references, r, tokeniser=settings.tokeniser),
        "rougel": lambda q, r: rouge_l_overlap(q.references, r, tokeniser=settings.tokeniser),
    }
    overlaps = {q.id: functions[metric](q, r) for q, r in pairs}
    parameters = {"references": "best-f1", "value": "f1", **(normal if metric == "f1" else tokens)}
    if metric != "f1":
        parameters["stemming"] = "no"
    return Measured(
        metric,
        _by_question(data, {i: o.f1 for i, o in overlaps.items()}),
        parameters,
        _precision_recall(metric, overlaps.values()),
        () if metric == "f1" else _lost_note(data, settings.tokeniser),
    )


def _by_question(data: AnswerData, values: Mapping[str, float]) -> Values:
    return [values.get(q.id) for q in data.questions]


def _precision_recall(metric: AnswerMetric, found: Iterable[Overlap | Match]) -> dict[str, object]:
    values = list(found)
    name = METRIC_NAMES[metric]
    return {
        f"{name}_precision": _mean([o.precision for o in values]),
        f"{name}_recall": _mean([o.recall for o in values]),
    }


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _erased_note(data: AnswerData, settings: AnswerSettings) -> list[str]:
    erased = sum(
        any(r.strip() and not normalise_answer(r, settings.normalisation) for r in q.references)
        for q in data.questions
    )
    if not erased:
        return []
    message = (
        f"{erased:,} questions have a reference that the normalisation empties (an article, punctuation): such "
        "references match each other. Read letters with --metric choice, or use --normalisation unicode"
    )
    return [message]


def _lost_note(data: AnswerData, tokeniser: Tokeniser) -> list[str]:
    if tokeniser != "ascii":
        return []
    counted = [lost_words(r) for q in data.questions for r in q.references]
    lost, words = sum(a for a, _ in counted), sum(b for _, b in counted)
    if lost <= _MANY_LOST * words:
        return []
    message = (
        f"ROUGE's published tokeniser cuts or drops {lost:,} of {words:,} words of the references, which have letters "
        "outside of a-z: use --tokeniser unicode"
    )
    return [message]


def bert_values(data: AnswerData, settings: AnswerSettings, step: Callable[[], None] | None) -> Measured:
    """BERTScore."""
    if settings.model is None:
        raise UserError(
            "BERTScore needs a model.",
            hint="give the folder of a downloaded one with --model (published: microsoft/deberta-xlarge-mnli)",
        )
    pairs = [(q, r) for q, r in zip(data.questions, given_responses(data), strict=True) if r is not None]
    with explained("BERTScore"):
        scores = bert_score(
            [q.references for q, _ in pairs],
            [r for _, r in pairs],
            settings.model,
            layer=settings.layer,
            idf=settings.idf,
            baseline=settings.baseline,
            device=settings.device,
            step=step,
        )
    values = {q.id: m.f1 for (q, _), m in zip(pairs, scores.matches, strict=True)}
    notes = [scores.note] if scores.note else []
    if scores.truncated:
        notes.append(f"{scores.truncated:,} texts are longer than the model takes and were cut")
    return Measured(
        "bertscore",
        _by_question(data, values),
        {**scores.parameters, "value": "f1"},
        _precision_recall("bertscore", scores.matches),
        notes,
    )


def judged_values(data: AnswerData, scale: JudgeScale) -> Measured:
    """Points of the judgements."""
    judgements = [reply.judgement if (reply := data.replies.get(q.id)) else None for q in data.questions]
    unparsed = sum(reply.unparsed for reply in data.replies.values())
    text = f"{unparsed:,} judgements could not be read: they are excluded and counted as failed, never 0"
    return Measured(
        "judge",
        [points(j) for j in judgements],
        {"judge": "given", "parser": scale, "scale": "0-100" if data.scale == "binary" else "0-50-100"},
        {
            "judgements": {str(j): sum(x == j for x in judgements) for j in (0, 1, 2)},
            "judge_unparsed": unparsed,
        },
        [text] if unparsed else [],
    )


def parsed_letters(data: AnswerData, opened_bracket: bool) -> list[ParsedLetter | None]:
    """The letter of every response; None where there is no response."""
    return [
        None if r is None else parse_letter(r, q.options or q.option_count, opened_bracket=opened_bracket)
        for q, r in zip(data.questions, given_responses(data), strict=True)
    ]


def choice_values(data: AnswerData, letters: Sequence[ParsedLetter | None], opened_bracket: bool) -> Measured:
    """Right letters."""
    said = [(q.gold, p.letter) for q, p in zip(data.questions, letters, strict=True) if p is not None]
    counts = choice_counts([gold for gold, _ in said], [letter for _, letter in said])
    marks = iter(counts.marks)
    return Measured(
        "choice",
        [None if letter is None else next(marks) for letter in letters],
        {
            "completion": "bracket" if opened_bracket else "no",
            "parser": PARSER,
            "unparsed": "wrong",
        },
        {
            "right": counts.right,
            "wrong": counts.wrong,
            "unparsed": counts.unparsed,
            "accuracy_of_parsed": counts.accuracy_of_parsed,
        },
    )


def without_gaps(found: Measured, missing: Missing) -> Measured:
    """Make questions without a response 0 where these count as wrong."""
    if missing == "failed" or found.metric == "judge":
        return found
    return replace(found, values=[0.0 if v is None else v for v in found.values])
