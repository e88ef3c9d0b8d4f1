"""RecipeQA: recipes with pictures, taken from the context of its questions.

Reads ``texts/<split>.json``, one document ``{version, data}`` a split whose elements are questions, and looks pictures up
under ``images/images-qa/<split>/images-qa/``. Source: Wu et al. 2022.
"""

from __future__ import annotations

import bisect
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.datasets.dataset import (
    Corrections,
    DataFile,
    Dataset,
    Log,
    Published,
    checker,
    reader,
    refuse_special,
)
from proctor.datasets.json_files import REPEATED_KEY, decode_json, read_json_document
from proctor.datasets.manual_caps import measure_manuals
from proctor.datasets.manual_parts import (
    ORDER_REASONS,
    SEMANTICS,
    BadPartError,
    Oddities,
    parse_id,
    parse_orders,
    parse_text,
    seen_as,
)
from proctor.errors import UserError
from proctor.procedure.manual import Manual, ManualSection, ManualStep
from proctor.records import read_json

__all__ = ["DATASET", "parse_stem"]

TASKS: Final = ("textual_cloze", "visual_cloze", "visual_coherence", "visual_ordering")
_SPLITS: Final = ("train", "val", "test")
_EXTENSIONS: Final = (".jpg", ".jpeg", ".png", ".gif", ".webp")

Pictures = Mapping[str, Mapping[int, list[str]]]
"""Paths by recipe and step, in the order of their number."""


class _File(msgspec.Struct):
    data: list[msgspec.Raw]


class _Head(msgspec.Struct):
    recipe_id: Any = None
    task: Any = None


def _iterate(root: Path, _: Corrections, log: Log, /, **options: str) -> Iterator[Manual]:
    DATASET.require_files(root)
    DATASET.check_options(options)
    seen: dict[str, str] = {}
    for path in sorted(
        root.glob("texts/*.json"),
        key=lambda p: (_SPLITS.index(p.stem) if p.stem in _SPLITS else len(_SPLITS), p.stem),
    ):
        yield from _iter_split(root, path, seen, log, options)


def _iter_split(
    root: Path, path: Path, seen: dict[str, str], log: Log, options: Mapping[str, str]
) -> Iterator[Manual]:
    questions = _told_apart(path, _read_questions(path, log), log)
    if not questions:
        raise UserError(
            "it holds no question that can be read.", where=str(path), hint="restore a copy of it"
        )
    listed = options.get("images", "found") == "listed"
    known = [id_ for id_, _, _ in questions]
    pictures = {} if listed else _find_pictures(root, path.stem, known, log)
    for recipe_id, number, raw in questions:
        if recipe_id in seen:
            log.counts["questions_of_a_recipe_seen"] += 1
            if seen[recipe_id] != path.stem:
                log.find("recipe-in-two-splits", recipe_id, f"in {seen[recipe_id]}, again in {path.stem}")
            continue
        manual = _parse_recipe(
            recipe_id, raw, f"{path.name} question {number}", path.stem, pictures, log, options
        )
        if manual is not None:
            seen[recipe_id] = path.stem
            log.counts["recipes"] += 1
            yield manual


def _read_questions(path: Path, log: Log) -> list[Any]:
    """Return the questions undecoded, which needs no more memory than the file has; decoded where that cannot be."""
    refuse_special(path)
    try:
        return list(read_json(path, _File).data)
    except UserError as error:
        # one NaN or half a character in some question is no reason to refuse the others
        document = read_json_document(path)
        value = document.value
        if not isinstance(value, dict) or not isinstance(value.get("data"), list):
            raise error from None
        document.tell_repeated(log, path.name)
        return list(value["data"])


def _told_apart(path: Path, questions: Iterable[Any], log: Log) -> list[tuple[str, int, Any]]:
    """Return recipe, number and the question itself (maybe undecoded) of every one that names its recipe."""
    decoder = msgspec.json.Decoder(_Head)
    found = []
    for number, raw in enumerate(questions):
        log.counts["questions"] += 1
        place = f"{path.name} question {number}"
        try:
            head = decoder.decode(raw) if isinstance(raw, msgspec.Raw) else _head(raw)
            recipe_id = parse_id(head.recipe_id, "recipe_id")
            if "/" in recipe_id or "\\" in recipe_id or recipe_id.startswith("."):
                raise BadPartError(f"recipe_id is {seen_as(recipe_id)}")
        except BadPartError as error:
            log.drop(place, "bad-id", str(error))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            log.drop(place, "bad-question", str(error)[:200])
        else:
            if head.task not in TASKS:
                log.find("unknown-task", place, seen_as(head.task))
            found.append((recipe_id, number, raw))
    return found


def _head(question: Any) -> _Head:
    if not isinstance(question, dict):
        raise msgspec.ValidationError(f"an object was expected, not {seen_as(question)}")
    return _Head(question.get("recipe_id"), question.get("task"))


# -- a recipe ----------------------------------------------------------------------------------------------------


def _parse_recipe(
    recipe_id: str,
    question: Any,
    place: str,
    split: str,
    pictures: Pictures,
    log: Log,
    options: Mapping[str, str],
) -> Manual | None:
    if isinstance(question, msgspec.Raw):
        try:
            document = decode_json(bytes(question), place)
        except UserError as error:
            log.drop(place, "bad-question", error.message)
            return None
        document.tell_repeated(log, f"{recipe_id} ({place})")
        question = document.value
    context = question.get("context")
    if not isinstance(context, list):
        log.drop(place, "bad-question", f"context is {seen_as(context)}, no list")
        return None
    odd = Oddities()
    listed = options.get("images", "found") == "listed"
    steps = _parse_steps(recipe_id, context, pictures, log, odd, listed=listed)
    if not steps:
        log.drop(recipe_id, "no-steps", f"{place}: {len(context)} in its context, none can be read")
        return None
    odd.tell(log, recipe_id)
    log.counts["steps"] += len(steps)
    log.counts["images"] += sum(len(s.images) for s in steps)
    orders = parse_orders(question.get("multiref_gt"), options.get("semantics", SEMANTICS[0]), recipe_id, log)
    return Manual(
        id=recipe_id,
        source="recipeqa",
        title=" ".join(re.split(r"[-_\s]+", recipe_id)).strip() or recipe_id,
        sections=(ManualSection(0, tuple(steps), orders),),
        attributes={"split": split},
    )


def _parse_steps(
    recipe_id: str, context: list[Any], pictures: Pictures, log: Log, odd: Oddities, *, listed: bool
) -> list[ManualStep]:
    steps: list[ManualStep] = []
    numbers: list[int] = []
    for index, value in enumerate(context):
        try:
            if not isinstance(value, dict):
                raise BadPartError(f"{seen_as(value)}, no object")
            number = _step_number(value.get("id"))
            names = _image_names(value.get("images"), odd)
            step = ManualStep(
                id=str(index),
                text=parse_text(value.get("body"), "body", odd),
                headline=parse_text(value.get("title", ""), "title", odd),
                images=tuple(names if listed else pictures.get(recipe_id, {}).get(number, ())),
            )
        except BadPartError as error:
            log.drop(f"{recipe_id} step {index}", "bad-step", str(error))
            continue
        absent = set(names) - {Path(p).name for p in step.images} if not listed else set()
        log.counts["images_missing"] += len(absent)
        if absent and pictures:
            odd.add("image-missing", f"{min(absent)} of step {number}")
        if numbers and number <= numbers[-1]:
            odd.add(
                "step-number-twice" if number in numbers else "step-numbers-unsorted",
                f"{number} after {numbers[-1]}",
            )
        numbers.append(number)
        steps.append(step)
    return steps


def _step_number(value: Any) -> int:
    if type(value) is int and 0 <= value < 10**6:
        return value
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,6}", value.strip()):
        return int(value)
    raise BadPartError(f"its id is {seen_as(value)}, no step number")


def _image_names(value: Any, odd: Oddities) -> list[str]:
    """Names that the context lists, in the order of their number."""
    if value is None:
        odd.add("missing-images", "no list of images")
        return []
    if not isinstance(value, list):
        raise BadPartError(f"images is {seen_as(value)}, no list")
    names = []
    for name in value:
        if isinstance(name, str) and name.strip() and name.isprintable() and len(name) <= 255:
            names.append(name.strip())
        else:
            odd.add("odd-image-name", seen_as(name))
    kept = [n for n in names if "/" not in n and "\\" not in n and n not in (".", "..")]
    for name in set(names) - set(kept):
        odd.add("odd-image-name", seen_as(name))
    numbered = []
    for name in dict.fromkeys(kept):
        last = name.rsplit(".", 1)[0].rsplit("_", 1)[-1]
        numbered.append((int(last) if re.fullmatch(r"[0-9]{1,9}", last) else -1, name))
    return [name for _, name in sorted(numbered)]


# -- pictures ----------------------------------------------------------------------------------------------------


def _find_pictures(root: Path, split: str, known: Iterable[str], log: Log) -> Pictures:
    """Look once through the folder of a split."""
    folder = root / "images" / "images-qa" / split / "images-qa"
    if not folder.is_dir():
        log.find("no-images", split, f"there is no folder {folder.relative_to(root)}")
        return {}
    ids = sorted(set(known))
    found: dict[str, dict[int, list[tuple[int, str]]]] = defaultdict(lambda: defaultdict(list))
    try:
        with os.scandir(folder) as entries:
            names = sorted(e.name for e in entries)
    except OSError as error:
        raise UserError(
            f"cannot be listed: {error.strerror or error}.", where=str(folder), hint="check its permissions"
        ) from None
    for name in names:
        file = Path(name)
        parsed = parse_stem(file.stem, ids) if file.suffix.lower() in _EXTENSIONS else None
        if parsed is None or not name.isprintable():
            log.counts["images_of_no_recipe"] += 1
            continue
        recipe_id, step, k = parsed
        found[recipe_id][step].append((k, str((folder / name).relative_to(root))))
    return {
        recipe_id: {step: [path for _, path in sorted(images)] for step, images in steps.items()}
        for recipe_id, steps in found.items()
    }


def parse_stem(stem: str, recipe_ids: list[str]) -> tuple[str, int, int] | None:
    """Take the name of a picture apart: ``<recipe_id>_<step>_<k>`` or ``<recipe_id>_<step>``.

    The longest known id that fits counts: recipes may be called ``soup`` and ``soup_2``.

    Args:
        stem: without its extension.
        recipe_ids: known ones, sorted.

    Returns:
        recipe, step and k (0 where there is none); None if no known recipe and numbers fit.
    """
    end = len(stem)
    while (end := stem.rfind("_", 0, end)) > 0:
        prefix = stem[:end]
        place = bisect.bisect_left(recipe_ids, prefix)
        if place < len(recipe_ids) and recipe_ids[place] == prefix:
            numbers = re.fullmatch(r"([0-9]{1,6})(?:_([0-9]{1,9}))?", stem[end + 1 :])
            if numbers is not None:
                return prefix, int(numbers[1]), int(numbers[2] or 0)
    return None


# -- the declaration -----------------------------------------------------------------------------------------------


_TABLE = "Wu et al. 2022, Table 1"
_AFTER = "the paper counts recipes and steps after its own processing, and says of what only in part"

DATASET: Final = Dataset(
    name="recipeqa",
    title="RecipeQA",
    version="1.0",
    licence="LicenseRef-RecipeQA-third-party",
    citation="Yagcioglu et al., RecipeQA: A Challenge Dataset for Multimodal Comprehension of Cooking Recipes, EMNLP 2018",
    homepage="https://hucvl.github.io/recipeqa/",
    files=(DataFile("texts/*.json", "questions with the recipe in their context, one document a split"),),
    read=reader(_iterate, kind="manuals"),
    check=checker(_iterate),
    kind="manuals",
    iterate=_iterate,
    options={"images": ("found", "listed"), "semantics": SEMANTICS},
    rules={
        **{k: v for k, v in ORDER_REASONS.items() if k != "orders-of-which-section"},
        REPEATED_KEY: "a key stands twice in one object; the first value counts.",
        "bad-id": "a question whose recipe_id is missing or cannot be an id is left out.",
        "bad-question": "a question that is no object with a context is left out; the next of its recipe counts.",
        "bad-step": "a step whose number or texts cannot be read is left out; the others keep their ids.",
        "no-steps": "a recipe without one readable step is left out.",
        "recipe-in-two-splits": "the splits should have no recipe in common; the first one found counts.",
        "unknown-task": "the task of a question is none of the four documented ones.",
        "missing-text": "a text is missing; it counts as empty.",
        "missing-images": "a step has no list of images.",
        "image-missing": "a listed image is not in the folder.",
        "odd-image-name": "a listed image has no name that a file can have.",
        "no-images": "the folder of images of a split is not there.",
        "step-number-twice": "two steps of a recipe have one number, and so the same images.",
        "step-numbers-unsorted": "the numbers of the steps do not rise; the order of the list counts.",
    },
    access="Open; texts and pictures were written and taken by users of Instructables and remain theirs.",
    seen="fields",
    notes=(
        "Built from the fields that public loaders use; no file of the release was at hand. Unknown fields are not read.",
        (
            "A record is a question, not a recipe: the first question of each `recipe_id` gives its steps, in the order of "
            "its context. The questions themselves are not read."
        ),
        "A recipe has no title of its own: the goal is the `recipe_id` in words.",
        (
            "Pictures are looked for under `images/images-qa/<split>/images-qa` by their names, `<recipe_id>_<step>_<k>`, by the "
            "longest `recipe_id` that fits and in the order of their number (10 after 2). With `images=listed` the names in "
            "the context are taken as they stand, and no folder of pictures is needed."
        ),
        "How many steps, sentences and images a sequence has is a value, Caps; see docs/manuals.md.",
    ),
    published=(
        Published("manuals", 10_063, _TABLE, _AFTER),
        Published("manuals_train", 8_032, _TABLE, _AFTER),
        Published("manuals_val", 2_031, _TABLE, _AFTER),
        Published(
            "images", 87_840, _TABLE, "all pictures of the folder or those of steps: the paper does not say"
        ),
        Published("type_token_ratio", 0.017, _TABLE, "another tokenizer", 3),
        Published("types", 91_443, _TABLE, "another tokenizer"),
        Published("tokens", 5_324_859, _TABLE, "another tokenizer"),
        Published("tokens_per_step_mean", 82.08, _TABLE, "another tokenizer", 2),
        Published("tokens_per_step_std", 84.72, _TABLE, "another tokenizer", 2),
        Published("tokens_per_step_min", 0, _TABLE),
        Published("tokens_per_step_max", 998, _TABLE, "another tokenizer"),
        Published("sentences_per_step_mean", 4.19, _TABLE, "another tokenizer", 2),
        Published("sentences_per_step_std", 4.22, _TABLE, "another tokenizer", 2),
        Published("sentences_per_step_min", 0, _TABLE),
        Published("sentences_per_step_max", 73, _TABLE, "another tokenizer"),
        Published("steps_per_task_mean", 6.45, _TABLE, _AFTER, 2),
        Published("steps_per_task_std", 2.57, _TABLE, _AFTER, 2),
        Published("steps_per_task_min", 4, _TABLE, _AFTER),
        Published("steps_per_task_max", 20, _TABLE, _AFTER),
    ),
    measure=lambda root: measure_manuals(_iterate(root, "published", Log(), images="listed")),
)
