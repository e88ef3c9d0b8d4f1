"""docs/new-metric.md, followed by somebody who touches no file of the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.docs.outsider import Outsider, assert_seen, types


@types("new-metric.md")
def test_the_page_followed_as_typed(tmp_path: Path) -> None:
    me = Outsider("new-metric.md", tmp_path, "proctor_timing.py")
    me.install()
    for name, text in zip(("gt.csv", "pred.csv"), me.blocks("csv"), strict=True):
        (tmp_path / name).write_text(text)
    commands = [(words, shown) for words, shown in me.typed(0) if words[0] != "pip"]
    assert len(commands) == 3
    for words, shown in commands:
        assert shown
        done = me.type(words)
        assert done.status == 0, (words, done.err)
        assert_seen(shown, done)
    assert "<title>timing" in (tmp_path / "timing.html").read_text()

    code = me.module.read_text()
    ((words, shown),) = me.typed(1)

    def refused(before: str, after: str) -> str:
        me.module.write_text(code.replace(before, after))
        done = me.type(words)
        assert done.status == 2
        assert "Traceback" not in done.err
        return done.err

    assert refused("pred.numbers", "pred.number").splitlines() == shown
    assert "returned NoneType, which is no table of scores" in refused(
        "return ScoreTable(", "_ = ScoreTable("
    )
    assert "the family 'timing' of proctor-timing is not a ScoreFamily" in refused(
        "FAMILY = ScoreFamily", "FAMILY = dict"
    )
    me.module.write_text("import nothing_of_that_name\n")
    assert me.type(commands[0][0]).status == 0  # whoever asks for help does not load what others brought


def test_the_first_help_asks_nobody_for_families() -> None:
    code = "import sys; sys.argv[1:] = ['--help']\ntry:\n from proctor.cli.main import main; main()\nfinally: assert 'proctor.stages.scoring' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0
