"""Markdown: headings, paragraphs, pipe tables, images, raw HTML, front matter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.corpus.ingest.makers import drops_of, image_bytes, prose, sources_of

from proctor.corpus.source import Source, render_source
from proctor.records import Dropped

Ingest = Callable[..., list[Source | Dropped]]

TEXT = """---
title: "Kettle notes"
tags: [a]
---
# Kettles

{intro}

## Safety

Never *open* the [lid](http://example.org). `code`

- one
- two

| Drink | Degrees |
|-------|--------:|
| Tea \\| green | 80 |
| Coffee | 92 |

![The red one](red.png "title")

```
boil --now
```

<table><tr><th>A</th><th>B</th></tr><tr><td colspan=2>both</td></tr></table>

<script>alert(1)</script>
<!-- a remark -->

Setext
------

Last words
"""


def test_everything(tmp_path: Path, ingest: Ingest) -> None:
    (tmp_path / "red.png").write_bytes(image_bytes(1))
    (tmp_path / "n.md").write_text(TEXT.format(intro=prose(1, 3)))
    found = ingest(tmp_path / "n.md")
    texts = sources_of(found, "text")
    assert [(s.title, s.body) for s in texts] == [
        ("Kettle notes – Kettles", prose(1, 3)),
        ("Kettle notes – Safety", "Never open the lid. code\none\ntwo\nboil --now"),
        ("Kettle notes – Setext", "Last words"),
    ]
    pipes, raw = sources_of(found, "table")
    assert render_source(pipes) == "Kettle notes\nSafety\nDrink | Degrees\nTea   green | 80\nCoffee | 92"
    assert raw.rows == (("both", "both"),)
    (image,) = sources_of(found, "image")
    assert (image.caption, image.meta["caption_from"]) == ("The red one", "document")
    assert drops_of(found) == {}


def test_windows_line_ends_and_no_front_matter(tmp_path: Path, ingest: Ingest) -> None:
    (tmp_path / "w.md").write_bytes(b"# One\r\n\r\nfirst\r\nline\r\n\r\n---\r\n\r\nsecond\r\n")
    (source,) = sources_of(ingest(tmp_path / "w.md"))
    assert (source.title, source.body) == ("One", "first line\nsecond")


def test_deep_nesting_ends(tmp_path: Path, ingest: Ingest) -> None:
    (tmp_path / "d.md").write_text(
        "> " * 20_000 + "x\n\n" + "[" * 20_000 + "\n\n" + "*a" * 5_000 + "\n\nthe end\n"
    )
    found = ingest(tmp_path / "d.md")
    assert "the end" in " ".join(s.body for s in sources_of(found))


def test_plain_text(tmp_path: Path, ingest: Ingest) -> None:
    (tmp_path / "red_kettle.txt").write_text("one\nline\n \ntwo\f three\n")
    (source,) = sources_of(ingest(tmp_path / "red_kettle.txt"))
    assert (source.title, source.body) == ("red kettle", "one line\ntwo\nthree")
