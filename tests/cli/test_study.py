"""Studies with people as they are typed: samples from a workspace, ratings to tables and pay, manuals to votes."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path

import pytest
from tests.study import STYLES, study_bench
from tests.typed import proctor

from proctor.exam.question import Question
from proctor.records import read_jsonl


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_ratings_are_compared_and_workers_paid(tmp_path: Path) -> None:
    ratings, groups, key = (tmp_path / f"{name}.csv" for name in ("ratings", "groups", "key"))
    said = [(w, f"{g}{n}", 4 + (g == "b"), "yes", "yes", "yes", "no" if g == "a" else "yes")
            for w, g in (("w1", "a"), ("w2", "b")) for n in range(12)]  # fmt: skip
    said += [("w1", "t", 5, "yes", "yes", "yes", "yes"), ("w2", "t", 5, "no", "yes", "yes", "no")]
    head = "worker,sample,fluency,style,relevance,answerability,correctness\n"
    ratings.write_text(head + "".join(",".join(map(str, row)) + "\n" for row in said))
    groups.write_text("group,sample\n" + "".join(f"{g},{g}{n}\n" for g in "ab" for n in range(12)))
    key.write_text("sample,metric,right\nt,style,yes\nt,correctness,yes\n")
    found = proctor("study", "tables", ratings, groups, "--key", key, "--json")
    assert found.status == 0, found.err
    (pair,) = found.json["study"]["comparisons"]
    correct = next(row for row in pair["rows"] if row["metric"] == "correctness")
    assert (pair["a"], correct["a"], correct["b"]) == ("a", 0.0, 100.0)
    assert correct["p_holm"] < 0.001
    assert found.json["payment"] == {"workers": 2, "bonuses": 1, "reviews": 0, "total": 42.0}
    wrong = proctor("study", "tables", ratings, groups, "--compare", "a")
    assert (wrong.status, "write A=B" in wrong.err) == (2, True)
    key.write_text("sample,metric,right\nt,style,maybe\n")
    assert "right is yes or no" in proctor("study", "tables", ratings, groups, "--key", key).err


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


def drawn_groups(folder: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in rows_of((folder / "groups.csv").read_text()):
        found.setdefault(row["group"], []).append(row["sample"])
    return found


def test_the_published_study_is_drawn_blind_and_even(tmp_path: Path) -> None:
    bench, out = study_bench(tmp_path / "bench"), tmp_path / "study"
    found = proctor("study", "draw", bench, out, "--tests", 3, "--json")
    assert found.status == 0, found.err
    groups = drawn_groups(out)
    assert {name: len(own) for name, own in groups.items()} == {
        "tests": 3, "generated": 300, **{f"generated/{style}": 60 for style in STYLES},
        "data": 120, "data/single": 60, "data/compose": 60,
    }  # fmt: skip
    text = (out / "questions.jsonl").read_text()
    questions = read_jsonl(out / "questions.jsonl", Question)
    assert len({q.id for q in questions}) == 423
    assert [q.id for q in questions] == sorted(q.id for q in questions)
    assert "secret/model" not in text
    assert "TextQ" not in text.replace("mmqa-TextQ", "")
    mixed = Counter(q.facets["combination"] for q in questions if q.id in set(groups["generated/numerical"]))
    assert set(mixed.values()) == {20}
    shown = {q.id: q.facets["style"] for q in questions}
    assert {shown[id_] for id_ in groups["data/compose"]} == {"multi-hop"}
    assert (out / "key.csv").read_text().count("\n") == 1 + 3 * 4
    proctor("study", "draw", bench, tmp_path / "again", "--tests", 3)
    assert (tmp_path / "again" / "questions.jsonl").read_text() == text
    assert "something here already" in proctor("study", "draw", bench, out).err
    assert (
        "has 64 questions, 150 are to be drawn"
        in proctor("study", "draw", bench, tmp_path / "x", "--concurrence").err
    )


def test_the_second_study_and_its_repeat_without_what_was_rated_as_bad(tmp_path: Path) -> None:
    bench, out = study_bench(tmp_path / "bench", each=151), tmp_path / "second"
    assert proctor("study", "draw", bench, out, "--concurrence").status == 0
    groups = drawn_groups(out)
    kinds = ("generated/information-extraction", "generated/multi-hop", "data/single", "data/compose")
    assert [len(groups[kind]) for kind in kinds] == [150] * 4
    ratings = tmp_path / "ratings.csv"
    bad, odd = groups["data/single"][:20], groups["data/compose"][:5]
    said = [f"w,{id_},5,yes,yes,no,yes" for id_ in bad] + [f"w,{id_},2,yes,yes,yes,yes" for id_ in odd]
    ratings.write_text("\n".join((HEAD, *said)))
    found = proctor("study", "draw", bench, tmp_path / "repeat", "--concurrence", "--ratings", ratings)
    assert "25 questions were left out" in found.err
    again = drawn_groups(tmp_path / "repeat")
    assert not {*again["data"], *again["generated"]} & {*bad, *odd}
    assert [len(again[kind]) for kind in kinds] == [150, 150, 131, 131]


HEAD = "worker,sample,fluency,style,relevance,answerability,correctness"


@pytest.mark.shared
def test_tables_4_5_12_and_15_come_from_the_ratings_by_one_command(tmp_path: Path, shared_expected) -> None:
    expected = shared_expected("smmqg-instructionbench")
    cases = expected["fisher"]["table15_n60_vs_n60"]
    yes = {tuple(case["metric"].split("/")): (case["yes_a"], case["yes_b"]) for case in cases}
    kinds = {"IE": ("information-extraction", "single"), "MH": ("multi-hop", "compose")}
    groups, said = ["group,sample"], [HEAD]
    for short, names in kinds.items():
        for side, (origin, name) in enumerate(zip(("generated", "data"), names, strict=True)):
            for n in range(60):
                id_ = f"{origin}-{name}-{n}"
                groups += [f"{origin},{id_}", f"{origin}/{name},{id_}"]
                metrics = ("style", "relevance", "answerability", "correctness")
                said.append(
                    f"w,{id_},{5 - side},{','.join('yes' if n < yes[short, m][side] else 'no' for m in metrics)}"
                )
    (tmp_path / "groups.csv").write_text("\n".join(groups))
    (tmp_path / "ratings.csv").write_text("\n".join([*said, "v,data-single-0,2,yes,yes,yes,yes"]))
    for name, column in (("ours", "a"), ("theirs", "b")):
        marks = expected["kendall"]["table5_qa"][column]
        rows = [f"s{n},{mark}" for n, mark in enumerate(marks)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["system,mark", *rows]))
    files = tmp_path / "ratings.csv", tmp_path / "groups.csv"
    assert "was rated by 'w' and by 'v'" in proctor("study", "tables", *files).err
    five = f"{tmp_path / 'theirs.csv'}={tmp_path / 'ours.csv'}"
    found = proctor("study", "tables", *files, "--several", "--answers", five, "--json")
    assert found.status == 0, found.err
    pairs = {
        (c["a"], c["b"]): {r["metric"]: r for r in c["rows"]} for c in found.json["study"]["comparisons"]
    }
    assert len(pairs) == 3
    for case in cases:
        short, metric = case["metric"].split("/")
        own, theirs = kinds[short]
        row = pairs[f"generated/{own}", f"data/{theirs}"][metric]
        assert row["p"] == pytest.approx(case["p_two_sided"], abs=1e-6)
    assert found.json["groups"]["generated"]["style"][0] == pytest.approx(100 * 119 / 120)
    tau = expected["kendall"]["table5_qa"]
    assert found.json["concurrence"]["answers"]["tau"] == pytest.approx(tau["tau"], abs=1e-6)
    assert found.json["concurrence"]["answers"]["p"] == pytest.approx(tau["p_exact"], abs=1e-6)
    agreed = found.json["agreement"]
    assert agreed["counts"] == {"samples that several rated": 1}
    assert agreed["numbers"]["fluency, raw agreement"]["value"] == 0.0
    text = proctor("study", "tables", *files, "--several", "--answers", five).out
    for words in (
        "Table 4",
        "Table 15, multi-hop",
        "Table 12",
        "Table 5, answers",
        "raw agreement",
        "98.3 93.3 0.44",
    ):
        assert words in text


def test_a_sample_needs_questions(tmp_path: Path) -> None:
    (tmp_path / "bench").mkdir()
    found = proctor("study", "draw", tmp_path / "bench", tmp_path / "out")
    assert found.status == 2
    assert "Traceback" not in found.err
