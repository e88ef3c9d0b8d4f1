"""What the pages are drawn from: plain values, one view for each template.

Every template gets two things, ``shell`` (what surrounds a page) and ``view`` (what it is about), and one global,
``static(path)``, which returns the hashed address of a file under ``static/``. Views hold sentences, numbers and
tuples; times arrive as text in the server's zone, because a page never computes with them. All text is untrusted and
escaped by the templates, except the fields of type ``Markup``, which the server made itself.

Blindness is a matter of what these types can carry: the cards of a sheet have no field for a source, a
name or a count of judges, so that no template can show one.
"""

from __future__ import annotations

from typing import Literal

from markupsafe import Markup
from msgspec import Struct, field

from proctor.drawing.view import GraphView
from proctor.exam.card import Criterion, Exhibited
from proctor.procedure.language import find_faults
from proctor.said import say
from proctor.verify.rounds.form import Field as FormField
from proctor.verify.rounds.kind import Offer

Judged = Literal["right", "wrong", ""]
"""A radio pair; empty is "not judged yet", which is not the same as "wrong"."""


def judged(value: object) -> Judged:
    """Return a judgement or a field of a form as a radio pair has it."""
    return "right" if value == "right" else "wrong" if value == "wrong" else ""


class NavLink(Struct, frozen=True):
    """One link of the bar; ``count`` stands behind the label when it is not empty."""

    label: str
    href: str
    current: bool = False
    count: str = ""


class Viewer(Struct, frozen=True):
    """Who is signed in; ``role`` is a word for people ("coordinator")."""

    pid: str
    name: str
    role: str


class Shell(Struct, frozen=True):
    """What surrounds every page.

    Attributes:
        project: name of the project.
        url: address of the page, for the footer of a print.
        protocol: short hash of the protocol in force, for the same footer; empty before there is one.
        viewer: who is signed in, None on public pages.
        nav: links of the bar.
        theme: ``auto`` follows the system.
        keys: the person's keys as JSON (``{"single": true, "map": {}}``), for ``js/keys.js``; empty for the usual ones.
        flash: one sentence on what has just been done, said once.
        language: of the page, as HTML has it.
        provider: what the provider by which one can sign in is called; empty where there is none.
    """

    project: str
    url: str
    protocol: str = ""
    viewer: Viewer | None = None
    nav: tuple[NavLink, ...] = ()
    theme: Literal["auto", "light", "dark"] = "auto"
    keys: str = ""
    flash: str = ""
    language: str = "en"
    provider: str = ""


class Choice(Struct, frozen=True):
    """One option of a select, a radio group or a list of check boxes."""

    value: str
    label: str
    chosen: bool = False
    note: str = ""


class Filter(Struct, frozen=True):
    """A select that narrows a list; ``name`` is the parameter of the address."""

    name: str
    label: str
    choices: tuple[Choice, ...]


class Page(Struct, frozen=True):
    """Where in a long list one is. Items are counted from 1; addresses are empty at the ends.

    ``more``: there are more than ``total``; nobody has counted them.
    """

    first: int
    last: int
    total: int
    before: str = ""
    after: str = ""
    more: bool = False


class Field(Struct, frozen=True):
    """A labelled fact."""

    label: str
    value: str


class DocumentVersion(Struct, frozen=True):
    """One version of a guideline or consent text, newest first in lists."""

    version: int
    at: str
    by: str
    note: str = ""
    current: bool = False
    href: str = ""


# -- before and around the work ------------------------------------------------------------------------------


class SigninView(Struct, frozen=True):
    """``signin``: posts ``handle``, ``password`` and ``next`` to ``/signin``; ``next`` to ``/signin/provider``, where there is one."""

    handle: str = ""
    next: str = "/"
    error: str = ""


class InviteView(Struct, frozen=True):
    """``invite``: posts ``handle``, ``name``, ``password`` (may be empty) to ``action``.

    Attributes:
        action: address of this invitation.
        invited_by: a display name.
        role: the word for it.
        duties: one sentence on what people in this role do.
        expires: when the link stops working.
        errors: messages by field.
        token: of the invitation, posted to ``/signin/provider`` where there is one.
    """

    action: str
    invited_by: str
    role: str
    duties: str
    expires: str
    handle: str = ""
    name: str = ""
    errors: tuple[Field, ...] = ()
    token: str = ""


class SetupView(Struct, frozen=True):
    """``setup``: the first owner's one-time link; posts as ``invite`` does, always with a password."""

    action: str
    expires: str
    handle: str = ""
    name: str = ""
    errors: tuple[Field, ...] = ()
    token: str = ""


class ConsentView(Struct, frozen=True):
    """``consent``: posts ``version``, ``agree=1`` to ``/consent``.

    Attributes:
        version: of the text.
        html: the text, rendered by the server.
        agreed: when the person agreed to this version, empty when they did not yet.
    """

    version: int
    html: Markup
    agreed: str = ""
    error: str = ""


class GuidelineView(Struct, frozen=True):
    """``guideline``: posts ``kind``, ``version``, ``read=1`` to ``/guideline``.

    Attributes:
        kind: of the questions that it is for.
        kinds: those that have a guideline, where there are several.
        version: shown.
        html: the text, rendered by the server.
        read: when the person ticked this version, empty when they did not.
        changed: lines of what changed since the version that the person had read; empty when nothing did. Each
            is ``("add" | "del" | "same", text)``.
        previous: that version.
    """

    version: int
    at: str
    html: Markup
    read: str = ""
    changed: tuple[tuple[str, str], ...] = ()
    previous: int = 0
    error: str = ""
    kind: str = ""
    kinds: tuple[Choice, ...] = ()


class Task(Struct, frozen=True):
    """One kind of work that waits for a person.

    Attributes:
        stage: of the assignments.
        title: what one does ("Judge questions and answers").
        detail: one sentence.
        href: address that goes on with this work (a form posts ``stage`` to it); empty when nothing is there now.
        action: the words on the link.
        done: submitted so far.
        total: all of them; 0 where there is no fixed number.
        waiting: how many can be done now.
    """

    stage: Literal["training", "judge", "adjudicate"]
    title: str
    detail: str
    href: str
    action: str
    done: int
    total: int
    waiting: int


class ItemRow(Struct, frozen=True):
    """A line of a list of items.

    Attributes:
        href: of the item or the assignment.
        question: text.
        activity: name.
        kind: question type, in words.
        state: a sentence ("Waiting for a second reading").
        tone: which token the state wears.
        detail: a second line, such as what the readers disagree on.
        people: display names, for coordinators only.
        at: time of the last change.
        questions: to the coordinators that wait, for them only.
    """

    href: str
    question: str
    activity: str
    kind: str
    state: str
    tone: Literal["todo", "current", "done", "error"] = "todo"
    detail: str = ""
    people: str = ""
    at: str = ""
    questions: int = 0


class CommentLine(Struct, frozen=True):
    """A comment: who wrote it, when, its text ("" after a withdrawal), and whether the reader wrote it."""

    who: str
    at: str
    text: str
    mine: bool = False


class ThreadView(Struct, frozen=True):
    """A thread of questions to the coordinators; its state is empty before the first comment, and in notes of coordinators.

    ``person`` (a pid) and ``name`` are those of who asks, for coordinators alone.
    """

    lines: tuple[CommentLine, ...] = ()
    state: Literal["", "waiting", "answered"] = ""
    person: str = ""
    name: str = ""


class NextStep(Struct, frozen=True):
    """Something to do for a coordinator: where, and what it is about."""

    href: str
    label: str
    detail: str


class Step(Struct, frozen=True):
    """A line of a checklist: what it is, how it stands in a sentence, and where to go for it.

    Attributes:
        label: in two or three words.
        detail: a sentence.
        state: ``done``, ``next`` (of which a list has one at most), or ``later``.
        href: where it is done; empty when somebody else does it.
        action: the words on the link.
    """

    label: str
    detail: str
    state: Literal["done", "next", "later"] = "later"
    href: str = ""
    action: str = ""


class HomeView(Struct, frozen=True):
    """``home``: what is next.

    Attributes:
        name: of the person.
        tasks: the work, most urgent first.
        gate: a sentence while a coordinator still has to let the person in; empty otherwise.
        finished: the calm line after a batch ("40 items in 1 h 52 min."), empty otherwise.
        recent: the last items of the person, which can still be changed.
        guideline_changed: address of the guideline when it has a version that the person has not read.
        rounds: of tasks beside verification, that they may take part in.
        todo: what a coordinator does next, with a sentence each; empty for others.
        steps: a checklist from texts to deal for who sets a project up, or the way to the first item for who waits for one.
        answers: of coordinators to the person's questions.
    """

    name: str
    tasks: tuple[Task, ...] = ()
    gate: str = ""
    finished: str = ""
    recent: tuple[ItemRow, ...] = ()
    guideline_changed: str = ""
    rounds: tuple[RoundRow, ...] = ()
    todo: tuple[NextStep, ...] = ()
    steps: tuple[Step, ...] = ()
    answers: tuple[NextStep, ...] = ()


class ProjectRow(Struct, frozen=True):
    """A project in the list of a server: its address, "" where it is not available. The rest is empty where nobody is known to be signed in.

    Attributes:
        name: of the project.
        href: of its first page.
        person: display name.
        role: in words.
        waiting: a sentence on the items and tasks of rounds that wait for the person.
        progress: how far the project is, for coordinators and owners.
    """

    name: str
    href: str
    person: str = ""
    role: str = ""
    waiting: str = ""
    progress: str = ""


# -- tasks of rounds ----------------------------------------------------------------------------------------


class JoinView(Struct, frozen=True):
    """``round``: the first page of a round for who takes part: what it is, instructions, examples, consent, how far they are.

    Attributes:
        address: of the round.
        title: of the work.
        detail: what one does.
        state: ``ask`` (consent of somebody without an account), ``quiz``, ``ready``, ``going`` (a batch is open), ``done``, ``late``
            (its time ran out), ``empty`` (nothing is left for them), ``closed``.
        consent: text; empty where none is asked for.
        instructions: text.
        hidden: fields of the form that the platform's link brought.
        quiz: fields of the comprehension quiz, with what was wrong of what they chose.
        done: tasks of their batch that are done.
        total: tasks of their batch.
        code: completion code, at the end.
        redirect: address that they go back to, at the end.
        again: they may take another batch.
        minutes: for a batch; 0 for any time.
        offers: tasks that they choose among, with their pids; ``Offer`` of ``verify.rounds.kind``.
        answers: of coordinators to the person's questions.
    """

    address: str
    title: str
    detail: str
    state: Literal["ask", "quiz", "ready", "going", "done", "late", "empty", "closed"]
    consent: Markup = field(default_factory=Markup)
    instructions: Markup = field(default_factory=Markup)
    hidden: tuple[Field, ...] = ()
    quiz: tuple[FieldView, ...] = ()
    done: int = 0
    total: int = 0
    code: str = ""
    redirect: str = ""
    again: bool = False
    minutes: int = 0
    offers: tuple[tuple[str, Offer], ...] = ()
    answers: tuple[NextStep, ...] = ()


class RoundRow(Struct, frozen=True):
    """A round in the coordinator's list."""

    href: str
    name: str
    title: str
    state: str
    tasks: int
    wanted: int
    done: int
    people: int


class RoundsView(Struct, frozen=True):
    """``rounds``: all rounds for a coordinator, or those that somebody takes part in (``mine``), with ``answers`` to their questions."""

    rows: tuple[RoundRow, ...]
    mine: bool = False
    answers: tuple[NextStep, ...] = ()


class HeldTask(Struct, frozen=True):
    """A task that somebody could not do: address to give it out again, its name, and why."""

    pid: str
    name: str
    reason: str


class RoundView(Struct, frozen=True):
    """``round_progress``: a round as its coordinator sees it.

    Attributes:
        row: how far it is.
        address: of this page.
        link: for people with an account.
        platform_link: for people of a platform, to be pasted there; empty where the round takes none.
        held: tasks that somebody could not do.
        settings: name and value, in words.
        review: address of the reviewer's page; empty where the kind has none.
        questions: about its tasks that wait for an answer.
    """

    row: RoundRow
    address: str
    link: str
    platform_link: str
    held: tuple[HeldTask, ...]
    settings: tuple[Field, ...]
    review: str = ""
    questions: tuple[NextStep, ...] = ()


# -- the work page ------------------------------------------------------------------------------------------


class CardView(Struct, frozen=True):
    """What is shown beside a question.

    Attributes:
        address: of the item; what is sent of it lies below.
        parts: what the kind shows; their places are those of their pictures' addresses.
        span: what of a recording is shown ("up to 07:53"); empty where the question has none.
        clip: where that stands: not on the server (empty), ``making`` (its address answers 503 until then), ``failed`` or ``ready``.
        graph: the procedure with what was done of it; None where there is none.
    """

    address: str
    parts: tuple[Exhibited, ...] = ()
    span: str = ""
    clip: Literal["", "making", "ready", "failed"] = ""
    graph: GraphView | None = None

    @property
    def is_text(self) -> bool:
        """True when it has parts that are neither played nor drawn, or nothing at all."""
        return not self.parts or any(part.footage is None and part.progress is None for part in self.parts)


class AnswerCard(Struct, frozen=True):
    """One statement to judge. There is no field for who wrote it: blind means absent."""

    text: str
    value: Judged = ""
    claim: str = ""

    @property
    def objections(self) -> str:
        """What the linter of the language objects to, in words; empty when nothing."""
        return _objections(self.text)


def _objections(text: str) -> str:
    return "; ".join(str(fault) for fault in find_faults(text))


class SettledAnswer(Struct, frozen=True):
    """One statement that is not to be judged any more, with what it was found to be; still nobody's name."""

    text: str
    value: Literal["right", "wrong"]


class WorkView(Struct, frozen=True):
    """``work``: one assignment, for judging, training and adjudicating.

    Attributes:
        pid: of the assignment.
        rev: of the last submitted response, 0 before the first.
        key: an idempotency key for a plain form.
        stage: what kind of work.
        state: ``open``, ``submitted`` (may still be changed) or ``frozen``.
        activity: name of the activity.
        position: place in the batch, from 1; 0 where places mean nothing.
        total: size of the batch.
        card: what is shown.
        criteria: of a right question.
        ask: what is asked about the answers.
        question: text.
        judged: what the sheet holds of the question.
        question_open: the question is to be judged; False when it is settled (adjudication).
        reasons: check boxes under *No*; empty when the protocol does not ask for them.
        answers: cards in the order shown.
        settled: statements that an adjudicator may read, but not judge; empty unless the settings allow it.
        own: the person's own answers.
        may_add: own answers are allowed, not allowed, or allowed if the question is found right.
        note: to the coordinator.
        errors: messages by field (``question``, ``answers.2``, ``own_answers``), from a plain form.
        saved: time of the last save, as on the chip; empty when nothing is saved yet.
        back: address of the item before, empty at the first.
        following: address of the item after, empty at the last.
        guideline: version that this sheet is judged under.
        guideline_changed: True when a newer one is out, which the next item uses.
        thread: the person's own questions about it, and the answers.
    """

    pid: str
    rev: int
    key: str
    stage: Literal["training", "judge", "adjudicate"]
    state: Literal["open", "submitted", "frozen"]
    activity: str
    position: int
    total: int
    card: CardView
    criteria: tuple[Criterion, ...]
    ask: str
    question: str
    judged: Judged = ""
    question_open: bool = True
    reasons: tuple[Choice, ...] = ()
    answers: tuple[AnswerCard, ...] = ()
    settled: tuple[SettledAnswer, ...] = ()
    own: tuple[str, ...] = ()
    may_add: Literal["0", "1", "if-open"] = "1"
    note: str = ""
    errors: tuple[Field, ...] = ()
    saved: str = ""
    back: str = ""
    following: str = ""
    guideline: int = 1
    guideline_changed: bool = False
    thread: ThreadView = ThreadView()

    @property
    def objections(self) -> str:
        """What the linter of the language objects to in the question, in words; empty when nothing."""
        return _objections(self.question)


class FeedbackRow(Struct, frozen=True):
    """One statement of a training item: what the person said, what the reference says, and why."""

    label: str
    text: str
    yours: Judged
    reference: Literal["right", "wrong"]
    why: str


class FeedbackView(Struct, frozen=True):
    """``feedback``: after a training item.

    Attributes:
        activity: name.
        position: of the item in the training set, from 1.
        total: size of the set.
        rows: the question first, then the answers.
        own: what the person wrote, which has no reference.
        score: over the set so far ("You agree with the reference on 14 of 17 statements").
        next: address of the next item, or of home.
        again: address of the item, to look at it once more.
    """

    activity: str
    position: int
    total: int
    rows: tuple[FeedbackRow, ...]
    own: tuple[str, ...]
    score: str
    next: str
    next_label: str
    again: str


class KeyBinding(Struct, frozen=True):
    """A key that can be changed; ``name`` is the field of the form."""

    name: str
    label: str
    key: str


class SessionRow(Struct, frozen=True):
    """A place where the person is signed in; ``pid`` ends it."""

    pid: str
    agent: str
    since: str
    seen: str
    here: bool = False


class TokenRow(Struct, frozen=True):
    """A token of a program: what it is for, what it may do, when it ends, and when it was used last."""

    pid: str
    name: str
    scope: str
    ends: str
    used: str


class MyView(Struct, frozen=True):
    """``my``: settings. Posts to ``/my/settings``, ``/my/password``, ``/my/sessions/{pid}/end``,
    ``/my/sessions/end-all``, ``/my/withdraw``; with a provider to ``/my/provider`` and ``/my/provider/end`` (``connected``
    since when); of who may have tokens to ``/my/tokens`` and ``/my/tokens/{pid}/end`` (``made``: one, shown this once).
    """  # noqa: D205

    handle: str
    name: str
    theme: Literal["auto", "light", "dark"]
    single_keys: bool
    keys: tuple[KeyBinding, ...]
    languages: tuple[Choice, ...]
    sessions: tuple[SessionRow, ...]
    consent_version: int
    consent_at: str
    has_password: bool
    errors: tuple[Field, ...] = ()
    connected: str = ""
    may_have_tokens: bool = False
    tokens: tuple[TokenRow, ...] = ()
    made: str = ""


# -- coordination -------------------------------------------------------------------------------------------


class Agreement(Struct, frozen=True):
    """One line of agreement: raw, positive, negative and chance-corrected agreement, each in its own range.

    Attributes:
        label: what was judged ("Question", "Answer", or a question type).
        n: how many double judgements it is computed from.
        raw: share in [0, 1], None when there is nothing.
        raw_low: Wilson interval.
        raw_high: the other end.
        alpha: Krippendorff's alpha, None when undefined.
        alpha_low: percentile bootstrap over recordings.
        alpha_high: the other end.
        yes: prevalence of Yes in [0, 1].
        why: a sentence when a number is undefined.
    """

    label: str
    n: int
    raw: float | None
    raw_low: float | None
    raw_high: float | None
    alpha: float | None
    alpha_low: float | None
    alpha_high: float | None
    yes: float | None
    why: str = ""


class TypeAgreement(Struct, frozen=True):
    """A question type with its two lines; ``href`` leads to its disagreements."""

    kind: str
    href: str
    question: Agreement
    answer: Agreement


class Bar(Struct, frozen=True):
    """One part of a stacked bar."""

    label: str
    count: int
    tone: Literal["todo", "current", "done", "error"]
    href: str = ""


class Stage(Struct, frozen=True):
    """Progress of a stage, its parts from done to not done."""

    label: str
    parts: tuple[Bar, ...]
    detail: str = ""

    @property
    def total(self) -> int:
        """All of them."""
        return sum(p.count for p in self.parts)


class PairCell(Struct, frozen=True):
    """Two people: raw agreement and kappa over ``n`` common items, None where there are none; ``href`` lists them."""

    n: int
    raw: float | None
    kappa: float | None
    href: str = ""

    @property
    def shade(self) -> int:
        """Step 0 to 5 of the ground: .5 and less to 1."""
        return 0 if self.raw is None else min(5, max(0, round((self.raw - 0.5) * 10)))


class Week(Struct, frozen=True):
    """Agreement of one week, for drift; ``raw`` in [0, 1] or None."""

    label: str
    n: int
    raw: float | None
    low: float | None
    high: float | None


class PolicyRow(Struct, frozen=True):
    """What a policy would have cost and changed.

    Attributes:
        name: in words.
        detail: one sentence on what reaches people.
        minutes: people's minutes, as text.
        share: of the minutes of the full protocol, in [0, 1].
        changed: accepted answers that would differ, as text ("12 of 861").
        active: in force.
        judgements: of people, as text.
        adjudications: the same.
        items: items that would end otherwise, as text, with its interval.
        error: items that machines settle and people contradict, as text, with its interval.
    """

    name: str
    detail: str
    minutes: str
    share: float
    changed: str
    active: bool = False
    judgements: str = ""
    adjudications: str = ""
    items: str = ""
    error: str = ""


class MachineRow(Struct, frozen=True):
    """A machine beside people, on questions or on answers.

    Attributes:
        name: of the annotator.
        kind: "task graph" or "model".
        what: "question" or "answer".
        n: pairs of a machine's and a person's judgement.
        raw: share that says the same; Wilson's interval beside it.
        kappa: Cohen's, None when undefined (``why``).
        people: raw agreement of people among themselves.
        unsure: things on which it is unsure.
        too_kind: it says right and the person wrong.
        too_strict: the other way round.
    """

    name: str
    kind: str
    what: str
    n: int
    raw: float | None
    raw_low: float | None
    raw_high: float | None
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None
    people: float | None
    unsure: int
    too_kind: int
    too_strict: int
    why: str = ""


class DashboardView(Struct, frozen=True):
    """``dashboard``.

    Attributes:
        population: the sentence that says what the numbers are about.
        as_of: time of the computation.
        stages: progress.
        headline: how far the work is and how far people agree, in one or two sentences.
        next: what the coordinator should do now; None when there is nothing.
        todo: short links to what waits for the coordinator ("Held 2").
        overall: question and answer over all types.
        types: by question type, of which enough pairs are there to read something from.
        few: the other types.
        people: names, rows and columns of the matrix.
        pairs: square, None on and below the diagonal.
        weeks: drift.
        policies: costs and changes.
        policy_note: what the minutes were computed from.
        methods: sentences on how the numbers are made.
        training: training score against main score, ``(name, training, main)`` in [0, 1].
        machines: beside people, two lines for each.
        warnings: what to say beside the numbers.
        computing: a sentence while newer numbers are on their way, or there could be some.
        problem: why the last computation came to nothing.
    """

    stages: tuple[Stage, ...]
    todo: tuple[NavLink, ...]
    headline: str = ""
    next: NextStep | None = None
    population: str = say("No numbers yet.")
    as_of: str = ""
    overall: tuple[Agreement, ...] = ()
    types: tuple[TypeAgreement, ...] = ()
    few: tuple[TypeAgreement, ...] = ()
    people: tuple[str, ...] = ()
    pairs: tuple[tuple[PairCell | None, ...], ...] = ()
    weeks: tuple[Week, ...] = ()
    policies: tuple[PolicyRow, ...] = ()
    policy_note: str = ""
    methods: tuple[str, ...] = ()
    training: tuple[tuple[str, float | None, float | None], ...] = ()
    machines: tuple[MachineRow, ...] = ()
    warnings: tuple[str, ...] = ()
    computing: str = ""
    problem: str = ""


class DisagreementsView(Struct, frozen=True):
    """``disagreements``: filters (a ``GET`` form) and a page of items."""

    filters: tuple[Filter, ...]
    rows: tuple[ItemRow, ...]
    page: Page
    population: str


class ItemsView(Struct, frozen=True):
    """``items``: all items, with filters and a search (``q``)."""

    filters: tuple[Filter, ...]
    search: str
    rows: tuple[ItemRow, ...]
    page: Page


class JudgementAnswer(Struct, frozen=True):
    """What one judge says of one statement; ``value`` is a judgement or empty where none was given."""

    value: Literal["right", "wrong", "unsure", ""]
    reason: str = ""
    confidence: str = ""


class Judgement(Struct, frozen=True):
    """One column of the comparison.

    Attributes:
        who: display name.
        kind: how the page calls it ("person", "oracle", "model", "filter", "adjudicator").
        at: time.
        question: of the question.
        answers: parallel to the statements of the item.
        own: answers they wrote.
        note: to the coordinator.
        minutes: active time.
        void: annulled.
        pid: of the assignment, for *return to them*; empty for machines.
    """

    who: str
    kind: Literal["person", "oracle", "model", "filter", "adjudicator"]
    at: str
    question: JudgementAnswer
    answers: tuple[JudgementAnswer, ...] = ()
    own: tuple[str, ...] = ()
    note: str = ""
    minutes: str = ""
    void: bool = False
    pid: str = ""


class Event(Struct, frozen=True):
    """One line of the history."""

    at: str
    who: str
    what: str
    href: str = ""
    hash: str = ""


class RevisionRow(Struct, frozen=True):
    """One sheet that was submitted; ``state`` says whether it counts. ``guideline`` is 0 where none is known."""

    at: str
    who: str
    stage: str
    rev: int
    what: str
    own: tuple[str, ...]
    note: str
    minutes: str
    guideline: int
    state: str


class ItemView(Struct, frozen=True):
    """``item``: everything of one item, for coordinators.

    Attributes:
        pid: of the item; its buttons post to ``/items/{pid}/return|release|resolve``.
        question: text.
        statements: texts of all answers, machine's first, then people's.
        sources: parallel to the statements, in words ("generated", "written by Ana").
        final: parallel to the statements: what holds now.
        judgements: the columns: people, then machines.
        adjudication: the adjudicator's, None before.
        state: a sentence.
        tone: of the state.
        held: why the item is held, empty when it is not.
        disputed: an adjudicator disputes it, so that asking one again can settle it.
        final_question: what holds now of the question.
        reserved: who has its case open; empty when nobody has.
        revisions: everything that was ever submitted, the newest first.
        repeats: sentences on decisions that were asked for blindly a second time.
        may_train: it can be put into the training set.
        may_give_out: it was returned, or a reader is missing.
        returned: "can't judge" messages.
        facts: what is known of the item.
        history: its events.
        before: address of the item before in the list one came from.
        after: the next.
        card: what is shown beside the question.
        threads: of questions to the coordinators; their own notes stand last, begun or not.
    """

    pid: str
    activity: str
    kind: str
    question: str
    statements: tuple[str, ...]
    sources: tuple[str, ...]
    final: tuple[JudgementAnswer, ...]
    judgements: tuple[Judgement, ...]
    adjudication: Judgement | None
    state: str
    tone: Literal["todo", "current", "done", "error"]
    facts: tuple[Field, ...]
    history: tuple[Event, ...]
    card: CardView
    held: str = ""
    returned: tuple[Event, ...] = ()
    before: str = ""
    after: str = ""
    disputed: bool = False
    final_question: JudgementAnswer = field(default=JudgementAnswer(""))
    reserved: str = ""
    revisions: tuple[RevisionRow, ...] = ()
    repeats: tuple[str, ...] = ()
    may_train: bool = False
    may_give_out: bool = False
    threads: tuple[ThreadView, ...] = ()

    def objections(self, text: str) -> str:
        """What the linter of the language objects to in the question or a statement, in words; empty when nothing."""
        return _objections(text)


class PersonRow(Struct, frozen=True):
    """One person on the page of people.

    Attributes:
        pid: random id; their buttons post to ``/people/{pid}/role|approve|link|revoke|leave|join|annul``.
        gate: a sentence ("Waits for you: 18 of 20 in training").
        waits: the gate waits for the coordinator.
        done: judgements submitted, of ``total`` dealt.
        training: score in [0, 1].
        state: ``active``, ``left`` or ``withdrawn``.
        managed: whoever looks may change this person: not oneself, nobody above.
    """

    pid: str
    name: str
    handle: str
    email: str
    role: str
    roles: tuple[Choice, ...]
    gate: str
    waits: bool
    done: int
    total: int
    seen: str
    training: float | None = None
    state: Literal["active", "left", "withdrawn"] = "active"
    me: bool = False
    managed: bool = True


class PendingInvite(Struct, frozen=True):
    """An invitation that nobody has used; ``pid`` withdraws it."""

    pid: str
    role: str
    email: str
    by: str
    expires: str


class PeopleView(Struct, frozen=True):
    """``people``: posts ``role`` and ``email`` to ``/people/invite``.

    ``link`` is a fresh one-time link, shown once.
    """

    people: tuple[PersonRow, ...]
    invites: tuple[PendingInvite, ...]
    roles: tuple[Choice, ...]
    link: str = ""
    link_for: str = ""
    error: str = ""


class Moved(Struct, frozen=True):
    """A line of a preview of moved work: a person, what they have now and would have then."""

    who: str
    now: int
    then: int

    @property
    def change(self) -> int:
        """Difference."""
        return self.then - self.now


class PeopleChangeView(Struct, frozen=True):
    """``people_change``: preview of leaving, joining, annulling or withdrawing; the button posts ``digest`` to ``action``.

    Attributes:
        kind: what happens.
        name: to whom.
        action: address that applies exactly what is shown.
        seed: of the plan.
        summary: sentences ("120 items move, 80 finished ones stay").
        moved: by person.
        warning: what cannot be undone.
        digest: names what the preview shows, so that what is applied is what was seen.
        pairs: items that two people share, by pair.
        stuck: places that nobody can take, and why.
        as_of: when it was worked out, where that is not now.
        waiting: it is being worked out; the page looks again by itself.
    """

    kind: Literal["leave", "join", "annul", "withdraw"]
    name: str
    action: str
    seed: int
    summary: tuple[str, ...]
    moved: tuple[Moved, ...]
    warning: str = ""
    digest: str = ""
    pairs: tuple[Moved, ...] = ()
    stuck: tuple[str, ...] = ()
    error: str = ""
    as_of: str = ""
    waiting: bool = False


class DealRow(Struct, frozen=True):
    """A pair of the preview: how many items they get, by stratum in the order of the header."""

    pair: str
    total: int
    strata: tuple[int, ...]


class DealView(Struct, frozen=True):
    """``deal``: ``/deal`` previews (``GET``), and deals (``POST``, with the ``digest`` of what was shown).

    Attributes:
        waiting: items that are not dealt.
        policies: one of them is chosen.
        people: who takes part.
        strata: what the deal is balanced over.
        constraints: check boxes.
        capacity: items each person takes at most; 0 for no limit.
        seed: of the deal.
        headers: names of the strata in the preview.
        rows: preview by pair; empty before there is one.
        loads: preview by person.
        spread: a sentence on the balance reached.
        digest: names what the preview shows.
        audit_share: of what machines settle, in [0, 1], for the policy ``audit``.
        limit: deal at most so many items; 0 for all.
        barred: lines ``sign-in name: recording``.
        most: lines ``sign-in name: number``.
        reasons: numbers of the preview by why people judge items, or do not.
        computing: the preview is being worked out; the page looks again by itself, at ``again``.
        as_of: when the preview was worked out, where that is not now.
    """

    waiting: int
    policies: tuple[Choice, ...]
    people: tuple[Choice, ...]
    strata: tuple[Choice, ...]
    constraints: tuple[Choice, ...]
    capacity: int
    seed: int
    per_item: int = 2
    headers: tuple[str, ...] = ()
    rows: tuple[DealRow, ...] = ()
    loads: tuple[Moved, ...] = ()
    spread: str = ""
    digest: str = ""
    error: str = ""
    audit_share: float = 0.1
    limit: int = 0
    barred: str = ""
    most: str = ""
    reasons: tuple[str, ...] = ()
    computing: bool = False
    again: str = ""
    as_of: str = ""


class TrainingItem(Struct, frozen=True):
    """An item of the training set with its references; posts to ``/training/{pid}`` and ``…/remove``."""

    pid: str
    question: str
    activity: str
    kind: str
    reference: Literal["right", "wrong", ""]
    why: str
    answers: tuple[tuple[str, str, str], ...]
    agreed: float | None = None
    tried: int = 0
    note: str = ""


class Suggested(Struct, frozen=True):
    """An item that can be put into the training set.

    Attributes:
        pid: of the item.
        question: text.
        activity: name.
        kind: question type.
        answers: texts, with what the task graph says of each; nothing where it says nothing.
        sure: the task graph says it of everything, so that the item can be taken as it is.
    """

    pid: str
    question: str
    activity: str
    kind: str
    answers: tuple[tuple[str, Judged], ...]
    sure: bool


class TrainingView(Struct, frozen=True):
    """``training``: the set, and what people scored; adding posts ``item`` to ``/training/add``.

    ``adding`` is an item that is not in the set yet: its reference as it is proposed, to be looked at and kept.
    ``automatic`` says that the gate opens by itself. ``suggested`` are items to pick from, one of each type in turn; picking
    posts ``item`` (several) to ``/training/pick``.
    """

    items: tuple[TrainingItem, ...]
    pass_at: float
    note: str = ""
    adding: TrainingItem | None = None
    error: str = ""
    automatic: bool = False
    suggested: tuple[Suggested, ...] = ()


class GuidelinesView(Struct, frozen=True):
    """``guidelines``: the editor. Posts ``kind``, ``body``, ``note``, ``base`` to ``/guidelines``; ``preview=1`` shows
    without keeping.

    Attributes:
        kind: which document.
        kinds: the documents there are.
        body: Markdown in the editor.
        base: version that it started from.
        versions: all, newest first.
        diff: lines against the version in force, as in ``GuidelineView.changed``.
        html: preview, None when none was asked for.
        read_by: a sentence on who has read the version in force.
        frozen: no new version until it is thawed.
        settings: of the protocol, when that is the kind.
        stages: of the work; ``chosen`` when a stage is closed.
    """  # noqa: D205

    kind: str
    kinds: tuple[Choice, ...]
    body: str
    base: int
    versions: tuple[DocumentVersion, ...]
    diff: tuple[tuple[str, str], ...] = ()
    diff_title: str = ""
    html: Markup | None = None
    read_by: str = ""
    error: str = ""
    frozen: bool = False
    settings: tuple[Setting, ...] = ()
    stages: tuple[Choice, ...] = ()


class FieldView(FormField, frozen=True, kw_only=True):
    """One field of a form with what is filled in and what is wrong with it.

    Of spans ``marked`` are value, label and words of each, ``typed`` label and words of those that could not be looked up.
    """

    values: tuple[str, ...] = ()
    error: str = ""
    marked: tuple[tuple[str, str, str], ...] = ()
    typed: tuple[tuple[str, str], ...] = ()


class TaskView(Struct, frozen=True):
    """``task_<kind>``: one task of a round. What is not said here is as in ``WorkView``.

    Attributes:
        kind: of the task.
        title: of the round, as people know it.
        card: what is shown of a question; None where the task is about none.
        fields: of the form, in their order; none where the page draws its sheet itself.
        instructions: shown again on demand.
        module: ``js/task_<module>.js`` runs the page: ``form`` for forms.
        data: what the page draws, as JSON for that module; empty for forms.
        sheet: that is shown, as JSON.
        body: the kind's own view; of a form the texts above it, each a heading and what stands under it.
        round: address of the round, for its people.
    """

    pid: str
    rev: int
    key: str
    kind: str
    state: Literal["open", "submitted", "frozen"]
    title: str
    position: int
    total: int
    card: CardView | None = None
    fields: tuple[FieldView, ...] = ()
    note: str = ""
    errors: tuple[Field, ...] = ()
    saved: str = ""
    back: str = ""
    following: str = ""
    instructions: Markup | None = None
    module: str = "form"
    data: str = ""
    sheet: str = "{}"
    body: object = None
    round: str = "/r"
    thread: ThreadView = ThreadView()


class Setting(Struct, frozen=True):
    """One setting of the protocol: ``kind`` is ``number``, ``tick`` or ``choice``; posts ``name``."""

    name: str
    label: str
    kind: Literal["number", "tick", "choice"]
    value: str = ""
    chosen: bool = False
    choices: tuple[Choice, ...] = ()
    low: str = ""
    high: str = ""
    step: str = "1"
    note: str = ""


class ExportRow(Struct, frozen=True):
    """An export that was made; ``gone`` when its file is no more."""

    at: str
    who: str
    what: str
    size: str
    digest: str
    href: str
    gone: bool = False


class ExportsView(Struct, frozen=True):
    """``exports``: posts ``kind`` (``published``, ``rows``, ``csv``) to ``/exports``."""

    kinds: tuple[Choice, ...]
    rows: tuple[ExportRow, ...]
    ready: str
    error: str = ""


class EventsView(Struct, frozen=True):
    """``events``: the audit log, newest first; ``chain`` says whether its hashes hold, and when that was looked at.

    ``checking``: it is being looked at; the page then looks again by itself, at the address ``again``.
    """

    filters: tuple[Filter, ...]
    rows: tuple[Event, ...]
    page: Page
    chain: str
    chain_holds: bool = True
    checking: bool = False
    again: str = ""


class ErrorView(Struct, frozen=True):
    """``error``: a sentence, a cause, an action."""

    status: int
    sentence: str
    cause: str
    action: str
    href: str = "/"
    errors: tuple[Field, ...] = field(default=())


class MessageView(Struct, frozen=True):
    """``message``: one thing that was done, and where to go on."""

    title: str
    text: str
    href: str = "/"
    action: str = say("Go on")
