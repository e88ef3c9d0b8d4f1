"""What models are shown of real videos, over real HTTP: what arrived at the stand-in is what the records say."""

from __future__ import annotations

import importlib.util
import io
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import av
import msgspec
import pytest
from tests.moments import with_example
from tests.taking import estimate_prediction, predict

from proctor.errors import UserError
from proctor.exam.fitting import HEIGHTS
from proctor.exam.kinds.moment_question import moment_example
from proctor.exam.prediction import Prediction
from proctor.exam.question import Item
from proctor.exam.view import View, frame_times
from proctor.llm import limits as limits_module
from proctor.llm.tokens import media_limits
from proctor.records import read_jsonl, write_jsonl
from proctor.stages.generate import generate
from proctor.stages.models import MEDIA, Limits
from proctor.stages.predict import read_run_info
from proctor.stages.settings import GenerateSettings
from proctor.workspace import Workspace
from proctor_rehearsal.standin import Answer, Call, Standin

RATE = 7
"""Frames a second of the videos: frame ``n`` shows its number and begins at ``n / RATE`` seconds."""
SIZE = (160, 96)
MODELS = {
    "openai": "openai/gpt-4.1@{}/v1",
    "anthropic": "anthropic/claude-sonnet-4-5@{}",
    "google": "google/gemini-2.5-flash@{}",
    "compat": "compat/qwen@{}/v1",
}
EVERY = pytest.mark.parametrize("provider", MODELS)


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("video_maker", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["video_maker"] = module
    spec.loader.exec_module(module)
    return module


maker = load(Path(__file__).parents[1] / "media" / "make_video.py")


class Shown:
    """Answers every request, and keeps what came with it."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def __call__(self, call: Call) -> Answer:
        assert call.media is not None  # decoded and checked
        self.calls.append(call)
        return Answer(text=f"Look at {call.key}.")

    @property
    def hashes(self) -> dict[tuple[str, ...], int]:
        """Media of each call, in order, with the number of bytes of its body."""
        return {tuple(part.sha256 for part in call.media): len(call.body) for call in self.calls}


@pytest.fixture(scope="module")
def server() -> Iterator[Standin]:
    with Standin(reply="?") as running:
        yield running
        assert running.errors == []


@pytest.fixture
def shown() -> Shown:
    return Shown()


@pytest.fixture
def standin(server: Standin, shown: Shown, monkeypatch: pytest.MonkeyPatch) -> Standin:
    for name in ("OPENAI", "ANTHROPIC", "GOOGLE"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-0123456789abcdef")
    server.script(answer=shown)
    server.reset()
    return server


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the videos are named as CaptainCook4D names its own."""
    folder = tmp_path_factory.mktemp("videos")
    recipe = maker.Recipe(times=range(84 * RATE), time_base=Fraction(1, RATE), size=SIZE, audio_seconds=5.0)
    maker.make_video(folder / "lamp_1_96p.mp4", recipe)
    (folder / "sub").mkdir()
    maker.make_video(folder / "sub" / "lamp_2_96p.mp4", recipe)
    return folder


@pytest.fixture
def bench(finished: Path, tmp_path: Path) -> Path:
    """A workspace whose recordings name no videos."""
    root = Path(shutil.copytree(finished / "bench", tmp_path / "bench"))
    items = [with_example(item, video=None) for item in read_jsonl(root / "items.jsonl", Item)]
    write_jsonl(root / "items.jsonl", items)
    shutil.rmtree(root / "runs")
    return root


def only(root: Path, *ends: float) -> None:
    """Keep items of these moments alone, one for each."""
    there = {moment_example(item.question).end: item for item in items_of(root).values()}
    write_jsonl(root / "items.jsonl", [there[end] for end in ends])


def items_of(root: Path) -> dict[str, Item]:
    return {item.id: item for item in read_jsonl(root / "items.jsonl", Item)}


def predictions(root: Path, run: str) -> list[Prediction]:
    found: list[Prediction] = read_jsonl(root / "runs" / run / "predictions.jsonl", Prediction)
    return found


def kept(root: Path, sha256: str) -> bytes:
    return (root / MEDIA / sha256[:2] / sha256).read_bytes()


def numbers(data: bytes) -> list[int]:
    """Read the numbers on the frames of an encoded picture or clip."""
    with av.open(io.BytesIO(data)) as container:
        return [maker.number_in(f.to_ndarray(format="rgb24")) for f in container.decode(video=0)]


# -- frames --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "sampling"),
    list(zip(MODELS, ["uniform", "fps", "published", "steps"], strict=True)),
)
def test_the_frames_that_arrive_are_those_of_the_record(
    bench: Path, standin: Standin, shown: Shown, videos: Path, provider: str, sampling: str
) -> None:
    view = View.parse(f"frames:6@96p:{sampling}")
    told = predict(bench, MODELS[provider].format(standin.url), run="r", view=view, videos=videos, limit=12)
    assert told["failed"] == 0
    assert told["shrunk"] == {}
    made, items = predictions(bench, "r"), items_of(bench)
    assert len(made) == told["answered"] == 12
    arrived = {sent: [numbers(kept(bench, sha))[0] for sha in sent] for sent in shown.hashes}
    for prediction in made:
        end = moment_example(items[prediction.item_id].question).end
        wanted = [int(t * RATE + 1e-9) for t in prediction.frame_times]
        assert 1 <= len(wanted) <= 6
        assert wanted == sorted(set(wanted))
        assert max(prediction.frame_times) < end
        media = next(sent for sent, seen in arrived.items() if seen == wanted)
        assert len(media) == len(prediction.frame_indices)
        assert prediction.details["video"].endswith("_96p.mp4")
        assert (prediction.details["frames"], prediction.details["resolution"]) == ("6", "96p")
        assert "shrunk" not in prediction.details
        call = next(c for c in shown.calls if tuple(p.sha256 for p in c.media) == media)
        assert {(p.kind, p.mime, p.width, p.height) for p in call.media} == {("image", "image/jpeg", *SIZE)}
        for moment in prediction.frame_times:
            assert f"at {moment:.2f} s" in call.text


def test_questions_about_one_moment_share_their_frames(
    bench: Path, standin: Standin, shown: Shown, videos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import proctor.exam.frames as showing

    real, opened = showing.extract_frames, []
    monkeypatch.setattr(
        showing, "extract_frames", lambda path, times, **o: opened.append(path) or real(path, times, **o)
    )
    predict(
        bench, MODELS["compat"].format(standin.url), run="r", view=View.parse("frames:4@96p"), videos=videos
    )
    moments = {
        (moment_example(i.question).recording_id, moment_example(i.question).end)
        for i in items_of(bench).values()
    }
    assert len(opened) == len(moments) < len(items_of(bench))


def test_frames_at_steps_lie_in_the_steps_and_the_run_says_what_it_was_told(
    bench: Path, standin: Standin, videos: Path
) -> None:
    view = View.parse("frames:40@96p:steps")
    told = predict(bench, MODELS["compat"].format(standin.url), view=view, videos=videos)
    info = read_run_info(bench / "runs" / told["run"])
    assert info.privilege == "when the performed steps begin and end"
    assert info.role == "system"
    assert "steps" in told["run"]
    items = items_of(bench)
    for prediction in predictions(bench, told["run"]):
        example = moment_example(items[prediction.item_id].question)
        assert prediction.details["privilege"] == info.privilege
        steps = [(s.start, s.end) for s in example.performed]
        if not steps:
            assert len(prediction.frame_times) == 1
            continue
        inside = [any(a - 1 / RATE <= t < b for a, b in steps) for t in prediction.frame_times]  # type: ignore[operator]
        assert all(inside)
        assert len(prediction.frame_times) >= 2 * len(steps)
    honest = predict(bench, MODELS["compat"].format(standin.url), view=View.parse("frames:2"), videos=videos)
    assert read_run_info(bench / "runs" / honest["run"]).privilege == ""


def test_the_generator_sees_the_same_videos(
    bench: Path, standin: Standin, shown: Shown, videos: Path
) -> None:
    name = MODELS["compat"].format(standin.url)
    told = generate(bench, GenerateSettings(generator=(name,), template="dot-frames", sample="all", frames=3, height=96, sampling="steps"), limit=10, videos=videos)  # fmt: skip
    assert told.funnel.asked == 10 - told.dropped.get("not_shown", 0) > 0
    assert all(1 <= len(call.media) <= 3 for call in shown.calls)
    assert all(numbers(kept(bench, p.sha256)) for call in shown.calls for p in call.media)


# -- shrunk --------------------------------------------------------------------------------------------------------


@EVERY
def test_more_frames_than_the_provider_takes_are_fewer_frames_of_the_same_sampling(
    bench: Path, standin: Standin, shown: Shown, videos: Path, provider: str
) -> None:
    most = media_limits(MODELS[provider].format(standin.url)).images
    asked = View.parse(f"frames:{min(most or 100, 500) + 10}@48p:uniform")
    name = MODELS[provider].format(standin.url)
    only(bench, 7.5, 12.5, 82.0)
    told = predict(bench, name, run="r", view=asked, videos=videos)
    assert told["failed"] == 0
    items = items_of(bench)
    fewer = 0
    for prediction in predictions(bench, "r"):
        end, shrunk = (
            moment_example(items[prediction.item_id].question).end,
            prediction.details.get("shrunk", ""),
        )
        there = len({int(t * RATE + 1e-9) for t in frame_times(asked, end)})
        if most is None or there <= most:
            assert shrunk == ""
            assert len(prediction.frame_times) == there
            continue
        fewer += 1
        assert shrunk == f"{there} → {most} frames ({provider}: {there} images, at most {most} are taken)"
        smaller = frame_times(View.parse(f"frames:{most}@48p:uniform"), end)
        assert [int(t * RATE + 1e-9) for t in smaller] == [
            int(t * RATE + 1e-9) for t in prediction.frame_times
        ]
        assert prediction.details["frames"] == str(asked.frames)
    assert (fewer > 0) == (provider in ("openai", "anthropic"))
    assert sum(told["shrunk"].values()) == fewer
    assert max(len(call.media) for call in shown.calls) <= (most or 1_000)
    assert read_run_info(bench / "runs" / "r").view == asked
    sent = standin.count
    again = predict(bench, name, run="r", view=asked, videos=videos)
    assert (standin.count, again["asked_now"], again["shrunk"]) == (sent, 0, told["shrunk"])


def test_without_shrinking_it_is_an_error_before_anything_is_sent(
    bench: Path, standin: Standin, videos: Path
) -> None:
    name = MODELS["anthropic"].format(standin.url)
    view = View.parse("frames:110@48p:uniform")
    only(bench, 7.5, 12.5, 82.0)
    with pytest.raises(UserError) as caught:
        predict(bench, name, run="r", view=view, videos=videos, shrink=False)
    assert re.search(r"too large for the provider \(anthropic: \d+ images, at most 100", caught.value.message)
    assert caught.value.hint is not None
    assert "--frames" in caught.value.hint
    with pytest.raises(UserError, match="too large"):
        estimate_prediction(bench, name, view=view, videos=videos, shrink=False)
    assert standin.count == 0
    assert not (bench / "runs" / "r").exists()
    assert predict(bench, name, run="r", view=view, videos=videos)["shrunk"]
    with pytest.raises(UserError, match="too large"):  # what was shrunk does not count as answered then
        predict(bench, name, run="r", view=view, videos=videos, shrink=False)
    few = View.parse("frames:90@48p:uniform")
    assert predict(bench, name, run="few", view=few, videos=videos, shrink=False)["shrunk"] == {}


def limited(monkeypatch: pytest.MonkeyPatch, standin: Standin, shown: Shown, **limits: Any) -> None:
    """Give every provider other limits, and the server the same ones on bytes."""
    real = limits_module.media_limits
    monkeypatch.setattr(
        limits_module, "media_limits", lambda model: msgspec.structs.replace(real(model), **limits)
    )
    if "request_bytes" in limits:
        standin.script({"limit": limits["request_bytes"]}, answer=shown)


@EVERY
def test_too_many_bytes_are_lower_pictures_and_then_fewer(
    bench: Path,
    standin: Standin,
    shown: Shown,
    videos: Path,
    provider: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limited(monkeypatch, standin, shown, request_bytes=60_000)
    view, name = View.parse("frames:12@480p:uniform"), MODELS[provider].format(standin.url)
    only(bench, 7.5, 12.5, 82.0)
    told = predict(bench, name, run="r", view=view, videos=videos)
    assert told["failed"] == 0  # or the server would have said 413
    ways = set()
    for prediction in predictions(bench, "r"):
        found = re.match(r"(?:(\d+) → (\d+) frames, )?480p → (\d+)p \(", prediction.details["shrunk"])
        assert found is not None
        assert "bytes, at most 60,000 are taken" in prediction.details["shrunk"]
        assert int(found[3]) in HEIGHTS
        assert len(prediction.frame_times) == int(found[2] or 12)
        ways.add((found[2], found[3]))
        assert prediction.details["resolution"] == "480p"
    assert {h for _, h in ways} <= {"288", "240", "180", "144"}
    assert max(shown.hashes.values()) > 20_000  # not smaller than it has to be


def test_when_even_one_picture_is_too_large_that_item_fails(
    bench: Path, standin: Standin, shown: Shown, videos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(monkeypatch, standin, shown, request_bytes=1_500)
    view = View.parse("frames:4@96p:uniform")
    told = predict(bench, MODELS["openai"].format(standin.url), run="r", view=view, videos=videos, limit=2)
    assert told["failures"] == {"not_shown": 2}
    assert standin.count == 0
    assert "nothing is left to leave out" in str(predictions(bench, "r")[0].failure)


def test_pictures_with_too_many_pixels_are_lower(
    bench: Path, standin: Standin, shown: Shown, videos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(monkeypatch, standin, shown, many_images=3, many_edge=500)
    name = MODELS["anthropic"].format(standin.url)
    few = predict(bench, name, run="a", view=View.parse("frames:3@480p:uniform"), videos=videos, limit=3)
    assert few["shrunk"] == {}
    predict(bench, name, run="b", view=View.parse("frames:4@480p:uniform"), videos=videos, limit=3)
    for prediction in predictions(bench, "b"):
        assert prediction.details["shrunk"].startswith("480p → 288p (anthropic: 800 pixels")
        assert len(prediction.frame_times) == 4
    assert {(p.width, p.height) for c in shown.calls for p in c.media} == {(800, 480), (480, 288)}


def test_more_tokens_than_the_model_takes_are_fewer_frames(
    bench: Path, standin: Standin, shown: Shown, videos: Path, tmp_path: Path
) -> None:
    name = MODELS["compat"].format(standin.url)
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"prices": {"compat/qwen": {"input": 1, "output": 2, "context": 3000}}}))
    view = View.parse("frames:40@144p:uniform")
    told = predict(bench, name, run="r", view=view, videos=videos, limit=4, limits=Limits(prices=prices))
    assert sum(told["shrunk"].values()) == 4
    for prediction in predictions(bench, "r"):
        assert re.match(r"40 → \d+ frames \(compat: [\d,]+ tokens", prediction.details["shrunk"])
        assert 1 <= len(prediction.frame_times) < 40


# -- the clip itself -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", ["google", "compat"])
def test_the_clip_that_arrives_ends_before_the_question(
    bench: Path, standin: Standin, shown: Shown, videos: Path, provider: str
) -> None:
    name, view = MODELS[provider].format(standin.url), View.parse("video:48p")
    estimate = estimate_prediction(bench, name, view=view, videos=videos, limit=5)
    assert standin.count == 0
    assert estimate.new > 0
    told = predict(bench, name, view=view, videos=videos, limit=5)
    assert told["run"].endswith("video-48p")
    assert told["failed"] == 0
    items, media = items_of(bench), bench / MEDIA
    assert all([p.kind for p in call.media] == ["video"] for call in shown.calls)
    seconds = 0.0
    for prediction in predictions(bench, told["run"]):
        end = moment_example(items[prediction.item_id].question).end
        assert prediction.details["view"] == "video"
        assert prediction.details["seconds"] == f"{end:.2f}"
        assert prediction.frame_times == ()
        call = next(
            c
            for c in shown.calls
            if items[prediction.item_id].question.text in c.text and f"{end:.2f}" in c.text
        )
        seen = numbers(kept(bench, call.media[0].sha256))
        assert seen[0] == 0
        assert seen == list(range(len(seen)))
        assert (len(seen) - 1) / RATE < end <= len(seen) / RATE + 1e-6
        seconds += end
    line = estimate.lines[0]
    rate = {"google": 295, "compat": 300}[provider]
    assert line.input > seconds * rate * 0.9
    clips = sorted(p for p in media.rglob("*") if p.is_file() and p.parent.name != "clips")
    moments = {(moment_example(items[p.item_id].question).recording_id, moment_example(items[p.item_id].question).end)
               for p in predictions(bench, told["run"])}  # fmt: skip
    assert len(clips) == len(moments)
    later = estimate_prediction(bench, name, run="other", view=view, videos=videos, limit=5)
    assert later.new == 0


def test_a_clip_is_cut_once_over_runs(
    bench: Path, standin: Standin, videos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import proctor.exam.frames as showing

    name, view = MODELS["google"].format(standin.url), View.parse("video:48p")
    predict(bench, name, run="a", view=view, videos=videos, limit=3)
    real, cuts = showing.cut_clip, []
    monkeypatch.setattr(showing, "cut_clip", lambda *a, **o: cuts.append(a) or real(*a, **o))
    predict(bench, name, run="b", view=view, videos=videos, limit=3)
    assert cuts == []
    assert predictions(bench, "a") == predictions(bench, "b")
    for clip in (p for p in (bench / MEDIA).rglob("*") if p.is_file() and p.parent.name != "clips"):
        clip.unlink()
    before = {p.item_id: p.details["request"] for p in predictions(bench, "b")}
    predict(bench, name, run="c", view=view, videos=videos, limit=3)
    assert len(cuts) > 0
    assert {p.item_id: p.details["request"] for p in predictions(bench, "c")} == before  # the same bytes


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_who_takes_no_video_says_so_before_anything_is_sent(
    bench: Path, standin: Standin, videos: Path, provider: str
) -> None:
    name = MODELS[provider].format(standin.url)
    for ask in (predict, estimate_prediction):
        with pytest.raises(UserError, match=f"{provider} takes no video"):
            ask(bench, name, view=View(kind="video"), videos=videos)  # type: ignore[operator]
    with pytest.raises(UserError, match="takes no video"):
        predict(bench, "transformers/some/path", view=View(kind="video"), videos=videos)
    assert standin.count == 0


def test_a_clip_that_is_too_large_is_lower(
    bench: Path, standin: Standin, shown: Shown, videos: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "large"
    folder.mkdir()
    recipe = maker.Recipe(times=range(14 * RATE), time_base=Fraction(1, RATE), size=(480, 288))
    maker.make_video(folder / "lamp_1.mp4", recipe)
    name = MODELS["google"].format(standin.url)
    view = View.parse("video:288p")
    only(bench, 6.0, 12.5)
    predict(bench, name, run="whole", view=view, videos=folder)
    assert {p.details.get("shrunk") for p in predictions(bench, "whole")} == {None}
    most = max(shown.hashes.values()) * 3 // 4
    limited(monkeypatch, standin, shown, request_bytes=most)
    shown.calls.clear()
    told = predict(bench, name, run="less", view=view, videos=folder)
    assert told["failed"] == 0
    assert told["shrunk"]
    for way in told["shrunk"]:
        found = re.match(r"288p → (\d+)p \(google: [\d,]+ bytes", way)
        assert found is not None
        assert int(found[1]) in HEIGHTS
    assert max(shown.hashes.values()) <= most


# -- captions ------------------------------------------------------------------------------------------------------


def test_frames_are_described_once_and_the_descriptions_arrive(
    bench: Path, standin: Standin, shown: Shown, videos: Path
) -> None:
    name, captioner = MODELS["openai"].format(standin.url), MODELS["compat"].format(standin.url)
    view = View.parse("captions:3@96p:uniform", captioner=captioner)
    told = predict(bench, name, view=view, videos=videos, limit=6)
    assert told["failed"] == 0
    assert told["run"] == "openai-gpt-4.1-captions-3f-96p-uniform-by-compat-qwen"
    pictures = [c for c in shown.calls if c.model == "qwen"]
    answers = [c for c in shown.calls if c.model == "gpt-4.1"]
    assert all(len(c.media) == 1 for c in pictures)
    assert all(c.media == () for c in answers)
    assert len({c.media[0].sha256 for c in pictures}) == len(pictures)
    said = [f"Look at {c.key}." for c in pictures]
    for prediction in predictions(bench, told["run"]):
        assert len(prediction.frame_times) == 3
    heard = [sum(text in c.text for text in said) for c in answers]
    assert heard == [3] * len(answers), (said, [c.text for c in answers])
    other = View.parse("captions:3@96p:uniform", captioner="compat/other@" + standin.url + "/v1")
    assert predict(bench, name, view=other, videos=videos, limit=1)["run"] != told["run"]


# -- what cannot be shown, and what stops in the middle ------------------------------------------------------------


def test_a_recording_without_a_video_fails_alone_and_is_asked_again_later(
    bench: Path, standin: Standin, videos: Path, tmp_path: Path
) -> None:
    some = tmp_path / "some"
    some.mkdir()
    shutil.copy(videos / "lamp_1_96p.mp4", some / "lamp_1.mp4")
    name, view = MODELS["compat"].format(standin.url), View.parse("frames:2@96p")
    told = predict(bench, name, run="r", view=view, videos=some)
    items = items_of(bench)
    missing = [i for i in items.values() if moment_example(i.question).recording_id == "lamp_2"]
    assert told["failures"] == {"not_shown": len(missing)} != {"not_shown": 0}
    failed = [p for p in predictions(bench, "r") if p.failure is not None]
    assert {p.item_id for p in failed} == {i.id for i in missing}
    assert "there is no video named by recording 'lamp_2'" in str(failed[0].failure)
    assert str(tmp_path) not in str(failed[0].failure)
    sent = standin.count
    one = predict(bench, name, run="r", view=view, videos=some, limit=1)
    assert one["answered"] == len(items) - len(missing)
    assert (one["failed"], standin.count) == (len(missing), sent)
    counted = {"answered": one["answered"], "failed": one["failed"]}
    assert Workspace(bench).stages()["predict/r"].counts == counted
    shutil.copy(videos / "sub" / "lamp_2_96p.mp4", some / "lamp_2.mp4")
    whole = predict(bench, name, run="r", view=view, videos=some)
    assert (whole["asked_now"], whole["failed"]) == (len(missing), 0)


def test_a_folder_of_videos_that_is_none_is_an_error(bench: Path, standin: Standin, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder of videos"):
        predict(
            bench, MODELS["compat"].format(standin.url), view=View(kind="frames"), videos=tmp_path / "none"
        )
    assert standin.count == 0


def test_a_dry_run_that_can_show_nothing_says_why(bench: Path, standin: Standin, tmp_path: Path) -> None:
    name = MODELS["compat"].format(standin.url)
    for text in ("frames:2@96p", "video:96p"):
        with pytest.raises(UserError) as caught:
            estimate_prediction(bench, name, view=View.parse(text), videos=tmp_path)
        assert caught.value.message.startswith("none of the ")
        assert "no video named by recording 'lamp_1'" in caught.value.message
    captions = View.parse("captions:2@96p", captioner=name)
    with pytest.raises(UserError, match="none of the"):
        estimate_prediction(bench, name, view=captions, videos=tmp_path)
    assert standin.count == 0


def test_answers_of_another_run_are_not_taken_over(bench: Path, standin: Standin) -> None:
    """As when the process is killed after the answers were written, and before what the run is."""
    name = MODELS["compat"].format(standin.url)
    predict(bench, name, run="r", view=View(kind="recipe"))
    predict(bench, name, run="other", view=View(kind="question"))
    shutil.copy(bench / "runs/other/predictions.jsonl", bench / "runs/r/predictions.jsonl")
    told = predict(bench, name, run="r", view=View(kind="recipe"))
    assert told["asked_now"] == told["items"]
    assert {p.details["view"] for p in predictions(bench, "r")} == {"recipe"}


def test_a_limit_in_the_middle_keeps_what_was_answered(bench: Path, standin: Standin, videos: Path) -> None:
    name, view = MODELS["compat"].format(standin.url), View.parse("frames:2@96p")
    some = predict(bench, name, run="r", view=view, videos=videos, limits=Limits(max_calls=4))
    assert some["calls"]["stopped"]
    assert some["failures"].keys() == {"budget"}
    answered = [p for p in predictions(bench, "r") if p.answer is not None]
    assert len(answered) >= 4
    rest = predict(bench, name, run="r", view=view, videos=videos)
    assert rest["asked_now"] == rest["items"] - len(answered)
    assert rest["failed"] == 0
    assert all(times == 1 for times in standin.counts.values())


def test_an_interrupt_in_the_middle_keeps_what_was_answered(
    bench: Path, standin: Standin, videos: Path
) -> None:
    name, view = MODELS["compat"].format(standin.url), View.parse("frames:2@96p")
    ticks = iter(range(100))

    def impatient() -> None:
        if next(ticks) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predict(bench, name, run="r", view=view, videos=videos, seen=impatient)
    there = predictions(bench, "r")
    assert len(there) >= 6
    assert all(p.answer is not None for p in there)
    assert Workspace(bench).stages()["predict/r"].counts == {"answered": len(there)}
    rest = predict(bench, name, run="r", view=view, videos=videos)
    assert rest["asked_now"] == rest["items"] - len(there)
    assert all(times == 1 for times in standin.counts.values())
    calm = predict(bench, name, run="calm", view=view, videos=videos)
    assert calm["calls"]["sent"] == 0
    assert predictions(bench, "r") == predictions(bench, "calm")


def test_a_real_ctrl_c_keeps_what_was_answered(bench: Path, standin: Standin, shown: Shown) -> None:
    standin.script({"latency": {"seconds": 0.2}}, answer=shown)
    name = MODELS["compat"].format(standin.url)
    command = [
        sys.executable,
        "-c",
        # whoever runs the tests in the background of a shell starts them with Ctrl-C ignored
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);from proctor.cli.main import main; main()",
        "predict",
        str(bench),
        "-p",
        name,
    ]
    options = ["--show", "recipe", "--run", "r", "--max-connections", "2"]
    with subprocess.Popen(
        [*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 60
        while (
            standin.log.summary()["answered"] < 6 and process.poll() is None and time.monotonic() < deadline
        ):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    there = predictions(bench, "r")
    assert len(there) >= 4
    assert all(p.answer is not None for p in there)
    standin.script(answer=shown)
    rest = predict(bench, name, run="r", view=View(kind="recipe"))
    assert rest["asked_now"] == rest["items"] - len(there)
    assert rest["failed"] == 0
    assert all(times == 1 for times in standin.counts.values())


def test_another_run_of_that_name_is_replaced_with_a_note(bench: Path, standin: Standin) -> None:
    name = MODELS["compat"].format(standin.url)
    first = predict(bench, name, run="r", view=View(kind="recipe"))
    assert "note" not in first
    second = predict(bench, name, run="r", view=View(kind="question"))
    assert second["note"] == f"run 'r' held answers of {name} (recipe); they are replaced"
    assert second["asked_now"] == second["items"]


def test_the_record_of_an_older_run_is_read(bench: Path, standin: Standin) -> None:
    name = MODELS["compat"].format(standin.url)
    predict(bench, name, run="r", view=View(kind="recipe"))
    path = bench / "runs" / "r" / "run.json"
    old = json.loads(path.read_text())
    old["view"] = {"kind": "recipe", "frames": 10, "height": 765}  # as it was written before
    path.write_text(json.dumps(old))
    assert predict(bench, name, run="r", view=View(kind="recipe"))["asked_now"] == 0
    old["view"] = {"kind": "hologram"}
    path.write_text(json.dumps(old))
    with pytest.raises(UserError, match="hologram"):
        predict(bench, name, run="r", view=View(kind="recipe"))
