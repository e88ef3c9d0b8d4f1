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
        return [shlex.split(part.format(w=workspace)) for part in self.typed.split(";")]


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
    _predict("video", _GEMINI, "video:48p"),
    _predict("captions", f"{_4O} --captioner {_CLAUDE}", "captions:3@48p:uniform"),
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
    *(
        Cell(f"build-{accept}", f"build {{w}} --accept {accept} --min-confidence 0.5", ("items.jsonl", "build.dropped.jsonl"))
        for accept in ("oracle", "humans")  # filters judge questions alone: no other rule can read their verdicts today
    ),
    Cell("release", "build {w} --accept humans", ("items.jsonl", "release/data/test.jsonl", "release/graphs.json")),
)  # fmt: skip

CELLS: Final[Mapping[str, tuple[Cell, ...]]] = {"moment": _MOMENT, "asking": _ASKING, "people": _PEOPLE}
