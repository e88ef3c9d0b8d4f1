"""``transformers/PATH``: a model in a local folder, run in this process (extra ``transformers``).

Nothing is ever downloaded and no code from the folder is run. One request is computed at a time, in a thread of its own, so
that others go on meanwhile; a timeout or Ctrl-C ends the computation at its next token.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import io
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from proctor.errors import MissingExtraError, UserError
from proctor.llm.media import MediaStore
from proctor.llm.message import Image, Message, Request, Text
from proctor.llm.model import Model, ModelName, leaves_out
from proctor.llm.outcome import Failure, Outcome, Reply, Truncated, Usage
from proctor.llm.providers.openai import without_thought

__all__ = ["DEFAULT_MAX_TOKENS", "LocalModel", "provider"]

DEFAULT_MAX_TOKENS: Final = 1_024
"""New tokens at most, where the request names no limit."""
_UNSENT: Final = ("json_schema", "reasoning")
_OURS: Final = frozenset(
    {
        "inputs",
        "input_ids",
        "attention_mask",
        "pixel_values",
        "streamer",
        "stopping_criteria",
        "num_return_sequences",
    }
)


class LocalModel:
    """A model in a folder; loaded when it is first asked.

    Args:
        name: ``transformers/PATH`` of a folder as ``save_pretrained`` writes it.

    Raises:
        UserError: if the folder is missing or holds no model; ``MissingExtraError`` if a package is missing.
    """

    def __init__(self, name: ModelName) -> None:
        self.name = str(name)
        self._path = Path(name.model).expanduser()
        if name.base_url:
            raise UserError("a local model has no address.", where=self.name, hint="write transformers/PATH")
        if not (self._path / "config.json").is_file():
            raise UserError(
                "this is not the folder of a model: it has no config.json.",
                where=str(self._path),
                hint="models are not downloaded; name a local folder",
            )
        for package in ("torch", "transformers"):
            if importlib.util.find_spec(package) is None:
                raise MissingExtraError(package, "transformers", f"the model {name}")
        self.endpoint = f"transformers:{self._path}"
        self._loaded: _Loaded | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="proctor-transformers")

    def __repr__(self) -> str:
        return f"LocalModel({self.name!r})"

    async def attempt(self, request: Request, media: MediaStore, *, timeout: float) -> Outcome:
        """Compute the reply once; the clock starts when the model is loaded and its turn has come."""
        ends = threading.Event()
        started = asyncio.Event()
        loop = asyncio.get_running_loop()

        def ready() -> None:
            loop.call_soon_threadsafe(started.set)

        def compute() -> Outcome:
            try:
                return self._compute(request, media, ends, ready)
            finally:
                ready()

        work = loop.run_in_executor(self._thread, compute)
        try:
            await started.wait()
            async with asyncio.timeout(timeout):
                return await asyncio.shield(work)
        except TimeoutError:
            return Failure(kind="timeout", message=f"no complete reply within {timeout:g} seconds.")
        finally:
            ends.set()
            if not work.done():
                work.cancel()  # if its turn has not come yet

    def _compute(
        self, request: Request, media: MediaStore, ends: threading.Event, ready: Callable[[], None]
    ) -> Outcome:
        if ends.is_set():
            return Failure(kind="cancelled", message="stopped before its turn came.")
        try:
            if self._loaded is None:
                self._loaded = _Loaded(self._path)
            ready()
            return self._loaded.reply(request, media, ends)
        except UserError as error:
            return Failure(kind="bad_request", message=error.message)
        except Exception as error:  # a broken folder, or what the model makes of its input
            kind = type(error).__name__
            if kind in {"OutOfMemoryError", "MemoryError"}:
                return Failure(kind="too_large", message="the request needs more memory than there is.")
            told = " ".join(str(error).split())[:300]
            return Failure(kind="bad_request", message=f"the model failed: {kind}: {told}")

    async def close(self) -> None:
        """Let the model go."""
        self._loaded = None
        self._thread.shutdown(wait=False, cancel_futures=True)


class _Loaded:
    """A model in memory, and how to speak to it."""

    def __init__(self, path: Path) -> None:
        torch = importlib.import_module("torch")
        transformers = importlib.import_module("transformers")
        self._torch, self._transformers = torch, transformers
        local = {"local_files_only": True, "trust_remote_code": False}
        config = transformers.AutoConfig.from_pretrained(path, **local)
        self._sees = getattr(config, "vision_config", None) is not None
        if self._sees:
            self._processor = transformers.AutoProcessor.from_pretrained(path, **local)
            kind = transformers.AutoModelForImageTextToText
        else:
            self._processor = transformers.AutoTokenizer.from_pretrained(path, **local)
            kind = transformers.AutoModelForCausalLM
        self._tokenizer = getattr(self._processor, "tokenizer", self._processor)
        if not (getattr(self._processor, "chat_template", None) or self._tokenizer.chat_template):
            raise UserError("the model has no chat template: it was not trained to talk.")
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._model = kind.from_pretrained(path, dtype="auto", **local).to(self._device).eval()
        text = config.get_text_config() if hasattr(config, "get_text_config") else config
        self._context = getattr(text, "max_position_embeddings", None)

    def reply(self, request: Request, media: MediaStore, ends: threading.Event) -> Outcome:
        """Return what the model says, or that it does not fit."""
        inputs = self._inputs(request, media)
        size = int(inputs["input_ids"].shape[-1])
        if self._context is not None and size >= self._context:
            return Failure(
                kind="too_large",
                message=f"the request has {size} tokens, and the model's context is {self._context}.",
            )
        room = self._context - size if self._context is not None else DEFAULT_MAX_TOKENS
        limit = min(request.parameters.max_tokens or DEFAULT_MAX_TOKENS, room)
        new = self._generated(request, inputs, limit, ends)[size:]
        if ends.is_set():
            return Failure(kind="cancelled", message="stopped while it was computed.")
        text = without_thought(self._tokenizer.decode(new, skip_special_tokens=True))
        usage = Usage(input=size, output=len(new))
        places = [text.find(stop) for stop in request.parameters.stop if stop in text]
        if places:
            return Reply(text=text[: min(places)], usage=usage, model=request.model, stop="stop_sequence")
        if len(new) >= limit and (not len(new) or int(new[-1]) not in self._end_tokens()):
            return Truncated(text=text, usage=usage, model=request.model, stop="length")
        return Reply(text=text, usage=usage, model=request.model, stop="stop")

    def _end_tokens(self) -> set[int]:
        ends = self._model.generation_config.eos_token_id
        found = set(ends) if isinstance(ends, list | tuple) else {ends}
        return {int(token) for token in (*found, self._tokenizer.eos_token_id) if token is not None}

    def _inputs(self, request: Request, media: MediaStore) -> Any:
        talk = [self._message(message, media) for message in request.messages]
        inputs = self._processor.apply_chat_template(
            talk, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
        )
        return inputs.to(self._device)

    def _message(self, message: Message, media: MediaStore) -> dict[str, Any]:
        if not self._sees:
            if message.media:
                raise UserError("this model takes only text.")
            return {"role": message.role, "content": message.text}
        content: list[dict[str, Any]] = []
        for part in message.parts:
            if isinstance(part, Text):
                content.append({"type": "text", "text": part.text})
            elif isinstance(part, Image):
                content.append({"type": "image", "image": _picture(media.get(part.sha256))})
            else:
                raise UserError("local models take no video and no sound.", hint="send frames as images")
        return {"role": message.role, "content": content}

    def _generated(self, request: Request, inputs: Any, limit: int, ends: threading.Event) -> Any:
        torch, wanted = self._torch, request.parameters
        options: dict[str, Any] = {"max_new_tokens": limit}
        if wanted.temperature == 0:
            options |= {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
        elif wanted.temperature is not None:
            options |= {"do_sample": True, "temperature": wanted.temperature}
        if wanted.top_p is not None and wanted.temperature != 0:
            options |= {"do_sample": True, "top_p": wanted.top_p}
        if wanted.stop:
            options |= {"stop_strings": list(wanted.stop), "tokenizer": self._tokenizer}
        if self._model.generation_config.pad_token_id is None and self._tokenizer.pad_token_id is None:
            options["pad_token_id"] = self._tokenizer.eos_token_id
        for name, value in wanted.extra.items():
            if name in _OURS:
                raise UserError(f"the extra parameter {name!r} cannot be set: Proctor sets it itself.")
            options[name] = value
        stops = self._transformers.StoppingCriteriaList([_stop_when(torch, ends)])
        # Without a seed the request's own name is one: the same request says the same, each draw its own.
        seed = wanted.seed if wanted.seed is not None else int(request.key[:15], 16)
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())), torch.inference_mode():
            torch.manual_seed(seed)
            return self._model.generate(**inputs, **options, stopping_criteria=stops)[0]


def _stop_when(torch: Any, ends: threading.Event) -> Any:
    """Return a criterion that ends the computation at its next token once the event is set."""

    def stop(input_ids: Any, scores: Any, **more: Any) -> Any:  # noqa: ARG001 - called by transformers
        return torch.full((input_ids.shape[0],), ends.is_set(), device=input_ids.device, dtype=torch.bool)

    return stop


def _picture(data: bytes) -> Any:
    try:
        pillow = importlib.import_module("PIL.Image")
    except ImportError:
        raise MissingExtraError("pillow", "video", "showing images to a local model") from None
    try:
        return pillow.open(io.BytesIO(data)).convert("RGB")
    except (OSError, ValueError, SyntaxError, pillow.DecompressionBombError):
        raise UserError("an image of the request cannot be decoded.") from None


@leaves_out(lambda _name, _wanted: _UNSENT)
def provider(name: ModelName) -> Model:
    """Return ``transformers/PATH``.

    Raises:
        UserError: see ``LocalModel``.
    """
    return LocalModel(name)
