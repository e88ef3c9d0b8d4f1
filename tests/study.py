"""A small study of questions about documents: a workspace with generated questions and a data set's, drawn and opened as a round."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.typed import proctor

from proctor.corpus.collection import write_corpus
from proctor.corpus.question import CorpusQuestion
from proctor.corpus.source import table_source, text_source
from proctor.exam.kinds.documents_question import document_question
from proctor.records import write_jsonl
from proctor.workspace import Workspace

STYLES = ("information-extraction", "compare-contrast", "numerical", "compound", "multi-hop")
MIXES = ((1, 0, 0), (0, 1, 0), (1, 1, 0))
FORM = """\
instructions = "Rate with care."
examples = ["Fluency **5**, for it reads well."]
[[quiz]]
right = "no"
why = "Only the sources count."
[quiz.field]
name = "outside"
label = "Does what you know yourself count?"
[[attention]]
name = "look-1"
text = "This is an attention check: choose 2 for fluency, and No for all others."
right = {fluency = "2", style = "no", relevance = "no", answerability = "no", correctness = "no"}
[[attention]]
name = "look-2"
text = "This is an attention check: choose 4 for fluency, and Yes for all others."
right = {fluency = "4", style = "yes", relevance = "yes", answerability = "yes", correctness = "yes"}
"""


def study_bench(root: Path, *, each: int = 64) -> Path:
    """A workspace with generated questions of five styles and a data set's of three types, ids that name their source."""
    Workspace(root).create()
    lake = text_source("s", "Lake Vell", "The lake lies behind a dam. " * 12)
    write_corpus(root / "corpus", [lake, table_source("t", "Lakes", ("Lake", "Depth"), (("Vell", "41 m"),))])
    write_jsonl(
        root / "documents.jsonl",
        [
            document_question(
                f"gen-{style}-{n}", f"Which {style} {n}?", "This.", ("s", "t"), style=style, modalities=MIXES[n % 3],
                provenance={"generator": "secret/model"},
            )
            for style in STYLES
            for n in range(each)
        ],
    )  # fmt: skip
    write_jsonl(
        root / "questions.jsonl",
        [
            CorpusQuestion(
                qid=f"mmqa-{kind[:7]}-{n}", question=f"Who {n}?", answers=("a", "b"), gold=("s",), type=kind,
                modalities=MIXES[n % 3], gold_complete=True,
            )
            for kind in ("TextQ", "Compose(TextQ,TableQ)", "Compare")
            for n in range(each)
        ],
    )  # fmt: skip
    return root


def open_study(folder: Path, *, each: int, tests: int = 3, form: str = FORM, **more: Any) -> Path:
    """Draw ``each`` questions of all seven strata, write the key of the tests (all yes), and begin the round ``rate``; the workspace."""
    from proctor.stages.rounds.opening import open_round
    from proctor.stages.rounds.settings import RateSettings

    bench = study_bench(folder / "bench", each=each + tests)
    sizes = ("--per-style", each, "--reference", each, "--tests", tests)
    drawn = proctor("study", "draw", bench, folder / "study", *sizes)
    assert drawn.status == 0, drawn.err
    key = folder / "study" / "key.csv"
    key.write_text(key.read_text().replace(",\n", ",yes\n"))
    (folder / "form.toml").write_text(form)
    open_round(bench, "rate", RateSettings(questions=folder / "study", form=folder / "form.toml", **more))
    return bench
