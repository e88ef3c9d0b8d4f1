"""A kind from outside of the package: questions about one picture, with options or in words. It touches no file of Proctor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from proctor.corpus.picture import PictureError, read_picture
from proctor.errors import UserError
from proctor.exam.choice import parse_order, read_choice, rotations, shown_order, spell_order
from proctor.exam.kind import Answer, Call, Exhibit, Exhibits, Kind, Shown, Talk, TooMuch, Turn, ViewOptions
from proctor.exam.library import Library, Prompts
from proctor.exam.question import Choice, Item, Pick, Picture, Text, part_of
from proctor.llm.message import Image, Message, Parameters
from proctor.llm.message import Text as Said
from proctor.llm.outcome import Outcome, Reply
from proctor.metrics.choice.letters import LETTERS

SHOWN = ("picture", "question", "facts")
PARAMETERS = Parameters(temperature=0.0, max_tokens=60)


class PictureFacts(msgspec.Struct, frozen=True):
    """What the annotation says: shown under the privileged view alone."""

    seen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PictureView:
    """``picture``, ``question`` (blind), or ``facts``; circular asks every rotation of the options."""

    shows: str = "picture"
    circular: bool = False

    @property
    def label(self) -> str:
        return self.shows + (", circular" if self.circular else "")

    @property
    def privilege(self) -> str:
        return "what is in the picture" if self.shows == "facts" else ""

    @property
    def blind(self) -> bool:
        return self.shows != "picture"

    @property
    def details(self) -> Mapping[str, str]:
        return {"view": self.shows}


class Pictures(Kind[PictureView]):
    """Questions about one picture."""

    name = "picture"

    def check(self, item: Item, library: Library) -> None:
        if part_of(item.question, Picture) is None:
            raise UserError("the question has no picture.", where=item.id)

    def views(self, items: Sequence[Item]) -> Sequence[str]:
        return SHOWN

    def view(self, text: str, options: ViewOptions) -> PictureView:
        if text not in SHOWN:
            raise UserError(f"{text!r} is no view of a picture.", hint=", ".join(SHOWN))
        return PictureView(text, options.circular)

    def turns(self, item: Item, view: PictureView) -> Sequence[Turn]:
        form = item.question.form
        if not isinstance(form, Choice):
            return (Turn(),)
        orders = rotations(shown_order(item.id, len(form.options)))
        chosen = orders if view.circular else orders[:1]
        return tuple(
            Turn(str(n), {"order": spell_order(o), "rotation": str(n)}) for n, o in enumerate(chosen)
        )

    def exhibits(self, item: Item, view: PictureView, library: Library) -> Exhibits:
        if view.shows != "picture":
            yield Exhibit()
            return
        picture = part_of(item.question, Picture)
        assert picture is not None
        try:
            read = read_picture(library.root / picture.path)
        except PictureError as error:
            raise UserError(f"the picture cannot be read ({error.reason}).", where=picture.path) from None
        image = Image(library.media.add(read.data), read.mime, read.width, read.height)
        much: TooMuch = yield Exhibit((Shown(image),), {"picture": picture.path})
        if picture.caption:  # what is too large for the provider is shown in words
            what = "; ".join(str(excess) for excess in much.excess)
            yield Exhibit((Shown(text=picture.caption),), {"shrunk": f"picture → caption ({what})"})

    def talk(
        self, item: Item, turn: Turn, exhibit: Exhibit, view: PictureView, library: Library, prompts: Prompts
    ) -> Talk:
        form = item.question.form
        options = form.options if isinstance(form, Choice) else ()
        order = parse_order(turn.details.get("order", ""), len(options)) or ()
        lines = [item.question.text, *(f"({LETTERS[n]}) {options[i]}" for n, i in enumerate(order))]
        lines += [piece.text for piece in exhibit.pieces if piece.text]
        if view.shows == "facts":
            lines += msgspec.convert(item.question.facts, PictureFacts).seen
        said = Message("user", (Said("\n".join(lines)), *exhibit.media))
        outcome: Outcome = yield Call(messages=(said,), parameters=PARAMETERS)
        if not isinstance(outcome, Reply):
            return Answer(failure=f"{type(outcome).__name__.lower()}: no reply")
        if not options:
            return Answer(outcome.text.strip(), None, Text(text=outcome.text.strip()))
        right = next(LETTERS[g.value.option] for g in item.golds if isinstance(g.value, Pick))
        read = read_choice(outcome.text, options, right, order)
        value = None if read.printed is None else Pick(option=LETTERS.index(read.printed))
        return Answer(outcome.text.strip(), None, value, {"letter": read.printed or "", "rule": read.rule})


KIND = Pictures()
