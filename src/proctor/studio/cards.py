"""What is shown beside a question or a task: its parts, clips and pictures, and how they are sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from proctor.corpus.picture import PictureError, read_picture
from proctor.drawing.view import view_graph
from proctor.errors import MissingExtraError
from proctor.exam.kind import kind_named
from proctor.exam.question import Footage, part_of
from proctor.said import say
from proctor.studio.context import Studio, studio_of
from proctor.studio.language import translated
from proctor.studio.rendering import clock_text, problem
from proctor.studio.views import CardView

if TYPE_CHECKING:
    from fractions import Fraction
    from pathlib import Path

    from proctor.exam.question import Question
    from proctor.studio.clips import ClipState

__all__ = ["card_of", "clip_state", "picture_of", "send_clip", "send_picture", "send_sound"]


def card_of(studio: Studio, question: Question, address: str) -> CardView:
    """Return what is shown beside a question of any kind, under an address."""
    parts = kind_named(question.kind).card(question, studio.library)
    footage = next((part.footage for part in parts if part.footage is not None), None)
    clip = clip_state(studio, part_of(question, Footage)) if footage is not None else None
    moment = next((part.progress for part in parts if part.progress is not None), None)
    graphs = studio.library.graphs
    return CardView(
        address=address,
        parts=parts,
        span=_span(footage) if footage is not None else "",
        clip=clip.state if clip is not None else "",
        graph=view_graph(moment, graphs.get(moment.activity_id), studio.layouts, tell=translated)
        if moment
        else None,
    )


def _span(footage: Footage) -> str:
    if footage.start <= 0:
        return say("up to {end}", end=clock_text(footage.end))
    return say("from {start} to {end}", start=clock_text(footage.start), end=clock_text(footage.end))


def clip_state(
    studio: Studio, footage: Footage | None, *, rate: Fraction | None = None, urgent: bool = True
) -> ClipState | None:
    """Return where the clip of a recording stands and have it made, None when there is no recording.

    Args:
        studio: that cuts it.
        footage: of the recording.
        rate: its frames a second, where each frame has to be shown.
        urgent: somebody waits for it.
    """
    video = studio.find_video(footage) if footage is not None else None
    if footage is not None and video is None and footage.video in studio.awaited and studio.clips is not None:
        from proctor.studio.clips import ClipState

        return ClipState("making")
    if footage is None or video is None or studio.clips is None or footage.end <= footage.start:
        return None
    return studio.clips.ask(video, footage.end, footage.start, rate=rate, urgent=urgent)


def send_clip(
    request: Request, footage: Footage | None, ending: Literal["mp4", "jpg"], rate: Fraction | None = None
) -> Response:
    """Send the clip of a recording or its first picture; who may see it was asked before."""
    from proctor.studio.serving import Handover, send_file

    studio = studio_of(request)
    state = clip_state(studio, footage, rate=rate)
    if state is None or studio.clips is None:
        return problem(404, say("No recording"), say("There is no recording of this item on the server."))
    if state.clip is None:
        if state.state == "failed":
            return problem(
                404, say("No clip"), say("The clip could not be made: {reason}", reason=state.reason)
            )
        return problem(
            503,
            say("Not ready yet"),
            say("The clip is being cut."),
            headers={"Retry-After": "2"},
            share=state.progress,
        )
    kind, digest = (
        ("video/mp4", state.clip.sha256) if ending == "mp4" else ("image/jpeg", state.clip.poster_sha256)
    )
    name = f"{state.clip.key}.{ending}"
    accel = studio.settings.accel
    handover = Handover(accel) if accel is not None else None
    return send_file(request, studio.clips.folder, name, sha256=digest, media_type=kind, handover=handover)


async def send_picture(file: Path | None) -> Response:
    """Send a picture; who may see it was asked before.

    What is sent has been decoded, so it is a JPEG, PNG or WebP picture whatever the file is called.
    """
    if file is None:
        return problem(404, say("No picture"), say("There is no such picture."))
    try:
        found = await to_thread.run_sync(read_picture, file)
    except PictureError as error:  # where the file is and how it begins is nobody's business
        return problem(
            404,
            say("No picture"),
            say("It cannot be shown: {reason}.", reason=error.reason.replace("_", " ")),
        )
    except MissingExtraError as error:
        return problem(404, say("No picture"), say("It cannot be shown: {reason}", reason=error.message))
    headers = {
        "Cache-Control": "private, max-age=3600",
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
    return Response(found.data, headers=headers, media_type=found.mime)


_SOUNDS: Final = {
    ".wav": "audio/wav", ".mp3": "audio/mpeg", ".ogg": "audio/ogg", ".m4a": "audio/mp4", ".flac": "audio/flac",
}  # fmt: skip


def send_sound(request: Request, file: Path | None) -> Response:
    """Send a sound; who may hear it was asked before. It was read and named by its contents when it came into the workspace."""
    from proctor.studio.serving import find_file, send_file

    if file is None or file.suffix not in _SOUNDS or find_file(file.parent, file.name) is None:
        return problem(404, say("No sound"), say("There is no such sound."))
    kind = _SOUNDS[file.suffix]
    return send_file(request, file.parent, file.name, sha256=file.stem, media_type=kind)


def picture_of(studio: Studio, question: Question, number: int) -> Path | None:
    """Return the file of the picture of one part of a question's card; None where there is none."""
    parts = kind_named(question.kind).card(question, studio.library)
    return parts[number].picture if 0 <= number < len(parts) else None
