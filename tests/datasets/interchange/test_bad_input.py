"""What no format may do with a broken file: a traceback, a hang, or silence."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.datasets.attacks import cases, kind_of

from proctor.datasets.interchange import Format, Imported, find_format, formats
from proctor.errors import UserError
from proctor.procedure.graph import TaskGraph
from proctor.procedure.recording import Recording, Segment

pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")

ALL = [f.name for f in formats() if f.kind == "recordings"]
FILES = [f.name for f in formats() if f.suffixes]
TEXT = ["activitynet", "csv", "elan", "label-studio", "srt", "webvtt"]
FLIPS = int(os.environ.get("PROCTOR_FLIPS", "100"))
"""Changed copies of each sample; ``PROCTOR_FLIPS=10000`` for the long run."""
CASES = FLIPS + FLIPS // 3
"""Cases of a family of wrong values, for each sample."""
RECIPE = {
    "@context": "https://schema.org",
    "@graph": [
        {
            "@type": "Recipe",
            "name": ["Tea"],
            "identifier": 3,
            "recipeInstructions": [
                {
                    "@type": "HowToSection",
                    "name": "Water",
                    "itemListElement": [
                        {"@type": "HowToStep", "identifier": 8, "position": 2, "text": {"@value": "Boil"}},
                        {
                            "@type": "HowToStep",
                            "position": 1,
                            "itemListElement": [
                                {"@type": "HowToDirection", "text": "Fill"},
                                {"@type": "HowToTip", "text": "Cold"},
                            ],
                        },
                    ],
                },
                {"@type": "ListItem", "position": 1, "item": {"@type": "HowToStep", "name": "Pour"}},
            ],
        }
    ],
}
"""All that our reader of HowTo looks at, which our writer does not write."""
STRANGE = ("NaN", "inf", "-1", "1e308", "1" + "0" * 400, "9" * 5_000, "", "x", "99999999999999999999", '"')
"""Put in the place of a number or word of a file that is no JSON and no table."""


def reader(name: str) -> Callable[..., Imported[Any]]:
    found = find_format(name).read
    assert found is not None
    return found


def written(name: str, recordings: tuple[Recording, ...], folder: Path) -> Path:
    """Write a sample and return the file or folder that reading takes."""
    format_ = find_format(name)
    assert format_.write is not None
    path = folder / f"sample{format_.suffixes[0] if format_.suffixes else ''}"
    several = not format_.suffixes or name in ("activitynet", "csv", "label-studio")
    format_.write(recordings if several else recordings[:1], path)
    return path


def told_or_read(format_: Format, path: Path) -> Imported[Any] | str:
    """Read a file; what a user is told where it cannot be read. Everything else is a bug and raised."""
    assert format_.read is not None
    try:
        found = format_.read(path)
    except UserError as error:
        return error.message or pytest.fail("an error without a message")
    for recording in (o for o in found.objects if isinstance(o, Recording)):
        assert recording.id
        for s in recording.segments:
            assert (s.start is None) == (s.end is None)
            assert s.start is None or s.end is None or 0 <= s.start < s.end <= 1_000_000
    return found


@pytest.mark.parametrize("name", ALL)
def test_flipped_bytes(name: str, recordings: tuple[Recording, ...], tmp_path: Path) -> None:
    flip_bytes(name, recordings, tmp_path, FLIPS, random.Random(6))


def flip_bytes(
    name: str, recordings: tuple[Recording, ...], folder: Path, times: int, rng: random.Random
) -> dict[str, int]:
    """Read a sample with one to eight bytes changed, cut or doubled, many times; count what became of it."""
    sample = written(name, recordings, folder)
    files = [sample] if sample.is_file() else sorted(p for p in sample.rglob("*") if p.is_file())
    pristine = {file: file.read_bytes() for file in files}
    seen = {"read": 0, "refused": 0}
    for _ in range(times):
        file = rng.choice(files)
        file.write_bytes(mutated(pristine[file], rng))
        if name == "croissant" and file.suffix == ".parquet":  # else the hash is all that is tested
            _approve(sample / "croissant.json", pristine[file], file.read_bytes())
        found = told_or_read(find_format(name), sample)
        seen["refused" if isinstance(found, str) else "read"] += 1
        for one, data in pristine.items():
            one.write_bytes(data)
    return seen


def _approve(metadata: Path, before: bytes, after: bytes) -> None:
    """Write the hash of a changed table into the metadata."""
    old, new = (hashlib.sha256(data).hexdigest() for data in (before, after))
    metadata.write_text(metadata.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def mutated(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(changed)) if changed else 0
        match rng.randrange(6):
            case 0:
                del changed[at : at + rng.randint(1, 20)]
            case 1:
                changed[at:at] = changed[at : at + rng.randint(1, 20)]
            case 2:
                changed[at:at] = rng.choice(
                    [b"\0", b"\xff", b'"', b"\n\n", b"<", b"9999999999999", b"NaN", b"-"]
                )
            case _:
                if changed:
                    changed[at] = rng.randrange(256)
    return bytes(changed)


@pytest.mark.parametrize("name", FILES)
def test_wrong_values_are_told_or_read(
    name: str, recordings: tuple[Recording, ...], diamond: TaskGraph, golden: Path, tmp_path: Path
) -> None:
    """Every field of every importer takes wrong types; ``survive`` does the same to the readers of data sets."""
    format_ = find_format(name)
    assert format_.read is not None
    assert format_.write is not None
    path = tmp_path / "sample.json"  # the families take files apart by their ending
    if name == "howto":
        path.write_text(json.dumps(RECIPE), encoding="utf-8")
    elif name == "label-studio":
        path.write_bytes((golden / "label_studio_seconds.json").read_bytes())
    else:
        path = tmp_path / f"sample{format_.suffixes[0]}"
        several = name in ("activitynet", "csv")
        graphs, some = [diamond], recordings if several else recordings[:1]
        format_.write(graphs if format_.kind == "graph" else some, path)
    whole = path.read_bytes()
    families = ("wrong type", "wrong number", "missing field")
    broken = [case.data for family in families for case in cases(path, family, cap=CASES)]
    broken += strange(whole.decode(), CASES // 15) if kind_of(path) not in (".json", ".csv") else []
    assert len(broken) > 20
    for data in broken:
        path.write_bytes(data)
        told_or_read(format_, path)


def strange(text: str, times: int) -> list[bytes]:
    """The text with one number, quoted text or word replaced, spread over all of it."""
    found = list(re.finditer(r'-?\d+(?:[.,]\d+)?|"[^"]*"|\w+', text))
    some = found[:: max(1, len(found) // times)]
    return [f"{text[: m.start()]}{new}{text[m.end() :]}".encode() for m in some for new in STRANGE]


@pytest.mark.parametrize("name", ALL)
def test_there_is_no_such_file(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError):
        reader(name)(tmp_path / "nothing")


@pytest.mark.parametrize("name", TEXT)
def test_a_nul_in_the_path(name: str) -> None:
    with pytest.raises(UserError):
        reader(name)(Path("a\0b.json"))


@pytest.mark.parametrize("name", ALL)
def test_an_empty_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError):
        reader(name)(tmp_path)


@pytest.mark.parametrize("name", TEXT)
@pytest.mark.parametrize("content", [b"", b"  \n\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf \n"])
def test_an_empty_file(name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"x{find_format(name).suffixes[0]}"
    path.write_bytes(content)
    with pytest.raises(UserError, match="empty"):
        reader(name)(path)


@pytest.mark.parametrize("name", TEXT)
def test_cut_anywhere(name: str, recordings: tuple[Recording, ...], tmp_path: Path) -> None:
    path = written(name, recordings, tmp_path)
    whole = path.read_bytes()
    for length in range(0, len(whole), 37):
        path.write_bytes(whole[:length])
        told_or_read(find_format(name), path)


@pytest.mark.parametrize("name", TEXT)
def test_a_byte_order_mark_is_no_text(name: str, recordings: tuple[Recording, ...], tmp_path: Path) -> None:
    path = written(name, recordings, tmp_path)
    plain = reader(name)(path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    assert reader(name)(path) == plain


@pytest.mark.parametrize("name", [n for n in TEXT if n != "elan"])
def test_utf_16_with_its_mark(name: str, recordings: tuple[Recording, ...], tmp_path: Path) -> None:
    path = written(name, recordings, tmp_path)
    plain = reader(name)(path)
    path.write_bytes(path.read_text(encoding="utf-8-sig").encode("utf-16"))
    assert reader(name)(path).objects == plain.objects


@pytest.mark.parametrize("name", TEXT)
def test_another_encoding_is_named(name: str, tmp_path: Path, recordings: tuple[Recording, ...]) -> None:
    path = written(name, (Recording("r", "a", "Café", (Segment("1", "Café", 0.0, 1.0),)),), tmp_path)
    text = path.read_text(encoding="utf-8-sig").replace("\\u00e9", "é")
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UserError, match=r"UTF-8|not well-formed") as caught:
        reader(name)(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["activitynet", "label-studio"])
@pytest.mark.parametrize("deep", [b"[" * 10_000, b"[" * 10_000 + b"]" * 10_000, b'{"data":' * 10_000])
def test_deep_json(name: str, deep: bytes, tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_bytes(deep)
    with pytest.raises(UserError):
        reader(name)(path)


@pytest.mark.parametrize("name", ["activitynet", "label-studio"])
@pytest.mark.parametrize(
    "content", [b"null", b"3", b'"x"', b"[]", b"{}", b"[1]", b'{"database": []}', b'{"database": NaN}']
)
def test_other_json(name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        reader(name)(path)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("activitynet", '{"database": {"v": {"annotations": []}, "v": {"annotations": []}}}'),
        ("label-studio", '[{"data": {"video": "a", "video": "b"}}]'),
        ("activitynet", '{"database": {"v": {"annotations": [{"label": "\\ud800", "segment": [0, 1]}]}}}'),
        ("activitynet", '{"database": {"v": {"duration": NaN}}}'),
        ("activitynet", '{"database": {"v": {"duration": 1' + "0" * 5_000 + "}}}"),
    ],
)
def test_json_that_would_lose_something_is_refused(name: str, content: str, tmp_path: Path) -> None:
    path = tmp_path / "twice.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError):
        reader(name)(path)


@pytest.mark.parametrize("name", TEXT)
def test_ten_megabytes_of_one_text(name: str, tmp_path: Path) -> None:
    long = "a b " * 2_500_000
    given = (Recording("r", "a", "A", (Segment("1", long.strip(), 0.0, 1.0),)),)
    path = written(name, given, tmp_path)
    assert reader(name)(path).objects[0].segments[0].text == long.strip()


# -- writing ---------------------------------------------------------------------------------------------------


def target(name: str, folder: Path) -> Path:
    return folder / ("x" if name in ("elan", "webvtt", "srt") else f"x{(*find_format(name).suffixes, '')[0]}")


@pytest.mark.parametrize("name", ALL)
def test_ids_must_be_unique(name: str, recordings: tuple[Recording, ...], tmp_path: Path) -> None:
    write = find_format(name).write
    assert write is not None
    with pytest.raises(UserError, match="two recordings have this id"):
        write([*recordings, recordings[0]], target(name, tmp_path))
    assert not any(tmp_path.iterdir())
    with pytest.raises(UserError, match="has no id"):
        write([Recording("", "a", "a", ())], target(name, tmp_path))


@pytest.mark.parametrize("name", ALL)
def test_half_a_character_cannot_be_written(name: str, tmp_path: Path) -> None:
    write = find_format(name).write
    assert write is not None
    with pytest.raises(UserError, match="no Unicode text"):
        write([Recording("r", "a", "a", (Segment("1", "caf\ud800", 0.0, 1.0),))], target(name, tmp_path))
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("name", ALL)
def test_impossible_times_are_listed(name: str, tmp_path: Path) -> None:
    nan, inf = float("nan"), float("inf")
    wrong = [
        (5.0, 2.0),
        (nan, 1.0),
        (0.0, inf),
        (-1.0, 2.0),
        (1.0, None),
        (None, 1.0),
        (1e7, 2e7),
        (3.0, 3.0),
    ]
    steps = tuple(Segment(f"s{n}", f"Step {n}", a, b) for n, (a, b) in enumerate(wrong))
    good = Segment("good", "Stir", 1.0, 2.0)
    format_ = find_format(name)
    assert format_.write is not None
    path = target(name, tmp_path)
    told = format_.write([Recording("r", "a", "a", (*steps, good), duration=nan)], path)
    assert [d.reason for d in told if d.reason not in ("recording_fields", "step_id_lost")] == [
        "no_length",
        "not_finite",
        "not_finite",
        "negative",
        "half_timed",
        "half_timed",
        "too_large",
        "no_length",
        "bad_field",
    ]
    back = reader(name)(path)
    assert [(s.text, s.start, s.end) for s in back.objects[0].segments] == [("Stir", 1.0, 2.0)]


@pytest.mark.parametrize("name", ALL)
def test_a_path_that_cannot_be_written(name: str, recordings: tuple[Recording, ...], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    write = find_format(name).write
    assert write is not None
    with pytest.raises(UserError):
        write(recordings, target(name, tmp_path / "file"))
    shutil.rmtree(tmp_path)
