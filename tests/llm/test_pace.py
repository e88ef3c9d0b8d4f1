"""From the events of a flow to one line for people."""

from __future__ import annotations

import msgspec
import pytest

from proctor.llm.gate import FlowEvent
from proctor.llm.pace import Pace, pace_of


def event(kind: str, limit: int, detail: str = "", endpoint: str = "http://a#m") -> FlowEvent:
    return FlowEvent(0.0, endpoint, kind, limit, detail)


def story(*events: FlowEvent, start: int = 16) -> Pace:
    return pace_of("http://a#m", start, events)


def test_shrinking_and_growing_with_reasons() -> None:
    pace = story(
        event("grow", 100),
        event("shrink", 70, "rate_limit"),
        event("shrink", 40, "overload"),
        event("shrink", 12, "rate_limit"),
        event("grow", 40),
    )
    assert pace.story == "16 → 100 → 12 (overload ×1, rate_limit ×2) → 40"
    assert (pace.start, pace.least, pace.most, pace.end) == (16, 12, 100, 40)
    assert pace.reasons == {"overload": 1, "rate_limit": 2}


def test_reasons_belong_to_their_own_turn() -> None:
    pace = story(event("shrink", 8, "rate_limit"), event("grow", 9), event("shrink", 4, "overload"))
    assert pace.story == "16 → 8 (rate_limit ×1) → 9 → 4 (overload ×1)"


def test_nothing_and_others() -> None:
    assert story().story == "16"
    assert story(event("grow", 99, endpoint="http://b#m")) == story()
    assert (story().least, story().most, story().end) == (16, 16, 16)


def test_pauses_rests_and_the_end() -> None:
    pace = story(
        event("pause", 16, "2 s: it asked for that"),
        event("open", 16, "timeout; next probe in 5 s"),
        event("probe", 16),
        event("open", 16, "timeout; next probe in 10 s"),
        event("stop", 16, "12 failures in a row"),
    )
    assert pace.story == (
        "16; paused once; at rest 2 times, since it did not answer; given up: 12 failures in a row"
    )
    assert (pace.pauses, pace.breaks, pace.stopped) == (1, 2, "12 failures in a row")


@pytest.mark.parametrize("turns", [7, 8, 500])
def test_a_long_story_is_cut_in_the_middle(turns: int) -> None:
    events = [event("shrink", n, "overload") if n % 2 else event("grow", n) for n in range(1, turns + 1)]
    pace = story(*events)
    parts = pace.story.split(" → ")
    assert len(parts) == 7
    assert parts[3] == "…"
    assert parts[0] == "16"
    assert parts[-1].startswith(str(turns))
    assert sum(pace.reasons.values()) == (turns + 1) // 2


def test_as_a_record() -> None:
    pace = story(event("shrink", 3, "overload"))
    assert msgspec.convert(msgspec.to_builtins(pace), Pace) == pace
