"""The cells that are played again: what is typed today, and which files then say what came of it.

``tests/golden/stored/<store>/workspace.zip`` is a workspace of the old code after all its cells; ``results/<cell>/`` holds the
files of each cell as the old code wrote them. A change of commands or of file names changes this module and nothing that is
stored.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Final, NamedTuple

__all__ = ["CELLS", "Cell"]


PUBLISHED_LIMITS: Final = ("--reply-tokens", "published")
"""Family "limits of replies" (issue 15): by default every call of a model has at least 4,096 tokens for its reply, so the key of
each differs from the stored one in ``max_tokens`` alone. With the limits of the protocols said, all keys are the stored ones."""
ASKING: Final = (
    "predict",
    "judge",
    "generate",
    "verify",
    "filter",
    "choices",
    "corpus",
    "retrieve",
    "experiment",
)
"""Commands that ask models."""


class Cell(NamedTuple):
    """One way of asking, answering or marking.

    Attributes:
        name: of its folder.
        typed: commands after ``proctor``, separated by semicolons; ``{w}`` is the workspace.
        results: glob patterns in the workspace of what they write.
    """

    name: str
    typed: str
    results: tuple[str, ...]

    def commands(self, workspace: object) -> list[list[str]]:
        """Return the arguments of each command."""
        parts = [shlex.split(part.format(w=workspace)) for part in self.typed.split(";")]
        return [[*part, *PUBLISHED_LIMITS] if part[0] in ASKING else part for part in parts]


def _predict(run: str, model: str, show: str) -> Cell:
    videos = " --videos {w}/videos" if show.split(":")[0] in ("frames", "video", "captions") else ""
    typed = f"predict {{w}} -p {model} --run {run} --show {show}{videos}"
    return Cell(run, typed, (f"runs/{run}/predictions.jsonl", f"runs/{run}/run.json"))


def _judge(name: str, model: str, how: str) -> Cell:
    runs = ("recipe", "frames-uniform")
    typed = f"judge {{w}} --judge {model} {how} " + " ".join(f"-r {run}" for run in runs)
    return Cell(f"judge-{name}", typed, tuple(f"runs/{run}/judgements.jsonl" for run in runs))


def _generate(name: str, how: str) -> Cell:
    # Everything is typed out, for a workspace remembers what was typed last.
    usual = "--generator openai/gpt-4o --sample quota --examples 6 --template excerpt-steps --form text --pairs 3 --seed 4"
    typed = f"generate {{w}} {usual} {how}"
    return Cell(f"generate-{name}", typed, ("candidates.jsonl", "generate.dropped.jsonl"))


_FRAMES: Final = "--frames 3 --height 48 --videos {w}/videos"
_4O, _CLAUDE, _GEMINI = "openai/gpt-4o", "anthropic/claude-sonnet-4-5", "google/gemini-2.0-flash"

_VOTERS: Final = f"-a {_4O} -a {_GEMINI} -a {_CLAUDE}"
_FILTERS: Final = ("filters.jsonl", "filters.json", "filters.dropped.jsonl", "open.jsonl", "training.jsonl")
_CHOICES: Final = ("choices.jsonl", "choices.json", "choices.attempts.jsonl", "choices.dropped.jsonl")
_RUNS: Final = ("runs/*/*.json", "runs/*/predictions.jsonl", "runs/*/judgements/*.jsonl")
_FLOORS: Final = (
    "build {w};predict {w} --kind clip --form choice;"
    "score {w} -r clip-choice-chance -r clip-choice-longest-option -r clip-choice-most-frequent-letter"
)


_MOMENT: Final = (
    Cell("floors", "predict {w}", ("runs/*/predictions.jsonl", "runs/*/run.json")),
    _predict("question", _4O, "question"),
    _predict("recipe", _CLAUDE, "recipe"),
    Cell(
        "own-prompts",
        f"predict {{w}} -p {_4O} --run own-prompts --show recipe --prompts {{w}}/prompts;"
        f"judge {{w}} --judge {_4O} --scale binary --context none -r own-prompts --prompts {{w}}/prompts",
        ("runs/own-prompts/*.json*",),
    ),
    _predict("frames-published", _GEMINI, "frames:4@48p:published"),
    _predict("frames-uniform", _4O, "frames:5@32p:uniform"),
    _predict("frames-fps", _CLAUDE, "frames:7@48p:fps"),
    _predict("frames-steps", _4O, "frames:4@48p:steps"),
    _predict("frames-shrunk", "anthropic/claude-sonnet-4-5", "frames:120@16p:fps"),
    Cell(
        "frames-skipped",
        f"predict {{w}} -p {_GEMINI} --run frames-skipped --show frames:2@16p:uniform --videos {{w}}/some-videos",
        ("runs/frames-skipped/predictions.jsonl", "runs/frames-skipped/run.json"),
    ),
    _predict("video", _GEMINI, "video:48p"),
    _predict("captions", f"{_4O} --captioner {_CLAUDE}", "captions:3@48p:uniform"),
    Cell("choices", f"choices {{w}} --on items -w {_4O} {_VOTERS} --typed 2 --attempts 4 --seed 3 --limit 8", _CHOICES),
    Cell("options-floors", _FLOORS, _RUNS),
    Cell(
        "options-question",
        f"predict {{w}} -p {_4O} --run options --kind clip --form choice --show question;score {{w}} -r options",
        _RUNS,
    ),
    Cell("judge-rules", "judge {w}", ("runs/*/judgements.jsonl",)),
    Cell(
        "score-rules",
        "score {w} --resamples 300 -r constant -r annotations -r captions -r frames-steps",
        ("runs/*/scores.json", "comparisons.json"),
    ),
    _judge("binary", _4O, "--scale binary --context none"),
    _judge("binary-recipe", _4O, "--scale binary --context recipe"),
    _judge("binary-step", _GEMINI, "--scale binary --context step"),
    _judge("ternary", _CLAUDE, "--context none"),
    _judge("ternary-recipe", _4O, "--context recipe"),
    _judge("ternary-step-mistakes", _4O, "--mistakes"),
    _judge("ternary-step-json", _GEMINI, "--form json"),
    _judge("binary-json", _4O, "--scale binary --context none --form json"),
    _judge("ternary-step", _4O, "--repeats 3"),
    Cell("calibrate", "calibrate {w} --human {w}/marks.csv --resamples 300", ("calibration.json",)),
    Cell(
        "score-judge",
        "score {w} --resamples 300 -r recipe -r frames-uniform",
        ("runs/recipe/scores.json", "runs/frames-uniform/scores.json", "comparisons.json"),
    ),
)  # fmt: skip

_ASKING: Final = (
    _generate("excerpt-steps", ""),
    _generate("dot-steps", "--template dot-steps --pairs 5"),
    _generate("dot-excerpt-steps", "--template dot-excerpt-steps --form json"),
    _generate("excerpt-steps-mistakes", "--template excerpt-steps-mistakes"),
    _generate("excerpt-current", "--template excerpt-current --sample published"),
    _generate("image-steps", "--template image-steps"),
    _generate("dot-frames", f"--template dot-frames {_FRAMES}"),
    _generate("image-frames", f"--template image-frames {_FRAMES} --sampling uniform"),
    _generate("excerpt-frames", f"--template excerpt-frames {_FRAMES} --sampling fps"),
    _generate("excerpt-frames-steps", f"--template excerpt-frames-steps {_FRAMES}"),
    Cell("generate-rules", "generate {w} --generator rules --sample quota --examples 12 --per-example 2 --seed 4", ("candidates.jsonl",)),
    Cell(
        "generate-both",
        f"generate {{w}} --generator rules --generator {_CLAUDE} --examples 8 --per-example 1 --template excerpt-steps --seed 4",
        ("candidates.jsonl", "generate.dropped.jsonl"),
    ),
    Cell("filter", f"filter {{w}} --on candidates -j {_CLAUDE} {_VOTERS} --limit 6 --seed 3", ("filters.jsonl", "filters.json", "filters.dropped.jsonl")),
    Cell("verify-oracle", "verify {w}", ("verdicts.jsonl",)),
    Cell("verify-text", f"verify {{w}} --verifier {_4O}", ("verdicts.jsonl",)),
    Cell("verify-json", f"verify {{w}} --verifier {_CLAUDE} --form json", ("verdicts.jsonl",)),
    Cell("verify-frames", f"verify {{w}} --verifier {_GEMINI} {_FRAMES}", ("verdicts.jsonl",)),
    *(
        Cell(f"build-{accept}", f"build {{w}} --accept {accept} --min-confidence 0.5", ("items.jsonl", "build.dropped.jsonl"))
        for accept in ("oracle", "models", "any", "all", "majority")
    ),
)  # fmt: skip

_PEOPLE: Final = (
    Cell("export-rows", "studio export {w} rows {w}/export.rows.jsonl", ("export.rows.jsonl",)),
    Cell("export-published", "studio export {w} published {w}/export.published.json", ("export.published.json",)),
    # Filters judge questions alone: no rule but "humans" and "oracle" can read a store with their verdicts at 1be867d.
    Cell("build-humans", "build {w} --accept humans --min-confidence 0.5", ("items.jsonl", "build.dropped.jsonl")),
    Cell("release", "build {w} --accept humans", ("items.jsonl", "release/data/test.jsonl", "release/graphs.json")),
)  # fmt: skip

_PAIRS: Final = ("pairs.jsonl", "pairs.json", "pairs.dropped.jsonl", "clips.jsonl", "clips.dropped.jsonl")


def _answer(name: str, model: str, show: str, how: str = "", judge: str = "") -> Cell:
    typed = f"build {{w}};predict {{w}} -p {model} --run {name} --kind clip --show {show} --videos {{w}}/videos {how}"
    typed += f" --form open;judge {{w}} -r {name} -j {judge}" if judge else " --form choice"
    return Cell(name, f"{typed};score {{w}} -r {name}", _RUNS)


_CLIPS: Final = (
    Cell("pairs", f"generate clip {{w}} -g {_4O} --data {{w}}/data --dataset steps --total 26 --seed 3", _PAIRS),
    Cell("filter-votes", f"filter {{w}} -j {_4O} -j {_GEMINI} -j {_CLAUDE} {_VOTERS} --votes 3 --only tricky --seed 3", _FILTERS),
    Cell("filter-audit", f"filter {{w}} -j {_CLAUDE} {_VOTERS} --audit 1 --seed 3", ("audit*.json*",)),
    Cell("filter", f"filter {{w}} -j {_CLAUDE} {_VOTERS} --votes 1 --benchmark-share 0.8 --seed 3", _FILTERS),
    Cell("choices-typed", f"choices {{w}} -w {_4O} {_VOTERS} --typed 2 --confirm require --seed 3", _CHOICES),
    Cell("choices", f"choices {{w}} -w {_4O} {_VOTERS} --typed 0 --confirm report --seed 3", _CHOICES),
    Cell("floors", _FLOORS, _RUNS),
    _answer("question", _4O, "question"),
    _answer("steps", _CLAUDE, "steps"),
    _answer("frames-a", _GEMINI, "frames:8", "--style a"),
    _answer("frames-b", _CLAUDE, "frames:8", "--style b"),
    _answer("frames-c", "openai/gpt-4o-mini", "frames:8", "--style c"),
    _answer("frames-d", _4O, "frames:8", "--style d"),
    _answer("frames-fps1", _GEMINI, "frames:fps1"),
    _answer("frames-quarter-side", _4O, "frames:8@quarter-side"),
    _answer("shuffle", _4O, "steps", "--shuffle 7"),
    _answer("circular", _GEMINI, "steps", "--circular"),
    _answer("open-question", _4O, "question", judge=_CLAUDE),
    _answer("open-frames", _CLAUDE, "frames:8", judge=_4O),
)  # fmt: skip

_STYLED: Final = ("documents.jsonl", "documents.attempts.jsonl", "documents.json", "documents.dropped.jsonl")
# Wanted change of keys, "candidates by words": where nobody names an embedder and nothing was generated before, bm25
# chooses candidates first, so that the calls after the entity's are others. Named, lsa asks what it asked; a workspace goes on with its own.
_MADE: Final = f"generate documents {{w}} -g {_4O} --image-generator {_GEMINI} --verifier {_CLAUDE} --embedder lsa --seed 3"


def _answers(
    name: str, models: str, show: str, judges: tuple[str, ...], reference: str = "", data: bool = False
) -> Cell:
    answer, _, image = models.partition(",")
    which = "data" if data else "styled"
    typed = f"build {{w}};predict {{w}} -p {answer} --run {name} --kind documents --questions {which} --show {show}"
    typed += f" --image-model {image}" if image else ""
    typed += f";judge {{w}} -r {name} --rubric reference -j {reference}" if reference else ""
    typed += "".join(f";judge {{w}} -r {name} -j {judge}" for judge in reversed(judges))
    return Cell(name, f"{typed};score {{w}} -r {name}", _RUNS)


_DOCUMENTS: Final = (
    Cell(
        "corpus",
        f"corpus build {{w}} --from {{w}}/docs --data {{w}}/data --dataset multimodalqa --min-text 60 --verbaliser {_GEMINI}",
        ("corpus/*.jsonl", "questions.jsonl"),
    ),
    Cell("styled-ablate", f"{_MADE} --style compound --style multi-hop --total 4 --necessity ablate --closed-book refuse", _STYLED),
    Cell("styled", f"{_MADE} --total 8 --necessity prompt --closed-book measure --one-source measure --gold-rank", _STYLED),
    Cell("retrieve-styled", f"retrieve {{w}} -r bm25 -r bm25~{_4O} -k 2 --seed 1", ("retrieval/styled/*",)),
    Cell("retrieve-data", f"retrieve {{w}} --questions data -r bm25 -r lsa -r bm25+lsa -r bm25~{_4O} -k 2 --seed 1", ("retrieval/data/*",)),
    _answers("answer-gold", _4O, "gold", (_CLAUDE, _GEMINI), reference="openai/gpt-4o-mini"),
    _answers("answer-routes", f"openai/gpt-4o-mini,{_GEMINI}", "gold", (_CLAUDE,)),
    _answers("answer-retrieved", _GEMINI, "bm25@3", (_4O,)),
    _answers("answer-data", _CLAUDE, "bm25+lsa@2", (_4O,), data=True),
    Cell("concur", "concur {w}:data {w}:styled --by retrieval --resamples 200 --json > {w}/concur.json", ("concur.json",)),
)  # fmt: skip

_EXPERIMENT: Final = (
    Cell(
        "whole",
        f"experiment moment {{w}} --data {{w}}/sample --dataset plain --examples 8 -g {_4O} -p {_GEMINI} --show question --show recipe "
        f"--verifier {_CLAUDE} --accept any --min-confidence 0.5 -j {_4O} --rubric ternary-step --rubric binary --seed 2 "
        "--judge-floors",  # once they were always sent to the judge
        ("items.jsonl", "runs/*/predictions.jsonl", "runs/*/judgements.jsonl", "runs/*/scores.json"),
    ),
)
_PAIRS_EXPERIMENT: Final = (
    Cell(
        "whole",
        f"experiment clip {{w}} -g {_4O} --data {{w}}/data --dataset steps --total 10 -j {_CLAUDE} {_VOTERS} "
        f"-p {_GEMINI} -p {_4O} --show question --show steps --open-judge {_CLAUDE} --seed 3",
        ("open.jsonl", "choices.jsonl", *_RUNS),
    ),
)
_STYLED_EXPERIMENT: Final = (
    Cell(
        "whole",
        f"experiment documents {{w}} -g {_4O} --min-text 60 --total 4 -r bm25 -r bm25+lsa -m {_GEMINI} -m {_4O} "
        f"--sources gold --sources bm25@2 -j {_CLAUDE} --classifier {_GEMINI} --seed 5",
        ("documents.jsonl", "overlap.json*", *_RUNS),
    ),
)

CELLS: Final[Mapping[str, tuple[Cell, ...]]] = {
    "moment": _MOMENT,
    "asking": _ASKING,
    "people": _PEOPLE,
    "clips": _CLIPS,
    "documents": _DOCUMENTS,
    "experiment-moment": _EXPERIMENT,
    "experiment-clips": _PAIRS_EXPERIMENT,
    "experiment-documents": _STYLED_EXPERIMENT,
}
