from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.moments import moment_item

from proctor.errors import UserError
from proctor.exam.kinds.moment_question import moment_example
from proctor.exam.question import Item
from proctor.examples.example import Performed
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Mistake
from proctor.report import page as page_module
from proctor.report.data import About, Frame, ReportData, ReportOptions, Run, Stage
from proctor.report.page import render_report, write_report

VOID = {"meta", "link", "input", "br", "img", "rect", "line", "circle", "path", "polygon"}


class Outline(HTMLParser):
    """Reads a page: elements with attributes, text by element, headings; complains about unbalanced tags."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.headings: list[tuple[int, str]] = []
        self.scripts: list[tuple[dict[str, str], str]] = []
        self.styles: list[str] = []
        self.visible: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {k: v or "" for k, v in attrs}))
        if tag not in VOID:
            self._open.append(tag)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append((int(tag[1]), ""))
        if tag == "script":
            self.scripts.append(({k: v or "" for k, v in attrs}, ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {k: v or "" for k, v in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "script" in self._open:
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif "style" in self._open:
            self.styles.append(data)
        else:
            self.visible.append(data)
            if self.headings and any(re.fullmatch("h[1-6]", t) for t in self._open):
                level, text = self.headings[-1]
                self.headings[-1] = (level, text + data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.visible).split())

    def island(self, name: str = "data") -> Any:
        return json.loads(next(text for attributes, text in self.scripts if attributes.get("id") == name))


@pytest.fixture(scope="module")
def page(small: ReportData, quick: ReportOptions) -> str:
    return render_report(small, options=quick)


@pytest.fixture(scope="module")
def outline(page: str) -> Outline:
    return Outline(page)


# -- structure ---------------------------------------------------------------------------------------------------


def test_headings_form_an_outline(outline: Outline) -> None:
    levels = [level for level, _ in outline.headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))
    assert [text for level, text in outline.headings if level == 2] == [
        "Leaderboard",
        "Breakdown",
        "Data set",
        "Task graphs",
        "Examples",
    ]


def test_landmarks_language_and_title(outline: Outline, page: str) -> None:
    tags = [tag for tag, _ in outline.elements]
    assert tags.count("main") == tags.count("header") == 1
    assert ("html", {"lang": "en"}) in outline.elements
    assert "<title>Small</title>" in page
    assert any(tag == "a" and a.get("href") == "#main" for tag, a in outline.elements)


def test_ids_are_unique_and_every_reference_leads_somewhere(outline: Outline) -> None:
    ids = [a["id"] for _, a in outline.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for _, attributes in outline.elements:
        for key in ("aria-labelledby", "aria-describedby"):
            assert set(attributes.get(key, "").split()) <= set(ids)
        href = attributes.get("href", "#")
        assert href.startswith("#")
        assert href == "#" or href[1:] in ids or re.fullmatch(r"#item=i\d+", href)


def test_the_page_asks_for_nothing_and_has_no_inline_handlers_or_styles(outline: Outline) -> None:
    for tag, attributes in outline.elements:
        assert not any(name.startswith("on") or name in ("style", "srcset") for name in attributes), (
            tag,
            attributes,
        )
        assert tag not in ("link", "iframe", "object", "embed", "base")
        assert attributes.get("src", "data:").startswith("data:")


def test_the_policy_allows_exactly_the_scripts_and_styles_of_the_page(outline: Outline) -> None:
    policy = next(
        a["content"] for tag, a in outline.elements if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe-inline" not in policy
    assert "unsafe-eval" not in policy
    executed = [text for attributes, text in outline.scripts if attributes.get("type") != "application/json"]
    expected = {
        f"'sha256-{base64.b64encode(hashlib.sha256(t.encode()).digest()).decode()}'"
        for t in [*executed, *outline.styles]
    }
    assert set(re.findall(r"'sha256-[^']+'", policy)) == expected


def test_numbers_of_the_leaderboard_are_on_the_page(outline: Outline) -> None:
    assert "strong 87.5" in outline.text
    assert "floor" in outline.text
    assert "upper bound" in outline.text
    assert "not drawn 88" in outline.text
    assert "items.jsonl abc" in outline.text


def test_equal_input_gives_equal_bytes(small: ReportData, quick: ReportOptions, page: str) -> None:
    assert render_report(small, options=quick) == page


def test_readers_without_scripts_see_an_example_of_each_type_with_the_states_as_words(page: str) -> None:
    plain = re.search("<noscript>.*</noscript>", page, re.DOTALL)
    assert plain is not None
    assert plain[0].count("<article") == 3
    assert "(just done, mistake: measurement)" in plain[0]
    assert "(next)" in plain[0]


def test_every_example_is_in_the_island(outline: Outline, small: ReportData) -> None:
    assert [item["i"] for item in outline.island()["items"]] == [item.id for item in small.items]


# -- untrusted text ----------------------------------------------------------------------------------------------

ATTACKS = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "<!--<script>",
    "{{7*7}} {% raw %} ${7*7}",
    "javascript:alert(1)",
    "a\u202egnp.exe",
    "a\x00b\u2028c",
    "'-alert(1)-'",
)


def poison(attack: str) -> ReportData:
    """Put the text into every place that takes text."""
    graph = TaskGraph(attack, attack, (Step(attack, attack), Step("b", attack)), ((attack, "b"),))
    example_text = Performed(attack, attack, attack + " told", (Mistake(attack, attack),))
    from proctor.exam.prediction import Judgement, Prediction
    from proctor.examples.example import Example
    from proctor.generate.candidate import Answer, Candidate, Provenance
    from proctor.verify.verdict import AnswerVerdict, Verdict

    example = Example(
        id=attack, clip_id=attack, recording_id=attack, activity_id=attack, activity_name=attack, type=attack,
        end=1.0, state="ongoing", noisy=False, current=example_text, mistake_texts=(attack,), video=attack,
    )  # fmt: skip
    item = moment_item(example, attack, [attack])
    made = Provenance(generator=attack, version=attack, model=attack, details={attack: attack})
    candidate = Candidate(
        id=attack, example_id=attack, recording_id=attack, type=attack, question=attack, answers=(Answer(attack),), provenance=made
    )  # fmt: skip
    verdict = Verdict(
        candidate_id=attack, annotator=attack, annotator_kind="human", at=attack, own_answers=(attack,), note=attack,
        question=AnswerVerdict("right", None, attack), answers=(AnswerVerdict("right", 0.5, attack, {attack: attack}),),
    )  # fmt: skip
    run = Run(
        attack, attack, "system",
        (Prediction(item_id=attack, predictor=attack, answer=attack),),
        (Judgement(item_id=attack, predictor=attack, judge=attack, score=1, rationale=attack),),
    )  # fmt: skip
    other = Run("x" + attack, "y", "floor", (Prediction(item_id=attack, predictor="y", failure=attack),))
    return ReportData(
        items=(item,), title=attack, about=About(attack, attack, attack, attack, attack, {attack: attack}, attack),
        graphs={attack: graph}, runs=(run, other), candidates=(candidate,), verdicts=(verdict,),
        funnel=(Stage(attack, 1, attack, {attack: 1}, attack),), frames={attack: (Frame(0.0, b"\xff\xd8\xff"),)},
    )  # fmt: skip


@pytest.fixture(scope="module")
def harmless(quick: ReportOptions) -> Outline:
    return Outline(render_report(poison("harmless"), options=quick))


@pytest.mark.parametrize("attack", ATTACKS)
def test_text_adds_no_element_and_no_attribute_whatever_it_says(
    attack: str, harmless: Outline, quick: ReportOptions
) -> None:
    page = render_report(poison(attack), options=quick)
    outline = Outline(page)
    shape = [(tag, sorted(attributes)) for tag, attributes in outline.elements]
    assert shape == [(tag, sorted(attributes)) for tag, attributes in harmless.elements]
    assert "49" not in outline.headings[0][1]
    assert not set("\u202e\x00\u2028") & set(page)


def test_text_is_shown_as_it_is(quick: ReportOptions) -> None:
    outline = Outline(render_report(poison('<b>"{{7*7}}"'), options=quick))
    assert outline.headings[0] == (1, '<b>"{{7*7}}"')
    assert outline.island()["items"][0]["q"] == '<b>"{{7*7}}"'


def test_a_megabyte_in_every_field_gives_a_page_of_bounded_size() -> None:
    options = ReportOptions(drawing="auto", resamples=10, max_text=2_000)
    page = render_report(poison("A" * 1_000_000), options=options)
    assert len(page) < 3_000_000
    assert "1,000,000 characters, the first 2,000 are shown" in page
    assert "drawings stop at" in page


# -- odd input ---------------------------------------------------------------------------------------------------


def test_nothing_at_all(quick: ReportOptions) -> None:
    outline = Outline(render_report(ReportData(items=()), options=quick))
    assert "The benchmark holds no questions." in outline.text
    assert "There is no run yet." in outline.text


def test_items_without_runs(small: ReportData, quick: ReportOptions) -> None:
    outline = Outline(render_report(replace(small, runs=()), options=quick))
    assert "There is no run yet." in outline.text
    assert len(outline.island()["items"]) == 12


def test_a_run_without_answers_is_listed_with_dashes(small: ReportData, quick: ReportOptions) -> None:
    outline = Outline(render_report(replace(small, runs=(*small.runs, Run("empty", "empty"))), options=quick))
    assert "empty – – – – 0 0 0 12" in outline.text
    assert "nan" not in outline.text


def test_a_run_in_which_everything_failed(
    small: ReportData, quick: ReportOptions, run_factory: Callable[..., Run]
) -> None:
    data = replace(small, runs=(run_factory("down", small.items, "f"), run_factory("mute", small.items, "u")))
    outline = Outline(render_report(data, options=quick))
    assert "nan" not in outline.text
    assert "No run has been scored yet." in outline.text


def test_missing_graphs_leave_lists_out_and_say_so(small: ReportData, quick: ReportOptions) -> None:
    outline = Outline(render_report(replace(small, graphs={}), options=quick))
    assert "No task graph was given." in outline.text


def test_all_items_of_one_condition(small: ReportData, quick: ReportOptions, with_items: Any) -> None:
    clean = tuple(i for i in small.items if not moment_example(i.question).noisy)
    outline = Outline(render_report(with_items(small, clean), options=quick))
    assert "6 at a moment before which all went well, 0 after" in outline.text


def test_times_that_are_no_numbers(item_factory: Callable[..., Item], quick: ReportOptions) -> None:
    item = item_factory(0)
    from msgspec.structs import replace as changed

    question = changed(item.question, facts=item.question.facts | {"end": float("nan")})
    odd = changed(item, question=question)
    page = render_report(ReportData(items=(odd,)), options=quick)
    assert Outline(page).island()["items"][0]["e"] == "–"


def test_two_runs_of_one_name_are_a_users_mistake(small: ReportData, quick: ReportOptions) -> None:
    with pytest.raises(UserError, match="two runs are called"):
        render_report(replace(small, runs=small.runs[:1] * 2), options=quick)


def test_pictures_left_out_are_stated(small: ReportData) -> None:
    jpegs = [b"\xff\xd8\xff" + b"x" * 49 + bytes([n]) for n, _ in enumerate(small.items)]
    frames = {i.id: (Frame(1.0, jpeg),) for i, jpeg in zip(small.items, jpegs, strict=True)}
    options = ReportOptions(drawing="none", resamples=10, max_frame_bytes=120)
    outline = Outline(render_report(replace(small, frames=frames), options=options))
    assert "10 of 12 examples are without theirs" in outline.text
    assert outline.island("frames-1") == [["0:01", 1, 1.0]]
    assert outline.island("picture-1") == base64.b64encode(jpegs[1]).decode()


def test_a_picture_of_many_examples_is_in_the_page_once(small: ReportData) -> None:
    frames = {i.id: (Frame(1.0, b"\xff\xd8\xff" + b"x" * 50),) for i in small.items}
    options = ReportOptions(drawing="none", resamples=10, max_frame_bytes=120)
    page = render_report(replace(small, frames=frames), options=options)
    assert page.count(base64.b64encode(b"\xff\xd8\xff" + b"x" * 50).decode()) == 1
    assert "are without theirs" not in page


# -- drawings ----------------------------------------------------------------------------------------------------


def test_without_graphviz_the_page_draws_and_carries_its_engine(
    small: ReportData, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_module, "find_engine", lambda: None)
    outline = Outline(render_report(small, options=ReportOptions(resamples=10)))
    policy = next(
        a["content"] for _, a in outline.elements if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert "'wasm-unsafe-eval'" in policy
    assert len(outline.island("dot")) == 2
    assert sum("Viz.js" in text[:200] for _, text in outline.scripts) == 1
    told = Outline(render_report(small, options=ReportOptions(resamples=10, drawing="dot")))
    assert "the Graphviz program 'dot' was not found" in told.text


def test_with_graphviz_the_engine_stays_out(page: str) -> None:
    assert "Viz.js" not in page
    assert "wasm" not in page.split("</head>")[0]


# -- writing -----------------------------------------------------------------------------------------------------


def test_the_file_appears_whole(small: ReportData, quick: ReportOptions, page: str, tmp_path: Path) -> None:
    path = write_report(tmp_path / "deep" / "report.html", small, quick)
    assert path.read_text("utf-8") == page
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]


def test_a_folder_that_cannot_be_written_is_told(
    small: ReportData, quick: ReportOptions, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="cannot be written"):
        write_report(tmp_path / "file" / "report.html", small, quick)


def test_the_published_figures_stand_beside_the_published_benchmark(
    small: ReportData, quick: ReportOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "published" not in Outline(render_report(small, options=quick)).text
    ids = hashlib.sha256("\n".join(sorted(i.id for i in small.items)).encode()).hexdigest()
    monkeypatch.setattr("proctor.report.statistics._PUBLISHED_IDS", ids)
    text = Outline(render_report(small, options=quick)).text
    assert "here published" in text
    assert "158 of 179 (0.88)" in text
