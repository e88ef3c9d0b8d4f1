"""A small set of questions about clips, for the tests of this room."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from proctor.ask.clip.record import ChoiceItem, ClipPair, ShownClip, ShownStep, choice_question, pair_question
from proctor.exam.question import Gold, Item
from proctor.llm.message import Request
from proctor.llm.outcome import Outcome

OPTIONS = ("Whisk the eggs", "Peel the carrots", "Grease the tin", "Boil the water", "Rest the dough")
LEVELS = ("coarse", "fine")
CATEGORIES = ("ordering", "object-tool", "manner")


def clip(name: str = "v1", dataset: str = "youcook2", start: float = 0.0, end: float = 10.4) -> ShownClip:
    """A clip of three steps."""
    steps = tuple(
        ShownStep(id=f"s{n}", text=text, start=3.0 * (n - 1), end=3.0 * n)
        for n, text in enumerate(OPTIONS[:3], 1)
    )
    return ShownClip(
        id=name, dataset=dataset, video_id=name, task="bake a cake", start=start, end=end, steps=steps
    )


class ClipQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question about a clip in few words."""

    id: str
    question: str
    answer: str
    options: tuple[str, ...] = ()
    letter: str = ""
    clip: ShownClip | None = None
    video_id: str = ""
    dataset: str = ""
    level: str = ""
    category: str = ""
    position: str = ""
    origins: tuple[str, ...] = ()


def clip_items(questions: Iterable[ClipQuestion]) -> list[Item]:
    """Questions about clips as items under their own ids: what is proposed as right counts as right."""
    found = []
    for q in questions:
        about = ClipPair(
            id=q.id, clip_id=q.clip.id if q.clip else "", dataset=q.dataset, video_id=q.video_id, level=q.level,  # type: ignore[arg-type]
            category=q.category, question=q.question, answer=q.answer, step_ids=(), position=q.position,  # type: ignore[arg-type]
        )  # fmt: skip
        clips = {q.clip.id: q.clip} if q.clip else {}
        made = pair_question(about, clips)
        if q.options:
            item = ChoiceItem(id=q.id, question=q.question, options=q.options, letter=q.letter)
            made = msgspec.structs.replace(choice_question(item, about, clips), id=q.id, parent="")
            origins = q.origins or ("",) * len(q.options)
            proposals = [
                msgspec.structs.replace(p, origin=o) for p, o in zip(made.proposals, origins, strict=True)
            ]
            made = msgspec.structs.replace(made, proposals=tuple(proposals))
        golds = tuple(Gold(value=p.value) for p in made.proposals if p.claim == "right")
        found.append(Item(question=made, golds=golds))
    return found


def question(number: int = 0, *, letter: str = "", options: tuple[str, ...] = OPTIONS) -> ClipQuestion:
    """Question ``number``: its letter, video, level, category and data set follow from the number."""
    right = letter or "ABCDE"[number % 5]
    dataset = ("youcook2", "hirest")[number // 4 % 2]
    video = f"v{number // 4}"
    return ClipQuestion(
        id=f"q{number}",
        question=f"What is done at moment {number}?",
        answer=options["ABCDE".index(right)] if options else "Whisk the eggs",
        options=options,
        letter=right if options else "",
        clip=clip(video, dataset),
        video_id=video,
        dataset=dataset,
        level=LEVELS[number % 2],
        category=CATEGORIES[number % 3],
        position=("early", "middle", "late")[number % 3],
    )


def pair(number: int = 0, *, video: str = "", dataset: str = "youcook2", **more: object) -> ClipPair:
    """Pair ``number``; four share a video."""
    name = video or f"v{number // 4}"
    return ClipPair(
        id=f"p{number}",
        clip_id=name,
        dataset=dataset,
        video_id=name,
        level=LEVELS[number % 2],
        category=CATEGORIES[number % 3],
        question=f"What is done at moment {number}?",
        answer="Whisk the eggs",
        step_ids=("s1",),
        position="early",
        details={"model": "m"},
        **more,
    )  # type: ignore[arg-type]


class Port:
    """Answers requests by a function and keeps them."""

    def __init__(self, answer: Callable[[Request], Outcome]) -> None:
        self.answer = answer
        self.asked: list[Request] = []

    def __call__(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Outcome]]:
        for request in requests:
            self.asked.append(request)
            yield request, self.answer(request)
