import ast
import subprocess
import sys
from pathlib import Path

import pytest

from proctor import metrics
from proctor.metrics.catalogue import catalogue


def test_every_public_name_is_found():
    for name in metrics.__all__:
        assert getattr(metrics, name).__name__ == name
    assert dir(metrics) == sorted(metrics.__all__)
    # A submodule of the same name would take the function's place once it is imported.
    assert not set(metrics.__all__) & {path.stem for path in Path(metrics.__file__).parent.iterdir()}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(metrics, "nothing")  # noqa: B009 - the plain form looks like a statement without effect


def test_every_metric_of_the_catalogue_can_be_had_from_the_package():
    modules = {path.stem for path in Path(metrics.__file__).parent.iterdir()}
    for entry in catalogue():
        name = entry.function.partition(":")[2]
        assert name in metrics.__all__ or name in modules, name


def test_type_checkers_see_the_same_names():
    tree = ast.parse(Path(metrics.__file__).read_text())
    block = next(n for n in tree.body if isinstance(n, ast.If))
    seen = {a.asname: n.module for n in block.body for a in n.names}
    assert seen == {n: f"proctor.metrics.{m}" for n, m in metrics._PLACES.items()}


def test_importing_loads_nothing_heavy():
    code = (
        "import sys, proctor.metrics\nprint([m for m in ('numpy', 'scipy', 'torch') if m in sys.modules])\n"
        "from proctor.metrics.catalogue import catalogue\ncatalogue()\n"
        "print([m for m in ('scipy', 'sklearn', 'torch', 'transformers', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "[]"]
