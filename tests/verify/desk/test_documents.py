"""Versions of texts, what changed between them, and the protocol."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.verify.desk import documents
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.documents import Document, Protocol
from proctor.verify.desk.events import list_events
from proctor.verify.desk.records import ConflictError, GoneError, InvalidError


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Desk.open(tmp_path / "store.sqlite", secret=b"s" * 32, clock=lambda: 5.0) as desk:
        yield desk


def write(desk: Desk, body: str, **more: Any) -> Document:
    more.setdefault("actor", "olga")
    return desk.write(lambda c: documents.add(desk, c, "guideline", body, **more)).result()


def test_versions_are_added_and_never_changed(desk: Desk) -> None:
    one = write(desk, "# One")
    two = write(desk, "# Two\r\n\r\nlines", note="lines added")
    assert (one.version, two.version) == (1, 2)
    assert two.body == "# Two\n\nlines\n"
    assert two.sha256 == hashlib.sha256(b"# Two\n\nlines\n").hexdigest()
    assert desk.read(lambda c: documents.latest(c, "guideline")) == two
    assert desk.read(lambda c: documents.at_version(c, "guideline", 1)) == one
    assert desk.read(lambda c: documents.at_version(c, "guideline", 3)) is None
    assert desk.read(lambda c: documents.latest(c, "consent")) is None
    assert [d.version for d in desk.read(lambda c: documents.versions(c, "guideline"))] == [2, 1]
    assert desk.read(lambda c: documents.notes(c, "guideline")) == {2: "lines added"}
    event = desk.read(lambda c: list_events(c, subject="guideline"))[0]
    assert (event.kind, event.body["version"], event.body["sha256"]) == ("document", 2, two.sha256)


def test_the_same_text_is_no_new_version(desk: Desk) -> None:
    one = write(desk, "text")
    assert write(desk, "text\r\n") == one
    assert len(desk.read(lambda c: documents.versions(c, "guideline"))) == 1


def test_two_authors_do_not_write_over_each_other(desk: Desk) -> None:
    write(desk, "one", base=0)
    write(desk, "two", base=1)
    with pytest.raises(ConflictError) as error:
        write(desk, "three", base=1)
    assert error.value.version == 2


@pytest.mark.parametrize("body", ["", "  \n ", "x" * 200_001])
def test_texts_that_are_refused(desk: Desk, body: str) -> None:
    with pytest.raises(InvalidError):
        write(desk, body)


def test_a_frozen_text_stays_in_force(desk: Desk) -> None:
    with pytest.raises(GoneError):
        desk.write(lambda c: documents.freeze(desk, c, "guideline", actor="olga")).result()
    write(desk, "one")
    desk.write(lambda c: documents.freeze(desk, c, "guideline", actor="olga")).result()
    assert desk.read(lambda c: documents.latest(c, "guideline")).frozen  # type: ignore[union-attr]
    with pytest.raises(ConflictError):
        write(desk, "two")
    desk.write(lambda c: documents.unfreeze(desk, c, "guideline", actor="olga")).result()
    desk.write(lambda c: documents.unfreeze(desk, c, "guideline", actor="olga")).result()
    assert write(desk, "two").version == 2
    kinds = [e.kind for e in desk.read(lambda c: list_events(c, subject="guideline"))]
    assert kinds == ["document", "document-thawed", "document-frozen", "document"]


def test_a_new_project_has_texts_and_old_ones_stay(desk: Desk) -> None:
    write(desk, "ours")
    for _ in range(2):
        desk.write(lambda c: documents.ensure_defaults(desk, c)).result()
    guideline = desk.read(lambda c: documents.latest(c, "guideline"))
    consent = desk.read(lambda c: documents.latest(c, "consent"))
    assert guideline is not None
    assert consent is not None
    assert guideline.body == "ours\n"
    assert consent.version == 1
    assert desk.read(documents.protocol) == Protocol(training_required=True)
    assert len(desk.read(documents.protocol_hash)) == 8


def test_a_new_german_project_has_german_texts(desk: Desk) -> None:
    kinds = ("moment", "clip")
    desk.write(lambda c: documents.ensure_defaults(desk, c, kinds, language="de")).result()
    for kind, words in (("guideline", "Sie verlangt beide Quellen"), ("guideline/clip", "aus denen eine Prüfung"), ("consent", "Ihre Rechte")):  # fmt: skip
        with desk.reading() as connection:
            text = documents.latest(connection, kind)
        assert text is not None
        assert words in text.body


def test_the_consent_names_release_and_withdrawal_and_nothing_that_is_not_kept() -> None:
    text = " ".join(documents.DEFAULT_CONSENT.split())
    assert "may be released as part of a public data set" in text
    assert "never under your name" in text
    assert "withdraw your consent" in text
    assert "Which parts of a clip" not in text


# -- what changed --------------------------------------------------------------------------------------------


def test_a_diff_says_what_went_and_what_came() -> None:
    assert documents.diff("a\nb\nc\n", "a\nx\nc\n") == (
        ("same", "a"),
        ("del", "b"),
        ("add", "x"),
        ("same", "c"),
    )
    assert documents.diff("a\n", "a\n") == ()
    assert documents.diff("", "a\n") == (("add", "a"),)


def test_a_diff_leaves_out_what_is_far_from_changes() -> None:
    old = "\n".join(str(i) for i in range(100))
    new = old.replace("\n10\n", "\nten\n").replace("\n90\n", "\nninety\n")
    lines = documents.diff(old, new)
    assert len(lines) == 8 + 1 + 8
    assert lines[8] == ("same", "…")


@given(st.lists(st.sampled_from("abcd")), st.lists(st.sampled_from("abcd")))
def test_a_full_diff_holds_both_texts(old: list[str], new: list[str]) -> None:
    lines = documents.diff("\n".join(old), "\n".join(new), context=1000)
    if old != new:
        assert [text for tag, text in lines if tag != "add"] == old
        assert [text for tag, text in lines if tag != "del"] == new
    else:
        assert lines == ()


# -- the protocol --------------------------------------------------------------------------------------------


def test_the_protocol_is_versioned(desk: Desk) -> None:
    assert desk.read(documents.protocol) == Protocol()
    assert desk.read(documents.protocol_hash) == ""
    new = Protocol(per_item=3, frozen_stages=("judge",), gate="automatic", pass_at=0.9)
    made = desk.write(lambda c: documents.set_protocol(desk, c, new, actor="olga")).result()
    assert made.version == 1
    assert desk.read(documents.protocol) == new
    assert desk.write(lambda c: documents.set_protocol(desk, c, new, actor="olga")).result().version == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"per_item": 0},
        {"per_item": 10},
        {"repeat_share": -0.1},
        {"repeat_share": float("nan")},
        {"pass_at": 1.5},
        {"undo_seconds": -1},
        {"lease_minutes": 0},
    ],
)
def test_protocols_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Protocol(**wrong)


@pytest.mark.parametrize("watched", [True, False])
def test_a_protocol_of_an_earlier_version_is_read_without_what_is_gone(desk: Desk, watched: bool) -> None:
    body = json.dumps({"per_item": 3, "frozen_stages": ["judge"], "pass_at": 1, "store_watched": watched})
    desk.write(lambda c: documents.add(desk, c, "protocol", body, actor="x")).result()
    assert desk.read(documents.protocol) == Protocol(per_item=3, frozen_stages=("judge",), pass_at=1.0)


@pytest.mark.parametrize("body", ["[]", "null", "1", "{", '{"per_item": "3"}', '{"frozen_stages": ["?"]}'])
def test_other_bodies_are_no_protocol(desk: Desk, body: str) -> None:
    desk.write(lambda c: documents.add(desk, c, "protocol", body, actor="x")).result()
    with pytest.raises(UserError, match="protocol, version 1"):
        desk.read(documents.protocol)


def test_a_protocol_that_cannot_be_read_says_so(desk: Desk) -> None:
    body = msgspec.json.encode({"per_item": 2, "from_the_future": True}).decode()
    desk.write(lambda c: documents.add(desk, c, "protocol", body, actor="x")).result()
    with pytest.raises(UserError, match="protocol, version 1"):
        desk.read(documents.protocol)
