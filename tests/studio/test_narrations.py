"""Sound of narrations: sent and heard by whoever spoke and by coordinators alone, kept once, and written down by a transcriber."""

from __future__ import annotations

import sys
import types
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import msgspec
import pytest

from proctor.errors import MissingExtraError, UserError
from proctor.media import transcribe
from proctor.media.transcribe import load_transcriber
from proctor.records import canonical_json, read_jsonl
from proctor.stages.rounds.settings import Transcribe
from proctor.stages.rounds.transcribe import Transcribed, transcribe_round, write_narrations
from proctor.stages.studio import open_desk
from proctor.studio.context import Settings
from proctor.studio.narrations import heard_in, keep_sound, list_sounds
from proctor.studio.tasks.timeline import view
from proctor.verify.desk import rounds
from proctor.verify.rounds.records import Reading, RoundSettings, Task
from proctor.verify.rounds.timeline import (
    Narration,
    TimelineOptions,
    TimelineSheet,
    TimelineStep,
    TimelineTask,
)
from proctor.workspace import Workspace

WEBM = b"\x1a\x45\xdf\xa3" + bytes(500)
ID = "0123abcd-0000-4000-8000-0123456789ab"
BODY = TimelineTask(
    recording="a", title="Raita", duration_s=20.0, fps_num=30, fps_den=1, frames=600, steps=(TimelineStep(id="1", text="Rinse"),)
)  # fmt: skip


def begin(desk: Any, connection: Any, person: Any) -> str:
    """Begin a round of one timeline and give it to somebody; returns the pid of the assignment."""
    task = Task(name="a", body=msgspec.Raw(canonical_json(BODY)))
    settings, options = RoundSettings(), TimelineOptions()
    added = rounds.add_round(
        desk,
        connection,
        name="t",
        kind="timeline",
        tasks=[task],
        settings=settings,
        options=options,
        actor="cli",
    )
    batch = rounds.open_batch(desk, connection, added, person)
    assert batch is not None
    return str(rounds.count_batch(connection, batch).following)


def put(office: Any, person: Any, path: str, data: bytes, kind: str = "audio/webm") -> Any:
    return office.client(person).put(path, content=data, headers={"Content-Type": kind})


def test_only_whoever_spoke_hears_it(office: Any) -> None:
    ana, ben, boss = office.hire("ana"), office.hire("ben"), office.hire("boss", "coordinator")
    pid = office.do(begin, ana)
    path = f"/w/{pid}/narration/{ID}"
    assert put(office, ana, path, WEBM).json() == {"again": False}
    assert put(office, ana, path, WEBM).json() == {"again": True}
    heard = office.get(ana, path)
    assert (heard.content, heard.headers["content-type"]) == (WEBM, "audio/webm")
    assert heard.headers["content-disposition"].startswith("attachment")
    assert heard.headers["x-content-type-options"] == "nosniff"
    assert [office.get(who, path).status_code for who in (ben, boss)] == [404, 404]
    assert put(office, ben, path, WEBM).status_code == 404
    assert office.get(ana, f"/w/..%2F{pid}/narration/{ID}").status_code == 404
    (kept,) = list_sounds(office.studio.settings.folder, pid)
    office.post(ana, "/my/withdraw", sure="1")
    assert not kept.path.exists()  # a voice says who somebody is


@pytest.mark.parametrize(
    ("data", "kind", "name", "status"),
    [
        (b"<html><script>", "audio/webm", ID, 422),
        (b"", "audio/webm", ID, 422),
        (WEBM, "text/html", ID, 415),
        (WEBM, "application/json", ID, 415),
        (WEBM, "audio/webm", "..", 415),
        (WEBM, "audio/webm", "x" * 36, 422),
        (WEBM + bytes(15_000_000), "audio/webm", ID, 200),
        (WEBM + bytes(16_000_000), "audio/webm", ID, 413),
    ],
)
def test_what_is_no_sound_is_refused(office: Any, data: bytes, kind: str, name: str, status: int) -> None:
    ana = office.hire("ana")
    pid = office.do(begin, ana)
    assert put(office, ana, f"/w/{pid}/narration/{name}", data, kind).status_code == status
    assert put(office, ana, f"/w/{pid}/draft", bytes(1_000_001), "application/json").status_code == 413
    assert len(list_sounds(office.studio.settings.folder, pid)) == (status == 200)


def test_the_microphone_is_for_timelines_alone(office: Any) -> None:
    ana = office.hire("ana")
    pid = office.do(begin, ana)
    page = office.get(ana, f"/w/{pid}")
    assert page.status_code == 200
    assert "microphone=(self)" in page.headers["permissions-policy"]
    assert "camera=()" in page.headers["permissions-policy"]
    assert "microphone=()" in office.get(ana, "/my").headers["permissions-policy"]
    assert "a.mp4" not in page.text


def hear(sound: Path) -> str:
    if sound.suffix == ".ogg":
        raise UserError("it cannot be transcribed: broken")
    return "" if sound.stem.startswith("1") else "Now the curd"


@pytest.fixture
def parrot(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transcriber of another package."""
    monkeypatch.setitem(sys.modules, "parrots", types.ModuleType("parrots"))
    sys.modules["parrots"].make = lambda model, language: hear  # type: ignore[attr-defined]
    points = EntryPoints([
        EntryPoint("parrot", "parrots:make", transcribe.TRANSCRIBERS),
        EntryPoint("faster-whisper", "proctor.media.transcribe:whisper", transcribe.TRANSCRIBERS),
    ])  # fmt: skip
    monkeypatch.setattr(transcribe, "entry_points", lambda group: points.select(group=group))


def test_what_was_said_is_written_down_once(office: Any, tmp_path: Path, parrot: None) -> None:
    from proctor.verify.desk import people

    root = tmp_path / "bench"
    (root / "studio").mkdir(parents=True)
    with open_desk(root) as desk:
        person = desk.write(
            lambda c: people.add(desk, c, handle="ana", name="Ana", role="annotator", actor="cli")
        ).result()
        pid = desk.write(lambda c: begin(desk, c, person)).result()
    silent, broken = f"1{ID[1:]}", f"2{ID[1:]}"
    for name, data in ((ID, WEBM), (silent, WEBM), (broken, b"OggS" + bytes(9))):
        assert keep_sound(root / "studio", pid, name, data)
    settings = Transcribe(round="t", model=tmp_path, backend="parrot")
    done = transcribe_round(root, settings)
    assert (done.written, done.silent, done.before, len(done.failed)) == (1, 1, 0, 1)
    assert transcribe_round(root, settings) == Transcribed(written=0, silent=0, before=2, failed=done.failed)
    assert heard_in(root / "studio", pid) == {ID: "Now the curd", silent: ""}
    office.studio.settings = Settings(project="p", origin="http://x", folder=root / "studio")
    sheet = TimelineSheet(
        narrations=(Narration(id=ID, video_s=1.0), Narration(id=silent, video_s=2.0, asr="", text="typed"))
    )
    shown = msgspec.json.decode(view(office.studio, BODY, sheet, TimelineOptions(), f"/w/{pid}").data)
    assert shown["heard"] == {ID: "Now the curd"}
    reading = Reading(
        round="t", kind="timeline", task="a", person="k3", batch="b", sheet=msgspec.Raw(canonical_json(sheet)),
        seconds=9, rev=1, at=0, assignment=pid, body=msgspec.Raw(canonical_json(BODY)),
    )  # fmt: skip
    (path,) = write_narrations(Workspace(root), tmp_path, [reading])
    assert read_jsonl(path, dict) == [
        {"recording": "a", "person": "k3", "sound": f"studio/narrations/{pid}/{name}.webm", "video_s": at, "ms": 0,
         "text": text, "asr": asr}
        for name, at, text, asr in ((ID, 1.0, "Now the curd", "Now the curd"), (silent, 2.0, "typed", ""))
    ]  # fmt: skip
    assert write_narrations(Workspace(root), tmp_path, []) == []
    with pytest.raises(UserError, match="there is no round"):
        transcribe_round(root, Transcribe(round="other", model=tmp_path, backend="parrot"))


def test_a_transcriber_that_is_not_there_says_what_is_missing(tmp_path: Path, parrot: None) -> None:
    with pytest.raises(UserError, match="no transcriber 'echo'") as error:
        load_transcriber("echo", tmp_path)
    assert "faster-whisper" in str(error.value.hint)
    with pytest.raises(UserError, match="no such folder"):
        load_transcriber("faster-whisper", tmp_path / "small")
    with pytest.raises(UserError, match=r"no model\.bin"):
        load_transcriber("faster-whisper", tmp_path)
    (tmp_path / "model.bin").write_bytes(b"x")
    with pytest.raises((MissingExtraError, UserError), match=r"asr|cannot be loaded"):
        load_transcriber("faster-whisper", tmp_path)


def test_whisper_leaves_out_what_is_no_speech(
    tmp_path: Path, parrot: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}

    class Model:
        def __init__(self, folder: str, **given: Any) -> None:
            asked.update(folder=folder, **given)

        def transcribe(self, sound: str, **given: Any) -> Any:
            asked.update(given)
            said = types.SimpleNamespace
            return [
                said(text=" Stir it.", no_speech_prob=0.1),
                said(text=" Thank you for watching!", no_speech_prob=0.9),
            ], None

    package = types.ModuleType("faster_whisper")
    package.WhisperModel = Model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "faster_whisper", package)
    (tmp_path / "model.bin").write_bytes(b"x")
    assert load_transcriber("faster-whisper", tmp_path, "en")(tmp_path / "a.webm") == "Stir it."
    assert (asked["local_files_only"], asked["vad_filter"], asked["language"]) == (True, True, "en")
