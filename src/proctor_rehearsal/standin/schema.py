"""Replies that follow a JSON Schema by rule, and replies that do not."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Final

import msgspec

__all__ = ["follows", "instance", "violation"]

_DEPTH: Final = 12
_NODES: Final = 10_000
_WORDS: Final = ("stir", "the", "bowl", "add", "salt", "then", "wait", "pour", "water", "slowly")

Schema = Mapping[str, Any]
_PYTHON: Final[dict[str, Any]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def instance(
    schema: Schema, *, values: Mapping[str, Any] | None = None, text: str = "", seed: str = ""
) -> Any:
    """Make a value that follows a schema: the same one for the same arguments.

    Understands what providers take: objects, arrays, strings, numbers, booleans, null, enum, const, anyOf, oneOf, allOf,
    $ref to $defs or definitions, type lists, lengths and bounds; Google's spelling of types (``OBJECT``) too. A schema that
    asks for an endless value gets one that ends, and does not follow.

    Args:
        schema: the JSON Schema.
        values: wanted values by field name, used wherever they fit.
        text: what the first string without a wanted value says; made-up words when empty.
        seed: chooses among what is allowed.
    """
    maker = _Maker(schema, dict(values or {}), text, random.Random(seed))  # noqa: S311 - play, not secrecy
    return maker.make(schema, "", 0)


class _Maker:
    def __init__(self, root: Schema, values: dict[str, Any], text: str, rng: random.Random) -> None:
        self.root, self.values, self.text, self.rng = root, values, text, rng
        self.left = _NODES

    def make(self, schema: Any, name: str, depth: int, wanted: Any = None) -> Any:
        self.left -= 1
        if depth > 2 * _DEPTH or self.left < 0:
            return None
        schema = _resolve(schema, self.root)
        wanted = self.values.get(name) if wanted is None else wanted
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return wanted if wanted in schema["enum"] else self.rng.choice(list(schema["enum"]))
        for word in ("anyOf", "oneOf"):
            if schema.get(word):
                return self._branch(schema[word], name, depth, wanted)
        kind = _kind(schema, wanted)
        if kind == "object":
            return self._object(schema, depth, wanted)
        if kind == "array":
            return self._array(schema, depth, wanted)
        if kind == "string":
            return self._string(schema, wanted)
        if kind in ("integer", "number"):
            return self._number(schema, kind, wanted)
        if kind == "boolean":
            return wanted if isinstance(wanted, bool) else self.rng.random() < 0.5
        return None

    def _branch(self, branches: list[Any], name: str, depth: int, wanted: Any) -> Any:
        """Take the branch that the wanted value fits; deep inside one that ends (null, plain values)."""
        if wanted is not None:
            for branch in branches:
                made = self.make(branch, name, depth + 1, wanted)
                if made == wanted:
                    return made
        plain = [b for b in branches if _kind(_resolve(b, self.root), None) not in ("object", "array")]
        usual = [b for b in branches if _kind(_resolve(b, self.root), None) != "null"]
        return self.make((plain if depth > _DEPTH // 2 and plain else usual or branches)[0], name, depth + 1)

    def _object(self, schema: Schema, depth: int, wanted: Any) -> dict[str, Any]:
        properties = schema.get("properties") or {}
        required = list(schema.get("required") or ())
        names = list(properties) if depth < _DEPTH // 2 else [n for n in properties if n in required]
        names += [n for n in required if n not in properties]
        if depth > _DEPTH:
            return {}
        given = wanted if isinstance(wanted, Mapping) else {}
        return {n: self.make(properties.get(n, {}), n, depth + 1, given.get(n)) for n in names}

    def _array(self, schema: Schema, depth: int, wanted: Any) -> list[Any]:
        items = schema.get("items", {})
        low, high = int(schema.get("minItems") or 0), schema.get("maxItems")
        given = list(wanted) if isinstance(wanted, list | tuple) else []
        count = max(low, len(given) or (1 if depth < _DEPTH // 2 else 0))
        count = min(count, int(high)) if high is not None else count
        return [self.make(items, "", depth + 1, given[i] if i < len(given) else None) for i in range(count)]

    def _string(self, schema: Schema, wanted: Any) -> str:
        low, high = int(schema.get("minLength") or 0), schema.get("maxLength")
        if isinstance(wanted, str):
            said = wanted
        elif self.text:
            said, self.text = self.text, ""
        else:
            said = " ".join(self.rng.sample(_WORDS, 4))
        said += "." * max(0, low - len(said))
        return said[: int(high)] if high is not None else said

    def _number(self, schema: Schema, kind: str, wanted: Any) -> Any:
        low, high = schema.get("minimum"), schema.get("maximum")
        if schema.get("exclusiveMinimum") is not None:
            low = schema["exclusiveMinimum"] + (1 if kind == "integer" else 1e-6)
        if schema.get("exclusiveMaximum") is not None:
            high = schema["exclusiveMaximum"] - (1 if kind == "integer" else 1e-6)
        low = low if low is not None else (min(0, high) if high is not None else 0)
        high = high if high is not None else max(low, 0) + 2
        step = schema.get("multipleOf")
        fits = isinstance(wanted, int | float) and not isinstance(wanted, bool) and low <= wanted <= high
        if fits and not (step and wanted % step):
            return wanted if kind == "number" else int(wanted)
        if step:
            return -(-low // step) * step
        first, last = -(-low // 1), high // 1
        return self.rng.randint(int(first), int(last)) if first <= last else low


def _resolve(schema: Any, root: Schema) -> Schema:
    """Follow references and merge allOf; what cannot be followed allows anything."""
    for _ in range(_DEPTH):
        if not isinstance(schema, Mapping):
            return {}
        if isinstance(schema.get("$ref"), str):
            place: Any = root
            words = schema["$ref"].lstrip("#").strip("/")
            for word in words.split("/") if words else ():
                place = (
                    place.get(word.replace("~1", "/").replace("~0", "~"), {})
                    if isinstance(place, Mapping)
                    else {}
                )
            schema = place
        elif schema.get("allOf"):
            merged: dict[str, Any] = {k: v for k, v in schema.items() if k != "allOf"}
            for part in schema["allOf"]:
                part = _resolve(part, root)
                properties = {**merged.get("properties", {}), **part.get("properties", {})}
                required = [*merged.get("required", ()), *part.get("required", ())]
                merged = {**part, **merged, "properties": properties, "required": required}
            schema = merged
        else:
            return schema
    return {}


def _kinds(schema: Schema) -> list[str]:
    named = schema.get("type")
    names = [str(n).lower() for n in (named if isinstance(named, list) else [named] if named else [])]
    if names:
        return [n for n in names if n in _PYTHON] or ["null"]
    if "properties" in schema or "required" in schema:
        return ["object"]
    return ["array"] if "items" in schema else ["string"]


def _kind(schema: Schema, wanted: Any) -> str:
    """Return the one of several types that fits the wanted value, else the first that is not null."""
    usual = [n for n in _kinds(schema) if n != "null"]
    fitting = [n for n in usual if wanted is not None and isinstance(wanted, _PYTHON[n])]
    return next(iter([*fitting, *usual]), "null")


def follows(text: str, schema: Schema) -> bool:
    """Say whether a text is JSON of the schema's outermost shape: required fields are there, the type is right."""
    try:
        value = msgspec.json.decode(text.encode("utf-8", "surrogatepass"))
    except (msgspec.DecodeError, RecursionError):
        return False
    schema = _resolve(schema, schema)
    if "anyOf" in schema or "oneOf" in schema:
        return True
    if "const" in schema or schema.get("enum"):
        return value in [schema["const"]] if "const" in schema else value in schema["enum"]
    if not isinstance(value, tuple(_PYTHON[kind] for kind in _kinds(schema))):
        return False
    if isinstance(value, dict):
        return all(name in value for name in schema.get("required") or ())
    return True


def violation(schema: Schema, *, seed: str = "") -> Any:
    """Make a value that does not follow a schema, in one of the ways in which models fail to."""
    schema = _resolve(schema, schema)
    made = instance(schema, seed=seed)
    if not isinstance(made, dict) or not made:
        return {"unexpected": made}
    rng = random.Random(seed)  # noqa: S311 - play, not secrecy
    required = [n for n in schema.get("required") or () if n in made]
    if required and rng.random() < 0.5:
        made.pop(rng.choice(required))
        return made
    name = rng.choice(required or list(made))
    if required and not isinstance(made[name], list):
        made[name] = [made[name], {"nested": None}]
        return made
    return [made]
