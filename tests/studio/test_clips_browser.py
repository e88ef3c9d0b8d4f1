"""A clip in a real browser: it plays, ends at the question's moment, and has nothing more to show."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from tests.media.make_video import Recipe, make_video
from tests.patience import PATIENCE
from tests.studio.chromium import CHROMIUM

from proctor.studio.clip_making import Clip
from proctor.studio.clips import ClipShop
from proctor.studio.serving import send_file

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
]

END = 3.01
"""The question's moment: pictures 0 to 90 appear before it."""
LAST = 90

PAGE = """<!doctype html><meta charset=utf-8><link rel=icon href=data:,>
<video src=/clip.mp4 poster=/poster.jpg preload=auto muted></video>
<script>
const video = document.querySelector('video');
const canvas = document.createElement('canvas');
const looked = canvas.getContext('2d', {willReadFrequently: true});
window.seen = [];
function number() {
  canvas.width = video.videoWidth; canvas.height = video.videoHeight;
  looked.drawImage(video, 0, 0);
  const block = canvas.width / 10, y = Math.round(canvas.height / 4);
  let found = 0;
  for (let bit = 0; bit < 10; bit++)
    if (looked.getImageData(Math.round((bit + .5) * block), y, 1, 1).data[0] > 128) found |= 1 << bit;
  return found;
}
function note(now, meta) {
  window.seen.push([number(), meta.mediaTime]);
  video.requestVideoFrameCallback(note);
}
video.requestVideoFrameCallback(note);
window.seek = time => new Promise(done => {
  video.requestVideoFrameCallback((now, meta) => done([number(), meta.mediaTime]));
  video.currentTime = time;
});
window.playToEnd = () => new Promise((done, failed) => {
  video.addEventListener('ended', () => setTimeout(done, 300), {once: true});
  setTimeout(() => failed(new Error('it did not end')), 20000);
  video.play();
});
</script>"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Clip]:
    """The folder of clips and a clip of numbered pictures with sound."""
    folder = tmp_path_factory.mktemp("browser")
    video = make_video(
        folder / "v.mp4", Recipe(times=range(150), b_frames=3, audio_seconds=5.0, size=(320, 192))
    )
    with ClipShop(folder / "clips", reserve_bytes=0) as shop:
        shop.prepare_all([(video, 5.0)])
        state = shop.wait(video, END, 60)
    assert state.clip is not None, state
    return folder / "clips", state.clip


@pytest.fixture(scope="module")
def address(made: tuple[Path, Clip]) -> Iterator[str]:
    folder, clip = made

    def page(request: Request) -> Response:
        return HTMLResponse(PAGE)

    def video(request: Request) -> Response:
        return send_file(request, folder, f"{clip.key}.mp4", sha256=clip.sha256, media_type="video/mp4")

    def poster(request: Request) -> Response:
        name = f"{clip.key}.jpg"
        return send_file(request, folder, name, sha256=clip.poster_sha256, media_type="image/jpeg")

    app = Starlette(routes=[Route("/", page), Route("/clip.mp4", video), Route("/poster.jpg", poster)])
    config = uvicorn.Config(app, log_level="error", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        server.force_exit = server.should_exit = True
        thread.join(PATIENCE)
        listener.close()


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    page = browser.new_page()
    problems: list[str] = []
    page.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(address)
    page.wait_for_function("video.readyState >= 2")
    yield page
    assert problems == []
    page.close()


def test_it_knows_its_length_and_its_poster(page: Any) -> None:
    assert page.evaluate("video.duration") == pytest.approx((LAST + 1) / 30, abs=0.002)
    assert page.evaluate("[video.videoWidth, video.videoHeight]") == [320, 192]
    assert (
        page.evaluate("fetch('/poster.jpg').then(r => r.blob()).then(createImageBitmap).then(i => i.width)")
        == 320
    )


def test_it_plays_to_its_end_and_shows_nothing_later(page: Any) -> None:
    page.evaluate("playToEnd()")
    assert page.evaluate("video.ended")
    assert page.evaluate("video.currentTime") == pytest.approx((LAST + 1) / 30, abs=0.05)
    assert page.evaluate("number()") == LAST
    shown = page.evaluate("seen")
    assert len(shown) > 10
    assert max(number for number, _ in shown) == LAST
    for number, time in shown:
        # A busy browser may have painted the next frame before the page could look at this one.
        assert -0.1 <= number - time * 30 <= 1.1


def test_playing_on_after_the_end_shows_nothing_later(page: Any) -> None:
    """With a media fragment, a second Play runs on past the end."""
    page.evaluate("playToEnd()")
    page.evaluate("seen.length = 0")
    for press in ("video.play()", "video.currentTime = 4.5", "video.currentTime = 1e6", "video.play()"):
        page.evaluate(f"void ({press})")
        page.wait_for_timeout(250)
        assert page.evaluate("video.currentTime") <= (LAST + 1) / 30 + 0.01
    page.evaluate("video.pause()")
    assert all(number <= LAST for number, _ in page.evaluate("seen"))


def test_a_fragment_in_the_address_reaches_no_further(page: Any) -> None:
    page.evaluate("video.src = '/clip.mp4#t=2.9,99'; video.load()")
    page.wait_for_function("video.readyState >= 2")
    page.evaluate("playToEnd()")
    assert page.evaluate("number()") == LAST


@pytest.mark.parametrize("order", ["up", "down", "about"])
def test_the_middle_of_picture_k_shows_picture_k(page: Any, order: str) -> None:
    """A seek to k/30 may show the picture before."""
    wanted = {
        "up": [0, 1, 2, 14, 15, 16, 29, 30, 31, 59, 60, 89, 90],
        "down": [90, 75, 74, 46, 45, 44, 15, 14, 1],
        "about": [k * 37 % 91 for k in range(1, 25)],
    }[order]
    for k in wanted:
        number, time = page.evaluate(f"seek(({k} + 0.5) / 30)")
        assert (number, round(time * 30, 3)) == (k, k)


def test_a_jump_loads_a_part(page: Any, address: str) -> None:
    answer = page.request.get(f"{address}clip.mp4", headers={"Range": "bytes=100-199"})
    assert (answer.status, len(answer.body())) == (206, 100)
