"""Inferred task graphs against released ones: figures, curves, tables and pictures."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from proctor import samples
from proctor.errors import UserError
from proctor.procedure.graph_compare import compare_edges
from proctor.procedure.induce import Performance
from proctor.stages.graph_benchmark import FEW, PUBLISHED, Benchmark, benchmark_graphs, parts_of
from proctor.stages.graph_benchmark_page import BEGIN, END, write_benchmark_markdown, write_benchmark_page
from proctor.stages.graph_methods import METHODS, Belief, Inferred, infer_by_counting
from proctor.stages.graph_recorded import read_recorded
from proctor.stages.graph_settings import BenchmarkSettings
from proctor.stages.graph_synthetic import random_graph, recover


def measured(folder: Path, **options: object) -> Benchmark:
    settings = BenchmarkSettings(annotations=folder, **{"resamples": 200, **options})  # type: ignore[arg-type]
    done = 0

    def seen() -> None:
        nonlocal done
        done += 1

    found, _ = benchmark_graphs(settings, seen)
    assert done == parts_of(settings)
    return found


def test_every_figure_is_a_mean_over_activities() -> None:
    found = measured(samples.path(), method="counting", draws=2)
    assert (found.activities, found.performances, found.held_out) == (3, 6, "leave-one-activity-out")
    assert found.f1 == pytest.approx(sum(r.f1 for r in found.by_activity.values()) / 3)
    assert found.intervals["f1"][0] <= found.f1 <= found.intervals["f1"][1]
    assert [v.name for v in found.few] == [*(f"{n} performances" for n in FEW), "all"]
    assert found.few[-1].f1 == found.f1 == found.few[-2].f1, "nobody has more than five"
    assert (found.published, found.reliability, found.synthetic) == ([], None, [])


def test_draws_depend_on_the_seed_alone() -> None:
    once = measured(samples.path(), method="counting", performances=1, draws=0, seed=3)
    assert once.performances == 3
    assert once.few == []
    again = measured(samples.path(), method="counting", performances=1, draws=0, seed=3)
    assert msgspec.structs.replace(once, seconds=0, seconds_learning=0) == msgspec.structs.replace(
        again, seconds=0, seconds_learning=0
    )


@pytest.mark.shared
def test_captaincook4d_by_counting(shared_data: Path) -> None:
    found = measured(shared_data / "captaincook4d", method="counting", draws=1)
    assert (found.activities, found.performances) == (24, 195)
    assert [round(x, 1) for x in (found.precision, found.recall, found.f1)] == [81.5, 88.0, 84.4]
    assert {v.name: round(v.f1, 1) for v in found.others} == {
        "counting, overlaps say nothing": 66.4,
        "counting, by the list in the annotations": 88.7,
        "counting, all recordings": 56.2,
    }
    assert found.few[0].f1 < found.few[1].f1 < found.few[2].f1 < found.f1
    assert found.published == list(PUBLISHED)
    assert found.dropped == {"not_in_graph": 2, "no_times": 6}
    assert any("recalled" in note for note in found.notes)
    assert any(note.startswith("In 71 recordings") for note in found.notes)


def test_the_likelihood_has_probabilities_and_learns_on_other_activities() -> None:
    found = measured(samples.path(), draws=1)
    assert found.method == "likelihood"
    assert [v.name for v in found.others] == [
        "counting",
        "counting, overlaps say nothing",
        "counting, by the list in the annotations",
        "counting, all recordings",
        "likelihood, by the list in the annotations",
        "likelihood, all recordings",
    ]
    reliability = found.reliability
    assert reliability is not None
    assert sum(bin_[2] for bin_ in reliability.bins) == reliability.pairs
    assert 0 <= reliability.ece <= 1
    assert reliability.chance[1] <= reliability.chance[0] <= reliability.chance[2]


def test_probabilities_of_edges_are_held_against_edges_not_against_implied_pairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    released = {a.graph.id: a.graph for a in read_recorded(samples.path())[0]}

    def all_pairs(
        performances: Sequence[Performance], texts: Mapping[str, str], *, id: str, name: str
    ) -> Inferred:
        graph = released[id]
        actions = [s.id for s in graph.actions]
        edges = tuple(
            Belief(a, b, 0.95, 1, 0, 1) for a in actions for b in actions if graph.comes_before(a, b)
        )
        return Inferred(graph, edges, (), (), None, len(performances))

    monkeypatch.setitem(METHODS, "likelihood", lambda _: all_pairs)
    reliability = measured(samples.path(), draws=0).reliability
    edges = pairs = 0
    for graph in released.values():
        ends = {graph.start, graph.end}
        edges += sum(not ends & {a, b} for a, b in graph.transitive_reduction().edges)
        pairs += sum(graph.comes_before(a.id, b.id) for a in graph.actions for b in graph.actions)
    assert reliability is not None
    assert (reliability.pairs, reliability.bins[-1][2]) == (pairs, pairs)
    assert edges < pairs
    assert reliability.bins[-1][4] == pytest.approx(edges / pairs)


def test_data_without_graphs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        measured(tmp_path / "nothing")
    with pytest.raises(UserError):
        measured(tmp_path)


# -- random graphs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 2, 10, 60])
def test_random_graphs_are_as_large_as_asked_for_and_narrow(steps: int) -> None:
    graph = random_graph(steps, random.Random(steps))
    assert len(graph.steps) == steps
    assert graph == graph.transitive_reduction()
    assert sorted(graph.sample_order(random.Random(0))) == sorted(graph.index)
    assert graph == random_graph(steps, random.Random(steps))


def test_many_orders_recover_a_small_graph() -> None:
    rows = recover(infer_by_counting, graphs=3, seed=0, sizes=(8,), counts=(2, 200))
    assert [(r.steps, r.performances, r.graphs) for r in rows] == [(8, 2, 3), (8, 200, 3)]
    assert rows[0].f1 < rows[1].f1
    assert rows[1].f1 > 97
    graph = random_graph(8, random.Random("0:8:0"))
    assert compare_edges(graph, graph).f1 == 1
    with pytest.raises(ValueError, match="0 steps"):
        random_graph(0, random.Random(0))


# -- in print ----------------------------------------------------------------------------------------------------


def test_tables_go_between_the_marks_of_a_page(tmp_path: Path) -> None:
    found = measured(samples.path(), method="counting", draws=1, synthetic=1)
    page = tmp_path / "graphs.md"
    page.write_text(f"# Graphs\n\nbefore\n\n{BEGIN}\nold\n{END}\n\nafter\n", encoding="utf-8")
    write_benchmark_markdown(page, found)
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# Graphs\n\nbefore\n\n{BEGIN}\n\n**Edges of")
    assert text.endswith(f"{END}\n\nafter\n")
    assert "old" not in text
    assert (
        f"| counting, 6 performances | {found.precision:.1f} | {found.recall:.1f} | {found.f1:.1f} |" in text
    )
    last = found.synthetic[-1]
    assert f" | {last.f1:.1f} ± 0.0 | {last.seconds:.2f} |" in text
    write_benchmark_markdown(page, found)
    assert page.read_text(encoding="utf-8") == text
    write_benchmark_markdown(tmp_path / "new.md", found)
    assert (tmp_path / "new.md").read_text(encoding="utf-8").startswith(BEGIN)
    page.write_text(f"{END}\n{BEGIN}\n", encoding="utf-8")
    with pytest.raises(UserError, match="no place for the tables"):
        write_benchmark_markdown(page, found)


def test_the_page_stands_alone(tmp_path: Path) -> None:
    found = measured(samples.path(), method="counting", draws=1)
    (page,) = write_benchmark_page(tmp_path / "out", found, None)
    assert "F1 by performances" in page.read_text(encoding="utf-8")
    likely, picture = benchmark_graphs(BenchmarkSettings(annotations=samples.path(), draws=0, resamples=0))
    page, drawing = write_benchmark_page(tmp_path / "out", likely, picture)
    assert "reliability" in page.read_text(encoding="utf-8")
    assert ElementTree.parse(drawing).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_a_picture_stands_alone(tmp_path: Path) -> None:
    from proctor.metrics.calibration import reliability_bins
    from proctor.report.figures.reliability import draw_reliability
    from proctor.report.page import standalone_svg

    drawn = standalone_svg(draw_reliability(reliability_bins([1, 0], [0.9, 0.2]).as_figure("<b>&")))
    root = ElementTree.fromstring(drawn.encode())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.attrib["aria-label"].startswith("<b>&")
    assert ".reliability .dot" in (root.findtext("{http://www.w3.org/2000/svg}style") or "")
