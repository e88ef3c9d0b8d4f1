"""What the paper prints about CaptainCook4D, and what its files give. Source: Peddi et al. 2024."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from proctor.datasets.captaincook4d.check_files import background_seconds
from proctor.datasets.captaincook4d.raw import Raw, RawRecording, RawStep, read_raw
from proctor.datasets.dataset import Published

__all__ = ["PUBLISHED", "measure"]

_RELABELLED: Final = "9 recordings were given another label after the table was made"
_RELABELLED_HERE: Final = "recordings of this recipe were given another label after the table was made"
_DURATIONS: Final = "the lengths of the videos were rounded otherwise (up to 0.04 h a recipe)"

_TABLE_17: Final[tuple[tuple[str, int, int, float, int, float], ...]] = (
    ("Pinwheels", 19, 4, 0.72, 8, 1.2),
    ("Tomato Mozzarella Salad", 9, 11, 1.31, 7, 0.64),
    ("Butter Corn Cup", 12, 6, 1.62, 8, 1.49),
    ("Tomato Chutney", 19, 7, 3.34, 8, 2.01),
    ("Scrambled Eggs", 23, 6, 2.69, 10, 3.13),
    ("Cucumber Raita", 11, 12, 2.9, 8, 1.36),
    ("Zoodles", 13, 5, 1.35, 10, 2.19),
    ("Microwave Egg Sandwich", 12, 6, 1.05, 12, 1.67),
    ("Sauted Mushrooms", 18, 6, 2.73, 8, 2.21),
    ("Blender Banana Pancakes", 14, 7, 1.78, 12, 2.57),
    ("Herb Omelet with Fried Tomatoes", 15, 6, 1.73, 11, 2.14),
    ("Broccoli Stir Fry", 25, 11, 5.74, 5, 1.68),
    ("Pan Fried Tofu", 19, 8, 3.38, 7, 2.31),
    ("Mug Cake", 20, 7, 2.44, 10, 2.32),
    ("Cheese Pimiento", 11, 6, 1.47, 9, 1.72),
    ("Spicy Tuna Avocado Wraps", 17, 7, 2.0, 11, 2.66),
    ("Caprese Bruschetta", 11, 6, 1.92, 12, 2.73),
    ("Dressed Up Meatballs", 16, 6, 2.0, 10, 3.09),
    ("Microwave Mug Pizza", 14, 7, 1.47, 6, 1.14),
    ("Ramen", 15, 10, 2.4, 7, 1.45),
    ("Coffee", 16, 8, 1.97, 7, 1.58),
    ("Breakfast Burritos", 11, 6, 1.22, 10, 1.52),
    ("Spiced Hot Chocolate", 7, 6, 0.82, 10, 1.01),
    ("Microwave French Toast", 11, 9, 1.94, 5, 0.66),
)
"""Recipe, steps, recordings without mistakes, their hours, recordings with mistakes, their hours."""

_MOVED: Final = frozenset(
    {
        "Butter Corn Cup",
        "Tomato Chutney",
        "Zoodles",
        "Microwave Egg Sandwich",
        "Broccoli Stir Fry",
        "Pan Fried Tofu",
        "Microwave Mug Pizza",
    }
)


def _row(
    name: str, steps: int, normal: int, normal_hours: float, wrong: int, hours: float
) -> list[Published]:
    where, why = "Table 17", _RELABELLED_HERE if name in _MOVED else ""
    return [
        Published(f"steps_listed[{name}]", steps, where),
        Published(f"normal_recordings[{name}]", normal, where, why),
        Published(f"normal_hours[{name}]", normal_hours, where, why or _DURATIONS, 2),
        Published(f"error_recordings[{name}]", wrong, where, why),
        Published(f"error_hours[{name}]", hours, where, why or _DURATIONS, 2),
    ]


PUBLISHED: Final[tuple[Published, ...]] = (
    Published("recordings", 384, "paper"),
    Published("hours", 94.5, "paper", digits=1),
    Published("activities", 24, "Table 17"),
    Published("steps_listed", 358, "Table 17", "the most frequent number of steps of each recipe"),
    Published("persons", 8, "paper"),
    Published("environments", 10, "paper"),
    Published("normal_recordings", 173, "paper", _RELABELLED),
    Published("error_recordings", 211, "paper", _RELABELLED),
    Published("normal_hours", 50.05, "paper", f"{_RELABELLED}; the paper's own rows add up to 49.99", 2),
    Published("error_hours", 44.41, "paper", f"{_RELABELLED}; the paper's own rows add up to 44.48", 2),
    Published(
        "timed_steps",
        5300,
        "paper (5.3 K)",
        "5,300 is the count of the JSON of 2023, before its revision",
    ),
    Published(
        "mean_step_seconds",
        52.78,
        "paper",
        "52.78 is the mean over recipes of metadata/average_segment_length.csv (5,300 steps of 2023), each recipe "
        "counted alike; as a mean over recipes the files now give mean_step_seconds_of_recipes",
        2,
    ),
    Published("mean_video_minutes", 14.8, "paper", digits=1),
    Published("steps_per_recording", 13.8, "paper", "5,300 / 384 = 13.80 with the steps of 2023", 1),
    *(published for row in _TABLE_17 for published in _row(*row)),
)


def measure(root: Path) -> dict[str, float]:
    """Return what the files give, by the keys of ``PUBLISHED`` and more. Hours are those of the table of videos.

    Raises:
        UserError: if the folder cannot be read.
    """
    raw = read_raw(root)
    steps = [s for r in raw.recordings for s in r.step_annotations]
    timed = [s for s in steps if s.end_time >= 0]
    lengths = [s.end_time - s.start_time for s in timed]
    minutes = sorted(v.duration / 60 for v in raw.videos.values())
    total, free = background_seconds(raw)
    persons = {i.person_id for i in raw.infos.values()}
    recipes = _recipes(raw)
    found = {
        **_of(raw, raw.recordings),
        "activities": len(recipes),
        "steps_listed": sum(_steps_listed(group) for group in recipes.values()),
        "step_ids": len({s.step_id for s in steps}),
        "persons": len(persons),
        "environments": len({i.environment for i in raw.infos.values()}),
        "steps": len(steps),
        "timed_steps": len(timed),
        "untimed_steps": len(steps) - len(timed),
        "mean_step_seconds": _mean(lengths),
        "mean_step_seconds_of_recipes": _mean(
            [
                (
                    _mean(
                        [
                            s.end_time - s.start_time
                            for r in group
                            for s in r.step_annotations
                            if s.end_time >= 0
                        ]
                    )
                )
                for group in recipes.values()
            ]
        ),
        "mean_video_minutes": _mean(minutes),
        "longest_video_minutes": minutes[-1] if minutes else math.nan,
        "shortest_video_minutes": minutes[0] if minutes else math.nan,
        "steps_per_recording": len(timed) / len(raw.recordings),
        "background_share": free / total if total else math.nan,
        "mistaken_steps": sum(bool(s.errors) for s in steps),
        "mistaken_timed_steps": sum(bool(s.errors) for s in timed),
        **_of_tags(steps, timed),
    }
    for name, group in recipes.items():
        found |= {
            f"{key}[{name}]": value
            for key, value in _of(raw, group).items()
            if key not in ("recordings", "hours")
        }
        found[f"steps_listed[{name}]"] = _steps_listed(group)
    return found


def _recipes(raw: Raw) -> dict[str, list[RawRecording]]:
    recipes: dict[str, list[RawRecording]] = defaultdict(list)
    for r in raw.recordings:
        info = raw.infos.get(r.recording_id)
        recipes[info.activity_name if info else str(r.activity_id)].append(r)
    return dict(recipes)


def _of(raw: Raw, recordings: Sequence[RawRecording]) -> dict[str, float]:
    wrong = [r for r in recordings if r.is_error]
    normal = [r for r in recordings if not r.is_error]
    return {
        "recordings": len(recordings),
        "hours": _hours(raw, recordings),
        "normal_recordings": len(normal),
        "normal_hours": _hours(raw, normal),
        "error_recordings": len(wrong),
        "error_hours": _hours(raw, wrong),
    }


def _hours(raw: Raw, recordings: Sequence[RawRecording]) -> float:
    known = (raw.videos.get(r.recording_id) for r in recordings)
    return math.fsum(video.duration for video in known if video) / 3600


def _steps_listed(recordings: Sequence[RawRecording]) -> int:
    """Return the most frequent number of steps of a recording, the smaller of two."""
    counts = Counter(len(r.step_annotations) for r in recordings)
    return min(counts, key=lambda n: (-counts[n], n))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def _of_tags(steps: Sequence[RawStep], timed: Sequence[RawStep]) -> dict[str, float]:
    """Count mistakes by kind: all, the steps that carry one, and the steps with times that carry no other."""
    instances = Counter(e.tag for s in steps for e in s.errors)
    carrying = Counter(tag for s in steps for tag in {e.tag for e in s.errors})
    kinds = Counter(len({e.tag for e in s.errors}) for s in steps if s.errors)
    alone = Counter(next(iter(tags)) for s in timed if len(tags := {e.tag for e in s.errors}) == 1)
    return {
        "mistakes": instances.total(),
        **{f"mistakes[{tag}]": n for tag, n in instances.most_common()},
        **{f"mistaken_steps[{tag}]": carrying[tag] for tag, _ in instances.most_common()},
        **{f"timed_steps_with_only[{tag}]": n for tag, n in alone.most_common()},
        **{f"steps_with_kinds[{n}]": kinds[n] for n in sorted(kinds)},
    }
