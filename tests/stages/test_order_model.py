"""``proctor predict -p model:RUN``: a trained model of orders answers an exam without a provider."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import msgspec
import pytest
from PIL import Image
from tests.learn.word_places import use_word_places

from proctor.errors import UserError
from proctor.exam.prediction import Prediction
from proctor.exam.question import Gold, Item, Open, Order, Ordering, Picture, Question, Text, Words
from proctor.records import read_json, read_jsonl, write_json, write_jsonl
from proctor.stages.exam_settings import PredictSettings
from proctor.stages.learn.sequence import learn_sequence
from proctor.stages.learn.sequence_settings import SequenceSettings
from proctor.stages.predict import estimate_prediction, predict, read_run_info

STEPS = {"a": "gather all", "b": "cut it", "c": "bake it"}


@pytest.fixture(autouse=True)
def word_places(monkeypatch):
    use_word_places(monkeypatch)
    monkeypatch.setattr("proctor.stages.predict.kind_named", lambda name: SimpleNamespace(name=name))


@pytest.fixture
def run(tmp_path):
    return trained(tmp_path, "text")


def trained(tmp_path, modality):
    Image.new("RGB", (8, 8)).save(tmp_path / "p.png")
    steps = [[f"{w.split()[0]} n{k % 9}" for w in STEPS.values()] for k in range(12)]
    lines = [
        {"id": f"m{k}", "task": f"t{k}", "steps": s, "pictures": ["p.png"] * 3} for k, s in enumerate(steps)
    ]
    write_jsonl(tmp_path / "manuals.jsonl", lines)
    out, data = tmp_path / f"run-{modality}", tmp_path / "manuals.jsonl"
    learn_sequence(SequenceSettings(data=data, model="tiny", modality=modality, resamples=0, out=out))
    return out


def item(name, ids, *pictures, form=None) -> Item:
    question = Question(
        cluster="t0" if name == "q2" else "",
        id=name, kind="order", text="In which order?", form=form or Order(ids=tuple(ids)),
        evidence=(*(Words(id=i, text=STEPS[i]) for i in STEPS), *pictures),
    )  # fmt: skip
    return Item(question=question, golds=(Gold(value=Ordering(ids=tuple(sorted(ids)))),))


def workspace(tmp_path, *items):
    root = tmp_path / "bench"
    root.mkdir()
    write_jsonl(root / "items.jsonl", items)
    return root


def test_answers_are_presented_numbers_given_once_and_for_nothing(tmp_path, run):
    root = workspace(tmp_path, item("q1", "cab"), item("q2", "abc"))
    assert estimate_prediction(root, f"model:{run}").calls == 0
    assert predict(root, f"model:{run}", PredictSettings(limit=1))[0].asked_now == 1
    (done,) = predict(root, f"model:{run}")
    assert (done.answered, done.asked_now, done.failed, done.run) == (2, 1, 0, "order-run-text")
    assert "1 of 2 items are of tasks that the model was trained on" in done.note
    one, two = read_jsonl(root / "runs" / done.run / "predictions.jsonl", Prediction)
    assert (one.answer, two.answer) == ("[2, 3, 1]", "[1, 2, 3]")
    matrix = msgspec.json.decode(one.details["precedence"])
    assert matrix[1][0] > 0.5 > matrix[0][1]
    info = read_run_info(root / "runs" / done.run)
    assert (info.role, info.show, info.form) == ("system", "text", "order")


def test_missing_and_broken_pictures_fail_one_by_one(tmp_path):
    run = trained(tmp_path, "both")
    pictures = [[Picture(path=f"{name}.png", id="a")] for name in ("good", "gone", "broken")]
    root = workspace(tmp_path, *(item(f"q{k}", "abc", *p) for k, p in enumerate(pictures)))
    Image.new("RGB", (8, 8)).save(root / "good.png")
    (root / "broken.png").write_bytes(b"\x89PNG nothing")
    (done,) = predict(root, f"model:{run}")
    good, gone, broken = read_jsonl(root / "runs" / done.run / "predictions.jsonl", Prediction)
    assert good.answer == "[1, 2, 3]"
    assert gone.failure == "not_shown: picture-missing: there is no file 'gone.png'"
    assert (
        broken.failure == "not_shown: picture-no_image: it is no image (it starts with b'\\x89PNG nothing')"
    )
    assert done.failed == 2


def test_other_questions_and_folders_are_refused(tmp_path, run):
    open_one = msgspec.structs.replace(item("q1", "abc", form=Open()), golds=(Gold(value=Text(text="so")),))
    root = workspace(tmp_path, open_one)
    with pytest.raises(UserError, match="none of these items is answered by an order"):
        predict(root, f"model:{run}")
    write_jsonl(root / "items.jsonl", [item("q1", "abc")])
    with pytest.raises(UserError, match="no such folder"):
        predict(root, f"model:{tmp_path / 'nowhere'}")
    record = read_json(run / "run.json")
    write_json(run / "run.json", record | {"target": "steps in time"})
    with pytest.raises(UserError, match="a run about steps in time"):
        predict(root, f"model:{run}")


def test_what_asks_and_lists_needs_nothing_that_trains() -> None:
    names = "predict", "report", "order_model", "learn.sequence", "learn.runs"
    code = "import sys\nsys.modules['torch'] = sys.modules['sklearn'] = None\n" + "".join(
        f"import proctor.stages.{name}\n" for name in names
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    code = "import sys, proctor.stages.predict\nassert not [m for m in sys.modules if m.startswith('proctor.learn')]"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
