"""Blind means absent: what an adjudicator's browser gets says nothing of who wrote or said what (C11, A6, attack 16).

Two items differ in nothing but in who wrote their second statement, or in who said what of it. Everything that a browser
asks for on their pages is fetched, headers included, and must be equal byte for byte once random names and texts are
replaced.
"""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

PARTS = ("", "/state", "/clip.mp4", "/poster.jpg", "/feedback")


@pytest.fixture
def court(site: Any) -> Any:
    """Two readers and two adjudicators."""
    return site.hire(), site.hire(), site.hire("adjudicator"), site.hire("adjudicator")


def submit(site: Any, pid: str, person: Any, judged: str, *own: str) -> None:
    from proctor.verify.desk import documents, work
    from proctor.verify.desk.records import Sheet

    signs: Any = {"+": "right", "-": "wrong"}
    question, _, answers = judged.partition(" ")
    sheet = Sheet(question=signs[question], answers=tuple(signs[a] for a in answers), own_answers=own)
    protocol = site.desk.read(documents.protocol)
    site.do(work.submit, pid, person, sheet=sheet, rev=0, key=f"key-{pid}", protocol=protocol)


def reserve(site: Any, person: Any) -> tuple[str, int]:
    """The next case of an adjudicator: its pid and its item."""
    pid = next_or_none(site, person)
    assert pid is not None
    (row,) = site.rows("assignments", pid=pid)
    return pid, int(row.item_id)


def next_or_none(site: Any, person: Any) -> str | None:
    from proctor.verify.desk import documents, flow

    protocol = site.desk.read(documents.protocol)
    found: str | None = site.do(flow.next_work, person, protocol, "adjudicate")
    return found


def free(site: Any, pid: str) -> None:
    """Take a case from its adjudicator, as if the time had run out."""
    from proctor.verify.schema import tables

    a = tables().assignments
    site.do(lambda _d, c: c.execute(a.update().where(a.c.pid == pid).values(live=False, state="moved")))


def fetch(site: Any, person: Any, pid: str, part: str) -> tuple[int, dict[str, str], bytes]:
    token = site.token(person)
    headers = {
        "Cookie": f"{site.cookie}={token}",
        "Accept": "text/html" if part == "" else "*/*",
        "Accept-Encoding": "identity",
    }
    answer = httpx.get(f"{site.url}/w/{pid}{part}", headers=headers, follow_redirects=False, timeout=60)
    return answer.status_code, dict(answer.headers), answer.content


def neutral(body: bytes) -> str:
    """A page without what is random."""
    text = body.decode("utf-8")
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "KEY", text)
    return re.sub(r"\b[a-z2-7]{16}\b", "PID", text)


CARD = re.compile(r'<span class="answer-text" dir="auto">(.*?)</span>')


def unordered(page: str, *texts: str) -> str:
    """A page on which the statements have names by their places: their order is drawn anew for each case.

    Whatever else a page says of a statement, and wherever, still has to be the same in the same place.
    """
    shown = CARD.findall(page)
    assert sorted(shown) == sorted(texts)
    for place, text in enumerate(shown):
        assert page.count(text) == 1, "a statement is named by its card alone"
        page = page.replace(text, f"STATEMENT {place}")
    return page


CASES: dict[str, tuple[tuple[str, ...], tuple[tuple[str, ...], tuple[str, ...]]]] = {
    # the candidate's answers; what the two readers say
    "the machine wrote it": (("Machine text.",), (("+ +",), ("+ -",))),
    "the first reader wrote it": ((), (("+", "Machine text."), ("+",))),
    "the second reader wrote it": ((), (("+",), ("+", "Machine text."))),
    "the other one said yes": (("Machine text.",), (("+ -",), ("+ +",))),
}


def test_c11_the_bytes_are_the_same_whoever_wrote_it(site: Any, court: Any) -> None:
    ana, ben, edda, _ = court
    seen: dict[str, list[tuple[int, dict[str, str], str]]] = {}
    for name, (answers, said) in CASES.items():
        make_case(site, answers, said, ana, ben)
        pid, _ = reserve(site, edda)
        got = []
        for part in PARTS:
            status, headers, body = fetch(site, edda, pid, part)
            for noise in ("date", "server-timing"):
                headers.pop(noise, None)
            got.append((status, headers, neutral(body)))
        seen[name] = got
        free(site, pid)
        gone(site, pid)
    first = seen["the machine wrote it"]
    assert first[0][0] == 200
    assert "Machine text." in first[0][2]
    for name, got in seen.items():
        for (status, headers, body), wanted in zip(got, first, strict=True):
            assert body.splitlines() == wanted[2].splitlines(), name
            assert status == wanted[0], name
            assert sorted(headers.items() ^ wanted[1].items()) == [], name


def make_case(site: Any, answers: tuple[str, ...], said: Any, *readers: Any, state: str = "case") -> int:
    """One item, always with the same words, that these readers have judged; returns its number."""
    import msgspec

    from proctor.exam.question import Proposed, Text
    from proctor.records import canonical_json
    from proctor.verify.desk.items import get_item
    from proctor.verify.schema import tables

    source = min(site.rows("items"), key=lambda row: row.id)
    first = site.desk.read(lambda c: get_item(c, source.id)).question
    row = min(site.rows("items", state="undealt"), key=lambda r: r.id)
    changed = msgspec.structs.replace(
        first, id=row.candidate_id, proposals=tuple(Proposed(value=Text(text=t)) for t in answers),
        text="What comes next?", facets={"type": "next"},
    )  # fmt: skip
    values = {
        "body": canonical_json(changed).decode(),
        "candidate_hash": "f" * 16,
        "title": source.title,
        "place": changed.place,
    }
    i = tables().items
    site.do(lambda _d, c: c.execute(i.update().where(i.c.id == row.id).values(**values)))
    pids = site.deal(*readers, answers=len(answers))[0]
    for pid, person, (judged, *own) in zip(pids, readers, said, strict=True):
        submit(site, pid, person, judged, *own)
    (now,) = site.rows("items", id=row.id)
    assert now.state == state, "the wrong item was dealt"
    return int(row.id)


def gone(site: Any, pid: str) -> None:
    """Let an item be none of anybody's any more."""
    from proctor.verify.schema import tables

    (row,) = site.rows("assignments", pid=pid)
    i = tables().items
    site.do(lambda _d, c: c.execute(i.update().where(i.c.id == row.item_id).values(state="gone")))


def test_c11_a_repeat_of_a_settled_item_is_a_case_like_another(site: Any, court: Any) -> None:
    """Its bytes are those of a case in which the readers differ on the question."""
    from proctor.verify.desk import documents

    ana, ben, edda, _ = court
    make_case(site, ("Machine text.",), (("+ +",), ("-",)), ana, ben)
    pid, _ = reserve(site, edda)
    real = [fetch(site, edda, pid, part) for part in PARTS]
    free(site, pid)
    gone(site, pid)
    usual = site.desk.read(documents.protocol)
    site.do(documents.set_protocol, documents.Protocol(repeat_share=0.5), actor="cli")
    try:
        for _ in range(20):  # half of all items are drawn
            make_case(site, ("Machine text.",), (("+ +",), ("+ +",)), ana, ben, state="settled")
            repeat = next_or_none(site, edda)
            if repeat is not None:
                break
    finally:
        site.do(documents.set_protocol, usual, actor="cli")
    assert repeat is not None
    assert site.rows("assignments", pid=repeat)[0].blind_repeat
    for part, (status, _, body) in zip(PARTS, real, strict=True):
        again, _, other = fetch(site, edda, repeat, part)
        assert again == status
        assert neutral(other).splitlines() == neutral(body).splitlines()
    free(site, repeat)
    gone(site, repeat)  # or it is repeated for the next adjudicator


SOURCES = re.compile(
    r"\b(machine|human|annotator|oracle|model|generated|generator|source|reader|rule|template|init|settled_by|approved)s?\b",
    re.I,
)


def test_a6_no_word_of_sources_and_orders_of_ones_own(site: Any, court: Any) -> None:
    ana, ben, edda, fritz = court
    texts = [f"Statement {n}." for n in range(8)]  # two of 40,320 orders are the same by chance almost never
    make_case(site, tuple(texts), (("-",), ("+ ++++++++",)), ana, ben)
    pages = {}
    for person in (edda, fritz):
        pid, item = reserve(site, person)
        status, _, first = fetch(site, person, pid, "")
        _, _, second = fetch(site, person, pid, "")
        assert status == 200
        page = first.decode()
        sheet = page[page.index('<form id="sheet"') : page.index("</form>", page.index('<form id="sheet"'))]
        assert not SOURCES.findall(sheet)
        for reader in (ana, ben):
            assert reader.pid not in page
            assert reader.name not in page
        (row,) = site.rows("items", id=item)
        assert row.candidate_id not in page  # it names the rule that made the question
        orders = [re.findall(r"Statement \d\.", neutral(body)) for body in (first, second)]
        assert orders[0] == orders[1]
        shown = list(dict.fromkeys(orders[0]))
        assert sorted(shown) == texts
        pages[person.pid] = shown
        free(site, pid)
    assert len({tuple(order) for order in pages.values()} | {tuple(texts)}) == 3
    gone(site, pid)


def test_settled_statements_are_not_sent(site: Any, court: Any) -> None:
    ana, ben, edda, _ = court
    made = make_case(site, ("Settled yes.", "Settled no.", "Open."), (("+ +-+",), ("+ +--",)), ana, ben)
    pid, item = reserve(site, edda)
    assert item == made
    for part in ("", "/state"):
        _, _, body = fetch(site, edda, pid, part)
        assert b"Settled yes." not in body
        assert b"Settled no." not in body
    free(site, pid)
    gone(site, pid)


SETTLED: dict[str, tuple[tuple[str, ...], tuple[str, str]]] = {
    # the candidate's answers; what the two readers say: the third is open
    "one right, one wrong": (("Settled yes.", "Settled no.", "Open."), ("+ +-+", "+ +--")),
    "the other way round": (("Settled yes.", "Settled no.", "Open."), ("+ -++", "+ -+-")),
    "both right": (("Settled yes.", "Settled no.", "Open."), ("+ +++", "+ ++-")),
    "other words": (("<b>Other</b> words.", "And more.", "Open."), ("+ +-+", "+ +--")),
    "only one": (("Settled yes.", "Open."), ("+ ++", "+ +-")),
    "none": (("Open.",), ("+ +", "+ -")),
}


def seen_of(site: Any, edda: Any, *readers: Any) -> dict[str, list[str]]:
    """What an adjudicator's browser gets of each of these cases."""
    seen = {}
    for name, (answers, said) in SETTLED.items():
        made = make_case(site, answers, tuple((judged,) for judged in said), *readers)
        pid, item = reserve(site, edda)
        assert item == made
        seen[name] = [neutral(fetch(site, edda, pid, part)[2]) for part in PARTS]
        free(site, pid)
        gone(site, pid)
    return seen


def test_what_is_settled_changes_no_byte(site: Any, court: Any) -> None:
    """Neither its words, nor its values, nor how many there are."""
    ana, ben, edda, _ = court
    seen = seen_of(site, edda, ana, ben)
    assert "Open." in seen["none"][0]
    for name, got in seen.items():
        assert got == seen["none"], name


@pytest.fixture
def shown(site: Any) -> Any:
    """The settings let adjudicators see what is settled."""
    from proctor.verify.desk import documents

    usual = site.desk.read(documents.protocol)
    site.do(documents.set_protocol, documents.Protocol(show_settled=True), actor="cli")
    yield
    site.do(documents.set_protocol, usual, actor="cli")


def listed(page: str) -> list[tuple[str, str]]:
    part = re.search(r'<section id="settled".*?</section>', page, re.S)
    if part is None:
        return []
    assert not re.search(r"<(input|button|textarea|select|a)\b", part.group())
    rows = re.findall(r'<strong class="value">(\w+)</strong><span dir="auto">(.*?)</span>', part.group())
    assert len(rows) == part.group().count("<li>")
    return sorted((text, value) for value, text in rows)


def test_where_the_settings_say_so_settled_statements_are_shown(site: Any, court: Any, shown: None) -> None:
    ana, ben, edda, _ = court
    seen = seen_of(site, edda, ana, ben)
    pages = {name: got[0] for name, got in seen.items()}
    assert {name: listed(page) for name, page in pages.items()} == {
        "one right, one wrong": [("Settled no.", "Wrong"), ("Settled yes.", "Right")],
        "the other way round": [("Settled no.", "Right"), ("Settled yes.", "Wrong")],
        "both right": [("Settled no.", "Right"), ("Settled yes.", "Right")],
        "other words": [("&lt;b&gt;Other&lt;/b&gt; words.", "Right"), ("And more.", "Wrong")],
        "only one": [("Settled yes.", "Right")],
        "none": [],
    }
    for name, page in pages.items():
        # They are all that is added, they are no cards, and they do not come with the data.
        without = re.sub(r'\n*  <section id="settled".*?</section>', "", page, flags=re.S)
        assert without.splitlines() == pages["none"].splitlines(), name
        assert page.count('<fieldset class="card"') == 1
        assert seen[name][1:] == seen["none"][1:]
        section = re.sub(r"(?s).*(<section id=.settled.*?</section>).*", r"\1", page)
        assert name == "none" or not SOURCES.findall(section)


def test_a_reader_sees_nothing_of_it(site: Any, court: Any, shown: None) -> None:
    ana, ben, *_ = court
    first, second = site.deal(ana, ben)[0]
    submit(site, second, ben, "+ ++")
    assert "settled" not in neutral(fetch(site, ana, first, "")[2]).lower().replace(
        'data-question="settled"', ""
    )


def test_a_question_in_conflict_has_nothing_settled_and_a_repeat_looks_like_it(
    site: Any, court: Any, shown: None
) -> None:
    from proctor.verify.desk import documents

    ana, ben, edda, _ = court
    texts = ("Machine text.", "Another statement.")
    make_case(site, texts, (("+ ++",), ("-",)), ana, ben)
    pid, _ = reserve(site, edda)
    real = unordered(neutral(fetch(site, edda, pid, "")[2]), *texts)
    assert 'id="settled"' not in real
    free(site, pid)
    gone(site, pid)
    site.do(documents.set_protocol, documents.Protocol(show_settled=True, repeat_share=0.5), actor="cli")
    for _ in range(20):  # half of all items are drawn
        make_case(site, texts, (("+ ++",), ("+ ++",)), ana, ben, state="settled")
        repeat = next_or_none(site, edda)
        if repeat is not None:
            break
    assert repeat is not None
    page = unordered(neutral(fetch(site, edda, repeat, "")[2]), *texts)
    assert page.splitlines() == real.splitlines()
    free(site, repeat)
    gone(site, repeat)  # or it is repeated for the next adjudicator


def test_a_reader_is_not_told_of_their_partner(site: Any, court: Any) -> None:
    """The page before and after the other one has submitted."""
    ana, ben, *_ = court
    first, second = site.deal(ana, ben)[0]
    before = [neutral(fetch(site, ana, first, part)[2]) for part in ("", "/state")]
    submit(site, second, ben, "-")
    assert [neutral(fetch(site, ana, first, part)[2]) for part in ("", "/state")] == before
