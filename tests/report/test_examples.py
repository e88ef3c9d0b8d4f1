from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest

from proctor.exam.question import Item
from proctor.report.data import Frame, ReportData, ReportOptions
from proctor.report.examples import describe_examples, pick_frames, show_clock
from proctor.report.standings import compute_standings

JPEG = b"\xff\xd8\xff\xe0" + b"x" * 96


def describe(data: ReportData, options: ReportOptions) -> dict[str, object]:
    island: dict[str, object] = msgspec.json.decode(
        msgspec.json.encode(describe_examples(data, compute_standings(data, options), options))
    )
    return island


@pytest.mark.parametrize(
    ("seconds", "clock"),
    [
        (0, "0:00"),
        (61.5, "1:01"),
        (3725.0, "1:02:05"),
        (-5, "−0:05"),
        (float("nan"), "–"),
        (float("inf"), "–"),
    ],
)
def test_clock(seconds: float, clock: str) -> None:
    assert show_clock(seconds) == clock


def test_an_item_holds_its_facts(small: ReportData, quick: ReportOptions) -> None:
    island = describe(small, quick)
    item = island["items"][0]  # type: ignore[index]
    assert (item["i"], item["t"], item["a"], item["r"], item["e"], item["z"]) == (
        "i0",
        "next",
        "Tea",
        "r0",
        "1:01",
        0,
    )
    assert item["G"][1] == ["You can put in the bag.", "annotator", "adjudicator", "suggestion"]
    assert item["D"] == [
        ["Boil two cups of water", [["measurement", "two cups"]], "0:01–1:01", "1", "Boil one cup of water"]
    ]
    assert item["S"] == "cnff"
    assert item["X"] == {"0": [0, ["measurement"], 1]}
    assert ["generator", "rules 1"] in item["p"]
    assert item["V"][1]["a"][1][:3] == ["wrong", 0.75, "the bag is next"]


def test_answers_are_in_the_order_of_the_runs_of_the_page(small: ReportData, quick: ReportOptions) -> None:
    island = describe(small, quick)
    assert [name for name, *_ in island["runs"]] == ["annotations", "strong", "weak", "constant"]  # type: ignore[attr-defined]
    items = island["items"]
    assert items[0]["O"] == ["2", "2", "0", "0"]  # type: ignore[index]
    assert items[0]["P"][1] == [  # type: ignore[index]
        "Answer of strong to i0", "", "because of 2", "rules 1", 0, "", 2, 1,
    ]  # fmt: skip
    assert items[0]["F"] == [["0:01.0, 0:02.0", [1.0, 2.0]]]  # type: ignore[index]
    assert items[2]["P"][2] == [None, "no reply"]  # type: ignore[index]
    assert items[5]["P"][2] == 0  # type: ignore[index]


def test_an_item_whose_graph_is_missing_has_no_states(small: ReportData, quick: ReportOptions) -> None:
    item = describe(replace(small, graphs={}), quick)["items"][0]  # type: ignore[index]
    assert item["g"] == -1
    assert "S" not in item


def test_long_texts_are_cut_with_a_statement(small: ReportData, item_factory: Callable[..., Item]) -> None:
    data = ReportData(items=(item_factory(0, question="?" * 1_000_000),))
    options = ReportOptions(drawing="none", resamples=10, max_text=50)
    question = describe(data, options)["items"][0]["q"]  # type: ignore[index]
    assert len(question) < 120
    assert "1,000,000 characters" in question


def test_frames_are_spread_evenly_and_end_with_the_last(item_factory: Callable[..., Item]) -> None:
    item = item_factory(0)
    frames = tuple(Frame(float(t), JPEG) for t in range(10))
    picked = pick_frames(ReportData(items=(item,), frames={item.id: frames}), ReportOptions(max_frames=4))
    assert [clock for clock, *_ in picked.islands[0]] == ["0:02", "0:04", "0:07", "0:09"]
    assert [base64.b64decode(p) for p in picked.pictures] == [
        JPEG
    ]  # the same picture four times is there once
    assert {number for _, number, _ in picked.islands[0]} == {0}


def test_the_limit_of_bytes_is_kept_and_what_is_left_out_is_counted(
    item_factory: Callable[..., Item],
) -> None:
    items = tuple(item_factory(n) for n in range(5))
    frames = {i.id: (Frame(0.0, JPEG[:-1] + bytes([n])),) for n, i in enumerate(items)}
    picked = pick_frames(ReportData(items=items, frames=frames), ReportOptions(max_frame_bytes=250))
    assert (sorted(picked.islands), picked.left_out, picked.items, picked.bytes) == ([0, 1], 3, 5, 200)


def test_what_is_not_a_jpeg_is_left_out_and_counted(item_factory: Callable[..., Item]) -> None:
    item = item_factory(0)
    frames = (Frame(0.0, b"<svg onload=alert(1)>"), Frame(1.0, b""), Frame(2.0, JPEG))
    picked = pick_frames(ReportData(items=(item,), frames={item.id: frames}), ReportOptions())
    assert picked.unreadable == 2
    assert len(picked.islands[0]) == 1


@pytest.mark.parametrize("limit", [0, 1, 3, 7])
def test_any_limit_of_frames(item_factory: Callable[..., Item], limit: int) -> None:
    item = item_factory(0)
    frames = tuple(Frame(float(t), JPEG) for t in range(5))
    picked = pick_frames(ReportData(items=(item,), frames={item.id: frames}), ReportOptions(max_frames=limit))
    assert len(picked.islands.get(0, [])) == min(limit, 5)
