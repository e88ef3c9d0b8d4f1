from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.llm.limits import Excess, excesses, fits
from proctor.llm.message import Audio, Image, Media, Message, Parameters, Request, Text, Video, system, user
from proctor.llm.tokens import (
    MediaLimits,
    _image_tokens,
    _rules_of,
    estimate_reply,
    estimate_text,
    estimate_tokens,
    media_limits,
    rules_date,
)

HASH = "a" * 64

# text, tokens in o200k_base, tokens in cl100k_base (counted once with js-tiktoken 1.0)
SAMPLES = [
    (
        "You help a person who is following a recipe. Below is the recipe as a graph: a node is a step, and an edge says that one step has to come before another. The person has finished some steps and has just done the last one in the list. Answer the question in one sentence, from what is given and nothing else. If the person has forgotten nothing, say so.\n\nRecipe: Tomato soup with basil\nDone so far:\n- Chop two onions and three cloves of garlic\n- Heat 1/2 cup of olive oil in a large pot over medium heat\n- Add the onions and fry them for 5 minutes, until they are soft\nJust done: Pour in 750 ml of vegetable stock\n\nQuestion: Did I forget to add the tomatoes before the stock?",
        160,
        160,
    ),
    (
        'digraph recipe {\n  START [label="START"];\n  n1 [label="Chop-Chop two onions"];\n  n2 [label="Heat-Heat 1/2 cup of oil in a pot"];\n  n3 [label="Fry-Fry the onions for 5 minutes"];\n  n4 [label="Pour-Pour in 750 ml of stock"];\n  START -> n1;\n  START -> n2;\n  n1 -> n3;\n  n2 -> n3;\n  n3 -> n4;\n}',
        111,
        111,
    ),
    (
        '{\n "question_id": "12_3_missing",\n "recording": "12_3",\n "steps": [\n  {\n   "step_id": 4,\n   "description": "Add 1/4 tsp of salt",\n   "start": 12.5,\n   "end": 20.25,\n   "errors": []\n  },\n  {\n   "step_id": 9,\n   "description": "Mix everything in a bowl",\n   "start": 20.25,\n   "end": 48.0,\n   "errors": [\n    "Measurement Error"\n   ]\n  }\n ],\n "clean": false\n}',
        133,
        133,
    ),
    (
        "**Rationale:** The prediction names the same missing step as the gold answer (adding the tomatoes), and says when it should have been done. It also mentions the basil, which is not required yet.\n\n**Judge:** 2",
        46,
        46,
    ),
    (
        "| step | start | end |\n|---|---|---|\n| 1 | 7.25 | 13.75 |\n| 2 | 14.50 | 21.00 |\n| 3 | 21.75 | 28.25 |\n| 4 | 29.00 | 35.50 |\n| 5 | 36.25 | 42.75 |\n| 6 | 43.50 | 50.00 |\n| 7 | 50.75 | 57.25 |\n| 8 | 58.00 | 64.50 |\n| 9 | 65.25 | 71.75 |\n| 10 | 72.50 | 79.00 |\n| 11 | 79.75 | 86.25 |\n| 12 | 87.00 | 93.50 |\n",
        182,
        182,
    ),
    (
        'def overlap(a: Segment, b: Segment) -> float:\n    """Return the seconds that two segments share."""\n    start, end = max(a.start, b.start), min(a.end, b.end)\n    if end <= start:\n        return 0.0\n    return end - start\n',
        61,
        61,
    ),
    (
        "Was soll ich als Nächstes tun? Zuerst erhitzt man das Öl in der Pfanne, dann gibt man die verquirlten Eier mit einer Prise Salz dazu und rührt bei schwacher Hitze, bis sie stocken.",
        51,
        56,
    ),
    ("我是不是忘记了什么步骤？你需要先把鸡蛋打散，然后加入盐和胡椒粉，最后用小火慢慢加热。", 33, 62),
    (
        "Что мне делать дальше? Сначала нагрейте масло на сковороде, затем добавьте яйца и щепотку соли.",
        28,
        47,
    ),
    ("🍳🥚 step done ✅ 🧂🔥 next step 👩\u200d🍳", 18, 25),
]


def image_tokens(width: int, height: int, model: str, *, detail: str = "") -> int:
    return _image_tokens(width, height, _rules_of(model, "").image, detail)


def image(width: int, height: int, mime: str = "image/jpeg") -> Image:
    return Image(HASH, mime, width, height)


def request(
    *parts: str | Image | Video | Audio, model: str = "openai/gpt-4o", **parameters: object
) -> Request:
    return Request(model=model, messages=(user(*parts),), parameters=Parameters(**parameters))  # type: ignore[arg-type]


# -- text -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "o200k", "cl100k"), SAMPLES)
def test_text_against_real_tokenisers(text: str, o200k: int, cl100k: int) -> None:
    expected, worst = estimate_text(text)
    assert worst >= max(o200k, cl100k)
    if text.isascii():
        assert 0.68 <= expected / o200k <= 1.3
    else:
        assert 0.6 <= expected / o200k <= 1.7


def test_prompts_are_within_a_tenth() -> None:
    for text, true, _ in SAMPLES[:4]:
        assert estimate_text(text)[0] == pytest.approx(true, rel=0.12)


@given(st.text(max_size=300))
def test_any_text_has_bounds(text: str) -> None:
    expected, worst = estimate_text(text)
    size = len(text.encode("utf-8", "surrogatepass"))
    assert 0 <= expected <= worst + 1
    assert worst <= size  # no byte-level tokeniser needs more


@given(st.text(max_size=100), st.text(max_size=100))
def test_more_text_is_never_fewer_tokens(a: str, b: str) -> None:
    assert estimate_text(a + b)[0] >= max(estimate_text(a)[0], estimate_text(b)[0])


def test_a_lone_surrogate_does_no_harm() -> None:
    assert estimate_text("\ud800")[0] >= 1


def test_providers_differ() -> None:
    text = SAMPLES[0][0]
    assert estimate_text(text, "anthropic/claude-x")[0] > estimate_text(text, "openai/x")[0]
    assert estimate_text(text, "anyllm/anthropic/claude-x") == estimate_text(text, "anthropic/claude-x")
    assert estimate_text(text, "transformers//a/b") == estimate_text(text, "compat/x@http://h/v1")


# -- images: the providers' own worked examples -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "size", "detail", "tokens"),
    [
        # OpenAI's documentation: tiles
        ("openai/gpt-4o", (1024, 1024), "high", 765),
        ("openai/gpt-4o-2024-08-06", (2048, 4096), "high", 1105),
        ("openai/gpt-4o", (4096, 8192), "low", 85),
        ("openai/gpt-4o-mini", (1024, 1024), "high", 2833 + 4 * 5667),
        ("openai/gpt-4o", (512, 512), "", 255),
        ("openai/gpt-4o", (513, 512), "auto", 425),
        ("openai/gpt-5", (1024, 1024), "", 70 + 4 * 140),
        ("openai/o3", (1024, 1024), "", 75 + 4 * 150),
        # OpenAI's documentation: patches
        ("openai/gpt-4.1-mini", (1024, 1024), "", math.ceil(1024 * 1.62)),
        ("openai/gpt-4.1-mini", (1800, 2400), "", math.ceil(1452 * 1.62)),
        ("openai/o4-mini", (1800, 2400), "", math.ceil(1452 * 1.72)),
        ("openai/gpt-5-nano", (32, 33), "", math.ceil(2 * 2.46)),
        # Anthropic's documentation
        ("anthropic/claude-3-5-sonnet-20240620", (200, 200), "", 54),
        ("anthropic/claude-3-5-sonnet-20240620", (1000, 1000), "", 1334),
        ("anthropic/claude-3-5-sonnet-20240620", (1092, 1092), "", 1590),
        ("anthropic/claude-opus-4-5", (8000, 8000), "", 1600),
        ("anthropic/claude-opus-4-7", (8000, 8000), "", 4784),
        # Google's documentation
        ("google/gemini-2.0-flash", (384, 384), "", 258),
        ("google/gemini-2.0-flash", (960, 540), "", 6 * 258),
        ("google/gemini-2.0-flash", (1000, 100), "", 4 * 258),
        ("google/gemini-1.5-pro-001", (4000, 3000), "", 258),
        ("google/gemini-2.5-pro", (960, 540), "low", 64),
        ("google/gemini-3-pro-preview", (960, 540), "", 1120),
        ("google/gemini-3-pro-preview", (960, 540), "low", 280),
        # Qwen2-VL: a token for 28 x 28 pixels
        ("compat/qwen@http://h/v1", (644, 364), "", 23 * 13),
        ("transformers//models/qwen", (1, 1), "", 1),
    ],
)
def test_images(model: str, size: tuple[int, int], detail: str, tokens: int) -> None:
    assert image_tokens(*size, model, detail=detail) == tokens


MODELS = [
    "openai/gpt-4o",
    "openai/gpt-4.1-mini",
    "openai/unheard-of",
    "anthropic/claude-3-opus",
    "anthropic/unheard-of",
    "google/gemini-1.5-pro",
    "google/gemini-2.5-pro",
    "google/unheard-of",
    "compat/x",
]


@given(
    st.sampled_from(MODELS),
    st.integers(-5, 10**9),
    st.integers(-5, 10**9),
    st.sampled_from(["", "low", "medium", "high", "original", "nonsense"]),
)
def test_images_of_any_size_have_a_bounded_number(model: str, width: int, height: int, detail: str) -> None:
    tokens = image_tokens(width, height, model, detail=detail)
    assert tokens >= 1
    if not model.startswith("google/gemini-2"):  # its crops are only bounded by the shape
        assert tokens <= 20_000
    if model.startswith(("anthropic", "compat", "google")):
        assert tokens == image_tokens(height, width, model, detail=detail)


@given(st.integers(1, 5_000), st.integers(1, 5_000))
def test_low_detail_is_never_dearer(width: int, height: int) -> None:
    for model in ("openai/gpt-4o", "openai/gpt-4.1-mini", "google/gemini-2.5-pro", "google/gemini-3-x"):
        assert image_tokens(width, height, model, detail="low") <= image_tokens(width, height, model)


@given(st.integers(33, 6_000), st.integers(33, 6_000))
def test_patches_after_scaling_are_few_enough(width: int, height: int) -> None:
    tokens = image_tokens(width, height, "openai/gpt-4.1-mini")
    assert tokens <= math.ceil(1536 * 1.62)
    if math.ceil(width / 32) * math.ceil(height / 32) > 1536:
        assert tokens >= math.ceil(1536 * 1.62) * 0.5  # and not far fewer, unless it is a thin strip
    else:
        assert tokens == math.ceil(math.ceil(width / 32) * math.ceil(height / 32) * 1.62)


# -- requests ---------------------------------------------------------------------------------------------------


def test_a_request_is_the_sum_of_its_parts() -> None:
    text = SAMPLES[0][0]
    plain = estimate_tokens(request(text))
    assert plain.images == plain.video == plain.audio == 0
    assert plain.text == plain.expected
    assert 0 < plain.expected - estimate_text(text)[0] <= 15
    shown = estimate_tokens(request(text, *[image(640, 360)] * 10))
    assert shown.images == 10 * 425
    assert shown.text == plain.text
    assert shown.expected == plain.expected + 4250 + 40
    assert shown.expected < shown.worst < 1.5 * shown.expected
    assert not shown.unsure
    two = estimate_tokens(Request(model="openai/gpt-4o", messages=(system(text), user(text))))
    assert two.text > 2 * estimate_text(text)[0]


def test_the_detail_that_is_asked_for_counts() -> None:
    low = estimate_tokens(request(image(960, 540), extra={"image_detail": "low"}))
    assert low.images == 85
    config = {"generationConfig": {"mediaResolution": "MEDIA_RESOLUTION_LOW"}}
    gemini = request(image(960, 540), Video(HASH, "video/mp4", 10.0), model="google/gemini-2.5-pro")
    plain = estimate_tokens(gemini)
    low = estimate_tokens(
        request(*gemini.messages[0].parts, model=gemini.model, extra=config)  # type: ignore[arg-type]
    )
    assert (plain.images, plain.video) == (6 * 258, 2_950)
    assert (low.images, low.video) == (64, 1_000)
    for odd in (
        {"generationConfig": 5},
        {"image_detail": None},
        {"generationConfig": {"mediaResolution": 7}},
    ):
        assert estimate_tokens(request(image(9, 9), extra=odd)).images > 0


def test_video_and_sound_count_by_the_second() -> None:
    estimate = estimate_tokens(
        request(
            Video(HASH, "video/mp4", 60.0), Audio(HASH, "audio/wav", 30.5), model="google/gemini-2.5-flash"
        )
    )
    assert estimate.video == 60 * 295
    assert estimate.audio == math.ceil(30.5 * 32)
    assert estimate_tokens(request(Audio(HASH, "audio/wav", 30.0), model="openai/gpt-audio")).audio == 300


@pytest.mark.parametrize("seconds", [math.nan, math.inf, -3.0, 0.0])
def test_a_clip_of_no_known_length(seconds: float) -> None:
    assert estimate_tokens(request(Video(HASH, "video/mp4", seconds))).video == 0


def test_models_without_a_known_rule_are_marked() -> None:
    estimate = estimate_tokens(request("x", image(640, 360), model="openai/gpt-17"))
    assert estimate.unsure
    assert estimate.worst >= 2 * estimate.images
    assert not estimate_tokens(request("x", model="openai/gpt-17")).unsure
    fixed = estimate_tokens(request(image(9, 9), model="compat/llava"), fixed_image_tokens=576)
    assert fixed.images == 576
    assert not fixed.unsure


def test_the_rules_of_another_provider() -> None:
    wanted = request(image(1000, 1000), model="compat/claude@http://proxy/v1")
    assert estimate_tokens(wanted, "anthropic").images >= 1334
    assert estimate_tokens(wanted, "somebody").images == estimate_tokens(wanted).images


def test_a_schema_is_part_of_the_prompt() -> None:
    schema = {"type": "object", "properties": {f"field_{n}": {"type": "string"} for n in range(30)}}
    assert estimate_tokens(request("x", json_schema=schema)).text > estimate_tokens(request("x")).text + 150


def test_replies() -> None:
    assert estimate_reply(request("x", max_tokens=128)).worst == 128
    assert estimate_reply(request("x", max_tokens=128)).limited
    free = estimate_reply(request("x"))
    assert (free.worst, free.limited) == (16_384, False)
    from proctor.llm.providers.anthropic import DEFAULT_MAX_TOKENS

    sent = estimate_reply(request("x", model="anthropic/claude-3-opus"))
    assert (sent.worst, sent.limited) == (DEFAULT_MAX_TOKENS, True)


def test_what_is_no_model() -> None:
    with pytest.raises(UserError):
        estimate_tokens(request("x", model="gpt"))


def test_the_rules_are_dated() -> None:
    assert 2025 <= rules_date().year <= 2026


def test_importing_is_light() -> None:
    code = "import sys, proctor.llm.tokens, proctor.llm.flow, proctor.llm.estimate; print(*sys.modules)"
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert not {"aiohttp", "sqlalchemy", "genai_prices", "pydantic", "PIL", "numpy"} & set(
        loaded.stdout.split()
    )


# -- does it fit --------------------------------------------------------------------------------------------------


def size_of(bytes_: int) -> object:
    def size(part: Media) -> int:
        return bytes_

    return size


def test_what_fits() -> None:
    assert fits(request("x", *[image(640, 360)] * 100, model="anthropic/claude-3-opus"))
    assert excesses(request("x")) == ()


def test_too_many_images() -> None:
    (excess,) = excesses(request(*[image(64, 64)] * 101, model="anthropic/claude-3-opus"))
    assert excess == Excess(what="images", value=101, limit=100)
    assert str(excess) == "101 images, at most 100 are taken"
    assert not fits(request(*[image(64, 64)] * 501))


def test_many_images_may_only_be_small() -> None:
    model = "anthropic/claude-3-opus"
    assert fits(request(*[image(3840, 2160)] * 20, model=model))
    found = excesses(request(*[image(3840, 2160)] * 21, model=model))
    assert {(each.what, each.value, each.limit) for each in found} == {("image_edge", 3840, 2000)}
    assert len(found) == 21
    (huge,) = excesses(request(image(8001, 10), model=model))
    assert "8,001 pixels (part 1, image/jpeg)" in str(huge)


def test_bytes_of_images_and_of_the_body() -> None:
    model = "anthropic/claude-3-opus"
    large = 5 * 2**20 + 1
    (excess,) = excesses(request(image(9, 9), model=model), size=lambda _: large)
    assert (excess.what, excess.value) == ("image_bytes", large)
    found = excesses(request(*[image(9, 9)] * 6, model=model), size=lambda _: 5 * 2**20)
    assert [each.what for each in found] == ["request_bytes"]
    assert found[0].value > 6 * 5 * 2**20 * 4 / 3
    assert fits(request(*[image(9, 9)] * 4, model=model), size=lambda _: 5 * 2**20)


def test_the_size_of_the_body_is_close_to_the_real_one() -> None:
    from proctor.llm.media import MediaStore
    from proctor.llm.providers.openai import OPENAI, render_chat  # what is really sent

    media = MediaStore()
    part = media.image("s", lambda: (bytes(range(256)) * 400, 640, 360))
    wanted = request('a "quoted"\nline ' * 500, part, part)
    body = sum(len(piece) for piece in render_chat(wanted, media, "gpt-4o", OPENAI))
    tight = MediaLimits(provider="openai", request_bytes=1)
    (excess,) = excesses(wanted, size=lambda p: len(media.get(p.sha256)), limits=tight)
    assert excess.value == pytest.approx(body, rel=0.01)


def test_kinds_of_media() -> None:
    found = excesses(request(Video(HASH, "video/mp4", 1.0), image(9, 9, "image/tiff")))
    assert [each.what for each in found] == ["mime", "mime"]
    assert "video/mp4" in str(found[0])
    assert fits(request(Video(HASH, "video/mp4", 1.0), model="google/gemini-2.5-pro"))
    assert fits(request(Video(HASH, "video/x-odd", 1.0), model="compat/x"))


def test_the_context() -> None:
    wanted = request("word " * 900, max_tokens=100)
    tokens = estimate_tokens(wanted).expected
    assert fits(wanted, context=tokens + 100)
    (excess,) = excesses(wanted, context=tokens + 99)
    assert (excess.what, excess.value, excess.limit) == ("context", tokens + 100, tokens + 99)
    assert fits(request("x"), context=2_000)  # no limit on the reply: what is left is for it


def test_limits_by_door() -> None:
    assert media_limits("anyllm/google/gemini-2.5-pro").provider == "google"
    assert media_limits("human/ana").images is None
    assert Message("user", (Text("x"),)) == user("x")
