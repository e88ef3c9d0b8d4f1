"""Passwords: argon2id, computed in threads of their own, with the same work for names that nobody has."""

from __future__ import annotations

import asyncio
import base64
import secrets
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from argon2 import PasswordHasher, Type
from argon2.exceptions import Argon2Error, InvalidHashError
from argon2.low_level import ARGON2_VERSION

from proctor.said import say
from proctor.verify.desk.records import InvalidError

__all__ = ["LONGEST", "SHORTEST", "Passwords", "check_password"]

T = TypeVar("T")

SHORTEST: Final = 10
"""Characters of a password."""
LONGEST: Final = 512
"""More would make hashing itself an attack."""

_THREADS: Final = 2
"""Each computation holds 64 MiB: whoever floods the sign-in page waits, and the memory is bounded."""

_COMMON: Final = frozenset(
    [
        "0123456789",
        "01234567890",
        "12345678910",
        "1234567890",
        "0987654321",
        "9876543210",
        "1q2w3e4r5t",
        "1q2w3e4r5t6y",
        "abcdefghij",
        "abcdefghijkl",
        "administrator",
        "annotation",
        "annotator1",
        "changemenow",
        "iloveyou12",
        "iloveyou123",
        "letmeinplease",
        "letmein123",
        "mypassword",
        "p4ssw0rd123",
        "passw0rd123",
        "password01",
        "password10",
        "password11",
        "password12",
        "password123",
        "password1234",
        "passwordpassword",
        "proctor123",
        "qazwsxedcrfv",
        "qwerty1234",
        "qwerty12345",
        "qwertyuiop",
        "qwertyuiop123",
        "welcome123",
        "welcome1234",
    ]
)


def _normal(password: str) -> str:
    """Keyboards write one letter in several ways; the same password has to come out."""
    return unicodedata.normalize("NFKC", password)


def check_password(password: str, *known: str) -> None:
    """Refuse a password that is guessed first: too short, common, one character, or the person's own name.

    Args:
        password: as typed.
        known: what others know of the person: sign-in name, name, address.

    Raises:
        InvalidError: with the field ``password`` and what is wrong.
    """
    text = _normal(password)
    plain = text.casefold().strip()
    message: str = ""
    if len(text) < SHORTEST:
        message = say("Use {n} characters or more; a sentence is fine.", n=SHORTEST)
    elif len(text) > LONGEST:
        message = say("Use at most {n} characters.", n=LONGEST)
    elif plain in _COMMON or len(set(plain)) < 4:
        message = say("This password is among those that are tried first. Choose another one.")
    elif plain in {_normal(word).casefold().strip() for word in known}:
        message = say("A password must not be your name.")
    if message:
        raise InvalidError([("password", message)])


def _hash_of_nobody(hasher: PasswordHasher) -> str:
    """Write a hash with a hasher's parameters that no password is known to give; checking one against it is all the work."""
    salt, digest = (
        base64.b64encode(secrets.token_bytes(size)).decode().rstrip("=")
        for size in (hasher.salt_len, hasher.hash_len)
    )
    costs = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    return f"$argon2id$v={ARGON2_VERSION}${costs}${salt}${digest}"


class Passwords:
    """Hashes and checks passwords without holding up the server.

    Args:
        time_cost: passes over the memory.
        memory_kib: of one computation. The defaults are RFC 9106's second choice.
        lanes: of one computation.
    """

    def __init__(self, *, time_cost: int = 3, memory_kib: int = 65_536, lanes: int = 4) -> None:
        self._hasher = PasswordHasher(
            time_cost=time_cost, memory_cost=memory_kib, parallelism=lanes, type=Type.ID
        )
        self._nobody = _hash_of_nobody(self._hasher)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="proctor-passwords")

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def hash(self, password: str) -> str:
        """Return the argon2id hash of a password, with its salt and parameters."""
        return await self._in_thread(lambda: self._hasher.hash(_normal(password)))

    async def verify(self, hashed: str, password: str) -> bool:
        """Check a password.

        Args:
            hashed: what is stored; "" for an account without a password or a name that nobody has. The answer is
                then false, after the same work.
            password: as typed; one that is too long is wrong.
        """
        return await self._in_thread(lambda: self._verify(hashed, password))

    def is_outdated(self, hashed: str) -> bool:
        """True when a hash was made with other parameters than today's."""
        try:
            return self._hasher.check_needs_rehash(hashed)
        except InvalidHashError:
            return True

    def _verify(self, hashed: str, password: str) -> bool:
        try:
            self._hasher.verify(hashed or self._nobody, _normal(password[: LONGEST + 1]))
        except (Argon2Error, InvalidHashError):
            return False
        return bool(hashed) and len(password) <= LONGEST

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)
