"""Files of features as published, and everything that may be wrong with one."""

from __future__ import annotations

import io
import struct
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.learn.features.layouts import LAYOUTS, Found, Layout, find_features, read_features

MINE = Layout("mine", "video", 1.0)
PLACES = {
    "omnivore": ("segments_1/video/omnivore/1_7_360p.mp4_1s_1s.npz", "arr_0", 1024),
    "slowfast": ("segments_1/video/slowfast/1_7_360p.mp4_1s_1s.npz", "arr_0", 400),
    "x3d": ("segments_1/video/x3d/1_7_360p.mp4_1s_1s.npz", "arr_0", 400),
    "3dresnet": ("segments_1/video/3dresnet/1_7_360p.mp4_1s_1s.npz", "arr_0", 400),
    "imagebind-video": ("segments_2/video/1_7_360p.mp4.npz", "video_embeddings", 1024),
    "imagebind-audio": ("segments_2/audio/1_7.wav.npz", "video_embeddings", 1024),
    "imagebind-text": ("segments_2/text/1_7_360p.npz", "video_embeddings", 1024),
    "imagebind-depth": ("segments_2/depth/1_7.npz", "embeddings", 1024),
}


def rows_of(n: int, width: int) -> np.ndarray:
    return np.arange(n * width, dtype=np.float32).reshape(n, width) / 7


def save(path: Path, **arrays: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **arrays)
    return path


def read(path: Path, layout: Layout = MINE) -> np.ndarray:
    return read_features(Found("r", (path,)), layout)


@pytest.mark.parametrize("backbone", PLACES)
def test_each_published_file_is_found_and_read(tmp_path: Path, backbone: str) -> None:
    name, key, width = PLACES[backbone]
    rows = rows_of(5, width)
    save(tmp_path / name, **{key: rows})
    layout = LAYOUTS[backbone]
    for root in (tmp_path, (tmp_path / name).parent):
        (found,), dropped = find_features(root, layout)
        assert (found.recording_id, dropped) == ("1_7", ())
        assert np.array_equal(read_features(found, layout), rows)


def test_columns_first_and_half_numbers_are_read(tmp_path: Path) -> None:
    rows = rows_of(5, 3)
    for array in (np.asfortranarray(rows), rows.astype(">f8"), rows.astype(np.float16)):
        assert np.allclose(read(save(tmp_path / "1_7.npz", x=array)), rows, atol=1e-3)


def test_rows_expected_of_a_video() -> None:
    assert LAYOUTS["omnivore"].expected(10.2) == 11  # an incomplete last second has a row
    assert LAYOUTS["omnivore"].expected(10.0) == 10
    assert LAYOUTS["imagebind-audio"].expected(11.9) == 5  # an incomplete last clip has none
    assert LAYOUTS["imagebind-depth"].expected(1001.0) == 1000
    assert replace(LAYOUTS["imagebind-depth"], pool=2).expected(1001.0) == 500


def test_the_loaders_key_of_depth_is_known_too(tmp_path: Path) -> None:
    path = save(tmp_path / "1_7.npz", video_embeddings=rows_of(3, 1024))
    assert read(path, LAYOUTS["imagebind-depth"]).shape == (3, 1024)


def test_rows_are_averaged_and_an_incomplete_group_left_out(tmp_path: Path) -> None:
    path = save(tmp_path / "1_7.npz", x=np.array([[1.0, 10], [3, 30], [5, 50], [7, 70], [9, 90]]))
    assert read(path, replace(MINE, pool=2)).tolist() == [[2, 20], [6, 60]]
    with pytest.raises(UserError, match="5 rows, too few for one"):
        read(path, replace(MINE, pool=6))


def test_the_code_for_localising_keeps_a_folder_a_recording(tmp_path: Path) -> None:
    save(tmp_path / "1_7_360p" / "video_features.npz", video_features=rows_of(4, 1024))
    (tmp_path / "1_10_360p").mkdir()
    np.save(tmp_path / "1_10_360p" / "video_features.npy", rows_of(6, 1024))
    (tmp_path / "notes").mkdir()
    found, dropped = find_features(tmp_path, LAYOUTS["omnivore"])
    assert [f.recording_id for f in found] == ["1_7", "1_10"]  # by number
    assert [len(read_features(f, LAYOUTS["omnivore"])) for f in found] == [4, 6]
    assert [(d.id, d.reason) for d in dropped] == [("notes", "no_features")]


def test_a_file_a_second_is_stacked_by_number(tmp_path: Path) -> None:
    rows = rows_of(12, 400)
    for second, row in enumerate(rows):
        (tmp_path / "1_7_360p.mp4").mkdir(exist_ok=True)
        np.save(tmp_path / "1_7_360p.mp4" / f"clip_{second}.npy", row[None] if second % 2 else row)
    (found,), _ = find_features(tmp_path, LAYOUTS["videomae"])
    assert found.recording_id == "1_7"
    assert np.array_equal(read_features(found, LAYOUTS["videomae"]), rows)
    (tmp_path / "1_7_360p.mp4" / "clip_5.npy").unlink()
    (found,), _ = find_features(tmp_path, LAYOUTS["videomae"])
    with pytest.raises(UserError, match="before 6 one is missing"):
        read_features(found, LAYOUTS["videomae"])


def test_seconds_of_different_widths_are_refused(tmp_path: Path) -> None:
    for second, width in enumerate((4, 4, 5)):
        np.save(tmp_path / f"{second}.npy", np.zeros(width))
    files = tuple(tmp_path / f"{n}.npy" for n in range(3))
    with pytest.raises(UserError, match="different shapes"):
        read_features(Found("r", files, True), MINE)


def test_two_files_of_one_recording_are_refused(tmp_path: Path) -> None:
    save(tmp_path / "1_7.npz", x=rows_of(2, 3))
    save(tmp_path / "1_7_360p.npz", x=rows_of(2, 3))
    with pytest.raises(UserError, match=r"'1_7\.npz' and '1_7_360p\.npz' are both of recording '1_7'"):
        find_features(tmp_path, MINE)


def test_another_stride_in_the_name_is_refused(tmp_path: Path) -> None:
    save(tmp_path / "1_7_360p.mp4_4s_2s.npz", arr_0=rows_of(2, 1024))
    with pytest.raises(UserError, match="a row every 2 s; omnivore has one every 1 s"):
        find_features(tmp_path, LAYOUTS["omnivore"])
    (found,), _ = find_features(tmp_path, replace(LAYOUTS["omnivore"], seconds=2.0))
    assert found.recording_id == "1_7"


def test_no_features_no_folder(tmp_path: Path) -> None:
    (tmp_path / ".hidden.npz").write_bytes(b"")
    (tmp_path / "a.pkl").write_bytes(b"")
    with pytest.raises(UserError, match="no file here has omnivore features"):
        find_features(tmp_path, LAYOUTS["omnivore"])
    with pytest.raises(UserError, match="no such folder"):
        find_features(tmp_path / "none", MINE)


# -- damaged ---------------------------------------------------------------------------------------------------------


def npy_of(shape: str, descr: str = "<f4", data: bytes = b"") -> bytes:
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def test_no_pickle_is_loaded(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (tmp_path / "sprung",))

    np.save(tmp_path / "1_7.npy", np.array([[Trap()]], dtype=object), allow_pickle=True)
    with pytest.raises(UserError, match=r"Python objects \(a pickle\)"):
        read(tmp_path / "1_7.npy")
    assert not (tmp_path / "sprung").exists()


def test_another_key_is_told_with_those_that_are_there(tmp_path: Path) -> None:
    path = save(tmp_path / "1_7.npz", other=rows_of(2, 1024), more=rows_of(2, 2))
    with pytest.raises(UserError, match="no array 'arr_0' in it, but more, other"):
        read(path, LAYOUTS["omnivore"])
    with pytest.raises(UserError, match="no array 'features' in it, but more, other"):
        read(path)
    assert read(path, replace(MINE, keys=("other",))).shape == (2, 1024)


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.zeros((3, 1023)), r"shape \(3, 1023\); omnivore has \(rows, 1024\)"),
        (np.zeros(1024), r"shape \(1024,\)"),
        (np.zeros((1, 2, 1024)), "shape"),
        (np.zeros((0, 1024)), "0 rows, too few"),
        (np.zeros((3, 1024), complex), "type complex128"),
        (np.zeros((3, 1024), bool), "type bool"),
        (np.array([["a"] * 1024]), "type <U1"),
    ],
)
def test_arrays_of_another_kind_are_refused(tmp_path: Path, array: np.ndarray, said: str) -> None:
    with pytest.raises(UserError, match=said):
        read(save(tmp_path / "1_7.npz", arr_0=array), LAYOUTS["omnivore"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (npy_of("(3000000, 1024)"), "claims 11,719 MB"),
        (npy_of("(99999999999999999999, 1024)"), "claims"),
        (npy_of("(-3, 4)"), "claims the shape"),
        (npy_of("(2, 4)", data=b"1234"), "needs 160 bytes, but there are 132"),
        (npy_of("(2, 4)", data=b"1" * 40), "needs 160 bytes, but there are 168"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "header claims 4,294,967,295 bytes"),
        (npy_of("(2, 4"), "header cannot be read"),
        (b"PK\x03\x04", "no array in numpy's format"),
        (b"", "no array in numpy's format"),
    ],
)
def test_what_an_array_claims_is_checked_before_memory_is_taken(
    tmp_path: Path, content: bytes, said: str
) -> None:
    (tmp_path / "1_7.npy").write_bytes(content)
    with pytest.raises(UserError, match=said):
        read(tmp_path / "1_7.npy")
    with zipfile.ZipFile(tmp_path / "1_7.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", content)
    with pytest.raises(UserError, match=said):
        read(tmp_path / "1_7.npz")


def test_a_zip_that_unfolds_to_gigabytes_is_refused(tmp_path: Path) -> None:
    with (
        zipfile.ZipFile(tmp_path / "1_7.npz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("x.npy", "w") as member,
    ):
        member.write(npy_of("(100000, 1024)"))
        for _ in range(400):
            member.write(bytes(2**20 - 576))
    assert (tmp_path / "1_7.npz").stat().st_size < 2**20
    with pytest.raises(UserError, match="claims 391 MB"):
        read(tmp_path / "1_7.npz")


@given(data=st.data())
def test_a_damaged_file_is_told_or_read_as_it_was(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    stream = io.BytesIO()
    rows = rows_of(6, 3)
    np.savez_compressed(stream, arr_0=rows)
    whole = bytearray(stream.getvalue())
    if data.draw(st.booleans()):
        whole = whole[: data.draw(st.integers(0, len(whole) - 1))]
    else:
        whole[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.mktemp("d") / "1_7.npz"
    path.write_bytes(whole)
    try:
        found = read(path)
    except UserError as error:
        message = str(error)
    else:
        assert np.array_equal(found, rows)
        return
    assert str(path) in message
