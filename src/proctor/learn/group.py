"""Processes that train together, started here or by torchrun: the gradients of all are added before each step.

A group of n with batches accumulated a times learns what one process does that accumulates n·a. This module imports torch:
import it late.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import torch
import torch.distributed as dist
from torch import Tensor, nn

from proctor.errors import UserError

__all__ = ["Group", "joined", "started"]


@dataclass(frozen=True)
class Group:
    """This process among those that train together.

    Attributes:
        rank: its number.
        size: how many they are; 1 needs no other.
        device: of its tensors.
    """

    rank: int = 0
    size: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    def share(self, module: nn.Module) -> None:
        """Give all processes the weights of the first."""
        if self.size > 1:
            for value in module.state_dict().values():
                dist.broadcast(value, 0)

    def sum_gradients(self, parameters: Sequence[nn.Parameter]) -> None:
        """Add the gradients of all; one that had no batch of the last group adds zeros."""
        if self.size == 1:
            return
        for p in parameters:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
        everything = torch.cat([p.grad.view(-1) for p in parameters if p.grad is not None])
        dist.all_reduce(everything)
        begin = 0
        for p in parameters:
            assert p.grad is not None
            p.grad.copy_(everything[begin : begin + p.numel()].view_as(p))
            begin += p.numel()

    def sum(self, value: Tensor) -> Tensor:
        """Add a value over all."""
        if self.size > 1:
            dist.all_reduce(value)
        return value

    def told(self, figure: Callable[[], float]) -> float:
        """Let the first process find a figure, and tell all."""
        if self.size == 1:
            return figure()
        value = torch.tensor([figure() if self.rank == 0 else 0.0], dtype=torch.float64, device=self.device)
        dist.broadcast(value, 0)
        return float(value)

    def wait(self) -> None:
        """Wait for all."""
        if self.size > 1:
            dist.barrier()


@contextmanager
def joined(device: torch.device) -> Iterator[Group]:
    """Join the processes that torchrun started; alone without it."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield Group(device=device)
        return
    mine = not dist.is_initialized()
    if mine:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield Group(dist.get_rank(), size, device)
    finally:
        if mine:
            dist.destroy_process_group()


def started(devices: int, arguments: Sequence[str]) -> bool:
    """Start this command once a device, and wait; False where nothing is to be started, as under torchrun.

    What the first process says is said; the others are heard when they fail.

    Args:
        devices: how many.
        arguments: of ``python``, such as ``["-m", "proctor", "learn", "mistakes", …]``.

    Raises:
        UserError: if there are fewer GPUs, or a process failed; the others are then ended.
    """
    if devices == 1 or "RANK" in os.environ:
        return False
    there = torch.cuda.device_count()
    if 0 < there < devices:
        raise UserError(f"there are {there} GPUs, not {devices}.", hint=f"train with --devices {there}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    threads = os.environ.get("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // devices)))
    meeting = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(devices),
        "OMP_NUM_THREADS": threads,
    }
    with ExitStack() as stack:
        said = [None, *(stack.enter_context(tempfile.TemporaryFile()) for _ in range(1, devices))]
        processes: list[subprocess.Popen[bytes]] = []
        stack.callback(_end, processes)
        for rank, file in enumerate(said):
            environment = {**os.environ, **meeting, "RANK": str(rank), "LOCAL_RANK": str(rank)}
            processes.append(
                subprocess.Popen(  # noqa: S603 (our own command again)
                    [sys.executable, *arguments], env=environment, stderr=file, stdout=file
                )
            )
        while not any(p.poll() for p in processes) and any(p.poll() is None for p in processes):
            time.sleep(0.05)
        for rank, (process, file) in enumerate(zip(processes, said, strict=True)):
            if process.returncode:
                if file is not None:
                    file.seek(0)
                told = (
                    "see its message above"
                    if file is None
                    else file.read().decode(errors="replace")[-2_000:].strip()
                )
                raise UserError(
                    f"process {rank} of {devices} ended with status {process.returncode}.", hint=told
                )
    return True


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """End what still runs."""
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.wait()
