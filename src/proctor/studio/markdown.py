"""Guidelines and consent texts to HTML: what their authors write is text, not markup of the page."""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from functools import cache, lru_cache
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup

__all__ = ["render_markdown"]

_LINK: Final = re.compile(r"(?:https?://|mailto:|/(?![/\\])|#)", re.IGNORECASE)


@lru_cache(maxsize=64)
def render_markdown(text: str) -> Markup:
    """Return a text as HTML: headings (one level lower, for the page has its own), lists, tables, quotes, code, links.

    HTML in the text is shown as it was typed, pictures as their description, and links lead only to ``http``,
    ``https``, ``mailto`` and this site; nothing has a style or a script.
    """
    return Markup(_renderer().render(text))  # noqa: S704 - built by a renderer that escapes everything


@cache
def _renderer() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "linkify": False, "typographer": False})
    made.enable(["table", "strikethrough"]).disable("image")
    made.validateLink = _is_safe  # type: ignore[assignment,method-assign,unused-ignore]
    made.core.ruler.push("proctor", _rework)
    made.add_render_rule("link_open", _open_link)
    return made


def _is_safe(address: str) -> bool:
    return _LINK.match(address.strip()) is not None


def _rework(state: Any) -> None:
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 1)}"
        # The policy of the page forbids inline styles; a class says the same.
        if (style := token.attrs.pop("style", None)) is not None:
            token.attrs["class"] = str(style).replace("text-align:", "align-")
        if token.type == "table_open":
            token.attrs["tabindex"] = "0"  # wide ones are panned by keys


def _open_link(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: MutableMapping[str, Any]
) -> str:
    token = tokens[index]
    if str(token.attrs.get("href", "")).lower().startswith("http"):
        token.attrs["rel"] = "noopener noreferrer"
        token.attrs["target"] = "_blank"
    return renderer.renderToken(tokens, index, options, env)
