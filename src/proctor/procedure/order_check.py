"""Watching the order while somebody works: are the direct prerequisites of this step done?

A step that is done before one of its direct prerequisites is a mistake of order, as seen at that moment: nothing is known of
what comes later. The rule is that of online mistake detection (Seminara, Farinella and Furnari 2024, section 5; Flaborea et
al. 2024). It sees only the step's own prerequisites: who leaves out ``a`` of ``a → b → c`` makes one mistake at ``b`` and none
at ``c``, and a repeated step is judged again by what was done until then.
"""

from __future__ import annotations

from collections.abc import Iterable

from proctor.procedure.graph import TaskGraph

__all__ = ["unmet_prerequisites"]


def unmet_prerequisites(graph: TaskGraph, performed: Iterable[str]) -> list[tuple[str, ...] | None]:
    """Return for every performed step its direct prerequisites that were not performed before, in file order.

    Args:
        graph: start and end are no prerequisites, nor are optional steps.
        performed: ids of steps in the order in which they were begun.

    Returns:
        One entry a step: empty where the order is right, None where the graph does not have the step.
    """
    done, found = 0, list[tuple[str, ...] | None]()
    needed = graph.action_mask & ~graph.optional_mask
    for step_id in performed:
        if step_id not in graph:
            found.append(None)
            continue
        found.append(graph.ids(graph.mask(graph.predecessors(step_id)) & needed & ~done))
        done |= graph.mask([step_id])
    return found
