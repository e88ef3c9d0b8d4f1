"""Flat drawings of the things on the work surface, made of simple shapes in a box of 100 × 100 units.

A drawing is a function of a pen and a sprite. Containers declare the inside that liquid fills. Drawings are made
large and scaled down once, so that their edges are smooth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from proctor_rehearsal.drawing.scene import Sprite
from proctor_rehearsal.drawing.vocabulary import LIQUIDS

if TYPE_CHECKING:
    from PIL import Image as Pillow
    from PIL import ImageDraw

__all__ = ["SHAPES", "Pen", "draw_sprite"]

Colour = tuple[int, int, int] | tuple[int, int, int, int]

INK: Final = (52, 46, 44)
STEEL: Final = (186, 194, 202)
DARK: Final = (92, 100, 110)
GLASS: Final = (226, 240, 246, 170)
WHITE: Final = (250, 250, 246)
WOOD: Final = (206, 158, 102)
RED: Final = (206, 76, 60)
BLUE: Final = (74, 118, 176)
GREEN: Final = (96, 158, 88)
YELLOW: Final = (246, 206, 66)
BLACK: Final = (58, 58, 64)
COPPER: Final = (204, 128, 80)
CREAM: Final = (244, 228, 190)
_SMOOTH: Final = 3


class Pen:
    """Draw in units of a hundredth of the sprite's size."""

    def __init__(self, draw: ImageDraw.ImageDraw, scale: float) -> None:
        self._draw = draw
        self._scale = scale
        self._width = max(1, round(2.6 * scale))

    def _at(self, *numbers: float) -> list[float]:
        return [n * self._scale for n in numbers]

    def box(
        self,
        x0: float,
        y0: float,
        x1: float,
        y1: float,
        colour: Colour,
        *,
        radius: float = 0,
        ink: bool = True,
    ) -> None:
        """A rectangle, with round corners if wanted."""
        outline, width = (INK, self._width) if ink else (None, 0)
        self._draw.rounded_rectangle(self._at(x0, y0, x1, y1), radius * self._scale, colour, outline, width)

    def oval(
        self, x0: float, y0: float, x1: float, y1: float, colour: Colour | None, *, ink: bool = True
    ) -> None:
        """An ellipse in a box."""
        self._draw.ellipse(self._at(x0, y0, x1, y1), colour, INK if ink else None, self._width if ink else 0)

    def shape(self, *points: tuple[float, float], colour: Colour, ink: bool = True) -> None:
        """A polygon."""
        flat = [(x * self._scale, y * self._scale) for x, y in points]
        self._draw.polygon(flat, colour)
        if ink:
            self._draw.line([*flat, flat[0], flat[1]], INK, self._width, joint="curve")

    def line(self, *points: tuple[float, float], colour: Colour = INK, width: float = 2.6) -> None:
        """A line through points."""
        flat = [(x * self._scale, y * self._scale) for x, y in points]
        self._draw.line(flat, colour, max(1, round(width * self._scale)), joint="curve")

    def arc(
        self,
        x0: float,
        y0: float,
        x1: float,
        y1: float,
        start: float,
        end: float,
        *,
        colour: Colour = INK,
        width: float = 6,
    ) -> None:
        """A part of an ellipse, degrees clockwise from the right."""
        self._draw.arc(self._at(x0, y0, x1, y1), start, end, colour, max(1, round(width * self._scale)))


Drawing = Callable[[Pen], None]


@dataclass(frozen=True, slots=True)
class Shape:
    """How to draw a thing: what lies behind its liquid, what in front, and the inside (corners from top left)."""

    back: Drawing
    front: Drawing | None = None
    inside: (
        tuple[tuple[float, float], tuple[float, float], tuple[float, float], tuple[float, float]] | None
    ) = None
    top: float = 30.0


# -- containers ------------------------------------------------------------------------------------------------


def _vessel(points: Sequence[tuple[float, float]], colour: Colour = GLASS) -> Drawing:
    return lambda pen: pen.shape(*points, colour=colour)


def _jug_back(pen: Pen) -> None:
    pen.arc(62, 34, 96, 76, -90, 100, width=7)
    pen.shape((22, 16), (74, 16), (70, 96), (28, 96), colour=GLASS)
    pen.shape((22, 16), (12, 12), (30, 30), colour=GLASS)


def _jug_front(pen: Pen) -> None:
    for y in (40, 54, 68, 82):
        pen.line((34, y), (44, y), colour=DARK, width=1.6)


def _teapot_back(pen: Pen) -> None:
    pen.arc(66, 38, 100, 84, -100, 110, width=7)
    pen.shape((22, 62), (0, 36), (8, 32), (34, 46), colour=(214, 226, 232))
    pen.oval(16, 30, 84, 98, (226, 236, 240))


def _teapot_front(pen: Pen) -> None:
    pen.oval(32, 24, 68, 40, (204, 218, 226))
    pen.oval(44, 14, 56, 27, (204, 218, 226))


def _kettle_back(pen: Pen) -> None:
    pen.arc(20, 2, 80, 62, 185, 355, width=8)
    pen.shape((20, 60), (2, 38), (10, 34), (30, 46), colour=STEEL)
    pen.shape((26, 34), (74, 34), (86, 96), (14, 96), colour=STEEL)
    pen.oval(42, 26, 58, 38, BLACK)


def _cup_back(pen: Pen) -> None:
    pen.arc(66, 46, 96, 82, -90, 90, width=7)
    pen.shape((18, 36), (76, 36), (70, 96), (24, 96), colour=(246, 238, 226))


def _bowl_back(pen: Pen) -> None:
    pen.shape((4, 46), (96, 46), (80, 86), (66, 96), (34, 96), (20, 86), colour=(232, 238, 236))


def _dish_back(pen: Pen) -> None:
    pen.shape((2, 66), (98, 66), (88, 94), (12, 94), colour=GLASS)


def _tube_back(pen: Pen) -> None:
    pen.box(38, 8, 62, 98, GLASS, radius=12)
    pen.box(34, 6, 66, 14, GLASS, radius=3)


def _pot_back(pen: Pen) -> None:
    pen.box(0, 50, 16, 58, BLACK, radius=3)
    pen.box(84, 50, 100, 58, BLACK, radius=3)
    pen.box(12, 40, 88, 96, STEEL, radius=6)


def _pan_back(pen: Pen) -> None:
    pen.box(66, 68, 100, 77, BLACK, radius=4)
    pen.shape((2, 64), (74, 64), (66, 92), (10, 92), colour=DARK)


def _jar_back(pen: Pen) -> None:
    pen.box(22, 24, 78, 97, GLASS, radius=9)
    pen.box(26, 10, 74, 24, RED, radius=3)


def _bottle_back(pen: Pen) -> None:
    pen.shape((40, 8), (60, 8), (60, 32), (74, 46), (74, 97), (26, 97), (26, 46), (40, 32), colour=GLASS)
    pen.box(38, 2, 62, 12, RED, radius=2)


# -- tools -----------------------------------------------------------------------------------------------------


def _spoon(pen: Pen) -> None:
    pen.box(46, 4, 54, 70, STEEL, radius=4)
    pen.oval(35, 62, 65, 99, STEEL)


def _knife(pen: Pen) -> None:
    pen.box(43, 2, 57, 38, BLACK, radius=5)
    pen.shape((44, 38), (57, 38), (57, 98), (50, 92), (45, 76), colour=(214, 220, 226))


def _scissors(pen: Pen) -> None:
    pen.line((34, 34), (60, 98), colour=DARK, width=7)
    pen.line((66, 34), (40, 98), colour=STEEL, width=7)
    pen.oval(18, 6, 46, 40, None)
    pen.arc(18, 6, 46, 40, 0, 360, colour=RED, width=7)
    pen.arc(54, 6, 82, 40, 0, 360, colour=RED, width=7)
    pen.oval(46, 56, 54, 64, DARK)


def _hexkey(pen: Pen) -> None:
    pen.line((50, 98), (50, 20), (84, 20), colour=INK, width=13)
    pen.line((50, 96), (50, 20), (82, 20), colour=DARK, width=8)


def _pen(pen: Pen) -> None:
    pen.box(43, 4, 57, 78, BLUE, radius=4)
    pen.shape((43, 78), (57, 78), (50, 98), colour=CREAM)


def _fork(pen: Pen) -> None:
    pen.box(46, 40, 54, 98, STEEL, radius=4)
    for x in (36, 47, 58):
        pen.box(x, 4, x + 5, 34, STEEL, radius=2)
    pen.box(36, 30, 63, 44, STEEL, radius=6)


def _funnel(pen: Pen) -> None:
    pen.shape((6, 26), (94, 26), (58, 68), (58, 98), (42, 98), (42, 68), colour=(240, 240, 232))
    pen.line((26, 34), (48, 64), colour=STEEL, width=2)
    pen.line((74, 34), (52, 64), colour=STEEL, width=2)


# -- things ----------------------------------------------------------------------------------------------------


def _teabag(pen: Pen) -> None:
    pen.line((50, 44), (60, 16), (78, 10), width=2)
    pen.box(68, 2, 94, 20, RED, radius=2)
    pen.shape((30, 44), (70, 44), (78, 96), (22, 96), colour=CREAM)
    pen.box(32, 66, 68, 90, (150, 98, 58), radius=4, ink=False)


def _lemon(pen: Pen) -> None:
    pen.oval(2, 52, 20, 74, YELLOW)
    pen.oval(80, 52, 98, 74, YELLOW)
    pen.oval(8, 34, 92, 94, YELLOW)
    pen.arc(20, 42, 70, 80, 190, 260, colour=(255, 240, 160), width=5)


def _slice(pen: Pen) -> None:
    pen.oval(14, 26, 86, 98, YELLOW)
    pen.oval(22, 34, 78, 90, (255, 246, 196), ink=False)
    for x, y in ((50, 36), (76, 50), (76, 74), (50, 88), (24, 74), (24, 50)):
        pen.line((50, 62), (x, y), colour=YELLOW, width=3)


def _cube(pen: Pen) -> None:
    pen.shape((20, 46), (40, 30), (88, 30), (68, 46), colour=(236, 248, 255))
    pen.shape((68, 46), (88, 30), (88, 78), (68, 96), colour=(176, 214, 236))
    pen.shape((20, 46), (68, 46), (68, 96), (20, 96), colour=(210, 236, 250))


def _heap(pen: Pen) -> None:
    pen.shape((6, 96), (30, 62), (50, 48), (70, 62), (94, 96), colour=WHITE)
    for x, y in ((38, 76), (56, 66), (64, 84), (46, 88)):
        pen.oval(x, y, x + 4, y + 4, STEEL, ink=False)


def _leaf(pen: Pen) -> None:
    pen.shape((8, 92), (6, 52), (30, 24), (72, 20), (94, 48), (84, 86), (44, 98), colour=(146, 72, 138))
    for end in ((80, 38), (56, 28), (84, 66)):
        pen.line((14, 90), end, colour=(226, 188, 220), width=3)


def _pieces(pen: Pen) -> None:
    for x, y in ((8, 74), (30, 66), (54, 72), (74, 78), (20, 86), (44, 84), (64, 88), (40, 56)):
        pen.shape((x, y), (x + 16, y - 4), (x + 20, y + 9), (x + 5, y + 12), colour=(150, 78, 142))


def _paper(pen: Pen) -> None:
    pen.box(16, 26, 84, 96, WHITE, radius=2)
    pen.line((24, 40), (76, 40), colour=STEEL, width=1.5)


def _strip(pen: Pen) -> None:
    for x in (18, 36, 54, 72):
        pen.box(x, 24, x + 12, 97, WHITE, radius=1)


def _rack(pen: Pen) -> None:
    for x in (12, 30, 48, 66, 84):
        pen.box(x, 52, x + 4, 86, DARK, ink=False)
    pen.box(2, 48, 98, 56, STEEL, radius=3)
    pen.box(2, 82, 98, 92, STEEL, radius=3)


def _heater(pen: Pen) -> None:
    pen.box(4, 44, 96, 94, (236, 232, 224), radius=6)
    for x in (14, 30, 46, 62, 78):
        pen.box(x, 50, x + 8, 88, RED, radius=3)


def _base(pen: Pen) -> None:
    pen.oval(4, 68, 96, 98, BLACK)
    pen.box(10, 90, 90, 97, GREEN, radius=3, ink=False)
    pen.oval(4, 62, 96, 90, DARK)
    pen.oval(42, 70, 58, 78, INK)


def _pole(pen: Pen) -> None:
    pen.box(44, 2, 56, 92, STEEL, radius=5)
    pen.box(42, 88, 58, 98, DARK, radius=2)


def _arm(pen: Pen) -> None:
    pen.line((8, 92), (46, 40), (94, 24), colour=INK, width=14)
    pen.line((9, 91), (46, 40), (93, 25), colour=STEEL, width=9)
    pen.oval(38, 32, 54, 48, DARK)


def _shade(pen: Pen) -> None:
    pen.shape((36, 26), (64, 26), (94, 92), (6, 92), colour=RED)
    pen.box(40, 16, 60, 28, DARK, radius=2)


def _socket(pen: Pen) -> None:
    pen.box(30, 26, 70, 84, (236, 232, 222), radius=6)
    for y in (38, 50, 62):
        pen.line((31, y), (69, y), colour=STEEL, width=3)
    pen.box(40, 82, 60, 97, DARK, radius=3)


def _ring(pen: Pen) -> None:
    pen.arc(14, 44, 86, 96, 0, 360, colour=INK, width=17)
    pen.arc(16, 46, 84, 94, 0, 360, colour=COPPER, width=12)


def _cable(pen: Pen) -> None:
    pen.line((6, 90), (30, 70), (44, 88), (62, 60), (78, 70), (84, 40), colour=INK, width=8)
    pen.line((7, 89), (30, 70), (44, 88), (62, 60), (78, 70), (84, 42), colour=(94, 94, 102), width=4)
    pen.box(74, 16, 94, 42, WHITE, radius=4)
    pen.line((80, 16), (80, 6), colour=DARK, width=4)
    pen.line((88, 16), (88, 6), colour=DARK, width=4)


def _bulb(pen: Pen) -> None:
    pen.oval(20, 4, 80, 66, (255, 246, 206))
    pen.shape((36, 60), (64, 60), (60, 74), (40, 74), colour=(255, 246, 206))
    pen.box(38, 72, 62, 96, STEEL, radius=3)
    pen.line((38, 80), (62, 80), colour=DARK, width=2)
    pen.line((38, 88), (62, 88), colour=DARK, width=2)


def _joint(pen: Pen) -> None:
    pen.line((6, 94), (50, 62), colour=STEEL, width=16)
    pen.line((50, 62), (96, 74), colour=STEEL, width=16)
    pen.oval(24, 36, 76, 88, DARK)
    pen.shape((50, 48), (62, 55), (62, 69), (50, 76), (38, 69), (38, 55), colour=INK)


def _lamp(pen: Pen) -> None:
    pen.oval(18, 82, 82, 99, BLACK)
    pen.line((50, 88), (34, 50), (60, 22), colour=INK, width=9)
    pen.line((50, 88), (34, 50), (60, 22), colour=STEEL, width=5)
    pen.shape((50, 10), (72, 16), (88, 44), (50, 44), colour=RED)


def _screw(pen: Pen) -> None:
    pen.shape((42, 30), (58, 30), (55, 88), (50, 98), (45, 88), colour=STEEL)
    for y in (40, 52, 64, 76):
        pen.line((40, y + 4), (60, y), width=3)
    pen.box(30, 14, 70, 30, DARK, radius=5)


def _gear(pen: Pen) -> None:
    for x, y in ((50, 22), (78, 34), (88, 60), (78, 86), (50, 98), (22, 86), (12, 60), (22, 34)):
        pen.box(x - 8, y - 8, x + 8, y + 8, DARK, radius=2)
    pen.oval(18, 28, 82, 92, STEEL)
    pen.oval(40, 50, 60, 70, INK)


def _board(pen: Pen) -> None:
    pen.box(0, 80, 100, 98, WOOD, radius=4)


def _egg(pen: Pen) -> None:
    pen.oval(22, 26, 78, 97, (246, 226, 202))


def _round(pen: Pen) -> None:
    pen.oval(16, 30, 84, 97, RED)
    pen.line((50, 32), (50, 20), colour=GREEN, width=5)
    pen.line((40, 30), (60, 34), colour=GREEN, width=5)


def _flat(pen: Pen) -> None:
    pen.oval(2, 56, 98, 96, (232, 194, 134))
    pen.oval(14, 62, 86, 88, (246, 218, 166), ink=False)


def _box(pen: Pen) -> None:
    pen.shape((10, 44), (26, 30), (94, 30), (78, 44), colour=(226, 190, 142))
    pen.shape((78, 44), (94, 30), (94, 82), (78, 97), colour=(176, 132, 86))
    pen.shape((10, 44), (78, 44), (78, 97), (10, 97), colour=(206, 162, 110))


def _hand(pen: Pen) -> None:
    """A hand from above right, fingertips near (11, 11), its sleeve reaching the far corner."""
    sleeve, skin = (88, 116, 160), (232, 190, 158)
    pen.shape((29, 26), (37, 18), (100, 76), (86, 100), colour=sleeve)
    pen.shape((27, 27), (38, 17), (43, 22), (32, 33), colour=WHITE)
    pen.oval(14, 13, 38, 35, skin)
    tips = ((7, 15), (8, 9), (13, 6))
    for x, y in tips:
        pen.line((x, y), (23, 22), colour=INK, width=7)
        pen.oval(x - 3.5, y - 3.5, x + 3.5, y + 3.5, skin)
    for x, y in tips:
        pen.line((x, y), (23, 23), colour=skin, width=4.5)
    pen.oval(17, 15.5, 34, 31, skin, ink=False)


SHAPES: Final[dict[str, Shape]] = {
    "jug": Shape(_jug_back, _jug_front, ((23, 18), (73, 18), (69, 94), (29, 94)), 14),
    "teapot": Shape(_teapot_back, _teapot_front, ((22, 46), (78, 46), (66, 92), (34, 92)), 14),
    "kettle": Shape(_kettle_back, None, None, 2),
    "cup": Shape(_cup_back, None, ((24, 42), (70, 42), (66, 90), (28, 90)), 34),
    "beaker": Shape(_vessel(((20, 14), (80, 14), (76, 97), (24, 97))), _jug_front, ((22, 18), (78, 18), (75, 95), (25, 95)), 12),
    "bowl": Shape(_bowl_back, None, ((10, 50), (90, 50), (68, 92), (32, 92)), 44),
    "dish": Shape(_dish_back, None, ((5, 68), (95, 68), (87, 92), (13, 92)), 64),
    "tube": Shape(_tube_back, None, ((40, 16), (60, 16), (58, 95), (42, 95)), 4),
    "pot": Shape(_pot_back, None, ((15, 44), (85, 44), (84, 92), (16, 92)), 38),
    "pan": Shape(_pan_back, None, ((7, 68), (70, 68), (65, 89), (12, 89)), 62),
    "jar": Shape(_jar_back, None, ((25, 28), (75, 28), (74, 94), (26, 94)), 8),
    "bottle": Shape(_bottle_back, None, ((29, 48), (71, 48), (71, 94), (29, 94)), 2),
    **{
        name: Shape(drawing, None, None, top)
        for name, drawing, top in (
            ("spoon", _spoon, 4), ("knife", _knife, 4), ("scissors", _scissors, 6), ("hexkey", _hexkey, 14),
            ("pen", _pen, 4), ("fork", _fork, 4), ("funnel", _funnel, 24), ("teabag", _teabag, 4),
            ("lemon", _lemon, 34), ("slice", _slice, 26), ("cube", _cube, 30), ("heap", _heap, 48),
            ("leaf", _leaf, 20), ("pieces", _pieces, 54), ("paper", _paper, 26), ("strip", _strip, 24),
            ("rack", _rack, 48), ("heater", _heater, 44), ("base", _base, 62), ("pole", _pole, 2),
            ("arm", _arm, 22), ("shade", _shade, 16), ("socket", _socket, 26), ("ring", _ring, 44),
            ("cable", _cable, 8), ("bulb", _bulb, 4), ("joint", _joint, 36), ("lamp", _lamp, 10),
            ("screw", _screw, 14), ("gear", _gear, 16), ("board", _board, 80), ("egg", _egg, 26),
            ("round", _round, 20), ("flat", _flat, 56), ("box", _box, 30), ("hand", _hand, 10),
        )
    },
}  # fmt: skip


# -- sprites ---------------------------------------------------------------------------------------------------


def draw_sprite(
    sprite: Sprite, size: int, *, fill: float | None = None, blend: float = 0.0, gained: int = 0
) -> Pillow.Image:
    """Return a transparent image of ``size`` pixels square with the thing, its liquid and its contents.

    Args:
        sprite: what to draw.
        size: pixels.
        fill: how full, 0 to 1; None takes the sprite's.
        blend: how far its liquid has changed its colour, 0 to 1.
        gained: how many of the scene's gains are already in it.
    """
    from PIL import Image, ImageDraw

    scale = size * _SMOOTH / 100
    image = Image.new("RGBA", (size * _SMOOTH, size * _SMOOTH), (0, 0, 0, 0))
    pen = Pen(ImageDraw.Draw(image, "RGBA"), scale)
    shape = SHAPES.get(sprite.shape, SHAPES["box"])
    level = sprite.fill if fill is None else fill
    shape.back(pen)
    things = (sprite.contents + sprite.gains[:gained])[-8:]
    if shape.inside is None:
        _stack(image, things, size, shape.top)
    else:
        if level > 0:
            _pour_in(pen, shape.inside, level, _colour(sprite, blend))
        _lay_in(image, things, size, shape.inside)
    if shape.front is not None:
        shape.front(pen)
    if sprite.flipped:
        image = image.rotate(180)
    return image.resize((size, size), Image.Resampling.BOX)


@cache
def _icon(shape: str, size: int) -> Pillow.Image:
    return draw_sprite(Sprite(shape, ""), size)


def _colour(sprite: Sprite, blend: float) -> Colour:
    before = LIQUIDS.get(sprite.liquid, LIQUIDS["water"])
    after = LIQUIDS.get(sprite.liquid_after or sprite.liquid, before)
    r, g, b = (round(x + (y - x) * blend) for x, y in zip(before, after, strict=True))
    return r, g, b, 225


def _pour_in(pen: Pen, inside: Sequence[tuple[float, float]], level: float, colour: Colour) -> None:
    (x0, y0), (x1, _), (x2, y2), (x3, _) = inside
    share = min(1.0, level)
    top = y2 - (y2 - y0) * share
    left, right = x3 + (x0 - x3) * share, x2 + (x1 - x2) * share
    pen.shape((left, top), (right, top), (x2, y2), (x3, y2), colour=colour, ink=False)
    pen.line((left, top), (right, top), colour=(255, 255, 255, 150), width=2)


def _lay_in(
    image: Pillow.Image, things: Sequence[str], size: int, inside: Sequence[tuple[float, float]]
) -> None:
    """Draw what lies in a container, two rows from the bottom."""
    (_, y0), _, (x2, y2), (x3, _) = inside
    small = round(size * (0.3 if y2 - y0 > 40 else 0.22))
    room = x2 - x3
    for number, thing in enumerate(things):
        column, row = number % 3, number // 3
        x = (x3 + room * (column + 0.5) / 3) * size / 100 - small / 2
        y = (y2 - 2) * size / 100 - small * (0.9 + 0.62 * row)
        part = _icon(thing, small * _SMOOTH)
        image.alpha_composite(part, (max(0, round(x * _SMOOTH)), max(0, round(y * _SMOOTH))))


def _stack(image: Pillow.Image, things: Sequence[str], size: int, top: float) -> None:
    """Draw what was put on a thing without an inside: small, along its upper edge."""
    small = round(size * 0.42)
    for number, thing in enumerate(things[-4:]):
        x = size * (0.5 + 0.24 * (number - (min(4, len(things)) - 1) / 2)) - small / 2
        y = size * top / 100 - small * 0.62
        part = _icon(thing, small * _SMOOTH)
        place = (max(0, round(x * _SMOOTH)), max(0, round(y * _SMOOTH)))
        image.alpha_composite(part, place)
