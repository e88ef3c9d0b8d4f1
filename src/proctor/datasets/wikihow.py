"""WikiHow with pictures: articles of sections of steps, and their categories.

Reads ``articles*.jsonl`` line by line, and ``categories.jsonl``, of which the distinct paths are kept. Source: Wu et al. 2022.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from proctor.datasets.dataset import Corrections, DataFile, Dataset, Log, Published, checker, reader
from proctor.datasets.json_files import LONG_LINE, REPEATED_KEY
from proctor.datasets.manual_caps import measure_manuals
from proctor.datasets.manual_parts import (
    ORDER_REASONS,
    SEMANTICS,
    BadPartError,
    Oddities,
    is_file,
    iter_objects,
    parse_id,
    parse_orders,
    parse_text,
    safe_path,
    seen_as,
)
from proctor.errors import UserError
from proctor.procedure.manual import Manual, ManualSection, ManualStep

__all__ = ["DATASET"]

_CATEGORIES: Final = "categories.jsonl"
_IMAGE_KEYS: Final = ("image-large", "image-src-1")
"""Of an asset, the preferred one first."""
_HOST: Final = "www.wikihow.com"
_HELD_OUT: Final = ("golden", "test", "dev", "val")

Path_ = tuple[str, ...]


def _iterate(root: Path, _: Corrections, log: Log, /, **options: str) -> Iterator[Manual]:
    DATASET.require_files(root)
    DATASET.check_options(options)
    pictures = _Pictures.of(root, log, listed=options.get("images", "found") == "listed")
    categories = _read_categories(root / _CATEGORIES, log)
    semantics = options.get("semantics", SEMANTICS[0])
    seen: set[str] = set()
    # what is held out comes first: an article of two splits, which counts once, is not trained on
    for path in sorted(
        root.glob("articles*.jsonl"),
        key=lambda p: ((*_HELD_OUT, _split_of(p)).index(_split_of(p)), p.name),
    ):
        before = len(seen)
        split = _split_of(path)
        for number, value in iter_objects(path, log):
            manual = _parse_article(
                value, f"{path.name}:{number}", split, categories, pictures, log, semantics
            )
            if manual is None:
                continue
            if manual.id in seen:
                log.drop(f"{path.name}:{number}", "duplicate-id", f"{seen_as(manual.id)} was read before")
                continue
            seen.add(manual.id)
            _count(manual, log)
            yield manual
        if len(seen) == before:
            reasons = ", ".join(f"{n} {reason}" for reason, n in log.reasons.most_common(5))
            raise UserError(
                f"it holds no article that can be read{f' (left out: {reasons})' if reasons else ''}.",
                where=str(path),
                hint="one JSON object a line was expected, with url and sections",
            )


def _split_of(path: Path) -> str:
    return path.stem.removeprefix("articles").strip("-_.")


def _count(manual: Manual, log: Log) -> None:
    log.counts["articles"] += 1
    log.counts["sections"] += len(manual.sections)
    log.counts["steps"] += sum(len(s.steps) for s in manual.sections)
    log.counts["images"] += sum(len(step.images) for s in manual.sections for step in s.steps)


# -- categories ------------------------------------------------------------------------------------------------


def _read_categories(path: Path, log: Log) -> Mapping[str, tuple[Path_, ...]] | None:
    """Return the paths from the root by url; None where there is no such file."""
    if not path.exists() and not path.is_symlink():
        return None
    found: dict[str, tuple[Path_, ...]] = {}
    shared: dict[tuple[Path_, ...], tuple[Path_, ...]] = {}
    for number, value in iter_objects(path, log):
        try:
            url = parse_id(value.get("url"), "url")
            names = _category_names(value.get("categories"))
        except BadPartError as error:
            log.drop(f"{path.name}:{number}", "bad-category", str(error))
            continue
        paths = found.get(url, ())
        if names in paths:
            log.find("category-twice", f"{path.name}:{number}", seen_as(url))
            continue
        paths = (*paths, names)
        found[url] = shared.setdefault(paths, paths)
    return found


def _category_names(value: Any) -> Path_:
    if not isinstance(value, list) or not value:
        raise BadPartError(f"categories is {seen_as(value)}, no list of names")
    return tuple(
        parse_id(entry.get("category title") if isinstance(entry, dict) else entry, "category title")
        for entry in value
    )


# -- an article ------------------------------------------------------------------------------------------------


def _parse_article(
    value: Mapping[str, Any],
    place: str,
    split: str,
    categories: Mapping[str, tuple[Path_, ...]] | None,
    pictures: _Pictures,
    log: Log,
    semantics: str,
) -> Manual | None:
    odd = Oddities()
    try:
        url = parse_id(value.get("url"), "url")
        title = parse_text(value.get("title"), "title", odd)
        summary = parse_text(value.get("summary"), "summary", odd)
        raw = value.get("sections")
        if not isinstance(raw, list):
            raise BadPartError(f"sections is {seen_as(raw)}, no list")
    except BadPartError as error:
        log.drop(place, "bad-article", str(error))
        return None
    sections = [
        s for i, v in enumerate(raw) if (s := _parse_section(v, url, i, pictures, log, odd)) is not None
    ]
    if not sections:
        log.drop(url, "no-sections", f"{place}: {len(raw)} sections, none that can be read")
        return None
    if categories is not None and url not in categories:
        odd.add("no-category", f"{_CATEGORIES} does not name it")
    odd.tell(log, url)
    return Manual(
        id=url,
        source="wikihow",
        title=title,
        sections=_with_orders(sections, len(raw), value.get("multiref_gt"), url, log, semantics),
        summary=summary,
        url=url,
        category_paths=(categories or {}).get(url, ()),
        attributes={"split": split} if split else {},
    )


def _with_orders(
    sections: list[ManualSection], sections_in_all: int, value: Any, url: str, log: Log, semantics: str
) -> tuple[ManualSection, ...]:
    """Give the orders of the article to its section; with several sections nobody can tell to which."""
    if value is None:
        return tuple(sections)
    if sections_in_all > 1:
        log.drop(url, "orders-of-which-section", f"multiref_gt of {sections_in_all} sections")
        return tuple(sections)
    only = sections[0]
    return (ManualSection(only.index, only.steps, parse_orders(value, semantics, url, log)),)


def _parse_section(
    value: Any, url: str, index: int, pictures: _Pictures, log: Log, odd: Oddities
) -> ManualSection | None:
    place = f"{url} section {index}"
    raw = value.get("steps") if isinstance(value, dict) else None
    if not isinstance(raw, list):
        log.drop(
            place,
            "bad-section",
            f"its steps are {seen_as(raw if isinstance(value, dict) else value)}, no list",
        )
        return None
    steps = []
    for number, entry in enumerate(raw):
        try:
            steps.append(_parse_step(entry, number, pictures, log, odd))
        except BadPartError as error:
            log.drop(f"{place} step {number}", "bad-step", str(error))
    if not steps:
        odd.add("empty-section", f"section {index}: {len(raw)} steps, none that can be read")
    return ManualSection(index, tuple(steps))


def _parse_step(value: Any, number: int, pictures: _Pictures, log: Log, odd: Oddities) -> ManualStep:
    if not isinstance(value, dict):
        raise BadPartError(f"it is {seen_as(value)}, no object")
    body = value.get("step_text")
    if body is None:
        odd.add("missing-text", "no step_text")
        body = {"text": "", "bullet_points": []}
    if not isinstance(body, dict):
        raise BadPartError(f"step_text is {seen_as(body)}, no object")
    points = body.get("bullet_points")
    if points is None:
        odd.add("missing-bullets", "no bullet_points")
        points = []
    if not isinstance(points, list):
        raise BadPartError(f"bullet_points is {seen_as(points)}, no list")
    return ManualStep(
        id=str(number),
        text=parse_text(body.get("text"), "text", odd),
        headline=parse_text(value.get("step_headline"), "step_headline", odd),
        bullets=tuple(parse_text(point, "bullet point", odd) for point in points),
        images=pictures.of_step(value.get("step_assets"), log, odd),
    )


# -- pictures ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Pictures:
    """Looks pictures up.

    Attributes:
        root: of the data set.
        bases: folders in which stored paths begin, relative to the root.
        listed: stored paths are taken as they stand.
    """

    root: Path
    bases: tuple[str, ...]
    listed: bool

    @classmethod
    def of(cls, root: Path, log: Log, *, listed: bool) -> _Pictures:
        bases: tuple[str, ...] = ()
        if not listed:
            if any(p.is_dir() for p in root.iterdir() if not p.name.endswith(".jsonl")):
                bases = ("", "images/")
            else:
                log.find("no-images", root.name or str(root), "there is no folder of images")
        return cls(root, bases, listed)

    def of_step(self, assets: Any, log: Log, odd: Oddities) -> tuple[str, ...]:
        """Return the path of the step's picture; none where it has none or its file is missing."""
        if not assets:
            if assets is not None and assets not in ({}, [], ""):
                odd.add("odd-assets", f"step_assets is {seen_as(assets)}")
            return ()
        if not isinstance(assets, dict):
            odd.add("odd-assets", f"step_assets is {seen_as(assets)}")
            return ()
        stored = []
        for key in _IMAGE_KEYS:
            path = assets.get(key)
            if not path:
                continue
            try:
                if not isinstance(path, str):
                    raise BadPartError(f"the path of an image is {seen_as(path)}")
                stored.append(safe_path(path))
            except BadPartError as error:
                odd.add("odd-assets", f"{key}: {error}")
        return self._found(stored, log, odd)

    def _found(self, stored: list[str], log: Log, odd: Oddities) -> tuple[str, ...]:
        if not stored:
            return ()
        if self.listed:
            return (stored[0],)
        for path in stored:
            for candidate in _variants(path):
                for base in self.bases:
                    if is_file(f"{self.root}/{base}{candidate}"):
                        return (base + candidate,)
        log.counts["images_missing"] += 1
        if self.bases:
            odd.add("image-missing", seen_as(stored[0], 200))
        return ()


def _variants(path: str) -> tuple[str, ...]:
    """Return the path as stored, and with and without the folder of the host."""
    head, _, rest = path.partition("/")
    if head.startswith("www.") and rest:
        return path, rest, f"{head.removeprefix('www.')}/{rest}"
    if head == _HOST.removeprefix("www.") and rest:
        return path, rest, f"www.{path}"
    return path, f"{_HOST}/{path}"


# -- the declaration -----------------------------------------------------------------------------------------------


_TABLE = "Wu et al. 2022, Table 1"
_TOKENS = "another tokenizer"

DATASET: Final = Dataset(
    name="wikihow",
    title="WikiHow with pictures",
    version="1.0",
    licence="CC-BY-NC-SA-3.0",
    citation="Wu et al., Understanding Multimodal Procedural Knowledge by Sequencing Multimodal Instructional Manuals, ACL 2022",
    homepage="https://github.com/telin0411/multimodal_sequencing",
    files=(
        DataFile("articles*.jsonl", "articles, one a line; articles-train.jsonl gives them the split train"),
        DataFile(_CATEGORIES, "paths of categories, one a line, joined by url", required=False),
    ),
    read=reader(_iterate, kind="manuals"),
    check=checker(_iterate),
    kind="manuals",
    iterate=_iterate,
    options={"images": ("found", "listed"), "semantics": SEMANTICS},
    rules={
        **ORDER_REASONS,
        REPEATED_KEY: "a key stands twice in one object; the first value counts.",
        "bad-line": "a line that is no JSON object is left out.",
        LONG_LINE: "a line of more than 64 MB is left out.",
        "bad-article": "an article without a usable url, or with texts or sections of another type, is left out.",
        "duplicate-id": "the url of an article was read before; the first counts. Files are read in the order "
        "golden, test, dev, val, others, so that an article of two splits is not trained on.",
        "bad-section": "a section whose steps are no list is left out; the others keep their numbers.",
        "empty-section": "a section has no step that can be read.",
        "bad-step": "a step whose texts cannot be read is left out; the others keep their ids.",
        "no-sections": "an article without a readable section is left out.",
        "bad-category": "a line of categories without url or names is left out.",
        "category-twice": "an article is twice in one category; once counts.",
        "no-category": "the file of categories does not name the article.",
        "missing-text": "a text is missing; it counts as empty.",
        "missing-bullets": "a step has no list of bullet points.",
        "odd-assets": "the images of a step are no paths that a folder can hold; the step has none.",
        "image-missing": "the file of an image is not there; the step has none.",
        "no-images": "there is no folder of images; no step has one.",
    },
    access="Texts and pictures were written and drawn by users and staff of wikiHow, for use that earns nothing.",
    seen="fields",
    notes=(
        (
            "Built from the fields that the released loader uses; no file of the release was at hand. The names of the files "
            "are ours: call the articles `articles.jsonl`, or one file a split, `articles-<split>.jsonl`, and the categories "
            "`categories.jsonl`. Unknown fields are not read."
        ),
        (
            "A section (method or part) is a sequence of its own, `<url>###<section>`. Its text is the body and the bullet points "
            "without the headline; that is a choice of Caps, see docs/manuals.md."
        ),
        (
            "A path of an image is looked for as stored, with and without the folder `www.wikihow.com`, in the data set's folder "
            "and in its folder images. The large image is preferred, then the other. A missing file is counted, and the step "
            "has no image. With `images=listed` the paths are taken as they stand."
        ),
        (
            "Of a path of categories index 0 is the root, 1 the top level and 3 the third level; of a shorter one the last "
            "name counts, and articles in the root alone are Others."
        ),
        "The published counts of top categories sum to 96,521, not to the 109,486 articles; nobody has said why.",
    ),
    published=(
        Published("manuals", 109_486, _TABLE),
        Published("manuals_train", 98_268, _TABLE),
        Published(
            "manuals_dev",
            11_218,
            _TABLE,
            "train and dev are all articles: the golden ones are in dev or not counted",
        ),
        Published("manuals_golden", 300, _TABLE),
        Published("images", 1_521_909, _TABLE),
        Published("type_token_ratio", 0.0026, _TABLE, _TOKENS, 4),
        Published("types", 216_434, _TABLE, _TOKENS),
        Published("tokens", 82_396_591, _TABLE, _TOKENS),
        Published("tokens_per_step_mean", 52.95, _TABLE, _TOKENS, 2),
        Published("tokens_per_step_std", 26.25, _TABLE, _TOKENS, 2),
        Published("tokens_per_step_min", 0, _TABLE),
        Published("tokens_per_step_max", 5_339, _TABLE, _TOKENS),
        Published("sentences_per_step_mean", 3.36, _TABLE, _TOKENS, 2),
        Published("sentences_per_step_std", 1.3, _TABLE, _TOKENS, 1),
        Published("sentences_per_step_min", 0, _TABLE),
        Published("sentences_per_step_max", 50, _TABLE, _TOKENS),
        Published("steps_per_task_mean", 5.27, _TABLE, "a task is a section", 2),
        Published("steps_per_task_std", 2.62, _TABLE, "a task is a section", 2),
        Published("steps_per_task_min", 0, _TABLE),
        Published("steps_per_task_max", 75, _TABLE),
    ),
    measure=lambda root: measure_manuals(
        _iterate(root, "published", Log(sink=lambda _: None), images="listed")
    ),
)
