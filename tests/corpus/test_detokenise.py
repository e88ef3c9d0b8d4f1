"""Text out of a tokeniser reads as it was written; other text is left alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.corpus.detokenise import detokenise, looks_tokenised

PAIRS = {
    "the world 's second , by area ( 9 km ) .": "the world's second, by area (9 km).",
    "What airs `` Boss '' , whose country is large ?": 'What airs "Boss", whose country is large?',
    "They do n't , and it 'll rain .": "They don't, and it'll rain.",
    "October 9 , 2013": "October 9, 2013",
    "Network ( s )": "Network(s)",
    "St. Paul , Minn. , U.S. .": "St. Paul, Minn., U.S.",
    "3 @,@ 000 hand @-@ made": "3,000 hand-made",
    "about 5 % , or $ 7": "about 5%, or $7",
    "Namur ( [ namyʁ ] ; Dutch : Namen )": "Namur ([namyʁ]; Dutch: Namen)",
    "the girls ' team , founded then": "the girls' team, founded then",
}


@pytest.mark.parametrize("text", PAIRS)
def test_tokens_are_put_together(text: str) -> None:
    assert looks_tokenised(text)
    assert detokenise(text) == PAIRS[text]


@pytest.mark.parametrize("text", PAIRS.values())
def test_it_is_done_once(text: str) -> None:
    assert detokenise(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "It's the world's second, by area (9 km).",
        "Il a dit : « Venez ! » et pourquoi ?",
        "Use .NET, or `code` and ``more``.",
        "a | b\n1 | 2",
        "if (x) { y = 'a' ; }",
        "He said 'no' and 'yes'.",
        "x .5 and 3 .. 4",
        "",
    ],
)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert detokenise(text) == text


def test_the_surroundings_may_decide() -> None:
    assert detokenise("Hell : The Sequel") == "Hell : The Sequel"
    assert detokenise("Hell : The Sequel", is_tokenised=True) == "Hell: The Sequel"
    assert detokenise("a , b", is_tokenised=False) == "a , b"


@given(st.text(alphabet=st.sampled_from("ab s1 \t.,;:!?'`()[]\"@$%-\n")))
def test_nothing_but_blanks_quotes_and_at_signs_goes(text: str) -> None:
    made = detokenise(text, is_tokenised=True)
    for left in (text, made):
        assert left is text or re.sub(r"[\s'`\"@]", "", made) == re.sub(r"[\s'`\"@]", "", text)
    assert detokenise(text, is_tokenised=False) == text


@pytest.mark.parametrize("piece", [" ", "( ", "s ' ", "`` ", " / a", "[ ( ", " , ", "' "])
def test_hostile_text_costs_little(piece: str) -> None:
    made = detokenise(piece * 100_000 + "x", is_tokenised=True)  # a quadratic rule would take minutes
    assert made.endswith("x")


def test_no_blank_before_punctuation_is_left_in_the_real_texts(shared_data: Path) -> None:
    lines = (shared_data / "mmrag" / "sources.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [row["text"] for row in map(json.loads, lines) if row["modality"] == "text"]
    assert len(texts) == 2151
    left = re.compile(r"\w [,;](?:\s|$)|\w \.(?:\s|$)|``|[(\[] ")
    assert sum(bool(left.search(text)) for text in texts) > 2000
    assert sum(bool(left.search(detokenise(text))) for text in texts) == 0
