"""The shipped sample as a benchmark by name: ``load_benchmark("everyday")``, made on the spot."""

from __future__ import annotations

import tempfile
from pathlib import Path

from proctor.release.folder import Benchmark, read_release
from proctor.samples import path
from proctor.stages.build import build
from proctor.stages.derive import derive
from proctor.stages.generate import generate
from proctor.stages.read import read
from proctor.stages.settings import BuildSettings, GenerateSettings
from proctor.stages.verify import verify

__all__ = ["NAME", "VERSION", "everyday"]

NAME = "everyday"
VERSION = "1.0.0"


def everyday(seed: int = 0) -> Benchmark:
    """Return the benchmark that the demo builds from the shipped sample; takes about two seconds."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        read("plain", path(), root)
        derive(root)
        generate(root, GenerateSettings(sample="all", seed=seed))
        verify(root)
        build(root, BuildSettings(name=NAME, version=VERSION, seed=seed))
        return read_release(root / "release")
