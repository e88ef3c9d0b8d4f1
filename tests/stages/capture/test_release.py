"""Releases: what is packed, who agreed, and that a withdrawn participant is gone from every derived file."""

from __future__ import annotations

import tarfile
from pathlib import Path

import msgspec
import pytest
from tests.stages.capture.conftest import TEA

from proctor.capture.plan import read_plan
from proctor.capture.records import MANIFEST, Manifest, recording_folder
from proctor.datasets.plain import read_plain
from proctor.errors import UserError
from proctor.records import read_json
from proctor.release.recordings import ReleaseManifest, check_release, consents, mentions, withdrawals
from proctor.stages.capture.plan import plan
from proctor.stages.capture.release import consent, release, withdraw
from proctor.stages.capture.settings import ConsentSettings, PlanSettings, ReleaseSettings, WithdrawSettings
from proctor.workspace import Workspace


def agree(root: Path, *participants: str, release: bool = True) -> None:
    text = root.parent / "consent.txt"
    text.write_text("I agree.", "utf-8")
    for participant in participants:
        consent(root, ConsentSettings(participant=participant, text=text, release=release))


def released(root: Path, name: str = "out", **options: object) -> tuple[Path, ReleaseManifest]:
    out = root.parent / name
    release(root, ReleaseSettings(out=out, licence="CC-BY-4.0", **options))  # type: ignore[arg-type]
    return out, read_json(out / MANIFEST, ReleaseManifest)


def everything(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


def test_a_release_holds_each_part_once_with_its_hash(captured: Path, tmp_path: Path) -> None:
    agree(captured, "P1", "P2")
    features = tmp_path / "features"
    features.mkdir()
    for name in ("rec-a.npz", "rec-a_360p.npy", "rec-ab.npz", "other.npz"):
        (features / name).write_bytes(name.encode())
    own = tmp_path / "own.md"
    own.write_text("## Why\n\nFor tea.", "utf-8")
    out, manifest = released(captured, features=features, datasheet=own)
    assert [r.id for r in manifest.recordings] == ["rec-a", "rec-b", "rec-c"]
    assert not check_release(out, manifest)
    assert not manifest.left_out
    with tarfile.open(out / "raw" / "rec-a.tar") as archive:
        names = archive.getnames()
    assert "rec-a/raw/imu/seg-000001.bin" in names
    assert {"rec-a/manifest.json", "rec-a/events.jsonl", "rec-a/script.json", "rec-a/review.json"} <= {*names}
    assert not any("head" in n for n in names)
    with tarfile.open(out / "poses" / "rec-a.tar") as archive:
        assert "rec-a/raw/head/seg-000001.bin" in archive.getnames()
    assert sorted(p.name for p in (out / "features").iterdir()) == ["rec-a.npz", "rec-a_360p.npy"]
    assert (out / "videos" / "rec-b.mp4").read_bytes() == b"video of rec-b"
    assert len(read_plain(out / "annotations").recordings) == 3
    split = msgspec.json.decode((out / "splits" / "person.json").read_bytes())
    assert sorted(i for ids in split.values() for i in ids) == ["rec-a", "rec-b", "rec-c"]
    sheet = (out / "DATASHEET.md").read_text("utf-8")
    assert "3 recordings" in sheet
    assert "For tea." in sheet
    (out / "videos" / "rec-b.mp4").write_bytes(b"another")
    (out / "raw" / "rec-c.tar").unlink()
    (out / "note.txt").write_text("?")
    assert check_release(out, manifest) == [
        "raw/rec-c.tar is missing", "note.txt is not in the manifest", "videos/rec-b.mp4 was changed",
    ]  # fmt: skip


def test_the_same_recordings_give_the_same_bytes(captured: Path) -> None:
    agree(captured, "P1", "P2")
    one, two = released(captured, "one")[0], released(captured, "two")[0]
    assert everything(one) == everything(two)


def test_who_did_not_agree_is_left_out(captured: Path) -> None:
    agree(captured, "P1")
    agree(captured, "P2", release=False)
    out, manifest = released(captured)
    assert [r.id for r in manifest.recordings] == ["rec-a"]
    assert {*manifest.left_out} == {"rec-b", "rec-c"}
    assert not any("rec-b" in name for name in everything(out))
    agree(captured, "P2")  # the last word counts
    assert len(released(captured, "later")[1].recordings) == 3


def test_nobody_agreed(captured: Path) -> None:
    with pytest.raises(UserError, match="no recording may be released") as error:
        released(captured)
    assert "proctor capture consent" in (error.value.hint or "")
    assert len(released(captured, without_consent=True)[1].recordings) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parts": ("sound",)}, "no part"),
        ({"licence": ""}, "licence"),
        ({"out": "kitchen"}, "something here"),
    ],
)
def test_settings_that_cannot_be(captured: Path, options: dict[str, object], message: str) -> None:
    agree(captured, "P1")
    given = {"out": "out", "licence": "CC0", **options}
    given["out"] = captured.parent / str(given["out"])
    with pytest.raises(UserError, match=message):
        release(
            captured, msgspec.convert(given, ReleaseSettings, strict=False, dec_hook=lambda _, v: Path(v))
        )


def test_a_withdrawn_participant_is_gone_from_every_file(captured: Path) -> None:
    agree(captured, "P1", "P2")
    out, _ = released(captured)
    (captured / "examples.jsonl").write_text(
        '{"id":"rec-a:1"}\n{"id":"rec-b:1"}\n{"id":"rec-bc:1"}\n', "utf-8"
    )
    (captured / "report.html").write_text("<p>rec-c</p>", "utf-8")
    (captured / "other.html").write_text("<p>rec-a</p>", "utf-8")
    (captured / "calls.sqlite").write_bytes(b"\x00 rec-b \x00")
    before = everything(captured), everything(out)

    look = withdraw(captured, WithdrawSettings(participant="P2", release=(out,)))
    assert (everything(captured), everything(out)) == before  # only looked

    found = withdraw(captured, WithdrawSettings(participant="P2", release=(out,), day="2026-12-01", yes=True))
    assert found.recordings == look.recordings == ("rec-b", "rec-c")
    assert found.changed == {"capture/dataset/recordings.jsonl": 2, "examples.jsonl": 1}
    assert "report.html" in found.removed
    assert found.left == ("calls.sqlite",)
    for name in ("rec-b", "rec-c"):
        folder = recording_folder(captured, name)
        assert [p.name for p in folder.iterdir()] == [MANIFEST]
        assert read_json(folder / MANIFEST, Manifest) == Manifest(
            id=name, state="withdrawn", reasons=("withdrawn",)
        )
    assert [r.id for r in read_plain(captured / "capture" / "dataset").recordings] == ["rec-a"]
    told = {
        "capture/withdrawn.jsonl",
        *(f"capture/recordings/{n}/{MANIFEST}" for n in ("rec-b", "rec-c")),
        "calls.sqlite",
    }
    for name, data in everything(captured).items():
        assert name in told or not (
            b"rec-b" in data.replace(b"rec-bc", b"") or b"rec-c" in data or b"P2" in data
        ), name
    thinned = read_json(out / MANIFEST, ReleaseManifest)
    assert not check_release(out, thinned)
    assert [r.id for r in thinned.recordings] == ["rec-a"]
    assert thinned.withdrawn == tuple(withdrawals(captured))
    assert thinned.withdrawn[0].day == "2026-12-01"
    for name, data in everything(out).items():
        assert name == MANIFEST or not any(word in data for word in (b"rec-b", b"rec-c", b"P2")), name
    assert "Withdrawn and removed: 2 recordings" in (out / "DATASHEET.md").read_text("utf-8")


def test_a_withdrawal_that_was_killed_is_finished_by_the_same_command(
    captured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agree(captured, "P1", "P2")
    out, _ = released(captured)
    import proctor.stages.capture.release as stage

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(stage, "_purge", killed)
        with pytest.raises(KeyboardInterrupt):
            withdraw(captured, WithdrawSettings(participant="P2", release=(out,), yes=True))
    withdraw(captured, WithdrawSettings(participant="P2", release=(out,), yes=True))
    assert [r.id for r in read_plain(captured / "capture" / "dataset").recordings] == ["rec-a"]
    assert [r.id for r in read_json(out / MANIFEST, ReleaseManifest).recordings] == ["rec-a"]
    assert len(withdrawals(captured)) == 1


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_release_whose_place_was_being_taken_is_finished_by_the_same_command(
    captured: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    agree(captured, "P1", "P2")
    out, _ = released(captured)
    settings, real, moves = WithdrawSettings(participant="P2", release=(out,), yes=True), Path.replace, 0

    def killed(self: Path, target: Path) -> Path:
        nonlocal moves
        if out not in (self, target):
            return real(self, target)
        moves += 1
        if moves == at:
            raise KeyboardInterrupt
        done = real(self, target)
        if at == 3 and moves == 2:
            raise KeyboardInterrupt
        return done

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            withdraw(captured, settings)
    assert out.exists() == (at != 2)
    withdraw(captured, settings)
    assert [r.id for r in read_json(out / MANIFEST, ReleaseManifest).recordings] == ["rec-a"]
    assert not [p.name for p in out.parent.iterdir() if p.name.startswith(f".{out.name}")]


def test_the_only_participant_of_a_release_withdraws(captured: Path) -> None:
    agree(captured, "P1")
    out, _ = released(captured)
    withdraw(captured, WithdrawSettings(participant="P1", release=(out,), yes=True))
    thinned = read_json(out / MANIFEST, ReleaseManifest)
    assert thinned.recordings == ()
    assert not check_release(out, thinned)
    assert not [name for name, data in everything(out).items() if name != MANIFEST and b"rec-a" in data]


def test_what_names_a_recording() -> None:
    named = mentions(["rec-b", "rec-c_2"], ["rec-b-2", "rec-c"])
    assert all(
        map(named, [b'"rec-b"', b"rec-b_next_3", b"x_rec-b.mp4", b"rec-b-3", b"rec-c_2:1", b"rec-b-2 rec-b"])
    )
    assert not any(map(named, [b"rec-b-2", b"rec-bc", b"arec-b", b"rec-c_3", b"rec-b1", b""]))
    assert not mentions([])(b"anything at all")


def test_consents_of_codes_that_look_alike_stay(captured: Path) -> None:
    agree(captured, "P2", "P2-a", "a_P2", "2026")
    withdraw(captured, WithdrawSettings(participant="P2", yes=True))
    assert consents(captured).keys() == {"P2-a", "a_P2", "2026"}
    withdraw(captured, WithdrawSettings(participant="2026", yes=True))
    assert consents(captured).keys() == {"P2-a", "a_P2"}


def test_who_was_only_planned_withdraws(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "kitchen")
    workspace.create()
    workspace.write_graphs({"tea": TEA})
    few = {"normal_scripts": 2, "mistake_scripts": 0, "missing_scripts": 0, "strategies": "normal=1"}
    plan(workspace.root, PlanSettings(people="p01,p02", **few))  # type: ignore[arg-type]
    done = withdraw(workspace.root, WithdrawSettings(participant="p01", yes=True))
    assert done.recordings == ()
    left = read_plan(workspace.root)
    assert left.participants == ("p02",)
    assert sorted(slot.participant for slot in left.slots) == ["", "p02"]


def test_nobody_of_that_code(captured: Path) -> None:
    with pytest.raises(UserError, match="nothing of 'P9'"):
        withdraw(captured, WithdrawSettings(participant="P9", yes=True))


def test_a_release_that_was_changed_is_not_written_over(captured: Path) -> None:
    agree(captured, "P1", "P2")
    out, _ = released(captured)
    (out / "videos" / "rec-a.mp4").write_bytes(b"another")
    with pytest.raises(UserError, match="not what its manifest says"):
        withdraw(captured, WithdrawSettings(participant="P2", release=(out,), yes=True))
    assert (out / "videos" / "rec-a.mp4").read_bytes() == b"another"


@pytest.mark.parametrize("name", ["Ana Maria", "../P1", "", "P" * 40])
def test_a_name_is_no_code(captured: Path, name: str) -> None:
    with pytest.raises(UserError, match="no code"):
        agree(captured, name)
