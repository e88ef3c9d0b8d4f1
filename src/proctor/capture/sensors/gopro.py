"""GoPro cameras over HTTP (Wi-Fi or USB), as the public Open GoPro documentation says; *unverified on hardware*.

It records onto its card; after the end what is new in its media list is fetched. Nothing is ever deleted from it. There is no Bluetooth:
connect to its network beforehand.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

import aiohttp
import msgspec

from proctor.capture.records import StreamSpec
from proctor.capture.sensor import Context, Options, StopReport
from proctor.capture.sensors import UNVERIFIED, Plain, options_of
from proctor.errors import UserError
from proctor.media.probe import probe
from proctor.media.streams import join_videos
from proctor.records import read_json, write_json

__all__ = ["Chapter", "GoPro", "chapters", "make"]

_NAME: Final = re.compile(r"G[A-Z](\d\d)(\d{4})\.MP4", re.ASCII)
_FOLDER: Final = re.compile(r"\d{3}GOPRO", re.ASCII)
_BUSY, _ENCODING, _BATTERY, _SECONDS = "8", "10", "70", "35"
"""Numbers of the camera's states: busy, recording, percent of the battery, seconds that fit onto the card."""


class Chapter(NamedTuple):
    """A file on the card. Names sort by chapter, then number; a recording is the chapters of one number."""

    number: int
    chapter: int
    folder: str
    name: str
    size: int


def chapters(listed: Any) -> set[Chapter]:
    """Return the videos of a media list; other files and other names are passed over."""
    found = set()
    for folder, file in ((str(d.get("d")), f) for d in listed.get("media", []) for f in d.get("fs", [])):
        name, size = str(file.get("n")), str(file.get("s"))
        if (match := _NAME.fullmatch(name)) and _FOLDER.fullmatch(folder) and size.isdecimal():
            found.add(Chapter(int(match[2]), int(match[1]), folder, name, int(size)))
    return found


class GoProOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Address (over USB that of the camera's own network), seconds to wait for an answer, and how often a file is tried."""

    url: str = "http://10.5.5.9:8080"
    timeout_s: float = 10.0
    tries: int = 5


class GoPro(Plain):
    """One camera."""

    def __init__(self, name: str, options: Options) -> None:
        self.options = options_of(options, GoProOptions, name)
        self.spec = StreamSpec(name=name, kind="video", format="file", note=UNVERIFIED)
        self._context: Context | None = None

    async def look(self) -> str:
        """Ask for battery and room on the card."""
        status = await self._status()
        battery, minutes = int(status.get(_BATTERY, 0)), int(status.get(_SECONDS, 0)) // 60
        seen = f"battery {battery} %, room for {minutes} minutes"
        if battery < 15 or minutes < 10:
            raise ConnectionError(seen)
        return seen

    async def run(self, context: Context) -> None:
        """Set its clock, start it, keep it awake; raises ConnectionError if it does not answer (it may go on recording)."""
        self._context, before = context, context.folder / "before.json"
        if not before.exists():
            now = datetime.now().astimezone()
            zone = (now.utcoffset() or now - now).total_seconds() // 60
            query = f"date={now:%Y_%m_%d}&time={now:%H_%M_%S}&tzone={zone:.0f}&dst=0"
            await self._get(f"/gopro/camera/set_date_time?{query}")
            got = await self._get("/gopro/camera/get_date_time")
            said = f"{got.get('date')} {got.get('time')}"[:100]
            context.said(f"its clock was set to {now:%Y_%m_%d %H_%M_%S} and says {said}")
            context.folder.mkdir(parents=True, exist_ok=True)
            write_json(before, sorted(chapters(await self._get("/gopro/media/list"))))
        while True:
            if not (await self._status()).get(_ENCODING):
                await self._get("/gopro/camera/shutter/start")
                context.said("started")
            await self._get("/gopro/camera/keep_alive")
            await asyncio.sleep(3)

    async def stop(self) -> StopReport:
        """Stop it and fetch what is new; what is missing is listed, and stays on the card."""
        if self._context is None or not (before := self._context.folder / "before.json").exists():
            return StopReport()
        old: list[Chapter] = read_json(before, list[Chapter])
        begun, ended = before.stat().st_mtime, time.time()
        try:
            await self._get("/gopro/camera/shutter/stop")
            for _ in range(600):
                if not ((status := await self._status()).get(_BUSY) or status.get(_ENCODING)):
                    break
                await asyncio.sleep(0.1)
            new = chapters(await self._get("/gopro/media/list")).difference(old)
        except ConnectionError as error:
            return StopReport(missing=(f"{error}; its files are still on the card",))
        folder, files, seconds = self._context.folder, list[str](), 0.0
        missing = [] if new else ["nothing new is on the card"]
        for number, group in groupby(sorted(new), lambda chapter: chapter.number):
            parts = list(group)
            gone = sorted({*range(1, parts[-1].chapter)} - {part.chapter for part in parts})
            lost = [f"chapter {c} of {number:04} is not on the card" for c in gone]
            for part in parts:
                try:
                    seconds += await self._fetch(part, folder / part.name)
                    files.append(part.name)
                except (ConnectionError, UserError) as error:
                    lost.append(f"{part.name}: {str(error)[:200]}; it is still on the card")
            if not lost and len(parts) > 1:
                joined = folder / f"joined-{number:04}.mp4"
                await asyncio.to_thread(join_videos, [folder / part.name for part in parts], joined)
                files.append(joined.name)
            missing += lost
        if not missing and seconds < 0.9 * (ended - begun) - 5:
            missing.append(f"{ended - begun - seconds:.0f} of {ended - begun:.0f} s are in no file")
        return StopReport(sent=len(files), files=tuple(files), missing=tuple(missing))

    async def _fetch(self, part: Chapter, target: Path) -> float:
        """Fetch a file, going on where it was cut; size and contents are checked. Returns its seconds."""
        kept, url = target.with_name(f".{part.name}.part"), f"/videos/DCIM/{part.folder}/{part.name}"
        for left in reversed(range(self.options.tries)):
            have = kept.stat().st_size if kept.exists() else 0
            try:
                async with self._ask(url, {"Range": f"bytes={have}-"} if have else {}) as got:
                    with kept.open("ab" if got.status == 206 else "wb") as file:
                        async for block in got.content.iter_chunked(1 << 20):
                            file.write(block)
                if (size := kept.stat().st_size) == part.size:
                    break
                raise ConnectionError(f"{size} of {part.size} bytes came")
            except ConnectionError:
                if not left:
                    raise
            await asyncio.sleep(0.5)
        kept.replace(target)
        return (await asyncio.to_thread(probe, target)).duration or 0.0

    async def _status(self) -> dict[str, Any]:
        found = (await self._get("/gopro/camera/state")).get("status")
        return found if isinstance(found, dict) else {}

    async def _get(self, path: str) -> dict[str, Any]:
        async with self._ask(path, {}) as got:
            return msgspec.json.decode(await got.read() or b"{}", type=dict[str, Any])

    @asynccontextmanager
    async def _ask(self, path: str, headers: dict[str, str]) -> AsyncIterator[aiohttp.ClientResponse]:
        wait, url = self.options.timeout_s, self.options.url + path
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=wait, sock_read=wait)
        try:
            async with aiohttp.ClientSession(timeout=timeout) as one, one.get(url, headers=headers) as got:
                if got.status not in (200, 206):
                    raise ConnectionError(f"the camera answers {got.status} to {path[:60]}")
                yield got
        except (aiohttp.ClientError, TimeoutError, msgspec.MsgspecError) as error:
            raise ConnectionError(f"no answer of the camera: {str(error)[:100] or 'timeout'}") from None


make = GoPro
