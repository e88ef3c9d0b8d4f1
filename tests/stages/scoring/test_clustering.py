import json
import random

import pytest
from tests.stages.scoring.scored import family

from proctor.cli.scoring.families import table_as_json
from proctor.errors import UserError
from proctor.metrics import clustering as metrics
from proctor.metrics.figure import Bars, IntervalPlot, Matrix

score_clustering = family("clustering", "gt", "pred")

FAST = {"resamples": 50, "draws": 3}


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def as_csv(head, rows):
    return head + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)


def generated(videos=4, seed=0):
    """Rows: video, frame, label, recipe, cluster."""
    rng = random.Random(seed)
    rows = []
    for v in range(videos):
        labels = [label for label in (0, 1, 0, 2, 3, 0) for _ in range(rng.randint(2, 9))]
        for f, label in enumerate(labels):
            cluster = f"c{label}" if rng.random() < 0.7 else f"c{rng.randrange(6)}"
            rows.append((f"v{v}", f, label, f"recipe {v % 2}", cluster))
    return rows


@pytest.fixture
def files(write):
    rows = generated()
    return (
        write("gt.csv", as_csv("video,frame,label,recipe", [r[:4] for r in rows])),
        write("pred.csv", as_csv("video,frame,cluster", [(r[0], r[1], r[4]) for r in rows])),
    )


def value(table, line, metric):
    found = [row for row in table.rows if (row.slice, row.metric) == (line, metric)]
    assert len(found) == 1, sorted({row.slice for row in table.rows})
    return found[0].score


def frames(text):
    return as_csv("video,label", [("v", c) for c in text])


GOLDEN = [
    ("0000123455", "0000000010", (0.2407407, 0.25, 0.1574074), (0.5, 0.5)),
    ("00000111222200", "33133002222133", (0.9166667, 0.7579365, 0.7079365), (0.9166667, 0.7857143)),
]


@pytest.mark.parametrize(("gt", "pred", "per_step", "pooled"), GOLDEN)
def test_golden(write, gt, pred, per_step, pooled):
    table = score_clustering(write("g.csv", frames(gt)), write("p.csv", frames(pred)), clusters=30, **FAST)
    found = [value(table, "per key step", m).value for m in ("precision", "recall", "IoU")]
    assert found == pytest.approx(per_step, abs=5e-8)
    assert [value(table, "pooled", m).value for m in ("precision", "recall")] == pytest.approx(
        pooled, abs=5e-8
    )
    assert table.headline["clusters"] == 30


def test_perfect(write):
    table = score_clustering(write("g.csv", frames("001122")), write("p.csv", frames("aabbcc")), **FAST)
    assert all(row.score.value == 1.0 for row in table.rows if not row.chance)
    assert all(row.score.value < 1.0 for row in table.rows if row.chance)


def test_groups(files):
    table = score_clustering(*files, group="recipe", clusters=10, rate="1 fps", **FAST)
    rows = generated()
    single = []
    for recipe in ("recipe 0", "recipe 1"):
        part = [r for r in rows if r[3] == recipe]
        single.append(metrics.key_step_iou([r[2] for r in part], [r[4] for r in part]).value)
        assert value(table, recipe, "IoU").value == pytest.approx(single[-1])
    score = value(table, "per key step", "IoU")
    assert score.value == pytest.approx(sum(single) / 2)
    assert score.n == 2
    assert score.signature.parameters["pooling"] == "recipe"
    assert score.signature.parameters["rate"] == "1 fps"
    assert score.signature.parameters["clusters"] == "10"
    assert table.counts == {"videos": 4, "groups": 2, "frames": len(rows)}
    assert not table.notes


def test_per_video(files):
    table = score_clustering(*files, per_video=True, **FAST)
    rows = generated()
    single = [
        metrics.key_step_recall(
            [r[2] for r in rows if r[0] == video], [r[4] for r in rows if r[0] == video]
        ).value
        for video in ("v0", "v1", "v2", "v3")
    ]
    assert value(table, "per key step", "recall").value == pytest.approx(sum(single) / 4)
    assert value(table, "per key step", "recall").signature.parameters["pooling"] == "video"
    pooled = score_clustering(*files, **FAST)
    chance = [value(t, "per key step: random", "IoU").value for t in (table, pooled)]
    assert chance[0] > chance[1]  # shorter sequences are easier to hit by chance


def test_background(write, files):
    scores = {
        b: value(score_clustering(*files, background=b, **FAST), "per key step", "recall")
        for b in metrics.BACKGROUNDS
    }
    rows = generated()
    for b, score in scores.items():
        known = metrics.key_step_recall([r[2] for r in rows], [r[4] for r in rows], background=b)
        assert score.value == pytest.approx(known.value)
    assert scores["class"].value != scores["dropped"].value
    assert {b: s.signature.parameters["background"] for b, s in scores.items()} == {b: b for b in scores}
    table = score_clustering(*files, background="dropped", **FAST)
    assert table.counts["background frames dropped"] == sum(r[2] == 0 for r in generated())
    other = score_clustering(*files, background="dropped", background_label="3", **FAST)
    assert other.counts["background frames dropped"] == sum(r[2] == 3 for r in generated())


def test_order_of_rows_changes_nothing(files, write):
    shuffled = []
    for path in files:
        head, *lines = path.read_text().splitlines()
        random.Random(3).shuffle(lines)
        shuffled.append(write(f"other_{path.name}", "\n".join([head, *lines]) + "\n"))
    results = [table_as_json(score_clustering(*f, group="recipe", **FAST)) for f in (files, shuffled)]
    assert json.dumps(results[0], allow_nan=False) == json.dumps(results[1], allow_nan=False)


def test_what_was_not_said_is_noted(files):
    notes = score_clustering(*files, **FAST).notes
    assert any("--clusters was not given: chance is that of 6 clusters" in note for note in notes)
    assert any("--rate" in note for note in notes)


def test_steps_without_a_cluster_are_noted(write):
    table = score_clustering(write("g.csv", frames("0123")), write("p.csv", frames("aabb")), **FAST)
    assert any("2 of 4 key steps have no cluster" in note for note in table.notes)
    assert value(table, "per key step", "recall").value == 0.5


def test_chance_has_the_spread_of_a_draw(files):
    score = value(score_clustering(*files, **FAST), "per key step: random", "F1")
    assert "mean of 3 draws, s.d." in score.note
    assert score.signature.parameters["predictor"] == "uniform"


def test_background_only(write):
    table = score_clustering(
        write("g.csv", frames("0000")), write("p.csv", frames("0123")), background="dropped", **FAST
    )
    assert all(row.score.note == "no frame has a key step" for row in table.rows)
    json.dumps(table_as_json(table), allow_nan=False)


def test_figures(files):
    one = score_clustering(*files, **FAST)
    matrix = next(f for f in one.figures if isinstance(f, Matrix))
    assert sum(map(sum, matrix.cells)) == len(generated())
    assert matrix.rows == ("0", "1", "2", "3")
    assert all(row[k] == max(row) for k, row in enumerate(matrix.cells))
    plot = next(f for f in one.figures if isinstance(f, IntervalPlot))
    assert plot.labels == ("precision", "recall", "IoU", "F1")
    assert all(v > c for v, c in zip(plot.values, plot.chance, strict=True))
    several = score_clustering(*files, group="recipe", **FAST)
    bars = next(f for f in several.figures if isinstance(f, Bars))
    assert bars.labels == ("recipe 0", "recipe 1")
    assert sum(bars.counts) == len(generated())


G = "video,frame,label\nv,0,0\nv,1,1\n"
P = "video,frame,cluster\nv,0,a\nv,1,b\n"


@pytest.mark.parametrize(
    ("gt", "pred", "message"),
    [
        (G, P + "v,2,b\n", "'v' has 2 frames in g.csv and 3 in p.csv"),
        (G, P.replace("v,1", "v,2"), "'v' has frame 1 in g.csv where p.csv has 2"),
        (G, P.replace("v,1", "w,1"), "1 videos of p.csv are missing; the first is 'w'"),
        (G + "w,0,1\n", P, "1 videos of g.csv are missing; the first is 'w'"),
        (G.replace("v,1", "v,0"), P, "frame 0 of 'v' is given twice"),
        (G, P.replace("cluster", "group"), "no column 'cluster'"),
        (G.replace("label", "name"), P, "no column 'label'"),
        (G.replace("video", "film"), P, "no column 'video'"),
        (G, P.replace("v,1", "v,x"), "number was expected"),
        (G.replace("v,1,1", "v,1,"), P, "value is missing"),
        ("video,frame,label\n", P, "no rows"),
    ],
)
def test_wrong_files(write, gt, pred, message):
    with pytest.raises(UserError, match=message):
        score_clustering(write("g.csv", gt), write("p.csv", pred), **FAST)


def test_wrong_options(files, write):
    with pytest.raises(UserError, match="6 clusters occur in 'all', more than the 3"):
        score_clustering(*files, clusters=3, **FAST)
    with pytest.raises(UserError, match="both given"):
        score_clustering(*files, group="recipe", per_video=True, **FAST)
    with pytest.raises(UserError, match="no column 'kitchen'"):
        score_clustering(*files, group="kitchen", **FAST)
    mixed = write("m.csv", "video,frame,label,recipe\nv,0,0,a\nv,1,1,b\n")
    with pytest.raises(UserError, match="'v' is in 'a' and in 'b'"):
        score_clustering(mixed, write("p.csv", P), group="recipe", **FAST)
