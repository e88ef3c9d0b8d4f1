"""Small rounds of tasks for tests of the studio, of kinds with pages of their own or forms, and sheets that are complete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from proctor.capture.records import PlannedMistake, Script, ScriptStep, Slot
from proctor.exam.question import Open, Question, Words
from proctor.verify.desk import rounds
from proctor.verify.rounds.checked import CheckedOptions
from proctor.verify.rounds.form import Field
from proctor.verify.rounds.graph import GraphTask
from proctor.verify.rounds.kind import task_kind
from proctor.verify.rounds.mark import MarkTask
from proctor.verify.rounds.order import OrderTask, Step
from proctor.verify.rounds.own import OwnTask, Part
from proctor.verify.rounds.rate import RateTask
from proctor.verify.rounds.record import CHECKS, RecordTask
from proctor.verify.rounds.records import Round, RoundSettings, Task, TaskRole
from proctor.verify.rounds.timeline import TimelineStep, TimelineTask

__all__ = ["KINDS", "begin", "make_tasks", "sheet_of"]

KINDS = ("rate", "own", "order", "mark", "alternatives", "graph", "timeline", "record")
STEPS = ("Saw the board", "Sand it", "Draw the letters", "Paint them", "Let it dry")


def question(name: str, words: str = "") -> Question:
    """Return a question that has what is shown beside it with it, and needs nothing of the server."""
    return Question(
        id=name,
        kind="documents",
        text=f"What comes after {name}? {words}".strip(),
        form=Open(),
        evidence=(Words(id="w", text=f"First {name}. {words}"),),
    )


def make_tasks(
    kind: str, count: int, *, words: str = "", role: TaskRole = "real", prefix: str = "t", **more: Any
) -> list[Task]:
    """Return tasks of a kind; ``words`` end every text of theirs."""
    found = []
    for n in range(count):
        body: msgspec.Struct
        if kind == "rate":
            body = RateTask(question=question(f"q{n}", words), answer=f"Step {n} {words}", style="a style")
        elif kind == "mark":
            body = MarkTask(
                question=question(f"q{n}", words), golds=(f"Step {n} {words}",), answer=f"A step {words}"
            )
        elif kind == "own":
            body = OwnTask(
                parts=(Part(column="step", heading=f"A step {words}", text=f"Saw board {n}. {words}"),)
            )
        elif kind == "graph":
            body = GraphTask(id=f"g{n}", title=f"A sign {words}", text=f"Saw the board. {words}")
        elif kind == "timeline":  # the recording is not on the server: the page stands without it
            done = tuple(TimelineStep(id=f"s{k}", text=f"{text} {words}") for k, text in enumerate(STEPS))
            body = TimelineTask(
                recording=f"{prefix}{n} zq-recording", title=f"A sign {words}", duration_s=20, fps_num=30, fps_den=1,
                frames=600, steps=done, before=(("s0", "s1"),), video=f"zq-video/{prefix}{n}.mp4",
                dataset="zq-dataset", activity="zq-activity",
            )  # fmt: skip
        elif kind == "record":
            script = Script(
                id=f"zq-script-{prefix}{n}", activity="zq-activity", title=f"A sign {words}", strategy="induced", seed=f"zq-source {n}",
                steps=tuple(ScriptStep(step=f"s{k}", text=f"{text} {words}") for k, text in enumerate(STEPS)),
                mistakes=(PlannedMistake(step="s1", kind="technique", text=words),), items=(f"a saw {words}",),
            )  # fmt: skip
            slot = Slot(id=f"{prefix}{n}-zq-recording", script=script.id, activity="zq-activity", participant="", environment="k", strategy="induced")  # fmt: skip
            body = RecordTask(slot=slot, script=script)
        else:
            steps = tuple(Step(id=f"s{k}", text=f"{text} {n} {words}") for k, text in enumerate(STEPS))
            body = OrderTask(steps=steps, shows="text", goal=f"A sign {words}")
        raw = msgspec.Raw(msgspec.json.encode(body))
        values = {"stratum": f"stratum{n % 2}", "group": f"group {kind} {prefix}{n}", **more}
        found.append(Task(name=f"{prefix}{n}", body=raw, role=role, **values))
    return found  # fmt: skip


MARKED = (
    Field(name="things", label="Mark tools.", type="span", column="step", choices={"tool": "Tool", "part": "Part"}),
    Field(name="risks", label="What can go wrong?", type="choices", choices={"b": "A cut", "a": "A stain"}),
)  # fmt: skip


def begin(desk: Any, kind: str, tasks: Sequence[Task], *, name: str = "", **settings: Any) -> Round:
    """Begin a round of these tasks, with the settings of a kind as they are by default."""
    options = CheckedOptions(fields=MARKED) if kind == "own" else task_kind(kind).options()
    asked = {
        "instructions": "# What to do\n\nRead all of it.",
        "consent": "You take part freely.",
        **settings,
    }
    return desk.write(  # type: ignore[no-any-return]
        lambda c: rounds.add_round(
            desk, c, name=name or kind, kind=kind, tasks=tasks, settings=RoundSettings(**asked), options=options, actor="cli"
        )
    ).result(60)  # fmt: skip


def sheet_of(kind: str, note: str = "") -> dict[str, Any]:
    """Return a complete sheet of a task of ``make_tasks``."""
    if kind == "rate":
        fields = {"style": "yes", "relevance": "yes", "answerability": "no", "correctness": "yes"}
        return {"values": {"fluency": "4", **fields}, "note": note}
    if kind == "own":
        return {"values": {"things": ["0:3:tool"], "risks": ["a"]}, "note": note}
    if kind == "mark":
        return {"values": {"mark": "2"}, "note": note}
    if kind == "graph":
        steps = [{"id": "a", "text": "Saw the board"}, {"id": "b", "text": "Sand it"}]
        return {"steps": [{**step, "spans": [[0, 3]]} for step in steps], "edges": [["a", "b"]], "note": note}
    if kind == "timeline":
        marks = [{"id": f"a{n}", "step": f"s{n}", "start_s": 2 * n, "end_s": 2 * n + 1} for n in range(4)]
        wrong = [{"step": "s4", "tag": "missing"}, {"step": "s1", "tag": "technique", "text": note}]
        acts = [{"id": "b", "start_s": 0, "end_s": 1, "verb": note[:100] or "saw", "noun": "board"}]
        return {"segments": marks, "errors": wrong, "actions": acts, "note": note}
    if kind == "record":
        times = [{"n": n, "kind": "state", "text": text} for n, text in enumerate(("recording", "stopped"))]
        seen = [{"step": f"s{n}"} for n in range(4)]
        done = {"step": "s4", "as_planned": False, "performed": note[:100] or "painted it twice"}
        return {
            "stage": "review",
            "ready": list(CHECKS),
            "events": times,
            "review": [*seen, done],
            "note": note,
        }
    if kind == "alternatives":
        return {"lanes": [["s0", "s2", "s1", "s4", "s3"]], "note": note}
    return {"order": ["s0", "s2", "s1", "s4", "s3"], "values": {"confidence": "4"}, "note": note}
