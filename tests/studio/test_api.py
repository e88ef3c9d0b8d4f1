"""The interface for programs: what it gives, to whom, and what it makes of what programs send."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import msgspec
import pytest
from starlette.testclient import TestClient
from tests.studio import roundwork

from proctor.studio.auth import hash_token, new_token
from proctor.studio.exporting import EXPORTS
from proctor.studio.pages.api import CALLS
from proctor.verify.desk import people, roster, rounds, tokens, work
from proctor.verify.desk.records import Person
from proctor.verify.policy import Policy


class Program:
    """What sends requests with a token, and no browser."""

    def __init__(self, office: Any, secret: str = "") -> None:
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        self.http = TestClient(
            office.app, base_url=office.origin, headers=headers, raise_server_exceptions=False
        )

    def get(self, path: str, **more: Any) -> Any:
        return self.http.get(f"/api/v1{path}", **more)

    def post(self, path: str, **more: Any) -> Any:
        return self.http.post(f"/api/v1{path}", **more)

    def verdicts(self, *rows: Any) -> Any:
        return self.post("/verdicts", json=rows)


@pytest.fixture
def gita(office: Any) -> Person:
    office.sync(6)
    return office.hire("gita", "coordinator")  # type: ignore[no-any-return]


def secret_of(office: Any, person: Person, scope: str = "write", days: int = 30) -> str:
    secret = tokens.new_secret()
    office.do(tokens.create, hash_token(secret), person, name="night", scope=scope, days=days, actor="cli")
    return secret


@pytest.fixture
def program(office: Any, gita: Person) -> Iterator[Program]:
    made = Program(office, secret_of(office, gita))
    with made.http:
        yield made


# -- what it gives ---------------------------------------------------------------------------------------------------


def test_the_project_and_its_items(office: Any, program: Program) -> None:
    assert program.get("/project").json() | {"agreement_at": 0} == {
        "name": "Kitchen", "items": {"undealt": 6}, "readings_open": 0, "readings_submitted": 0, "agreement_at": 0,
        "headline": "Nothing is dealt yet; 6 items are there.",
    }  # fmt: skip
    seen: list[str] = []
    after: str | None = "0"
    while after is not None:
        page = program.get("/items", params={"type": "next", "limit": "2", "after": after}).json()
        seen += [row["candidate"] for row in page["items"]]
        after = page["next"]
    assert seen == ["c000", "c002", "c004"]
    row = program.get("/items", params={"state": "undealt"}).json()["items"][1]
    assert program.get(f"/items/{row['id']}").json() == {"item": row, "verdicts": []}
    assert row["proposals"] == ["Stir 1.", "Pour 1."]
    assert program.get("/items/aaaaaaaaaaaaaaaa").status_code == 404


def test_people_under_random_ids(office: Any, program: Program, gita: Person) -> None:
    made = program.post("/people", json={"role": "annotator", "email": "new@example.org"})
    assert made.status_code == 201
    assert "/invite/" in made.json()["link"]
    assert program.post("/people", json={"role": "owner"}).status_code == 422
    (row,) = program.get("/people").json()
    assert (row["id"], row["role"], row["readings_given"]) == (gita.pid, "coordinator", 0)
    assert "email" not in row


def test_verdicts_come_in_as_the_command_brings_them(office: Any, program: Program, gita: Person) -> None:
    said = {
        "annotator": "elsewhere",
        "annotator_kind": "human",
        "at": "2026-01-01T00:00:00Z",
        "question": {"value": "right"},
    }
    good = {**said, "candidate_id": "c000", "answers": [{"value": "right"}, {"value": "wrong"}]}
    raw = {"table": "verdict", "verdict": {**good, "candidate_id": "c001"}}
    lost = {**good, "candidate_id": "c999"}
    unfit = {**good, "candidate_id": "c002", "answers": [{"value": "right"}]}
    answer = program.verdicts(good, raw, {"table": "person"}, lost, unfit).json()
    reasons = [one["reason"] for one in answer.pop("dropped")]
    assert reasons == ["candidate-unknown", "answers-do-not-fit"]
    assert answer == {"verdicts": 4, "new": 2, "items": 2}
    assert program.verdicts(good).json()["new"] == 0
    item = program.get(f"/items/{office.item('c000').pid}").json()
    assert [v["annotator"] for v in item["verdicts"]] == ["elsewhere"]
    forged = program.verdicts(good, {**good, "annotator": gita.pid})
    assert forged.status_code == 422
    assert "own pages" in forged.text
    assert [e.actor for e in office.events("items.brought")] == [gita.pid] * 2


def test_rounds_and_exports(office: Any, program: Program) -> None:
    roundwork.begin(office.desk, "rate", roundwork.make_tasks("rate", 3), name="study one", wanted=1)
    (line,) = program.get("/rounds").json()
    assert (line["name"], line["state"], line["tasks"]) == ("study one", "open", 3)
    address = line["href"].removeprefix("/api/v1")
    readings = program.get(f"{address}/readings")
    assert (readings.status_code, readings.text) == (200, "")
    for _ in range(2):
        assert program.post(f"{address}/close").json()["state"] == "closed"
    assert len(office.events("round.closed")) == 1
    rows = [json.loads(line) for line in program.get("/export/rows").text.splitlines()]
    assert {row["table"] for row in rows} >= {"item", "event", "task"}
    assert program.get("/export/csv").text.startswith("candidate,type,")
    assert program.get("/export/passwords").status_code == 404
    assert program.http.head("/api/v1/export/published").status_code == 200
    for _ in range(2):
        assert program.get("/export/rows").status_code == 200
    assert [json.loads(e.body)["what"] for e in office.events("export")] == ["rows", "csv"]
    office.time += 25 * 3600
    program.get("/export/rows")
    assert len(office.events("export")) == 3


def test_every_answer_is_as_the_description_says(office: Any, program: Program) -> None:
    judges = [office.hire("ana"), office.hire("ben")]
    office.do(
        roster.apply_deal,
        office.desk.read(lambda c: roster.plan_deal(office.desk, c, judges, Policy())),
        actor="cli",
    )
    for judge in judges:
        office.submit(
            next(row.pid for row in office.open_work(judge) if row.item_id == office.item("c000").id), judge
        )
    one = roundwork.begin(office.desk, "rate", roundwork.make_tasks("rate", 1), wanted=1)
    batch = office.do(rounds.open_batch, one, judges[0])
    (task,) = office.rows("assignments", batch_id=batch.id)
    sheet = msgspec.Raw(msgspec.json.encode(roundwork.sheet_of("rate")))
    office.do(work.submit, task.pid, judges[0], sheet=sheet, rev=0, key="k" * 9)
    told = program.get("/openapi.json").json()
    assert len([m for path in told["paths"].values() for m in path]) == len(CALLS)
    names = {"pid": [office.item("c000").pid], "name": [one.name], "kind": EXPORTS, "": [""]}
    for path, call in told["paths"].items():
        (parameter,) = re.findall(r"{(\w+)}", path) or [""]
        for name in names[parameter] if "get" in call else ():
            answer = program.http.get(path.replace(f"{{{parameter}}}", name))
            media = answer.headers["content-type"].partition(";")[0]
            schema = call["get"]["responses"]["200"]["content"][media]["schema"]
            lines = answer.text.splitlines() if schema.get("contentSchema") else [answer.text]
            for line in lines:
                sent = line if media == "text/csv" else json.loads(line)
                jsonschema.validate(
                    sent, {**schema.get("contentSchema", schema), "components": told["components"]}
                )
            assert (answer.status_code, bool(lines and sent)) == (200, True), path
    refused = program.post("/people", json={"role": "king"}).json()
    problem = told["components"]["schemas"]["Problem"]
    jsonschema.validate(refused, {**problem, "components": told["components"]})


# -- who may -----------------------------------------------------------------------------------------------------------


def test_a_token_has_the_rights_of_its_person_at_that_moment(office: Any, gita: Person) -> None:
    secret = secret_of(office, gita)

    def status() -> int:
        return int(Program(office, secret).get("/project").status_code)

    assert status() == 200
    office.do(people.set_role, gita, "annotator", actor="cli")
    assert status() == 401
    office.do(people.set_role, gita, "owner", actor="cli")
    assert status() == 200
    assert Program(office, secret).post("/people", json={"role": "owner"}).status_code == 201


def test_a_token_is_made_shown_once_and_ended(office: Any, gita: Person) -> None:
    page = office.post(gita, "/my/tokens", token_name="night run", scope="read", days="7")
    secret = page.text.partition('<code class="token">')[2].partition("<")[0]
    assert secret.startswith("proctor_")
    assert secret not in office.get(gita, "/my").text
    assert secret not in repr(office.rows("tokens")) + repr(office.rows("events"))
    program = Program(office, secret)
    assert program.get("/project").status_code == 200
    refused = program.post("/people", json={})
    assert (refused.status_code, refused.json()["detail"]) == (403, "This token may only read.")
    (row,) = office.rows("tokens")
    assert row.used_at == office.time
    assert office.post(gita, f"/my/tokens/{row.pid}/end").status_code == 303
    assert program.get("/project").status_code == 401
    assert office.post(gita, f"/my/tokens/{row.pid}/end").status_code == 404
    for form in ({"days": "0"}, {"days": "400"}, {"scope": "all"}, {"token_name": ""}):
        asked = {"token_name": "x", "scope": "read", "days": "7", **form}
        assert office.post(gita, "/my/tokens", **asked).status_code == 422, form
    ana = office.hire("ana")
    assert office.post(ana, "/my/tokens", token_name="x", scope="read", days="7").status_code == 404
    assert "Tokens for programs" not in office.get(ana, "/my").text


def test_no_cookie_and_nothing_else_opens_it(office: Any, gita: Person, program: Program) -> None:
    for answer in (
        office.get(gita, "/api/v1/project"),
        Program(office).get("/project"),
        Program(office, "proctor_" + "x" * 43).get("/project"),
        Program(office, new_token()).get("/project"),
        program.http.get("/api/v1/project", headers=[("Authorization", "Bearer x"), ("Accept", "text/html")]),
    ):
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert answer.headers["content-type"] == "application/problem+json"
    elsewhere = {"Origin": "https://evil.example.org"}
    assert program.post("/people", json={}, headers=elsewhere).status_code == 403
    assert program.post("/people", json={}, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert not [
        h for h in program.get("/project", headers=elsewhere).headers if h.startswith("access-control")
    ]
    signed = office.client(gita)
    assert (
        signed.get("/my", headers={"Authorization": program.http.headers["authorization"]}).status_code == 200
    )
    assert program.http.get("/dashboard", follow_redirects=False).status_code == 401


def test_wrong_tokens_are_limited_and_right_ones_go_on(office: Any, program: Program) -> None:
    wrong = Program(office, "proctor_" + "x" * 43)
    answers = [wrong.get("/project").status_code for _ in range(101)]
    assert answers == [401] * 100 + [429]
    assert program.get("/project").status_code == 200


# -- what programs send ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b'{"role": "annotator"', b'{"role": NaN}', b'{"role": "annotator", "role": "owner"}', b"[]", b'{"more": 1}',
        b'{"role": "worker"}', b'{"email": 7}', b"\xff\xfe", b"[" * 100_000, b'{"email": "' + b"x" * 900_000 + b'"}', b"1" * 9_000,
    ],
    ids=lambda body: repr(body[:20]),
)  # fmt: skip
def test_bodies_of_any_shape_are_answered_with_what_is_wrong(
    office: Any, program: Program, body: bytes
) -> None:
    answer = program.post("/people", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"]
    assert office.rows("invites") == []


def test_sizes_types_and_methods(office: Any, program: Program) -> None:
    json_type = {"Content-Type": "application/json"}
    assert program.post("/people", content=b"x" * 1_000_001, headers=json_type).status_code == 413
    assert program.verdicts({"note": "x" * 10_000_000}).status_code == 413
    assert "verdict:2" in program.verdicts({"table": "item"}, {"a": 1}).text
    assert program.post("/people", content=b"{}", headers={"Content-Type": "text/plain"}).status_code == 415
    assert program.post("/people", data={"role": "owner"}).status_code == 422
    for method, path, status in (
        ("PUT", "/people", 405), ("DELETE", "/rounds/x", 405), ("POST", "/project", 405), ("HEAD", "/project", 200),
        ("OPTIONS", "/project", 405), ("GET", "/nothing", 404), ("GET", "/rounds/none", 404), ("GET", "/items?state=no", 422),
        ("GET", "/items?limit=0", 422), ("GET", "/items?after=x", 422), ("GET", "/items?type=no", 422),
        ("GET", "/items?stat=case", 422), ("GET", "/items?type=next&type=missing", 422),
    ):  # fmt: skip
        answer = program.http.request(method, f"/api/v1{path}")
        assert answer.status_code == status, (method, path, answer.text)
