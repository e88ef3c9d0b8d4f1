"""Models that write, choose and vote, played from the prompts by rules; and questions for them. Shared by the tests of choices."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from proctor.ask.clip.choice_prompt import ChoicePrompts
from proctor.ask.clip.choices import ChoiceMaker, ChoiceModels, ChoiceSettings
from proctor.ask.clip.known import Known
from proctor.ask.moment.promqa_prompt import generation_prompts
from proctor.exam.lines import Line
from proctor.exam.question import Open, Question
from proctor.llm.converse import Feed
from proctor.llm.fence import FenceSecret
from proctor.llm.message import Request
from proctor.llm.outcome import Outcome, Reply, Usage
from proctor_rehearsal.standin import Call
from proctor_rehearsal.standin.answer import Answer

PROMPTS = ChoicePrompts(generation_prompts(), FenceSecret(b"0" * 32))
MODELS = ChoiceModels(
    writer="compat/writer@http://127.0.0.1:1/v1",
    assistants=tuple(f"compat/assistant{n}@http://127.0.0.1:1/v1" for n in range(3)),
)
_FENCE = re.compile(r"<<<BEGIN ([a-z][a-z0-9 -]*) ([0-9a-f]{16})>>>(.*?)<<<END \1 \2>>>", re.DOTALL)
_TOKEN = re.compile(r"\b[0-9a-f]{16}\b")


def known(
    id: str = "q", *, question: str = "What?", answer: str = "", also: tuple[str, ...] = (), **more: Any
) -> Known:
    """A question with what is known of it, in few words."""
    asked = Question(id=id, kind="clip", text=question, form=Open())
    return Known(question=asked, answers=(answer, *also), **{"lines": (), **more})


def question(n: int = 0, **more: Any) -> Known:
    """A question whose right answer ends in ``right``: wrong ones of the player never do."""
    lines = tuple(
        Line(f"s{k}", f"put part {k} of set {n} on the table", start=10.0 * k, end=10.0 * k + 8, is_step=True)
        for k in range(1, 6)
    )
    usual: dict[str, Any] = {
        "id": f"q{n:04}", "question": f"What about set {n}?", "answer": f"thing {n} right", "lines": lines, "cites": ("s2",),
    }  # fmt: skip
    return known(**usual | more)


def maker(**more: object) -> ChoiceMaker:
    """A maker with the played models; settings by their names."""
    own = {name: more.pop(name) for name in ("models", "seed", "price", "prompts") if name in more}
    settings = ChoiceSettings(**more)  # type: ignore[arg-type]
    return ChoiceMaker(**{"prompts": PROMPTS, "models": MODELS, "settings": settings, **own})  # type: ignore[arg-type]


@dataclass(frozen=True)
class Asked:
    """A prompt of ours, read."""

    role: str
    blocks: dict[str, str]
    seed: int

    @property
    def options(self) -> list[str]:
        return [line[2:].partition(". ")[2] for line in self.blocks["options"].strip().split("\n")]

    @property
    def rng(self) -> random.Random:
        return random.Random(self.seed)


def read(text: str, model: str, draw: int = 0) -> Asked:
    """Read a prompt: what is drawn from it does not depend on the fences' token."""
    blocks = {label: block for label, _, block in _FENCE.findall(text)}
    role = next(
        role
        for role, sign in (
            ("write", "You write wrong answers"),
            ("pick", "You choose wrong answers"),
            ("vote", "You take a multiple-choice test"),
        )
        if sign in text
    )
    if role == "vote":
        role = "with" if "what is known" in blocks else "without"
    plain = _TOKEN.sub("", text) + f"{model.partition('@')[0].rpartition('/')[2]} {draw}"
    return Asked(role, blocks, int.from_bytes(hashlib.sha256(plain.encode()).digest()[:8]))


def read_request(request: Request) -> Asked:
    text = "\n\n".join(message.text for message in request.messages)
    return read(text, request.model, request.draw)


def is_repair(request: Request) -> bool:
    return len(request.messages) > 2


def right_letter(asked: Asked) -> str:
    return next("ABCDEFGH"[n] for n, text in enumerate(asked.options) if text.endswith("right"))


def wrong_letter(asked: Asked) -> str:
    return next("ABCDEFGH"[n] for n, text in enumerate(asked.options) if not text.endswith("right"))


def write_six(asked: Asked) -> str:
    """Six wrong answers that differ from attempt to attempt."""
    return json.dumps({"wrong": [f"thing {asked.rng.randrange(10**6)} wrong {k}" for k in range(6)]})


def play(
    asked: Asked,
    *,
    blind: float = 0.2,
    seeing: float = 0.95,
    faults: float = 0.15,
) -> str:
    """Reply in the role that is asked for, sometimes with a fault."""
    rng = asked.rng
    if asked.role == "write":
        fault = rng.random() / faults if faults else 9.0
        answer = asked.blocks["right answer"].strip()
        wrong = [f"thing {rng.randrange(10**6)} wrong {k}" for k in range(6)]
        if fault < 0.25:
            return "I would rather not write JSON."
        if fault < 0.5:
            wrong = wrong[:3]
        elif fault < 0.75:
            wrong = [answer.upper() + "!", *wrong[:3]]
        elif fault < 1:
            wrong = ["All of the above", *wrong[:3]]
        return f"Here you are:\n{json.dumps({'wrong': wrong})}"
    if asked.role == "pick":
        n = sum(label.startswith("proposal ") for label in asked.blocks)
        return json.dumps({"best": rng.sample(range(1, n + 1), min(4, n))})
    if rng.random() < 0.02:
        return "I cannot say."
    skill = seeing if asked.role == "with" else blind
    letter = right_letter(asked)
    if rng.random() >= skill:
        letter = rng.choice([other for other in "ABCDEFGH"[: len(asked.options)] if other != letter])
    return rng.choice([letter, f"({letter})", f"The answer is {letter}."])


def answer_call(call: Call, **quality: float) -> Answer:
    """Play a server's model."""
    text = f"{call.system}\n\n" + "\n\n".join(turn.text for turn in call.content.turns)
    return Answer(text=play(read(text, call.model), **quality))


class Port:
    """Makes calls by a function; results come in an order that a seed decides."""

    def __init__(self, reply=None, *, order: int = 0, ahead: int = 1_000, **quality: float) -> None:  # type: ignore[no-untyped-def]
        self.reply = reply or (lambda request: play(read_request(request), **quality))
        self.sent: list[Request] = []
        self._rng = random.Random(order)
        self._ahead = ahead

    def __call__(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Outcome]]:
        assert isinstance(requests, Feed)
        waiting: list[Request] = []
        while True:
            if not waiting:
                waiting = requests.take(self._ahead)
                if not waiting:
                    return
            request = waiting.pop(self._rng.randrange(len(waiting)))
            self.sent.append(request)
            said = self.reply(request)
            yield (
                request,
                Reply(text=said, usage=Usage(input=100, output=10)) if isinstance(said, str) else said,
            )
