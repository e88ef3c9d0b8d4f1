from __future__ import annotations

from proctor.metrics.score import Score, Signature
from proctor.metrics.table import ScoreRow
from proctor.report.score_table import group_signatures


def row(metric: str, name: str, slice_: str = "all", **parameters: str) -> ScoreRow:
    return ScoreRow(metric, Score(0.5, Signature(name, parameters), 3, version=""), slice_)


def test_one_measure_is_said_once_with_what_differs_in_braces() -> None:
    rows = [row(f"mAP@{t}", "map", tiou=t, protocol="corrected") for t in ("0.1", "0.3", "0.1")]
    (group,) = group_signatures(rows)
    assert group.joined == "map|protocol:corrected|tiou:{0.1 0.3}"
    assert group.metrics == ("mAP@0.1", "mAP@0.3")
    assert [text for _, text in group.each] == [
        "map|protocol:corrected|tiou:0.1",
        "map|protocol:corrected|tiou:0.3",
    ]


def test_other_names_and_other_choices_are_other_groups_in_the_order_of_the_scores() -> None:
    rows = [
        row("F1", "f1", v="1"),
        row("AUC", "auc", v="1"),
        row("F1", "f1", chance="exact"),
        row("F1", "f1", v="2"),
    ]
    assert [group.joined for group in group_signatures(rows)] == ["f1|v:{1 2}", "auc|v:1", "f1|chance:exact"]


def test_equal_signatures_are_one() -> None:
    rows = [row("F1", "f1", "a", v="1"), row("F1", "f1", "b", v="1")]
    (group,) = group_signatures(rows)
    assert group.joined == "f1|v:1"
    assert [(found.slice, text) for found, text in group.each] == [("a", "f1|v:1")]


def test_the_version_is_a_part_of_what_is_printed() -> None:
    (group,) = group_signatures([ScoreRow("F1", Score(0.5, Signature("f1"), 3, version="1.2.3"))])
    assert group.joined == "f1|version:1.2.3"


def test_no_scores_no_signatures() -> None:
    assert group_signatures([]) == []


def test_a_group_of_chance_alone_says_so() -> None:
    chance = ScoreRow("F1", Score(0.1, Signature("f1", {"predictor": "prior"}), 3), chance=True)
    assert [group.chance for group in group_signatures([row("F1", "f1"), chance])] == [False, True]
