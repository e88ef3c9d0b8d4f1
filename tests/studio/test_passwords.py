"""Hashing: argon2id, off the event loop, the same work for nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import argon2
import pytest
from tests.patience import effort

from proctor.studio.passwords import LONGEST, Passwords, check_password
from proctor.verify.desk.records import InvalidError


@pytest.fixture
def cheap() -> Iterator[Passwords]:
    passwords = Passwords(time_cost=1, memory_kib=64, lanes=1)
    yield passwords
    passwords.close()


def test_what_is_delivered_is_argon2id_with_rfc_parameters() -> None:
    passwords = Passwords()
    hashed = asyncio.run(passwords.hash("correct horse battery"))
    found = argon2.extract_parameters(hashed)
    assert found.type is argon2.Type.ID
    assert (found.time_cost, found.memory_cost, found.parallelism) == (3, 65_536, 4)
    assert asyncio.run(passwords.verify(hashed, "correct horse battery"))
    passwords.close()


def test_right_and_wrong(cheap: Passwords) -> None:
    one, two = (asyncio.run(cheap.hash("correct horse")) for _ in range(2))
    assert one != two  # salted
    assert asyncio.run(cheap.verify(one, "correct horse"))
    assert not asyncio.run(cheap.verify(one, "correct horsf"))
    assert not asyncio.run(cheap.verify(one, ""))
    assert not asyncio.run(cheap.verify("not a hash", "correct horse"))


def test_nobody_has_a_password_that_is_right(cheap: Passwords) -> None:
    assert not asyncio.run(cheap.verify("", "correct horse"))
    assert not asyncio.run(cheap.verify("", ""))


def test_the_same_letters_from_another_keyboard(cheap: Passwords) -> None:
    hashed = asyncio.run(cheap.hash("caf\u00e9 au lait"))
    assert asyncio.run(cheap.verify(hashed, "cafe\u0301 au lait"))


def test_a_password_that_was_cut_is_wrong(cheap: Passwords) -> None:
    hashed = asyncio.run(cheap.hash("x" * LONGEST))
    assert asyncio.run(cheap.verify(hashed, "x" * LONGEST))
    assert not asyncio.run(cheap.verify(hashed, "x" * (LONGEST + 1)))
    with effort(5):
        assert not asyncio.run(cheap.verify(hashed, "x" * 10_000_000))


def test_nobody_costs_as_much_as_somebody(monkeypatch: pytest.MonkeyPatch) -> None:
    passwords = Passwords(time_cost=2, memory_kib=1024, lanes=1)
    real = asyncio.run(passwords.hash("correct horse"))
    seen: list[str] = []
    inner = passwords._hasher.verify

    class Spy:
        def verify(self, hashed: str, password: str) -> Any:
            seen.append(hashed)
            return inner(hashed, password)

    monkeypatch.setattr(passwords, "_hasher", Spy())
    asyncio.run(passwords.verify(real, "wrong password"))
    asyncio.run(passwords.verify("", "wrong password"))
    passwords.close()
    assert len(seen) == 2
    somebody, nobody = (argon2.extract_parameters(hashed) for hashed in seen)
    assert somebody == nobody
    for hashed in seen:  # a hash that cannot be read would be refused at once
        with pytest.raises(argon2.exceptions.VerifyMismatchError):
            inner(hashed, "wrong password")


def test_the_server_goes_on_while_hashing() -> None:
    passwords = Passwords(time_cost=8, memory_kib=65_536, lanes=1)

    async def work() -> int:
        ticks, done = 0, asyncio.ensure_future(passwords.hash("correct horse"))
        while not done.done():
            await asyncio.sleep(0.001)
            ticks += 1
        return ticks

    assert asyncio.run(work()) >= 3
    passwords.close()


def test_old_parameters_are_noticed(cheap: Passwords) -> None:
    hashed = asyncio.run(cheap.hash("correct horse"))
    assert not cheap.is_outdated(hashed)
    newer = Passwords(time_cost=2, memory_kib=64, lanes=1)
    assert newer.is_outdated(hashed)
    assert asyncio.run(newer.verify(hashed, "correct horse"))
    assert newer.is_outdated("rubbish")
    newer.close()


@pytest.mark.parametrize(
    "password",
    [
        "",
        "short",
        "123456789",
        "password123",
        "PASSWORD123",
        "aaaaaaaaaaaa",
        "abababababab",
        "ana.lee.long",
        "x" * 513,
    ],
)
def test_passwords_that_are_refused(password: str) -> None:
    with pytest.raises(InvalidError) as error:
        check_password(password, "ana.lee.long", "Ana")
    assert error.value.errors[0][0] == "password"


@pytest.mark.parametrize(
    "password", ["correct horse battery", "пароль из слов", "1 2 3 4 5 six", "x4" * 200 + "yz"]
)
def test_passwords_that_are_taken(password: str) -> None:
    check_password(password, "ana", "")
