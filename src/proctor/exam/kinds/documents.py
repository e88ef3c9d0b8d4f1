"""Questions about documents (SMMQG): answered from the cited sources alone, or from what a retriever found.

A question of which any shown source is an image goes to the model that takes images (role ``lmm``), every other one to the language
model; both may be the same. Greedy, as published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from proctor.corpus.source import Source as CorpusSource
from proctor.errors import UserError, did_you_mean
from proctor.exam.kind import (
    Answer,
    Call,
    Exhibit,
    Exhibits,
    Kind,
    RuleMarker,
    Shown,
    Talk,
    Turn,
    ViewOptions,
)
from proctor.exam.kinds.documents_question import DOCUMENTS, document_slices, gold_of
from proctor.exam.library import Library, Prompts
from proctor.exam.measured import Measured, Slices
from proctor.exam.prediction import why_no_reply
from proctor.exam.question import Choice, Form, Item, Text
from proctor.exam.source_showing import SOURCE_LIMIT, find_sources, show_sources
from proctor.llm.message import Parameters
from proctor.llm.outcome import Outcome, Reply

if TYPE_CHECKING:
    from proctor.exam.marker import Marker

__all__ = ["ANSWER_TOKENS", "GREEDY", "KIND", "DocumentsAsking"]

ANSWER_TOKENS: Final = 512
GREEDY: Final = Parameters(temperature=0.0, max_tokens=ANSWER_TOKENS)


@dataclass(frozen=True, slots=True)
class DocumentsAsking:
    """From which sources a question is answered.

    Attributes:
        retriever: whose ranking is shown; empty for the cited sources.
        most: at most so many of its sources, at least 1.

    Raises:
        UserError: for fewer than one source.
    """

    retriever: str = ""
    most: int = 0

    def __post_init__(self) -> None:
        """Refuse a ranking of which nothing is shown."""
        if self.retriever and self.most < 1:
            raise UserError(f"at least one source is shown, got {self.most}.")

    @property
    def label(self) -> str:
        """``gold``, or such as ``bm25@5``."""
        return f"{self.retriever}@{self.most}" if self.retriever else "gold"

    @property
    def privilege(self) -> str:
        """None: the cited sources are the published task."""
        return ""

    @property
    def blind(self) -> bool:
        """Never: sources are always shown."""
        return False

    @property
    def details(self) -> Mapping[str, str]:
        """For every record."""
        return {"system": self.label}


class _Documents(Kind[DocumentsAsking]):
    """Questions about the sources of a corpus."""

    name = DOCUMENTS
    roles = ("lmm",)
    measured = Measured(
        weighting="question",
        cluster="question",
        brief=True,
        rubrics={"source": "judge", "reference": "reference judge"},
        likeness=True,
        mean_of="style",
    )

    def slices(self, items: Sequence[Item]) -> Slices:
        """Return styles, combinations of modalities, and both together."""
        return document_slices(item.question for item in items)

    def require(self, items: Sequence[Item], view: DocumentsAsking, library: Library, model: str) -> None:  # noqa: ARG002
        """Refuse what a retriever found where it has not searched."""
        if view.retriever:
            library.rankings(view.retriever)

    def views(self, items: Sequence[Item]) -> Sequence[str]:  # noqa: ARG002
        """The cited sources."""
        return ("gold",)

    def view(self, text: str, options: ViewOptions) -> DocumentsAsking:  # noqa: ARG002
        """Return the view that ``gold`` or such as ``bm25@5`` names."""
        if text == "gold":
            return DocumentsAsking()
        retriever, _, most = text.rpartition("@")
        if not retriever or not most.isdecimal() or int(most) < 1:
            raise UserError(
                f"questions about documents cannot be answered from {text[:80]!r}.",
                hint=did_you_mean(text, ("gold",), "gold, or RETRIEVER@k such as bm25@5"),
            )
        return DocumentsAsking(retriever, int(most))

    def markers(self, form: Form) -> Sequence[str]:
        """A judge that sees the cited sources, and one that sees the reference alone."""
        return super().markers(form) if isinstance(form, Choice) else ("source", "reference")

    def marker(self, name: str) -> Marker | RuleMarker:
        """Return one of them."""
        from proctor.exam.kinds.documents_marker import JUDGE_KINDS, SourceMarker

        kind = next((known for known in JUDGE_KINDS if known == name), None)
        return super().marker(name) if kind is None else SourceMarker(kind)

    def parameters(self, form: Form) -> Parameters:  # noqa: ARG002
        """Greedy, as published."""
        return GREEDY

    def exhibits(self, item: Item, view: DocumentsAsking, library: Library) -> Exhibits:
        """Yield the sources; a question without any has failed (``no_source``, ``no_ranking``)."""
        if view.retriever:
            found = _ranked(item, view, library)
        else:
            found = find_sources(gold_of(item.question), library.corpus)
        if isinstance(found, str):
            yield Exhibit(failure=found)
            return
        shown = show_sources(found, library.picture)
        pictures = iter(shown.pictures)
        pieces = (
            Shown(next(pictures) if kind.startswith("picture") else None, text, kind, id=id_)
            for id_, text, kind in zip(shown.ids, shown.texts, shown.kinds, strict=True)
        )
        images = any(source.modality == "image" for source in found)
        yield Exhibit(tuple(pieces), {"route": "lmm" if images else "llm", **shown.details})

    def talk(
        self,
        item: Item,
        turn: Turn,  # noqa: ARG002
        exhibit: Exhibit,
        view: DocumentsAsking,  # noqa: ARG002
        library: Library,  # noqa: ARG002
        prompts: Prompts,
    ) -> Talk:
        """Ask once."""
        rendered = prompts.render(
            "source-answer",
            {"sources": SOURCE_LIMIT},
            question=item.question.text,
            sources=[piece.text for piece in exhibit.pieces],
            kinds=[piece.kind for piece in exhibit.pieces],
            pictures=len(exhibit.media),
        )
        outcome: Outcome = yield Call(
            messages=rendered.with_media(exhibit.media) if exhibit.media else rendered.messages,
            parameters=GREEDY,
            role="lmm" if exhibit.details["route"] == "lmm" else "answer",
        )
        failure = why_no_reply(outcome)
        text = outcome.text.strip() if failure is None and isinstance(outcome, Reply) else None
        return Answer(text, failure, None if text is None else Text(text=text), rendered.details)


KIND: Final = _Documents()


def _ranked(item: Item, view: DocumentsAsking, library: Library) -> tuple[CorpusSource, ...] | str:
    ranking = library.rankings(view.retriever).get(item.id)
    if ranking is None:
        return f"no_ranking: {view.retriever} has not searched for this question"
    if ranking.failure is not None:
        return f"no_ranking: {ranking.failure}"
    return find_sources(ranking.ids, library.corpus, most=view.most) if ranking.ids else ()
