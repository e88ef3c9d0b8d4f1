"""The reviewer's pages of a round of ratings, blind to where its samples come from."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from proctor.studio.cards import card_of, picture_of, send_picture
from proctor.studio.context import Studio, desk_of, number_in, person_of, read, studio_of, text_in, write
from proctor.studio.pages.tasks import field_views
from proctor.studio.rendering import render, see_other, when_text
from proctor.studio.tasks import rate
from proctor.studio.views import Field, RatedRow, ReviewRow, ReviewView, SampleView
from proctor.verify.desk import reviews, rounds
from proctor.verify.desk.records import GoneError, InvalidError
from proctor.verify.desk.reviews import Rated, Reviewed
from proctor.verify.rounds.form import FormSheet, form_sheet
from proctor.verify.rounds.rate import KIND, RateOptions, options_of
from proctor.verify.rounds.records import Round

__all__ = ["ROUTES"]

_STATES: Final = {"complete": "done", "expired": "time ran out", "refused": "set aside", "open": "at work"}
_ROLES: Final = {"test": "test sample", "attention": "attention check"}


def _find(
    request: Request, connection: Connection
) -> tuple[Round, list[Reviewed], Reviewed | None, Rated | None]:
    """Return the round of the address, its batches, and the batch and the sample that it names."""
    round_ = rounds.find_round(connection, request.path_params["round"])
    if round_.kind != KIND.name:
        raise GoneError
    found, named = reviews.review_batches(connection, round_), request.path_params
    batch = next((r for r in found if r.batch.pid == named.get("batch")), None)
    one = next((one for one in batch.rated if one.assignment == named.get("sample")), None) if batch else None
    if ("batch" in named and batch is None) or ("sample" in named and one is None):
        raise GoneError
    return round_, found, batch, one


async def show_review(request: Request) -> Response:
    """Show the batches of a round, the ratings of one, or a sample in it with the form that corrects it."""
    return await _show(request)


async def _show(
    request: Request, error: InvalidError | None = None, sheet: FormSheet | None = None
) -> Response:
    round_, found, batch, one = await read(request, lambda c: _find(request, c))
    address = f"/rounds/{round_.pid}/review"
    errors = tuple(Field(name, text) for name, text in error.errors) if error else ()
    view = ReviewView(
        name=round_.name,
        address=f"{address}/{batch.batch.pid}" if batch else address,
        rows=tuple(_row(r, n, round_, address) for n, r in enumerate(found, 1) if batch in (None, r)),
        rated=_rated(batch, round_, address) if batch and not one else (),
        log=tuple(Field(f"{when_text(a.at)}, {a.by}: {a.action}", a.reason) for a in batch.actions) if batch else (),
        sample=_sample(studio_of(request), round_, one, f"{address}/{batch.batch.pid}", errors, sheet) if batch and one else None,
        errors=errors,
    )  # fmt: skip
    return render(request, "review", view, status=422 if error else 200)


def _row(r: Reviewed, number: int, round_: Round, address: str) -> ReviewRow:
    c, done = r.checks, {a.action for a in r.actions}
    advice = (
        "Look at it by hand"
        if c.needs_review
        else "Bonus paid"
        if "bonus" in done
        else "Bonus due"
        if c.has_bonus
        else ""
    )
    return ReviewRow(
        href=f"{address}/{r.batch.pid}",
        label=f"Batch {number}",
        state="accepted" if "accept" in done and r.batch.state != "refused" else _STATES[r.batch.state],
        rated=len(r.rated),
        minutes=round(r.minutes),
        attention=f"{c.attention - c.failed} of {c.attention}",
        tests=f"{c.right} of {c.tests}",
        advice=advice,
        corrected=sum(one.corrected is not None for one in r.rated),
        why_kept=c.why_kept(round_.settings),
        bonus=c.has_bonus and "bonus" not in done,
    )


def _rated(r: Reviewed, round_: Round, address: str) -> tuple[RatedRow, ...]:
    return tuple(
        RatedRow(
            href=f"{address}/{r.batch.pid}/{one.assignment}",
            question=one.body.question.text,
            check=f"{_ROLES[one.role]}: {'wrong in ' + ', '.join(one.failed) if one.failed else 'right'}" if one.role in _ROLES else "",
            values=_words(one.sheet, round_),
            corrected=_words(one.corrected, round_) if one.corrected else (),
        )
        for one in r.rated
    )  # fmt: skip


def _words(sheet: FormSheet, round_: Round) -> tuple[Field, ...]:
    values = ((f, sheet.values.get(f.name, "–")) for f in options_of(round_).fields)
    return tuple(
        Field(f.name, "; ".join(v) if isinstance(v, list) else f.choices.get(v, v)) for f, v in values
    )


def _sample(
    studio: Studio,
    round_: Round,
    one: Rated,
    address: str,
    errors: tuple[Field, ...],
    sheet: FormSheet | None,
) -> SampleView:
    options: RateOptions = options_of(round_)
    shown = sheet or one.corrected or one.sheet
    place = f"{address}/{one.assignment}"
    return SampleView(
        body=rate.view(studio, one.body, shown, options, place),
        card=card_of(studio, one.body.question, place),
        values=_words(one.sheet, round_),
        fields=field_views(options.fields, shown, errors),
        note=one.sheet.note,
    )


async def review(request: Request) -> Response:
    """Take in what a reviewer says of a batch, or corrects in it."""
    desk, person, form = desk_of(request), person_of(request), await request.form()
    action, reason = text_in(form, "action"), text_in(form, "reason")

    def act(connection: Connection) -> str:
        round_, _, batch, one = _find(request, connection)
        if batch is None:
            raise GoneError
        reviews.decide(
            desk, connection, round_, batch, person, action=action, reason=reason, one=one,
            sheet=form_sheet(options_of(round_).fields, form),
        )  # fmt: skip
        return f"/rounds/{round_.pid}/review/{batch.batch.pid}"

    try:
        return see_other(f"{await write(request, act)}?said=saved")
    except InvalidError as error:
        round_ = await read(request, lambda c: _find(request, c)[0])
        return await _show(request, error, form_sheet(options_of(round_).fields, form))


async def picture(request: Request) -> Response:
    """Send a picture of a sample's sources."""
    one = (await read(request, lambda c: _find(request, c)))[3]
    number = number_in(request.query_params.get("part", ""), -1)
    return await send_picture(
        picture_of(studio_of(request), one.body.question, number) if one and number >= 0 else None
    )


ROUTES: Final = (
    ("/rounds/{round}/review", "GET", show_review, "coordinator"),
    ("/rounds/{round}/review/{batch}", "GET", show_review, "coordinator"),
    ("/rounds/{round}/review/{batch}", "POST", review, "coordinator"),
    ("/rounds/{round}/review/{batch}/{sample}", "GET", show_review, "coordinator"),
    ("/rounds/{round}/review/{batch}/{sample}", "POST", review, "coordinator"),
    ("/rounds/{round}/review/{batch}/{sample}/picture", "GET", picture, "coordinator"),
)
"""Rows of the route table."""
