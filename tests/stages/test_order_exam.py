"""The exam on orders of steps, end to end: a file comes in, two models and the floors answer over HTTP, it is scored and reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image
from tests.exam.kinds.test_order_marks import made
from tests.report.opening import closed, miscounted

from proctor.errors import UserError
from proctor.exam.prediction import Prediction
from proctor.exam.question import Item, Ordering, Picture, Words
from proctor.exam.table import ScoreTable
from proctor.records import Dropped, read_json, read_jsonl
from proctor.report.compose import compose
from proctor.report.data import ReportData, ReportOptions
from proctor.report.examples import Evidence, example_cards
from proctor.report.page import render_page
from proctor.report.parts import Cell, Table
from proctor.report.standing import stand
from proctor.stages.answers import read_answers
from proctor.stages.exam_settings import JudgeSettings, PredictSettings, ScoreSettings
from proctor.stages.judge import judge
from proctor.stages.predict import estimate_prediction, predict
from proctor.stages.report_exams import load_exams
from proctor.stages.score import score
from proctor.stages.sequence_items import import_sequences
from proctor.stages.trial import trial
from proctor.workspace import Workspace
from proctor_rehearsal.players.player import rehearse

STEPS = ("First, wash {}.", "Cut {} into cubes.", "Boil {} for an hour.", "Season {}.", "Serve and enjoy {}.")


@pytest.fixture
def manuals(tmp_path: Path) -> Path:
    """Twelve manuals of six tasks with a picture of each step; some with further orders, task graphs, or something wrong."""
    lines = []
    for n in range(12):
        pictures = [f"{n}-{k}.png" for k in range(5)]
        for k, name in enumerate(pictures):
            Image.new("RGB", (24, 16), (20 * n, 50 * k, 9)).save(tmp_path / name)
        line = {
            "id": f"m{n}", "task": f"t{n // 2}", "goal": f"Soup {n}", "category": "Food" if n % 2 else "Home",
            "steps": [step.format(f"turnip {n}") for step in STEPS], "pictures": pictures,
        }  # fmt: skip
        lines.append(line)
    lines[0]["references"] = {"both": [[0, 2, 1, 3, 4]]}
    lines[1]["before"] = [[0, 1], [1, 4], [2, 4], [3, 4]]
    lines[2]["pictures"][1] = "../outside.png"  # type: ignore[index]
    (tmp_path / "3-0.png").write_text("no picture")
    lines[4]["steps"][2], lines[4]["pictures"][2] = "", "gone.png"  # type: ignore[index]
    lines.append({"id": "one", "steps": ["Alone."]})
    file = tmp_path / "manuals.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    return file


def items_of(root: Path) -> dict[str, Item]:
    return {item.id: item for item in read_jsonl(root / "items.jsonl", Item)}


def texts(item: Item, order: tuple[str, ...]) -> list[str]:
    shown = {part.id: part.text for part in item.question.evidence if isinstance(part, Words)}
    return [shown[id_] for id_ in order]


def test_a_file_becomes_items_with_its_right_orders_and_what_is_left_out_is_listed(
    manuals: Path, tmp_path: Path
) -> None:
    root = tmp_path / "bench"
    done = import_sequences(manuals, root)
    assert (done.items, done.several, done.pictures) == (11, 2, 53)
    items = items_of(root)
    first, graph = items["m0"], items["m1"]
    assert first.question.form.ids == ("1", "2", "3", "4", "5")  # type: ignore[union-attr]
    assert [gold.approved_by for gold in first.golds] == ["authors", "authors"]
    orders = [gold.value for gold in first.golds if isinstance(gold.value, Ordering)]
    authored = [step.format("turnip 0") for step in STEPS]
    assert texts(first, orders[0].ids) == authored
    assert texts(first, orders[1].ids) == [authored[n] for n in (0, 2, 1, 3, 4)]
    (value,) = [gold.value for gold in graph.golds if isinstance(gold.value, Ordering)]
    assert texts(graph, value.before[0] if value.before else ()) == [s.format("turnip 1") for s in STEPS[:2]]
    assert (first.question.facts, first.question.cluster) == ({"goal": "Soup 0"}, "t0")
    assert any(item.question.form.ids != item.golds[0].value.ids for item in items.values())  # type: ignore[union-attr]
    for item in items.values():
        for part in item.question.evidence:
            if isinstance(part, Picture):
                assert part.path.startswith("pictures/")
                assert (root / part.path).is_file()
    dropped = {(d.id, d.reason) for d in read_jsonl(root / "build.dropped.jsonl", Dropped)}
    assert dropped == {
        ("one", "too-few-steps"),
        ("m2", "picture"),
        ("m3", "picture-no_image"),
        ("m4", "picture-missing"),
        ("m4", "step-not-shown"),
    }
    with pytest.raises(UserError, match="has items already"):
        import_sequences(manuals, root)
    alone = import_sequences(manuals, tmp_path / "image", "image")
    assert (alone.items, alone.dropped["step-not-shown"]) == (9, 3)
    assert len(items_of(tmp_path / "image")["m0"].golds) == 1  # the further order was given for both


def test_two_models_and_the_floors_over_http(manuals: Path, tmp_path: Path) -> None:
    root = tmp_path / "bench"
    import_sequences(manuals, root)
    with rehearse(root, quality={"wise": 1.0, "": 0.3}, seed=2) as server:
        for name in ("wise", "quick"):
            predict(root, f"compat/{name}@{server.url}/v1")
        wise = f"compat/wise@{server.url}/v1"
        predict(root, wise, PredictSettings(show="text+goal", style="pairwise"))
        predict(root, wise, PredictSettings(show="image", style="pairwise"))
        (blind,) = predict(root, wise, PredictSettings(show="question"))
    assert blind.run == "order-compat-wise-question"
    for name in ("chance", "presented", "cue-words"):
        predict(root, name)
    with pytest.raises(UserError, match="need no judge"):
        judge(root, JudgeSettings())
    table = score(root, ScoreSettings(resamples=200))
    lines = {line.run: line for line in table.runs}
    assert lines["order-compat-wise-both"].score == 1.0
    assert lines["order-compat-wise-text-goal-pairwise"].score == 1.0
    seen = table.tables["order-compat-wise-image-pairwise"].item_marks
    assert {id_ for id_, mark in seen.items() if mark != 1.0} <= {"m2", "m3"}  # they lack a picture
    assert lines["order-compat-wise-question"].score != 1.0
    quick, chance = lines["order-compat-quick-both"].score, lines["order-chance"].score
    assert (chance or 0) < (quick or 0) < 1
    assert lines["order-compat-quick-both"].measure == "position_accuracy"
    assert lines["order-chance"].role == "floor"
    stored = read_json(root / "runs/order-compat-quick-both/scores.json", ScoreTable)
    assert stored.item_marks == stored.marks["position_accuracy"]  # though files sort measures by name
    assert stored.row(measure="displacement").lower
    assert stored.row(measure="valid_order").asked == 1
    pairs = {(c.a, c.b) for c in table.comparisons}
    assert len(pairs) == len(lines) * (len(lines) - 1) // 2
    exams, options = load_exams(Workspace(root), ()), ReportOptions(resamples=200)
    cards = tuple(example_cards(stand(exams[0], options), lambda _: Evidence(), {}, {}))
    page = compose(ReportData(exams=exams, examples=cards), options)
    tables = [part for section in page.sections for part in section.parts if isinstance(part, Table)]
    further = next(t for t in tables if t.title == "Further measures")
    assert further.head[1:3] == ("Whole order right", "Lq, steps")
    last = further.rows[-1][2]
    assert isinstance(last, Cell)
    assert last.text == "2.81"  # five steps: 2.79, and a little more where several orders are right
    assert last.find == (("exam", exams[0].title),)
    assert closed(render_page(page)) == {}
    assert [*miscounted(render_page(page))] == []


def test_a_dry_run_sees_the_pictures_and_asks_for_every_pair(manuals: Path, tmp_path: Path) -> None:
    root = tmp_path / "bench"
    import_sequences(manuals, root)
    pairs = PredictSettings(style="pairwise")
    with trial(root) as (copy, limits):
        estimates = [estimate_prediction(copy, "openai/gpt-4o", s, limits=limits) for s in (None, pairs)]
    assert [estimate.calls for estimate in estimates if estimate is not None] == [11, 11 * 20]


def test_people_answer_by_numbers_as_presented_or_by_ids(manuals: Path, tmp_path: Path) -> None:
    root = tmp_path / "bench"
    import_sequences(manuals, root, "text")
    right = {id_: item.golds[0].value.ids for id_, item in items_of(root).items()}  # type: ignore[union-attr]
    given: dict[str, object] = {
        "m0": ", ".join(right["m0"]), "m1": list(right["m1"]), "m2": [int(id_) for id_ in right["m2"]],
        "m3": " → ".join(f"Step {id_}" for id_ in right["m3"]), "m5": "no idea",
        "m7": [int(id_) - 1 for id_ in right["m7"]],
    }  # fmt: skip
    file = tmp_path / "ana.jsonl"
    file.write_text("\n".join(json.dumps({"item_id": i, "answer": answer}) for i, answer in given.items()))
    (run,) = predict(root, f"human:{file}")
    found = {p.item_id: p for p in read_jsonl(root / f"runs/{run.run}/predictions.jsonl", Prediction)}
    assert [found[id_].answer for id_ in ("m1", "m2")] == [", ".join(right[id_]) for id_ in ("m1", "m2")]
    marks = score(root, ScoreSettings(resamples=200)).tables[run.run].item_marks
    assert [marks[id_] for id_ in given] == [1.0, 1.0, 1.0, 1.0, 0.0, 1.0]
    assert marks["m6"] is None


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("A, B, C", "3, 1, 2"),
        ("c > a", "2, 3"),
        (["a", "x", "b"], "3, x, 1"),
        ("3, 1, 2", "3, 1, 2"),
        ("a", "a"),
    ],
)
def test_ids_of_steps_go_before_letters_of_places(said: object, read: str, tmp_path: Path) -> None:
    file = tmp_path / "ana.jsonl"
    file.write_text(json.dumps({"item_id": "x", "answer": said}))
    ((found,),) = read_answers(file, [made("x", "bca", "abc")]).found.values()
    assert found.answer == read
