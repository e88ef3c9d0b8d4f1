"""The page of runs: what it says is what the runs hold, whatever they hold; nothing of it acts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import numpy as np
import pytest
from tests.learn.planted_runs import HOSTILE, MODELS, planted_run, planted_steps
from typer.testing import CliRunner

from proctor.cli.learn import app
from proctor.errors import UserError
from proctor.learn.evaluate import evaluate
from proctor.learn.published import SUPERVISED
from proctor.learn.runs import PredictedStep, RunRecord, read_run, write_run
from proctor.metrics.classification import paired_difference, roc_auc, within_roc_auc
from proctor.stages.learn.page import draw_runs
from proctor.stages.learn.runs import list_runs
from proctor.stages.learn.settings import PageSettings, RunsSettings

RECORD = RunRecord(model="step", split="R", data="d", data_hash="0")


def drawn(*folders: Path, **options: object) -> str:
    out = folders[0].parent / "page.html"
    draw_runs(PageSettings(runs=folders, out=out, resamples=0, **options))
    return out.read_text("utf-8")


def section(text: str, name: str) -> str:
    found = re.search(rf'<section id="{name}".*?</section>', text, re.DOTALL)
    assert found is not None, name
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", found[0]))


@pytest.fixture(scope="module")
def ladder(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    return [planted_run(folder / name, name) for name in reversed(MODELS)]


def test_runs_stand_in_the_order_of_what_they_see_beside_chance_and_the_published(ladder: list[Path]) -> None:
    text = section(drawn(*ladder), "summary")
    places = [text.index(f" {name} ") for name in (*MODELS, "knowing nothing", "ImageBind VADT")]
    assert places == sorted(places)
    run = read_run(ladder[-1])
    labels, scores = [r.label for r in run.test], [r.score for r in run.test]
    names = [r.recording for r in run.test]
    for value in (roc_auc(labels, scores), within_roc_auc(labels, scores, clusters=names, resamples=0)):
        assert f"{100 * value.value:.1f}" in text
    assert "best ROC-AUC and F1 of Table 2, on 671 steps" in text
    assert "65.25" in text  # as printed
    within = sum(
        int(np.sum([y for y, r in zip(labels, names, strict=True) if r == name]))
        * int(np.sum([not y for y, r in zip(labels, names, strict=True) if r == name]))
        for name in set(names)
    )
    assert f"Only {within:,} of them" in text
    assert "context-offline: " in text  # the best on validation is looked at closely


def test_figures_of_the_paper_stand_beside_its_own_data_only(tmp_path: Path) -> None:
    planted_run(tmp_path / "a", data="plain")
    planted_run(tmp_path / "b", split="P")
    for name in "ab":
        assert "published" not in section(drawn(tmp_path / name), "summary")


def test_decisions_stand_beside_what_knows_nothing(ladder: list[Path]) -> None:
    text = section(drawn(*ladder), "decisions")
    assert text.count("best F1 on validation") == text.count("fixed: 0.500") == 4
    share = 100 * np.mean([r.label for r in read_run(ladder[0]).test])
    assert f"always a mistake chance {share:.1f} {share:.1f} 100.0 {200 * share / (100 + share):.1f}" in text
    best = max((row for row in SUPERVISED if row.split == "R"), key=lambda row: row.f1)
    assert f"{best.f1:.2f}" in text


def test_runs_are_compared_on_the_same_resamples(ladder: list[Path]) -> None:
    text = section(drawn(*ladder[:2]), "differences")
    offline, causal = (read_run(folder) for folder in ladder[:2])
    labels = [r.label for r in offline.test]
    value = paired_difference(
        "roc_auc", labels, [r.score for r in causal.test], [r.score for r in offline.test]
    ).value
    assert f"context-offline − context-causal +{100 * value:.1f}" in text


def test_each_step_says_what_was_predicted_and_why(tmp_path: Path) -> None:
    planted_run(tmp_path / "a", "step", recordings=2)
    text = drawn(tmp_path / "a")
    steps = section(text, "examples")
    assert text.count('<details class="example"') == 24
    row = next(r for r in read_run(tmp_path / "a").test if r.recording == "2_1" and r.step == "3")
    own = steps[steps.index("2_1, ") :]
    assert f"{100 * row.score:.1f} %, " in own
    assert "3:00 to 3:42" in own
    assert "minutes against normal = " in own
    assert "−0.40" in own.replace("+0.40", "−0.40")
    marks = re.findall(r'data-mark="([a-z ]+)"', text)
    assert {*marks} <= {"right", "missed", "false alarm"}
    assert len(marks) == 24


def test_a_long_page_says_which_steps_it_leaves_out(tmp_path: Path) -> None:
    planted_run(tmp_path / "a", "step", recordings=40)
    text = drawn(tmp_path / "a")
    shown = text.count('<details class="example"')
    assert 120 <= shown <= 240
    assert f"{480 - shown} of other recordings are left out" in section(text, "examples")
    assert len(text) < 1_000_000


def _small(folder: Path, scores: tuple[float, ...], seed: int = 0) -> Path:
    """Write a run of six steps of three recordings, whose threshold on validation data is 0.75."""

    def row(n: int, score: float, label: bool, recipe: str) -> PredictedStep:
        return PredictedStep(
            recording=recipe[0], step=str(n), label=label, score=score, kinds=("timing",) if label else (), activity=recipe,
            text=f"Do {n}", kind_scores={"timing": 0.5 + label / 4},
        )  # fmt: skip

    labels, recipes = (True, False, True, False, False, False), ("ale", "ale", "bun", "bun", "cod", "cod")
    rows = [row(n, *parts) for n, parts in enumerate(zip(scores, labels, recipes, strict=True))]
    val = [
        row(n, score, label, "dip")
        for n, (score, label) in enumerate([(0.9, True), (0.8, True), (0.7, False)])
    ]
    write_run(folder, msgspec.structs.replace(RECORD, seed=seed), rows, val)
    return folder


def test_what_is_wrong_is_decided_on_validation_data_and_stands_first(tmp_path: Path) -> None:
    text = drawn(_small(tmp_path / "a", (0.9, 0.6, 0.3, 0.1, 0.1, 0.1)))
    summary = section(text, "summary")
    assert "All mistakes are in 2 of the 3 recordings" in summary
    assert "Only 3 recordings: " in summary
    assert "90.0 %, above 75.0 %: a mistake" in text
    assert "30.0 %, below 75.0 %: no mistake" in text
    assert re.findall(r'data-mark="([a-z ]+)"', text) == [
        "right",
        "right",
        "missed",
        "right",
        "right",
        "right",
    ]
    where = section(text, "where")
    assert "bun 1 recording 2 1 100.0 50.0 1 missed, 0 false alarms ale 1 recording 2 1 100.0 0.0" in where
    assert where.index("Do 2 bun 1 1 1 0 0.30 –") < where.index("Do 0 ale 1 1 0 0 0.90 –")
    assert "timing 2 33.3 100.0 AUC 100.0 Average" in section(text, "kinds")
    assert re.findall(r"<title>(\w): (\d) of 2", text) == [("a", "1"), ("b", "1"), ("c", "0")]


def test_what_is_left_without_mistakes_of_order_is_told(tmp_path: Path) -> None:
    """Of the two mistakes the first is one of order; 0.3 is above three of the four steps without one, and above that of its recording."""
    folder = _small(tmp_path / "a", (0.9, 0.6, 0.3, 0.1, 0.1, 0.1))
    assert "Without mistakes of order" not in drawn(folder)
    run = read_run(folder)
    test = [msgspec.structs.replace(r, kinds=("order",) if r.step == "0" else r.kinds) for r in run.test]
    write_run(folder, run.record, test, run.val, overwrite=True)
    kinds = section(drawn(folder), "kinds")
    assert "Without mistakes of order pooled within recordings step " in kinds
    assert " 75.0 100.0 knowing nothing chance 50.0 50.0 " in kinds


def test_a_threshold_below_everything_is_told_in_words(tmp_path: Path) -> None:
    folder = _small(tmp_path / "a", (0.9, 0.6, 0.3, 0.1, 0.1, 0.1))
    run = read_run(folder)
    val = [msgspec.structs.replace(row, score=0.5, label=True) for row in run.val]
    write_run(folder, run.record, run.test, val)
    text = drawn(folder)
    assert "best F1 on validation: all are called a mistake" in section(text, "decisions")
    assert "10.0 %: a mistake" in text


def test_seeds_are_summed_up(tmp_path: Path) -> None:
    folders = [
        _small(tmp_path / str(n), scores, n)
        for n, scores in enumerate([(0.9, 0.1, 0.9, 0.1, 0.1, 0.1), (0.5,) * 6])
    ]
    assert "step 2 seeds 75.0 ± 35.4 75.0 ± 35.4" in section(drawn(*folders), "seeds")


def test_steps_of_the_drawing_stand_in_the_order_of_their_start(tmp_path: Path) -> None:
    """Ids of steps say nothing of their order: as words, 10 stands before 2."""
    rows = [
        msgspec.structs.replace(r, label=int(r.step) == 2, kinds=()) for r in planted_steps(2, 1, (1.0, 1.0))
    ]
    write_run(tmp_path / "a", RECORD, rows, planted_steps(2, 2, (1.0, 1.0)))
    text = drawn(tmp_path / "a")
    assert re.findall(r'<rect class="yes" x="\d+" y="(\d+)" width="8"', text) == [
        "20",
        "20",
        "2",
    ]  # the last one is the legend


def test_many_runs_have_fewer_reasons_and_steps_each(tmp_path: Path) -> None:
    run = read_run(planted_run(tmp_path / "s", "step", recordings=24))
    rows = [msgspec.structs.replace(r, reasons=r.reasons * 3) for r in run.test]
    folders = [tmp_path / str(n) for n in range(3)]
    for seed, folder in enumerate(folders):
        write_run(folder, msgspec.structs.replace(run.record, seed=seed), rows, run.val)
    few, many = drawn(*folders[:2]), drawn(*folders)
    counts = [
        (text.count('<details class="example"'), text.count('class="why"'), text.count("<li><span>"))
        for text in (few, many)
    ]
    assert [(why // steps, reasons // why) for steps, why, reasons in counts] == [(2, 5), (3, 3)]
    assert counts[0][0] == 144
    assert counts[1][0] == 144


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    planted_run(tmp_path / "a", recordings=2, text=HOSTILE)
    run = read_run(tmp_path / "a")
    rows = [
        msgspec.structs.replace(
            row,
            recording=row.recording + HOSTILE,
            activity=HOSTILE,
            kinds=(HOSTILE,) if row.label else (),
            reasons=tuple(msgspec.structs.replace(r, feature=HOSTILE) for r in row.reasons),
        )
        for row in run.test
    ]
    record = msgspec.structs.replace(run.record, model=HOSTILE, settings={"x": HOSTILE})
    write_run(tmp_path / "b", record, rows, run.val)
    text = drawn(tmp_path / "b", title=HOSTILE)
    assert text.count("<script") == 2  # our own
    assert "<img" not in text
    assert "\u202e" not in text
    assert "default-src &#39;none&#39;" in text


def test_the_page_is_the_same_again_and_asks_for_nothing(ladder: list[Path]) -> None:
    text = drawn(*ladder)
    assert text == drawn(*ladder)
    assert not re.findall(r'(?:src|href)="(?!#)[^"]*"', text)
    assert "http" not in re.sub(r"http-equiv|https?://www\.w3\.org/\S+", "", text)


def _flat(label: bool | None, recordings: int = 3) -> list:
    rows = planted_steps(recordings, 1, (1.0, 1.0))
    return [msgspec.structs.replace(r, label=label, kinds=()) for r in rows] if label is not None else rows


@pytest.mark.parametrize(
    ("test", "val", "said"),
    [
        (_flat(False), _flat(None), "There is no curve"),
        (_flat(True), _flat(None), "There is no curve"),
        (_flat(None), _flat(False), "not both kinds of steps"),
        (_flat(None), [], "not both kinds of steps"),
        (_flat(None, 1), _flat(None), "no mistake"),
        ([msgspec.structs.replace(r, score=5 * r.score) for r in _flat(None)], _flat(None), "not between 0 and 1"),
        ([msgspec.structs.replace(r, text="", activity="", times=(), reasons=()) for r in _flat(None)], _flat(None), "step 3"),
    ],
)  # fmt: skip
def test_odd_runs_are_drawn_and_told(test: list, val: list, said: str, tmp_path: Path) -> None:
    write_run(tmp_path / "a", RECORD, test, val)
    text = drawn(tmp_path / "a")
    assert said in text
    assert ("fixed: 0.500" in text) != ("not between 0 and 1" in text)
    assert not re.search(
        r"\bnan\b", re.sub(r"<(style|script)>.*?</\1>", "", text, flags=re.DOTALL), re.IGNORECASE
    )


def test_a_run_without_steps_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "a", RECORD, [], [])
    with pytest.raises(UserError, match="no test steps"):
        drawn(tmp_path / "a")


def test_runs_of_other_steps_and_the_same_run_twice_are_refused(tmp_path: Path) -> None:
    a = planted_run(tmp_path / "a")
    b = planted_run(tmp_path / "b", recordings=18, split="P")
    with pytest.raises(UserError, match=r"of its 216 test steps all runs have 192 only \(splits P, R\)"):
        drawn(a, b)
    with pytest.raises(UserError, match="twice"):
        drawn(a, a)


def test_few_steps_that_not_all_runs_have_are_left_out_and_counted(tmp_path: Path) -> None:
    a = planted_run(tmp_path / "a")
    run = read_run(a)
    write_run(tmp_path / "b", msgspec.structs.replace(run.record, model="v1"), run.test[::-1][:-3], run.val)
    text = drawn(a, tmp_path / "b")
    assert "Left out: 3 steps that not every run was tested on." in text
    assert "189" in section(text, "summary")
    assert ">0.0<" in text[text.index('id="differences"') :]  # the same scores for the same steps


def test_runs_of_one_model_are_told_apart_and_summed_up(tmp_path: Path) -> None:
    folders = [planted_run(tmp_path / f"s{n}", "step", seed=n) for n in range(2)]
    folders.append(planted_run(tmp_path / "early", "step", observed=0.5))
    folders += [planted_run(tmp_path / name, "v2", settings={"layers": n}) for n, name in enumerate("xy")]
    text = drawn(*folders)
    names = ("step, 100% seen, seed 0", "step, 100% seen, seed 1", "step, 50% seen", "v2, x", "v2, y")
    assert all(f"<bdi>{name}</bdi>" in text for name in names)
    assert "2 seeds" in section(text, "seeds")
    early = section(text, "observed")
    assert " 50% " in early
    assert "knowing nothing chance – 50.0 50.0 50.0 50.0 " in early
    summary = section(text, "summary")
    assert "best ROC-AUC of Table 11, on 671 steps, half of each 65.43" in summary
    assert "best F1 of Table 11, on 671 steps, half of each 55.24" in summary
    assert "65.25" in summary


def test_of_many_runs_the_one_that_is_looked_at_closely_and_one_of_each_model_have_a_curve(
    tmp_path: Path,
) -> None:
    shares = (0.1, 0.2, 0.3, 0.4, 1.0)
    folders = [planted_run(tmp_path / f"s{share}", "step", observed=share) for share in shares]
    folders += [planted_run(tmp_path / name, name) for name in ("floor", "context-offline", "v2")]
    curves = section(drawn(*folders), "curves")
    names = ("floor", "step, 100% seen", "step, 40% seen", "step, 30% seen", "context-offline", "v2")
    assert [curves.count(f" {name} ") > 0 for name in names] == [True] * 6
    assert "step, 20% seen" not in curves
    assert "6 of 8 runs: context-offline, and of the others one of each model first." in curves


def test_protocols_that_label_otherwise_are_told_and_not_compared(tmp_path: Path) -> None:
    a = planted_run(tmp_path / "a")
    run = read_run(a)
    first = next(k for k, row in enumerate(run.test) if row.label)
    rows = [msgspec.structs.replace(r, label=False) if k == first else r for k, r in enumerate(run.test)]
    write_run(tmp_path / "b", msgspec.structs.replace(run.record, protocol="code"), rows, run.val)
    text = drawn(a, tmp_path / "b")
    low, high = min(r.score for r in rows), max(r.score for r in rows)
    assert f"found on the test part: {low + 0.4 * (high - low):.3f}" in section(text, "decisions")
    assert "label 1 steps differently" in text
    assert 'id="differences"' not in text


def test_no_two_regions_have_one_name(ladder: list[Path]) -> None:
    names = re.findall(r'role="region" aria-label="([^"]*)"', drawn(*ladder).split('class="example"')[0])
    assert len(names) > 10
    assert len(set(names)) == len(names)


def test_the_command_writes_the_page(ladder: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "p.html"
    found = CliRunner().invoke(
        app, ["page", *map(str, ladder), "--out", str(out), "--resamples", "20", "--json"]
    )
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["closest"] == "context-offline"
    assert out.read_text("utf-8").count('class="band') == 8


def test_runs_of_a_folder_are_listed_with_what_they_found(tmp_path: Path) -> None:
    run = read_run(planted_run(tmp_path / "a" / "b", "step", seed=3))
    labels, scores, names = zip(*((r.label, r.score, r.recording) for r in run.test), strict=True)
    results = {"test": evaluate(np.array(labels), np.array(scores), names, thresholds={}, resamples=0)}
    record = msgspec.structs.replace(run.record, results=msgspec.to_builtins(results))
    write_run(tmp_path / "a" / "b", record, run.test, run.val)
    planted_run(tmp_path / "a" / "c")
    planted_run(tmp_path / "d")
    (tmp_path / "d" / "validation.jsonl").unlink()
    found = CliRunner().invoke(app, ["runs", str(tmp_path)])
    assert found.exit_code == 0, found.output
    auc, within = (
        100 * f.value for f in (results["test"].auc, results["test"].auc_within) if f.value is not None
    )
    lines = [" ".join(line.split()) for line in found.stdout.splitlines()]
    assert f"{tmp_path}/a/b step R 3 100% {auc:.1f}% {within:.1f}% - - -" in lines
    assert f"{tmp_path}/a/c floor R 0 100% - - - - -" in lines
    assert f"{tmp_path}/d: validation.jsonl: there is no such file." in lines
    with pytest.raises(UserError, match="no such folder"):
        list_runs(RunsSettings(folder=tmp_path / "e"))
