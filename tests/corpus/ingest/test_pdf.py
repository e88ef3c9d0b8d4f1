"""PDF: text, headings, tables, images and columns of drawn documents; damaged, encrypted and scanned ones."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.corpus.ingest.makers import drops_of, handbook, image_bytes, prose, sentences, sources_of

from proctor.corpus.source import Source, render_source
from proctor.records import Dropped

Ingest = Callable[..., list[Source | Dropped]]


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return handbook(tmp_path_factory.mktemp("pdf") / "book.pdf")


@pytest.fixture(scope="module")
def canvas() -> Any:
    from reportlab.pdfgen.canvas import Canvas

    return Canvas


def test_text_with_sections_pages_and_nothing_lost(book: Path, ingest: Ingest) -> None:
    texts = sources_of(ingest(book), "text")
    whole = " ".join(" ".join(s.body for s in texts).split())
    for seed in (100, 101, 102, 1000, 200, 201, 202, 2000):
        for sentence in sentences(seed, 4):
            assert sentence in whole
    assert {(s.meta["page"], s.meta["section"]) for s in texts} == {
        ("1", "Safety 1"), ("1", "Cleaning 1"), ("2", "Safety 2"), ("2", "Cleaning 2")
    }  # fmt: skip
    assert texts[0].id == "text:book.pdf#p1-1"
    assert texts[0].title == "Kettle Handbook – Safety 1"
    assert texts[0].locator.startswith('page 1, section "Safety 1", characters 0-')
    assert "Degrees" not in whole
    assert "Figure" not in whole
    assert "Kettle Handbook" not in whole


def test_tables_have_header_caption_section_and_page(book: Path, ingest: Ingest) -> None:
    one, two = sources_of(ingest(book), "table")
    assert render_source(two) == (
        "Kettle Handbook – Table 2: Temperatures of drinks\nSafety 2\nDrink | Degrees\nGreen tea | 80\nBlack tea | 92"
    )
    assert (one.id, two.id) == ("table:book.pdf#p1-1", "table:book.pdf#p2-1")
    assert two.locator == 'page 2, section "Safety 2", rows 1-2'


def test_images_are_kept_by_hash_with_their_captions(book: Path, tmp_path: Path, ingest: Ingest) -> None:
    from PIL import Image

    images = sources_of(ingest(book), "image")
    assert [s.caption for s in images] == [f"Figure {n}. The striped kettle {n}." for n in (1, 2)]
    for page, source in enumerate(images, 1):
        drawn = io.BytesIO(image_bytes(page))
        with Image.open(tmp_path / "kept" / source.image) as kept, Image.open(drawn) as original:
            assert kept.convert("RGB").tobytes() == original.convert("RGB").tobytes()
        assert source.image == f"images/{source.content_hash}.png"
        assert source.meta["section"] == f"Cleaning {page}"


def test_without_a_folder_images_are_counted(book: Path, ingest: Ingest) -> None:
    found = ingest(book, keep=False)
    assert not sources_of(found, "image")
    told = [d for d in found if isinstance(d, Dropped)]
    assert [(d.id, d.reason) for d in told] == [("book.pdf", "image-not-kept")]
    assert told[0].detail.startswith("2 images")


def test_a_jpeg_stays_as_it_is(tmp_path: Path, ingest: Ingest, canvas: Any) -> None:
    data = image_bytes(5, "JPEG", (200, 100))
    (tmp_path / "in.jpg").write_bytes(data)
    page = canvas(str(tmp_path / "j.pdf"), invariant=1)
    page.drawString(72, 700, prose(1, 1))
    page.drawImage(str(tmp_path / "in.jpg"), 72, 400, 200, 100)
    page.save()
    (image,) = sources_of(ingest(tmp_path / "j.pdf"), "image")
    assert image.image.endswith(".jpg")
    assert (tmp_path / "kept" / image.image).read_bytes() == data


def test_two_columns_are_read_one_after_the_other(tmp_path: Path, ingest: Ingest) -> None:
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import BaseDocTemplate, Frame, FrameBreak, PageTemplate, Paragraph

    style = getSampleStyleSheet()
    frames = [Frame(60, 640, 480, 150), Frame(60, 60, 230, 570), Frame(310, 60, 230, 570)]
    story: list[Any] = [
        Paragraph("On Kettles", style["Title"]),
        Paragraph(prose(7, 3), style["BodyText"]),
        FrameBreak(),
    ]
    for part in range(4):
        story += [Paragraph(f"Part {part}", style["Heading2"])]
        story += [Paragraph(prose(10 * part + n, 5), style["BodyText"]) for n in range(3)]
    BaseDocTemplate(
        str(tmp_path / "two.pdf"), invariant=1, pageTemplates=[PageTemplate(frames=frames)]
    ).build(story)
    texts = sources_of(ingest(tmp_path / "two.pdf"), "text")
    whole = " ".join(" ".join(s.body for s in texts).split())
    expected = " ".join([prose(7, 3), *(prose(10 * p + n, 5) for p in range(4) for n in range(3))])
    assert whole == expected


def test_spanned_cells_are_expanded(tmp_path: Path, ingest: Ingest) -> None:
    from reportlab.lib import colors
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import Paragraph, SimpleDocTemplate, Table

    rows = [["Part", "Size", ""], ["", "Width", "Height"], ["Lid", "3", "4"], ["Base", "5", "6"]]
    style = [
        ("GRID", (0, 0), (-1, -1), 0.5, colors.black),
        ("SPAN", (1, 0), (2, 0)),
        ("SPAN", (0, 0), (0, 1)),
    ]
    body = getSampleStyleSheet()["BodyText"]
    SimpleDocTemplate(str(tmp_path / "t.pdf"), invariant=1).build(
        [Paragraph(prose(3, 4), body), Table(rows, style=style)]
    )
    (table,) = sources_of(ingest(tmp_path / "t.pdf"), "table")
    assert table.header == ("Part", "Size / Width", "Size / Height")
    assert table.rows == (("Lid", "3", "4"), ("Base", "5", "6"))


def test_broken_words_are_made_whole_and_running_heads_left_out(
    tmp_path: Path, ingest: Ingest, canvas: Any
) -> None:
    page = canvas(str(tmp_path / "r.pdf"), invariant=1)
    for number in range(1, 5):
        page.drawString(72, 820, "The Kettle Company")
        page.drawString(72, 700, f"Turn the han-{''}")
        page.drawString(72, 686, f"dle of kettle {number} slowly.")
        page.drawString(280, 20, f"Page {number} of 4")
        page.showPage()
    page.save()
    found = ingest(tmp_path / "r.pdf")
    whole = " ".join(s.body for s in sources_of(found, "text"))
    assert "Turn the handle of kettle 3 slowly." in whole
    assert "Company" not in whole
    assert "Page" not in whole
    (told,) = (d for d in found if isinstance(d, Dropped))
    assert told.reason == "running-heads"
    assert told.detail.startswith("8 lines")


def test_words_set_tightly_without_spaces_stay_apart_and_fonts_within_a_word_together(
    tmp_path: Path, ingest: Ingest, canvas: Any
) -> None:
    page = canvas(str(tmp_path / "w.pdf"), invariant=1)
    left = 72.0
    for word in [
        "Many",
        "programs",
        "use",
        "the",
        "MIME",
        "system",
    ]:  # as TeX does: places, no space characters
        page.setFont("Helvetica", 10)
        page.drawString(left, 700, word)
        left += page.stringWidth(word, "Helvetica", 10) + 2.2
    page.setFont("Courier", 10)
    page.drawString(left, 700, "update")
    page.setFont("Helvetica", 10)
    page.drawString(left + page.stringWidth("update", "Courier", 10), 700, ", then stop.")
    page.save()
    (source,) = sources_of(ingest(tmp_path / "w.pdf"))
    assert source.body == "Many programs use the MIME system update, then stop."


def test_letters_printed_twice_to_look_bold_are_read_once(
    tmp_path: Path, ingest: Ingest, canvas: Any
) -> None:
    page = canvas(str(tmp_path / "b.pdf"), invariant=1)
    for shift in (0.0, 0.3):
        page.drawString(72 + shift, 700, "Turn the handle slowly.")
    page.save()
    (source,) = sources_of(ingest(tmp_path / "b.pdf"))
    assert source.body == "Turn the handle slowly."


def test_the_title_is_the_largest_heading_of_the_first_page_or_what_the_file_says(
    tmp_path: Path, ingest: Ingest, canvas: Any
) -> None:
    for name, said in (("a", None), ("b", "Said so"), ("c", "Microsoft Word - draft.docx")):
        page = canvas(str(tmp_path / f"{name}.pdf"), invariant=1)
        if said:
            page.setTitle(said)
        for text, size, height in [
            ("By Ana", 18, 760),
            ("All of", 30, 700),
            ("Kettles", 30, 666),
            (prose(1, 1), 9, 500),
        ]:
            page.setFont("Helvetica", size)
            page.drawString(72, height, text)
        page.save()
    titles = [sources_of(ingest(tmp_path / f"{name}.pdf"))[0].title for name in "abc"]
    assert titles == ["All of Kettles", "Said so – All of Kettles", "All of Kettles"]


def test_encrypted(tmp_path: Path, ingest: Ingest) -> None:
    path = handbook(tmp_path / "e.pdf", encrypted="secret", pages=1)
    found = ingest(path)
    assert drops_of(found) == {"e.pdf": "encrypted-pdf"}
    assert not sources_of(found)


def test_an_owner_password_alone_does_not_hinder_reading(tmp_path: Path, ingest: Ingest) -> None:
    from reportlab.lib.pdfencrypt import StandardEncryption

    encryption: Any = StandardEncryption("", ownerPassword="owner", canPrint=0)
    found = ingest(handbook(tmp_path / "o.pdf", encrypted=encryption, pages=1))
    assert len(sources_of(found, "text")) == 2


def test_a_scan_is_told(tmp_path: Path, ingest: Ingest, canvas: Any) -> None:
    (tmp_path / "scan.png").write_bytes(image_bytes(1, size=(300, 400)))
    page = canvas(str(tmp_path / "scan.pdf"), pagesize=(300, 400), invariant=1)
    page.drawImage(str(tmp_path / "scan.png"), 0, 0, 300, 400)
    page.save()
    found = ingest(tmp_path / "scan.pdf")
    assert drops_of(found) == {"scan.pdf": "no-text"}
    assert "OCR" in found[0].detail  # type: ignore[union-attr]


def test_one_scanned_page_among_others_is_told(tmp_path: Path, ingest: Ingest, canvas: Any) -> None:
    (tmp_path / "scan.png").write_bytes(image_bytes(1, size=(300, 400)))
    page = canvas(str(tmp_path / "m.pdf"), pagesize=(300, 400), invariant=1)
    page.drawString(20, 300, "Turn the handle slowly.")
    page.showPage()
    page.drawImage(str(tmp_path / "scan.png"), 0, 0, 300, 400)
    page.save()
    found = ingest(tmp_path / "m.pdf")
    assert drops_of(found) == {"m.pdf#p2-page-without-text": "page-without-text"}
    assert len(sources_of(found)) == 1


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"", "empty-document"), (b"<html>no</html>", "damaged-pdf"), (b"%PDF-1.7\n%%EOF", "damaged-pdf")],
)
def test_no_pdf(tmp_path: Path, ingest: Ingest, data: bytes, reason: str) -> None:
    (tmp_path / "x.pdf").write_bytes(data)
    assert drops_of(ingest(tmp_path / "x.pdf")) == {"x.pdf": reason}


def test_cut_off_at_fifty_places_nothing_of_it_is_used(book: Path, tmp_path: Path, ingest: Ingest) -> None:
    data = book.read_bytes()
    end = data.rindex(b"%%EOF")
    for part in range(50):
        path = tmp_path / "cut.pdf"
        path.write_bytes(data[: 1 + (end - 1) * part // 49])
        found = ingest(path)
        assert not sources_of(found)
        assert drops_of(found) == {"cut.pdf": "damaged-pdf"}


def test_damaged_in_the_middle_it_is_read_or_told(book: Path, tmp_path: Path, ingest: Ingest) -> None:
    data = book.read_bytes()
    for part in range(12):
        at = len(data) * (2 * part + 1) // 24
        (tmp_path / "hole.pdf").write_bytes(data[:at] + b"\0" * 60 + data[at + 60 :])
        found = ingest(tmp_path / "hole.pdf")
        assert found
        for entry in found:
            assert isinstance(entry, Source) or entry.detail


def test_limits(book: Path, ingest: Ingest) -> None:
    assert drops_of(ingest(book, max_pages=1)) == {"book.pdf": "too-many-pages"}
    assert drops_of(ingest(book, max_bytes=100)) == {"book.pdf": "file-too-large"}
    assert drops_of(ingest(book, max_seconds=1e-9)) == {"book.pdf": "too-slow"}
    small = ingest(book, max_pixels=100)
    assert set(drops_of(small).values()) == {"image-too-large"}
    assert len(sources_of(small, "text")) == 4
    assert set(drops_of(ingest(book, min_image_side=500)).values()) == {"small-image"}
    assert set(drops_of(ingest(book, max_images=1)).values()) == {"too-many-images"}


def test_figures_of_lines_and_tables_without_lines_are_listed_with_their_page(
    tmp_path: Path, ingest: Ingest
) -> None:
    from reportlab.graphics.charts.barcharts import VerticalBarChart
    from reportlab.graphics.shapes import Drawing
    from reportlab.lib import colors
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Table

    body = getSampleStyleSheet()["BodyText"]
    chart, drawing = VerticalBarChart(), Drawing(300, 150)
    chart.data = [(3, 5, 2, 8)]
    drawing.add(chart)
    rows = [["Part", "Width", "Height"], *([f"Lid {n}", str(n), f"{n} cm"] for n in range(5))]
    ruled = [("LINEABOVE", (0, 0), (-1, 0), 1, colors.black), ("LINEBELOW", (0, 0), (-1, 0), 1, colors.black)]
    framed = [("BOX", (0, 0), (-1, -1), 1, colors.black), ("BACKGROUND", (0, 0), (-1, -1), colors.beige)]
    decorated = [
        Paragraph(f"<u>{prose(9, 12)}</u>", body),
        Paragraph(f'<font backColor="yellow">{prose(8, 12)}</font>', body),
        *(Table([[Paragraph(prose(n, 6), body)]], style=framed) for n in range(3)),
    ]
    SimpleDocTemplate(str(tmp_path / "v.pdf"), invariant=1).build(
        [
            *(Paragraph(prose(3, 12), body), PageBreak(), drawing),
            *(Paragraph("Figure 1. How warm it gets", body), Paragraph(prose(4, 12), body)),
            *(Paragraph("Table 7. Sizes", body), Table(rows, style=ruled), PageBreak(), *decorated),
        ]
    )
    told = {d.id: (d.reason, d.detail) for d in ingest(tmp_path / "v.pdf") if isinstance(d, Dropped)}
    (figure, figure_said), (table, table_said) = (
        told.pop("v.pdf#p2-vector-figure-1"),
        told.pop("v.pdf#p2-table-without-lines-1"),
    )
    assert (figure, table, told) == ("vector-figure", "table-without-lines", {})
    assert figure_said.startswith("page 2: 'Figure 1. How warm it gets', a drawing of ")
    assert table_said.startswith("page 2: 'Table 7. Sizes', 6 rows in columns without lines")
