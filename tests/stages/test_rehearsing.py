"""Which models a workspace takes: played ones in a rehearsal's, real ones in all others."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.errors import UserError
from proctor.stages.models import Limits, open_models
from proctor.stages.rehearsing import (
    Played,
    choose_models,
    mark_rehearsal,
    played_in,
    require_local_embedder,
)
from proctor.workspace import Workspace
from proctor_rehearsal import rehearsal
from proctor_rehearsal.standin import Standin

PLAYED = Played(quality=0.5)


@pytest.fixture
def real(tmp_path: Path) -> Path:
    folder = tmp_path / "real"
    folder.mkdir()
    return folder


@pytest.fixture
def played(tmp_path: Path) -> Path:
    folder = tmp_path / "played"
    folder.mkdir()
    mark_rehearsal(folder, PLAYED, calls=folder / "calls.sqlite")
    return folder


@pytest.mark.parametrize("calls", [None, "real/calls.sqlite", "alike/calls.sqlite", "postgresql://x/y"])
def test_a_real_workspace_takes_no_store_of_a_rehearsal(
    real: Path, played: Path, tmp_path: Path, calls: str | None
) -> None:
    choose_models(real, calls and calls if calls is None or "://" in calls else str(tmp_path / calls), None)
    with (
        pytest.raises(UserError, match="would meet"),
        open_models(Workspace(real), Limits(calls=str(played / "calls.sqlite"))),
    ):
        pass
    assert not (played / "calls.sqlite").exists()


def test_a_rehearsal_takes_only_stores_that_are_played_alike(
    real: Path, played: Path, tmp_path: Path
) -> None:
    alike, otherwise = tmp_path / "alike", tmp_path / "otherwise"
    for folder, how in ((alike, PLAYED), (otherwise, Played(quality=0.6))):
        folder.mkdir()
        mark_rehearsal(folder, how, calls=folder / "calls.sqlite")
    choose_models(played, str(alike / "calls.sqlite"), None)
    for folder in (real, otherwise):
        with pytest.raises(UserError, match="would meet"):
            choose_models(played, str(folder / "calls.sqlite"), None)
    with pytest.raises(UserError, match="would meet"):
        choose_models(played, "postgresql://x/y", None)


def test_replies_that_are_played_go_into_no_real_store(real: Path, played: Path) -> None:
    with rehearsal.play(real, 1.0) as playing:
        with pytest.raises(UserError, match="would meet"):
            choose_models(real, None, playing)
        with pytest.raises(UserError, match="would meet"):
            choose_models(played, str(real / "calls.sqlite"), playing)
        assert choose_models(real, str(played / "calls.sqlite"), playing)("openai/x").endpoint


@pytest.mark.parametrize("name", ["human/people", "replay/calls.sqlite", "transformers/model"])
def test_what_is_not_played_is_not_asked_in_a_rehearsal(played: Path, name: str) -> None:
    with rehearsal.play(played, 1.0) as playing, pytest.raises(UserError, match="not played in rehearsals"):
        playing.resolve(name)
    with pytest.raises(UserError, match="is a rehearsal"):
        choose_models(played, None, None)(name)


def test_played_calls_are_not_replayed_in_a_real_workspace(real: Path, played: Path) -> None:
    choose = choose_models(real, None, None)
    with pytest.raises(UserError, match="played in a rehearsal"):
        choose(f"replay/{played}/calls.sqlite#openai/x")
    with pytest.raises(UserError, match="no such file"):
        choose(f"replay/{real}/calls.sqlite")


def test_a_server_on_this_machine_says_whether_it_plays(real: Path, played: Path) -> None:
    with Standin() as stranger, Standin(plays=True) as plays:
        for server, wanted, other in ((stranger, real, played), (plays, played, real)):
            name = f"compat/x@{server.url}/v1"
            assert choose_models(wanted, None, None)(name).name == name
            with pytest.raises(UserError, match="rehearsal"):
                choose_models(other, None, None)(name)
        assert (stranger.count, plays.count) == (0, 0)


def test_no_other_machine_is_asked_whether_it_plays(real: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("urllib.request.build_opener", opened)
    for place in ("https://example.org/v1", "http://198.51.100.7/v1", "http://[2001:db8::1]:80/v1"):
        assert choose_models(real, None, None)(f"compat/x@{place}").name == f"compat/x@{place}"


def test_a_rehearsal_asks_no_server_for_vectors(real: Path, played: Path) -> None:
    for spec in ("openai/text-embedding-3-small", "compat/x@http://localhost/v1"):
        require_local_embedder(real, spec)
        with pytest.raises(UserError, match="no server is asked for vectors"):
            require_local_embedder(played, spec)
    require_local_embedder(played, "lsa:64")


def test_a_rehearsal_goes_on_as_it_was_begun(played: Path) -> None:
    calls = played / "calls.sqlite"
    mark_rehearsal(played, PLAYED, calls=calls)
    some = Played(quality=0.5, qualities={"mini": 0.25})
    with pytest.raises(
        UserError, match=r"begun with quality 0\.5 and seed 0, not with quality 0\.5, 0\.25 of 'mini' and"
    ):
        mark_rehearsal(played, some, calls=calls)
    assert played_in(played) == PLAYED
    assert (played / "rehearsal.json").read_text().split() == ["{", '"quality":', "0.5,", '"seed":', "0", "}"]
