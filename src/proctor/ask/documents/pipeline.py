"""One attempt at one target, and all attempts at it, as conversations with models (SMMQG).

An attempt goes: seed, entity, candidates, question (of a multi-hop style two halves and their combination), code checks,
verification, and by choice the ablation of sources, difficulty and further distractors. Each step can end it; the outcome says
at which one, and the next attempt begins with a new seed. What an attempt does depends on the run's seed, its target and its
number, and on the replies to its own requests: never on other targets, on order or on time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Literal, NoReturn, TypeAlias, TypeVar

import msgspec

from proctor.ask.cost import Heard, Price, no_price
from proctor.ask.documents.candidates import K_MODALITY, Candidates, Find, select_candidates
from proctor.ask.documents.checks import check_question
from proctor.ask.documents.difficulty import (
    RIGHT,
    DifficultyRules,
    Examined,
    Examiner,
    NotAnswered,
    Ranker,
    judge_difficulty,
    settled,
    together,
)
from proctor.ask.documents.distractors import DistractorSearch, find_distractors
from proctor.ask.documents.entity import ENTITY, NUM_ENTITIES, entity_prompt, read_entities
from proctor.ask.documents.multihop import (
    COMBINATION,
    PAIR_FORM,
    Part,
    Split,
    check_combined,
    check_first,
    check_second,
    combination_prompt,
    first_prompt,
    read_combination,
    second_prompt,
    split_candidates,
)
from proctor.ask.documents.prompting import DocumentsPrompt, Miss, PromptKit, needs_lmm, requirement_in_words
from proctor.ask.documents.question import GENERATION, question_prompt, read_question
from proctor.ask.documents.record import AttemptRecord, Target
from proctor.ask.documents.rng import attempt_random
from proctor.ask.documents.seed_levels import Seed, SeedLevels
from proctor.ask.documents.solving import leave_one_out
from proctor.ask.documents.style import Style, style_of
from proctor.ask.documents.summary import UNTRIED
from proctor.ask.documents.triple import TRIPLE_FORM, Triple
from proctor.ask.documents.verification import VERIFICATION, read_verdict, verdict_form, verification_prompt
from proctor.corpus.collection import Corpus
from proctor.corpus.source import Source
from proctor.errors import UserError
from proctor.exam.kinds.documents_question import DocumentFacts, Hop, document_question
from proctor.exam.question import Question
from proctor.llm.converse import Conversation
from proctor.llm.message import Parameters, Request
from proctor.llm.outcome import Outcome, Reply
from proctor.llm.structured import Unreadable, repair_messages
from proctor.records import content_hash

__all__ = ["ATTEMPTS", "DocumentsGenerator", "DocumentsModels", "DocumentsSettings", "TargetResult"]

ATTEMPTS: Final = 8
"""Attempts at a target [R]; the paper does not say."""

T = TypeVar("T")
Talk: TypeAlias = Generator[Any, Any, T]
"""A part of a conversation."""

_REPAIRABLE: Final = frozenset({"format_error", "verify_unparsed"})
"""Outcomes of replies that are asked for once more in the right form."""


class DocumentsModels(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Full names of models by what they do; one that is empty is stood in for by the one that is named.

    Attributes:
        entity: names the entity of a seed.
        generator: writes questions and joins the halves of multi-hop ones.
        verifier: says whether a question holds.
        generator_lmm: writes when a candidate is an image; ``generator`` when empty.
        verifier_lmm: verifies and answers when a source is an image; ``verifier`` when empty.
        answerer: answers where sources are left out; ``verifier`` when empty.
        marker: marks these answers; ``verifier`` when empty.
    """

    entity: str
    generator: str
    verifier: str
    generator_lmm: str = ""
    verifier_lmm: str = ""
    answerer: str = ""
    marker: str = ""

    def writes(self, sources: Sequence[Source]) -> str:
        """Return who writes a question about these candidates."""
        return (self.generator_lmm if needs_lmm(sources) else "") or self.generator

    def verifies(self, sources: Sequence[Source]) -> str:
        """Return who verifies a question that cites these sources."""
        return (self.verifier_lmm if needs_lmm(sources) else "") or self.verifier


class DocumentsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings that can change a result.

    Attributes:
        attempts: at a target, at most.
        k_modality: candidates for each source that is needed.
        num_entities: that are asked for of a seed, at most; an attempt draws one of them.
        include_seed: True puts the seed among the candidates where its modality is needed.
        floor: score for the entity below which a source is no candidate.
        repair: asks once more for a reply that cannot be read.
        necessity: ``ablate`` also has the question answered without each source in turn.
        difficulty: what is measured, and what refuses a question.
        distractors: further distractors of each kind, where a search for them is given.
        entity: parameters of the call that names the entity.
        generation: of the one that writes a question.
        combination: of the one that joins two.
        verification: of the one that verifies.
    """

    attempts: int = ATTEMPTS
    k_modality: int = K_MODALITY
    num_entities: int = NUM_ENTITIES
    include_seed: bool = False
    floor: float | None = None
    repair: bool = True
    necessity: Literal["prompt", "ablate"] = "prompt"
    difficulty: DifficultyRules = DifficultyRules()
    distractors: int = 3
    entity: Parameters = ENTITY
    generation: Parameters = GENERATION
    combination: Parameters = COMBINATION
    verification: Parameters = VERIFICATION

    def __post_init__(self) -> None:
        """Refuse numbers that make no sense, before anything is asked."""
        for name in ("attempts", "k_modality", "num_entities", "distractors"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} is {getattr(self, name)}.", hint="it has to be at least 1")


@dataclass(frozen=True, slots=True)
class TargetResult:
    """What became of a target so far.

    Attributes:
        target: what was wanted.
        question: the accepted one; None when there is none.
        attempts: at it, in order; the last one may be one that a later run makes again.
    """

    target: Target
    question: Question | None = None
    attempts: tuple[AttemptRecord, ...] = ()


class _Ended(Exception):  # noqa: N818 - it is a finding, not an accident
    """The attempt ends with a miss."""

    def __init__(self, miss: Miss) -> None:
        super().__init__(miss.outcome)
        self.miss = miss


@dataclass(slots=True)
class _Notes(Heard):
    """What an attempt has found out on its way; it is recorded however it ends."""

    seed_id: str = ""
    entity: str = ""
    candidates: Candidates | None = None
    models: dict[str, str] = field(default_factory=dict)
    checks: dict[str, str] = field(default_factory=dict)
    difficulty: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Written:
    """A question that was written and not yet verified."""

    question: str
    answer: str
    gold: tuple[Source, ...]
    hops: tuple[Hop, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentsGenerator:
    """Makes questions for targets.

    Attributes:
        corpus: the sources.
        find: finds candidates for an entity.
        seeds: seed source of each attempt.
        styles: of the targets.
        models: who does what.
        kit: templates, fences and pictures.
        seed: of the run.
        settings: what can change the result.
        retriever: name of what finds candidates, for records.
        rank: ranks sources for a question; needed where difficulty looks at ranks.
        distractor_search: where further distractors are looked for; None looks for none.
        price: of calls.

    Raises:
        UserError: if ranks are wanted and nobody gives them.
    """

    corpus: Corpus
    find: Find
    seeds: SeedLevels
    styles: Sequence[Style]
    models: DocumentsModels
    kit: PromptKit
    seed: int = 0
    settings: DocumentsSettings = field(default_factory=DocumentsSettings)
    retriever: str = ""
    rank: Ranker | None = None
    distractor_search: DistractorSearch | None = None
    price: Price = no_price

    def __post_init__(self) -> None:
        """See that what is wanted can be had."""
        if self.settings.difficulty.ranks and self.rank is None:
            raise UserError("the rank of gold sources is asked for, and there is no search that ranks them.")

    @property
    def attempts(self) -> int:
        """Attempts at a target, at most."""
        return self.settings.attempts

    def config_hash(self, style: Style) -> str:
        """Return a hash of everything but prompts and corpus that can change the questions of a style."""
        settings = msgspec.to_builtins(self.settings)
        if settings["num_entities"] == NUM_ENTITIES:  # it could not be chosen once: the hash is what it was
            del settings["num_entities"]
        kit = self.kit
        return content_hash(
            [settings, self.models, self.seed, self.retriever, style.hash, kit.limits, *kit.replying.identity]
        )

    # -- a target ------------------------------------------------------------------------------------------------

    def target(self, target: Target, *, after: TargetResult | None = None) -> Conversation[TargetResult]:
        """Attempt a target until there is a question, all attempts are made, or a call fails that may work later.

        Args:
            target: what is wanted.
            after: what became of it so far; its attempts are not made again, but those that found nothing out.
        """
        attempts = [a for a in (after.attempts if after else ()) if a.outcome not in UNTRIED]
        question: Question | None = None
        while question is None and len(attempts) < self.attempts:
            record, question = yield from self.attempt(target, len(attempts), attempts)
            attempts.append(record)
            if record.outcome in UNTRIED:
                break
        return TargetResult(target, question, tuple(attempts))

    def attempt(
        self, target: Target, number: int, before: Sequence[AttemptRecord] = ()
    ) -> Conversation[tuple[AttemptRecord, Question | None]]:
        """Make one attempt.

        Args:
            target: what is wanted.
            number: of the attempt, from 0.
            before: earlier attempts at the same target: what would ask the very same thing again is a new draw.
        """
        notes = _Notes()
        work = _Attempt(self, target, number, before, notes)
        question: Question | None = None
        try:
            question = yield from _overheard(
                work.make(), lambda request, outcome: notes.hear(request, outcome, self.price)
            )
            miss = None
        except (_Ended, NotAnswered) as end:
            miss = end.miss
        record = AttemptRecord(
            target=target.id,
            number=number,
            outcome="accepted" if miss is None else miss.outcome,
            detail="" if miss is None else miss.detail,
            seed_id=notes.seed_id,
            entity=notes.entity,
            candidates=notes.candidates.ids if notes.candidates else (),
            calls=tuple(notes.calls),
            short_candidates=notes.candidates is not None and notes.candidates.short,
            cost=None if notes.cost is None else f"{Decimal(notes.cost) / 10**9:f}",
        )
        return record, question


# -- an attempt --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One attempt on its way."""

    by: DocumentsGenerator
    target: Target
    number: int
    before: Sequence[AttemptRecord]
    notes: _Notes

    @property
    def style(self) -> Style:
        return style_of(self.by.styles, self.target.style)

    def make(self) -> Talk[Question]:
        """Go from seed to question.

        Raises:
            _Ended: with what became of it.
            NotAnswered: likewise, from an examination.
        """
        seed = self.by.seeds.of(self.target.id, self.number)
        source = self.by.corpus.sources[seed.position]
        self.notes.seed_id = source.id
        entity = self.notes.entity = yield from self._entity(source, seed)
        candidates = self.notes.candidates = self._candidates(entity, source)
        if self.style.hops:
            written = yield from self._joined(entity, candidates)
        else:
            written = yield from self._single(candidates)
        self._require(
            check_question(
                written.question,
                written.answer,
                written.gold,
                self.target.modalities,
                checks=self.style.checks,
                combined=bool(written.hops),
            )
        )
        yield from self._verify(written)
        yield from self._ablate(written)
        yield from self._difficulty(written)
        return self._question(written, entity, candidates)

    def _entity(self, source: Source, seed: Seed) -> Talk[str]:
        most = self.by.settings.num_entities
        prompt = entity_prompt(self.by.kit, source, count=most)
        model = self.by.models.entity
        found = yield from self._call(
            "entity", prompt, model, self.by.settings.entity, lambda outcome: read_entities(outcome, count=most),
            draw=seed.draw,
        )  # fmt: skip
        if len(found) == 1:
            return str(found[0])
        return str(attempt_random(self.by.seed, self.target.id, self.number, "entity").choice(found))

    def _candidates(self, entity: str, seed: Source) -> Candidates:
        settings = self.by.settings
        found = select_candidates(
            entity,
            self.target.modalities,
            self.by.find,
            self.by.corpus.sources,
            attempt_random(self.by.seed, self.target.id, self.number, "order"),
            k_modality=settings.k_modality,
            aliases=self.by.corpus.aliases,
            include=seed if settings.include_seed else None,
            floor=settings.floor,
        )
        return found if isinstance(found, Candidates) else self._end(found)

    # -- the question --------------------------------------------------------------------------------------------

    def _single(self, candidates: Candidates) -> Talk[_Written]:
        sources = candidates.sources
        prompt = question_prompt(self.by.kit, self.style, sources, self.target.modalities)
        found = yield from self._write(prompt, sources)
        return _Written(found.question, found.answer, candidates.cited(found.cites))

    def _joined(self, entity: str, candidates: Candidates) -> Talk[_Written]:
        rng = attempt_random(self.by.seed, self.target.id, self.number, "split")
        split = split_candidates(candidates.sources, self.target.modalities, rng)
        if isinstance(split, Miss):
            self._end(split)
        try:
            return (yield from self._hops(entity, split))
        except _Ended as end:
            if end.miss.outcome != "refused" or not split.swappable:
                raise
            self.notes.checks["swapped"] = "the halves the other way round were refused"
        return (yield from self._hops(entity, split.swapped))

    def _hops(self, entity: str, split: Split) -> Talk[_Written]:
        kit, style = self.by.kit, self.style
        first, first_gold = yield from self._half(first_prompt(kit, entity, split.first), split.first)
        self._require(check_first(entity, first, first_gold, split.first))
        second, second_gold = yield from self._half(second_prompt(kit, entity, split.second), split.second)
        self._require(check_second(entity, second, second_gold, split.second))
        gold = (*first_gold, *second_gold)
        prompt = combination_prompt(kit, style, entity, first, first_gold, second, second_gold)
        parameters = self.by.settings.combination
        found = yield from self._call(
            "generator", prompt, self.by.models.writes(gold), parameters, read_combination, form=PAIR_FORM
        )
        hops = (_hop(first, first_gold), _hop(second, second_gold))
        self._require(check_combined(entity, found.question, hops))
        return _Written(found.question, found.answer, gold, hops)

    def _half(self, prompt: DocumentsPrompt, part: Part) -> Talk[tuple[Triple, tuple[Source, ...]]]:
        found = yield from self._write(prompt, part.sources)
        return found, tuple(part.sources[number - 1] for number in found.cites)

    def _write(self, prompt: DocumentsPrompt, sources: Sequence[Source]) -> Talk[Triple]:
        """Have a question written; what was asked in the same words before is drawn anew."""
        candidates = self.notes.candidates
        ids = candidates.ids if candidates else ()
        same = sum(a.entity == self.notes.entity and a.candidates == ids for a in self.before)
        found: Triple = yield from self._call(
            "generator",
            prompt,
            self.by.models.writes(sources),
            self.by.settings.generation,
            lambda outcome: read_question(outcome, len(sources)),
            form=TRIPLE_FORM,
            draw=same,
        )
        if found.notes:
            self.notes.checks["form"] = " ".join(found.notes)
        return found

    # -- is it good? ---------------------------------------------------------------------------------------------

    def _verify(self, written: _Written) -> Talk[None]:
        prompt = verification_prompt(self.by.kit, self.style, written.question, written.answer, written.gold)
        model, parameters = self.by.models.verifies(written.gold), self.by.settings.verification
        verdict = yield from self._call(
            "verifier", prompt, model, parameters, read_verdict, form=verdict_form(self.by.kit)
        )
        self._require(verdict.miss)
        self.notes.checks["modalities"] = requirement_in_words(self.target.modalities)
        self.notes.checks["verifier"] = verdict.said

    def _ablate(self, written: _Written) -> Talk[None]:
        """See that leaving any source out makes a right answer impossible, where that is asked for."""
        rest = leave_one_out(written.gold)
        if self.by.settings.necessity != "ablate" or not rest:
            return
        examiner = self._examiner()
        talks = [examiner.examine(written.question, written.answer, sources) for sources in rest]
        each: list[Examined] = yield from together(talks)
        self.notes.checks["necessity"] = " ".join(examined.text for examined in each)
        spare = [source.id for source, e in zip(written.gold, each, strict=True) if e.mark == RIGHT]
        if spare:
            self._end(Miss("necessity_fail", f"answered right without {', '.join(spare)}"))

    def _difficulty(self, written: _Written) -> Talk[None]:
        rules = self.by.settings.difficulty
        measures, against = yield from judge_difficulty(
            written.question, written.answer, written.gold, rules, self._examiner(), self.by.rank
        )
        self.notes.difficulty |= measures
        if against is not None:
            told = ", ".join(f"{name} {value}" for name, value in measures.items())
            self._end(Miss(against, told))

    def _examiner(self) -> Examiner:
        models = self.by.models
        answerer, marker = models.answerer or models.verifier, models.marker or models.verifier
        return Examiner(self.by.kit, answerer, marker, seeing=models.verifier_lmm)

    # -- records -------------------------------------------------------------------------------------------------

    def _question(self, written: _Written, entity: str, candidates: Candidates) -> Question:
        gold = tuple(source.id for source in written.gold)
        others = candidates.others(gold)
        notes = self.notes
        facts = DocumentFacts(
            hops=written.hops,
            entity=entity,
            seed_id=notes.seed_id,
            distractors=others,
            typed_distractors=self._distractors(written.question, entity, gold, others),
            checks=notes.checks,
            difficulty=notes.difficulty,
            ranks={id: candidates.ranks[id] for id in candidates.ids if id in candidates.ranks},
            attempts=self.number + 1,
            calls=tuple(notes.calls),
        )
        provenance = {
            **notes.models,
            "retriever": self.by.retriever,
            "seed": str(self.by.seed),
            "style_hash": self.style.hash,
            "corpus_hash": self.by.corpus.fingerprint,
            "config_hash": self.by.config_hash(self.style),
            **{f"prompt:{name}": digest for name, digest in notes.prompts.items()},
        }
        return document_question(
            self.target.id,
            written.question,
            written.answer,
            gold,
            style=self.target.style,
            modalities=self.target.modalities,
            content={source.id: source.content_hash for source in written.gold},
            facts=facts,
            provenance=provenance,
        )

    def _distractors(
        self, question: str, entity: str, gold: Sequence[str], others: Sequence[str]
    ) -> dict[str, tuple[str, ...]]:
        if self.by.distractor_search is None:
            return {}
        return find_distractors(
            question,
            entity,
            self.target.modalities,
            gold,
            others,
            self.by.distractor_search,
            each=self.by.settings.distractors,
        )

    # -- calls ---------------------------------------------------------------------------------------------------

    def _call(
        self,
        role: str,
        prompt: DocumentsPrompt,
        model: str,
        parameters: Parameters,
        read: Callable[[Outcome], Any],
        *,
        form: str = "",
        draw: int = 0,
    ) -> Talk[Any]:
        """Ask, read, and ask once more for the right form where a reply lacks it.

        Raises:
            _Ended: when there is nothing to go on with.
        """
        self.notes.prompts[prompt.template] = prompt.template_hash
        self.notes.models[role] = model
        if prompt.shortened:
            self.notes.checks["shortened"] = "; ".join(prompt.shortened)
        request = prompt.request(
            model, parameters, "verifier" if role == "verifier" else "generator", draw=draw
        )
        outcome = settled((yield request))
        found = read(outcome)
        unreadable = isinstance(found, Miss) and found.outcome in _REPAIRABLE
        if self.by.settings.repair and form and isinstance(outcome, Reply) and unreadable:
            problem = Unreadable("form" if outcome.text.strip() else "empty")
            messages = repair_messages(request.messages, outcome.text, problem, form)
            found = read(settled((yield msgspec.structs.replace(request, messages=messages))))
        return self._end(found) if isinstance(found, Miss) else found

    def _require(self, miss: Miss | None) -> None:
        if miss is not None:
            self._end(miss)

    def _end(self, miss: Miss) -> NoReturn:
        raise _Ended(miss)


def _hop(found: Triple, gold: Sequence[Source]) -> Hop:
    return Hop(question=found.question, answer=found.answer, sources=tuple(source.id for source in gold))


def _overheard(talk: Talk[T], hear: Callable[[Request, Outcome], None]) -> Talk[T]:
    """Hold a conversation and tell somebody of every call."""
    sent: Any = None
    try:
        while True:
            try:
                said = talk.send(sent)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            sent = yield said
            requests, outcomes = (said,), (sent,)
            if not isinstance(said, Request):
                requests, outcomes = said, sent
            for request, outcome in zip(requests, outcomes, strict=True):
                hear(request, outcome)
    finally:
        talk.close()
