"""Functions that answer or mark: ``python:module:function`` gets what a model would be shown, and returns text or a mark.

A function is asked by the engine that asks models (``proctor.exam.predictor``, ``proctor.exam.marker``): what it returned is kept in the
call store, so that a run that was killed goes on, and it is read and recorded as replies of models are.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import inspect
import sys
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from proctor.errors import UserError, did_you_mean
from proctor.exam.choice import parse_order
from proctor.exam.question import Choice, gold_texts
from proctor.llm.message import Message, Request, Text, system
from proctor.llm.model import FUNCTION
from proctor.llm.outcome import Failure, Outcome, Reply
from proctor.plugins import told
from proctor.records import canonical_json, read_bytes

if TYPE_CHECKING:
    from proctor.exam.kind import Call, Exhibit, Turn
    from proctor.exam.marker import MarkPrompt
    from proctor.exam.question import Item
    from proctor.llm.media import MediaStore

__all__ = [
    "Answering",
    "Function",
    "FunctionModel",
    "Marking",
    "ShownAnswer",
    "ShownPart",
    "ShownQuestion",
    "function_request",
    "load_function",
    "mark_request",
    "marking",
    "named",
]


class ShownPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One piece of what is shown, in order.

    Attributes:
        kind: what it is, in words, as for a source of a corpus.
        text: its words, where it is shown in words.
        id: of a source.
        time: of a frame, seconds of the recording.
        mime: of a picture or clip, such as ``image/jpeg`` or ``video/mp4``; empty where there is none.
        sha256: of its bytes.
        path: of its file, which has no suffix; None where there is none.
    """

    kind: str = ""
    text: str = ""
    id: str = ""
    time: float | None = None
    mime: str = ""
    sha256: str = ""
    path: Path | None = None


class ShownQuestion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a function gets: the question, and of its evidence what a model would be shown under the same view.

    Attributes:
        id: of the item.
        kind: of the question: ``moment``, ``clip``, ``documents``, …
        question: as asked.
        options: in the order in which they are shown: the first one is A; empty for a question that is answered in words.
        view: label of what is shown, such as ``frames:8``.
        prompt: the text that a model would get, with options, recipe, steps or sources where the view shows them.
        parts: pictures, clips and sources.
    """

    id: str
    kind: str
    question: str
    options: tuple[str, ...] = ()
    view: str = ""
    prompt: str = ""
    parts: tuple[ShownPart, ...] = ()


Answering = Callable[[ShownQuestion], str | Awaitable[str | None] | None]
"""A function that answers; None for no answer. It may be a coroutine function, whose calls then overlap."""


class ShownAnswer(ShownQuestion, frozen=True, kw_only=True, omit_defaults=True):
    """What a function that marks gets: the question, the answer, and the prompt and pictures that a model as judge would get.

    Attributes:
        answer: to be marked.
        golds: accepted answers; one that means the same as any of them is right.
        marks: what may be returned: 0 for wrong, 1 for partly right, 2 for right; without 1 where answers are right or wrong.
    """

    answer: str
    golds: tuple[str, ...]
    marks: tuple[int, ...] = (0, 1, 2)


Marking = Callable[[ShownAnswer], int | Awaitable[int | None] | None]
"""A function that marks; None for no mark. It may be a coroutine function, whose calls then overlap."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function with its name.

    Attributes:
        name: ``python:module:function``.
        version: hash of its module's source; with another one all is asked again.
        answer: the function.
        gets: what it is given.
    """

    name: str
    version: str
    answer: Answering | Marking
    gets: type[ShownQuestion] = ShownQuestion


def marking(who: str | Marking) -> Function:
    """Return a function, or the one of a name, as one that marks.

    Raises:
        UserError: as ``named`` and ``load_function``.
    """
    return replace(load_function(who) if isinstance(who, str) else named(who), gets=ShownAnswer)


def named(answer: Answering | Marking) -> Function:
    """Return a function at hand with its name and version.

    Raises:
        UserError: if it is none.
    """
    if not callable(answer):
        raise UserError(
            f"{answer!r:.80} is no function.", hint="give a function of one argument: what it is shown"
        )
    told_by = answer if hasattr(answer, "__qualname__") else type(answer)
    name = f"{FUNCTION}{told_by.__module__}:{told_by.__qualname__}"
    try:
        source = inspect.getsource(inspect.getmodule(told_by) or told_by)
    except (OSError, TypeError):  # typed into an interpreter
        code = getattr(answer, "__code__", None)
        source = "" if code is None else code.co_code.hex() + repr(code.co_names)
    return Function(name, hashlib.sha256(source.encode()).hexdigest()[:16], answer)


def load_function(name: str) -> Function:
    """Import a function; modules in the current folder are found, too.

    Args:
        name: ``python:module:function``, the module with dots and without ``.py``.

    Raises:
        UserError: if the name is none, the module cannot be imported, or has no such function.
    """
    module, _, function = name.removeprefix(FUNCTION).partition(":")
    if not (module and function) or "/" in module or module.endswith(".py"):
        raise UserError(
            f"{name!r:.100} is not the name of a function.",
            hint=f"write {FUNCTION}module:function for def function(shown) in module.py",
        )
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or module
        raise UserError(
            f"there is no module '{missing[:80]}'.",
            where=name,
            hint="run from the folder that holds it, or install its package",
        ) from None
    except (Exception, SystemExit) as error:  # the user's code
        raise UserError(f"the module '{module}' cannot be imported: {told(error)}.", where=name) from error
    file, known = getattr(found, "__file__", None), [name for name in vars(found) if name[:1] != "_"]
    for part in function.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise UserError(
            f"'{module}' has no function '{function[:80]}'.",
            where=name,
            hint=did_you_mean(function[:80], known),
        )
    version = hashlib.sha256(read_bytes(Path(file)) if file else b"").hexdigest()[:16]
    return Function(name, version, cast("Answering", found))


# -- as a model ----------------------------------------------------------------------------------------------------


def function_request(
    function: Function, item: Item, turn: Turn, exhibit: Exhibit, view: str, call: Call
) -> Request:
    """Return the request by which a function is asked in place of a model: what it is shown, as JSON beside its media."""
    form = item.question.form
    printed = form.options if isinstance(form, Choice) else ()
    order = parse_order(turn.details.get("order", ""), len(printed)) or range(len(printed))
    media = tuple(part for message in call.messages for part in message.media)
    parts = [
        ShownPart(
            kind=piece.kind,
            text=piece.text,
            id=piece.id,
            time=piece.time,
            mime=piece.media.mime if piece.media in media and piece.media is not None else "",
            sha256=piece.media.sha256 if piece.media in media and piece.media is not None else "",
        )
        for piece in exhibit.pieces
    ]
    shown = ShownQuestion(
        id=item.id,
        kind=item.question.kind,
        question=item.question.text,
        options=tuple(printed[place] for place in order),
        view=view,
        prompt="\n\n".join(message.text for message in call.messages),
        parts=tuple(parts),
    )
    asked = Message("user", (Text(canonical_json(shown).decode()), *media))
    return Request(
        model=function.name, messages=(system(f"version {function.version}"), asked), draw=call.draw
    )


def mark_request(
    function: Function, item: Item, answer: str, prompt: MarkPrompt, marks: tuple[int, ...], draw: int
) -> Request:
    """Return the request by which a function is asked for a mark in place of a model."""
    shown = ShownAnswer(
        id=item.id,
        kind=item.question.kind,
        question=item.question.text,
        prompt="\n\n".join(message.text for message in prompt.messages),
        parts=tuple(ShownPart(mime=part.mime, sha256=part.sha256) for part in prompt.media),
        answer=answer,
        golds=tuple(gold_texts(item)),
        marks=marks,
    )
    asked = Message("user", (Text(canonical_json(shown).decode()), *prompt.media))
    return Request(model=function.name, messages=(system(f"version {function.version}"), asked), draw=draw)


class FunctionModel:
    """A function in the place of a model.

    An ordinary function is called for one question after the other, always in the same thread; calls of a coroutine function
    overlap, as many as ``--max-connections`` allows.

    Args:
        function: that answers.
    """

    def __init__(self, function: Function) -> None:
        self.name = function.name
        self._gets = function.gets
        self._answer: Callable[[Any], object] = function.answer
        self._overlaps = inspect.iscoroutinefunction(function.answer) or inspect.iscoroutinefunction(
            getattr(function.answer, "__call__", None)  # noqa: B004 - of an object
        )
        self.endpoint = function.name if self._overlaps else ""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="proctor-function")

    async def attempt(self, request: Request, media: MediaStore, *, timeout: float) -> Outcome:
        """Call the function; what it raises, and what is no text or no mark, is a failure of this question."""
        shown = msgspec.json.decode(request.messages[-1].text, type=self._gets)
        parts: Sequence[ShownPart] = [
            msgspec.structs.replace(part, path=media.path(part.sha256)) if part.sha256 else part
            for part in shown.parts
        ]
        shown = msgspec.structs.replace(shown, parts=tuple(parts))
        if not self._overlaps:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._called, shown)
        try:
            async with asyncio.timeout(timeout) as limit:
                return self._outcome(await cast("Awaitable[object]", self._answer(shown)), shown)
        except (Exception, SystemExit, asyncio.CancelledError) as error:  # the user's code
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise  # it is us who stop
            return Failure(kind="timeout" if limit.expired() else "function", message=_said(error))

    def _called(self, shown: ShownQuestion) -> Outcome:
        try:
            said = self._answer(shown)
            return self._outcome(asyncio.run(said) if inspect.iscoroutine(said) else said, shown)
        except (Exception, SystemExit) as error:  # the user's code
            return Failure(kind="function", message=_said(error))

    def _outcome(self, said: object, shown: ShownQuestion) -> Outcome:
        marks = shown.marks if isinstance(shown, ShownAnswer) else ()
        # True is no 1: whoever returns it means that the answer is right.
        whole = isinstance(said, Integral) and not isinstance(said, bool)
        if (whole and said in marks) if marks else isinstance(said, str):
            return Reply(text=str(said), model=self.name, stop="returned")
        what = str(said) if whole and marks else type(said).__name__
        what += f", which is no mark ({', '.join(map(str, marks))})" if marks else ", which is no text"
        return Failure(kind="function", message=f"it returned {'nothing' if said is None else what}")

    async def close(self) -> None:
        """Let the thread end."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def _said(error: BaseException) -> str:
    """Return what a function raised as text that can be stored."""
    return told(error).encode("utf-8", "backslashreplace").decode()
