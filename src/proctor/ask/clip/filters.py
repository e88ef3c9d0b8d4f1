"""The four filters: unspecific, tricky, hallucination, blind, from cheap to dear, with a verdict and its reason from each.

InstructionBench's supplement. A drop is final, so later filters are not asked (``exhaustive`` asks them all the same,
for audits and for their agreement). What cannot be read drops the question: filters fail closed. A model that is down postpones
it, and never changes how many votes are needed: the next run asks again and pays for nothing twice.

What a filter says depends on its question and on the replies to its own requests alone, so that order and concurrency change
nothing. The funnel counts how many each filter saw, kept, dropped and postponed, and why.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias, TypeVar

import msgspec

from proctor.ask.clip.asking import Asked, ConsistencyJudge, ask_once_more, call_notes
from proctor.ask.clip.filter_prompt import (
    BLIND_FORM,
    CLOSED_BOOK,
    JUDGED,
    JUDGING,
    FilterSaid,
    JudgedFilter,
    blind_prompt,
    filter_form,
    filter_messages,
    filter_prompt,
    filter_schema,
    is_unknown,
    read_blind_answer,
    read_filter,
    template_of,
)
from proctor.ask.clip.known import Known
from proctor.ask.clip.record import FILTERS, RULE, FilterName, FilterVerdict
from proctor.ask.cost import Price, no_price
from proctor.ask.documents.difficulty import together
from proctor.ask.documents.duplicates import normalise_question
from proctor.errors import UserError
from proctor.llm.converse import IN_FLIGHT, Conversation, converse
from proctor.llm.fence import FenceSecret
from proctor.llm.message import Parameters, Request
from proctor.llm.outcome import Ask, Outcome, Truncated
from proctor.llm.prompt import PromptSet, Rendered
from proctor.llm.replying import Replying
from proctor.records import Dropped

__all__ = [
    "FilterFunnel",
    "FilterModels",
    "FilterOutcome",
    "FilterResult",
    "FilterRun",
    "FilterSettings",
    "Filters",
    "FunnelRow",
    "count_funnel",
    "results_of",
    "run_filters",
]


FilterOutcome = Literal["kept", "dropped", "postponed"]


class FilterResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the filters said of one question.

    Attributes:
        item_id: the question.
        verdicts: in the order in which they were asked; none when the run ended before.
    """

    item_id: str
    verdicts: tuple[FilterVerdict, ...] = ()

    @property
    def dropped_by(self) -> FilterVerdict | None:
        """The first verdict that drops it, unless one before it is still missing: then nothing is decided."""
        for verdict in self.verdicts:
            if verdict.keep is not True:
                return verdict if verdict.keep is False else None
        return None

    @property
    def outcome(self) -> FilterOutcome:
        """What became of it."""
        if self.dropped_by is not None:
            return "dropped"
        return "kept" if self.verdicts and all(v.keep for v in self.verdicts) else "postponed"

    @property
    def failed_at(self) -> FilterVerdict | None:
        """The verdict for want of which nothing is decided, where its call failed for good."""
        undecided = next((v for v in self.verdicts if v.keep is not True), None)
        failed = (
            undecided is not None and undecided.keep is None and undecided.evidence.get("problem") == "failed"
        )
        return undecided if failed else None


class FunnelRow(msgspec.Struct, frozen=True, kw_only=True):
    """One filter.

    Attributes:
        filter: its name.
        seen: questions that it was asked about.
        kept: of these.
        dropped: of these.
        postponed: of these: somebody who has to vote was not there.
        problems: dropped ones by problem, most frequent first.
        calls: that its verdicts took.
        cost: dollars; None when a price is not known.
    """

    filter: FilterName
    seen: int
    kept: int
    dropped: int
    postponed: int
    problems: Mapping[str, int]
    calls: int
    cost: str | None

    @property
    def unparsed(self) -> int:
        """Dropped because nothing could be read."""
        return self.problems.get("unparsed", 0)


class FilterFunnel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All filters.

    Attributes:
        asked: questions.
        kept: by all filters.
        dropped: by one.
        postponed: neither; a later run decides.
        failed: neither; a call failed for good.
        rows: filter by filter.
    """

    asked: int
    kept: int
    dropped: int
    postponed: int
    rows: tuple[FunnelRow, ...]
    failed: int = 0

    @property
    def lines(self) -> list[str]:
        """The funnel in words, one line a filter."""
        said = [f"{self.asked} question{'s' if self.asked != 1 else ''}"]
        for row in self.rows:
            why = ", ".join(f"{n} {problem}" for problem, n in row.problems.items())
            line = f"{row.filter}: {row.seen} seen, {row.dropped} dropped" + (f" ({why})" if why else "")
            said.append(line + (f", {row.postponed} postponed" if row.postponed else ""))
        late = f", {self.postponed} postponed" if self.postponed else ""
        late += f", {self.failed} failed" if self.failed else ""
        return [*said, f"{self.kept} kept, {self.dropped} dropped{late}"]


def count_funnel(results: Sequence[FilterResult], filters: Sequence[FilterName] = FILTERS) -> FilterFunnel:
    """Count what became of questions.

    Args:
        results: one each.
        filters: that were asked, in order.
    """
    outcomes = Counter(result.outcome for result in results)
    failed = sum(result.failed_at is not None for result in results)
    by_filter: dict[FilterName, list[FilterVerdict]] = {name: [] for name in filters}
    for result in results:
        for verdict in result.verdicts:
            by_filter.setdefault(verdict.filter, []).append(verdict)
    return FilterFunnel(
        asked=len(results),
        kept=outcomes["kept"],
        dropped=outcomes["dropped"],
        postponed=outcomes["postponed"] - failed,
        failed=failed,
        rows=tuple(_row(name, verdicts) for name, verdicts in by_filter.items()),
    )


def _row(name: FilterName, verdicts: Sequence[FilterVerdict]) -> FunnelRow:
    problems = Counter(v.evidence.get("problem", "other") for v in verdicts if v.keep is False)
    called = [v for v in verdicts if int(v.details.get("calls", "0"))]
    costs = [v.details.get("cost") for v in called]
    known = [Decimal(cost) for cost in costs if cost is not None]
    return FunnelRow(
        filter=name,
        seen=len(verdicts),
        kept=sum(v.keep is True for v in verdicts),
        dropped=problems.total(),
        postponed=sum(v.keep is None for v in verdicts),
        problems=dict(sorted(problems.items(), key=lambda pair: (-pair[1], pair[0]))),
        calls=sum(int(v.details.get("calls", "0")) for v in called),
        cost=f"{sum(known, Decimal(0)):f}" if len(known) == len(costs) else None,
    )


def results_of(ids: Iterable[str], verdicts: Iterable[FilterVerdict]) -> list[FilterResult]:
    """Put verdicts that were read from a file together again, question by question.

    Args:
        ids: of all questions, in the order that is wanted.
        verdicts: in the order in which they were asked; those on other questions are left out.
    """
    found: dict[str, list[FilterVerdict]] = {id: [] for id in ids}
    for verdict in verdicts:
        if verdict.item_id in found:
            found[verdict.item_id].append(verdict)
    return [FilterResult(id, tuple(said)) for id, said in found.items()]


T = TypeVar("T")
Talk: TypeAlias = Generator[Any, Any, T]
"""A part of a conversation."""

BlindMark = Literal["yes", "no", "unknown", "declined", "unparsed", "failed", "postponed"]
"""Was an assistant's answer consistent? ``unknown`` and ``declined`` are no answer; ``unparsed`` counts as yes."""

_AGAINST: Final = frozenset({"yes", "unparsed"})
_SHORT_CONTEXT: Final = 200
"""Characters of an answer that is never called longer than its context."""
_SHOWN: Final = 300


class FilterModels(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Full names of models by what they do.

    Attributes:
        judges: read the context; where a filter takes several votes they take turns, the first one begins.
        assistants: answer closed-book for the blind filter; the published three are of different makers.
        consistency: says whether their answers mean the same; the first judge when empty.
        seeing: judges where the context has pictures; the judges when empty.
    """

    judges: tuple[str, ...]
    assistants: tuple[str, ...] = ()
    consistency: str = ""
    seeing: tuple[str, ...] = ()


class FilterSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings that can change a verdict; all of them are ours [R].

    Attributes:
        filters: which are asked; their order is fixed.
        votes: of judges, by filter: odd, 1 where nothing is said; a majority drops.
        solved_by: so many assistants with a consistent answer drop a question.
        exhaustive: later filters are asked although an earlier one drops.
        repair: asks once more for a reply that cannot be read.
        structured: also sends JSON Schemas, for providers with structured output.
        judging: parameters of judges.
        closed_book: parameters of assistants.
        temperature: of a judge that votes several times on the same question.
    """

    filters: tuple[FilterName, ...] = FILTERS
    votes: Mapping[FilterName, int] = {}
    solved_by: int = 2
    exhaustive: bool = False
    repair: bool = True
    structured: bool = False
    judging: Parameters = JUDGING
    closed_book: Parameters = CLOSED_BOOK
    temperature: float = 0.7

    def __post_init__(self) -> None:
        """Refuse what cannot be decided by.

        Raises:
            UserError: for unknown or repeated filters, and numbers of votes that are even.
        """
        for name in (*self.filters, *self.votes):
            if name not in FILTERS:
                raise UserError(f"there is no filter '{name}'.", hint=f"there are {', '.join(FILTERS)}")
        if not self.filters or len(set(self.filters)) < len(self.filters):
            raise UserError(
                "a filter is named twice, or none is named.", hint=f"there are {', '.join(FILTERS)}"
            )
        for name, votes in self.votes.items():
            if name == "blind":
                raise UserError(
                    "the blind filter takes one vote of each assistant.",
                    hint="give more assistants, and solved_by",
                )
            if votes < 1 or votes % 2 == 0:
                raise UserError(f"{votes} votes for '{name}' cannot be decided by.", hint="take 1, 3, 5 …")
        msgspec.structs.force_setattr(self, "filters", tuple(n for n in FILTERS if n in self.filters))


@dataclass(frozen=True, slots=True)
class _Vote:
    """One vote on a question, and the calls that it took."""

    model: str
    asked: tuple[Asked[Any], ...]
    keep: bool | None
    problem: str = "none"
    reason: str = ""
    said: FilterSaid | None = None
    mark: BlindMark = "no"
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters with their models.

    Attributes:
        models: who does what.
        prompts: templates of the room ``generate`` (``proctor.ask.moment.promqa_prompt.generation_prompts``).
        secret: of the workspace, for fences.
        settings: what can change a verdict.
        price: of calls.
        replying: what the user says of replies, over the protocol.

    Raises:
        UserError: if a filter has nobody to ask.
    """

    models: FilterModels
    prompts: PromptSet
    secret: FenceSecret
    settings: FilterSettings = field(default_factory=FilterSettings)
    price: Price = no_price
    replying: Replying = field(default_factory=Replying)

    def __post_init__(self) -> None:
        """See that everybody who is needed is there."""
        models, settings = self.models, self.settings
        if not models.judges and any(name in JUDGED for name in settings.filters):
            raise UserError("the filters have no judge.", hint="name at least one model")
        if "blind" not in settings.filters:
            return
        if len(set(models.assistants)) < len(models.assistants):
            raise UserError(
                "an assistant of the blind filter is named twice.",
                hint="a second vote of the same model says nothing new; name different ones",
            )
        if not 1 <= settings.solved_by <= len(models.assistants):
            raise UserError(
                f"the blind filter drops what {settings.solved_by} assistants solve, and has {len(models.assistants)}.",
                hint="the published filter has three",
            )
        if not (models.consistency or models.judges):
            raise UserError(
                "no judge was named for the assistants' answers.", hint="name a consistency judge"
            )

    @property
    def consistency(self) -> ConsistencyJudge:
        """The judge of the assistants' answers."""
        settings = self.settings
        model = self.models.consistency or self.models.judges[0]
        return ConsistencyJudge(
            model, self.prompts, self.secret, structured=settings.structured, repair=settings.repair,
            replying=self.replying,
        )  # fmt: skip

    # -- a question ----------------------------------------------------------------------------------------------

    def question(self, question: Known) -> Conversation[FilterResult]:
        """Ask the filters about a question, one after the other, until one drops or postpones it."""
        settings = self.settings
        by_rule = {name: verdict for name in settings.filters if (verdict := _by_rule(name, question))}
        if by_rule and not settings.exhaustive:
            return FilterResult(question.id, (next(iter(by_rule.values())),))
        verdicts: list[FilterVerdict] = []
        for name in settings.filters:
            verdict = by_rule.get(name) or (yield from self.ask(name, question))
            verdicts.append(verdict)
            if verdict.keep is not True and not settings.exhaustive:
                break
        return FilterResult(question.id, tuple(verdicts))

    def ask(self, name: FilterName, question: Known) -> Talk[FilterVerdict]:
        """Have one filter decide on a question; a part of a conversation."""
        if name == "blind":
            votes: list[_Vote] = yield from _all_together(
                [self._closed_book(model, question) for model in self.models.assistants]
            )
            return self._blind_verdict(question, votes)
        rendered = filter_prompt(name, question, self.prompts, self.secret)
        votes = yield from _all_together(
            [self._judge(name, question, r) for r in self._judge_requests(name, question, rendered)]
        )
        verdict = self._judged_verdict(name, question, votes)
        if not rendered.shortened:
            return verdict
        details = {**verdict.details, "shortened": "; ".join(rendered.shortened)}
        return msgspec.structs.replace(verdict, details=details)

    def requests(self, questions: Sequence[Known]) -> Iterator[Request]:
        """Yield the requests of a run in which nothing is dropped, without sending any: an upper estimate.

        What the consistency judge will be shown is not known yet: the accepted answer stands for it.
        """
        for question in questions:
            if not self.settings.exhaustive and any(_by_rule(n, question) for n in self.settings.filters):
                continue
            for name in self.settings.filters:
                if _by_rule(name, question):
                    continue
                if name != "blind":
                    rendered = filter_prompt(name, question, self.prompts, self.secret)
                    yield from self._judge_requests(name, question, rendered)
                    continue
                for model in self.models.assistants:
                    yield self._blind_request(model, question)
                    yield self.consistency.request(question.text, question.answers, question.answers[0])

    # -- judges --------------------------------------------------------------------------------------------------

    def _judge_requests(self, name: JudgedFilter, question: Known, rendered: Rendered) -> list[Request]:
        """Return one request a vote: judges take turns, and who votes again draws anew."""
        settings = self.settings
        judges = (self.models.seeing if question.pictures else ()) or self.models.judges
        votes = settings.votes.get(name, 1)
        parameters = settings.judging
        if votes > len(judges):
            parameters = msgspec.structs.replace(parameters, temperature=settings.temperature)
        if settings.structured:
            parameters = msgspec.structs.replace(parameters, json_schema=dict(filter_schema(name)))
        messages = filter_messages(rendered, question)
        return [
            Request(
                model=model,
                messages=messages,
                parameters=self.replying.over(parameters, model, "judge"),
                draw=n // len(judges),
            )
            for n in range(votes)
            for model in (judges[n % len(judges)],)
        ]

    def _judge(self, name: JudgedFilter, question: Known, request: Request) -> Talk[_Vote]:
        known = [line.id for line in question.lines]
        asked: Asked[FilterSaid] = yield from ask_once_more(
            request,
            lambda reply: read_filter(name, reply, known),
            filter_form(name),
            repair=self.settings.repair,
        )
        if asked.said is not None:
            said = asked.said
            return _Vote(request.model, (asked,), said.keep, said.problem, said.reason, said)
        if asked.postponed:
            return _Vote(request.model, (asked,), None, asked.lack, asked.why)
        return _Vote(request.model, (asked,), False, "unparsed", asked.why)

    def _judged_verdict(self, name: JudgedFilter, question: Known, votes: Sequence[_Vote]) -> FilterVerdict:
        against = [vote for vote in votes if vote.keep is False]
        keep: bool | None = 2 * len(against) < len(votes)
        if any(vote.keep is None for vote in votes):
            keep = None
        deciding = [vote for vote in votes if vote.keep is keep]
        words = {None: "postponed", True: "keep", False: "drop"}
        evidence = {"votes": " ".join(words[vote.keep] for vote in votes)}
        evidence["problem"] = Counter([vote.problem for vote in deciding]).most_common(1)[0][0]
        ids = dict.fromkeys(id for vote in deciding if vote.said for id in vote.said.ids)
        unknown = dict.fromkeys(id for vote in deciding if vote.said for id in vote.said.unknown)
        evidence |= _listed("ids", ids) | _listed("unknown_ids", unknown)
        shown = next((vote for vote in deciding if vote.problem == evidence["problem"]), deciding[0])
        return FilterVerdict(
            item_id=question.id,
            filter=name,
            keep=keep,
            reason=shown.reason,
            evidence=evidence,
            judge=_joined(vote.model for vote in votes),
            details=self._details(votes, template_of(name)),
        )

    # -- assistants ----------------------------------------------------------------------------------------------

    def _blind_request(self, model: str, question: Known) -> Request:
        messages = blind_prompt(question, self.prompts, self.secret).messages
        parameters = self.replying.over(self.settings.closed_book, model, "assistant")
        return Request(model=model, messages=messages, parameters=parameters)

    def _closed_book(self, model: str, question: Known) -> Talk[_Vote]:
        """Have an assistant answer, and its answer judged."""
        asked: Asked[str] = yield from ask_once_more(
            self._blind_request(model, question), read_blind_answer, BLIND_FORM, repair=self.settings.repair
        )
        answer = asked.said if asked.said is not None else _cut_off(asked)
        if answer is None:
            mark: BlindMark = asked.lack if asked.postponed else "declined" if asked.declined else "unparsed"
            keep = None if asked.postponed else mark not in _AGAINST
            return _Vote(model, (asked,), keep, reason=asked.why, mark=mark)
        if is_unknown(answer):
            return _Vote(model, (asked,), True, mark="unknown", answer=answer)
        if normalise_question(answer) in {normalise_question(gold) for gold in question.answers}:
            return _Vote(model, (asked,), False, reason="the same words", mark="yes", answer=answer)
        judged = yield from self.consistency.judge(question.text, question.answers, answer)
        both = (asked, judged)
        if judged.said is not None:
            consistent = judged.said.consistent
            mark = "yes" if consistent else "no"
            return _Vote(model, both, not consistent, reason=judged.said.reason, mark=mark, answer=answer)
        if judged.postponed:
            return _Vote(model, both, None, reason=judged.why, mark=judged.lack, answer=answer)
        return _Vote(model, both, False, reason=judged.why, mark="unparsed", answer=answer)

    def _blind_verdict(self, question: Known, votes: Sequence[_Vote]) -> FilterVerdict:
        needed = self.settings.solved_by
        solved = sum(vote.mark == "yes" for vote in votes)
        against = sum(vote.mark in _AGAINST for vote in votes)
        evidence: dict[str, str] = {"votes": " ".join(vote.mark for vote in votes)}
        if any(vote.keep is None for vote in votes):
            lacking = min((v for v in votes if v.keep is None), key=lambda vote: vote.mark == "failed")
            keep, reason = None, lacking.reason
            problem: str = lacking.mark
        elif against >= needed:
            keep, problem = False, "blind-solved" if solved >= needed else "unparsed"
            reason = f"{solved} of {len(votes)} assistants answer it without seeing anything"
            if against > solved:
                reason += f"; {against - solved} could not be read, which counts as much"
        else:
            keep, problem = True, "none"
            reason = f"{solved} of {len(votes)} assistants answer it without seeing anything"
        evidence["problem"] = problem
        for number, vote in enumerate(votes, 1):
            evidence[f"answer_{number}"] = vote.answer[:_SHOWN]
            evidence[f"consistent_{number}"] = vote.mark
            if vote.reason:
                evidence[f"reason_{number}"] = vote.reason[:_SHOWN]
        consistency = self.consistency
        return FilterVerdict(
            item_id=question.id,
            filter="blind",
            keep=keep,
            reason=reason,
            evidence=evidence,
            judge=_joined((*(vote.model for vote in votes), consistency.model)),
            details=self._details(votes, template_of("blind"), "filter-consistency"),
        )

    def _details(self, votes: Sequence[_Vote], *templates: str) -> dict[str, str]:
        used = [self.prompts[name] for name in templates]
        details = {
            "template": " + ".join(f"{template.name}@{template.version}" for template in used),
            "template_hash": " + ".join(template.hash for template in used),
        }
        return details | call_notes([asked for vote in votes for asked in vote.asked], self.price)


def _by_rule(name: FilterName, question: Known) -> FilterVerdict | None:
    """Return the verdict that needs no model; None where one has to be asked."""
    problem = reason = ""
    longest = max((len(answer) for answer in question.answers), default=0)
    known = sum(len(line.text) for line in question.lines)
    if not (question.text.strip() and question.answers and all(a.strip() for a in question.answers)):
        problem, reason = "no-answer", "the question is empty, or an answer is, or there is none"
    elif name == "hallucination" and not question.lines:
        problem, reason = "no-context", "nothing is known that could support it"
    elif name == "hallucination" and not question.pictures and longest > max(known, _SHORT_CONTEXT):
        problem = "longer-than-context"
        reason = f"an answer has {longest:,} characters, all that is known has {known:,}"
    if not problem:
        return None
    return FilterVerdict(
        item_id=question.id,
        filter=name,
        keep=False,
        reason=reason,
        evidence={"problem": problem},
        judge=RULE,
    )


def _all_together(talks: Sequence[Talk[_Vote]]) -> Talk[list[_Vote]]:
    votes: list[_Vote] = yield from together(talks)
    return votes


def _cut_off(asked: Asked[str]) -> str | None:
    """Return what an assistant said before the limit on tokens: it may hold the answer all the same."""
    last: Outcome = asked.calls[-1][1]
    if not isinstance(last, Truncated):
        return None
    said = read_blind_answer(last.text)
    return said if isinstance(said, str) else None


def _listed(name: str, ids: Mapping[str, None]) -> dict[str, str]:
    return {name: json.dumps(list(ids), ensure_ascii=False)} if ids else {}


def _joined(models: Iterable[str]) -> str:
    return " + ".join(dict.fromkeys(models))


# -- a whole set ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FilterRun:
    """What a run came to.

    Attributes:
        results: of each question, in the order in which they were given.
        filters: that were asked.
        interrupted: True when Ctrl-C ended it: what it did not get to is postponed.
    """

    results: tuple[FilterResult, ...]
    filters: tuple[FilterName, ...] = FILTERS
    interrupted: bool = False

    @property
    def verdicts(self) -> list[FilterVerdict]:
        """All verdicts, question by question."""
        return [verdict for result in self.results for verdict in result.verdicts]

    @property
    def kept(self) -> frozenset[str]:
        """Ids of the questions that all filters keep."""
        return frozenset(result.item_id for result in self.results if result.outcome == "kept")

    @property
    def postponed(self) -> frozenset[str]:
        """Ids of the questions that a later run has to decide on."""
        return frozenset(result.item_id for result in self.results if result.outcome == "postponed")

    @property
    def dropped(self) -> Iterator[Dropped]:
        """Questions that are dropped, or that nobody decides on; the reason's code is ``filter:problem``."""
        for result in self.results:
            verdict = result.dropped_by or result.failed_at
            if verdict is not None:
                problem = verdict.evidence.get("problem", "other")
                yield Dropped(result.item_id, f"{verdict.filter}:{problem}", verdict.reason)

    @property
    def funnel(self) -> FilterFunnel:
        """The counts, filter by filter."""
        return count_funnel(self.results, self.filters)


def run_filters(
    questions: Sequence[Known],
    filters: Filters,
    ask: Ask,
    *,
    in_flight: int = 2 * IN_FLIGHT,
    progress: Callable[[FilterResult], None] | None = None,
) -> FilterRun:
    """Filter questions.

    Args:
        questions: ids unique.
        filters: with their models.
        ask: makes the calls.
        in_flight: questions that are worked on at a time.
        progress: called with the result of every question, as they end.

    Raises:
        UserError: if two questions have one id.
    """
    if twice := [id_ for id_, n in Counter(question.id for question in questions).items() if n > 1]:
        raise UserError(f"two questions have the same id: {twice[0][:80]!r}.", hint="ids must be unique")
    results: dict[str, FilterResult] = {}
    interrupted = False
    talks = ((question.id, filters.question(question)) for question in questions)
    try:
        for name, result in converse(talks, ask, in_flight=in_flight):
            results[name] = result
            if progress is not None:
                progress(result)
    except KeyboardInterrupt:
        interrupted = True
    return FilterRun(
        tuple(results.get(q.id) or FilterResult(q.id) for q in questions),
        filters.settings.filters,
        interrupted or len(results) < len(questions),
    )
