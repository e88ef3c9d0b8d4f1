"""Every route as everybody: the matrix is made from the route table, so a new route is tried the day it is added."""

from __future__ import annotations

import functools
import itertools
import statistics
from typing import Any

import pytest
from tests.patience import Effort
from tests.studio import roundwork

from proctor.errors import UserError
from proctor.studio.app import build_app
from proctor.studio.auth import hash_token, new_token
from proctor.studio.exporting import make_export
from proctor.studio.pages import registry
from proctor.studio.pages.demo import DEMO_ROUTES
from proctor.studio.routes import ROUTES, StudioRoute, build_routes
from proctor.verify.desk import people, tokens
from proctor.verify.desk.people import COMMAND_LINE
from proctor.verify.desk.records import at_least
from proctor.verify.schema import tables

TABLE = ROUTES()
EVERYBODY = ("nobody", "worker", "annotator", "other", "adjudicator", "coordinator", "owner")
HANDLES = {
    "annotator": "ana",
    "other": "ben",
    "adjudicator": "edda",
    "coordinator": "gita",
    "owner": "farid",
    "worker": "wanda",
}
MAY_BE_EMPTY = {
    "/w/{pid}/clip.mp4",
    "/w/{pid}/poster.jpg",
    "/w/{pid}/feedback",
    "/w/{pid}/dispute",
    "/w/{pid}/look",
} | {
    "/w/{pid}/narration/{name}",
    "/w/{pid}/slice/{part}/{seq}",
    "/w/{pid}/clock",
    "/w/{pid}/lease",
    "/w/{pid}/recorder",
    "/r/{round}/join",
    "/r/{round}/start",
    "/r/{round}/stop",
    *(f"/rounds/{{round}}/review/{{batch}}/{{sample}}/{file}" for file in ("picture", "sound", "clip.mp4")),
    "/items/{pid}/clip.mp4",
    "/items/{pid}/picture",
    "/w/{pid}/picture",
    "/w/{pid}/sound",
    "/items/{pid}/poster.jpg",
    "/my/provider",
    "/my/provider/end",
}
"""They say 404 where there is no recording, no training item, no case, no task, no batch, no provider (``test_sso``)."""

FORMS = {
    "/guidelines": {"kind": "guideline", "body": "# Read", "base": "1"},
    "/guidelines/stage": {"stage": "training", "closed": "0"},
    "/guidelines/freeze": {"kind": "consent", "frozen": "0"},
}
"""What some pages need to know what is meant; the others say what is missing."""


def name_of(route: StudioRoute) -> str:
    return f"{route.method} {route.path}"


def role_of(who: str) -> str:
    return "annotator" if who == "other" else who


def body_for(route: StudioRoute) -> dict[str, Any]:
    """A request that is well formed, so that only the permission can refuse it."""
    sheet = {"question": "wrong", "reasons": [], "answers": [], "own_answers": [], "note": ""}
    if route.path == "/w/{pid}/draft":
        return {"json": {"client_id": "x", "seq": 1, "base": 0, "sheet": sheet, "active_ms": 0}}
    if route.path == "/w/{pid}/submit":
        return {"json": {"sheet": sheet, "active_ms": 0, "client_id": "x"}}
    if route.path == "/w/{pid}/look":
        return {"json": {}}
    if route.path == "/w/{pid}/narration/{name}" and route.method == "PUT":
        return {"content": b"OggS"}
    if route.path == "/w/{pid}/slice/{part}/{seq}":
        return {"content": b"OggS"}
    if route.path in ("/w/{pid}/lease", "/w/{pid}/recorder"):
        return {"json": {"client": "a-tablet"}}
    if route.path == "/w/{pid}/cant":
        return {"json": {"reason": "media", "note": ""}}
    return {} if route.method == "GET" else {"data": FORMS.get(route.path, {"a": "b"})}


def headers_for(route: StudioRoute, says: Any, *, page: bool) -> dict[str, str]:
    more = {"If-Match": '"0"', "Idempotency-Key": "k" * 20} if route.path.startswith("/w/") else {}
    if route.path.endswith(("/{name}", "/{seq}")) and route.method == "PUT":
        more["Content-Type"] = "audio/ogg"
    return {**(says.page if page else says.data), **more}


class Ids:
    """Real ids for the parameters of an address, made anew where a request may use them up."""

    def __init__(self, house: Any) -> None:
        self.house, self.count = house, 0
        self.export = make_export(
            house.desk, "csv", house.studio.settings.folder / "exports", actor="cli"
        ).pid

    def fill(self, path: str, who: str) -> str:
        if "{token}" in path:
            return path.replace("{token}", new_token())
        if "{" not in path:
            return path
        path = path.replace("{name}", "said1").replace("{part}", "tablet-1").replace("{seq}", "1")
        path = path.replace("{kind}", "csv")
        if "{round}" in path:
            names = zip(("{round}", "{batch}", "{sample}"), self._round(), strict=True)
            return functools.reduce(lambda told, pair: told.replace(*pair), names, path)
        return path.replace("{pid}", self._pid(path, who)).replace("{id}", "1").replace("{version}", "1")

    def _round(self) -> tuple[str, str, str]:
        """The study of people of a platform, its batch, and a task in it."""
        with self.house.desk.reading() as c:
            t = tables()
            study = c.execute(t.rounds.select().where(t.rounds.c.name == "study")).one()
            of_it = t.batches.select().where(t.batches.c.round_id == study.id)
            batch = c.execute(of_it.where(t.batches.c.state == "complete")).first()
            sample = c.execute(t.assignments.select().where(t.assignments.c.batch_id == batch.id)).first()
        return study.pid, batch.pid, sample.pid

    def _pid(self, path: str, who: str) -> str:
        if path.startswith("/w/"):
            if who == "worker":
                return self.house.task_of("wanda", "study")
            handle = {"annotator": "ana", "other": "ben"}.get(who)
            return self.house.work_of(handle) if handle else "aaaaaaaaaaaaaaaa"
        if path.startswith("/my/sessions/"):
            if who not in HANDLES:
                return "aaaaaaaaaaaaaaaa"
            person = self.house.person(HANDLES[who])
            return self.house.desk.read(lambda c: people.list_sessions(self.house.desk, c, person))[0].pid
        if path.startswith("/my/tokens/"):
            person = self.house.person(HANDLES.get(who, "gita"))
            if not at_least(person.role, "coordinator"):
                return "aaaaaaaaaaaaaaaa"
            more = {"name": "x", "scope": "read", "days": 1, "actor": "cli"}
            self.house.do(tokens.create, hash_token(new_token()), person, **more)
            return self.house.desk.read(lambda c: tokens.list_tokens(self.house.desk, c, person))[0].pid
        if path.startswith("/people/invites/"):
            return self.house.do(
                people.create_invite, hash_token(new_token()), "annotator", actor=COMMAND_LINE
            ).pid
        if path.startswith("/people/"):
            self.count += 1
            victim = self.house.hire(f"victim{self.count}")
            if path.endswith("/rejoin"):
                self.house.do(people.leave, victim, actor=COMMAND_LINE)
            return victim.pid
        if path.startswith("/exports/"):
            return self.export
        return self.house.all_items()[0].pid


@pytest.fixture(scope="module")
def ids(house: Any) -> Ids:
    return Ids(house)


# -- permissions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("route", TABLE, ids=name_of)
def test_every_route_as_everybody(route: StudioRoute, house: Any, crew: Any, ids: Ids, says: Any) -> None:
    for who in EVERYBODY:
        visitor = crew[who]
        for page in (True, False):
            if visitor.person is not None:
                visitor.sign_in()  # a request before may have ended the session, as it should
            address = ids.fill(route.path, who)
            response = visitor.send(
                route.method, address, headers=headers_for(route, says, page=page), **body_for(route)
            )
            _judge(route, who, page, address, response)


def _judge(route: StudioRoute, who: str, page: bool, address: str, response: Any) -> None:
    told = (name_of(route), who, "page" if page else "data", response.status_code, response.text[:300])
    assert response.status_code < 500, told
    assert "content-security-policy" in response.headers, told
    if route.permission in ("read", "write"):
        assert response.status_code == 401, told  # whoever comes with a cookie, and asks for a page or not
        assert response.headers["www-authenticate"].startswith("Bearer"), told
        assert response.headers["content-type"] == "application/problem+json", told
    elif route.permission == "public":
        assert response.status_code != 403, told
        assert response.status_code != 401 or route.path == "/signin", told
    elif who == "nobody":
        if page:
            assert response.status_code == 303, told
            assert response.headers["location"].startswith("/signin"), told
        else:
            assert response.status_code == 401, told
            assert response.headers["content-type"] == "application/problem+json", told
    elif route.permission == "own-assignment" and "aaaaaaaa" in address:
        assert response.status_code == 404, told
    elif who == "worker" and route.path == "/":
        assert response.headers["location"] == "/r", told
    elif route.permission in ("signed-in", "own-assignment") or at_least(role_of(who), route.permission):
        assert response.status_code not in (401, 403), told
        assert response.status_code != 404 or route.path in MAY_BE_EMPTY, told
    else:
        assert response.status_code == 404, told


def test_the_table_has_all_kinds_of_permissions() -> None:
    found = {route.permission for route in TABLE}
    assert {"public", "signed-in", "own-assignment", "worker", "annotator", "coordinator"} <= found


def test_only_these_routes_are_public() -> None:
    public = {route.path for route in TABLE if route.permission == "public"}
    accounts = {"/signin", "/signout", "/invite/{token}", "/setup/{token}", "/start/{token}"}
    accounts |= {"/signin/provider", "/signin/provider/done", "/api/provider/logout"}
    assert public == {*accounts, "/r/{round}", "/r/{round}/join", "/tablet.js", "/ahead.js", "/ca.pem"}


@pytest.mark.parametrize("route", [r for r in TABLE if r.permission in ("read", "write")], ids=name_of)
def test_every_address_for_programs_with_tokens_of_everybody(
    route: StudioRoute, house: Any, ids: Ids
) -> None:
    """Whoever has a token keeps it when the role goes; it opens nothing then."""
    program = house.visitor(None)
    for who, scope in itertools.product(("gita", "farid"), ("read", "write")):
        person, secret = house.person(who), tokens.new_secret()
        more = {"name": "x", "scope": scope, "days": 1, "actor": "cli"}
        house.do(tokens.create, hash_token(secret), person, **more)
        headers = {"Authorization": f"Bearer {secret}"}
        try:
            for role in (person.role, "adjudicator", "annotator"):
                house.set_role(who, role)
                address = ids.fill(route.path, who).replace("said1", "study")
                answer = program.send(route.method, address, headers=headers, **body_for(route))
                told = (who, scope, role, answer.status_code, answer.text[:200])
                if role != person.role:
                    assert answer.status_code == 401, told
                elif scope not in (route.permission, "write"):
                    assert answer.status_code == 403, told
                else:
                    assert answer.status_code in (200, 422), told
        finally:
            house.set_role(who, person.role)
            house.desk.write(lambda c: c.execute(tables().rounds.update().values(state="open"))).result()


# -- objects of others ---------------------------------------------------------------------------------------------

OWN = [
    route
    for route in TABLE
    if route.permission == "own-assignment" and route.method in ("GET", "POST", "PUT")
]


@pytest.mark.parametrize("route", OWN, ids=name_of)
def test_what_is_somebody_elses_reads_like_what_is_not_there(
    route: StudioRoute, house: Any, crew: Any, says: Any
) -> None:
    tasks = [house.task_of("ana", kind) for kind in roundwork.KINDS]
    pids = [house.work_of("ana"), house.work_of("ana", "submitted"), *tasks, house.task_of("wanda", "study")]
    for who in ("other", "adjudicator", "coordinator", "owner"):
        crew[who].sign_in()
        for page in (True, False):
            seen = []
            for pid in (*pids, says.nowhere):
                response = crew[who].send(
                    route.method,
                    route.path.replace("{pid}", pid)
                    .replace("{name}", "said1")
                    .replace("{part}", "tablet-1")
                    .replace("{seq}", "1"),
                    headers=headers_for(route, says, page=page),
                    **body_for(route),
                )
                headers = {k: v for k, v in response.headers.items() if k != "server-timing"}
                seen.append((response.status_code, headers, response.text.replace(pid, "PID")))
            assert seen[0][0] == 404, (who, seen[0])
            assert all(one == seen[0] for one in seen), who


@pytest.mark.parametrize("path", ["/w/{pid}", "/w/{pid}/state"])
def test_what_is_somebody_elses_takes_as_long_as_what_is_not_there(
    path: str, house: Any, crew: Any, says: Any
) -> None:
    pids = {"theirs": house.work_of("ana", "submitted"), "nothing": says.nowhere}
    crew["other"].sign_in()
    seen = []
    for _ in range(3):  # what can be told is told in every round
        times: dict[str, list[float]] = {kind: [] for kind in pids}
        for _ in range(60):
            for kind, pid in pids.items():  # turn by turn, so that a busy machine is busy for both
                with Effort() as spent:
                    crew["other"].get(path.replace("{pid}", pid), headers=says.data)
                times[kind].append(spent.seconds)
        medians = {kind: statistics.median(found) for kind, found in times.items()}
        seen.append(medians)
        if abs(medians["theirs"] - medians["nothing"]) < max(0.001, 0.25 * medians["nothing"]):
            return
    raise AssertionError(f"they can be told apart: {seen}")


def test_a_session_of_somebody_else_cannot_be_ended(house: Any, crew: Any, says: Any) -> None:
    crew["other"].sign_in()
    crew["annotator"].sign_in()
    theirs = house.desk.read(lambda c: people.list_sessions(house.desk, c, house.person("ben")))
    with house.unchanged():
        answers = [crew["annotator"].post(f"/my/sessions/{pid}/end") for pid in (theirs[0].pid, says.nowhere)]
    assert {a.status_code for a in answers} == {404}


def test_undo_and_submit_of_anothers_action(house: Any, crew: Any, says: Any) -> None:
    done = house.work_of("ana", "submitted")
    for who in ("other", "adjudicator", "coordinator", "owner"):
        crew[who].sign_in()
        with house.unchanged(who):
            headers = {**says.data, "If-Match": '"1"'}
            assert crew[who].send("POST", f"/w/{done}/undo", json={}, headers=headers).status_code == 404
            assert crew[who].submit(done, {"question": "wrong"}, rev=1).status_code == 404
            assert crew[who].draft(done, {"question": "wrong"}).status_code == 404


ABOUT_PEOPLE = [r for r in TABLE if r.path.startswith("/people/{pid}/")]


@pytest.mark.parametrize("route", ABOUT_PEOPLE, ids=name_of)
def test_a_coordinator_has_no_power_over_an_owner(route: StudioRoute, house: Any, crew: Any) -> None:
    address = route.path.replace("{pid}", house.person("farid").pid)
    forms = {"role": "annotator", "sure": "1", "confirm": "1", "plan": "x", "how": "rest"}
    crew["coordinator"].sign_in()
    with house.unchanged(address):
        response = crew["coordinator"].send(
            route.method, address, data=forms if route.method == "POST" else None
        )
    assert response.status_code == 404
    assert "/start/" not in response.text


def test_nobody_lifts_themselves(house: Any, crew: Any) -> None:
    crew["coordinator"].sign_in()
    for who, role in (("coordinator", "owner"), ("coordinator", "annotator"), ("annotator", "owner")):
        address = f"/people/{house.person(HANDLES[who]).pid}/role"
        with house.unchanged((who, role)):
            assert crew["coordinator"].post(address, {"role": role}).status_code in (404, 409)
    with house.unchanged("inviting an owner"):
        response = crew["coordinator"].post("/people/invite", {"role": "owner", "email": ""})
    assert response.status_code in (404, 409, 422)


# -- reading changes nothing ---------------------------------------------------------------------------------------


def test_no_get_changes_a_row(house: Any, crew: Any, ids: Ids, says: Any) -> None:
    tried = 0
    for who in EVERYBODY:
        if crew[who].person is not None:
            crew[who].sign_in()
        addresses = [ids.fill(r.path, who) for r in TABLE if r.method == "GET"]
        addresses += [f"/w/{house.work_of('ana', 'submitted')}", "/healthz", "/nothing/here"]
        before = house.rows()
        for address in addresses:
            for method in ("GET", "HEAD"):
                with house.unchanged((method, address, who)):
                    assert crew[who].send(method, address).status_code < 500
                tried += 1
        assert house.rows() == before, who
    assert tried > 150


# -- the table itself ----------------------------------------------------------------------------------------------


async def _nothing(request: Any) -> Any:
    raise AssertionError


@pytest.mark.parametrize("permission", ["", None, "everybody", "Owner", "Worker"])
def test_a_route_without_a_permission_fails_at_the_start(
    permission: Any, house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "more_routes", lambda: iter([("/new", "GET", _nothing, permission)]))
    with pytest.raises(UserError, match="GET /new declares no permission"):
        build_app(house.studio)


def test_a_route_that_stands_twice_fails_at_the_start() -> None:
    row = StudioRoute("/new", "GET", _nothing, "owner")
    with pytest.raises(UserError, match="stands twice"):
        build_routes([row, row])


def test_the_pages_of_the_sample_are_nowhere_else(crew: Any) -> None:
    for route in DEMO_ROUTES:
        assert crew["nobody"].send(route.method, route.path, data={"handle": "farid"}).status_code == 404


def test_an_annotators_pages_lead_to_no_coordinators_page(house: Any, crew: Any) -> None:
    addresses = {r.path for r in TABLE if r.permission in ("coordinator", "owner")}
    for who in ("annotator", "adjudicator"):
        crew[who].sign_in()
        for page in ("/", "/my", f"/w/{house.work_of('ana')}"):
            text = crew[who].get(page).text
            assert not [a for a in addresses if "{" not in a and f'"{a}"' in text], (who, page)
