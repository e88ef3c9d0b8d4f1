"""Pipes, devices and sockets are refused by name, at once; files, folders and what is missing are left to be opened."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from proctor.datasets.annotation_rows import iter_rows
from proctor.datasets.dataset import Log, refuse_special
from proctor.datasets.json_files import iter_lines, read_json_document
from proctor.errors import UserError


@pytest.fixture(params=["a pipe", "a socket", "a device", "a link to a pipe"])
def special(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)  # the address of a socket has to be short
    path = tmp_path / "x"
    if request.param == "a pipe":
        os.mkfifo(path)
    elif request.param == "a socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind("x")
    elif request.param == "a device":
        path.symlink_to("/dev/zero")
    else:
        os.mkfifo(tmp_path / "y")
        path.symlink_to("y")
    return path


def test_they_are_refused_by_everything_that_reads(special: Path):
    uses = (
        lambda: refuse_special(special),
        lambda: read_json_document(special),
        lambda: list(iter_lines(special, Log())),
        lambda: list(iter_rows(special, Log(), "x", cells=(1, 2))),
    )
    for use in uses:
        with pytest.raises(UserError, match=r"this is a (pipe|socket|device), a file was expected") as caught:
            use()
        assert caught.value.where == str(special)


def test_anything_else_is_left_to_be_opened(tmp_path: Path):
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    for name in ("", "file", "loop", "missing", "\x00", "x" * 5_000):
        refuse_special(tmp_path / name)
