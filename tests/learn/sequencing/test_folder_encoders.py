"""Encoders from folders of weights: random ones, made here. Spans, positions, masks, pictures, and what does not fit."""

from __future__ import annotations

import json
import math
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from proctor.errors import UserError  # noqa: E402
from proctor.learn.sequencing.encoder import Description, Steps  # noqa: E402
from proctor.learn.sequencing.encoders import open_encoder, rebuild  # noqa: E402
from proctor.learn.sequencing.encoders.folders import text_encoder  # noqa: E402
from proctor.learn.sequencing.encoders.stream import Patches  # noqa: E402
from proctor.learn.sequencing.inputs import Inputs  # noqa: E402
from proctor.procedure.manual import Sequence, SequenceStep  # noqa: E402

TINY = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "cut", "mix", "bake", "serve")
FAMILY = {"clip": "clip", "swin": "clip", "resnet": "resnet"}
PAIRS = torch.tensor([(0, 1), (1, 0), (2, 0), (0, 2), (2, 1)])


def tokenizer(folder: Path, pad: str = "[PAD]", words: tuple[str, ...] = WORDS) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    model = tokenizers.models.WordLevel({w: k for k, w in enumerate(words)}, unk_token="[UNK]")
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    names = {"unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]", "pad": pad}
    marks = {f"{k}_token": v for k, v in names.items()}
    transformers.PreTrainedTokenizerFast(tokenizer_object=made, **marks).save_pretrained(folder)


class Code:
    """Weights that would fail the test if they were loaded without care."""

    def __reduce__(self) -> tuple[Any, ...]:
        return pytest.fail, ("code was run",)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    normal = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3, "size": {"height": 32, "width": 32}}

    kinds: dict[str, tuple[str, dict[str, Any]]] = {
        "bert": ("Bert", TINY),
        "roberta": (
            "Roberta",
            TINY | {"max_position_embeddings": 24, "pad_token_id": 1, "type_vocab_size": 1},
        ),
        "bart": ("Bart", {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "pad_token_id": 0}),
        "clip": ("CLIPVision", TINY | {"image_size": 32, "patch_size": 16}),
        "swin": (
            "Swin",
            {"image_size": 32, "embed_dim": 8, "window_size": 2, "depths": [1, 1], "num_heads": [2, 2]},
        ),
        "resnet": ("ResNet", {"embedding_size": 8, "hidden_sizes": [8, 24], "depths": [1, 1]}),
    }

    def make(kind: str) -> Path:
        torch.manual_seed(0)
        folder = tmp_path_factory.mktemp(kind)
        name, sizes = kinds[kind]
        if kind in ("bert", "roberta", "bart"):
            sizes = sizes | {"vocab_size": len(WORDS)}
            tokenizer(folder, "[UNK]" if kind == "roberta" else "[PAD]")  # number 1, as RoBERTa's padding
        model = getattr(transformers, f"{name}Model")(getattr(transformers, f"{name}Config")(**sizes))
        for parameter in model.parameters():  # as they begin, nothing makes much of a difference
            torch.nn.init.normal_(parameter, std=0.3)
        model.save_pretrained(folder)
        (folder / "preprocessor_config.json").write_text(json.dumps(normal))
        return folder

    made: dict[str, Path] = {}
    return lambda kind: made.setdefault(kind, made.get(kind) or make(kind))


IMAGES = torch.rand(3, 3, 32, 32, generator=torch.Generator().manual_seed(0))


def steps(encoder: Any, *texts: str) -> Steps:
    sequence = Sequence("a", "", tuple(SequenceStep(str(k), t) for k, t in enumerate(texts)))
    return Inputs.read([sequence], encoder, Path()).take(torch.arange(len(texts)))


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_a_pair_of_texts_is_what_the_model_itself_makes_of_it(
    folders: Callable[[str], Path], kind: str
) -> None:
    folder = folders(kind)
    encoder: Any = open_encoder(f"text:{folder}", "text", ()).eval()
    given = steps(encoder, "cut [PAD] mix [SEP]", "bake", "")  # what a text spells out is no mark
    found = encoder(given, PAIRS)
    assert found.hidden.shape == (5, 7, 16)
    assert found.span[0].nonzero().tolist() == [[0, 1], [0, 2], [0, 3], [1, 4], [1, 5], [1, 6]]
    assert found.span[4].nonzero().tolist() == [
        [0, 1],
        *([1, p] for p in (2, 3, 4)),
    ]  # [CLS] [SEP] [CLS] bake [SEP]
    own = transformers.AutoModel.from_pretrained(folder).eval()
    ids = torch.tensor([[2, 5, 6, 3, 2, 7, 3], [2, 3, 2, 7, 3, *[encoder.tokenizer.pad] * 2]])
    types = torch.tensor([[0, 0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 0, 0]]) * (kind == "bert")
    with torch.no_grad():
        told = own(ids, attention_mask=(ids != encoder.tokenizer.pad).long(), token_type_ids=types)
    assert torch.allclose(found.hidden[0], told.last_hidden_state[0], atol=1e-5)
    assert torch.allclose(found.hidden[4, :5], told.last_hidden_state[1, :5], atol=1e-5)
    assert torch.allclose(found.pooled[[0, 4]], told.pooler_output, atol=1e-5)
    assert sum(p.numel() for p in encoder.parameters()) == sum(p.numel() for p in own.parameters())
    single = text_encoder(folder, Description("text", "text"), repeat_cls=False).eval()(given, PAIRS[:1])
    assert single.hidden.shape == (1, 6, 16)
    assert single.span[0].nonzero().tolist() == [[0, 1], [0, 2], [0, 3], [1, 4], [1, 5]]
    again = rebuild(encoder.description)
    again.load_state_dict(encoder.state_dict())
    assert torch.equal(again.eval()(given, PAIRS).hidden, found.hidden)
    assert encoder(given, torch.tensor([[0, 1, 2]])).span.shape == (1, 3, 9)  # a subsequence, for pretraining


@pytest.mark.parametrize(("kind", "width", "cells"), [("clip", 16, 4), ("resnet", 24, 16), ("swin", 16, 16)])
def test_pictures_alone(folders: Callable[[str], Path], kind: str, width: int, cells: int) -> None:
    encoder: Any = open_encoder(f"{FAMILY[kind]}:{folders(kind)}", "image", ()).train().eval()
    assert (encoder.width, encoder.tower.features, math.prod(encoder.tower.cells)) == (width, width, cells)
    own = transformers.AutoModel.from_pretrained(folders(kind)).eval()
    with torch.no_grad():
        told = own(pixel_values=(IMAGES - 0.5) / 0.5).last_hidden_state
    expected = {"clip": told[:, 1:], "swin": told}.get(kind, told.flatten(2).transpose(1, 2))
    assert torch.allclose(encoder.see(IMAGES), expected, atol=1e-4)
    given = Steps(images=IMAGES, seen=torch.tensor([True, True, False]))
    found = encoder(given, PAIRS)
    assert found.hidden.shape == (5, 1 + 2 * cells, width)
    assert found.span.sum(2).tolist() == [[cells, cells]] * 2 + [[1, cells], [cells, 1], [1, cells]]
    assert not torch.allclose(found.pooled[0], found.pooled[1], rtol=0, atol=1e-5)
    none = encoder(given.having(seen=torch.tensor([False] * 3)), PAIRS)
    assert none.span.sum(2).tolist() == [[1, 1]] * 5
    seen = encoder(given.having(images=encoder.see(IMAGES)), PAIRS)
    assert torch.allclose(seen.hidden, found.hidden, atol=1e-5)
    code: Any = open_encoder(f"{FAMILY[kind]}:{folders(kind)}", "image", (), protocol="code").eval()
    assert len(code.reader.layers) == 0
    assert code.tower.colours[0].flatten().tolist() == pytest.approx([0.485, 0.456, 0.406])
    assert not any(m.training for m in encoder.train().modules() if "BatchNorm" in type(m).__name__)


@pytest.mark.parametrize(
    ("spec", "text"), [("clip-vil", "roberta"), ("clip-vil", "bert"), ("visualbert", "bert")]
)
def test_texts_and_pictures_in_one_row(folders: Callable[[str], Path], spec: str, text: str) -> None:
    encoder: Any = open_encoder(f"{spec}:{folders(text)}+{folders('clip')}", "both", ()).eval()
    given = steps(encoder, "cut mix", "bake", "").having(
        images=IMAGES, seen=torch.tensor([True, True, False])
    )
    whole = encoder(given, PAIRS)
    assert whole.hidden.shape == (5, 7 + 8, 16)
    assert torch.equal(whole.pooled, whole.hidden[:, 0])
    assert whole.span[0].nonzero().tolist() == [[0, 1], [0, 2], [0, 3], [1, 4], [1, 5], [1, 6]]
    assert whole.patch_at[0].tolist() == [[7, 8, 9, 10], [11, 12, 13, 14]]
    assert whole.patch_at[2].tolist() == [[-1] * 4, [6, 7, 8, 9]]
    for pair in range(5):
        alone = encoder(given, PAIRS[pair : pair + 1])
        length = alone.hidden.shape[1]
        assert torch.allclose(alone.hidden[0], whole.hidden[pair, :length], atol=1e-5)
    swapped = encoder(given.having(images=given.images[[1, 0, 2]]), PAIRS[:1])
    assert not torch.allclose(
        swapped.pooled, whole.pooled[:1], rtol=0, atol=1e-6
    )  # the slots tell pictures apart
    again = rebuild(encoder.description)
    again.load_state_dict(encoder.state_dict())
    assert torch.equal(again.eval()(given, PAIRS).hidden, whole.hidden)


def test_features_that_were_made_before(folders: Callable[[str], Path], tmp_path: Path) -> None:
    rows = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.save(tmp_path / "a.npy", rows)
    np.save(tmp_path / "b.png.npy", rows[:2])
    np.save(tmp_path / "c.npy", rows * np.nan)
    encoder: Any = open_encoder(f"visualbert:{folders('bert')}+{tmp_path}", "both", ()).eval()
    sequence = Sequence(
        "s", "", tuple(SequenceStep(n, "cut", (f"{n}.png",)) for n in ("a", "b", "c", "/", "x" * 999))
    )
    inputs = Inputs.read([sequence], encoder, tmp_path)
    assert [d.reason for d in inputs.dropped] == ["unreadable", "outside", "missing"]
    taken = inputs.take(inputs.rows["s"])
    assert taken.seen.tolist() == [True, True, False, False, False]
    assert taken.images[1].tolist() == [[0, 1, 2], [3, 4, 5], [0, 1, 2], [0, 1, 2]]  # the whole picture fills
    assert encoder(taken, torch.tensor([[0, 1]])).hidden.shape == (1, 6 + 8, 16)
    assert open_encoder(f"features:{tmp_path}", "image", ()).width == 3
    np.save(tmp_path / "e.npy", rows[:, :2])
    with pytest.raises(UserError, match="not of one width"):
        open_encoder(f"features:{tmp_path}", "image", ())
    np.save(tmp_path / "e.npy", np.array([["x", "y", "z"]]))
    with pytest.raises(UserError, match="they are of the kind <U1"):
        open_encoder(f"features:{tmp_path}", "image", ())


def test_what_does_not_fit_is_refused(folders: Callable[[str], Path], tmp_path: Path) -> None:
    bert = folders("bert")
    refused = {
        "no such folder|not the folder": (f"text:{tmp_path / 'none'}", "text"),
        "no encoder for the modality image": (f"text:{bert}", "image"),
        "'bart' reads no texts, writes them": (f"text:{folders('bart')}", "text"),
        "no encoder for the modality both": (f"visualbert:{bert}", "both"),
        "no encoder for the modality text": ("text", "text"),
        "sees no single pictures|cannot be loaded": (f"clip:{bert}", "image"),
        "no tokenizer|no different pad": (f"text:{folders('clip')}", "text"),
        "there are no features": (f"features:{tmp_path}", "image"),
    }
    for match, (spec, shown) in refused.items():
        with pytest.raises(UserError, match=match):
            open_encoder(spec, shown, ())  # type: ignore[arg-type]
    description = open_encoder(f"text:{bert}", "text", ()).description
    other = shutil.copytree(bert, tmp_path / "other")
    spec = f"text:{other}"
    tokenizer(other, words=(*WORDS, "more"))
    with pytest.raises(UserError, match=r"of another tokenizer: it knows 9 tokens, the tokenizer 10"):
        open_encoder(spec, "text", ())
    tokenizer(other, words=(*WORDS[:-1], "more"))
    with pytest.raises(UserError, match="another one than the model was trained with"):
        rebuild(msgspec.structs.replace(description, encoder=spec))
    tokenizer(other, "[SEP]")
    with pytest.raises(UserError, match="no different pad, cls, sep and mask token"):
        open_encoder(spec, "text", ())
    tokenizer(other)
    (other / "model.safetensors").unlink()
    (other / "pytorch_model.bin").write_bytes(pickle.dumps(Code(), 2))
    with pytest.raises(UserError, match="the model cannot be loaded: Weights only load failed"):
        open_encoder(spec, "text", ())
    encoder: Any = open_encoder(f"text:{folders('roberta')}", "text", ())
    with pytest.raises(UserError, match="24 tokens are to be encoded together, but the model has 22"):
        encoder(steps(encoder, "cut " * 10, "mix " * 10), torch.tensor([[0, 1]]))


def test_parameters_are_as_many_as_in_the_paper() -> None:
    large = {
        "hidden_size": 1024,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "intermediate_size": 4096,
    }
    base = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
    names = {"vocab_size": 50_265, "max_position_embeddings": 514, "type_vocab_size": 1}
    views = {"projection_dim": 512, "image_size": 224, "patch_size": 32}
    with torch.device("meta"):
        roberta = transformers.RobertaModel(transformers.RobertaConfig(**large, **names))
        vision = transformers.CLIPVisionModelWithProjection(transformers.CLIPVisionConfig(**base, **views))
        patches = Patches(2048, 1024, (25, 25), places="features", kind=False)
    counts = [sum(p.numel() for p in module.parameters()) for module in (roberta, vision, patches)]
    assert counts == [355_359_744, 87_849_216, 2_097_152 + 1024 + 2 * 1024 + 2 * 25 * 2048 + 5 * 2048]
    # The rest of the published count: CLIP RN50 whole, a projection of boxes with its LayerNorm, slots a second time, the head.
    boxes, clip, head = 4 * 1024 + 1024 + 2 * 1024, 102_007_137, 37_805_065
    assert counts[0] + clip + counts[2] + boxes + 5 * 2048 + head == 497_402_218


def test_clip_rn50_of_timm_has_as_many_parameters_as_clips_own() -> None:
    try:
        import timm
    except (ImportError, RuntimeError) as error:  # the latter where torchvision does not fit torch
        pytest.skip(f"timm cannot be imported: {error}")
    with torch.device("meta"):
        visual = timm.create_model("resnet50_clip", pretrained=False, num_classes=1024)
    assert sum(p.numel() for p in visual.parameters()) == 38_316_896
