"""The picture of the rooms is the one that the code gives, and the yardsticks count what they say."""

from __future__ import annotations

import importlib.util
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


def script(name: str) -> ModuleType:
    loader = SourceFileLoader(name.replace("-", "_"), str(ROOT / "scripts" / name))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


DRAW = script("draw-architecture")
YARDSTICKS = script("yardsticks")


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_the_picture_is_the_one_that_the_code_gives() -> None:
    arrows = DRAW.reduced(DRAW.read_imports(ROOT / "src"))
    rows = DRAW.rows_of(arrows, DRAW.read_layers(ROOT / "pyproject.toml"))
    assert DRAW.PICTURE.read_text(encoding="utf-8") == DRAW.draw(rows, arrows), (
        "run scripts/draw-architecture"
    )
    assert sorted(room for row in rows for room in row) == sorted(arrows)
    level = {room: n for n, row in enumerate(rows) for room in row}
    assert all(level[room] < level[used] for room, others in arrows.items() for used in others)


def test_only_real_imports_make_arrows(tmp_path: Path) -> None:
    write(
        tmp_path / "proctor",
        {
            "cli/main.py": "from proctor import stages\nimport proctor.errors\n",
            "stages/__init__.py": "def run():\n    from proctor.llm.call import ask\n    return ask\n",
            "llm/call.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from proctor.cli.main import main\n",
            "errors.py": "",
        },
    )
    imports = DRAW.read_imports(tmp_path)
    assert imports == {"cli": {"stages"}, "stages": {"llm"}, "llm": set()}
    assert DRAW.reduced({**imports, "cli": {"stages", "llm"}}) == {
        "cli": ["stages"],
        "stages": ["llm"],
        "llm": [],
    }
    assert DRAW.reduced({"cli": {"stages"}, "stages": {"cli", "llm"}, "llm": set()}) == {
        "cli ⇄ stages": ["llm"],
        "llm": [],
    }


def test_yardsticks_count_what_they_say(tmp_path: Path) -> None:
    package = write(
        tmp_path,
        {
            "stages/a.py": (
                "from proctor.verify.b import facts\n"
                "def run(*, seed: int = 0) -> dict[str, Any]:\n    return _once() | _twice() | _twice() | facts()\n"
                'def _once():\n    """Said."""\n    return {}\n'
                "def _twice():\n    return {}\n"
            ),
            "verify/b.py": "def facts() -> dict[str, Any]:\n    return {}\ndef own() -> dict[str, Any]:\n    return {}\n",
            "cli/c.py": 'x = typer.Option("--seed", help="")\ny = typer.Option("--limit/--all")\n',
            "llm/d.py": (
                "from proctor import settings\n"
                "class Calls(settings.Settings):\n"
                "    section: ClassVar[str] = ''\n"
                '    max_cost: Annotated[int, option("Dollars.")] = 0\n'
            ),
            "exam/f.py": (
                "from proctor.llm.d import Calls\n"
                'Day: TypeAlias = Annotated[str, option("Of the year.")]\n'
                "class One(Calls):\n    day: Day\n"
                'class Two(Calls):\n    day: Day\n    max_cost: Annotated[int, option("Dollars.")] = 1\n'
            ),
            "exam/g.py": "class Calls:\n    other: int = 0\n",
            "llm/standin/e.py": "x = 1\n",
        },
    )
    everything = YARDSTICKS.read_modules(package)
    modules = [m for m in everything if not YARDSTICKS.REHEARSAL.match(m.path)]
    assert len(everything) - len(modules) == 1
    assert YARDSTICKS.size(modules)["statements"] == 27
    assert YARDSTICKS.used_once(modules) == ["stages/a.py:4: _once"]
    loose = YARDSTICKS.loose_results(modules)
    assert [[w.rpartition(" ")[2] for w in found] for found in loose.values()] == [["run"], ["facts"]]
    places = YARDSTICKS.option_places(modules)
    assert {flag: len(found) for flag, found in places.items()} == {
        "--seed": 2,
        "--limit": 1,
        "--max-cost": 2,
        "--day": 1,
    }
    assert [found.rpartition(" ")[2] for found in YARDSTICKS.repeated_options(modules)] == ["max_cost"]
