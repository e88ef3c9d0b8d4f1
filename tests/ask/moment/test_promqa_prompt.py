"""The generation prompts: every fact of the 195 published prompts is in ours, in other words; replies are read.

The published prompt is taken apart into facts here, independently of the code under test; ours is taken apart by its
fences. What is compared are facts: the activity, the steps, the target, the number of pairs, each rule.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.ask.moment import promqa_prompt
from proctor.ask.moment.parse import parse_pairs
from proctor.ask.moment.promqa import read_promqa, to_example
from proctor.ask.moment.promqa_prompt import (
    DEFAULT_TEMPLATE,
    PAIRS_SCHEMA,
    PUBLISHED_NAMES,
    TEMPLATES,
    generation_prompt,
    generation_prompts,
    read_pairs,
)
from proctor.errors import UserError
from proctor.exam.kinds.example import Example, Performed, StepRef
from proctor.exam.kinds.moment_question import JUDGING
from proctor.llm.fence import FenceSecret
from proctor.llm.prompt import frame_labels
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Mistake
from proctor.verify.llm_prompt import OF_MOMENTS

SECRET = FenceSecret(b"the secret of the generation tests")
PROMPTS = generation_prompts()
FRAMES = frame_labels([0.0, 4.0, 8.5], [0, 120, 255])


# -- taking prompts apart ----------------------------------------------------------------------------------------


def fences(text: str) -> dict[str, str]:
    """The fenced values of one of our prompts by label."""
    found = re.findall(r"<<<BEGIN ([a-z0-9 ]+) ([0-9a-f]{16})>>>\n?(.*?)\n?<<<END \1 \2>>>", text, re.DOTALL)
    assert len({token for _, token, _ in found}) == 1
    return {label: content for label, _, content in found}


def bullets(content: str) -> list[str]:
    assert all(line.startswith("- ") for line in content.splitlines())
    return [line[2:] for line in content.splitlines()]


def outside(text: str) -> str:
    """Our own words: the prompt without what is fenced."""
    return re.sub(r"<<<BEGIN ([a-z0-9 ]+) ([0-9a-f]{16})>>>.*?<<<END \1 \2>>>", "", text, flags=re.DOTALL)


@dataclass
class Facts:
    """What a published prompt says."""

    activity: str
    done: list[str]
    current: list[str]
    next_steps: list[str] | None = None
    missing_steps: list[str] | None = None
    mistake: tuple[str, str] | None = None
    original: list[str] = field(default_factory=list)
    asks_for: str = ""
    rest: str = ""


def published_facts(prompt: str) -> Facts:
    def listed(pattern: str) -> list[str]:
        match = re.search(pattern + r"\n((?:- [^\n]*(?:\n|$))+)", prompt)
        return [line[2:] for line in match[1].splitlines()] if match else []

    activity = re.search(r"A person is cooking (.+) with their friend, who is a skilled cook\.", prompt)
    assert activity is not None
    mistake = re.search(r"error in the latest action about (\w+): (.*)", prompt)
    return Facts(
        activity=activity[1],
        done=listed(r"The person completed th(?:is|ese) steps?:"),
        current=listed(r"the person has just performed this step:")
        or listed(r"The person has just performed this step:"),
        next_steps=[] if "this is the last step" in prompt else listed(r"can be done next:") or None,
        missing_steps=[] if "there is no missing step" in prompt else listed(r"(?:is|are) missed:") or None,
        mistake=(mistake[1], mistake[2]) if mistake else None,
        original=listed(r"According to the recipe, the correct action is:"),
        asks_for=re.search(r"ask the friend about (\w+)", prompt)[1],
        rest=prompt,
    )


RULES = {
    # a fact of the published prompt -> how ours says it
    r"return three pairs": r"exactly 3 different questions, each with its answers",
    r"watching over you throughout": r"has followed the activity from its beginning",
    r"understand the situation": r"knows exactly how things stand",
    r"one consice sentence/phrase": r"a single sentence or phrase each",
    r"provide all correct answers": r"give them all, one by one",
    r"each answer targets at one step": r"each about one step only",
    r"beginner/experienced": r"somebody new to this and somebody with routine",
    r"careless/careful": r"somebody careful and somebody absent-minded",
    r"as diverse pairs": r"differ as much as they can",
    r"question/answer type": r"in what is asked, in how it is answered",
    r"tone, wording": r"in tone and in choice of words",
    r"an answer is just no": r'a plain "No" is a full answer',
    r"may or may not be noticing": r"It is open whether the person at work has noticed",
    r"skilled cook": r"has great experience with it",
    r"as a list:\n\* <question1>\n    \* <answer1-1>": r"\* <first question>\n    \* <an answer>",
    r"# Example\n\* ": r"The kind of pairs that is meant[^\n]*\n\* ",
}
ASKS = {
    "next": "to be done next",
    "missing": "left out",
    "order": "wrong order",
    **{
        kind: f"a fault of {kind} in the latest step"
        for kind in ("measurement", "preparation", "technique", "temperature", "timing")
    },
}


@pytest.fixture(scope="module")
def graphs(shared_data: Path) -> dict[str, TaskGraph]:
    found = {}
    for path in (shared_data / "captaincook4d/task_graphs").glob("*.json"):
        raw = json.loads(path.read_text(encoding="utf-8"))
        steps = tuple(Step(i, text) for i, text in raw["steps"].items())
        edges = tuple((str(a), str(b)) for a, b in raw["edges"])
        found[path.stem] = TaskGraph(path.stem, path.stem, steps, edges, "0", max(raw["steps"], key=int))
    return found


@pytest.fixture(scope="module")
def published(shared_data: Path, graphs):
    read = read_promqa(shared_data / "promqa/examples_dev.json")
    pairs = [(raw, graphs[raw.activity_name.lower().replace(" ", "")]) for raw in read]
    return [(raw, to_example(raw, graph), graph) for raw, graph in pairs]


# -- the 195 published prompts -----------------------------------------------------------------------------------


@pytest.mark.shared
def test_every_fact_of_every_published_prompt_is_in_ours(published) -> None:
    assert len(published) == 195
    blocked = 0
    for raw, example, graph in published:
        assert raw.generation.template_type == "step-target"
        facts = published_facts(raw.generation.prompt)
        made = generation_prompt(example, graph, PROMPTS, SECRET, template=raw.generation.template_type)
        ours, words = fences(made.messages[-1].text), outside(made.text)
        where = raw.question_id
        assert ours["activity"] == facts.activity, where
        assert bullets(ours.get("finished steps", "")) == facts.done, where
        if facts.current == ["Start-Start cooking."]:
            assert "at the very start: no step has been done" in words, where
        else:
            assert bullets(ours["latest step"]) == facts.current, where
        if facts.next_steps:
            assert bullets(ours["allowed now"]) == facts.next_steps, where
        if facts.next_steps == []:
            over, stuck = "The activity is over" in words, "it is stuck" in words
            assert over != stuck, where
            assert over == (example.state == "finished"), where
            blocked += stuck
            assert not stuck or bullets(ours["left out"]) == [s.text for s in example.all_missing] != [], (
                where
            )
        if facts.missing_steps:
            assert bullets(ours["left out"]) == facts.missing_steps, where
        if facts.missing_steps == []:
            assert "Nothing has been left out" in words, where
        if facts.mistake is not None:
            kind, text = facts.mistake
            assert kind == example.type
            assert text.strip() in [b.strip() for b in bullets(ours["observed"])], where
            assert ("order" if kind == "order" else f"it concerns {kind}") in words, where
        if facts.original:
            assert bullets(ours["as it should be"]) == facts.original, where
        assert facts.asks_for == example.type
        assert ASKS[facts.asks_for] in words, where
        for theirs, same in RULES.items():
            assert re.search(theirs, facts.rest), (where, theirs)
            assert re.search(same, words), (where, same)
    assert blocked > 0


@pytest.mark.shared
def test_the_facts_are_really_taken_from_the_published_prompts(published) -> None:
    """Guards the test above: a pattern that finds nothing would make it say nothing."""
    facts = [published_facts(raw.generation.prompt) for raw, _, _ in published]
    assert all(f.current for f in facts)
    for f, (raw, _, _) in zip(facts, published, strict=True):
        assert len(f.done) == len(raw.previous_steps)
        assert (f.next_steps is not None) == (raw.type == "next")
        assert (f.missing_steps is not None) == (raw.type == "missing")
        assert (f.mistake is not None) == (raw.type not in ("next", "missing"))
        assert bool(f.original) == (raw.type not in ("next", "missing", "order"))
        assert len(f.next_steps or []) == len(raw.next_steps or [])
        assert len(f.missing_steps or []) == len(raw.missing_steps or [])


@pytest.mark.shared
def test_changing_a_fact_is_noticed(published) -> None:
    """The comparison above can fail: another step text, a lost target, another activity."""
    raw, example, graph = next(
        p for p in published if p[0].type == "missing" and p[0].missing_steps and p[0].previous_steps
    )
    facts = published_facts(raw.generation.prompt)
    lost = Example(
        **{f: getattr(example, f) for f in example.__struct_fields__}
        | {"missing_steps": example.missing_steps[1:]}
    )
    ours = fences(generation_prompt(lost, graph, PROMPTS, SECRET).messages[-1].text)
    assert bullets(ours.get("left out", "")) != facts.missing_steps


@pytest.mark.shared
def test_dot_carries_all_nodes_and_edges_by_id(published) -> None:
    for raw, example, graph in published:
        for template in ("step-dot", "video-dot", "step-dot-target"):
            made = generation_prompt(example, graph, PROMPTS, SECRET, template=template, frames=FRAMES)
            dot = fences(made.messages[-1].text)["procedure"]
            nodes = dict(re.findall(r'^  "([^"]+)" \[label="(.*)"\];$', dot, re.MULTILINE))
            edges = re.findall(r'^  "([^"]+)" -> "([^"]+)";$', dot, re.MULTILINE)
            assert nodes == {s.id: s.text for s in graph.steps}, raw.question_id
            assert edges == [tuple(edge) for edge in graph.edges], raw.question_id


@pytest.mark.shared
def test_an_order_mistake_comes_with_the_prerequisites_that_were_broken(published) -> None:
    shown = 0
    for _, example, graph in published:
        if example.type == "order":
            ours = fences(generation_prompt(example, graph, PROMPTS, SECRET).messages[-1].text)
            lines = bullets(ours.get("required order", ""))
            now = example.current.step_id
            assert lines == [
                f"{graph[a].text} -> {graph[b].text}" for a, b in example.blocking if now in (a, b)
            ]
            shown += bool(lines)
    assert shown


@pytest.mark.shared
def test_no_sentence_of_the_published_prompts_is_in_ours(published) -> None:
    """Seven words in a row that both have, outside of data, would be a copy."""

    def runs(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"[a-z']+", text.lower())
        return {tuple(words[i : i + 7]) for i in range(len(words) - 6)}

    for raw, example, graph in published:
        theirs = re.sub(r"^- .*$", "", raw.generation.prompt, flags=re.MULTILINE)
        theirs = theirs.replace(raw.error_description or "\0", "").replace(raw.activity_name, "")
        for template in TEMPLATES:
            made = generation_prompt(example, graph, PROMPTS, SECRET, template=template, frames=FRAMES)
            assert not runs(theirs) & runs(outside(made.text)), template


@pytest.mark.shared
def test_our_parser_turns_every_published_response_into_the_published_pairs(published) -> None:
    for raw, _, _ in published:
        wanted = sorted((p.question.strip(), tuple(a.strip() for a in p.answers)) for p in raw.generation.qas)
        for read in (parse_pairs, read_pairs):
            assert sorted((p.question, p.answers) for p in read(raw.generation.response).pairs) == wanted, (
                raw.question_id
            )


@pytest.mark.shared
def test_keys_are_stable_and_different(published) -> None:
    def texts() -> list[str]:
        return [generation_prompt(example, graph, PROMPTS, SECRET).text for _, example, graph in published]

    first = texts()
    assert first == texts()
    assert len(set(first)) == 195


# -- every template ----------------------------------------------------------------------------------------------

GRAPH = TaskGraph(
    "shelf",
    "Mount a shelf",
    (
        Step("S", "START"),
        Step("a", 'Drill "two" holes'),
        Step("b", "Insert plugs"),
        Step("c", "Insert plugs"),
        Step("d", "Hang it up"),
        Step("E", "END"),
    ),
    (("S", "a"), ("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "E")),
    "S",
    "E",
)


def example(type_: str = "next", **changes) -> Example:
    values = {
        "id": f"r_1_{type_}",
        "clip_id": "r_1",
        "recording_id": "r",
        "activity_id": "shelf",
        "activity_name": "Mount a shelf",
        "type": type_,
        "end": 30.0,
        "state": "ongoing",
        "noisy": False,
        "previous": (
            Performed("a", "Drill 1 hole", "Drill two holes", (Mistake("measurement", "one hole only"),)),
        ),
        "current": Performed("b", "Insert plugs", "Insert plugs"),
        "next_steps": (StepRef("c", "Insert plugs"),) if type_ == "next" else None,
        "missing_steps": (StepRef("c", "Insert plugs"),) if type_ == "missing" else None,
        "mistake_texts": () if type_ in ("next", "missing") else ("first note", "last note"),
    }
    return Example(**values | changes)


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("type_", ASKS)
def test_every_template_works_for_every_type(template: str, type_: str) -> None:
    made = generation_prompt(example(type_), GRAPH, PROMPTS, SECRET, template=template, frames=FRAMES)
    words = outside(made.messages[-1].text)
    ours = fences(made.messages[-1].text)
    assert made.template == template
    assert ours["activity"] == "Mount a shelf"
    assert ("procedure" in ours) == ("dot" in template)
    assert ("latest step" in ours) == ("steps" in template or "current" in template)
    assert ("finished steps" in ours) == ("steps" in template)
    assert ("1 at 0.00 s (frame 0); 2 at 4.00 s (frame 120); 3 at 8.50 s (frame 255)" in words) == TEMPLATES[
        template
    ].frames
    assert ("first picture attached" in words) == TEMPLATES[template].recipe_image
    assert ("What the friend is aware of" in words) == ("excerpt" in template)
    assert ("one hole only" in made.text) == (template == "excerpt-steps-mistakes")
    assert made.text.rstrip().endswith("<an answer>")
    assert made.messages[0].role == "system"
    assert made.token in made.messages[0].text


def test_the_templates_are_the_published_ones_and_all_files_are_used() -> None:
    others = ("styled-", "instructional-", "filter-", "choices-")  # those are SMMQG's and InstructionBench's
    own = {name for name in PROMPTS.names if not name.startswith(others)}
    assert set(PUBLISHED_NAMES.values()) == set(TEMPLATES) == own
    assert PUBLISHED_NAMES["step-target"] == DEFAULT_TEMPLATE
    assert len({PROMPTS[n].hash for n in TEMPLATES}) == len(TEMPLATES)


def test_twin_steps_stay_apart_in_dot() -> None:
    text = fences(
        generation_prompt(example(), GRAPH, PROMPTS, SECRET, template="dot-steps").messages[-1].text
    )["procedure"]
    assert text.count('[label="Insert plugs"]') == 2
    assert r'"a" [label="Drill \"two\" holes"];' in text


@pytest.mark.parametrize(
    ("state", "says", "not_says"),
    [("finished", "The activity is over", "stuck"), ("blocked", "it is stuck", "The activity is over")],
)
def test_finished_and_blocked_are_told_apart(state: str, says: str, not_says: str) -> None:
    made = generation_prompt(
        example(state=state, next_steps=(), all_missing=(StepRef("a", "Drill two holes"),)),
        GRAPH,
        PROMPTS,
        SECRET,
    )
    assert says in made.text
    assert not_says not in made.text
    assert ("Drill two holes" in fences(made.messages[-1].text).get("left out", "")) == (state == "blocked")


def test_all_notes_of_a_mistake_are_there_and_the_original_text() -> None:
    ours = fences(generation_prompt(example("timing"), GRAPH, PROMPTS, SECRET).messages[-1].text)
    assert bullets(ours["observed"]) == ["first note", "last note"]
    assert bullets(ours["as it should be"]) == ["Insert plugs"]


def test_the_number_of_pairs_and_json_can_be_asked_for() -> None:
    made = generation_prompt(example(), GRAPH, PROMPTS, SECRET, pairs=1, form="json")
    assert "exactly 1 question, each" in made.text
    assert made.text.endswith('"answers" (list of texts).')
    assert PAIRS_SCHEMA["properties"]["pairs"]["items"]["required"] == ["question", "answers"]


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(UserError, match="no template 'nope'"):
        generation_prompt(example(), GRAPH, PROMPTS, SECRET, template="nope")
    with pytest.raises(UserError, match="needs frames"):
        generation_prompt(example(), GRAPH, PROMPTS, SECRET, template="video-dot")
    with pytest.raises(UserError, match="'zz' is not in the task graph"):
        generation_prompt(example("timing", current=Performed("zz", "x")), GRAPH, PROMPTS, SECRET)


def test_an_unknown_step_with_its_instruction_will_do() -> None:
    made = generation_prompt(
        example("timing", current=Performed("zz", "x", "as told")), GRAPH, PROMPTS, SECRET
    )
    assert bullets(fences(made.messages[-1].text)["as it should be"]) == ["as told"]


def test_a_users_folder_replaces_a_part(tmp_path: Path) -> None:
    (tmp_path / "generate").mkdir()
    (tmp_path / "generate" / "_setting.md.j2").write_text("Be brief. {{ fence_rule }}")
    made = generation_prompt(example(), GRAPH, generation_prompts(tmp_path), SECRET)
    assert made.text.startswith("Be brief.")
    assert made.template_hash != generation_prompt(example(), GRAPH, PROMPTS, SECRET).template_hash


@pytest.mark.parametrize("template", TEMPLATES)
def test_writers_are_told_what_those_who_verify_look_at(template: str) -> None:
    words = outside(
        generation_prompt(example(), GRAPH, PROMPTS, SECRET, template=template, frames=FRAMES).text
    )
    told = re.search(r"unless all of this holds of it:\n((?:- [^\n]+\n)+)", words)
    assert told is not None
    assert bullets(told[1].rstrip()) == [f"{c.text}. {c.example}" for c in JUDGING.criteria]
    assert len(JUDGING.criteria) == len(OF_MOMENTS.names)  # one for each that a verifying model decides on
    assert words.index(told[0]) < words.index("The kind of pairs that is meant")


def test_the_published_protocol_keeps_its_words_and_keys() -> None:
    """Hashes of the templates before writers were told any criteria; a key follows from the template's hash and what is shown."""
    before = generation_prompts(published=True)
    assert {name: before[name].hash for name in TEMPLATES} == {
        "dot-frames": "54d0c75e77875974",
        "image-frames": "c5177428d73efbad",
        "excerpt-frames": "e781a315804b1912",
        "dot-steps": "ea37fc3ec6f80ee9",
        "image-steps": "be352afa9c2e4aba",
        "excerpt-steps": "300982ec3dad8bc6",
        "excerpt-frames-steps": "de2e0c16455dd99f",
        "dot-excerpt-steps": "fc45f1c5bdfced60",
        "excerpt-steps-mistakes": "8c616fa21a7791e4",
        "excerpt-current": "c07e4259fd67a90f",
    }
    made = generation_prompt(example(), GRAPH, before, SECRET)
    assert "thrown away" not in made.text
    ours = generation_prompt(example(), GRAPH, PROMPTS, SECRET)
    block = re.compile(r"Every question is checked before .*?\n\n", re.DOTALL)
    assert re.sub(r"[0-9a-f]{16}", "", block.sub("", ours.text)) == re.sub(r"[0-9a-f]{16}", "", made.text)


def test_a_users_template_of_old_is_used_as_it_is(tmp_path: Path) -> None:
    folder = Path(promqa_prompt.__file__).parents[1] / "published"
    (tmp_path / "generate").mkdir()
    for name in ("excerpt-steps", "_request"):
        shutil.copy(folder / f"{name}.md.j2", tmp_path / "generate")
    made = generation_prompt(example(), GRAPH, generation_prompts(tmp_path), SECRET)
    assert made == generation_prompt(example(), GRAPH, generation_prompts(published=True), SECRET)


# -- replies -----------------------------------------------------------------------------------------------------

PAIRS = {
    "pairs": [
        {"question": "What now?", "answers": ["Stir it.", "Pour it."]},
        {"question": "Is it hot?", "answers": ["No."]},
    ]
}
WANTED = [("What now?", ("Stir it.", "Pour it.")), ("Is it hot?", ("No.",))]


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps(PAIRS),
        "```json\n" + json.dumps(PAIRS, indent=2) + "\n```",
        "Here you are:\n" + json.dumps(PAIRS)[:-1] + ",}",
        "* What now?\n    * Stir it.\n    * Pour it.\n* Is it hot?\n    * No.",
        "<think>* Wrong?\n    * No.</think>\n* What now?\n    * Stir it.\n    * Pour it.\n* Is it hot?\n    * No.",
    ],
)
def test_lists_and_json_are_read(reply: str) -> None:
    assert [(p.question, p.answers) for p in read_pairs(reply).pairs] == WANTED


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty"),
        ("<html>502</html>", "not_a_reply"),
        ("x" * 300_000, "too_long"),
        ("<think>* What", "unfinished_thinking"),
        ("I cannot help with that.", "stray_line"),
        (json.dumps({"pairs": [{"question": "Did I do <one step>?", "answers": ["Yes."]}]}), "placeholder"),
        (json.dumps({"pairs": [{"question": "What?", "answers": []}]}), "question_without_answer"),
    ],
)
def test_what_cannot_be_used_is_listed(reply: str, reason: str) -> None:
    read = read_pairs(reply)
    assert read.pairs == ()
    assert reason in [r for r, _ in read.problems]


def test_placeholders_of_our_examples_would_be_noticed() -> None:
    """A model that copies an example instead of filling it in must not get its pair accepted."""
    for type_ in ASKS:
        text = outside(generation_prompt(example(type_), GRAPH, PROMPTS, SECRET).text)
        shown = re.search(r"never angle brackets\):\n((?: *\* .*\n)+)", text)[1]
        parsed = parse_pairs(shown)
        kept = [p for p in parsed.pairs if "<" in p.question + "".join(p.answers)]
        assert kept == []
        assert any(reason == "placeholder" for reason, _ in parsed.problems)


@given(st.text(max_size=300))
def test_reading_never_fails(reply: str) -> None:
    read_pairs(reply)
