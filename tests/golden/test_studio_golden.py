"""The rules of adjudication and the report on agreement, on the 195 shared examples of the 401 published ones.

What is tested elsewhere and not repeated: the byte-for-byte round trip and the published order of rows
(benchmark/test_promqa.py), ``verification_statistics`` on the same judgements (verify/test_statistics.py). Here the rules
are written down a second time, on the raw file, and held against cases, merges, the report on agreement
and the policies as the studio uses them: named annotators, blind order.

Of ``expected/promqa.json`` the figures over all 401 cannot be recounted on 195. Its counts per pair are, however, all that
raw agreement and the mean of pairs need, and the split of the answers all that alpha needs: the report is fed with
judgements of those counts and must print the published numbers.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import krippendorff
import msgspec
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.proportion import proportion_confint

from proctor.ask.moment.candidate import Answer, Candidate, Provenance
from proctor.ask.moment.promqa import read_promqa, read_promqa_graphs
from proctor.ask.moment.question import moment_question
from proctor.exam.question import Question, gold_texts
from proctor.procedure.graph import TaskGraph
from proctor.release.build import RULES, build_items
from proctor.release.promqa import PromqaRecords, import_promqa
from proctor.verify.adjudicate import Case, find_adjudication, merge, open_case
from proctor.verify.agreement import Agreement, AgreementReport, Topic, agreement_report
from proctor.verify.assignment import assign_published
from proctor.verify.oracle import Oracle
from proctor.verify.policy import POLICIES, Minutes, Policy, PolicyComparison, compare_policies
from proctor.verify.verdict import AnswerVerdict, Verdict

pytestmark = pytest.mark.shared

Raw = dict[str, Any]
Pairs = Mapping[str, tuple[str, ...]]
NEEDED = 109
"""Examples of the 195 that an adjudicator saw."""
CONFLICTS = 11
"""Of them, with the question in conflict."""
SETTLED: dict[str | None, bool | None] = {None: None, "right": True, "wrong": False}


@pytest.fixture(scope="module")
def raw(shared_data: Path) -> list[Raw]:
    given: list[Raw] = json.loads((shared_data / "promqa/examples_dev.json").read_text(encoding="utf-8"))
    return given


@pytest.fixture(scope="module")
def expected(shared_expected: Callable[[str], Raw]) -> Raw:
    return shared_expected("promqa")


@pytest.fixture(scope="module")
def pairs(expected: Raw) -> Pairs:
    """Who judged what: the rule of ProMQA."""
    return assign_published(expected["subset500"]["ids"])


@pytest.fixture(scope="module")
def graphs(
    shared_data: Path, raw: list[Raw], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, TaskGraph]:
    gathered = {}
    for one in raw:
        name = one["activity_name"].lower().replace(" ", "")
        graph = json.loads((shared_data / f"captaincook4d/task_graphs/{name}.json").read_text("utf-8"))
        gathered[one["recording_id"].partition("_")[0]] = {"name": one["activity_name"], **graph}
    path = tmp_path_factory.mktemp("graphs") / "graphs.json"
    path.write_text(json.dumps(gathered), encoding="utf-8")
    return read_promqa_graphs(path)


@pytest.fixture(scope="module")
def records(shared_data: Path, graphs: dict[str, TaskGraph], pairs: Pairs) -> PromqaRecords:
    published = read_promqa(shared_data / "promqa/examples_dev.json")
    names = {one.question_id: pairs[one.question_id] for one in published}
    return import_promqa(published, graphs, annotators=names)


@pytest.fixture(scope="module")
def report(records: PromqaRecords) -> AgreementReport:
    return agreement_report(map(moment_question, records.candidates), records.verdicts, population="accepted")


@pytest.fixture(scope="module")
def judged(records: PromqaRecords, graphs: dict[str, TaskGraph]) -> list[Verdict]:
    """What the task-graph oracle says of the 195."""
    oracle = Oracle(clock=lambda: "2026-01-01T00:00:00Z")
    by_name = {graph.name: graph for graph in graphs.values()}
    return [
        oracle.judge(moment_question(candidate, example), by_name[example.activity_name])
        for candidate, example in zip(records.candidates, records.examples, strict=True)
    ]


# -- the rules of docs/verify.md, written down a second time --------------------------------------------------------


def rows_of(one: Raw) -> list[tuple[str, str, bool | None]]:
    """Text, source and pre-fill of each row in source order; the file is of accepted questions only."""
    first, second = one["verification"]["judges"]
    conflict = first["question"] != second["question"]
    rows: list[tuple[str, str, bool | None]] = []
    for n, text in enumerate(one["verification"]["answers"]):
        settled = None
        if not conflict and first["answers"][n] == second["answers"][n]:
            settled = first["answers"][n]
        rows.append((text, "machine", settled))
    return rows + [(text, "annotator", None) for judge in (first, second) for text in judge["comment"]]


def is_conflict(one: Raw) -> bool:
    first, second = one["verification"]["judges"]
    return bool(first["question"] != second["question"])


def cases_of(records: PromqaRecords, seed: int) -> Iterator[tuple[Case, list[Verdict]]]:
    by_item: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in records.verdicts:
        by_item[verdict.candidate_id].append(verdict)
    for candidate in records.candidates:
        given = by_item[candidate.id]
        yield open_case(moment_question(candidate), given, order="blind", seed=seed), given


def test_the_adjudication_need_is_the_published_one(raw: list[Raw], records: PromqaRecords) -> None:
    needed = []
    for one, (case, _) in zip(raw, cases_of(records, 0), strict=True):
        by_rule = is_conflict(one) or any(settled is None for _, _, settled in rows_of(one))
        assert case.needs_adjudication == by_rule == ("judge" in one["adjudication"]), one["question_id"]
        assert case.may_add == is_conflict(one)
        needed.append(by_rule)
    assert (len(needed), sum(needed)) == (195, NEEDED)
    assert sum(map(is_conflict, raw)) == CONFLICTS


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_pre_fills_are_the_published_ones_in_any_blind_order(
    raw: list[Raw], records: PromqaRecords, seed: int
) -> None:
    moved = 0
    for one, (case, _) in zip(raw, cases_of(records, seed), strict=True):
        mine = [(row.text, SETTLED[row.init]) for row in case.rows]
        assert mine == [(text, settled) for text, _, settled in rows_of(one)]
        assert SETTLED[case.question_init] == (None if is_conflict(one) else True)
        init = one["adjudication"]["init"]
        published = list(zip(one["adjudication"]["answers"], init["answers"], strict=True))
        shown = [(row.text, SETTLED[row.init]) for row in case.shown_rows]
        assert Counter(shown) == Counter(published), one["question_id"]
        assert init["question"] == SETTLED[case.question_init]
        moved += shown != published
    assert moved > 20, "the blind order is not the published one"


@pytest.mark.parametrize("seed", [0, 3])
def test_final_answer_sets_are_the_published_ones_in_any_blind_order(
    raw: list[Raw], records: PromqaRecords, seed: int
) -> None:
    for one, (case, given) in zip(raw, cases_of(records, seed), strict=True):
        adjudication, outdated = find_adjudication(case, given)
        assert outdated == ""
        result = merge(case, adjudication)
        assert result.state == "accepted"
        assert result.question_approved_by == one["question_approved_by"]
        published = zip(one["answers"], one["answer_tags"], one["answer_approved_by"], strict=True)
        found = Counter((a.text, a.source, a.approved_by) for a in result.answers)
        assert found == Counter(published), one["question_id"]


def test_what_is_built_from_the_verdicts_are_the_published_sets(
    raw: list[Raw], records: PromqaRecords
) -> None:
    items, dropped = build_items(records.questions, records.verdicts, RULES["humans"], seed=5)
    assert dropped == []
    for one, item in zip(raw, items, strict=True):
        assert Counter(gold_texts(item)) == Counter(one["answers"])


def test_an_adjudicator_never_overrules_what_is_settled(raw: list[Raw]) -> None:
    """0 of 179 in the whole file; the machine's rows here."""
    overruled = settled = 0
    for one in raw:
        judge = one["adjudication"].get("judge")
        for n, init in enumerate(one["adjudication"]["init"]["answers"] if judge else ()):
            if init is not None and judge["answers"]:
                settled += 1
                overruled += judge["answers"][n] not in (None, init)
    assert settled > 50
    assert overruled == 0


# -- agreement on the 195 ----------------------------------------------------------------------------------------------


def labels_of(raw: list[Raw], thing: str) -> list[tuple[Raw, bool, bool]]:
    """The judgements of both on questions, or on answers where both call the question valid."""
    found = []
    for one in raw:
        first, second = one["verification"]["judges"]
        if thing == "questions":
            found.append((one, first["question"], second["question"]))
        elif first["question"] and second["question"]:
            found += [(one, a, b) for a, b in zip(first["answers"], second["answers"], strict=True)]
    return found


def package_alpha(labels: list[tuple[Raw, bool, bool]]) -> float:
    data = np.array([[a, b] for _, a, b in labels], dtype=float).T
    return float(krippendorff.alpha(reliability_data=data, level_of_measurement="nominal"))


@pytest.mark.parametrize("thing", ["questions", "answers"])
def test_overall_agreement_is_that_of_other_packages(
    raw: list[Raw], report: AgreementReport, thing: str
) -> None:
    labels, seen = labels_of(raw, thing), getattr(report, thing).overall
    same, n = sum(a == b for _, a, b in labels), len(labels)
    assert (seen.n, seen.both_yes + seen.both_no) == (n, same)
    assert seen.raw.value == same / n
    assert (seen.raw.low, seen.raw.high) == pytest.approx(proportion_confint(same, n, method="wilson"))
    assert seen.alpha.value == pytest.approx(package_alpha(labels), abs=1e-12)
    yes = sum(a + b for _, a, b in labels)
    assert seen.prevalence.value == pytest.approx(yes / (2 * n))
    assert seen.positive.value == pytest.approx(2 * sum(a and b for _, a, b in labels) / yes)
    assert seen.negative.value == pytest.approx(
        2 * sum(not a and not b for _, a, b in labels) / (2 * n - yes)
    )
    assert seen.recordings == len({one["recording_id"] for one, _, _ in labels})


def test_the_interval_is_that_of_a_slow_bootstrap_over_recordings(
    raw: list[Raw], report: AgreementReport
) -> None:
    labels = labels_of(raw, "answers")
    by_recording = defaultdict(list)
    for label in labels:
        by_recording[label[0]["recording_id"]].append(label)
    names, rng = sorted(by_recording), np.random.default_rng(99)
    draws = [
        package_alpha([x for n in rng.integers(0, len(names), len(names)) for x in by_recording[names[n]]])
        for _ in range(600)
    ]
    low, high = np.quantile(draws, [0.025, 0.975])
    found = report.answers.overall.alpha
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.03)
    assert found.undefined == 0.0
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.643 < found.high, "alpha of all 401 lies inside"


@pytest.mark.parametrize("thing", ["questions", "answers"])
def test_pairs_and_their_mean(
    raw: list[Raw], report: AgreementReport, pairs: Pairs, expected: Raw, thing: str
) -> None:
    per_pair = defaultdict(list)
    for one, a, b in labels_of(raw, thing):
        per_pair[pairs[one["question_id"]]].append((a, b))
    topic: Topic = getattr(report, thing)
    assert {(p.a, p.b): p.n for p in topic.pairs} == {pair: len(x) for pair, x in per_pair.items()}
    for line in topic.pairs:
        said = per_pair[line.a, line.b]
        same = sum(a == b for a, b in said)
        assert line.raw.value == same / len(said)
        if len({label for pair in said for label in pair}) > 1:
            kappa = cohen_kappa_score([a for a, _ in said], [b for _, b in said])
            assert line.kappa.value == pytest.approx(kappa, abs=1e-12)
        else:
            assert line.kappa.value is None
        whole = expected["verification"]["per_pair"][f"{line.a}-{line.b}"]
        least = (
            (whole["kept"] - whole["q_agree"])
            if thing == "questions"
            else whole["a_total"] - whole["a_agree"]
        )
        assert line.n <= whole["kept" if thing == "questions" else "a_total"]
        assert len(said) - same <= least
    shares = [sum(a == b for a, b in said) / len(said) for said in per_pair.values()]
    assert len(shares) == 10
    assert topic.overall.mean_of_pairs.value == pytest.approx(sum(shares) / 10, abs=1e-12)


def test_types_each_for_themselves(raw: list[Raw], report: AgreementReport, expected: Raw) -> None:
    for thing in ("questions", "answers"):
        labels = defaultdict(list)
        for one, a, b in labels_of(raw, thing):
            labels[one["type"]].append((one, a, b))
        by_type: dict[str, Agreement] = getattr(report, thing).by_type
        assert by_type.keys() == labels.keys()
        for kind, group in by_type.items():
            assert group.n == len(labels[kind])
            if len({x for _, a, b in labels[kind] for x in (a, b)}) > 1:
                assert group.alpha.value == pytest.approx(package_alpha(labels[kind]), abs=1e-12)
            else:
                assert group.alpha.value is None
                assert group.alpha.note
    for kind, group in report.questions.by_type.items():
        assert group.n <= expected["statistics"]["by_type"][kind]


def test_the_biased_population_is_said_aloud(report: AgreementReport, records: PromqaRecords) -> None:
    """Questions have raw agreement near .948 and an alpha near 0, because rejected questions are not in the file."""
    assert report.population == "195 double-judged items, accepted ones only"
    assert "by construction" in report.warnings[0]
    assert (report.questions.overall.raw.value or 0) > 0.9
    assert -0.1 < (report.questions.overall.alpha.value or 1.0) < 0.0
    assert "alpha and kappa fall" in report.questions.overall.note
    unsaid = agreement_report(map(moment_question, records.candidates), records.verdicts, resamples=0)
    assert unsaid.warnings[0].startswith("None of the 195 questions was rejected by both")


# -- the published figures over 401, from their counts -----------------------------------------------------------------


def synthetic(expected: Raw) -> tuple[list[Question], list[Verdict]]:
    """Judgments with the counts per pair of the whole file, and 324 both yes and 82 both no."""
    candidates, verdicts = [], []
    yes_left = 324  # of the answers on which both agree, the other 82 are no
    words: dict[bool, Any] = {True: "right", False: "wrong"}
    for pair, counts in expected["verification"]["per_pair"].items():
        answers = [True] * counts["a_agree"] + [False] * (counts["a_total"] - counts["a_agree"])
        for n in range(counts["kept"]):
            name, agree = f"{pair}/{n}", n < counts["q_agree"]
            # The questions that both accept share the answers evenly.
            mine = answers[n :: counts["q_agree"]] if agree else []
            signs = []
            for same in mine:
                yes = yes_left > 0
                yes_left -= same and yes
                signs.append((yes if same else True, yes if same else False))
            candidates.append(
                moment_question(Candidate(
                    id=name, example_id=name, recording_id=name, type="all", question="?",
                    answers=tuple(Answer(str(k)) for k in range(len(mine))),
                    provenance=Provenance(generator="counts", version="1"),
                ))
            )  # fmt: skip
            for k, who in enumerate(pair.split("-")):
                verdicts.append(
                    Verdict(
                        candidate_id=name, annotator=who, annotator_kind="human", at="",
                        question=AnswerVerdict(words[agree or (n + k) % 2 == 0]),
                        answers=tuple(AnswerVerdict(words[sign[k]]) for sign in signs),
                    )
                )  # fmt: skip
    return candidates, verdicts


def test_published_figures_follow_from_the_published_counts(expected: Raw) -> None:
    report = agreement_report(*synthetic(expected), population="accepted")
    found = expected["verification"]
    questions, answers = report.questions.overall, report.answers.overall
    assert (questions.n, questions.mixed) == (401, found["question_conflicts"])
    assert questions.raw.value == pytest.approx(found["question_agreement_on_401"], abs=1e-12)
    assert questions.mean_of_pairs.value == pytest.approx(
        found["question_agreement_mean_of_pairs"], abs=1e-12
    )
    assert (answers.both_yes, answers.both_no, answers.mixed) == (324, 82, 61)
    assert answers.raw.value == pytest.approx(found["answer_agreement_pooled"], abs=1e-12)
    assert answers.mean_of_pairs.value == pytest.approx(found["answer_agreement_mean_of_pairs"], abs=1e-12)
    assert round(answers.alpha.value or 0, 3) == 0.643
    assert round(questions.alpha.value or 0, 2) == -0.03
    interval = [round(x or 0, 2) for x in (answers.alpha.low, answers.alpha.high)]
    assert interval == pytest.approx([0.55, 0.73], abs=0.03), "each example is a recording here"
    msgspec.json.decode(msgspec.json.encode(report), type=AgreementReport)


# -- policies on the 195 -----------------------------------------------------------------------------------------------

MINUTES = Minutes(1.5, 1.0, 390, NEEDED)


@pytest.fixture(scope="module")
def compared(records: PromqaRecords, judged: list[Verdict]) -> PolicyComparison:
    everyone = Policy(name="audit", audit_share=1.0)
    return compare_policies(
        map(moment_question, records.candidates),
        [*records.verdicts, *judged],
        MINUTES,
        [*POLICIES, everyone],
        population="accepted",
    )


def settled_by_rule(said: Verdict) -> set[int] | None:
    """The places that the oracle lets pass, None where people are needed; the policy in a few words."""
    if said.question.value == "wrong":
        return set()
    sure = [a.value if (a.confidence or 0) >= 0.8 else "unsure" for a in said.answers]
    if said.question.value == "unsure" or "unsure" in sure or "right" not in sure:
        return None
    return {n for n, value in enumerate(sure) if value == "right"}


def test_everything_twice_is_the_published_protocol(raw: list[Raw], compared: PolicyComparison) -> None:
    everything = compared.outcomes[0]
    assert (compared.items, compared.unfinished) == (195, 0)
    assert "rejected ones are missing" in compared.warnings[0]
    assert (everything.judgements, everything.adjudications) == (390, NEEDED)
    assert everything.minutes == 390 * 1.5 + NEEDED * 1.0
    assert (everything.accepted, everything.answers) == (195, sum(len(one["answers"]) for one in raw))
    assert everything.changes == ()


def test_what_the_oracle_would_have_saved_and_changed(
    raw: list[Raw], judged: list[Verdict], compared: PolicyComparison
) -> None:
    """Counted again from the raw file and the oracle's words."""
    doubted = compared.outcomes[1]
    settled = {one["question_id"]: settled_by_rule(said) for one, said in zip(raw, judged, strict=True)}
    by_oracle = [one for one in raw if settled[one["question_id"]] is not None]
    assert 20 < len(by_oracle) < 195, "else the test says little"
    assert doubted.reasons.get("settled") == len(by_oracle)
    people = [one for one in raw if settled[one["question_id"]] is None]
    assert doubted.judgements == 2 * len(people)
    assert doubted.adjudications == sum("judge" in one["adjudication"] for one in people)
    changed, wrong, own = [], 0, 0
    for one in by_oracle:
        passing = settled[one["question_id"]] or set()
        machine = {
            text for text, tag in zip(one["answers"], one["answer_tags"], strict=True) if tag == "machine"
        }
        mine = {one["verification"]["answers"][n] for n in passing}
        others = sum(tag != "machine" for tag in one["answer_tags"])
        wrong += bool(passing) and mine != machine
        own += others
        if mine != machine or others:
            changed.append(one["question_id"])
    assert [change.candidate_id for change in doubted.changes] == changed
    assert doubted.own_answers_lost == own
    error = doubted.machine
    assert error.items.n == error.questions.n == len(by_oracle)
    assert error.items.errors == wrong + doubted.questions_rejected
    assert error.items.rate is not None
    assert (error.items.low, error.items.high) == pytest.approx(
        proportion_confint(error.items.errors, len(by_oracle), method="wilson")
    )


def test_an_audit_lies_between(compared: PolicyComparison) -> None:
    everything, doubted, audit, everyone = compared.outcomes
    for outcome in compared.outcomes:
        assert outcome.minutes is not None
        assert doubted.minutes is not None
        assert everything.minutes is not None
        assert doubted.minutes <= outcome.minutes <= everything.minutes
    assert {c.candidate_id for c in audit.changes} <= {c.candidate_id for c in doubted.changes}
    assert (everyone.changes, everyone.answers) == ((), everything.answers)
    assert everyone.audit == doubted.machine
    assert audit.audit is not None
    assert audit.audit.items.n == audit.reasons.get("audit", 0) > 0


def test_the_oracle_stands_beside_people_in_the_report(
    raw: list[Raw], records: PromqaRecords, judged: list[Verdict], report: AgreementReport
) -> None:
    seen = agreement_report(
        map(moment_question, records.candidates), [*records.verdicts, *judged], population="accepted"
    )
    assert seen.questions == report.questions, "machines change nothing about people"
    assert seen.answers == report.answers
    (oracle,) = seen.machines
    mine, theirs = [], []
    for one, said in zip(raw, judged, strict=True):
        for judge in one["verification"]["judges"]:
            if judge["question"] and said.question.value != "wrong":
                for answer, theirs_ in zip(said.answers, judge["answers"], strict=True):
                    if answer.value != "unsure":
                        mine.append(answer.value == "right")
                        theirs.append(theirs_)
    line = oracle.answers.overall
    assert line.n == len(mine) > 100
    assert line.raw.value == sum(a == b for a, b in zip(mine, theirs, strict=True)) / len(mine)
    assert line.kappa.value == pytest.approx(cohen_kappa_score(mine, theirs), abs=1e-12)
    assert {p.b for p in oracle.answers.by_person} == {"0", "1", "2", "3", "4"}
