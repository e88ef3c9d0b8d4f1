"""The page of a question that is to be answered; what it is about is the card's."""

from proctor.verify.rounds.answer import AnswerTask

__all__ = ["view"]


def view(_studio: object, task: AnswerTask, *_: object) -> str:
    """Return the question."""
    return task.question.text
