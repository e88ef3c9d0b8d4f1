"""What leaves the studio - exports, logs, addresses on the network - holds no names, no tokens, no answers."""

from __future__ import annotations

import ast
import csv
import io
import json
import logging
import re
import socket
from pathlib import Path
from typing import Any

import pytest

import proctor
from proctor.spreadsheet import safe_cell
from proctor.studio import exporting
from proctor.studio.auth import new_token
from proctor.studio.pages import account
from proctor.studio.routes import ROUTES
from proctor.verify.desk import people
from proctor.verify.desk.records import Sheet
from proctor.verify.schema import tables

SOURCE = Path(proctor.__file__).parent
FORMULAS = (
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    " =1",
    "=cmd|' /C calc'!A0",
    "\u00a0=1",
    "\ufeff=1",
)
SECRETS = ("Zqx Surname", "zqxhandle", "zqx@example.org", "zqx-answer-text", "zqx-note-text")


@pytest.fixture
def busy(open_house: Any) -> Any:
    """A studio in which somebody with a recognisable name has said recognisable things."""
    house = open_house()
    house.hire("gita", "coordinator", "Gita")
    house.do(
        people.add,
        handle="zqxhandle",
        name="Zqx Surname",
        role="annotator",
        actor="cli",
        gate="open",
        email="zqx@example.org",
    )
    pid = house.work_of("ana")
    cards = house.load(pid, "ana").cards
    sheet = Sheet(
        question="right",
        answers=("right",) * len(cards.texts),
        own_answers=("zqx-answer-text", *FORMULAS[:4], FORMULAS[7]),
        note="zqx-note-text",
    )
    house.say(pid, "ana", sheet)
    return house


def export_of(house: Any, kind: str) -> bytes:
    owner = house.visitor("farid")
    assert owner.post("/exports", {"kind": kind}).status_code == 303
    link = re.findall(r'href="(/exports/[a-z2-7]{16})"', owner.get("/exports").text)[0]
    answer = owner.get(link)
    assert answer.status_code == 200
    return bytes(answer.content)


# -- exports (5.11, 5.12, field 15) --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(exporting.EXPORTS))
def test_no_export_holds_a_name_or_a_secret(kind: str, busy: Any) -> None:
    invite = busy.visitor("gita").post("/people/invite", {"role": "annotator", "email": "zqx2@example.org"})
    assert invite.status_code in (200, 303)
    text = export_of(busy, kind).decode()
    everybody = busy.desk.read(lambda c: people.list_people(busy.desk, c))
    for person in everybody:
        for word in (person.name, person.email):
            assert not word or word not in text or len(word) < 6, (kind, word)
    for word in (*SECRETS[:3], "zqx2@example.org"):
        assert word not in text
    with busy.desk.reading() as c:
        hidden = [r.token_hash for r in c.execute(tables().sessions.select())]
        hidden += [r.token_hash for r in c.execute(tables().invites.select())]
        hidden += [r.idem_key for r in c.execute(tables().responses.select())]
    assert len(hidden) > 3
    assert not [h for h in hidden if h in text]
    for line in text.splitlines() if kind == "rows" else ():
        assert not {"password", "email", "handle", "name", "settings", "token_hash"} & set(json.loads(line))


def test_no_cell_of_a_table_is_a_formula(busy: Any) -> None:
    rows = list(csv.reader(io.StringIO(export_of(busy, "csv").decode(), newline="")))
    cells = [cell for row in rows for cell in row]
    assert "'=1+1" in cells
    assert "'@SUM(A1)" in cells
    assert not [cell for cell in cells if cell.lstrip(" \u00a0\ufeff")[:1] in tuple("=+-@\t\r")]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_gets_an_apostrophe(text: str) -> None:
    assert safe_cell(text) == f"'{text}"


def test_exports_are_listed_and_for_coordinators_alone(busy: Any) -> None:
    export_of(busy, "csv")
    owner = busy.visitor("farid")
    page = owner.get("/exports").text
    assert "Farid Haddad" in page
    link = re.findall(r'href="(/exports/[a-z2-7]{16})"', page)[0]
    for who in ("ana", "edda"):
        assert busy.visitor(who).get(link).status_code == 404
    assert busy.visitor(None).get(link).headers["location"].startswith("/signin")
    pid = link.rpartition("/")[2]
    for there in (
        f"/exports/{pid}.csv",
        "/exports/..%2f..%2fverification.sqlite",
        "/exports/%2e%2e/studio-secret",
    ):
        assert owner.get(there).status_code == 404
    events = busy.desk.read(
        lambda c: c.execute(tables().events.select().where(tables().events.c.kind == "export")).all()
    )
    assert events[0].actor == busy.person("farid").pid


# -- logs (5.12) ---------------------------------------------------------------------------------------------------


def test_logs_hold_no_names_tokens_or_answers(
    busy: Any, says: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.WARNING, logger="httpx")  # the visitor's own log, not the server's
    ana, nobody, token = busy.visitor("ana"), busy.visitor(None), new_token()
    pid = busy.work_of("ana")
    for answer in (
        ana.draft(pid, {"note": "zqx-note-text"}),
        ana.submit(pid, {"question": "right", "own_answers": ["zqx-answer-text"]}),
        nobody.post("/signin", {"handle": "zqxhandle", "password": "zqx-password-text"}),
        nobody.get(f"/invite/{token}"),
        nobody.post(
            f"/setup/{token}", {"handle": "zqxhandle", "name": "Zqx Surname", "password": "zqx-password-text"}
        ),
        nobody.get("/..%2f..%2fetc/zqx-note-text"),
        ana.send(
            "PUT",
            f"/w/{pid}/draft",
            content=b'{"zqx-answer-text',
            headers={**says.data, "Content-Type": "application/json"},
        ),
    ):
        assert answer.status_code < 500
    monkeypatch.setattr(busy.desk, "write", _breaks)
    assert ana.draft(pid, {"note": "zqx-note-text"}, seq=9).status_code == 500
    assert (
        ana.post(
            f"/w/{pid}/submit", {"question": "right", "note": "zqx-note-text", "key": "k" * 20}
        ).status_code
        == 500
    )
    text = caplog.text + repr([r.args for r in caplog.records])
    assert "proctor.studio" in text
    assert "error" in text, "the fault itself is in the log"
    cookies = [c.value for c in ana.http.cookies.jar]
    for word in (*SECRETS, "zqx-password-text", token, *cookies):
        assert word not in text, word


def _breaks(job: Any) -> Any:
    raise RuntimeError("the store broke")


def test_an_error_of_the_database_brings_no_answer_into_the_log(
    busy: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken constraint is a mistake of ours and logged whole; what was to be written is not part of it."""
    from proctor.verify.desk import work

    def twice(desk: Any, connection: Any, *args: Any, sheet: Any, **more: Any) -> Any:
        for _ in range(2):
            connection.execute(
                tables().drafts.insert(),
                {
                    "assignment_id": 1,
                    "sheet": bytes(sheet).decode(),
                    "version": 1,
                    "client_id": "c",
                    "seq": 1,
                    "saved_at": 0.0,
                },
            )

    monkeypatch.setattr(work, "save_draft", twice)
    answer = busy.visitor("ana").draft(busy.work_of("ana"), {"note": "zqx-note-text"})
    assert answer.status_code == 500
    assert "IntegrityError" in caplog.text
    assert "zqx-note-text" not in caplog.text
    assert "zqx-note-text" not in answer.text


def test_a_fault_has_a_number_and_no_details(busy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ana, pid = busy.visitor("ana"), busy.work_of("ana")
    monkeypatch.setattr(busy.desk, "write", _breaks)
    answer = ana.draft(pid, {})
    assert answer.status_code == 500
    number = re.search(r"number is ([0-9a-f]{8})", answer.json()["detail"])
    assert number
    assert "the store" not in answer.text
    assert "Traceback" not in answer.text


# -- sessions and invitations (5.4, 5.5) -----------------------------------------------------------------------------


def test_a_cookie_from_before_is_never_signed_in(busy: Any) -> None:
    """Fixation: a planted token is nobody before the sign-in, and nobody after it."""
    visitor, planted = busy.visitor(None), new_token()
    visitor.http.cookies.set(busy.studio.auth.cookie, planted)
    link = new_token()
    from proctor.studio.auth import hash_token

    busy.do(people.create_link, hash_token(link), busy.person("ana"), actor="command-line")
    answer = visitor.post(f"/start/{link}")
    assert answer.status_code == 303
    given = answer.cookies[busy.studio.auth.cookie]
    assert given != planted
    other = busy.visitor(None)
    other.http.cookies.set(busy.studio.auth.cookie, planted)
    assert other.get("/my").status_code == 303
    assert "httponly" in answer.headers["set-cookie"].lower()
    assert "samesite=lax" in answer.headers["set-cookie"].lower()


def test_the_store_holds_no_token_and_no_password(busy: Any) -> None:
    visitor = busy.visitor("ana")
    token = next(iter(visitor.http.cookies.jar)).value
    assert (
        busy.visitor("ana").post("/my/password", {"password": "zqx correct horse battery"}).status_code == 303
    )
    rows = "".join(repr(busy.desk.read(lambda c, t=t: c.execute(t.select()).all())) for t in tables())
    assert token not in rows
    assert "zqx correct horse" not in rows
    assert "$argon2id$" in rows


# -- outbound, capture, Label Studio (5.13 - 5.15) -------------------------------------------------------------------


def test_the_studio_connects_to_nobody(busy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every page is looked at and every kind of request is sent while connecting is impossible."""

    def refuse(*args: Any, **more: Any) -> Any:
        raise AssertionError(f"a connection to {args[1:]}")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    owner, ana = busy.visitor("farid"), busy.visitor("ana")
    for route in ROUTES():
        if route.method == "GET" and "{" not in route.path:
            assert owner.get(route.path).status_code < 500
            assert ana.get(route.path).status_code < 500
    pid = busy.work_of("ana")
    assert (
        ana.draft(pid, {"note": "http://169.254.169.254/ http://[::1]/ file:///etc/passwd"}).status_code
        == 200
    )
    for kind in exporting.EXPORTS:
        assert owner.post("/exports", {"kind": kind}).status_code == 303
    assert owner.post("/people/invite", {"role": "annotator", "email": "a@example.org"}).status_code in (
        200,
        303,
    )


def test_no_route_captures_fetches_or_calls_back() -> None:
    """Label Studio and webhooks have no address here; what a recording sends is its person's alone (``test_recordings``)."""
    words = (
        "capture",
        "sensor",
        "device",
        "label-studio",
        "webhook",
        "hook",
        "fetch",
        "proxy",
        "upload",
        "url",
        "kill",
    )
    assert not [r.path for r in ROUTES() for w in words if w in r.path.lower()]
    assert not [r for r in account.ROUTES if "{path" in r[0]]
    assert not [r.path for r in ROUTES() if ":path" in r.path]


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


MODULES = sorted([*(SOURCE / "studio").rglob("*.py"), *(SOURCE / "verify").rglob("*.py")])
FORBIDDEN = {
    "pickle", "marshal", "shelve", "dill", "joblib", "telnetlib", "ftplib", "smtplib", "xmlrpc",
    "urllib.request", "http.client", "requests", "aiohttp", "webbrowser",
}  # fmt: skip
CALLS = {"eval", "exec", "compile", "__import__"}
ATTRIBUTES = {
    ("os", "kill"),
    ("os", "killpg"),
    ("os", "system"),
    ("os", "popen"),
    ("subprocess", "getoutput"),
    ("yaml", "load"),
}


@pytest.mark.parametrize("module", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_module_unpickles_kills_shells_or_fetches(module: Path) -> None:
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            assert not {a.name for a in node.names} & FORBIDDEN, ast.unparse(node)
        if isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{a.name}" for a in node.names} | {node.module or ""}
            assert not names & FORBIDDEN, ast.unparse(node)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            assert (node.value.id, node.attr) not in ATTRIBUTES, ast.unparse(node)
        if isinstance(node, ast.Call):
            assert not (isinstance(node.func, ast.Name) and node.func.id in CALLS), ast.unparse(node)
            function = (
                node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            )
            shell = function != "render" and [
                k for k in node.keywords if k.arg == "shell" and not _is_false(k.value)
            ]
            assert not shell, ast.unparse(node)


def test_templates_have_no_script_no_style_and_no_foreign_address() -> None:
    templates = sorted((SOURCE / "studio" / "templates").rglob("*.j2"))
    assert len(templates) > 15
    for path in templates:
        text = path.read_text("utf-8")
        assert not re.search(r"<script(?![^>]*\bsrc=)", text), path
        assert not re.search(r"\son[a-z]+\s*=", text), path
        assert not re.search(r"\sstyle\s*=", text), path
        assert not re.search(r"(?:href|src|action)\s*=\s*[\"']?(?:https?:)?//", text), path
        assert "autoescape false" not in text, path


def test_texts_that_templates_do_not_escape_come_from_our_own_renderers() -> None:
    """``|safe`` is for the drawing and for Markdown that was rendered without HTML."""
    found = {
        match[1]
        for path in (SOURCE / "studio" / "templates").rglob("*.j2")
        for match in re.finditer(r"\{\{-?\s*([^}]*?)\s*\|\s*safe", path.read_text("utf-8"))
    }
    for expression in found:
        assert re.search(r"html|svg|drawing|graph|icon", expression), expression
    assert not [
        path
        for path in (SOURCE / "studio").rglob("*.py")
        if re.search(r"\bMarkup\(", path.read_text("utf-8"))
        and path.name not in ("markdown.py", "rendering.py", "views.py")
    ]
