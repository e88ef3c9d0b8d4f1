"""Files of a workspace damaged at random: whatever comes of it, it is a result or a message, never a crash.

A bug would come out of ``proctor`` as an exception and fail the test. The damage depends on nothing but its number;
more of it: ``PROCTOR_FUZZ=500 pytest tests/cli/test_fuzz.py``.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROUNDS = int(os.environ.get("PROCTOR_FUZZ", "6"))

READ_BY = {
    "recordings.jsonl": ["derive", "doctor"],
    "graphs.json": ["derive", "generate", "verify", "predict", "judge", "report"],
    "examples.jsonl": ["generate", "verify", "build"],
    "candidates.jsonl": ["verify", "build", "report"],
    "items.jsonl": ["predict", "judge", "score", "report", "doctor"],
    "verification.sqlite": ["verify", "build", "report"],
    "runs/constant/predictions.jsonl": ["predict", "judge", "score", "report"],
    "runs/constant/judgements.jsonl": ["score", "report"],
    "runs/constant/run.json": ["predict", "judge", "score", "report"],
    "proctor.toml": ["derive", "generate", "verify", "build", "predict", "score", "report"],
    "stages.json": ["derive", "verify", "build", "predict", "judge", "score", "report", "doctor"],
}

STRANGE: list[Any] = [
    *(
        None,
        True,
        0,
        -1,
        1e308,
        -0.0,
        10**30,
        "",
        " ",
        "\0",
        "\x1b[2J",
        "\ud83d\ude00",
        "../../x",
        "a" * 5000,
    ),
    *(
        [],
        {},
        [None],
        [[]],
        {"": None},
        [1, "2", [3]],
        "next",
        "NaN",
        "2026-01-01T00:00:00Z",
        "0",
        "<script>",
    ),
]


def damage_bytes(data: bytes, rng: random.Random) -> bytes:
    """Flip, drop, repeat or swap some bytes."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(out)) if out else 0
        length = rng.choice([1, 1, 7, 200])
        match rng.randrange(4):
            case 0:
                out[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                del out[at : at + length]
            case 2:
                out[at:at] = out[at : at + length]
            case _:
                out[at : at + length] = reversed(out[at : at + length])
    return bytes(out)


def damage_value(value: Any, rng: random.Random) -> Any:
    """Replace, drop or repeat one part of a decoded JSON value, at any depth."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(sorted(value))
        if rng.random() < 0.15:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: damage_value(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        if rng.random() < 0.15:
            return [*value, value[at]]
        return [damage_value(v, rng) if n == at else v for n, v in enumerate(value)]
    return rng.choice(STRANGE)


def damage(path: Path, rng: random.Random) -> None:
    """Damage a file's bytes, or the values in it."""
    data = path.read_bytes()
    if path.suffix in (".toml", ".sqlite") or rng.random() < 0.25:
        path.write_bytes(damage_bytes(data, rng))
    elif path.suffix == ".jsonl":
        lines = data.splitlines()
        at = rng.randrange(len(lines))
        lines[at] = json.dumps(damage_value(json.loads(lines[at]), rng)).encode()
        path.write_bytes(b"\n".join(lines) + b"\n")
    else:
        path.write_bytes(json.dumps(damage_value(json.loads(data), rng)).encode())


@pytest.mark.parametrize("number", range(ROUNDS))
@pytest.mark.parametrize("name", READ_BY)
def test_a_damaged_file_never_crashes_a_command(
    name: str, number: int, bench: Path, proctor: Callable[..., Any]
) -> None:
    rng = random.Random(f"{name} {number}")
    damage(bench / name, rng)
    command = rng.choice(READ_BY[name])
    outcome = proctor(command, bench, *(["-p", "constant"] if command == "predict" else []))
    assert outcome.status in (0, 2), outcome.err
    assert all(c.isprintable() or c == "\n" for c in outcome.out + outcome.err)
    if outcome.status == 2 and command != "doctor":
        assert outcome.err.startswith("proctor: ")
        assert outcome.out == ""
        assert len(outcome.err) < 3_000
