"""A tiny server that speaks the wire contract of the work page, with faults on demand.

It runs as a process of its own (``python fake_desk.py PORT FOLDER``), so that tests can kill it; what it acknowledged lies
in FOLDER/state.json. It decides nothing about verification: it only keeps sheets, revisions and keys.
"""

from __future__ import annotations

import asyncio
import html
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import uvicorn
from msgspec import structs
from starlette.applications import Starlette
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route

from proctor.studio.bundles import Bundles

STATIC = Path(__file__).resolve().parents[3] / "src" / "proctor" / "studio" / "static"
POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; object-src 'none'; base-uri 'none'; "
    "frame-ancestors 'none'; form-action 'self'"
)
PEOPLE = {"ana": "p-ana", "ben": "p-ben"}
ANSWERS = ["Stir it", 'Say "; <b>x</b>"', "Wait"]
ITEMS: dict[str, dict[str, Any]] = {
    "w1": {"person": "p-ana", "next": "/w/w2"},
    "w2": {"person": "p-ana", "next": "/"},
    "b1": {"person": "p-ben", "next": "/"},
    "many": {"person": "p-ana", "next": "/", "answers": [f"answer number {n}" for n in range(1, 13)]},
    "form": {"person": "p-ana", "next": "/"},
    "settled": {"person": "p-ana", "next": "/", "question": "settled", "may_add": "if-open", "stage": "adjudicate"},
}  # fmt: skip

State = dict[str, Any]


class Desk:
    """What is kept, in one file that is replaced whole."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "state.json"
        self.state: State = {"drafts": {}, "responses": [], "undone": [], "returned": [], "frozen": []}
        if self.path.exists():
            self.state = json.loads(self.path.read_text(encoding="utf-8"))
        self.faults: list[dict[str, Any]] = []
        self.log: list[dict[str, Any]] = []

    def keep(self) -> None:
        part = self.path.with_suffix(".part")
        with part.open("w", encoding="utf-8") as stream:
            json.dump(self.state, stream)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(self.path)

    def rev(self, pid: str) -> int:
        return sum(1 for row in self.state["responses"] if row["pid"] == pid)

    def submitted(self, pid: str) -> dict[str, Any] | None:
        rows = [row for row in self.state["responses"] if row["pid"] == pid]
        return rows[-1]["sheet"] if rows and not rows[-1].get("undone") else None

    def shown(self, pid: str) -> dict[str, Any]:
        """Return what the page begins with: the draft if it is newer than what was submitted."""
        draft, submitted = self.state["drafts"].get(pid), self.submitted(pid)
        if submitted is None or draft is None:
            return submitted or (draft or {}).get("sheet") or {}
        last = [row for row in self.state["responses"] if row["pid"] == pid][-1]
        return draft["sheet"] if draft["saved_at"] > last["at"] else submitted


def problem(status: int, title: str, **more: Any) -> Response:
    return JSONResponse(
        {"title": title, "status": status, **more}, status, media_type="application/problem+json"
    )


def person_of(request: Request) -> str | None:
    return PEOPLE.get(request.cookies.get("sid", ""))


def build(folder: Path) -> Starlette:
    desk = Desk(folder)

    def is_late(request: Request) -> bool:
        """True for what a page of an earlier test has sent: pages flush what they hold when they are closed."""
        run = desk.state.get("run")
        return bool(run) and request.cookies.get("run", run) != run

    async def with_faults(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
        path = request.url.path
        if path.startswith(("/_test", "/static")):
            return await go_on(request)

        async def call(request: Request) -> Response:
            return problem(410, "A page of another test") if is_late(request) else await go_on(request)

        if is_late(request):
            return await call(request)
        entry = {"method": request.method, "path": path, "key": request.headers.get("idempotency-key", "")}
        desk.log.append(entry)
        for fault in list(desk.faults):
            if fault.get("method", request.method) != request.method or not path.endswith(fault["path"]):
                continue
            fault["times"] = fault.get("times", 1_000_000) - 1
            if fault["times"] <= 0:
                desk.faults.remove(fault)
            await asyncio.sleep(fault.get("delay", 0))
            kind = fault.get("kind", "status")
            if kind == "slow":
                return await call(request)
            if fault.get("after"):
                await call(request)
            if kind == "portal":
                return HTMLResponse("<h1>Welcome to the hotel</h1>")
            if kind == "redirect":
                return RedirectResponse("/elsewhere", 302)
            answer = problem(fault["status"], "Fault", detail=fault.get("detail", ""), share=0.4)
            answer.headers.update(fault.get("headers", {}))
            return answer
        return await call(request)

    async def guard(request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
        response = await call(request)
        response.headers["Content-Security-Policy"] = POLICY
        response.headers["X-Content-Type-Options"] = "nosniff"
        if not request.url.path.startswith("/static"):
            response.headers.setdefault("Cache-Control", "no-store")
        return response

    def mine(request: Request) -> tuple[str, str] | Response:
        """Return (pid, person), or the refusal."""
        person, pid = person_of(request), request.path_params["pid"]
        if person is None:
            return problem(401, "Signed out")
        said = request.headers.get("proctor-person")
        if said is not None and said != person:
            return problem(401, "Another person is signed in", person=person)
        if ITEMS.get(pid, {}).get("person") != person:
            return problem(404, "Not found")
        return pid, person

    async def show(request: Request) -> Response:
        person = person_of(request)
        if person is None:
            return RedirectResponse("/signin", 303)
        pid = request.path_params["pid"]
        if ITEMS.get(pid, {}).get("person") != person:
            return HTMLResponse("<h1>Not found</h1>", 404)
        return HTMLResponse((form_page if pid == "form" else work_page)(desk, pid, person))

    async def state(request: Request) -> Response:
        found = mine(request)
        if isinstance(found, Response):
            return found
        pid, person = found
        submitted = desk.submitted(pid)
        frozen = pid in desk.state["frozen"]
        return JSONResponse({
            "rev": desk.rev(pid), "state": "frozen" if frozen else "submitted" if submitted else "open",
            "draft": desk.state["drafts"].get(pid), "submitted": submitted, "person": person,
            "last": {"by": desk.state["drafts"].get(pid, {}).get("client_id", ""), "at": desk.state["drafts"].get(pid, {}).get("saved_at")},
        })  # fmt: skip

    async def draft(request: Request) -> Response:
        found = mine(request)
        if isinstance(found, Response):
            return found
        pid, _ = found
        body = await request.json()
        old = desk.state["drafts"].get(pid)
        if old and old["client_id"] == body["client_id"] and body["seq"] <= old["seq"]:
            return JSONResponse({"version": old["version"], "saved_at": old["saved_at"], "stale": True})
        if old and old["client_id"] != body["client_id"] and body["base"] != old["version"]:
            return problem(
                409, "Changed elsewhere", theirs=old["sheet"], version=old["version"], rev=desk.rev(pid)
            )
        now = time.time()
        version = (old["version"] if old else 0) + 1
        desk.state["drafts"][pid] = {
            "sheet": body["sheet"], "version": version, "client_id": body["client_id"], "seq": body["seq"],
            "saved_at": now, "active_ms": body["active_ms"],
        }  # fmt: skip
        desk.keep()
        return JSONResponse({"version": version, "saved_at": now})

    async def submit(request: Request) -> Response:
        found = mine(request)
        if isinstance(found, Response):
            return found
        pid, person = found
        body, key = await request.json(), request.headers["idempotency-key"]
        for row in desk.state["responses"]:
            if row["pid"] == pid and row["key"] == key:
                return JSONResponse({"rev": row["rev"], "next": ITEMS[pid]["next"], "undo_seconds": 10})
        if pid in desk.state["frozen"]:
            return problem(409, "Closed", detail="The coordinator has closed this stage.", rev=desk.rev(pid))
        if request.headers["if-match"] != f'"{desk.rev(pid)}"':
            return problem(409, "Changed", rev=desk.rev(pid), theirs=desk.submitted(pid), mine=body["sheet"])
        if "REFUSE" in body["sheet"]["note"]:
            return problem(422, "Invalid", errors=[{"field": "answers.1", "message": "Look again."}])
        row = {"pid": pid, "person": person, "key": key, "rev": desk.rev(pid) + 1, "at": time.time(), **body}
        desk.state["responses"].append(row)
        desk.keep()
        return JSONResponse({"rev": row["rev"], "next": ITEMS[pid]["next"], "undo_seconds": 10})

    async def undo(request: Request) -> Response:
        found = mine(request)
        if isinstance(found, Response):
            return found
        pid, _ = found
        if request.headers["if-match"] != f'"{desk.rev(pid)}"' or desk.submitted(pid) is None:
            return problem(409, "Changed", detail="There is nothing to take back.")
        [row for row in desk.state["responses"] if row["pid"] == pid][-1]["undone"] = True
        desk.keep()
        return JSONResponse({"rev": desk.rev(pid)})

    async def cant(request: Request) -> Response:
        found = mine(request)
        if isinstance(found, Response):
            return found
        desk.state["returned"].append({"pid": found[0], **await request.json()})
        desk.keep()
        return JSONResponse({"next": ITEMS[found[0]]["next"]})

    async def clip(request: Request) -> Response:
        path = folder / "clip.mp4"
        return FileResponse(path, media_type="video/mp4") if path.exists() else problem(404, "No clip")

    async def sign_in(request: Request) -> Response:
        if request.method == "GET":
            return HTMLResponse(frame("signin", "", "<h1>Sign in</h1>"))
        form = await request.form()
        if form.get("handle") not in PEOPLE or form.get("password") != "pw":
            return problem(401, "Wrong", detail="Name and password do not fit together.")
        response = RedirectResponse("/", 303)
        response.set_cookie("sid", str(form["handle"]), httponly=True, samesite="lax")
        return response

    async def home(request: Request) -> Response:
        return HTMLResponse(frame("home", person_of(request) or "", HOME))

    async def echo(request: Request) -> Response:
        desk.state["returned"].append({"echo": str(dict(await request.form()))})
        return RedirectResponse("/", 303)

    async def control(request: Request) -> Response:
        if request.method == "POST":
            body = await request.json()
            if body.get("reset"):
                desk.path.unlink(missing_ok=True)
                desk.__init__(folder)  # type: ignore[misc]
                desk.state["run"] = body.get("run", "")
            desk.faults = body.get("faults", desk.faults)
            desk.state["frozen"] = body.get("frozen", desk.state["frozen"])
            desk.log.clear()
        return JSONResponse({**desk.state, "log": desk.log})

    app = Starlette(routes=[
        Route("/", home), Route("/signin", sign_in, methods=["GET", "POST"]), Route("/echo", echo, methods=["POST"]),
        Route("/w/{pid}", show), Route("/w/{pid}/state", state), Route("/w/{pid}/draft", draft, methods=["PUT"]),
        Route("/w/{pid}/submit", submit, methods=["POST"]), Route("/w/{pid}/undo", undo, methods=["POST"]),
        Route("/w/{pid}/cant", cant, methods=["POST"]), Route("/w/{pid}/clip.mp4", clip),
        Route("/_test", control, methods=["GET", "POST"]), Mount("/static/{version}", Bundles(directory=STATIC)),
    ])  # fmt: skip
    app.add_middleware(BaseHTTPMiddleware, dispatch=with_faults)
    app.add_middleware(BaseHTTPMiddleware, dispatch=guard)
    return app


HOME = """<h1>Home</h1><a id="to-w1" href="/w/w1">Work</a>
<button data-theme-set="dark">Dark</button><button data-theme-set="system">System</button>
<form action="/echo" method="post" data-confirm="Really remove it?"><input type="hidden" name="a" value="1">
<button id="remove" name="b" value="2">Remove</button></form>
<label>Filter <input data-filter="rows"></label><output data-filter-count="rows"></output>
<table id="rows"><tbody><tr><td>alpha one</td></tr><tr><td>beta two</td></tr><tr><td>alpha two</td></tr></tbody></table>
<button data-opens="a-dialog">Open</button><dialog id="a-dialog"><p>Inside</p><button data-close>Close</button></dialog>"""


def frame(page: str, person: str, body: str, *, scripts: str = "") -> str:
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{page}</title>
<script src="/static/v1/js/theme.js"></script>
<script type="module" src="/static/v1/js/site.js"></script>{scripts}</head>
<body data-page="{page}" data-person="{person}"><header class="bar">
<span id="save-chip" role="status" aria-live="polite" data-ring="server"></span>
<button id="cant-open" type="button">Can't judge</button><button id="keys-open" type="button">?</button></header>
<main>{body}</main><div id="toast" role="status"></div>
<dialog id="keys-dialog" aria-label="Keys"><div data-keys-list></div><form method="dialog"><button>Close</button></form></dialog>
<dialog id="signin-dialog" aria-label="Sign in"><form method="post" action="/signin"><input name="handle" aria-label="Name">
<input type="password" name="password" aria-label="Password"><p role="alert" hidden></p><button id="sign-in">Sign in</button></form></dialog>
<dialog id="conflict-dialog" aria-label="Changed elsewhere"><div id="conflict-body"></div></dialog></body></html>"""


def choices(name: str, value: str | None) -> str:
    return "".join(
        f'<label><input type="radio" name="{name}" value="{v}"{" checked" if v == value else ""}>{word}</label>'
        for v, word in (("right", "Yes"), ("wrong", "No"))
    )


def form_page(desk: Desk, pid: str, person: str) -> str:
    """Return the real template of tasks, with one field of each type."""
    from markupsafe import Markup

    from proctor.studio.rendering import environment
    from proctor.studio.views import FieldView, Shell, TaskView, Viewer

    sheet = desk.shown(pid)
    given: dict[str, Any] = sheet.get("values", {})
    choices = {"a": "The first", "b": "The second"}
    fields = (
        FieldView(name="fluency", label="Fluency", type="scale", rule="Read it aloud.", ends=("bad", "good")),
        FieldView(name="relevant", label="Relevant", type="yesno"),
        FieldView(name="why", label="Why not", type="texts", only_if="relevant=no"),
        FieldView(name="style", label="Style", type="choice", choices=choices),
        FieldView(name="minutes", label="Minutes", type="number", required=False),
        FieldView(name="better", label="Better", type="text", required=False),
    )
    fields = tuple(
        structs.replace(f, values=tuple([v] if isinstance(v := given.get(f.name, []), str) else v))
        for f in fields
    )
    state: Any = "submitted" if desk.submitted(pid) else "open"
    view = TaskView(
        pid, desk.rev(pid), f"form-{time.time_ns()}", "rate", state, "A study", 1, 2, fields=fields,
        note=sheet.get("note", ""), instructions=Markup("<p>Read first.</p>"),
    )  # fmt: skip
    shell = Shell("Study", "http://x/w/form", viewer=Viewer(person, "Ana", "annotator"))
    return environment().get_template("task.html.j2").render(shell=shell, view=view)


def work_page(desk: Desk, pid: str, person: str) -> str:
    item = ITEMS[pid]
    sheet = desk.shown(pid)
    texts = item.get("answers", ANSWERS)
    said = sheet.get("answers") or [None] * len(texts)
    settled = item.get("question") == "settled"
    cards = "".join(
        f'<fieldset class="card" id="answer-{n}"><legend><span class="no">{n + 1}</span> '
        f'<span class="text">{html.escape(text)}</span></legend>{choices(f"answer-{n}", said[n])}</fieldset>'
        for n, text in enumerate(texts)
    )
    own = "".join(
        f'<div class="own-row"><textarea name="own" rows="1">{html.escape(text)}</textarea>'
        f'<button class="own-remove">×</button></div>'
        for text in (sheet.get("own_answers") or [""])
    )
    player = "".join(
        f'<button type="button" data-player="{name}">{name}</button>'
        for name in ["play", "back5", "fwd5", "prevframe", "nextframe", "slower", "faster", "home", "mute"]
    )
    body = f"""
<div id="readonly-banner" hidden>open in another tab <button id="take-over" type="button">Take over here</button></div>
<section id="graph-panel"><svg width="200" height="40" role="group" aria-label="graph"><g data-step="s1" data-start="0.5">
<rect width="90" height="30"></rect></g><g data-step="s2" data-start="2.0"><rect x="100" width="90" height="30"></rect></g></svg>
<button id="graph-full" type="button">Full screen</button></section>
<section id="clip-panel"><video id="clip" controls preload="auto" src="/w/{pid}/clip.mp4" muted></video>
<div class="player">{player}</div><output id="clip-time"></output><output id="clip-frame"></output>
<p id="clip-making" hidden>It is being cut<output id="clip-share"></output></p>
<p id="clip-problem" hidden>It does not play. <button type="button" data-player="retry">Try again</button></p></section>
<ol id="steps"><li data-step="s1" data-start="0.5"><button type="button" class="seek">One</button></li>
<li data-step="s2" data-start="2.0"><button type="button" class="seek">Two</button></li></ol>
<form id="sheet" method="post" action="/w/{pid}/submit" data-pid="{pid}" data-rev="{desk.rev(pid)}"
 data-stage="{item.get("stage", "judge")}" data-state="{"submitted" if desk.submitted(pid) else "open"}" data-reasons="1"
 data-may-add="{item.get("may_add", "1")}" data-question="{item.get("question", "open")}">
<fieldset id="question-card"><legend>Question</legend>{"" if settled else choices("question", sheet.get("question"))}
<div id="reasons"><label><input type="checkbox" name="reason" value="outside"{" checked" if "outside" in sheet.get("reasons", []) else ""}>outside</label></div></fieldset>
<div id="answers">{cards}</div>
<fieldset id="own"><legend>Own</legend>{own}<button id="own-add">Add row</button></fieldset>
<textarea name="note" aria-label="Note">{html.escape(sheet.get("note", ""))}</textarea>
<input type="hidden" name="rev" value="{desk.rev(pid)}"><input type="hidden" name="key" value="form-{time.time_ns()}">
<p id="form-error" role="alert"></p><a id="back" href="/">Back</a><button id="submit" type="submit">Submit</button></form>
<a rel="next" href="{item["next"]}">Next item</a>
<dialog id="cant-dialog" aria-label="Can't judge"><form method="post" action="/w/{pid}/cant">
<label><input type="radio" name="reason" value="media">media</label><label><input type="radio" name="reason" value="other">other</label>
<textarea name="note" aria-label="Why"></textarea><p role="alert" hidden></p><button type="button" data-close>Go on</button>
<button id="cant-send">Hand it back</button></form></dialog>"""
    return frame("work", person, body, scripts='<script type="module" src="/static/v1/js/work.js"></script>')


if __name__ == "__main__":
    uvicorn.run(build(Path(sys.argv[2])), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
