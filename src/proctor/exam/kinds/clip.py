"""Questions about a clip, with options or open-ended (InstructionBench): frames by the published rule, four styles.

One call a question, or one for each rotation of its options (circular evaluation). A reply is kept as the answer, with the letter
that was read, the rule that read it and the order of the options; a reply without a letter is an answer, and no failure.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from proctor.errors import MissingExtraError, UserError, did_you_mean
from proctor.exam.card import Exhibited
from proctor.exam.choice import (
    Order,
    parse_order,
    read_choice,
    right_letter,
    rotations,
    shown_order,
    spell_order,
)
from proctor.exam.clip_view import DIVISORS, ClipView, frame_indices
from proctor.exam.fitting import ever_smaller
from proctor.exam.kind import Answer, Call, Exhibit, Exhibits, Floor, Kind, Shown, Talk, Turn, ViewOptions
from proctor.exam.kinds.clip_prompt import (
    STYLES,
    ChoicePrompt,
    ChoiceStyle,
    ClipFacts,
    choice_prompt,
    open_prompt,
    text_prompt,
)
from proctor.exam.library import Library, Prompts, VideoFinder
from proctor.exam.lines import Line
from proctor.exam.measured import Measured, Slices, facet_slices
from proctor.exam.prediction import why_no_reply
from proctor.exam.question import (
    Choice,
    Footage,
    Form,
    Item,
    Pick,
    Question,
    Text,
    part_of,
    seen_hash,
)
from proctor.exam.view import Sampling, View
from proctor.llm.message import Parameters
from proctor.llm.outcome import Outcome, Reply, Truncated
from proctor.media.sampling import TIME_TOLERANCE, thin
from proctor.metrics.choice.letters import LETTERS
from proctor.metrics.choice.reading import PARSER
from proctor.said import say

__all__ = [
    "ANSWER",
    "CHOICE",
    "KIND",
    "ClipAsking",
    "clip_frames",
    "clip_times",
    "require_a_video",
]

CHOICE: Final = Parameters(temperature=0.0, max_tokens=64)
"""Parameters where a letter is asked for: greedy; room for a few words more than the letter (ours, the paper has none)."""
ANSWER: Final = Parameters(temperature=0.0, max_tokens=128)
"""Parameters of open-ended answers (ours, the paper has none)."""

_LOWEST: Final = 16
"""Pixels of height that a picture has at least."""


# -- the view ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipAsking:
    """What a system is shown of a clip, and how it is asked.

    Attributes:
        view: frames, the annotated steps, or the question alone.
        style: of the prompts that go with pictures; text-only views have one of their own.
        shuffle: seed that shuffles the options of each question; None shows them as printed.
        circular: asks every rotation of the options.

    Raises:
        UserError: for a style that is none.
    """

    view: ClipView
    style: ChoiceStyle = "d"
    shuffle: int | None = None
    circular: bool = False

    def __post_init__(self) -> None:
        """Refuse a style that is none before anything is asked."""
        if self.style not in STYLES:
            raise UserError(f"{self.style!r} is no style of prompts.", hint=did_you_mean(self.style, STYLES))

    @property
    def label(self) -> str:
        """What is shown, and all that changes how it is asked."""
        parts = [self.view.label]
        if self.view.kind == "frames":
            parts.append(f"style {self.style}")
        if self.shuffle is not None:
            parts.append(f"shuffled {self.shuffle}")
        if self.circular:
            parts.append("circular")
        return ", ".join(parts)

    @property
    def privilege(self) -> str:
        """What a system must not know."""
        return "the annotated steps" if self.view.kind == "steps" else ""

    @property
    def blind(self) -> bool:
        """True without pictures."""
        return self.view.kind != "frames"

    @property
    def details(self) -> Mapping[str, str]:
        """For every record."""
        return self.view.details


# -- the kind ------------------------------------------------------------------------------------------------------


class _Clip(Kind[ClipAsking]):
    """Questions about a clip."""

    name = "clip"
    measured = Measured(judge="consistency", share=True, cluster="video", weighting="question")

    def seen(self, question: Question) -> str:
        """Return the hash of what people see, the annotated steps included."""
        return seen_hash(question, msgspec.convert(question.facts, ClipFacts).steps)

    def card(self, question: Question, library: Library) -> tuple[Exhibited, ...]:
        """Return the annotated steps beside the recording."""
        steps = msgspec.convert(question.facts, ClipFacts).steps
        lines = tuple(Line(str(n), step) for n, step in enumerate(steps, 1))
        card = super().card(question, library)
        return (*card, Exhibited(say("Steps as annotated"), lines=lines)) if steps else card

    def lines(self, question: Question, library: Library) -> tuple[Line, ...]:
        """Return the annotated steps: when, what, of which kind, and what is said meanwhile."""
        steps = msgspec.convert(question.facts, ClipFacts).steps
        return (*super().lines(question, library), *(_line(str(n), step) for n, step in enumerate(steps, 1)))

    def topic(self, question: Question, library: Library) -> str:  # noqa: ARG002
        """Return the goal."""
        return msgspec.convert(question.facts, ClipFacts).goal

    def check(self, item: Item, library: Library) -> None:  # noqa: ARG002
        """Refuse an item whose facts are none of a clip."""
        try:
            msgspec.convert(item.question.facts, ClipFacts)
        except msgspec.ValidationError as error:
            raise UserError(f"its facts are none of a clip: {error}.", where=item.id) from None

    def slices(self, items: Sequence[Item]) -> Slices:
        """Return level, category, data set and position in the clip."""
        return facet_slices(items, ("level", "category", "dataset", "position"))

    def require(self, items: Sequence[Item], view: ClipAsking, library: Library, model: str) -> None:  # noqa: ARG002
        """Refuse to show frames where not one clip has a video; what is shown of others fails, and is counted."""
        clips = {clip.recording: clip for item in items if (clip := part_of(item.question, Footage))}
        if view.view.kind == "frames" and clips and library.left_out is None:
            require_a_video(clips.values(), library.videos)

    def views(self, items: Sequence[Item]) -> Sequence[str]:  # noqa: ARG002
        """Frames by the published rule, and the two floors."""
        return ("frames:8", "question", "steps")

    def view(self, text: str, options: ViewOptions) -> ClipAsking:
        """Return the view that a text such as ``frames:8`` names, with style, order and rotations."""
        style = next((known for known in STYLES if known == (options.style or "d")), None)
        if style is None:
            raise UserError(
                f"{options.style!r} is no style of prompts.", hint=did_you_mean(options.style or "", STYLES)
            )
        return ClipAsking(
            view=ClipView.parse(text), style=style, shuffle=options.shuffle, circular=options.circular
        )

    def floors(self, items: Sequence[Item]) -> Sequence[str]:
        """Of questions with options: chance, the longest option, the most frequent letter."""
        from proctor.exam.choice_floors import CHOICE_FLOORS

        return CHOICE_FLOORS if any(isinstance(item.question.form, Choice) for item in items) else ()

    def fit(self, name: str, items: Sequence[Item], library: Library) -> Floor:  # noqa: ARG002
        """Return one of them."""
        from proctor.exam.choice_floors import choice_floor

        return choice_floor(name, items)

    def turns(self, item: Item, view: ClipAsking) -> Sequence[Turn]:
        """Return the orders of the options; a single turn for open-ended questions."""
        form = item.question.form
        if not isinstance(form, Choice):
            return (Turn(),)
        order = shown_order(item.question.parent or item.id, len(form.options), view.shuffle)
        style = {"style": view.style} if view.view.kind == "frames" else {}
        if not view.circular:
            return (Turn("", {**style, "order": spell_order(order)}),)
        return tuple(
            Turn(str(n), {**style, "order": spell_order(turned), "rotation": str(n)})
            for n, turned in enumerate(rotations(order))
        )

    def parameters(self, form: Form) -> Parameters:
        """Greedy; a letter takes fewer tokens than an answer."""
        return CHOICE if isinstance(form, Choice) else ANSWER

    def exhibits(self, item: Item, view: ClipAsking, library: Library) -> Exhibits:
        """Yield the frames of the published rule, fewer or smaller ones where they are too much; nothing for text-only views."""
        if view.view.kind != "frames":
            yield Exhibit()
            return
        clip = part_of(item.question, Footage)
        if clip is None:
            raise UserError(
                "the clip of the question is not known, so nothing of it can be shown.", where=item.id
            )
        yield from clip_frames(clip, view.view, library, item.id)

    def talk(
        self,
        item: Item,
        turn: Turn,
        exhibit: Exhibit,
        view: ClipAsking,
        library: Library,  # noqa: ARG002
        prompts: Prompts,
    ) -> Talk:
        """Ask once; read the letter where there are options."""
        form = item.question.form
        options = form.options if isinstance(form, Choice) else ()
        order = parse_order(turn.details.get("order", ""), len(options)) or ()
        prompt = _prompt(item.question, order, len(exhibit.pieces), view, prompts)
        outcome: Outcome = yield Call(
            messages=prompt.messages(exhibit.media), parameters=CHOICE if options else ANSWER
        )
        details = prompt.rendered.details
        # tokens were spent and not a word was said: more tokens help, and nothing was answered wrongly
        cut_off_in_thought = (
            isinstance(outcome, Truncated) and not outcome.text.strip() and (outcome.usage.output or 0) > 1
        )
        if not options or cut_off_in_thought or not isinstance(outcome, Reply | Truncated):
            failure = why_no_reply(outcome)
            text = outcome.text.strip() if failure is None and isinstance(outcome, Reply) else None
            return Answer(text, failure, None if text is None else Text(text=text), details)
        return _chosen(item, order, outcome, prompt)


KIND: Final = _Clip()


_STEP: Final = re.compile(
    r"(?P<id>\S+) \| (?P<start>\d+\.\d)-(?P<end>\d+\.\d) s \| (?P<text>.*?)"
    r"(?: \| kind: (?P<kind>.*?))?(?: \| said meanwhile: (?P<said>.*))?",
    re.DOTALL,
)
"""A step as whoever asks about clips writes it (``proctor.ask.clip.record.render_step``)."""


def _line(number: str, step: str) -> Line:
    """Return a step as a line; one that is written in another way, by its number."""
    told = _STEP.fullmatch(step)
    if told is None:
        return Line(number, step)
    kind = f" (kind: {told['kind']})" if told["kind"] else ""
    said = f" (said meanwhile: {told['said']})" if told["said"] else ""
    return Line(told["id"], f"{told['start']} to {told['end']} s: {told['text']}{kind}{said}")


def _prompt(
    question: Question, order: Order, frames: int, view: ClipAsking, prompts: Prompts
) -> ChoicePrompt:
    steps = view.view.kind == "steps"
    if not order:
        return open_prompt(question, prompts, frames=frames, steps=steps)
    if view.view.kind == "frames":
        return choice_prompt(question, order, view.style, prompts, frames=frames)
    return text_prompt(question, order, prompts, steps=steps)


def _chosen(item: Item, order: Order, outcome: Reply | Truncated, prompt: ChoicePrompt) -> Answer:
    """Read a letter; an empty reply and one that was cut off are answers without one."""
    form, text, cut_off = item.question.form, outcome.text.strip(), isinstance(outcome, Truncated)
    options = form.options if isinstance(form, Choice) else ()
    read = read_choice(
        text, options, right_letter(item) or "A", order, opened_bracket=prompt.opened_bracket, cut_off=cut_off
    )
    details = {
        **prompt.rendered.details,
        "letter": read.printed or "",
        "shown_letter": read.shown or "",
        "rule": read.rule,
        "parser": PARSER,
    }
    details |= {"bracket": "opened"} if prompt.opened_bracket else {}
    details |= {"cut_off": "yes"} if cut_off else {}
    value = None if read.printed is None else Pick(option=LETTERS.index(read.printed))
    return Answer(text, None, value, details)


def require_a_video(clips: Iterable[Footage], videos: VideoFinder | None) -> None:
    """Refuse clips of which not one has a video.

    Raises:
        UserError: saying what is wrong with the first.
    """
    first: UserError | None = None
    count = 0
    for clip in clips:
        count += 1
        try:
            if videos is not None and videos.find(clip.recording, clip.video or None) is not None:
                return
        except MissingExtraError:
            raise
        except UserError as error:
            first = first or error
    raise UserError(
        f"not one of {count:,} clips has a video" + (f": {first.message}" if first else "."),
        where=first.where if first else None,
        hint="say where the videos are (--videos FOLDER), or show the steps or the question only (--show)",
    )


# -- frames --------------------------------------------------------------------------------------------------------


def clip_frames(clip: Footage, view: ClipView, library: Library, where: str) -> Exhibits:
    """Yield the frames that a view shows of a clip, fewer or smaller ones where they are too much.

    Raises:
        UserError: if the clip has no video, or that shows nothing of it.
    """
    path = _path(clip, library, where)
    # The rule that shrinks knows heights, not shares of the video's size.
    height = max(_LOWEST, round(library.frames.height(path) / DIVISORS[view.size]))
    sampling: Sampling = "fps" if view.sampling == "fps1" else "uniform"
    video = "" if library.videos is None else library.videos.name(path)

    def show(inner: View) -> Exhibit:
        times = clip_times(*library.frames.times(path), clip.start, clip.end, inner, where=where)
        shown = library.frames.at(path, times, inner.height)
        details = {"height": str(inner.height), "frame_numbers": "video"}
        details |= {"video": video} if video else {}
        return Exhibit(tuple(Shown(f.image, time=f.time, number=f.number) for f in shown), details)

    return ever_smaller(View(kind="frames", frames=view.frames, height=height, sampling=sampling), show)


def _path(clip: Footage, library: Library, where: str) -> Path:
    found = None if library.videos is None else library.videos.find(clip.recording, clip.video or None)
    if found is None:
        raise UserError(
            "the clip has no video, so nothing of it can be shown.",
            where=where,
            hint="say where the videos are (--videos FOLDER), or show the steps or the question only",
        )
    return found


def clip_times(
    times: Sequence[float], ends: float, start: float, end: float, view: View, *, where: str = ""
) -> tuple[float, ...]:
    """Return moments (seconds) at which the frames that the rule chooses of a clip ``[start, end)`` are on screen.

    Frames are counted as the file lists them: those of the clip appear in it, and the rule chooses among them by index. One a
    second is the frame on screen at the clip's start, a second later, and so on.

    Args:
        times: when each frame of the video appears, increasing.
        ends: when the last one ends.
        start: of the clip, seconds of the video.
        end: of the clip, exclusive; what lies behind the video's end is not there.
        view: number of frames and sampling (``uniform`` or ``fps``).
        where: the clip, for messages.

    Raises:
        UserError: if no frame of the video appears in the clip.
    """
    first, stop = bisect_left(times, start - TIME_TOLERANCE), bisect_left(times, end - TIME_TOLERANCE)
    if stop <= first:
        raise UserError(
            f"the video ends at {ends:.1f} s and shows nothing of the clip ({start:.1f} to {end:.1f} s).",
            where=where or None,
            hint="is it the video that was annotated?",
        )
    if view.sampling == "fps":
        last = min(end, max(ends, times[stop - 1]))
        seconds = max(1, math.ceil(last - start - TIME_TOLERANCE))
        on_screen = [max(first, bisect_right(times, start + i + TIME_TOLERANCE) - 1) for i in range(seconds)]
        chosen = thin(on_screen, view.frames)
    else:
        chosen = [first + index for index in frame_indices(view.frames, stop - first)]
    # Between its own time and the next frame's, so that no rounding shows a neighbour.
    return tuple((times[i] + times[i + 1]) / 2 if i + 1 < len(times) else times[i] for i in chosen)
