"""Rounds of naming other right orders: what people name joins the file of people's orders, and what most name become references."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from proctor.datasets.golden import Ballot
from proctor.datasets.sequence_files import write_sequences
from proctor.metrics.order_agreement import AlternativeInstance, alternative_order_agreement, majority_vote
from proctor.records import write_jsonl
from proctor.said import say_in
from proctor.stages.naming import file_name
from proctor.stages.order_people import OrderRecord, read_people
from proctor.stages.rounds.opening import Collected, Made
from proctor.stages.rounds.order import SHOWN, line_of, ordered_items, sequence_of, still_asked, tasks_of
from proctor.stages.rounds.settings import AlternativesSettings
from proctor.verify.rounds.agreement import Figures, as_estimate
from proctor.verify.rounds.alternatives import AlternativesOptions, AlternativesSheet
from proctor.verify.rounds.records import Reading, Round
from proctor.workspace import Workspace

__all__ = ["collect", "make"]

_INSTRUCTIONS: Final = say_in(
    "a shipped round",
    """\
Each page shows the steps of a manual in the order in which they were written. Name every other order in which they could be done just
as well: copy the order and rearrange it, or link neighbours that may swap. If there is no other order, say so.
""",
)


def make(workspace: Workspace, settings: AlternativesSettings) -> Made:
    """Return the items of a workspace as tasks, in their authored order; who puts one in order never gets it (D4).

    Raises:
        UserError: if no item is answered by an order, or one that is asked for is none.
    """
    tasks, dropped = tasks_of(workspace, settings, shuffled=False)
    options = AlternativesOptions(votes=settings.votes)
    return Made(tasks=tasks, options=options, dropped=dropped, instructions=_INSTRUCTIONS)


def collect(workspace: Workspace, round_: Round, readings: Sequence[Reading], out: Path | None) -> Collected:
    """Write ``alternatives.jsonl`` for tables, ``<round>.sequences.jsonl`` with the orders that most people name, and the votes.

    An order is kept if more than half of those who looked at a manual in this modality name it; the authored one is always right.
    """
    items, left = ordered_items(workspace), Counter[str]()
    folder = out or workspace.file("rounds") / file_name(round_.name)
    lines, ballots = list[OrderRecord](), list[Ballot]()
    for reading, item in still_asked(readings, items, left):
        sheet = msgspec.json.decode(reading.sheet, type=AlternativesSheet)
        lines += [line_of(reading, item, lane, phase="alternative") for lane in sheet.lanes or (None,)]
        if sheet.values and all(ballot.id != item.id or ballot.rater != reading.person for ballot in ballots):
            said = (sheet.values[name] == "yes" for name in ("procedural", "complementary"))
            ballots.append(Ballot(item.id, reading.person, *said))
    sequences = {id_: sequence_of(item) for id_, item in items.items()}
    files = [folder / "alternatives.jsonl"]
    write_jsonl(files[0], lines)
    instances: dict[str, dict[str, AlternativeInstance]] = defaultdict(dict)
    several = 0
    for (id_, modality), series in read_people(files[0], sequences).series.items():
        one = sequences[id_]
        instances[modality][id_] = AlternativeInstance(one.authored, series)
        voted = majority_vote(one.authored, list(series.values()), quorum=2)
        orders = (tuple(map(int, order)) for order in (*one.orders(modality), *voted))
        sequences[id_] = replace(one, references={**one.references, modality: tuple(dict.fromkeys(orders))})
        several += len(sequences[id_].orders(modality)) > 1
    clusters = {id_: item.question.cluster or id_ for id_, item in items.items()}
    numbers = {
        f"{SHOWN[modality]}, agreement (Algorithm 1)": as_estimate(alternative_order_agreement(found, clusters=clusters))
        for modality, found in instances.items()
    }  # fmt: skip
    files.append(workspace.file(f"{file_name(round_.name)}.sequences.jsonl"))  # pictures are found from there
    write_sequences(files[-1], sequences.values())
    if ballots:
        files.append(folder / "ballots.jsonl")
        write_jsonl(files[-1], ballots)
    counts = {"manuals and modalities": sum(map(len, instances.values())), "with several right orders": several}  # fmt: skip
    figures = Figures(counts={**counts, "votes": len(ballots), **left}, numbers=numbers)
    after = f"next: proctor study order-table 5 --sequences {files[1]}"
    return Collected(files=tuple(files), lines=(*figures.lines(), after), figures=figures)
