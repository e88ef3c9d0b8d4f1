"""The reviewer's pages of a round with checks: its batches, one batch, one sample. Nothing says where a sample comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from proctor.studio.cards import send_clip, send_picture, send_sound
from proctor.studio.context import desk_of, number_in, person_of, read, studio_of, text_in, write
from proctor.studio.pages.tasks import field_views, task_card, task_picture, task_sound
from proctor.studio.rendering import render, see_other
from proctor.studio.views import CardView, Field, FieldView
from proctor.verify.desk import reviews, rounds
from proctor.verify.desk.records import GoneError, InvalidError
from proctor.verify.desk.reviews import Rated, Reviewed
from proctor.verify.rounds.checked import CheckedKind, checked_kind, checked_options
from proctor.verify.rounds.form import Field as FormField
from proctor.verify.rounds.form import FormSheet, form_sheet
from proctor.verify.rounds.records import Round

__all__ = ["ROUTES"]


class ReviewView(NamedTuple):
    """``review``: the batches of a round, one of them, or one sample with what corrects it; ``kept``: why it cannot be set aside."""

    name: str
    address: str
    place: str
    batches: list[Reviewed]
    batch: Reviewed | None
    fields: Sequence[FormField]
    kept: str
    errors: tuple[Field, ...]
    sample: Rated | None = None
    body: object = None
    card: CardView | None = None
    form: tuple[FieldView, ...] = ()
    texts: Callable[[Any], Mapping[str, str]] = dict

    def read(self, one: Rated, sheet: FormSheet) -> tuple[FieldView, ...]:
        """Return the fields with what a sheet of a sample says; marks with their words."""
        return field_views(self.fields, sheet, texts=self.texts(one.body))


Found = tuple[Round, CheckedKind[Any, Any], list[Reviewed], Reviewed | None, Rated | None]


def _find(request: Request, connection: Connection) -> Found:
    """Return the round of the address, its batches, and the batch and the sample that it names."""
    named = request.path_params
    round_ = rounds.find_round(connection, named["round"])
    kind = checked_kind(round_)
    if kind is None:
        raise GoneError
    found = reviews.review_batches(connection, round_)
    batch = next((r for r in found if r.batch.pid == named.get("batch")), None)
    one = next((one for one in batch.rated if one.assignment == named.get("sample")), None) if batch else None
    if ("batch" in named and batch is None) or ("sample" in named and one is None):
        raise GoneError
    return round_, kind, found, batch, one


async def show_review(request: Request) -> Response:
    """Show the batches of a round, the ratings of one, or a sample in it with the form that corrects it."""
    return _shown(request, await read(request, lambda c: _find(request, c)))


def _shown(request: Request, found: Found, error: InvalidError | None = None, form: Any = None) -> Response:
    round_, kind, batches, batch, one = found
    options, address = checked_options(round_), f"/rounds/{round_.pid}/review"
    errors = tuple(Field(name, text) for name, text in error.errors) if error else ()
    place = f"{address}/{batch.batch.pid}" if batch else address
    view = ReviewView(name=round_.name, address=address, place=place, batches=batches, batch=batch,
                      fields=kind.fields(one.body if one else None, options), kept=batch.checks.why_kept(round_.settings) if batch else "", errors=errors,
                      texts=kind.texts)  # fmt: skip
    if one is not None:
        sheet = one.corrected or one.sheet if form is None else form_sheet(view.fields, form)
        card = task_card(studio_of(request), kind, one.body, f"{place}/{one.assignment}")
        form = field_views(view.fields, sheet, errors, kind.texts(one.body))
        view = view._replace(sample=one, body=kind.shown(one.body, options), card=card, form=form)
    return render(request, "review", view, status=422 if error else 200)


async def review(request: Request) -> Response:
    """Take in what a reviewer says of a batch, or corrects in it."""
    desk, person, form = desk_of(request), person_of(request), await request.form()
    action, reason = text_in(form, "action"), text_in(form, "reason")

    def act(connection: Connection) -> str:
        round_, _, _, batch, one = _find(request, connection)
        if batch is None:
            raise GoneError
        sheet = form_sheet(checked_options(round_).fields, form)
        reviews.decide(
            desk, connection, round_, batch, person, action=action, reason=reason, one=one, sheet=sheet
        )
        return f"/rounds/{round_.pid}/review/{batch.batch.pid}"

    try:
        return see_other(f"{await write(request, act)}?said=saved")
    except InvalidError as error:
        return _shown(request, await read(request, lambda c: _find(request, c)), error, form)


async def picture(request: Request) -> Response:
    """Send a picture of what is shown with a sample."""
    _, kind, _, _, one = await read(request, lambda c: _find(request, c))
    number = number_in(request.query_params.get("part", ""), 10_000)
    return await send_picture(task_picture(studio_of(request), kind, one.body, number) if one else None)


async def sound(request: Request) -> Response:
    """Send a sound of what is played with a sample."""
    _, kind, _, _, one = await read(request, lambda c: _find(request, c))
    number = number_in(request.query_params.get("part", ""), 10_000)
    return send_sound(request, task_sound(studio_of(request), kind, one.body, number) if one else None)


async def clip(request: Request) -> Response:
    """Send the recording of a sample."""
    _, kind, _, _, one = await read(request, lambda c: _find(request, c))
    return send_clip(request, kind.footage(one.body) if one else None, "mp4")


_BATCH: Final = "/rounds/{round}/review/{batch}"
ROUTES: Final = (
    ("/rounds/{round}/review", "GET", show_review, "coordinator"),
    *((f"{_BATCH}{sample}", *row) for sample in ("", "/{sample}") for row in (("GET", show_review, "coordinator"), ("POST", review, "coordinator"))),
    (f"{_BATCH}/{{sample}}/picture", "GET", picture, "coordinator"),
    (f"{_BATCH}/{{sample}}/sound", "GET", sound, "coordinator"),
    (f"{_BATCH}/{{sample}}/clip.mp4", "GET", clip, "coordinator"),
)  # fmt: skip
"""Rows of the route table."""
