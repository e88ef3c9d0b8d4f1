"""``proctor studio`` and its commands, as a user types them."""

from __future__ import annotations

import json
import re
import shutil
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from proctor.cli.studio_serving import Address, _check, _settings
from proctor.errors import UserError
from proctor.stages.studio_demo import make_demo

Proctor = Callable[..., Any]


@contextmanager
def quiet(_title: str, _total: int | None = None) -> Iterator[Callable[[], None]]:
    yield lambda: None


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample project, without videos."""
    return make_demo(tmp_path_factory.mktemp("demo"), show=quiet)


@pytest.fixture
def bench(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "bench")
    return tmp_path / "bench"


def test_help_tells_every_command(proctor: Proctor) -> None:
    shown = proctor("studio", "--help").out
    assert all(word in shown for word in ("serve", "demo", "link", "check", "backup", "import", "export"))
    assert "proctor studio demo" in " ".join(shown.split())


def test_a_word_that_is_no_command_is_a_workspace(proctor: Proctor, tmp_path: Path) -> None:
    outcome = proctor("studio", tmp_path / "nowhere", "--port", "0")
    assert outcome.status == 2
    assert "nowhere" in outcome.err
    assert not (tmp_path / "nowhere").exists()
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize("option", ["client", "name", "allow"])
def test_words_about_a_provider_that_is_not_named_are_refused(proctor: Proctor, option: str) -> None:
    outcome = proctor("studio", "bench", f"--oidc-{option}", "*@example.org")
    assert outcome.status == 2
    assert f"--oidc-{option}" in outcome.err
    assert "none is named" in outcome.err


@pytest.mark.parametrize(("kind", "first"), [("published", "["), ("rows", "{"), ("csv", "candidate,")])
def test_export_writes_what_people_said_and_nobodys_name(
    proctor: Proctor, bench: Path, tmp_path: Path, kind: str, first: str
) -> None:
    file = tmp_path / "out"
    outcome = proctor("studio", "export", bench, kind, file, "--json")
    assert outcome.status == 0, outcome.err
    text = file.read_text("utf-8")
    assert text.startswith(first)
    assert outcome.json["rows"] > 10
    assert not re.search(r"Lindqvist|Okafor|\bana\b|\bben\b|argon2", text)


def test_export_of_no_such_kind(proctor: Proctor, bench: Path, tmp_path: Path) -> None:
    outcome = proctor("studio", "export", bench, "xml", tmp_path / "out")
    assert (outcome.status, (tmp_path / "out").exists()) == (2, False)
    assert "published, rows, csv" in outcome.err


def test_rows_of_one_studio_go_into_another(proctor: Proctor, bench: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    assert proctor("studio", "export", bench, "rows", rows).status == 0
    fresh = tmp_path / "fresh"
    shutil.copytree(bench, fresh)
    for name in (
        "verification.sqlite",
        "verification.sqlite-wal",
        "verification.sqlite-shm",
        "studio-secret",
    ):
        (fresh / name).unlink(missing_ok=True)
    outcome = proctor("studio", "import", fresh, rows, "--json")
    assert outcome.status == 0, outcome.err
    people = {r["verdict"]["annotator"] for r in _verdicts(rows) if r["verdict"]["annotator_kind"] == "human"}
    assert len(people) >= 4
    assert outcome.json["new"] == outcome.json["verdicts"] == len(_verdicts(rows))
    again = proctor("studio", "import", fresh, rows, "--json")
    assert again.json["new"] == 0
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    assert proctor("studio", "export", bench, "published", one).status == 0
    assert proctor("studio", "export", fresh, "published", other).status == 0
    assert {o["question_id"]: o["answers"] for o in _settled(bench, one)} == {
        o["question_id"]: o["answers"] for o in _settled(bench, other)
    }


def _verdicts(rows: Path) -> list[dict[str, Any]]:
    parsed = [json.loads(line) for line in rows.read_text("utf-8").splitlines()]
    return [row for row in parsed if row["table"] == "verdict"]


def _settled(bench: Path, file: Path) -> list[dict[str, Any]]:
    """The objects of items that were settled in the first studio."""
    with sqlite3.connect(bench / "verification.sqlite") as store:
        names = {
            n for (n,) in store.execute("SELECT candidate_id FROM proctor_items WHERE state = 'settled'")
        }
    return [o for o in json.loads(file.read_text("utf-8")) if o["question_id"] in names]


def test_import_lists_what_does_not_fit(proctor: Proctor, bench: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    proctor("studio", "export", bench, "rows", rows)
    verdict = _verdicts(rows)[0]["verdict"]
    file = tmp_path / "verdicts.jsonl"
    lines = [
        verdict | {"candidate_id": "of-another-project"},
        verdict | {"candidate_hash": "0" * 16, "annotator": "x"},
        verdict | {"annotator": "y", "question": {"value": "right"}, "answers": [{"value": "right"}] * 40},
    ]
    file.write_text("\n".join(map(json.dumps, lines)))
    outcome = proctor("studio", "import", bench, file, "--json")
    assert outcome.json["dropped"] == {
        "answers-do-not-fit": 1,
        "candidate-changed": 1,
        "candidate-unknown": 1,
    }
    assert (bench / "studio.import.dropped.jsonl").read_text().count("\n") == 3


@pytest.mark.parametrize("line", ['{"candidate_id": 3}', "[1]", "{", "nonsense", '{"verdict": {}}'])
def test_import_of_a_broken_file_changes_nothing(
    proctor: Proctor, bench: Path, tmp_path: Path, line: str
) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(line + "\n")
    before = _count(bench)
    outcome = proctor("studio", "import", bench, file)
    assert outcome.status == 2
    assert "bad.jsonl" in outcome.err
    assert _count(bench) == before


def _count(bench: Path) -> int:
    with sqlite3.connect(bench / "verification.sqlite") as store:
        return int(store.execute("SELECT count(*) FROM proctor_verdicts").fetchone()[0])


def test_check_finds_a_row_that_was_changed_by_hand(proctor: Proctor, bench: Path) -> None:
    assert proctor("studio", "check", bench).status == 0
    with sqlite3.connect(bench / "verification.sqlite") as store:
        store.execute("UPDATE proctor_events SET actor = 'somebody' WHERE id = 7")
    outcome = proctor("studio", "check", bench)
    assert outcome.status == 2
    assert "event 7" in outcome.err


def test_backup_can_be_opened(proctor: Proctor, bench: Path) -> None:
    outcome = proctor("studio", "backup", bench, "--json")
    copy = Path(outcome.json["copy"])
    with sqlite3.connect(copy) as store:
        assert store.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert store.execute("SELECT count(*) FROM proctor_responses").fetchone()[0] > 20


def test_link_for_somebody_and_for_nobody(proctor: Proctor, bench: Path) -> None:
    outcome = proctor("studio", "link", bench, "ana", "--origin", "https://s.example", "--json")
    assert re.fullmatch(r"https://s\.example/start/[\w-]{43}", outcome.json["link"])
    assert proctor("studio", "link", bench, "zoe").status == 2


@pytest.mark.parametrize("command", ["link", "check", "backup"])
def test_without_a_store(proctor: Proctor, tmp_path: Path, command: str) -> None:
    more = ["ana"] if command == "link" else []
    outcome = proctor("studio", command, tmp_path, *more)
    assert outcome.status == 2
    assert not list(tmp_path.iterdir())


def test_a_store_whose_key_is_gone_is_refused(proctor: Proctor, bench: Path) -> None:
    (bench / "studio-secret").unlink()
    outcome = proctor("studio", "check", bench)
    assert outcome.status == 2
    assert "studio-secret" in outcome.err
    assert not (bench / "studio-secret").exists()


def test_prepare_without_recordings(proctor: Proctor, bench: Path) -> None:
    outcome = proctor("studio", "prepare", bench, "--json")
    assert outcome.status == 0, outcome.err
    assert (outcome.json["clips"], outcome.json["without_video"]) == (0, 269)


# -- addresses -------------------------------------------------------------------------------------------------


def test_a_taken_port_is_told_before_anything_is_begun(proctor: Proctor, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        outcome = proctor("studio", tmp_path, "--port", taken.getsockname()[1])
    assert outcome.status == 2
    assert "another studio may be running" in outcome.err


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (Address("0.0.0.0", 0), "passwords"),
        (Address("192.0.2.7", 0, "http://studio.example"), "passwords"),
        (Address("127.0.0.1", 0, "studio.example"), "no address"),
        (Address("127.0.0.1", 0, "https://studio.example/path"), "no address"),
        (Address("127.0.0.1", 0, certificate=Path("cert.pem")), "belong together"),
        (Address("127.0.0.1", 0, certificate=Path("no.pem"), key=Path("no.key")), "no such file"),
        (Address("127.0.0.1", 0, "https://studio.example", accel="X-Accel"), "no header by which"),
        (Address("127.0.0.1", 0, "https://studio.example", accel=""), "no header by which"),
        (Address("127.0.0.1", 0, accel="X-Sendfile"), "no proxy"),
    ],
)
def test_unsafe_addresses_are_refused(address: Address, message: str) -> None:
    with pytest.raises(UserError, match=message):
        _check(address)


@pytest.mark.parametrize(
    "address",
    [Address("127.0.0.1", 0), Address("::1", 0), Address("0.0.0.0", 0, "https://studio.example")],
)
def test_safe_addresses_are_not(address: Address) -> None:
    _check(address)


def test_behind_a_proxy_only_its_host_is_known(tmp_path: Path) -> None:
    address = Address("0.0.0.0", 80, "https://studio.example/", ("10.0.0.2",))
    settings = _settings(address, 80, "P", tmp_path)
    assert (settings.origin, settings.hosts) == ("https://studio.example", ("studio.example",))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (None, None),
        ("X-Accel-Redirect", "X-Accel-Redirect"),
        ("x-sendfile", "X-Sendfile"),
        (" X-SENDFILE", "X-Sendfile"),
    ],
)
def test_the_header_of_a_proxy_that_sends_clips(tmp_path: Path, given: str | None, kept: str | None) -> None:
    address = Address("127.0.0.1", 80, "https://studio.example", accel=given)
    _check(address)
    assert _settings(address, 80, "P", tmp_path).accel == kept


def test_an_unknown_header_is_told_on_the_command_line(proctor: Proctor, tmp_path: Path) -> None:
    outcome = proctor("studio", tmp_path, "--accel", "X-Reproxy-URL", "--origin", "https://studio.example")
    assert outcome.status == 2
    assert "X-Reproxy-URL" in outcome.err
    assert "X-Accel-Redirect for nginx" in outcome.err


def test_the_demo_is_served_on_this_machine_alone(proctor: Proctor, tmp_path: Path) -> None:
    outcome = proctor("studio", "demo", tmp_path / "x", "--host", "0.0.0.0", "--no-browser")
    assert outcome.status == 2
    assert "no passwords" in outcome.err
