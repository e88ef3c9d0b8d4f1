"""The data set card: ``README.md`` with the front matter that the Hugging Face Hub reads, and plain words.

Every number in it is computed. Names, titles and texts come from data sets, models and people: they are escaped for
Markdown, and for YAML they are written as JSON strings, which YAML reads as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from proctor.exam.kinds.moment_question import MOMENT
from proctor.exam.question import Item, gold_texts
from proctor.release.build import BuildRules
from proctor.release.manifest import Counts, LibraryCounts, Manifest, ReleaseInfo, Verification
from proctor.release.rows import COLUMNS, KIND_COLUMNS
from proctor.verify.adjudicate import Acceptance

__all__ = ["HUB_LICENCES", "render_card"]

HUB_LICENCES: Final = frozenset(
    [
        "apache-2.0",
        "mit",
        "bsd-2-clause",
        "bsd-3-clause",
        "cc0-1.0",
        "cc-by-4.0",
        "cc-by-sa-4.0",
        "cc-by-nc-4.0",
        "cc-by-nc-sa-4.0",
        "cc-by-nd-4.0",
        "cc-by-nc-nd-4.0",
        "odbl",
        "odc-by",
        "unlicense",
        "gpl-3.0",
        "lgpl-3.0",
        "agpl-3.0",
        "mpl-2.0",
    ]
)
"""SPDX identifiers that the Hub knows; all of them allow to pass a work on, with its licence."""
_SIZES: Final = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
)
_SAMPLES: Final = 3
_ENTITIES: Final = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


def render_card(manifest: Manifest, items: Sequence[Item], data_files: Mapping[str, str]) -> str:
    """Return the text of ``README.md``.

    Args:
        manifest: of the release.
        items: what it holds.
        data_files: paths of the rows that viewers should read, relative to the release, by kind.
    """
    parts = [
        _front_matter(manifest, data_files),
        _head(manifest),
        _table_of_counts(manifest.counts) if MOMENT in data_files else "",
        _table_of_kinds(manifest.counts),
        _library(manifest.library),
        _samples(items),
        _making(manifest),
        _verification(manifest.verification, manifest.rules),
        _meaning() if MOMENT in data_files else "",
        _limits(manifest, items),
        _use(manifest),
        _sources(manifest.info),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


# -- front matter --------------------------------------------------------------------------------------------


def _front_matter(manifest: Manifest, data_files: Mapping[str, str]) -> str:
    info, counts = manifest.info, manifest.counts
    licence = info.licence.lower()
    lines = ["---"]
    if licence in HUB_LICENCES:
        lines.append(f"license: {licence}")
    elif info.licence:
        lines += ["license: other", f"license_name: {_yaml(info.licence)}"]
    lines += ["language:", *(f"- {_yaml(language)}" for language in info.languages)]
    lines.append(f"pretty_name: {_yaml(info.title or info.name)}")
    size = next((label for limit, label in _SIZES if counts.items < limit), "n>1M")
    lines += ["size_categories:", f"- {size}"]
    lines += ["task_categories:", "- question-answering"]
    lines += ["- video-text-to-text"] if counts.recordings else []
    about = ("procedural", "task-graph", "video") if MOMENT in data_files else ()
    lines += ["tags:", *(f"- {tag}" for tag in (*about, "benchmark", "proctor")), "configs:"]
    for kind, data_file in data_files.items():
        lines += [f"- config_name: {_config(kind)}", "  data_files:"]
        lines += ["  - split: test", f"    path: {_yaml(data_file)}"]
    lines.append("dataset_info:")
    for kind, data_file in data_files.items():
        n = counts.kinds[kind].items if kind in counts.kinds else counts.items
        columns = COLUMNS if kind == MOMENT else KIND_COLUMNS
        lines += [f"{'- ' if len(data_files) > 1 else '  '}config_name: {_config(kind)}", "  features:"]
        lines += [line for name, type_ in columns.items() for line in _feature(name, type_)]
        lines += ["  splits:", "  - name: test", f"    num_bytes: {manifest.files[data_file].bytes}"]
        lines.append(f"    num_examples: {n}")
    return "\n".join([*lines, "---"])


def _config(kind: str) -> str:
    """Return the name under which ``datasets`` loads a kind's rows."""
    return "default" if kind == MOMENT else kind


def _feature(name: str, kind: str) -> list[str]:
    if kind == "list":
        return [f"  - name: {name}", "    list: string"]
    if kind == "lists":
        return [f"  - name: {name}", "    list:", "      list: string"]
    return [f"  - name: {name}", f"    dtype: {kind}"]


def _yaml(text: str) -> str:
    """Write a string that YAML and JSON read the same way: one line, no control characters."""
    return json.dumps("".join(c if c.isprintable() else " " for c in text), ensure_ascii=False)


# -- prose ---------------------------------------------------------------------------------------------------


def _md(text: str, limit: int = 300) -> str:
    """Show untrusted text as text: one line, nothing in it is Markdown or HTML."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    line = line if len(line) <= limit else line[: limit - 1] + "…"
    return re.sub(r"[\\`*_{}\[\]|~$<>&#]", lambda match: _ENTITIES.get(match[0], f"\\{match[0]}"), line)


def _head(manifest: Manifest) -> str:
    info, counts = manifest.info, manifest.counts
    about = (
        _md(info.summary, 1000)
        if info.summary
        else "Questions and their answers."
        if counts.kinds
        else "Questions about the state of a task that is under way."
    )
    facts = [
        f"version {_md(info.version)}",
        f"licence {_md(info.licence) or 'not stated'}",
        f"signature `{manifest.signature}`",
        *([_md(info.date)] if info.date else []),
    ]
    if counts.kinds:
        kinds = ", ".join(f"{n.items:,} of the kind {_md(kind)}" for kind, n in counts.kinds.items())
        return (
            f"# {_md(info.title or info.name)}\n\n{about}\n\n{counts.items:,} questions with {counts.golds:,} gold answers: {kinds}.\n\n"
            + " · ".join(facts)
        )
    return (
        f"# {_md(info.title or info.name)}\n\n{about}\n\n"
        f"{counts.items:,} questions with {counts.golds:,} gold answers about {counts.recordings:,} recordings of "
        f"{counts.activities:,} {_plural(counts.activities, 'activity', 'activities')}. "
        "Each is asked at one moment of a recording; only what happened up to that moment may be used.\n\n"
        + " · ".join(facts)
    )


def _plural(n: int, one: str, many: str) -> str:
    return one if n == 1 else many


def _table_of_counts(counts: Counts) -> str:
    rows = [f"| {_md(kind)} | {n:,} |" for kind, n in counts.by_type.items()]
    mean = counts.golds / counts.items if counts.items else 0.0
    words = {"machine": "the generator", "annotator": "an annotator", "adjudicator": "an adjudicator"}
    writers = ", ".join(f"{words.get(k, _md(k))} ({n:,})" for k, n in counts.golds_by_source.items())
    kinds = (
        f"{counts.clean:,} questions are *clean* (no earlier step went wrong in a way that matters), "
        f"{counts.noisy:,} are *noisy*. On average a question has {mean:.2f} gold answers; "
        f"{writers or 'nobody'} wrote them."
    )
    return "\n".join(
        [
            "## What is in it",
            "",
            "| question type | questions |",
            "|---|---:|",
            *rows,
            f"| **all** | **{sum(counts.by_type.values()):,}** |",
            "",
            kinds,
        ]
    )


def _table_of_kinds(counts: Counts) -> str:
    if not counts.kinds:
        return ""
    lines = ["## By kind", "", "| kind | facet | value | questions |", "|---|---|---|---:|"]
    for kind, there in counts.kinds.items():
        lines.append(f"| {_md(kind)} | all | | {there.items:,} |")
        for facet, values in there.facets.items():
            lines += [f"| {_md(kind)} | {_md(facet)} | {_md(value)} | {n:,} |" for value, n in values.items()]
    return "\n".join(lines)


def _library(library: LibraryCounts | None) -> str:
    if library is None:
        return ""
    lines = ["## What questions are about", ""]
    for counts, what in (
        (library.sources, "in `sources.jsonl`"),
        (library.named, "named there without their content"),
    ):
        if counts:
            licences = ", ".join(f"{_md(licence)} ({n:,})" for licence, n in counts.items())
            lines.append(f"- {sum(counts.values()):,} sources are {what}; licences: {licences}.")
    if library.pictures:
        lines.append(f"- {library.pictures:,} pictures are in `pictures/`.")
    return "\n".join(lines)


def _samples(items: Sequence[Item]) -> str:
    shown = _spread(items)
    if not shown:
        return ""
    lines = ["## A few of them", "", "| type | question | gold answers |", "|---|---|---|"]
    for item in shown:
        golds = "<br>".join(map(_md, gold_texts(item)[:3]))
        lines.append(f"| {_md(_label(item))} | {_md(item.question.text)} | {golds} |")
    return "\n".join(lines)


def _spread(items: Sequence[Item]) -> list[Item]:
    """Pick the first item of each of the first types that occur."""
    first: dict[str, Item] = {}
    for item in items:
        first.setdefault(_label(item), item)
    return list(first.values())[:_SAMPLES]


def _label(item: Item) -> str:
    """Return the type of a question about a moment, of others the kind."""
    question = item.question
    return question.facets["type"] if question.kind == MOMENT else question.kind


def _making(manifest: Manifest) -> str:
    made = [
        f"- {g['items']} by {_md(g['generator'])} {_md(g['version'])}"
        + (f" with the model {_md(g['model'])}" if g["model"] else "")
        for g in manifest.generators
    ]
    dropped = ", ".join(f"{_md(reason)} {n:,}" for reason, n in manifest.counts.dropped.items())
    lines = ["## How it was made", ""]
    if manifest.counts.by_type:
        lines.append(
            "Moments were derived from step annotations and task graphs; the facts that decide an answer"
        )
        lines.append(
            "(what is done, missing, next, out of order) are computed, not judged. The questions come from:"
        )
    else:
        lines.append("The questions come from:")
    lines += ["", *(made or ["- an unknown generator"])]
    if dropped:
        lines += ["", f"Left out while building, by reason: {dropped}."]
    return "\n".join(lines)


def _verification(verified: Verification, rules: BuildRules) -> str:
    lines = ["## How it was verified", ""]
    who = ", ".join(f"{n} {_kind(kind, n)}" for kind, n in verified.annotators.items())
    if verified.candidates:
        lines.append(f"{verified.candidates:,} candidates were judged by {who or 'nobody'}.")
    else:
        lines.append(
            "The verdicts behind this release were not given to its builder; nothing is known of them."
        )
    if verified.answer_agreement is not None:
        value, low, high, n = verified.answer_agreement
        kappa = f", Cohen's kappa {verified.kappa:.2f}" if verified.kappa is not None else ""
        lines.append(
            f"People who judged the same generated answer agreed on {value:.3f} of {n:,} "
            f"(95 % interval {low:.3f} to {high:.3f}{kappa})."
        )
    if verified.question_agreement is not None:
        value, low, high, n = verified.question_agreement
        lines.append(f"On questions they agreed on {value:.3f} of {n:,} ({low:.3f} to {high:.3f}).")
    if verified.oracle_confidence is not None:
        lowest, median, n = verified.oracle_confidence
        lines.append(
            f"The task-graph oracle approved {n:,} answers; its confidence was {lowest:.2f} at least and "
            f"{median:.2f} in the median."
        )
    lines += ["", f"The rules of entry (`{_md(rules.name)}`):", "", *_rules(rules)]
    return "\n".join(lines)


def _kind(kind: str, n: int) -> str:
    names = {"human": ("person", "people"), "model": ("model", "models"), "oracle": ("oracle", "oracles")}
    return _plural(n, *names.get(kind, (kind, kind)))


def _rules(rules: BuildRules) -> Iterable[str]:
    yield f"- a question is accepted when {_acceptance(rules.question)};"
    yield f"- an answer is accepted when {_acceptance(rules.answers)};"
    yield {
        "adjudicate": "- what stays open waits for an adjudicator, whose word is final;",
        "drop": "- what stays open is left out;",
    }[rules.conflict]
    yield {
        "adjudicate": "- answers that annotators wrote are judged by an adjudicator;",
        "accept": "- answers that annotators wrote are accepted;",
        "ignore": "- answers that annotators wrote are not used;",
    }[rules.own_answers]
    if rules.every_answer:
        yield "- a question goes when any of its answers goes;"
    yield f"- a question needs {max(1, rules.minimum_golds)} accepted answers at least."


def _acceptance(rule: Acceptance) -> str:
    quorum = {
        "all": "everybody asked agrees",
        "any": "anybody asked accepts it",
        "majority": "more than half of those who are sure accept it",
    }[rule.quorum]
    who = " or ".join(_kind(kind, 2) for kind in rule.by)
    sure = f", with a confidence of {rule.min_confidence:g} or more" if rule.min_confidence else ""
    least = f", {rule.at_least} of them at least" if rule.at_least > 1 else ""
    return f"{quorum} ({who}{least}{sure})"


def _meaning() -> str:
    return "\n".join(
        [
            "## What a score means",
            "",
            "A judge compares a prediction with every gold answer and takes the best match: 2 for a match, 1 for a",
            "partial one, 0 otherwise. The score is the mean times 50, from 0 to 100. It says how often the",
            "predictor says what this release accepts, as marked by that judge: quote the judge, its version and",
            "its calibration, the signature of this release, the interval (drawn over recordings, since questions",
            "about one recording are not independent) and the number of predictions that failed or were not",
            "scored. Compare two systems on the same questions, in pairs. Report the floors (a constant answer for",
            "each type, and a predictor that sees the instructions but no recording) beside every score.",
            "",
            "The columns `facts`, `current_step`, `previous_steps`, `state` and `noisy` come from the annotations.",
            "Showing them, or any later part of the recording, to a predictor makes its score meaningless.",
        ]
    )


def _limits(manifest: Manifest, items: Sequence[Item]) -> str:
    lines = ["## Limits", ""]
    missing = [item for item in items if _label(item) == "missing"]
    no = sum(any(_says(text, "no") for text in gold_texts(item)) for item in missing)
    both = sum(
        any(_says(t, "yes") for t in gold_texts(item)) and any(_says(t, "no") for t in gold_texts(item))
        for item in items
    )
    if missing:
        lines.append(
            f"- Of {len(missing):,} questions about missing steps, {no:,} accept an answer that says no."
        )
    lines.append(f"- {both:,} questions accept both an answer that says yes and one that says no.")
    few = [kind for kind, n in manifest.counts.by_type.items() if n < 30]
    if few:
        lines.append(f"- Types with fewer than 30 questions, too few for scores of their own: {_join(few)}.")
    lines.append(f"- The language is {_join(manifest.info.languages)}; nothing is known about others.")
    if manifest.counts.recordings:
        lines.append("- The recordings are not part of the release; `video_id` names them in their source.")
    lines.append("- Gold answers are what was proposed and accepted; other right answers may exist.")
    lines += [f"- {_md(limit)}" for limit in manifest.info.limits]
    return "\n".join(lines)


def _says(text: str, word: str) -> bool:
    return re.match(rf"\W*{word}\b", text, re.IGNORECASE) is not None


def _join(words: Iterable[str]) -> str:
    return ", ".join(_md(word) for word in words)


def _use(manifest: Manifest) -> str:
    files = (
        "`graphs.json` holds the task graphs, `manifest.json` hashes, counts and rules. "
        f"Built by Proctor {_md(manifest.proctor)}."
    )
    return "\n".join(
        [
            "## Use",
            "",
            "```python",
            "from proctor.release.folder import load_benchmark",
            'benchmark = load_benchmark("path/to/this/folder")  # checks every hash',
            "```",
            "",
            "```python",
            "from datasets import load_dataset",
            'rows = load_dataset("path/to/this/folder", split="test")',
            "```",
            "",
            files,
        ]
    )


def _sources(info: ReleaseInfo) -> str:
    lines = ["## Sources and citation", ""]
    for source in info.sources:
        parts = [source.title or source.name, source.version, source.licence, source.homepage]
        lines.append("- " + ", ".join(_md(part) for part in parts if part))
        if source.citation:
            lines.append(f"  Cite: {_md(source.citation, 1000)}")
    if info.citation:
        lines += ["", f"Cite this benchmark: {_md(info.citation, 1000)}"]
    return "\n".join(lines) if len(lines) > 2 else ""
