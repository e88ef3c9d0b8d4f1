"""A sweep of settings: what is tried, that it goes on after a kill, and that validation alone chooses."""

import json
import re
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from proctor.cli.learn import app
from proctor.errors import UserError
from proctor.stages.learn import sweep
from proctor.stages.learn.mistakes import LearnedMistakes, Part
from proctor.stages.learn.settings import SweepSettings

FILE = """
draws = 2
seed = 1
[fixed]
annotations = "captaincook4d"
model = "v1"
features = ["store"]
[grid]
seed = [0, 1]
context = ["causal", "offline"]
[random]
lr = {low = 1e-5, high = 1e-2, log = true}
batch = [16, 32]
"""


def part(auc):
    blank = dict.fromkeys(Part.__struct_fields__)
    return Part(**{**blank, "n": 10, "positives": 5, "recordings": 2, "decided": (), "auc": auc, "auc_within": auc / 2,
                   "average_precision": auc / 4})  # fmt: skip


@pytest.fixture
def trained(monkeypatch):
    """A made training: offline is better on validation and worse on test."""
    calls = []

    def learn(settings, options):
        calls.append((settings, options))
        if getattr(learn, "kill_after", None) == len(calls):
            raise KeyboardInterrupt
        if options.batch in getattr(learn, "broken", ()):
            raise UserError("out of memory.")
        good = settings.context == "offline"
        val, test = 0.6 + 0.1 * good + 0.01 * settings.seed, 0.9 - 0.3 * good
        blank = dict.fromkeys(LearnedMistakes.__struct_fields__)
        return LearnedMistakes(**{**blank, "val": part(val), "test": part(test), "chosen": {"best_epoch": 3}})

    monkeypatch.setattr(sweep, "learn_mistakes", learn)
    learn.calls = calls
    return learn


@pytest.fixture
def asked(tmp_path):
    (tmp_path / "sweep.toml").write_text(FILE)
    return SweepSettings(settings=tmp_path / "sweep.toml", out=tmp_path / "out")


def test_every_combination_of_the_grid_with_every_draw(asked):
    trials, figure = sweep.trials_of(asked.settings, asked.out)
    assert (len(trials), figure, len({t.name for t in trials})) == (8, "auc", 8)
    assert {(t.mistakes.seed, t.mistakes.context) for t in trials} == {
        (seed, context) for seed in (0, 1) for context in ("causal", "offline")
    }
    rates = {t.training.lr for t in trials}
    assert len(rates) == 2
    assert all(1e-5 <= rate <= 1e-2 for rate in rates)
    assert {t.training.batch for t in trials} <= {16, 32}
    one = trials[0].mistakes
    assert (str(one.annotations), one.features[0].name, one.out) == (
        "captaincook4d",
        "store",
        asked.out / trials[0].name,
    )
    assert trials == sweep.trials_of(asked.settings, asked.out)[0]


def test_the_best_on_validation_is_chosen_though_another_is_better_on_test(trained, asked):
    found = sweep.sweep_mistakes(asked)
    assert len(found.rows) == 4
    assert [row.varied["context"] for row in found.rows] == ["offline", "offline", "causal", "causal"]
    assert found.rows[0].figure == pytest.approx(0.705)
    assert found.rows[0].deviation == pytest.approx(0.01 / 2**0.5)
    assert found.test == pytest.approx({"auc": 0.6, "auc_within": 0.3, "average_precision": 0.15})
    assert (found.trained, found.failed) == (8, {})


def test_a_killed_sweep_goes_on(trained, asked):
    trained.kill_after = 4
    with pytest.raises(KeyboardInterrupt):
        sweep.sweep_mistakes(asked)
    journal = asked.out / sweep.JOURNAL
    assert len(journal.read_text().splitlines()) == 3
    trained.kill_after = None
    seen = []
    found = sweep.sweep_mistakes(asked, seen=lambda: seen.append(1))
    assert (found.trained, len(seen), len(trained.calls)) == (5, 5, 9)
    again = sweep.sweep_mistakes(asked)
    assert again.trained == 0
    assert again.rows == found.rows
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    assert len({line["trial"] for line in lines}) == len(lines) == 8
    assert lines[0]["chosen"] == {"best_epoch": 3}


def test_trials_that_fail_are_told_and_tried_again(trained, asked):
    asked.settings.write_text(
        FILE.replace("[grid]", "[grid]\nbatch = [1, 2]").replace("batch = [16, 32]", "")
    )
    trained.broken = (2,)
    found = sweep.sweep_mistakes(asked)
    assert len(found.failed) == 8
    assert all("out of memory" in why for why in found.failed.values())
    trained.broken = ()
    assert sweep.sweep_mistakes(asked).trained == 8
    trained.broken = (1, 2)
    with pytest.raises(UserError, match="no trial"):
        sweep.sweep_mistakes(msgspec.structs.replace(asked, out=asked.out / "new"))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("lr =", "rate =", "no setting 'rate'"),
        ("[grid]", "[grid]\nmodel = ['v2']", "'model' is there twice"),
        ("seed = [0, 1]", 'split = ["R", "P"]', "different steps"),
        ("low = 1e-5", "low = 1", "range of 'lr'"),
        ("low = 1e-5", "low = 0", "range of 'lr'"),
        ("seed = [0, 1]", "seed = []", "no values"),
        ("draws = 2", "draws = 0", "0 draws"),
        ("draws = 2", "figure = 'test'", "chosen by 'test'"),
        ('"causal", "offline"', '"causal", "psychic"', "psychic"),
        ("[fixed]", "[fixed", "no sweep"),
        ("[fixed]", "[mended]", "no sweep"),
        ("seed = [0, 1]", 'out = ["x"]', "no setting 'out'"),
        ('annotations = "captaincook4d"', "", "no annotations"),
    ],
)
def test_files_that_say_no_sweep(asked, old, new, says):
    asked.settings.write_text(FILE.replace(old, new, 1))
    with pytest.raises(UserError, match=says):
        sweep.trials_of(asked.settings, asked.out)


def test_the_command(trained, asked):
    done = CliRunner().invoke(app, ["sweep", "--settings", str(asked.settings), "--out", str(asked.out)])
    assert done.exit_code == 0, done.output
    assert "the first row on test: auc 60.0%" in done.output
    assert "8 trials trained now" in done.output


def test_the_file_on_the_page_is_a_sweep(tmp_path):
    page = Path(__file__).resolve().parents[3] / "docs" / "learn.md"
    (file,) = re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "sweep.toml").write_text(file, encoding="utf-8")
    trials, figure = sweep.trials_of(tmp_path / "sweep.toml", tmp_path)
    assert (len(trials), figure) == (60, "auc")
