"""Own tasks: tables that are read, rows and forms that are refused, and the tables and agreement that come out."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.docs.outsider import Outsider, types
from tests.media.make_video import make_audio
from tests.typed import proctor

from proctor.errors import UserError
from proctor.media.paint import encode_png
from proctor.spreadsheet import csv_text
from proctor.stages.rounds.opening import collect_round
from proctor.stages.rounds.own import make, read_rows
from proctor.stages.rounds.settings import Collect, OwnSettings
from proctor.stages.studio import open_desk
from proctor.verify.desk import documents, people, rounds, work
from proctor.verify.rounds.checked import CheckedOptions
from proctor.verify.rounds.form import FormSheet
from proctor.verify.rounds.own import OwnTask
from proctor.workspace import Workspace

FORM = """\
fields = [
  { name = "marks", label = "Mark", type = "span", column = "text", choices = { tool = "Tool", part = "Part" }, required = false },
  { name = "risks", label = "Risks", type = "choices", choices = { b = "B", a = "A", c = "C" } }, { name = "ok", label = "OK?" },
  { name = "hard", label = "Hard?", type = "scale" }, { name = "minutes", label = "Minutes?", type = "number" }, { name = "why", label = "Why?", type = "text" },
]
[[show]]
column = "text"
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., OwnSettings]:
    """Put tasks and a form into a folder."""

    def given(tasks: str | bytes, form: str = FORM, name: str = "tasks.csv", **more: Any) -> OwnSettings:
        (tmp_path / name).write_bytes(tasks.encode() if isinstance(tasks, str) else tasks)
        (tmp_path / "form.toml").write_text(form, encoding="utf-8")
        return OwnSettings(tasks=tmp_path / name, form=tmp_path / "form.toml", **more)

    return given


def made_of(tmp_path: Path, settings: OwnSettings) -> Any:
    return make(Workspace(tmp_path / "bench"), settings)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", 'id,text\na,"One,\r\ntwo ="\nb,3\n'),
        ("t.csv", '\ufeffid;text\r\na;"One,\rtwo ="\r\nb;3\r\n'),
        ("t.tsv", "id\ttext\na\t\"One,\ntwo =\"\nb\t3\n"),
        ("t.json", '[{"id": "a", "text": "One,\\r\\ntwo ="}, {"id": "b", "text": 3}]'),
        ("t.json", '[{"id": "a", "data": {"text": ["One,", "two ="]}}, {"id": "b", "data": {"text": 3}}]'),
        ("t.jsonl", '{"id": "a", "text": "One,\\ntwo ="}\n\n{"text": 3, "id": "b"}\n'),
    ],
)  # fmt: skip
def test_one_table_in_every_form(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    assert read_rows(tmp_path / name) == [{"id": "a", "text": "One,\ntwo ="}, {"id": "b", "text": "3"}]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("t.csv", b"", "there are no tasks in it"), ("t.json", b" ", "the file is empty"), ("t.jsonl", b"", "no tasks"),
        ("t.json", b'{"text": 1}', "a list of objects"), ("t.json", b"[1]", "a task is an object"), ("t.json", b'[{"text": NaN}]', "not valid JSON"),
        ("t.csv", b"id,text\nx\n", "not as many cells"), ("t.csv", b"text,text\na,b\n", "named twice"), ("t.csv", b"PK\x03\x04\xff", "not UTF-8"),
        ("t.xlsx", b"PK", "a .csv, .tsv"), ("t.csv", b"id,step\na,b\n", "there is no column 'text'"),
    ],
)  # fmt: skip
def test_a_table_that_is_wrong_says_so(tmp_path: Path, write: Any, name: str, data: bytes, message: str) -> None:  # fmt: skip
    with pytest.raises(UserError) as caught:
        make(Workspace(tmp_path / "new"), write(data, name=name))
    assert (message in caught.value.message, (tmp_path / "new").exists()) == (True, False)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('column = "text", choices', 'column = "id", choices', "marks words of 'id'"), ('name = "ok"', 'name = "person"', "a column of answers.csv"),
        ('a = "A"', '"a;b" = "A"', "cannot be kept"), (', choices = { b = "B", a = "A", c = "C" }', "", "has no choices"),
        ("[[show]]", 'id = "key"\n[[show]]', "there is no column 'key'"), ("[[show]]", "[rights]\nzz = 'gold'\n[[show]]", "no column 'gold'"),
        ("[[show]]", "[rights]\nzz = 'id'\n[[show]]", "no field 'zz'"), ("[[show]]", '[[show]]\nas = "smell"', "this is no form"),
        ("[[show]]", "[rights]\nok = 'text'\n[[show]]", "its right answer for ok is 'b'"), ("[[show]]", "[[show]]\ncolumn = 'text'\n[[show]]", "shown twice"),
        ("[[show]]", '[[attention]]\nname = "n"\ntext = "Choose B."\nright = { risks = "b; a" }\n[[show]]', "what to choose for risks"),
        ("[[show]]", '[[attention]]\nname = "n"\ntext = "x"\nright = { marks = "0:1:tool" }\n[[show]]', "no field 'marks' with right"),
    ],
)  # fmt: skip
def test_a_form_that_does_not_fit_says_so(tmp_path: Path, write: Any, old: str, new: str, message: str) -> None:  # fmt: skip
    assert old in FORM
    with pytest.raises(UserError) as caught:
        made_of(tmp_path, write("id,text\na,b\n", FORM.replace(old, new, 1)))
    assert message in str(caught.value)


def test_rows_that_cannot_be_shown_are_listed_and_nothing_outside_is_read(tmp_path: Path, write: Any) -> None:
    (tmp_path / "pictures").mkdir()
    outside = tmp_path.parent / f"{tmp_path.name}.png"
    (tmp_path / "pictures" / "a.png").write_bytes(encode_png(np.full((4, 4, 3), 9, np.uint8)))
    outside.write_bytes((tmp_path / "pictures" / "a.png").read_bytes())
    (tmp_path / "link.png").symlink_to(outside)
    (tmp_path / "bad.png").write_text("<svg onload=alert(1)>")
    form = f"{FORM}[[show]]\ncolumn = 'file'\nas = 'image'\n[rights]\nok = 'gold'\nrisks = 'risk'\n"
    rows = {
        "fine": ("<b>x</b>", "pictures/a.png", "", ""), "test": ("1+1=", "pictures/a.png", "yes", "a; b"), "none": ("", "pictures/a.png", "", ""),
        "long": ("x" * 10_000_000, "pictures/a.png", "", ""), "sign": ("a\x00b", "pictures/a.png", "", ""),
        **{f"file{n}": ("x", name, "", "") for n, name in enumerate(("../" + outside.name, str(outside), "link.png", "https://x.org/a.png", "bad.png", "no.png"))},
        "i" * 201: ("x", "pictures/a.png", "", ""),
    }  # fmt: skip
    made = made_of(tmp_path, write(csv_text(("id", "text", "file", "gold", "risk"), [(k, *v) for k, v in rows.items()]), form))  # fmt: skip
    assert [(task.name, task.role) for task in made.tasks] == [("fine", "real"), ("test", "test")]
    parts = [p for t in made.tasks for p in msgspec.json.decode(t.body, type=OwnTask).parts]
    assert [p.text for p in parts if p.text] == ["<b>x</b>", "1+1="]
    assert {d.id: d.reason for d in made.dropped} == {
        "none": "empty", "long": "no_text", "sign": "no_text", "i" * 200: "bad_id", **{f"file{n}": "no_image" for n in range(6)},
    }  # fmt: skip
    assert made.options.rights == {"test": {"ok": "yes", "risks": "b; a"}}
    pictures = {p.picture for p in parts} - {""}
    assert all((tmp_path / "bench" / name).is_file() for name in pictures)
    assert (len(pictures), made.tests) == (1, 1)
    with pytest.raises(UserError, match="the id 'a' is there twice: rows 1 and 3"):
        made_of(tmp_path, write("id,text\na,b\nb,c\na,d\n"))


def test_sounds_are_copied_into_the_workspace_and_only_addresses_of_the_web_become_links(tmp_path: Path, write: Any) -> None:  # fmt: skip
    make_audio(tmp_path / "a.wav", codec="pcm_s16le")
    make_audio(tmp_path.parent / f"{tmp_path.name}.wav", codec="pcm_s16le")
    (tmp_path / "page.wav").write_text("<script>alert(1)</script>")
    (tmp_path / "empty.wav").touch()
    form = f"{FORM}[[show]]\ncolumn = 'said'\nas = 'audio'\n[[show]]\ncolumn = 'more'\nas = 'link'\n"
    outside = (f"../{tmp_path.name}.wav", "/etc/passwd", "http://x.org/a.wav")
    sounds = (*outside, "page.wav", "empty.wav", "no.wav")
    links = (
        "javascript:alert(1)", "data:text/html,x", "//x.org", "x.org", "http:x", "https://a@x.org", "https://x.org\\@y.org",
        "https://x.org/\u202emoc", "https://x.org/a b", "https://[x", " java\nscript:alert(1)", "https://x.org https://y.org", "file:///a",
    )  # fmt: skip
    web = "https://x.org/é?a=1&b=2"
    rows = [("fine", "a.wav", web), ("again", "a.wav", "HTTP://x.org")]
    rows += [(f"s{n}", name, web) for n, name in enumerate(sounds)] + [(f"l{n}", "a.wav", name) for n, name in enumerate(links)]  # fmt: skip
    made = made_of(tmp_path, write(csv_text(("id", "text", "said", "more"), [(k, "x", *v) for k, *v in rows]), form))  # fmt: skip
    _, heard, link = msgspec.json.decode(made.tasks[0].body, type=OwnTask).parts
    assert [task.name for task in made.tasks] == ["fine", "again"]
    assert (link.link, link.text) == (True, web)
    assert list((tmp_path / "bench").rglob("*.wav")) == [tmp_path / "bench" / heard.sound]
    assert (tmp_path / "bench" / heard.sound).read_bytes() == (tmp_path / "a.wav").read_bytes()
    assert {d.id: d.reason for d in made.dropped} == {**{f"s{n}": "no_audio" for n in range(6)}, **{f"l{n}": "no_link" for n in range(13)}}  # fmt: skip


def test_without_ids_and_show_checks_look_like_the_others(tmp_path: Path, write: Any) -> None:
    form = '[[attention]]\nname = "look"\ntext = "Choose No."\nright = { ok = "no" }\n[[fields]]\nname = "ok"\nlabel = "OK?"\n'
    made = made_of(tmp_path, write("step,seconds\nSaw,\n,2\n,\n", form))
    shown = {t.name: msgspec.json.decode(t.body, type=OwnTask).parts for t in made.tasks}
    parts = {name: [(p.heading, p.text) for p in parts] for name, parts in shown.items()}
    assert parts.pop("look")[0] == ("step", "Choose No.")
    assert parts == {"1": [("step", "Saw")], "2": [("seconds", "2")]}
    assert [(d.id, d.reason) for d in made.dropped] == [("3", "empty")]


def answer(desk: Any, name: str, sheets: dict[str, dict[str, Any]]) -> None:
    """Somebody does the tasks of the round."""

    def do(function: Any, *args: Any, **more: Any) -> Any:
        return desk.write(lambda c: function(desk, c, *args, **more)).result()

    round_, protocol = desk.read(lambda c: rounds.round_named(c, "own")), desk.read(documents.protocol)
    person = do(people.add, handle=name, name=name, role="annotator", actor="cli", gate="open")
    batch = do(rounds.open_batch, round_, person)
    while pid := desk.read(lambda c: rounds.count_batch(c, batch)).following:
        own = desk.read(lambda c, p=pid: work.own_assignment(c, p, person))
        task = desk.read(lambda c, n=own.task_id: rounds.round_of_task(c, n))[1]
        sheet = FormSheet(values=sheets[task.name], note="=HYPERLINK()")
        do(work.submit, pid, person, sheet=sheet, rev=0, key=f"key-{pid}", protocol=protocol)


def test_what_people_said_and_how_far_they_agree(tmp_path: Path, write: Any) -> None:
    write("id,text\na,Glue the 🦎 tail\nb,Saw it\n")
    bench, files = tmp_path / "bench", (tmp_path / "tasks.csv", "--form", tmp_path / "form.toml")
    assert proctor("round", "own", bench, *files, "--people", 2).status == 0
    same = {"ok": "yes", "hard": "4", "minutes": "2.5", "why": "=so"}
    with open_desk(bench, None, create=False) as desk:
        options = desk.read(lambda c: rounds.round_named(c, "own").options)
        assert list(msgspec.json.decode(options, type=CheckedOptions).fields[1].choices) == ["b", "a", "c"]
        answer(desk, "ana", {"a": {**same, "marks": ["9:10:part", "11:15:part"], "risks": ["b", "a"]}, "b": {**same, "ok": "no", "risks": ["c"]}})  # fmt: skip
        answer(desk, "ben", {"a": {**same, "marks": ["9:15:part", "9:10:part"], "risks": ["a"]}, "b": {**same, "ok": "no", "hard": "2", "minutes": "5", "risks": ["c"]}})  # fmt: skip
    _, collected = collect_round(bench, Collect(round="own"))
    table, lines, _ = (path.read_text() for path in collected.files)
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [(r["task"], r["risks"], r["why"], r["note"]) for r in rows if r["task"] == "a"] == [
        ("a", "b; a", "'=so", "'=HYPERLINK()"), ("a", "a", "'=so", "'=HYPERLINK()")
    ]  # fmt: skip
    first = json.loads(lines.splitlines()[0])
    assert first["values"] == {
        "marks": [{"start": 9, "end": 10, "label": "part", "text": "🦎"}, {"start": 11, "end": 15, "label": "part", "text": "tail"}],
        "risks": ["b", "a"], "ok": True, "hard": 4, "minutes": 2.5, "why": "=so",
    }  # fmt: skip
    assert json.loads(rows[0]["marks"]) == first["values"]["marks"]
    found: Any = collected.figures
    numbers = {name: estimate.value for name, estimate in found.numbers.items()}
    assert numbers["marks, F1 of spans"] == pytest.approx(2 * 1 / 4)
    assert numbers["marks, part, F1 of characters"] == pytest.approx(2 * 5 / (5 + 6))
    assert numbers["marks, tool, F1 of spans"] is None
    assert numbers["risks, raw agreement"] == 0.5
    # Coincidences: {b,a} and {a} are 1/2 apart, {c} from both 1. D_o = 1/4 of 1/2 twice, D_e of all 12 ordered pairs.
    assert numbers["risks, alpha (Jaccard)"] == pytest.approx(1 - (2 * 0.5 / 4) / ((2 * 0.5 + 8 * 1.0) / 12))
    shares = ("ok, alpha", "hard, raw agreement", "why, raw agreement")
    assert [numbers[name] for name in shares] == [1, 0.5, 1]
    assert numbers["minutes, alpha (interval)"] == pytest.approx(0, abs=1e-9)


def test_a_misspelt_workspace_is_made_by_its_own_command_alone_which_says_so(tmp_path: Path, write: Any) -> None:  # fmt: skip
    settings, bench, wrong = write("id,text\na,b\n"), tmp_path / "bench", tmp_path / "bensh"
    own = (settings.tasks, "--form", settings.form)
    assert f"{bench} is a new workspace\n" in proctor("round", "own", bench, *own).out
    for command in (("studio", wrong, "--tls", "--port", 0), ("studio", wrong, tmp_path / "bench9", "--port", 0), ("studio", "check", wrong), ("round", "list", wrong)):  # fmt: skip
        said = proctor(*command)
        assert (said.status, wrong.exists()) == (2, False)
        assert "there is no such workspace.\n  → did you mean" in said.err
        assert f"round own {wrong} TABLE" in said.err
    assert f"{wrong} is a new workspace (did you mean {bench}?)" in proctor("round", "own", wrong, *own).out


@types("rounds.md", commands=" own")
def test_the_example_of_the_docs_runs_as_typed(tmp_path: Path) -> None:
    me = Outsider("rounds.md", tmp_path)
    (tmp_path / "tail.png").write_bytes(encode_png(np.full((24, 32, 3), 90, np.uint8)))
    assert me.follow() == 1
    sheet = {"things": ["9:13:part"], "clear": "no", "why": "What tail?", "hard": "2", "what": "join", "risks": ["stain"], "minutes": "3"}  # fmt: skip
    with open_desk(tmp_path / "bench", None, create=False) as desk:
        answer(desk, "ana", dict.fromkeys(("r1", "r2", "r3"), sheet))
    (typed,) = [line for line in me.text.splitlines() if line.startswith("proctor round collect bench own")]
    assert "1 people, 3 answers, 3 tasks" in me.type(typed.split()).out
    found = tmp_path / "bench" / "rounds" / "own" / "answers.jsonl"
    assert '{"start":9,"end":13,"label":"part","text":"tail"}' in found.read_text()
