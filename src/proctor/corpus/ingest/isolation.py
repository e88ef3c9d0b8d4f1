"""Documents are read in a process of its own: a hostile file can neither hang, crash nor exhaust the one that asks.

One process reads all documents of a folder, one after the other; it is started anew only after it was stopped. Jobs and answers are
MessagePack behind their length, on the process's standard input and output.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from proctor.corpus.ingest.blocks import Block
from proctor.corpus.ingest.documents import READERS, Kind
from proctor.corpus.ingest.images import ImageFile, read_image
from proctor.corpus.ingest.reading import CannotReadError, IngestOptions, Reading, too_slow
from proctor.errors import UserError

__all__ = ["Answer", "Job", "ReaderProcess", "read_here"]

_LENGTH: Final = 8
_CHUNK: Final = 1 << 20


class Job(msgspec.Struct, frozen=True):
    """One document to read; paths as bytes, since names of files need not be text."""

    kind: Kind
    path: bytes
    folder: bytes
    out_images: bytes | None
    options: IngestOptions


class Answer(msgspec.Struct, frozen=True):
    """What became of a job.

    Attributes:
        blocks: of a document.
        image: of an image file.
        failed: reason and detail where nothing of it is used.
        error: message, place and hint of something the user has to put right first (a full disk).
    """

    blocks: tuple[Block, ...] = ()
    image: ImageFile | None = None
    failed: tuple[str, str] | None = None
    error: tuple[str, str | None, str | None] | None = None


def read_here(job: Job) -> Answer:
    """Read a document in this process."""
    reading = Reading(
        Path(os.fsdecode(job.path)),
        Path(os.fsdecode(job.folder)),
        None if job.out_images is None else Path(os.fsdecode(job.out_images)),
        job.options,
    )
    try:
        if job.kind == "image":
            return Answer(image=read_image(reading))
        return Answer(blocks=tuple(READERS[job.kind](reading)))
    except CannotReadError as problem:
        return Answer(failed=(problem.reason, problem.detail))
    except UserError as error:
        return Answer(error=(error.message, error.where, error.hint))
    except MemoryError:
        return Answer(failed=_too_much_memory(job.options))
    except Exception as error:  # a reader that a hostile file confused; the next file must be read
        said = f"{type(error).__name__}: {error}"[:200]
        return Answer(
            failed=("unreadable", f"its reader failed ({said}). Save it again, or in another format.")
        )


def _too_much_memory(options: IngestOptions) -> tuple[str, str]:
    return (
        "too-much-memory",
        f"reading it takes more than {options.max_memory} bytes. Split it, or raise max_memory.",
    )


class ReaderProcess:
    """The process that reads; started by the first job, stopped by ``close`` or the end of ``with``.

    Args:
        options: ``max_seconds`` and ``max_memory`` are kept from outside.
    """

    def __init__(self, options: IngestOptions) -> None:
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def read(self, job: Job) -> Answer:
        """Have a document read; one that takes too long or brings the process down is a failed one."""
        deadline = time.monotonic() + self._options.max_seconds
        process = self._running()
        try:
            data = _exchange(process, msgspec.msgpack.encode(job), deadline)
        except TimeoutError:
            self._stop()
            slow = too_slow(self._options)
            return Answer(failed=(slow.reason, slow.detail))
        except (EOFError, BrokenPipeError):
            return Answer(failed=self._death())
        return msgspec.msgpack.decode(data, type=Answer)

    def close(self) -> None:
        """Stop the process, if it runs."""
        self._stop()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            # -P: nothing is imported from the folder one happens to be in, which may be the one with the documents.
            self._process = subprocess.Popen(  # noqa: S603 (our own module)
                [sys.executable, "-P", "-m", "proctor.corpus.ingest.worker", str(self._options.max_memory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            )
        return self._process

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(BrokenPipeError):  # what was written to a process that is gone
                        stream.close()

    def _death(self) -> tuple[str, str]:
        process = self._process
        status = process.wait() if process is not None else 0
        self._stop()
        said = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
        return (
            "reader-died",
            f"the process that read it ended with {said}. Save it again (print it to a new file), or in another format.",
        )


def _exchange(process: subprocess.Popen[bytes], job: bytes, deadline: float) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(len(job).to_bytes(_LENGTH, "big") + job)
    process.stdin.flush()
    descriptor = process.stdout.fileno()
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        length = int.from_bytes(_receive(selector, descriptor, _LENGTH, deadline), "big")
        return _receive(selector, descriptor, length, deadline)


def _receive(selector: selectors.BaseSelector, descriptor: int, length: int, deadline: float) -> bytes:
    data = bytearray()
    while len(data) < length:
        left = deadline - time.monotonic()
        if left <= 0 or not selector.select(left):
            raise TimeoutError
        block = os.read(descriptor, min(_CHUNK, length - len(data)))
        if not block:
            raise EOFError
        data += block
    return bytes(data)
