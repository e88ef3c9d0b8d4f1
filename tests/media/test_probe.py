from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from threading import Timer
from types import ModuleType

import pytest
from tests.patience import PATIENCE

from proctor.errors import MissingExtraError, UserError
from proctor.media.probe import Quarantined, VideoInfo, _Prober, check_all, probe, probe_sound
from proctor.media.source import Limits

Make = Callable[..., Path]
FAST = {"container_options": {"movflags": "faststart"}}


def test_tells_what_a_file_is(video: Make) -> None:
    info = probe(video("cfr.mp4", times=range(90), b_frames=2))
    assert info.duration == pytest.approx(3.0)
    assert info.fps == pytest.approx(30.0)
    assert (info.width, info.height, info.rotation) == (160, 96, 0)
    assert (info.codec, info.pixel_format, info.time_base) == ("h264", "yuv420p", "1/15360")
    assert (info.frames, info.keyframe_seconds, info.has_audio) == (90, pytest.approx(1.0), False)
    assert not info.variable_frame_rate
    assert info.warnings == ()


def test_tells_a_variable_frame_rate(video: Make) -> None:
    times = [0, 33, 66, 100, 600, 633, 700, 733, 1500, 1533, 1600, 2900]
    for name in ("vfr.mp4", "vfr.mkv"):
        info = probe(video(name, times=times, time_base=Fraction(1, 1000)))
        assert info.variable_frame_rate, name
        assert info.fps == pytest.approx(len(times) / 2.93, rel=0.1), name


def test_milliseconds_of_matroska_are_no_variable_rate(video: Make) -> None:
    info = probe(video("even.mkv", times=range(90)))
    assert not info.variable_frame_rate
    assert info.duration == pytest.approx(3.0, abs=0.05)


def test_tells_a_late_start(video: Make) -> None:
    info = probe(video("late.mkv", times=range(300, 390)))
    assert info.start_time == pytest.approx(10.0, abs=0.01)
    assert info.duration == pytest.approx(3.0, abs=0.05)


def test_sizes_are_upright_with_square_pixels(video: Make) -> None:
    turned = probe(video("turned.mp4", rotation=90))
    assert (turned.width, turned.height, turned.rotation) == (96, 160, 90)
    wide = probe(video("wide.mp4", aspect=Fraction(4, 3)))
    assert (wide.width, wide.height) == (213, 96)


def test_tells_sound(video: Make) -> None:
    assert probe(video("sound.mp4", audio_seconds=2.0)).has_audio


def test_a_wrong_ending_is_only_a_warning(video: Make, tmp_path: Path) -> None:
    path = tmp_path / "film.txt"
    path.write_bytes(video("cfr.mp4").read_bytes())
    (warning,) = probe(path).warnings
    assert "named .txt" in warning


def test_names_with_spaces_colons_and_other_letters(video: Make, tmp_path: Path) -> None:
    for name in ("a b.mp4", "Küche 台所.mp4", "a:b.mp4", "100%d.mp4"):
        path = tmp_path / name
        path.write_bytes(video("cfr.mp4").read_bytes())
        assert probe(path).codec == "h264"


# -- what is refused -------------------------------------------------------------------------------------------


def refused(path: str | Path, match: str, look: Callable[[str | Path], object] = probe) -> UserError:
    with pytest.raises(UserError, match=match) as caught:
        look(path)
    assert str(caught.value.where) in (str(path), str(Path(path).absolute()))
    return caught.value


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/a.mp4",
        "https://x/y",
        "file:/etc/passwd",
        "concat:a.mp4|b.mp4",
        "rtsp://h/s",
        "data:video/mp4;base64,AA",
    ],
)
def test_urls_and_protocols(url: str) -> None:
    refused(url, "not a path on this machine")


def test_missing(tmp_path: Path) -> None:
    refused(tmp_path / "none.mp4", "No such file")


def test_folder(tmp_path: Path) -> None:
    refused(tmp_path, "this is a folder")


def test_empty(tmp_path: Path) -> None:
    path = tmp_path / "empty.mp4"
    path.touch()
    refused(path, "0 bytes")


def test_symlink_loop(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").symlink_to(tmp_path / "b.mp4")
    (tmp_path / "b.mp4").symlink_to(tmp_path / "a.mp4")
    refused(tmp_path / "a.mp4", "symbolic links")


def test_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.mp4")
    refused(tmp_path / "pipe.mp4", "not a regular file")


def test_null_byte() -> None:
    with pytest.raises(UserError, match="not a path"):
        probe("a\0b.mp4")


@pytest.mark.parametrize(
    ("contents", "what"),
    [
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 100, "a PNG image"),
        (b"\xff\xd8\xff\xe0" + b"\0" * 100, "a JPEG image"),
        (b"PK\x03\x04" + b"\0" * 100, "a ZIP archive"),
        (b"%PDF-1.7\n" + b"\0" * 100, "a PDF document"),
        (b"<html><body>404</body></html>", "a web page"),
        (b"hello, world\n", "text starting with"),
        (b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:///etc/passwd\n", "a playlist"),
        (b"ffconcat version 1.0\nfile /etc/passwd\n", "a script that names other files"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"),
    ],
)
def test_not_a_video(contents: bytes, what: str, tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    path.write_bytes(contents)
    refused(path, what)


def test_noise(tmp_path: Path) -> None:
    path = tmp_path / "noise.mp4"
    path.write_bytes(bytes(range(256)) * 40)
    refused(path, "no video could be read")


def test_playlist_that_names_a_real_video_is_not_followed(video: Make, tmp_path: Path) -> None:
    path = tmp_path / "list.mp4"
    path.write_text(f"ffconcat version 1.0\nfile '{video('cfr.mp4')}'\n")
    refused(path, "a script that names other files")


def test_moov_cut_off(video: Make, tmp_path: Path) -> None:
    whole = video("cfr.mp4").read_bytes()
    assert whole.index(b"mdat") < whole.index(b"moov")
    for name, length in (("half.mp4", len(whole) // 2), ("tail.mp4", len(whole) - 20)):
        path = tmp_path / name
        path.write_bytes(whole[:length])
        refused(path, "cut off")


def test_recording_that_never_finished(video: Make, tmp_path: Path) -> None:
    whole = video("cfr.mp4").read_bytes()
    path = tmp_path / "unfinished.mp4"
    path.write_bytes(whole[: whole.index(b"moov") - 4])
    refused(path, "'moov' part is missing")


def test_pictures_cut_off(video: Make, tmp_path: Path) -> None:
    whole = video("fast.mp4", times=range(200), **FAST).read_bytes()
    path = tmp_path / "cut.mp4"
    path.write_bytes(whole[: len(whole) * 2 // 3])
    refused(path, "cut off")


def test_matroska_cut_off(video: Make, tmp_path: Path) -> None:
    whole = video("long.mkv", times=range(600)).read_bytes()
    path = tmp_path / "cut.mkv"
    path.write_bytes(whole[: len(whole) // 2])
    refused(path, "cut off")


def test_audio_only(maker: ModuleType, tmp_path: Path) -> None:
    refused(maker.make_audio(tmp_path / "sound.mp4"), "no video in it, only audio")


@pytest.mark.parametrize(
    ("name", "codec", "ending"),
    [("a.wav", "pcm_s16le", ".wav"), ("a.mp3", "libmp3lame", ".mp3"), ("a.ogg", "flac", ".ogg"), ("a.m4a", "aac", ".m4a"), ("a.flac", "flac", ".flac")],
)  # fmt: skip
def test_sounds(maker: ModuleType, tmp_path: Path, name: str, codec: str, ending: str) -> None:
    made = maker.make_audio(tmp_path / name, 9.0, codec)
    whole = made.rename(tmp_path / "page.html")  # a name says nothing
    assert probe_sound(whole) == (ending, pytest.approx(9, abs=0.2))
    data = whole.read_bytes()
    whole.write_bytes(data[: len(data) // 3])
    refused(whole, "cut off", probe_sound)
    if ending == ".ogg":  # between two of its pages
        whole.write_bytes(data[: data.rindex(b"OggS")])
        refused(whole, "cut off: its last page is not marked", probe_sound)
    whole.write_bytes(data[:12])
    refused(whole, "cut off|no sound could be read", probe_sound)


def test_what_is_no_sound_that_browsers_play(maker: ModuleType, video: Make, tmp_path: Path) -> None:
    refused(video("cfr.mp4"), "there is a video in it", probe_sound)
    refused(maker.make_audio(tmp_path / "a.m4a", 1.0, "alac"), "browsers may not play it: alac", probe_sound)
    refused(maker.make_audio(tmp_path / "a.mka"), "browsers may not play it: aac", probe_sound)
    refused(tmp_path / "no.wav", "cannot be opened", probe_sound)
    page = tmp_path / "page.wav"
    page.write_text("<html><script>alert(1)</script>")
    refused(page, "this is not a sound: its contents look like a web page", probe_sound)


def test_one_frame(video: Make) -> None:
    refused(video("one.mp4", times=[0]), "single frame")


def test_no_frames(video: Make, maker: ModuleType, tmp_path: Path) -> None:
    # a fragmented file cut after its header declares a video stream that holds nothing
    whole = video("parts.mp4", container_options={"movflags": "frag_keyframe+empty_moov"}).read_bytes()
    path = tmp_path / "none.mp4"
    path.write_bytes(whole[: whole.index(b"moof") - 4])
    refused(path, "no frame of it could be decoded")


def test_pixel_limit(video: Make) -> None:
    with pytest.raises(UserError, match="more than the limit"):
        probe(video("cfr.mp4"), limits=Limits(source_pixels=1000))


def test_bytes_overwritten_never_crash(video: Make, tmp_path: Path) -> None:
    whole = video("cfr.mp4").read_bytes()
    rng = random.Random(5)
    for number in range(60):
        broken = bytearray(whole)
        for _ in range(rng.choice([1, 8, 200])):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        path = tmp_path / f"{number}.mp4"
        path.write_bytes(broken)
        with contextlib.suppress(UserError):  # anything else is a bug
            assert probe(path).width > 0


def test_missing_extra_is_named(video: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    path = video("cfr.mp4")
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingExtraError, match=r"'av'.*not installed") as caught:
        probe(path)
    assert "proctor-bench[video]" in str(caught.value)


# -- many files ------------------------------------------------------------------------------------------------


def test_check_all_quarantines_and_goes_on(video: Make, tmp_path: Path) -> None:
    bad = tmp_path / "bad.mp4"
    bad.write_bytes(b"<html>")
    seen: list[int] = []
    paths = [video("cfr.mp4"), bad, tmp_path / "none.mp4", video("sound.mp4", audio_seconds=2.0)]
    good, quarantined = check_all(paths, seen=lambda: seen.append(1))
    assert [i.path for i in good] == [str(paths[0]), str(paths[3])]
    assert all(isinstance(i, VideoInfo) for i in good)
    assert [q.path for q in quarantined] == [str(bad), str(paths[2])]
    assert "web page" in quarantined[0].reason
    assert all(q.backend.startswith("PyAV") and q.hint for q in quarantined)
    assert len(seen) == 4


def test_a_decoder_that_hangs_or_dies_loses_only_its_file(video: Make) -> None:
    path = str(video("cfr.mp4"))
    with _Prober(Limits(), seconds=PATIENCE) as prober:
        assert isinstance(prober.ask(path), VideoInfo)
        os.kill(prober._process.pid or 0, signal.SIGSTOP)
        prober._seconds = 1.0
        hung = prober.ask(path)
        prober._seconds = PATIENCE
        assert isinstance(hung, Quarantined)
        assert "longer than 1 s" in hung.reason
        assert isinstance(prober.ask(path), VideoInfo)
        child = prober._process.pid or 0
        os.kill(child, signal.SIGSTOP)
        Timer(0.2, os.kill, (child, signal.SIGKILL)).start()
        died = prober.ask(path)
        assert isinstance(died, Quarantined)
        assert "crashed" in died.reason
        assert isinstance(prober.ask(path), VideoInfo)


def test_check_all_of_nothing() -> None:
    assert check_all([]) == ([], [])
