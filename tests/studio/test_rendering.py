"""Pages show texts of others so that these cannot rearrange them, and give back in forms what was typed."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import pytest

pytest.importorskip("starlette", reason="needs the extra `studio`")

from proctor.studio.rendering import environment

_TURNED = "\u202egnp.exe\u2066 x\u200b"
_FIELD = re.compile(
    r'<(?:input|option|button)\b[^>]*? value="\{\{(.*?)\}\}"|<textarea[^>]*?>\{\{(.*?)\}\}</textarea>'
)


def test_what_turns_the_reading_direction_is_shown_and_not_obeyed() -> None:
    page = environment().from_string('<p title="{{ t }}">{{ t }}</p><textarea>{{ t | e }}</textarea>')
    shown, _, field = html.unescape(page.render(t=_TURNED)).partition("<textarea>")
    assert shown.count("⟨U+202E⟩gnp.exe⟨U+2066⟩ x⟨U+200B⟩") == 2
    assert not re.search("[\u202e\u2066\u200b]", shown)
    assert field == f"{_TURNED}</textarea>"  # what a person typed comes back as it was


def _fields() -> Iterator[tuple[str, str]]:
    env = environment()
    for name in env.list_templates():
        assert env.loader is not None
        for found in _FIELD.finditer(env.loader.get_source(env, name)[0]):
            yield name, found[1] or found[2]


def test_every_field_of_a_form_keeps_its_text() -> None:
    fields = list(_fields())
    assert len(fields) > 30
    assert [f for f in fields if not f[1].rstrip().endswith("| e")] == []
