"""The card says computed numbers in plain words, and shows untrusted text as text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.moments import gold, with_example

from proctor.procedure.graph import TaskGraph
from proctor.release.build import RULES, BuildRules, parse_rules
from proctor.release.card import render_card
from proctor.release.folder import write_release
from proctor.release.manifest import ReleaseInfo, Source
from proctor.release.promqa import PromqaRecords

HOSTILE = 'x\n---\nlicense: gpl\n<script>alert(1)</script> [a](javascript:b) `c` | ![d](e) **f** "g" \\ \u202e &amp;'


def _card(records: PromqaRecords, graphs: dict[str, TaskGraph], path: Path, **more: Any) -> str:
    settings = {"candidates": records.questions, "verdicts": records.verdicts, **more}
    items = settings.pop("items", records.items)
    info = settings.pop("info", ReleaseInfo(name="tea", licence="MIT"))
    rules = settings.pop("rules", RULES["humans"])
    write_release(path, items, graphs, info, rules, **settings)
    return (path / "README.md").read_text(encoding="utf-8")


def _front_matter(card: str) -> dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason="comes with the extra 'hf'")
    _, front, _ = card.split("---\n", 2)
    loaded: dict[str, Any] = yaml.safe_load(front)
    return loaded


def test_the_numbers_are_those_of_the_items(
    records: PromqaRecords, graphs: dict[str, TaskGraph], tmp_path: Path
) -> None:
    card = _card(records, graphs, tmp_path / "r")
    assert "4 questions with 7 gold answers about 2 recordings of 1 activity." in card
    assert "| missing | 1 |" in card
    assert "has 1.75 gold answers" in card
    assert "agreed on 0.500 of 4" in card
    assert "Of 1 questions about missing steps, 0 accept an answer that says no." in card
    assert (
        "fewer than 30 questions, too few for scores of their own: next, missing, order, technique." in card
    )


def test_contradicting_golds_are_told(
    records: PromqaRecords, graphs: dict[str, TaskGraph], tmp_path: Path
) -> None:
    golds = (gold("No."), gold("Yes, the bag."), gold("Nothing."))
    item = msgspec.structs.replace(records.items[1], golds=golds)
    card = _card(records, graphs, tmp_path / "r", items=[item])
    assert "1 accept an answer that says no" in card
    assert "1 questions accept both" in card


def test_the_front_matter_is_what_the_hub_reads(
    records: PromqaRecords, graphs: dict[str, TaskGraph], tmp_path: Path
) -> None:
    front = _front_matter(_card(records, graphs, tmp_path / "r"))
    assert front["license"] == "mit"
    assert front["language"] == ["en"]
    assert front["size_categories"] == ["n<1K"]
    assert front["configs"][0]["data_files"] == [{"split": "test", "path": "data/test.jsonl"}]
    assert front["dataset_info"]["splits"][0]["num_examples"] == 4


def test_a_licence_of_ones_own(records: PromqaRecords, graphs: dict[str, TaskGraph], tmp_path: Path) -> None:
    info = ReleaseInfo(name="tea", licence="Ask: first")
    front = _front_matter(_card(records, graphs, tmp_path / "r", info=info))
    assert (front["license"], front["license_name"]) == ("other", "Ask: first")
    front = _front_matter(_card(records, graphs, tmp_path / "s", info=ReleaseInfo(name="tea")))
    assert "license" not in front


def test_hostile_text_is_shown_as_text(
    records: PromqaRecords, graphs: dict[str, TaskGraph], tmp_path: Path
) -> None:
    item = with_example(records.items[0], HOSTILE, activity_name=HOSTILE)
    item = msgspec.structs.replace(item, golds=(gold(HOSTILE),))
    info = ReleaseInfo(
        name="tea",
        title=HOSTILE,
        licence=HOSTILE,
        summary=HOSTILE,
        citation=HOSTILE,
        languages=(HOSTILE,),
        date=HOSTILE,
        sources=(Source(name="s", title=HOSTILE, citation=HOSTILE),),
        limits=(HOSTILE,),
    )
    card = _card(records, graphs, tmp_path / "r", items=[item], info=info)
    front = _front_matter(card)
    assert front["license"] == "other"
    assert front["pretty_name"].startswith("x --- license: gpl <script>")
    body = card.split("---\n", 2)[2]
    assert "<script" not in body
    assert "\u202e" not in card
    assert not re.search(r"(?<!\\)\]\(", body.replace("](path", "")), "a link"
    assert not re.search(r"^license: gpl", card, re.MULTILINE)
    (row,) = [line for line in body.splitlines() if line.startswith("| next |") and "alert" in line]
    assert len(re.findall(r"(?<!\\)\|", row)) == 4


def test_every_rule_is_put_into_words(
    records: PromqaRecords, graphs: dict[str, TaskGraph], tmp_path: Path
) -> None:
    cards = {name: _card(records, graphs, tmp_path / name, rules=rules) for name, rules in RULES.items()}
    assert "waits for an adjudicator" in cards["humans"]
    assert "(oracles, with a confidence of 0.8 or more)" in cards["oracle"]
    assert "more than half" in cards["majority"]
    assert len(set(cards.values())) == len(cards)
    strict = parse_rules(
        {"every_answer": True, "own_answers": "accept", "minimum_golds": 3, "question": {"at_least": 2}}
    )
    card = _card(records, graphs, tmp_path / "strict", rules=strict)
    assert "3 accepted answers" in card
    assert "2 of them at least" in card
    assert "a question goes when any of its answers goes" in card


def test_nothing_known_is_said_to_be_unknown(
    records: PromqaRecords, graphs: dict[str, TaskGraph], tmp_path: Path
) -> None:
    card = _card(records, graphs, tmp_path / "r", candidates=(), verdicts=(), rules=BuildRules())
    assert "nothing is known of them" in card
    assert "an unknown generator" in card
    assert "agreed on" not in card


def test_the_oracles_confidence_is_told(
    records: PromqaRecords, graphs: dict[str, TaskGraph], tmp_path: Path
) -> None:
    from proctor.verify.verdict import AnswerVerdict, Verdict

    items = [
        msgspec.structs.replace(
            i, golds=tuple(msgspec.structs.replace(g, approved_by="oracle") for g in i.golds)
        )
        for i in records.items
    ]
    verdicts = [
        Verdict(
            candidate_id=c.id,
            annotator="oracle",
            annotator_kind="oracle",
            at="",
            question=AnswerVerdict("right", 1.0),
            answers=tuple(AnswerVerdict("right", 0.8 + n / 100) for _ in c.answers),
        )
        for n, c in enumerate(records.candidates)
    ]
    card = _card(records, graphs, tmp_path / "r", items=items, verdicts=verdicts, rules=RULES["oracle"])
    assert "4 candidates were judged by 1 oracle." in card
    assert "approved 5 answers; its confidence was 0.80 at least and 0.81 in the median" in card
    assert "agreed on" not in card


def test_the_card_is_a_function_of_its_arguments(
    records: PromqaRecords, graphs: dict[str, TaskGraph], tmp_path: Path
) -> None:
    manifest = write_release(tmp_path / "r", records.items, graphs, ReleaseInfo(name="tea"), RULES["humans"])
    again = render_card(manifest, records.items, {"moment": "data/test.jsonl"})
    assert again == (tmp_path / "r/README.md").read_text(encoding="utf-8")
