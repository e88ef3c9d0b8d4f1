"""People sit the exam, mark answers and write questions: from a workspace to the desk, and back into it."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.stages.asking import ask
from tests.taking import judge, predict

from proctor.ask.moment.candidate import Candidate
from proctor.errors import UserError
from proctor.exam.prediction import Prediction
from proctor.exam.question import Item, gold_texts
from proctor.records import read_json, read_jsonl, write_jsonl
from proctor.stages.calibrate import calibrate
from proctor.stages.exam_settings import CalibrateSettings, ScoreSettings
from proctor.stages.generate import generate
from proctor.stages.predict import read_run_info
from proctor.stages.questions import PEOPLE, workspace_questions
from proctor.stages.rounds.opening import collect_round, open_round
from proctor.stages.rounds.settings import AnswerSettings, Collect, MarkSettings, WriteSettings
from proctor.stages.score import score
from proctor.stages.settings import BuildSettings, GenerateSettings
from proctor.stages.studio import open_desk, sync_desk
from proctor.stages.verify import verify
from proctor.verify.desk import people, roster, rounds, tasks, work
from proctor.verify.desk.records import Person
from proctor.verify.policy import Policy
from proctor.verify.rounds.agreement import Figures
from proctor.workspace import Workspace
from proctor_rehearsal.standin import Standin

Says = Callable[[str, tasks.Asked], dict[str, Any]]


@pytest.fixture
def bench(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished / "bench", tmp_path / "bench"))


def add(bench: Path, *names: str) -> None:
    with open_desk(bench) as desk:
        for name in names:
            told = {"handle": name, "name": name, "role": "annotator", "actor": "t", "gate": "open"}
            desk.write(lambda c, told=told: people.add(desk, c, **told)).result()  # type: ignore[misc]


def do(bench: Path, round_: str, who: str, says: Says, seconds: float = 60) -> list[str]:
    """Take a batch of a round and fill in every task of it; return their names."""
    with open_desk(bench) as desk:
        person: Person = desk.read(lambda c: people.by_handle(desk, c, who))  # type: ignore[assignment]
        found = desk.read(lambda c: rounds.round_named(c, round_))
        batch = desk.write(lambda c: rounds.open_batch(desk, c, found, person)).result()
        done: list[str] = []
        while batch and (pid := desk.read(lambda c: rounds.count_batch(c, batch).following)):
            asked = desk.read(lambda c, p=pid: tasks.asked_of(c, work.own_assignment(c, p, person)))
            sheet = msgspec.Raw(msgspec.json.encode({"values": says(who, asked)}))
            more = {"sheet": sheet, "rev": 0, "key": pid, "active_ms": int(seconds * 1000)}
            desk.write(lambda c, p=pid, m=more: work.submit(desk, c, p, person, **m)).result()  # type: ignore[misc]
            done.append(asked.task.name)
        return done


def collect(bench: Path, name: str) -> tuple[Figures, tuple[str, ...], tuple[Path, ...]]:
    _, found = collect_round(bench, Collect(round=name))
    assert isinstance(found.figures, Figures)
    return found.figures, found.lines, found.files


def items(bench: Path) -> dict[str, Item]:
    return {item.id: item for item in read_jsonl(bench / "items.jsonl", Item)}


# -- answering ---------------------------------------------------------------------------------------------------------


def right(bench: Path) -> Says:
    golds = {id_: gold_texts(item)[0] for id_, item in items(bench).items()}
    return lambda who, asked: {"answer": golds[asked.task.name]}


def test_people_become_a_row_of_the_leaderboard_over_what_they_answered(bench: Path) -> None:
    opened = open_round(bench, "answer", AnswerSettings(batch=5, people=2, seed=3, name="people"))
    assert opened.tasks == {"real": len(items(bench))}
    add(bench, "ana", "ben", "cyd")
    answers = right(bench)
    for who in ("ana", "ben", "cyd"):
        seen: list[str] = []
        assert (
            len(do(bench, "people", who, lambda w, a, s=seen: [s.append(a.task.stratum), answers(w, a)][1]))
            == 5
        )
        assert {"clean", "noisy"} <= {part for stratum in seen for part in stratum.split("/")}
    figures, _, files = collect(bench, "people")
    assert figures.counts["people"] == 3
    assert figures.counts["answers"] == 15
    assert "people.jsonl" in {file.name for file in files}
    folder = bench / "runs" / "people"
    assert read_run_info(folder).role == "human"
    answered = read_jsonl(folder / "predictions.jsonl", Prediction)
    assert len(answered) == figures.counts["questions"]
    assert all(p.failure is None for p in answered), "what nobody answered is not there, and no failure"
    judge(bench)
    (row,) = [run for run in score(bench, ScoreSettings(resamples=100)).runs if run.run == "people"]
    assert (row.role, row.score, row.failed) == ("human", 100.0, 0)
    assert row.skipped == len(items(bench)) - len(answered)
    again, _, _ = collect(bench, "people")
    if figures.counts["answers"] > figures.counts["questions"]:
        assert any(name.startswith("marks") for name in again.numbers), "judged since"
    assert (folder / "judgements.jsonl").is_file(), "the same answers are the same run"


def test_answers_to_questions_that_changed_are_left_out_and_told(bench: Path) -> None:
    open_round(bench, "answer", AnswerSettings(batch=3))
    add(bench, "ana")
    first, *others = do(bench, "answer", "ana", right(bench))
    changed = items(bench)
    new = msgspec.structs.replace(changed[first].question, text="Something else?")
    changed[first] = msgspec.structs.replace(changed[first], question=new)
    write_jsonl(bench / "items.jsonl", changed.values())
    figures, _, _ = collect(bench, "answer")
    assert figures.counts["questions"] == len(others)
    assert sum(n for name, n in figures.counts.items() if "left out" in name) == 1
    write_jsonl(bench / "items.jsonl", [item for id_, item in changed.items() if id_ not in others])
    with pytest.raises(UserError, match="no answer is to a question"):
        collect(bench, "answer")


# -- marking -----------------------------------------------------------------------------------------------------------


def test_marks_calibrate_the_judges_and_no_task_says_whose_answer_it_is(bench: Path) -> None:
    predict(bench, "constant")
    judge(bench)
    open_round(bench, "mark", MarkSettings(per_system=6, people=2, seed=1))
    add(bench, "ana", "ben")
    rng = random.Random(1)
    seen: list[str] = []

    def marks(who: str, asked: tasks.Asked) -> dict[str, Any]:
        seen.append(msgspec.json.encode(asked.body).decode())
        return {"mark": rng.choice("012") if who == "ben" else "2", "reason": "=1+1" if who == "ana" else ""}

    done = {who: do(bench, "mark", who, marks) for who in ("ana", "ben")}
    assert set(done["ana"]) == set(done["ben"])
    assert not any(run in body for body in seen for run in ("dice", "constant", "runs"))
    figures, lines, (file,) = collect(bench, "mark")
    assert figures.counts["people"] == 2
    assert figures.numbers["marks, raw agreement"].n == figures.counts["answers"] == len(done["ana"])
    assert {"marks, mean kappa", "marks, alpha"} <= set(figures.numbers)
    rows = read_jsonl(file, dict[str, Any])
    assert {row["run"] for row in rows} == {"dice", "constant"}
    assert lines[-1] == f"next: proctor calibrate {bench} --human {file}"
    found = calibrate(bench, Workspace(bench).resolve(CalibrateSettings, human=(str(file),), resamples=100))
    assert len(found.file.calibration.human) == len({(row["item_id"], row["run"]) for row in rows})
    predict(bench, "constant", run="dice")
    assert sum(n for name, n in collect(bench, "mark")[0].counts.items() if "left out" in name) > 0


def test_equal_answers_of_two_systems_are_one_task_whose_mark_goes_to_both(bench: Path) -> None:
    predict(bench, "constant")
    shutil.copytree(bench / "runs/constant", bench / "runs/twin")
    open_round(
        bench, "mark", MarkSettings(run=("constant", "twin"), per_system=0, batch=0, scale="binary", people=1)
    )
    add(bench, "ana")
    done = do(bench, "mark", "ana", lambda who, asked: {"mark": "0"})
    assert len(done) == len(items(bench))
    rows = read_jsonl(collect(bench, "mark")[2][0], dict[str, Any])
    assert len(rows) == 2 * len(done)
    open_round(bench, "mark", MarkSettings(scale="binary", people=1, name="again", run=("dice",)))
    with pytest.raises(UserError, match="Choose one"):
        do(bench, "again", "ana", lambda who, asked: {"mark": "1"})


# -- writing -----------------------------------------------------------------------------------------------------------


def test_what_people_write_is_verified_built_and_costed_beside_generation(bench: Path) -> None:
    open_round(bench, "write", WriteSettings(questions=60, batch=0, wage=30, draw=5, seed=2))
    add(bench, "ana")
    golds = {q.facts["id"]: q for q in workspace_questions(Workspace(bench))}

    def says(who: str, asked: tasks.Asked) -> dict[str, Any]:
        like = golds.get(asked.task.name)
        answers = [p.value.text for p in like.proposals] if like else ["Yes."]  # type: ignore[union-attr]
        return {"question": like.text if like else "What now?", "answers": answers}

    done = do(bench, "write", "ana", says, seconds=120)
    figures, _, (file,) = collect(bench, "write")
    assert file == bench / PEOPLE
    wrote = read_jsonl(file, Candidate)
    assert {c.example_id for c in wrote} == set(done)
    assert {c.provenance.generator for c in wrote} == {"people"}
    assert figures.numbers["people: minutes a question"].value == pytest.approx(2)
    assert figures.numbers["people: dollars a question"].value == pytest.approx(1)
    assert "people: minutes an accepted question" not in figures.numbers, "nobody has verified them"
    drawn = [figures.numbers[f"{who}: type-token ratio"] for who in ("people", "rules")]
    assert drawn[0].n == drawn[1].n <= 5
    add(bench, "ben", "cyd")
    with open_desk(bench) as desk:
        sync_desk(bench, desk)
        who = {n: desk.read(lambda c, n=n: people.by_handle(desk, c, n)) for n in ("ana", "ben", "cyd")}
        deal = desk.read(lambda c: roster.plan_deal(desk, c, [*who.values()], Policy())).deal
        mine = {c.id for c in wrote}
        assert deal is not None
        assert all(who["ana"].pid not in pair for name, pair in deal.assignment.items() if name in mine)
    ids = {q.id for q in workspace_questions(Workspace(bench))}
    assert {c.id for c in wrote} <= ids
    with Standin(answer=ask) as standin:
        model = f"compat/asker@{standin.url}/v1"
        generate(bench, GenerateSettings(generator=("rules", model), sample="all", seed=1), limit=40)
    assert read_jsonl(file, Candidate) == wrote, "generation leaves them alone"
    beside = collect(bench, "write")[0].numbers
    assert beside[f"{model}: dollars a question"].value is None, "its price is not known"
    assert (beside[f"{model}: minutes a question"].value or 0) > 0
    verify(bench)
    from proctor.stages.build import build

    build(bench, BuildSettings(name="first", accept="any"))
    assert {c.id for c in wrote} & set(items(bench))
    again, _, _ = collect(bench, "write")
    accepted = again.numbers["people: minutes an accepted question"]
    assert accepted.value == pytest.approx(2 * len(wrote) / accepted.n)
    assert read_jsonl(file, Candidate) == wrote, "collecting twice writes the same"
    assert read_json(bench / "stages.json")["round collect"]["settings"] == {"round": "write"}
