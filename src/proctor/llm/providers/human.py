"""``human/FILE``: answers that people gave, looked up by what they were asked.

The file has one record a line, with the answer and what it answers: the prompt (the text of the request's last user message)
or its hash (``Request.prompt_hash``), as ``proctor calls export`` writes it. Whoever has not answered a prompt has no reply to
it: that is a ``replay_miss``, never an empty answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from proctor.errors import UserError
from proctor.llm.media import MediaStore
from proctor.llm.message import Request
from proctor.llm.model import Model, ModelName
from proctor.llm.outcome import Failure, Outcome, Reply
from proctor.records import iter_jsonl

__all__ = ["HumanAnswer", "HumanModel", "provider"]


class HumanAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answer of one person.

    Attributes:
        answer: in their words.
        prompt: what they were asked, word for word; or
        prompt_hash: its short hash.
        draw: number of the repetition.
    """

    answer: str
    prompt: str = ""
    prompt_hash: str = ""
    draw: int = 0


class HumanModel:
    """A person whose answers are in a file.

    Args:
        name: ``human/FILE``; ``.jsonl`` may be left out.

    Raises:
        UserError: if the file is missing, broken or empty, a record names no prompt, or one prompt has two different answers.
    """

    endpoint = ""

    def __init__(self, name: ModelName) -> None:
        self.name = str(name)
        path = Path(name.model)
        if path.suffix != ".jsonl" and not path.exists():
            path = path.with_name(path.name + ".jsonl")
        self._who = path.stem
        self._answers: dict[tuple[str, int], str] = {}
        records: Iterator[HumanAnswer] = iter_jsonl(path, HumanAnswer)
        for number, record in enumerate(records, 1):
            asked = record.prompt or record.prompt_hash
            if not asked:
                raise UserError(
                    "the answer says not what it answers.",
                    where=f"{path}, record {number}",
                    hint="give every record the field prompt or prompt_hash",
                )
            if self._answers.setdefault((asked, record.draw), record.answer) != record.answer:
                raise UserError(
                    "this prompt was answered before, and differently.",
                    where=f"{path}, record {number}",
                    hint="keep one, or number them with the field draw",
                )
        if not self._answers:
            raise UserError(
                "there are no answers in it.",
                where=str(path),
                hint="write one JSON object a line, one for each prompt",
            )

    async def attempt(
        self,
        request: Request,
        media: MediaStore,  # noqa: ARG002 - people saw them elsewhere
        *,
        timeout: float,  # noqa: ARG002
    ) -> Outcome:
        """Return the answer that was given to this prompt."""
        asked = next((m.text for m in reversed(request.messages) if m.role == "user"), "")
        for key in (request.prompt_hash, asked):
            answer = self._answers.get((key, request.draw)) if key else None
            if answer is not None:
                return Reply(text=answer, model=self.name, stop="answered")
        return Failure(kind="replay_miss", message=f"{self._who} has not answered this prompt.")

    async def close(self) -> None:
        """Do nothing: nothing is open."""


def provider(name: ModelName) -> Model:
    """Return ``human/FILE``.

    Raises:
        UserError: see ``HumanModel``.
    """
    return HumanModel(name)
