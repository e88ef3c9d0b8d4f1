"""The printed figures: copied right, as far as they can be recomputed."""

import csv

import pytest

from proctor.learn.published import (
    ANOMALY,
    EARLY,
    KIND_STEPS,
    SUPERVISED,
    TABLES,
    WINDOWS,
    ZERO_SHOT,
    ZERO_SHOT_KINDS,
    always_mistaken,
    size_of,
)

MISPRINTS = "no whole numbers"


@pytest.mark.parametrize(("rows", "n", "solved"), [(SUPERVISED, 26, 20), (EARLY, 16, 14)])
def test_rows_follow_from_whole_numbers_but_for_those_with_a_note(rows, n, solved):
    assert len(rows) == n
    assert sum(bool(row.counts) for row in rows) == solved
    for row in rows:
        assert bool(row.counts) != row.note.startswith(MISPRINTS), (row.split, row.name)
        assert len(row.counts) <= 1


@pytest.mark.parametrize(
    ("split", "name", "counts"), [("S", "Omnivore V1", (37, 19)), ("R", "3DResNet V1", (227, 376))]
)
def test_rows_known_by_hand(split, name, counts):
    (row,) = [r for r in SUPERVISED if (r.split, r.name) == (split, name)]
    assert row.counts == (counts,)


def test_one_step_of_split_s_has_no_features_of_imagebind():
    assert {size_of(r) for r in SUPERVISED if r.model == "ImageBind"} == {(798, 249), (671, 241)}
    assert {size_of(r) for r in SUPERVISED if r.model != "ImageBind"} == {(799, 249), (671, 241)}


def test_chance_beats_most_rows():
    chance = {row.split: always_mistaken(*size_of(row)) for row in SUPERVISED[::13]}
    assert (round(chance["R"][0], 2), round(chance["R"][-1], 2)) == (35.92, 52.85)
    assert (round(chance["S"][0], 2), round(chance["S"][-1], 2)) == (31.16, 47.52)
    better = [(r.split, r.name) for r in SUPERVISED if r.beats_always_mistaken]
    assert better == [
        *(("S", name) for name in ("Omnivore V2", "3DResNet V2", "ImageBind VADT")),
        *(("R", name) for name in ("3DResNet V1", "ImageBind VADT")),
    ]
    assert not any(r.beats_always_mistaken for r in (*EARLY, *ZERO_SHOT))
    assert round(always_mistaken(*size_of(ZERO_SHOT[0]))[-1], 1) == 51.3


def ends(value):
    """What a figure with one decimal place may stand for."""
    return max(value - 0.05, 0.0), value + 0.05


def test_two_f1_lie_outside_of_what_precision_and_recall_allow():
    def harmonic(p, r):
        return 2 * p * r / (p + r) if p + r else 0.0

    impossible = []
    for row in (*ZERO_SHOT, *ZERO_SHOT_KINDS):
        least, most = (harmonic(p, r) for p, r in zip(ends(row.precision), ends(row.recall), strict=True))
        if not least - 0.05 <= row.f1 <= most + 0.05:
            impossible.append((row.name, row.kind))
            assert f"{harmonic(row.precision, row.recall):.1f}" in row.note
        else:
            assert not row.note
    assert impossible == [("Video-LLaVA V1", ""), ("TimeChat V2", "missing")]


def test_accuracy_of_the_zero_shot_rows_gives_the_prevalence_of_all_entries():
    """From accuracy, precision and recall: (1 - accuracy) = p (1 - recall) + p recall (1 - precision) / precision."""
    for row in ZERO_SHOT:
        p, r = row.precision / 100, row.recall / 100
        share = (1 - row.accuracy / 100) / (1 - r + r * (1 - p) / p)
        assert share == pytest.approx(1964 / 5700, abs=0.006)
    assert len(ZERO_SHOT_KINDS) == 2 * len(KIND_STEPS)


def test_every_table_has_its_rows():
    assert [len(rows) for rows in TABLES.values()] == [26, 4, 14, 16, 0]
    assert all(row.table == number for number, rows in TABLES.items() for row in rows)
    assert len(WINDOWS) == 9
    assert all(49 < v < 51 for row in ANOMALY for v in (row.auc, row.equal_error_rate))


@pytest.mark.shared
def test_table_12_is_the_released_table_of_results(shared_data):
    with (shared_data / "msl" / "published_all.csv").open(encoding="utf-8") as stream:
        found = {(r["Backbone"], r["DivisionType"][0].upper(), r["IoU"]): r for r in csv.DictReader(stream)}
    for row in WINDOWS:
        for name, places, values in (
            ("Recall@1x", "123", row.recall_1),
            ("Recall@5x", "234", row.recall_5),
            ("mAP", "345", row.mean_ap),
        ):
            key = (f"omnivore_{row.seconds}s", row.split)
            assert [float(found[*key, f"0.{k}"][name]) for k in places] == list(values)


@pytest.mark.shared
def test_kinds_are_counted_in_the_annotations(shared_data):
    import json

    entries = json.loads(
        (shared_data / "captaincook4d/annotation_json/error_annotations.json").read_text("utf-8")
    )
    steps = [step for entry in entries for step in entry["step_annotations"]]
    tags = [{error["tag"].split()[0].lower() for error in step.get("errors", ())} for step in steps]
    assert len(steps) == 5700
    assert {kind: sum(kind in found for found in tags) for kind in KIND_STEPS} == KIND_STEPS
