"""GoPro cameras over HTTP (Wi-Fi or USB), as the public Open GoPro documentation says; *unverified on hardware*.

A camera that is found over Bluetooth only has to be connected to its Wi-Fi beforehand. It records onto its card; after the end what is
new in its media list is fetched. Nothing is ever deleted from it.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from proctor.capture.records import Check, StreamSpec
from proctor.capture.sensor import Context, Options, StopReport
from proctor.capture.sensors import Plain, options_of
from proctor.errors import MissingExtraError, UserError
from proctor.media.probe import probe
from proctor.media.streams import join_videos
from proctor.records import read_json, write_json

__all__ = ["Chapter", "GoPro", "chapters", "make"]

_NAME: Final = re.compile(r"G[A-Z](\d\d)(\d{4})\.MP4", re.ASCII)
_FOLDER: Final = re.compile(r"\d{3}GOPRO", re.ASCII)
_BUSY, _ENCODING, _BATTERY, _SECONDS = "8", "10", "70", "35"
"""Numbers of states of the camera: busy, recording, percent of the battery, seconds that fit onto the card."""


class Chapter(NamedTuple):
    """A file on the card. Names sort by chapter, then number; recordings are made of chapters of one number."""

    number: int
    chapter: int
    folder: str
    name: str
    size: int


def chapters(listed: Any) -> set[Chapter]:
    """Return the videos of a media list; other files and other names are passed over."""
    found = set()
    for folder in listed.get("media", []):
        for file in folder.get("fs", []):
            name, size = str(file.get("n", "")), str(file.get("s", ""))
            if (
                (match := _NAME.fullmatch(name))
                and _FOLDER.fullmatch(str(folder.get("d", "")))
                and size.isdecimal()
            ):
                found.add(Chapter(int(match[2]), int(match[1]), folder["d"], name, int(size)))
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
        self.spec = StreamSpec(name=name, kind="video", format="file", note="unverified on hardware")
        self._context: Context | None = None

    async def preflight(self) -> list[Check]:
        """Ask for battery and room on the card."""
        try:
            status = (await self._get("/gopro/camera/state")).get("status", {})
        except ConnectionError as error:
            return [Check(name=self.spec.name, ok=False, seen=str(error), hint="connect to its Wi-Fi or USB")]
        battery, seconds = int(status.get(_BATTERY, 0)), int(status.get(_SECONDS, 0))
        seen = f"battery {battery} %, room for {seconds // 60} minutes"
        ok = battery >= 15 and seconds >= 600
        return [
            Check(name=self.spec.name, ok=ok, seen=seen, hint="" if ok else "charge it, or change the card")
        ]

    async def run(self, context: Context) -> None:
        """Set its clock, start it and keep it awake; started again only where it does not record.

        Raises:
            ConnectionError: if it does not answer; it may go on recording all the same.
        """
        self._context, now, before = context, datetime.now().astimezone(), context.folder / "before.json"
        if not before.exists():
            offset = int((now.utcoffset() or now - now).total_seconds() // 60)
            date, clock = now.strftime("%Y_%m_%d"), now.strftime("%H_%M_%S")
            await self._get(
                "/gopro/camera/set_date_time", {"date": date, "time": clock, "tzone": str(offset), "dst": "0"}
            )
            got = await self._get("/gopro/camera/get_date_time")
            context.said(
                f"its clock was set to {date} {clock} and says {str(got.get('date'))[:20]} {str(got.get('time'))[:20]}"
            )
            context.folder.mkdir(parents=True, exist_ok=True)
            write_json(before, sorted(chapters(await self._get("/gopro/media/list"))))
        while True:
            if not (await self._get("/gopro/camera/state")).get("status", {}).get(_ENCODING):
                await self._get("/gopro/camera/shutter/start")
                context.said("started")
            await self._get("/gopro/camera/keep_alive")
            await asyncio.sleep(3)

    async def stop(self) -> StopReport:
        """Stop it and fetch what is new; what is missing is listed, and stays on the card."""
        if self._context is None or not (before := self._context.folder / "before.json").exists():
            return StopReport()
        old = {Chapter(*row) for row in read_json(before, list[tuple[int, int, str, str, int]])}
        try:
            await self._get("/gopro/camera/shutter/stop")
            status, until = {_BUSY: 1}, time.monotonic() + 60
            while (status.get(_BUSY) or status.get(_ENCODING)) and time.monotonic() < until:
                status = (await self._get("/gopro/camera/state")).get("status", {})
                await asyncio.sleep(0.1)
            new = chapters(await self._get("/gopro/media/list")) - old
        except ConnectionError as error:
            return StopReport(missing=(f"{error}; its files are still on the card",))
        takes: dict[int, list[Chapter]] = defaultdict(list)
        for chapter in sorted(new):
            takes[chapter.number].append(chapter)
        files: list[str] = []
        missing = [] if new else ["nothing new is on the card"]
        for number, parts in sorted(takes.items()):
            there = {part.chapter for part in parts}
            lost = [
                f"chapter {c} of {number:04} is not on the card"
                for c in range(1, max(there))
                if c not in there
            ]
            for part in parts:
                try:
                    files.append((await self._fetch(part, self._context.folder)).name)
                except (ConnectionError, UserError) as error:
                    lost.append(f"{part.name}: {str(error)[:200]}; it is still on the card")
            missing += lost
            if not lost and len(parts) > 1:
                joined = self._context.folder / f"joined-{number:04}.mp4"
                await asyncio.to_thread(
                    join_videos, [self._context.folder / part.name for part in parts], joined
                )
                files.append(joined.name)
        return StopReport(sent=len(files), files=tuple(files), missing=tuple(missing))

    async def _fetch(self, part: Chapter, folder: Path) -> Path:
        """Fetch a file, going on where it was cut; its size and that it can be read are checked."""
        target, kept = folder / part.name, folder / f".{part.name}.part"
        for again in range(self.options.tries):
            have = kept.stat().st_size if kept.exists() else 0
            try:
                if have < part.size:
                    await self._load(f"/videos/DCIM/{part.folder}/{part.name}", kept, have)
                if kept.stat().st_size == part.size:
                    break
            except ConnectionError:
                if again + 1 == self.options.tries:
                    raise
            await asyncio.sleep(min(0.2 * 2**again, 5))
        if (size := kept.stat().st_size) != part.size:
            raise ConnectionError(f"{size} of {part.size} bytes came")
        kept.replace(target)
        await asyncio.to_thread(probe, target)
        return target

    async def _load(self, path: str, kept: Path, have: int) -> None:
        async with self._session() as session:
            try:
                async with session.get(
                    self.options.url + path, headers={"Range": f"bytes={have}-"} if have else {}
                ) as got:
                    if got.status not in (200, 206):
                        raise ConnectionError(f"the camera answers {got.status}")
                    with kept.open("ab" if got.status == 206 else "wb") as file:
                        async for block in got.content.iter_chunked(1 << 20):
                            file.write(block)
            except (OSError, TimeoutError, _client_error()) as error:
                raise ConnectionError(f"the camera went away: {str(error)[:100] or 'timeout'}") from None

    async def _get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        async with self._session() as session:
            try:
                async with session.get(self.options.url + path, params=query) as got:
                    if got.status != 200:
                        raise ConnectionError(f"the camera answers {got.status} to {path}")
                    found = msgspec.json.decode(await got.read() or b"{}")
                    return found if isinstance(found, dict) else {}
            except (OSError, TimeoutError, msgspec.MsgspecError, _client_error()) as error:
                raise ConnectionError(
                    f"no answer of the camera to {path}: {str(error)[:100] or 'timeout'}"
                ) from None

    def _session(self) -> Any:
        import aiohttp

        seconds = self.options.timeout_s
        return aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=seconds, sock_read=seconds)
        )


def _client_error() -> type[Exception]:
    try:
        import aiohttp
    except ImportError:
        raise MissingExtraError("aiohttp", "capture", "Talking to a GoPro") from None
    return aiohttp.ClientError


def make(name: str, options: Options) -> GoPro:
    """Return a GoPro."""
    return GoPro(name, options)
