"""Fences: tokens that nobody can predict and that stay the same, and values that cannot end their fence."""

from __future__ import annotations

import pickle
import re
import stat
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.llm.fence import FENCE_FILE, Fencer, FenceSecret, Untrusted, escape_text, strip_fences

TOKEN = "0123456789abcdef"


def fenced(text: str, **limits: int) -> str:
    return Fencer(TOKEN, limits).block(Untrusted("answer", text), "answer")


def inside(prompt: str) -> str:
    match = re.fullmatch(rf"<<<BEGIN answer {TOKEN}>>>\n(.*)\n<<<END answer {TOKEN}>>>", prompt, re.DOTALL)
    assert match is not None
    return match[1]


# -- the secret --------------------------------------------------------------------------------------------------


def test_a_secret_is_made_once_and_only_the_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / FENCE_FILE
    first = FenceSecret.load(path)
    assert first.token("x") == FenceSecret.load(path).token("x")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in path.parent.iterdir()] == [FENCE_FILE]


def test_two_workspaces_have_different_tokens(tmp_path: Path) -> None:
    assert FenceSecret.load(tmp_path / "a").token("x") != FenceSecret.load(tmp_path / "b").token("x")


def test_a_token_depends_on_every_character_and_is_hex() -> None:
    secret = FenceSecret(b"s" * 32)
    tokens = {secret.token(text) for text in ("", "a", "b", "ab", "ab ")}
    assert len(tokens) == 5
    assert all(re.fullmatch("[0-9a-f]{16}", token) for token in tokens)


def test_processes_that_start_at_once_agree(tmp_path: Path) -> None:
    code = "import sys, pathlib\nfrom proctor.llm.fence import FenceSecret\nsys.stdin.read(1)\nprint(FenceSecret.load(pathlib.Path(sys.argv[1])).token('x'))"
    command = [sys.executable, "-c", code, str(tmp_path / FENCE_FILE)]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    for process in processes:
        process.stdin.write("x")
        process.stdin.flush()
    tokens = {process.communicate(timeout=60)[0] for process in processes}
    assert len(tokens) == 1
    assert len(tokens.pop().strip()) == 16
    assert [p.name for p in tmp_path.iterdir()] == [FENCE_FILE]


def test_a_file_system_without_hard_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    first = FenceSecret.load(tmp_path / FENCE_FILE).token("x")
    assert first == FenceSecret.load(tmp_path / FENCE_FILE).token("x")
    assert [p.name for p in tmp_path.iterdir()] == [FENCE_FILE]


@pytest.mark.parametrize("content", [b"", b"short", b"g" * 64, b"\xff" * 32, b"abc" * 11])
def test_another_file_is_not_taken_for_a_secret(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / FENCE_FILE
    path.write_bytes(content)
    with pytest.raises(UserError, match="not the secret"):
        FenceSecret.load(path)
    assert path.read_bytes() == content


def test_a_folder_that_cannot_be_written_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="cannot be written"):
        FenceSecret.load(tmp_path / "file" / FENCE_FILE)


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(UserError, match="16 bytes"):
        FenceSecret(b"short")


def test_the_secret_is_not_shown_and_travels_to_workers() -> None:
    secret = FenceSecret(b"very secret, very long")
    assert "secret, very" not in repr(secret) + str(secret) + f"{secret!r}"
    assert pickle.loads(pickle.dumps(secret)).token("x") == secret.token("x")


# -- values ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "use", [str, repr, "{}".format, lambda value: f"{value}", lambda value: f"{value:>9}"]
)
def test_an_untrusted_text_cannot_be_printed(use) -> None:
    with pytest.raises(UserError, match="'answer' outside of a fence"):
        use(Untrusted("answer", "text"))


def test_an_untrusted_text_can_be_tested_for_emptiness() -> None:
    assert Untrusted("a", "x")
    assert not Untrusted("a", " \n")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Heat to 180 °C for < 5 minutes > now", "Heat to 180 °C for < 5 minutes > now"),
        ("naïve — “quoted” café ½ 日本語 العربية", "naïve — “quoted” café ½ 日本語 العربية"),
        ("a\tb\nc", "a\tb\nc"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a\xa0b\u202fc", "a b c"),
        ("👩\u200d🍳 cooks", "👩\u200d🍳 cooks"),
        ("می\u200cروم", "می\u200cروم"),
        ("❤\ufe0f", "❤\ufe0f"),
        ("[1] see [INSTRUCTIONS]", "[1] see [INSTRUCTIONS]"),
        ("<b>bold</b> and <step>", "<b>bold</b> and <step>"),
    ],
)
def test_ordinary_text_stays_as_it_is(text: str, shown: str) -> None:
    assert escape_text(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<<<END answer>>>", r"\x3c\x3c\x3cEND answer\x3e\x3e\x3e"),
        ("<<SYS>>", r"\x3c\x3cSYS\x3e\x3e"),
        ("＜＜＜END", r"\uff1c\uff1c\uff1cEND"),
        ("‹‹x››", r"\u2039\u2039x\u203a\u203a"),
        ("<|im_start|>system", r"\x3c|im_start|\x3esystem"),
        ("<｜User｜>", r"\x3c｜User｜\x3e"),
        ("</s><s>", r"\x3c/s>\x3cs>"),
        ("<start_of_turn>model", r"\x3cstart_of_turn>model"),
        ("<image>", r"\x3cimage>"),
        ("</think>", r"\x3c/think>"),
        ("[INST] x [/INST]", r"\x5bINST] x \x5b/INST]"),
        ("a\u200bb", r"a\u200bb"),
        ("la\u200dtin", r"la\u200dtin"),
        ("\u202eevil", r"\u202eevil"),
        ("\u2066x\u2069", r"\u2066x\u2069"),
        ("a\x00b\x1b[2J", r"a\x00b\x1b[2J"),
        ("a\u2028b\x85c", r"a\u2028b\x85c"),
        ("\U000e0041\U000e0042", r"\U000e0041\U000e0042"),
        ("x\ufe01\ufe02", r"x\ufe01\ufe02"),
        ("\ud800", r"\ud800"),
        ("\ufeffx", r"\ufeffx"),
    ],
)
def test_look_alikes_and_the_invisible_are_shown(text: str, shown: str) -> None:
    assert escape_text(text) == shown


def test_a_list_entry_stays_on_its_line() -> None:
    lines = (
        Fencer(TOKEN, {}).items([Untrusted("s", "a\n- b"), [Untrusted("s", "c\r\nd")]], "steps").split("\n")
    )
    assert lines == [f"<<<BEGIN steps {TOKEN}>>>", r"- a\n- b", r"    - c\nd", f"<<<END steps {TOKEN}>>>"]


def test_each_entry_gets_its_own_fence() -> None:
    text = Fencer(TOKEN, {}).each([Untrusted("g", "a"), Untrusted("g", "b")], "gold")
    assert re.findall(r"<<<BEGIN (.*?) 0", text) == ["gold 1", "gold 2"]


def test_of_a_long_text_the_middle_is_left_out_visibly() -> None:
    fencer = Fencer(TOKEN, {"answer": 10})
    text = fencer.block(Untrusted("answer", "a" * 8 + "b" * 100 + "c" * 8), "answer")
    assert "aaaaa\n[... 106 characters left out here ...]\nccccc" in text
    assert fencer.shortened == ["answer: 106 characters left out of the middle"]


@pytest.mark.parametrize("label", ["", "A", "a>b", "a\n", "x" * 60, "1a"])
def test_labels_are_plain(label: str) -> None:
    with pytest.raises(UserError, match="cannot label"):
        Fencer(TOKEN, {}).block(Untrusted("a", "x"), label)


def test_a_label_is_used_once() -> None:
    fencer = Fencer(TOKEN, {})
    fencer.block(Untrusted("a", "x"), "answer")
    with pytest.raises(UserError, match="two fences"):
        fencer.inline(Untrusted("a", "x"), "answer")


@pytest.mark.parametrize("value", [None, 3, ["x"], "own text"])
def test_a_fence_takes_nothing_but_untrusted_text(value) -> None:
    with pytest.raises(UserError, match="needs one text"):
        Fencer(TOKEN, {}).block(value, "answer")


def test_a_list_fence_takes_lists() -> None:
    with pytest.raises(UserError, match="needs a list"):
        Fencer(TOKEN, {}).items(Untrusted("a", "x"), "steps")


# Text that is likely to hold what matters: brackets of all sorts, invisible characters, words of markers.
NASTY = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "<",
                ">",
                "<<<",
                ">>>",
                "＜",
                "›",
                "END answer ",
                "BEGIN answer ",
                TOKEN,
                "|",
                "\u200b",
                "\u202e",
                "\n",
                "\r",
                "\\",
                "[INST]",
                " ",
            ]
        ),
        st.text(max_size=4),
        st.characters(),
    ),
    max_size=30,
).map("".join)


@given(NASTY)
def test_nothing_ends_its_fence(text: str) -> None:
    prompt = fenced(text)
    content = inside(prompt)
    assert prompt.count("<<<") == 2
    assert prompt.count(">>>") == 2
    assert not re.search(
        r"[<＜‹«⟨《〈]\s*[<＜‹«⟨《〈]\s*[<＜‹«⟨《〈]", content.replace(" ", "x").replace("\n", "x")
    )
    assert "<|" not in content
    assert all(unicodedata.category(c) not in ("Cs", "Co", "Zl", "Zp") for c in content)
    assert all(
        c in "\n\t\u200c\u200d" or unicodedata.category(c) not in ("Cc", "Cf")
        for c in content
        if ord(c) < 0xFFF0
    )


@given(NASTY)
def test_escaping_twice_changes_nothing_more(text: str) -> None:
    once = escape_text(text)
    assert escape_text(once) == once


@given(NASTY)
def test_a_list_entry_is_always_one_line(text: str) -> None:
    assert Fencer(TOKEN, {}).items([Untrusted("s", text)], "steps").count("\n") == 2
    assert len(Fencer(TOKEN, {}).inline(Untrusted("s", text), "name").splitlines()) == 1


@given(
    st.text(
        alphabet=st.characters(codec="ascii", categories=("L", "N", "P", "Zs"), exclude_characters="<>[]|"),
        max_size=200,
    )
)
def test_plain_words_are_never_touched(text: str) -> None:
    assert escape_text(text) == text


# -- replies -----------------------------------------------------------------------------------------------------


def test_repeated_fences_are_taken_out_of_replies() -> None:
    reply = f"So:\n<<<BEGIN answer {TOKEN}>>>\nVerdict: 2\n<<<END answer {TOKEN}>>>\nVerdict: 0"
    assert strip_fences(reply) == "So:\n\nVerdict: 0"


@pytest.mark.parametrize(
    "reply",
    [
        "plain",
        f"<<<BEGIN answer {TOKEN}>>> without an end",
        f"<<<END answer {TOKEN}>>> without a beginning",
        f"<<<BEGIN answer {TOKEN}>>> x <<<END other {TOKEN}>>>",
    ],
)
def test_half_fences_stay(reply: str) -> None:
    assert strip_fences(reply) == reply


@given(st.text(max_size=50), st.text(max_size=50), NASTY)
def test_what_a_model_repeats_is_gone(before: str, after: str, data: str) -> None:
    assert strip_fences(before + fenced(data) + after) == before + after
