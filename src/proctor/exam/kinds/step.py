"""Questions about one step of a recording: was it carried out as it should be? Source: CaptainCook4D (Peddi et al. 2024), Section 4.1.

Yes or no, or one of several options (which tool was used). Who answers sees frames of the step (``frames:8``), its clip
(``video:360p``), its times alone (``times``), or the question alone (``question``, blind). A reply that hedges, says neither or names no option is an answer that
was not read; its record says which (``details["read"]``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

from proctor.errors import UserError, did_you_mean
from proctor.exam.choice import Order, order_of, parse_order, read_choice, shown_order, spell_order
from proctor.exam.clip_view import ClipView
from proctor.exam.fitting import ever_smaller
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
from proctor.exam.kinds.clip import clip_frames, require_a_video
from proctor.exam.kinds.moment import require_takes, video_of
from proctor.exam.library import Library, Prompts
from proctor.exam.measured import Measured
from proctor.exam.prediction import Judgement, Prediction, why_no_reply
from proctor.exam.question import Choice, Footage, Form, Item, Pick, Text, gold_texts, part_of
from proctor.exam.style_overlap import read_yes_no
from proctor.exam.view import View
from proctor.llm.message import Parameters
from proctor.llm.outcome import Outcome, Reply
from proctor.llm.structured import Unreadable, spoken_text
from proctor.metrics.choice.letters import LETTERS

if TYPE_CHECKING:
    from proctor.exam.marker import Marker

__all__ = ["KIND", "STYLES", "Said", "StepAsking", "Style", "read_option", "read_said"]

Style = Literal["short", "instruction"]
"""How it is asked: a short question, as Video-LLaVA likes it, or as an instruction, as TimeChat does."""
STYLES: Final[tuple[Style, ...]] = get_args(Style)
Said = Literal["yes", "no", "hedged", "unreadable"]

_PARAMETERS: Final = Parameters(temperature=0.0, max_tokens=64)
_WORD: Final = re.compile(
    r"\b(yes|no)\b(?!\s+(?:way|evidence|sign|idea|clear|longer|more|other)\b)", re.IGNORECASE
)
_HEDGE: Final = re.compile(
    r"\b(?:unclear|uncertain|unsure|maybe|perhaps|possibly|not (?:clear|sure|certain|possible to|enough)|insufficient|"
    r"(?:cannot|can't|can not|could not|couldn't|unable to|impossible to|hard to|difficult to) "
    r"(?:tell|say|see|determine|judge|know|confirm|be (?:determined|confirmed)))\b",
    re.IGNORECASE,
)
_UNSEEN: Final = re.compile(
    r"\s*no\b[\s,.:;-]*(?:i|we|one)\s+(?:cannot|can't|can not|could not|couldn't) see\b", re.IGNORECASE
)
"""A decided "no" that says why: "No, I cannot see anyone stir" does not hedge."""
_NOT: Final = re.compile(r"\b(?:not|no|nor|none|neither|never|without)\b|n't\b", re.IGNORECASE)
_SENTENCE: Final = re.compile(r"[.!?](?:\s|$)|\n")


def read_said(reply: str) -> Said:
    """Return what a reply to a yes-or-no question says: its first word, else the first sentence that names one of both.

    A first sentence that hedges decides nothing, whatever else is named, and neither does one that names both.

    Example:
        >>> [read_said(t) for t in ("**No**, it was spilled.", "So the answer is yes.", "Yes, perhaps.", "It was done.")]
        ['no', 'yes', 'hedged', 'unreadable']
    """
    text = spoken_text(reply)
    if isinstance(text, Unreadable):
        return "unreadable"
    if _hedges(text):
        return "hedged"
    begun = read_yes_no(reply)
    if begun is not None:
        return "yes" if begun else "no"
    for sentence in _SENTENCE.split(text):
        named = {found[1].lower() for found in _WORD.finditer(sentence)}
        if named:
            return "hedged" if len(named) > 1 else "yes" if "yes" in named else "no"
    return "hedged" if _HEDGE.search(text) else "unreadable"


def read_option(reply: str, options: Sequence[str], order: Order) -> str:
    """Return the printed letter of the option that a reply takes: by its letter, else the only one that it names, denying nothing.

    Where it takes none, ``hedged`` or ``unreadable``. A first sentence that hedges takes none.

    Example:
        >>> [read_option(t, ("fork", "whisk"), (0, 1)) for t in ("(B)", "The person took a fork.", "Maybe (A)", "No fork.")]
        ['B', 'A', 'hedged', 'unreadable']
    """
    text = spoken_text(reply)
    if isinstance(text, Unreadable):
        return "unreadable"
    if _hedges(text):
        return "hedged"
    letter = read_choice(reply, options, "A", order).printed
    if letter is not None:
        return letter
    named = [
        n for n, words in enumerate(options) if re.search(rf"\b{re.escape(words)}\b", text, re.IGNORECASE)
    ]
    if len(named) == 1 and not _NOT.search(text):
        return LETTERS[named[0]]
    return "hedged" if _HEDGE.search(text) else "unreadable"


def _hedges(text: str) -> bool:
    """Whether the first sentence does."""
    first = _SENTENCE.split(text.strip(), maxsplit=1)[0]
    return _HEDGE.search(_UNSEEN.sub("no", first)) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepAsking:
    """What a system is shown of a step, and how it is asked.

    Attributes:
        seen: frames of the step, or its clip; None for text only.
        times: whether it is told when the step was; always with pictures.
        style: of the prompt.
    """

    seen: ClipView | View | None = None
    times: bool = False
    style: Style = "short"

    @property
    def label(self) -> str:
        """Short name for runs."""
        shown = self.seen.label if self.seen is not None else "times" if self.times else "question"
        return shown if self.style == "short" else f"{shown}, {self.style}"

    @property
    def privilege(self) -> str:
        """None: where the step is in the video is given to all."""
        return ""

    @property
    def blind(self) -> bool:
        """True where nothing of the recording is shown."""
        return self.seen is None and not self.times

    @property
    def details(self) -> Mapping[str, str]:
        """For every record."""
        shown = self.seen.details if self.seen is not None else {"view": self.label.partition(",")[0]}
        return {**shown, "style": self.style}


@dataclass(frozen=True, slots=True)
class StepMarker:
    """Match or wrong by what was read; a reply that says neither yes nor no, or names no option, is wrong."""

    name: str = "step-1"

    def mark(self, item: Item, prediction: Prediction, library: Library) -> Judgement:  # noqa: ARG002
        """Mark one answer; one that failed stays unscored."""
        answer, said = prediction.answer, ""
        if answer is not None:
            form = item.question.form
            options = form.options if isinstance(form, Choice) else ()
            said = read_option(answer, options, order_of(prediction, item)) if options else read_said(answer)
        texts = zip(item.golds, gold_texts(item), strict=True)
        right = {LETTERS[g.value.option] if isinstance(g.value, Pick) else text for g, text in texts}
        return Judgement(
            item_id=item.id,
            predictor=prediction.predictor,
            judge=self.name,
            score=None if answer is None else 2 * (said in right),
            rationale=said,
            failure=None if answer is not None else f"prediction failed: {prediction.failure}",
        )


class _Step(Kind[StepAsking]):
    """Questions about one step."""

    name = "step"
    measured = Measured(cluster="recording", weighting="question")

    def views(self, items: Sequence[Item]) -> Sequence[str]:  # noqa: ARG002
        """Frames of the step, and the two controls without pictures."""
        return ("frames:8", "times", "question")

    def view(self, text: str, options: ViewOptions) -> StepAsking:
        """Return the view that a text such as ``frames:8`` names, in a style.

        Raises:
            UserError: if it names none.
        """
        style = next((known for known in STYLES if known == (options.style or "short")), None)
        if style is None:
            raise UserError(
                f"{options.style!r} is no style of questions about steps.",
                hint=did_you_mean(options.style or "", STYLES),
            )
        if text.strip() in ("times", "question"):
            return StepAsking(times=text.strip() == "times", style=style)
        if text.strip().startswith("video"):
            return StepAsking(seen=View.parse(text), times=True, style=style)
        if not text.strip().startswith("frames"):
            raise UserError(
                f"{text!r} is no view of a step.",
                hint=did_you_mean(
                    text,
                    ("frames", "video", "times", "question"),
                    "views: frames:8, frames:fps1:32@full, video:360p, times, question",
                ),
            )
        return StepAsking(seen=ClipView.parse(text), times=True, style=style)

    def require(self, items: Sequence[Item], view: StepAsking, library: Library, model: str) -> None:
        """Refuse to show pictures where not one recording has a video, or a clip where the provider takes none."""
        if isinstance(view.seen, View):
            require_takes(model, view.seen)
        clips = {clip.recording: clip for item in items if (clip := part_of(item.question, Footage))}
        if view.seen is not None and clips and library.left_out is None:
            require_a_video(clips.values(), library.videos)

    def parameters(self, form: Form) -> Parameters:  # noqa: ARG002
        """Greedy and short (ours: the paper says nothing)."""
        return _PARAMETERS

    def turns(self, item: Item, view: StepAsking) -> Sequence[Turn]:  # noqa: ARG002
        """Return a single turn; options are shown as printed, which is balanced over all questions."""
        form = item.question.form
        options = len(form.options) if isinstance(form, Choice) else 0
        return (Turn("", {"order": spell_order(shown_order(item.id, options))} if options else {}),)

    def exhibits(self, item: Item, view: StepAsking, library: Library) -> Exhibits:
        """Yield frames or the clip of the step, less or smaller where it is too much; nothing for text-only views."""
        clip = part_of(item.question, Footage)
        if view.seen is None:
            yield Exhibit()
        elif clip is None:
            raise UserError("the step has no clip, so nothing of it can be shown.", where=item.id)
        elif isinstance(view.seen, View):
            path, start, end = video_of(clip, view.seen, library, item.id), clip.start, clip.end

            def show(inner: View) -> Exhibit:
                shown = library.frames.clip(path, end, inner.height, start=start)
                return Exhibit((Shown(shown),), {"seconds": f"{shown.seconds:.2f}"})

            yield from ever_smaller(view.seen, show)
        else:
            yield from clip_frames(clip, view.seen, library, item.id)

    def talk(
        self,
        item: Item,
        turn: Turn,
        exhibit: Exhibit,
        view: StepAsking,
        library: Library,  # noqa: ARG002
        prompts: Prompts,
    ) -> Talk:
        """Ask once, and read yes or no, or the letter."""
        form, clip = item.question.form, part_of(item.question, Footage)
        options = form.options if isinstance(form, Choice) else ()
        order = parse_order(turn.details.get("order", ""), len(options)) or ()
        timed = view.times and clip is not None
        rendered = prompts.render(
            "step-ask",
            question=item.question.text,
            style=view.style,
            options=[f"({LETTERS[n]}) {options[i]}" for n, i in enumerate(order)] or None,
            letters=list(LETTERS[: len(order)]) or None,
            frames=len(exhibit.pieces) or None,
            clip=isinstance(view.seen, View) or None,
            times=[f"{piece.time:.1f}" for piece in exhibit.pieces if piece.time is not None] or None,
            start=f"{clip.start:.2f}" if timed and clip is not None else None,
            end=f"{clip.end:.2f}" if timed and clip is not None else None,
        )
        messages = rendered.with_media(exhibit.media) if exhibit.media else rendered.messages
        outcome: Outcome = yield Call(messages=messages, parameters=_PARAMETERS)
        # An empty reply is an answer that says nothing, and no failure: it is counted with those that hedge.
        empty = isinstance(outcome, Reply) and not outcome.text.strip()
        failure = None if empty else why_no_reply(outcome)
        if failure is not None or not isinstance(outcome, Reply):
            return Answer(None, failure, None, rendered.details)
        text, read, value = outcome.text.strip(), "empty", None
        if options and not empty:
            read = read_option(text, options, order)
            value = Pick(option=LETTERS.index(read)) if read in LETTERS else None
        elif not empty:
            read = read_said(text)
        said = Text(text=read) if read in ("yes", "no") else value
        return Answer(text, None, said, {**rendered.details, "read": read})

    def markers(self, form: Form) -> Sequence[str]:  # noqa: ARG002
        """One for both forms: of options several may be right."""
        return ("step",)

    def marker(self, name: str) -> Marker | RuleMarker:
        """Return it."""
        return StepMarker() if name == "step" else super().marker(name)


KIND: Final = _Step()
