"""Plain: our own folder format, for recordings of any activity of any domain.

A folder with ``activities/*.json`` (steps and what must come before what), ``recordings/*.json`` or
``recordings.jsonl`` (who did which step when, and what went wrong) and, if wished, ``dataset.json`` (name, version,
licence, citation). ``docs/datasets/plain.md`` walks through it, ``plain_schema`` returns its JSON Schema.
"""

from __future__ import annotations

from proctor.datasets.dataset import DataFile, Dataset
from proctor.datasets.plain.check import PLAIN_RULES, check_plain
from proctor.datasets.plain.format import plain_schema
from proctor.datasets.plain.read import read_performances, read_plain
from proctor.datasets.plain.write import write_plain

__all__ = ["DATASET", "PLAIN_RULES", "check_plain", "plain_schema", "read_plain", "write_plain"]

DATASET = Dataset(
    name="plain",
    title="plain recordings folder",
    version="1",
    licence="as dataset.json of the folder says",
    citation="as dataset.json of the folder says",
    homepage="docs/datasets/plain.md",
    files=(
        DataFile("activities/*.json", "one activity a file: its steps and what must come before what"),
        DataFile("recordings/*.json", "one recording a file", required=False),
        DataFile("recordings.jsonl", "one recording a line", required=False),
        DataFile("dataset.json", "name, version, licence and citation", required=False),
    ),
    read=read_plain,
    check=check_plain,
    performances=read_performances,
    spreads=True,
)
