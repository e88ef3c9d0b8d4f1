"""What clauses say of the answer as a whole."""

from __future__ import annotations

import pytest

from proctor.exam.verdict.claim import claims
from proctor.exam.verdict.reading import BOTTOM, MIDDLE, TOP


def allowed(text):
    return [claim.allows for claim in claims(text)]


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("No marks can be awarded.", [BOTTOM]),
        ("Full credit is not warranted.", [BOTTOM | MIDDLE]),
        ("I cannot give credit for this.", [BOTTOM]),
        ("Half credit is due.", [MIDDLE]),
        ("Full marks are in order.", [TOP]),
        ("Does it match? No way.", [BOTTOM]),
        ("Is the answer right? Yes, it is.", [TOP]),
        ("Does it match? Not entirely.", [BOTTOM | MIDDLE]),
        ("Nope.", [BOTTOM]),
        ("The answer could hardly be better.", [TOP]),
        ("This could not be more wrong.", [BOTTOM]),
        ("The answer says yes where all references say no.", [BOTTOM]),
        ("Both references say otherwise.", [BOTTOM]),
        ("The answer has no mistakes.", [TOP]),
        ("None of it is right.", [BOTTOM]),
        ("Lowest possible score.", [BOTTOM]),
        ("Somewhere in the middle.", [MIDDLE]),
        ("Ne correspond à aucune référence.", [BOTTOM]),
        ("Stimmt mit keiner Referenz überein.", [BOTTOM]),
        ("Die Vorhersage hat nichts mit der Referenz zu tun.", [BOTTOM]),
        ("Aucun rapport avec la question.", [BOTTOM]),
        ("我无法判断。", [frozenset()]),
    ],
)
def test_a_clause_on_the_answer_makes_a_claim(text, levels):
    assert allowed(text) == levels


@pytest.mark.parametrize(
    "text",
    [
        "The answer says that no mistakes were made.",
        "Does it add wrong information? No.",
        "Did you use the right pan? No.",
        "According to the gold, everything is correct.",
        "If it were right, full marks would be due.",
        "The user made no mistake.",
        "The references say yes. The answer says yes.",
        "Is there any difference? No.",
    ],
)
def test_reports_suppositions_and_questions_of_the_item_make_none(text):
    assert allowed(text) == []
