"""Ready-made ways to reply: echo, one choice of several, question-answer pairs as a star list, a judge's verdict."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from proctor.errors import UserError
from proctor_rehearsal.standin.answer import Answer
from proctor_rehearsal.standin.call import Call
from proctor_rehearsal.standin.script import Rule

__all__ = [
    "BEHAVIOURS",
    "STAR_FORMS",
    "VERDICT_FORMS",
    "Behaviour",
    "check_rule",
    "choices",
    "echo",
    "fixed",
    "judge",
    "make_behaviour",
    "pick",
    "star_list",
    "star_text",
    "verdict_text",
]

Behaviour = Callable[[Call], Answer]

_OPTION: Final = re.compile(r"^[ \t]*[(\[]?([A-Z])[)\].:][ \t]+(\S.*)$", re.MULTILINE)
_BULLET: Final = re.compile(r"^[ \t]*[-*•][ \t]+(\S.*)$", re.MULTILINE)
_STEPS: Final = ("add the salt", "stir the mixture", "preheat the pan", "pour the water", "chop the onion")


def pick(call: Call, options: Sequence[Any], *parts: object) -> Any:
    """Choose by the request's content: the same request, the same choice."""
    return options[int(call.draw(*parts) * len(options))]


def fixed(text: str = "This is the stand-in speaking.") -> Behaviour:
    """Always say the same."""
    return lambda _: Answer(text=text)


def echo(limit: int = 2_000) -> Behaviour:
    """Say what the last user turn said, cut after so many characters."""
    return lambda call: Answer(text=call.last[:limit])


def choices(seed: int = 0, variety: float = 0.0, position: int | None = None) -> Behaviour:
    """Choose one of the lettered options in the prompt (``A) …``, ``(B) …``, ``C. …``).

    Args:
        seed: of the draws.
        variety: probability of another form than the bare letter.
        position: always this option, from 0: a model that has a favourite; by the request's content when None.
    """

    def reply(call: Call) -> Answer:
        found = _OPTION.findall(call.last)
        if not found:
            return Answer(text="I see no options to choose from.")
        chosen = (
            found[min(position, len(found) - 1)]
            if position is not None
            else pick(call, found, "choice", seed)
        )
        letter, option = chosen[0], chosen[1].strip()
        forms = (
            f"({letter})", f"**{letter}**", f"{letter}) {option}", f"The answer is {letter}.",
            f"Let me think. {option} fits best.\n\nAnswer: {letter}",
        )  # fmt: skip
        varied = call.draw("varied", seed) < variety
        text = pick(call, forms, "form", seed) if varied else letter
        return Answer(
            text=text, data={"answer": letter, "choice": letter, "letter": letter, "option": option}
        )

    return reply


STAR_FORMS: Final = (
    "star",
    "dash",
    "bold",
    "numbered",
    "tagged",
    "fenced",
    "preamble",
    "two-space",
    "crlf",
    "trailing",
)


def star_text(pairs: Sequence[tuple[str, Sequence[str]]], form: str = "star") -> str:
    """Write question-answer pairs as a nested list, in one of the forms that models use.

    Args:
        pairs: each a question and its answers.
        form: of ``STAR_FORMS``; ``star`` is the one that ProMQA's prompt asks for.
    """
    lines = []
    for number, (question, answers) in enumerate(pairs, start=1):
        lead = {"dash": "- ", "numbered": f"{number}. ", "tagged": "* Q: "}.get(form, "* ")
        below = {"dash": "    - ", "numbered": "   - ", "tagged": "    * A: ", "two-space": "  * "}.get(
            form, "    * "
        )
        said = f"**{question}**" if form == "bold" else question
        end = "  " if form == "trailing" else ""
        lines += [f"{lead}{said}{end}", *(f"{below}{answer}{end}" for answer in answers)]
        if form in ("preamble", "numbered"):
            lines.append("")
    text = ("\r\n" if form == "crlf" else "\n").join(lines)
    if form == "fenced":
        return f"```\n{text}\n```"
    if form == "preamble":
        return f"Here are three question-answer pairs:\n\n{text}\nLet me know if you would like more!"
    return text


def star_list(seed: int = 0, pairs: int = 3, variety: float = 0.0) -> Behaviour:
    """Make question-answer pairs about the bulleted steps in the prompt, as ProMQA's generator prompt asks.

    Args:
        seed: of the draws.
        pairs: how many.
        variety: probability of another form of list than the one asked for.
    """

    def reply(call: Call) -> Answer:
        steps = [step.strip().rstrip(".") for step in _BULLET.findall(call.last)] or list(_STEPS)
        made = [_pair(call, steps, seed, number) for number in range(pairs)]
        form = pick(call, STAR_FORMS, "form", seed) if call.draw("varied", seed) < variety else "star"
        data = [{"question": q, "answers": list(a), "answer": a[0]} for q, a in made]
        return Answer(text=star_text(made, form), data={"pairs": data, "questions": data, "items": data})

    return reply


def _pair(call: Call, steps: Sequence[str], seed: int, number: int) -> tuple[str, tuple[str, ...]]:
    step = pick(call, steps, "step", seed, number)
    other = pick(call, steps, "other", seed, number)
    forms: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("What should I do next?", (f"Next you should {_lower(step)}.",)),
        (
            "Did I forget anything so far?",
            (f"Yes, you forgot to {_lower(step)}.", f"You still have to {_lower(other)}."),
        ),
        (f"Should I {_lower(step)} now?", ("Yes, you should.",)),
        (f"Did I {_lower(step)} too early?", (f"No, it was the right time to {_lower(step)}.",)),
    )
    return forms[(int(call.draw("question", seed) * len(forms)) + number) % len(forms)]


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


VERDICT_FORMS: Final = (
    "plain", "bold", "of", "bracket", "judgment", "sentence", "json", "fenced", "dash", "lower", "newline", "trailing",
)  # fmt: skip


def verdict_text(
    score: int, rationale: str, form: str = "plain", *, most: int = 2, marker: str = "Judge"
) -> str:
    """Write a judge's reply: a rationale, then the score behind its marker, in one of the forms that models use.

    Args:
        score: the verdict.
        rationale: why.
        form: of ``VERDICT_FORMS``.
        most: the highest score.
        marker: word in front of the score.
    """
    if form in ("json", "fenced"):
        text = msgspec.json.encode({"rationale": rationale, marker.lower(): score}).decode()
        return f"```json\n{text}\n```" if form == "fenced" else text
    said = {
        "bold": f"**{marker}: {score}**",
        "of": f"{marker}: {score}/{most}",
        "bracket": f"[{marker}] {score}",
        "judgment": f"Judgment: {score}",
        "sentence": f"Score: {score}.",
        "dash": f"{marker} - {score}",
        "lower": f"{marker.lower()}: {score}",
        "newline": f"{marker}:\n{score}",
        "trailing": f"{marker}: {score}\n\n",
    }.get(form, f"{marker}: {score}")
    return f"{rationale}\n{said}"


def judge(
    seed: int = 0,
    scores: Sequence[int] = (0, 1, 2),
    variety: float = 0.0,
    marker: str = "Judge",
    score: int | None = None,
) -> Behaviour:
    """Give a verdict with a rationale that holds other digits, as real ones do.

    Args:
        seed: of the draws.
        scores: verdicts to choose from by the request's content.
        variety: probability of another form than ``Judge: N`` on a line of its own.
        marker: word in front of the score.
        score: always this verdict.
    """

    def reply(call: Call) -> Answer:
        given = score if score is not None else pick(call, scores, "score", seed)
        named = 1 + int(call.draw("named", seed) * 12)
        reasons = (
            f"The prediction names step {named}, and the gold answer asks for it as well.",
            f"Of {named} details in the gold answer the prediction has {named // 2}.",
            "The prediction says the opposite of the gold answers.",
        )
        rationale = pick(call, reasons, "reason", seed)
        form = pick(call, VERDICT_FORMS, "form", seed) if call.draw("varied", seed) < variety else "plain"
        text = verdict_text(given, rationale, form, most=max(scores), marker=marker)
        return Answer(
            text=text, data={"rationale": rationale, "judge": given, "score": given, "verdict": given}
        )

    return reply


BEHAVIOURS: Final[dict[str, Callable[..., Behaviour]]] = {
    "echo": echo,
    "fixed": fixed,
    "choices": choices,
    "star-list": star_list,
    "judge": judge,
}


@lru_cache(maxsize=256)
def _made(name: str, options: bytes) -> Behaviour:
    if name not in BEHAVIOURS:
        raise UserError(f"there is no behaviour {name!r}.", hint=f"there are {', '.join(BEHAVIOURS)}")
    values = msgspec.json.decode(options)
    try:
        behaviour = BEHAVIOURS[name](**values)
        _try(behaviour)
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        raise UserError(f"the behaviour {name!r} does not take these options: {error}.") from None
    return behaviour


def make_behaviour(name: str, options: dict[str, Any]) -> Behaviour:
    """Return a built-in behaviour by name; equal options share one.

    Raises:
        UserError: if there is none of this name, or it does not take these options.
    """
    return _made(name, msgspec.json.encode(options, order="sorted"))


def _try(behaviour: Behaviour) -> None:
    """Let a behaviour reply once: wrong options show before the server runs."""
    from proctor_rehearsal.standin.protocols.openai import CHAT

    body = b'{"model":"m","messages":[{"role":"user","content":"A) one\\nB) two\\n- a step"}]}'
    text: object = behaviour(Call(CHAT, "/v1/chat/completions", body)).text
    if not isinstance(text, str):
        raise TypeError("the reply is not a text")


def check_rule(rule: Rule) -> None:
    """Check what the types of a rule do not say.

    Raises:
        UserError: if its behaviour is unknown or does not take its options.
    """
    if rule.behaviour is not None:
        make_behaviour(rule.behaviour, rule.options)
