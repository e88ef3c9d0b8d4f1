"""What the page says of questions about clips alone."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.exam.clip_set import clip, pair
from tests.report.opening import closed, miscounted
from tests.report.pages import listed

from proctor.ask.clip.audit import Planted, PlantedKind, score_audit
from proctor.ask.clip.choice_run import summarise_choices
from proctor.ask.clip.choices import ChoiceAttempt, ChoiceOutcome, ChoiceResult
from proctor.ask.clip.filters import results_of
from proctor.ask.clip.known import Known
from proctor.ask.clip.record import ChoiceItem, Distractor, FilterName, FilterVerdict, Vote, pair_question
from proctor.metrics.figure import Histogram
from proctor.records import Dropped
from proctor.report.clip import ClipMaking, PairsSummary, _chosen, clip_sections
from proctor.report.page import render_page
from proctor.report.parts import Led, Page


def unopened(made: ClipMaking) -> dict[str, str]:
    """Which numbers of the page open nothing, or another number of lines."""
    text = render_page(Page("Clips", sections=tuple(clip_sections(made))))
    return closed(text) | {f"count {n}": said for n, said in enumerate(miscounted(text))}


def lengths(*seconds: float) -> Histogram | None:
    pairs = [pair(n, video=f"v{n}") for n in range(len(seconds))]
    clips = [clip(f"v{n}", start=5.0, end=5.0 + length) for n, length in enumerate(seconds)]
    made = ClipMaking(pairs=pairs, clips=clips[: len(seconds)], summary=PairsSummary())
    (found,) = [s for s in clip_sections(made) if s.id == "statistics"]
    return next(
        (f for part in found.parts if isinstance(part, Led) and isinstance(f := part.figure, Histogram)), None
    )


def test_lengths_of_clips_are_drawn_with_their_median_and_what_is_published() -> None:
    drawn = lengths(241.0, 250.0, 259.9, 260.0, 300.0, 431.0)
    assert drawn is not None
    assert drawn.edges == tuple(range(240, 441, 10))
    assert drawn.counts == (1, 2, 1, 0, 0, 0, 1, *[0] * 12, 1)
    assert (drawn.unit, drawn.marks) == ("s", (("median", pytest.approx(259.95)),))
    assert drawn.references == (("published: cut beyond", 240.0), ("published mean", 283.22))


@pytest.mark.parametrize("seconds", [(3.0,), (60.0, 61.0), (0.5, 20_000.0), (1.0, 1e6)])
def test_there_are_about_thirty_bins_at_most_and_every_clip_is_in_one(seconds: tuple[float, ...]) -> None:
    drawn = lengths(*seconds)
    assert drawn is not None
    assert len(drawn.edges) == len(drawn.counts) + 1 <= 33
    assert sum(drawn.counts) == len(seconds)
    for length in seconds:
        holds = [
            n for a, b, n in zip(drawn.edges, drawn.edges[1:], drawn.counts, strict=False) if a <= length < b
        ]
        assert len(holds) == 1
        assert holds[0] > 0


def test_numbers_of_the_writing_and_the_filters_open_what_they_count() -> None:
    pairs = [pair(n, video=f"v{n}") for n in range(3)]
    gone = (
        Dropped("v1/fine/0.0", "unreadable"),
        Dropped("v1/fine/0.1#2", "duplicate_question"),
        Dropped("v1__fine-0a1b2c", "duplicate_question"),
        Dropped("v2__fine-0a1b2d", "over_quota"),
    )
    funnel = {"tasks": 5, "replied": 5, "read": 4, "entries": 6, "passed": 5, "new": 4, "kept": 3}
    said = [(0, True, ""), (1, False, "generic"), (2, False, "partial")]
    verdicts = [
        FilterVerdict(
            item_id=pairs[n].id, filter="unspecific", keep=keep, evidence={"problem": p} if p else {}
        )
        for n, keep, p in said
    ]
    tasks = dict.fromkeys((f"v{n}/coarse/0.0" for n in range(4)), "read")
    made = ClipMaking(
        pairs, [clip("v0"), msgspec.structs.replace(clip("v0", start=10.4, end=20.0), id="v0.1"), clip("v1"), clip("v2")],
        PairsSummary(asked=5, funnel=funnel), {**tasks, "v1/fine/0.0": "unreadable"}, verdicts, kept=pairs[:1], gone=gone,
        items=[ChoiceItem(id=pairs[0].id, question="?", options=("a", "b"), letter="B")],
    )  # fmt: skip
    opened = listed(clip_sections(made))
    assert unopened(made) == {}
    came = {label: n for (title, label, _), n in opened.items() if title == "How far tasks and entries came"}
    assert came == {name: (f"{n}", n) for name, n in funnel.items()}
    assert {n: of for (title, n, _), of in opened.items() if title == "Pairs"} == {
        "clips": ("4", 4),
        "videos": ("3", 3),
        "pairs": ("3", 3),
        "asked for": ("5", 5),  # two of which were never written
    }
    assert opened["Pairs that are left", "writing", "how many"] == ("3", 3)
    assert opened["Pairs that are left", "unspecific", "how many"] == ("1", 1)
    assert {n: of for (title, n, _), of in opened.items() if title == "Filters"} == {
        "asked": ("3", 3),
        "kept": ("1", 1),
    }
    assert opened["The funnel", "unspecific", "dropped"] == ("2", 2)
    assert opened["The funnel", "unspecific", "problems"] == ("partial 1", 1)
    of_sets = {key[1]: opened.pop(key) for key in [*opened] if key[0] == "Multiple choice"}
    assert [of_sets[name] for name in ("questions", "clips", "videos")] == [("1", 1)] * 3
    assert of_sets["mean duration of a clip (s)"] == ("10.4", 1)
    opened = {key: of for key, of in opened.items() if not key[1].startswith("mean ") and key[2] != "share"}
    assert all(int(text.split()[-1]) == n for text, n in opened.values())
    lost = ClipMaking(
        pairs, [], PairsSummary(funnel=funnel)
    )  # nobody knows what was left out: it opens nothing
    assert {label for (_, label, _) in listed(clip_sections(lost))} & {"tasks", "entries", "new"} == set()


def test_numbers_of_the_planted_audit_open_the_questions_that_were_planted() -> None:
    kinds: tuple[PlantedKind, ...] = ("vague", "vague", "tricky", "sound", "sound")
    planted = [Planted(pair=pair(n), kind=kind, rule="r") for n, kind in enumerate(kinds)]
    said: list[tuple[int, FilterName, bool | None]] = [
        (0, "unspecific", False), (0, "tricky", True), (1, "unspecific", True), (1, "tricky", False), (2, "unspecific", True),
        (2, "tricky", None), (3, "unspecific", True), (3, "tricky", True), (4, "unspecific", True), (4, "tricky", False),
    ]  # fmt: skip
    verdicts = [FilterVerdict(item_id=planted[n].pair.id, filter=name, keep=keep) for n, name, keep in said]
    report = score_audit(planted, results_of([p.pair.id for p in planted], verdicts))
    made = ClipMaking([], [], PairsSummary(), audit=report, planted=planted, audited=verdicts)
    opened = {key: of for key, of in listed(clip_sections(made)).items() if key[0] != "Statistics of clips"}
    assert unopened(made) == {}
    assert {kind: opened["Planted audit", kind, ""] for kind in kinds} == {
        "vague": ("2", 2),
        "tricky": ("1", 1),
        "sound": ("2", 2),
    }
    held = "Filters compared with what was planted"
    assert (opened[held, "tricky", "seen"], opened[held, "tricky", "dropped"]) == (("4", 4), ("2", 2))
    over = {
        (key[1], key[2].removesuffix(", %")): n
        for key, (_, n) in opened.items()
        if key[0] == held and key[2].endswith("%")
    }
    rates = {row.filter: row for row in report.rows}
    one, other = rates["unspecific"], rates["tricky"]
    assert over == {
        ("unspecific", "precision"): one.precision.n, ("unspecific", "any fault"): one.precision_any.n,
        ("unspecific", "recall"): one.recall.n, ("unspecific", "false alarm"): one.false_alarm.n, ("unspecific", "F1"): 2,
        ("tricky", "precision"): other.precision.n, ("tricky", "any fault"): other.precision_any.n,
        ("tricky", "false alarm"): other.false_alarm.n, ("tricky", "F1"): 2,
        ("all together", "precision"): report.precision.n, ("all together", "recall"): report.recall.n,
        ("all together", "F1"): 3,
    }  # fmt: skip
    became = {key[1:]: of for key, of in opened.items() if key[0] == "What became of planted questions"}
    assert became == {
        ("vague", "unspecific"): ("1", 1), ("vague", "tricky"): ("1", 1), ("tricky", "postponed"): ("1", 1),
        ("sound", "tricky"): ("1", 1), ("sound", "kept"): ("1", 1),
    }  # fmt: skip
    shares = {key[1]: of for key, of in opened.items() if key[0].startswith("Share of planted")}
    assert shares == {"sound/r": ("50.0", 2), "vague/r": ("100.0", 2)}  # nothing is decided of the other one


def test_numbers_of_the_options_open_questions_attempts_votes_and_wrong_answers() -> None:
    names = ("m/one", "m/two")
    pairs = [pair(n) for n in range(6)]
    wrong = tuple(Distractor(text=f"wrong {n}") for n in range(4))

    def attempt(
        item: int, number: int, outcome: ChoiceOutcome, blind: str = "BB", **more: Any
    ) -> ChoiceAttempt:
        stages: tuple[tuple[Any, str], ...] = (
            ("with_steps", "AB"),
            ("without_steps", blind),
            ("confirm", "B"),
        )
        votes = tuple(
            Vote(
                stage=stage,
                attempt=number,
                assistant=name,
                order=(0, 1, 2, 3, 4),
                letter=letter.strip(),
                right=letter == "A",
            )
            for stage, letters in stages[: 3 if more else 2]
            for name, letter in zip(names, letters, strict=False)
        )
        return ChoiceAttempt(
            item=pairs[item].id, number=number, outcome=outcome, wrong=wrong, votes=votes, **more
        )

    tried = {
        0: (attempt(0, 0, "without_steps_fail", "AA"), attempt(0, 1, "ok", confirmed=True)),
        1: (attempt(1, 0, "ok", "A ", confirmed=False),),
        2: (attempt(2, 0, "without_steps_fail", "AA"), attempt(2, 1, "duplicate", "")),
        3: (attempt(3, 0, "postponed", ""),),
        4: (),
        5: (),
    }
    unfit = Dropped(pairs[4].id, "no_context")
    results = [
        ChoiceResult(
            Known(question=pair_question(pairs[n], {}), answers=("!",), lines=()),
            own,
            unfit if n == 4 else None,
        )
        for n, own in tried.items()
    ]
    items = [
        ChoiceItem(
            id=pairs[n].id, question="?", options=("a", "b", "c", "d", "e"), letter="A", attempts=2 - n
        )
        for n in (0, 1)
    ]
    summary = summarise_choices(results, items, attempts=2, options=5, voters=2)
    made = ClipMaking(
        pairs, [clip("v0"), clip("v1")], PairsSummary(), items=items, choices=summary, attempts=[a for own in tried.values() for a in own],
        unfit=[unfit, Dropped(pairs[2].id, "duplicate")],
    )  # fmt: skip
    opened = listed(clip_sections(made))
    assert unopened(made) == {}
    assert {n: of for (title, n, _), of in opened.items() if title == "Options"} == {
        "asked": ("6", 6),  # one left out, and one not begun
        "with options": ("2", 2),
        "open-ended only": ("1", 1),
        "postponed": ("2", 2),
    }
    assert opened["Wrong answers by kind", "model", "how many"] == ("8", 8)
    for a in summary.assistants:
        columns = {
            column: of
            for (title, name, column), of in opened.items()
            if (title, name) == ("Assistants", a.assistant)
        }
        assert columns["votes"] == (f"{a.votes}", a.votes)
        assert columns.get("unparsed", ("0", 0)) == (f"{a.unparsed}", a.unparsed)
        assert columns["right with steps, %"][1] == a.with_steps.whole
        assert columns["right without, %"][1] == a.without_steps.whole
    leak = summary.leak
    assert [of for (title, *_), (_, of) in opened.items() if title == "Retry leak"] == [
        x.whole for x in (leak.blind_accuracy, leak.seen_to_fail, leak.seen_to_pass, leak.confirmation_failed)
    ]
    assert {of for (title, *_), (_, of) in opened.items() if title == "Option tells"} == {len(items)}


@pytest.mark.parametrize(("letter", "shown"), [("B", "wrong 0"), ("C", "C"), ("Z", "Z"), ("?", "?")])
def test_a_vote_for_an_option_that_a_changed_file_lacks_shows_its_letter(letter: str, shown: str) -> None:
    vote = Vote(stage="confirm", attempt=0, assistant="m/one", order=(0, 1, 2), letter=letter, right=False)
    attempt = ChoiceAttempt(
        item="x", number=0, outcome="ok", wrong=(Distractor(text="wrong 0"),), votes=(vote,)
    )
    assert _chosen(attempt, vote) == shown
