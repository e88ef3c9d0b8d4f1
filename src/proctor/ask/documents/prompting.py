"""How sources stand in a prompt, how a prompt becomes turns with pictures in them, and what an outcome is worth.

A template of this room is rendered as every other (``proctor.llm.prompt``). Lines of our own then say where a turn begins,
where a picture belongs, and where a text of the *style* goes::

    <<<TURN assistant TOKEN>>>      <<<PICTURE 3 TOKEN>>>      <<<OWN description TOKEN>>>

They carry the token of the fences, which nothing in a source can hold. A style's description is put in after rendering, not
into a fence: it *is* an instruction, written by whoever runs the generation. Sources, entities, questions and answers are in
fences, and whatever they say stays there.

Neighbouring turns of one side become one message with several parts, because some servers insist that sides take turns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from proctor.ask.documents.record import AttemptOutcome
from proctor.corpus.source import MODALITIES, Modality, Source
from proctor.errors import UserError
from proctor.exam.source_showing import ShownLimits, ShownSource, show_source, show_title
from proctor.llm.fence import FenceSecret, escape_text
from proctor.llm.message import Image, Message, Parameters, Part, Request, Role, Text
from proctor.llm.outcome import Failure, Outcome, Refusal, Truncated, is_settled
from proctor.llm.prompt import PromptSet, Rendered
from proctor.llm.replying import Replying
from proctor.llm.structured import Unreadable, spoken_text

__all__ = [
    "KINDS",
    "SHOWN",
    "DocumentsPrompt",
    "Miss",
    "Picture",
    "PromptKit",
    "needs_lmm",
    "no_pixels",
    "read_text",
    "requirement_in_words",
    "squeeze",
]

SHOWN: Final = 300
"""Characters of a text that a record keeps of what was rejected."""

KINDS: Final[Mapping[Modality, str]] = {"text": "text", "table": "table", "image": "image, in words"}
"""What a prompt calls a source that is shown in words."""

_MARK = re.compile(r"<<<(TURN|PICTURE|OWN) ([a-z0-9 -]+) ([0-9a-f]{16})>>>[ \t]*")
Picture = Callable[[Source], Image | None]
"""Returns the picture of an image as it will be sent, None where its pixels are not there."""


def no_pixels(_source: Source) -> Image | None:
    """Return None: every image is shown as its caption and its description."""
    return None


def squeeze(text: str) -> str:
    """Return a text with one blank for every run of white space, none at its ends."""
    return " ".join(text.split())


def needs_lmm(sources: Sequence[Source]) -> bool:
    """True when a request about these sources goes to the model that can see.

    It does when any source is an image (paper), shown in pixels or in words: so which model writes the questions of a modality
    combination never depends on whose pixels happen to be there.
    """
    return any(source.modality == "image" for source in sources)


def requirement_in_words(modalities: tuple[int, int, int]) -> str:
    """Return SMMQG's M in words: ``1 text, 2 tables``."""
    named = zip(modalities, MODALITIES, strict=True)
    return ", ".join(f"{count} {name}{'s' if count != 1 else ''}" for count, name in named if count)


# -- prompts ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PromptKit:
    """What every prompt of this room is made with.

    Attributes:
        prompts: templates of the room ``generate`` (``proctor.ask.moment.promqa_prompt.generation_prompts``).
        secret: of the workspace, for fences.
        picture: gives the pixels of images.
        limits: how much of a source is shown.
        published: replies have the form of the published protocol.
        replying: what the user says of replies, over the protocol.
    """

    prompts: PromptSet
    secret: FenceSecret
    picture: Picture = no_pixels
    limits: ShownLimits = field(default_factory=ShownLimits)
    published: bool = False
    replying: Replying = field(default_factory=Replying)
    _shown: dict[str, tuple[Source, ShownSource]] = field(default_factory=dict, repr=False, compare=False)

    def make(
        self,
        template: str,
        *,
        own: Mapping[str, str] | None = None,
        pictures: Mapping[int, Image] | None = None,
        cut: Sequence[str] = (),
        **values: Any,
    ) -> DocumentsPrompt:
        """Render a template and put turns, pictures and own texts where its marks are.

        Args:
            template: its name.
            own: texts of the style by the name of their mark.
            pictures: by the number of their mark.
            cut: what was left out of the sources, for the record.
            values: of the template's variables.

        Raises:
            UserError: if the template cannot be filled, or one of the user's leaves out a text or a picture.
        """
        rendered = self.prompts[template].render(self.secret, **values)
        messages = _turns(rendered, own or {}, pictures or {})
        return DocumentsPrompt(
            messages,
            rendered.template,
            rendered.template_hash,
            (*cut, *rendered.shortened),
            bool(pictures),
            self.replying,
        )

    def sources(self, sources: Sequence[Source]) -> dict[str, Any]:
        """Return arguments of ``make`` that show numbered sources.

        Texts, tables and images without pixels are values ``numbers``, ``kinds`` and ``sources``; images with pixels
        ``picture_numbers`` and ``captions``. Numbers count all of them from 1, in the given order.
        """
        numbers, kinds, texts, cut = [], [], [], []
        pictures: dict[int, Image] = {}
        captions = []
        for number, source in enumerate(sources, 1):
            picture = self.picture(source) if source.modality == "image" else None
            if picture is not None:
                pictures[number] = picture
                captions.append(show_title(source, self.limits))
                continue
            shown = self._show(source)
            numbers.append(number)
            kinds.append(KINDS[source.modality])
            texts.append(shown.text)
            if shown.cut:
                cut.append(f"source {number}: {shown.cut}")
        return {
            "pictures": pictures, "cut": cut, "numbers": numbers, "kinds": kinds, "sources": texts,
            "picture_numbers": list(pictures), "captions": captions, "images": needs_lmm(sources),
        }  # fmt: skip

    def _show(self, source: Source) -> ShownSource:
        """Show a source; the same one stands in many prompts, and detokenising it takes longer than all else."""
        known = self._shown.get(source.id)
        if known is None or known[0] is not source:
            known = self._shown[source.id] = (source, show_source(source, self.limits))
        return known[1]


@dataclass(frozen=True, slots=True)
class DocumentsPrompt:
    """A prompt that is ready to be sent.

    Attributes:
        messages: system, then turns.
        template: its name.
        template_hash: of everything but the data; the style's own hash covers the style.
        shortened: what was left out of sources that are too long, in words.
        has_pixels: True when pictures are in it.
        replying: what the user says of replies, over the protocol.
    """

    messages: tuple[Message, ...]
    template: str
    template_hash: str
    shortened: tuple[str, ...] = ()
    has_pixels: bool = False
    replying: Replying = field(default_factory=Replying)

    @property
    def text(self) -> str:
        """All texts, for reading and tests."""
        return "\n\n".join(message.text for message in self.messages)

    def request(self, model: str, parameters: Parameters, role: str, *, draw: int = 0) -> Request:
        """Return the call.

        Args:
            model: full name.
            parameters: the protocol's.
            role: what the model is asked as.
            draw: number of the repetition where the same thing is asked several times.
        """
        parameters = self.replying.over(parameters, model, role)
        return Request(model=model, messages=self.messages, parameters=parameters, draw=draw)


def _turns(rendered: Rendered, own: Mapping[str, str], pictures: Mapping[int, Image]) -> tuple[Message, ...]:
    messages: list[tuple[Role, list[Part]]] = []
    used: list[tuple[str, str]] = []
    for message in rendered.messages:
        role: Role = message.role
        parts = _begin(messages, role)
        pending = ""
        at = 0
        for found in _MARK.finditer(message.text):
            if found[3] != rendered.token:  # somebody else's text that looks like a mark
                continue
            pending += message.text[at : found.start()].rstrip(" \t")
            at = found.end()
            kind, name = found[1], found[2]
            used.append((kind, name))
            if kind == "OWN":
                pending += escape_text(_taken(own, name, rendered))
                continue
            _add(parts, pending)
            pending = ""
            if kind == "PICTURE":
                parts.append(_taken(pictures, int(name) if name.isdigit() else -1, rendered))
            else:
                role = "assistant" if name == "assistant" else "user"
                parts = _begin(messages, role)
        _add(parts, pending + message.text[at:])
    _check_used(rendered, used, own, pictures)
    return tuple(Message(role, tuple(parts)) for role, parts in messages if parts)


def _begin(messages: list[tuple[Role, list[Part]]], role: Role) -> list[Part]:
    """Return the parts of the turn that goes on or begins; a turn in which nothing was said is passed over."""
    if messages and not messages[-1][1]:
        messages.pop()
    if not messages or messages[-1][0] != role:
        messages.append((role, []))
    return messages[-1][1]


def _add(parts: list[Part], text: str) -> None:
    if text.strip():
        parts.append(Text(text.strip("\n")))


def _taken(values: Mapping[Any, Any], name: object, rendered: Rendered) -> Any:
    if name not in values:
        raise UserError(
            f"the template '{rendered.template}' has a mark for '{name}', and there is no such thing."
        )
    return values[name]


def _check_used(
    rendered: Rendered,
    used: Sequence[tuple[str, str]],
    own: Mapping[str, str],
    pictures: Mapping[int, Image],
) -> None:
    wanted = [("OWN", name) for name in own] + [("PICTURE", str(number)) for number in pictures]
    lacking = [f"{kind} {name}" for kind, name in wanted if used.count((kind, name)) != 1]
    if lacking:
        raise UserError(
            f"the template '{rendered.template}' must show each of these once: {', '.join(lacking)}.",
            hint="compare it with ours: lines such as <<<OWN description {{ token }}>>> belong in it",
        )


# -- outcomes --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Miss:
    """Why a step gave nothing: the outcome that the attempt then has, and what was seen."""

    outcome: AttemptOutcome
    detail: str = ""


def read_text(outcome: Outcome, *, unreadable: AttemptOutcome = "format_error") -> str | Miss:
    """Return what a model said, without its thinking.

    Args:
        outcome: of the call.
        unreadable: what a reply is that is empty, cut off or no reply at all.
    """
    if isinstance(outcome, Failure):
        lack: AttemptOutcome = "api_error" if is_settled(outcome.kind) else "budget_stop"
        return Miss(lack, f"{outcome.kind}: {outcome.message[:SHOWN]}")
    if isinstance(outcome, Refusal):
        return Miss("refused", outcome.text[:SHOWN] or "the model declined without a word")
    if isinstance(outcome, Truncated):
        return Miss(unreadable, f"cut off by the limit on tokens after {len(outcome.text):,} characters")
    text = spoken_text(outcome.text)
    if isinstance(text, Unreadable):
        return Miss(unreadable, f"{text.reason} {text.detail}".strip())
    return text
