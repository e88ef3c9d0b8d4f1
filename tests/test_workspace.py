"""The workspace: settings there and back, what is stale, and names that must not leave the folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.errors import UserError
from proctor.procedure.graph import TaskGraph
from proctor.records import Dropped
from proctor.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path / "bench")
    made.create()
    return made


@pytest.mark.parametrize(
    ("records", "published"),
    [
        ((), False),
        ((("derive", {"protocol": "corrected"}),), False),
        ((("derive", {"protocol": "published"}),), True),
        ((("build", {"accept": "published"}),), True),
        ((("build", {"accept": "oracle"}),), False),
        ((("build", {"accept": "published"}), ("derive", {"protocol": "corrected"})), False),
    ],
)
def test_the_published_protocol_is_known_by_what_was_derived_or_imported(
    workspace: Workspace, records: tuple[tuple[str, dict[str, str]], ...], published: bool
) -> None:
    for stage, settings in records:
        workspace.record(stage, settings=settings, counts={})
    assert workspace.published is published


class TestSettings:
    DEFAULTS = {"protocol": "corrected", "limit": None, "share": 0.5, "strict": False}  # noqa: RUF012

    def test_nothing_is_written_before_the_stage_succeeds(self, workspace: Workspace) -> None:
        assert workspace.settings("derive", {}, self.DEFAULTS) == self.DEFAULTS
        assert not workspace.file("proctor.toml").exists()

    def test_what_a_stage_used_is_written_down(self, workspace: Workspace) -> None:
        workspace.record("derive", settings=self.DEFAULTS, counts={})
        assert 'protocol = "corrected"' in workspace.file("proctor.toml").read_text()

    def test_a_flag_wins_and_holds_from_then_on(self, workspace: Workspace) -> None:
        workspace.keep("derive", workspace.settings("derive", {"protocol": "published"}, self.DEFAULTS))
        assert workspace.settings("derive", {"protocol": None}, self.DEFAULTS)["protocol"] == "published"

    def test_comments_and_other_stages_survive(self, workspace: Workspace) -> None:
        workspace.file("proctor.toml").write_text('# mine\n[read]\ndataset = "plain"  # why\n')
        workspace.keep("derive", workspace.settings("derive", {}, self.DEFAULTS))
        text = workspace.file("proctor.toml").read_text()
        assert "# mine" in text
        assert "# why" in text
        assert "[derive]" in text

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("[derive]\nprotocoll = 'x'\n", "unknown key 'protocoll'"),
            ("[derive]\nprotocol = 3\n", "'protocol' is 3"),
            ("[derive]\nstrict = 1\n", "'strict' is 1"),
            ("derive = 3\n", "must be a table"),
            ("[derive\n", "not valid TOML"),
        ],
    )
    def test_a_broken_file_is_explained(self, workspace: Workspace, text: str, message: str) -> None:
        workspace.file("proctor.toml").write_text(text)
        with pytest.raises(UserError, match=message):
            workspace.settings("derive", {}, self.DEFAULTS)

    def test_bytes_that_are_no_text(self, workspace: Workspace) -> None:
        workspace.file("proctor.toml").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(UserError, match="not valid TOML"):
            workspace.settings("derive", {}, self.DEFAULTS)


class TestFiles:
    def test_a_missing_file_names_the_command(self, workspace: Workspace) -> None:
        with pytest.raises(UserError, match="proctor derive"):
            workspace.require("examples.jsonl")

    def test_a_missing_workspace_says_how_to_start(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="proctor read"):
            Workspace(tmp_path / "none").require("examples.jsonl")

    def test_a_file_is_no_workspace(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(UserError, match="cannot be used as a workspace"):
            Workspace(tmp_path / "file").create()

    def test_a_broken_graph_is_explained(self, workspace: Workspace) -> None:
        graph = b'{"a": {"id": "a", "name": "A", "steps": [{"id": "1", "text": "x"}], "edges": [["1", "1"]]}}'
        workspace.file("graphs.json").write_bytes(graph)
        with pytest.raises(UserError, match="its own prerequisite"):
            workspace.graphs()

    def test_graphs_there_and_back(self, workspace: Workspace, diamond: TaskGraph) -> None:
        assert workspace.known_graphs() == {}
        workspace.write_graphs({"g": diamond})
        assert workspace.graphs() == workspace.known_graphs() == {"g": diamond}

    def test_the_same_graphs_are_checked_once(
        self, workspace: Workspace, diamond: TaskGraph, twins: TaskGraph
    ) -> None:
        workspace.write_graphs({"g": diamond})
        once = workspace.graphs()
        assert workspace.graphs()["g"] is once["g"]
        once["h"] = twins  # it is the caller's own
        assert workspace.graphs() == {"g": diamond}
        workspace.write_graphs({"g": twins})
        assert workspace.graphs() == {"g": twins}

    def test_dropped_are_counted_by_reason(self, workspace: Workspace) -> None:
        assert workspace.write_dropped("x", [Dropped("1", "b"), Dropped("2", "a"), Dropped("3", "b")]) == {
            "a": 1,
            "b": 2,
        }
        assert len(workspace.file("x.dropped.jsonl").read_text().splitlines()) == 3

    @pytest.mark.parametrize("name", ["", "..", ".hidden", "a/b", "..\\x", "a\0b", "x" * 200])
    def test_run_names_stay_inside(self, workspace: Workspace, name: str) -> None:
        with pytest.raises(UserError):
            workspace.run_folder(name)


class TestStale:
    def test_a_fresh_chain_is_not_stale(self, workspace: Workspace) -> None:
        self.chain(workspace)
        assert workspace.stale() == []

    def test_a_source_that_changed(self, workspace: Workspace) -> None:
        self.chain(workspace)
        workspace.file("recordings.jsonl").write_text("other\n")
        sentences = workspace.stale()
        assert any("run 'proctor derive' again" in s for s in sentences)
        assert any("changed by hand" in s for s in sentences)

    def test_a_file_belongs_to_the_stage_that_wrote_it_last(self, workspace: Workspace) -> None:
        self.chain(workspace)
        workspace.file("recordings.jsonl").write_text("other\n")
        workspace.record("other", settings={}, counts={}, outputs=["recordings.jsonl"])
        assert workspace.stages()["read"].outputs == {}
        assert workspace.stale() == [
            "recordings.jsonl changed after 'derive' had read it: run 'proctor derive' again"
        ]

    @staticmethod
    def chain(workspace: Workspace) -> None:
        workspace.file("recordings.jsonl").write_text("a\n")
        workspace.record("read", settings={}, counts={}, outputs=["recordings.jsonl"])
        workspace.file("examples.jsonl").write_text("b\n")
        workspace.record(
            "derive", settings={}, counts={}, inputs=["recordings.jsonl"], outputs=["examples.jsonl"]
        )
