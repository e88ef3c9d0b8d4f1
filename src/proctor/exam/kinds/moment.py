"""Questions about a moment of a recording (ProMQA): what is shown lies before it, and is as honest as its view.

``question`` and ``recipe`` see nothing of the recording, ``captions`` is a Socratic system (another model describes frames),
``frames`` sees pictures, ``video`` the clip itself. Greedy and short, as published.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from proctor.errors import UserError
from proctor.exam.card import Exhibited
from proctor.exam.fitting import ever_smaller
from proctor.exam.kind import (
    Answer,
    Call,
    Exhibit,
    Exhibits,
    Floor,
    Kind,
    RuleMarker,
    Shown,
    Talk,
    Turn,
    ViewOptions,
)
from proctor.exam.kinds.example import QUESTION_TYPES, Example, Performed
from proctor.exam.kinds.moment_question import (
    FLOOR_NAMES,
    JUDGING,
    MOMENT,
    moment_example,
    moment_seen,
    shown_moment,
)
from proctor.exam.library import Library, Prompts
from proctor.exam.lines import Line
from proctor.exam.measured import Measured, Slices, signature_part
from proctor.exam.predict import Task
from proctor.exam.predict_prompt import (
    caption_prompt,
    captions_prompt,
    frames_prompt,
    question_prompt,
    recipe_prompt,
    video_prompt,
)
from proctor.exam.prediction import why_no_reply
from proctor.exam.question import Choice, Footage, Form, Item, Open, Procedure, Question, Text, part_of
from proctor.exam.view import VIEWS, View, frame_times
from proctor.llm.limits import takes
from proctor.llm.message import Parameters
from proctor.llm.outcome import Outcome, Reply
from proctor.llm.prompt import Rendered
from proctor.media.sampling import published_ids
from proctor.said import say

if TYPE_CHECKING:
    from proctor.exam.frames import ShownFrame
    from proctor.exam.marker import Marker

__all__ = [
    "ANSWER_TOKENS",
    "KIND",
    "PUBLISHED",
    "require_takes",
    "shown_frames",
    "step_times",
    "video_of",
]

ANSWER_TOKENS: Final = 128
"""Limit of the published predictions; a reply that is longer is cut off, and then no answer."""
CAPTION_TOKENS: Final = 160
PUBLISHED: Final = Parameters(temperature=0.0, max_tokens=ANSWER_TOKENS)


def require_takes(model: str, view: View) -> None:
    """Refuse a view that the provider cannot take.

    Raises:
        UserError: for a clip, where no video is taken.
    """
    if view.kind == "video" and not takes(model, "video/mp4"):
        raise UserError(
            f"{model.partition('/')[0]} takes no video.",
            where=model,
            hint="show frames (--show frames), or ask a model of google or of a compatible server",
        )


class _Moment(Kind[View]):
    """Questions about a moment of a recording."""

    name = MOMENT
    roles = ("captioner",)
    measured = Measured(cluster="recording")
    judging = JUDGING

    def card(self, question: Question, library: Library) -> tuple[Exhibited, ...]:
        """Return the recording up to the moment, and the procedure with what was done of it."""
        played = (part for part in super().card(question, library) if part.footage is not None)
        return (*played, Exhibited(say("Procedure"), progress=moment_example(question)))

    def blind(self, question: Question) -> Question:
        """Return the question with an example of which nothing was done yet: its card shows the procedure as such."""
        known = moment_example(question)
        names = ("recording_id", "activity_id", "activity_name", "end", "video")
        same = {name: getattr(known, name) for name in names}
        bare = Example(id="", clip_id="", type="", state="started", noisy=False, **same)
        return msgspec.structs.replace(super().blind(question), facts=msgspec.to_builtins(bare))

    def slices(self, items: Sequence[Item]) -> Slices:
        """Return clean and noisy recordings, types in their usual order, and activities; what has no items is left out."""
        moments = [(item.id, msgspec.convert(item.question.facts, Example)) for item in items]
        found: dict[str, tuple[str, list[str]]] = {"all": ("all", [id_ for id_, _ in moments])}
        for id_, moment in sorted(moments, key=lambda pair: pair[1].noisy):
            found.setdefault("noisy" if moment.noisy else "clean", ("noise", []))[1].append(id_)
        types = {moment.type for _, moment in moments}
        for type_ in [*(t for t in QUESTION_TYPES if t in types), *sorted(types - {*QUESTION_TYPES})]:
            members = [id_ for id_, moment in moments if moment.type == type_]
            found[f"type={signature_part(type_)}"] = ("type", members)
        for activity in sorted({moment.activity_name for _, moment in moments}):
            members = [id_ for id_, moment in moments if moment.activity_name == activity]
            found[f"activity={signature_part(activity)}"] = ("activity", members)
        return found

    def seen(self, question: Question) -> str:
        """Return the hash of what people see, the steps performed so far included."""
        return moment_seen(question)

    def lines(self, question: Question, library: Library) -> tuple[Line, ...]:
        """Return the procedure, and what was done of it so far: ``done-1``, ``done-2`` … in order of time."""
        return (*super().lines(question, library), *_done(shown_moment(question, library).performed))

    def check(self, item: Item, library: Library) -> None:
        """Refuse an item whose activity has no task graph, or whose facts are none of a moment."""
        library.graph(item.question)
        try:
            moment_example(item.question)
        except msgspec.ValidationError as error:
            raise UserError(f"its facts are none of a moment: {error}.", where=item.id) from None

    def require(self, items: Sequence[Item], view: View, library: Library, model: str) -> None:  # noqa: ARG002
        """Refuse a clip where the provider takes no video."""
        require_takes(model, view)

    def views(self, items: Sequence[Item]) -> Sequence[str]:  # noqa: ARG002
        """Question and recipe."""
        return ("recipe",)

    def view(self, text: str, options: ViewOptions) -> View:
        """Return the view that a text such as ``frames:50@765p`` names; a part may be given once, there or beside it."""
        kind = next((known for known in VIEWS if known == text.strip()), None)
        if kind is None:
            height = None if options.height is None else f"{options.height}p"
            parts = (text, options.frames, height, options.sampling)
            return View.parse(":".join(str(p) for p in parts if p is not None), captioner=options.captioner)
        # Options that this kind of view does not have do no harm: scripts give the same ones to all.
        given: dict[str, Any] = {name: getattr(options, name) for name in ("frames", "height", "sampling")}
        given = {name: value for name, value in given.items() if value is not None}
        return View(kind=kind, captioner=options.captioner, **given)

    def floors(self, items: Sequence[Item]) -> Sequence[str]:
        """Three floors, and the bound that is told the annotations."""
        return FLOOR_NAMES if any(isinstance(item.question.form, Open) for item in items) else ()

    def fit(self, name: str, items: Sequence[Item], library: Library) -> Floor:
        """Return one of them."""
        from proctor.exam.floors import make_floor, moment_floor

        return moment_floor(make_floor(name, items), library.graphs)

    def markers(self, form: Form) -> Sequence[str]:
        """Rules that know the task graph, then the rubrics of judge models, the published one first."""
        if isinstance(form, Choice):
            return super().markers(form)
        from proctor.exam.kinds.moment_marker import Rubric, rubrics

        return tuple(dict.fromkeys(("rules", Rubric().name, *(rubric.name for rubric in rubrics()))))

    def marker(self, name: str) -> Marker | RuleMarker:
        """Return one of them."""
        from proctor.exam.kinds.moment_marker import RubricMarker, RulesMarker, rubrics

        if name == "rules":
            return RulesMarker()
        known = {rubric.name: rubric for rubric in rubrics()}
        return RubricMarker(known[name]) if name in known else super().marker(name)

    def parameters(self, form: Form) -> Parameters:  # noqa: ARG002
        """As published: greedy and short."""
        return PUBLISHED

    def exhibits(self, item: Item, view: View, library: Library) -> Exhibits:
        """Yield frames or the clip, smaller where they are too much; nothing for views without the recording."""
        if not view.sees_video:
            yield Exhibit()
            return
        footage = part_of(item.question, Footage)
        path = video_of(footage, view, library, item.id)
        end = footage.end if footage is not None else 0.0
        steps = step_times(moment_example(item.question)) if view.sampling == "steps" else ()
        details = {} if library.videos is None else {"video": library.videos.name(path)}

        def show(inner: View) -> Exhibit:
            if inner.kind == "video":
                clip = library.frames.clip(path, end, inner.height)
                return Exhibit((Shown(clip),), details | {"seconds": f"{clip.seconds:.2f}"})
            frames = shown_frames(library, path, end, inner, steps, where=item.id)
            numbers = {"frame_numbers": "second" if inner.sampling == "published" else "video"}
            pieces = tuple(Shown(f.image, time=f.time, number=f.number) for f in frames)
            return Exhibit(pieces, details | numbers)

        yield from ever_smaller(view, show)

    def talk(
        self,
        item: Item,
        turn: Turn,  # noqa: ARG002
        exhibit: Exhibit,
        view: View,
        library: Library,
        prompts: Prompts,
    ) -> Talk:
        """Ask once; for a Socratic system after each frame has been described, once for all questions that show it."""
        task = _task(item, library)
        captions: list[str] = []
        if view.kind == "captions":
            outcomes: tuple[Outcome, ...] = yield tuple(_describe(task, exhibit, prompts))
            if failed := [why for outcome in outcomes if (why := why_no_reply(outcome))]:
                code, _, message = failed[0].partition(": ")
                count = f"{len(failed)} of {len(outcomes)} frames could not be described"
                return Answer(failure=f"{code}: {count}, the first: {message}")
            captions = [outcome.text.strip() for outcome in outcomes if isinstance(outcome, Reply)]
        rendered = _rendered(task, exhibit, view, prompts, captions)
        media = () if view.kind == "captions" else exhibit.media
        outcome: Outcome = yield Call(
            messages=rendered.with_media(media) if media else rendered.messages, parameters=PUBLISHED
        )
        failure = why_no_reply(outcome)
        text = outcome.text.strip() if failure is None and isinstance(outcome, Reply) else None
        return Answer(text, failure, None if text is None else Text(text=text), rendered.details)


KIND: Final = _Moment()


def _done(performed: Sequence[Performed]) -> Iterable[Line]:
    for number, step in enumerate(performed, 1):
        time = (
            f"{step.start:.1f} to {step.end:.1f} s: "
            if step.start is not None and step.end is not None
            else ""
        )
        wrong = "; ".join(f"{m.kind}: {m.text}" if m.text else m.kind for m in step.mistakes)
        note = f" (went wrong: {wrong})" if wrong else ""
        yield Line(f"done-{number}", f"done, {time}{step.text}{note}")


def video_of(footage: Footage | None, view: View, library: Library, where: str) -> Path:
    """Return the video of a recording, the smallest that is as high as the view.

    Raises:
        UserError: if there is none.
    """
    path = None
    if footage is not None and library.videos is not None:
        path = library.videos.find(footage.recording, footage.video or None, height=view.height)
    if path is None:
        raise UserError(
            "the item has no video, so nothing of it can be shown.",
            where=where,
            hint="say where the videos are (--videos FOLDER), or show the recipe or the question only (--show recipe)",
        )
    return path


def shown_frames(
    library: Library,
    path: Path,
    end: float,
    view: View,
    steps: Sequence[tuple[float, float]] = (),
    *,
    where: str,
) -> tuple[ShownFrame, ...]:
    """Return the frames at the view's moments before ``end`` (seconds), each once, in order of time.

    They are counted from 0 in the video; for the published sampling they are called as in the published files.

    Args:
        library: that decodes them.
        path: of the video.
        end: seconds; nothing from then on is shown.
        view: how many frames, how high, at which moments.
        steps: start and end (seconds) of the performed steps, for views that look at these.
        where: the question, for messages.

    Raises:
        UserError: if nothing lies before ``end``, or the video cannot be read.
    """
    times = frame_times(view, end, steps)
    numbers = published_ids(times) if view.sampling == "published" else ()
    found = library.frames.at(path, times, view.height, before=end, numbers=numbers)
    if not found:
        raise UserError("the video shows nothing before the moment of the question.", where=where)
    once = {frame.time: frame for frame in found}
    return tuple(once[time] for time in sorted(once))


def step_times(example: Example) -> tuple[tuple[float, float], ...]:
    """Return start and end (seconds) of the performed steps whose times are known."""
    return tuple(
        (step.start, step.end)
        for step in example.performed
        if step.start is not None and step.end is not None
    )


def _describe(task: Task, exhibit: Exhibit, prompts: Prompts) -> Iterable[Call]:
    """Yield the calls that have each frame described."""
    rendered = caption_prompt(prompts.templates, prompts.secret, activity=task.activity_name)
    parameters = Parameters(temperature=0.0, max_tokens=CAPTION_TOKENS)
    for picture in exhibit.media:
        yield Call(
            messages=rendered.with_media([picture]),
            parameters=parameters,
            role="captioner",
            assume="…",
            shared=True,
        )


def _rendered(
    task: Task, exhibit: Exhibit, view: View, prompts: Prompts, captions: Sequence[str]
) -> Rendered:
    templates, secret = prompts.templates, prompts.secret
    if view.kind == "question":
        return question_prompt(task, templates, secret)
    if view.kind == "recipe":
        return recipe_prompt(task, templates, secret)
    if view.kind == "video":
        return video_prompt(task, templates, secret)
    times = [piece.time for piece in exhibit.pieces if piece.time is not None]
    numbers = [piece.number for piece in exhibit.pieces]
    if view.kind == "frames":
        return frames_prompt(task, templates, secret, times=times, numbers=numbers)
    return captions_prompt(task, templates, secret, captions=captions, times=times, numbers=numbers)


def _task(item: Item, library: Library) -> Task:
    question = item.question
    procedure, footage = part_of(question, Procedure), part_of(question, Footage)
    title = "" if procedure is None else procedure.title
    return Task(
        item.id, question.text, title, library.shown_graph(question), 0.0 if footage is None else footage.end
    )
