from pathlib import Path
from typing import Annotated, ClassVar, Literal

import msgspec
import pytest

from proctor.errors import UserError
from proctor.settings import Settings, argument, fields_of, option
from proctor.workspace import Workspace


class Base(Settings, frozen=True, kw_only=True):
    heading: ClassVar[str] = "Draws"

    draws: Annotated[int, option("Draws.", ge=0, le=9)] = 3


class Cut(Base, frozen=True, kw_only=True):
    """Cut things."""

    section: ClassVar[str] = "cut"
    heading: ClassVar[str] = ""

    folder: Annotated[Path, argument("Where.")] = Path()
    kind: Annotated[Literal["short", "long"], option("Which.")] = "short"
    k: Annotated[tuple[int, ...], option("Cuts.", "-k", ge=1)] = (5, 10)
    rate: Annotated[float | None, option("A second.", "--fps")] = None


def test_fields_are_read_once_own_ones_first():
    assert [f.name for f in fields_of(Cut)] == ["folder", "kind", "k", "rate", "draws"]
    by = {f.name: f for f in fields_of(Cut)}
    assert (by["k"].several, by["k"].kind, by["k"].default, by["k"].flag) == (True, int, (5, 10), "--k")
    assert (by["rate"].kind, by["rate"].flag, by["rate"].required) == (float, "--fps", False)
    assert by["folder"].argument
    assert [by[name].heading for name in ("draws", "kind")] == ["Draws", ""]


def test_a_field_without_a_declaration_is_a_mistake_of_ours():
    class Bare(Settings, frozen=True, kw_only=True):
        own: int = 1
        name: str

    with pytest.raises(TypeError, match=r"Bare\.name"):
        fields_of(Bare)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"draws": -1}, "--draws is -1; at least 0"),
        ({"draws": 10}, "--draws is 10; at most 9"),
        ({"k": (3, 0)}, "--k is 0; at least 1"),
        ({"kind": "wide"}, "--kind is 'wide'; one of short, long"),
    ],
)
def test_bounds_and_choices_hold_in_python(given, message):
    with pytest.raises(UserError, match=message):
        Cut(**given)


def test_bounds_are_part_of_what_is_allowed():
    assert (Cut(draws=0, k=(1,)).draws, Cut(draws=9).draws) == (0, 9)


def test_what_was_given_comes_before_the_file_and_that_before_the_struct(tmp_path):
    (tmp_path / "proctor.toml").write_text('[cut]\ndraws = 4\nk = 7\nkind = "long"\nrate = 2\n')
    found = Workspace(tmp_path).resolve(Cut, kind="short", k=())
    assert found == Cut(draws=4, k=(7,), kind="short", rate=2.0)
    assert isinstance(found.rate, float)
    assert Workspace(tmp_path / "other").resolve(Cut) == Cut()


@pytest.mark.parametrize(
    ("line", "message"),
    [("draws = 12", "at most 9"), ('kind = "wide"', "one of short, long"), ("wide = 1", "unknown key")],
)
def test_the_file_is_named_where_it_is_wrong(tmp_path, line, message):
    (tmp_path / "proctor.toml").write_text(f"[cut]\n{line}\n")
    with pytest.raises(UserError, match=message) as caught:
        Workspace(tmp_path).resolve(Cut)
    assert "proctor.toml: [cut]" in caught.value.render()


def test_settings_are_plain_structs():
    assert msgspec.json.decode(msgspec.json.encode(Base(draws=5)), type=Base) == Base(draws=5)
