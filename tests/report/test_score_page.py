from __future__ import annotations

import base64
import hashlib
import itertools
import re
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import pytest

from proctor.errors import UserError
from proctor.metrics.catalogue import FAMILIES
from proctor.metrics.figure import Bars
from proctor.metrics.score import Score, Signature
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.report.score_page import FAMILY_TITLES, render_score_page, write_score_page
from proctor.report.score_table import render_scores
from proctor.version import __version__

VOID = {"meta", "link", "br", "input", "img", "hr"}


@dataclass
class Outline(HTMLParser):
    """What a page consists of: tags, ids, attributes, texts; unclosed elements are an error."""

    tags: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    attributes: list[tuple[str, str, str]] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=dict)
    stack: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.stack.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self.stack):
            self.texts.setdefault(tag, []).append(data)

    def text(self, tag: str) -> str:
        return " ".join(" ".join(self.texts.get(tag, [])).split())


def outline(page: str) -> Outline:
    found = Outline()
    found.feed(page)
    found.close()
    assert found.stack == []
    return found


@pytest.fixture(scope="module")
def pages(score_tables: dict[str, ScoreTable]) -> dict[str, str]:
    return {name: render_score_page(table) for name, table in score_tables.items()}


@pytest.fixture(scope="module")
def outlines(pages: dict[str, str]) -> dict[str, Outline]:
    return {name: outline(page) for name, page in pages.items()}


def test_every_family_has_a_title() -> None:
    assert set(FAMILY_TITLES) == set(FAMILIES)


def test_pages_run_nothing_and_ask_for_nothing(outlines: dict[str, Outline]) -> None:
    for found in outlines.values():
        assert not {"script", "link", "img", "iframe", "form", "object", "base", "input", "button"} & set(
            found.tags
        )
        for _, name, value in found.attributes:
            assert name != "style"
            assert not name.startswith("on")
            if name in ("href", "src"):
                assert value.startswith("#")
            assert "://" not in value


def test_the_policy_allows_the_own_style_sheet_only(pages: dict[str, str]) -> None:
    for page in pages.values():
        (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
        assert policy.replace("&#39;", "'").split("; ") == [
            "default-src 'none'",
            f"style-src 'sha256-{digest}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]


def test_links_within_the_page_arrive_and_ids_are_unique(outlines: dict[str, Outline]) -> None:
    for found in outlines.values():
        assert len(found.ids) == len(set(found.ids))
        targets = [value[1:] for _, name, value in found.attributes if name == "href"]
        labels = [value for _, name, value in found.attributes if name == "aria-labelledby"]
        assert set(targets) | set(labels) <= set(found.ids)


def test_headings_leave_out_no_level(outlines: dict[str, Outline]) -> None:
    for found in outlines.values():
        levels = [int(tag[1]) for tag in found.tags if re.fullmatch(r"h[1-6]", tag)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(b - a <= 1 for a, b in itertools.pairwise(levels))


def test_the_page_holds_every_score_note_count_and_signature(
    score_tables: dict[str, ScoreTable], outlines: dict[str, Outline]
) -> None:
    table, found = score_tables["classification"], outlines["classification"]
    everything = found.text("main")
    for row in table.rows:
        if row.score.value == row.score.value:
            assert f"{row.score.value:.3f}" in everything
        assert str(row.score.full_signature) in found.text("code")
    assert "802" in found.text("dd")
    assert table.notes[0] in found.text("ul")
    assert "a constant score has no threshold" in found.text("ol")
    assert all(figure.title in found.text("h3") for figure in table.figures)


def test_the_latex_of_the_page_is_the_latex_of_the_command(
    score_tables: dict[str, ScoreTable], pages: dict[str, str]
) -> None:
    found: list[str] = []

    class Reader(HTMLParser):
        inside = False

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.inside = tag == "pre"

        def handle_data(self, data: str) -> None:
            if self.inside:
                found.append(data)

        def handle_endtag(self, tag: str) -> None:
            self.inside = False

    Reader().feed(pages["agreement"])
    assert "".join(found) == render_scores(score_tables["agreement"], "latex")


def test_chance_is_set_apart(pages: dict[str, str]) -> None:
    assert re.findall(r'<tr class="([^"]*)">', pages["classification"]) == ["chance apart", "chance"]
    assert "what knowing nothing gives" in pages["classification"]
    assert "what knowing nothing gives" not in pages["agreement"]


def test_undefined_scores_are_dashes_that_lead_to_their_reason(pages: dict[str, str]) -> None:
    page = pages["agreement"]
    assert '<span class="score">–</span><sup><a href="#note-1">1</a></sup>' in page
    assert '<li id="note-1" value="1"><bdi>all ratings are equal, so chance cannot' in page
    assert not re.search(r">\s*-?(nan|inf|None)\b", page)


def test_metrics_of_the_catalogue_are_explained(outlines: dict[str, Outline]) -> None:
    assert "What these metrics mean" in outlines["classification"].text("h3")
    assert "Beware." in outlines["classification"].text("dl")
    assert "What these metrics mean" not in outlines["empty"].text("h3")


def test_how_to_read_a_kind_is_said_once(pages: dict[str, str]) -> None:
    assert pages["classification"].count("Rows are what the reference says") == 1


def test_a_page_without_scores_says_so(outlines: dict[str, Outline]) -> None:
    assert "There is no score." in outlines["empty"].text("main")
    assert "table" not in outlines["empty"].tags
    assert "pictures" not in outlines["empty"].ids


def test_many_slices_unfold() -> None:
    score = Score(0.5, Signature("f1"), 3)
    rows = tuple(ScoreRow("F1", score, f"class {n}") for n in range(350))
    found = outline(render_score_page(ScoreTable("classification", rows)))
    assert "The other 310" in found.text("summary")
    assert found.tags.count("tr") == 352


def test_names_from_data_stay_text(outlines: dict[str, Outline], pages: dict[str, str]) -> None:
    assert "alert(1)" in outlines["extreme"].text("main")
    assert not set("\u202e\x00") & set(pages["extreme"])
    assert "10,000 characters, the first 2,000 are shown" in outlines["extreme"].text("ul")
    assert len(pages["extreme"]) < 1_000_000


def test_names_of_ten_megabytes_cost_no_ten_megabytes() -> None:
    name = "<b>" * 3_500_000
    score = Score(0.5, Signature("f1", {"x": name}), 3, note=name)
    table = ScoreTable(
        "text",
        (ScoreRow(name, score, name),),
        {},
        {name: 1},
        (name,),
        (Bars(name, (name,), (1.0,), (), 1.0, name),),
    )
    page = render_score_page(table, title=name, written=name)
    assert len(page) < 200_000
    assert "b" not in outline(page).tags


def test_equal_tables_give_equal_bytes_also_in_another_process(
    tmp_path: Path, score_tables: dict[str, ScoreTable]
) -> None:
    table = score_tables["calibration"]
    first = write_score_page(tmp_path / "a.html", table).read_bytes()
    assert write_score_page(tmp_path / "b.html", table).read_bytes() == first
    code = (
        "import sys; from proctor.metrics.table import *; from proctor.metrics.score import *; from proctor.metrics.figure import *;"
        "from proctor.report.score_page import *;"
        "t = ScoreTable('text', (ScoreRow('F1', Score(0.5, Signature('f1', {'b': 'x', 'a': 'y'}), 3, note='n')),), {}, {'b': 1, 'a': 2});"
        "sys.stdout.buffer.write(render_score_page(t).encode())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, check=True, capture_output=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_the_page_has_a_date_only_when_one_is_given(
    score_tables: dict[str, ScoreTable], pages: dict[str, str]
) -> None:
    assert not re.search(r"\b20\d\d-\d\d-\d\d\b", pages["localization"])
    assert "<bdi>2026-11-20</bdi>" in render_score_page(score_tables["localization"], written="2026-11-20")
    assert '<h1 id="title"><bdi>Our &lt;runs&gt;</bdi></h1>' in render_score_page(
        score_tables["localization"], title="Our <runs>"
    )


def test_a_folder_that_is_not_there_is_the_users_to_mend(
    tmp_path: Path, score_tables: dict[str, ScoreTable]
) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError):
        write_score_page(tmp_path / "file" / "page.html", score_tables["empty"])


def test_a_failed_page_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    with pytest.raises(ValueError, match="equally many"):
        write_score_page(path, ScoreTable("text", (), figures=(Bars("x", ("a",), ()),)))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_signatures_that_differ_in_a_choice_are_joined_and_unfold() -> None:
    rows = tuple(ScoreRow(f"mAP@{t}", Score(0.5, Signature("map", {"tiou": t}), 3)) for t in ("0.1", "0.3"))
    found = outline(render_score_page(ScoreTable("localization", rows)))
    made = f"|version:{__version__}"
    assert found.text("code") == f"map|tiou:{{0.1 0.3}}{made} map|tiou:0.1{made} map|tiou:0.3{made}"
    assert "2 signatures in full" in found.text("summary")
    assert "In braces" in found.text("main")


def test_counts_of_nothing_are_left_out() -> None:
    found = outline(render_score_page(ScoreTable("text", (), {}, {"kept": 1_234, "dropped": 0})))
    assert "1,234" in found.text("dd")
    assert "dropped" not in found.text("main")
