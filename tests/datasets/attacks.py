"""Attacks that every reader has to survive, whatever its format.

    from tests.datasets.attacks import FAMILIES, survive

    @pytest.mark.parametrize("family", FAMILIES)
    def test_it_survives(family, tmp_path):
        assert survive(DATASET, FIXTURE, tmp_path, family)

A family is a kind of damage. ``survive`` breaks every declared file of a folder in all ways of a family, one at a time,
reads and checks the broken folder, and asserts of each case: records or a ``UserError`` of a readable length, nothing
else; within ``SECONDS``; every record valid; what is lost is told (see ``lost_silently``). It returns how the cases
ended, ``read`` or ``refused``.

``.json``, ``.jsonl``, ``.csv``, ``.tsv`` and ``.txt`` files are taken apart, also within ``.gz``; of any others only
the bytes are attacked.
"""

from __future__ import annotations

import copy
import csv
import gzip
import io
import json
import math
import os
import random
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from proctor.datasets.dataset import Dataset, Log
from proctor.errors import UserError

__all__ = ["FAMILIES", "Case", "cases", "declared_files", "flipped", "lost_silently", "read_once", "survive"]

SECONDS = 5.0
"""That reading a broken folder may take; a fixture is read in milliseconds."""

CAP = 400 if os.environ.get("PROCTOR_FUZZ") else 120
"""Cases of one family for one file; those of every depth and field name come first. With PROCTOR_FUZZ it takes minutes."""

SHARE = 4
"""Every place gets a fourth of the wrong values and numbers, the next place others."""

WRONG = (
    None,
    True,
    7,
    -1,
    1.5,
    "",
    "x",
    [],
    {},
    [[]],
    [None],
    {"x": None},
    10**400,
    "\ud800",
    "a/../b",
    "\x00",
)
"""Put in the place of values, some in turn, those of the same type too."""

NUMBERS = (math.nan, math.inf, -math.inf, -1, -1e-9, -0.0, 1e308, -1e308, 10**30, 10**400, 0.1 + 0.2)
"""Put in the place of numbers, some in turn."""

Path_ = tuple[str | int, ...]


@dataclass(frozen=True)
class Case:
    """A way to break a file: its name and the bytes that are there instead.

    Attributes:
        name: for the message of a failed test.
        data: what is in the file.
        traceable: False where nobody can tell from the file that something is gone (cut between two lines).
        single: one record is damaged, so that others may be lost only if each is told.
    """

    name: str
    data: bytes
    traceable: bool = True
    single: bool = False


def is_single(path: Path, place: Path_) -> bool:
    """True for a place that is within one record: a line, or anything below the lists and objects that hold records."""
    return len(place) > (0 if kind_of(path) == ".jsonl" else 1)


# -- files as values ---------------------------------------------------------------------------------------------


def packed(path: Path, data: bytes) -> bytes:
    return gzip.compress(data, mtime=0) if path.suffix == ".gz" else data


def unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def kind_of(path: Path) -> str:
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    return {".tsv": ".csv"}.get(suffix, suffix)


def declared_files(dataset: Dataset, folder: Path) -> list[Path]:
    """Every file of the folder that the data set declares."""
    found = {p for file in dataset.files for p in folder.glob(file.path) if p.is_file()}
    return sorted(found)


def load_values(path: Path) -> Any:
    """A JSON document, or the list of the lines of a JSON Lines file."""
    text = unpacked(path).decode("utf-8")
    return (
        json.loads(text)
        if kind_of(path) == ".json"
        else [json.loads(t) for t in text.splitlines() if t.strip()]
    )


def dump_values(path: Path, value: Any) -> bytes:
    if kind_of(path) == ".json":
        return packed(path, json.dumps(value).encode())
    return packed(path, "".join(json.dumps(v) + "\n" for v in value).encode())


def load_rows(path: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(unpacked(path).decode("utf-8")), delimiter=delimiter(path)))


def dump_rows(path: Path, rows: Sequence[Sequence[str]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter(path), lineterminator="\n").writerows(rows)
    return packed(path, out.getvalue().encode("utf-8", "surrogatepass"))


def delimiter(path: Path) -> str:
    return "\t" if ".tsv" in path.suffixes else ","


def places(value: Any, here: Path_ = ()) -> Iterator[Path_]:
    """Every place in a document, the root apart."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*here, key)
        yield from places(inner, (*here, key))


def at(value: Any, place: Path_) -> Any:
    for key in place:
        value = value[key]
    return value


def chosen(found: Sequence[Path_], cap: int) -> list[Path_]:
    """At most ``cap`` places, those of every depth and field name in turn."""
    groups: dict[tuple[int, str], list[Path_]] = {}
    for place in found:
        last = place[-1]
        groups.setdefault((len(place), last if isinstance(last, str) else "[]"), []).append(place)
    picked: list[Path_] = []
    queues = [iter(places) for places in groups.values()]
    while queues and len(picked) < cap:
        for queue in list(queues):
            place = next(queue, None)
            if place is None:
                queues.remove(queue)
            else:
                picked.append(place)
    return picked[:cap]


def changed(document: Any, place: Path_, new: Any) -> Any:
    """A copy of the document with another value in one place; ``...`` takes the value away."""
    whole = copy.deepcopy(document)
    parent = at(whole, place[:-1])
    if new is ...:
        del parent[place[-1]]
    else:
        parent[place[-1]] = new
    return whole


def twice(document: Any, place: Path_) -> Any:
    whole = copy.deepcopy(document)
    at(whole, place[:-1]).insert(0, copy.deepcopy(at(document, place)))
    return whole


# -- families ----------------------------------------------------------------------------------------------------

Family = Callable[[Path, random.Random, int], Iterator[Case]]


def missing_field(path: Path, _: random.Random, cap: int) -> Iterator[Case]:
    """Every field, list element, line, column and cell left out in turn."""
    if kind_of(path) in (".json", ".jsonl"):
        document = load_values(path)
        found = list(places(document))
        fields = {key for key, n in Counter(p[-1] for p in found if isinstance(p[-1], str)).items() if n > 1}
        for place in chosen(found, cap):
            # an element, or a key that is an id and stands for its record, leaves no trace when it is gone
            field = place[-1] in fields and "." not in str(place[-1])
            yield Case(
                f"without {place}",
                dump_values(path, changed(document, place, ...)),
                field,
                is_single(path, place),
            )
    elif kind_of(path) == ".csv":
        rows = load_rows(path)
        for column in range(max(map(len, rows), default=0)):
            yield Case(
                f"without column {column}", dump_rows(path, [r[:column] + r[column + 1 :] for r in rows])
            )
        for r, c in spread_cells(rows, cap):
            yield Case(
                f"row {r} ends before column {c}", dump_rows(path, [*rows[:r], rows[r][:c], *rows[r + 1 :]])
            )
        yield Case("without its first row", dump_rows(path, rows[1:]), traceable=False)
    elif kind_of(path) == ".txt":
        lines = unpacked(path).splitlines(keepends=True)
        for n in range(min(len(lines), cap)):
            yield Case(
                f"without line {n + 1}", packed(path, b"".join(lines[:n] + lines[n + 1 :])), traceable=False
            )


def wrong_type(path: Path, rng: random.Random, cap: int) -> Iterator[Case]:
    """Values replaced by those of other types, and the whole document too."""
    if kind_of(path) in (".json", ".jsonl"):
        document = load_values(path)
        found = chosen(list(places(document)), max(1, cap * SHARE // len(WRONG)))
        for turn, place in enumerate(found):
            for wrong in WRONG[turn % SHARE :: SHARE]:
                emptied = wrong in ([], {}) and type(wrong) is type(at(document, place))  # as good as any
                data = dump_values(path, changed(document, place, wrong))
                yield Case(f"{place} = {wrong!r:.40}", data, not emptied, is_single(path, place))
        for wrong in (w for w in WRONG[: max(4, cap)] if kind_of(path) == ".json"):
            yield Case(f"all = {wrong!r:.40}", dump_values(path, wrong))
    elif kind_of(path) == ".csv":
        rows = load_rows(path)
        texts = (
            "",
            "x",
            "-1",
            "nan",
            "inf",
            "1e999",
            "9" * 400,
            '"',
            "a,b",
            "\x00",
            "\ud800",
            " 1 ",
            "a/../b",
            "٣",
        )
        for r, c in spread_cells(rows, max(1, cap // len(texts))):
            for text in texts:
                row = [*rows[r][:c], text, *rows[r][c + 1 :]]
                yield Case(
                    f"row {r}, column {c} = {text!r:.40}", dump_rows(path, [*rows[:r], row, *rows[r + 1 :]])
                )
    elif kind_of(path) == ".txt":
        lines = unpacked(path).splitlines(keepends=True)
        for n in range(min(len(lines), cap // 4)):
            for text in (b"\n", b"x\n", b"-1\n", b"9" * 400 + b"\n"):
                data = b"".join([*lines[:n], text, *lines[n + 1 :]])
                yield Case(f"line {n + 1} = {text!r:.40}", packed(path, data), traceable=False)


def spread_cells(rows: Sequence[Sequence[str]], cap: int) -> list[tuple[int, int]]:
    cells = [(r, c) for r, row in enumerate(rows) for c in range(len(row))]
    step = max(1, math.ceil(len(cells) / cap))
    return cells[::step]


def wrong_number(path: Path, _: random.Random, cap: int) -> Iterator[Case]:
    """Numbers replaced by NaN, infinities, negative and huge ones."""
    if kind_of(path) not in (".json", ".jsonl"):
        return  # the cells of tables get theirs as wrong types
    document = load_values(path)
    numbers = [p for p in places(document) if type(at(document, p)) in (int, float)]
    for turn, place in enumerate(chosen(numbers, max(1, cap * SHARE // len(NUMBERS)))):
        for number in NUMBERS[turn % SHARE :: SHARE]:
            data = dump_values(path, changed(document, place, number))
            yield Case(f"{place} = {number!r:.40}", data, single=is_single(path, place))


def truncated(path: Path, rng: random.Random, cap: int) -> Iterator[Case]:
    """Cut at many places; a packed file also within its packing."""
    whole = path.read_bytes()
    cuts = {0, 1, 2, len(whole) - 1, len(whole) - 2}
    cuts |= {rng.randrange(len(whole)) for _ in range(min(cap, 40)) if whole}
    lines = kind_of(path) != ".json"  # a cut between two lines is not to be seen
    for cut in sorted(c for c in cuts if 0 <= c < len(whole)):
        yield Case(f"cut after {cut} bytes", whole[:cut], traceable=not lines)
    if path.suffix == ".gz":
        text = unpacked(path)
        for cut in sorted({rng.randrange(len(text)) for _ in range(20) if text}):
            yield Case(f"cut after {cut} unpacked bytes", packed(path, text[:cut]), traceable=not lines)


def wrong_encoding(path: Path, _: random.Random, cap: int) -> Iterator[Case]:
    """UTF-16, UTF-32, Latin-1, byte order marks, NULs, other line ends."""
    raw = unpacked(path)
    text = raw.decode("utf-8", "replace")
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        yield Case(encoding, packed(path, text.encode(encoding)))
    yield Case("latin-1", packed(path, text.replace("e", "é").encode("latin-1", "replace")))
    yield Case("UTF-8 with a byte order mark", packed(path, b"\xef\xbb\xbf" + raw))
    yield Case("two byte order marks", packed(path, b"\xef\xbb\xbf" * 2 + raw))
    yield Case("lone bytes", packed(path, raw.replace(b"a", b"\xff")))
    yield Case("Windows line ends", packed(path, raw.replace(b"\n", b"\r\n")))
    yield Case("old Mac line ends", packed(path, raw.replace(b"\n", b"\r")))
    yield Case("NULs", packed(path, raw + b"\x00" * 4096))
    yield Case(
        "not packed" if path.suffix == ".gz" else "packed",
        gzip.compress(raw) if path.suffix != ".gz" else raw,
    )


def duplicated(path: Path, _: random.Random, cap: int) -> Iterator[Case]:
    """Every element of a list, line, row and key of an object twice."""
    if kind_of(path) in (".json", ".jsonl"):
        document = load_values(path)
        elements = [p for p in places(document) if isinstance(p[-1], int)]
        for place in chosen(elements, cap):
            yield Case(f"{place} twice", dump_values(path, twice(document, place)), single=True)
        keys = [p for p in places(document) if isinstance(p[-1], str)] if kind_of(path) == ".json" else []
        for place in chosen(keys, cap // 2):
            yield Case(f"key {place} twice", packed(path, key_twice(document, place).encode()))
    elif kind_of(path) in (".csv", ".txt"):
        lines = unpacked(path).splitlines(keepends=True)
        for n in range(min(len(lines), cap)):
            yield Case(
                f"line {n + 1} twice", packed(path, b"".join([*lines[: n + 1], *lines[n:]])), traceable=False
            )


def key_twice(document: Any, place: Path_) -> str:
    """The document as text in which a key occurs twice in its object, with the same value."""
    mark = "\x01mark\x01"
    whole = copy.deepcopy(document)
    at(whole, place[:-1])[mark] = at(document, place)
    return json.dumps(whole).replace(json.dumps(mark), json.dumps(place[-1]))


def monstrous(path: Path, _: random.Random, cap: int) -> Iterator[Case]:
    """Empty, blank, one very long line, a text of 1 MB in place of every text, nested 10,000 deep."""
    yield Case("empty", packed(path, b""), traceable=False)
    yield Case("no bytes at all", b"", traceable=False)
    yield Case("blank", packed(path, b" \n\n \n"), traceable=False)
    yield Case("one very long line", packed(path, b"x" * 2_000_000))
    yield Case("one very long row", packed(path, b"1," * 1_000_000))
    yield Case("one very long quoted cell", packed(path, b'"' + b"a\n" * 500_000))
    for depth in (10_000, 200_000):
        yield Case(f"{depth} deep lists", packed(path, b"[" * depth + b"]" * depth))
        yield Case(f"{depth} deep objects", packed(path, b'{"a":' * depth + b"1" + b"}" * depth))
        yield Case(f"{depth} open lists", packed(path, b"[" * depth))
    if kind_of(path) not in (".json", ".jsonl"):
        return
    document = load_values(path)
    for place in chosen(list(places(document)), min(cap, 12)):
        text = dump_values(path, changed(document, place, "\x01"))
        mark = json.dumps("\x01").encode()
        raw = gzip.decompress(text) if path.suffix == ".gz" else text
        yield Case(f"{place} = 1 MB", packed(path, raw.replace(mark, b'"' + b"x" * 1_000_000 + b'"', 1)))
        for depth in (450, 900, 10_000):  # decoders stop at about 1,000
            deep = b"[" * depth + b"]" * depth
            yield Case(f"{place} {depth} deep", packed(path, raw.replace(mark, deep, 1)))
        yield Case(f"{place} = many digits", packed(path, raw.replace(mark, b"9" * 10_000, 1)))


def shuffled(path: Path, rng: random.Random, cap: int) -> Iterator[Case]:
    """Lists, lines and rows in another order."""
    if kind_of(path) in (".json", ".jsonl"):
        document = load_values(path)
        lists = [p for p in ((), *places(document)) if isinstance(at(document, p), list)]
        for place in lists[:cap]:
            whole = copy.deepcopy(document)
            elements = at(whole, place)
            elements.reverse()
            yield Case(f"{place} reversed", dump_values(path, whole))
    elif kind_of(path) == ".csv":
        rows = load_rows(path)
        body = rows[1:]
        rng.shuffle(body)
        yield Case("rows shuffled", dump_rows(path, [*rows[:1], *body]))


def random_bytes(path: Path, rng: random.Random, cap: int) -> Iterator[Case]:
    """Random bytes flipped; a packed file also within its packing.

    In tables and plain lines a cut may leave a sound line (``1,2,3`` and ``4,5,6`` become ``1,5,6``), which nobody can tell.
    """
    plain = kind_of(path) not in (".csv", ".txt")
    for number in range(min(cap, 60)):
        yield Case(f"flips {number}", flipped(path.read_bytes(), rng), plain or path.suffix == ".gz")
        if path.suffix == ".gz":
            yield Case(f"flips within {number}", packed(path, flipped(unpacked(path), rng)), plain)


def flipped(data: bytes, rng: random.Random) -> bytes:
    """One to eight bytes replaced by others, or one run of bytes taken out or repeated."""
    out = bytearray(data)
    if not out:
        return b""
    how = rng.random()
    start = rng.randrange(len(out))
    if how < 0.1:
        del out[start : start + rng.randrange(1, 30)]
    elif how < 0.2:
        out[start:start] = out[start : start + rng.randrange(1, 30)]
    else:
        for _ in range(rng.choice((1, 1, 1, 2, 4, 8))):
            out[rng.randrange(len(out))] = rng.choice((rng.randrange(256), *b'0123456789-.eE"{}[],:\n'))
    return bytes(out)


_FAMILIES: dict[str, Family] = {
    "missing field": missing_field,
    "wrong type": wrong_type,
    "wrong number": wrong_number,
    "truncated": truncated,
    "wrong encoding": wrong_encoding,
    "duplicated": duplicated,
    "monstrous": monstrous,
    "shuffled": shuffled,
    "random bytes": random_bytes,
}

FAMILIES = tuple(_FAMILIES)


def cases(path: Path, family: str, seed: int = 0, cap: int = CAP) -> Iterator[Case]:
    """All cases of a family for a sound file."""
    return _FAMILIES[family](path, random.Random(f"{seed} {family} {path.name}"), cap)


# -- what must hold ----------------------------------------------------------------------------------------------


class _TooLongError(BaseException):
    """No reader's ``except Exception`` may catch it."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise an error that no reader catches when the block takes longer.

    Seconds of the processor: a busy machine is no failure, and the clock's alarm is pytest-timeout's, which ends a test
    that waits.
    """

    def ring(_: int, __: FrameType | None) -> None:
        raise _TooLongError(f"longer than {seconds} s")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@dataclass(frozen=True)
class Outcome:
    """What reading gave: the records and all that was told, drops and findings, or a refusal."""

    records: tuple[Any, ...]
    told: Counter[Any]
    refused: UserError | None = None


def read_once(dataset: Dataset, folder: Path, **options: str) -> Outcome:
    """Read a folder; only a ``UserError`` may come instead of records."""
    log = Log()
    try:
        records = tuple(dataset.iter_records(folder, "published", log, **options))
    except UserError as error:
        return Outcome((), Counter(), error)
    return Outcome(records, Counter([*log.dropped, *log.findings]))


def parts(record: Any) -> int:
    """How many steps, sections or texts a record has."""
    for name in ("segments", "sections", "steps", "rows"):
        inside = getattr(record, name, None)
        if isinstance(inside, tuple | list):
            return len(inside)
    return 1


def lost_silently(sound: Outcome, broken: Outcome, *, single: bool = False) -> str:
    """Say what is gone without anything told that the sound folder does not tell; empty when nothing is.

    Records are compared by number, their parts by the records that both have. Of a damage to a ``single`` record
    something told excuses one lost record, and each further one has to be told by a drop or a finding of its own; any
    other damage may take a whole list, object or file with it, which is told as one.
    """
    told = broken.told - sound.told
    if told:
        lost = len(sound.records) - len(broken.records)
        return f"{lost} record(s) for {told.total()} told" if single and lost > told.total() else ""
    if len(broken.records) < len(sound.records):
        return f"{len(sound.records) - len(broken.records)} record(s)"
    before = {r.id: parts(r) for r in sound.records}
    fewer = [r.id for r in broken.records if parts(r) < before.get(r.id, 0)]
    return f"parts of {fewer[0]}" if fewer else ""


def assert_valid(records: Sequence[Any]) -> None:
    """The promises of the contract that a broken folder must keep too."""
    ids = [record.id for record in records]
    assert all(isinstance(i, str) and i.strip() and len(i) < 10_000 for i in ids)
    assert len(set(ids)) == len(ids), "two records of one id"
    for record in records:
        for text in (record.id, *getattr(record, "attributes", {}).values()):
            assert isinstance(text, str)
            text.encode()  # half characters cannot be written anywhere
        duration = getattr(record, "duration", None)
        assert duration is None or 0 < duration < math.inf, duration
        times = [(s.start, s.end) for s in getattr(record, "segments", ()) if hasattr(s, "start")]
        for start, end in times:
            assert (start is None) == (end is None)
            assert start is None or 0 <= start <= end < math.inf, (start, end)
        starts = [-1.0 if start is None else start for start, _ in times]
        assert starts == sorted(starts), record.id
        for segment in getattr(record, "segments", ()):
            for text in (segment.step_id, segment.text):
                assert isinstance(text, str)
                text.encode()


def assert_readable(error: UserError, name: str) -> None:
    text = str(error)
    assert len(text) < 5_000, f"{name}: a message of {len(text)} characters"
    text.encode()


def working_copy(folder: Path, tmp_path: Path) -> Path:
    target = tmp_path / "attacked"
    shutil.copytree(folder, target)
    for path in target.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return target


def survive(
    dataset: Dataset, folder: Path, tmp_path: Path, family: str, *, cap: int = CAP, seed: int = 0
) -> Counter[str]:
    """Attack every declared file of a sound folder and assert what has to hold; see the module.

    The options of the reader take turns.
    """
    target = working_copy(folder, tmp_path)
    ways = [{}, *({name: value} for name, values in dataset.options.items() for value in values[1:])]
    sound = [read_once(dataset, target, **way) for way in ways]
    ended: Counter[str] = Counter()
    for path in declared_files(dataset, target):
        original = path.read_bytes()
        for number, case in enumerate(list(cases(path, family, seed, cap))):
            path.write_bytes(case.data)
            way = number % len(ways)
            name = f"{path.name}, {case.name}, {ways[way]}"
            try:
                with limited(SECONDS):
                    broken = read_once(dataset, target, **ways[way])
                    checked(dataset, target)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt | SystemExit):
                    raise
                raise AssertionError(f"{name}: {type(error).__name__}: {error}") from error
            if broken.refused is not None:
                assert_readable(broken.refused, name)
            else:
                try:
                    assert_valid(broken.records)
                except (AssertionError, UnicodeEncodeError) as error:
                    raise AssertionError(f"{name}: {error}") from error
                lost = lost_silently(sound[way], broken, single=case.single) if case.traceable else ""
                assert not lost, f"{name}: {lost} lost, and nothing is told"
            ended["refused" if broken.refused is not None else "read"] += 1
        path.write_bytes(original)
    return ended


def checked(dataset: Dataset, folder: Path) -> None:
    try:
        dataset.check(folder)
    except UserError as error:
        assert_readable(error, "check")
