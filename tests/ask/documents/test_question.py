"""The prompt for a question: the same rules for both kinds of model, examples of the style, and what is read."""

from __future__ import annotations

import pytest

from proctor.ask.documents.prompting import Miss, PromptKit
from proctor.ask.documents.question import GENERATION, question_prompt, read_question
from proctor.ask.documents.style import BUILTIN_STYLES, load_style
from proctor.ask.documents.triple import Triple
from proctor.ask.moment.promqa_prompt import generation_prompts
from proctor.corpus.source import image_source, table_source, text_source
from proctor.llm.fence import FenceSecret
from proctor.llm.outcome import Failure, Refusal, Reply, Truncated

KIT = PromptKit(generation_prompts(), FenceSecret(b"s" * 32))
TEXT = text_source("t", "Aar", "A river.")
TABLE = table_source("b", "Rivers", ["River"], [["Aar"]])
IMAGE = image_source("i", "The Aar (river)", "i.png")
RULES = {
    "exact": "Choose exactly this: 1 text, 1 table.",
    "necessity": "Every source that you choose must be needed",
    "no mention": "do not say",
    "sensible": "a sensible person might want to know",
    "answer": "with the steps of any calculation",
    "citations": "Cite the numbers of all sources",
    "refuse": "Declining is better than breaking a rule",
}


def system(
    *sources: object, modalities: tuple[int, int, int] | None = (1, 1, 0), entity: str | None = None
) -> str:
    return question_prompt(KIT, load_style("compound"), sources, modalities, entity=entity).messages[0].text  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", RULES)
def test_both_variants_have_every_rule(rule: str) -> None:
    for words in (system(TEXT, TABLE), system(TEXT, TABLE, IMAGE)):
        assert RULES[rule] in words


def test_captions_are_asked_for_when_there_are_images() -> None:
    rule = "its caption must be in the question"
    assert rule in system(TEXT, IMAGE)
    assert rule not in system(TEXT, TABLE)


def test_any_subset_when_nothing_is_required() -> None:
    words = system(TEXT, TABLE, modalities=None)
    assert "as many of the sources as the question needs" in words
    assert "Choose exactly" not in words


def test_short_answers_are_for_halves_of_questions_only() -> None:
    assert "unless the style asks for a shorter one" in system(TEXT, entity="Aar")
    assert "unless the style asks" not in system(TEXT)


@pytest.mark.parametrize("name", BUILTIN_STYLES)
def test_the_style_and_its_examples_are_shown(name: str) -> None:
    style = load_style(name)
    prompt = question_prompt(KIT, style, [TEXT, TABLE], (1, 1, 0))
    assert style.description in prompt.messages[0].text
    assert style.title in prompt.messages[0].text
    assert [m.text for m in prompt.messages if m.role == "assistant"] == [e.reply for e in style.examples]
    for number, example in enumerate(style.examples, 1):
        for _, text in example.sources:
            assert text in prompt.messages[2 * number - 1].text
    assert "Choose exactly: 1 text, 1 table." in prompt.messages[-1].text
    assert GENERATION.temperature == 0.7


def test_replies() -> None:
    assert read_question(Reply(text="<think>1 | 2 | 9</think>Why? | So. | 2"), 2) == Triple(
        "Why?", "So.", (2,)
    )
    for outcome, code in ((Reply(text="None"), "refused"), (Reply(text="Why? | So. | 3"), "citation_out_of_range"), (Refusal(), "refused"), (Truncated(text="Why? | So. | 1"), "format_error"), (Failure(kind="server", message="500"), "api_error")):  # fmt: skip
        found = read_question(outcome, 2)
        assert isinstance(found, Miss)
        assert found.outcome == code
