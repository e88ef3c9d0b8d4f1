"""Random bytes flipped in files of lines, where a cut within a line may leave a sound one and is not to be seen.

``attacks.survive`` asserts of random bytes that nothing is lost silently; that cannot hold when ``1,2,3\\n4,5,6`` becomes
``1,5,6``. Here everything else is asserted: records or a ``UserError``, in time, every record valid, and every rule and
reason that is told explained in the declaration.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

from tests.datasets.attacks import (
    SECONDS,
    assert_readable,
    assert_valid,
    declared_files,
    flipped,
    limited,
    working_copy,
)

from proctor.datasets.dataset import Dataset, Log
from proctor.errors import UserError

__all__ = ["survive_flips"]


def survive_flips(dataset: Dataset, folder: Path, tmp_path: Path, number: int, seed: int = 0) -> Counter[str]:
    """Flip bytes of the declared files in turn, ``number`` times in all; options take turns.

    Returns:
        How the cases ended: ``read`` or ``refused``.
    """
    target = working_copy(folder, tmp_path)
    ways = [{}, *({name: value} for name, values in dataset.options.items() for value in values[1:])]
    originals = {path: path.read_bytes() for path in declared_files(dataset, target)}
    rng = random.Random(f"{seed} {dataset.name}")
    ended: Counter[str] = Counter()
    for case in range(number):
        path, original = list(originals.items())[case % len(originals)]
        data = flipped(original, rng)
        path.write_bytes(data)
        ended[
            _read(dataset, target, f"{path.name}: {data!r}", ways[(case // len(originals)) % len(ways)])
        ] += 1
        path.write_bytes(original)
    return ended


def _read(dataset: Dataset, folder: Path, name: str, options: dict[str, str]) -> str:
    log = Log()
    try:
        with limited(SECONDS):
            records = tuple(dataset.iter_records(folder, "published", log, **options))
    except UserError as error:
        assert_readable(error, name)
        return "refused"
    assert_valid(records)
    assert {*log.reasons, *(f.rule for f in log.findings)} <= set(dataset.rules), name
    return "read"
