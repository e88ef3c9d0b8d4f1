"""Rounds of rating: what is made, who gets which samples (B5, B7), what a reviewer may do (B8), and the files that come out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.study import FORM, open_study, study_bench
from tests.typed import proctor

from proctor.errors import UserError
from proctor.exam.human_study import SMMQG
from proctor.exam.kinds.documents_question import document_question
from proctor.records import write_jsonl
from proctor.stages.rounds.opening import collect_round
from proctor.stages.rounds.rate import make
from proctor.stages.rounds.settings import Collect, RateSettings
from proctor.stages.studio import open_desk
from proctor.verify.desk import documents, people, reviews, rounds, work
from proctor.verify.desk.records import GoneError, InvalidError
from proctor.verify.rounds.checked import BatchChecks, checked_options
from proctor.verify.rounds.form import FormSheet
from proctor.verify.rounds.rate import RateTask, read_form, scales_of
from proctor.verify.rounds.records import RoundSettings
from proctor.verify.schema import tables
from proctor.workspace import Workspace

YES = {"fluency": "4", "style": "yes", "relevance": "yes", "answerability": "yes", "correctness": "yes"}


class Study:
    """A round of ratings as its desk has it, with a clock of its own."""

    def __init__(self, desk: Any) -> None:
        self.desk = desk
        self.round = desk.read(lambda c: rounds.round_named(c, "rate"))

    def do(self, function: Callable[..., Any], *args: Any, **more: Any) -> Any:
        return self.desk.write(lambda c: function(self.desk, c, *args, **more)).result()

    def come(self, name: str) -> tuple[Any, Any]:
        """Somebody takes a batch."""
        person = self.do(rounds.worker, name)
        return person, self.do(rounds.open_batch, self.round, person)

    def rows(self, batch: Any) -> list[Any]:
        """Assignments of a batch with their tasks, in order."""
        a, t = tables().assignments, tables().tasks
        query = (
            a.join(t, t.c.id == a.c.task_id)
            .select()
            .with_only_columns(a.c.pid, t.c.name, t.c.role, t.c.stratum)
        )
        return self.desk.read(
            lambda c: c.execute(query.where(a.c.batch_id == batch.id).order_by(a.c.queue_pos)).all()
        )

    def rate(self, person: Any, row: Any, **values: str) -> None:
        right = self.desk.read(lambda _: checked_options(self.round).rights).get(row.name, {})
        sheet = FormSheet(values={**YES, **right, **values})
        protocol = self.desk.read(documents.protocol)
        self.do(work.submit, row.pid, person, sheet=sheet, rev=0, key=f"key-{row.pid}", protocol=protocol)

    def review(self) -> list[reviews.Reviewed]:
        found: list[reviews.Reviewed] = self.desk.read(lambda c: reviews.review_batches(c, self.round))
        return found

    def decide(self, reviewed: reviews.Reviewed, action: str, **more: Any) -> None:
        boss = self.desk.read(lambda c: people.by_handle(self.desk, c, "boss"))
        boss = boss or self.do(
            people.add, handle="boss", name="Boss", role="coordinator", actor="cli", gate="open"
        )
        self.do(reviews.decide, self.round, reviewed, boss, action=action, **more)


@contextmanager
def study(bench: Path) -> Iterator[Study]:
    with open_desk(bench, None, create=False) as desk:
        yield Study(desk)


def test_b7_every_worker_has_two_or_three_of_each_style_and_the_forms_are_the_papers(tmp_path: Path) -> None:
    with study(open_study(tmp_path, each=60)) as found:
        given = [found.rows(found.come(f"w{n}")[1]) for n in range(25)]
        real = [[row for row in rows if row.role == "real"] for rows in given]
        assert [len(rows) for rows in real] == [17] * 24 + [12]
        assert len({row.name for rows in real for row in rows}) == 420
        for rows in real[:24]:
            assert set(Counter(row.stratum for row in rows).values()) <= {2, 3}
        for rows in given:
            assert Counter(row.role for row in rows if row.role != "real") == {"test": 3, "attention": 2}
            assert (rows[0].role, rows[-1].role) == ("real", "real")
        assert found.come("late")[1] is None


def test_b5_when_the_lease_ends_others_get_the_missing_samples_alone(tmp_path: Path) -> None:
    with study(open_study(tmp_path, each=2, batch=7)) as found:
        (anna, batch), (_, other) = found.come("anna"), found.come("ben")
        rows = [row for row in found.rows(batch) if row.role == "real"]
        for row in rows[:3]:
            found.rate(anna, row)
        now = found.desk.now
        found.desk.now = lambda: now() + 106 * 60  # 90 minutes, 15 of grace, and one
        left = {row.name for row in rows[3:]} | {r.name for r in found.rows(other) if r.role == "real"}
        got = {
            row.name
            for name in ("cem", "dora")
            for row in found.rows(found.come(name)[1])
            if row.role == "real"
        }
        assert got == left
        with pytest.raises(GoneError):
            found.rate(anna, rows[3])
        readings = found.desk.read(lambda c: list(rounds.read_readings(c, found.round)))
        assert {r.task for r in readings} == {row.name for row in rows[:3]}
        assert found.come("emil")[1] is None


def done_batch(found: Study, name: str, **wrong: dict[str, str]) -> None:
    """Somebody does a whole batch; ``wrong`` is what they say to tests, to attention checks, to real samples."""
    person, batch = found.come(name)
    for row in found.rows(batch):
        found.rate(person, row, **wrong.get(row.role, {}))


def test_b8_a_correction_leaves_the_original_readable(tmp_path: Path) -> None:
    bench = open_study(tmp_path, each=1, batch=0)
    with study(bench) as found:
        done_batch(found, "anna", test={"style": "no"})
        (one,) = found.review()
        assert (one.checks.tests, one.checks.right) == (3, 0)
        sample = next(r for r in one.rated if r.role == "real")
        with pytest.raises(InvalidError, match="Say why"):
            found.decide(one, "correct", one=sample, sheet=sample.sheet)
        fixed = FormSheet(values={**YES, "correctness": "no"})
        found.decide(one, "correct", one=sample, sheet=fixed, reason="The answer names another lake.")
        found.decide(found.review()[0], "accept")
        (again,) = found.review()
        (kept,) = [r for r in again.rated if r.assignment == sample.assignment]
        assert (kept.sheet, kept.corrected) == (sample.sheet, fixed)
        assert [action for action, _, _ in again.actions] == ["correct", "accept"]
        (row, _) = found.desk.read(lambda c: c.execute(tables().reviews.select()).all())
        assert msgspec.json.decode(row.before)["values"]["correctness"] == "yes"
    _, collected = collect_round(bench, Collect(round="rate", out=tmp_path / "out"))
    assert "1 corrected" in collected.lines[0]
    ratings, corrections, checks = (path.read_text().splitlines() for path in collected.files)
    assert ratings[0] == "worker,sample,fluency,style,relevance,answerability,correctness,seconds,note"
    assert len(ratings) == 1 + 7 + 3
    assert corrections[1].endswith("4,yes,yes,yes,no")
    assert checks[1].endswith(",counts,12,2,0,3,0,no")
    files = tmp_path / "out" / "ratings.csv", tmp_path / "study" / "groups.csv"
    more = ("--key", tmp_path / "study" / "key.csv", "--corrections", tmp_path / "out" / "corrections.csv")
    made = proctor("study", "tables", *files, *more, "--json")
    assert made.status == 0, made.err
    assert made.json["payment"] == {"workers": 1, "bonuses": 0, "reviews": 1, "total": 17.0}
    (row,) = [r for r in made.json["study"]["comparisons"][0]["rows"] if r["metric"] == "correctness"]
    assert row["a"] + row["b"] < 200


def test_work_is_set_aside_for_two_failed_attention_checks_alone_and_then_rated_again(tmp_path: Path) -> None:
    with study(open_study(tmp_path, each=1, batch=0, batches=1)) as found:
        done_batch(found, "anna", attention={"fluency": "5"})
        done_once = found.come("ben")[1]
        assert done_once is None
        (one,) = found.review()
        with pytest.raises(InvalidError, match="Say why"):
            found.decide(one, "refuse")
        for action in ("refuse", "accept", "refuse"):  # it can be taken back until others have its samples
            found.decide(found.review()[0], action, reason="Both checks failed.")
        ben, batch = found.come("ben")
        assert sum(row.role == "real" for row in found.rows(batch)) == 7
        for row in found.rows(batch):
            found.rate(ben, row)
        readings = found.desk.read(lambda c: list(rounds.read_readings(c, found.round)))
        assert Counter(r.counts for r in readings if r.role == "real") == {True: 7, False: 7}
        bad, good = found.review()
        with pytest.raises(InvalidError, match="Others already have"):
            found.decide(bad, "accept")
        with pytest.raises(
            InvalidError, match="0 of 2 attention checks failed, and work is set aside for 2 or more"
        ):
            found.decide(good, "refuse", reason="I do not like it.")
        found.decide(good, "bonus")
        with pytest.raises(InvalidError, match="is paid once"):
            found.decide(found.review()[1], "bonus")


def test_in_short_studies_one_failed_check_is_enough() -> None:
    once = BatchChecks(attention=2, failed=1)
    assert once.why_kept(RoundSettings(lease_minutes=5)) == ""
    assert "2 or more" in once.why_kept(RoundSettings(lease_minutes=6))
    assert "2 or more" in once.why_kept(RoundSettings(lease_minutes=0))
    assert (BatchChecks(tests=3, right=3).has_bonus, BatchChecks().has_bonus) == (True, False)


def test_what_a_round_is_made_of(tmp_path: Path) -> None:
    with study(open_study(tmp_path, each=2, tests=1)) as found:
        rows = found.desk.read(lambda c: c.execute(tables().tasks.select()).all())
        assert Counter(row.role for row in rows) == {"real": 14, "test": 1, "attention": 2}
        bodies = {row.name: msgspec.json.decode(row.body, type=RateTask) for row in rows}
        check = bodies["look-1"]
        assert check.question.text.startswith("This is an attention check: choose 2")
        assert check.question.evidence
        assert {bodies[n].style for n in bodies if "Compose" in n} == {"multi-hop"}
        assert {bodies[n].answer for n in bodies if "mmqa" in n} == {"a; b"}
        settings = found.round.settings
        assert (settings.wanted, settings.batch, settings.batches, settings.lease_minutes) == (1, 17, 1, 90)
        assert settings.instructions == "Rate with care.\n\n## Example 1\n\nFluency **5**, for it reads well."
        assert [item.right for item in settings.quiz] == ["no"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("choose 2 for fluency", "do as you were told", "does not say what to choose for fluency"),
        ('fluency = "2"', 'fluency = "7"', "its right answer for fluency is '7'"),
        ('fluency = "2"', 'taste = "2"', "there is no field 'taste'"),
        ('right = "no"', 'right = "maybe"', "quiz: its right answer for outside is 'maybe'"),
        ('name = "look-2"', 'name = "look-1"', "named twice"),
        ("instructions =", "instruction =", "unknown field `instruction`"),
        ("[[quiz]]", "[[quiz", "this is no form"),
        ("[[quiz]]", '[[fields]]\nname = "note"\nlabel = "?"\n[[quiz]]', "the name of a column"),
    ],
)  # fmt: skip
def test_a_form_that_is_wrong_says_where(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "form.toml"
    path.write_text(FORM.replace(old, new, 1))
    with pytest.raises(UserError) as caught:
        read_form(path)
    assert message in f"{caught.value.where}: {caught.value.message}".replace(f"{path}: ", "")


def test_a_form_of_ones_own_and_what_the_key_must_say(tmp_path: Path) -> None:
    path = tmp_path / "form.json"
    path.write_text('{"fields": [{"name": "use", "label": "Useful?", "type": "scale", "low": 1, "high": 7}]}')
    assert scales_of(read_form(path).fields) == {"use": (1, 7)}
    bench, drawn = study_bench(tmp_path / "bench", each=3), tmp_path / "study"
    assert (
        proctor("study", "draw", bench, drawn, "--per-style", 2, "--reference", 0, "--tests", 1).status == 0
    )
    with pytest.raises(UserError, match="right is yes or no, not ''"):
        make(Workspace(bench), RateSettings(questions=drawn))
    key = (drawn / "key.csv").read_text()
    for text, message in (
        ("sample,metric,right\nq9,style,yes\n", "is called 'q9'"),
        (key.replace(",\n", ",yes\n").replace("style", "taste"), "is called 'taste'"),
    ):
        (drawn / "key.csv").write_text(text)
        with pytest.raises(UserError, match=message):
            make(Workspace(bench), RateSettings(questions=drawn))
    (drawn / "key.csv").unlink()
    made = make(Workspace(bench), RateSettings(questions=drawn))
    assert [(d.reason, len(made.tasks)) for d in made.dropped] == [("test-without-key", 13)]


def test_a_style_that_raters_are_told_nothing_of_is_refused(tmp_path: Path) -> None:
    asked = document_question("q", "Why?", "So.", ("s",), style="TextQ", modalities=(1, 0, 0))
    write_jsonl(tmp_path / "questions.jsonl", [asked])
    with pytest.raises(UserError, match="nothing about the style 'TextQ'"):
        make(Workspace(tmp_path), RateSettings(questions=tmp_path / "questions.jsonl"))


def test_the_shipped_form_and_that_of_the_docs(tmp_path: Path) -> None:
    shown = (Path(__file__).parents[3] / "docs" / "rounds.md").read_text().partition("```toml\n")[2]
    (tmp_path / "form.toml").write_text(shown.partition("```")[0])
    assert [f.name for f in read_form(tmp_path / "form.toml").fields] == ["useful"]
    shipped = read_form()
    assert scales_of(shipped.fields) == SMMQG
    assert [len(x) for x in (shipped.examples, shipped.quiz, shipped.attention)] == [3, 3, 3]


def test_ratings_of_a_form_of_ones_own_make_its_tables(tmp_path: Path) -> None:
    form = """
[[fields]]
name = "use"
label = "Useful?"
type = "scale"
high = 7
[[fields]]
name = "ask"
label = "Would you ask it?"
[[fields]]
name = "why"
label = "Why?"
type = "text"
required = false
only_if = "ask=no"
"""
    bench = open_study(tmp_path, each=2, tests=0, form=form, people=2, batch=0)
    with study(bench) as found:
        for name, use in (("anna", "2"), ("ben", "7")):
            person, batch = found.come(name)
            for row in found.rows(batch):
                sheet = FormSheet(values={"use": use, "ask": "yes"})
                protocol = found.desk.read(documents.protocol)
                found.do(
                    work.submit, row.pid, person, sheet=sheet, rev=0, key=f"k{row.pid}", protocol=protocol
                )
    collect_round(bench, Collect(round="rate", out=tmp_path / "out"))
    files = tmp_path / "out" / "ratings.csv", tmp_path / "study" / "groups.csv"
    made = proctor("study", "tables", *files, "--fields", tmp_path / "form.toml", "--several", "--json")
    assert made.status == 0, made.err
    rows = made.json["study"]["comparisons"][0]["rows"]
    assert [(r["metric"], r["a"]) for r in rows] == [("use", 4.5), ("ask", 100.0)]
    agreed = made.json["agreement"]
    assert agreed["counts"] == {"samples that several rated": 14}
    assert [agreed["numbers"][f"{metric}, raw agreement"]["value"] for metric in ("use", "ask")] == [0.0, 1.0]
