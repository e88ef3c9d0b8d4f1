from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage
from tests.learn.features.films import moving_square, plain_colour, write_film

from proctor.learn.features.extract import Looks, extract_video
from proctor.learn.features.plain import (
    PLAIN_COLUMNS,
    SOUND_COLUMNS,
    coarse_flow,
    log_mel,
    mel_filters,
    sound_features,
)


def row(path: Path, second: int = 0, spec: str = "plain") -> dict[str, float]:
    names = PLAIN_COLUMNS if spec == "plain" else SOUND_COLUMNS
    rows = extract_video(path, Looks(spec)).rows[0]
    assert rows.shape[1] == len(names) == len(set(names))
    return dict(zip(names, rows[second].tolist(), strict=True))


def test_a_constant_colour_has_its_colour_and_nothing_that_moves(tmp_path: Path) -> None:
    found = row(write_film(tmp_path / "f.mp4", plain_colour(200, 100, 40), 8))
    assert [found[f"mean of {c}"] * 255 for c in ("red", "green", "blue")] == pytest.approx(
        [200, 100, 40], abs=4
    )
    assert found["spread of red"] < 0.02
    assert found["contrast"] < 0.02
    assert found["colourfulness"] * 255 == pytest.approx(160, abs=6)
    assert found["colour 310"] == pytest.approx(1.0)
    assert found["brightness row 2 column 3"] * 255 == pytest.approx(
        0.299 * 200 + 0.587 * 100 + 0.114 * 40, abs=4
    )
    still = [v for k, v in found.items() if k.startswith(("motion", "flow")) or k == "brightness change"]
    assert len(still) == 18 + 20 + 1
    assert max(map(abs, still)) < 0.01


@pytest.mark.parametrize(
    ("right", "down", "begin", "towards"),
    [
        (3, 0, (30, 36), "0°"),
        (0, 3, (60, 30), "90°"),
        (-3, 0, (90, 36), "180°"),
        (0, -3, (60, 55), "270°"),
        (2, 2, (40, 30), "45°"),
    ],
)
def test_a_moving_square_flows_in_its_direction(
    tmp_path: Path,
    right: int,
    down: int,
    begin: tuple[int, int],
    towards: str,
) -> None:
    found = row(write_film(tmp_path / "f.mp4", moving_square(right, down, begin), 8))
    shares = {k.removeprefix("flow towards "): v for k, v in found.items() if k.startswith("flow towards")}
    assert max(shares, key=lambda k: shares[k]) == towards
    assert shares[towards] > 0.8
    assert np.sign(round(found["flow right"], 3)) == np.sign(right)
    assert np.sign(round(found["flow down"], 3)) == np.sign(down)
    # heights of the picture a second: 8 steps a second of so many pixels of 96
    assert found["flow peak"] == pytest.approx(8 * np.hypot(right, down) / 96, rel=0.35)
    assert found["motion"] > 0.05
    assert found["flow speed"] > 0.005


def test_flow_is_where_the_motion_is(tmp_path: Path) -> None:
    found = row(write_film(tmp_path / "f.mp4", moving_square(2, 0, (4, 4)), 8))
    assert found["flow right top left"] > 0.02
    assert abs(found["flow right bottom right"]) < 0.005
    assert found["motion row 0 column 0"] > 0.1 > 0.02 > found["motion row 3 column 3"]


def test_flow_of_a_textured_plane_is_its_shift() -> None:
    rng = np.random.default_rng(0)
    noise = rng.uniform(size=(140, 200)).astype(np.float32)
    smooth: NDArray[np.float32] = sum(
        np.roll(noise, (y, x), (0, 1)) for y in range(4) for x in range(4)
    ) / np.float32(16)
    smooth = (smooth - smooth.min()) / (smooth.max() - smooth.min())
    flow = coarse_flow(smooth[20:116, 20:180], smooth[23:119, 16:176])
    assert flow.shape == (5, 9, 2)
    assert np.abs(flow - [4, -3]).max() < 0.7


def test_what_appears_has_no_flow_nor_what_moves_too_far() -> None:
    empty = np.full((96, 160), 0.2, np.float32)
    appeared = empty.copy()
    appeared[36:60, 60:84] = 0.9
    assert not coarse_flow(empty, appeared).any()
    assert not coarse_flow(appeared, empty).any()
    rng = np.random.default_rng(0)
    noise = ndimage.gaussian_filter(rng.uniform(size=(140, 220)).astype(np.float32), 2)
    noise = (noise - noise.min()) / (noise.max() - noise.min())
    flow = coarse_flow(noise[20:116, 20:180], noise[20:116, 33:193])
    assert flow[..., 0].min() > -9.6  # ten pixels are the border of what is looked for
    assert (flow == 0).all(axis=2).any()


def test_flow_is_told_in_parts_of_a_pixel() -> None:
    rng = np.random.default_rng(1)
    noise = ndimage.gaussian_filter(rng.uniform(size=(140, 220)).astype(np.float32), 3)
    noise = (noise - noise.min()) / (noise.max() - noise.min())
    moved = ndimage.shift(noise, (-1.5, 1.5), order=3).astype(np.float32)
    flow = coarse_flow(noise[20:116, 20:180], moved[20:116, 20:180])
    # a sixth too short, since blocks fade towards their edges
    assert np.abs(flow.mean(axis=(0, 1)) - np.array([1.5, -1.5]) * 5 / 6).max() < 0.1


def test_a_tone_sounds_in_its_mel_band_and_silence_in_none(tmp_path: Path) -> None:
    found = row(write_film(tmp_path / "f.mp4", plain_colour(9, 9, 9), 24, tone=1000.0), 1, "plain-sound")
    means = np.array([found[f"mel {k} mean"] for k in range(40)])
    hertz = 700 * (
        10 ** (np.linspace(*(2595 * np.log10(1 + f / 700) for f in (20, 8000)), 42)[1:-1] / 2595) - 1
    )
    assert means.argmax() == np.abs(hertz - 1000).argmin()
    assert found["loudness"] == pytest.approx(np.log10(0.125) / 5 + 1, abs=0.02)
    silent = extract_video(write_film(tmp_path / "s.mp4", plain_colour(9, 9, 9), 8), Looks("plain-sound"))
    assert silent.silent
    assert silent.rows[0][0, :40].tolist() == pytest.approx([-1.0] * 40, abs=1e-6)
    assert found["loudest"] == pytest.approx(np.log10(0.25) / 5 + 1, abs=0.1)
    assert silent.rows[0][0, -2:].tolist() == [-1.0, -1.0]
    assert len(PLAIN_COLUMNS) % 8 == len(SOUND_COLUMNS) % 8 == 0


def test_mel_filters_meet_at_their_corners_and_cepstra_are_their_cosines() -> None:
    filters = mel_filters()
    assert filters.shape[0] == 40
    assert (filters.max(axis=1) > 0.5).all()
    between = filters.sum(axis=0)[
        (np.fft.rfftfreq(1200, 1 / 48_000) > 100) & (np.fft.rfftfreq(1200, 1 / 48_000) < 7000)
    ]
    assert np.allclose(between, 1.0, atol=1e-5)
    rng = np.random.default_rng(1)
    samples = rng.normal(size=48_000).astype(np.float32)
    levels = log_mel(samples)
    assert levels.shape == (98, 40)
    k, n = np.arange(15)[:, None], np.arange(40)
    cosines = np.sqrt(np.where(k == 0, 1, 2) / 40) * np.cos(np.pi * k * (2 * n + 1) / 80) / np.sqrt(40)
    assert sound_features(samples)[80:95] == pytest.approx((levels @ cosines.T).mean(axis=0), abs=1e-5)


def test_an_upright_film_is_looked_at_as_one_on_its_side(tmp_path: Path) -> None:
    found = row(write_film(tmp_path / "f.mp4", plain_colour(10, 200, 10, size=(96, 160)), 8, size=(96, 160)))
    assert found["colour 030"] == pytest.approx(1.0)
