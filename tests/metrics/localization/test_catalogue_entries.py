from importlib import import_module

import pytest

from proctor.metrics.localization import METRICS
from proctor.metrics.score import Signature


@pytest.mark.parametrize("entry", METRICS, ids=lambda entry: entry.name)
def test_entry(entry):
    module, function = entry.function.split(":")
    assert callable(getattr(import_module(f"proctor.metrics.{module}"), function))
    signature = Signature.parse(entry.signature)
    assert signature.name == entry.name
    assert str(signature) == entry.signature  # keys in their order
    assert entry.range == "0 to 1"
    assert entry.family == "localization"
    assert entry.direction == "higher"
    assert entry.definition.endswith(".")
    assert entry.citation


def test_names_are_unique():
    assert len({entry.name for entry in METRICS}) == len(METRICS) == 4
