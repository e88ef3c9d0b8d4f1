"""docs/llm.md: its way from questions to a report is typed against a server that plays the models."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.outsider import shown, type_all, types
from tests.typed import proctor

from proctor.exam.question import Item
from proctor.records import read_jsonl
from proctor.samples import copy_sample
from proctor_rehearsal.players import Rehearsal
from proctor_rehearsal.standin import Standin


@types("llm.md")
def test_stage_by_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("av", reason="the extra 'video' is not installed")
    from tests.media.make_video import make_grey_videos

    monkeypatch.chdir(tmp_path)
    copy_sample(Path("sample"))
    assert proctor("read", "plain", "sample", "bench").status == 0
    assert proctor("derive", "bench").status == 0
    Path("bench/proctor.toml").write_text("[generate]\nexamples = 6\n[score]\nresamples = 100\n")
    make_grey_videos(Path("videos"), {f"{path.stem}.mp4": 90 for path in Path("sample/recordings").iterdir()})
    commands = shown("llm.md")[0]
    people = next(n for n, line in enumerate(commands) if "--human" in line)
    with Standin(answer=Rehearsal(tmp_path / "bench", quality=0.8)) as server:
        for key, value in {**server.environment, "GOOGLE_API_KEY": "standin"}.items():
            monkeypatch.setenv(key, value)
        type_all(commands[:people], tmp_path)
        run = "openai-gpt-4o-question"
        items = read_jsonl(Path("bench/items.jsonl"), Item)
        rows = [f"{one.id},{run},{2 * (n % 2)}\n" for n, one in enumerate(items)]
        Path("marks.csv").write_text("item_id,predictor,human\n" + "".join(rows))
        type_all(commands[people:], tmp_path)
    assert server.errors == []
