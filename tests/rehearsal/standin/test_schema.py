"""Replies by schema: jsonschema is the judge."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_rehearsal.standin.schema import follows, instance, violation

NAMES = st.sampled_from(["question", "answer", "score", "steps", "why"])


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def build(properties: dict[str, Any], required: int) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties)[:required],
            "additionalProperties": False,
        }

    return st.builds(build, st.dictionaries(NAMES, inner, max_size=4), st.integers(0, 4))


def arrays(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(
        lambda items, low, more: {"type": "array", "items": items, "minItems": low, "maxItems": low + more},
        inner,
        st.integers(0, 3),
        st.integers(0, 3),
    )


def numbers(kind: str) -> st.SearchStrategy[Any]:
    return st.builds(
        lambda low, more: {"type": kind, "minimum": low, "maximum": low + more},
        st.integers(-5, 5),
        st.integers(0, 9),
    )


LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.builds(lambda low: {"type": "string", "minLength": low, "maxLength": low + 5}, st.integers(0, 60)),
    numbers("integer"),
    numbers("number"),
    st.just({"type": "boolean"}),
    st.just({"type": "null"}),
    st.just({"type": ["string", "null"]}),
    st.just({"type": "integer", "exclusiveMinimum": 2, "exclusiveMaximum": 4}),
    st.just({"type": "integer", "minimum": 3, "multipleOf": 4}),
    st.builds(lambda v: {"enum": v}, st.lists(st.integers() | st.text(), min_size=1, max_size=4)),
    st.builds(lambda v: {"const": v}, st.integers() | st.text()),
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        objects(inner),
        arrays(inner),
        st.builds(lambda a, b: {"anyOf": [a, b]}, inner, inner),
    ),
    max_leaves=12,
)
VALUES = st.dictionaries(
    NAMES, st.integers(-9, 9) | st.text(max_size=5) | st.none() | st.lists(st.text(max_size=3))
)


@given(SCHEMAS, VALUES, st.text(max_size=20), st.text(max_size=3))
def test_what_is_made_follows_the_schema(schema: Any, values: Any, text: str, seed: str) -> None:
    made = instance(schema, values=values, text=text, seed=seed)
    jsonschema.validate(json.loads(json.dumps(made)), schema)
    assert made == instance(schema, values=values, text=text, seed=seed)
    assert follows(json.dumps(made), schema)


@given(objects(SCHEMAS), st.text(max_size=3))
def test_what_violates_does_not_follow(schema: Any, seed: str) -> None:
    made = violation(schema, seed=seed)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(made, schema)


def test_wanted_values_are_used_where_they_fit() -> None:
    schema = {
        "type": "object",
        "properties": {
            "pairs": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "question": {"type": "string"},
                        "answers": {"type": "array", "items": {"type": "string"}},
                    },
                    "required": ["question", "answers"],
                },
                "maxItems": 2,
            },
            "score": {"enum": [0, 1, 2]},
            "sure": {"anyOf": [{"type": "null"}, {"type": "number"}]},
        },
        "required": ["pairs", "score"],
    }
    pairs = [{"question": "a?", "answers": ["x", "y"]}, {"question": "b?", "answers": []}, {"question": "c?"}]
    made = instance(schema, values={"pairs": pairs, "score": 1, "sure": 0.5})
    assert made["pairs"][0] == pairs[0]
    assert made["pairs"][1]["question"] == "b?"
    assert len(made["pairs"]) == 2
    assert (made["score"], made["sure"]) == (1, 0.5)
    assert instance(schema, values={"score": 7})["score"] in (0, 1, 2)
    fours = {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 3, "multipleOf": 4}},
        "required": ["n"],
    }
    assert [instance(fours, values={"n": n})["n"] for n in (3, 4)] == [4, 4]


def test_references_and_all_of() -> None:
    schema = {
        "$defs": {"step": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}},
        "type": "object",
        "properties": {
            "step": {"$ref": "#/$defs/step"},
            "both": {
                "allOf": [
                    {"$ref": "#/$defs/step"},
                    {"properties": {"b": {"type": "boolean"}}, "required": ["b"]},
                ]
            },
        },
        "required": ["step", "both"],
    }
    jsonschema.validate(instance(schema), schema)
    assert set(instance(schema)["both"]) == {"id", "b"}


def test_schemas_that_never_end_do() -> None:
    node: dict[str, Any] = {
        "type": "object",
        "properties": {"text": {"type": "string"}, "next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
        "required": ["text", "next"],
    }
    jsonschema.validate(instance(node), node)
    loop = {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}
    assert isinstance(instance(loop), str)
    endless = {"type": "object", "properties": {"more": {"$ref": "#"}}, "required": ["more"]}
    assert isinstance(instance(endless), dict)
    crowd = {"type": "array", "items": {"$ref": "#"}, "minItems": 3}
    assert isinstance(instance(crowd), list)
    knot = {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}
    assert instance(knot, values={"": 7}) is None
    assert instance({"$ref": "#/nowhere"}, text="x") == "x"


def test_follows() -> None:
    schema = {"type": "object", "required": ["a"]}
    assert follows('{"a": 1}', schema)
    assert not follows('"x"', {"type": "integer"})
    assert not follows("3", {"enum": [1, 2]})
    assert follows("3", {"const": 3})
    assert follows("null", {"type": ["string", "null"]})
    for text in ("", "a", "[]", "{}", '{"a": 1', "[" * 100_000):
        assert not follows(text, schema)
