"""The report on agreement: by hand, against the metric functions and other people's packages, and on bad input."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

import krippendorff
import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.proportion import proportion_confint

from proctor.ask.moment.candidate import Answer, Candidate, Provenance
from proctor.ask.moment.question import moment_question
from proctor.errors import UserError
from proctor.exam.question import Question
from proctor.metrics.agreement import (
    cohen_kappa,
    mean_pair_agreement,
    prevalence,
    raw_agreement,
    specific_agreement,
)
from proctor.metrics.errors import MetricInputError
from proctor.metrics.krippendorff import krippendorff_alpha
from proctor.verify.agreement import Agreement, AgreementReport, agreement_report
from proctor.verify.verdict import AnswerVerdict, Verdict

MakeVerdict = Callable[..., Verdict]
WORDS: dict[str, Any] = {"+": "right", "-": "wrong", "?": "unsure"}


def item(name: str, answers: int = 1, recording: str = "r1", type_: str = "next") -> Question:
    made = Candidate(
        id=name,
        example_id=name,
        recording_id=recording,
        type=type_,
        question="What now?",
        answers=tuple(Answer(f"answer {n}") for n in range(answers)),
        provenance=Provenance(generator="hand", version="1"),
    )
    return moment_question(made)


def say(candidate: str, who: str, judged: str, at: str = "2026-01-05T10:00:00Z", **more: Any) -> Verdict:
    question, _, answers = judged.partition(" ")
    more.setdefault("annotator_kind", "human")
    return Verdict(
        candidate_id=candidate,
        annotator=who,
        at=at,
        question=AnswerVerdict(WORDS[question]),
        answers=tuple(AnswerVerdict(WORDS[sign]) for sign in answers),
        **more,
    )


def design(seed: int, items: int, recordings: int, people: int = 4, each: int = 2) -> Any:
    """Items in recordings, judged by people who are right with different luck."""
    rng = random.Random(seed)
    candidates = [
        item(f"c{n:03}", 1 + n % 3, f"r{n % recordings}", ("next", "missing", "order")[n % 3])
        for n in range(items)
    ]
    verdicts = []
    for candidate in candidates:
        truth = rng.random() < 0.7
        for who in rng.sample(range(people), each):
            valid = truth if rng.random() < 0.85 else not truth
            signs = "".join(rng.choice("+++-") for _ in candidate.proposals) if valid else ""
            verdicts.append(
                say(
                    candidate.id,
                    f"p{who}",
                    f"{'+' if valid else '-'} {signs}",
                    f"2026-01-{1 + rng.randrange(28):02}",
                )
            )
    return candidates, verdicts


def ratings_of(candidates: Sequence[Question], verdicts: Sequence[Verdict], thing: str) -> Any:
    """Read the judgements again, one row a thing: its recording, and person to label. Unsure is no judgement."""
    rows = []
    for candidate in candidates:
        said = [v for v in verdicts if v.candidate_id == candidate.id and v.annotator_kind == "human"]
        if thing == "questions":
            labels = {v.annotator: v.question.value for v in said}
            rows.append((candidate.cluster, labels))
            continue
        for n in range(len(candidate.proposals)):
            valid = [v for v in said if v.question.value == "right"]
            rows.append((candidate.cluster, {v.annotator: v.answers[n].value for v in valid if v.answers}))
    return [(r, {who: label for who, label in labels.items() if label != "unsure"}) for r, labels in rows]


def strict_json(report: AgreementReport) -> Any:
    """Encode and read the report with a reader that refuses NaN and Infinity."""

    def refuse(constant: str) -> Any:
        raise AssertionError(constant)

    return json.loads(msgspec.json.encode(report), parse_constant=refuse)


# -- by hand -------------------------------------------------------------------------------------------------


def by_hand() -> tuple[list[Question], list[Verdict]]:
    candidates = [
        item("c1", 2, "r1"),
        item("c2", 1, "r2"),
        item("c3", 1, "r3", "order"),
        item("c4", 2, "r4"),
        item("c5"),
    ]
    verdicts = [
        say("c1", "ana", "+ +-"), say("c1", "ben", "+ ++"),
        say("c2", "ana", "-"), say("c2", "ben", "-"),
        say("c3", "ana", "+ +"), say("c3", "cem", "-"),
        say("c4", "ben", "+ --"), say("c4", "cem", "+ -+"),
        say("c5", "ana", "+ +"),
        say("c4", "zoe", "+ ++", role="adjudicator"),
    ]  # fmt: skip
    return candidates, verdicts


def test_a_count_by_hand() -> None:
    report = agreement_report(*by_hand())
    assert report.population == "4 double-judged items, accepted or not"
    assert (report.items, report.double_judged, report.single_judged) == (5, 4, 1)
    seen = report.questions.overall
    assert (seen.things, seen.n, seen.both_yes, seen.both_no, seen.mixed) == (4, 4, 2, 1, 1)
    assert (seen.raw.value, seen.prevalence.value) == (0.75, 5 / 8)
    assert (seen.positive.value, seen.negative.value) == (4 / 5, 2 / 3)
    # Krippendorff by hand: D_o = 2 of 8 ratings, D_e = 2 * 5 * 3 / 7 of 8.
    assert seen.alpha.value == pytest.approx(1 - 2 / (2 * 5 * 3 / 7))
    answers = report.answers.overall
    assert (answers.things, answers.both_yes, answers.both_no, answers.mixed) == (4, 1, 1, 2)
    assert [(p.a, p.b, p.n) for p in report.answers.pairs] == [("ana", "ben", 2), ("ben", "cem", 2)]
    assert answers.mean_of_pairs.value == 0.5
    assert {name: group.n for name, group in report.questions.by_type.items()} == {"next": 3, "order": 1}


def test_pairs_and_matrix_are_one_table() -> None:
    report = agreement_report(*by_hand())
    matrix = report.questions.matrix
    assert matrix.names == ("ana", "ben", "cem")
    assert matrix.n == ((0, 2, 1), (2, 0, 1), (1, 1, 0))
    assert matrix.raw == ((None, 1.0, 0.0), (1.0, None, 1.0), (0.0, 1.0, None))
    line = next(p for p in report.questions.pairs if (p.a, p.b) == ("ana", "cem"))
    assert (line.both_yes, line.a_only, line.b_only, line.both_no) == (0, 1, 0, 0)
    assert line.kappa.value == 0.0
    both_yes = next(p for p in report.questions.pairs if (p.a, p.b) == ("ben", "cem"))
    assert both_yes.kappa.value is None
    assert "chance is certain" in both_yes.kappa.note


def test_people_beside_their_training() -> None:
    report = agreement_report(*by_hand(), training={"ana": 0.9, "eve": 0.4})
    lines = {line.name: line for line in report.people}
    assert sorted(lines) == ["ana", "ben", "cem", "eve"]
    ana = lines["ana"]
    assert (ana.items, ana.training) == (4, 0.9)
    assert (ana.questions.value, ana.questions.n) == (2 / 3, 3)
    assert (ana.answers.value, ana.answers.n) == (1 / 2, 2)
    assert (ana.main.value, ana.main.n) == (3 / 5, 5)
    assert (lines["ben"].training, lines["eve"].main.value, lines["eve"].items) == (None, None, 0)
    assert lines["eve"].main.note


def test_answers_count_only_where_both_call_the_question_valid() -> None:
    candidates = [item("c1", 2), item("c2", 2)]
    verdicts = [
        say("c1", "ana", "+ ++"), say("c1", "ben", "- ++"),
        say("c2", "ana", "? ++"), say("c2", "ben", "+ ++"),
    ]  # fmt: skip
    report = agreement_report(candidates, verdicts)
    assert report.answers.overall.n == 0
    assert "both people call valid" in report.answers.condition
    assert (report.questions.overall.n, report.questions.unsure) == (1, 1)


def test_three_judgments_are_three_pairs_and_the_interval_says_so() -> None:
    verdicts = [say("c1", "ana", "+ +"), say("c1", "ben", "+ +"), say("c1", "cem", "+ -")]
    report = agreement_report([item("c1")], verdicts)
    answers = report.answers.overall
    assert (answers.things, answers.n, answers.both_yes, answers.mixed) == (1, 3, 1, 2)
    assert "not independent" in answers.raw.note
    assert answers.alpha.value == pytest.approx(krippendorff_alpha([["+", "+", "-"]]).value)


def test_drift_goes_by_the_week_of_the_later_verdict_in_utc() -> None:
    candidates = [item(f"c{n}") for n in range(5)]
    verdicts = [
        say("c0", "ana", "+ +", "2026-01-04T12:00:00Z"), say("c0", "ben", "+ +", "2026-01-03T12:00:00Z"),
        say("c1", "ana", "+ +", "2026-01-05T00:30:00+01:00"), say("c1", "ben", "- ", "2026-01-01"),
        say("c2", "ana", "+ +", "2026-01-11T23:00:00Z"), say("c2", "ben", "+ +", "2025-12-01T00:00:00Z"),
        say("c3", "ana", "+ +", "2026-01-05"), say("c3", "ben", "+ +", "yesterday"),
        say("c4", "ana", "+ +", "9999-12-31T23:59:59-12:00"), say("c4", "ben", "+ +", "2026-01-05"),
    ]  # fmt: skip
    topic = agreement_report(candidates, verdicts).questions
    assert {week: (group.n, group.raw.value) for week, group in topic.by_week.items()} == {
        "2026-W01": (2, 0.5),
        "2026-W02": (1, 1.0),
    }
    assert list(topic.by_week) == sorted(topic.by_week)
    assert topic.undated == 2
    assert topic.overall.n == 5


# -- machines ------------------------------------------------------------------------------------------------


def test_machines_are_measured_against_people_and_never_among_them() -> None:
    candidates, verdicts = by_hand()
    people = agreement_report(candidates, verdicts)
    machine = [
        say("c1", "graph", "+ +-", annotator_kind="oracle"), say("c2", "graph", "+ +", annotator_kind="oracle"),
        say("c3", "graph", "+ ?", annotator_kind="oracle"), say("c4", "graph", "-", annotator_kind="oracle"),
        say("c1", "model", "? +-", annotator_kind="model"), say("c2", "model", "+ ++", annotator_kind="model"),
    ]  # fmt: skip
    report = agreement_report(candidates, [*verdicts, *machine])
    assert (report.questions, report.answers, report.people) == (
        people.questions,
        people.answers,
        people.people,
    )
    graph, model = report.machines
    assert (graph.name, graph.kind, graph.items) == ("graph", "oracle", 4)
    line = graph.questions.overall
    # c1 twice yes, c2 twice no, c3 yes and no, c4 twice yes where the machine rejects.
    assert (line.both_yes, line.a_only, line.b_only, line.both_no) == (3, 3, 2, 0)
    assert (line.raw.value, line.b) == (3 / 8, "")
    assert "not independent" in line.raw.note
    assert (graph.answers.judged, graph.answers.unsure) == (3, 1)
    # c1: right and wrong against ana's + - and ben's + +; people reject c2, the machine is unsure on c3, rejects c4.
    line = graph.answers.overall
    assert (line.both_yes, line.a_only, line.b_only, line.both_no) == (2, 0, 1, 1)
    assert [(p.b, p.n) for p in graph.answers.by_person] == [("ana", 2), ("ben", 2)]
    assert {name: p.n for name, p in graph.questions.by_type.items()} == {"next": 6, "order": 2}
    assert (model.questions.judged, model.questions.unsure, model.items) == (0, 1, 1)
    assert model.answers.overall.n == 4, "a machine that is unsure of the question still judges answers"
    assert report.left_out == {"answers-do-not-fit": 1}


def test_kappa_of_a_machine_is_that_of_the_metric() -> None:
    candidates, verdicts = design(5, 60, 12)
    rng = random.Random(3)
    machine = [
        say(c.id, "m", "+ " + "".join(rng.choice("+-?") for _ in c.proposals), annotator_kind="model")
        for c in candidates
    ]
    report = agreement_report(candidates, [*verdicts, *machine], seed=4)
    a, b, clusters = [], [], []
    for said in machine:
        recording = next(c.cluster for c in candidates if c.id == said.candidate_id)
        for v in verdicts:
            if v.candidate_id == said.candidate_id and v.question.value == "right":
                for mine, theirs in zip(said.answers, v.answers, strict=True):
                    if mine.value != "unsure":
                        a.append(mine.value)
                        b.append(theirs.value)
                        clusters.append(recording)
    expected = cohen_kappa(a, b, clusters=clusters, seed=4)
    found = report.machines[0].answers.overall
    assert found.n == len(a)
    assert (found.kappa.value, found.kappa.low, found.kappa.high) == pytest.approx(
        (expected.value, expected.low, expected.high), abs=1e-12
    )
    assert found.kappa.value == pytest.approx(cohen_kappa_score(a, b), abs=1e-12)


# -- against the metric functions ----------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "each"), [(0, 2), (4, 2), (2, 3)])
@pytest.mark.parametrize("thing", ["questions", "answers"])
def test_every_number_is_that_of_the_metric_functions(thing: str, seed: int, each: int) -> None:
    candidates, verdicts = design(seed, 90, 15, each=each)
    report = agreement_report(candidates, verdicts, seed=seed)
    topic = getattr(report, thing)
    rows = [(r, labels) for r, labels in ratings_of(candidates, verdicts, thing) if len(labels) >= 2]
    assert len({r for r, _ in rows}) == 15, "every recording has something, so the draws are the same"
    expected = krippendorff_alpha(
        [sorted(labels.values()) for _, labels in rows], clusters=[r for r, _ in rows], seed=seed
    )
    found = topic.overall.alpha
    assert (found.value, found.low, found.high) == pytest.approx(
        (expected.value, expected.low, expected.high), abs=1e-12
    )

    by_name: dict[str, dict[str, Any]] = {}
    for n, (_, labels) in enumerate(rows):
        for who, label in labels.items():
            by_name.setdefault(who, {})[str(n)] = label
    clusters = {str(n): r for n, (r, _) in enumerate(rows)}
    mean = mean_pair_agreement(by_name, clusters=clusters, seed=seed)
    got = topic.overall.mean_of_pairs
    assert (got.value, got.low, got.high, got.n) == pytest.approx(
        (mean.value, mean.low, mean.high, mean.n), abs=1e-12
    )
    for line in topic.pairs:
        both = sorted(by_name[line.a].keys() & by_name[line.b].keys())
        a, b = [by_name[line.a][i] for i in both], [by_name[line.b][i] for i in both]
        assert line.n == len(both)
        assert line.raw.value == raw_agreement(a, b).value
        assert line.kappa.value == pytest.approx(cohen_kappa(a, b, resamples=0).value, abs=1e-12)
        assert line.kappa.value == pytest.approx(cohen_kappa_score(a, b), abs=1e-12)
        assert line.positive.value == pytest.approx(specific_agreement(a, b, "right", resamples=0).value)
    if each == 2:
        pairs = [tuple(labels[who] for who in sorted(labels)) for _, labels in rows]
        a, b = [p[0] for p in pairs], [p[1] for p in pairs]
        groups = [r for r, _ in rows]
        for estimate, label in ((topic.overall.positive, "right"), (topic.overall.negative, "wrong")):
            score = specific_agreement(a, b, label, clusters=groups, seed=seed)
            assert (estimate.value, estimate.low, estimate.high) == pytest.approx(
                (score.value, score.low, score.high)
            )
        assert topic.overall.prevalence.value == pytest.approx(prevalence(a, b, "right", resamples=0).value)
        raw = topic.overall.raw
        same = sum(x == y for x, y in pairs)
        assert (raw.low, raw.high) == pytest.approx(proportion_confint(same, len(pairs), method="wilson"))


def test_types_are_shown_each_and_never_averaged() -> None:
    candidates, verdicts = design(7, 120, 20)
    report = agreement_report(candidates, verdicts)
    for kind, group in report.answers.by_type.items():
        own = [c for c in candidates if c.facets["type"] == kind]
        rows = [x for x in ratings_of(own, verdicts, "answers") if len(x[1]) >= 2]
        alone = krippendorff_alpha([list(labels.values()) for _, labels in rows], resamples=0)
        assert group.alpha.value == pytest.approx(alone.value, abs=1e-12)
        assert (group.things, group.recordings) == (len(rows), len({r for r, _ in rows}))
    values = [group.alpha.value for group in report.answers.by_type.values()]
    assert report.answers.overall.alpha.value != pytest.approx(sum(values) / len(values), abs=1e-6)


def test_the_interval_varies_with_recordings_not_with_items() -> None:
    """Thirty copies of each judgement in a recording tell no more than one: the interval must not shrink."""
    few, _ = design(3, 40, 40)
    said = {c.id: v for c, v in zip(few, [("+", "+"), ("+", "-"), ("-", "-"), ("+", "+")] * 10, strict=True)}
    many, verdicts_few, verdicts_many = [], [], []
    for c in few:
        a, b = said[c.id]
        verdicts_few += [say(c.id, "ana", a), say(c.id, "ben", b)]
        for n in range(30):
            copy = item(f"{c.id}-{n}", len(c.proposals), c.cluster, c.facets["type"])
            many.append(copy)
            verdicts_many += [say(copy.id, "ana", a), say(copy.id, "ben", b)]
    one = agreement_report(few, verdicts_few).questions.overall
    thirty = agreement_report(many, verdicts_many).questions.overall
    assert (thirty.positive.low, thirty.positive.high) == pytest.approx((one.positive.low, one.positive.high))
    assert thirty.alpha.low == pytest.approx(one.alpha.low, abs=0.03)
    assert thirty.raw.high - thirty.raw.low < (one.raw.high - one.raw.low) / 4, (
        "Wilson takes pairs as independent"
    )


def test_the_share_of_undefined_draws_is_told() -> None:
    candidates = [item(f"c{n}", 1, f"r{n}", "rare" if n < 2 else "often") for n in range(12)]
    verdicts = [
        say(c.id, who, "+ +" if n else "-") for n, c in enumerate(candidates) for who in ("ana", "ben")
    ]
    rare = agreement_report(candidates, verdicts).questions.by_type["rare"]
    # Defined when both of 12 recordings are drawn: 1 - 2 (11/12)^12 + (10/12)^12.
    assert rare.alpha.undefined == pytest.approx(1 - (1 - 2 * (11 / 12) ** 12 + (10 / 12) ** 12), abs=0.04)
    assert rare.alpha.value == 1.0
    assert "undefined and left out" in rare.alpha.note


# -- properties ----------------------------------------------------------------------------------------------


@st.composite
def studies(draw: st.DrawFn) -> tuple[list[Question], list[Verdict]]:
    candidates = [
        item(
            f"c{n}", draw(st.integers(0, 2)), f"r{draw(st.integers(0, 3))}", draw(st.sampled_from(["a", "b"]))
        )
        for n in range(draw(st.integers(0, 8)))
    ]
    verdicts = []
    for candidate in candidates:
        for who in draw(st.sets(st.sampled_from(["ana", "ben", "cem"]), max_size=3)):
            signs = "".join(draw(st.sampled_from("++-?")) for _ in candidate.proposals)
            sign = draw(st.sampled_from("++-?"))
            kind = "oracle" if who == "cem" and draw(st.booleans()) else "human"
            week = draw(st.sampled_from(["2026-01-02T00:00:00Z", "2026-02-01T00:00:00+02:00", ""]))
            verdicts.append(
                say(candidate.id, who, f"{sign} {signs if sign != '-' else ''}", week, annotator_kind=kind)
            )
    return candidates, verdicts


def groups(report: AgreementReport) -> Iterator[Agreement]:
    for topic in (report.questions, report.answers):
        yield topic.overall
        yield from topic.by_type.values()
        yield from topic.by_week.values()


@settings(max_examples=60)
@given(studies())
def test_alpha_is_that_of_the_krippendorff_package(study: tuple[list[Question], list[Verdict]]) -> None:
    report = agreement_report(*study, resamples=0)
    for thing in ("questions", "answers"):
        rows = [labels for _, labels in ratings_of(*study, thing)]
        pairable = [x for x in rows if len(x) >= 2]
        found = getattr(report, thing).overall.alpha
        if len({label for x in pairable for label in x.values()}) < 2:
            assert found.value is None
            assert found.note
            continue
        data = [
            [float(x.get(who, "") == "right") if who in x else np.nan for x in rows]
            for who in ("ana", "ben", "cem")
        ]
        assert found.value == pytest.approx(
            krippendorff.alpha(reliability_data=np.array(data), level_of_measurement="nominal"), abs=1e-12
        )


@settings(max_examples=60)
@given(studies(), st.randoms(use_true_random=False))
def test_order_changes_nothing(study: tuple[list[Question], list[Verdict]], rng: random.Random) -> None:
    candidates, verdicts = study
    first = agreement_report(candidates, verdicts, resamples=30)
    rng.shuffle(candidates)
    rng.shuffle(verdicts)
    assert agreement_report(candidates, verdicts, resamples=30) == first


@settings(max_examples=60)
@given(studies())
def test_what_has_no_value_has_a_reason_and_json_no_nan(study: tuple[list[Question], list[Verdict]]) -> None:
    report = agreement_report(*study, resamples=30)
    assert strict_json(report)["questions"]["overall"]["n"] == report.questions.overall.n
    assert msgspec.json.decode(msgspec.json.encode(report), type=AgreementReport) == report
    for group in groups(report):
        for estimate in (
            group.raw,
            group.positive,
            group.negative,
            group.prevalence,
            group.alpha,
            group.mean_of_pairs,
        ):
            assert (estimate.value is not None) or estimate.note
            assert (estimate.low is None) == (estimate.high is None)
        assert group.n == group.both_yes + group.both_no + group.mixed
    for topic in (report.questions, report.answers):
        assert sum(group.n for group in topic.by_type.values()) == topic.overall.n
        assert sum(group.things for group in topic.by_week.values()) + topic.undated == topic.overall.things
        assert sum(line.n for line in topic.pairs) == topic.overall.n


def test_a_seed_gives_the_same_draws_and_another_seed_others() -> None:
    study = design(11, 60, 20)
    one, again = (agreement_report(*study, seed=1).answers.overall.alpha for _ in range(2))
    other = agreement_report(*study, seed=2).answers.overall.alpha
    assert one == again
    assert one.value == other.value
    assert (one.low, one.high) != (other.low, other.high)
    assert abs(one.low - other.low) < 0.05


# -- bias and bad input --------------------------------------------------------------------------------------


def test_a_file_of_accepted_items_is_warned_of() -> None:
    candidates = [item(f"c{n}", 1, f"r{n % 12}") for n in range(60)]
    verdicts = [say(c.id, who, "+ +") for c in candidates for who in ("ana", "ben")]
    verdicts[3] = say(candidates[1].id, "ben", "-")
    told = agreement_report(candidates, verdicts, population="accepted", resamples=50)
    assert told.population == "60 double-judged items, accepted ones only"
    assert "by construction" in told.warnings[0]
    guessed = agreement_report(candidates, verdicts, resamples=50)
    assert guessed.warnings[0].startswith("None of the 60 questions was rejected by both.")
    assert guessed.questions.overall.note.startswith("99 % of the judgements are yes")
    both = [say(candidates[0].id, who, "-") for who in ("ana", "ben")]
    assert agreement_report(candidates, [*both, *verdicts[2:]], resamples=50).warnings == ()


def test_one_annotator() -> None:
    candidates = [item(f"c{n}", 2) for n in range(3)]
    report = agreement_report(candidates, [say(c.id, "ana", "+ +-") for c in candidates])
    assert report.population == "0 double-judged items, accepted or not"
    assert (report.double_judged, report.single_judged, report.questions.overall.n) == (0, 3, 0)
    assert report.questions.overall.raw.note == "nothing was judged by both"
    assert any("one person has judged" in w for w in report.warnings)
    assert report.people[0].main.value is None
    strict_json(report)


def test_no_overlap() -> None:
    candidates = [item(f"c{n}") for n in range(4)]
    report = agreement_report(
        candidates, [say(c.id, "ana" if n < 2 else "ben", "+ +") for n, c in enumerate(candidates)]
    )
    assert report.questions.pairs == ()
    assert report.questions.matrix.n == ((0, 0), (0, 0))
    assert report.questions.overall.mean_of_pairs.value is None
    strict_json(report)


@pytest.mark.parametrize(("sign", "word"), [("+ +", "right"), ("-", "wrong")])
def test_one_label_only_is_undefined_and_not_one(sign: str, word: str) -> None:
    candidates = [item(f"c{n}", 1, f"r{n}") for n in range(20)]
    report = agreement_report(
        candidates, [say(c.id, who, sign) for c in candidates for who in ("ana", "ben")]
    )
    seen = report.questions.overall
    assert (seen.raw.value, seen.alpha.value, report.questions.pairs[0].kappa.value) == (1.0, None, None)
    assert seen.alpha.note == (
        f"every judgement is '{word}': chance is certain, so nothing can be corrected for it"
    )
    rare = seen.negative if word == "right" else seen.positive
    assert rare.value is None
    assert rare.note in ("nobody says no", "nobody says yes")
    assert (seen.raw.low or 0) < 1.0, "Wilson does not take 20 of 20 for certainty"
    strict_json(report)


def test_nothing_at_all() -> None:
    report = agreement_report([], [])
    assert report.population == "0 double-judged items, accepted or not"
    assert report.people == report.machines == ()
    strict_json(report)


def test_verdicts_on_other_candidates_are_counted_and_left_out() -> None:
    verdicts = [say("c1", "ana", "+ +"), say("gone", "ana", "+ +"), say("c1", "ben", "+ +++")]
    report = agreement_report([item("c1")], verdicts)
    assert report.left_out == {"answers-do-not-fit": 1, "candidate-unknown": 1}
    assert report.single_judged == 1


def test_what_is_refused() -> None:
    with pytest.raises(UserError, match="two verdicts on candidate 'c1'"):
        agreement_report([item("c1")], [say("c1", "ana", "+ +"), say("c1", "ana", "-")])
    with pytest.raises(UserError, match="more than once"):
        agreement_report([item("c1"), item("c1")], [])
    for score in (1.5, -0.1, float("nan")):
        with pytest.raises(UserError, match="training score"):
            agreement_report([], [], training={"ana": score})
    with pytest.raises(MetricInputError, match="confidence"):
        agreement_report([], [], confidence=1.0)
    with pytest.raises(MetricInputError, match="population"):
        agreement_report([], [], population="some")  # type: ignore[arg-type]


def test_a_person_and_a_machine_of_one_name_are_two() -> None:
    verdicts = [say("c1", "x", "+ +"), say("c1", "x", "+ -", annotator_kind="model"), say("c1", "y", "+ +")]
    report = agreement_report([item("c1")], verdicts)
    assert [line.name for line in report.people] == ["x", "y"]
    assert report.machines[0].answers.overall.n == 2


def test_no_draws_no_bootstrap_intervals() -> None:
    report = agreement_report(*design(1, 30, 10), resamples=0)
    assert report.questions.overall.alpha.value is not None
    assert report.questions.overall.alpha.low is None
    assert report.questions.overall.raw.low is not None


def test_all_pairs_of_many_annotators_are_there() -> None:
    names = [f"p{n}" for n in range(6)]
    report = agreement_report([item("c1")], [say("c1", who, "+ +") for who in names])
    assert {(p.a, p.b) for p in report.answers.pairs} == set(combinations(names, 2))


def test_twenty_thousand_items_take_moments() -> None:
    candidates, verdicts = design(1, 20_000, 1_000, people=5)
    began = time.process_time()
    report = agreement_report(candidates, verdicts)
    assert time.process_time() - began < 8.0, "about 1.5 s on an idle machine"
    assert report.double_judged == 20_000
