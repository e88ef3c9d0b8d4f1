"""What a store holds after a load, beside what the server had acknowledged: everything once, nothing else.

It reads the tables with its own SQL, not with the code that wrote them.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, NullPool, create_engine, make_url, text

RESPONSES = """
SELECT r.id, a.pid, r.idem_key, r.rev, r.sheet, r.verdict_digest, a.state, a.rev AS now_rev
FROM proctor_responses r JOIN proctor_assignments a ON a.id = r.assignment_id
"""


@dataclass(slots=True)
class Findings:
    """Counts that are all 0 when nothing went wrong, but the first.

    Attributes:
        acknowledged: submits that the server had answered with success.
        lost: of them, those that are not in the store.
        twice: of them, those that are there more than once.
        altered: of them, those whose sheet or revision is another.
        strangers: responses that nobody has sent, or that nobody was told of though they came twice.
        open: assignments with a response that do not count as submitted, or at another revision.
        untyped: responses without exactly one row of the question's judgement and one for each judged answer.
        unheard: responses without a verdict in the store of verdicts.
    """

    acknowledged: int
    lost: int = 0
    twice: int = 0
    altered: int = 0
    strangers: int = 0
    open: int = 0
    untyped: int = 0
    unheard: int = 0

    @property
    def sound(self) -> bool:
        """True when everything is there once and nothing else is."""
        return not any(count for name, count in asdict(self).items() if name != "acknowledged")

    def __str__(self) -> str:
        """Return a sentence's worth."""
        if self.sound:
            return f"all {self.acknowledged:,} acknowledged saves are there once"
        wrong = ", ".join(
            f"{count} {name}" for name, count in asdict(self).items() if count and name != "acknowledged"
        )
        return f"of {self.acknowledged:,} acknowledged saves: {wrong}"


def examine(
    target: str | Path,
    acknowledged: Sequence[Mapping[str, Any]],
    unanswered: Mapping[str, str],
    *,
    before: int = 0,
    tasks: bool = False,
) -> Findings:
    """Compare a store with what was acknowledged.

    Args:
        target: SQLite file, or ``postgresql://`` URL; nobody writes to it now.
        acknowledged: pid, key, rev and sheet of each acknowledged submit.
        unanswered: key by pid of each submit that was sent and not answered: it may be there once, or not.
        before: responses up to this number were there before the load.
        tasks: the sheets are of tasks, which have no rows of judgements and no verdicts.
    """
    with _reading(target) as connection:
        rows = [row for row in connection.execute(text(RESPONSES)) if row.id > before]
        questions = _counts(connection, "proctor_question_judgements")
        answers = _counts(connection, "proctor_answer_judgements")
        digests = {digest for (digest,) in connection.execute(text("SELECT digest FROM proctor_verdicts"))}
    by_key = defaultdict(list)
    for row in rows:
        by_key[row.pid, row.idem_key].append(row)
    found = Findings(len(acknowledged))
    told = {(each["pid"], each["key"]): each for each in acknowledged}
    sent = set(unanswered.items())
    found.strangers = sum(len(group) - (key in sent) for key, group in by_key.items() if key not in told)
    for key, each in told.items():
        group = by_key.get(key, [])
        found.lost += not group
        found.twice += len(group) > 1
        for row in group[:1]:
            found.altered += row.rev != each["rev"] or _gist(json.loads(row.sheet)) != _gist(each["sheet"])
            found.open += row.state != "submitted" or row.now_rev != row.rev
    for row in () if tasks else rows:
        judged = [value for value in json.loads(row.sheet).get("answers", ()) if value is not None]
        found.untyped += questions[row.id] != 1 or answers[row.id] != len(judged)
        found.unheard += row.verdict_digest not in digests
    return found


def last_response(target: str | Path) -> int:
    """Return the number of the newest response; 0 when there is none."""
    with _reading(target) as connection:
        return int(connection.execute(text("SELECT max(id) FROM proctor_responses")).scalar() or 0)


def _counts(connection: Connection, table: str) -> Counter[int]:
    query = text(f"SELECT response_id, count(*) FROM {table} GROUP BY response_id")
    return Counter(dict(tuple(row) for row in connection.execute(query)))


def _gist(sheet: Mapping[str, Any]) -> tuple[Any, ...]:
    """What must be as it was sent; the order of answers is the server's to map."""
    answers = sorted(str(value) for value in sheet.get("answers", ()) if value is not None)
    return (
        sheet.get("question"),
        answers,
        [*sheet.get("own_answers", ()), *sheet.get("order", ())],
        sheet.get("values"),
        sheet.get("note", ""),
    )


@contextmanager
def _reading(target: str | Path) -> Iterator[Connection]:
    where = str(target)
    url = make_url(where).set(drivername="postgresql+psycopg") if "://" in where else f"sqlite:///{where}"
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as connection:
        yield connection
