"""``proctor datasets …``: which data set is meant, what it says of itself, and files on their way elsewhere."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.datasets.dataset import dataset_names

Proctor = Callable[..., Any]


@pytest.fixture
def plain(tests_data: Path, tmp_path: Path) -> Path:
    """A copy of a plain folder, for nobody may change the original."""
    return Path(shutil.copytree(tests_data / "plain_valid", tmp_path / "mine"))


def test_the_list_has_every_registered_data_set(proctor: Proctor) -> None:
    outcome = proctor("datasets", "list", "--json")
    assert [row["name"] for row in outcome.json["datasets"]] == list(dataset_names())
    text = proctor("datasets", "list").out
    assert all(name in text for name in dataset_names())


@pytest.mark.parametrize("name", dataset_names())
def test_info_says_what_it_is_and_how_to_get_it(name: str, proctor: Proctor) -> None:
    outcome = proctor("datasets", "info", name, "--json")
    assert outcome.status == 0, outcome.err
    said = outcome.json
    assert said["name"] == name
    text = proctor("datasets", "info", name).out
    for part in (said["title"], said["files"][0]["path"].split("/")[0]):
        assert part in text
    assert max(map(len, text.splitlines())) <= 110


def test_an_unknown_data_set_is_told_with_the_known_ones(proctor: Proctor) -> None:
    outcome = proctor("datasets", "info", "captaincook5d")
    assert outcome.status == 2
    assert "captaincook4d" in outcome.err


def test_made_up_manuals_are_read_as_they_are_written(tmp_path: Path, proctor: Proctor) -> None:
    folder = tmp_path / "made-up"
    outcome = proctor("datasets", "synthetic", str(folder), "--manuals", "3", "--seed", "7", "--json")
    assert outcome.json == {"folder": str(folder), "manuals": 3}
    assert "tasks                  3" in proctor("datasets", "stats", str(folder)).out
    again = proctor("datasets", "synthetic", str(folder))
    assert again.status == 2, "what is there is not written over"
    assert len((folder / "articles.jsonl").read_text().splitlines()) == 3


# -- which data set a folder holds -----------------------------------------------------------------------------


def test_the_files_tell_which_data_set_it_is(plain: Path, proctor: Proctor) -> None:
    told, named = (proctor("datasets", "check", *words, "--json") for words in ([plain], ["plain", plain]))
    assert told.status == named.status == 0, told.err
    assert told.json == named.json
    assert told.json["dataset"] == "plain"


@pytest.mark.parametrize("words", [["nowhere"], ["{}"], ["plain", "{}"], ["a", "b", "c"], ["nonsense", "{}"]])
def test_words_that_name_no_data_set_are_refused(words: list[str], tmp_path: Path, proctor: Proctor) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    outcome = proctor("datasets", "check", *(word.format(empty) for word in words))
    assert outcome.status == 2
    assert "Traceback" not in outcome.err
    assert "→" in outcome.err or "known" in outcome.err or "hint" in outcome.err or "give" in outcome.err


def test_a_rule_lists_its_findings_and_an_unknown_one_the_rules(plain: Path, proctor: Proctor) -> None:
    path = plain / "recordings" / min(p.name for p in (plain / "recordings").glob("*.json"))
    recording = json.loads(path.read_text(encoding="utf-8"))
    done = [s for s in recording["segments"] if "end" in s]
    done[1]["start"], done[1]["end"] = done[0]["start"], done[0]["end"]
    path.write_text(json.dumps(recording), encoding="utf-8")
    counts = proctor("datasets", "check", plain, "--json").json["counts"]
    assert counts.get("R7", 0) >= 1
    listed = proctor("datasets", "check", plain, "--rule", "R7", "--json").json["findings"]
    assert {f["rule"] for f in listed} == {"R7"}
    assert len(listed) == counts["R7"]
    outcome = proctor("datasets", "check", plain, "--rule", "R99")
    assert outcome.status == 2
    assert "R7" in outcome.err


# -- elsewhere -------------------------------------------------------------------------------------------------


def test_recordings_go_to_another_tools_file_and_come_back(
    plain: Path, tmp_path: Path, proctor: Proctor
) -> None:
    table = tmp_path / "steps.csv"
    outcome = proctor("datasets", "convert", plain, table, "--from", "plain", "--json")
    assert outcome.status == 0, outcome.err
    assert outcome.json["counts"]["recordings"] == 3
    again = proctor("datasets", "convert", table, tmp_path / "steps.json", "--to", "activitynet", "--json")
    assert again.status == 0, again.err
    assert again.json["counts"] == outcome.json["counts"]
    refused = proctor("datasets", "convert", plain, table, "--from", "plain")
    assert refused.status == 2
    assert "--overwrite" in refused.err


def test_the_formats_are_listed_with_what_they_lose(proctor: Proctor) -> None:
    rows = proctor("datasets", "convert", "--formats", "--json").json["formats"]
    text = proctor("datasets", "convert", "--formats").out
    for row in rows:
        assert row["name"] in text
        assert row["lossless"] or row["loss"]
    assert proctor("datasets", "convert").status == 2


def test_clips_are_cut_and_what_is_in_none_is_listed(plain: Path, tmp_path: Path, proctor: Proctor) -> None:
    out = tmp_path / "clips.jsonl"
    outcome = proctor("datasets", "clips", plain, "--out", out, "--rules", "prefix", "--json")
    assert outcome.status == 0, outcome.err
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == outcome.json["clips"] > 0
    assert (tmp_path / "clips.dropped.jsonl").is_file()
    for rules in ("nonsense", "prefix:nonsense"):
        refused = proctor("datasets", "clips", plain, "--out", out, "--rules", rules)
        assert refused.status == 2
        assert "known" in refused.err
    assert proctor("datasets", "clips", plain, "--out", out, "--option", "level").status == 2
    nowhere = proctor("datasets", "clips", plain, "--out", out, "--videos", tmp_path / "nowhere")
    assert nowhere.status == 2
    assert "there is no such folder" in nowhere.err
    assert "from 0 s: " in proctor("datasets", "clips", plain, "--out", out, "--rules", "prefix").out


def test_from_recordings_without_graphs_to_questions(tmp_path: Path, proctor: Proctor) -> None:
    steps = ("Cut bread", "Butter it", "Eat")
    rows = [f"r{n},{step},{10 * k},{10 * k + 9}" for n in range(3) for k, step in enumerate(steps)]
    (tmp_path / "a.csv").write_text("recording_id,text,start,end\n" + "\n".join(rows), encoding="utf-8")
    assert proctor("datasets", "convert", tmp_path / "a.csv", tmp_path / "p", "--to", "plain").status == 0
    assert proctor("read", "plain", tmp_path / "p", tmp_path / "b").status == 0
    induced = proctor("graph", "induce", tmp_path / "b", "--write")
    assert (induced.status, induced.err) == (0, "")
    assert "1 graph(s) are in" in induced.out
    assert proctor("derive", tmp_path / "b", "--json").json["examples"] > 0


# -- what is in it, and how it is split ------------------------------------------------------------------------


def test_stats_say_what_is_in_it_in_text_json_and_pictures(
    plain: Path, tmp_path: Path, proctor: Proctor
) -> None:
    page = tmp_path / "page.html"
    outcome = proctor("datasets", "stats", plain, "--html", page, "--json")
    assert outcome.status == 0, outcome.err
    assert outcome.json["recordings"]["recordings"] == 3
    assert "<svg" in page.read_text(encoding="utf-8")
    text = proctor("datasets", "stats", plain).out
    assert "recordings" in text
    assert proctor("datasets", "stats", plain, "--corrections", "maybe").status == 2


def test_a_split_is_made_written_and_looked_through(plain: Path, tmp_path: Path, proctor: Proctor) -> None:
    out = tmp_path / "splits"
    made = proctor(
        "datasets", "split", plain, "--by", "id", "--fractions", "a=0.5,b=0.5", "--out", out, "--json"
    )
    assert made.status == 0, made.err
    assert sum(made.json["sizes"].values()) == 3
    looked = proctor("datasets", "split", plain, "--check", out / "id.json", "--json")
    assert looked.status == 0, looked.err
    assert looked.json["twice"] == {}
    for wrong in (
        ["--by", "colour"],
        ["--rule", "person"],
        ["--check", tmp_path / "nowhere"],
        ["--rule", "a", "--by", "b"],
        ["--by", "id", "--fill", "somehow"],
    ):
        refused = proctor("datasets", "split", plain, *wrong)
        assert refused.status == 2, wrong
        assert "Traceback" not in refused.err


@pytest.mark.parametrize(
    "words", [["graph", "lint", "{}"], ["graph", "induce", "{}"], ["datasets", "convert", "{}", "x.csv"]]
)
def test_a_source_that_is_not_there_is_said_to_be_missing(
    words: list[str], tmp_path: Path, proctor: Proctor
) -> None:
    outcome = proctor(*(word.format(tmp_path / "nowhere") for word in words))
    assert outcome.status == 2
    assert "there is no such file" in outcome.err


# -- into a benchmark ------------------------------------------------------------------------------------------


def test_recordings_without_graphs_are_read_with_a_warning(
    tests_data: Path, tmp_path: Path, proctor: Proctor
) -> None:
    outcome = proctor("read", "youcook2", tests_data / "datasets/youcook2", tmp_path / "bench")
    assert outcome.status == 0, outcome.err
    assert "no task graphs" in outcome.err
    assert "proctor graph induce" in outcome.err


def test_manuals_are_not_read_as_recordings(tests_data: Path, tmp_path: Path, proctor: Proctor) -> None:
    outcome = proctor("read", "wikihow", tests_data / "datasets/wikihow", tmp_path / "bench")
    assert outcome.status == 2
    assert "holds manuals" in outcome.err
    assert not (tmp_path / "bench").exists()


def test_recordings_without_a_graph_are_told_when_nothing_is_derived(
    tmp_path: Path, proctor: Proctor
) -> None:
    source = Path("tests/data/plain_valid")
    assert proctor("read", "plain", source, tmp_path / "b").status == 0
    (tmp_path / "b" / "graphs.json").write_text("{}", encoding="utf-8")
    outcome = proctor("derive", tmp_path / "b")
    assert "recording(s) have no task graph: 'proctor graph induce" in outcome.err
    assert proctor("graph", "induce", tmp_path / "b", "--write").status == 0
    assert "no task graph" not in proctor("derive", tmp_path / "b").err
