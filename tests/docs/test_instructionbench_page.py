"""docs/instructionbench.md: its commands run as they are typed, one after the other, against a server that plays the models."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest
from tests.docs.outsider import types
from tests.media.make_video import make_grey_video
from tests.typed import proctor, proctor_process

from proctor.ask.clip.record import ChoiceItem, ClipPair
from proctor.records import read_jsonl
from proctor_rehearsal.players import Rehearsal
from proctor_rehearsal.standin import Standin

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "instructionbench.md").read_text(encoding="utf-8")
COMMANDS = [
    shlex.split(command)
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for command in block.replace("\\\n", " ").splitlines()
    if command.startswith("proctor ")
]
WORK = (
    "rinse the {a} under cold water", "cut the {a} into small pieces with a knife", "heat {n} spoons of oil in a pan",
    "add the {a} to the pan", "stir the {a} for {n} minutes with a wooden spoon", "pour {n} cups of {b} over the {a}",
    "cover the pan with a lid", "grate {n} grams of {c} on a plate", "put the {c} on top of the {a}",
    "move everything to a bowl and serve",
)  # fmt: skip
THINGS = [
    ("carrots", "broth", "ginger"), ("potatoes", "cream", "cheese"), ("mushrooms", "wine", "parsley"), ("beans", "stock", "garlic"),
    ("peppers", "milk", "onion"), ("leeks", "juice", "nutmeg"), ("tomatoes", "vinegar", "basil"), ("lentils", "water", "mint"),
]  # fmt: skip


def write_data(root: Path) -> None:
    """Write eight annotated videos as YouCook2 does, and the videos themselves."""
    database = {}
    for number, (a, b, c) in enumerate(THINGS):
        sentences = [text.format(a=a, b=b, c=c, n=number + 2) for text in WORK[number % 3 :]]
        database[f"cook_{number:04d}"] = {
            "duration": 12.0 * len(sentences) + 5,
            "subset": "training" if number < 6 else "validation",
            "recipe_type": str(100 + number),
            "annotations": [
                {"segment": [12 * i, 12 * i + 10], "id": i, "sentence": s} for i, s in enumerate(sentences)
            ],
            "video_url": f"https://video.example/{number}",
        }
        make_grey_video(root / "videos" / f"cook_{number:04d}.mp4", 12 * len(sentences) + 5, every=10)
    (root / "youcook2").mkdir()
    path = root / "youcook2" / "youcookii_annotations_trainval.json"
    path.write_text(json.dumps({"database": database}))


def test_the_way_is_whole() -> None:
    names = [
        " ".join(command[1:3]).removesuffix(" bench")
        if command[1] in ("experiment", "generate", "export")
        else command[1]
        for command in COMMANDS
    ]
    assert names == [
        "experiment clip", "generate clip", "generate clip", "filter", "filter", "choices", "choices",
        "build", *["predict"] * 5, "judge", "score", "report", "export training", "filter",
    ]  # fmt: skip


@types("instructionbench.md")
@pytest.mark.timeout(900)
def test_its_commands_run_as_they_are_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "videos").mkdir()
    write_data(tmp_path)
    monkeypatch.chdir(tmp_path)
    with Standin(answer=Rehearsal(tmp_path / "bench", quality=0.9)) as server:
        for name, value in {**server.environment, "GOOGLE_API_KEY": "standin"}.items():
            monkeypatch.setenv(name, value)
        said, counts = [], []
        for command in COMMANDS:
            # the last one has nothing but the files of those before it
            done = (proctor_process if command is COMMANDS[-1] else proctor)(*command[1:])
            assert done.status == 0, (command, done.out, done.err)
            said.append(done.out)
            counts.append(server.count)
        assert server.errors == []
    assert counts[:2] == [0, 0]  # a rehearsal and an estimate send nothing to models
    for command, earlier, later in zip(COMMANDS[1:], counts, counts[1:], strict=False):
        assert later == earlier or "--dry-run" not in command
    kept = read_jsonl(tmp_path / "bench" / "open.jsonl", ClipPair)
    items = read_jsonl(tmp_path / "bench" / "choices.jsonl", ChoiceItem)
    assert len(kept) >= len(items) >= 1
    letters = Counter(item.letter for item in items)
    assert max(letters.values()) - min(letters.get(letter, 0) for letter in "ABCDE") <= 1
    page = (tmp_path / "bench" / "report.html").read_text()
    assert "data:image/webp;base64," in page
    assert "This is a rehearsal" not in page
    assert "clip-choice-openai-gpt-4o-mini-frames-8f-half-side-style-d" in page
    training = [json.loads(line) for line in (tmp_path / "training" / "llava.jsonl").read_text().splitlines()]
    assert {row["provenance"]["video_id"] for row in training}.isdisjoint({pair.video_id for pair in kept})
    assert "all together" in said[-1]
