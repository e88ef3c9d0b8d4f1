"""Pages in the language of whoever reads them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

pytest.importorskip("starlette", reason="needs the extra `studio`")

from starlette.requests import Request
from tests.studio import roundwork

from proctor.capture.records import Hint, Script, ScriptStep, Slot
from proctor.cli.studio import Listening
from proctor.drawing.view import view_graph
from proctor.errors import UserError
from proctor.exam.kinds.example import Example, Performed
from proctor.procedure.recording import Mistake
from proctor.said import say, say_count, say_in
from proctor.studio import language
from proctor.studio.auth import Rate
from proctor.studio.bundles import bundle
from proctor.studio.rendering import STATIC, environment, explain
from proctor.studio.tasks.record import view
from proctor.verify.desk import rounds, work
from proctor.verify.desk.people import set_settings
from proctor.verify.desk.records import InvalidError
from proctor.verify.rounds.form import FormSheet
from proctor.verify.rounds.graph import KIND, GraphOptions, GraphSheet, GraphStep, GraphTask
from proctor.verify.rounds.rate import KIND as RATE
from proctor.verify.rounds.rate import RateOptions, RateTask, read_form
from proctor.verify.rounds.record import RecordOptions, RecordTask

ROOT = Path(__file__).parents[2]


@contextmanager
def speaking(code: str) -> Iterator[None]:
    language.speak(code)
    yield
    language.speak("en")


@pytest.fixture
def german(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, Any], None]]:
    """German, with a catalog of the test's own."""
    words: dict[tuple[str, str], Any] = {}
    monkeypatch.setattr(language, "_words", lambda code: words if code == "de" else {})
    with speaking("de"):
        yield lambda key, value: words.update({(key.rpartition("|")[0], key.rpartition("|")[2]): value})


# -- which language --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("de", "de"), ("de-AT,de;q=0.9,en;q=0.8", "de"), ("en-US,en;q=0.9,de;q=0.8", "en"), ("fr, de;q=0.5", "de"),
        ("fr", "en"), ("", "en"), ("de;q=0, en;q=0.1", "en"), ("de;q=nonsense", "en"), ("*", "en"), ("de" * 5000, "en"),
        ("en;q=0.4,de;q=0.4", "en"), ("DE", "de"),
    ],
)  # fmt: skip
def test_a_browser_says_what_it_prefers(header: str, code: str) -> None:
    request = Request({"type": "http", "headers": [(b"accept-language", header.encode())]})
    assert language.choose(request, None, "auto") == code


def test_programs_are_answered_in_english() -> None:
    request = Request({"type": "http", "path": "/api/v1/project", "headers": [(b"accept-language", b"de")]})
    assert language.choose(request, None, "de") == "en"


def test_a_person_goes_before_the_project_and_the_project_before_the_browser(office: Any) -> None:
    request = Request({"type": "http", "headers": [(b"accept-language", b"en")]})
    ana = office.hire("ana")
    assert language.choose(request, ana, "de") == "de"
    office.do(set_settings, ana, {"language": "en"})
    assert language.choose(request, office.now(ana), "de") == "en"
    office.do(set_settings, ana, {"language": "xx"})
    assert language.choose(request, office.now(ana), "de") == "de"


def test_the_option_offers_the_languages_that_there_are() -> None:
    (offered,) = (
        hint
        for hint in get_args(get_type_hints(Listening, include_extras=True)["language"])
        if get_args(hint)
    )
    assert set(get_args(offered)) == {"auto", *language.LANGUAGES}
    assert {path.stem for path in language.CATALOGS.glob("*.po")} == language.LANGUAGES.keys() - {"en"}


def test_what_is_refused_before_a_page_is_asked_is_said_in_the_language_of_the_person(office: Any) -> None:
    """The project's language is English."""
    ana, gita = office.hire("ana"), office.hire("gita", "coordinator")
    office.do(set_settings, ana, {"language": "de"})
    office.studio.auth._writes = Rate(0.05, 10)  # a slow machine may write less than ten a second

    def refused(who: Any) -> list[tuple[int, str]]:
        client = office.client(who)
        answers = [
            client.post("/my", headers={"Sec-Fetch-Site": "cross-site"}),
            client.post("/my", content=b"x" * 1_000_001),
            client.get("/", headers={"Host": "evil.example"}),
            client.get("/no-such-page"),
            client.get("/no%20page"),
            client.delete("/my"),
            *(client.post("/next") for _ in range(20)),
        ]
        return [(answer.status_code, answer.text) for answer in answers]

    own = refused(ana)
    assert [status for status, _ in own[:6]] == [403, 413, 400, 404, 404, 405]
    assert own[-1][0] == 429
    for n, word in enumerate(
        ("Abgelehnt", "Zu groß", "Unbekannter", *["Hier ist nichts"] * 2, "Das geht hier nicht")
    ):
        assert word in own[n][1]
    assert "Sekunde" in own[-1][1]
    for (status, german), (other, english) in zip(own[:6], refused(gita), strict=False):
        assert status == other
        assert german != english
    office.studio.auth._known.clear()
    assert office.client(ana).get("/api/v1/project").status_code == 401
    assert not office.studio.auth._known  # cookies are not looked at there


# -- sentences -------------------------------------------------------------------------------------------------


def test_values_are_filled_into_the_translation(german: Any) -> None:
    german("{who} is {how}.", "{how} ist {who}.")
    german("late", "spät")
    german("{n} item", ("{n} Aufgabe", "{n} Aufgaben"))
    german("state|Open", "Offen")
    assert language.translated(say("{who} is {how}.", who="{x}", how=say("late"))) == "spät ist {x}."
    assert [language.translated(say_count(n, "{n} item", "{n} items")) for n in (0, 1, 2)] == ["0 Aufgaben", "1 Aufgabe", "2 Aufgaben"]  # fmt: skip
    assert language.translated(say_in("state", "Open")) == "Offen"
    assert language.translated(say("Open")) == "Open"  # no translation: English
    german("{n:,} of {share:.1%}", "{n:,} von {share:.1%}")
    assert language.translated(say("{n:,} of {share:.1%}", n=4000, share=0.5)) == "4.000 von 50,0%"
    assert language.translated("late") == "late"  # what people wrote is nobody's to translate


def test_a_number_that_begins_with_its_point_has_a_nought_before_the_comma(german: Any) -> None:
    numbers = (".90", "−.25", "1,234.5")
    assert [language.figures(n) for n in numbers] == ["0,90", "−0,25", "1.234,5"]
    language.speak("en")
    assert language.figures(".90") == ".90"


def test_templates_and_json_say_it_too(german: Any) -> None:
    german("Hello <b>%(who)s</b>", "Hallo <b>%(who)s</b>")
    german("%(n)s item", ("%(n)s Aufgabe", "%(n)s Aufgaben"))
    german("late", "spät")
    german("work|%(n)s task", ("%(n)s Auftrag", "%(n)s Aufträge"))
    page = environment().from_string(
        "{% trans who=view %} Hello\n <b>{{ who }}</b>{% endtrans %} {{ said }} "
        "{% trans n=3 %}{{ n }} item{% pluralize n %}{{ n }} items{% endtrans %} "
        '{% trans "work" n=2 %}{{ n }} task{% pluralize n %}{{ n }} tasks{% endtrans %} {{ "1,234.5" | figures }}'
    )
    assert (
        page.render(view="<i>\u202e", said=say("late"))
        == "Hallo <b>&lt;i&gt;⟨U+202E⟩</b> spät 3 Aufgaben 2 Aufträge 1.234,5"
    )
    assert msgspec.json.decode(language.encoded({"a": [say("late"), "late"]})) == {"a": ["spät", "late"]}
    with pytest.raises(NotImplementedError, match="object"):
        language.encoded(object())


def test_a_message_with_a_hint_is_one_paragraph(german: Any) -> None:
    german("late.", "spät.")
    german("wait", "bitte warten")
    assert explain(UserError(say("late."), hint=say("wait"))) == "spät. Bitte warten."


def test_what_is_odd_about_a_graph_is_said_by_its_numbers(german: Any) -> None:
    german("{where:capital}: {what} ({seen}).", "Bei {where} {what}: {seen}")
    german("step {id}", "Schritt {id}")
    german("steps wait for one another", "warten Schritte aufeinander")
    german("{path}; {n} steps wait for one another", "{path} und mehr, alle {n}")
    steps = tuple(GraphStep(id=id_, text=f"don't {id_}") for id_ in "abcd")
    edges = (("b", "c"), ("c", "b"), ("c", "d"), ("d", "b"))
    found = KIND.look(GraphSheet(steps=steps, edges=edges), GraphTask(id="g"), GraphOptions()).findings[0]
    assert (found.text, found.step) == ("Step 2: steps wait for one another (2 → 3 → 2; 3 steps wait for one another).", 2)  # fmt: skip
    assert (
        language.translated(found.text)
        == "Bei Schritt 2 warten Schritte aufeinander: 2 → 3 → 2 und mehr, alle 3"
    )
    german("{where:capital}: {what} ({seen}).", "{what:capital} ({where}): {seen}")
    assert str(language.translated(found.text)).startswith("Warten Schritte aufeinander (Schritt 2): 2")


def test_drawings_and_kinds_of_mistakes_are_said_too(german: Any) -> None:
    german("of a procedure|End", "Ende")
    german("Measurement", "Abmessen")
    german("{status}, {errors}: {kinds}", "{kinds} ({status}, {errors})")
    sheet = GraphSheet(steps=(GraphStep(id="a", text="End it"),))
    drawn = KIND.look(sheet, GraphTask(id="g"), GraphOptions(), language.translated).svg
    assert (">Ende<" in drawn, ">End<" in drawn) == (True, False)
    done = Performed("a", "End it", "", (Mistake("measurement", "End"), Mistake("own kind")))
    moment = Example(
        id="e", clip_id="c", recording_id="r", activity_id="g", activity_name="Go", type="next", end=1.0,
        state="ongoing", noisy=True, current=done,
    )  # fmt: skip
    (row,) = view_graph(moment, None).rows
    assert [language.translated(kind) for kind, _ in row.mistakes] == ["Abmessen", "Own kind"]
    assert language.translated(row.words) == "Abmessen, Own kind (current, 2 errors)"


def test_hints_of_a_script_are_said_too(german: Any) -> None:
    german("{wrong} instead of {right}", "{wrong} statt {right}")
    hints = tuple(Hint(step="s", kind="timing", text="2 min instead of 1 min", by=by) for by in ("text", "m"))
    more: dict[str, Any] = {"id": "x", "activity": "tea", "strategy": "normal"}
    script = Script(title="Tea", steps=(ScriptStep(step="s", text="Wait 1 min"),), hints=hints, **more)
    slot = Slot(script="x", participant="", environment="k", **more)
    shown = msgspec.json.decode(
        view(None, RecordTask(slot=slot, script=script), None, RecordOptions(), "").data
    )
    assert [hint["text"] for hint in shown["hints"]] == ["2 min statt 1 min", "2 min instead of 1 min"]


def test_the_form_that_is_shipped_is_said_too_and_that_of_others_is_not(german: Any) -> None:
    german("a shipped round|How fluent is the question?", "Wie flüssig?")
    german("a shipped round|fluent", "flüssig")
    german("Not filled in yet: {field}", "Es fehlt: {field}")
    shipped = read_form().fields[0]
    own = msgspec.structs.replace(shipped, name="own", label="Fluent?")
    with pytest.raises(InvalidError) as caught:
        RATE.check(FormSheet(), RateTask(question=None), RateOptions(fields=(shipped, own)))  # type: ignore[arg-type]
    assert [language.translated(text) for _, text in caught.value.errors] == ["Es fehlt: Wie flüssig?", "Es fehlt: Fluent?"]  # fmt: skip
    (field, _) = RATE.fields(None, RateOptions(fields=(shipped, own)))  # type: ignore[arg-type]
    assert [language.translated(end) for end in field.ends] == ["incomprehensible", "flüssig"]


def test_a_reviewer_reads_the_shipped_form_in_their_language(office: Any, words: Any) -> None:
    ana, gita = office.hire("ana"), office.hire("gita", "coordinator")
    office.do(set_settings, gita, {"language": "de"})
    round_ = roundwork.begin(office.desk, "rate", roundwork.make_tasks("rate", 1), wanted=1)
    batch = office.do(rounds.open_batch, round_, ana)
    pid = office.desk.read(lambda c: rounds.count_batch(c, batch)).following
    sheet = msgspec.Raw(msgspec.json.encode(roundwork.sheet_of("rate")))
    office.do(work.submit, pid, ana, sheet=sheet, rev=0, key="k" * 20)
    place = f"/rounds/{round_.pid}/review/{batch.pid}"
    assert "Nein" in words(office.get(gita, place))
    sample = words(office.get(gita, f"{place}/{pid}"))
    assert sample.count("Wie gut ist die Sprache der Frage?") >= 2  # as it was rated, and to correct it
    for english in ("fluent", "Yes", "yes", "style?"):
        assert english not in sample


def test_days_are_written_as_the_language_has_them() -> None:
    assert re.fullmatch(r"1[45] Nov 2023, \d\d:\d\d", language.when_text(1_700_000_000))
    with speaking("de"):
        assert re.fullmatch(r"1[45]\. Nov\. 2023, \d\d:\d\d", language.when_text(1_700_000_000))


# -- catalogs --------------------------------------------------------------------------------------------------


def test_the_catalogs_are_complete_and_in_step_with_the_source() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "extract-words", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


_CALLS = {"_", "_n", "_in"}
_TOKEN = re.compile(
    r"""//.*|/\*(?s:.*?)\*/|/(?![*/ ])(?:[^/\n\\\[]|\\.|\[[^\]\n]*\])+/(?=[a-z,;.)])|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|[\w$]+|\S"""
)
_SENTENCE = re.compile(r"[A-Z][a-z’']* [a-z].*|[A-Z][a-z]+( [a-z]+)*[.…?!]|[A-Z][a-z]{3,}")
_NAMES = re.compile(
    r"([A-Z][a-z]+){2,}|(Arrow|Page)\w*|Escape|Enter|Space|Home|Insert|Backspace|Delete|Shift|Control|Meta|Accept|Range"
    r"|Content-.*|Edge|Opera|Firefox|Chrome|Safari|Android|Windows|Linux|Link|Refuse"  # browsers; values of code
    r"|Begun before step .*|This tablet has room .*|The battery is at .*"  # kept with the data, as English
)


def test_scripts_say_nothing_that_no_catalog_has() -> None:
    bare = []
    for path in sorted((STATIC / "js").glob("*.js")):
        called, depth = False, 0  # depth > 0: within the parentheses of a call that is looked up
        for token in _TOKEN.findall(path.read_text("utf-8")):
            if depth:
                depth += (token == "(") - (token == ")")
            elif called and token == "(":
                depth = 1
            elif token[0] in '"`' and _SENTENCE.fullmatch(token[1:-1]) and not _NAMES.fullmatch(token[1:-1]):
                bare.append(f"{path.name}: {token}")
            called = token in _CALLS
    assert bare == []


def test_pages_load_the_words_of_their_language_before_the_scripts(office: Any) -> None:
    ana = office.hire("ana")
    assert "words-" not in office.get(ana, "/my").text
    office.do(set_settings, ana, {"language": "de"})
    page = office.get(ana, "/my").text
    assert '<html lang="de"' in page
    address = re.search(r'src="(/static/\w+/bundle/words-de\.js)"', page)
    assert address is not None
    assert page.index(address[0]) < page.index('type="module"')
    script = office.visit(address[1])
    assert script.headers["content-type"].startswith("text/javascript")
    words = msgspec.json.decode(script.text.removeprefix("globalThis.WORDS = ").removesuffix(";\n"))
    assert words
    with pytest.raises(KeyError):
        bundle(STATIC, "words-xx.js")


def test_style_sheets_say_nothing() -> None:
    said = re.compile(r'content:[^;"}]*"[^"]*[A-Za-z]{2}[^"]*"')
    assert [found for path in STATIC.rglob("*.css") for found in said.findall(path.read_text("utf-8"))] == []
