"""Procedures of three domains, and moments in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from proctor.exam.kinds.example import Example, Performed, StepRef
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.progress import derive_progress
from proctor.procedure.recording import Mistake


def _graph(name: str, steps: Sequence[tuple[str, str, str]]) -> TaskGraph:
    """Build a graph from (id, text, ids that come before)."""
    edges = tuple((before, i) for i, _, needs in steps for before in needs.split())
    return TaskGraph(name, name, tuple(Step(i, text) for i, text, _ in steps), edges)


@pytest.fixture(scope="session")
def shelf() -> TaskGraph:
    """Assembly: a shelf."""
    return _graph(
        "Wall shelf",
        (
            ("mark", "Mark the drill holes on the wall", ""),
            ("drill", "Drill two 6 mm holes into the wall", "mark"),
            ("plugs", "Push the plugs into the holes", "drill"),
            ("sand", "Sand the edges of the board for 2 minutes", ""),
            ("oil", "Rub 3 tbsp linseed oil into the board", "sand"),
            ("bracket", "Screw the brackets to the wall with a screwdriver", "plugs"),
            ("lay", "Lay the board on the brackets", "bracket oil"),
            ("level", "Check the board with a spirit level", "lay"),
        ),
    )


@pytest.fixture(scope="session")
def assay() -> TaskGraph:
    """Laboratory: a small assay."""
    return _graph(
        "Protein assay",
        (
            ("label", "Label the tubes", ""),
            ("thaw", "Thaw the samples on ice for 10 minutes", ""),
            ("buffer", "Pipette 200 ul buffer into each tube", "label"),
            ("sample", "Add 5 ul sample to each tube", "buffer thaw"),
            ("vortex", "Vortex the tubes", "sample"),
            ("incubate", "Incubate at 37 degrees Celsius for 30 minutes", "vortex"),
            ("read", "Read the absorbance at 595 nm", "incubate"),
        ),
    )


@pytest.fixture(scope="session")
def pancakes() -> TaskGraph:
    """Kitchen: pancakes, with two steps of the same text."""
    return _graph(
        "Oat pancakes",
        (
            ("oats", "Add-1 cup oats to the bowl", ""),
            ("yoghurt", "Add-1/2 cup yoghurt to the bowl", ""),
            ("stir1", "Stir-Stir the batter", "oats yoghurt"),
            ("pan", "Heat-Heat 1 tsp oil in a pan on medium heat", ""),
            ("fry", "Fry-Fry the batter for 3 minutes", "stir1 pan"),
            ("berries", "Wash-Wash the berries", ""),
            ("top", "Top-Top the pancakes with the berries", "fry berries"),
        ),
    )


MomentMaker = Callable[..., Example]


@pytest.fixture(scope="session")
def make_moment() -> MomentMaker:
    """The function that builds an example: graph, done ids, type, mistakes of steps."""

    def make(
        graph: TaskGraph,
        done: str,
        type_: str = "next",
        mistakes: dict[str, tuple[str, str]] | None = None,
        performed: dict[str, str] | None = None,
    ) -> Example:
        ids = done.split()
        wrong = {i: (Mistake(kind, text),) for i, (kind, text) in (mistakes or {}).items()}
        history = tuple(
            Performed(i, (performed or {}).get(i, graph[i].text), graph[i].text, wrong.get(i, ()))
            for i in ids
        )
        progress = derive_progress(graph, ids)
        texts = tuple(m.text for m in wrong.get(ids[-1], ()) if m.kind == type_) if ids else ()
        return Example(
            id=f"r1_{ids[-1] if ids else 'start'}_{type_}",
            clip_id="r1_c",
            recording_id="r1",
            activity_id=graph.id,
            activity_name=graph.name,
            type=type_,
            end=1.0,
            state=progress.state,
            noisy=bool(wrong),
            current=history[-1] if history else None,
            previous=history[:-1],
            mistake_texts=texts,
            all_next=tuple(StepRef(i, graph[i].text) for i in progress.next),
            all_missing=tuple(StepRef(i, graph[i].text) for i in progress.missing),
        )

    return make
