"""``proctor learn sequence``: figures beside floors, run folders, and what is refused, with a small model in place of trained ones."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.learn.word_places import use_word_places
from typer.testing import CliRunner

from proctor.cli.learn import app
from proctor.errors import UserError
from proctor.learn.sequencing.data import Ordered, Presented
from proctor.learn.sequencing.figures import evaluate_orders, pair_truths
from proctor.metrics.ordering import expected_measures
from proctor.procedure.manual import Sequence, SequenceStep
from proctor.records import write_jsonl
from proctor.stages.learn.runs import list_runs
from proctor.stages.learn.sequence import learn_sequence, read_learned, read_test_part
from proctor.stages.learn.sequence_page import draw_sequences
from proctor.stages.learn.sequence_settings import SequencePageSettings, SequenceSettings
from proctor.stages.learn.settings import RunsSettings
from proctor.stages.order_model import load_order_model
from proctor.stages.scoring.options import OrderingSettings
from proctor.stages.scoring.ordering import score_ordering

WORDS = ("gather", "cut", "mix", "bake", "serve")


@pytest.fixture(autouse=True)
def word_places(monkeypatch):
    use_word_places(monkeypatch)


@pytest.fixture
def manuals(tmp_path) -> Path:
    """Thirty manuals of fifteen tasks: a telling word in each step, which one in five steps lacks."""
    rng = random.Random(1)
    lines = []
    for k in range(30):
        steps = [
            f"{word if rng.random() > 0.2 else 'do'} n{rng.randrange(9)} x{rng.randrange(90)}"
            for word in WORDS
        ]
        line = {"id": f"m{k}", "task": f"t{k // 2}", "steps": steps, "category": ("Food", "Home")[k % 2]}
        if k % 3 == 0:
            line |= {"references": {"text": [[1, 0, 2, 3, 4]]}, "before": [[0, 2], [1, 2], [2, 3], [3, 4]]}
        lines.append(line)
    lines += [
        {"id": "one", "task": "t0", "steps": ["alone"]},
        {"id": "same", "task": "t0", "steps": ["stir", "stir"]},
        {"id": "long", "task": "t0", "steps": [f"s {n}" for n in range(70)]},
    ]
    write_jsonl(tmp_path / "manuals.jsonl", lines)
    return tmp_path / "manuals.jsonl"


def asked(data: Path, **given) -> SequenceSettings:
    return SequenceSettings(**({"data": data, "model": "pairwise", "resamples": 300} | given))


def test_figures_beside_floors(manuals):
    found = learn_sequence(asked(manuals))
    assert found.dropped == {"too-few-steps": 1, "nothing-to-order": 1, "too-many-steps": 1}
    assert sum(found.parts.values()) == 30
    assert found.test.n == found.parts["test"]
    assert set(found.floors) == {"chance", "presented", "shortest-first", "longest-first", "cue-words"}
    assert found.floors["chance"].perfect_match_ratio == pytest.approx(1 / 120)
    assert found.test.kendall_tau > found.floors["chance"].kendall_tau + 0.3
    low, high = found.test.intervals["kendall_tau"]
    assert low < found.test.kendall_tau < high
    best = found.compared["kendall_tau"]
    assert best.difference == pytest.approx(found.test.kendall_tau - found.floors[best.floor].kendall_tau)
    assert set(found.by_category) == {"Food", "Home"}
    assert set(found.by_alternatives) == {"one order", "several orders"}
    assert found.references["multi"].n + found.references["single"].n == found.test.n
    several = found.references["multi"]
    assert several.multi["perfect_match_ratio"] >= several.single["perfect_match_ratio"]
    assert found.partial["valid_order"].chance == pytest.approx(2 / 120)
    assert found.calibration.pairs == 10 * found.test.n
    assert "a note of the training" in found.notes


def test_a_run_goes_on_after_a_kill_is_scored_alike_and_read_again(manuals, tmp_path, monkeypatch):
    out = tmp_path / "run"
    with monkeypatch.context() as patched:
        patched.setattr("proctor.stages.learn.sequence.train_order", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            learn_sequence(asked(manuals, out=out))
    with pytest.raises(UserError, match="not finished"):
        read_learned(out)
    found = learn_sequence(asked(manuals, out=out))
    scored = score_ordering(
        OrderingSettings(
            gt=out / "items.jsonl", pred=out / "predictions.jsonl", references="first", cluster="task"
        )
    )
    rows = {row.metric: row.score.value for row in scored.rows if not row.chance}
    assert rows["PMR"] == pytest.approx(found.test.perfect_match_ratio)
    assert rows["tau"] == pytest.approx(found.test.kendall_tau)
    assert json.loads((out / "run.json").read_text())["results"]["test"]["n"] == found.test.n
    (listed,) = list_runs(RunsSettings(folder=tmp_path))
    assert listed.perfect_match == found.test.perfect_match_ratio
    monkeypatch.setattr("proctor.stages.learn.sequence.train_order", lambda *_: pytest.fail("it is done"))
    assert learn_sequence(asked(manuals, out=out)) == found == read_learned(out)
    with pytest.raises(UserError, match=r"another configuration \(seed\)"):
        learn_sequence(asked(manuals, out=out, seed=1))
    monkeypatch.undo()
    use_word_places(monkeypatch)
    items = (out / "items.jsonl").read_bytes()
    (out / "items.jsonl").unlink()
    assert learn_sequence(asked(manuals, out=out)) == found
    assert (out / "items.jsonl").read_bytes() == items


def test_the_order_of_the_file_changes_nothing(manuals, tmp_path):
    lines = manuals.read_text().splitlines(keepends=True)
    (tmp_path / "other.jsonl").write_text("".join(reversed(lines)))
    one, other = learn_sequence(asked(manuals)), learn_sequence(asked(tmp_path / "other.jsonl"))
    assert (one.test, one.floors, one.compared) == (other.test, other.floors, other.compared)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": "berson"}, "needs an encoder"),
        ({"model": "tiny", "encoder": "text:x"}, "encoder of its own"),
        ({"pretrain": "mlm"}, "is not pretrained"),
        ({"model": "tiny", "pretrain": "mlm,isp"}, "'isp' needs pictures"),
        ({"model": "tiny", "pretrain": "mlm", "modality": "image"}, "'mlm' needs texts"),
        ({"model": "tiny", "pretrain": "swap"}, "no objective"),
        ({"model": "tiny", "modality": "image"}, "none of its steps has a picture"),
        ({"most_steps": 2}, "no sequence is left"),
        ({"data": "one.jsonl"}, "30 sequences of 1 tasks cannot be divided"),
    ],
)
def test_what_does_not_go_together_is_refused(manuals, given, message):
    lines = [json.loads(line) for line in manuals.read_text().splitlines()[:30]]
    write_jsonl(manuals.parent / "one.jsonl", [line | {"task": "tea"} for line in lines])
    given = {name: manuals.parent / value if name == "data" else value for name, value in given.items()}
    with pytest.raises(UserError, match=message):
        learn_sequence(asked(**({"data": manuals} | given)))


def sequence(name: str, *texts: str) -> Sequence:
    return Sequence(
        id=name, goal="", steps=tuple(SequenceStep(str(n), t) for n, t in enumerate(texts)), task=name
    )


def test_the_pairwise_model_is_trained_kept_and_opened_again(manuals, tmp_path, monkeypatch):
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    monkeypatch.undo()  # the model itself
    found = learn_sequence(asked(manuals, out=tmp_path / "run"))
    assert found.test.kendall_tau > found.floors["chance"].kendall_tau + 0.2
    items, predicted = read_test_part(tmp_path / "run")
    with pytest.raises(UserError, match="no finished run"):
        load_order_model(tmp_path, tmp_path)
    again = load_order_model(tmp_path / "run", tmp_path).predict(items)
    assert [one.order for one in again] == [one.order for one in predicted]
    np.testing.assert_allclose(again[0].precedence, predicted[0].precedence, atol=1e-4)


def test_steps_that_look_alike_count_in_either_order_for_chance_too():
    items = [Presented(sequence("a", "stir", "pour", "stir"), (2, 1, 0))]
    found = evaluate_orders(items, [Ordered((0, 1, 2), np.full((3, 3), 0.5))], "text", resamples=0)
    assert found.test.perfect_match_ratio == 1
    assert found.floors["chance"].perfect_match_ratio == pytest.approx(1 / 3)
    assert found.floors["chance"].kendall_tau == pytest.approx(5 / 9)  # 1, 1/3 and 1/3
    assert found.calibration.pairs == 2
    assert not found.test.intervals


def test_chance_of_different_steps_is_exact():
    items = [
        Presented(sequence("a", "x", "y", "z"), (0, 1, 2)),
        Presented(sequence("b", *"pqrst"), (4, 3, 2, 1, 0)),
    ]
    orders = [Ordered((0, 1, 2)), Ordered((0, 1, 2, 3, 4))]
    found = evaluate_orders(items, orders, "text", resamples=0)
    for name in ("position_accuracy", "longest_common_subsequence", "displacement"):
        wanted = (expected_measures(3)[name] + expected_measures(5)[name]) / 2
        assert getattr(found.floors["chance"], name) == pytest.approx(wanted)
    assert found.calibration is None
    assert found.test.kendall_tau == 0  # the second one backwards


def test_pairs_are_averaged_over_both_directions():
    item = Presented(sequence("a", "x", "y"), (1, 0))
    truth, stated = pair_truths([item], [Ordered((1, 0), np.array([[0.5, 0.1], [0.7, 0.5]]))], "text")
    assert truth.tolist() == [0.0]  # slot 0 shows step 1
    assert stated.tolist() == pytest.approx([0.2])


def test_the_command_prints_a_table_with_floors_and_json(manuals):
    command = ["sequence", "--data", str(manuals), "--model", "pairwise", "--resamples", "100"]
    text = CliRunner().invoke(app, command)
    assert text.exit_code == 0
    assert "floor: chance" in text.output
    assert "expected calibration error" in text.output
    found = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    assert found["test"]["perfect_match_ratio"] > found["floors"]["chance"]["perfect_match_ratio"]
    assert len(found["test"]["intervals"]["kendall_tau"]) == 2


def test_tables_hold_printed_rows_ours_and_chance_and_say_what_is_missing(manuals, tmp_path):
    command = ["sequence-table", "2", "--data", str(manuals), "--out", str(tmp_path / "runs"), "--seeds", "2"]
    found = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    rows = {(r["source"], r["modality"], r["model"], r["pretraining"], r["data"]): r for r in found["rows"]}
    assert rows["printed", "multimodal", "CLIP-ViL", "Y", "wikihow"]["values"][1] == 65.67
    assert rows["printed", "text", "human", "", "recipeqa"]["values"][1] == 78.56
    tiny = rows["ours", "text", "tiny", "MLM", "manuals"]
    assert tiny["values"][4] > 0.3
    assert len(tiny["deviations"]) == 6
    assert rows["chance", "text", "random order", "", "manuals"]["values"][1] == pytest.approx(100 / 120)
    assert "picture" in rows["missing", "image", "tiny", "", "manuals"]["note"]
    text = CliRunner().invoke(app, [*command, "--as", "markdown"])
    assert "CLIP-ViL" in text.output
    three = CliRunner().invoke(app, ["sequence-table", "3", *command[2:], "--as", "latex"])
    assert "ISP+PISP" in three.output


def test_the_page_shows_runs_people_pairs_and_orders(manuals, tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    found = learn_sequence(asked(manuals, out=one))
    learn_sequence(asked(manuals, out=other, model="tiny"))
    items = [json.loads(line) for line in (one / "items.jsonl").read_text().splitlines()]
    said = [
        {"item_id": i["id"], "worker_id": who, "modality": "text", "submitted_order": i["order"]}
        for i in items[1:]
        for who in ("ann", "bob")
    ]
    write_jsonl(tmp_path / "people.jsonl", said)
    page = tmp_path / "page.html"
    command = [
        "sequence-page",
        str(one),
        str(other),
        "--out",
        str(page),
        "--people",
        str(tmp_path / "people.jsonl"),
    ]
    told = CliRunner().invoke(app, command)
    assert f"People put {len(items) - 1} of {len(items)} test sequences in order" in told.output
    text = page.read_text()
    assert text.count('class="orders"') == found.test.n
    assert "misplaced" in text
    assert "Interchangeable" in text
    board = text[text.index("On the same test sequences") : text.index("longest common subsequence and run")]
    heads = [board.index(name) for name in ("Acc", "PMR", "Lq", "Lr", "tau", "Dist")]
    assert heads == sorted(heads)
    chance = re.sub(r"(<[^>]+>|\s)+", " ", board[board.index(">chance") :])
    assert re.search(r" 20\.0 20\.0 to 20\.0 0\.8 0\.8 to 0\.8 2\.79 ", chance)
    assert f"{len(said)} orders by 2 people" in text
    assert f"(expected calibration error {found.calibration.expected_calibration_error:.3f})" in text
    before = page.read_bytes()
    CliRunner().invoke(app, command)
    assert page.read_bytes() == before
    learn_sequence(asked(manuals, out=tmp_path / "seed", seed=2))
    with pytest.raises(UserError, match="other sequences"):
        draw_sequences(SequencePageSettings(runs=(one, tmp_path / "seed"), out=page))


def test_texts_of_a_page_are_escaped_and_pictures_small_and_inside(manuals, tmp_path):
    lines = [json.loads(line) for line in manuals.read_text().splitlines()[:30]]
    Image.new("RGB", (900, 600), "red").save(tmp_path / "p.png")
    (tmp_path / "bad.png").write_text("no picture")
    for line in lines:
        line["steps"][0] += " <script>alert(1)</script>"
        line["pictures"] = ["p.png", None, "gone.png", "bad.png", None]
    write_jsonl(tmp_path / "risky.jsonl", lines)
    found = learn_sequence(asked(tmp_path / "risky.jsonl", modality="both", out=tmp_path / "run"))
    assert found.dropped == {"picture-missing": 30, "picture-no_image": 30}
    drawn = draw_sequences(SequencePageSettings(runs=(tmp_path / "run",), out=tmp_path / "page.html"))
    text = (tmp_path / "page.html").read_text()
    assert "<script>alert" not in text
    assert text.count('<img src="data:image/webp;base64,') == 2 * drawn.sequences
    assert len(text) < 400_000


def test_features_made_before_need_no_pictures(manuals, tmp_path):
    lines = [
        json.loads(line) | {"pictures": ["gone.png"] * 5} for line in manuals.read_text().splitlines()[:30]
    ]
    for k, line in enumerate(lines):
        line["pictures"][k % 5] = "other.png"
    write_jsonl(tmp_path / "grid.jsonl", lines)
    np.save(tmp_path / "gone.npy", np.zeros((4, 2)))
    given = {"model": "berson", "modality": "image", "encoder": f"features:{tmp_path}"}
    assert learn_sequence(asked(tmp_path / "grid.jsonl", **given)).dropped == {}
