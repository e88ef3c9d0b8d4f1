"""``proctor learn zeroshot`` as it is typed: a dry run, a run, and its files as other commands read them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor_rehearsal.players import rehearse

Command = Callable[..., Any]


@pytest.mark.shared
def test_from_a_dry_run_to_a_score(
    tmp_path: Path, shared_data: Path, proctor: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPAT_API_KEY", "a-key-of-the-stand-in")
    run = tmp_path / "run"
    with rehearse(run, quality=0.8) as server:
        typed = (
            "learn", "zeroshot", "--annotations", shared_data / "captaincook4d", "-m", f"compat/eyes@{server.url}/v1", "-o", run,
            "--show", "times", "--variant", "v2", "--sample", "30", "--develop", "0", "--resamples", "0",
        )  # fmt: skip
        told = json.loads(proctor(*typed, "--dry-run", "--json").out)
        assert server.count == 0
        done = proctor(*typed)
        assert server.count == told["estimates"][0]["calls"] > 60
        again = json.loads(proctor(*typed, "--json").out)
    assert "Calling every step a mistake has an F1 of" in done.out
    assert "guessing as often as this run" in done.out
    assert "52.85" in done.out
    assert again["figures"]["n"] == 30
    assert sum(r["calls"]["sent"] for r in again["runs"]) == 0
    scored = json.loads(
        proctor(
            "score", "classification", "--pred", run / "predictions.jsonl", "--resamples", "0", "--json"
        ).out
    )
    assert scored["f1_score"] == pytest.approx(again["figures"]["rows"][0]["f1"]["value"])
    judged = proctor("judge", run)
    assert "step-asked-compat-eyes-times" in judged.out
