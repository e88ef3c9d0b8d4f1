"""Recordings from one tool's files to another's."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import msgspec
import pytest

from proctor.datasets.interchange import find_format, formats
from proctor.datasets.interchange.orderless import derive_orderless
from proctor.datasets.plain import read_plain, write_plain
from proctor.errors import UserError
from proctor.procedure.graph import TaskGraph
from proctor.procedure.recording import Mistake, Recording, Segment
from proctor.records import Dropped, read_jsonl
from proctor.stages import convert as stage


def convert(*files, **options):
    return msgspec.to_builtins(stage.convert(*files, **options))


pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")

GIVEN = (
    Recording(
        "tea_1",
        "tea",
        "Tea",
        (
            Segment("S", "Skip", mistakes=(Mistake("missing"),)),
            Segment("a", "Fill", 0.5, 2.25),
            Segment("b", "Stir", 2.25, 4.0, "Shook", (Mistake("technique", "no spoon"),)),
        ),
        5.0,
        attributes={"split": "train"},
    ),
    Recording("tea_2", "tea", "Tea", (Segment("a", "Fill", 0.0, 1.5),)),
)
LOSSLESS = [f.name for f in formats() if f.kind == "recordings" and f.lossless]


def target(name: str, folder: Path) -> Path:
    suffix = "" if name in ("elan", "webvtt", "srt") else (*find_format(name).suffixes, "")[0]
    return folder / f"{name}{suffix}"


@pytest.fixture
def csv_file(tmp_path: Path) -> Path:
    write = find_format("csv").write
    assert write is not None
    write(GIVEN, tmp_path / "tea.csv")
    return tmp_path / "tea.csv"


@pytest.mark.parametrize(("first", "second"), list(permutations(LOSSLESS, 2)))
def test_any_lossless_format_to_any_other(csv_file: Path, tmp_path: Path, first: str, second: str) -> None:
    one, two = target(first, tmp_path / "1"), target(second, tmp_path / "2")
    convert(csv_file, one, source_format="csv", target_format=first)
    told = convert(one, two, source_format=first, target_format=second)
    assert told["counts"] == {"recordings": 2, "segments": 4}
    assert told["not_read"] == told["not_written"] == {}
    assert told["dropped_file"] is None
    read = find_format(second).read
    assert read is not None
    assert read(two).objects == GIVEN


def test_what_is_lost_is_in_a_file_beside(csv_file: Path, tmp_path: Path) -> None:
    told = convert(csv_file, tmp_path / "out", target_format="webvtt")
    assert told["not_written"] == {"skipped": 1, "performed_lost": 1, "mistake_lost": 1}
    rows = read_jsonl(tmp_path / "out.dropped.jsonl", Dropped)
    assert told["dropped_file"] == str(tmp_path / "out.dropped.jsonl")
    assert [(d.id, d.reason) for d in rows] == [
        ("tea_1/S", "skipped"),
        ("tea_1/b", "performed_lost"),
        ("tea_1/b", "mistake_lost"),
    ]


def test_what_was_not_read_is_listed_too(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("recording_id,text,start,end\nr,Stir,0,1\nr,Fill,3,2\n")
    told = convert(tmp_path / "a.csv", tmp_path / "a.json", target_format="activitynet")
    assert told["not_read"] == {"no_length": 1}
    assert told["counts"]["segments"] == 1
    assert len(read_jsonl(tmp_path / "a.json.dropped.jsonl", Dropped)) == 1


def test_nothing_read_is_an_error_with_its_reasons(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("recording_id,text,start,end\n,Stir,0,1\n,Fill,0,1\n")
    with pytest.raises(UserError, match="no recording could be read") as caught:
        convert(tmp_path / "a.csv", tmp_path / "a.json", target_format="activitynet")
    assert "no_recording 2" in str(caught.value)
    assert not (tmp_path / "a.json").exists()


def test_endings_tell_formats(csv_file: Path, tmp_path: Path) -> None:
    convert(csv_file, tmp_path / "b.tsv")
    with pytest.raises(UserError, match="several formats"):
        convert(csv_file, tmp_path / "b.json")


def test_a_target_that_is_there_stays(csv_file: Path, tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text("mine")
    with pytest.raises(UserError, match="something here already"):
        convert(csv_file, tmp_path / "b.json", target_format="activitynet")
    assert (tmp_path / "b.json").read_text() == "mine"
    convert(csv_file, tmp_path / "b.json", target_format="activitynet", overwrite=True)
    assert json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))["database"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tier": "x"}, "'tier' is no option"),
        ({"fps": "fast"}, "'fast' is no number"),
        ({"fps": "nan"}, "no frame rate"),
        ({"convention": "minutes"}, "no convention"),
        ({"": "x"}, "is no option"),
    ],
)
def test_options_are_checked(csv_file: Path, tmp_path: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        convert(csv_file, tmp_path / "b.json", target_format="label-studio", options=options)
    assert not (tmp_path / "b.json").exists()


def test_options_reach_both_sides(csv_file: Path, tmp_path: Path) -> None:
    convert(
        csv_file,
        tmp_path / "b.json",
        target_format="label-studio",
        options={"convention": "frames", "fps": "4"},
    )
    tasks = json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))
    assert tasks[0]["data"]["fps"] == 4
    assert tasks[0]["annotations"][0]["result"][0]["value"]["ranges"] == [{"start": 3, "end": 9}]
    (tmp_path / "about.json").write_text('{"name": "tea", "rai:dataBiases": "few"}')
    convert(
        csv_file, tmp_path / "c", target_format="croissant", options={"about": str(tmp_path / "about.json")}
    )
    assert (
        json.loads((tmp_path / "c" / "croissant.json").read_text(encoding="utf-8"))["rai:dataBiases"] == "few"
    )


@pytest.mark.parametrize("content", ["[]", "3", "{", '{"titel": "x"}'])
def test_a_description_that_is_none(csv_file: Path, tmp_path: Path, content: str) -> None:
    (tmp_path / "about.json").write_text(content)
    with pytest.raises(UserError):
        convert(
            csv_file,
            tmp_path / "c",
            target_format="croissant",
            options={"about": str(tmp_path / "about.json")},
        )
    assert not (tmp_path / "c").exists()


def test_unknown_names_list_formats_and_data_sets(csv_file: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no format 'eaf'") as caught:
        convert(csv_file, tmp_path / "b", source_format="eaf", target_format="elan")
    assert "elan" in str(caught.value)
    assert "captaincook4d" in str(caught.value)


# -- plain folders ---------------------------------------------------------------------------------------------


def test_to_plain_makes_graphs_without_order(csv_file: Path, tmp_path: Path) -> None:
    told = convert(csv_file, tmp_path / "plain", target_format="plain")
    assert any("nothing that must come before" in w for w in told["warnings"])
    found = read_plain(tmp_path / "plain", "published")
    assert found.recordings[1] == GIVEN[1]
    assert [(s.id, s.text) for s in found.graphs["tea"].steps] == [
        ("S", "Skip"),
        ("a", "Fill"),
        ("b", "Stir"),
    ]
    assert found.graphs["tea"].edges == ()


def test_from_plain_and_back_keeps_the_recordings(tmp_path: Path, diamond: TaskGraph) -> None:
    given = (Recording("r", "g", "g", (Segment("a", "do a", 0.0, 1.0), Segment("b", "do b", 1.0, 2.0)), 3.0),)
    write_plain(tmp_path / "plain", given, {"g": diamond})
    convert(tmp_path / "plain", tmp_path / "r.csv", source_format="plain")
    read = find_format("csv").read
    assert read is not None
    assert read(tmp_path / "r.csv").objects == given
    convert(tmp_path / "plain", tmp_path / "again", source_format="plain", target_format="plain")
    assert read_plain(tmp_path / "again", "published").graphs == {"g": diamond}


def test_what_a_plain_folder_cannot_hold_is_said_of_the_source(tmp_path: Path) -> None:
    source, target = tmp_path / "shifts.csv", tmp_path / "plain"
    head = "recording_id,activity_id,text,start,end\n"
    source.write_text(head + "fine,valve,Close,0,1\na/../b,valve,Close,0,1\n")
    with pytest.raises(UserError) as one:
        convert(source, target, target_format="plain")
    assert str(one.value.where) == f"{source}: recording 'a/../b': id"
    assert one.value.message == "'a/../b' cannot be an id."
    source.write_text(head + '"x\nrecordings.jsonl:99: y",valve,Close,0,1\n')
    with pytest.raises(UserError, match="cannot be an id") as hostile:
        convert(source, target, target_format="plain")
    assert hostile.value.where == f"{source}: recording 'x\\nrecordings.jsonl:99: y': id"
    source.write_text(head + "a/b,valve/x,Close,0,1\nc/d,valve/x,Close,0,1\n")
    with pytest.raises(UserError) as several:
        convert(source, target, target_format="plain")
    assert several.value.where == str(source)
    assert "\n  activity 'valve/x': id: 'valve/x' cannot be an id." in several.value.message
    assert "\n  recording 'c/d': id: 'c/d' cannot be an id." in several.value.message
    assert "jsonl" not in several.value.message
    assert not target.exists()


@pytest.mark.parametrize("blocked", ["file", "parent"])
def test_a_plain_folder_that_cannot_be_written_is_said_of_the_target(
    csv_file: Path, tmp_path: Path, blocked: str
) -> None:
    (tmp_path / "file").write_text("")
    target = tmp_path / "file" / "plain" if blocked == "parent" else tmp_path / "file"
    with pytest.raises(UserError) as told:
        convert(csv_file, target, target_format="plain", overwrite=True)
    assert str(target.parent if blocked == "parent" else target) in str(told.value.where)


@pytest.mark.parametrize("name", [f.name for f in formats() if f.kind == "recordings"])
def test_no_task_graph_is_lost_without_a_word(name: str, tmp_path: Path, diamond: TaskGraph) -> None:
    given = (Recording("r", "g", "g", (Segment("a", "do a", 0.0, 1.0), Segment("b", "do b", 1.0, 2.0)), 3.0),)
    write_plain(tmp_path / "plain", given, {"g": diamond})
    told = convert(tmp_path / "plain", target(name, tmp_path), target_format=name)
    if not find_format(name).carries_graphs:
        assert told["not_written"]["graph_lost"] == 1
        assert any(
            f"1 task graph(s) with {len(diamond.edges)} edges did not go over" in w for w in told["warnings"]
        )
        rows = read_jsonl(Path(told["dropped_file"]), Dropped)
        assert [(d.id, d.detail) for d in rows if d.reason == "graph_lost"] == [
            (
                "g",
                f"{len(diamond.steps)} steps and {len(diamond.edges)} edges: '{name}' holds recordings only",
            )
        ]
        return
    assert told["not_written"] == {}
    assert told["counts"]["edges"] == len(diamond.edges)
    convert(target(name, tmp_path), tmp_path / "again", source_format=name, target_format="plain")
    again = read_plain(tmp_path / "again", "published")
    assert (again.graphs, again.recordings) == ({"g": diamond}, given)
    convert(target(name, tmp_path), tmp_path / "g.graphml", source_format=name)
    read = find_format("graphml").read
    assert read is not None
    assert len(read(tmp_path / "g.graphml").objects) == 1


def test_graphs_without_order_are_not_reported_as_lost(csv_file: Path, tmp_path: Path) -> None:
    convert(csv_file, tmp_path / "plain", target_format="plain")
    told = convert(tmp_path / "plain", tmp_path / "again.csv")
    assert (told["not_written"], told["warnings"]) == ({}, [])


def test_an_activity_without_a_graph_gets_one_beside_those_that_have(
    tmp_path: Path, diamond: TaskGraph
) -> None:
    given = (
        Recording("r", "g", "g", (Segment("a", "do a", 0.0, 1.0),)),
        Recording("s", "other", "Other", (Segment("1", "Stir", 0.0, 1.0),)),
    )
    write = find_format("hugging-face").write
    assert write is not None
    write(given, tmp_path / "hf", graphs={"g": diamond})
    told = convert(tmp_path / "hf", tmp_path / "plain", source_format="hugging-face", target_format="plain")
    assert any("1 activities of the source have no task graphs" in w for w in told["warnings"])
    found = read_plain(tmp_path / "plain", "published")
    assert (found.graphs["g"], found.graphs["other"].edges) == (diamond, ())
    assert found.recordings == given


def test_graphs_of_a_data_set_go_to_a_graph_format(tmp_path: Path, diamond: TaskGraph) -> None:
    write_plain(
        tmp_path / "plain", (Recording("r", "g", "g", (Segment("a", "do a", 0.0, 1.0),)),), {"g": diamond}
    )
    told = convert(tmp_path / "plain", tmp_path / "g.graphml", source_format="plain")
    assert told["counts"] == {"graph": 1}
    assert told["not_written"] == {"recording_lost": 1}
    assert "1 recording(s) did not go over" in told["warnings"][0]
    read = find_format("graphml").read
    assert read is not None
    assert len(read(tmp_path / "g.graphml").objects) == 1


def test_recordings_are_no_graphs(csv_file: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds recordings, the target holds graph"):
        convert(csv_file, tmp_path / "g.graphml", source_format="csv")


def test_step_ids_that_no_folder_takes_are_renamed() -> None:
    steps = tuple(
        Segment(t, t, float(n), n + 1.0) for n, t in enumerate(["Boil & <pour>", "s1", "Stir", "a/b", "Stir"])
    )
    recordings, graphs, lost = derive_orderless((Recording("r", "a", "A", steps),))
    assert [(s.id, s.text) for s in graphs["a"].steps] == [
        ("s2", "Boil & <pour>"),
        ("s1", "s1"),
        ("Stir", "Stir"),
        ("s3", "a/b"),
    ]
    assert [s.step_id for s in recordings[0].segments] == ["s2", "s1", "Stir", "s3", "Stir"]
    assert lost == ()


def test_two_texts_of_one_step_are_listed() -> None:
    given = tuple(
        Recording(f"r{n}", "a", "A", (Segment("1", t, 0.0, 1.0),)) for n, t in enumerate(["Stir", "Stir it"])
    )
    recordings, graphs, lost = derive_orderless(given)
    assert [s.text for s in graphs["a"].steps] == ["Stir"]
    assert [r.segments[0].text for r in recordings] == ["Stir", "Stir"]
    assert [(d.id, d.reason, d.detail) for d in lost] == [("r1/1", "text_differs", "Stir it")]


def test_the_list_has_every_format() -> None:
    listed = msgspec.to_builtins(stage.list_formats())
    assert [row["name"] for row in listed] == [f.name for f in formats()]
    json.dumps(listed)


# -- real data -------------------------------------------------------------------------------------------------


@pytest.mark.shared
@pytest.mark.parametrize("name", LOSSLESS)
def test_captaincook4d_comes_back(shared_data: Path, tmp_path: Path, name: str) -> None:
    from proctor.datasets.dataset import load_dataset

    folder = shared_data / "captaincook4d"
    told = convert(
        folder,
        target(name, tmp_path),
        source_format="captaincook4d",
        target_format=name,
        corrections="published",
    )
    assert told["counts"]["recordings"] == 384
    carries = find_format(name).carries_graphs
    assert told["not_written"] == ({} if carries else {"graph_lost": 24})
    given = load_dataset("captaincook4d").read(folder, "published")
    read = find_format(name).read
    assert read is not None
    found = read(target(name, tmp_path))
    assert found.dropped == ()
    assert _by_id(found.objects) == _by_id(given.recordings)
    assert found.graphs == (given.graphs if carries else {})


def _by_id(recordings: Any) -> list[Any]:
    """Times to the millisecond: ELAN has no finer ones."""
    ms: Callable[[float | None], float | None] = lambda t: None if t is None else round(t, 3)  # noqa: E731
    return sorted(
        (
            r.id,
            r.activity_id,
            r.activity_name,
            r.duration,
            r.video,
            sorted(r.attributes.items()),
            sorted(
                repr((ms(s.start), ms(s.end), s.step_id, s.text, s.performed, s.mistakes)) for s in r.segments
            ),
        )
        for r in recordings
    )


def test_a_target_without_an_ending_is_told_of_plain(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("recording_id,text,start,end\nr,Cut,0,1\n", encoding="utf-8")
    with pytest.raises(UserError, match="the format is not clear") as raised:
        convert(tmp_path / "a.csv", tmp_path / "out")
    assert "--to plain" in (raised.value.hint or "")


def test_a_folder_of_a_data_set_need_not_be_named(tests_data: Path, tmp_path: Path) -> None:
    told = convert(tests_data / "plain_valid", tmp_path / "a.csv")
    named = convert(tests_data / "plain_valid", tmp_path / "b.csv", source_format="plain")
    assert told["counts"] == named["counts"]
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    (tmp_path / "nothing").mkdir()
    with pytest.raises(UserError, match="of no known data set") as raised:
        convert(tmp_path / "nothing", tmp_path / "c.csv")
    assert "say --from" in (raised.value.hint or "")
    (tmp_path / "nothing" / "task_graphs").mkdir()
    (tmp_path / "nothing" / "task_graphs" / "tea.json").touch()
    with pytest.raises(UserError, match=r"lacks annotation_json/error_annotations\.json, "):
        convert(tmp_path / "nothing", tmp_path / "c.csv")


def test_a_recording_of_which_nothing_can_be_read_does_not_end_the_others(tmp_path: Path) -> None:
    rows = "recording_id,text,start,end\na,Cut,0,1\nb,Cut,5,2\n"
    (tmp_path / "a.csv").write_text(rows, encoding="utf-8")
    done = convert(tmp_path / "a.csv", tmp_path / "out", target_format="plain")
    assert (done["counts"]["recordings"], done["not_read"]) == (1, {"no_length": 1, "no_segments": 1})
    (tmp_path / "a.csv").write_text(rows.replace("a,Cut,0,1\n", ""), encoding="utf-8")
    with pytest.raises(UserError, match="no recording could be read") as raised:
        convert(tmp_path / "a.csv", tmp_path / "none", target_format="plain")
    assert raised.value.hint == "dropped: no_length 1, no_segments 1; the first is b/line 2: 5 to 2 s"
