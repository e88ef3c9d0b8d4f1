"""Every family against every kind of damage: a defined result, or status 2 and a message that helps; nothing else.

A bug would come out of ``proctor`` as an exception, a NumPy warning as an error (pyproject): both fail the test.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
from dataclasses import dataclass

import pytest

from proctor.settings import fields_of
from proctor.stages.scoring import FAMILIES, settings_of


def lines(head, rows):
    return "\n".join([head, *rows]) + "\n"


@dataclass(frozen=True)
class Case:
    """A command that works: its files, and the options beside them."""

    command: str
    files: dict[str, str]
    options: tuple[str, ...] = ()


def pair(command, gt, pred, *options):
    return Case(command, {"--gt": gt, "--pred": pred}, options)


def single(command, file, *options):
    return Case(command, {"": file}, options)


LABELS = lines(
    "unit,annotator,label,recording",
    [f"u{i},{a},{'yes' if i % k else 'no'},r{i // 2}" for i in range(6) for a, k in (("A", 2), ("B", 3))],
)
ORDERS = lines(
    "unit,annotator,order,recording",
    [
        f"u{i},{a},1 {2 + (i * k) % 2} {3 - (i * k) % 2} 4,r{i}"
        for i in range(4)
        for a, k in (("A", 0), ("B", 1))
    ],
)
ALTERNATIVES = lines(
    "unit,annotator,gold,orders",
    [f"u{i},{a},1 2 3 4,{o}" for i in range(4) for a, o in (("A", "2 1 3 4"), ("B", "2 1 3 4|1 2 4 3"))],
)
SEGMENTS = lines(
    "recording,annotator,step,start,end",
    [
        f"r{i},{a},{s},{10 * s + d},{10 * s + 8 + d}"
        for i in range(3)
        for s in range(3)
        for a, d in (("A", 0), ("B", 1.5))
    ],
)
ANSWERS = lines("id,answer,recording,type", [f"q{i},add salt {i},r{i // 2},next" for i in range(6)])
RESPONSES = lines("id,response", [f"q{i},you add salt {i % 3}" for i in range(6)])
CHOICES = lines(
    "id,options,gold,recording,type", [f"q{i},salt|milk|tea,{'ABC'[i % 3]},r{i // 2},next" for i in range(6)]
)
LETTERS = lines("id,response", [f"q{i},The answer is {'AB'[i % 2]}." for i in range(6)])
JUDGEMENTS = lines("id,judgement", [f"q{i},{i % 3}" for i in range(6)])
MISTAKES = lines(
    "recording,step,label,kinds,person",
    [f"r{i // 3},{i},{i % 2},{'Timing|Order' if i % 2 else ''},p{i % 2}" for i in range(12)],
)
SCORED = lines("recording,step,score", [f"r{i // 3},{i},{i * 7 % 11 / 11:.3f}" for i in range(12)])
KEY_STEPS = lines(
    "video,frame,label,recipe", [f"v{v},{f},{f // 3},c{v // 2}" for v in range(4) for f in range(9)]
)
CLUSTERS = lines("video,frame,cluster", [f"v{v},{f},{f // 4}" for v in range(4) for f in range(9)])
TRUTH = lines(
    "video-id,t-start,t-end,label,has_error",
    [f"v{v},{10 * s},{10 * s + 8},{s},{s % 2}" for v in range(4) for s in range(3)],
)
FOUND = lines(
    "video-id,t-start,t-end,label,score",
    [f"v{v},{10 * s + 1},{10 * s + 9},{s},{(s * 3 + v) % 7 / 7:.3f}" for v in range(4) for s in range(3)],
)
MANUALS = lines("id,order,presented,recipe", [f"i{i},a|b|c|d,d|c|b|a,m{i % 2}" for i in range(6)])
PREDICTED = lines("id,order", [f"i{i},{'a|c|b|d' if i % 2 else 'a|b|c|d'}" for i in range(6)])
QUESTIONS = lines("id,gold,style,modality", [f"q{i},s{i}|s{i + 1},IE,Txt" for i in range(6)])
RANKINGS = lines("id,ranking", [f"q{i},s{i}|x|s{i + 2}" for i in range(6)])
FRAMES = lines("video,frame,label", [f"v{v},{f},{'abc'[f // 4]}" for v in range(3) for f in range(12)])
PREDICTED_FRAMES = lines(
    "video,frame,label", [f"v{v},{f},{'abc'[f // 5]}" for v in range(3) for f in range(12)]
)
ACTIONS = lines(
    "video,start,end,label,duration",
    [f"v{v},{4 * k},{4 * k + 4},{'abc'[k]},12" for v in range(3) for k in range(3)],
)
PREDICTED_ACTIONS = lines(
    "video,start,end,label", [f"v{v},{4 * k},{4 * k + 3},{'abc'[k]}" for v in range(3) for k in range(3)]
)
MARKS = lines("item,recording,alpha,beta", [f"q{i},r{i // 2},{i % 2},{int(i % 3 > 0)}" for i in range(8)])
LONG = lines(
    "item,system,value", [f"q{i},{s},{i * k % 5}" for i in range(8) for s, k in (("x", 2), ("y", 3))]
)
CONFIDENCES = lines(
    "confidence,correct,recording", [f"{i * 7 % 10 / 10},{i % 2},r{i // 2}" for i in range(8)]
)
TEXTS = lines("id,question,type,recording", [f"q{i},Did I miss step {i}?,next,r{i // 2}" for i in range(6)])

CASES = {
    "labels": single("agreement", LABELS),
    "orders": single("agreement", ORDERS, "--kind", "orders"),
    "alternatives": single("agreement", ALTERNATIVES, "--kind", "alternatives"),
    "segments": single("agreement", SEGMENTS, "--kind", "segments"),
    "answer": pair("answer", ANSWERS, RESPONSES, "--slice", "type"),
    "choice": pair("answer", CHOICES, LETTERS, "--choices"),
    "judge": pair("answer", ANSWERS, JUDGEMENTS, "--metric", "judge"),
    "classification": pair("classification", MISTAKES, SCORED, "--slice", "person"),
    "clustering": pair("clustering", KEY_STEPS, CLUSTERS, "--group", "recipe", "--draws", "2"),
    "localization": pair("localization", TRUTH, FOUND, "--slice", "has_error"),
    "ordering": pair("ordering", MANUALS, PREDICTED, "--slice", "recipe"),
    "repair": pair("ordering", MANUALS, PREDICTED, "--mode", "repair", "--constraints-from-references"),
    "retrieval": pair("retrieval", QUESTIONS, RANKINGS, "--pool", "50"),
    "frames": pair("segmentation", FRAMES, PREDICTED_FRAMES),
    "actions": pair("segmentation", ACTIONS, PREDICTED_ACTIONS, "--rate", "2", "--background", "bg"),
    "significance": single("significance", MARKS),
    "long": single("significance", LONG, "--test", "permutation", "--system", "x", "--system", "y"),
    "calibration": single("significance", CONFIDENCES, "--calibration"),
    "text": single("text", TEXTS, "--slice", "type"),
}
DRAWS = ("--resamples", "10")
ALL = bool(os.environ.get("PROCTOR_FUZZ"))


PLACE = {name: place for place, name in enumerate(CASES)}


def turns(values, turn, of=6):
    """Return every sixth of the values, others for the next case or column: with PROCTOR_FUZZ all of them (minutes)."""
    values = list(values)
    return values if ALL else values[turn % of :: of]


@pytest.fixture
def attack(proctor, tmp_path):
    """Run a case with some files replaced (text, bytes or a path), and judge what came of it."""

    def attack(case, replaced=None, *options, suffix=".csv"):
        arguments = []
        for number, (flag, text) in enumerate(case.files.items()):
            content = (replaced or {}).get(flag, text)
            path = tmp_path / f"file{number}{suffix if flag in (replaced or {}) else '.csv'}"
            if isinstance(content, str | bytes):
                path.write_bytes(content if isinstance(content, bytes) else content.encode())
            else:
                path = content
            arguments += [flag, path] if flag else [path]
        given = DRAWS if "--resamples" not in options else ()
        outcome = proctor("score", case.command, *arguments, *case.options, *given, *options)
        judge(outcome, options)
        return outcome

    return attack


def judge(outcome, options=()):
    if outcome.status == 2:
        assert not outcome.out
        assert outcome.err.startswith(("proctor: ", "Usage: ")), outcome.err
        assert len(outcome.err.strip()) > 30
        return
    assert outcome.status == 0
    assert "Warning" not in outcome.err
    assert outcome.out.strip()
    if "--json" in options:
        document = json.loads(outcome.out, parse_constant=pytest.fail)  # NaN and Infinity are no JSON
        for score in document["scores"]:
            assert score["value"] is not None or score["note"], score
            ends = [score["low"], score["high"]]
            assert ends == [None, None] or all(map(math.isfinite, ends)), score


def rows_of(text):
    return list(csv.reader(io.StringIO(text)))


def text_of(rows):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


ZEROS = gzip.compress(bytes(2_000_000), mtime=0)
REFUSED = {
    "empty": lambda t: "",
    "blank lines": lambda t: "  \n \n",
    "header only": lambda t: t.splitlines()[0] + "\n",
    "UTF-16": lambda t: t.encode("utf-16"),
    "Latin-1": lambda t: t.encode() + b"\xe9",
    "binary": lambda t: bytes(range(256)) * 9,
    "cut off gzip": lambda t: gzip.compress(t.encode())[:50],
    "zeros in gzip": lambda t: ZEROS,
    "semicolons": lambda t: t.replace(",", ";"),
    "a page of HTML": lambda t: "<!DOCTYPE html>\n<html><body>404</body></html>\n",
    "a column twice": lambda t: text_of([[*row, row[0]] for row in rows_of(t)]),
    "no first column": lambda t: text_of([row[1:] for row in rows_of(t)]),
    "a value too many": lambda t: t + ",".join("x" * 9) + "\n",
    "an open quote": lambda t: t + '"r0,\n',
}
FREE_OF_NAMES = ("text", "calibration")
"""Rows of these need no name: without its first column the file is a smaller one, or lacks something else."""

SAME = {
    "BOM": lambda t: "\ufeff" + t,
    "CRLF": lambda t: t.replace("\n", "\r\n"),
    "CR": lambda t: t.replace("\n", "\r"),
    "gzip": lambda t: gzip.compress(t.encode()),
    "blank lines at the end": lambda t: t + "\n\n",
    "rows in reverse": lambda t: text_of([rows_of(t)[0], *rows_of(t)[:0:-1]]),
}


@pytest.mark.parametrize("name", CASES)
def test_every_form_of_a_result(attack, tmp_path, name):
    case, page = CASES[name], tmp_path / "page.html"
    text, again = (attack(case, None, "--seed", "3").out for _ in range(2))
    assert text == again
    assert "\n─" in text
    assert not text.lstrip().startswith("{")
    found, other = (attack(case, None, "--json", "--resamples", "50", "--seed", s).json for s in ("3", "4"))
    assert found["family"] == case.command
    assert found["counts"] == other["counts"]
    assert any(score["low"] is not None for score in found["scores"])
    paper = attack(case, None, "--latex", "--report", page)
    assert paper.out.count(r"\toprule") == 1
    assert f"written: {page}" in paper.err
    assert page.read_text().count("<svg") >= len(found["figures"]) >= (name != "judge")
    assert attack(case, None, "--latex", "--json").status == 2


@pytest.mark.parametrize("family", FAMILIES)
def test_help_has_every_option_and_an_example(proctor, family):
    text = proctor("metrics", family, "--help").out
    flat = " ".join(text.split())
    for field in fields_of(settings_of(family)):
        assert (field.metavar if field.argument else f"{field.flag} ") in flat, field.name
        assert " ".join(field.help.split()) in flat.replace("- ", "-") or field.help[:20] in flat, field.name
    for words in ("--latex", "--report FILE", "--json", f"Examples: proctor metrics {family} "):
        assert words in flat


@pytest.mark.parametrize("name", CASES)
def test_files_that_are_none_are_refused(attack, name):
    case = CASES[name]
    for number, (flag, text) in enumerate(case.files.items()):
        for damage, change in turns(REFUSED.items(), PLACE[name] + number):
            if damage == "no first column" and name in FREE_OF_NAMES:
                continue
            outcome = attack(case, {flag: change(text)})
            assert outcome.status == 2, (damage, flag)
            assert f"file{number}.csv" in outcome.err


@pytest.mark.parametrize("name", CASES)
def test_paths_that_are_no_files_are_refused(attack, tmp_path, name):
    (tmp_path / "folder.csv").mkdir()
    paths = (tmp_path / "missing.csv", tmp_path / "folder.csv", tmp_path / "a.parquet", "/dev/null")
    for number, flag in enumerate(CASES[name].files):
        for path in turns(paths, PLACE[name] + number, of=4):
            outcome = attack(CASES[name], {flag: tmp_path / path})
            assert outcome.status == 2
            assert str(path).rsplit("/", 1)[-1] in outcome.err


@pytest.mark.parametrize("name", CASES)
def test_the_form_of_a_file_and_the_order_of_its_rows_change_nothing(attack, name):
    case = CASES[name]

    def scores(outcome):
        assert outcome.status == 0, outcome.err
        return sorted(
            (json.dumps(score, sort_keys=True) for score in outcome.json["scores"]),
        )

    usual = scores(attack(case, None, "--json"))
    for number, (flag, text) in enumerate(case.files.items()):
        for change in turns(SAME.values(), PLACE[name] + number, of=3):
            assert scores(attack(case, {flag: change(text)}, "--json")) == usual


IN_ALL_ROWS = ["", "nan", "-1", "1e308", "99999999999999999999", "<script>", "a\0b", "[[]]", "1 2 2"]
IN_ONE_ROW = [
    *(
        " ",
        "-inf",
        "1e-320",
        "0x10",
        "1,5",
        "None",
        "=cmd|'/C calc'!A0",
        "\u202eevil",
        "\x1b[2J",
        "é\nx",
        '"',
        "|",
    ),
    *("a|a", "[", '{"a":1}', "z" * 4000),
]


@pytest.mark.parametrize("name", CASES)
def test_a_column_of_strange_values(attack, name):
    case = CASES[name]
    for flag, text in case.files.items():
        rows = rows_of(text)
        for column in range(len(rows[0])):
            for value in turns(IN_ALL_ROWS + IN_ONE_ROW, PLACE[name] + column):
                changed = [list(row) for row in rows]
                for row in changed[1:] if value in IN_ALL_ROWS else changed[2:3]:
                    row[column] = value
                attack(case, {flag: text_of(changed)}, "--json")


OBJECTS = [
    None,
    True,
    10**400,
    [],
    {},
    [None],
    [[1]],
    {"a": 1},
    [1, 2, 2],
    [True],
    [" "],
    "NaN",
    "a\nb",
    -1e-320,
]


@pytest.mark.parametrize("name", CASES)
def test_a_key_of_strange_values(attack, name):
    """JSON Lines, in one line."""
    case = CASES[name]
    for flag, text in case.files.items():
        head, *rows = rows_of(text)
        for column, value in ((c, v) for k, c in enumerate(head) for v in turns(OBJECTS, PLACE[name] + k)):
            records = [dict(zip(head, map(typed, row), strict=True)) for row in rows]
            records[1][column] = value
            attack(case, {flag: "\n".join(map(json.dumps, records))}, "--json", suffix=".jsonl")


def typed(cell):
    if "|" in cell:
        return cell.split("|")
    try:
        return json.loads(cell)
    except ValueError:
        return cell


@pytest.mark.parametrize("name", CASES)
def test_few_rows_one_value_and_swapped_columns(attack, name):
    case = CASES[name]
    for flag, text in case.files.items():
        head, *rows = rows_of(text)
        shapes = [[head, *rows[:n]] for n in (1, 2)]
        shapes += [[head, *rows, *rows], [head, *rows, rows[0]]]
        for i in range(len(head)):
            shapes.append([head, *([*row[:i], rows[0][i], *row[i + 1 :]] for row in rows)])
            shapes.append([head, *([*row[:i], f"{row[i]}{k}", *row[i + 1 :]] for k, row in enumerate(rows))])
            for j in range(max(i - 1, 0), i):
                swapped = [list(row) for row in rows]
                for row in swapped:
                    row[i], row[j] = row[j], row[i]
                shapes.append([head, *swapped])
        for shape in turns(shapes, PLACE[name], of=3):
            attack(case, {flag: text_of(shape)}, "--json")


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if len(case.files) == 2])
def test_swapped_files(attack, name):
    case = CASES[name]
    gt, pred = case.files.values()
    attack(case, {"--gt": pred, "--pred": gt})
    attack(case, {"--gt": pred})
    attack(case, {"--pred": gt})


@pytest.mark.parametrize(
    "name", ["labels", "answer", "choice", "localization", "repair", "retrieval", "text"]
)
def test_a_very_long_cell(attack, name):
    case = CASES[name]
    for flag, text in case.files.items():
        rows = rows_of(text)
        rows[1][-1] += "x " * 250_000
        attack(case, {flag: text_of(rows)}, "--json")


WRONG_OPTIONS = [
    ("--confidence", "0"),
    ("--confidence", "1"),
    ("--confidence", "nan"),
    ("--confidence", "-0.5"),
    ("--confidence", "95"),
    ("--seed", "-1"),
    ("--seed", "x"),
    ("--resamples", "-1"),
    ("--resamples", "1"),
    ("--resamples", "1e4"),
    ("--json", "--latex"),
]


@pytest.mark.parametrize("name", CASES)
def test_options_that_cannot_be_right(attack, name):
    for options in turns(WRONG_OPTIONS, PLACE[name]):
        outcome = attack(CASES[name], None, *options)
        assert outcome.status == 2, options
        assert options[0] in outcome.err


@pytest.mark.parametrize("name", CASES)
def test_options_at_the_edge(attack, name):
    edges = (
        ("--resamples", "0"),
        ("--confidence", "0.999999999"),
        ("--confidence", "1e-9"),
        ("--latex",),
        ("--seed", str(2**70), "--json"),
    )
    for options in turns(edges, PLACE[name], of=3):
        assert attack(CASES[name], None, *options).status == 0


TAKES = {
    "--slice": ("labels", "answer", "classification", "localization", "ordering", "text"),
    "--cluster": ("labels", "answer", "ordering", "retrieval", "significance", "calibration", "text"),
    "--group": ("clustering",),
    "--stratum": ("significance",),
    "--column": ("text",),
}


@pytest.mark.parametrize(("option", "name"), [(o, n) for o, names in TAKES.items() for n in names])
def test_a_column_that_is_not_there(attack, option, name):
    for column in ("nope", "", "\u202e"):
        outcome = attack(CASES[name], None, option, column)
        assert outcome.status == 2
        assert repr(column) in outcome.err or column in outcome.err


@pytest.mark.parametrize("name", CASES)
def test_pages_that_cannot_be_written(attack, tmp_path, name):
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    for place in (tmp_path, tmp_path / "file" / "page.html"):
        outcome = attack(CASES[name], None, "--report", place)
        assert outcome.status == 2
        assert str(place) in outcome.err


@pytest.mark.parametrize("name", CASES)
def test_pages_escape_what_files_hold(attack, tmp_path, name):
    """Names of videos, labels, annotators and slices come from files: none of them becomes a tag."""
    case, page = CASES[name], tmp_path / "page.html"
    evil = "<script>alert(1)</script>"
    for flag, text in case.files.items():
        rows = rows_of(text)
        for column in turns(range(len(rows[0])), PLACE[name], of=2):
            changed = [list(row) for row in rows]
            for row in changed[1:]:
                row[column] = f"{row[column]}{evil}"
            page.unlink(missing_ok=True)
            outcome = attack(case, {flag: text_of(changed)}, "--report", page)
            assert outcome.status == 2 or evil not in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("word", ["localisation", "answers", "retreival", "./localization", ""])
def test_words_that_are_no_family(proctor, tmp_path, monkeypatch, word):
    monkeypatch.chdir(tmp_path)
    outcome = proctor("score", word)
    judge(outcome)
    assert outcome.status == 2
    if word and word[0] != ".":
        assert "did you mean" in outcome.err
