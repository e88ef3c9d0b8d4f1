"""OpenAI's Embeddings, and everything that is compatible with it.

Vectors are made of words: each word has a direction of its own, drawn from its hash, and a text is the sum of its words,
scaled to length one. So texts that share words are alike, the same text has the same vector on every machine, and tests of
searching need no model.
"""

from __future__ import annotations

import base64
import functools
import re
from typing import Any, Final

import numpy as np
import xxhash
from numpy.typing import NDArray

from proctor_rehearsal.standin.answer import count_tokens
from proctor_rehearsal.standin.call import Call, Content, Rejected, Turn
from proctor_rehearsal.standin.protocols.base import Said, expect, number
from proctor_rehearsal.standin.protocols.openai import Chat

__all__ = ["EMBEDDINGS", "standin_vector"]

DIMENSION: Final = 256
"""Where the request names none."""
_LIMIT: Final = 2_048
"""Inputs of one request, as at OpenAI."""
_MOST: Final = 8_192
_WORD: Final = re.compile(r"\w+")


class Embeddings(Chat):
    """``POST /v1/embeddings``.

    Faults of the model do here what a broken server does: ``length`` leaves the last vector out, ``two_choices`` sends one too
    many, ``wrong_schema`` makes the last one too short, ``empty_reply`` makes all of them zero.
    """

    name = "embeddings"

    def parse(self, call: Call) -> Content:
        """Read a request; each input is a turn."""
        body = call.json
        content = Content(expect(body, "model", str))
        given = expect(body, "input", (str, list))
        inputs = [given] if isinstance(given, str) else given
        if inputs and all(isinstance(part, int) for part in inputs):
            inputs = [inputs]  # the tokens of one text
        if not 0 < len(inputs) <= _LIMIT:
            raise Rejected(f"'input' must have 1 to {_LIMIT} entries.", param="input")
        content.turns = [Turn("user", _text(part, index)) for index, part in enumerate(inputs)]
        if (number(body, "dimensions") or 1) > _MOST:
            raise Rejected(f"'dimensions' must be at most {_MOST}.", param="dimensions")
        if body.get("encoding_format") not in (None, "float", "base64"):
            raise Rejected("'encoding_format' is float or base64.", param="encoding_format")
        return content

    def render(self, said: Said) -> dict[str, Any]:
        """Return the body of a reply."""
        call, answer = said.call, said.answer
        dimension = number(call.json, "dimensions") or DIMENSION
        texts = [turn.text for turn in call.content.turns]
        vectors = [standin_vector(text, dimension) for text in texts]
        if answer.outcome == "truncated":
            vectors = vectors[:-1]
        elif not answer.text:
            vectors = [np.zeros_like(vector) for vector in vectors]
        elif answer.text != VECTORS:
            vectors[-1] = vectors[-1][:-1]
        vectors += vectors[-1:] * (answer.copies - 1)
        packed = call.json.get("encoding_format") == "base64"
        used = sum(map(count_tokens, texts))
        return {
            "object": "list",
            "data": [
                {"object": "embedding", "index": index, "embedding": _packed(v) if packed else v.tolist()}
                for index, v in enumerate(vectors)
            ],
            "model": said.model,
            "usage": {"prompt_tokens": used, "total_tokens": used},
        }


VECTORS: Final = "vectors"
"""What the model 'says' to a request for vectors, so that its faults have something to spoil."""


def standin_vector(text: str, dimension: int = DIMENSION) -> NDArray[np.float32]:
    """Return the vector that the stand-in gives to a text, of length one; a text without words counts as one word."""
    words = _WORD.findall(text.lower()) or [text]
    total = np.sum([_direction(word, dimension) for word in words], axis=0)
    return np.asarray(total / np.linalg.norm(total), np.float32)


@functools.lru_cache(maxsize=20_000)
def _direction(word: str, dimension: int) -> NDArray[np.float64]:
    seed = xxhash.xxh3_64_intdigest(word.encode("utf-8", "surrogatepass"))
    return np.random.Generator(np.random.PCG64(seed)).standard_normal(dimension)


def _text(part: object, index: int) -> str:
    if isinstance(part, str):
        if not part:
            raise Rejected(f"'input[{index}]' cannot be an empty string.", param="input")
        return part
    if isinstance(part, list) and part and all(isinstance(token, int) for token in part):
        return " ".join(map(str, part))
    raise Rejected(f"'input[{index}]' is neither a text nor a list of tokens.", param="input")


def _packed(vector: NDArray[np.float32]) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")


EMBEDDINGS: Final = Embeddings()
