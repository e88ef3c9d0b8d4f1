"""A generator for tests of the stages, played by chance."""

from __future__ import annotations

from proctor_rehearsal.standin import Answer, Call

__all__ = ["ask"]


def ask(call: Call) -> Answer:
    """Reply as a generator does: three pairs, now and then a refusal, or prose that the second round mends."""
    chance = call.draw("kind")
    if chance < 0.08:
        return Answer(text="I cannot help with cooking.", outcome="refusal")
    if chance < 0.25 and len(call.content.turns) == 1:
        return Answer(text="Sure! What would you like to know?")
    number = int(call.draw("number") * 1000)
    pairs = [f"* Is it time for part {number + n}?\n    * Yes, it is.\n    * No, wait." for n in range(3)]
    return Answer(text="\n".join(pairs))
