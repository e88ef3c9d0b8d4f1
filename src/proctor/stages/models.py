"""A workspace's door to models: its call store, media, prompts, limits and budget, opened for one stage."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import starmap
from typing import TYPE_CHECKING, Final

import msgspec

from proctor.errors import UserError
from proctor.exam.predict_prompt import evaluation_prompts
from proctor.llm.blocking import run_calls
from proctor.llm.budget import dollars
from proctor.llm.caller import CONCURRENCY, Caller
from proctor.llm.estimate import EarlierReplies, Estimate, Estimator, Meter
from proctor.llm.fence import FENCE_FILE, FenceSecret
from proctor.llm.flow import Flow, FlowEvent, FlowSettings
from proctor.llm.media import MediaStore
from proctor.llm.message import Parameters, Request
from proctor.llm.model import FUNCTION, PERSON, Model
from proctor.llm.outcome import Ask, Failure, Outcome
from proctor.llm.pace import Pace, pace_of
from proctor.llm.prices import PriceTable
from proctor.llm.prompt import PromptSet
from proctor.llm.replying import PUBLISHED, Replying
from proctor.llm.store import CallStore
from proctor.llm.unsent import Unsent
from proctor.records import Json
from proctor.stages.limits import Limits
from proctor.stages.rehearsing import choose_models
from proctor.stages.settings import REPLY_NAMES, ReplyOptions
from proctor.workspace import Workspace, is_there

if TYPE_CHECKING:
    from proctor.exam.function import Function

__all__ = [
    "CALLS",
    "MEDIA",
    "Asked",
    "Closing",
    "CutOff",
    "Limits",
    "Models",
    "flow_settings",
    "open_models",
    "replies_said",
    "require_keys",
]

CALLS = "calls.sqlite"
"""Name of the call store in a workspace."""
MEDIA = "media"
"""Name of the folder of pictures in a workspace."""


_MORE_TOKENS: Final = 2_048
"""What is proposed at least where replies were cut off."""


class CutOff(msgspec.Struct, frozen=True, kw_only=True):
    """Replies of a model that were cut off by one limit.

    Attributes:
        model: full name.
        tokens: the limit; None for the provider's own.
        replies: how many.
        silent: of them, those that had not said a word: all of it was thinking.
    """

    model: str
    tokens: int | None
    replies: int
    silent: int

    @property
    def told(self) -> str:
        """What happened and what helps, for people."""
        many = f"{self.replies:,} replies" if self.replies != 1 else "one reply"
        at = "the provider's own limit" if self.tokens is None else f"{self.tokens:,} tokens"
        silent = f" ({self.silent:,} before a word was said)" if self.silent else ""
        more = max(_MORE_TOKENS, 1 << (4 * (self.tokens or 0) - 1).bit_length())
        return f"{many} of {self.model} {'was' if self.replies == 1 else 'were'} cut off at {at}{silent}: --reply-tokens {more}"


class Closing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The closing line of a stage that asked models.

    Attributes:
        sent: calls that were sent.
        from_store: calls whose outcome was there.
        outcomes: of all of them, by kind.
        cost: US dollars, for people.
        unpriced: calls whose price is not known, so that they are not in the cost.
        lost: calls whose reply was lost.
        feared: US dollars that these may have cost.
        unsent: parameters that a model has no field for, by model.
        flow: how many calls each endpoint was found to bear.
        stopped: why calls were left that were not sent; empty when there are none.
        mute: calls were sent, and none of those who were asked has said anything in this stage, now or before.
        cut_off: replies that were cut off, by model and limit.
        why: what the first failure of each kind says, but for calls that were not sent.
    """

    sent: int
    from_store: int
    outcomes: dict[str, int]
    cost: str
    unpriced: int
    lost: int
    feared: str
    unsent: dict[str, list[str]] = {}
    flow: list[Pace]
    stopped: str
    mute: bool
    cut_off: list[CutOff] = []
    why: dict[str, str] = {}


class Asked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What stages that ask models until nothing is owed say at their end; each adds its own numbers.

    Attributes:
        complete: nothing is owed: the same command has nothing left to do.
        interrupted: somebody stopped it.
        unsent: parameters that a model has no field for, by model.
        calls: the closing line of models.
    """

    complete: bool
    interrupted: bool
    unsent: dict[str, list[str]] = {}
    calls: Closing | None = None

    def recorded(self, *apart: str) -> dict[str, Json]:
        """Return the counts for the workspace's record, without what is kept in a file of its own."""
        found: dict[str, Json] = msgspec.to_builtins(self)
        return {name: v for name, v in found.items() if name not in ("interrupted", "calls", *apart)}


_SAID: Final = frozenset({"reply", "refusal", "truncated", "content_filter"})
"""Outcomes in which a model has done something."""


def flow_settings(limits: Limits) -> FlowSettings:
    """Return how calls are sent within these limits.

    Raises:
        UserError: if a limit is not above 0 (raised when the flow is made).
    """
    settings = FlowSettings()
    usual = settings.limits
    most = usual.max_concurrency if limits.max_connections is None else limits.max_connections
    pace = replace(
        usual,
        concurrency=min(usual.concurrency, most),
        max_concurrency=most,
        requests_per_minute=limits.requests_per_minute,
        tokens_per_minute=limits.tokens_per_minute,
    )
    return replace(
        settings,
        limits=pace,
        attempt_timeout=settings.attempt_timeout if limits.timeout is None else limits.timeout,
        deadline=settings.deadline if limits.deadline is None else limits.deadline,
    )


class Models:
    """Everything that a stage needs to ask models; from ``open_models``."""

    def __init__(
        self,
        workspace: Workspace,
        store: CallStore,
        limits: Limits,
        resolve: Callable[[str], Model],
        replying: Replying,
    ) -> None:
        self.replying = msgspec.structs.replace(replying, context=self.context)
        self._store = store
        self._listen = limits.listen
        self._halt = limits.halt
        self.left_out: set[str] | None = limits.left_out
        self._prices = PriceTable.load(limits.prices) if limits.prices else PriceTable.load()
        self._meter = Meter(self._prices)
        self.prompts: PromptSet = evaluation_prompts(limits.prompts)
        self.secret = FenceSecret.load(workspace.root / FENCE_FILE)
        self.media = MediaStore(workspace.root / MEDIA)
        self.budget = limits.spending()
        flow = self._flow = Flow(flow_settings(limits))
        self._unsent = Unsent()
        self._history: list[FlowEvent] = []
        most = max(CONCURRENCY, 2 * (limits.max_connections or 0))
        self.functions: dict[str, Function] = {}
        """That answer in the place of models, by name."""

        def resolved(name: str) -> Model:
            function = self.functions.get(name)
            if function is None:
                return resolve(name)
            from proctor.exam.function import FunctionModel

            return FunctionModel(function)

        self.caller = Caller(
            store,
            self.media,
            flow,
            self.budget,
            meter=self._meter,
            concurrency=most,
            resolve=resolved,
            settled={} if limits.retry_failed else store.failures(),
        )

    def ask(self, stage: str, progress: Callable[[], None] | None = None) -> Ask:
        """Return a function that makes calls for a stage."""

        def asking(requests: Iterable[Request]) -> Iterator[tuple[Request, Outcome]]:
            watched = self._unsent.watch(stage, requests, self._listen)
            try:
                yield from run_calls(self.caller, watched, stage=stage, progress=progress, halt=self._halt)
            finally:
                self._keep_history(stage)

        return asking

    def _keep_history(self, stage: str) -> None:
        """Store what changed the pace; what was only read from the store changed none."""
        hide = self.caller.hide
        events = [
            msgspec.structs.replace(event, detail=hide(event.detail)) for event in self._flow.take_history()
        ]
        self._history += events
        self._store.add_history(stage, events)

    def expect(self, stage: str, model: str, parameters: Parameters) -> None:
        """Say before anything is asked what requests of a stage are made with.

        For stages that ask only what has no answer yet: their remarks are then the same whether or not something is left.
        """
        self._unsent.look(stage, model, parameters)

    def remarks(self) -> dict[str, dict[str, list[str]]]:
        """Return what belongs into the counts of the stage's record: ``unsent``, by model the parameters that it has no field for.

        It depends on the requests alone, so that a run that finds all of them in the store says the same. Nothing when
        there is nothing to say.
        """
        names = {model: list(names) for model, names in sorted(self._unsent.names.items())}
        return {"unsent": names} if names else {}

    def require_prices(self, *names: str) -> None:
        """Say of every model whose price is not known that it is not, before any of them is asked.

        Raises:
            UserError: if there is a limit on money, which cannot be kept then.
        """
        for name in names:
            self.budget.require_price(name, known=self._prices.find(name) is not None)

    def context(self, model: str) -> int | None:
        """Return how many tokens of prompt and reply together a model takes, None when that is not known."""
        return found.context if (found := self._prices.find(model)) is not None else None

    def price(self, model: str, outcome: Outcome) -> int | None:
        """Return nano-dollars of an outcome, None when price or usage are not known."""
        return None if isinstance(outcome, Failure) else self._prices.cost(model, outcome.usage)

    def estimate(self, stages: Iterable[tuple[str, Iterable[Request]]]) -> Estimate:
        """Add up what stages would send: calls that the store has cost nothing, and replies are as long as its own.

        Earlier replies of the same model in the same stage count; else those in stages of its kind (``judge/…``).
        """
        answered = self._store.reply_tokens()

        def earlier(stage: str, model: str) -> EarlierReplies | None:
            if (stage, model) in answered:
                return EarlierReplies(*answered[stage, model])
            kind = stage.partition("/")[0]
            alike = [n for (s, m), n in answered.items() if m == model and s.partition("/")[0] == kind]
            return EarlierReplies(*map(sum, zip(*alike, strict=True))) if alike else None

        settled = self.caller.settled or {}

        def known(keys: Iterable[str]) -> set[str]:
            listed = list(keys)
            return self._store.has(listed) | (settled.keys() & listed)

        estimator = Estimator(self._prices, known=known, earlier=earlier)
        for stage, requests in stages:
            estimator.add(stage, requests)
        return msgspec.structs.replace(estimator.result(), left_out=tuple(sorted(self.left_out or ())))

    def closing(self) -> Closing:
        """Return the closing line of a stage."""
        tally = self.caller.tally
        endpoints = dict.fromkeys(event.endpoint for event in self._history)
        given_up = next((state.stopped for state in self._flow.state() if state.stopped), "")
        stopped = tally.stopped or (given_up if tally.kinds.get("cancelled") else "")
        said = _SAID & tally.kinds.keys() or any(starmap(self._store.has_said, self._unsent.asked))
        return Closing(
            sent=tally.sent,
            from_store=tally.stored,
            outcomes=dict(sorted(tally.kinds.items())),
            cost=dollars(tally.cost),
            unpriced=tally.unpriced,
            lost=tally.lost,
            feared=dollars(tally.feared),
            **self.remarks(),
            flow=[pace_of(name, self._flow.starts_with(name), self._history) for name in endpoints],
            stopped=stopped,
            mute=tally.sent > 0 and not said,
            cut_off=[
                CutOff(model=model, tokens=tokens, replies=replies, silent=silent)
                for (model, tokens), (replies, silent) in tally.cut_off.items()
            ],
            why={kind: why for kind, why in tally.why.items() if kind not in ("budget", "cancelled")},
        )


@contextmanager
def open_models(
    workspace: Workspace, limits: Limits | None = None, options: ReplyOptions | None = None
) -> Iterator[Models]:
    """Open a workspace's call store and everything around it.

    Args:
        workspace: whose.
        limits: what may be spent.
        options: how models reply; more is said in ``limits``, and in the table ``[models]`` of ``proctor.toml``.

    Raises:
        UserError: if the store, the templates or the prices cannot be used, or the store is not of this workspace's kind.
    """
    limits = limits or Limits()
    replying = replies_said(workspace, limits, options)
    resolve = choose_models(workspace.root, limits.calls, limits.rehearsal)
    shared: CallStore | None = limits.store
    # (an empty store is false)
    opened = CallStore.open(limits.calls or workspace.root / CALLS) if shared is None else shared
    try:
        yield Models(workspace, opened, limits, resolve, replying)
    finally:
        if shared is None:
            opened.close()


def replies_said(
    workspace: Workspace, limits: Limits | None = None, options: ReplyOptions | None = None
) -> Replying:
    """Return all that is said of how models reply: options first, then ``limits``, then ``proctor.toml``.

    Where nobody says how long replies may be, the published protocol keeps its own limits.

    Raises:
        UserError: if the file says what cannot be.
    """
    table = {
        name: [
            f"{who}={value[name]}"
            for who, value in workspace.model_settings(REPLY_NAMES).items()
            if name in value
        ]
        for name in REPLY_NAMES
    }
    try:
        found = Replying.parse(table)
    except UserError as error:
        where = f"{workspace.file('proctor.toml')}: [models]"
        raise UserError(error.message, where=where, hint=error.hint) from None
    if workspace.published:
        found = found.after(Replying.parse({"reply_tokens": (PUBLISHED,)}))
    if limits is not None and limits.replies is not None:
        found = limits.replies.after(found)
    return found if options is None else options.replying().after(found)


def require_keys(workspace: Workspace, names: Iterable[str], limits: Limits) -> None:
    """Find missing keys and addresses now, not after hours; a model whose calls are all stored needs none.

    Raises:
        UserError: if a model that was never asked yet cannot be asked.
    """
    resolve = choose_models(workspace.root, limits.calls, limits.rehearsal)
    place = limits.calls or workspace.file(CALLS)
    asked: frozenset[str] = frozenset()
    if isinstance(place, str) or is_there(place):
        with CallStore.open(place) as store:
            asked = frozenset(store.models())
    for name in names:
        if name.startswith(FUNCTION):
            from proctor.exam.function import load_function

            load_function(name)
        elif name not in asked and not name.startswith(PERSON):
            asyncio.run(resolve(name).close())
