"""Old workspaces played again: every request is noted, nothing is sent, and no video is opened.

Keys of requests with pictures must not depend on the decoder or the JPEG encoder of the machine that checks (another CPU,
another wheel of Pillow or PyAV give other bytes, and so other keys). So while a workspace is played, the few functions that open
video or encode pictures are replaced by ``Pictures``: it knows by name of the video, time and height which stored picture was
shown. What those functions really do is tested in ``tests/media`` and ``tests/exam``.
"""

from __future__ import annotations

import bisect
import difflib
import hashlib
import json
import re
import sys
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import numpy as np
from tests.typed import Outcome
from tests.typed import proctor as proctor_command

import proctor.llm.registry
from proctor.ask.moment import recipe_picture
from proctor.llm.caller import Caller
from proctor.llm.message import Request
from proctor.llm.outcome import Failure
from proctor.llm.prompt import Rendered, Template
from proctor.llm.store import CallStore
from proctor.media import clips, frames, paint, probe
from proctor.media.frames import Frame
from proctor.media.probe import VideoInfo
from proctor.records import canonical_json
from proctor.verify.store import VerdictStore

__all__ = [
    "KEY",
    "Asked",
    "Pictures",
    "Table",
    "collect",
    "listening",
    "moved",
    "replaced",
    "replaying",
    "typed_into",
]

Keys = dict[str, dict[str, list[str]]]
"""Keys of the requests of each cell, by template."""


@contextmanager
def replaced(original: Any, replacement: Any) -> Iterator[None]:
    """Put one function in another's place in every module of ours, in those that are first imported meanwhile, too."""

    def swap(old: Any, new: Any) -> None:
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] == "proctor" and module is not None:
                for attribute in [n for n, value in vars(module).items() if value is old]:
                    setattr(module, attribute, new)

    there = [m for name, m in sys.modules.items() if name.partition(".")[0] == "proctor" and m is not None]
    assert not any(value is replacement for module in there for value in vars(module).values())
    swap(original, replacement)
    try:
        yield
    finally:
        swap(replacement, original)


# -- pictures ----------------------------------------------------------------------------------------------------------


class Table(msgspec.Struct):
    """Which pictures were shown.

    Attributes:
        times: of each video by its file's name, when its frames appear, and when the last one ends (seconds).
        probes: what each video is, by its file's name; of a clip by the SHA-256 of its bytes.
        frames: by ``name height``, then by time: time stamp, width, height and SHA-256 of the encoded picture.
        clips: by ``name start end height quality``: SHA-256.
        drawings: of procedures, by the activity's id: width, height and SHA-256.
    """

    times: dict[str, tuple[list[float], float]] = {}
    probes: dict[str, dict[str, Any]] = {}
    frames: dict[str, dict[str, tuple[int, int, int, str]]] = {}
    clips: dict[str, str] = {}
    drawings: dict[str, tuple[int, int, str]] = {}


class Shown(np.ndarray):  # type: ignore[type-arg]
    """Pixels (all black) that stand for a stored picture."""

    sha256: str

    @classmethod
    def of(cls, width: int, height: int, sha256: str) -> Shown:
        made = np.zeros((height, width, 3), np.uint8).view(cls)
        made.sha256 = sha256
        return made


_TOKEN = re.compile(r"\b[0-9a-f]{16}\b")
KEY = 24
"""Digits of a key that are stored."""
_SAID = 16
"""Digits of a key that a prediction names."""


@dataclass
class Pictures:
    """What stands in for real video: the table, and the bytes in the workspace's ``media/``."""

    table: Table
    media: Path

    def bytes_of(self, sha256: str) -> bytes:
        return (self.media / sha256[:2] / sha256).read_bytes()

    def extract_frames(
        self, path: Path, wanted: Sequence[float], *, height: int | None = 360, **_: Any
    ) -> list[Frame]:
        appear, _ends = self.table.times[path.name]
        known = self.table.frames[f"{path.name} {height}"]
        found = []
        for target in wanted:
            time = appear[max(0, bisect.bisect_right(appear, target) - 1)]
            assert f"{time:.3f}" in known, (
                f"no frame of {path.name} at {time:.3f} s, {height} pixels high, was ever shown"
            )
            pts, width, high, sha256 = known[f"{time:.3f}"]
            found.append(Frame(target, time, pts, Shown.of(width, high, sha256)))
        return found

    def presentation_times(self, path: Path, **_: Any) -> tuple[array[float], float]:
        appear, ends = self.table.times[path.name]
        return array("d", appear), ends

    def probe(self, path: Path, **_: Any) -> VideoInfo:
        name = Path(path).name
        if name not in self.table.probes:
            name = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        return msgspec.convert(self.table.probes[name] | {"path": str(path)}, VideoInfo)

    def cut_clip(self, path: Path, clip: Path, start: float, end: float, **how: Any) -> None:
        clip.write_bytes(self.bytes_of(self.table.clips[clip_name(path, start, end, how)]))

    def draw_procedure(self, graph: Any) -> Shown:
        return Shown.of(*self.table.drawings[graph.id])

    def encode(self, image: Shown, **_: Any) -> bytes:
        return self.bytes_of(image.sha256)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Replace everything that opens a video, draws or encodes."""
        with ExitStack() as stack:
            for original, replacement in (
                (frames.extract_frames, self.extract_frames),
                (probe.presentation_times, self.presentation_times),
                (probe.probe, self.probe),
                (clips.cut_clip, self.cut_clip),
                (recipe_picture.draw_procedure, self.draw_procedure),
                (paint.encode_jpeg, self.encode),
                (paint.encode_png, self.encode),
            ):
                stack.enter_context(replaced(original, replacement))
            yield


def clip_name(path: Path, start: float, end: float, how: Mapping[str, Any]) -> str:
    return f"{path.name} {start:.3f} {end:.3f} {how['height']} {how['quality']}"


# -- requests ----------------------------------------------------------------------------------------------------------


@dataclass
class Asked:
    """Requests by cell and template, as they are made; the cell is set by whoever plays it."""

    cell: str = ""
    requests: dict[tuple[str, str], dict[str, Request]] = field(default_factory=lambda: defaultdict(dict))
    missed: dict[str, list[Request]] = field(default_factory=lambda: defaultdict(list))
    _templates: dict[str, str] = field(default_factory=dict)

    def rendered(self, made: Rendered) -> None:
        self._templates[made.token] = made.template

    def asked(self, request: Request) -> None:
        self.requests[self.cell, self.template(request)][request.key] = request

    def template(self, request: Request) -> str:
        """Return the template that a request began with, by the token of its fences, which no other prompt has."""
        said = "\n".join(m.text for m in request.messages)
        return next((t for token in _TOKEN.findall(said) if (t := self._templates.get(token))), "")

    @property
    def keys(self) -> Keys:
        found: Keys = defaultdict(dict)
        for (cell, template), requests in self.requests.items():
            found[cell][template] = sorted(requests)
        return dict(found)


@contextmanager
def listening(asked: Asked) -> Iterator[None]:
    """Note every request that is looked for in a store or sent, and the template that it was made of."""
    prepare, render = Caller.prepare, Template.render

    def noting(self: Caller, request: Request, stage: str) -> Any:
        asked.asked(request)
        return prepare(self, request, stage)

    def rendering(self: Template, *given: Any, **values: Any) -> Rendered:
        made = render(self, *given, **values)
        asked.rendered(made)
        return made

    with patch.object(Caller, "prepare", noting), patch.object(Template, "render", rendering):
        yield


@dataclass
class Nobody:
    """A model that cannot be asked: it fails again where it failed when the store was filled; all else is a miss."""

    name: str
    asked: Asked
    failures: Mapping[str, Failure]
    endpoint: str = ""

    async def attempt(self, request: Request, *_: Any, **__: Any) -> Failure:
        if request.key in self.failures:
            return self.failures[request.key]
        self.asked.missed[self.asked.cell].append(request)
        return Failure(kind="replay_miss", message="it is not in the stored calls")

    async def close(self) -> None:
        """There is nothing to close."""


@contextmanager
def replaying(asked: Asked, pictures: Pictures, failures: Mapping[str, Failure]) -> Iterator[None]:
    """Play a stored workspace: nothing is sent, no video is opened, every request is noted."""

    def resolve(name: str) -> Nobody:
        return Nobody(name, asked, failures)

    with (
        listening(asked),
        pictures.shown(),
        replaced(proctor.llm.registry.resolve, resolve),
    ):
        yield


def moved(
    asked: Asked, stored: Mapping[str, Sequence[str]], calls: Path, answered: Collection[str] = ()
) -> list[str]:
    """Say which requests of the current cell have other keys than the stored ones, and how they differ from those.

    Args:
        asked: what was asked now.
        stored: keys by template.
        calls: the store that has the old requests.
        answered: how the keys begin of those that need not be asked any more.
    """
    now: dict[str, dict[str, Request]] = {template: {} for template in stored}
    for (cell, template), requests in asked.requests.items():
        if cell == asked.cell:
            now[template] = {key[:KEY]: request for key, request in requests.items()}
    stored = {
        template: [key for key in keys if key in now[template] or key[:_SAID] not in answered]
        for template, keys in stored.items()
    }
    if {t: sorted(keys) for t, keys in now.items()} == {t: sorted(keys) for t, keys in stored.items()}:
        return []
    found = []
    with CallStore.open(calls) as store:
        old = {call.key[:KEY]: _readable(json.loads(call.request)) for call in store.calls()}
        for template, here in sorted(now.items()):
            there = set(stored.get(template, ()))
            before = [old[key] for key in sorted(there - set(here)) if key in old]
            name = template or "no template"
            fresh = sorted(set(here) - there)
            if len(there) != len(here) or fresh:
                found.append(
                    f"{name}: {len(there)} requests were made, now {len(here)}; {len(fresh)} have other keys"
                )
            for key in fresh[:2]:
                text = _readable(msgspec.to_builtins(here[key]))
                near = max(before, key=lambda lines: len({*lines} & {*text}), default=[])
                lines = difflib.unified_diff(near, text, "stored", f"now {key[:12]}", n=0, lineterm="")
                said = [line[:400] for line in islice(lines, 40)]
                found.append(
                    "\n".join([f"{name}: what has moved", *said])
                    if said
                    else f"{name}: only the fence's token"
                )
    return found


def _readable(request: Any) -> list[str]:
    """Return model, parameters and messages as lines; the fences' token, which follows from everything else, is left out."""
    said = [
        f"{name}: {json.dumps(value, sort_keys=True)}"
        for name, value in request.items()
        if name != "messages"
    ]
    for message in request["messages"]:
        said.append(f"[{message['role']}]")
        for part in message["parts"]:
            text = part["text"] if part["type"] == "text" else json.dumps(part, sort_keys=True)
            said += _TOKEN.sub("TOKEN", text).split("\n")
    return said


def typed_into(*command: str) -> Outcome:
    """Run a command in this process; what it prints goes to a file where ``> FILE`` ends it."""
    *arguments, mark, file = command
    if mark != ">":
        return proctor_command(*command)
    done = proctor_command(*arguments)
    Path(file).write_text(done.out)
    return done


# -- what came of it -----------------------------------------------------------------------------------------------------


def collect(bench: Path, patterns: Sequence[str]) -> dict[str, str]:
    """Return the texts of the files that say what came of a cell; verdicts, which lie in a database, as JSON Lines."""
    found = {}
    for pattern in patterns:
        if pattern == "verdicts.jsonl":
            found[pattern] = verdicts(bench)
        else:
            found |= {
                p.relative_to(bench).as_posix(): p.read_text("utf-8") for p in sorted(bench.glob(pattern))
            }
    return found


def verdicts(bench: Path) -> str:
    """Return everybody's latest verdicts, by candidate and annotator; the filter stage stored none when the goldens were made."""
    with VerdictStore.open(bench / "verification.sqlite", create=False) as store:
        said = (v for v in store.latest() if v.annotator_kind != "filter")
        latest = sorted(said, key=lambda v: (v.candidate_id, v.annotator, v.role))
    return "".join(f"{canonical_json(verdict).decode()}\n" for verdict in latest)
