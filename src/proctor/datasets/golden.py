"""Golden manuals: candidates by category and title, a sample, and the votes of people on which to keep.

The published selection kept categories that are likely to have a real order, sampled, and let three people vote on two
criteria: the text and the images tell a procedure, and the images add to the text. Source: Wu et al. 2022.
"""

from __future__ import annotations

import csv
import io
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from proctor.datasets.manual_categories import top_categories
from proctor.errors import UserError
from proctor.procedure.manual import Manual
from proctor.records import Dropped, iter_jsonl, read_bytes

__all__ = [
    "DENIED_CATEGORIES",
    "DENIED_TITLE_WORDS",
    "RELEASED_SELECTION",
    "Ballot",
    "Sampled",
    "Selection",
    "Tally",
    "read_ballots",
    "sample_manuals",
    "tally_ballots",
]

DENIED_CATEGORIES: Final = frozenset(
    {
        "Youth",
        "Relationships",
        "Family Life",
        "Holidays and Traditions",
        "Personal Care and Style",
        "Philosophy and Religion",
        "Screenplays",
        "Health",
        "Work World",
        "Root",
    }
)
"""Top categories that the released notebook passes over. The golden articles of the paper have some of Personal Care and
Style all the same, so that this is a default and no rule."""

DENIED_TITLE_WORDS: Final = frozenset(
    {
        *("life", "friend", "love", "care", "baby", "man", "woman", "boy", "girl", "relationship"),
        *("youth", "teenager", "trouble", "school", "fun", "health", "family"),
    }
)
"""Words of titles that seldom head a procedure, as the release lists them."""


# -- candidates ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Selection:
    """Which manuals may be sampled.

    Attributes:
        allow: top categories; a manual in none of them is left out. Empty allows all.
        deny: top categories; a manual in any of them is left out.
        deny_title_words: whole words, in any letter case and with a plural s or es; a title with one is left out.
    """

    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()
    deny_title_words: frozenset[str] = frozenset()

    def refuses(self, manual: Manual) -> Dropped | None:
        """Return why a manual may not be sampled (``category-denied``, ``category-not-allowed``, ``title-word``)."""
        tops = top_categories(manual)
        denied = [top for top in tops if top in self.deny]
        if denied:
            return Dropped(manual.id, "category-denied", ", ".join(denied))
        if self.allow and not self.allow.intersection(tops):
            return Dropped(manual.id, "category-not-allowed", ", ".join(tops) or "no category")
        words = set(re.findall(r"\w+", manual.title.lower()))
        for word in sorted(self.deny_title_words):
            if not words.isdisjoint((word.lower(), f"{word.lower()}s", f"{word.lower()}es")):
                return Dropped(manual.id, "title-word", word)
        return None


RELEASED_SELECTION: Final = Selection(deny=DENIED_CATEGORIES, deny_title_words=DENIED_TITLE_WORDS)
"""What the released notebook leaves out."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """Manuals drawn, in the order of the data set.

    Attributes:
        manuals: drawn.
        candidates: from which was drawn.
        refused: how many were left out, by reason.
    """

    manuals: tuple[Manual, ...]
    candidates: int
    refused: Mapping[str, int]


def sample_manuals(
    manuals: Iterable[Manual], count: int, rng: random.Random, selection: Selection = RELEASED_SELECTION
) -> Sampled:
    """Draw manuals uniformly without replacement in one pass; no more of them than ``count`` are kept at a time.

    Args:
        manuals: read once.
        count: wanted; all candidates are taken where there are fewer.
        rng: draws; the same generator and data give the same manuals.
        selection: which may be drawn.

    Raises:
        UserError: if ``count`` is below 1.
    """
    if count < 1:
        raise UserError(f"{count} manuals are wanted.", hint="give a number from 1 on")
    kept: list[tuple[int, Manual]] = []
    refused: Counter[str] = Counter()
    candidates = 0
    for manual in manuals:
        if (reason := selection.refuses(manual)) is not None:
            refused[reason.reason] += 1
            continue
        if candidates < count:
            kept.append((candidates, manual))
        elif (place := rng.randrange(candidates + 1)) < count:  # reservoir sampling (Waterman; Knuth 3.4.2 R)
            kept[place] = (candidates, manual)
        candidates += 1
    kept.sort(key=lambda entry: entry[0])
    return Sampled(tuple(manual for _, manual in kept), candidates, dict(refused))


# -- votes -----------------------------------------------------------------------------------------------------


class Ballot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one person says of one manual or sequence.

    Attributes:
        id: of the manual or sequence.
        rater: who says it.
        procedural: the text and the images both tell a procedure.
        complementary: the images add to the text.
    """

    id: str
    rater: str
    procedural: bool
    complementary: bool


@dataclass(frozen=True, slots=True)
class Tally:
    """Outcome of the votes.

    Attributes:
        kept: ids with a strict majority on both criteria, in the order of their first ballot.
        dropped: the others, as ``not-procedural``, ``not-complementary`` (no strict majority; of both, the first is
            named) or ``too-few-raters``.
        ballots: counted.
    """

    kept: tuple[str, ...]
    dropped: tuple[Dropped, ...]
    ballots: int


_YES: Final = frozenset({"1", "true", "yes", "y"})
_NO: Final = frozenset({"0", "false", "no", "n"})


def read_ballots(path: Path) -> list[Ballot]:
    """Read votes from a table (``.csv`` with columns id, rater, procedural, complementary) or JSON Lines.

    Raises:
        UserError: if the file cannot be read, has other columns, or a cell is neither yes nor no; with its line.
    """
    if path.suffix.lower() != ".csv":
        return list(iter_jsonl(path, Ballot))
    try:
        rows = csv.DictReader(io.StringIO(read_bytes(path).decode("utf-8-sig"), newline=""), strict=True)
        fields = set(rows.fieldnames or ())
        if missing := set(Ballot.__struct_fields__) - fields:
            raise UserError(
                f"no column {', '.join(sorted(missing))}.",
                where=str(path),
                hint=f"the first line names {', '.join(Ballot.__struct_fields__)}",
            )
        return [_ballot(row, f"{path}:{rows.line_num}") for row in rows]
    except UnicodeDecodeError as error:
        raise UserError(
            f"not UTF-8 at byte {error.start}.", where=str(path), hint="save the table as UTF-8"
        ) from None
    except csv.Error as error:
        raise UserError(
            f"not a table: {error}.", where=str(path), hint="save it as CSV, with commas and double quotes"
        ) from None


def _ballot(row: Mapping[str | None, str | list[str] | None], where: str) -> Ballot:
    texts = {name: (row.get(name) or "") for name in Ballot.__struct_fields__}
    values = {name: text.strip() for name, text in texts.items() if isinstance(text, str)}
    for name in ("id", "rater"):
        if not values[name]:
            raise UserError(
                f"no {name}.", where=where, hint="every ballot names what it is on and who gave it"
            )
    answers = {}
    for name in ("procedural", "complementary"):
        answer = values[name].lower()
        if answer not in _YES | _NO:
            raise UserError(f"{name} is {values[name][:60]!r}.", where=where, hint="write yes or no")
        answers[name] = answer in _YES
    return Ballot(values["id"], values["rater"], answers["procedural"], answers["complementary"])


def tally_ballots(ballots: Iterable[Ballot], *, raters: int = 3) -> Tally:
    """Count the votes: a strict majority of those cast has to say yes, on each criterion alone.

    Args:
        ballots: in any order.
        raters: that a manual needs at least.

    Raises:
        UserError: if a person votes twice on one manual, or ``raters`` is below 1.
    """
    if raters < 1:
        raise UserError(f"{raters} raters are wanted.", hint="give a number from 1 on")
    by_id: dict[str, dict[str, Ballot]] = defaultdict(dict)
    for ballot in ballots:
        if ballot.rater in by_id[ballot.id]:
            raise UserError(
                f"{ballot.rater!r} votes twice on {ballot.id!r}.", hint="keep the ballot that counts"
            )
        by_id[ballot.id][ballot.rater] = ballot
    kept: list[str] = []
    dropped: list[Dropped] = []
    for id_, cast in by_id.items():
        reason = _refused(list(cast.values()), raters)
        if reason is None:
            kept.append(id_)
        else:
            dropped.append(Dropped(id_, *reason))
    return Tally(tuple(kept), tuple(dropped), sum(map(len, by_id.values())))


def _refused(ballots: list[Ballot], raters: int) -> tuple[str, str] | None:
    if len(ballots) < raters:
        return "too-few-raters", f"{len(ballots)} of {raters}"
    for criterion in ("procedural", "complementary"):
        yes = sum(getattr(b, criterion) for b in ballots)
        if 2 * yes <= len(ballots):
            return f"not-{criterion}", f"{yes} of {len(ballots)} say yes"
    return None
