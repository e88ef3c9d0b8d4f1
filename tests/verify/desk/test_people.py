"""People, sessions, invitations, links, on both databases, with a clock of our own."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.verify.desk import people
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.events import check_chain, list_events
from proctor.verify.desk.records import ConflictError, GoneError, InvalidError, Person
from proctor.verify.schema import tables

T = TypeVar("T")
HOUR, DAY = 3600.0, 86400.0


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


class Room:
    """A desk, its clock, and short ways to write and read."""

    def __init__(self, target: str) -> None:
        self.clock = Clock()
        self.desk = Desk.open(target, secret=b"s" * 32, clock=self.clock)

    def do(self, function: Callable[..., T], *args: Any, **more: Any) -> T:
        return self.desk.write(lambda c: function(self.desk, c, *args, **more)).result()

    def see(self, function: Callable[..., T], *args: Any, **more: Any) -> T:
        return self.desk.read(lambda c: function(self.desk, c, *args, **more))

    def person(self, handle: str = "ana", role: str = "annotator", **more: Any) -> Person:
        return self.do(people.add, handle=handle, name=handle.title(), role=role, actor="cli", **more)

    def signed_in(self, person: Person, token: str = "t") -> str:
        self.do(people.open_session, sha(token), person, agent="Firefox, Linux")
        return sha(token)

    def kinds(self) -> list[str]:
        return [event.kind for event in self.desk.read(list_events)]

    def everything(self) -> str:
        """All rows of all tables as text."""
        with self.desk.reading() as connection:
            return repr([connection.execute(table.select()).all() for table in tables()])


def sha(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


@pytest.fixture
def room(target: str) -> Iterator[Room]:
    room = Room(target)
    yield room
    room.desk.close()


@pytest.fixture
def owner(room: Room) -> Person:
    return room.person("olga", "owner")


# -- accounts ------------------------------------------------------------------------------------------------


def test_a_person_is_found_by_every_name(room: Room) -> None:
    ana = room.person("Ana.Lee", email="ana@example.org", password="$argon2id$x")
    assert (ana.handle, ana.name, ana.email, ana.state, ana.gate) == (
        "ana.lee",
        "Ana.Lee",
        "ana@example.org",
        "active",
        "training",
    )
    assert ana.has_password
    assert ana.created_at == room.clock.now
    assert room.see(people.by_handle, " ANA.lee ") == ana
    assert room.see(people.by_pid, ana.pid) == ana
    assert room.see(people.by_id, ana.id) == ana
    assert room.see(people.password_of, "ana.lee") == (ana, "$argon2id$x")
    assert room.see(people.by_handle, "nobody") is None
    assert room.see(people.by_handle, "not a handle!") is None
    assert room.see(people.password_of, "not a handle!") == (None, "")


def test_a_sign_in_name_is_taken_in_any_case(room: Room) -> None:
    room.person("ana")
    with pytest.raises(InvalidError) as error:
        room.person("ANA")
    assert error.value.errors[0][0] == "handle"
    assert len(room.see(people.list_people)) == 1


def test_pids_say_nothing_about_the_order(room: Room) -> None:
    pids = [room.person(f"p{i}").pid for i in range(8)]
    assert len(set(pids)) == 8
    assert all(len(pid) == 16 and pid.isalnum() for pid in pids)


@pytest.mark.parametrize("handle", ["", "a", "a b", "ä", "-a", "a" * 65, "a\x00b", "a/b", "<b>", "a\nb"])
def test_sign_in_names_that_are_refused(handle: str) -> None:
    with pytest.raises(InvalidError):
        people.clean_handle(handle)


@pytest.mark.parametrize("name", ["", "   ", "x" * 81, "a\u202egnp", "a\x00b", "a\x1b[31m", "\u2066x\u2069"])
def test_names_that_are_refused(name: str) -> None:
    with pytest.raises(InvalidError):
        people.clean_name(name)


@pytest.mark.parametrize(
    "name", ["Zoë Müller", "李小龍", "علی‌رضا", "O'Neill", "<script>alert(1)</script>", "{{7*7}}"]
)
def test_names_that_are_kept_as_they_are(name: str) -> None:
    assert people.clean_name(f"  {name} ") == name


@given(st.text())
def test_a_clean_name_stays_clean(text: str) -> None:
    try:
        name = people.clean_name(text)
    except InvalidError:
        return
    assert people.clean_name(name) == name


@pytest.mark.parametrize("email", ["x", "@x", "x@", "a b@c", "a@b@c", 'a"@b', "a@b\n", "a,b@c"])
def test_addresses_that_are_refused(email: str) -> None:
    if email.strip() != email:
        assert people.clean_email(email) == email.strip()
        return
    with pytest.raises(InvalidError):
        people.clean_email(email)


def test_roles_and_gates_must_exist(room: Room) -> None:
    with pytest.raises(InvalidError):
        room.person("ana", "admin")
    with pytest.raises(UserError):
        room.person("ana", gate="ajar")


def test_the_gate_opens_with_an_event(room: Room) -> None:
    ana = room.person()
    room.do(people.set_gate, ana, "open", actor="cli")
    room.do(people.set_gate, ana, "open", actor="cli")  # nothing new
    assert room.see(people.by_id, ana.id).gate == "open"  # type: ignore[union-attr]
    assert room.kinds() == ["gate", "person-added"]


def test_settings_are_kept_and_bounded(room: Room) -> None:
    ana = room.person()
    room.do(people.set_settings, ana, {"theme": "dark", "keys": {"submit": "Enter"}})
    assert room.see(people.by_id, ana.id).settings == {"theme": "dark", "keys": {"submit": "Enter"}}  # type: ignore[union-attr]
    with pytest.raises(InvalidError):
        room.do(people.set_settings, ana, {"x": "y" * 5_000})


def test_consent_and_guideline_are_noted_with_versions(room: Room) -> None:
    ana = room.person()
    room.do(people.consent_given, ana, 2)
    room.do(people.guideline_ticked, ana, 3)
    now = room.see(people.by_id, ana.id)
    assert now is not None
    assert (now.consent_version, now.guidelines["moment"]) == (2, 3)
    assert now.settings == {}
    events = room.desk.read(lambda c: list_events(c, subject=ana.pid))
    assert [(e.kind, e.body.get("version")) for e in events][:2] == [("guideline-read", 3), ("consent", 2)]


# -- roles ---------------------------------------------------------------------------------------------------


def test_a_new_role_ends_sessions_and_links(room: Room, owner: Person) -> None:
    ana = room.person()
    token = room.signed_in(ana)
    room.do(people.create_link, sha("link"), ana, actor=owner.pid)
    now = room.do(people.set_role, ana, "adjudicator", actor=owner.pid)
    assert now.role == "adjudicator"
    assert room.see(people.find_session, token) is None
    assert room.see(people.read_invite, sha("link")) is None
    body = room.desk.read(lambda c: list_events(c, subject=ana.pid))[0].body
    assert body == {"before": "annotator", "after": "adjudicator"}


def test_the_same_role_again_changes_nothing(room: Room) -> None:
    ana = room.person()
    token = room.signed_in(ana)
    room.do(people.set_role, ana, "annotator", actor="cli")
    assert room.see(people.find_session, token) is not None
    assert "role" not in room.kinds()


def test_there_is_always_an_owner(room: Room, owner: Person) -> None:
    with pytest.raises(ConflictError):
        room.do(people.set_role, owner, "annotator", actor=owner.pid)
    with pytest.raises(ConflictError):
        room.do(people.leave, owner, actor=owner.pid)
    with pytest.raises(ConflictError):
        room.do(people.withdraw, owner, actor=owner.pid)
    other = room.person("otto", "owner")
    room.do(people.leave, owner, actor=other.pid)
    with pytest.raises(ConflictError):
        room.do(people.leave, other, actor=other.pid)


def test_a_stale_person_cannot_hide_that_the_role_changed(room: Room, owner: Person) -> None:
    stale = room.person("otto", "annotator")
    room.do(people.set_role, stale, "owner", actor=owner.pid)
    room.do(people.leave, owner, actor=stale.pid)
    with pytest.raises(ConflictError):  # `stale` still says annotator
        room.do(people.set_role, stale, "annotator", actor=stale.pid)


def test_nobody_lifts_above_oneself(room: Room, owner: Person) -> None:
    cora = room.person("cora", "coordinator")
    assert people.may_manage(cora, "annotator", "adjudicator")
    assert people.may_manage(cora, "coordinator")
    assert not people.may_manage(cora, "annotator", "owner")
    assert not people.may_manage(cora, "owner", "annotator")
    assert not people.may_manage(room.person("adam", "adjudicator"), "annotator")
    assert people.may_manage(owner, "owner", "annotator")
    assert not people.may_manage(owner, "annotator", "root")


# -- leaving -------------------------------------------------------------------------------------------------


def test_who_left_is_out_but_keeps_the_name(room: Room) -> None:
    ana = room.person(password="hash")
    token = room.signed_in(ana)
    room.do(people.create_link, sha("link"), ana, actor="cli")
    room.do(people.leave, ana, actor="cli")
    assert room.see(people.find_session, token) is None
    assert room.see(people.read_invite, sha("link")) is None
    assert room.see(people.password_of, "ana") == (None, "")
    now = room.see(people.by_id, ana.id)
    assert now is not None
    assert (now.state, now.name) == ("left", "Ana")
    for refused in (
        lambda: room.do(people.open_session, sha("x"), ana),
        lambda: room.do(people.create_link, sha("y"), ana, actor="cli"),
        lambda: room.do(people.set_role, ana, "owner", actor="cli"),
        lambda: room.do(people.set_password, ana, "h", actor="cli"),
        lambda: room.do(people.leave, ana, actor="cli"),
    ):
        with pytest.raises(GoneError):
            refused()
    room.do(people.rejoin, ana, actor="cli")
    assert room.see(people.password_of, "ana")[1] == "hash"
    with pytest.raises(GoneError):
        room.do(people.rejoin, ana, actor="cli")


def test_withdrawing_leaves_no_personal_word_in_any_table(room: Room, owner: Person) -> None:
    room.do(people.create_invite, sha("inv"), "annotator", actor=owner.pid, email="Zelda.Q@example.org")
    room.do(people.create_invite, sha("inv2"), "annotator", actor=owner.pid, email="Zelda.Q@example.org")
    zelda = room.do(
        people.consume_invite, sha("inv"), handle="zeldaq", name="Zelda Quux", password="$argon2id$zz"
    )
    token = room.signed_in(zelda)
    room.do(people.open_session, sha("there"), zelda, provider_session="hash-of-Quux")
    room.do(people.set_settings, zelda, {"keys": {"submit": "zeldakey"}})
    room.do(people.withdraw, zelda, actor=zelda.pid)
    text = room.everything()
    for word in ("zelda", "Zelda", "Quux", "example.org", "argon2id", "Firefox"):
        assert word not in text, word
    assert zelda.pid in text
    assert room.see(people.find_session, token) is None
    assert room.see(people.by_pid, zelda.pid).state == "withdrawn"  # type: ignore[union-attr]
    with pytest.raises(GoneError):
        room.do(people.rejoin, zelda, actor=owner.pid)
    with pytest.raises(GoneError):
        room.do(people.withdraw, zelda, actor=owner.pid)
    again = room.person("zeldaq")  # the sign-in name is free
    assert again.pid != zelda.pid
    assert room.desk.read(check_chain)[1] is None


def test_who_left_can_still_withdraw(room: Room) -> None:
    ana = room.person()
    room.do(people.leave, ana, actor="cli")
    room.do(people.withdraw, ana, actor="cli")
    assert "Ana" not in room.everything()


# -- sessions ------------------------------------------------------------------------------------------------


def test_a_session_is_found_by_its_hash_alone(room: Room) -> None:
    ana = room.person()
    token = room.signed_in(ana, "secret-token")
    found = room.see(people.find_session, token)
    assert found is not None
    assert found[1] == ana
    assert found[0].agent == "Firefox, Linux"
    assert room.see(people.find_session, "secret-token") is None
    assert "secret-token" not in room.everything()


def test_idle_for_twelve_hours_is_over(room: Room) -> None:
    token = room.signed_in(room.person())
    room.clock.now += 12 * HOUR
    assert room.see(people.find_session, token) is not None
    room.clock.now += 1
    assert room.see(people.find_session, token) is None
    assert room.see(people.list_sessions, room.see(people.by_handle, "ana")) == []


def test_used_every_hour_it_is_over_after_fourteen_days(room: Room) -> None:
    token = room.signed_in(room.person())
    hours = 0
    while (found := room.see(people.find_session, token)) is not None and hours < 400:
        room.do(people.touch, found[0].id)
        room.clock.now += HOUR
        hours += 1
    assert hours == 14 * 24 + 1


def test_a_session_that_was_forgotten_is_nobodys_when_the_person_is_gone(room: Room) -> None:
    ana = room.person()
    token = room.signed_in(ana)
    gone = tables().people.update().where(tables().people.c.id == ana.id).values(state="left")
    room.desk.write(lambda c: c.execute(gone) and None).result()
    assert room.see(people.find_session, token) is None


def test_a_clock_set_back_signs_nobody_out(room: Room) -> None:
    token = room.signed_in(room.person())
    room.clock.now -= 3 * DAY
    assert room.see(people.find_session, token) is not None


def test_signing_out_here_there_and_everywhere(room: Room) -> None:
    ana, ben = room.person(), room.person("ben")
    one, two, three = (room.signed_in(ana, t) for t in ("1", "2", "3"))
    other = room.signed_in(ben, "b")
    room.do(people.end_session, one)
    room.do(people.end_session, one)
    room.do(people.end_session, sha("never"))
    assert room.see(people.find_session, one) is None
    listed = room.see(people.list_sessions, ana)
    assert len(listed) == 2
    with pytest.raises(GoneError):
        room.do(people.end_session_of, ben, listed[0].pid)  # another's
    room.do(people.end_session_of, ana, room.see(people.find_session, two)[0].pid)  # type: ignore[index]
    assert room.see(people.find_session, two) is None
    assert room.see(people.find_session, three) is not None
    room.do(people.end_all_sessions, ana, actor=ana.pid)
    assert room.see(people.find_session, three) is None
    assert room.see(people.find_session, other) is not None


def test_a_new_password_ends_what_the_old_one_opened(room: Room) -> None:
    ana = room.person(password="old")
    token = room.signed_in(ana)
    room.do(people.set_password, ana, "new", actor=ana.pid)
    assert room.see(people.find_session, token) is None
    assert room.see(people.password_of, "ana")[1] == "new"


def test_changes_are_noted_for_caches(room: Room) -> None:
    ana, ben = room.person(), room.person("ben")
    start = time.monotonic()
    assert not people.changed_recently(room.desk, ben.id, start)
    room.do(people.set_gate, ana, "open", actor="cli")
    assert people.changed_recently(room.desk, ana.id, start)
    assert people.changed_recently(room.desk, ana.id, time.monotonic())  # may have read before it was on disk
    assert not people.changed_recently(room.desk, ana.id, time.monotonic() + 60)
    assert not people.changed_recently(room.desk, ben.id, start)


def test_what_is_long_over_is_deleted(room: Room, owner: Person) -> None:
    ana = room.person()
    room.signed_in(ana, "old")
    room.do(people.create_invite, sha("i"), "annotator", actor=owner.pid, email="x@example.org")
    room.clock.now += 25 * DAY
    fresh = room.signed_in(ana, "fresh")
    assert room.do(people.tidy) == 0
    room.clock.now += 6 * DAY
    assert room.do(people.tidy) == 1  # the old session; the invitation only after 37 days
    room.clock.now += 6 * DAY + 1
    assert room.do(people.tidy) == 1
    assert "x@example.org" not in room.everything()
    assert fresh in room.everything()


# -- invitations ---------------------------------------------------------------------------------------------


def test_an_invitation_works_once(room: Room, owner: Person) -> None:
    room.do(people.create_invite, sha("i"), "adjudicator", actor=owner.pid, email="ben@example.org")
    for _ in range(3):  # a mail scanner follows the link
        invite = room.see(people.read_invite, sha("i"))
        assert invite is not None
        assert (invite.role, invite.email, invite.made_by) == ("adjudicator", "ben@example.org", owner.pid)
    ben = room.do(people.consume_invite, sha("i"), handle="ben", name="Ben")
    assert (ben.role, ben.email) == ("adjudicator", "ben@example.org")
    assert room.see(people.read_invite, sha("i")) is None
    with pytest.raises(GoneError):
        room.do(people.consume_invite, sha("i"), handle="eve", name="Eve")
    assert room.see(people.by_handle, "eve") is None


def test_two_at_once_make_one_account(room: Room, owner: Person) -> None:
    room.do(people.create_invite, sha("i"), "annotator", actor=owner.pid)

    def use(n: int) -> str:
        try:
            return room.do(people.consume_invite, sha("i"), handle=f"person{n}", name="P").handle
        except GoneError:
            return "gone"

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(use, range(8)))
    assert outcomes.count("gone") == 7
    assert len(room.see(people.list_people)) == 2


def test_an_invitation_that_failed_is_not_used_up(room: Room, owner: Person) -> None:
    room.do(people.create_invite, sha("i"), "annotator", actor=owner.pid)
    with pytest.raises(InvalidError):
        room.do(people.consume_invite, sha("i"), handle="olga", name="Other")  # taken
    assert room.do(people.consume_invite, sha("i"), handle="oli", name="Other").handle == "oli"


def test_an_invitation_lasts_seven_days(room: Room, owner: Person) -> None:
    room.do(people.create_invite, sha("i"), "annotator", actor=owner.pid)
    room.clock.now += 7 * DAY - 1
    assert room.see(people.read_invite, sha("i")) is not None
    room.clock.now += 1
    assert room.see(people.read_invite, sha("i")) is None
    assert room.see(people.list_invites) == []
    with pytest.raises(GoneError):
        room.do(people.consume_invite, sha("i"), handle="ben", name="Ben")


def test_nobody_invites_above_their_own_role(room: Room, owner: Person) -> None:
    cora = room.person("cora", "coordinator")
    with pytest.raises(InvalidError):
        room.do(people.create_invite, sha("i"), "owner", actor=cora.pid)
    with pytest.raises(InvalidError):
        room.do(people.create_invite, sha("j"), "annotator", actor=room.person("ann").pid)
    with pytest.raises(InvalidError):
        room.do(people.create_invite, sha("k"), "annotator", actor="nobody")
    room.do(people.create_invite, sha("l"), "owner", actor=people.COMMAND_LINE)


@pytest.mark.parametrize("what", ["downgraded", "left"])
def test_an_invitation_falls_with_its_author(room: Room, owner: Person, what: str) -> None:
    cora = room.person("cora", "coordinator")
    room.do(people.create_invite, sha("i"), "coordinator", actor=cora.pid)
    if what == "downgraded":
        room.do(people.set_role, cora, "annotator", actor=owner.pid)
    else:
        room.do(people.leave, cora, actor=owner.pid)
    assert room.see(people.read_invite, sha("i")) is None
    with pytest.raises(GoneError):
        room.do(people.consume_invite, sha("i"), handle="eve", name="Eve")


def test_an_invitation_can_be_taken_back(room: Room, owner: Person) -> None:
    invite = room.do(people.create_invite, sha("i"), "annotator", actor=owner.pid, email="b@example.org")
    assert [i.pid for i in room.see(people.list_invites)] == [invite.pid]
    room.do(people.revoke_invite, invite.pid, actor=owner.pid)
    assert room.see(people.read_invite, sha("i")) is None
    assert "b@example.org" not in room.everything()
    with pytest.raises(GoneError):
        room.do(people.revoke_invite, invite.pid, actor=owner.pid)


# -- links for people who have an account ----------------------------------------------------------------------


def test_a_link_signs_in_once(room: Room) -> None:
    ana = room.person(role="owner")
    room.do(people.create_link, sha("l"), ana, actor=people.COMMAND_LINE)
    assert room.see(people.read_invite, sha("l")).person_id == ana.id  # type: ignore[union-attr]
    assert room.do(people.consume_link, sha("l")).id == ana.id
    with pytest.raises(GoneError):
        room.do(people.consume_link, sha("l"))


def test_links_end_after_a_day_or_when_a_newer_one_is_made(room: Room) -> None:
    ana = room.person()
    room.do(people.create_link, sha("1"), ana, actor="cli")
    room.do(people.create_link, sha("2"), ana, actor="cli")
    assert room.see(people.read_invite, sha("1")) is None
    room.clock.now += DAY
    with pytest.raises(GoneError):
        room.do(people.consume_link, sha("2"))


def test_a_link_makes_no_account_and_an_invitation_signs_nobody_in(room: Room, owner: Person) -> None:
    room.do(people.create_link, sha("l"), owner, actor="cli")
    room.do(people.create_invite, sha("i"), "annotator", actor=owner.pid)
    with pytest.raises(GoneError):
        room.do(people.consume_invite, sha("l"), handle="eve", name="Eve")
    with pytest.raises(GoneError):
        room.do(people.consume_link, sha("i"))
    assert [i.pid for i in room.see(people.list_invites)] != []
    assert len(room.see(people.list_invites)) == 1  # links are not listed


def test_events_hold_no_names(room: Room, owner: Person) -> None:
    room.do(people.create_invite, sha("i"), "annotator", actor=owner.pid, email="q@example.org")
    zed = room.do(people.consume_invite, sha("i"), handle="zedhandle", name="Zed Name", password="zedpass")
    room.do(people.set_password, zed, "zedpass2", actor=zed.pid)
    with room.desk.reading() as connection:
        text = repr(connection.execute(tables().events.select()).all())
    for word in ("zed", "Zed", "example.org"):
        assert word not in text
