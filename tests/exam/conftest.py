"""A small activity that is no recipe, and a release of it."""

from __future__ import annotations

import pytest
from tests.documents import document
from tests.moments import moment_item

from proctor.corpus.collection import Corpus
from proctor.corpus.source import image_source, table_source, text_source
from proctor.exam.kinds.example import Example, Performed, StepRef
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Mistake

STEPS = {
    "0": "START",
    "1": "Attach the left bracket with 2 screws",
    "2": "Attach the right bracket with 4 screws",
    "3": "Slide the glass shelf onto both brackets",
    "4": "Tighten the clamp for 30 seconds",
    "5": "Wipe the shelf with a dry cloth",
    "9": "END",
}
EDGES = (("0", "1"), ("0", "2"), ("1", "3"), ("2", "3"), ("3", "4"), ("4", "5"), ("5", "9"))


@pytest.fixture(scope="session")
def shelf():
    """The task graph of mounting a shelf."""
    return TaskGraph("shelf", "Mount a shelf", tuple(Step(i, t) for i, t in STEPS.items()), EDGES, "0", "9")


@pytest.fixture(scope="session")
def graphs(shelf):
    return {"shelf": shelf}


def ref(step_id):
    return StepRef(step_id, STEPS[step_id])


@pytest.fixture(scope="session")
def make_item():
    """Build an item: ``make_item("r1", "next", "What now?", ["Wipe it."], next_=["5"])``."""

    def build(
        recording, type_, question, golds, *, number=0, noisy=False, next_=(), missing=(), mistake="", **more
    ):
        current = Performed("3", STEPS["3"], STEPS["3"], (Mistake(type_, mistake),) if mistake else ())
        example = Example(
            id=f"{recording}_{number}_{type_}",
            clip_id=f"{recording}_{number}",
            recording_id=recording,
            activity_id="shelf",
            activity_name="Mount a shelf",
            type=type_,
            end=60.0,
            state="ongoing",
            noisy=noisy,
            current=current,
            next_steps=tuple(map(ref, next_)) if type_ == "next" else None,
            missing_steps=tuple(map(ref, missing)) if type_ == "missing" else None,
            mistake_texts=(mistake,) if mistake else (),
            all_next=tuple(map(ref, next_)),
            all_missing=tuple(map(ref, missing)),
            **more,
        )
        return moment_item(example, question, golds)

    return build


@pytest.fixture(scope="session")
def release(make_item):
    """Twelve recordings with four items each."""
    items = []
    for k in range(12):
        name = f"r{k:02d}"
        items += [
            make_item(
                name, "next", "What should I do next?", ["Tighten the clamp for 30 seconds."], next_=["4"]
            ),
            make_item(
                name,
                "missing",
                "Did I forget anything?",
                ["No, you are on track."],
                number=1,
                noisy=k % 2 == 1,
            ),
            make_item(
                name,
                "missing",
                "Did I miss a step before sliding the shelf?",
                ["Yes, you forgot to attach the right bracket."],
                number=2,
                missing=["2"],
            ),
            make_item(
                name,
                "measurement",
                "Did I use the right number of screws?",
                ["No, you should have used 2 screws instead of 3."],
                number=3,
                mistake="Used 3 screws instead of 2",
            ),
        ]
    return items


@pytest.fixture
def lakes(tmp_path):
    """A small corpus of all three kinds, with a duplicate and a picture that is there."""
    from PIL import Image

    (tmp_path / "images").mkdir()
    Image.new("RGB", (40, 30), (20, 90, 160)).save(tmp_path / "images" / "vell.png")
    return Corpus(
        [
            text_source("text:vell", "Lake Vell", "The lake lies at 412 metres and freezes every winter."),
            text_source("text:hurn", "Lake Hurn", "A reservoir that was flooded in 1931."),
            table_source(
                "table:depths", "Depths of lakes", ["Lake", "Depth"], [["Vell", "88 m"], ["Hurn", "41 m"]]
            ),
            image_source(
                "image:vell",
                "Lake Vell",
                "images/vell.png",
                pixels_sha256="0" * 64,
                verbalisation="Blue water.",
            ),
            image_source("image:hurn", "Lake Hurn", "images/gone.png", verbalisation="A grey dam."),
            text_source(
                "text:boat", "Boats", "Rowing boats may be hired at the north shore from May to October."
            ),
        ],
        root=tmp_path,
        aliases={"text:vell-again": "text:vell"},
    )


@pytest.fixture
def lake_questions():
    """Questions about it: one text, text and table, image and table, two texts."""

    def ask(id_, style, modalities, question, gold, answer="It is so.", **more):
        return document(
            id_, style=style, modalities=modalities, text=question, gold=gold, answer=answer, **more
        )

    return [
        ask("q1", "information-extraction", (1, 0, 0), "How high does Lake Vell lie?", ("text:vell",)),
        ask(
            "q2", "numerical", (1, 1, 0), "How much deeper is the lake that freezes than Hurn?",
            ("text:vell-again", "table:depths"), "Vell is 88 m deep, Hurn 41 m: 47 m deeper.",
        ),
        ask(
            "q3", "multi-hop", (0, 1, 1), "What colour is the water of the lake that is 88 m deep?",
            ("table:depths", "image:vell"), "Lake Vell is 88 m deep; its water is blue.",
        ),
        ask("q4", "compound", (2, 0, 0), "When was Hurn flooded and when are boats hired?", ("text:hurn", "text:boat")),
    ]  # fmt: skip
