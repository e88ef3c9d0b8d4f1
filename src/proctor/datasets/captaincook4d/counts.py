"""Numbers about CaptainCook4D as it was annotated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from proctor.datasets.captaincook4d.raw import Raw, RawStep
from proctor.procedure.graph import TaskGraph
from proctor.procedure.recording import Recording

__all__ = ["count_oddities"]


def count_oddities(
    raw: Raw, graphs: Mapping[str, TaskGraph], recordings: Sequence[Recording]
) -> dict[str, int]:
    """Return numbers about the raw files, and about repeats after correction."""
    steps = [s for r in raw.recordings for s in r.step_annotations]
    skipped = [s for s in steps if s.start_time == s.end_time == -1]
    missing = [s for s in steps if any(e.tag == "Missing Step" for e in s.errors)]
    tags = Counter(e.tag for s in steps for e in s.errors)
    counts = {
        "recordings": len(raw.recordings),
        "error_recordings": sum(r.is_error for r in raw.recordings),
        "normal_recordings": sum(not r.is_error for r in raw.recordings),
        "activities": len({r.activity_id for r in raw.recordings}),
        "steps": len(steps),
        "skipped_steps_time_minus1": len(skipped),
        "missing_tag_steps": len(missing),
        "minus1_without_missing_tag": sum(s not in missing for s in skipped),
        "missing_tag_with_real_time": sum(s.end_time >= 0 for s in missing),
        "missing_tag_with_another_tag": sum(len({e.tag for e in s.errors}) > 1 for s in missing),
        "steps_with_errors": sum(bool(s.errors) for s in steps),
        "errors": sum(tags.values()),
        "modified_descriptions": sum(s.modified_description is not None for s in steps),
        "person_mismatch_video_information": sum(
            video.person not in ("", str(raw.infos[i].person_id))
            for i, video in raw.videos.items()
            if i in raw.infos
        ),
        "recordings_without_gopro_4k": sum(r.recording_id in raw.no_4k for r in raw.recordings),
    }
    counts |= {f"tags.{tag}": n for tag, n in tags.items()}
    counts |= _count_order(raw) | _count_labels(raw, graphs) | _count_text(steps)
    repeats = sum(
        n - 1 for r in recordings for n in Counter(s.step_id for s in r.performed).values() if n > 1
    )
    return counts | {"repeated_performed_ids_after_remap": repeats}


def _count_order(raw: Raw) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for r in raw.recordings:
        starts = [s.start_time for s in r.step_annotations]
        timed = [s for s in r.step_annotations if s.end_time >= 0]
        counts["list_not_sorted_by_start_recordings"] += starts != sorted(starts)
        in_file = [s.start_time for s in timed]
        counts["performed_steps_not_in_start_order_recordings"] += in_file != sorted(in_file)
        pairs = list(pairwise(sorted(timed, key=lambda s: s.start_time)))
        counts["adjacent_pairs"] += len(pairs)
        counts["adjacent_overlap_gt2s"] += sum(a.end_time - b.start_time > 2 for a, b in pairs)
        counts["adjacent_near_identical"] += sum(
            abs(a.start_time - b.start_time) + abs(a.end_time - b.end_time) < 2 for a, b in pairs
        )
        spans = Counter((s.start_time, s.end_time) for s in timed)
        counts["identical_interval_pairs"] += sum(n * (n - 1) // 2 for n in spans.values())
        ids = Counter(s.step_id for s in r.step_annotations)
        counts["repeated_raw_step_ids.pairs"] += sum(n > 1 for n in ids.values())
        counts["repeated_raw_step_ids.recordings"] += any(n > 1 for n in ids.values())
    return dict(counts)


def _count_labels(raw: Raw, graphs: Mapping[str, TaskGraph]) -> dict[str, int]:
    """Count texts that are in no graph, and texts whose node id is not the global id minus the offset."""
    offset: dict[int, int] = {}
    for r in raw.recordings:
        for s in r.step_annotations:
            offset[r.activity_id] = min(offset.get(r.activity_id, s.step_id), s.step_id)
    unknown = equal = 0
    for r in raw.recordings:
        graph = graphs.get(str(r.activity_id))
        if graph is None:
            continue
        texts = {s.text for s in graph.actions}
        for s in r.step_annotations:
            node = str(s.step_id - offset[r.activity_id] + 1)
            equal += node in graph and graph[node].text == s.description
            unknown += s.description not in texts
    total = sum(len(r.step_annotations) for r in raw.recordings)
    return {
        "description_not_in_graph": unknown,
        "annotation_id_minus_offset_equals_graph_id.equal": equal,
        "annotation_id_minus_offset_equals_graph_id.different": total - equal,
    }


def _count_text(steps: Sequence[RawStep]) -> dict[str, int]:
    return {
        "errors_without_modified_description": sum(
            bool(s.errors) and s.modified_description is None for s in steps
        ),
        "errors_but_modified_equals_description": sum(
            bool(s.errors) and s.modified_description == s.description for s in steps
        ),
        "modified_description_without_errors": sum(
            not s.errors and s.modified_description is not None for s in steps
        ),
    }
