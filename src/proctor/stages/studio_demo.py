"""The studio's sample project: the everyday sample, half judged by people who do not exist.

What they say is drawn: mostly what the task graph says, now and then not, so that there is agreement to measure and
there are cases to decide. Their clock runs over three weeks before today, so that the weeks differ.

Who gets what, in which order, and what they say of it follow from the seed alone: queues are shuffled by people's ids
and the project's key, so these are derived from the seed as well. Nobody in the sample has anything to hide.
"""

from __future__ import annotations

import base64
import hashlib
import multiprocessing
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from proctor.datasets.dataset import load_dataset
from proctor.errors import MissingExtraError, UserError
from proctor.exam.kinds.example import Example
from proctor.exam.question import Footage, Question, part_of
from proctor.samples import copy_sample
from proctor.stages.derive import derive
from proctor.stages.generate import generate
from proctor.stages.read import read
from proctor.stages.rehearsing import find_rehearser
from proctor.stages.settings import GenerateSettings
from proctor.stages.show import Show
from proctor.stages.studio import desk_target, open_desk, sync_desk
from proctor.stages.verify import verify
from proctor.terminal import note
from proctor.verify.desk import browse, documents, flow, items, people, roster, training, work
from proctor.verify.desk.browse import Narrow
from proctor.verify.desk.records import Item, Person, Role, Sheet
from proctor.verify.policy import Policy
from proctor.verify.store import latest_verdicts
from proctor.workspace import Workspace, is_there

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from proctor.studio.context import Studio
    from proctor.verify.desk.desk import Desk
    from proctor.verify.verdict import Judgment, Verdict

__all__ = ["CAST", "draw_behind", "make_demo"]

CAST: Final[tuple[tuple[str, str, Role], ...]] = (
    ("ana", "Ana Lindqvist", "annotator"),
    ("ben", "Ben Okafor", "annotator"),
    ("chloe", "Chloe Marchetti", "annotator"),
    ("dev", "Dev Anand", "annotator"),
    ("edda", "Edda Thorsen", "adjudicator"),
    ("farid", "Farid Haddad", "owner"),
)
"""Everybody in the sample: sign-in name, name, role. Dev is new and has yet to do the training."""

_ITEMS: Final = 36
_TRAINING: Final = 3
_DAY: Final = 86_400.0
_WRONG_SHARE: Final = {"ana": 0.08, "ben": 0.18, "chloe": 0.12, "edda": 0.02}
_RETURNED: Final = {("ben", 5): "media", ("chloe", 11): "text"}
"""Which item of whose queue could not be judged, and why."""
_MARKER: Final = "studio-demo.txt"


def make_demo(folder: Path, *, show: Show, seed: int = 0) -> Path:
    """Make the sample project in a folder, or take the one that is there, and return its workspace.

    It takes some seconds; the videos come later (``draw_behind``).

    Args:
        folder: gets ``sample/`` (the data) and ``bench/`` (the workspace).
        show: shows progress.
        seed: of everything drawn.

    Raises:
        UserError: if the folder cannot be written, or people work in it who are not of the sample.
    """
    data, bench = folder / "sample", folder / "bench"
    if is_there(bench / _MARKER):
        return bench
    key = _digest(seed, "key")
    _refuse_people(bench, key)
    if not is_there(data / "dataset.json"):
        copy_sample(data)
    read("plain", data, bench)
    counts = derive(bench)
    with show("asking questions", counts.examples) as seen:
        made = generate(bench, GenerateSettings(sample="all", seed=seed), seen=seen)
    with show("checking them against the task graph", made.candidates) as seen:
        verify(bench, seen=seen)
    with open_desk(bench, seed=seed, key=key) as desk, show("three weeks of work") as seen:
        sync_desk(bench, desk)
        _Weeks(desk, seed, seen).play()
    (bench / _MARKER).write_text("Made by 'proctor studio demo'. Everybody in it is made up.\n", "utf-8")
    return bench


@contextmanager
def draw_behind(folder: Path, studio: Studio, *, show: Show) -> Iterator[threading.Thread]:
    """Draw the sample's videos and cut its first clips in a thread, while the project is being used.

    Videos that ``proctor demo`` has drawn of the same recordings, in ``demo`` beside the folder, are taken from there.

    Args:
        folder: of ``make_demo``.
        studio: that is served; its ``awaited`` gets the videos that are still to come.
        show: shows progress.

    Yields:
        The thread. Left, no further video is begun.
    """
    from proctor.studio.cards import clip_state

    data, awaited = folder / "sample", studio.awaited
    _take_videos(data, folder.absolute().parent / "demo" / "sample")
    missing = [
        (data / recording.video, recording)
        for recording in load_dataset("plain").read(data, "corrected").recordings
        if recording.video and not (data / recording.video).exists()
    ]
    awaited.update(str(recording.video) for _, recording in missing)
    stopped = threading.Event()

    def work() -> None:
        try:
            with show("rendering the sample's videos", len(missing)) as seen:

                def one(path: Path) -> None:
                    awaited.discard(path.relative_to(data).as_posix())
                    seen()
                    if stopped.is_set():
                        raise _StoppedError

                find_rehearser("Drawing the sample's videos").draw_recordings(missing, seen=one)
            for question in studio.desk.read(_shown):
                if stopped.is_set():
                    break
                clip_state(studio, part_of(question, Footage), urgent=False)
        except (_StoppedError, BrokenExecutor):
            pass
        except (MissingExtraError, UserError) as error:
            note(f"there are no recordings to watch: {error.message}")
        finally:
            awaited.clear()

    drawing = threading.Thread(target=work, name="demo-videos", daemon=True)
    drawing.start()
    try:
        yield drawing
    finally:
        stopped.set()
        for child in multiprocessing.active_children() if drawing.is_alive() else ():
            child.terminate()  # a video takes seconds, and nobody waits for it any more
        drawing.join()


class _StoppedError(Exception):
    """The project is closed; what is not drawn is drawn the next time."""


def _take_videos(data: Path, other: Path) -> None:
    """Take videos of another copy of the sample whose recordings are the same."""
    for file in sorted((data / "recordings").iterdir()):
        if not is_there(twin := other / "recordings" / file.name) or twin.read_bytes() != file.read_bytes():
            return
    for video in sorted((other / "videos").glob("*.mp4")):
        target = data / "videos" / video.name
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            partial = target.with_name(f".{video.name}")
            shutil.copyfile(video, partial)
            partial.replace(target)


def _refuse_people(bench: Path, key: bytes) -> None:
    """Leave a project alone that was not finished as the sample, or never was one."""
    store = desk_target(Workspace(bench))
    if isinstance(store, Path) and not is_there(store):
        return
    with open_desk(bench, create=False, key=key) as desk:
        if desk.read(lambda c: people.list_people(desk, c)):
            raise UserError(
                "this folder holds people's work and no finished sample.",
                where=str(bench),
                hint="give another folder, or remove this one if making the sample was interrupted",
            )


def _shown(connection: Connection) -> list[Question]:
    """Return the questions that somebody has before them; the other clips are cut when they are asked for."""
    listed = browse.page_items(connection, Narrow(), (), limit=10_000)
    return [one.body for one in listed if one.state != "undealt"]


class _Weeks:
    """Three weeks of a project, played on a clock of its own."""

    def __init__(self, desk: Desk, seed: int, seen: Callable[[], None]) -> None:
        self.desk, self.seed, self.seen = desk, seed, seen
        self.today = time.time()
        self.time = self.today - 21 * _DAY
        self.people: dict[str, Person] = {}
        desk.clock = lambda: self.time

    def play(self) -> None:
        """Do it all."""
        protocol = documents.Protocol(training_required=True)
        self.write(lambda c: documents.set_protocol(self.desk, c, protocol, actor=people.COMMAND_LINE))
        for handle, name, role in CAST:
            self.people[handle] = self.write(lambda c, h=handle, n=name, r=role: self._hire(c, h, n, r))
        self._train()
        annotators = [self.people[h] for h in ("ana", "ben", "chloe")]
        policy = Policy(name="everything")
        self.write(
            lambda c: roster.apply_deal(
                self.desk,
                c,
                roster.plan_deal(self.desk, c, annotators, policy, limit=_ITEMS),
                actor=self.people["farid"].pid,
            )
        )
        self.time = self.today - 18 * _DAY
        self._judge(annotators)
        self._adjudicate(self.people["edda"])
        self.desk.clock = time.time

    def write(self, job: Callable[..., Any]) -> Any:
        self.seen()
        return self.desk.write(job).result()

    def _hire(self, c: Connection, handle: str, name: str, role: Role) -> Person:
        new = handle == "dev"
        pid = base64.b32encode(_digest(self.seed, "person", handle)[:10]).decode("ascii").lower()
        person = people.add(
            self.desk,
            c,
            handle=handle,
            name=name,
            role=role,
            actor=people.COMMAND_LINE,
            gate="training" if new else "open",
            pid=pid,
        )
        if new:
            return person
        consent, guideline = documents.latest(c, "consent"), documents.latest(c, "guideline")
        assert consent is not None
        assert guideline is not None
        people.consent_given(self.desk, c, person, consent.version)
        people.guideline_ticked(self.desk, c, person, guideline.version)
        ready = people.by_pid(self.desk, c, pid)
        assert ready is not None
        return ready

    def _train(self) -> None:
        """Take some items that the oracle is sure of for the training set."""
        said = self._oracle()

        def job(c: Connection) -> None:
            chosen = 0
            kinds: set[str] = set()
            for listed in browse.page_items(c, Narrow(), (), limit=1_000):
                verdict = said.get(listed.candidate_id)
                if chosen == _TRAINING or verdict is None or listed.stratum in kinds:
                    continue
                if verdict.question.value != "right" or any(a.value == "unsure" for a in verdict.answers):
                    continue
                item = items.get_item(c, listed.id)
                whys = tuple(a.reason for a in verdict.answers)
                reference = training.Reference(
                    sheet=Sheet(question="right", answers=tuple(a.value for a in verdict.answers)),
                    why="It needs the clip and the instructions, and nothing else.",
                    whys=whys,
                )
                training.add_training(self.desk, c, item, reference, actor=self.people["farid"].pid)
                kinds.add(listed.stratum)
                chosen += 1

        self.write(job)

    def _oracle(self) -> Mapping[str, Verdict]:
        verdicts = self.desk.read(latest_verdicts)
        return {v.candidate_id: v for v in verdicts if v.annotator_kind == "oracle"}

    def _judge(self, annotators: list[Person]) -> None:
        """Let everybody do most of their queue, turn by turn: items that two have judged are what agreement needs."""
        said = self._oracle()
        wanted = {p.pid: 4 * self._waiting(p) // 5 for p in annotators}
        step = 15 * _DAY / max(1, sum(wanted.values()))
        for number in range(max(wanted.values())):
            for person in annotators:
                if number < wanted[person.pid]:
                    self.time += step
                    self._judge_one(person, said, _RETURNED.get((person.handle, number)))

    def _waiting(self, person: Person) -> int:
        counts = self.desk.read(lambda c: flow.stage_counts(c, person, documents.protocol(c)))
        return next(c.waiting for c in counts if c.stage == "judge")

    def _judge_one(self, person: Person, said: Mapping[str, Verdict], returned: str | None) -> None:
        protocol = self.desk.read(documents.protocol)
        pid = self.write(lambda c: flow.next_work(self.desk, c, person, protocol, "judge"))
        if pid is None:
            return
        item = self.desk.read(lambda c: work.load_work(self.desk, c, pid, person)).item
        if returned is not None:
            self.write(lambda c: work.cant_judge(self.desk, c, pid, person, reason=returned))
            return
        rng = _rng(self.seed, person.handle, item.question.id)
        sheet = _reading(item, said.get(item.question.id), rng, _WRONG_SHARE[person.handle])
        spent = int(1000 * rng.lognormvariate(4.1, 0.4))
        self.write(
            lambda c: work.submit(
                self.desk,
                c,
                pid,
                person,
                sheet=sheet,
                rev=0,
                key=f"demo-{pid}",
                active_ms=spent,
                protocol=protocol,
            )
        )

    def _adjudicate(self, person: Person) -> None:
        """Decide half of the cases, dispute one."""
        said = self._oracle()
        protocol = self.desk.read(documents.protocol)
        cases = sum(
            n for kinds in self.desk.read(items.count_items).values() for s, n in kinds.items() if s == "case"
        )
        for number in range(cases // 2):
            self.time += 3_600.0
            pid = self.write(lambda c: flow.next_work(self.desk, c, person, protocol, "adjudicate"))
            if pid is not None:
                self._decide(person, pid, said, protocol, dispute=number == min(1, cases // 2 - 1))

    def _decide(
        self,
        person: Person,
        pid: str,
        said: Mapping[str, Verdict],
        protocol: documents.Protocol,
        *,
        dispute: bool,
    ) -> None:
        desk = self.desk
        found = desk.read(lambda c: work.load_work(desk, c, pid, person))
        if dispute:
            note = "The clip ends in the middle of the step."
            self.write(lambda c: work.cant_judge(desk, c, pid, person, reason="other", note=note))
            return
        rng = _rng(self.seed, person.handle, found.item.question.id)
        sheet = _decision(found, said.get(found.item.question.id), rng)
        spent = int(1000 * rng.lognormvariate(3.7, 0.4))
        self.write(
            lambda c: work.submit(
                desk,
                c,
                pid,
                person,
                sheet=sheet,
                rev=0,
                key=f"demo-{pid}",
                active_ms=spent,
                protocol=protocol,
            )
        )


def _digest(seed: int, *parts: str) -> bytes:
    return hashlib.sha256("\x00".join(("studio demo", str(seed), *parts)).encode()).digest()


def _rng(seed: int, *parts: str) -> random.Random:
    return random.Random(int.from_bytes(_digest(seed, *parts)[:8], "big"))  # noqa: S311 - a play, not a secret


def _reading(item: Item, oracle: Verdict | None, rng: random.Random, wrong: float) -> Sheet:
    """Return what somebody says: mostly what the task graph says."""
    answers: tuple[Judgment | None, ...] = tuple(
        _mostly(
            oracle.answers[n].value if oracle is not None and n < len(oracle.answers) else "right", rng, wrong
        )
        for n in range(len(item.question.proposals))
    )
    if rng.random() < wrong / 2:
        return Sheet(question="wrong", note="I cannot tell which moment is meant.")
    example = msgspec.convert(item.question.facts, Example)
    missing = example.all_missing[:1] or example.all_next[:1]
    own = (f"You should {missing[0].text[:1].lower()}{missing[0].text[1:].rstrip('.')}.",) if missing else ()
    return Sheet(question="right", answers=answers, own_answers=own if rng.random() < 0.15 else ())


def _mostly(value: Judgment, rng: random.Random, wrong: float) -> Judgment:
    sure: Judgment = "right" if value == "unsure" else value
    if rng.random() >= wrong:
        return sure
    return "wrong" if sure == "right" else "right"


def _decision(found: work.Work, oracle: Verdict | None, rng: random.Random) -> Sheet:
    known = oracle.answers if oracle is not None else ()
    answers = tuple(
        _mostly(known[t].value if t < len(known) else "right", rng, _WRONG_SHARE["edda"])
        for t in found.cards.targets
    )
    return Sheet(question="right" if found.cards.question_open else None, answers=answers)
