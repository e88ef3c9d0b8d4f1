"""Parameters that are not sent are told once for each stage and model, whatever comes how often."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from proctor.llm.converse import Feed
from proctor.llm.message import Parameters, Request, user
from proctor.llm.unsent import Unsent

NEWER, OLDER, OTHER = "anthropic/claude-sonnet-5", "anthropic/claude-haiku-4-5", "compat/m@http://h/v1"


def ask(model: str, number: int = 0, **parameters: object) -> Request:
    return Request(model=model, messages=(user(str(number)),), parameters=Parameters(**parameters))  # type: ignore[arg-type]


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def unsent(told: list[str]) -> Unsent:
    return Unsent(told.append)


def test_once_for_each_stage_and_model(unsent: Unsent, told: list[str]) -> None:
    requests = [ask(model, n, temperature=0.0, seed=1) for n in range(50) for model in (NEWER, OLDER, OTHER)]
    assert list(unsent.watch("a", requests)) == requests
    assert list(unsent.watch("a", iter(requests))) == requests
    assert [line.split(":")[0] for line in told] == [
        f"{NEWER} has no field for seed and temperature",
        f"{OLDER} has no field for seed",
    ]
    list(unsent.watch("b", requests[:1]))
    assert len(told) == 3
    assert "in the stage 'b'" in told[2]
    assert unsent.names == {NEWER: ("seed", "temperature"), OLDER: ("seed",)}


def test_others_are_told_when_they_come(unsent: Unsent, told: list[str]) -> None:
    list(unsent.watch("a", [ask(NEWER, temperature=0.0)]))
    list(unsent.watch("a", [ask(NEWER, temperature=0.5, top_p=1.0)]))
    assert [line.split(" has no field for ")[1].split(":")[0] for line in told] == ["temperature", "top_p"]
    assert unsent.names == {NEWER: ("temperature", "top_p")}


def test_what_is_not_set_is_not_missed(unsent: Unsent, told: list[str]) -> None:
    list(unsent.watch("a", [ask(NEWER), ask(NEWER, max_tokens=5), ask(OTHER, temperature=1.0, seed=0)]))
    assert not told
    assert unsent.names == {}


@pytest.mark.parametrize("name", ["nobody/x", "nonsense", ""])
def test_a_model_that_does_not_exist_is_for_others_to_tell(
    unsent: Unsent, told: list[str], name: str
) -> None:
    request = ask(name, temperature=0.0)
    assert list(unsent.watch("a", [request])) == [request]
    assert not told


def test_a_list_stays_one_and_others_are_taken_as_they_are_needed(unsent: Unsent, told: list[str]) -> None:
    requests = [ask(NEWER, temperature=0.0)]
    assert unsent.watch("a", requests) is requests
    taken: list[int] = []

    def lazily() -> Iterator[Request]:
        for n in range(3):
            taken.append(n)
            yield ask(OLDER, n, seed=n)

    watched = iter(unsent.watch("b", lazily()))
    assert not taken
    next(watched)
    assert taken == [0]
    assert len(told) == 2  # before the request is handed on


def test_a_feed_stays_one_where_somebody_listens(unsent: Unsent) -> None:
    """What comes next hangs on the outcomes of what is there: a chunk that waits to be full waits for ever."""
    feed, heard = Feed(), list[tuple[str, str]]()
    watched = unsent.watch("generate", feed, lambda stage, request: heard.append((stage, request.model)))
    assert watched is feed
    feed.put([ask(OLDER)])
    assert len(feed.take(1)) == 1
    assert heard == [("generate", OLDER)]
