"""Logins of institutions, tokens of programs, and verdicts from elsewhere, on both databases."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.verify.desk import identities, intake, people, tokens, withdrawal
from proctor.verify.desk.identities import Claimed
from proctor.verify.desk.records import ConflictError, GoneError, InvalidError

LAB = "https://login.example.org"
ANA = Claimed(issuer=LAB, subject="u-1", name="Ana", handle="ana@example.org", email="ana@example.org")


def test_a_login_is_bound_once_and_ends_with_its_person(bench: Any) -> None:
    ben, cleo = bench.hire("ben", "cleo")
    bench.do(identities.connect, ben, ANA)
    bench.do(identities.connect, ben, ANA)
    assert bench.see(identities.find, ANA).pid == ben.pid
    for person, claimed in ((cleo, ANA), (ben, Claimed(issuer=LAB, subject="u-2"))):
        with pytest.raises(ConflictError):
            bench.do(identities.connect, person, claimed)
    elsewhere = Claimed(issuer="https://other.example.org", subject="u-1")
    assert bench.see(identities.find, elsewhere) is None
    with pytest.raises(ConflictError, match="password"):
        bench.do(identities.disconnect, ben, LAB)
    with pytest.raises(GoneError):
        bench.do(identities.disconnect, cleo, LAB)
    assert bench.do(identities.sign_in, ANA, ()).pid == ben.pid
    bench.do(people.leave, ben, actor="cli")
    with pytest.raises(GoneError):
        bench.do(identities.sign_in, ANA, ("*@example.org",))
    bench.do(withdrawal.withdraw_consent, ben, actor="cli")
    assert bench.rows("identities") == []
    assert [e.kind for e in bench.rows("events") if e.kind.startswith("identity")] == ["identity.connected"]


def test_invitations_and_addresses(bench: Any) -> None:
    bench.do(
        people.create_invite, "h" * 64, "adjudicator", actor=people.COMMAND_LINE, email="Ana@example.org"
    )
    made = bench.do(identities.accept_invite, "h" * 64, ANA)
    assert (made.handle, made.name, made.role, made.has_password) == ("ana", "Ana", "adjudicator", False)
    with pytest.raises(GoneError):
        bench.do(identities.accept_invite, "h" * 64, Claimed(issuer=LAB, subject="u-3"))
    thief = Claimed(issuer=LAB, subject="u-4", handle="ana", email="ANA@example.org")
    with pytest.raises(ConflictError, match="My account"):
        bench.do(identities.sign_in, thief, ("*@example.org",))
    other = Claimed(issuer=LAB, subject="u-5", handle="ana", email="ana2@example.org")
    assert bench.do(identities.sign_in, other, ("*@EXAMPLE.org",)).handle == "ana-2"


def test_a_token_lasts_as_long_as_its_person_has_the_role(bench: Any) -> None:
    (gita,), (ana,) = bench.hire("gita", role="coordinator"), bench.hire("ana")
    bench.hire("farid", role="owner")
    more = {"name": "night", "scope": "read", "days": 2, "actor": "cli"}
    bench.do(tokens.create, "t" * 64, gita, **more)
    with pytest.raises(GoneError):
        bench.do(tokens.create, "u" * 64, ana, **more)
    with pytest.raises(InvalidError):
        bench.do(tokens.create, "u" * 64, gita, **{**more, "scope": "all"})
    token, person = bench.see(tokens.find, "t" * 64)
    assert (token.scope, token.used_at, person.pid) == ("read", None, gita.pid)
    bench.do(tokens.touch, token)
    assert bench.see(tokens.list_tokens, gita)[0].used_at == bench.time
    bench.do(people.set_role, gita, "annotator", actor="cli")
    assert bench.see(tokens.find, "t" * 64) is None
    bench.do(people.set_role, gita, "owner", actor="cli")
    assert bench.see(tokens.find, "t" * 64) is not None
    bench.do(people.leave, gita, actor="cli")
    bench.do(people.rejoin, gita, actor="cli")
    assert bench.see(tokens.find, "t" * 64) is None
    bench.do(tokens.create, "v" * 64, gita, **more)
    bench.time += 2 * 86_400
    assert bench.see(tokens.find, "v" * 64) is None
    bench.do(people.withdraw, gita, actor="cli")
    assert bench.rows("tokens") == []


def test_verdicts_from_elsewhere(bench: Any, a_pair: Any) -> None:
    bench.sync(a_pair("c1", "Stir."), a_pair("c2", "Pour."))
    said = {
        "annotator": "e",
        "annotator_kind": "human",
        "at": "2026-01-01T00:00:00Z",
        "question": {"value": "right"},
    }
    rows = [{**said, "candidate_id": name, "answers": [{"value": "right"}]} for name in ("c1", "c9")]
    rows += [{"table": "person"}, {"table": "verdict", "verdict": {**said, "candidate_id": "c2"}}]
    taken = intake.take_in(bench.desk, list(intake.read_verdicts(rows, "x")))
    assert (taken.new, taken.items) == (1, 1)
    assert [d.reason for d in taken.dropped] == ["candidate-unknown", "answers-do-not-fit"]
