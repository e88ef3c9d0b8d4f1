"""The named faults of the engine fit today's code, so that the list cannot rot unseen."""

from __future__ import annotations

from pathlib import Path

from tests.faults.engine import FAULTS

_ROOT = Path(__file__).parents[2]


def test_every_named_fault_fits_the_code() -> None:
    texts = {fault.file: (_ROOT / "src/proctor" / fault.file).read_text() for fault in FAULTS}
    assert {f.name: n for f in FAULTS if (n := texts[f.file].count(f.old)) != 1} == {}
    assert [test for f in FAULTS for test in f.tests if not (_ROOT / "tests" / test).is_file()] == []
    assert len({f.name for f in FAULTS}) == len(FAULTS) >= 40
