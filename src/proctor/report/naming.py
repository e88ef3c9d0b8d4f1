"""Names of runs and judges as people read them: the model in full, what it was shown in a few words.

A run's own name (``google-gemini-1.5-pro-frames-10f-144p-published``) is made for folders. On a page the model and the
view stand apart, and what is the same everywhere (the published sampling) is left out. No two runs are called alike: where
the short names do not differ, what tells them apart is added, the full name at last.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from proctor.exam.judge_marks import JudgeSetup
from proctor.report.data import Run

__all__ = ["RunName", "common", "judge_parts", "name_judges", "name_runs", "span", "without_address"]

USUAL_SAMPLING: Final = "published"
"""Not told: it is what the paper did and what is done when nothing is said."""

_MOST_NAMED: Final = 3
_LETTERS: Final[Mapping[str, str]] = {
    "question alone": "question",
    "question and recipe": "recipe",
    " frames": "f",
    " frame": "f",
}
_ADDRESS: Final = re.compile(r"@https?://\S*")
_JUDGE: Final = re.compile(r"(?P<model>.+) \((?P<rubric>\S+) (?P<hash>[0-9a-f]{6,16})\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RunName:
    """How a run is called on the page.

    Attributes:
        full: the name itself, as folders and files have it.
        title: the model in full, or the run's name where no model is behind it or the name is somebody's own.
        view: what it was shown, in a few words; empty when that is not known.
        number: place among the runs from 1 on, 0 when there is none; heads of narrow columns.
    """

    full: str
    title: str
    view: str = ""
    number: int = 0

    @property
    def label(self) -> str:
        """Both in one line."""
        return f"{self.title}, {self.view}" if self.view else self.title

    @property
    def tag(self) -> str:
        """The view in the few letters that a mark in a picture or a narrow column can carry: ``10f · 144p``."""
        text = self.view
        for words, letters in _LETTERS.items():
            text = text.replace(words, letters)
        return text

    @property
    def model(self) -> str:
        """The title without a provider."""
        return self.title.rpartition("/")[2] or self.title

    @property
    def short(self) -> str:
        """Both in one line, the model without its provider."""
        return f"{self.model}, {self.view}" if self.view else self.model


def name_runs(runs: Sequence[Run]) -> dict[str, RunName]:
    """Return the name of each run by its full name, in the order of the runs; no two of them have the same label."""
    found = [_name(run, n) for n, run in enumerate(runs, 1)]
    captioners = [common(_said(run, "captioner")) for run in runs]
    for parts in (
        [common(_said(run, "sampling")) for run in runs],
        [f"captions by {name}" if name else "" for name in captioners],
        [run.name for run in runs],
    ):
        found = _told_apart(found, parts)
    return {name.full: name for name in found}


def name_judges(setups: Iterable[JudgeSetup]) -> dict[str, RunName]:
    """Return the name of each judge by its full name: the model, and the rubric in place of a view."""
    setups = list(dict.fromkeys(setups))
    found, hashes = [], []
    for setup in setups:
        match = _JUDGE.fullmatch(setup.judge)
        found.append(RunName(setup.name, *judge_parts(setup)))
        hashes.append(match["hash"] if match else "")
    found = _told_apart(found, hashes)
    found = _told_apart(found, [setup.template for setup in setups])
    return {name.full: name for name in _told_apart(found, [setup.name for setup in setups])}


def judge_parts(setup: JudgeSetup) -> tuple[str, str]:
    """Return a judge's model and its rubric; with another template than the rubric's own one, that too."""
    match = _JUDGE.fullmatch(setup.judge)
    model, rubric = match.group("model", "rubric") if match else (setup.judge, "")
    own = setup.template.removeprefix("judge-").partition("@")[0] == rubric
    return model, " · ".join(filter(None, (rubric, "" if own else setup.template)))


def without_address(text: str) -> str:
    """Return a model, or a text that names one, without the address of its server.

    Example:
        >>> without_address("compat/m@http://127.0.0.1:8000/v1 (gold)")
        'compat/m (gold)'
    """
    return _ADDRESS.sub("", text)


def common(values: Iterable[str]) -> str:
    """Return what all say, or the most frequent ones."""
    counts = Counter(v for v in values if v)
    names = [name for name, _ in counts.most_common(_MOST_NAMED)]
    rest = len(counts) - len(names)
    return ", ".join(names) + (f" and {rest} more" if rest > 0 else "")


def span(values: Iterable[str]) -> str:
    """Return ``50``, or ``8–50`` where numbers differ; empty without numbers."""
    found = sorted({int(v) for v in values if v.isdecimal() and len(v) < 10})
    if not found:
        return ""
    return str(found[0]) if len(found) == 1 else f"{found[0]}–{found[-1]}"


def _said(run: Run, key: str) -> list[str]:
    """Return what a run's predictions say of it."""
    return [p.details.get(key, "") for p in run.predictions]


def _name(run: Run, number: int) -> RunName:
    """A name that somebody gave stays what it is; one that was made of model and view is taken apart again."""
    full, model, view = run.name, common(map(without_address, _said(run, "model"))), _view(run)
    if not model or _plain(model) in _plain(full):
        return RunName(full, model or full, view, number)
    return RunName(full, full, " · ".join(filter(None, (model, view))), number)


def _view(run: Run) -> str:
    number, sampling = span(_said(run, "frames")), common(_said(run, "sampling"))
    frames = f"{number} {'frame' if number == '1' else 'frames'}" if number else ""
    view = common(_said(run, "view")) or common(_said(run, "system"))
    kind = "" if view == "frames" and frames else _KINDS.get(view, view)
    unusual = sampling if sampling != USUAL_SAMPLING else ""
    return " · ".join(filter(None, (kind, frames, common(_said(run, "resolution")), unusual)))


_KINDS: Final[Mapping[str, str]] = {"question": "question alone", "recipe": "question and recipe"}


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-.").casefold()


def _told_apart(names: Sequence[RunName], more: Sequence[str]) -> list[RunName]:
    """Add what is given to those names whose labels are not the only one of their kind."""
    times = Counter(name.label for name in names)
    return [
        replace(name, view=" · ".join(filter(None, (name.view, part))))
        if times[name.label] > 1 and part and part not in name.view.split(" · ")
        else name
        for name, part in zip(names, more, strict=True)
    ]
