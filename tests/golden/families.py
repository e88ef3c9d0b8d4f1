"""Families of calls whose keys were moved on purpose: which, how many, why, and how they were spelt before.

While a stored workspace is played, each family is spelt in the old way (``as_before``), so that everything else of its calls, and
all that came of them, is still compared byte for byte. How many calls a family moves is declared by store, cell and template and
counted as they are asked: one more or one less fails the test.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from tests.golden.playing import Asked, Table, replaced

from proctor.ask.documents import verification
from proctor.ask.documents.prompting import PromptKit
from proctor.ask.moment import promqa_prompt
from proctor.llm import prompt
from proctor.llm.message import Request, Text
from proctor.procedure import showing
from proctor.procedure.graph import TaskGraph

__all__ = ["FAMILIES", "Family"]


class Family(NamedTuple):
    """Calls whose keys were moved together.

    Attributes:
        name: of what was changed.
        why: for whoever reads this test.
        as_before: spells it in the old way; is given what the stored workspace showed.
        moved: whether a request, spelt in the old way, is one of them.
        counts: how many are moved, by ``store/cell`` and template.
    """

    name: str
    why: str
    as_before: Callable[[Table], AbstractContextManager[None]]
    moved: Callable[[Request], bool]
    counts: Mapping[str, Mapping[str, int]]

    def miscounted(self, store: str, asked: Asked) -> Iterator[str]:
        """Say where another number of calls than declared is moved; nothing where the declaration holds."""
        found: dict[str, dict[str, int]] = {}
        for (cell, template), requests in asked.requests.items():
            if number := sum(map(self.moved, requests.values())):
                found.setdefault(f"{store}/{cell}", {})[template] = number
        declared = {name: told for name, told in self.counts.items() if name.startswith(f"{store}/")}
        if found != declared:
            yield f"{self.name}: {declared} were declared to be moved, now {found}"


# -- frame numbers -----------------------------------------------------------------------------------------------------


@contextmanager
def _stamps(table: Table) -> Iterator[None]:
    """Frames were called by their presentation time stamps."""
    stamps = {time: made[0] for known in table.frames.values() for time, made in known.items()}
    labels = prompt.frame_labels

    def as_before(times: Sequence[float], numbers: Sequence[int] = ()) -> tuple[str, ...]:
        assert len(numbers) == len(times)
        return labels(times, [stamps[f"{time:.3f}"] for time in times])

    with replaced(labels, as_before):
        yield


_STAMP: Final = re.compile(r"\d+ at \d+\.\d\d s \(frame ([1-9]\d{3,})\)")
"""A stamp; the videos of the stored workspaces are so short that no frame's place has four digits."""

# -- steps and ends of graphs ------------------------------------------------------------------------------------------

_CLOSED: Final[set[str]] = set()
"""SHA-256 of the stored drawings of the one stored graph that has a start and an end."""


@contextmanager
def _files_words(table: Table) -> Iterator[None]:
    """Procedures were shown as the data set's files have them."""
    _CLOSED.add(table.drawings["strips"][2] if "strips" in table.drawings else "")
    with replaced(showing.shown_graph, _same_graph), replaced(showing.shown_text, _same_text):
        yield


def _same_graph(graph: TaskGraph) -> TaskGraph:
    return graph


def _same_text(
    text: str,
) -> str:  # another function: whoever is put back is found by what stands in its place
    return text


def _has_ends(request: Request) -> bool:
    parts = [part for message in request.messages for part in message.parts]
    return any(
        '[label="START"];' in part.text if isinstance(part, Text) else part.sha256 in _CLOSED
        for part in parts
    )


# -- criteria, and reasons before verdicts -------------------------------------------------------------------------------


@contextmanager
def _older_templates(_: Table) -> Iterator[None]:
    """Templates were those that the published protocol keeps."""
    ours = promqa_prompt.generation_prompts

    def as_before(own: Path | None = None, *, published: bool = False) -> prompt.PromptSet:
        return ours(own, published=True)

    with replaced(ours, as_before):
        yield


_OLDER: Final = Path(__file__).parent / "older"
"""Parts of templates as they were."""


@contextmanager
def _older_parts(_: Table) -> Iterator[None]:
    """Writers of pairs were told rules alone."""
    ours = promqa_prompt.generation_prompts
    prompts = Path(promqa_prompt.__file__).parents[1] / "prompts"

    def as_before(own: Path | None = None, *, published: bool = False) -> prompt.PromptSet:
        made, older = ours(own, published=published), prompt.PromptSet("generate", prompts, own, _OLDER)
        made._templates = {n: (older if n.startswith("instructional-") else made)[n] for n in made.names}
        return made

    with replaced(ours, as_before):
        yield


@contextmanager
def _older_form(_: Table) -> Iterator[None]:
    """A reply that cannot be read was asked for again in another form; the template is among ``_older_templates``."""
    form = verification.verdict_form

    def as_before(kit: PromptKit) -> str:
        return form(replace(kit, published=True))

    with replaced(form, as_before):
        yield


def _begins(words: str) -> Callable[[Request], bool]:
    return lambda request: request.messages[0].text.startswith(words)


FAMILIES: Final = (
    Family(
        name="frame numbers",
        why="frames were called by their presentation time stamps (\"frame 3801088\"), which mean nothing to a model; now by their "
        "place in the video, and in the published sampling as the published files do, one a second from 1",
        as_before=_stamps,
        moved=lambda request: any(_STAMP.search(message.text) for message in request.messages),
        counts={
            "moment/frames-published": {"predict-frames": 15},
            "moment/frames-uniform": {"predict-frames": 15},
            "moment/frames-fps": {"predict-frames": 15},
            "moment/frames-steps": {"predict-frames": 15},
            "moment/frames-shrunk": {"predict-frames": 15},
            "moment/frames-skipped": {"predict-frames": 4},
            "moment/captions": {"predict-captions": 11},
            "asking/generate-dot-frames": {"dot-frames": 6},
            "asking/generate-image-frames": {"image-frames": 6},
            "asking/generate-excerpt-frames": {"excerpt-frames": 6},
            "asking/generate-excerpt-frames-steps": {"excerpt-frames-steps": 8},
            "asking/verify-frames": {"review": 15},
        },
    ),
    Family(
        name="ends of graphs",
        why="nodes START and END, and the Verb- tags of steps (of which the stored workspaces have none), reached prompts; under the "
        "published protocol they still do",
        as_before=_files_words,
        moved=_has_ends,
        counts={
            "moment/recipe": {"predict-recipe": 2},
            "moment/own-prompts": {"predict-recipe": 2},
            "moment/frames-published": {"predict-frames": 2},
            "moment/frames-uniform": {"predict-frames": 2},
            "moment/frames-fps": {"predict-frames": 2},
            "moment/frames-steps": {"predict-frames": 2},
            "moment/frames-shrunk": {"predict-frames": 2},
            "moment/video": {"predict-video": 2},
            "moment/judge-binary-recipe": {"judge-binary-recipe": 4},
            "moment/judge-ternary-recipe": {"judge-ternary-recipe": 4},
            "asking/generate-dot-steps": {"dot-steps": 1},
            "asking/generate-dot-excerpt-steps": {"dot-excerpt-steps": 1},
            "asking/generate-image-steps": {"image-steps": 1},
            "asking/generate-dot-frames": {"dot-frames": 1},
            "asking/generate-image-frames": {"image-frames": 1},
            "asking/verify-text": {"review": 2},
            "asking/verify-json": {"review": 2},
            "asking/verify-frames": {"review": 1},
        },
    ),
    Family(
        name="criteria for writers",
        why="models that write questions about moments are told the criteria of whoever verifies them (Kind.judging); under the "
        "published protocol they are not",
        as_before=_older_templates,
        moved=_begins("You invent questions for an exam"),
        counts={
            "asking/generate-excerpt-steps": {"excerpt-steps": 7},
            "asking/generate-dot-steps": {"dot-steps": 6},
            "asking/generate-dot-excerpt-steps": {"dot-excerpt-steps": 6},
            "asking/generate-excerpt-steps-mistakes": {"excerpt-steps-mistakes": 6},
            "asking/generate-excerpt-current": {"excerpt-current": 6},
            "asking/generate-image-steps": {"image-steps": 7},
            "asking/generate-dot-frames": {"dot-frames": 6},
            "asking/generate-image-frames": {"image-frames": 6},
            "asking/generate-excerpt-frames": {"excerpt-frames": 6},
            "asking/generate-excerpt-frames-steps": {"excerpt-frames-steps": 8},
            "asking/generate-both": {"excerpt-steps": 8},
            "experiment-moment/whole": {"excerpt-steps": 9},
        },
    ),
    Family(
        name="reasons before verdicts",
        why="who verifies questions about documents gave the verdict first, and a reason for it afterwards; under the published "
        "protocol they still do",
        as_before=_older_form,
        moved=_begins("You check questions before they are used in a test. You are shown a question, its answer"),
        counts={
            "documents/styled-ablate": {"styled-verification": 6},
            "documents/styled": {"styled-verification": 18},
            "experiment-documents/whole": {"styled-verification": 9},
        },
    ),
    Family(
        name="faults for writers of pairs",
        why="models that write pairs about a clip are told for which faults the filters drop one",
        as_before=_older_parts,
        moved=lambda request: request.messages[0].text.startswith("You write questions about ")
        and "# Every pair" in request.messages[0].text,
        counts={
            "clips/pairs": {"instructional-general-coarse": 2, "instructional-general-fine": 2, "instructional-egoexo4d-coarse": 2, "instructional-egoexo4d-fine": 3, "instructional-goalstep-coarse": 2, "instructional-goalstep-fine": 2, "instructional-hirest-coarse": 2, "instructional-youcook2-coarse": 3, "instructional-hirest-fine": 1, "instructional-youcook2-fine": 1},
            "experiment-clips/whole": {"instructional-hirest-coarse": 7, "instructional-hirest-fine": 6},
        },
    ),
)  # fmt: skip
