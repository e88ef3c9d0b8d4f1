"""Open-ended answers: judged by a consistency judge whose replies are made up, and scored."""

import msgspec
import pytest
from tests.exam.clip_set import clip_items, question

from proctor.ask.moment.promqa_prompt import generation_prompts
from proctor.errors import UserError
from proctor.exam.kinds.clip import KIND
from proctor.exam.kinds.clip_marker import CONSISTENCY_MARKER
from proctor.exam.library import Library, Prompts
from proctor.exam.marker import ModelMarker
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.scores import score_run
from proctor.exam.table import Resampling
from proctor.llm.fence import FenceSecret
from proctor.llm.media import MediaStore
from proctor.llm.outcome import Failure, Refusal, Reply, Usage

QUESTIONS = [msgspec.structs.replace(question(n, options=()), answer=f"answer {n}") for n in range(8)]
JUDGE = ModelMarker(
    model="compat/judge@http://127.0.0.1:1/v1",
    marker=CONSISTENCY_MARKER,
    library=Library(media=MediaStore()),
    prompts=Prompts(generation_prompts(), FenceSecret(b"0" * 32)),
)
ITEMS = clip_items(QUESTIONS)


def score(predictions, judgements):
    return score_run(
        KIND,
        ITEMS,
        predictions,
        {"consistency": judgements},
        benchmark="toy",
        resampling=Resampling(resamples=0),
    )


class Port:
    """Answers each request as it comes: a conversation asks for more only when it was answered."""

    def __init__(self, reply) -> None:
        self.reply = reply
        self.asked = []

    def __call__(self, requests):
        for request in requests:
            self.asked.append(request)
            yield request, self.reply(request)


def answer(n: int, text: str | None = "so it is", who: str = "m") -> Prediction:
    failure = None if text is not None else "overload: later"
    return Prediction(item_id=f"q{n}", predictor=who, answer=text, failure=failure)


def verdict(word: str) -> Reply:
    return Reply(text=f'{{"reason": "Because.", "consistent": "{word}"}}', usage=Usage(input=20, output=5))


def by_number(request):
    """Yes for even questions."""
    text = request.messages[-1].text
    number = next(n for n in range(8) if f"moment {n}?" in text)
    assert f"answer {number}" in text
    return verdict("yes" if number % 2 == 0 else "no")


def test_the_share_that_means_the_same() -> None:
    predictions = [answer(n) for n in range(6)]
    port = Port(by_number)
    judgements = JUDGE.mark(ITEMS, predictions, port)
    assert [j.item_id for j in judgements] == [f"q{n}" for n in range(6)]
    assert [j.score for j in judgements] == [2, 0, 2, 0, 2, 0]
    assert {j.rationale for j in judgements} == {"Because."}
    assert {"calls": "1", "tokens_in": "20", "scale": "binary"}.items() <= judgements[0].details.items()
    table = score(predictions, judgements)
    row = table.row(measure="consistency")
    assert (row.value, row.n, row.skipped, row.failed, row.chance) == (0.5, 6, 2, 0, None)
    assert table.row("level=coarse").value == 1.0
    assert table.row("level=fine").value == 0.0
    assert table.counts == {
        "questions": 8, "not asked": 2, "failed": 0, "consistency: yes": 3, "consistency: no": 3,
        "consistency: unmarked": 0,
    }  # fmt: skip
    assert {r.key for r in JUDGE.requests(ITEMS, predictions)} == {r.key for r in port.asked}


def test_failed_answers_are_not_judged_and_unmarked_ones_are_in_no_mean() -> None:
    def talk(request):
        text = request.messages[1].text
        if "moment 1?" in text:
            return Failure(kind="overload", message="later")
        if "moment 2?" in text:
            return Reply(text="Hard to say.")
        if "moment 3?" in text:
            return Refusal(text="No.")
        return verdict("yes")

    predictions = [answer(0), answer(1), answer(2), answer(3), answer(4, None)]
    port = Port(talk)
    judgements = JUDGE.mark(ITEMS, predictions, port)
    assert [j.score for j in judgements] == [2, None, None, None, None]
    assert [j.failure and j.failure.partition(":")[0] for j in judgements] == [
        None, "overload", "unparsed", "refusal", "prediction failed",
    ]  # fmt: skip
    assert judgements[2].details["calls"] == "2"  # asked once more for the right form
    table = score(predictions, judgements)
    assert (table.row().value, table.row().n, table.row().failed) == (1.0, 1, 4)
    assert table.counts["failed: overload"] == 1
    assert {k.removeprefix("consistency: "): n for k, n in table.counts.items() if "unmarked" in k} == {
        "unmarked": 3, "unmarked: overload": 1, "unmarked: refusal": 1, "unmarked: unparsed": 1,
    }  # fmt: skip


def test_an_answer_without_a_judgement_has_no_mark() -> None:
    predictions = [answer(0), answer(1)]
    judgements = JUDGE.mark(ITEMS, predictions, Port(by_number))[:1]
    table = score(predictions, judgements)
    assert table.counts["consistency: unmarked: not judged"] == 1
    assert table.row().n == 1


def test_a_run_that_is_broken_off_keeps_what_is_there() -> None:
    def broken(requests):
        first = next(iter(requests))
        yield first, by_number(first)
        raise KeyboardInterrupt

    kept: list[Judgement] = []
    with pytest.raises(KeyboardInterrupt):
        JUDGE.mark(ITEMS, [answer(0), answer(1), answer(2, None)], broken, interrupted=kept.extend)
    assert [(j.item_id, j.score) for j in kept] == [("q0", 2), ("q2", None)]


def test_what_cannot_be_scored() -> None:
    predictions = [answer(0)]
    judgements = JUDGE.mark(ITEMS, predictions, Port(by_number))
    with pytest.raises(UserError, match="several judgements"):
        score(predictions, judgements * 2)
    partial = msgspec.structs.replace(judgements[0], score=1)
    with pytest.raises(UserError, match="a judgement is 0 or 2, got 1"):
        score(predictions, [partial])


def test_equal_answers_to_one_question_are_judged_once() -> None:
    twin = msgspec.structs.replace(QUESTIONS[0], id="twin")
    port = Port(by_number)
    predictions = [answer(0), msgspec.structs.replace(answer(0), item_id="twin")]
    made = JUDGE.mark(clip_items([*QUESTIONS, twin]), predictions, port)
    assert [j.score for j in made] == [2, 2]
    assert len(port.asked) == 1
