"""The process that reads documents: ``python -m proctor.corpus.ingest.worker MAX_MEMORY``; see ``isolation``."""

from __future__ import annotations

import os
import sys

import msgspec

from proctor.corpus.ingest.isolation import Job, read_here

__all__ = ["main"]


def main(max_memory: int) -> None:
    """Read jobs from standard input until it ends; write one answer each.

    Args:
        max_memory: bytes of address space that this process may take.
    """
    # Whatever a library prints must not end up between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _limit_memory(max_memory)
    decoder = msgspec.msgpack.Decoder(Job)
    while len(head := sys.stdin.buffer.read(8)) == 8:
        job = sys.stdin.buffer.read(int.from_bytes(head, "big"))
        answer = msgspec.msgpack.encode(read_here(decoder.decode(job)))
        answers.write(len(answer).to_bytes(8, "big") + answer)
        answers.flush()


def _limit_memory(size: int) -> None:
    try:
        import resource
    except ImportError:  # not POSIX
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(
        resource.RLIMIT_AS, (size if most == resource.RLIM_INFINITY else min(size, most), most)
    )
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


if __name__ == "__main__":
    main(int(sys.argv[1]))
