import ast
import re
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
    seen = {a.name: n.module for n in block.body for a in n.names}
    assert seen == {n: f"proctor.metrics.{m}" for n, m in metrics._PLACES.items()}


# What a function may return that is no score, by what its name says.
SAYS = {
    "bool": r"is_",
    "None": r"require_",
    "int": r".*_items",
    "float": r".*_probability",
    "PValue": r".*_test|chi_square|fisher_exact|mann_whitney|mcnemar",
    "tuple[float | None, ...]": r"holm|benjamini_hochberg",  # p-values, corrected
}
VERBS = r"(apply|choose|compare|decode|match|measure|order|parse|rank|ranks|repair|suppress)_\w+"
RECORDS = {  # several numbers that belong together, and the word of the name that says so
    "Detectable": r".*detectable.*", "Interval": r".*_interval", "LetterBalance": r".*_balance",
    "Overlap": r".*_overlap", "StyleOverlap": r".*_overlap", "PartialOrder": r"partial_order_.*",
    "tuple[tuple[Step, ...], ...]": r"majority_vote", "Concurrence": r".*_concurrence",
}  # fmt: skip


def test_every_public_function_returns_a_score_or_its_name_says_what():
    """As docs/metrics.md says, names in the plural return one number an item, records and tests are called so."""
    for name in metrics.__all__:
        function = getattr(metrics, name)
        if isinstance(function, type):
            continue
        made = function.__annotations__["return"]
        if made in ("Score", "dict[str, Score]") or re.fullmatch(VERBS, name):
            continue
        says = {**SAYS, **RECORDS}.get(made, r"(\w+_)?\w+[^s_]s(_at_\w+|_by_\w+)?")
        assert re.match(says, name) if says.endswith("_") else re.fullmatch(says, name), (name, made)


def test_names_that_differ_in_number_only_are_one_measure():
    """``average_precision`` of a class beside ``average_precisions`` of rankings would be two things."""
    for name in metrics.__all__:
        one = re.sub(r"s(?=_at_|$)", "", name)
        if one != name and one in metrics.__all__:
            assert getattr(metrics, one).__module__ == getattr(metrics, name).__module__


def test_importing_loads_nothing_heavy():
    code = (
        "import sys, proctor.metrics\nprint([m for m in ('numpy', 'scipy', 'torch') if m in sys.modules])\n"
        "from proctor.metrics.catalogue import catalogue\ncatalogue()\n"
        "print([m for m in ('scipy', 'sklearn', 'torch', 'transformers', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "[]"]
