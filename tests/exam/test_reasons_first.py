"""Whoever verifies or marks gives the reason before the verdict: in the words of every prompt, and in every JSON Schema."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from proctor.ask.clip.filter_prompt import JUDGED, filter_form, filter_schema
from proctor.ask.moment.promqa_prompt import generation_prompts
from proctor.exam.kinds.clip_marker import consistency_schema
from proctor.exam.kinds.moment_marker import SCALES, rubrics, verdict_form, verdict_schema
from proctor.exam.predict_prompt import evaluation_prompts
from proctor.llm.prompt import PromptSet
from proctor.verify.llm_prompt import IN_GENERAL, OF_MOMENTS, review_schema, verification_prompts

_VERDICT = re.compile(
    r'"verdict"|"consistent"|"needs_both"|"needed"|the verdict:|word Verdict|word Score|Score: and the mark'
)
_REASON = re.compile(
    r'"reason"|"rationale"|reasons? (?:first|in one)|with the reason|explain your mark', re.IGNORECASE
)
_FORMS = ("_judge_form_binary", "_judge_form_ternary", "_source_score_form")


def asked(prompts: PromptSet, name: str) -> str:
    """A template with the parts that say what a reply looks like."""
    path = Path(prompts[name].source)
    text = path.read_text()
    parts = [p for p in _FORMS if f'include "{p}"' in text]
    return text + "".join((path.parent / f"{p}.md.j2").read_text() for p in parts)


PROMPTS = (
    *((verification_prompts(), criteria.template) for criteria in (OF_MOMENTS, IN_GENERAL)),
    *((generation_prompts(), f"filter-{name}") for name in (*JUDGED, "consistency")),
    *((generation_prompts(), name) for name in ("styled-verification", "styled-mark")),
    *((evaluation_prompts(), name) for name in sorted({r.template for r in rubrics()})),
    *((evaluation_prompts(), name) for name in ("source-judge", "source-judge-reference")),
)


@pytest.mark.parametrize(("prompts", "name"), PROMPTS, ids=[name for _, name in PROMPTS])
def test_a_prompt_asks_for_the_reason_first(prompts: PromptSet, name: str) -> None:
    text = asked(prompts, name)
    reasons, verdicts = ([m.start() for m in pattern.finditer(text)] for pattern in (_REASON, _VERDICT))
    assert reasons
    assert verdicts
    assert min(reasons) < min(verdicts)


def test_a_schema_has_the_reason_first() -> None:
    review = review_schema(2)["properties"]
    schemas = (
        *(filter_schema(name) for name in JUDGED),
        *(verdict_schema(scale) for scale in SCALES),
        consistency_schema(),
        review["question"],
        review["answers"]["items"],
    )
    for schema in schemas:
        assert next(iter(schema["properties"])) in ("reason", "rationale")
    for name in JUDGED:
        assert filter_form(name).index("reason") < filter_form(name).index("verdict")
    for rubric in rubrics():
        form = verdict_form(rubric).casefold()
        assert min(form.find(w) for w in ("reasons", "rationale") if w in form) < form.index("verdict")
