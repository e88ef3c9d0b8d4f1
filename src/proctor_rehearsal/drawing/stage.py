"""Play scenes: one still picture for any moment.

A shelf with everything of the recording stands at the back; whatever the scene is about lies in front, with a hand
that does it. A clock runs above, a bar below. All movement is a function of the moment alone.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from proctor.errors import MissingExtraError
from proctor_rehearsal.drawing.scene import Scene, Sprite
from proctor_rehearsal.drawing.shapes import draw_sprite

if TYPE_CHECKING:
    from PIL import Image as Pillow
    from PIL import ImageDraw, ImageFont

__all__ = ["Stage"]

_BAR: Final = 24
_SHELF: Final = 98
_ON_SHELF: Final = 44
_TARGET: Final = 116
_MOVED: Final = 88
_TOOL: Final = 92
_TARGET_X: Final = 286
_TABLE_Y: Final = 242
_MOVED_X: Final = 120
_TURN: Final = 6
"""Degrees to which turned drawings are rounded, so that few of them are made."""
_WALLS: Final = ((214, 226, 226), (232, 224, 206), (220, 216, 232), (216, 230, 212))
_TABLES: Final = ((205, 170, 125), (188, 146, 104), (176, 182, 188), (222, 200, 164))
_WARMTH: Final = {"hot": (222, 70, 50), "warm": (236, 150, 60), "cold": (60, 130, 210)}


@dataclass(frozen=True, slots=True)
class _Pose:
    """Where a drawing's middle bottom stands, in pixels, how big it is and how far it is turned (degrees)."""

    x: float
    y: float
    size: int
    turn: float = 0.0


@dataclass(frozen=True, slots=True)
class _Moment:
    """A scene at a moment: how far the scene has come (0–1), how far its deed, and which round of it."""

    scene: Scene
    seconds: float
    share: float
    deed: float
    round: int
    within: float


class Stage:
    """Draw scenes in a picture of 480 × 270, scaled to the wanted size.

    Args:
        scenes: in order of time.
        duration: seconds of the recording, for the clock and the bar.
        seed: chooses wall, table and small differences in place.
    """

    def __init__(self, scenes: Sequence[Scene], duration: float, seed: int) -> None:
        self._scenes = tuple(scenes)
        self._duration = duration
        rng = random.Random(seed)  # noqa: S311 - looks, not secrets
        self._wall, self._table = rng.choice(_WALLS), rng.choice(_TABLES)
        self._grain = [(rng.uniform(112, 264), rng.randint(0, 480), rng.randint(60, 260)) for _ in range(26)]
        self._drawn: dict[tuple[object, ...], Pillow.Image] = {}
        self._backs: dict[Scene, Pillow.Image] = {}

    def picture(self, time: float) -> Pillow.Image:
        """Return what is seen at a moment (RGB, 480 × 270)."""
        scene = self._scene_at(time)
        image = self._back(scene).copy()
        draw = _draw(image)
        if scene is not None:
            self._play(image, draw, _moment(scene, time))
        self._clock(draw, time)
        return image

    def _scene_at(self, time: float) -> Scene | None:
        return next((s for s in self._scenes if s.start <= time < s.end), None)

    # what stands still

    def _back(self, scene: Scene | None) -> Pillow.Image:
        key = scene if scene is not None else Scene(0, 0, "")
        if key not in self._backs:
            self._backs = {key: self._paint_back(key)}
        return self._backs[key]

    def _paint_back(self, scene: Scene) -> Pillow.Image:
        from PIL import Image

        image = Image.new("RGB", (480, 270), self._wall)
        draw = _draw(image)
        r, g, b = self._table
        for row in range(_SHELF + 12, 270, 4):
            shade = 1.04 - 0.16 * (row - _SHELF) / 170
            draw.rectangle([0, row, 480, row + 3], (int(r * shade), int(g * shade), int(b * shade)))
        for line, x, length in self._grain:
            draw.line([(x, line), (x + length, line)], (int(r * 0.92), int(g * 0.92), int(b * 0.92)))
        draw.rectangle([0, _SHELF, 480, _SHELF + 11], (150, 112, 76))
        draw.line([(0, _SHELF), (480, _SHELF)], (118, 86, 58))
        self._fill_shelf(image, draw, [a for a in scene.actors if a.role == "around"])
        draw.rectangle([0, 0, 480, _BAR - 1], (44, 48, 56))
        draw.text((8, 5), _plain(scene.title, 42), (240, 240, 236), _font(13))
        if scene.caption:
            draw.text((8, 252), _plain(scene.caption, 70), (40, 36, 32), _font(11))
        return image

    def _fill_shelf(self, image: Pillow.Image, draw: ImageDraw.ImageDraw, things: Sequence[Sprite]) -> None:
        room = 472 / max(8, len(things))
        size = min(_ON_SHELF, round(room - 2))
        for number, thing in enumerate(things[:24]):
            x = 6 + room * (number + 0.5)
            self._place(image, self._thing(thing, size), _Pose(x, _SHELF, size))
            _label(draw, x, _SHELF + 1, thing.label, room, (252, 244, 230), 9)

    # what happens

    def _play(self, image: Pillow.Image, draw: ImageDraw.ImageDraw, now: _Moment) -> None:
        role = {a.role: a for a in now.scene.actors if a.role != "around"}
        target, moved, tool = role.get("target"), role.get("moved"), role.get("tool")
        if target is not None:
            self._show_target(image, draw, target, now)
        if now.scene.action == "idle":
            self._hand(image, 452, 292)
            return
        if (through := role.get("through")) is not None:
            self._place(image, self._thing(through, 64), _Pose(_TARGET_X - 20, _TABLE_Y - 34, 64))
            _label(draw, _TARGET_X + 44, _TABLE_Y - 88, through.label, 80, (40, 36, 32), 10)
        if now.scene.action == "wait":
            self._dial(draw, now)
            self._hand(image, 440, 286)
            return
        actor = tool if tool is not None and (moved is None or now.scene.action in ("put", "turn")) else moved
        spoon = tool is not None and moved is not None and now.scene.action == "put"
        if spoon and moved is not None:
            self._place(image, self._thing(moved, _MOVED), _Pose(_MOVED_X, _TABLE_Y, _MOVED))
            _label(draw, _MOVED_X, _TABLE_Y + 1, moved.label, 120, (40, 36, 32), 11)
        if actor is None:
            self._bare_hand(image, draw, target, now)
            return
        self._act(image, draw, actor, target, now, carries=moved if spoon else None)

    def _show_target(
        self, image: Pillow.Image, draw: ImageDraw.ImageDraw, target: Sprite, now: _Moment
    ) -> None:
        scene = now.scene
        fill = target.fill + (target.fill_after - target.fill) * now.deed
        gained = _gained(target, now)
        lit = target.mark == "on" and (scene.action != "switch" or now.deed > 0.5)
        if lit:
            draw.ellipse([_TARGET_X - 88, _TABLE_Y - 150, _TARGET_X + 88, _TABLE_Y + 8], (255, 240, 170))
        _shadow(draw, _TARGET_X, _TABLE_Y, _TARGET)
        if scene.action in ("cut", "tear") and now.deed > 0:
            self._pieces(image, target, now)
        else:
            look = self._thing(target, _TARGET, fill=_coarse(fill), blend=_coarse(now.deed), gained=gained)
            shake = 1.5 * math.sin(40 * now.deed) if scene.action == "press" and 0.3 < now.within < 0.6 else 0
            self._place(image, look, _Pose(_TARGET_X + shake, _TABLE_Y, _TARGET))
        if target.mark and target.mark != "on" and (scene.action != "write" or now.deed > 0):
            shown = (
                target.mark
                if scene.action != "write"
                else target.mark[: math.ceil(len(target.mark) * now.deed)]
            )
            _note(draw, _TARGET_X, _TABLE_Y - 64, shown)
        _label(draw, _TARGET_X, _TABLE_Y + 1, target.label, 150, (40, 36, 32), 11)
        if target.warmth in _WARMTH and fill > 0.02:
            _thermometer(draw, _TARGET_X + 76, _TABLE_Y - 60, target.warmth)
            if target.warmth == "hot":
                _steam(draw, _TARGET_X, _TABLE_Y - _TARGET, now.seconds)
        if scene.unit and now.deed > 0:
            amount = (
                f"{scene.count * now.deed:.0f} {scene.unit}"
                if scene.count >= 1
                else f"{scene.count:g} {scene.unit}"
            )
            _scale(draw, _TARGET_X + 128, _TABLE_Y - 24, amount)

    def _act(
        self,
        image: Pillow.Image,
        draw: ImageDraw.ImageDraw,
        actor: Sprite,
        target: Sprite | None,
        now: _Moment,
        *,
        carries: Sprite | None,
    ) -> None:
        pose = _pose(actor, target, now)
        fill = actor.fill + (actor.fill_after - actor.fill) * now.deed
        if now.scene.action == "pour" and 0.08 < now.deed < 0.97:
            _stream(draw, actor, target, now.seconds)
        if "dropped" in now.scene.style and now.scene.action in ("put", "press") and now.round == 0:
            pose = _dropped(pose, now)
        if not _gone_into(now, target):
            self._place(image, self._held(actor, pose, _coarse(fill), now), pose)
            if pose.y > _TABLE_Y - 4 and not (carries or pose.x > 200):
                _label(draw, pose.x, _TABLE_Y + 1, actor.label, 120, (40, 36, 32), 11)
        if carries is not None and 0.3 < now.within < 0.62:
            self._place(image, self._thing(carries, 24), _Pose(pose.x, pose.y - 2, 24))
        if now.scene.action == "turn":
            _turning(draw, pose, now)
        if "click" in now.scene.style and 0.55 < now.within < 0.75:
            _burst(draw, _TARGET_X, _TABLE_Y - 70)
        if now.scene.action == "pour":  # from the left, to leave the stream and the target in view
            self._hand(image, pose.x - pose.size * 0.3, pose.y - pose.size * 0.4, mirrored=True)
        else:
            self._hand(image, pose.x + pose.size * 0.2, pose.y - pose.size * 0.62)

    def _held(self, actor: Sprite, pose: _Pose, fill: float, now: _Moment) -> Pillow.Image:
        if now.scene.action != "pour":
            return self._thing(actor, pose.size, fill=fill, turn=pose.turn)
        from PIL import Image

        # spouts are drawn on the left, and pouring goes to the right
        mirrored = self._thing(actor, pose.size, fill=fill, turn=-pose.turn)
        return mirrored.transpose(Image.Transpose.FLIP_LEFT_RIGHT)

    def _bare_hand(
        self, image: Pillow.Image, draw: ImageDraw.ImageDraw, target: Sprite | None, now: _Moment
    ) -> None:
        swing = math.sin(2 * math.pi * now.within)
        x, y = _TARGET_X + 10.0, _TABLE_Y - 50.0
        if now.scene.action == "tear":
            x += 26 * abs(swing)
        elif now.scene.action == "read":
            x, y = x + 30 * swing, y - 30
            draw.ellipse([x - 30, y - 6, x + 14, y + 38], None, (60, 64, 72), 4)
        elif target is not None:
            y += 14 * swing
        self._hand(image, x, y)

    def _pieces(self, image: Pillow.Image, target: Sprite, now: _Moment) -> None:
        """What is cut comes apart: into few thick, many thin, or counted pieces."""
        count = 3 if "coarse" in now.scene.style else 9 if "fine" in now.scene.style else 6
        if target.shape in ("paper", "strip"):
            count = max(2, min(12, round(now.scene.count)))
        self._place(image, self._thing(Sprite("board", ""), 150), _Pose(_TARGET_X, _TABLE_Y + 2, 150))
        whole = self._thing(target, 100)
        ragged = now.scene.action == "tear"
        done = min(count - 1, int(now.deed * count))
        width = 100 / count
        left = _TARGET_X - 50 - 3.0 * done
        for number in range(count):
            part = whole.crop((round(number * width), 0, round((number + 1) * width), 100))
            if ragged:
                part = part.rotate(4 if number % 2 else -5, expand=True)
            x = left + number * width + 6.0 * min(number, done)
            y = _TABLE_Y - 108 + (4 if ragged and number % 2 else 0)
            image.paste(part, (round(x), round(y)), part)

    # parts

    def _thing(
        self,
        sprite: Sprite,
        size: int,
        *,
        fill: float | None = None,
        blend: float = 0.0,
        gained: int = 0,
        turn: float = 0.0,
    ) -> Pillow.Image:
        turn = round(turn / _TURN) * _TURN % 360
        key = (sprite, size, fill, blend, gained, turn)
        if key not in self._drawn:
            if turn:
                from PIL import Image

                straight = self._thing(sprite, size, fill=fill, blend=blend, gained=gained)
                self._drawn[key] = straight.rotate(turn, Image.Resampling.BICUBIC, expand=True)
            else:
                self._drawn[key] = draw_sprite(sprite, size, fill=fill, blend=blend, gained=gained)
        return self._drawn[key]

    def _place(self, image: Pillow.Image, thing: Pillow.Image, pose: _Pose) -> None:
        # a turned drawing is larger than its box: keep the middle of the box in place
        x, y = pose.x - thing.width / 2, pose.y - pose.size / 2 - thing.height / 2
        image.paste(thing, (round(x), round(y)), thing)

    def _hand(self, image: Pillow.Image, x: float, y: float, *, mirrored: bool = False) -> None:
        from PIL import Image

        hand = self._thing(Sprite("hand", ""), 192)
        if mirrored:
            hand = hand.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        image.paste(hand, (round(x) - (174 if mirrored else 18), round(y) - 18), hand)

    def _dial(self, draw: ImageDraw.ImageDraw, now: _Moment) -> None:
        x, y, radius = 130, 186, 48
        draw.ellipse([x - radius, y - radius, x + radius, y + radius], (250, 250, 246), (52, 46, 44), 4)
        for mark in range(12):
            sin, cos = math.sin(mark * math.pi / 6), math.cos(mark * math.pi / 6)
            draw.line([(x + 38 * sin, y - 38 * cos), (x + 43 * sin, y - 43 * cos)], (52, 46, 44), 2)
        draw.pieslice([x - 36, y - 36, x + 36, y + 36], -90, -90 + now.seconds * 6, (250, 204, 120))
        angle = now.seconds * math.pi / 30
        draw.line([(x, y), (x + 36 * math.sin(angle), y - 36 * math.cos(angle))], (196, 60, 46), 3)
        draw.ellipse([x - 4, y - 4, x + 4, y + 4], (52, 46, 44))
        _scale(draw, x, y + 52, f"{int(now.seconds)} s")

    def _clock(self, draw: ImageDraw.ImageDraw, time: float) -> None:
        text = f"{_minutes(time)} / {_minutes(self._duration)}"
        font = _font(13)
        draw.text((472 - draw.textlength(text, font), 5), text, (250, 214, 120), font)
        draw.rectangle([0, 266, 480, 270], (70, 66, 62))
        draw.rectangle([0, 266, round(480 * min(1.0, time / max(self._duration, 1e-9))), 270], (250, 190, 80))


# -- movement --------------------------------------------------------------------------------------------------


def _moment(scene: Scene, time: float) -> _Moment:
    length = scene.end - scene.start
    share = min(1.0, max(0.0, (time - scene.start) / length))
    rounds = _rounds(scene)
    deed = 1.0 if share > 0.92 else max(0.0, (share - 0.08) / 0.84)
    number = min(rounds - 1, int(deed * rounds))
    return _Moment(scene, time - scene.start, share, deed, number, min(1.0, deed * rounds - number))


def _rounds(scene: Scene) -> int:
    """How often the hand goes: once for each spoon, cube, turn; at an even pace where nothing is counted."""
    length = scene.end - scene.start
    if scene.action in ("put", "turn") and not scene.unit:
        return max(1, min(12, round(scene.count)))
    if scene.action in ("cut", "tear", "stir", "read", "write"):
        return max(2, round(length / 0.9))
    if scene.action == "press":
        return 2
    return 1


def _gained(target: Sprite, now: _Moment) -> int:
    if not target.gains:
        return 0
    rounds = _rounds(now.scene)
    done = now.deed * rounds + 0.35 if now.deed < 1 else rounds
    return min(len(target.gains), int(len(target.gains) * int(done) / rounds))


def _gone_into(now: _Moment, target: Sprite | None) -> bool:
    """True while a thing that was put or fixed is already drawn as part of its target."""
    if target is None or not target.gains or any(a.role == "tool" for a in now.scene.actors):
        return False
    return _gained(target, now) > now.round


def _coarse(share: float) -> float:
    """Round to steps that the eye does not see, so that few drawings are made."""
    return round(share * 16) / 16


def _ease(x: float) -> float:
    x = min(1.0, max(0.0, x))
    return x * x * (3 - 2 * x)


def _pose(actor: Sprite, target: Sprite | None, now: _Moment) -> _Pose:
    """Return where the moving thing is: it comes from the left, does its deed at the target and goes back."""
    action, style, p = now.scene.action, now.scene.style, now.within
    goal_x = float(_TARGET_X)
    tilt = 28.0 if "crooked" in style else 180.0 if "flipped" in style else 0.0
    if target is None:
        go = _ease(p / 0.6)
        lift = 46 * math.sin(math.pi * go)
        return _Pose(_MOVED_X + (goal_x - _MOVED_X) * go, _TABLE_Y - lift, 108, tilt * _ease(p / 0.4))
    if action == "pour":
        return _pouring(now)
    if action == "stir":
        angle = 2 * math.pi * p
        return _Pose(
            goal_x + 20 * math.cos(angle), _TABLE_Y - 40 + 6 * math.sin(angle), _TOOL, 12 * math.cos(angle)
        )
    if action == "cut":
        x = goal_x - 44 + 88 * now.deed
        return _Pose(x, _TABLE_Y - 24 - 40 * abs(math.cos(math.pi * p)), _TOOL)
    if action == "write":
        return _Pose(goal_x - 20 + 46 * now.deed, _TABLE_Y - 46 + 4 * math.sin(20 * p), _TOOL - 20, -24)
    if action == "dip":
        depth = (26 if "half" in style else 58) * _ease(min(p / 0.3, (1 - p) / 0.3))
        return _Pose(goal_x, _TABLE_Y - 84 + depth, 62)
    if action in ("turn", "press"):
        return _fixing(actor, now, tilt)
    go = _ease(p / 0.45) if p < 0.65 else 1 - _ease((p - 0.65) / 0.35)
    lift = 78 * math.sin(math.pi * min(1.0, go) * 0.62)
    size = _TOOL if actor.role == "tool" else _carried(actor)
    return _Pose(_MOVED_X + (goal_x - _MOVED_X) * go, _TABLE_Y - 4 - lift, size, tilt)


def _carried(actor: Sprite) -> int:
    return (
        56
        if actor.shape in ("cube", "slice", "teabag", "pieces", "heap", "leaf", "strip", "ring")
        else _MOVED
    )


def _pouring(now: _Moment) -> _Pose:
    go = _ease(min(now.deed / 0.08, (1 - now.deed) / 0.03 if now.deed > 0.9 else 1.0))
    x = _MOVED_X + (_TARGET_X - 74 - _MOVED_X) * go
    return _Pose(x, _TABLE_Y - 92 * go, _MOVED, -48 * go)


def _fixing(actor: Sprite, now: _Moment, tilt: float) -> _Pose:
    """Screwing goes round and sinks in; pressing goes down twice. A key stands beside and turns."""
    coming = _ease(now.share / 0.12)
    turn = 0.0
    if now.scene.action == "turn":
        way = 1 if "reverse" in now.scene.style else -1
        swing = 360 * now.within if actor.role == "tool" else 24 * math.sin(2 * math.pi * now.within)
        turn = way * swing * coming + tilt
        sink = 30 * (1 - now.deed if "reverse" in now.scene.style else now.deed)
    else:
        sink = 26 * math.sin(math.pi * now.within)
    x = _MOVED_X + (_TARGET_X + (14 if tilt else 0) - _MOVED_X) * coming
    size = 64 if actor.role == "tool" else 70
    return _Pose(x, _TABLE_Y - 96 * coming + sink * coming, size, turn)


def _dropped(pose: _Pose, now: _Moment) -> _Pose:
    """The thing slips from the hand on its way, lies on the table, and is picked up again."""
    if not 0.12 < now.within < 0.42:
        return pose
    fallen = _ease((now.within - 0.12) / 0.08)
    return _Pose(190, pose.y + (_TABLE_Y + 14 - pose.y) * fallen, pose.size, 70 * fallen)


# -- marks -----------------------------------------------------------------------------------------------------


def _stream(draw: ImageDraw.ImageDraw, actor: Sprite, target: Sprite | None, seconds: float) -> None:
    from proctor_rehearsal.drawing.vocabulary import LIQUIDS

    colour = LIQUIDS.get(actor.liquid, LIQUIDS["water"])
    x, top = _TARGET_X - 30, _TABLE_Y - 112
    bottom = _TABLE_Y - 14 if target is not None else _TABLE_Y
    draw.line([(x - 10, top - 6), (x, top), (x + 8, top + 18), (x + 9, bottom)], colour, 7, joint="curve")
    drop = (seconds * 3) % 1
    y = top + 20 + (bottom - top - 24) * drop
    draw.ellipse([x + 6, y, x + 12, y + 8], (255, 255, 255))


def _steam(draw: ImageDraw.ImageDraw, x: float, y: float, seconds: float) -> None:
    for column in (-22, 0, 22):
        rise = (seconds * 0.5 + column / 60) % 1
        points = [(x + column + 4 * math.sin(k + 6 * rise), y + 22 - 26 * rise - 4 * k) for k in range(5)]
        draw.line(points, (250, 250, 250), 3, joint="curve")


def _thermometer(draw: ImageDraw.ImageDraw, x: float, y: float, warmth: str) -> None:
    colour = _WARMTH[warmth]
    height = {"hot": 40, "warm": 22, "cold": 8}[warmth]
    draw.rounded_rectangle([x - 5, y - 48, x + 5, y + 4], 5, (250, 250, 246), (52, 46, 44), 2)
    draw.rectangle([x - 2, y - height, x + 2, y + 4], colour)
    draw.ellipse([x - 9, y, x + 9, y + 18], colour, (52, 46, 44), 2)


def _turning(draw: ImageDraw.ImageDraw, pose: _Pose, now: _Moment) -> None:
    back = "reverse" in now.scene.style
    x, y = pose.x, pose.y - pose.size / 2
    start = -60 - 360 * now.within if back else -60 + 360 * now.within
    draw.arc([x - 48, y - 14, x + 48, y + 14], start, start + 200, (250, 196, 80), 4)
    for mark in range(now.round + 1):
        left, top = _TARGET_X - 180 + 16 * (mark % 4), 214 + 16 * (mark // 4)
        draw.ellipse([left, top, left + 11, top + 11], (250, 196, 80), (52, 46, 44))


def _burst(draw: ImageDraw.ImageDraw, x: float, y: float) -> None:
    for ray in range(10):
        sin, cos = math.sin(ray * math.pi / 5), math.cos(ray * math.pi / 5)
        draw.line([(x + 40 * sin, y + 30 * cos), (x + 58 * sin, y + 44 * cos)], (250, 196, 60), 4)


def _scale(draw: ImageDraw.ImageDraw, x: float, y: float, text: str) -> None:
    font = _font(15)
    half = draw.textlength(text, font) / 2 + 8
    draw.rounded_rectangle([x - half, y, x + half, y + 22], 4, (40, 48, 44), (20, 22, 22), 2)
    draw.text((x - half + 8, y + 2), text, (150, 240, 170), font)


def _note(draw: ImageDraw.ImageDraw, x: float, y: float, text: str) -> None:
    font = _font(14)
    half = max(18.0, draw.textlength(text, font) / 2 + 5)
    draw.rectangle([x - half, y, x + half, y + 20], (255, 252, 236), (52, 46, 44), 1)
    draw.text((x - half + 5, y + 1), text, (30, 60, 130), font)


def _shadow(draw: ImageDraw.ImageDraw, x: float, y: float, size: int) -> None:
    draw.ellipse([x - size * 0.5, y - 9, x + size * 0.5, y + 7], (128, 100, 74))


def _label(
    draw: ImageDraw.ImageDraw,
    x: float,
    y: float,
    text: str,
    room: float,
    colour: tuple[int, int, int],
    size: int,
) -> None:
    font = _font(size)
    text = _plain(text, 22)
    while len(text) > 3 and draw.textlength(text, font) > room - 2:
        text = text[:-2] + "…"
    draw.text((x - draw.textlength(text, font) / 2, y), text, colour, font)


def _plain(text: str, length: int) -> str:
    """Names come from data: one line, no control characters, not too long."""
    line = "".join(c if c.isprintable() else " " for c in text)
    return line if len(line) <= length else line[: length - 1] + "…"


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"


_fonts: dict[int, ImageFont.FreeTypeFont | ImageFont.ImageFont] = {}


def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    if size not in _fonts:
        from PIL import ImageFont

        _fonts[size] = ImageFont.load_default(size)
    return _fonts[size]


def _draw(image: Pillow.Image) -> ImageDraw.ImageDraw:
    try:
        from PIL import ImageDraw
    except ImportError:
        raise MissingExtraError("pillow", "video", "Drawing pictures") from None
    return ImageDraw.Draw(image)
