"""Requests that our own pages never send: from other sites, too large, too many, malformed, to other names."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from proctor.studio.auth import Limits
from proctor.studio.guard import POLICY
from proctor.studio.language import PROGRAMS
from proctor.studio.routes import ROUTES, StudioRoute
from proctor.verify.desk import rounds
from proctor.verify.desk.work import MAX_DRAFT
from proctor.verify.schema import tables

UNSAFE = [route for route in ROUTES() if route.method != "GET"]
FOREIGN = {
    "cross-site form": {"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.example"},
    "same-site subdomain": {"Sec-Fetch-Site": "same-site", "Origin": "http://evil.127.0.0.1:8642"},
    "another port": {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:9999"},
    "old browser, foreign origin": {"Origin": "http://evil.example"},
    "old browser, null origin": {"Origin": "null"},
    "old browser, no origin": {},
    "our origin as a prefix": {"Origin": "http://127.0.0.1:8642.evil.example"},
    "our origin in capitals and a site that lies": {
        "Origin": "http://127.0.0.1:8642",
        "Sec-Fetch-Site": "CROSS-SITE",
    },
}


def name_of(route: StudioRoute) -> str:
    return f"{route.method} {route.path}"


def address_of(route: StudioRoute, house: Any) -> str:
    pid = house.person("ana").pid if route.path.startswith("/people/") else house.work_of("ana")
    path = route.path.replace("{pid}", pid).replace("{token}", "t" * 43)
    if "{round}" in path:
        path = path.replace("{round}", house.desk.read(rounds.list_rounds)[0].pid)
    return re.sub(r"\{\w+\}", "a" * 16, path)


# -- other sites (5.3) -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("route", UNSAFE, ids=name_of)
def test_other_sites_change_nothing(route: StudioRoute, house: Any, crew: Any) -> None:
    address = address_of(route, house)
    for who in ("annotator", "worker", "owner", "nobody"):
        if who != "nobody":
            crew[who].sign_in()
        with house.unchanged(address):
            for what, headers in FOREIGN.items():
                answer = crew[who].send(
                    route.method, address, data={"sure": "1"}, headers={"Accept": "text/html", **headers}
                )
                # Programs, and a provider that tells of a log-out, send no origin; cookies are nothing there.
                program = route.path.startswith(PROGRAMS) and not headers
                wanted = (401 if route.permission == "write" else 404) if program else 403
                assert answer.status_code == wanted, (what, answer.status_code)
                assert answer.headers["content-security-policy"] == POLICY
                assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("route", UNSAFE, ids=name_of)
def test_json_as_plain_text_is_refused(route: StudioRoute, house: Any, crew: Any, says: Any) -> None:
    crew["owner"].sign_in()
    with house.unchanged():
        for kind in ("text/plain", "text/plain; application/json", "image/svg+xml"):
            answer = crew["owner"].send(
                route.method,
                address_of(route, house),
                content=b'{"a":1}',
                headers={**says.page, "Content-Type": kind},
            )
            assert answer.status_code == 415


def test_methods_that_override_are_not_believed(house: Any, crew: Any, says: Any) -> None:
    pid = house.work_of("ana")
    crew["annotator"].sign_in()
    with house.unchanged():
        for address in (f"/w/{pid}?_method=POST", f"/w/{pid}/cant?reason=media"):
            headers = {**says.page, "X-HTTP-Method-Override": "POST"}
            assert crew["annotator"].get(address, headers=headers).status_code in (200, 405)
        for method in ("DELETE", "PATCH", "TRACE", "PROPFIND"):
            assert crew["annotator"].send(method, f"/w/{pid}").status_code in (403, 405)


# -- names (5.16, field 6) -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.nip.io:8642", "localhost.evil.example", "", "169.254.1.1"]
)
def test_another_name_for_this_server_gets_nothing(host: str, house: Any, crew: Any, says: Any) -> None:
    crew["owner"].sign_in()
    for path in ("/", "/exports", "/healthz", f"/w/{house.work_of('ana')}", "/static/x"):
        answer = crew["owner"].get(path, headers={**says.page, "Host": host})
        assert answer.status_code == 400
        assert "Sample" not in answer.text


# -- headers (field 7) -----------------------------------------------------------------------------------------


def test_every_answer_forbids_frames_and_foreign_scripts(house: Any, crew: Any, says: Any) -> None:
    crew["owner"].sign_in()
    pid = house.work_of("ana")
    answers = [
        crew[who].send(method, path, headers=headers)
        for who in ("nobody", "owner")
        for method, path in (
            ("GET", "/"),
            ("GET", "/signin"),
            ("GET", "/my"),
            ("GET", "/no/such"),
            ("GET", f"/w/{pid}"),
            ("POST", "/next"),
            ("GET", "/static/x/none.js"),
            ("GET", "/healthz"),
            ("GET", "/%2e%2e/"),
        )
        for headers in (says.page, says.data, {"Accept": "*/*"})
    ]
    assert {a.status_code for a in answers} >= {200, 303, 401, 403, 404}
    for answer in answers:
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert "unsafe" not in POLICY
    assert "*" not in POLICY


# -- limits (5.17) ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("route", UNSAFE, ids=name_of)
def test_a_body_of_more_than_a_megabyte(route: StudioRoute, house: Any, crew: Any, says: Any) -> None:
    crew["owner"].sign_in()
    crew["annotator"].sign_in()
    who = "annotator" if route.path.startswith("/w/") else "owner"
    is_sound = route.path in ("/w/{pid}/narration/{name}", "/w/{pid}/slice/{part}/{seq}")
    kinds = ("audio/ogg",) if is_sound else ("application/json", "application/x-www-form-urlencoded")
    with house.unchanged():
        for kind in kinds:
            answer = crew[who].send(
                route.method,
                address_of(route, house),
                content=b"a=" + b"x" * (16_000_001 if is_sound else 1_000_001),
                headers={**says.page, "Content-Type": kind},
            )
            assert answer.status_code == 413


BAD_JSON = {
    "nothing": b"",
    "no json": b"sheet",
    "no text": b"\xff\xfe",
    "half": b'{"client_id":"a","seq":1,',
    "deep": b"[" * 100_000,
    "deep objects": b'{"sheet":' * 50_000,
    "a list": b"[]",
    "null": b"null",
    "nan": b'{"client_id":"a","seq":NaN,"base":0,"sheet":{}}',
    "infinity": b'{"client_id":"a","seq":1,"base":0,"sheet":{},"active_ms":Infinity}',
    "huge": b'{"client_id":"a","seq":1' + b"0" * 400 + b',"base":0,"sheet":{}}',
    "1e999": b'{"client_id":"a","seq":1,"base":0,"sheet":{},"active_ms":1e999}',
    "negative": b'{"client_id":"a","seq":-1,"base":0,"sheet":{}}',
    "half a number": b'{"client_id":"a","seq":1.5,"base":0,"sheet":{}}',
    "a string for a number": b'{"client_id":"a","seq":"1","base":0,"sheet":{}}',
    "true for a number": b'{"client_id":"a","seq":true,"base":0,"sheet":{}}',
    "unknown field": b'{"client_id":"a","seq":1,"base":0,"sheet":{},"role":"owner"}',
    "unknown field of the sheet": b'{"client_id":"a","seq":1,"base":0,"sheet":{"verdict":"right"}}',
    "a value that is none": b'{"client_id":"a","seq":1,"base":0,"sheet":{"question":"maybe"}}',
    "nested answers": b'{"client_id":"a","seq":1,"base":0,"sheet":{"answers":[["right"]]}}',
    "answers as an object": b'{"client_id":"a","seq":1,"base":0,"sheet":{"answers":{"0":"right"}}}',
    "a number for an answer": b'{"client_id":"a","seq":1,"base":0,"sheet":{"own_answers":[1]}}',
    "no client": b'{"client_id":"","seq":1,"base":0,"sheet":{}}',
    "a client of two lines": b'{"client_id":"a\\nb","seq":1,"base":0,"sheet":{}}',
    "half of a character": b'{"client_id":"a","seq":1,"base":0,"sheet":{"note":"\\ud800"}}',
}


@pytest.mark.parametrize("body", BAD_JSON.values(), ids=BAD_JSON.keys())
def test_drafts_that_are_none(body: bytes, house: Any, crew: Any, says: Any) -> None:
    crew["annotator"].sign_in()
    with house.unchanged():
        answer = crew["annotator"].send(
            "PUT",
            f"/w/{house.work_of('ana')}/draft",
            content=body,
            headers={**says.data, "Content-Type": "application/json"},
        )
    assert answer.status_code in (415, 422), answer.text
    found = answer.json()
    assert found["status"] == answer.status_code
    if answer.status_code == 422:
        assert found["errors"]
        assert all(e["field"] and e["message"] for e in found["errors"])


@pytest.mark.parametrize(
    ("sheet", "field"),
    [
        ({}, "question"),
        ({"question": "right"}, "answers.0"),
        ({"question": "right", "answers": ["right"] * 10_000}, "answers"),
        ({"question": "right", "answers": ["unsure"]}, "answers.0"),
        ({"question": "wrong", "reasons": ["because"]}, "reasons"),
        ({"question": "wrong", "note": "x" * 4_001}, "note"),
        ({"question": "wrong", "note": "a\x00b"}, "note"),
    ],
)
def test_sheets_that_are_refused_name_their_fields(sheet: Any, field: str, house: Any, crew: Any) -> None:
    crew["annotator"].sign_in()
    with house.unchanged():
        answer = crew["annotator"].submit(house.work_of("ana"), sheet)
    assert answer.status_code == 422
    assert field in [error["field"] for error in answer.json()["errors"]]


def test_own_answers_have_a_limit_in_number_and_length(house: Any, crew: Any) -> None:
    crew["annotator"].sign_in()
    pid = house.work_of("ana")
    answers = ["right"] * len(house.load(pid, "ana").cards.texts)
    with house.unchanged():
        for own in (["a"] * 21, ["a" * 4_001], ["a\x00"]):
            answer = crew["annotator"].submit(
                pid, {"question": "right", "answers": answers, "own_answers": own}
            )
            assert answer.status_code == 422
            assert answer.json()["errors"][0]["field"].startswith("own_answers")


@pytest.mark.parametrize("key", ["", "short", "x" * 81, "a b\tc d e f g"])
def test_a_submit_needs_a_key(key: str, house: Any, crew: Any, says: Any) -> None:
    crew["annotator"].sign_in()
    headers = {**says.data, "If-Match": '"0"', "Idempotency-Key": key}
    with house.unchanged():
        body = {"sheet": {"question": "wrong"}}
        answer = crew["annotator"].send(
            "POST", f"/w/{house.work_of('ana')}/submit", json=body, headers=headers
        )
    assert answer.status_code == 422


@pytest.mark.parametrize("rev", ["", "abc", "-1", "1e9", "9" * 400, '"0', "*", "NaN"])
def test_a_submit_needs_the_revision_that_it_knows(rev: str, house: Any, crew: Any, says: Any) -> None:
    crew["annotator"].sign_in()
    headers = {**says.data, "If-Match": rev, "Idempotency-Key": "k" * 20}
    done = house.work_of("ana", "submitted")
    with house.unchanged():
        body = {"sheet": {"question": "wrong"}}
        answer = crew["annotator"].send("POST", f"/w/{done}/submit", json=body, headers=headers)
    assert answer.status_code == 409
    assert answer.json()["mine"]["question"] == "wrong"


def test_a_flood_of_drafts_is_one_row_of_bounded_size(house: Any, crew: Any) -> None:
    crew["annotator"].sign_in()
    pid, version = house.work_of("ana", at=1), 0
    sheet = {"question": "right", "note": "x" * 200_000}
    for n in range(40):
        answer = crew["annotator"].draft(pid, sheet, seq=n + 1, base=version, client="flood")
        assert answer.status_code == 200, answer.text
        version = answer.json()["version"]
    too_much = crew["annotator"].draft(
        pid, {"note": "x" * (MAX_DRAFT + 1)}, seq=99, base=version, client="flood"
    )
    assert too_much.status_code == 422
    row = tables().drafts.select().where(tables().drafts.c.client_id == "flood")
    kept = house.desk.read(lambda c: c.execute(row).all())
    assert len(kept) == 1
    assert len(kept[0].sheet.encode()) <= MAX_DRAFT
    assert len(json.loads(kept[0].sheet)["note"]) == 200_000


def test_writes_are_slowed_down_for_one_person_and_not_for_another(open_house: Any) -> None:
    house = open_house(limits=Limits(0.1, 30, 5))
    ana, ben = house.visitor("ana"), house.visitor("ben")
    pid = house.work_of("ana")
    answers = [ana.draft(pid, {}, seq=n + 1) for n in range(60)]
    slow = [a for a in answers if a.status_code == 429]
    assert answers[0].status_code == 200
    assert slow
    assert all(int(a.headers["retry-after"]) >= 1 for a in slow)
    assert ben.draft(house.work_of("ben"), {}).status_code == 200
    assert ana.get("/").status_code == 200


def test_forms_with_thousands_of_fields_are_refused_or_ignored(house: Any, crew: Any, says: Any) -> None:
    crew["annotator"].sign_in()
    crew["owner"].sign_in()
    fields = "&".join(f"own=a{n}&answer-{n}=right" for n in range(5_000)).encode()
    headers = {**says.page, "Content-Type": "application/x-www-form-urlencoded"}
    with house.unchanged():
        for who, path in (("annotator", f"/w/{house.work_of('ana')}/submit"), ("nobody", "/signin")):
            answer = crew[who].send("POST", path, content=fields, headers=headers)
            assert answer.status_code in (400, 401, 413, 422), (path, answer.status_code)


def test_a_form_with_a_file_is_no_form_of_ours(house: Any, crew: Any, says: Any) -> None:
    """Field 4: nothing here takes an upload; an SVG or HTML file has nowhere to go."""
    page = ("x.svg", b"<svg onload=zqx()>", "image/svg+xml")
    answers = []
    for route in (r for r in UNSAFE if "{token}" not in r.path and r.permission != "write"):
        who = "annotator" if route.path.startswith("/w/") else "owner"
        crew[who].sign_in()
        address = address_of(route, house)
        if route.path.startswith("/people/") or route.path == "/my/sessions/end-all":
            continue  # they read no form, or are tried with people of their own in test_routes.py
        sent = crew[who].send(
            route.method, address, files={"note": page, "body": page, "kind": page}, headers=says.page
        )
        answers.append((route.path, sent.status_code))
    assert {status for _, status in answers} <= {303, 400, 404, 409, 415, 422}, answers
    assert len([1 for _, status in answers if status == 400]) > 8, answers
    rows = "".join(repr(house.desk.read(lambda c, t=t: c.execute(t.select()).all())) for t in tables())
    assert "onload=zqx" not in rows
    assert "x.svg" not in rows
