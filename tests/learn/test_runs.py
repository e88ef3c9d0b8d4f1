"""A run as a folder: written whole, refused when it would hide another one, told apart from damage."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from proctor.errors import UserError
from proctor.learn.recogniser import Reason
from proctor.learn.runs import (
    PREDICTIONS,
    RECORD,
    VALIDATION,
    FeatureSource,
    PredictedStep,
    RunRecord,
    predicted_steps,
    read_run,
    require_free,
    write_run,
)
from proctor.learn.samples import Execution, StepData, StepSample
from proctor.stages.scoring.classification import score_classification
from proctor.stages.scoring.options import ClassificationSettings

RECORD_OF_CONTEXT = RunRecord(
    model="context",
    split="R",
    data="captaincook4d",
    data_hash="0123456789abcdef",
    features=(FeatureSource("video", "omnivore", "ab" * 8, 1024),),
    settings={"trees": np.int64(200), "rate": 0.05, "folder": Path("a")},
    chosen={"threshold": np.float64(0.4)},
)


def steps(count: int = 12, shift: float = 0.0, *, kinds: bool = True) -> list[PredictedStep]:
    """Steps of three recordings, every third one a mistake of timing."""
    return [
        PredictedStep(
            recording=f"1_{k % 3}",
            step=str(k),
            label=k % 4 == 0,
            score=(k * 7 % 10) / 10 + shift,
            kinds=("timing",) if k % 4 == 0 else (),
            reasons=(Reason("minutes", 3.5, 0.25), Reason("order", 1.0, -0.1)),
            activity="1",
            text="Stir <b>",
            times=((1.0, 2.5), (4.0, 5.0)),
            kind_scores={"timing": (k * 3 % 10) / 10} if kinds else {},
        )
        for k in range(count)
    ]


def test_what_was_written_is_read_and_equal_runs_are_equal_bytes(tmp_path: Path) -> None:
    written = write_run(tmp_path / "a", RECORD_OF_CONTEXT, steps(), steps(8, 0.05))
    write_run(tmp_path / "b", RECORD_OF_CONTEXT, steps(), steps(8, 0.05))
    run = read_run(tmp_path / "a")
    assert (run.record.asked, run.record.files) == (written.asked, written.files)
    assert (run.record.settings, run.record.chosen) == (
        {"trees": 200, "rate": 0.05, "folder": "a"},
        {"threshold": 0.4},
    )
    assert list(run.test) == steps()
    assert list(run.val) == steps(8, 0.05)
    for name in (RECORD, PREDICTIONS, VALIDATION):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_the_scoring_command_reads_it_as_it_is(tmp_path: Path) -> None:
    write_run(tmp_path / "a", RECORD_OF_CONTEXT, steps(), steps(8))
    settings = ClassificationSettings(
        pred=tmp_path / "a" / PREDICTIONS, validation=tmp_path / "a" / VALIDATION, resamples=0
    )
    table = score_classification(settings)
    assert table.counts["steps"] == 12
    assert "timing" in {row.slice.removeprefix("kind=") for row in table.rows}
    assert not [n for n in table.notes if "missing" in n.lower()]


def test_rows_of_samples() -> None:
    sample = StepSample("1_7", "4", "2", "1", "Mix", (Execution(3, 5, ("timing",)), Execution(9, 10)))
    other = StepSample("1_8", "5", "3", "1", "Cut", (Execution(0, 1),))
    data = StepData((sample, other), {}, {}, (), "captaincook4d", "0")
    why = [(Reason("x", 1.0, 2.0),), ()]
    found = predicted_steps(
        data, np.array([1, 0]), np.array([0.1, 0.9]), reasons=why, kind_scores={"order": np.array([0.2, 0.3])}
    )
    assert [(r.recording, r.step, r.label, r.score, r.kinds) for r in found] == [
        ("1_8", "5", False, 0.1, ()),
        ("1_7", "4", True, 0.9, ("timing",)),
    ]
    assert (found[1].times, found[0].reasons, found[1].kind_scores) == (
        ((3, 5), (9, 10)),
        why[0],
        {"order": 0.3},
    )
    turned = predicted_steps(data, np.array([0]), np.array([0.5]), target=np.array([False, True]))
    assert not turned[0].label
    with pytest.raises(ValueError, match="parallel"):
        predicted_steps(data, np.array([0]), np.array([0.5]), reasons=why)


def test_another_configuration_is_not_overwritten_unless_asked(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    require_free(folder, RECORD_OF_CONTEXT)
    write_run(folder, RECORD_OF_CONTEXT, steps(), steps(8))
    write_run(folder, RECORD_OF_CONTEXT, steps(8), steps(8))  # the same question again
    assert len(read_run(folder).test) == 8
    other = msgspec.structs.replace(RECORD_OF_CONTEXT, seed=1, settings={})
    with pytest.raises(UserError, match=r"another configuration \(seed, settings\)"):
        write_run(folder, other, steps(), steps(8))
    assert read_run(folder).record.seed == 0
    write_run(folder, other, steps(), steps(8), overwrite=True)
    assert read_run(folder).record.seed == 1


def test_what_is_no_run_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("{}")
    require_free(tmp_path, RECORD_OF_CONTEXT)
    (tmp_path / PREDICTIONS).write_text("mine")
    with pytest.raises(UserError, match="no whole run"):
        write_run(tmp_path, RECORD_OF_CONTEXT, steps(), steps(8))
    assert (tmp_path / PREDICTIONS).read_text() == "mine"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([*steps(3), steps(1)[0]], "twice .first in line 1"),
        ([*steps(2), msgspec.structs.replace(steps(3)[2], score=float("nan"))], "not a finite number .score"),
        (
            [msgspec.structs.replace(steps(1)[0], kind_scores={"order": float("inf")})],
            "not a finite number .order",
        ),
        ([*steps(2), steps(3, kinds=False)[2]], "other kinds"),
    ],
)
def test_unsound_scores_are_not_written(rows: list[PredictedStep], message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        write_run(tmp_path / "a", RECORD_OF_CONTEXT, steps(), rows)
    assert not (tmp_path / "a").exists()


def _cut(folder: Path) -> None:
    path = folder / PREDICTIONS
    path.write_bytes(path.read_bytes()[:-20])


def _shorten(folder: Path) -> None:
    path = folder / VALIDATION
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


def _without_score(folder: Path) -> None:
    path = folder / PREDICTIONS
    path.write_text(path.read_text().replace('"score":0.7', '"score":null', 1))


def _text_as_score(folder: Path) -> None:
    path = folder / PREDICTIONS
    path.write_text(path.read_text().replace('"score":0.7', '"score":"high"', 1))


def _twice(folder: Path) -> None:
    path = folder / PREDICTIONS
    path.write_text(path.read_text() + path.read_text())


def _relabel(folder: Path) -> None:
    path = folder / PREDICTIONS
    path.write_text(path.read_text().replace('"label":true', '"label":false', 1))


def _newer(folder: Path) -> None:
    record = json.loads((folder / RECORD).read_text())
    (folder / RECORD).write_text(json.dumps({**record, "format": 2}))


def _unfinished(folder: Path) -> None:
    record = json.loads((folder / RECORD).read_text())
    (folder / RECORD).write_text(json.dumps({**record, "files": {}}))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_cut, r"predictions.jsonl:12: .*not valid JSON"),
        (_shorten, r"7 rows where 8 were written"),
        (_without_score, r"predictions.jsonl:2: it has no score"),
        (_text_as_score, r"predictions.jsonl:2: .*score"),
        (_twice, r"predictions.jsonl:13: .*twice"),
        (_relabel, "hash differs"),
        (_newer, "format 2"),
        (_unfinished, "not finished"),
        (lambda f: (f / VALIDATION).unlink(), "no such file"),
        (lambda f: (f / RECORD).unlink(), "no run.json"),
        (lambda f: (f / RECORD).write_text("{"), "not valid JSON"),
        (lambda f: (f / RECORD).write_text("[]"), "Expected `object`"),
    ],
)
def test_damage_is_told(damage: Callable[[Path], None], message: str, tmp_path: Path) -> None:
    write_run(tmp_path / "a", RECORD_OF_CONTEXT, steps(), steps(8))
    damage(tmp_path / "a")
    with pytest.raises(UserError, match=message):
        read_run(tmp_path / "a")


def test_a_run_that_was_killed_while_writing_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import proctor.learn.runs as room

    with monkeypatch.context() as patch:
        patch.setattr(room, "write_jsonl", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            write_run(tmp_path / "a", RECORD_OF_CONTEXT, steps(), steps(8))
    with pytest.raises(UserError, match="not finished"):
        read_run(tmp_path / "a")
    write_run(tmp_path / "a", RECORD_OF_CONTEXT, steps(), steps(8))
    assert len(read_run(tmp_path / "a").test) == 12


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        read_run(tmp_path / "b")
