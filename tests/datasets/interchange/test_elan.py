"""ELAN documents, and the XML reader behind them."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from tests.patience import effort

from proctor.datasets.interchange.checks import parse_mistake, render_mistake
from proctor.datasets.interchange.elan import read_elan, write_elan
from proctor.datasets.interchange.safe_xml import parse_xml
from proctor.errors import UserError
from proctor.procedure.recording import Mistake, Recording, Segment

STEPS = """<TIER LINGUISTIC_TYPE_REF="t" TIER_ID="steps">
<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a1" TIME_SLOT_REF1="ts1" TIME_SLOT_REF2="ts2">
<ANNOTATION_VALUE>Fill</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>
<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a2" TIME_SLOT_REF1="ts2" TIME_SLOT_REF2="ts3">
<ANNOTATION_VALUE>Stir</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION></TIER>"""
SLOTS = """<TIME_ORDER><TIME_SLOT TIME_SLOT_ID="ts1" TIME_VALUE="0"/><TIME_SLOT TIME_SLOT_ID="ts2" TIME_VALUE="1000"/>
<TIME_SLOT TIME_SLOT_ID="ts3" TIME_VALUE="2500"/><TIME_SLOT TIME_SLOT_ID="ts4"/></TIME_ORDER>"""


def document(body: str, header: str = '<HEADER TIME_UNITS="milliseconds"/>', slots: str = SLOTS) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<ANNOTATION_DOCUMENT>{header}{slots}{body}</ANNOTATION_DOCUMENT>'


@pytest.fixture
def save(tmp_path: Path) -> Callable[[str], Path]:
    def to_file(text: str) -> Path:
        path = tmp_path / "film 1.eaf"
        path.write_text(text, encoding="utf-8")
        return path

    return to_file


def test_a_small_document(save: Callable[[str], Path]) -> None:
    (recording,) = read_elan(save(document(STEPS))).objects
    assert recording.id == "film 1"
    assert recording.segments == (Segment("Fill", "Fill", 0.0, 1.0), Segment("Stir", "Stir", 1.0, 2.5))


def test_the_offset_of_the_first_video_counts(save: Callable[[str], Path]) -> None:
    header = """<HEADER TIME_UNITS="milliseconds"><MEDIA_DESCRIPTOR MEDIA_URL="file:///v/a%20b.mp4"
      MIME_TYPE="video/mp4" TIME_ORIGIN="1500"/><MEDIA_DESCRIPTOR MEDIA_URL="b.mp4" TIME_ORIGIN="9"/></HEADER>"""
    found = read_elan(save(document(STEPS, header)))
    assert found.objects[0].segments[0] == Segment("Fill", "Fill", 1.5, 2.5)
    assert found.objects[0].video == "/v/a b.mp4"
    assert any("2 media files" in w for w in found.warnings)


def test_other_units_are_refused(save: Callable[[str], Path]) -> None:
    with pytest.raises(UserError, match="PAL-frames"):
        read_elan(save(document(STEPS, '<HEADER TIME_UNITS="PAL-frames"/>')))


def test_one_tier_of_another_name_is_taken_and_told(save: Callable[[str], Path]) -> None:
    found = read_elan(save(document(STEPS.replace("steps", "Actions"))))
    assert len(found.objects[0].segments) == 2
    assert "there is no tier 'steps': 'Actions' is taken." in found.warnings


def test_several_tiers_have_to_be_named(save: Callable[[str], Path]) -> None:
    other = re.sub(r'"a(\d)"', r'"b\1"', STEPS.replace("steps", "Words"))
    path = save(document(STEPS.replace("steps", "Actions") + other))
    with pytest.raises(UserError, match="no tier 'steps'") as caught:
        read_elan(path)
    assert "'Actions', 'Words'" in str(caught.value)
    assert len(read_elan(path, tier="Words").objects[0].segments) == 2


def test_mistakes_on_the_timeline_go_to_the_step_they_overlap_most(save: Callable[[str], Path]) -> None:
    slots = SLOTS.replace(
        "</TIME_ORDER>",
        '<TIME_SLOT TIME_SLOT_ID="e1" TIME_VALUE="900"/>'
        '<TIME_SLOT TIME_SLOT_ID="e2" TIME_VALUE="1500"/></TIME_ORDER>',
    )
    tier = """<TIER LINGUISTIC_TYPE_REF="t" TIER_ID="errors"><ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="e"
      TIME_SLOT_REF1="e1" TIME_SLOT_REF2="e2"><ANNOTATION_VALUE>timing: late</ANNOTATION_VALUE>
      </ALIGNABLE_ANNOTATION></ANNOTATION></TIER>"""
    (recording,) = read_elan(save(document(STEPS + tier, slots=slots))).objects
    assert [s.mistakes for s in recording.segments] == [(), (Mistake("timing", "late"),)]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('TIME_SLOT_REF2="ts2"', 'TIME_SLOT_REF2="ts4"', "no_time"),
        ('TIME_SLOT_REF2="ts2"', 'TIME_SLOT_REF2="nowhere"', "no_time"),
        ('TIME_SLOT_REF2="ts2"', "", "no_time"),
        (
            'TIME_SLOT_REF1="ts1" TIME_SLOT_REF2="ts2"',
            'TIME_SLOT_REF1="ts2" TIME_SLOT_REF2="ts1"',
            "no_length",
        ),
        ('TIME_VALUE="0"', 'TIME_VALUE="-5"', "negative"),
        ('TIME_VALUE="0"', 'TIME_VALUE="0.5"', "no_time"),
        ('TIME_VALUE="0"', 'TIME_VALUE="NaN"', "no_time"),
        ('TIME_VALUE="0"', f'TIME_VALUE="{"9" * 15}"', "too_large"),
        ('TIME_VALUE="0"', f'TIME_VALUE="{"9" * 5_000}"', "no_time"),
        ("<ANNOTATION_VALUE>Fill</ANNOTATION_VALUE>", "", "no_label"),
        ("Fill", "  ", "no_label"),
    ],
)
def test_an_annotation_that_is_no_step_is_listed(
    save: Callable[[str], Path], old: str, new: str, reason: str
) -> None:
    found = read_elan(save(document(STEPS).replace(old, new, 1)))
    assert [(d.id, d.reason) for d in found.dropped] == [("film 1/steps/a1", reason)]
    assert [s.text for s in found.objects[0].segments] == ["Stir"]


def test_ids_that_are_there_twice_are_listed(save: Callable[[str], Path]) -> None:
    found = read_elan(save(document(STEPS.replace('"a2"', '"a1"') + STEPS)))
    assert [d.reason for d in found.dropped] == ["duplicate_id", "duplicate_id"]


def test_a_mistake_of_no_step_is_listed(save: Callable[[str], Path]) -> None:
    tier = """<TIER TIER_ID="errors" PARENT_REF="steps"><ANNOTATION><REF_ANNOTATION ANNOTATION_ID="e"
      ANNOTATION_REF="gone"><ANNOTATION_VALUE>order</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION></TIER>"""
    found = read_elan(save(document(STEPS + tier)))
    assert [(d.reason, d.detail) for d in found.dropped] == [("no_step", "order")]


@pytest.mark.parametrize("text", ["{", "3", '{"id": ""}', '{"id": "x"}', "[" * 5_000])
@pytest.mark.parametrize("name", ["proctor.recording", "proctor.untimed"])
def test_properties_that_are_not_ours_are_listed(save: Callable[[str], Path], name: str, text: str) -> None:
    header = f'<HEADER><PROPERTY NAME="{name}">{text}</PROPERTY></HEADER>'
    found = read_elan(save(document(STEPS, header)))
    assert [d.reason for d in found.dropped] == ["bad_field"]
    assert found.objects[0].id == "film 1"
    assert len(found.objects[0].segments) == 2


def test_overlapping_steps_go_to_further_tiers(recordings: tuple[Recording, ...], tmp_path: Path) -> None:
    write_elan(recordings[:1], tmp_path / "a.eaf")
    text = (tmp_path / "a.eaf").read_text(encoding="utf-8")
    assert re.findall(r'TIER_ID="([^"]+)"', text)[::4] == ["steps", "steps 2"]
    assert 'PARENT_REF="steps 2" TIER_ID="errors 2"' in text
    root = parse_xml(text.encode(), "a.eaf")
    slots = {s.get("TIME_SLOT_ID"): int(s.get("TIME_VALUE", "")) for s in root.iter("TIME_SLOT")}
    assert list(slots.values()) == sorted(slots.values())
    for tier in root.iter("TIER"):
        times = [
            (slots[a.get("TIME_SLOT_REF1")], slots[a.get("TIME_SLOT_REF2")])
            for a in tier.iter("ALIGNABLE_ANNOTATION")
        ]
        assert all(a[1] <= b[0] for a, b in pairwise(times))


def test_characters_that_xml_cannot_hold_are_listed(tmp_path: Path) -> None:
    given = (Recording("r", "a", "a\x00b", (Segment("1", "bell \x07!", 0.0, 1.0),)),)
    told = write_elan(given, tmp_path / "a.eaf")
    assert [(d.id, d.reason) for d in told] == [("r", "control_characters")]
    (back,) = read_elan(tmp_path / "a.eaf").objects
    assert back.segments[0].text == "bell \ufffd!"
    assert back.activity_name == "a\x00b"  # JSON in a property holds everything


def test_a_step_shorter_than_a_millisecond_is_not_lost(tmp_path: Path) -> None:
    given = (Recording("r", "a", "a", (Segment("1", "Blink", 1.0, 1.0001), Segment("2", "Stir", 2.0, 3.0))),)
    assert write_elan(given, tmp_path / "a.eaf") == ()
    assert read_elan(tmp_path / "a.eaf").objects == given


# -- one file for each recording ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "id_", ["a/b", "..", ".hidden", "a:b*?", "x.", " x ", "tea%20", "Zoë", "con", "NUL.x", "con\n", "a\\b"]
)
def test_ids_that_are_no_file_names(tmp_path: Path, id_: str) -> None:
    given = (Recording(id_, "a", "a", ()), Recording("other", "a", "a", ()))
    write_elan(given, tmp_path / "out")
    files = sorted(p.name for p in (tmp_path / "out").iterdir())
    assert len(files) == 2
    assert not [n for n in files if n.split(".")[0].upper() in ("CON", "NUL")]
    assert not [n for n in files if re.search(r'[/\\:*?"<>|\n]', n) or n.startswith(".")]
    assert {r.id for r in read_elan(tmp_path / "out").objects} == {id_, "other"}


def test_ids_that_differ_in_case_only_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="would be one file"):
        write_elan((Recording("A", "a", "a", ()), Recording("a", "a", "a", ())), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_id_too_long_for_a_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="too long"):
        write_elan((Recording("x" * 300, "a", "a", ()),), tmp_path / "out")


def test_one_file_holds_one_recording(recordings: tuple[Recording, ...], tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"holds one recording, there are 2") as caught:
        write_elan(recordings, tmp_path / "a.eaf")
    assert "folder" in str(caught.value)


# -- XML -------------------------------------------------------------------------------------------------------

BOMB = """<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">%s]><ANNOTATION_DOCUMENT>&z;</ANNOTATION_DOCUMENT>"""


@pytest.mark.parametrize(
    "text",
    [
        BOMB
        % "".join(
            f'<!ENTITY {b} "{"&" + a + ";" * 1}{("&" + a + ";") * 9}">'
            for a, b in zip("abcdefgh", "bcdefghz", strict=True)
        ),
        '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY z SYSTEM "file:///etc/passwd">]><ANNOTATION_DOCUMENT>&z;</ANNOTATION_DOCUMENT>',
        '<?xml version="1.0"?><!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd"><ANNOTATION_DOCUMENT/>',
        '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]><ANNOTATION_DOCUMENT/>',
        "<!DOCTYPE html><html/>",
    ],
    ids=["bomb", "file", "dtd", "parameter", "html"],
)
def test_document_types_are_refused(save: Callable[[str], Path], text: str) -> None:
    with effort(1), pytest.raises(UserError, match="document type"):
        read_elan(save(text))


@pytest.mark.parametrize(
    "text",
    [
        "&lol;",
        "<a><b></a>",
        "<a",
        "{}",
        "<a/><b/>",
        "<a x='1' x='2'/>",
        '<?xml version="1.0" encoding="x-no"?><a/>',
    ],
)
def test_what_is_no_xml(save: Callable[[str], Path], text: str) -> None:
    with pytest.raises(UserError, match="not XML"):
        read_elan(save(text))


def test_deep_nesting_is_refused(save: Callable[[str], Path]) -> None:
    with pytest.raises(UserError, match="deeper than 200"):
        read_elan(save("<a>" * 10_000 + "</a>" * 10_000))


def test_another_root(save: Callable[[str], Path]) -> None:
    with pytest.raises(UserError, match="<svg>, not <ANNOTATION_DOCUMENT>"):
        read_elan(save("<svg/>"))


def test_many_mistakes_without_a_parent_take_no_hours(save: Callable[[str], Path]) -> None:
    n = 3_000
    slots = (
        "".join(f'<TIME_SLOT TIME_SLOT_ID="s{i}" TIME_VALUE="{i}"/>' for i in range(n))
        + '<TIME_SLOT TIME_SLOT_ID="z" TIME_VALUE="99999"/>'
    )
    rows = lambda letter: "".join(  # noqa: E731
        f'<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="{letter}{i}" TIME_SLOT_REF1="s{i}" TIME_SLOT_REF2="z">'
        "<ANNOTATION_VALUE>x</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>"
        for i in range(n)
    )
    body = f'<TIER TIER_ID="steps">{rows("a")}</TIER><TIER TIER_ID="errors">{rows("e")}</TIER>'
    with effort(20):
        found = read_elan(save(document(body, slots=f"<TIME_ORDER>{slots}</TIME_ORDER>")))
        assert sum(len(s.mistakes) for s in found.objects[0].segments) == n


# -- mistakes in one line -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "mistake"),
    [
        ("order", Mistake("order")),
        ("Order", Mistake("order")),
        ("order:", Mistake("order")),
        ("order: too early", Mistake("order", "too early")),
        ("burnt the onions", Mistake("other", "burnt the onions")),
        ("at 10:30 it was late", Mistake("other", "at 10:30 it was late")),
        ("a\\:b: c: d", Mistake("a:b", "c: d")),
        ("", Mistake("other", "")),
        (": x", Mistake("", "x")),
    ],
)
def test_a_mistake_as_people_write_it(line: str, mistake: Mistake) -> None:
    assert parse_mistake(line) == mistake


@pytest.mark.parametrize(
    "mistake", [Mistake("", ""), Mistake("a\\", ":"), Mistake("a: b", "c"), Mistake("x", "\n")]
)
def test_a_mistake_comes_back(mistake: Mistake) -> None:
    assert parse_mistake(render_mistake(mistake)) == mistake
