"""Media files appear under their name whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.errors import UserError
from proctor.media.source import import_av

if TYPE_CHECKING:
    from av.container import OutputContainer

__all__ = ["write_mp4"]


@contextmanager
def write_mp4(path: Path) -> Iterator[OutputContainer]:
    """Open an mp4 file that appears at ``path`` when the block ends without an error.

    Its index stands in front, so that a browser can play it at once, and it holds no dates and no program
    versions: the same pictures give the same bytes.

    Raises:
        UserError: if it cannot be written or encoded; a file that was there before is then untouched.
        MissingExtraError: when PyAV is not installed.
    """
    av = import_av()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{path.name[:80]}.", dir=path.parent) as folder:
            temporary = Path(folder, "video.mp4")
            options = {"movflags": "faststart", "fflags": "bitexact"}
            with av.open(
                f"file:{temporary.resolve()}", "w", format="mp4", container_options=options
            ) as container:
                yield container
            os.replace(temporary, path)  # noqa: PTH105
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(
            f"cannot be written: {reason}. The file that was there before is untouched.",
            where=str(path),
            hint="check permissions and free space, then run the same command again",
        ) from error
    except av.error.FFmpegError as error:
        raise UserError(
            f"the video could not be encoded: {error}. The file that was there before is untouched.",
            where=str(path),
        ) from error
