"""A small set of questions about clips, for the tests of this room."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from proctor.ask.clip.record import InstructionalPair, ShownClip, ShownStep
from proctor.exam.clip_question import ClipQuestion
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


def pair(number: int = 0, *, video: str = "", dataset: str = "youcook2", **more: object) -> InstructionalPair:
    """Pair ``number``; four share a video."""
    name = video or f"v{number // 4}"
    return InstructionalPair(
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
