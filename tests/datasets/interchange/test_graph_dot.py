"""DOT: files of Graphviz and pydot, the language, and what Graphviz says of ours."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from proctor.datasets.interchange import dot
from proctor.datasets.interchange.dot import parse_dot, render_dot_file
from proctor.errors import UserError
from proctor.procedure.graph import GraphDraft, Step, TaskGraph, render_dot

TEA = (("start", "boil"), ("start", "leaf"), ("boil", "pour"), ("leaf", "pour"), ("pour", "end"))


def _read(text: str) -> GraphDraft:
    (draft,) = parse_dot(text.encode(), "f", "stem").objects
    return draft


def _texts(draft: GraphDraft) -> dict[str, str]:
    return {s.id: s.text for s in draft.steps}


@pytest.mark.parametrize("name", ["graphviz-canon", "graphviz-dot", "pydot"])
def test_files_of_real_tools(name: str, tests_data: Path) -> None:
    data = (tests_data / "interchange" / "graphs" / f"{name}.dot").read_bytes()
    found = parse_dot(data, "f", name)
    graph = found.objects[0].build()
    assert graph.id == graph.name == "tea"
    assert set(graph.edges) == set(TEA)
    assert (graph.start, graph.end) == ("start", "end")
    assert graph["boil"].text == 'Boil 1 cup "fresh" water'
    assert graph["pour"].text == "Pour\nslowly"
    if name == "pydot":
        assert graph["leaf"].text == "Put 1 tsp tea & ½ tsp sugar into a cup"
        assert found.warnings == (
            "graph 'tea': took 'start' as the start and 'end' as the end, because of the text.",
        )
    else:
        assert graph["leaf"].text == "Put 1 tsp tea & sugar\ninto a cup"
        assert any("1 label(s) in HTML" in w for w in found.warnings)
        assert any("port(s) are not kept" in w for w in found.warnings)


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz")
@pytest.mark.parametrize("output", ["canon", "dot"])
def test_graphviz_reads_ours_and_passes_everything_on(output: str) -> None:
    nasty = [
        'a "quoted" one', "back\\slash", "ends in \\", "\\N \\G \\n", "two\nlines", "&amp; &#65; & co;", "<b>bold</b>",
        "tab\there", "ünï → ½", "digraph", "", " spaces ", "-> [x=1];", "// no comment", "# no line", "\x01\x7f", 'x\\"y',
    ]  # fmt: skip
    steps = tuple(Step(text, text + "!") for text in nasty)
    edges = tuple((nasty[k], nasty[k + 1]) for k in range(len(nasty) - 1))
    graph = TaskGraph('the "id"', "A name \\ with &lt;", steps, edges, nasty[0], nasty[-1])
    ours, _ = render_dot_file([graph])
    theirs = subprocess.run(["dot", f"-T{output}"], input=ours, capture_output=True, check=True, timeout=60)
    assert b"Error" not in theirs.stderr  # Pango warns of U+0001, which it cannot draw
    again = parse_dot(theirs.stdout, "f", "x").objects[0].build()
    assert (again.id, again.name, again.start, again.end) == (graph.id, graph.name, graph.start, graph.end)
    assert {s.id: s.text for s in again.steps} == {s.id: s.text for s in graph.steps}
    assert set(again.edges) == set(graph.edges)


def test_the_text_of_prompts_reads_back(diamond: TaskGraph) -> None:
    draft = _read(render_dot(diamond))
    assert draft.edges == diamond.edges
    assert (draft.start, draft.end) == ("S", "E")
    assert _texts(draft) == {"S": "START", "E": "END"} | {i: f"do {i}" for i in "abcd"}


def test_the_language() -> None:
    draft = _read(
        """
# a line of the preprocessor
        strict digraph "my graph" { // a comment
          graph [label="Tea; {not} a \\"group\\""] rankdir = LR;
          node [label="same"] edge [color=red]
          a; b [label="B"], c [shape=box][label=C];
          subgraph cluster_x { node [label="inner"]; d; { e } }
          /* between
             lines */
          a -> {b c} -> d:n:w -> "e" [style=dotted];
          a -> b; -1.5 -> .5
          "long " + "name" [label="x\\
y"];
          f [label="\\N of \\G\\lleft\\l"]
        }
        """
    )
    assert (draft.id, draft.name) == ("my graph", 'Tea; {not} a "group"')
    assert draft.edges == (
        ("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "e"), ("-1.5", ".5"),
    )  # fmt: skip
    assert _texts(draft) == {
        "a": "same", "b": "B", "c": "C", "d": "inner", "e": "inner", "-1.5": "same", ".5": "same",
        "long name": "xy", "f": "f of my graph\nleft\n",
    }  # fmt: skip


def test_nodes_without_label_are_their_own_text() -> None:
    draft = _read('digraph { "Boil water" -> "Pour" }')
    assert _texts(draft) == {"Boil water": "Boil water", "Pour": "Pour"}
    assert (draft.id, draft.name) == ("stem", "stem")


def test_repeated_edges_stay_unless_strict() -> None:
    assert _read("digraph { a -> b; a -> b }").edges == (("a", "b"), ("a", "b"))
    assert _read("strict digraph { a -> b; a -> b }").edges == (("a", "b"),)


def test_character_references_are_those_of_graphviz() -> None:
    assert _texts(_read('digraph { a [label="&frac12; &#233; &#x41; &nosuch; &#xD800; &amp;lt;"] }')) == {
        "a": "½ é A &nosuch; &#xD800; &lt;"
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graph { a -- b }", "no direction begins in line 1"),
        ("digraph {\n a -- b }", "'--' has no direction in line 2"),
        ("digraph { a -> ", "the end of the file"),
        ("digraph { a -> }", "a name was expected, not '}'"),
        ("digraph { a [label=] }", "a name was expected, not ']'"),
        ('digraph { "a }', "was not expected"),
        ("digraph { a [label=<b] }", "an HTML text that does not end"),
        ("digraph { node -> b }", "the word 'node' was not expected"),
        ("digraph { a", "'}' was expected, not the end of the file"),
        ("hello", "'digraph' was expected, not 'hello'"),
        ("digraph { " + "{" * 200, "nested deeper than 100"),
        ('digraph { a + "b" }', "not '+'"),
        ('digraph { "a" + b }', "a quoted text was expected"),
        ("digraph { \x00 }", "was not expected in line 1"),
    ],
)
def test_what_is_no_task_graph_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        parse_dot(text.encode(), "f", "x")
    assert message in str(error.value)
    assert str(error.value).startswith("f: not DOT: ")


def test_a_file_of_nothing_but_words_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dot, "_MAX_TOKENS", 1_000)
    with pytest.raises(UserError, match="more than 1,000 words and signs"):
        _read("digraph {" + "a;" * 501 + "}")
    with pytest.raises(UserError, match="more than 1,000 words and signs"):
        _read('digraph { "a"' + ' + "b"' * 501 + "}")


def test_long_texts_and_many_comments_take_no_time() -> None:
    draft = _read('digraph { a [label="' + "\\\\x" * 1_000_000 + '"] ' + "/* * */ // / \n" * 50_000 + "}")
    assert len(draft.steps[0].text) == 2_000_000
    with pytest.raises(UserError):
        _read("digraph {" + "/*" * 500_000)
    with pytest.raises(UserError):
        _read("digraph { a [label=" + "<" * 1_000_000)
