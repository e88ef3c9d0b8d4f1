"""Questions about the order of steps: views, prompts, pairs, floors."""

from __future__ import annotations

import random
import re
from io import BytesIO
from pathlib import Path

import pytest
from msgspec.structs import replace
from PIL import Image as Pixels
from tests.exam.kinds.test_order_marks import made

from proctor.errors import UserError
from proctor.exam.choice import CREDIT
from proctor.exam.kind import Answer, Call, Turn, ViewOptions
from proctor.exam.kinds.order import KIND, OrderView
from proctor.exam.library import Library, Prompts
from proctor.exam.predict_prompt import evaluation_prompts
from proctor.exam.question import Gold, Item, Order, Ordering, Picture, Question, Words
from proctor.llm.fence import FenceSecret
from proctor.llm.media import MediaStore
from proctor.llm.outcome import Refusal, Reply

PROMPTS = Prompts(evaluation_prompts(), FenceSecret(b"s" * 32))


@pytest.fixture
def item(tmp_path: Path) -> Item:
    """Three steps, presented as b, c, a: the first with a text and two pictures, the second with a picture, the third with a text."""
    for n in range(3):
        data = BytesIO()
        Pixels.new("RGB", (8, 6), (80 * n, 0, 0)).save(data, "PNG")
        (tmp_path / f"{n}.png").write_bytes(data.getvalue())
    question = Question(
        id="tea",
        kind="order",
        text="In which order?",
        form=Order(ids=("b", "c", "a")),
        evidence=(
            Words(id="b", text="Pour it."),
            Picture(id="b", path="0.png"),
            Picture(id="b", path="1.png"),
            Picture(id="c", path="2.png"),
            Words(id="a", text="Boil water."),
        ),
        facts={"goal": "A cup of tea"},
    )
    return Item(question=question, golds=(Gold(value=Ordering(ids=("a", "b", "c"))),))


def view(text: str, style: str | None = None) -> OrderView:
    return KIND.view(text, ViewOptions(style=style))


def ask(item: Item, shown: OrderView, root: Path, *replies: object) -> tuple[list[Call], Answer]:
    """Return the calls of a talk and how it ends; replies are taken in turn, the last one again and again."""
    library = Library(media=MediaStore(), root=root)
    exhibit = next(KIND.exhibits(item, shown, library))
    talk = KIND.talk(item, Turn(), exhibit, shown, library, PROMPTS)
    said = next(talk)
    calls = [said] if isinstance(said, Call) else list(said)
    texts = [*replies, *[replies[-1]] * len(calls)][: len(calls)]
    outcomes = [Reply(text=text) if isinstance(text, str) else text for text in texts]
    try:
        talk.send(outcomes[0] if isinstance(said, Call) else tuple(outcomes))
    except StopIteration as end:
        answer: Answer = end.value
        return calls, answer
    raise AssertionError("it asks on")


def prompt(call: Call) -> str:
    return "\n".join(message.text for message in call.messages)


def test_every_view_shows_what_it_says_and_no_more(item: Item, tmp_path: Path) -> None:
    (both,), _ = ask(item, view("both"), tmp_path, "[1, 2, 3]")
    assert len(both.messages[-1].media) == 3
    assert "1: Pour it.\n- 2: (no text)\n- 3: Boil water." in prompt(both)
    assert (
        "picture 1 shows step 1; picture 2 shows step 1; picture 3 shows step 2; none shows step 3"
        in prompt(both)
    )
    (text,), _ = ask(item, view("text"), tmp_path, "[1, 2, 3]")
    assert not text.messages[-1].media
    assert "picture" not in prompt(text)
    (image,), _ = ask(item, view("image"), tmp_path, "[1, 2, 3]")
    assert len(image.messages[-1].media) == 3
    assert "Pour" not in prompt(image)
    (blind,), _ = ask(item, view("question"), tmp_path, "[1, 2, 3]")
    assert "There are 3 steps, numbered from 1 to 3, which you do not see." in prompt(blind)
    assert not any("cup of tea" in prompt(call) for call in (both, text, image, blind))
    (goal,), _ = ask(item, view("text+goal"), tmp_path, "[1, 2, 3]")
    assert "A cup of tea" in prompt(goal)
    assert KIND.views([item]) == ("both", "text", "image", "question")
    assert [view(v).blind for v in KIND.views([item])] == [False, False, False, True]
    assert view("text+goal", "pairwise").label == "text+goal, pairwise"


def test_a_reply_is_kept_with_what_was_read_and_repaired(item: Item, tmp_path: Path) -> None:
    _, answer = ask(item, view("text"), tmp_path, "3 > 1 > 3 > 5")
    assert answer.text == "3 > 1 > 3 > 5"
    assert answer.value == Ordering(ids=("a", "b", "c"))
    assert answer.details["order"] == "3, 1, 2"
    assert answer.details["repaired"] == "unknown 5, repeated 3, missing 2"
    _, answer = ask(item, view("text"), tmp_path, "I do not know.")
    assert (answer.value, answer.details["read"]) == (None, "nothing")
    _, answer = ask(item, view("text"), tmp_path, Refusal(text="No."))
    assert answer.failure == "refusal: No."


def test_pairs_are_asked_both_ways_round_and_the_best_order_is_computed(item: Item, tmp_path: Path) -> None:
    shown = view("text", "pairwise")
    calls, _ = ask(item, shown, tmp_path, "A")
    assert len(calls) == 6
    assert "Step A:" in prompt(calls[0])

    def right(call: Call) -> str:
        blocks = re.findall(r"BEGIN step ([ab]) \w+>>>\n(.*?)\n<<<END", prompt(call), re.DOTALL)
        texts = dict(blocks)
        rank = {"Boil water.": 0, "Pour it.": 1, "(no text)": 2}
        return "A" if rank[texts["a"]] < rank[texts["b"]] else "B"

    _, answer = ask(item, shown, tmp_path, *map(right, calls))
    assert answer.text == "3, 1, 2"
    assert answer.value == Ordering(ids=("a", "b", "c"))
    assert (answer.details["pairs_unread"], answer.details["pairs_swayed"]) == ("0", "0")
    # Whatever is shown first comes first: nothing is known, and places alone decide (the decoder fills the end first).
    _, swayed = ask(item, shown, tmp_path, "A")
    assert (swayed.text, swayed.details["pairs_swayed"]) == ("3, 2, 1", "3")
    _, silent = ask(item, shown, tmp_path, "Both are fine.")
    assert (silent.value, silent.text) == (None, "no pair could be read")
    _, failed = ask(item, shown, tmp_path, "A", Refusal(text="No."))
    assert failed.failure == "refusal: No."


def test_steps_that_look_the_same_are_not_compared(tmp_path: Path) -> None:
    same = made("x", "cba", "abc", texts="sts")
    calls, _ = ask(same, view("text", "pairwise"), tmp_path, "A")
    assert len(calls) == 4


def test_one_picture_a_step_is_shown_where_all_are_too_much(item: Item, tmp_path: Path) -> None:
    exhibits = KIND.exhibits(item, view("both"), Library(media=MediaStore(), root=tmp_path))
    first, less = next(exhibits), next(exhibits)
    assert (len(first.media), len(less.media)) == (3, 2)
    assert less.details == {"shrunk": "1 further pictures of steps left out"}
    (tmp_path / "2.png").write_bytes(b"nothing")
    with pytest.raises(UserError, match="it is no image"):
        next(KIND.exhibits(item, view("image"), Library(media=MediaStore(), root=tmp_path)))


def test_runs_that_make_no_sense_are_refused_before_they_cost_anything(item: Item) -> None:
    for text, style, why in (
        ("smell", None, "no view"),
        ("text+taste", None, "no view"),
        ("text", "set", "no style"),
    ):
        with pytest.raises(UserError, match=why):
            view(text, style)
    library, texts = Library(media=MediaStore()), made("x", "ba", "ab")
    KIND.require([item], view("image"), library, "compat/m")
    with pytest.raises(UserError, match="not one step has what the view 'image' shows"):
        KIND.require([texts], view("image"), library, "compat/m")
    with pytest.raises(UserError, match="no two can be compared"):
        KIND.require([texts], view("question", "pairwise"), library, "compat/m")
    with pytest.raises(UserError, match="no right order"):
        KIND.check(Item(question=texts.question, golds=()), library)


def test_floors_answer_from_the_texts_as_they_are_presented() -> None:
    texts = ("Serve the soup at once.", "First, wash the vegetables.", "Boil.")
    item = made("x", "cab", "abc")
    evidence = tuple(Words(id=id_, text=text) for id_, text in zip("cab", texts, strict=True))
    item = replace(item, question=replace(item.question, evidence=evidence))
    library = Library(media=MediaStore())
    said = {
        name: KIND.fit(name, [item], library).answer(item, random.Random(3)) for name in KIND.floors([item])
    }
    answers = {name: prediction.answer for name, prediction in said.items()}
    assert sorted((answers.pop("chance") or "").split(", ")) == ["1", "2", "3"]
    assert answers == {
        "presented": "1, 2, 3",
        "shortest-first": "3, 1, 2",
        "longest-first": "2, 1, 3",
        "cue-words": "2, 3, 1",
    }
    assert CREDIT in said["chance"].details
    with pytest.raises(UserError, match="no system 'wise'"):
        KIND.fit("wise", [item], library)


def test_people_see_the_goal_and_their_verdicts_hang_on_it(item: Item) -> None:
    card = KIND.card(item.question, Library(media=MediaStore()))
    assert (card[0].heading, card[0].text) == ("Goal", "A cup of tea")
    assert [part.heading for part in card[1:]] == ["Step b", "Step b", "Step b", "Step c", "Step a"]
    assert KIND.seen(replace(item.question, facts={})) != KIND.seen(item.question)
