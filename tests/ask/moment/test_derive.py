"""Derivation: every rule of ProMQA on hand-made recordings, and the published totals on real ones."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from proctor.ask.moment.derive import CORRECTED, PUBLISHED, DeriveRules, derive_examples, rules_for
from proctor.datasets.captaincook4d import DATASET
from proctor.exam.kinds.example import Example
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Mistake, Recording, Segment
from proctor.records import Dropped

GRAPH = TaskGraph(
    "tea",
    "Tea",
    (
        Step("0", "START"),
        Step("1", "Boil water"),
        Step("2", "Take a cup"),
        Step("3", "Pour"),
        Step("4", "END"),
    ),
    (("0", "1"), ("0", "2"), ("1", "3"), ("2", "3"), ("3", "4")),
    "0",
    "4",
)


def segment(step: str, start: float, end: float, *mistakes: tuple[str, str]) -> Segment:
    return Segment(step, GRAPH[step].text, start, end, None, tuple(Mistake(*m) for m in mistakes))


def recording(*segments: Segment, **attributes: str) -> Recording:
    return Recording("r", "tea", "Tea", segments, attributes=attributes)


def derive(r: Recording, rules: DeriveRules = CORRECTED) -> dict[str, Example]:
    return {e.id: e for e in derive_examples([r], {"tea": GRAPH}, rules) if isinstance(e, Example)}


def dropped(r: Recording, rules: DeriveRules = CORRECTED) -> list[Dropped]:
    return [d for d in derive_examples([r], {"tea": GRAPH}, rules) if isinstance(d, Dropped)]


PLAIN = recording(segment("1", 10, 20), segment("2", 20, 30), segment("3", 30, 40))


class TestMoments:
    def test_every_performed_step_and_the_start_are_moments(self) -> None:
        assert list(derive(PLAIN)) == ["r_-1_next"] + [
            f"r_{i}_{t}" for i in "123" for t in ("next", "missing")
        ]

    def test_the_start_clip_ends_where_the_first_step_begins(self) -> None:
        start = derive(PLAIN)["r_-1_next"]
        assert (start.end, start.current, start.previous, start.state) == (10, None, (), "started")
        assert [s.step_id for s in start.next_steps or ()] == ["1", "2"]

    def test_an_early_start_clip_is_dropped_with_its_reason(self) -> None:
        early = recording(segment("1", 2, 20))
        assert "r_-1_next" not in derive(early)
        assert [(d.id, d.reason) for d in dropped(early)] == [("r_-1", "early")]

    def test_a_step_that_ends_early_is_forgotten_only_when_published(self) -> None:
        r = recording(segment("1", 1, 4), segment("2", 10, 20))
        assert [p.step_id for p in derive(r)["r_2_next"].previous] == ["1"]
        assert derive(r, replace(PUBLISHED, require={}))["r_2_next"].previous == ()

    def test_the_clip_ends_with_the_longest_step_so_far(self) -> None:
        r = recording(segment("1", 10, 50), segment("2", 20, 30), segment("3", 60, 70))
        assert derive(r)["r_2_next"].end == 50

    def test_overlap_emits_nothing_but_the_step_counts_as_done(self) -> None:
        r = recording(segment("1", 10, 30), segment("2", 20, 40), segment("3", 50, 60))
        assert "r_1_next" not in derive(r)
        assert [p.step_id for p in derive(r)["r_2_next"].previous] == ["1"]
        assert ("r_1", "overlap") in [(d.id, d.reason) for d in dropped(r)]

    @pytest.mark.parametrize(("start", "spoiled"), [(27.9, True), (28.0, False), (28.1, False)])
    def test_the_margin_is_two_seconds(self, start: float, spoiled: bool) -> None:
        r = recording(segment("1", 10, 30), segment("2", start, 40))
        assert ("r_1_next" not in derive(r)) is spoiled

    @pytest.mark.parametrize(("start", "spoiled"), [(29.0, True), (29.1, False)])
    def test_a_short_step_has_to_run_nine_tenths(self, start: float, spoiled: bool) -> None:
        r = recording(segment("1", 10, 30), segment("2", start, start + 1))
        assert ("r_1_next" not in derive(r)) is spoiled

    def test_skipped_steps_are_no_moments_and_never_in_the_history(self) -> None:
        skipped = Segment("1", "Boil water", mistakes=(Mistake("missing"),))
        r = recording(skipped, segment("2", 20, 30), segment("3", 30, 40))
        after = derive(r)["r_3_missing"]
        assert [s.step_id for s in after.missing_steps or ()] == ["1"]
        assert after.noisy is False
        assert after.state == "blocked"


class TestTypes:
    def test_a_mistake_brings_its_question_types_in_emission_order(self) -> None:
        r = recording(
            segment("1", 10, 20, ("timing", "too long"), ("order", "too early"), ("other", "dirty"))
        )
        assert [e.type for e in derive(r).values() if e.current] == ["next", "missing", "order", "timing"]

    def test_all_texts_of_a_kind_are_kept_last_one_last(self) -> None:
        r = recording(segment("1", 10, 20, ("timing", "a"), ("timing", "b")))
        assert derive(r)["r_1_timing"].mistake_texts == ("a", "b")

    def test_unknown_kinds_count_as_noise_but_bring_no_question(self) -> None:
        r = recording(segment("1", 10, 20, ("hygiene", "dirty hands")), segment("2", 20, 30))
        assert derive(r)["r_2_next"].noisy is True
        assert not any(e.type == "hygiene" for e in derive(r).values())

    def test_the_order_mistake_names_the_violated_edges(self) -> None:
        r = recording(segment("3", 10, 20, ("order", "too early")))
        assert derive(r)["r_3_order"].blocking == (("1", "3"), ("2", "3"))


class TestNoise:
    def test_the_current_step_does_not_make_its_own_moment_noisy(self) -> None:
        r = recording(segment("1", 10, 20, ("timing", "x")), segment("2", 20, 30))
        found = derive(r)
        assert (found["r_1_next"].noisy, found["r_2_next"].noisy) == (False, True)

    def test_published_calls_an_order_question_after_order_mistakes_clean(self) -> None:
        r = recording(segment("3", 10, 20, ("order", "x")), segment("2", 20, 30, ("order", "y")))
        assert derive(r, replace(PUBLISHED, require={}))["r_2_order"].noisy is False
        assert derive(r)["r_2_order"].noisy is True


class TestRepeats:
    REPEATED = recording(segment("1", 10, 20), segment("2", 20, 30), segment("1", 30, 40))

    def test_a_step_done_again_gets_a_moment_of_its_own(self) -> None:
        found = derive(self.REPEATED)
        assert (found["r_1_next"].end, found["r_1.2_next"].end) == (20, 40)

    def test_published_keeps_the_first_and_counts_the_other(self) -> None:
        rules = replace(PUBLISHED, require={})
        assert derive(self.REPEATED, rules)["r_1_next"].end == 20
        assert [d.reason for d in dropped(self.REPEATED, rules)] == ["repeated", "repeated"]


class TestEligibility:
    def test_published_wants_a_4k_video_where_that_is_known(self) -> None:
        assert derive(replace(PLAIN, attributes={"video_4k": "no"}), PUBLISHED) == {}
        assert derive(replace(PLAIN, attributes={"video_4k": "yes"}), PUBLISHED)
        assert derive(PLAIN, PUBLISHED)

    def test_a_recording_without_graph_is_listed(self) -> None:
        assert [d.reason for d in derive_examples([PLAIN], {}) if isinstance(d, Dropped)] == ["no_graph"]

    def test_an_empty_recording_gives_nothing(self) -> None:
        assert derive(recording()) == {}

    def test_rules_by_name(self) -> None:
        assert (rules_for("published"), rules_for("corrected")) == (PUBLISHED, CORRECTED)


def test_order_of_recordings_changes_nothing(shared_data: Path) -> None:
    result = DATASET.read(shared_data / "captaincook4d", "corrected")
    some = result.recordings[:40]
    forward = {e.id: e for e in derive_examples(some, result.graphs) if isinstance(e, Example)}
    backward = {e.id: e for e in derive_examples(reversed(some), result.graphs) if isinstance(e, Example)}
    assert forward == backward


def test_the_published_totals(shared_data: Path) -> None:
    result = DATASET.read(shared_data / "captaincook4d", "published")
    out = list(derive_examples(result.recordings, result.graphs, PUBLISHED))
    examples = [e for e in out if isinstance(e, Example)]
    assert Counter(e.type for e in examples) == {
        "next": 5024,
        "missing": 4813,
        "order": 664,
        "technique": 443,
        "preparation": 346,
        "measurement": 302,
        "timing": 136,
        "temperature": 53,
    }
    assert sum(e.noisy for e in examples) == 5657
    digest = hashlib.sha256("\n".join(e.id for e in examples).encode()).hexdigest()
    assert digest == "89afa5a666466ea971a6157f953ebfbb5e4d375593ac2d94bc1d8a98652ebf7a"
    reasons = Counter(d.reason for d in out if isinstance(d, Dropped))
    assert (reasons["overlap"], reasons["early"], reasons["not_eligible"]) == (279, 152, 21)


def test_without_the_4k_filter_there_are_12476(shared_data: Path) -> None:
    result = DATASET.read(shared_data / "captaincook4d", "published")
    rules = replace(PUBLISHED, require={})
    assert (
        sum(isinstance(e, Example) for e in derive_examples(result.recordings, result.graphs, rules)) == 12476
    )


TUBES = TaskGraph(
    "pcr",
    "PCR",
    (Step("mix", "Mix"), Step("spin", "Spin"), Step("place", "Place"), Step("heat", "Preheat the lid")),
    (("mix", "spin"), ("spin", "place"), ("place", "heat")),
)


def of_tubes(steps: str, rules: DeriveRules = CORRECTED) -> list[Example | Dropped]:
    segments = tuple(
        Segment(s, TUBES[s].text, 10.0 * n, 10.0 * n + 9) for n, s in enumerate(steps.split(), start=1)
    )
    return list(derive_examples([Recording("r", "pcr", "PCR", segments)], {"pcr": TUBES}, rules))


class TestDoneAgain:
    AGAIN = "mix spin place spin place heat"

    def test_what_was_spoilt_is_next_and_no_longer_done(self) -> None:
        found = {e.id: e for e in of_tubes(self.AGAIN) if isinstance(e, Example)}
        assert [s.step_id for s in found["r_spin.2_next"].next_steps or ()] == ["place"]
        assert [s.step_id for s in found["r_place.2_next"].next_steps or ()] == ["heat"]
        assert [p.reopens for p in found["r_heat_next"].performed] == [(), (), (), ("place",), (), ()]

    def test_published_takes_what_was_ever_done_for_done(self) -> None:
        rules = replace(PUBLISHED, number_repeats=True)
        found = {e.id: e for e in of_tubes(self.AGAIN, rules) if isinstance(e, Example)}
        assert [s.step_id for s in found["r_spin.2_next"].next_steps or ()] == ["heat"]

    def test_an_unclear_repetition_gives_no_example_and_is_listed(self) -> None:
        found = of_tubes("mix spin place spin heat")
        assert [(d.id, d.reason) for d in found if isinstance(d, Dropped)] == [("r_spin.2", "unclear_repeat")]
        assert not any(isinstance(e, Example) and e.clip_id == "r_spin.2" for e in found)
        assert any(isinstance(e, Example) and e.id == "r_heat_next" for e in found)


def test_what_becomes_of_the_repeated_steps_of_captaincook4d(shared_data: Path) -> None:
    result = DATASET.read(shared_data / "captaincook4d", "corrected")
    often = tuple(r for r in result.recordings if len({s.step_id for s in r.performed}) < len(r.performed))
    ever = {
        e.id: e
        for e in derive_examples(often, result.graphs, replace(CORRECTED, follow_repeats=False))
        if isinstance(e, Example)
    }
    out = list(derive_examples(often, result.graphs, CORRECTED))
    now = {e.id: e for e in out if isinstance(e, Example)}
    again = [e for e in ever.values() if "." in e.clip_id.split("_")[-1]]
    assert (len({e.clip_id for e in again}), len(again)) == (13, 36)
    unclear = {d.id for d in out if isinstance(d, Dropped) and d.reason == "unclear_repeat"}
    repeated = {"4_44_14.2", "16_39_3.2", "23_38_22.2", "28_49_16.2"}
    late = {"2_41_9", "16_39_7", "16_39_23"}
    assert unclear == repeated | late
    assert {e.clip_id for e in ever.values() if e.id not in now} == unclear
    changed = {i: [s.step_id for s in now[i].all_next] for i in now if now[i].all_next != ever[i].all_next}
    assert {i.rsplit("_", 1)[0]: ids for i, ids in changed.items()} == {
        "3_36_3.2": ["4"],
        "4_30_8": ["4"],
        "17_37_10": ["6"],
        "22_31_8": ["10"],
    }


def test_22_2_step_12_in_both_modes(shared_data: Path) -> None:
    expected = (
        "stir-stir gently with a wooden spoon but the egg that sets on the base of the pan was cooked so fast that it "
        "cannot be moved to enable the uncooked egg to flow into the space"
    )
    for mode in ("published", "corrected"):
        result = DATASET.read(shared_data / "captaincook4d", mode)
        recording = next(r for r in result.recordings if r.id == "22_2")
        assert [s.description for s in recording.performed][12] == expected
