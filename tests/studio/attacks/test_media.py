"""Clips over the whole application: by assignment alone, whatever the address or the Range header says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.patience import least_effort

from proctor.verify.desk.items import get_item

DOTS = (
    "..%2f..%2fstudio-secret", "%2e%2e/%2e%2e/etc/passwd", "%252e%252e%252fetc%252fpasswd", "..%5c..%5cwindows", "%2fetc%2fpasswd",
    "C:%5cboot.ini", "%00", "clip%00.mp4", "\uff0e\uff0e%2f", "..;/", ".%2e/", "%c0%ae%c0%ae/", "....//", "~root", "verification.sqlite",
)  # fmt: skip
BODY = bytes(range(256)) * 40


class Clip:
    key, sha256, poster_sha256 = "c" * 24, "a" * 64, "b" * 64


class State:
    clip, state, reason = Clip(), "ready", ""


class Shop:
    """Has one clip for everything; ``studio.clips`` makes real ones and has tests of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{Clip.key}.mp4").write_bytes(BODY)
        (folder / f"{Clip.key}.jpg").write_bytes(b"\xff\xd8jpeg")
        (folder.parent / "evil").mkdir(exist_ok=True)

    def ask(
        self, video: Path, end: float, start: float = 0.0, *, rate: Any = None, urgent: bool = True
    ) -> State:
        return State()

    def close(self) -> None:
        pass


@pytest.fixture
def cinema(house: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(house.studio, "clips", Shop(tmp_path / "clips"))
    monkeypatch.setattr(house.studio, "find_video", lambda example: tmp_path / "video.mp4")
    return house


def test_the_person_of_an_assignment_sees_its_clip(cinema: Any, crew: Any) -> None:
    crew["annotator"].sign_in()
    answer = crew["annotator"].get(f"/w/{cinema.work_of('ana')}/clip.mp4")
    assert answer.status_code == 200
    assert answer.content == BODY
    assert answer.headers["content-type"] == "video/mp4"
    assert answer.headers["cache-control"].startswith("private")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert "lamp" not in repr(answer.headers), "nothing tells the recording"


def test_nobody_else_sees_it(cinema: Any, crew: Any, says: Any) -> None:
    for name in ("clip.mp4", "poster.jpg"):
        theirs = f"/w/{cinema.work_of('ana')}/{name}"
        for who in ("other", "adjudicator", "coordinator", "owner"):
            crew[who].sign_in()
            answers = [
                crew[who].get(path, headers=says.data) for path in (theirs, f"/w/{says.nowhere}/{name}")
            ]
            assert [a.status_code for a in answers] == [404, 404]
            assert answers[0].content == answers[1].content
        assert crew["nobody"].get(theirs, headers=says.data).status_code == 401


@pytest.mark.parametrize("dots", DOTS)
def test_there_is_no_way_out_of_the_folder(
    dots: str, cinema: Any, crew: Any, says: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for who in ("annotator", "owner"):
        crew[who].sign_in()
        for path in (
            f"/w/{dots}/clip.mp4",
            f"/w/{dots}",
            f"/static/{dots}",
            f"/exports/{dots}",
            f"/{dots}",
            f"/items/{dots}/clip.mp4",
        ):
            answer = crew[who].get(path)
            if answer.status_code == 307:  # a slash too many
                assert answer.headers["location"].startswith(says.origin)
                answer = crew[who].get(answer.headers["location"])
            assert answer.status_code in (400, 404), (path, answer.status_code)
            assert b"root:" not in answer.content
    assert "passwd" not in caplog.text


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("bytes=0-", 206), ("bytes=-5", 206), ("bytes=5-2", 200), ("bytes=0-0,2-3", 200), (f"bytes={len(BODY)}-", 416),
        ("bytes=999999999999-", 416), ("bytes=--5", 200), ("bytes=abc", 200), ("items=0-1", 200), ("bytes=", 200),
        ("bytes=" + ",".join(f"{n}-{n}" for n in range(2_000)), 200), ("bytes=0-999999999999", 206), ("bytes=0-18446744073709551616", 200),
    ],
)  # fmt: skip
def test_ranges_are_answered_at_once(line: str, status: int, cinema: Any, crew: Any, says: Any) -> None:
    crew["annotator"].sign_in()
    path = f"/w/{cinema.work_of('ana')}/clip.mp4"

    def ask() -> Any:
        return crew["annotator"].get(path, headers={**says.page, "Range": line})

    assert least_effort(ask) < 0.05
    answer = ask()
    assert answer.status_code == status
    if status == 206:
        assert answer.headers["content-range"].endswith(f"/{len(BODY)}")
        assert len(answer.content) <= len(BODY)


def test_a_flood_of_ranges(cinema: Any, crew: Any, says: Any) -> None:
    crew["annotator"].sign_in()
    path = f"/w/{cinema.work_of('ana')}/clip.mp4"
    for n in range(150):
        answer = crew["annotator"].get(path, headers={**says.page, "Range": f"bytes={n}-{n}"})
        assert (answer.status_code, answer.content) == (206, BODY[n : n + 1])
    long = "bytes=" + ",".join("0-1" for _ in range(10_000))
    assert crew["annotator"].get(path, headers={**says.page, "Range": long}).status_code == 200


def test_a_link_out_of_the_folder_is_not_followed(cinema: Any, crew: Any, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("root:zqx")
    file = cinema.studio.clips.folder / f"{Clip.key}.mp4"
    file.unlink()
    file.symlink_to(secret)
    crew["annotator"].sign_in()
    answer = crew["annotator"].get(f"/w/{cinema.work_of('ana')}/clip.mp4")
    assert answer.status_code == 404
    assert b"zqx" not in answer.content


def test_a_clip_of_work_that_was_moved_is_gone(cinema: Any, crew: Any) -> None:
    from proctor.verify.schema import tables

    pid, a = cinema.work_of("ben", at=2), tables().assignments
    crew["other"].sign_in()
    assert crew["other"].get(f"/w/{pid}/clip.mp4").status_code == 200
    row = cinema.desk.read(lambda c: c.execute(a.select().where(a.c.pid == pid)).one())
    assert cinema.desk.read(lambda c: get_item(c, row.item_id)).question
    cinema.desk.write(
        lambda c: c.execute(a.update().where(a.c.pid == pid).values(live=False, state="moved"))
    ).result()
    assert crew["other"].get(f"/w/{pid}/clip.mp4").status_code == 404


# -- the proxy sends it ------------------------------------------------------------------------------------------


@pytest.fixture(params=["X-Accel-Redirect", "X-Sendfile"])
def fronted(request: pytest.FixtureRequest, cinema: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The studio behind a server that sends clips; the value of the header for a file of the shop."""
    header = request.param
    monkeypatch.setattr(cinema.studio, "settings", replace(cinema.studio.settings, accel=header))
    folder = cinema.studio.clips.folder.resolve()
    return (
        header,
        lambda name: f"/internal-clips/{name}" if header == "X-Accel-Redirect" else f"{folder}/{name}",
    )


@pytest.mark.parametrize(("name", "kind"), [("clip.mp4", "video/mp4"), ("poster.jpg", "image/jpeg")])
def test_a_proxy_is_told_what_to_send(cinema: Any, crew: Any, fronted: Any, name: str, kind: str) -> None:
    header, place = fronted
    file = f"{Clip.key}.{name.rpartition('.')[2]}"
    item = cinema.desk.read(lambda c: c.execute(_items().select().limit(1)).one())
    for who, path in (
        ("annotator", f"/w/{cinema.work_of('ana')}/{name}"),
        ("owner", f"/items/{item.pid}/{name}"),
    ):
        crew[who].sign_in()
        for more in ({}, {"Range": "bytes=0-9"}):
            answer = crew[who].get(path, headers=more)
            assert (answer.status_code, answer.content) == (200, b"")
            assert answer.headers[header] == place(file)
            assert answer.headers["content-type"] == kind
            assert answer.headers["cache-control"].startswith("private")


def _items() -> Any:
    from proctor.verify.schema import tables

    return tables().items


def test_who_may_not_see_a_clip_is_told_of_no_file(cinema: Any, crew: Any, says: Any, fronted: Any) -> None:
    theirs = f"/w/{cinema.work_of('ana')}/clip.mp4"
    answers = [crew["nobody"].get(theirs, headers=says.data)]
    for who in ("other", "adjudicator", "coordinator", "owner"):
        crew[who].sign_in()
        answers.append(crew[who].get(theirs, headers=says.data))
    assert [a.status_code for a in answers] == [401, 404, 404, 404, 404]
    for answer in answers:
        assert not {"x-accel-redirect", "x-sendfile"} & set(answer.headers)


@pytest.mark.parametrize(
    "key", ["../../studio-secret", "..", "/etc/passwd", "c" * 24 + "/../x", "%2e%2e%2f", "\u00e9" * 24, ""]
)
def test_a_proxy_is_not_sent_out_of_the_folder(
    cinema: Any, crew: Any, fronted: Any, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    """Whatever a clip were called: its name is checked, not believed."""
    monkeypatch.setattr(Clip, "key", key)
    crew["annotator"].sign_in()
    answer = crew["annotator"].get(f"/w/{cinema.work_of('ana')}/clip.mp4")
    assert answer.status_code == 404
    assert not {"x-accel-redirect", "x-sendfile"} & set(answer.headers)


def test_a_proxy_is_told_of_no_link_out_of_the_folder(
    cinema: Any, crew: Any, fronted: Any, tmp_path: Path
) -> None:
    file = cinema.studio.clips.folder / f"{Clip.key}.mp4"
    file.unlink()
    crew["annotator"].sign_in()
    address = f"/w/{cinema.work_of('ana')}/clip.mp4"
    assert crew["annotator"].get(address).status_code == 404
    (tmp_path / "secret").write_text("root")
    file.symlink_to(tmp_path / "secret")
    assert crew["annotator"].get(address).status_code == 404
