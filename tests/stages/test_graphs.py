"""Task graphs in files, from lint to inducing, as Python calls."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from proctor.datasets.interchange.format import find_format
from proctor.drawing.engines import find_engine
from proctor.errors import UserError
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Mistake, Recording, Segment
from proctor.records import read_jsonl, write_jsonl
from proctor.stages import graph_induce as induce
from proctor.stages import graphs as stage
from proctor.stages.derive import derive
from proctor.stages.graph_settings import ConvertSettings, DrawSettings, InduceSettings
from proctor.stages.graphs import graph_files, load_graphs
from proctor.workspace import Workspace


def lint_graphs(files):
    return msgspec.to_builtins(stage.lint_graphs(files))


def convert_graphs(source, target, wanted=(), **options):
    settings = ConvertSettings(source=source, target=target, graph=tuple(wanted), **options)
    return msgspec.to_builtins(stage.convert_graphs(settings))


def draw_graph_file(source, target):
    return msgspec.to_builtins(stage.draw_graph_file(DrawSettings(source=source, target=target)))


def induce_graphs(source, target=None, **options):
    options.setdefault("method", "counting")
    plain = {name: tuple(v) if isinstance(v, list) else v for name, v in options.items()}
    return msgspec.to_builtins(induce.induce_graphs(InduceSettings(source=source, target=target, **plain)))


def _recording(id_: str, steps: str, mistakes: tuple[Mistake, ...] = (), activity: str = "g") -> Recording:
    segments = [Segment(s, f"do {s}", 10.0 * k, 10.0 * k + 5) for k, s in enumerate(steps)]
    segments[-1] = replace(segments[-1], mistakes=mistakes)
    return Recording(id_, activity, activity.upper(), tuple(segments))


@pytest.fixture
def workspace(tmp_path: Path, diamond: TaskGraph) -> Path:
    folder = tmp_path / "bench"
    place = Workspace(folder)
    place.create()
    place.write_graphs({"g": diamond})
    recordings = [
        _recording("r1", "abcd"),
        _recording("r2", "acbd"),
        _recording("r3", "bacd", (Mistake("order"),)),
    ]
    write_jsonl(folder / "recordings.jsonl", recordings)
    return folder


# -- files -------------------------------------------------------------------------------------------------------


def test_a_folder_stands_for_the_graphs_in_it(tmp_path: Path, workspace: Path) -> None:
    assert graph_files(workspace) == [workspace / "graphs.json"]
    data_set = tmp_path / "data"
    (data_set / "task_graphs").mkdir(parents=True)
    for name in ("b.json", "a.dot", ".hidden.json", "notes.txt"):
        (data_set / "task_graphs" / name).write_text("", encoding="utf-8")
    assert [p.name for p in graph_files(data_set)] == ["a.dot", "b.json"]
    assert graph_files(tmp_path / "nothing") == [tmp_path / "nothing"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="no task graphs in it"):
        graph_files(tmp_path / "empty")


# -- lint --------------------------------------------------------------------------------------------------------


def test_lint_tells_findings_and_shape(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.dot").write_text("digraph { a -> b -> a; a -> a }", encoding="utf-8")
    result = lint_graphs([workspace, tmp_path / "bad.dot"])
    good, bad = result["graphs"]
    assert (good["id"], good["format"], good["broken"], good["findings"]) == ("g", "graph-json", False, [])
    assert good["shape"] == {
        "steps": 4, "edges": 6, "first": 1, "last": 1, "longest": 3, "pairs": 5, "orders": 2,
    }  # fmt: skip
    assert (bad["broken"], bad["shape"]) == (True, None)
    assert result["counts"] == {"self_edge": 1, "cycle": 1, "no_start": 1, "no_end": 1}
    assert result["broken"] == 1


def test_lint_reports_what_the_reader_left_out(tmp_path: Path) -> None:
    page = {"@type": "HowTo", "name": "x", "step": ["a", {"@type": "HowToTip", "text": "t"}]}
    (tmp_path / "x.jsonld").write_text(json.dumps(page), encoding="utf-8")
    warnings = lint_graphs([tmp_path / "x.jsonld"])["warnings"]
    assert any("a HowTo is a list" in w for w in warnings)
    assert any("not read: step 1 (tip: t)" in w for w in warnings)


# -- convert -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["graphml", "dot", "gv", "json"])
def test_lossless_ways_there_and_back(
    suffix: str, workspace: Path, tmp_path: Path, diamond: TaskGraph
) -> None:
    there = convert_graphs(workspace, tmp_path / f"x.{suffix}")
    assert (there["lossless"], there["lost"], there["dropped"]) == (True, [], [])
    assert (there["graphs"], there["steps"], there["edges"]) == (1, 6, 6)
    assert load_graphs(tmp_path / f"x.{suffix}").graphs == [diamond]


def test_what_a_format_loses_is_told(workspace: Path, tmp_path: Path) -> None:
    result = convert_graphs(workspace, tmp_path / "x.jsonld")
    assert {row["reason"] for row in result["lost"]} == {"start", "end", "partial_order"}
    assert result["loss"] == list(find_format("howto").loss)
    result = convert_graphs(workspace, tmp_path / "x.json", to="captaincook4d-graph")
    assert {row["reason"] for row in result["lost"]} == {"graph_name", "step_id"}


def test_graphs_are_chosen_by_id_or_name(tmp_path: Path, diamond: TaskGraph, twins: TaskGraph) -> None:
    Workspace(tmp_path).write_graphs({"g": diamond, "twins": twins})
    source = tmp_path / "graphs.json"
    assert convert_graphs(source, tmp_path / "x.dot", wanted=["Twins"])["graphs"] == 1
    assert load_graphs(tmp_path / "x.dot").graphs == [twins]
    with pytest.raises(UserError, match="no graph is called 'tea'") as error:
        convert_graphs(source, tmp_path / "x.dot", wanted=["tea"])
    assert "g, twins" in str(error.value)
    same = replace(twins, id="other")
    Workspace(tmp_path).write_graphs({"other": same, "twins": twins})
    with pytest.raises(UserError, match="2 graphs are called 'Twins'"):
        convert_graphs(source, tmp_path / "y.dot", wanted=["Twins"])


def test_two_graphs_of_one_id_are_not_merged_in_silence(tmp_path: Path, diamond: TaskGraph) -> None:
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        Workspace(tmp_path / "in" / name).create()
        Workspace(tmp_path / "in" / name).write_graphs({"g": diamond})
        (tmp_path / "in" / name / "graphs.json").rename(tmp_path / "in" / f"{name}.json")
    with pytest.raises(UserError, match="two graphs have the same id"):
        convert_graphs(tmp_path / "in", tmp_path / "out.json")
    assert convert_graphs(tmp_path / "in", tmp_path / "out.dot")["graphs"] == 2


def test_formats_must_be_known(workspace: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no graph format 'png'"):
        convert_graphs(workspace, tmp_path / "x.png", to="png")
    with pytest.raises(UserError, match="no format has files that end like this one"):
        convert_graphs(workspace, tmp_path / "x.png")
    with pytest.raises(UserError, match="there is no graph format 'elan'"):
        load_graphs(workspace / "graphs.json", "elan")


# -- draw --------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(find_engine() is None, reason="needs Graphviz or fast-sugiyama")
def test_a_drawing_stands_alone_and_shows_hostile_texts_as_text(tmp_path: Path) -> None:
    steps = (Step("a", '<script>alert("x")</script>'), Step("b", "B & \u202e\x00 co"))
    graph = TaskGraph("g", '"><svg onload=1>', steps, (("a", "b"),))
    Workspace(tmp_path).write_graphs({"g": graph})
    result = draw_graph_file(tmp_path / "graphs.json", tmp_path / "g.svg")
    data = (tmp_path / "g.svg").read_bytes()
    assert result["bytes"] == len(data)
    root = ElementTree.fromstring(data)
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{space}svg"
    assert {e.tag.removeprefix(space) for e in root.iter()} <= {
        "svg", "title", "style", "g", "rect", "path", "polygon", "text", "tspan",
    }  # fmt: skip
    assert not any(k.lower().startswith("on") or "href" in k for e in root.iter() for k in e.attrib)
    words = "".join(root.itertext())
    assert '<script>alert("x")</script>' in words
    assert "⟨U+202E⟩⟨U+0000⟩" in words


def test_what_cannot_be_drawn_is_told(tmp_path: Path, workspace: Path) -> None:
    wide = TaskGraph("w", "Wide", tuple(Step(str(i), "x") for i in range(301)))
    Workspace(tmp_path).write_graphs({"w": wide})
    with pytest.raises(UserError, match="it has 301 steps; drawings stop at 300"):
        draw_graph_file(tmp_path / "graphs.json", tmp_path / "w.svg")
    with pytest.raises(UserError, match="drawings are SVG files"):
        draw_graph_file(workspace, tmp_path / "w.png")
    Workspace(tmp_path).write_graphs({"w": wide, "v": replace(wide, id="v")})
    with pytest.raises(UserError, match="there are 2 graphs, one is drawn"):
        draw_graph_file(tmp_path / "graphs.json", tmp_path / "w.svg")
    assert not (tmp_path / "w.svg").exists()


# -- induce ------------------------------------------------------------------------------------------------------


def test_a_workspace_brings_its_own_reference(workspace: Path, tmp_path: Path) -> None:
    result = induce_graphs(workspace, tmp_path / "out.json", support=tmp_path / "s.jsonl")
    (row,) = result["activities"]
    assert (row["recordings"], row["left_out"], row["steps"], row["edges"]) == (3, 0, 4, 3)
    assert row["agreement"]["missing"] == (("a", "b"),)
    assert result["agreement"] == {
        "activities": 1, "precision": 1.0, "recall": 0.8, "f1": 8 / 9,
        "pairs_both": 4, "pairs_missing": 1, "pairs_extra": 0, "pairs_reversed": 0,
    }  # fmt: skip
    (graph,) = load_graphs(tmp_path / "out.json").graphs
    assert (graph.id, graph.name, graph["a"].text) == ("g", "G", "do a")
    assert set(graph.edges) == {("a", "c"), ("b", "d"), ("c", "d")}
    rows = read_jsonl(tmp_path / "s.jsonl")
    assert [(r["before"], r["after"]) for r in rows] == list(graph.edges)
    assert {(r["agreeing"], r["together"]) for r in rows} == {(3, 3)}
    assert rows[0]["low"] == pytest.approx(0.4385, abs=1e-4)  # Wilson: n / (n + z²) for n of n


def test_recordings_with_mistakes_can_be_left_out(workspace: Path) -> None:
    for without in (["order"], ["any"]):
        result = induce_graphs(workspace, without=without)
        assert result["activities"][0]["left_out"] == 1
        assert result["agreement"]["f1"] == 1.0
    assert induce_graphs(workspace, without=["technique"])["activities"][0]["left_out"] == 0
    assert result["file"] is None


def test_a_threshold_outvotes_a_recording(workspace: Path) -> None:
    assert induce_graphs(workspace, threshold=0.6)["activities"][0]["agreement"]["recall"] == 1.0


def test_orders_are_read_from_json(tmp_path: Path) -> None:
    source = tmp_path / "tea.json"
    source.write_text('{"ana": ["boil", "leaf", "pour"], "bo": ["leaf", "boil", "pour"]}', encoding="utf-8")
    result = induce_graphs(source, tmp_path / "out.dot", terminals=True)
    assert result["agreement"] is None
    (graph,) = load_graphs(tmp_path / "out.dot").graphs
    assert (graph.id, graph.start, graph.end) == ("tea", "START", "END")
    assert graph.count_orders() == 2
    source.write_text("[[1, 2], [2, 1]]", encoding="utf-8")
    assert induce_graphs(source)["activities"][0]["edges"] == 0


def test_performances_with_texts_are_read_from_json(tmp_path: Path) -> None:
    source = tmp_path / "tea.json"
    value: dict[str, Any] = {
        "steps": {"b": "Boil", "l": "Leaf", "p": "Pour", "s": "Sugar"},
        "performances": [["b", "l", "p"], ["l", "b", "p", "b"]],
    }
    source.write_text(json.dumps(value), encoding="utf-8")
    result = induce_graphs(source, tmp_path / "out.json")
    assert [(e["before"], e["after"]) for e in result["edges"]] == [("b", "p"), ("l", "p")]
    assert result["unseen"] == {"tea": ["s"]}
    assert "no performance has 1 of the steps ('s'); they are in no order" in result["warnings"]
    (graph,) = load_graphs(tmp_path / "out.json").graphs
    assert [(s.id, s.text) for s in graph.steps][-2:] == [("p", "Pour"), ("s", "Sugar")]
    del value["steps"]["s"]
    source.write_text(json.dumps(value | {"performances": {"ana": ["b", "p"]}}), encoding="utf-8")
    result = induce_graphs(source)
    assert result["unseen"] == {"tea": ["l"]}
    assert result["activities"][0]["least_together"] == 1
    source.write_text(json.dumps(value | {"id": "t1", "name": "Tea"}), encoding="utf-8")
    (row,) = induce_graphs(source)["activities"]
    assert (row["id"], row["name"]) == ("t1", "Tea")
    source.write_text(json.dumps(value | {"id": 1}), encoding="utf-8")
    with pytest.raises(UserError, match='"id" is a number; a text was expected'):
        induce_graphs(source)
    source.write_text('{"steps": ["a", "b"], "performances": ["b", "a"]}', encoding="utf-8")
    assert induce_graphs(source)["activities"][0]["recordings"] == 2, "two orders that are called so"


def test_nothing_that_is_read_is_written_over(tmp_path: Path) -> None:
    orders, reference = tmp_path / "orders.json", tmp_path / "tea.json"
    orders.write_text('[["a", "b"], ["a", "b"]]', encoding="utf-8")
    induce_graphs(orders, reference)
    (tmp_path / "again.json").symlink_to(orders)
    lines = tmp_path / "lines.jsonl"
    for files in (
        {"target": orders},
        {"target": tmp_path / "again.json"},
        {"target": reference, "reference": reference},
        {"support": lines, "review": lines},
    ):
        with pytest.raises(UserError, match="read and written, or written twice"):
            induce_graphs(orders, **files)
    assert orders.read_text(encoding="utf-8").startswith('[["a"')
    assert not lines.exists()
    induce_graphs(orders, review=lines)
    induce_graphs(orders, review=lines, reviewed=lines)


def test_the_method_is_the_likelihood_unless_something_says_how_to_count(tmp_path: Path) -> None:
    source = tmp_path / "tea.json"
    source.write_text('[["b", "l", "p"], ["l", "b", "p"]]', encoding="utf-8")
    found = induce_graphs(source, method=None)
    assert (found["method"], found["threshold"], found["min_support"], found["evidence"]) == (
        "likelihood", None, None, None,
    )  # fmt: skip
    assert {(e["before"], e["after"]) for e in found["edges"]} == {("b", "p"), ("l", "p")}
    assert all(0 < e["probability"] < 1 for e in found["edges"])
    assert [e["probability"] for e in found["edges"]] == sorted(e["probability"] for e in found["edges"])
    found = induce_graphs(source, method=None, min_support=2)
    assert (found["method"], found["threshold"], found["evidence"]) == ("counting", 1.0, "starts")
    assert {e["probability"] for e in found["edges"]} == {None}
    with pytest.raises(UserError, match="--min-support says how to count, and the method is the likelihood"):
        induce_graphs(source, method="likelihood", min_support=2)


@pytest.mark.parametrize("method", ["likelihood", "counting"])
@pytest.mark.parametrize(
    "orders",
    [[["a", "b", "c"]], [["a", "b"], ["b", "a"]], [["a", "b"], ["b", "c"], ["c", "a"]], [["a"], [], ["b"]]],
)
def test_little_and_contradicting_evidence_makes_a_graph_all_the_same(
    orders: list[list[str]], method: str, tmp_path: Path
) -> None:
    source = tmp_path / "o.json"
    source.write_text(json.dumps(orders), encoding="utf-8")
    found = induce_graphs(source, tmp_path / "out.json", method=method)
    (graph,) = load_graphs(tmp_path / "out.json").graphs
    assert set(graph.index) == {step for order in orders for step in order}
    assert len(found["edges"]) == len(graph.edges)


@pytest.mark.parametrize("method", ["likelihood", "counting"])
def test_texts_of_ten_megabytes_are_no_trouble(method: str, tmp_path: Path) -> None:
    value = {"steps": {"a": "x" * 10_000_000, "b" * 1_000_000: "y"}, "performances": [["a", "b" * 1_000_000]]}
    (tmp_path / "t.json").write_text(json.dumps(value), encoding="utf-8")
    assert induce_graphs(tmp_path / "t.json", method=method)["activities"][0]["steps"] == 2


def test_recordings_as_lines_are_compared_with_a_reference_of_the_same_name(
    workspace: Path, tmp_path: Path, diamond: TaskGraph
) -> None:
    Workspace(tmp_path).write_graphs({"other": replace(diamond, id="other", name=" g")})
    result = induce_graphs(workspace / "recordings.jsonl", reference=tmp_path / "graphs.json")
    assert result["agreement"]["recall"] == 0.8
    assert induce_graphs(workspace / "recordings.jsonl")["agreement"] is None


@pytest.mark.parametrize("name", ["activitynet.json", "tea.csv"])
def test_recordings_of_other_tools_do_as_well(name: str, tmp_path: Path) -> None:
    format_ = find_format(name.split(".")[0] if name.endswith("json") else "csv")
    assert format_.write is not None
    recordings = [_recording("r1", "abc", activity="tea"), _recording("r2", "bac", activity="tea")]
    format_.write(recordings, tmp_path / name)
    from_ = format_.name if name.endswith("json") else None
    (row,) = induce_graphs(tmp_path / name, tmp_path / "out.dot", from_=from_)["activities"]
    assert (row["recordings"], row["steps"], row["edges"]) == (2, 3, 2)


def test_one_graph_is_compared_with_one_whatever_they_are_called(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "orders.json").write_text('[["a", "b", "c", "d"], ["a", "c", "b", "d"]]', encoding="utf-8")
    result = induce_graphs(tmp_path / "orders.json", tmp_path / "out.json", reference=workspace)
    assert result["agreement"]["f1"] == 1.0
    assert load_graphs(tmp_path / "out.json").graphs[0]["a"].text == "do a"


def test_activities_are_chosen_and_kept_apart(tmp_path: Path) -> None:
    recordings = [_recording("r1", "ab"), _recording("r2", "ba", activity="h")]
    write_jsonl(tmp_path / "r.jsonl", recordings)
    result = induce_graphs(tmp_path / "r.jsonl", tmp_path / "out.graphml")
    assert [(r["id"], r["edges"]) for r in result["activities"]] == [("g", 1), ("h", 1)]
    assert [g.edges for g in load_graphs(tmp_path / "out.graphml").graphs] == [(("a", "b"),), (("b", "a"),)]
    assert [r["id"] for r in induce_graphs(tmp_path / "r.jsonl", activities=["H"])["activities"]] == ["h"]
    with pytest.raises(UserError, match="there is no activity 'tea'"):
        induce_graphs(tmp_path / "r.jsonl", activities=["tea"])


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("[]", {}, "no performance has a step"),
        ("7", {}, "a list of orders was expected"),
        ('[["a"], 3]', {}, "order 2 is not a list of steps"),
        ('[["a", 1.5]]', {}, "order 1 is not a list of steps"),
        ('{"a": ["x"], "a": ["y"]}', {}, "the key 'a' occurs twice"),
        ('[["a", true]]', {}, "order 1 is not a list of steps"),
        ('[["a"', {}, "not valid JSON"),
        ('{"steps": {"a": "x"}}', {}, "no performance has a step"),
        ('{"steps": {"a": "x"}, "performances": []}', {}, "no performance has a step"),
        (
            '{"steps": {"a": "x"}, "performances": [["b"]]}',
            {},
            "performance 1 has the step 'b', which is not",
        ),
        ('{"steps": {"a": "x", "a": "y"}, "performances": []}', {}, "the key 'a' occurs twice"),
        ('{"steps": {"a": 1}, "performances": []}', {}, "the text of step 'a' is a number"),
        ('{"steps": {"a": "x"}, "performances": [["a"]], "order": 1}', {}, "the key 'order' is not known"),
        ('{"steps": [{"id": "a"}], "performances": [["a"]]}', {}, '"steps" is no object of texts'),
        ('{"steps": {"a": "x"}, "performances": 3}', {}, "a list of orders was expected"),
        ('[["a"]]', {"threshold": 0.4}, "the threshold is 0.4"),
        ('[["a"]]', {"evidence": "ends"}, "--evidence is 'ends'"),
        ('[["a"]]', {"without": ["order"]}, "orders carry no mistakes"),
        ('[["START", "a"]]', {"terminals": True}, "has a step 'START'"),
        ('[["a"]]', {"from_": "graphml"}, "gives no recordings"),
        ('[["a"]]', {"from_": "nothing"}, "there is no format 'nothing'"),
    ],
)
def test_what_is_wrong_with_orders_is_told(
    text: str, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    source = tmp_path / "o.json"
    source.write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as error:
        induce_graphs(source, **options)
    assert message in str(error.value)


def test_recordings_that_give_nothing_are_told(tmp_path: Path, workspace: Path) -> None:
    (tmp_path / "r.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="there are no recordings in it"):
        induce_graphs(tmp_path / "r.jsonl")
    write_jsonl(tmp_path / "r.jsonl", [_recording("r", "ab", (Mistake("order"),))])
    with pytest.raises(UserError, match=r"1 recording\(s\) were left out"):
        induce_graphs(tmp_path / "r.jsonl", without=["any"])
    with pytest.raises(UserError, match="there is no data set 'nothing'"):
        induce_graphs(workspace, dataset="nothing")


def test_contradicting_recordings_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.procedure.induce.TANGLE_LIMIT", 2)
    (tmp_path / "o.json").write_text('[["a", "b"], ["b", "c"], ["c", "a"]]', encoding="utf-8")
    with pytest.raises(UserError, match="the recordings contradict one another: 3 steps"):
        induce_graphs(tmp_path / "o.json")


# -- into a workspace --------------------------------------------------------------------------------------------


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A workspace as ``read`` leaves it for a data set without task graphs."""
    place = Workspace(tmp_path / "bare")
    place.create()
    skipped = Recording("r2", "g", "G", (*_recording("r2", "abd").segments, Segment("c", "do c", None, None)))
    write_jsonl(
        place.file("recordings.jsonl"), [_recording("r1", "abd"), skipped, _recording("h1", "xy", (), "h")]
    )
    place.write_graphs({})
    place.record("read", settings={}, counts={}, outputs=["recordings.jsonl", "graphs.json"])
    return place.root


def test_induced_graphs_go_into_a_workspace_and_lead_to_questions(bare: Path) -> None:
    assert derive(bare).examples == 0
    result = induce_graphs(bare, write=True)
    assert result["written"] == ["g", "h"]
    assert result["agreement"] is None
    graphs = Workspace(bare).graphs()
    assert set(graphs["g"].edges) == {("a", "b"), ("b", "d")}
    assert [(s.id, s.text) for s in graphs["g"].steps][-1] == (
        "c",
        "do c",
    )  # skipped by all: known, in no order
    assert Workspace(bare).stale() == [
        "graphs.json changed after 'derive' had read it: run 'proctor derive' again"
    ]
    assert derive(bare).examples > 0
    assert Workspace(bare).stale() == []


def test_steps_of_recordings_without_a_say_are_in_the_graph(bare: Path) -> None:
    recordings = [_recording("r1", "ab"), _recording("r2", "azb", (Mistake("order"),))]
    write_jsonl(bare / "recordings.jsonl", recordings)
    induce_graphs(bare, write=True, without=["order"], terminals=True)
    graph = Workspace(bare).graphs()["g"]
    assert {s.id for s in graph.actions} == {"a", "b", "z"}
    assert graph.start is not None
    assert derive(bare).recordings == 2


def test_what_was_induced_may_be_induced_again_and_is_no_reference(bare: Path) -> None:
    induce_graphs(bare, write=True)
    result = induce_graphs(bare, write=True, min_support=2, activities=["g"])
    assert (result["written"], result["agreement"]) == (["g"], None)
    assert set(Workspace(bare).graphs()) == {"g", "h"}
    assert Workspace(bare).stages()["graph induce"].settings["induced"] == ["g", "h"]
    assert induce_graphs(bare)["agreement"] is None  # found twice is no agreement


def test_graphs_that_came_with_the_data_are_not_replaced(
    workspace: Path, bare: Path, diamond: TaskGraph
) -> None:
    before = (workspace / "graphs.json").read_bytes()
    with pytest.raises(UserError, match="came with the data; it is not replaced"):
        induce_graphs(workspace, write=True)
    assert (workspace / "graphs.json").read_bytes() == before
    Workspace(bare).write_graphs({"g": diamond})
    assert induce_graphs(bare, write=True)["written"] == ["h"]
    assert Workspace(bare).graphs()["g"] == diamond
    with pytest.raises(UserError, match="'g' has a task graph"):
        induce_graphs(bare, write=True, activities=["g"])


def test_a_graph_without_any_edge_says_nothing_and_is_filled(bare: Path) -> None:
    steps = tuple(Step(s, f"do {s}") for s in "abcdq")
    Workspace(bare).write_graphs({"g": TaskGraph("g", "G", steps, ())})
    induce_graphs(bare, write=True, activities=["g"])
    graph = Workspace(bare).graphs()["g"]
    assert set(graph.edges) == {("a", "b"), ("b", "d")}
    assert "q" in graph


def test_only_a_workspace_takes_graphs(tmp_path: Path, bare: Path) -> None:
    (tmp_path / "o.json").write_text('[["a", "b"]]', encoding="utf-8")
    with pytest.raises(UserError, match="--write puts graphs into a workspace") as raised:
        induce_graphs(tmp_path / "o.json", write=True)
    assert "proctor read" in (raised.value.hint or "")
    with pytest.raises(UserError, match="--write puts graphs"):
        induce_graphs(bare, write=True, dataset="plain")


def _numbered(id_: str, *texts: str) -> Recording:
    segments = tuple(Segment(str(n), text, float(n), n + 0.5) for n, text in enumerate(texts))
    return Recording(id_, "g", "G", segments)


def test_an_order_of_mere_numbers_is_refused(bare: Path) -> None:
    recordings = [_numbered("v1", "Cut the bread", "Eat"), _numbered("v2", "Boil an egg", "Cut the bread")]
    write_jsonl(bare / "recordings.jsonl", recordings)
    (warning, *_) = induce_graphs(bare)["warnings"]
    assert "'0' is 'cut the bread' in v1 and 'boil an egg' in v2" in warning
    with pytest.raises(UserError, match="only numbered within each recording"):
        induce_graphs(bare, write=True)
    assert Workspace(bare).graphs() == {}
    same = [_numbered("v1", "Cut  the bread", "Eat"), _numbered("v2", "cut the bread", "Eat")]
    write_jsonl(bare / "recordings.jsonl", same)
    assert induce_graphs(bare, write=True)["warnings"] == []


def test_edges_of_a_single_recording_are_told(bare: Path) -> None:
    (warning,) = induce_graphs(bare, activities=["h"])["warnings"]
    assert warning.startswith("1 of 1 edges rest on a single recording")
    assert induce_graphs(bare, activities=["g"])["warnings"] == []


@pytest.mark.shared
def test_captaincook4d_as_a_data_set(shared_data: Path, tmp_path: Path) -> None:
    result = induce_graphs(
        shared_data / "captaincook4d", tmp_path / "out.graphml", dataset="captaincook4d", without=["order"]
    )
    agreement = result["agreement"]
    assert agreement["activities"] == len(result["activities"]) == 24
    assert round(agreement["precision"], 3) == 0.972
    assert round(agreement["recall"], 3) == 0.977
    assert sum(r["recordings"] for r in result["activities"]) == 267
    assert all(not r["agreement"]["steps_not_known"] for r in result["activities"])
    assert lint_graphs([tmp_path / "out.graphml"])["broken"] == 0
