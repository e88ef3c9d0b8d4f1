"""Any server that speaks OpenAI's Chat Completions: vLLM, SGLang, Ollama, llama.cpp, TGI, gateways.

They are younger or older than OpenAI's own: the limit is ``max_tokens``, video goes as ``video_url`` (vLLM, SGLang), a key is
optional, usage may be missing, and some leave the thinking of a model in its text, from where it is taken out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from proctor.llm.http import Body
from proctor.llm.keys import find_base_url, find_key
from proctor.llm.media import MediaStore
from proctor.llm.message import Request
from proctor.llm.model import Model, ModelName
from proctor.llm.outcome import Outcome
from proctor.llm.providers.openai import Dialect, parse_chat, render_chat
from proctor.llm.providers.wire import HttpModel

__all__ = ["parse_compat", "provider", "render_compat"]

COMPAT: Final = Dialect("this server", "max_tokens", video=True, strict=False)


def render_compat(request: Request, media: MediaStore, model: str) -> Body:
    """Return the body for a compatible server.

    Raises:
        UserError: if the protocol has no way to say this.
    """
    return render_chat(request, media, model, COMPAT)


def parse_compat(status: int, headers: Mapping[str, str], body: bytes) -> Outcome:
    """Return what became of a call; never raises."""
    return parse_chat(status, headers, body, COMPAT)


def provider(name: ModelName) -> Model:
    """Return ``compat/MODEL@http://host:8000/v1``; a key in ``COMPAT_API_KEY`` is sent if there is one.

    Raises:
        UserError: if no address is given, neither behind the name nor in ``COMPAT_BASE_URL``.
    """
    key = find_key("COMPAT_API_KEY", required=False)
    base = find_base_url(name.base_url, "COMPAT_BASE_URL", default="", sends_key=key is not None)
    return HttpModel(
        name,
        base,
        f"{base}/chat/completions",
        headers={} if key is None else key.header("Authorization", "Bearer "),
        key=key,
        render=render_compat,
        parse=parse_compat,
    )
