"""ELAN ``.eaf`` 3.0: the annotation tool of linguists and gesture researchers. One file for each recording.

Tiers written: ``steps`` (time-alignable; the text of the instruction) with three children: ``errors`` (symbolic
subdivision, one ``kind: text`` for each mistake), ``performed`` and ``step ids`` (symbolic association). Annotations
of one ELAN tier cannot overlap, so steps that do go to ``steps 2`` with ``errors 2`` and so on. ELAN has no
annotation without times: skipped steps, and those that whole milliseconds would make empty, stand as JSON in the
header's property ``proctor.untimed``, and what a recording is in ``proctor.recording``; ELAN keeps properties.
Fine-grained actions are a tier of their own, ``actions`` (``verb: noun``, see ``checks.render_action``).

ELAN's time zero may lie within the video: ``TIME_ORIGIN`` of a media file is the milliseconds of it that come
before. Times read are those of the first media file: ELAN's time plus its ``TIME_ORIGIN``.
"""

from __future__ import annotations

import json
import mimetypes
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urlsplit
from xml.etree.ElementTree import Element

import msgspec

from proctor.datasets.interchange.checks import (
    UNKNOWN_ACTIVITY,
    About,
    Collector,
    fault_of,
    milliseconds,
    parse_action,
    parse_mistake,
    render_action,
    render_mistake,
)
from proctor.datasets.interchange.format import Format, Imported
from proctor.datasets.interchange.per_recording import files_of, name_of, write_each
from proctor.datasets.interchange.reading import read_limited
from proctor.datasets.interchange.safe_xml import clean_text, parse_xml, render_element
from proctor.errors import UserError
from proctor.procedure.recording import Action, Recording, Segment
from proctor.records import Dropped

__all__ = ["FORMATS", "read_elan", "write_elan"]

_STEPS: Final = "steps"
_ACTIONS: Final = "actions"
_CHILDREN: Final = {"errors": "errors", "performed": "performed", "step ids": "ids"}
_RECORDING: Final = "proctor.recording"
_UNTIMED: Final = "proctor.untimed"
_LANE: Final = re.compile(r"(?P<name>.*?)(?: (?P<lane>\d{1,4}))?", re.DOTALL)
_NEAREST: Final = 1_000
"""How many steps are compared with an annotation that names no parent."""
_SCHEMA: Final = "http://www.mpi.nl/tools/elan/EAFv3.0.xsd"
_STAMP: Final = "1970-01-01T00:00:00+00:00"
"""The same recording gives the same bytes, so the date of writing is not that of the clock."""


# -- reading ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Annotation:
    id: str
    value: str
    times: tuple[float | None, float | None] | None = None
    parent: str = ""


@dataclass(slots=True)
class _Tier:
    id: str
    parent: str
    annotations: list[_Annotation] = field(default_factory=list)


def read_elan(path: Path, *, tier: str = "", activity: str = UNKNOWN_ACTIVITY) -> Imported[Recording]:
    """Read one ``.eaf`` file, or all of a folder.

    Args:
        path: file or folder.
        tier: name of the tier that has the steps; when empty ``steps`` (with ``steps 2`` …), or the only tier
            that stands on the timeline by itself.
        activity: id of the activity where a file names none.

    Raises:
        UserError: if a file is no ELAN document, counts time in other units, has a document type, or its tier of
            steps is not clear.
    """
    collector = Collector()
    for file in files_of(path, ".eaf"):
        root = parse_xml(read_limited(file), str(file))
        if root.tag != "ANNOTATION_DOCUMENT":
            seen = f"the root element is <{root.tag[:60]}>, not <ANNOTATION_DOCUMENT>."
            raise UserError(seen, where=str(file), hint="an .eaf file of ELAN was expected")
        _add_document(collector, root, file, tier, activity)
    return collector.result()


def _add_document(collector: Collector, root: Element, file: Path, tier: str, activity: str) -> None:
    header = root.find("HEADER")
    units = "milliseconds" if header is None else header.get("TIME_UNITS", "milliseconds")
    if units != "milliseconds":
        hint = "set the time units to milliseconds in ELAN"
        raise UserError(f"times are in {units[:40]}.", where=str(file), hint=hint)
    media = [] if header is None else header.findall("MEDIA_DESCRIPTOR")
    properties = (
        {} if header is None else {p.get("NAME", ""): p.text or "" for p in header.findall("PROPERTY")}
    )
    name = name_of(file)
    about = _about(collector, properties, media, name, activity)
    if len(media) > 1:
        collector.warn(f"'{name[:80]}' has {len(media)} media files: times are those of the first.")
    tiers = _tiers(collector, root, name, _origin(collector, media, name))
    steps = _step_tiers(tiers, tier, file, collector)
    done = {id_: t for id_, t in tiers.items() if _split(id_)[0] == _ACTIONS and t not in steps}
    about.actions = tuple(_actions(collector, done, name))
    segments = _segments(collector, {k: t for k, t in tiers.items() if k not in done}, steps, name)
    untimed = collector.stored(properties.get(_UNTIMED, "[]"), list[Segment], name, f"property {_UNTIMED}")
    segments += collector.possible(untimed or (), f"{name}/{_UNTIMED}")
    collector.add_about(about, segments)


def _about(
    collector: Collector, properties: Mapping[str, str], media: list[Element], name: str, activity: str
) -> About:
    if _RECORDING in properties:
        about = collector.stored(properties[_RECORDING], About, name, f"property {_RECORDING}")
        if about is not None and about.id:
            return about
        if about is not None:
            collector.drop(name, "bad_field", f"property {_RECORDING}: the id is empty")
    collector.warn(f"the file names no activity for some recordings: '{activity[:80]}' is taken.")
    return About(id=name, activity_id=activity, activity_name=activity, video=_video(media))


def _video(media: list[Element]) -> str | None:
    for descriptor in media[:1]:
        url = descriptor.get("RELATIVE_MEDIA_URL") or descriptor.get("MEDIA_URL") or ""
        try:
            found = unquote(urlsplit(url).path, errors="replace").removeprefix("./")
        except ValueError:
            return None
        return found or None
    return None


def _origin(collector: Collector, media: list[Element], name: str) -> float:
    """Return how much of the first media file comes before ELAN's time zero, in seconds."""
    text = media[0].get("TIME_ORIGIN", "0") if media else "0"
    if re.fullmatch(r"-?\d{1,12}", text, re.ASCII):
        return int(text) / 1000
    collector.drop(name, "bad_field", f"TIME_ORIGIN: {text!r}"[:100])
    return 0.0


def _tiers(collector: Collector, root: Element, name: str, origin: float) -> dict[str, _Tier]:
    slots: dict[str, float | None] = {}
    for slot in root.iterfind("TIME_ORDER/TIME_SLOT"):
        id_, text = slot.get("TIME_SLOT_ID", ""), slot.get("TIME_VALUE", "")
        value = int(text) / 1000 + origin if re.fullmatch(r"-?\d{1,15}", text, re.ASCII) else None
        if slots.setdefault(id_, value) != value:
            collector.drop(f"{name}/{id_}", "duplicate_id", "time slot")
            slots[id_] = None
    tiers: dict[str, _Tier] = {}
    seen: set[str] = set()
    for element in root.iterfind("TIER"):
        found = _Tier(element.get("TIER_ID", ""), element.get("PARENT_REF", ""))
        if tiers.setdefault(found.id, found) is not found:
            collector.drop(f"{name}/{found.id}", "duplicate_id", "tier")
            continue
        for outer in element.iterfind("ANNOTATION"):
            for inner in outer:
                annotation = _annotation(inner, slots)
                if annotation.id in seen:
                    collector.drop(f"{name}/{found.id}/{annotation.id}", "duplicate_id", annotation.value)
                    continue
                seen.add(annotation.id)
                found.annotations.append(annotation)
    return tiers


def _annotation(element: Element, slots: Mapping[str, float | None]) -> _Annotation:
    value = element.find("ANNOTATION_VALUE")
    found = _Annotation(
        element.get("ANNOTATION_ID", ""),
        "" if value is None else value.text or "",
        parent=element.get("ANNOTATION_REF", ""),
    )
    if element.tag == "ALIGNABLE_ANNOTATION":
        first, last = (slots.get(element.get(f"TIME_SLOT_REF{n}", "")) for n in (1, 2))
        found.times = first, last
    return found


def _step_tiers(tiers: Mapping[str, _Tier], tier: str, file: Path, collector: Collector) -> list[_Tier]:
    wanted = tier or _STEPS
    found = [t for t in tiers.values() if t.id == wanted or (_split(t.id)[0] == wanted and not t.parent)]
    if found:
        return found
    alone = [t for t in tiers.values() if not t.parent and any(a.times for a in t.annotations)]
    if not tier and len(alone) == 1:
        collector.warn(f"there is no tier 'steps': '{alone[0].id[:80]}' is taken.")
        return alone
    if not tier and not any(t.annotations for t in tiers.values()):
        return []
    shown = ", ".join(f"'{t[:60]}'" for t in list(tiers)[:20])
    hint = f"name the tier of the steps: {shown}"
    raise UserError(f"there is no tier '{wanted[:80]}'.", where=str(file), hint=hint)


def _split(tier_id: str) -> tuple[str, str]:
    """Return name and lane: ``errors 2`` is ``("errors", "2")``."""
    match = _LANE.fullmatch(tier_id)
    return (match["name"], match["lane"] or "") if match else (tier_id, "")


def _segments(
    collector: Collector, tiers: Mapping[str, _Tier], steps: list[_Tier], name: str
) -> list[Segment]:
    found: dict[str, Segment] = {}
    named = _with_id(tiers, steps)
    for tier in steps:
        for annotation in tier.annotations:
            where = f"{name}/{tier.id}/{annotation.id}"
            times = collector.times(where, *(annotation.times or (None, None)))
            if times is None:
                continue
            if not annotation.value.strip() and annotation.id not in named:
                collector.drop(where, "no_label", "the annotation is empty")
                continue
            found[annotation.id] = Segment(annotation.value, annotation.value, *times)
    step_names = {t.id for t in steps}
    line = _Timeline(found)
    for tier in tiers.values():
        if tier.id in step_names:
            continue
        role = _CHILDREN.get(_split(tier.id)[0])
        if role is None or (tier.parent and tier.parent not in step_names):
            if tier.annotations:
                collector.warn(f"tier '{tier.id[:80]}' is not read: it is neither steps nor a known child.")
            continue
        for annotation in tier.annotations:
            parent = annotation.parent or line.at(annotation.times)
            _add_child(collector, found, parent, role, annotation, f"{name}/{tier.id}/{annotation.id}")
    return list(found.values())


def _actions(collector: Collector, tiers: Mapping[str, _Tier], name: str) -> Iterator[Action]:
    for tier in tiers.values():
        for annotation in tier.annotations:
            where = f"{name}/{tier.id}/{annotation.id}"
            times = collector.times(where, *(annotation.times or (None, None)))
            action = parse_action(annotation.value, *times) if times else None
            if action is not None:
                yield action
            elif times is not None:
                collector.drop(where, "no_label", annotation.value)


def _with_id(tiers: Mapping[str, _Tier], steps: list[_Tier]) -> set[str]:
    """Return the annotations that have a step id in a child tier."""
    names = {t.id for t in steps}
    children = [t for t in tiers.values() if t.parent in names and _CHILDREN.get(_split(t.id)[0]) == "ids"]
    return {a.parent for t in children for a in t.annotations}


def _add_child(
    collector: Collector,
    found: dict[str, Segment],
    parent: str,
    role: str,
    annotation: _Annotation,
    where: str,
) -> None:
    segment = found.get(parent)
    if segment is None:
        collector.drop(where, "no_step", annotation.value)
    elif role == "errors":
        mistakes = (*segment.mistakes, parse_mistake(annotation.value))
        found[parent] = replace(segment, mistakes=mistakes)
    elif role == "performed":
        found[parent] = replace(segment, performed=annotation.value)
    else:
        found[parent] = replace(segment, step_id=annotation.value)


class _Timeline:
    """Finds the step at some time, for child annotations that stand on the timeline and name no parent."""

    def __init__(self, segments: Mapping[str, Segment]) -> None:
        timed = ((s.start, s.end, id_) for id_, s in segments.items())
        self._steps = sorted((a, b, id_) for a, b, id_ in timed if a is not None and b is not None)
        self._starts = [start for start, _, _ in self._steps]

    def at(self, times: tuple[float | None, float | None] | None) -> str:
        """Return the step that shares most time, of the ``_NEAREST`` that start before; empty if none does."""
        start, end = times or (None, None)
        if start is None or end is None:
            return ""
        before = bisect_left(self._starts, end)
        best, most = "", 0.0
        for step_start, step_end, id_ in self._steps[max(0, before - _NEAREST) : before]:
            shared = min(end, step_end) - max(start, step_start)
            if shared > most:
                best, most = id_, shared
        return best


# -- writing ---------------------------------------------------------------------------------------------------


def write_elan(recordings: Iterable[Recording], path: Path) -> tuple[Dropped, ...]:
    """Write one ``.eaf`` file, or a new folder with one for each recording.

    Args:
        recordings: with unique ids.
        path: ends with ``.eaf`` for exactly one recording, else a folder.

    Returns:
        Texts with control characters, which XML cannot hold (U+FFFD stands in their place), and segments whose
        times are none.

    Raises:
        UserError: if ids are not unique, or the file or folder cannot be written.
    """
    return write_each(recordings, path, ".eaf", _render, actions=True)


def _render(recording: Recording, dropped: list[Dropped]) -> str:
    writer = _Writer(recording.id, dropped)
    lanes, beside = _lanes(recording.segments)
    tiers = [part for number, lane in enumerate(lanes, start=1) for part in writer.tiers(number, lane)]
    actions, lost = _lanes(Segment("", render_action(a), a.start, a.end) for a in recording.actions)
    dropped += [Dropped(f"{recording.id}/action"[:120], "no_length", s.text[:120]) for s in lost]
    for number, lane in enumerate(actions if recording.actions else (), start=1):
        tiers.append(_tier(_ACTIONS, f" {number}" if number > 1 else "", writer.rows(lane)[1]))
    body = [
        writer.header(recording, beside),
        render_element("TIME_ORDER", {}, writer.time_order(), indent=1),
        *tiers,
        *_types(),
    ]
    root = {
        "AUTHOR": "proctor",
        "DATE": _STAMP,
        "FORMAT": "3.0",
        "VERSION": "3.0",
        "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
        "xsi:noNamespaceSchemaLocation": _SCHEMA,
    }
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + render_element("ANNOTATION_DOCUMENT", root, body)


_Timed = tuple[int, int, Segment]


def _lanes(segments: Iterable[Segment]) -> tuple[list[list[_Timed]], list[Segment]]:
    """Deal segments to tiers on which nothing overlaps; those that no tier can hold come second."""
    lanes: list[list[_Timed]] = [[]]
    beside = []
    for s in segments:
        start, end = (0 if t is None else milliseconds(t) for t in (s.start, s.end))
        if s.start is None or end <= start or fault_of(start / 1000, end / 1000):
            beside.append(s)
            continue
        lane = next((lane for lane in lanes if not lane or lane[-1][1] <= start), None)
        if lane is None:
            lanes.append(lane := [])
        lane.append((start, end, s))
    return lanes, beside


@dataclass(slots=True)
class _Writer:
    """Numbers time slots and annotations, and lists texts that XML cannot hold."""

    name: str
    dropped: list[Dropped]
    slots: list[int] = field(default_factory=list)
    count: int = 0

    def text(self, text: str, where: str) -> str:
        clean, lost = clean_text(text)
        if lost:
            self.dropped.append(Dropped(self.name[:120], "control_characters", f"{where}: {lost} of them"))
        return clean

    def header(self, recording: Recording, beside: list[Segment]) -> str:
        properties = {_RECORDING: _ascii_json(About.of(replace(recording, actions=())))}
        if beside:
            properties[_UNTIMED] = _ascii_json(beside)
        properties["lastUsedAnnotationId"] = str(self.count)
        parts = [render_element("PROPERTY", {"NAME": k}, v, indent=2) for k, v in properties.items()]
        if recording.video:
            relative = f"./{quote(recording.video)}"
            mime = mimetypes.guess_type(recording.video)[0] or "video/mp4"
            media = {"MEDIA_URL": relative, "MIME_TYPE": mime, "RELATIVE_MEDIA_URL": relative}
            parts.insert(0, render_element("MEDIA_DESCRIPTOR", media, indent=2))
        return render_element("HEADER", {"MEDIA_FILE": "", "TIME_UNITS": "milliseconds"}, parts, indent=1)

    def tiers(self, number: int, lane: list[_Timed]) -> Iterator[str]:
        suffix = f" {number}" if number > 1 else ""
        ids, rows = self.rows(lane)
        yield _tier(_STEPS, suffix, rows)
        yield _tier("errors", suffix, [row for id_, s in ids for row in self._mistakes(id_, s)])
        performed = [
            self._child(i, self.text(s.performed, "performed")) for i, s in ids if s.performed is not None
        ]
        yield _tier("performed", suffix, performed)
        yield _tier("step ids", suffix, [self._child(i, self.text(s.step_id, "step id")) for i, s in ids])

    def rows(self, lane: list[_Timed]) -> tuple[list[tuple[str, Segment]], list[str]]:
        """Return what stands on the timeline with its ids, and as elements."""
        ids: list[tuple[str, Segment]] = []
        rows = []
        for start, end, s in lane:
            id_ = self._next()
            ids.append((id_, s))
            first, last = self._slot(start), self._slot(end)
            times = {"ANNOTATION_ID": id_, "TIME_SLOT_REF1": first, "TIME_SLOT_REF2": last}
            rows.append(_annotation_element("ALIGNABLE_ANNOTATION", times, self.text(s.text, "a step")))
        return ids, rows

    def _mistakes(self, parent: str, segment: Segment) -> Iterator[str]:
        previous = ""
        for mistake in segment.mistakes:
            row = self._child(parent, self.text(render_mistake(mistake), "a mistake"), previous)
            previous = f"a{self.count}"
            yield row

    def _child(self, parent: str, text: str, previous: str = "") -> str:
        attributes = {"ANNOTATION_ID": self._next(), "ANNOTATION_REF": parent}
        if previous:
            attributes["PREVIOUS_ANNOTATION"] = previous
        return _annotation_element("REF_ANNOTATION", attributes, text)

    def _next(self) -> str:
        self.count += 1
        return f"a{self.count}"

    def _slot(self, time: int) -> str:
        self.slots.append(time)
        return f"ts{len(self.slots)}"

    def time_order(self) -> list[str]:
        """Return all time slots by time, as ELAN keeps them."""
        numbered = sorted((time, number) for number, time in enumerate(self.slots, start=1))
        return [
            render_element("TIME_SLOT", {"TIME_SLOT_ID": f"ts{number}", "TIME_VALUE": str(time)}, indent=2)
            for time, number in numbered
        ]


def _ascii_json(value: object) -> str:
    r"""Return JSON with ``\u`` for everything beyond printable ASCII: XML holds every text this way."""
    text = msgspec.json.encode(value).decode()
    return re.sub(r"[^\x20-\x7e]", lambda m: json.dumps(m[0])[1:-1], text)


def _annotation_element(tag: str, attributes: Mapping[str, str], text: str) -> str:
    value = render_element("ANNOTATION_VALUE", {}, text, indent=4)
    return render_element("ANNOTATION", {}, [render_element(tag, attributes, [value], indent=3)], indent=2)


def _tier(name: str, suffix: str, rows: list[str]) -> str:
    attributes = {"LINGUISTIC_TYPE_REF": name}
    if name not in (_STEPS, _ACTIONS):
        attributes["PARENT_REF"] = _STEPS + suffix
    return render_element("TIER", attributes | {"TIER_ID": name + suffix}, rows, indent=1)


def _types() -> Iterator[str]:
    constraints = {
        _STEPS: "",
        "errors": "Symbolic_Subdivision",
        "performed": "Symbolic_Association",
        "step ids": "Symbolic_Association",
        _ACTIONS: "",
    }
    for name, constraint in constraints.items():
        attributes = {"GRAPHIC_REFERENCES": "false", "LINGUISTIC_TYPE_ID": name}
        if constraint:
            attributes["CONSTRAINTS"] = constraint
        attributes["TIME_ALIGNABLE"] = "false" if constraint else "true"
        yield render_element("LINGUISTIC_TYPE", attributes, indent=1)
    for stereotype, meaning in (
        (
            "Time_Subdivision",
            "Time subdivision of parent annotation's time interval, no time gaps allowed within this interval",
        ),
        (
            "Symbolic_Subdivision",
            "Symbolic subdivision of a parent annotation. Annotations referring to the same parent are ordered",
        ),
        ("Symbolic_Association", "1-1 association with a parent annotation"),
        (
            "Included_In",
            "Time alignable annotations within the parent annotation's time interval, gaps are allowed",
        ),
    ):
        yield render_element("CONSTRAINT", {"STEREOTYPE": stereotype, "DESCRIPTION": meaning}, indent=1)


FORMATS = (
    Format(
        name="elan",
        title="ELAN annotation document (EAF 3.0)",
        suffixes=(".eaf",),
        kind="recordings",
        lossless=True,
        loss=("control characters, which XML cannot hold (each text is listed)",),
        read=read_elan,
        write=write_elan,
        precision="1 ms",
        options=("tier", "activity"),
    ),
)
