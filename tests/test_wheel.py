"""The built wheel, unpacked anywhere: everything that the package reads is in it, and it needs nothing around it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose name is no easy one, with the contents of both wheels, each in a folder called like its package."""
    pytest.importorskip("hatchling", reason="needs hatchling to build the wheel")
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "-w",
            folder,
            ROOT,
            ROOT / "src" / "proctor_rehearsal",
        ],
        check=True,
        timeout=120,
        env={**os.environ, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )
    target = folder / "a folder, é \u6f22"
    for name, package in (("proctor_bench", "proctor"), ("proctor_rehearsal", "proctor_rehearsal")):
        (wheel,) = folder.glob(f"{name}-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(target / package)
    return target


@pytest.fixture
def installed(unpacked: Path) -> Path:
    """The contents of proctor's wheel alone."""
    return unpacked / "proctor"


def proctor(installed: Path, *words: object, home: Path) -> subprocess.CompletedProcess[str]:
    """Run the command from the wheel alone: no home that can be written, no UTF-8 locale, no way out."""
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(installed),
        "HOME": "/proc/nowhere",
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "https_proxy": "http://127.0.0.1:9",
        "http_proxy": "http://127.0.0.1:9",
    }
    code = "from proctor.cli.main import main; import proctor, sys; sys.stderr.write(proctor.__file__ + '\\n'); main()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        capture_output=True,
        encoding="utf-8",
        cwd=home,
        env=environment,
        timeout=170,
        check=False,
    )


@pytest.mark.parametrize("package", ["proctor", "proctor_rehearsal"])
def test_every_file_of_the_package_is_in_the_wheel(unpacked: Path, package: str) -> None:
    ours, theirs = ROOT / "src" / package, unpacked / package / package
    wanted = {
        str(p.relative_to(ours)) for p in ours.rglob("*") if p.is_file() and "__pycache__" not in p.parts
    }
    there = {str(p.relative_to(theirs)) for p in theirs.rglob("*") if p.is_file()}
    assert wanted - there == ({"pyproject.toml"} if package == "proctor_rehearsal" else set())
    if package == "proctor":
        assert any(name.endswith(".html.j2") for name in there)
        assert any(name.startswith("datasets/corrections/") and name.endswith(".json") for name in there)
    assert {path.name for path in (unpacked / package).iterdir() if path.suffix != ".dist-info"} == {package}


def test_the_job_runs_from_the_wheel_in_a_bare_place(installed: Path, tmp_path: Path) -> None:
    home = tmp_path / "ein Ordner, \u00fc"
    home.mkdir()
    done = proctor(installed, "demo", "demo", "--no-video", home=home)
    assert done.returncode == 0, done.stderr[-2_000:]
    assert "/a folder, " in done.stderr  # it was the wheel's code, not that of the checkout
    assert (home / "demo").is_dir()
    checked = proctor(installed, "datasets", "check", "plain", "demo/sample", "--json", home=home)
    assert checked.returncode == 0, checked.stderr[-2_000:]
    assert json.loads(checked.stdout)["dataset"] == "plain"
