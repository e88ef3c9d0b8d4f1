"""HTML: sections, paragraphs, tables with spans, local images; and pages that were made to harm."""

from __future__ import annotations

import base64
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.corpus.ingest.makers import drops_of, image_bytes, prose, sources_of

from proctor.corpus.ingest.blocks import Heading, Paragraph, Picture, Problem, TableBlock, Title
from proctor.corpus.ingest.html import html_blocks
from proctor.corpus.ingest.reading import IngestOptions, Reading
from proctor.corpus.source import Source, render_source
from proctor.records import Dropped

Ingest = Callable[..., list[Source | Dropped]]

PAGE = """<!doctype html><html><head><title>Kettles | Shop</title><style>p {{color: red}}</style>
<script>document.write("injected")</script></head><body>
<nav><a href="/">Home page link</a></nav>
<h1>The <em>Kettle</em></h1><p>{intro}</p>
<h2>Safety</h2><p>Never open<br>the&nbsp;lid. <b>Hot</b>!</p><ul><li>First point</li><li>Second point</li></ul>
<div>Loose text <span hidden>unseen words</span><p style="display: NONE">unseen too</p></div>
<table><caption>Temperatures</caption><thead><tr><th rowspan=2>Drink</th><th colspan=2>Degrees</th></tr>
<tr><th>C</th><th>F</th></tr></thead><tbody><tr><td rowspan="2">Tea</td><td>80</td><td>176</td></tr>
<tr><td><p>95</p><p>about</p></td><td>203</td></tr></tbody></table>
<h2>Pictures</h2><figure><img src="img/red%20one.png" alt="alt text"><figcaption>The <i>red</i> one</figcaption></figure>
<p>Before <img src="img/blue.jpg" alt="The blue one"> behind</p>
<img src="https://example.org/far.png"><img src="img/none.png"><img src="../secret.png"><img src="notes.png">
</body></html>"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    (folder / "img").mkdir(parents=True)
    (folder / "img" / "red one.png").write_bytes(image_bytes(1))
    (folder / "img" / "blue.jpg").write_bytes(image_bytes(2, "JPEG"))
    (folder / "notes.png").write_text("no image at all")
    (tmp_path / "secret.png").write_bytes(image_bytes(3))
    (folder / "page.html").write_text(PAGE.format(intro=prose(1, 4)))
    return folder / "page.html"


def test_everything_of_a_page(page: Path, ingest: Ingest) -> None:
    found = ingest(page)
    texts = sources_of(found, "text")
    assert [(s.id, s.title) for s in texts] == [
        ("text:page.html#1", "The Kettle"),
        ("text:page.html#2", "The Kettle – Safety"),
        ("text:page.html#3", "The Kettle – Pictures"),
    ]
    assert texts[0].body == prose(1, 4)
    assert texts[1].body == "Never open the lid. Hot!\nFirst point\nSecond point\nLoose text"
    assert texts[2].body == "Before behind"
    (table,) = sources_of(found, "table")
    assert render_source(table) == (
        "The Kettle – Temperatures\nSafety\nDrink | Degrees / C | Degrees / F\nTea | 80 | 176\nTea | 95 about | 203"
    )
    red, blue = sources_of(found, "image")
    assert (red.caption, blue.caption) == ("The red one", "The blue one")
    assert (red.locator, red.doc_id) == ('section "Pictures"', "page.html")
    assert list(drops_of(found).values()) == [
        "remote-image",
        "missing-image",
        "image-outside",
        "not-an-image",
    ]


def test_without_a_folder_for_images_they_keep_their_path(page: Path, ingest: Ingest) -> None:
    assert [s.image for s in sources_of(ingest(page, keep=False), "image")] == [
        "img/red one.png",
        "img/blue.jpg",
    ]


def blocks_of(html: str, tmp_path: Path, **options: object) -> list[object]:
    reading = Reading(tmp_path / "x.html", tmp_path, tmp_path / "out", IngestOptions(**options))  # type: ignore[arg-type]
    return list(html_blocks(html, reading))


def test_only_the_main_part_where_a_page_names_it(tmp_path: Path) -> None:
    html = "<body><p>Menu</p><main><p>Content</p></main><p>Imprint</p></body>"
    assert blocks_of(html, tmp_path) == [Paragraph("Content")]
    assert len(blocks_of("<main><p>a</p></main><main><p>b</p></main>", tmp_path)) == 2


def test_tables_that_lay_out_a_page_are_text(tmp_path: Path) -> None:
    layout = "<table><tr><td><p>Left</p></td><td><table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>"
    assert blocks_of(layout, tmp_path) == [Paragraph("Left"), TableBlock(("A", "B"), (("1", "2"),))]
    assert blocks_of("<table><tr><td>one</td></tr><tr><td>two</td></tr></table>", tmp_path) == [
        Paragraph("one"),
        Paragraph("two"),
    ]


def test_a_wide_first_row_says_what_a_table_is(tmp_path: Path) -> None:
    html = "<table><tr><th colspan=2>Drinks</th></tr><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>"
    assert blocks_of(html, tmp_path) == [TableBlock(("A", "B"), (("1", "2"),), "Drinks")]


def test_headings_nest_and_title_falls_back(tmp_path: Path) -> None:
    html = "<title>T</title><h1>One</h1><h3>Three</h3><h1>Again</h1>"
    assert blocks_of(html, tmp_path) == [
        Title("T"), Heading("One", 1), Heading("Three", 3), Heading("Again", 1)
    ]  # fmt: skip


def test_a_data_address_is_decoded_and_a_broken_one_told(tmp_path: Path) -> None:
    data = base64.b64encode(image_bytes(4)).decode()
    (picture,) = blocks_of(f'<img alt="Four" src="data:image/png;base64,{data}">', tmp_path)
    assert isinstance(picture, Picture)
    assert picture.caption == "Four"
    assert (tmp_path / picture.file).read_bytes() == image_bytes(4)
    (problem,) = blocks_of('<img src="data:image/png;base64,@@@">', tmp_path)
    assert isinstance(problem, Problem)
    assert problem.reason == "damaged-image"


def test_the_same_image_twice_is_one_and_counted(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(image_bytes(1))
    kinds = [type(b).__name__ for b in blocks_of('<img src="a.png"><p>x<img src="a.png">', tmp_path)]
    assert kinds == ["Picture", "Paragraph", "Problem"]


@pytest.mark.parametrize(
    ("encoding", "head"),
    [("utf-16", ""), ("utf-8-sig", ""), ("windows-1251", '<meta charset="windows-1251">')],
)
def test_encodings(tmp_path: Path, ingest: Ingest, encoding: str, head: str) -> None:
    (tmp_path / "r.html").write_bytes(f"{head}<p>Чайник горячий</p>".encode(encoding))
    assert [s.body for s in sources_of(ingest(tmp_path / "r.html"))] == ["Чайник горячий"]


def test_a_guessed_encoding_is_told(tmp_path: Path, ingest: Ingest) -> None:
    (tmp_path / "g.html").write_bytes(("<p>" + "Die Küche ist schön und größer. " * 9).encode("latin-1"))
    found = ingest(tmp_path / "g.html")
    assert "Die Küche ist schön" in sources_of(found)[0].body
    assert drops_of(found) == {"g.html#encoding": "encoding-guessed"}


def test_a_page_of_headings_alone_is_told(tmp_path: Path, ingest: Ingest) -> None:
    (tmp_path / "h.html").write_text("<h1>One</h1><h2>Two</h2>")
    assert drops_of(ingest(tmp_path / "h.html")) == {"h.html": "empty-document"}


# -- made to harm ------------------------------------------------------------------------------------------


def test_thousands_of_nested_elements(tmp_path: Path) -> None:
    blocks = blocks_of("<div>" * 15_000 + "deep" + "<b>" * 200 + "er", tmp_path)
    assert "".join(b.text for b in blocks if isinstance(b, Paragraph)) == "deeper"


def test_spans_without_end_are_refused(tmp_path: Path) -> None:
    row = "<tr>" + "<td colspan=1000 rowspan=65534>x</td>" * 30 + "</tr>"
    blocks = blocks_of(f"<table>{row * 100}</table><p>behind</p>", tmp_path)
    assert [b.reason if isinstance(b, Problem) else b for b in blocks] == [
        "table-too-large",
        Paragraph("behind"),
    ]
    odd = (
        '<table><tr><td colspan="-3">a<td colspan=9999999999>b<td colspan=x rowspan=0>c<tr><td>d<td>e</table>'
    )
    (table,) = blocks_of(odd, tmp_path)
    assert isinstance(table, TableBlock)
    assert {"d", "e", "c"} <= set(table.rows[-1])


def test_external_entities_and_scripts_do_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **more: object) -> None:
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket, "socket", refuse)
    (tmp_path / "secret.txt").write_text("top secret")
    html = (
        f'<!DOCTYPE x [<!ENTITY s SYSTEM "file://{tmp_path}/secret.txt">]><p>&s; ok</p>'
        '<img src="//example.org/a.png"><img src="file:///etc/passwd"><img src="javascript:alert(1)">'
        '<iframe src="http://example.org"></iframe><object data="http://example.org">x</object>'
        '<link rel=stylesheet href="http://example.org/a.css"><svg><text>drawn</text></svg><img src="a%00b.png">'
        f'<img src="{"a" * 5000}.png">'
    )
    blocks = blocks_of(html, tmp_path)
    text = " ".join(b.text for b in blocks if isinstance(b, Paragraph))
    assert "ok" in text
    assert "secret" not in text
    assert "drawn" not in text
    reasons = [b.reason for b in blocks if isinstance(b, Problem)]
    assert reasons == ["remote-image"] * 3 + ["missing-image"] * 2


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "out.png").write_bytes(image_bytes(1))
    (folder / "link.png").symlink_to(tmp_path / "out.png")
    reading = Reading(folder / "x.html", folder, None, IngestOptions())
    (problem,) = html_blocks('<img src="link.png">', reading)
    assert isinstance(problem, Problem)
    assert problem.reason == "image-outside"


pieces = st.sampled_from(
    [
        "<p>",
        "</p>",
        "<table>",
        "</table>",
        "<tr>",
        "<td",
        "rowspan=3>",
        "<td",
        "colspan=0>",
        "<th>",
        "</td>",
        "<thead>",
        "<caption>",
        "<figure>",
        "<figcaption>",
        "</figure>",
        "<h1>",
        "</h2>",
        "<main>",
        "</main>",
        "<li>",
        "<br>",
        "<img",
        "src=x>",
        "<img>",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<template>",
        "<script>",
        "</script>",
        "<svg>",
        "<math>",
        "<select>",
        "<option>",
        "&amp;",
        "&#0;",
        "&#xD800;",
        "\x00",
        "text",
        "<b>",
        "</b>",
        "<body",
        "hidden>",
        "<html>",
        "<frameset>",
        "<plaintext>",
    ]
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(pieces | st.text(max_size=8), max_size=40))
def test_any_markup_is_read_without_an_error_and_the_same_twice(tmp_path: Path, parts: list[str]) -> None:
    html = "".join(parts)
    assert blocks_of(html, tmp_path) == blocks_of(html, tmp_path)
