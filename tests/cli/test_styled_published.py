"""SMMQG on its published corpus by one command: corpus, questions, retrieval, answers, overlap and the page."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


def test_the_published_corpus_is_done_by_one_command(
    shared_data: Path, tmp_path: Path, proctor: Command
) -> None:
    """Issue 7, the first line of "done when"."""
    w = tmp_path / "w"
    done = proctor(
        "experiment", "documents", w, "--data", shared_data / "mmrag", "--min-text", "0", "-g", "openai/gpt-4o",
        "--verifier", "anthropic/claude-sonnet-4-5", "--per-cell", "1", "-m", "openai/gpt-4o", "-m", "openai/gpt-4o-mini",
        "-j", "google/gemini-2.0-flash", "--classifier", "openai/gpt-4o-mini", "--rehearse", "0.9", "--json",
    )  # fmt: skip
    assert done.status == 0, done.err
    stages = {stage["stage"]: stage for stage in done.json["stages"]}
    assert stages["corpus"]["sources"] == 3_117
    assert stages["corpus"]["drawn"] > 0
    assert stages["generate"]["asked"] == 25
    assert stages["generate"]["achieved"] >= 20
    assert len(stages["generate"]["cells"]) == 25
    cells = {
        (c["system"], c["measure"], c["slice"]): c["value"] for c in stages["retrieve/data"]["table"]["cells"]
    }
    assert cells["bm25", "recall@5", "all"] == pytest.approx(48.1366, abs=5e-5)
    assert cells["bm25", "recall@10", "all"] == pytest.approx(57.4534, abs=5e-5)
    page = (w / "report.html").read_text()
    for title in (
        "This is a rehearsal", "drawn cards", "Asked for and made", "Share of the questions asked for that were made",
        "Yield: questions by attempt", "Dollars a question", "What became of attempts", "Retrieval (styled)", "Retrieval (data)",
        "Results: documents", "Sources that are needed", "Retrieval by style", "recall@5 of bm25", "recall@10 of lsa", "rrf(bm25+lsa)", "rouge-1",
        "Style overlap", "Concurrence by retrieval", "48.1", "57.5",
    ):  # fmt: skip
        assert title in page, title
    assert "data:image/webp;base64," in page
    assert not re.search(r">\s*nan\b", page, re.IGNORECASE)
