"""Records as tables: found by place and id, short when printed, flat as data frames, and no markup in a notebook."""

import sys

import msgspec
import pytest

from proctor.errors import UserError
from proctor.exam.question import Gold, Item, Open, Question, Text
from proctor.tables import Records, flat, html_table


class Thing(msgspec.Struct):
    id: str
    size: float = 1.0
    tags: tuple[str, ...] = ()
    facets: dict[str, str] = {}
    parts: tuple[dict[str, int], ...] = ()


THINGS = Records([Thing("a", 1.5, ("x", "y"), {"type": "next"}), Thing("b", parts=({"n": 1},))], "things")


def test_records_are_found_by_place_and_id() -> None:
    assert len(THINGS) == 2
    assert THINGS[0] is THINGS["a"]
    assert THINGS[-1] is THINGS["b"]
    assert [thing.id for thing in THINGS] == ["a", "b"]
    assert [thing.id for thing in THINGS[1:]] == ["b"]
    assert repr(THINGS[:0]) == "no things"
    assert THINGS.count(THINGS[1]) == 1


def test_the_first_of_two_records_with_one_id_is_found() -> None:
    assert Records([Thing("a", 1), Thing("a", 2)])["a"].size == 1


def test_what_is_not_there_is_said_with_what_was_meant() -> None:
    with pytest.raises(KeyError, match="none of 2 things is called 'aa'; did you mean 'a'"):
        THINGS["aa"]
    with pytest.raises(IndexError):
        THINGS[2]


def test_what_is_printed_is_short() -> None:
    assert repr(THINGS) == "2 things, the first one 'a'"
    assert len(repr(Records([Thing("a" * 10_000)]))) < 120


def test_print_shows_a_table() -> None:
    named = Records(
        [Thing("a" * 60, 1234.5), Thing("b\x1b[2J")] * 8, "things", row=lambda t: {"id": t.id, "size": t.size}
    )
    lines = str(named).splitlines()
    assert lines[:3] == [f"{'id':48}  size", f"{'a' * 47}…  1,234.5", r"b\x1b[2J".ljust(48) + "  1"]
    assert (len(lines), lines[-1]) == (12, "16 things")
    assert str(THINGS[:0]) == "0 things"


def test_cells_are_flat() -> None:
    assert flat(THINGS[0]) == {"id": "a", "size": 1.5, "tags": "x; y", "facets.type": "next", "parts": ""}
    assert flat(THINGS[1])["parts"] == '[{"n":1}]'
    assert flat({"a": {"b": {"c": None}}, "d": {}}) == {"a.b.c": None, "d": {}}


def test_data_frames_have_the_same_columns_for_all_rows() -> None:
    frame = THINGS.to_pandas()
    assert list(frame.columns) == ["id", "size", "tags", "facets.type", "parts", "facets"]
    assert frame["size"].tolist() == [1.5, 1.0]
    assert frame["facets.type"].isna().tolist() == [False, True]
    assert Records[Thing]([]).to_pandas().empty


def test_polars_gets_the_same_rows() -> None:
    polars = pytest.importorskip("polars")
    assert isinstance(THINGS.to_polars(), polars.DataFrame)
    assert THINGS.to_polars().rows(named=True) == THINGS.rows()


@pytest.mark.parametrize(("package", "name"), [("pandas", "to_pandas"), ("polars", "to_polars")])
def test_a_data_frame_without_its_package_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, package: str, name: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UserError, match=r"pip install 'proctor-bench\[dataframes\]'"):
        getattr(THINGS, name)()


def test_a_notebook_gets_a_short_table_without_markup_from_the_data() -> None:
    records = Records([Thing(f"<script>{n}", tags=("x" * 5_000,)) for n in range(500)], "<b>things")
    shown = records._repr_html_()
    assert "<script>" not in shown
    assert "<b>" not in shown
    assert "&lt;script&gt;0" in shown
    assert "500 &lt;b&gt;things, 490 of them not shown" in shown
    assert len(shown) < 10_000
    assert '<td style="text-align:right">1,234</td>' in html_table([{"n": 1234}, {"m": None}])


def test_a_question_is_printed_in_a_line_and_shown_as_a_table() -> None:
    facts = {f"fact-{n}": "x" * 100 for n in range(20)}
    question = Question(
        id="lamp_1_-1_next", kind="moment", text="<b>What now?</b>", form=Open(), facets={"type": "next"}, facts=facts
    )  # fmt: skip
    item = Item(question=question, golds=(Gold(value=Text(text="Screw in the bulb.")),))
    assert repr(item) == (
        "Item(id='lamp_1_-1_next', kind='moment', question='<b>What now?</b>', answers='Screw in the bulb.', type='next', cluster='')"
    )
    assert repr(question).startswith("Question(id='lamp_1_-1_next', kind='moment', ")
    assert "<b>" not in item._repr_html_()
    assert "Screw in the bulb." in item._repr_html_()
    assert "fact-1" not in repr(item) + item._repr_html_()
