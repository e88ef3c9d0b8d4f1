"""A model in a folder: tiny ones with random weights, made here; one that reads and one that sees."""

from __future__ import annotations

import asyncio
import io
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from proctor.errors import MissingExtraError, UserError
from proctor.llm.media import MediaStore
from proctor.llm.message import Image, Message, Parameters, Request, Text, system, user
from proctor.llm.outcome import Failure, Outcome, Reply, Truncated
from proctor.llm.registry import resolve, unsent_parameters

TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{% if m['content'] is string %}{{ m['content'] }}{% else %}"
    "{% for c in m['content'] %}{% if c['type'] == 'image' %}<image>{% else %}{{ c['text'] }}{% endif %}{% endfor %}"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def make_tokenizer(transformers: Any) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    special = ["<eos>", "<pad>", "<|user|>", "<|assistant|>", "<|system|>", "<image>"]
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=special,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    made.train_from_iterator(["what is the next step of the recipe"], trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<eos>", pad_token="<pad>", chat_template=TEMPLATE
    )


def text_config(transformers: Any, tokenizer: Any) -> Any:
    return transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=256,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    pytest.importorskip("torch", reason="needs the extra transformers")
    transformers = pytest.importorskip("transformers", reason="needs the extra transformers")
    import torch

    root = tmp_path_factory.mktemp("models")
    torch.manual_seed(0)
    tokenizer = make_tokenizer(transformers)
    config = text_config(transformers, tokenizer)
    transformers.LlamaForCausalLM(config).save_pretrained(root / "text")
    tokenizer.save_pretrained(root / "text")
    silent = make_tokenizer(transformers)
    silent.chat_template = None
    transformers.LlamaForCausalLM(config).save_pretrained(root / "silent")
    silent.save_pretrained(root / "silent")
    vision = transformers.CLIPVisionConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=28,
        patch_size=14,
    )
    both = transformers.LlavaConfig(
        vision_config=vision,
        text_config=text_config(transformers, tokenizer),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
    )
    transformers.LlavaForConditionalGeneration(both).save_pretrained(root / "vision")
    transformers.LlavaProcessor(
        transformers.CLIPImageProcessor(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}),
        tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        chat_template=TEMPLATE,
        image_token="<image>",
        num_additional_image_tokens=1,
    ).save_pretrained(root / "vision")
    return {name: root / name for name in ("text", "silent", "vision")}


def ask_all(folder: Path, media: MediaStore, *requests: Request, timeout: float = 60.0) -> list[Outcome]:
    async def main() -> list[Outcome]:
        model = resolve(f"transformers/{folder}")
        try:
            return await asyncio.gather(
                *(model.attempt(request, media, timeout=timeout) for request in requests)
            )
        finally:
            await model.close()

    return asyncio.run(main())


def made(*parts: Any, draw: int = 0, **parameters: Any) -> Request:
    parameters.setdefault("max_tokens", 12)
    return Request(
        model="transformers/x",
        messages=(system("s"), user(*parts)),
        parameters=Parameters(**parameters),
        draw=draw,
    )


def picture(media: MediaStore, colour: tuple[int, int, int]) -> Image:
    from PIL import Image as Pillow

    data = io.BytesIO()
    Pillow.new("RGB", (64, 48), colour).save(data, "PNG")
    return media.image(str(colour), lambda: (data.getvalue(), 64, 48), "image/png")


def test_greedy_is_the_same_each_time_and_counts_its_tokens(
    folders: dict[str, Path], media: MediaStore
) -> None:
    first, second = ask_all(
        folders["text"], media, made("next", temperature=0.0), made("next", temperature=0.0)
    )
    assert first == second
    assert isinstance(first, Truncated)
    assert first.usage.output == 12
    assert first.usage.input is not None
    assert first.stop == "length"
    (again,) = ask_all(folders["text"], media, made("next", temperature=0.0))
    assert again == first


def test_it_is_what_transformers_itself_computes(folders: dict[str, Path], media: MediaStore) -> None:
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folders["text"])
    model = transformers.AutoModelForCausalLM.from_pretrained(folders["text"])
    ids = tokenizer.encode("<|system|>s<|user|>what is next<|assistant|>", return_tensors="pt")
    with torch.inference_mode():
        new = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=12, do_sample=False)
    (ours,) = ask_all(folders["text"], media, made("what is next", temperature=0.0))
    assert ours.text == tokenizer.decode(new[0][ids.shape[1] :], skip_special_tokens=True)  # type: ignore[union-attr]
    assert ours.usage.input == ids.shape[1]


def test_draws_differ_and_repeat(folders: dict[str, Path], media: MediaStore) -> None:
    requests = [made("next", temperature=1.5, draw=draw) for draw in (0, 1, 0)]
    texts = [outcome.text for outcome in ask_all(folders["text"], media, *requests)]  # type: ignore[union-attr]
    assert texts[0] == texts[2] != texts[1]
    seeded = [made("next", temperature=1.5, draw=draw, seed=4) for draw in (0, 1)]
    texts = [outcome.text for outcome in ask_all(folders["text"], media, *seeded)]  # type: ignore[union-attr]
    assert texts[0] == texts[1]


def test_stop_texts_end_the_reply(folders: dict[str, Path], media: MediaStore) -> None:
    (whole,) = ask_all(folders["text"], media, made("next", temperature=0.0, max_tokens=40))
    text = whole.text  # type: ignore[union-attr]
    stop = next(c for c in text[3:] if c.isascii() and c.isprintable())
    (cut,) = ask_all(folders["text"], media, made("next", temperature=0.0, max_tokens=40, stop=(stop,)))
    assert isinstance(cut, Reply)
    assert cut.text == text[: text.index(stop)]
    assert cut.usage.output is not None
    assert cut.usage.output < 40


def test_an_end_token_is_an_end(folders: dict[str, Path], media: MediaStore) -> None:
    # A bias makes the end token the likeliest: the reply is empty, and a reply.
    (ended,) = ask_all(
        folders["text"], media, made("next", temperature=0.0, extra={"sequence_bias": [[[0], 1_000.0]]})
    )
    assert isinstance(ended, Reply)
    assert (ended.text, ended.stop, ended.usage.output) == ("", "stop", 1)


def test_what_it_sees_changes_what_it_says(folders: dict[str, Path], media: MediaStore) -> None:
    red, blue = picture(media, (255, 0, 0)), picture(media, (0, 0, 255))
    outcomes = ask_all(
        folders["vision"],
        media,
        made("what", red, temperature=0.0),
        made("what", blue, temperature=0.0),
        made("what", red, temperature=0.0),
        made("what", temperature=0.0),
        made("what", red, blue, temperature=0.0),
    )
    texts = [outcome.text for outcome in outcomes]  # type: ignore[union-attr]
    sizes = [outcome.usage.input for outcome in outcomes]
    assert texts[0] == texts[2]
    assert len({texts[0], texts[1], texts[3]}) == 3
    assert sizes[4] - sizes[0] == sizes[0] - sizes[3] == 4  # type: ignore[operator]


def test_what_it_cannot_do_is_a_bad_request(folders: dict[str, Path], media: MediaStore) -> None:
    red = picture(media, (255, 0, 0))
    broken = media.image("broken", lambda: (b"no picture", 1, 1))
    outcomes = [
        *ask_all(
            folders["text"],
            media,
            made("x", red),
            made("x", extra={"nonsense": 1}),
            made("x", extra={"input_ids": 1}),
        ),
        *ask_all(
            folders["vision"],
            media,
            made("x", broken),
            made("x", media.video(b"v", 1.0)),
            made(Image("0" * 64, "image/png", 1, 1)),
        ),
        *ask_all(folders["silent"], media, made("x")),
    ]
    for outcome in outcomes:
        assert isinstance(outcome, Failure), outcome
        assert outcome.kind == "bad_request"
    assert "chat template" in outcomes[-1].message  # type: ignore[union-attr]


def test_more_than_the_context_is_too_large(folders: dict[str, Path], media: MediaStore) -> None:
    (outcome,) = ask_all(folders["text"], media, made("word " * 500))
    assert isinstance(outcome, Failure)
    assert outcome.kind == "too_large"
    assert "256" in outcome.message
    (fits,) = ask_all(folders["text"], media, made("next", temperature=0.0, max_tokens=10_000))
    assert isinstance(fits, Truncated | Reply)
    assert fits.usage.input + fits.usage.output <= 256  # type: ignore[operator]


def test_a_timeout_ends_the_computation(
    folders: dict[str, Path], media: MediaStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    from proctor.llm.providers import transformers as local

    slow = local._stop_when

    def slower(torch: Any, ends: Any) -> Any:
        stop = slow(torch, ends)

        def each(*args: Any, **more: Any) -> Any:
            time.sleep(0.05)
            return stop(*args, **more)

        return each

    monkeypatch.setattr(local, "_stop_when", slower)

    async def main() -> None:
        model = resolve(f"transformers/{folders['text']}")
        begun = time.monotonic()
        long = made("next", temperature=0.0, max_tokens=200)
        outcome = await model.attempt(long, media, timeout=0.3)
        assert isinstance(outcome, Failure)
        assert outcome.kind == "timeout"
        short = await model.attempt(made("next", temperature=0.0, max_tokens=1), media, timeout=5)
        assert isinstance(short, Truncated)
        assert time.monotonic() - begun < 8  # 200 tokens would take 10 seconds
        task = asyncio.create_task(model.attempt(long, media, timeout=60))
        waiting = asyncio.create_task(model.attempt(long, media, timeout=60))
        await asyncio.sleep(0.2)
        task.cancel()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert isinstance(await model.attempt(made("a", max_tokens=1), media, timeout=5), Truncated)
        await model.close()

    asyncio.run(main())


def test_the_loop_goes_on_meanwhile(folders: dict[str, Path], media: MediaStore) -> None:
    async def main() -> int:
        model = resolve(f"transformers/{folders['text']}")
        await model.attempt(made("warm", max_tokens=1), media, timeout=60)
        task = asyncio.create_task(
            model.attempt(made("next", temperature=0.0, max_tokens=200), media, timeout=60)
        )
        ticks = 0
        while not task.done():
            await asyncio.sleep(0.005)
            ticks += 1
        await model.close()
        return ticks

    assert asyncio.run(main()) > 2


def test_no_code_of_the_folder_is_run(folders: dict[str, Path], media: MediaStore, tmp_path: Path) -> None:
    folder, marker = tmp_path / "evil", tmp_path / "ran"
    folder.mkdir()
    (folder / "evil.py").write_text(f"open({str(marker)!r}, 'w').write('x')\n")
    config = {"model_type": "evil", "auto_map": {"AutoConfig": "evil.C", "AutoModelForCausalLM": "evil.M"}}
    (folder / "config.json").write_text(json.dumps(config))
    (outcome,) = ask_all(folder, media, made("x"))
    assert isinstance(outcome, Failure)
    assert outcome.kind == "bad_request"
    assert not marker.exists()


def test_a_broken_folder_is_a_bad_request(
    folders: dict[str, Path], media: MediaStore, tmp_path: Path
) -> None:
    import shutil

    broken = tmp_path / "broken"
    shutil.copytree(folders["text"], broken)
    (broken / "model.safetensors").write_bytes(b"\0" * 100)
    (outcome,) = ask_all(broken, media, made("x"))
    assert isinstance(outcome, Failure)
    assert outcome.kind == "bad_request"


def test_parameters_that_change_nothing_here_are_told(folders: dict[str, Path]) -> None:
    model: Any = resolve(f"transformers/{folders['text']}")
    wanted = Parameters(temperature=0.0, json_schema={"type": "object"}, reasoning="low")
    assert unsent_parameters(model.name, wanted) == ("json_schema", "reasoning")
    assert model.endpoint == f"transformers:{folders['text']}"


def test_a_talk_keeps_its_turns(folders: dict[str, Path], media: MediaStore) -> None:
    talk = Request(
        model="transformers/x",
        messages=(user("a"), Message("assistant", (Text("b"),)), user("c", "d")),
        parameters=Parameters(temperature=0.0, max_tokens=2),
    )
    (outcome,) = ask_all(folders["text"], media, talk)
    assert outcome.usage.input == 9  # <|user|> a <|assistant|> b <|user|> c \n d <|assistant|>


@pytest.mark.parametrize("name", ["no/such/folder", "gpt2", "meta-llama/Llama-3-8B"])
def test_nothing_is_downloaded(name: str) -> None:
    with pytest.raises(UserError, match="not downloaded"):
        resolve(f"transformers/{name}")


def test_a_missing_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    (tmp_path / "config.json").write_text("{}")
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "torch" else real(name, *a)
    )
    with pytest.raises(MissingExtraError, match=r"proctor-bench\[transformers\]"):
        resolve(f"transformers/{tmp_path}")


def test_torch_is_imported_only_when_asked(folders: dict[str, Path]) -> None:
    import subprocess

    name = f"transformers/{folders['text']}"
    code = (
        f"import sys; from proctor.llm.registry import resolve; resolve({name!r});"
        "assert 'torch' not in sys.modules and 'transformers' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
