"""Settings of rounds in which people sit the exam, mark answers and write questions."""

from __future__ import annotations

from typing import Annotated, Literal

from proctor.settings import option
from proctor.stages.rounds.settings import Given

__all__ = ["AnswerSettings", "MarkSettings", "WriteSettings"]


class AnswerSettings(Given, frozen=True, kw_only=True):
    """Which questions people answer."""

    people: Annotated[int, option("People who answer each question.", ge=1)] = 1
    batch: Annotated[int, option("Questions of each person.", "--questions", ge=1)] = 20
    batches: Annotated[int, option("How often one person may take so many; 0 for any number.", ge=0)] = 1
    sample: Annotated[int, option("Questions in all, even over strata; 0 for every item.", ge=0)] = 0
    kind: Annotated[str, option("Questions of this kind alone.")] = ""


class MarkSettings(Given, frozen=True, kw_only=True):
    """Which answers people mark."""

    batch: Annotated[int, option("Answers that a person takes on together; 0 for all.", ge=0)] = 25
    run: Annotated[
        tuple[str, ...], option("Run whose answers are marked (repeatable; default: all).", "-r")
    ] = ()
    per_system: Annotated[
        int, option("Answers of each run, even over types of questions; 0 for all.", ge=0)
    ] = 50
    scale: Annotated[
        Literal["binary", "ternary"], option("Right or wrong, or with something in between.")
    ] = "ternary"
    evidence: Annotated[bool, option("Show clip and procedure beside the question.")] = False


class WriteSettings(Given, frozen=True, kw_only=True):
    """Which moments people write questions about."""

    batch: Annotated[int, option("Moments that a person takes on together; 0 for all.", ge=0)] = 10
    people: Annotated[int, option("People who write about each moment.", ge=1)] = 1
    questions: Annotated[int, option("Moments in all, drawn as generation draws them by quota.", ge=1)] = 50
    wage: Annotated[float, option("What an hour of a person costs, in dollars.", ge=0)] = 20.0
    draw: Annotated[int, option("Questions of each draw that variety is compared by.", ge=1)] = 50
