"""``learn decode`` on the shared real predictions, and the page of what it wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.errors import UserError
from proctor.records import read_jsonl
from proctor.stages.learn.decode import DecodedRun, OrderLine, learn_decode
from proctor.stages.learn.decode_settings import DecodeSettings, LocalizePageSettings
from proctor.stages.learn.localize_page import draw_timelines
from proctor.stages.scoring.localization import read_predictions

PREDICTIONS = "msl/preds_omnivore_4s_60sub_environment_error_videos.csv.gz"


@pytest.fixture(scope="module")
def run(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, DecodedRun]:
    out = tmp_path_factory.mktemp("decode") / "run"
    settings = DecodeSettings(
        predictions=shared_data / PREDICTIONS,
        annotations=shared_data / "captaincook4d",
        truth=shared_data / "msl" / "gt_environment_test.csv",
        out=out,
        beam=100,
        resamples=200,
    )
    return out, learn_decode(settings)


def test_raw_figures_are_the_published_ones_and_decoding_gains(run: tuple[Path, DecodedRun]) -> None:
    _, result = run
    rows = {row.name: row for row in result.rows}
    assert rows["raw"].mean_ap == pytest.approx((43.8661, 41.135, 38.8242, 37.3792, 33.4669), abs=1e-4)
    assert rows["raw"].recall["1x"] == pytest.approx((67.2515, 59.6491, 56.1404, 50.8772, 43.8596), abs=1e-4)
    assert rows["activity given"].mean_ap[0] == pytest.approx(69.25, abs=0.01)
    assert rows["activity given"].recall["5x"] == pytest.approx(rows["raw"].recall["5x"])
    assert rows["graph"].mean_ap[0] > 74
    assert rows["graph"].mean_ap[4] > 55
    gain = {(g.name, g.above, g.figure): g for g in result.gains}
    by = gain["graph", "activity given", "average mAP"]
    assert by.low is not None
    assert by.low > 0
    assert (result.recordings, result.inferred_right, result.fitted_on) == (19, 19, 331)


def test_files_read_back(run: tuple[Path, DecodedRun]) -> None:
    out, result = run
    lines: list[OrderLine] = read_jsonl(out / "order.jsonl", OrderLine)
    assert [line.recording for line in lines] == sorted(line.recording for line in lines)
    assert sum(len(line.missing) for line in lines) == result.missing
    decoded = read_predictions(out / "decoded.csv")
    assert len(decoded) == sum(len(line.steps) for line in lines)
    rescored = read_predictions(out / "rescored.csv")
    assert 4_000 < len(rescored) < 5_000
    page = draw_timelines(LocalizePageSettings(runs=(out,), out=out / "page.html"))
    assert page.recordings == 19
    text = (out / "page.html").read_text()
    assert text.count('class="example"') == 19
    assert text.count('class="bar-late"') >= result.out_of_order


def sample(tmp_path: Path, shared_data: Path, text: str, **more: object) -> DecodeSettings:
    file = tmp_path / "predictions.csv"
    file.write_text("video-id,t-start,t-end,label,score\n" + text)
    return DecodeSettings(
        predictions=file, annotations=shared_data / "captaincook4d", out=tmp_path / "run", resamples=0,
        **more,  # type: ignore[arg-type]
    )  # fmt: skip


def test_what_is_odd_in_predictions_is_left_out_and_listed(tmp_path: Path, shared_data: Path) -> None:
    rows = "1_7,0,20,1,0.5\n1_7,5,5,2,0.9\n1_7,0,30,9999,0.9\n1_7,-9,-1,1,.5\n1_7,90000,90009,1,.5\nunheard_of,10,40,1,0.4\n"
    truth = tmp_path / "truth.csv"
    truth.write_text("video-id,t-start,t-end,label\n 1_7 ,0,20,1\n9_9,0,1,1\n")
    result = learn_decode(sample(tmp_path, shared_data, rows, truth=truth))
    assert [(d.id, d.reason, d.detail) for d in result.dropped] == [
        ("1_7", "no_length", "1 prediction: no length"),
        ("1_7", "unknown_class", "1 prediction: unknown class"),
        ("1_7", "outside", "2 predictions: outside of the video"),
        ("9_9", "not_predicted", "it has truth, and no prediction: not measured"),
    ]
    assert result.recordings == 2
    assert result.unknown == ("unheard_of",)
    assert result.rows[0].recall["1x"][0] == 100
    found: list[OrderLine] = read_jsonl(tmp_path / "run" / "order.jsonl", OrderLine)
    lines = {line.recording: line for line in found}
    assert lines["1_7"].activity == "1"
    assert not lines["1_7"].inferred
    assert lines["unheard_of"].inferred


def test_what_cannot_be_decoded(tmp_path: Path, shared_data: Path) -> None:
    with pytest.raises(UserError, match="none of the 1 predictions"):
        learn_decode(sample(tmp_path, shared_data, "1_7,0,20,boil,0.5\n"))
    with pytest.raises(UserError, match="is within its video and longer"):
        learn_decode(sample(tmp_path, shared_data, "1_7,90000,90009,1,0.5\n"))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    with pytest.raises(UserError, match="holds another run"):
        learn_decode(sample(tmp_path, shared_data, "1_7,0,20,1,0.5\n"))
    (tmp_path / "run" / "run.json").unlink()
    with pytest.raises(UserError, match="weights can only be chosen with truth"):
        learn_decode(sample(tmp_path, shared_data, "1_7,0,20,1,0.5\n", weights="chosen"))
    truth = tmp_path / "truth.csv"
    truth.write_text("video-id,t-start,t-end,label\n9_9,0,1,1\n")
    with pytest.raises(UserError, match="no segment of a predicted recording"):
        learn_decode(sample(tmp_path, shared_data, "1_7,0,20,1,0.5\n", truth=truth))
    page = tmp_path / "page.html"
    with pytest.raises(UserError, match="no video of the predictions is in the ground truth"):
        draw_timelines(LocalizePageSettings(runs=(tmp_path,), out=page))
    truth.unlink()
    with pytest.raises(UserError, match=r"the run has no truth\.csv"):
        draw_timelines(LocalizePageSettings(runs=(tmp_path,), out=page))
    with pytest.raises(UserError, match="given twice"):
        draw_timelines(LocalizePageSettings(runs=(tmp_path, tmp_path), out=page))


def test_half_of_what_was_decoded_or_the_same_twice_is_no_run(tmp_path: Path, shared_data: Path) -> None:
    truth = tmp_path / "truth.csv"
    truth.write_text("video-id,t-start,t-end,label\n1_7,0,20,1\n")
    learn_decode(sample(tmp_path, shared_data, "1_7,0,20,1,0.5\n", truth=truth))
    page, order = (
        LocalizePageSettings(runs=(tmp_path / "run",), out=tmp_path / "p.html"),
        tmp_path / "run/order.jsonl",
    )
    with (tmp_path / "run" / "predictions.csv").open("a") as stream:
        stream.write("other,0,20,1,0.5\n")
    assert "Left out: 1 recording with predictions and no truth." in draw_timelines(page).notes
    line = order.read_text()
    order.write_text(line * 2)
    with pytest.raises(UserError, match="is there twice"):
        draw_timelines(page)
    order.unlink()
    with pytest.raises(UserError, match=r"of order\.jsonl and decoded\.csv there is only one"):
        draw_timelines(page)
