"""Studies with people as they are typed: forms from a pool, ratings to tests and pay, manuals to votes."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from tests.typed import proctor

from proctor.corpus.question import CorpusQuestion
from proctor.records import write_jsonl
from proctor.workspace import Workspace


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_forms_hold_the_pool_once_and_the_tests_everywhere(tmp_path: Path) -> None:
    pool = tmp_path / "pool.csv"
    pool.write_text("sample,style\n" + "".join(f"s{n},x\n" for n in range(30)))
    found = proctor("study", "forms", pool, "--test", "t1", "--test", "t2", "--per-form", 12, "--seed", 3)
    assert found.status == 0, found.err
    forms: dict[str, list[str]] = {}
    for row in rows_of(found.out):
        forms.setdefault(row["form"], []).append(row["sample"])
    assert len(forms) == 3
    assert all({"t1", "t2"} <= set(samples) for samples in forms.values())
    assert sorted(s for samples in forms.values() for s in samples if s[0] == "s") == sorted(
        f"s{n}" for n in range(30)
    )
    assert proctor("study", "forms", pool, "--workers", 7).status == 2


def test_ratings_are_compared_and_workers_paid(tmp_path: Path) -> None:
    ratings, groups, key = (tmp_path / f"{name}.csv" for name in ("ratings", "groups", "key"))
    said = [(w, f"{g}{n}", 4 + (g == "b"), "yes", "yes", "yes", "no" if g == "a" else "yes")
            for w, g in (("w1", "a"), ("w2", "b")) for n in range(12)]  # fmt: skip
    said += [("w1", "t", 5, "yes", "yes", "yes", "yes"), ("w2", "t", 5, "no", "yes", "yes", "no")]
    head = "worker,sample,fluency,style,relevance,answerability,correctness\n"
    ratings.write_text(head + "".join(",".join(map(str, row)) + "\n" for row in said))
    groups.write_text("group,sample\n" + "".join(f"{g},{g}{n}\n" for g in "ab" for n in range(12)))
    key.write_text("sample,metric,right\nt,style,yes\nt,correctness,yes\n")
    found = proctor("study", "ratings", ratings, groups, "--key", key, "--json")
    assert found.status == 0, found.err
    (pair,) = found.json["study"]["comparisons"]
    correct = next(row for row in pair["rows"] if row["metric"] == "correctness")
    assert (pair["a"], correct["a"], correct["b"]) == ("a", 0.0, 100.0)
    assert correct["p_holm"] < 0.001
    assert found.json["payment"] == {"workers": 2, "bonuses": 1, "reviews": 0, "total": 42.0}
    wrong = proctor("study", "ratings", ratings, groups, "--compare", "a")
    assert (wrong.status, "write A=B" in wrong.err) == (2, True)
    key.write_text("sample,metric,right\nt,style,maybe\n")
    assert "right is yes or no" in proctor("study", "ratings", ratings, groups, "--key", key).err


def test_manuals_are_drawn_and_voted_on(tmp_path: Path) -> None:
    folder = tmp_path / "manuals"
    assert proctor("datasets", "synthetic", folder, "--manuals", 8).status == 0
    drawn = rows_of(proctor("study", "manuals", folder, "--count", 3).out)
    assert len({row["id"] for row in drawn}) == 3
    ballots = tmp_path / "votes.csv"
    first, second = drawn[0]["id"], drawn[1]["id"]
    votes = [(first, r, "yes", "yes") for r in "xyz"] + [(second, r, "no", "yes") for r in "xyz"]
    ballots.write_text("id,rater,procedural,complementary\n" + "".join(",".join(v) + "\n" for v in votes))
    found = rows_of(proctor("study", "ballots", ballots).out)
    assert [(row["id"], row["outcome"]) for row in found] == [(first, "kept"), (second, "not-procedural")]


def test_a_sample_is_even(tmp_path: Path) -> None:
    bench = tmp_path / "bench"
    Workspace(bench).create()
    asked = [
        CorpusQuestion(
            qid=f"q{n}",
            question="?",
            answers=("a",),
            gold=("s",),
            type="ab"[n % 2],
            modalities=(1, 0, 0),
            gold_complete=True,
        )
        for n in range(12)
    ]
    write_jsonl(bench / "questions.jsonl", asked)
    found = proctor("study", "sample", bench, "--questions", "data", "--per-style", 4)
    assert found.status == 0, found.err
    assert [row["style"] for row in rows_of(found.out)] == ["a"] * 4 + ["b"] * 4
    assert (
        "6 questions, 7 are to be drawn"
        in proctor("study", "sample", bench, "--questions", "data", "--per-style", 7).err
    )


def test_a_sample_needs_questions(tmp_path: Path) -> None:
    (tmp_path / "bench").mkdir()
    found = proctor("study", "sample", tmp_path / "bench")
    assert found.status == 2
    assert "Traceback" not in found.err
