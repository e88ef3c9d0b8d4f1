"""``learn zeroshot`` on the real annotations against the stand-in: known skill comes out, a stopped run goes on, dry runs send nothing."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from proctor.ask.step.writing import Written
from proctor.errors import UserError
from proctor.exam.question import Item
from proctor.learn.runs import read_run
from proctor.learn.samples import Subset, divide, read_step_data
from proctor.records import read_jsonl
from proctor.stages.learn.zeroshot import Zeroshot, estimate_zeroshot, zeroshot
from proctor.stages.learn.zeroshot_settings import ZeroshotSettings
from proctor.stages.limits import Limits
from proctor_rehearsal.players import rehearse

pytestmark = pytest.mark.shared


@contextmanager
def quiet(title: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    yield lambda: None


@pytest.fixture
def annotations(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COMPAT_API_KEY", "a-key-of-the-stand-in")
    return shared_data / "captaincook4d"


def settings_for(annotations: Path, out: Path, url: str, **given: object) -> ZeroshotSettings:
    usual: dict[str, object] = {"show": "times", "sample": 150, "develop": 0, "resamples": 0}
    if "writer" in given:
        given["writer"] = str(given["writer"]).format(url=url)
    return ZeroshotSettings(
        annotations=annotations, out=out, model=f"compat/eyes@{url}/v1", **{**usual, **given}  # type: ignore[arg-type]
    )  # fmt: skip


def ask(
    annotations: Path, out: Path, quality: float, limits: Limits | None = None, **given: object
) -> Zeroshot:
    with rehearse(out, quality=quality) as server:
        return zeroshot(settings_for(annotations, out, server.url, **given), limits=limits, show=quiet)


def recordings_of(annotations: Path) -> dict[str, set[str]]:
    """Return the recordings of each part of the split R."""
    data, dataset = read_step_data(annotations)
    division = divide(data, dataset, annotations, "R")
    parts: tuple[Subset, ...] = ("train", "val", "test")
    return {part: {data.recordings[place] for place in division[part]} for part in parts}


def test_who_knows_everything_is_right_about_every_step(annotations: Path, tmp_path: Path) -> None:
    result = ask(annotations, tmp_path / "run", 1.0)
    assert [e.value for e in (result.figures.rows[0].accuracy, result.figures.rows[0].f1)] == [1.0, 1.0]
    assert result.questions == {"step": 150}
    assert sum(result.clips.values()) == 150
    run = read_run(tmp_path / "run")
    assert (len(run.test), len(run.val)) == (150, 0)
    assert all(row.score == row.label for row in run.test)
    assert run.record.settings["show"] == "times"


def test_planted_skill_comes_out_and_hedges_are_counted(annotations: Path, tmp_path: Path) -> None:
    result = ask(annotations, tmp_path / "run", 0.6, sample=700)
    said, row = result.figures.said["step"], result.figures.rows[0]
    assert row.recall.value == pytest.approx(0.6, abs=0.1)
    assert said["hedged"] == pytest.approx(0.04 * 700, abs=15)
    assert said["hedged"] + said["mistake"] + said["fine"] == 700


def test_seven_questions_a_step_and_any_of_them_is_enough(annotations: Path, tmp_path: Path) -> None:
    result = ask(annotations, tmp_path / "run", 1.0, variant="v2", protocol="published", sample=60)
    assert set(result.questions.values()) == {60}
    assert len(result.questions) == 7
    figures = {c.category: c for c in result.figures.categories}
    assert figures["order"].rows[0].f1.value == 1.0
    run = read_run(tmp_path / "run")
    other = [row for row in run.test if row.kinds == ("other",)]  # which no category asks for
    assert all(row.score == row.label for row in run.test if row not in other)
    assert run.test[0].kind_scores.keys() == figures.keys()
    page = (tmp_path / "run" / "page.html").read_text()
    assert result.figures.verdict in html.unescape(page)
    for shown in (
        "Video-LLaVA V2",
        "TimeChat V1",
        "always a mistake",
        "guessing at the rate",
        "Temperature",
        "hedged",
    ):
        assert shown in page
    first = read_jsonl(tmp_path / "run" / "items.jsonl", Item)[-1].question
    assert first.text in html.unescape(page)


def test_weights_are_fitted_on_the_validation_part_and_the_test_part_is_scored(
    annotations: Path, tmp_path: Path
) -> None:
    result = ask(annotations, tmp_path / "run", 0.8, variant="v2", combine="logistic", sample=500)
    run = read_run(tmp_path / "run")
    assert result.weights is not None
    assert (result.scored, result.weights.n, result.figures.n) == ("test", len(run.val), len(run.test))
    assert len(run.val) + len(run.test) == 500
    parts = recordings_of(annotations)
    assert {row.recording for row in run.val} <= parts["val"]
    assert {row.recording for row in run.test} <= parts["test"]
    assert 0 < min(row.score for row in run.test) < max(row.score for row in run.test) < 1


def test_wordings_compete_on_the_training_part(annotations: Path, tmp_path: Path) -> None:
    first = ask(annotations, tmp_path / "one", 0.7, sample=20, develop=30, part="test")
    again = ask(annotations, tmp_path / "two", 0.7, sample=20, develop=30, part="test")
    parts = recordings_of(annotations)
    items = read_jsonl(tmp_path / "one" / "items.jsonl", Item)
    assert {i.question.cluster for i in items if i.question.provenance["set"] == "develop"} <= parts["train"]
    assert {i.question.cluster for i in items if i.question.provenance["set"] == "asked"} <= parts["test"]
    (held,) = first.templates
    assert [c.n for c in held.tried] == [30, 30, 30]
    best = max(c.balanced or 0.0 for c in held.tried)
    assert next(c for c in held.tried if c.name == held.chosen).balanced == best
    assert (tmp_path / "one" / "templates.json").read_bytes() == (
        tmp_path / "two" / "templates.json"
    ).read_bytes()
    assert first.figures.rows[0].f1 == again.figures.rows[0].f1


def test_a_run_that_was_stopped_goes_on_to_the_same_bytes(annotations: Path, tmp_path: Path) -> None:
    with rehearse(tmp_path / "run", quality=0.7) as server:
        settings = settings_for(annotations, tmp_path / "run", server.url)
        stopped = zeroshot(settings, limits=Limits(max_calls=40), show=quiet)
        assert stopped.figures.said["step"]["failed"] == 110
        assert stopped.calls[0].stopped
        whole = zeroshot(settings, show=quiet)
        assert (whole.figures.said["step"]["failed"], whole.calls[0].sent) == (0, 110)
        written = {
            p.name: p.read_bytes() for p in (tmp_path / "run").glob("*.json*") if p.name != "stages.json"
        }
        again = zeroshot(settings, show=quiet)
        assert again.calls[0].sent == 0
    kept = {"predictions.jsonl", "items.jsonl", "validation.jsonl"}
    assert all((tmp_path / "run" / name).read_bytes() == written[name] for name in kept)


def test_a_dry_run_counts_all_calls_and_writes_nothing(annotations: Path, tmp_path: Path) -> None:
    with rehearse(tmp_path / "run", quality=0.7) as server:
        settings = settings_for(annotations, tmp_path / "run", server.url, develop=10)
        before = server.count
        told = estimate_zeroshot(settings, Limits())
        assert [e.calls for e in told] == [30, 150]
        assert not (tmp_path / "run" / "items.jsonl").exists()
        asked = {"variant": "v2", "sample": 20, "writer": "compat/writer@{url}/v1"}
        writing, exam = estimate_zeroshot(
            settings_for(annotations, tmp_path / "run", server.url, **asked), Limits()
        )
        assert 20 < writing.calls < exam.calls
        assert server.count == before


def test_who_is_blind_answers_equal_questions_once(annotations: Path, tmp_path: Path) -> None:
    result = ask(annotations, tmp_path / "run", 1.0, show="question", sample=1_500)
    (calls,) = result.calls
    assert calls.sent < 352  # one for each text of a step
    f1, always = result.figures.rows[0].f1.value, result.figures.rows[1].f1.value
    assert f1 is not None
    assert always is not None
    assert f1 < always
    assert "no better than not looking" in result.figures.verdict


def test_entries_without_a_clip_may_be_left_out_and_are_counted(annotations: Path, tmp_path: Path) -> None:
    result = ask(annotations, tmp_path / "run", 1.0, missing="skip", sample=50)
    assert result.left_out == {"no_clip": 287}
    assert result.clips == {"step": 50}
    assert len((tmp_path / "run" / "zeroshot.dropped.jsonl").read_text().splitlines()) == 287


def test_a_model_writes_questions_and_what_is_refused_is_asked_in_our_words(
    annotations: Path, tmp_path: Path
) -> None:
    result = ask(annotations, tmp_path / "run", 0.6, variant="v2", sample=40, writer="compat/writer@{url}/v1")
    written = read_jsonl(tmp_path / "run" / "written.jsonl", Written)
    refused = [w for w in written if w.problem]
    assert {w.problem for w in refused} <= {"turned round", "does not name the step", "no single question"}
    assert 0.2 < len(refused) / len(written) < 0.6
    items = read_jsonl(tmp_path / "run" / "items.jsonl", Item)
    ours = {w.text for w in written if not w.problem}
    said = {i.question.text for i in items if i.question.provenance["template"] == "written"}
    assert said == ours
    assert sum(result.worded.values()) == sum(i.question.text in ours for i in items)
    assert "preparation" not in result.worded  # its options are ours
    assert result.writing is not None
    assert result.writing.sent == len(written)
    with pytest.raises(UserError, match="no writer"):
        ask(annotations, tmp_path / "v1", 1.0, writer="compat/writer@{url}/v1")


def test_another_run_is_not_written_over(annotations: Path, tmp_path: Path) -> None:
    ask(annotations, tmp_path / "run", 1.0, sample=5)
    with pytest.raises(UserError, match="another configuration"):
        ask(annotations, tmp_path / "run", 1.0, sample=6)


def test_frames_need_videos(annotations: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not one of"):
        ask(annotations, tmp_path / "run", 1.0, show="frames:2", sample=5)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"variant": "v1", "writer": "compat/writer@{url}/v1"}, "no writer"),
        ({"variant": "v1", "combine": "logistic"}, "nothing to weigh"),
        ({"variant": "v2", "combine": "logistic", "sample": 1}, "all alike"),
    ],
)  # fmt: skip
def test_what_cannot_come_out_is_refused_before_a_price_is_told(
    annotations: Path, tmp_path: Path, given: dict[str, object], said: str
) -> None:
    with rehearse(tmp_path / "run", quality=1.0) as server:
        settings = settings_for(annotations, tmp_path / "run", server.url, **given)
        with pytest.raises(UserError, match=said):
            estimate_zeroshot(settings, Limits())
        with pytest.raises(UserError, match=said):
            zeroshot(settings, show=quiet)
        assert server.count == 0
    ask(annotations, tmp_path / "other", 1.0, sample=5)
    with pytest.raises(UserError, match="another configuration"):
        estimate_zeroshot(settings_for(annotations, tmp_path / "other", server.url, sample=6), Limits())
