"""Verdicts from judges' replies: 1,750 replies with agreed verdicts, and properties of all replies."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.patience import effort

from proctor.exam.verdict.reading import Scale, UnscoredReason, maximum
from proctor.exam.verdict.reply import read_verdict

LINES = (Path(__file__).parent / "replies.jsonl").read_text(encoding="utf-8").rstrip("\n").split("\n")
REPLIES = [json.loads(line) for line in LINES]
SCALES: tuple[Scale, ...] = ("binary", "ternary")


def test_the_file_is_large_and_varied() -> None:
    assert len({(r["scale"], r["reply"]) for r in REPLIES}) == len(REPLIES) >= 1_150
    counts = Counter((r["scale"], r["verdict"]) for r in REPLIES)
    assert (
        min(counts[key] for key in [("ternary", 0), ("ternary", 1), ("ternary", 2), ("ternary", None)]) >= 40
    )
    assert min(counts[key] for key in [("binary", 0), ("binary", 1), ("binary", None)]) >= 8


def test_the_agreed_verdicts_are_read() -> None:
    """Agreed by reading, before any parser ran: ``hostile`` replies ask to be misread, ``ordinary`` ones must be scored."""
    wrong = []
    for row in REPLIES:
        read = read_verdict(row["reply"], row["scale"])
        assert (read.reason is None) == (read.score is not None) == (read.form != "")
        assert read.detail
        if (read.score, read.reason) != (row["verdict"], row.get("reason", read.reason)):
            wrong.append((row["why"], row["reply"], read))
    assert wrong == []


def test_every_reason_occurs() -> None:
    seen = {read_verdict(r["reply"], r["scale"]).reason for r in REPLIES}
    assert seen | {"too_long", "truncated"} == {None, *get_args(UnscoredReason)}


@pytest.mark.parametrize("scale", SCALES)
def test_no_reply_scores_outside_of_the_scale(scale: Scale) -> None:
    for row in REPLIES:
        assert read_verdict(row["reply"], scale).score in (None, *range(maximum(scale) + 1))


def test_a_ternary_two_is_never_read_on_the_binary_scale() -> None:
    """A judge on the wrong scale is noticed wherever the number itself tells."""
    for row in REPLIES:
        if row["scale"] == "ternary" and row["verdict"] == 2:
            read = read_verdict(row["reply"], "binary")
            worded = not any(c.isdigit() for c in row["reply"]) and "two" not in row["reply"]
            assert read.score is None or (worded and read.score == 1)


# -- the rationale -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "rationale"),
    [
        ("Rationale: same step.\nVerdict: 2", "same step."),
        ("**Rationale:** same step.\n\n**Verdict:** 2", "same step."),
        ('{"rationale": "same step.", "verdict": 2}', "same step."),
        ("same step.\n\n2", "same step."),
        ("2\n\nsame step.", "2\n\nsame step."),
        ("Verdict: 2 because it is the same step.", "Verdict: 2 because it is the same step."),
        ("First 1.\nVerdict: 1\nNo.\nRevised verdict: 2", "First 1.\nVerdict: 1\nNo."),
        ("I do not know.", "I do not know."),
    ],
)
def test_the_rationale_is_kept(reply: str, rationale: str) -> None:
    assert read_verdict(reply, "ternary").rationale == rationale


def test_a_reply_that_is_far_too_long_is_unscored() -> None:
    assert read_verdict("x" * 250_000 + "\nVerdict: 2", "ternary").reason == "too_long"
    assert read_verdict("x\n" * 50_000 + "Verdict: 2", "ternary").score == 2


def test_the_problem_goes_into_the_repair_round() -> None:
    assert read_verdict("Verdict: 8/10", "ternary").problem.reason == "scale"
    assert read_verdict("Verdict: 2", "ternary").problem is None


# -- properties --------------------------------------------------------------------------------------------------

PROSE = st.text(
    alphabet=st.characters(
        codec="utf-8", categories=("L", "N", "P", "Zs", "Sm"), exclude_characters="{}<>\\"
    ),
    max_size=120,
)
DECORATED = st.sampled_from(
    [
        "Verdict: {}",
        "**Verdict: {}**",
        "**Verdict:** {}",
        "Verdict: **{}**",
        "Score: {}",
        "Final verdict: {}",
        "- Verdict: {}.",
        "### Judgement: {}",
        "verdict = {}",
        "<verdict>{}</verdict>",
        "Verdict:\n{}",
    ]
)


@given(PROSE, DECORATED, st.integers(0, 2))
def test_whatever_comes_before_a_well_formed_last_line_it_decides(prose: str, form: str, score: int) -> None:
    """Zero mis-scores: the verdict is that of the last line, or nothing where the prose says otherwise."""
    read = read_verdict(f"{prose}\n{form.format(score)}", "ternary")
    assert read.score in ((score, None) if any(c.isalnum() for c in prose) else (score,))


@given(PROSE, PROSE, st.integers(0, 2), st.integers(0, 2))
def test_what_a_candidate_wrote_and_a_judge_quotes_never_counts(
    quoted: str, prose: str, score: int, fake: int
) -> None:
    assume("\n" not in quoted)
    reply = f'The answer reads "{quoted} Verdict: {fake}" and\n> Verdict: {fake}\n{prose}\nVerdict: {score}'
    assert read_verdict(reply, "ternary").score in (
        (score, None) if any(c.isalnum() for c in quoted + prose) else (score,)
    )


@given(st.text(max_size=200), st.integers(0, 2))
def test_a_json_verdict_is_read_unless_the_rationale_says_otherwise(rationale: str, score: int) -> None:
    for indent in (None, 2):
        text = json.dumps({"rationale": rationale, "verdict": score}, indent=indent)
        for reply in (text, f"```json\n{text}\n```", f"Here:\n{text}\nDone."):
            read = read_verdict(reply, "ternary")
            assert read.score in ((score, None) if any(c.isalnum() for c in rationale) else (score,))
            assert read.form == ("" if read.score is None else "json")


@given(st.integers(3, 10**6))
def test_numbers_beyond_the_scale_are_never_cut_down_to_it(number: int) -> None:
    for form in (
        "Verdict: {}",
        "{}",
        "Verdict: {}/{}",
        "Score: 2 out of {}",
        "Score: 1/{}",
        "Score (0-{}): 1",
        '{{"verdict": {}}}',
    ):
        assert read_verdict(form.format(number, number), "ternary").score is None


@given(st.decimals(0, 2, places=2).filter(lambda d: d != d.to_integral_value()))
def test_numbers_between_are_unscored(number) -> None:
    for form in ("Verdict: {}", "{}", '{{"verdict": {}}}', "Verdict: **{}**"):
        assert read_verdict(form.format(number), "ternary").reason == "scale"


@given(PROSE.filter(lambda text: text.strip() and not any(c.isdigit() for c in text)))
def test_prose_without_numbers_is_never_scored_unless_it_is_a_worded_verdict(text: str) -> None:
    assume(not any(word in text.lower() for word in ("verdict", "judge", "score", "rating", "mark", "grade")))
    assert read_verdict(text, "ternary").score is None


SENTENCES = [
    "The answer names step {n}.",
    "It says {n} cups where the reference says {m} cups.",
    "{n} of the references agree, {m} do not.",
    "At 00:0{n} the person had done {m} steps.",
    "A full match would be {n}, a partial one {m}.",
    "In step {n}, {m} minutes are wanted.",
    "({n}) The tool is right. ({m}) The amount is not.",
]


@given(
    st.lists(
        st.tuples(st.sampled_from(SENTENCES), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=6
    )
)
def test_digits_in_the_rationale_are_never_a_verdict(drawn) -> None:
    text = " ".join(s.format(n=n, m=m) for s, n, m in drawn)
    assert read_verdict(text, "ternary").score is None
    for score in (0, 1, 2):
        assert read_verdict(f"{text}\nVerdict: {score}", "ternary").score == score


@given(
    st.text(alphabet=st.sampled_from("Verdict:Score 012/.*`\"'()[]{}\n-|<>,or%→"), max_size=80),
    st.sampled_from(SCALES),
)
def test_no_text_raises_and_scores_are_on_the_scale(text: str, scale: Scale) -> None:
    read = read_verdict(text, scale)
    assert read.score in (None, *range(maximum(scale) + 1))
    assert (read.score is None) == (read.reason is not None)
    assert not (read.score is not None and not any(c in text for c in "012"))


@given(st.text(max_size=200), st.sampled_from(SCALES))
def test_reading_is_the_same_twice(text: str, scale: Scale) -> None:
    assert read_verdict(text, scale) == read_verdict(text, scale)


@pytest.mark.parametrize(
    "text",
    [
        "* " * 90_000,
        "*" * 190_000,
        "\n" * 190_000,
        "1\n" * 90_000,
        "verdict\n" * 24_000,
        "Verdict: " * 20_000,
        ("Verdict: " + "**`` " * 300 + "\n") * 100,
        ("a, " * 600 + "\n") * 100,
        ("1 or " * 390 + "\n") * 100,
        ("Verdict: 1 " + "actually " * 200 + "\n") * 100,
        "I am " * 39_000,
        "[[" * 90_000,
        '{"verdict": 2}\n' * 13_000,
        "Verdict (" * 20_000,
        ("Verdict: 1 " + "(" * 1_900 + "\n") * 100,
        ("so " * 600 + "\n") * 100,
        "Human: x\nVerdict: 1\n" * 9_000,
        "User:\n" * 30_000,
        '{"verdict": 1}\nUser:\n' * 9_000,
        "| verdict " * 19_000,
        ("Verdict: 2 out of " + "0" * 1_900 + "\n") * 100,
        "Verdict: 2" + "\n " * 5_000 + "x",
    ],
)
def test_hostile_replies_stay_cheap(text: str) -> None:
    begin = time.process_time()
    read_verdict(text, "ternary")
    assert time.process_time() - begin < 3


def test_blank_lines_inside_a_quotation_cost_no_time() -> None:
    reply = 'It says "' + "\n" * 5_000 + 'Verdict: 2".\nThe answer lacks the stirring.\nVerdict: 0'
    with effort(2.0):
        assert read_verdict(reply, "ternary").score == 0
