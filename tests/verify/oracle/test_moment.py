from __future__ import annotations

from proctor.procedure.graph import TaskGraph
from proctor.verify.oracle.moment import Moment
from proctor.verify.oracle.text import Quantity


def test_standings(shelf: TaskGraph, make_moment) -> None:
    moment = Moment(make_moment(shelf, "mark bracket"), shelf)
    assert {s.id: moment.standing(s.id) for s in shelf.actions} == {
        "mark": "done",
        "drill": "missing",
        "plugs": "stuck",
        "sand": "next",
        "oil": "later",
        "bracket": "done",
        "lay": "later",
        "level": "later",
    }
    assert moment.unmet("plugs") == {"drill"}


def test_late_steps_are_those_done_after_what_needs_them(shelf: TaskGraph, make_moment) -> None:
    moment = Moment(make_moment(shelf, "mark plugs drill"), shelf)
    assert moment.late == {"drill"}
    assert moment.disordered
    assert moment.came_after("drill", "plugs")
    assert not moment.came_after("plugs", "drill")
    assert not moment.came_after("lay", "plugs")


def test_mistakes(shelf: TaskGraph, make_moment) -> None:
    example = make_moment(
        shelf,
        "mark drill",
        "measurement",
        {"drill": ("measurement", "drilled 8 mm holes"), "mark": ("order", "x")},
    )
    moment = Moment(example, shelf)
    assert moment.own_mistakes == 1
    assert moment.targets_mistake
    assert [m.kind for m in moment.mistakes_of(["mark"])] == ["order"]
    assert Quantity(8.0, "mm") in moment.target_quantities
    assert Quantity(6.0, "mm") in moment.target_quantities
    assert "hol" in moment.target_stems


def test_nothing_done(assay: TaskGraph, make_moment) -> None:
    moment = Moment(make_moment(assay, ""), assay)
    assert moment.current_id is None
    assert moment.current_mistakes == ()
    assert moment.following == {"label", "thaw"}
    assert not moment.disordered
