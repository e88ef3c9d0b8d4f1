"""The kind of another package goes the way of ours: found by its entry point, asked over HTTP, marked by a model."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from tests.exam.outside.proctor_pictures import PictureView

from proctor.ask.moment.promqa_prompt import generation_prompts
from proctor.errors import UserError
from proctor.exam.kind import kind_named
from proctor.exam.kinds.clip_marker import CONSISTENCY_MARKER
from proctor.exam.library import Library, Prompts
from proctor.exam.marker import ModelMarker
from proctor.exam.predict_prompt import evaluation_prompts
from proctor.exam.predictor import ModelPredictor
from proctor.exam.question import Choice, Gold, Item, Open, Pick, Picture, Question, Text
from proctor.llm.limits import Excess
from proctor.media.paint import encode_png
from proctor.stages.models import open_models
from proctor.workspace import Workspace
from proctor_rehearsal.standin import Answer, Call, Standin

COLOURS = {"red": (200, 30, 30), "green": (30, 160, 60), "blue": (30, 60, 200)}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory):
    """A folder on the path with what an installed package leaves there: its entry point."""
    site = tmp_path_factory.mktemp("site")
    info = site / "proctor_pictures-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: proctor-pictures\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(
        "[proctor.kinds]\npicture = tests.exam.outside.proctor_pictures:KIND\n"
        "gone = tests.exam.outside.proctor_pictures:GONE\nword = tests.exam.outside.proctor_pictures:PARAMETERS\n"
        "unfinished = tests.exam.outside.proctor_unfinished:KIND\n"
    )
    sys.path.append(str(site))
    yield kind_named("picture")
    sys.path.remove(str(site))


@pytest.fixture
def items(tmp_path: Path) -> list[Item]:
    found = []
    for n, (name, colour) in enumerate(COLOURS.items()):
        picture = np.full((24, 32, 3), colour, np.uint8)
        (tmp_path / f"{name}.png").write_bytes(encode_png(picture))
        part = Picture(path=f"{name}.png", caption=f"A {name} wall.")
        for form, gold in (
            (Choice(options=tuple(COLOURS)), Pick(option=n)),
            (Open(), Text(text=f"It is {name}.")),
        ):
            id_ = f"{name}-{'choice' if isinstance(form, Choice) else 'open'}"
            question = Question(
                id=id_, kind="picture", text="What colour is the wall?", form=form, evidence=(part,),
                facts={"seen": [f"the wall is {name}"]}, cluster=name,
            )  # fmt: skip
            found.append(Item(question=question, golds=(Gold(value=gold),)))
    return found


def play(call: Call) -> Answer:
    """One model sees colours, the other always says A; the judge compares words."""
    text = call.text
    if call.model == "judge":
        return Answer(
            text=f'{{"reason": "r", "consistent": "{"yes" if text.count("is red.") == 2 else "no"}"}}'
        )
    if call.model == "a":
        return Answer(text="A")
    told = next((name for name in COLOURS if f"wall is {name}" in text), None)
    name = told or ("red" if call.media else "none")
    if "(A)" not in text:
        return Answer(text=f"It is {name}.")
    line = next((line for line in text.splitlines() if line.endswith(f") {name}")), "(A)")
    return Answer(text=line[1])


def test_the_whole_way(installed, items: list[Item], tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    with Standin(answer=play) as server, open_models(workspace) as models:
        names = {role: f"compat/{role}@{server.url}/v1" for role in ("eyes", "a", "judge")}

        def predictor(who: str, view: PictureView) -> ModelPredictor:
            return ModelPredictor(
                kind=installed, view=view, models={"answer": names[who]}, price=models.price,
                library=Library(media=models.media, root=tmp_path),
                prompts=Prompts(evaluation_prompts(), models.secret),
            )  # fmt: skip

        circular = predictor("a", PictureView(circular=True)).predict(items, models.ask("predict"))
        letters = [p.details["letter"] for p in circular if p.item_id == "red-choice"]
        assert letters == ["A", "B", "C"]  # who always says A means every option once
        told = predictor("eyes", PictureView("facts"))
        assert (told.name, told.view.privilege) == (f"{names['eyes']} (facts)", "what is in the picture")
        answers = told.predict(items, models.ask("predict"))
        assert [p.answer for p in answers if p.item_id.endswith("open")] == [f"It is {c}." for c in COLOURS]
        assert [p.details["letter"] for p in answers if p.item_id.endswith("choice")] == ["A", "B", "C"]
        seen = predictor("eyes", PictureView()).predict(items, models.ask("predict"))
        assert {p.details["picture"] for p in seen} == {f"{name}.png" for name in COLOURS}
        judge = ModelMarker(
            model=names["judge"], marker=CONSISTENCY_MARKER, library=told.library,
            prompts=Prompts(generation_prompts(), models.secret),
        )  # fmt: skip
        words = [p for p in answers if p.item_id.endswith("open")]
        marks = judge.mark(items, words, models.ask("judge"))
        assert [m.score for m in marks] == [2, 0, 0]
        sent = models.closing().sent
    with open_models(workspace) as models:  # a dead server: everything is in the store
        again = predictor("eyes", PictureView()).predict(items, models.ask("predict"))
        assert again == seen
        assert models.closing().sent == 0 < sent


def test_what_is_too_large_is_shown_smaller_by_the_kinds_own_rule(
    installed, items, tmp_path, monkeypatch
) -> None:
    import proctor.exam.predictor as engine

    monkeypatch.setattr(
        engine,
        "excesses",
        lambda request, **_: (Excess(what="image_bytes", value=9, limit=5),) if request.media else (),
    )
    from proctor.llm.media import MediaStore
    from proctor.llm.outcome import Reply

    asked = []

    def port(requests):
        for request in requests:
            asked.append(request)
            yield request, Reply(text="B")

    who = ModelPredictor(
        kind=installed, view=PictureView(), models={"answer": "compat/x@http://127.0.0.1:1/v1"},
        library=Library(media=MediaStore(), root=tmp_path),
        prompts=Prompts(evaluation_prompts(), None),  # type: ignore[arg-type] - this kind renders no template
    )  # fmt: skip
    made = who.predict(items[:1], port)
    assert made[0].details["shrunk"].startswith("picture → caption (9 bytes")
    assert "A red wall." in asked[0].messages[-1].text
    (tmp_path / "red.png").write_text("no picture")
    (broken,) = who.predict(items[:1], port)
    assert broken.failure.startswith("not_shown: the picture cannot be read")


def test_a_kind_that_nobody_has_or_that_is_broken_is_refused(installed) -> None:
    assert installed.name == "picture"
    for name, why in (
        ("smell", "no kind of questions 'smell'"),
        ("gone", "cannot be loaded: AttributeError"),
        ("word", "is not a kind of questions"),
        ("unfinished", "cannot be loaded: TypeError.* talk"),
    ):
        with pytest.raises(UserError, match=why):
            kind_named(name)
