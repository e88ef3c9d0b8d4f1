"""What our synthetic recordings show: a small language of scenes, and scenes from the texts of performed steps.

A scene is one deed on a work surface: something is moved, poured, cut, ... into, onto or with something else. What
a person did wrong is visible only in what is done (five spoons instead of two, a knife instead of a spoon, a clock
that stops early), never named.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, Protocol, get_args

from proctor_rehearsal.drawing.vocabulary import (
    DO_NOT_NAME,
    LIQUIDS,
    MANY,
    NUMBERS,
    OBJECTS,
    PARTS,
    PRODUCTS,
    STYLES,
    VERBS,
    VESSEL_OF,
)

__all__ = [
    "Action",
    "Deed",
    "Role",
    "Scene",
    "Sprite",
    "parse_deeds",
    "scenes_from_recording",
    "scenes_from_segments",
]

Action = Literal[
    "idle",
    "pour",
    "put",
    "cut",
    "tear",
    "stir",
    "turn",
    "press",
    "wait",
    "write",
    "dip",
    "switch",
    "read",
    "take",
]
Role = Literal["around", "moved", "target", "tool", "through"]
ACTIONS: Final[tuple[Action, ...]] = get_args(Action)


@dataclass(frozen=True, slots=True)
class Sprite:
    """One thing on the surface.

    Attributes:
        shape: name of a drawing (``shapes.SHAPES``); anything else is drawn as a plain box.
        label: what is written under it.
        role: its part in the scene.
        fill: how full it is when the scene begins, 0 to 1.
        fill_after: how full it is when the scene ends.
        liquid: name of the colour of what is in it (``vocabulary.LIQUIDS``).
        liquid_after: the colour when the scene ends, if it changes.
        contents: drawings of the things in or on it when the scene begins.
        gains: drawings of the things that the scene adds, in order.
        mark: what is written on it.
        warmth: ``hot``, ``warm``, ``cold`` or nothing.
        flipped: whether it stands on its head.
    """

    shape: str
    label: str
    role: Role = "around"
    fill: float = 0.0
    fill_after: float = 0.0
    liquid: str = ""
    liquid_after: str = ""
    contents: tuple[str, ...] = ()
    gains: tuple[str, ...] = ()
    mark: str = ""
    warmth: str = ""
    flipped: bool = False


@dataclass(frozen=True, slots=True)
class Scene:
    """What is seen during ``[start, end)`` seconds.

    Attributes:
        start: seconds.
        end: seconds, exclusive.
        title: the activity, written above.
        caption: a line below the picture; the automatic scenes leave it empty, so that models must look.
        actors: everything on the surface; those with a role are in front.
        action: what is done.
        count: how often (spoons, cubes, turns, cuts).
        unit: of an amount that a scale beside the target counts up to (``ml``, ``g``); empty: no scale.
        style: how it is done: ``crooked``, ``flipped``, ``half``, ``coarse``, ``fine``, ``dropped``, ``click``,
            ``no_click``, ``reverse``.
    """

    start: float
    end: float
    title: str
    caption: str = ""
    actors: tuple[Sprite, ...] = ()
    action: Action = "idle"
    count: float = 1
    unit: str = ""
    style: frozenset[str] = frozenset()


# -- text to deed ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Thing:
    """An object named in a text: its drawing and its name."""

    shape: str
    label: str


@dataclass(frozen=True, slots=True)
class Deed:
    """What a sentence tells to do."""

    action: Action
    moved: Thing | None = None
    target: Thing | None = None
    tool: Thing | None = None
    through: Thing | None = None
    count: float = 1
    unit: str = ""
    style: frozenset[str] = frozenset()
    warmth: str = ""
    liquid: str = ""
    mark: str = ""


_WORD = re.compile(r"\d+/\d+|\d+(?:\.\d+)?|[^\W\d_]+", re.UNICODE)
_COUNTED: Final = {"ml", "l", "g", "kg", "cl", "oz", "ounces", "grams", "liter", "litre"}
_TIMES: Final = {"second", "seconds", "minute", "minutes", "s", "min", "hour", "hours", "sec", "secs"}
_ON_WHAT_IS_NAMED: Final = ("cut", "tear", "switch", "read", "wait", "take", "turn")
_TAG = re.compile(r"^\s*([A-Za-z]+)\s*-\s*(?=\S)")
_PHRASE_STARTS: Final = {
    "in": "target", "into": "target", "to": "target", "onto": "target", "on": "target", "over": "target",
    "inside": "target", "from": "target", "at": "target", "under": "target", "through": "through",
    "with": "tool", "using": "tool", "until": "end", "after": "end", "for": "end", "without": "end",
    "so": "end", "before": "end", "while": "end",
}  # fmt: skip


def parse_deeds(text: str) -> tuple[Deed, ...]:
    """Return what a step's text tells to do, one deed for each verb that starts it or follows an "and".

    Any text gives at least one deed: unknown verbs become "put", unknown objects boxes with their name.
    """
    plain = " ".join(_TAG.sub(r"\1 ", text).split())
    words = [w.lower() for w in _WORD.findall(plain)][:80]
    clauses: list[list[str]] = [[]]
    for position, word in enumerate(words):
        following = words[position + 1] if position + 1 < len(words) else ""
        if word in ("and", "then") and following in VERBS and clauses[-1]:
            clauses.append([])
        else:
            clauses[-1].append(word)
    return tuple(_deed(clause, plain) for clause in clauses[:3] if clause) or (Deed("put"),)


def _deed(words: Sequence[str], text: str) -> Deed:
    action: Action = next((VERBS[w] for w in words if w in VERBS), "put")
    phrases = _phrases(words, action)
    named = {role: thing for role, phrase in phrases if (thing := _thing(phrase, role)) is not None}
    moved_words = phrases[0][1]
    style, warmth = _style(words, text)
    count, unit = _amount(words, action)
    deed = Deed(
        action,
        named.get("moved"),
        named.get("target"),
        named.get("tool"),
        named.get("through"),
        count,
        unit,
        style,
        warmth,
        next((w for w in moved_words if w in LIQUIDS), ""),
        _mark(words) if action == "write" else "",
    )
    return _with_usual_tool(deed, words)


def _phrases(words: Sequence[str], action: Action) -> list[tuple[str, list[str]]]:
    """Split a clause at its prepositions into (role, words); the first is what the verb acts on."""
    phrases: list[tuple[str, list[str]]] = [("moved", [])]
    for word in words:
        role = _PHRASE_STARTS.get(word)
        if role == "target" and action in ("cut", "tear") and word in ("into", "in", "to"):
            role = "end"  # "into thin slices" tells how, not where
        if role is None or (word == "on" and action == "switch"):
            phrases[-1][1].append(word)
        else:
            phrases.append((role, []))
    order = {"target": 0, "through": 1, "tool": 2, "end": 3}
    # of several places the last one that names a known object wins ("through the hole in the base")
    return [phrases[0], *sorted(phrases[1:], key=lambda p: (order[p[0]], any(w in OBJECTS for w in p[1])))]


def _thing(words: Sequence[str], role: str) -> Thing | None:
    if role == "end":
        return None
    known = [i for i, w in enumerate(words) if w in OBJECTS or w in LIQUIDS]
    if known:
        at = known[-1]
        shape = OBJECTS[words[at]] if words[at] in OBJECTS else VESSEL_OF.get(words[at], "bottle")
    else:
        plain = [i for i, w in enumerate(words) if _can_name(w)]
        if not plain:
            return None
        at, shape = plain[-1], "box"
    if shape == "surface":
        return None
    before = words[at - 1] if at and _can_name(words[at - 1]) else ""
    return Thing(shape, f"{before} {words[at]}".strip()[:18])


def _can_name(word: str) -> bool:
    return word.isalpha() and word not in DO_NOT_NAME and word not in VERBS and word not in STYLES


def _style(words: Sequence[str], text: str) -> tuple[frozenset[str], str]:
    found = {STYLES[w] for w in words if w in STYLES}
    if "side up" in text.lower():
        found.add("flipped")
    if "without" in words and "click" in found:
        found = (found - {"click"}) | {"no_click"}
    warmth = next((w for w in ("hot", "warm", "cold") if w in found), "")
    return frozenset(found - {"hot", "warm", "cold"}), warmth


def _amount(words: Sequence[str], action: Action) -> tuple[float, str]:
    """Return the first amount that is not a time, with its unit; waiting is shown by the clock alone."""
    for position, word in enumerate(words):
        number = _number(word)
        following = words[position + 1] if position + 1 < len(words) else ""
        if number is None or following in _TIMES:
            continue
        if following in _COUNTED:
            return min(max(number, 0.1), 100_000), following
        return min(max(number, 1), 12), ""
    return (3.0 if action in ("turn", "cut", "stir") else 1.0), ""


def _number(word: str) -> float | None:
    if word in NUMBERS:
        return NUMBERS[word]
    top, _, bottom = word.partition("/")
    if not (top.isascii() and top[0].isdigit()):
        return None
    return float(top) / float(bottom) if bottom and float(bottom) else float(top)


def _mark(words: Sequence[str]) -> str:
    if "word" in words[:-1]:
        return words[words.index("word") + 1][:8]
    return "abc"


def _with_usual_tool(deed: Deed, words: Sequence[str]) -> Deed:
    if deed.action == "stir":
        return replace(
            deed, target=deed.target or deed.moved, moved=None, tool=deed.tool or Thing("spoon", "spoon")
        )
    if deed.action == "cut" and deed.tool is None:
        paper = deed.moved is not None and deed.moved.shape in ("paper", "strip")
        return replace(deed, tool=Thing("scissors", "scissors") if paper else Thing("knife", "knife"))
    if deed.action == "write":
        return replace(
            deed, moved=None, target=deed.target or deed.moved, tool=deed.tool or Thing("pen", "pen")
        )
    spoons = [w for w in words if w in ("teaspoon", "teaspoons", "tsp", "tablespoon", "tablespoons", "tbsp")]
    if spoons and deed.action in ("put", "pour") and deed.tool is None:
        return replace(deed, action="put", tool=Thing("spoon", "spoon"))
    return deed


# -- deeds to scenes -------------------------------------------------------------------------------------------


@dataclass
class _World:
    """What is on the surface and in what state, from scene to scene.

    ``away`` are things that are not on the shelf: fixed to another, used up, or not made yet.
    """

    sprites: dict[str, Sprite] = field(default_factory=dict)
    away: set[str] = field(default_factory=set)
    latest: str = ""
    filled: str = ""

    def get(self, thing: Thing) -> Sprite:
        return self.sprites.setdefault(_key(thing), Sprite(thing.shape, thing.label))

    def around(self, acting: Collection[str]) -> tuple[Sprite, ...]:
        """Return what stands on the shelf while others act."""
        return tuple(s for key, s in self.sprites.items() if key not in acting and key not in self.away)

    def leave(self, deed: Deed, cast: Sequence[tuple[Thing, Sprite]]) -> None:
        """Keep what a deed left behind."""
        for thing, sprite in cast:
            key = _key(thing)
            alone = sprite.role == "moved" and all(s.role != "target" for _, s in cast)
            self.sprites[key] = _after(sprite, flips=alone and "flipped" in deed.style)
            if sprite.role == "target" or alone:
                self.latest = key
            if sprite.role == "target" and sprite.fill_after > 0:
                self.filled = key
        self._fix(deed, cast)
        self._cut(deed, cast)

    def _fix(self, deed: Deed, cast: Sequence[tuple[Thing, Sprite]]) -> None:
        """What is fixed to another thing leaves the shelf, and comes back when it is taken off."""
        fixing = deed.action in ("put", "turn", "press")
        for thing, sprite in cast:
            if "reverse" in deed.style or deed.action == "take":
                self.away.discard(_key(thing))
                for key, other in self.sprites.items():
                    kept = tuple(c for c in other.contents if c != thing.shape)
                    self.sprites[key] = replace(other, contents=kept)
            elif fixing and sprite.role == "moved" and thing.shape in PARTS and len(cast) > 1:
                self.away.add(_key(thing))

    def _cut(self, deed: Deed, cast: Sequence[tuple[Thing, Sprite]]) -> None:
        if deed.action not in ("cut", "tear"):
            return
        for thing, sprite in cast:
            made = [key for key, s in self.sprites.items() if s.shape == PRODUCTS.get(thing.shape)]
            if sprite.role == "target" and made:
                self.away.add(_key(thing))
                self.away.difference_update(made)
                self.latest = made[0]

    def not_made_yet(self, deeds: Iterable[Deed]) -> None:
        """Take off the shelf what a later cut will make."""
        cuts = {d.moved.shape for d in deeds if d.action in ("cut", "tear") and d.moved is not None}
        made = {PRODUCTS[shape] for shape in cuts if shape in PRODUCTS}
        self.away.update(key for key, s in self.sprites.items() if s.shape in made)


def _after(sprite: Sprite, *, flips: bool) -> Sprite:
    return replace(
        sprite,
        role="around",
        fill=sprite.fill_after,
        liquid=sprite.liquid_after or sprite.liquid,
        liquid_after="",
        contents=(sprite.contents + sprite.gains)[-8:],
        gains=(),
        flipped=sprite.flipped or flips,
    )


def _key(thing: Thing) -> str:
    """Things with one drawing are one thing, except drawings that stand for many ("box", "heap")."""
    return f"{thing.shape}:{thing.label}" if thing.shape in MANY else thing.shape


class _Segment(Protocol):
    @property
    def start(self) -> float | None: ...
    @property
    def end(self) -> float | None: ...
    @property
    def description(self) -> str: ...
    @property
    def skipped(self) -> bool: ...


class _Recording(Protocol):
    @property
    def activity_name(self) -> str: ...
    @property
    def duration(self) -> float | None: ...
    @property
    def segments(self) -> Sequence[_Segment]: ...


def scenes_from_recording(recording: _Recording) -> tuple[Scene, ...]:
    """Return the scenes of a recording (``procedure.recording.Recording``): what was really performed, and when."""
    done = [
        (s.start, s.end, s.description)
        for s in recording.segments
        if not s.skipped and s.start is not None and s.end is not None
    ]
    return scenes_from_segments(recording.activity_name, done, recording.duration)


def scenes_from_segments(
    title: str, segments: Iterable[tuple[float, float, str]], duration: float | None = None
) -> tuple[Scene, ...]:
    """Return scenes without gaps or overlaps from (start, end, text) in seconds.

    Gaps show the idle surface. Where segments overlap, the later one is seen from its start.

    Args:
        title: name of the activity.
        segments: what was done when, as a text such as an instruction.
        duration: seconds of the whole recording; None ends it one second after the last segment.
    """
    ordered = sorted(segments)
    parsed = [(start, end, parse_deeds(text)) for start, end, text in ordered]
    world = _World()
    for _, _, deeds in parsed:
        for deed in deeds:
            for thing in (deed.moved, deed.target, deed.tool, deed.through):
                if thing is not None:
                    world.get(thing)
    world.not_made_yet(deed for _, _, deeds in parsed for deed in deeds)
    until = duration if duration is not None else max((end for _, end, _ in parsed), default=0.0) + 1.0
    scenes: list[Scene] = []
    now = 0.0
    for position, (start, end, deeds) in enumerate(parsed):
        following = parsed[position + 1][0] if position + 1 < len(parsed) else until
        end = min(end, max(following, start), until)
        if end <= start:
            continue
        if start > now:
            scenes.append(_idle(now, start, title, world))
        part = (end - start) / len(deeds)
        for number, deed in enumerate(deeds):
            stop = end if number + 1 == len(deeds) else start + (number + 1) * part
            scenes.append(_act(start + number * part, stop, title, deed, world))
        now = end
    if until > now:
        scenes.append(_idle(now, until, title, world))
    return tuple(scenes)


def _idle(start: float, end: float, title: str, world: _World) -> Scene:
    latest = world.sprites.get(world.latest)
    front = (replace(latest, role="target", fill_after=latest.fill),) if latest is not None else ()
    return Scene(start, end, title, actors=(*world.around({world.latest}), *front))


def _act(start: float, end: float, title: str, deed: Deed, world: _World) -> Scene:
    """Return the scene of a deed and leave its results in the world."""
    cast = _cast(deed, world, end - start)
    around = world.around({_key(thing) for thing, _ in cast})
    world.leave(deed, cast)
    actors = (*around, *(sprite for _, sprite in cast))
    return Scene(start, end, title, "", actors, deed.action, deed.count, deed.unit, deed.style)


def _cast(deed: Deed, world: _World, seconds: float) -> list[tuple[Thing, Sprite]]:
    """Return who takes part, with what the deed changes about each."""
    target = deed.target
    moved = deed.moved
    if deed.action in _ON_WHAT_IS_NAMED and target is None:
        target, moved = moved, None
    waits = deed.action == "wait" or (deed.action == "read" and target is None)
    if waits and (world.filled or world.latest):
        busy = world.sprites[world.filled or world.latest]
        target, moved = Thing(busy.shape, busy.label), None
    source = _source(deed, moved, world)
    cast: list[tuple[Thing, Sprite]] = []
    for role, thing in (("through", deed.through), ("tool", deed.tool)):
        if thing is not None:
            cast.append((thing, _same(world.get(thing), "through" if role == "through" else "tool")))
    if source is not None and (target is None or _key(source) != _key(target)):
        cast.append((source, _moved(deed, world.get(source))))
    if target is not None:
        poured = cast[-1][1] if cast and deed.action == "pour" else None
        cast.append((target, _target(deed, world.get(target), poured, cast, seconds)))
    return cast


def _source(deed: Deed, moved: Thing | None, world: _World) -> Thing | None:
    """What is poured comes from where it is: tea from the pot that it steeped in."""
    if deed.action == "pour" and moved is not None and deed.liquid in ("tea", "liquid", "mixture", "coffee"):
        sprite = world.sprites.get(world.filled)
        if sprite is not None:
            return Thing(sprite.shape, sprite.label)
    return moved


def _same(sprite: Sprite, role: Role) -> Sprite:
    return replace(sprite, role=role, fill_after=sprite.fill)


def _moved(deed: Deed, sprite: Sprite) -> Sprite:
    if deed.action != "pour":
        return _same(sprite, "moved")
    fill = sprite.fill or 0.8
    colour = sprite.liquid or deed.liquid or "water"
    return replace(
        sprite, role="moved", fill=fill, fill_after=max(0.1, fill - 0.5), liquid=colour, warmth=deed.warmth
    )


def _target(
    deed: Deed, sprite: Sprite, poured: Sprite | None, cast: Sequence[tuple[Thing, Sprite]], seconds: float
) -> Sprite:
    sprite = replace(_same(sprite, "target"), warmth=deed.warmth or sprite.warmth)
    if deed.action == "pour" and poured is not None:
        share = _share(deed)
        mixed = poured.liquid if not sprite.fill else (sprite.liquid or poured.liquid)
        return replace(sprite, fill_after=min(0.9, sprite.fill + share), liquid=mixed)
    if deed.action == "put" or deed.action in ("turn", "press"):
        things = [s for _, s in cast if s.role == "moved"] or [s for _, s in cast if s.role == "tool"]
        if things and "reverse" not in deed.style:
            count = max(1, round(deed.count)) if deed.action == "put" else 1
            return replace(sprite, gains=(things[0].shape,) * min(8, count))
        return sprite
    if deed.action in ("wait", "stir"):
        return replace(sprite, liquid_after=_steeped(sprite, seconds))
    if deed.action == "write":
        return replace(sprite, mark=deed.mark)
    if deed.action == "switch":
        return replace(sprite, mark="on")
    return sprite


def _share(deed: Deed) -> float:
    if deed.unit not in ("ml", "cl", "l"):
        return 0.4
    millilitres = deed.count * {"ml": 1, "cl": 10, "l": 1000}[deed.unit]
    return min(0.6, 0.1 + 0.5 * math.sqrt(millilitres / 500))


def _steeped(sprite: Sprite, seconds: float) -> str:
    """What stands in water colours it, the more the longer: half after less than 8 seconds of film."""
    colours = {"teabag": "tea", "leaf": "purple", "pieces": "purple"}
    for thing in sprite.contents:
        if thing in colours and sprite.fill:
            return colours[thing] if seconds >= 8 else f"weak {colours[thing]}"
    return sprite.liquid
