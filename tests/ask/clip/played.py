"""A model that is played from the prompts: it writes pairs about the steps that it is shown, and sorts them; some are bad."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from proctor.ask.clip.clips import clips_of
from proctor.ask.clip.pairs import PairGenerator, PairModels, PairSettings
from proctor.ask.clip.record import ShownClip, ShownStep
from proctor.ask.moment.promqa_prompt import generation_prompts
from proctor.llm.converse import Feed
from proctor.llm.fence import FenceSecret
from proctor.llm.message import Request
from proctor.llm.outcome import Outcome, Reply, Usage
from proctor.procedure.recording import Recording, Segment

__all__ = [
    "Calls",
    "clip",
    "fenced",
    "generator",
    "is_sorting",
    "play",
    "recording",
    "sorting_reply",
    "wants",
]

SECRET = FenceSecret(b"0" * 32)
PROMPTS = generation_prompts()
MODELS = PairModels(generator="compat/writer", categoriser="compat/sorter")


def recording(id_: str = "v1", steps: int = 9, *, length: float = 90.0, **more: object) -> Recording:
    """A video of equally long steps that say what is done with thing 1, 2 …"""
    each = length / steps
    segments = tuple(
        Segment(str(n), f"put thing {n} of {id_} on the table", n * each, (n + 1) * each)
        for n in range(steps)
    )
    return Recording(id_, "task", f"Lay the table of {id_}", segments, length, **more)  # type: ignore[arg-type]


def clip(id_: str = "v1", steps: int = 9, dataset: str = "hirest") -> ShownClip:
    """The same as a clip."""
    return clips_of([recording(id_, steps)], dataset, trimming=None).clips[0]


def step(id_: str, text: str, start: float, end: float) -> ShownStep:
    """A step."""
    return ShownStep(id=id_, text=text, start=start, end=end)


def generator(seed: int = 0, **settings: object) -> PairGenerator:
    """A generator that pays a cent a call."""
    return PairGenerator(
        MODELS,
        PROMPTS,
        SECRET,
        seed,
        PairSettings(**settings),
        lambda _model, _outcome: 10_000_000,  # type: ignore[arg-type]
    )


def fenced(request: Request, label: str) -> str:
    """What stands in a fence of the last message, empty where there is none."""
    text = request.messages[-1].text
    found = re.search(rf"<<<BEGIN {label} [0-9a-f]{{16}}>>>\n?(.*?)<<<END {label} ", text, re.DOTALL)
    return found[1] if found else ""


def is_sorting(request: Request) -> bool:
    """True for a request for a category."""
    return bool(fenced(request, "question"))


def wants(request: Request) -> list[tuple[str, str]]:
    """Kinds that are wanted, each with the first step of its place."""
    text = request.messages[-1].text
    found = re.findall(r"^\d+\. ([a-z-]+)(?:, [a-z]+ \((s\d+)[^)]*\))?$", text, re.MULTILINE)
    return [(kind, place or "s1") for kind, place in found]


def sorting_reply(request: Request) -> str:
    """The category that a question of ``play`` was written for."""
    return fenced(request, "question").split()[-1].rstrip("?")


def play(request: Request, *, bad: float = 0.2, seed: int = 0) -> Outcome:
    """Answer a request; each pair is bad with a probability."""
    usage = Usage(input=100, output=20)
    if is_sorting(request):
        return Reply(text=sorting_reply(request), usage=usage)
    rng = random.Random(f"{seed} {request.key}")
    clip_id = re.search(r"thing \d+ of (\S+)", fenced(request, "steps"))
    assert clip_id is not None
    pairs = []
    for kind, place in wants(request):
        mark = rng.randrange(10**9)
        question = f"In {clip_id[1]}, what about thing {mark} in the way of {kind}?"
        pair = {"question": question, "answer": f"thing {mark % 97} of it", "step_ids": [place]}
        if rng.random() < bad:
            pair |= rng.choice(
                [
                    {"step_ids": ["s999"]},
                    {"answer": "Yes."},
                    {"question": "What does step 3 show?"},
                    {"answer": "at 0:35"},
                ]
            )
        pairs.append(pair)
    return Reply(text=f"Here you are:\n```json\n{json.dumps(pairs)}\n```", usage=usage)


class Calls:
    """Makes calls by a function, in an order that a seed decides, and remembers replies as the call store does.

    ``stop`` raises KeyboardInterrupt after so many new calls.
    """

    def __init__(
        self,
        reply: Callable[[Request], Outcome] = play,
        *,
        order: int = 0,
        ahead: int = 1_000,
        stored: dict[str, Outcome] | None = None,
        stop: int | None = None,
    ) -> None:
        self.reply = reply
        self.sent: list[Request] = []
        self.stored = {} if stored is None else stored
        self._rng = random.Random(order)
        self._ahead = ahead
        self._stop = stop

    @property
    def counts(self) -> Counter[str]:
        """How often each request was paid for."""
        return Counter(request.key for request in self.sent)

    def __call__(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Outcome]]:
        assert isinstance(requests, Feed)
        waiting: list[Request] = []
        while True:
            if not waiting:
                waiting = requests.take(self._ahead)
                if not waiting:
                    return
            request = waiting.pop(self._rng.randrange(len(waiting)))
            if request.key not in self.stored:
                if self._stop is not None and len(self.sent) >= self._stop:
                    raise KeyboardInterrupt
                self.sent.append(request)
                outcome = self.reply(request)
                if isinstance(outcome, Reply):
                    self.stored[request.key] = outcome
                yield request, outcome
                continue
            yield request, self.stored[request.key]


def run_talk(talk: object, reply: Callable[[Request], Outcome] = play) -> tuple[object, list[Request]]:
    """Hold one conversation and return its result with what was asked."""
    asked: list[Request] = []
    said = next(talk)  # type: ignore[call-overload]
    while True:
        batch: Sequence[Request] = (said,) if isinstance(said, Request) else said
        asked += batch
        outcomes = tuple(map(reply, batch))
        try:
            said = talk.send(outcomes[0] if isinstance(said, Request) else outcomes)  # type: ignore[attr-defined]
        except StopIteration as end:
            return end.value, asked
