"""Choosing examples out of many."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import msgspec

from proctor.exam.kinds.example import Example
from proctor.records import read_jsonl, write_jsonl
from proctor.samples import copy_sample
from proctor.stages.derive import derive
from proctor.stages.generate import generate
from proctor.stages.read import read
from proctor.stages.settings import GenerateSettings


def test_memory_does_not_grow_with_what_is_not_chosen(tmp_path: Path) -> None:
    """An example takes 6 kB in memory, and there may be millions: ten times as many may cost some hundred bytes each."""
    copy_sample(tmp_path / "sample")
    bench = tmp_path / "bench"
    read("plain", tmp_path / "sample", bench)
    derive(bench)
    generate(bench, GenerateSettings(examples=20))
    examples = read_jsonl(bench / "examples.jsonl", Example)

    def peak(copies: int) -> int:
        many = (
            msgspec.structs.replace(e, id=f"{n}-{e.id}", recording_id=f"{n}-{e.recording_id}")
            for n in range(copies)
            for e in examples
        )
        write_jsonl(bench / "examples.jsonl", many)
        tracemalloc.start()
        try:
            assert generate(bench, GenerateSettings(examples=20)).examples == copies * len(examples)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few, more = peak(1), peak(10)
    assert (more - few) / (9 * len(examples)) < 1_000, (few, more)
