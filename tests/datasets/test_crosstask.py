"""CrossTask: task files in blocks, steps counted from 1, tables without header lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.datasets.attacks import FAMILIES, survive
from tests.datasets.flips import survive_flips

from proctor.datasets.crosstask import DATASET, Task, load_tasks
from proctor.datasets.dataset import Log, ReadResult
from proctor.errors import UserError
from proctor.procedure.recording import Segment

SHELF = "7\nHang a Shelf\nhttps://www.example.org/shelf\n3\nmark the wall,drill holes,screw on the shelf\n\n"
VIDEOS = "7,abc,https://www.example.org/abc\n"


@pytest.fixture
def folder(tests_data: Path) -> Path:
    return tests_data / "datasets" / "crosstask"


def make(
    root: Path, annotations: dict[str, str], tasks: str = SHELF, videos: str = VIDEOS, **more: str
) -> Path:
    (root / "annotations").mkdir(exist_ok=True)
    (root / "tasks_primary.txt").write_text(tasks)
    (root / "videos.csv").write_text(videos)
    for name, text in more.items():
        (root / name.replace("_txt", ".txt").replace("_csv", ".csv")).write_text(text)
    for name, text in annotations.items():
        (root / "annotations" / f"{name}.csv").write_text(text)
    return root


def rules(result: ReadResult) -> list[tuple[str, str]]:
    return [(f.rule, f.where) for f in result.findings] + [(d.reason, d.id) for d in result.dropped]


def test_the_fixture_is_read_whole(folder: Path):
    result = DATASET.read(folder)
    assert [r.id for r in result.recordings] == ["5001_shelfB00002", "5001_shelf_A-001", "5002_mintA000001"]
    mint = result.recordings[2]
    assert (mint.activity_id, mint.activity_name) == ("5002", "Brew Mint Tea")
    assert mint.segments == (
        Segment("5002.1", "boil water", 0.0, 30.0),
        Segment("5002.3", "pour water over mint", 55.1, 63.2),
    )
    assert rules(result) == []
    assert result.counts == {
        "recordings": 3,
        "steps": 9,
        "primary tasks": 2,
        "related tasks": 1,
        "videos without annotations": 1,
    }


def test_an_ordered_list_is_no_task_graph(folder: Path):
    assert DATASET.read(folder).graphs == {}


def test_a_video_id_may_have_underscores_and_has_its_split(folder: Path):
    found = {r.id: r.attributes for r in DATASET.read(folder).recordings}
    assert found["5001_shelf_A-001"] == {
        "youtube_id": "shelf_A-001",
        "role": "primary",
        "url": "https://www.example.org/watch?v=shelf_A-001",
        "split": "train",
    }
    assert found["5001_shelfB00002"]["split"] == "val"


def test_tasks_are_read_from_blocks(folder: Path):
    log = Log()
    tasks = load_tasks(folder, log)
    assert list(tasks) == ["5001", "5002", "6001"]
    assert tasks["6001"] == Task(
        "6001",
        "Hang a Mirror",
        "related",
        ("find a stud", "hammer in the nail"),
        "https://www.example.org/hang-a-mirror",
    )
    assert log.dropped == []


@pytest.mark.parametrize("line", ["0,1,2", "4,1,2", "-1,1,2", "1.5,1,2", "x,1,2", ",1,2", "٣,1,2", "nan,1,2"])
def test_steps_are_counted_from_1(tmp_path: Path, line: str):
    result = DATASET.read(make(tmp_path, {"7_abc": f"1,0,1\n{line}\n3,3,4\n"}))
    assert [s.step_id for s in result.recordings[0].segments] == ["7.1", "7.3"]
    assert rules(result) == [("unknown-step", "7_abc: step 2")]
    assert "steps 1 to 3" in result.dropped[0].detail


@pytest.mark.parametrize(
    ("line", "reason", "where"),
    [
        ("2,5,3", "swapped-times", "7_abc: step 2"),
        ("2,-5,3", "negative-time", "7_abc: step 2"),
        ("2,nan,3", "bad-time", "7_abc: step 2"),
        ("2,1:05,9", "bad-time", "7_abc: step 2"),
        ("2,5", "bad-row", "7_abc:2"),
        ("2,5,6,7", "bad-row", "7_abc:2"),
        ('2,"5,6', "bad-row", "7_abc:2"),
    ],
)
def test_a_line_that_makes_no_sense_costs_itself(tmp_path: Path, line: str, reason: str, where: str):
    result = DATASET.read(make(tmp_path, {"7_abc": f"1,0,1\n{line}\n3,3,4\n"}))
    assert len(result.recordings[0].segments) == 2
    assert rules(result) == [(reason, where)]
    assert reason in DATASET.rules


def test_odd_steps_are_kept_and_told(tmp_path: Path):
    result = DATASET.read(make(tmp_path, {"7_abc": "2,5,9\n1,1,6\n3,10,10\n3,12,13\n3,12,13\n"}))
    assert len(result.recordings[0].segments) == 5
    assert rules(result) == [
        ("unsorted", "7_abc: step 2"),
        ("overlap", "7_abc: step 2"),
        ("zero-length", "7_abc: step 3"),
        ("overlap", "7_abc: step 5"),
        ("repeated-step", "7_abc: step 5"),
    ]


@pytest.mark.parametrize(
    "block",
    [
        "8\nHang\nhttps://www.example.org\n3\na, b and, c, d\n",
        "8\nHang\nhttps://www.example.org\n2\na,b,c\n",
        "8\nHang\nhttps://www.example.org\nthree\na,b,c\n",
        "8\nHang\nhttps://www.example.org\n3\na,,c\n",
        "8\nHang\n3\na,b,c\n",
        "8\nHang\nhttps://www.example.org\n3\na,b,c\nd\n",
        "8_9\nHang\nhttps://www.example.org\n3\na,b,c\n",
    ],
)
def test_a_block_that_does_not_add_up_costs_its_task_and_is_told(tmp_path: Path, block: str):
    root = make(tmp_path, {"7_abc": "1,0,1\n", "8_abc": "3,0,1\n"}, SHELF + block, VIDEOS + "8,abc,u\n")
    result = DATASET.read(root)
    assert [r.id for r in result.recordings] == ["7_abc"]
    assert rules(result) == [
        ("unknown-task", "videos.csv: task 8"),
        ("bad-task", "tasks_primary.txt:7"),
        ("unknown-task", "8_abc"),
    ]


def test_a_task_that_is_there_twice_keeps_its_first_steps(tmp_path: Path):
    again = SHELF.replace("mark the wall", "look at the wall")
    root = make(tmp_path, {"7_abc": "1,0,1\n"}, SHELF + "\n\n" + again, tasks_related_txt=again)
    result = DATASET.read(root)
    assert result.recordings[0].segments[0].text == "mark the wall"
    assert rules(result) == [("duplicate-id", "tasks_primary.txt:9"), ("duplicate-id", "tasks_related.txt:1")]


def test_annotations_of_a_related_task_are_read_as_such(tmp_path: Path):
    related = SHELF.replace("7\n", "8\n", 1)
    root = make(tmp_path, {"8_abc": "2,0,1\n"}, videos="8,abc,u\n", tasks_related_txt=related)
    result = DATASET.read(root)
    assert result.recordings[0].attributes["role"] == "related"
    assert result.recordings[0].segments[0].step_id == "8.2"


def test_lists_of_videos_are_compared_with_the_annotations(tmp_path: Path):
    root = make(
        tmp_path,
        {"7_abc": "1,0,1\n", "7_new": "1,0,1\n"},
        videos="7,abc,u\n7,abc,other\n7,gone1,u\n7,gone2,u\n7,,u\n",
        videos_val_csv="7,else,u\n7,another,u\n",
    )
    result = DATASET.read(root)
    assert [r.attributes.get("url") for r in result.recordings] == ["u", None]
    assert rules(result) == [
        ("listed-twice", "videos.csv:2"),
        ("unlisted-video", "7_another"),
        ("unlisted-video", "7_else"),
        ("unlisted-video", "7_new"),
        ("not-annotated", "task 7"),
        ("bad-row", "videos.csv:5"),
    ]
    assert result.findings[-1].seen == "2 of 3 listed videos have no file"
    assert result.counts["videos without annotations"] == 2


def test_header_lines_are_recognised_and_told(tmp_path: Path):
    root = make(tmp_path, {"7_abc": "step,start,end\n1,0,1\n"}, videos="task,vid,url\n" + VIDEOS)
    result = DATASET.read(root)
    assert len(result.recordings) == 1
    assert rules(result) == [("header", "videos.csv"), ("header", "7_abc")]


def test_files_of_other_names_and_without_steps_are_told(tmp_path: Path):
    result = DATASET.read(make(tmp_path, {"abc": "1,0,1\n", "7_abc": "1,0,1\n", "7_": "1,0,1\n", "7_e": ""}))
    assert [r.id for r in result.recordings] == ["7_abc"]
    assert [(d.reason, d.id) for d in result.dropped] == [
        ("bad-id", "'7_.csv'"),
        ("no-steps", "7_e"),
        ("bad-id", "'abc.csv'"),
    ]


@pytest.mark.parametrize("name", ["tasks_primary.txt", "tasks_related.txt"])
@pytest.mark.parametrize("data", [b"", b"\xff\xfe\x00", b" \n\n"])
def test_a_task_file_that_is_empty_or_no_text_is_refused(tmp_path: Path, name: str, data: bytes):
    (make(tmp_path, {"7_abc": "1,0,1\n"}) / name).write_bytes(data)
    with pytest.raises(UserError, match=name):
        DATASET.read(tmp_path)


def test_line_ends_of_windows_part_blocks_too(tmp_path: Path):
    root = make(tmp_path, {"7_abc": "1,0,1\r\n"})
    (root / "tasks_primary.txt").write_bytes(SHELF.replace("\n", "\r\n").encode() * 1)
    assert rules(DATASET.read(root)) == []


@pytest.mark.parametrize("family", FAMILIES)
def test_it_survives(family: str, folder: Path, tmp_path: Path):
    ended = survive(DATASET, folder, tmp_path, family, cap=60)
    assert ended or family == "wrong number"


def test_flipped_bytes_are_survived(folder: Path, tmp_path: Path):
    assert set(survive_flips(DATASET, folder, tmp_path, 300)) == {"read", "refused"}
