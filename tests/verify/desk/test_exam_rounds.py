"""Who may answer, mark and judge what, on both databases: nobody who knows what is right."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.verify.desk.conftest import a_pair

from proctor.exam.kinds.moment_question import moment_example
from proctor.records import canonical_json
from proctor.verify.desk import rounds
from proctor.verify.rounds.answer import AnswerTask, seen_questions, written_id
from proctor.verify.rounds.kind import NoOptions
from proctor.verify.rounds.mark import KIND, MarkOptions, MarkTask
from proctor.verify.rounds.records import RoundSettings, Task
from proctor.verify.rounds.write import WriteOptions, WriteTask
from proctor.verify.schema import tables

NAMES = tuple(f"q{n}" for n in range(9))


@pytest.fixture
def ana(bench: Any) -> Any:
    bench.sync(*(a_pair(name, "Yes.") for name in NAMES))
    return bench.hire("ana")[0]


def begin(
    bench: Any, kind: str, bodies: dict[str, tuple[msgspec.Struct, str]], options: Any, name: str = ""
) -> Any:
    tasks = [
        Task(name=n, body=msgspec.Raw(canonical_json(b)), group=n, variant=v) for n, (b, v) in bodies.items()
    ]
    more = {"tasks": tasks, "settings": RoundSettings(), "options": options, "actor": "x"}
    return bench.do(rounds.add_round, name=name or kind, kind=kind, **more)


def test_a_question_is_known_to_whom_it_was_given_in_any_stage_or_round(bench: Any, ana: Any) -> None:
    for name, stage in zip(NAMES, ("judge", "training", "adjudicate"), strict=False):
        bench.give(name, ana, stage=stage)
    (taken,) = bench.give("q3", ana)
    (begun,) = bench.give("q4", ana)
    a = tables().assignments
    for pid, started in ((taken, None), (begun, 1.0)):
        gone = {"state": "moved", "live": False, "started_at": started}
        bench.do(lambda desk, c, p=pid, g=gone: c.execute(a.update().where(a.c.pid == p).values(**g)))
    body = MarkTask(question=a_pair("q5", "Yes."), golds=("Yes.",), answer="No.")
    bench.do(rounds.open_batch, begin(bench, "mark", {"m": (body, "q5")}, MarkOptions()), ana)
    task = WriteTask(example=moment_example(a_pair("q6", "Yes.")))
    bench.do(rounds.open_batch, begin(bench, "write", {"w": (task, "")}, WriteOptions()), ana)
    own = written_id(bench.rows("assignments", stage="task")[-1].pid)
    known = bench.desk.read(lambda c: seen_questions(c, ana))
    assert known == {"q0", "q1", "q2", "q4", "q5", own}, "q3 went to somebody else before it was begun"
    exam = {n: (AnswerTask(question=a_pair(n, "Yes.")), "") for n in NAMES}
    batch = bench.do(rounds.open_batch, begin(bench, "answer", exam, NoOptions()), ana)
    assert bench.desk.read(lambda c: rounds.count_batch(c, batch)).total == len({"q3", "q6", "q7", "q8"})
    (ben,) = bench.hire("ben")
    other = {f"m{n}": (body, n) for n in NAMES}
    found = begin(bench, "mark", other, MarkOptions(), "again")
    assert bench.desk.read(lambda c: KIND.barred(c, found, ana)) == {"mq3", "mq6", "mq7", "mq8"}
    assert bench.desk.read(lambda c: KIND.barred(c, found, ben)) == set()
