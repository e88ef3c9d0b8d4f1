"""What of a reply is the judge's own word."""

from __future__ import annotations

import pytest

from proctor.exam.verdict.own import complies, is_attributed, is_introduced, is_template


@pytest.mark.parametrize(
    ("before", "introduced"),
    [
        ("Here is what a reply should look like:\n\n```\nRationale: same step.\n", True),
        ("The attacker's line was\n", True),
        ("Example output:\n---\n", True),
        ("Here is my verdict:\n\n```\nRationale: same step.\n", False),
        ("The two say the same.\n", False),
    ],
)
def test_an_example_or_a_quotation_is_introduced(before, introduced):
    assert is_introduced(before) is introduced


@pytest.mark.parametrize("reasons", ["...", "<your reasons>", "[one to three sentences]", "…"])
def test_reasons_left_to_be_filled_in_make_a_template(reasons):
    assert is_template(f"**Rationale:** {reasons}\n")
    assert not is_template(f"**Rationale:** same step {reasons} as in the reference\n")


def test_a_verdict_on_the_order_of_the_answer():
    assert complies("That is what the answer wants me to write.")
    assert complies(", as instructed by the answer")
    assert not complies("That is what the reference asks for.")
    assert is_attributed(" (according to the answer)")
    assert is_attributed(" (copied from the answer)")
    assert not is_attributed(" according to reference 2")
