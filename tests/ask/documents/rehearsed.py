"""A small corpus, a search for it, and models that are played from the prompts: what the tests of the pipeline share."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proctor.ask.documents.pipeline import DocumentsGenerator, DocumentsModels, DocumentsSettings
from proctor.ask.documents.plan import plan_targets
from proctor.ask.documents.prompting import PromptKit
from proctor.ask.documents.record import Target
from proctor.ask.documents.seed_levels import SeedLevels
from proctor.ask.documents.style import Style, load_styles
from proctor.ask.moment.promqa_prompt import generation_prompts
from proctor.corpus.collection import Corpus
from proctor.corpus.index.hits import Hits
from proctor.corpus.source import Modality, Source, image_source, table_source, text_source
from proctor.llm.converse import Feed
from proctor.llm.fence import FenceSecret
from proctor.llm.message import Image, Request, Text
from proctor.llm.outcome import Outcome, Refusal, Reply, Truncated, Usage
from proctor_rehearsal.players.player import Rehearsal
from proctor_rehearsal.standin import Call
from proctor_rehearsal.standin.answer import Answer
from proctor_rehearsal.standin.protocols.openai import CHAT

__all__ = ["MODELS", "Port", "Scripted", "corpus", "embed_words", "generator", "plan"]

MODELS = DocumentsModels(
    entity="compat/namer@http://127.0.0.1:1/v1",
    generator="compat/writer@http://127.0.0.1:1/v1",
    verifier="compat/checker@http://127.0.0.1:1/v1",
    generator_lmm="compat/seer@http://127.0.0.1:1/v1",
    verifier_lmm="compat/looker@http://127.0.0.1:1/v1",
)
SECRET = FenceSecret(b"0" * 32)
PROMPTS = generation_prompts()
_PLACES = ("Arlen", "Borga", "Cadwick", "Dunmore", "Eskil", "Farrow", "Gorm", "Halden", "Ister", "Jorvik")


def corpus(size: int = 10) -> Corpus:
    """Texts, tables and images about some places: of each kind ``size``."""
    sources: list[Source] = []
    for n in range(size):
        place = _PLACES[n % len(_PLACES)] + ("" if n < len(_PLACES) else f" {n // len(_PLACES)}")
        other = _PLACES[(n + 3) % len(_PLACES)]
        body = (
            f"The town of {place} has {1000 + 37 * n} inhabitants and lies beside the river Oster{n}. In {1200 + n} the bridge to "
            f"{other} was built by Master Quenby{n}, who took {5 + n} years for it. Every spring the people of {place} walk "
            f"there with {3 + n} lanterns."
        )
        sources.append(text_source(f"text:{n}", f"{place} (town)", body, doc_id=f"doc:{n}"))
        rows = [[place, str(20 + n), f"Mill{n}"], [other, str(40 + n), f"Forge{n}"]]
        sources.append(
            table_source(
                f"table:{n}", f"Houses around {place}", ["Town", "Houses", "Works"], rows, doc_id=f"doc:{n}"
            )
        )
        sources.append(
            image_source(
                f"image:{n}", f"{place} at dusk", f"{n}.png", verbalisation=f"A view of {place} with {n} towers.",
                doc_id=f"picture:{n}",
            )
        )  # fmt: skip
    return Corpus(sources)


def find_in(corpus: Corpus) -> Callable[[str, Modality, int], Hits]:
    """Find by the number of shared words."""
    words = [set(text.lower().replace(".", " ").replace("|", " ").split()) for text in corpus.texts()]

    def find(entity: str, modality: Modality, k: int) -> Hits:
        wanted = set(entity.lower().split())
        places = corpus.positions(modality)
        scores = np.array([len(wanted & words[at]) for at in places], dtype=np.float32)
        order = np.argsort(-scores, kind="stable")[:k]
        return Hits(places[order][None, :], scores[order][None, :])

    return find


def plan(styles: Sequence[Style] | None = None, per_cell: int = 1) -> tuple[Target, ...]:
    """Targets of every cell."""
    return plan_targets(styles or load_styles(), per_cell=per_cell)


def generator(
    targets: Sequence[Target],
    *,
    size: int = 10,
    seed: int = 0,
    picture: Callable[[Source], Image | None] = lambda _: None,
    settings: DocumentsSettings | None = None,
    **more: Any,
) -> DocumentsGenerator:
    """A generator over the small corpus; seeds are drawn evenly."""
    made = more.pop("corpus", None) or corpus(size)
    levels = SeedLevels(targets, lambda n, rng: rng.integers(0, len(made), n), len(made), seed)
    return DocumentsGenerator(
        made,
        more.pop("find", find_in(made)),
        levels,
        more.pop("styles", load_styles()),
        more.pop("models", MODELS),
        PromptKit(PROMPTS, SECRET, picture),
        seed=seed,
        settings=settings or DocumentsSettings(),
        **more,
    )


def embed_words(texts: Sequence[str]) -> NDArray[np.float32]:
    """Vectors of hashed words."""
    rows = np.zeros((len(texts), 512), dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        for word in text.lower().split():
            row[sum(map(ord, word)) * 31 % 512] += 1
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Scripted:
    """Makes calls by a function and keeps them; results come in an order that a seed decides."""

    def __init__(self, reply: Callable[[Request], Outcome], *, order: int = 0, ahead: int = 1_000) -> None:
        self.reply = reply
        self.sent: list[Request] = []
        self._rng = random.Random(order)
        self._ahead = ahead

    @property
    def counts(self) -> Counter[str]:
        """How often each request came."""
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
            self.sent.append(request)
            yield request, self.reply(request)


class Port(Scripted):
    """Plays all models by the rehearsal, without any server."""

    def __init__(
        self,
        root: Path = Path("/nonexistent"),
        *,
        quality: float = 0.8,
        seed: int = 0,
        order: int = 0,
        ahead: int = 1_000,
    ) -> None:
        self._player = Rehearsal(root, quality=quality, seed=seed)
        super().__init__(self._play, order=order, ahead=ahead)

    def _play(self, request: Request) -> Outcome:
        answer = self._player(as_call(request))
        assert answer is not None, f"nobody plays this:\n{request.messages[-1].text[:500]}"
        return outcome_of(answer)


def as_call(request: Request) -> Call:
    """Return a request as a server gets it."""
    messages: list[dict[str, Any]] = []
    for message in request.messages:
        parts: list[dict[str, Any]] = []
        for part in message.parts:
            if isinstance(part, Text):
                parts.append({"type": "text", "text": part.text})
            elif isinstance(part, Image):
                parts.append(
                    {"type": "image_url", "image_url": {"url": f"https://example.org/{part.sha256}.png"}}
                )
        messages.append({"role": message.role, "content": parts})
    model = request.model.partition("@")[0].partition("/")[2]
    return Call(CHAT, "/v1/chat/completions", json.dumps({"model": model, "messages": messages}).encode())


def outcome_of(answer: Answer) -> Outcome:
    """Return what a client would make of a played answer."""
    usage = Usage(input=100, output=10)
    kinds = {"refusal": Refusal, "truncated": Truncated}
    return kinds.get(answer.outcome, Reply)(text=answer.text, usage=usage)
