"""What the test of kills lets run: a zero-shot exam with wordings that compete, in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from proctor.stages.learn.zeroshot import zeroshot
from proctor.stages.learn.zeroshot_settings import ZeroshotSettings


@contextmanager
def _quiet(title: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    yield lambda: None


def live(out: str, annotations: str, url: str) -> None:
    """Run it, or go on."""
    os.environ["COMPAT_API_KEY"] = "a-key-of-the-stand-in"
    zeroshot(
        ZeroshotSettings(
            annotations=Path(annotations), out=Path(out), model=f"compat/eyes@{url}/v1", variant="v2", show="times",
            sample=12, develop=4, resamples=0, part="test",
        ),
        show=_quiet,
    )  # fmt: skip
