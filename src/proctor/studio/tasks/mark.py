"""The page of an answer that is to be marked; it has no place for who gave it."""

from proctor.verify.rounds.mark import MarkTask

__all__ = ["view"]


def view(_studio: object, task: MarkTask, *_: object) -> tuple[str, tuple[str, ...], str]:
    """Return the question, its right answers, and the one to be marked."""
    return task.question.text, task.golds, task.answer
