"""A workspace of any size with invented candidates, as large on the page as real ones: 16 steps, a dozen done, four answers."""

from __future__ import annotations

import random
from collections.abc import Iterator

from proctor.ask.moment.candidate import Answer, Candidate, Provenance
from proctor.exam.kinds.example import QUESTION_TYPES, Example, Performed, StepRef
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Mistake
from proctor.records import write_jsonl
from proctor.workspace import Workspace

ACTIVITIES = 24
STEPS = 16
PER_RECORDING = 20
VERBS = (
    "Attach",
    "Tighten",
    "Pour",
    "Measure",
    "Wipe",
    "Align",
    "Label",
    "Heat",
    "Fold",
    "Press",
    "Check",
    "Open",
)
THINGS = (
    "bracket",
    "clamp",
    "valve",
    "panel",
    "filter",
    "cup",
    "cable",
    "sheet",
    "knob",
    "hinge",
    "tray",
    "seal",
)


def graphs(seed: int = 1) -> dict[str, TaskGraph]:
    """Return the activities: two or three strands that meet in the end."""
    dice = random.Random(seed)
    made = {}
    for n in range(ACTIVITIES):
        steps = [
            Step(f"s{i}", f"{dice.choice(VERBS)} the {dice.choice(THINGS)} with tool {i + 1}")
            for i in range(STEPS)
        ]
        strands = dice.choice((2, 3))
        edges = [(f"s{i}", f"s{i + strands}") for i in range(STEPS - 1 - strands)]
        edges += [(f"s{STEPS - 2 - k}", f"s{STEPS - 1}") for k in range(strands)]
        made[f"a{n}"] = TaskGraph(f"a{n}", f"Activity {n}", tuple(steps), tuple(edges))
    return made


def pairs(count: int, activities: dict[str, TaskGraph], seed: int = 1) -> Iterator[tuple[Candidate, Example]]:
    """Yield candidates with their examples; types take turns, several moments belong to one recording."""
    dice, names = random.Random(seed), list(activities)
    for n in range(count):
        recording = f"rec-{n // PER_RECORDING:05d}"
        graph = activities[names[(n // PER_RECORDING) % len(names)]]
        done = dice.randrange(6, STEPS - 2)
        performed = [
            Performed(
                step.id,
                step.text,
                step.text,
                (Mistake("technique", f"held the {dice.choice(THINGS)} at the wrong end"),)
                if dice.random() < 0.2
                else (),
                12.5 * i,
                12.5 * i + 11,
            )
            for i, step in enumerate(graph.steps[:done])
        ]
        kind = QUESTION_TYPES[n % len(QUESTION_TYPES)]
        rest = tuple(StepRef(step.id, step.text) for step in graph.steps[done : done + 4])
        example = Example(
            id=f"{recording}-{n}_{kind}",
            clip_id=f"{recording}-{n}",
            recording_id=recording,
            activity_id=graph.id,
            activity_name=graph.name,
            type=kind,
            end=12.5 * done,
            state="ongoing",
            noisy=False,
            current=performed[-1],
            previous=tuple(performed[:-1]),
            next_steps=rest,
            all_next=rest,
        )
        answers = tuple(Answer(f"{step.text}, then go on ({n}).", "direct", (step.step_id,)) for step in rest)
        yield (
            Candidate(
                id=f"{example.id}_{n}",
                example_id=example.id,
                recording_id=recording,
                type=kind,
                question=f"What should be done now, after the {done} steps so far? ({n})",
                answers=answers[: 2 + n % 3],
                provenance=Provenance(generator="invented", version="1", seed=seed),
            ),
            example,
        )


def write_workspace(workspace: Workspace, items: int, seed: int = 1) -> None:
    """Write graphs, examples and candidates as the stages before would have."""
    workspace.create()
    activities = graphs(seed)
    workspace.write_graphs(activities)
    write_jsonl(workspace.file("examples.jsonl"), (example for _, example in pairs(items, activities, seed)))
    write_jsonl(
        workspace.file("candidates.jsonl"), (candidate for candidate, _ in pairs(items, activities, seed))
    )
    workspace.record("derive", settings={}, counts={"examples": items}, outputs=("examples.jsonl",))
    workspace.record("generate", settings={}, counts={"candidates": items}, outputs=("candidates.jsonl",))
