"""Made-up contexts for every template: what a page looks like when it is full, empty, long and hostile."""

from __future__ import annotations

from markupsafe import Markup
from msgspec import structs
from msgspec.structs import replace

from proctor.drawing.view import GraphView, view_graph
from proctor.exam.card import GENERAL, Exhibited
from proctor.exam.kinds.example import Example, Performed
from proctor.exam.kinds.moment_question import JUDGING
from proctor.exam.lines import Line
from proctor.exam.question import Footage
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Mistake
from proctor.studio import views as v

STEPS = (
    "Rinse 1 medium zucchini",
    "Peel 1 medium zucchini",
    "Chop the zucchini finely",
    "Whisk 1 cup of chilled curd until it is smooth and free of lumps, which takes about two minutes with a fork",
    "Add the chopped zucchini to the whisked curd",
    "Add 1/4 teaspoon of salt to the bowl",
    "Add 1/4 teaspoon of cumin powder to the bowl",
    "Add 1/2 teaspoon of chaat masala powder to the bowl",
    "Combine all the ingredients in the bowl",
    "Garnish with chopped cilantro",
    "Take a tomato",
    "Cut the tomato into two pieces",
)
EDGES = (
    (1, 2),
    (2, 3),
    (3, 5),
    (4, 5),
    (5, 6),
    (5, 7),
    (5, 8),
    (6, 9),
    (7, 9),
    (8, 9),
    (11, 12),
    (12, 9),
    (9, 10),
)
HOSTILE = '"><img src=x onerror=alert(1)> <script>alert(1)</script> {{7*7}} \u202eevil\u202c ' + "w" * 220


def _graph() -> TaskGraph:
    ids = [str(n) for n in range(1, len(STEPS) + 1)]
    return TaskGraph(
        id="raita",
        name="Cucumber Raita",
        steps=tuple(Step(i, text) for i, text in zip(ids, STEPS, strict=True)),
        edges=tuple((str(a), str(b)) for a, b in EDGES),
    )


def _performed(step: int, text: str, start: float, end: float, *mistakes: tuple[str, str]) -> Performed:
    return Performed(
        str(step), text, STEPS[step - 1], tuple(Mistake(kind, what) for kind, what in mistakes), start, end
    )


MOMENT = Example(
    id="17_40_5_next",
    clip_id="17_40_5",
    recording_id="17_40",
    activity_id="raita",
    activity_name="Cucumber Raita",
    type="next",
    end=473.0,
    state="ongoing",
    noisy=True,
    current=_performed(
        3,
        "Chop only one half of the zucchini",
        221.0,
        473.0,
        ("measurement", "one half is put aside"),
        ("preparation", "thick slices"),
    ),
    previous=(
        _performed(
            1, STEPS[0], 4.1, 19.3, ("preparation", "a zucchini is taken where the recipe wants a cucumber")
        ),
        _performed(2, STEPS[1], 24.0, 91.5),
        _performed(4, STEPS[3], 98.2, 214.0, ("technique", "a spoon is used and lumps remain")),
    ),
)


def graph_view() -> GraphView:
    """Return a moment of a recipe, with mistakes."""
    return view_graph(MOMENT, _graph())


NAV = (
    v.NavLink("Work", "/"),
    v.NavLink("Progress", "/dashboard", current=True),
    v.NavLink("Items", "/items"),
    v.NavLink("Disagreements", "/disagreements", count="31"),
    v.NavLink("People", "/people"),
    v.NavLink("Deal", "/deal"),
    v.NavLink("Training set", "/training"),
    v.NavLink("Texts", "/guidelines"),
    v.NavLink("Exports", "/exports"),
    v.NavLink("Log", "/events"),
)
PUBLIC = v.Shell("Kitchen questions", "https://studio.example/signin")
ANA = v.Shell(
    "Kitchen questions",
    "https://studio.example/w/k3v9",
    "9f31c07ab2de",
    v.Viewer("p-7f3a", "Ana Ruiz", "annotator"),
    (v.NavLink("Work", "/", current=True),),
)
CARLA = v.Shell(
    "Kitchen questions",
    "https://studio.example/dashboard",
    "9f31c07ab2de",
    v.Viewer("p-01c2", "Carla Voss", "coordinator"),
    NAV,
)

GUIDELINE = Markup(
    "<h2>What you judge</h2><p>Somebody follows written instructions and is recorded. At one moment they ask a "
    "question. You see the recording up to that moment, the instructions as a graph, and the steps so far.</p>"
    "<h2>A right question</h2><ul><li>needs both the recording and the instructions;</li><li>is about the "
    "procedure: steps, order, amounts, tools, timing, mistakes;</li><li>needs no knowledge from outside;</li>"
    "<li>is natural, clear and grammatical.</li></ul><h2>A right answer</h2><p>It is true at that moment, given "
    "what was done and what the instructions ask for. Several answers may be right.</p><blockquote>If you cannot "
    "see what you need, choose “Can't judge”. That is no failure.</blockquote>"
)
DIFF = (
    ("same", "An answer is right when it is true at this moment."),
    ("del", "Answers that are nearly right count as right."),
    ("add", "Answers that are nearly right count as wrong; say in the note what is missing."),
    ("same", "Several answers may be right."),
)
WORK = v.WorkView(
    pid="k3v9x2",
    rev=0,
    key="5f0c2f7e-9a1d-4a53-8a3e-0c1f7b1f2a10",
    stage="judge",
    state="open",
    activity="Cucumber Raita",
    position=37,
    total=200,
    card=v.CardView("", span="up to 07:53", clip="ready"),
    criteria=JUDGING.criteria,
    ask=JUDGING.ask,
    question="What should I do next?",
    saved="12:04",
    back="/w/before",
    answers=(
        v.AnswerCard("You should add the chopped zucchini to the whisked curd."),
        v.AnswerCard("Take a tomato."),
        v.AnswerCard("Chop the other half of the zucchini, because the recipe asks for a whole one."),
    ),
)
MOMENT_PARTS = (
    Exhibited("Recording", footage=Footage(recording="r", end=473.0)),
    Exhibited("Procedure", progress=MOMENT),
)
STEPS_OF_CLIP = tuple(
    Line(str(n), f"{n * 7}.0 to {n * 7 + 7}.0 s: {text}") for n, text in enumerate(STEPS, 1)
)
CLIP_CARD = v.CardView(
    "", (MOMENT_PARTS[0], Exhibited("Steps as annotated", lines=STEPS_OF_CLIP)), "from 01:10 to 01:40"
)
SOURCES = v.CardView(
    "",
    (
        Exhibited(
            "Yoghurt", "\n\n".join(["Curd is milk that has been set. It is stirred before it is used."] * 30)
        ),
        Exhibited("Amounts – Raita", "", ("what", "how much"), (("zucchini", "1"), ("curd", "1 cup"))),
    ),
)
REASONS = (
    v.Choice("one-source", "The recording or the instructions alone would do"),
    v.Choice("not-procedural", "It is not about the procedure"),
    v.Choice("outside", "It needs knowledge from outside", True),
    v.Choice("unclear", "It is unclear or not grammatical"),
)


def work_views() -> dict[str, v.WorkView]:
    """Return the variants of the work page."""
    graph = graph_view()
    fresh = replace(WORK, card=replace(WORK.card, graph=graph, parts=MOMENT_PARTS))
    answers = (replace(WORK.answers[0], value="right"), *WORK.answers[1:])
    judged = replace(fresh, judged="right", answers=answers, own=("You could add the salt now.",))
    many = tuple(
        v.AnswerCard(f"Statement {n} of a pool that is as long as pools to adjudicate become.")
        for n in range(1, 13)
    )
    return {
        "work": judged,
        "work-open": fresh,
        "work-cutting": replace(fresh, card=replace(fresh.card, clip="making")),
        "work-no": replace(fresh, judged="wrong", reasons=REASONS),
        "work-training": replace(judged, stage="training", position=3, total=20),
        "work-adjudicate": replace(
            fresh,
            stage="adjudicate",
            question_open=False,
            answers=many[:4],
            may_add="0",
            position=0,
            total=0,
            back="",
        ),
        "work-adjudicate-question": replace(
            fresh, stage="adjudicate", may_add="if-open", position=0, total=0
        ),
        "work-many": replace(judged, answers=many, state="submitted", rev=2, guideline_changed=True),
        "work-errors": replace(
            judged,
            errors=(v.Field("answers.1", "Answer 2 has no verdict yet: choose Yes or No."),),
        ),
        "work-frozen": replace(judged, state="frozen"),
        "work-hostile": replace(
            judged,
            activity=HOSTILE,
            question=HOSTILE,
            answers=(v.AnswerCard(HOSTILE), v.AnswerCard("\u202eright to left override")),
            own=(HOSTILE,),
            note=HOSTILE,
            card=replace(fresh.card, clip=""),
        ),
        "work-clip": replace(judged, card=CLIP_CARD, ask=GENERAL.ask, criteria=GENERAL.criteria),
        "work-documents": replace(judged, card=SOURCES, ask=GENERAL.ask, criteria=GENERAL.criteria),
    }


_RULE = (
    "Ask yourself whether the question could be answered without the sources. If it could, the answer is No."
)
_STYLES = {"compare": "Compares two things", "count": "Counts or computes something"}
FIELDS = (
    v.FieldView(name="fluency", label="Fluency of the question", type="scale", rule=_RULE, ends=("hard to understand", "reads well"), values=("4",)),
    v.FieldView(name="relevant", label="All the sources are needed", rule=_RULE),
    v.FieldView(name="style", label="Style", type="choice", choices=_STYLES, values=("count",)),
    v.FieldView(name="why", label="What is not needed?", type="texts", only_if="relevant=no", required=False, values=("The table", "The picture")),
    v.FieldView(name="minutes", label="Minutes that it took", type="number", values=("2.5",), required=False),
    v.FieldView(name="better", label="Write it better", type="text", required=False),
)  # fmt: skip


def task_views() -> dict[str, v.TaskView]:
    """Return pages of tasks whose sheet is a form."""
    task = v.TaskView(
        "t8k2m1", 0, "9e4d", "rate", "open", "Questions about documents", 3, 20, SOURCES, FIELDS, back="/w/t0", following="/w/t2",
        instructions=Markup("<h2>What to do</h2><p>Read the sources, then the question.</p>"), sheet='{"values": {"fluency": "4"}}',
    )  # fmt: skip
    hostile = (
        structs.replace(FIELDS[1], label=HOSTILE, rule=HOSTILE),
        structs.replace(FIELDS[5], label="x" * 300, values=("y" * 10_000,)),
    )
    wrong = structs.replace(FIELDS[1], error="Not filled in yet: All the sources are needed"), FIELDS[0]
    drawn = '{"text": "\\"><script>alert(1)</script>"}'
    return {
        "task": task,
        "task-alone": replace(task, card=None, instructions=None),
        "task-errors": replace(task, fields=wrong, errors=(v.Field("relevant", wrong[0].error),)),
        "task-frozen": replace(task, state="frozen"),
        "task-hostile": replace(task, title=HOSTILE, fields=hostile, note=HOSTILE, sheet=drawn),
    }


def _agreement(label: str, n: int, raw: float, alpha: float | None, yes: float, width: float) -> v.Agreement:
    low = None if alpha is None else alpha - width
    high = None if alpha is None else min(1, alpha + width)
    why = "only one value was given" if alpha is None else ""
    return v.Agreement(label, n, raw, raw - width / 2, min(1, raw + width / 2), alpha, low, high, yes, why)


ITEMS = (
    v.ItemRow(
        "/items/a",
        "What should I do next?",
        "Cucumber Raita",
        "next step",
        "Waiting for a second reading",
        "todo",
        "",
        "Ana",
        "12:04",
    ),
    v.ItemRow(
        "/items/b",
        "Did I forget anything?",
        "Spiced Hot Chocolate",
        "missing step",
        "Waiting for an adjudicator",
        "current",
        "They differ on the question",
        "Ana, Ben",
        "11:58",
    ),
    v.ItemRow(
        "/items/c",
        "Is half a teaspoon enough?",
        "Broccoli Stir Fry",
        "measurement",
        "Accepted with 3 answers",
        "done",
        "",
        "Ben, Dele",
        "yesterday",
    ),
    v.ItemRow(
        "/items/d",
        "Was it right to chop first?",
        "Pan Fried Tofu",
        "order",
        "Held: no answer is right",
        "error",
        "Approved with an empty answer set",
        "Ana, Dele",
        "Mon",
    ),
    v.ItemRow(
        "/items/e",
        HOSTILE,
        "Herb Omelet",
        "technique",
        "Waiting for a second reading",
        "todo",
        "",
        "Ben",
        "Mon",
    ),
)
FILTERS = (
    v.Filter(
        "type",
        "Question type",
        (v.Choice("", "all"), v.Choice("next", "next step", True), v.Choice("order", "order")),
    ),
    v.Filter("pair", "Pair", (v.Choice("", "all pairs"), v.Choice("ab", "Ana and Ben"))),
    v.Filter(
        "on",
        "They differ on",
        (v.Choice("", "anything"), v.Choice("question", "the question"), v.Choice("answers", "an answer")),
    ),
)


def _right(reason: str = "", confidence: str = "") -> v.JudgementAnswer:
    return v.JudgementAnswer("right", reason, confidence)


def _wrong(reason: str = "", confidence: str = "") -> v.JudgementAnswer:
    return v.JudgementAnswer("wrong", reason, confidence)


def _dashboard() -> v.DashboardView:
    kinds = (
        "next step",
        "missing step",
        "order",
        "timing",
        "measurement",
        "temperature",
        "technique",
        "preparation",
    )
    types = tuple(
        v.TypeAgreement(
            kind,
            f"/disagreements?type={n}",
            _agreement(
                "Question",
                60 - n,
                0.95 - n * 0.01,
                None if n == 3 else 0.72 - n * 0.05,
                0.86 - n * 0.02,
                0.12 + n * 0.02,
            ),
            _agreement(
                "Answer", 140 - 9 * n, 0.9 - n * 0.015, 0.66 - n * 0.03, 0.76 - n * 0.02, 0.08 + n * 0.02
            ),
        )
        for n, kind in enumerate(kinds)
    )
    people = ("Ana", "Ben", "Chioma", "Dele", "Eun-ji")
    pairs = tuple(
        tuple(
            None
            if b <= a
            else v.PairCell(0, None, None)
            if (a, b) == (1, 4)
            else v.PairCell(
                50 - a, 0.97 - 0.06 * a - 0.07 * (b - a), 0.81 - 0.09 * b, f"/disagreements?pair={a}{b}"
            )
            for b in range(5)
        )
        for a in range(5)
    )
    bars = (
        v.Bar("accepted", 312, "done", "/items?state=accepted"),
        v.Bar("with an adjudicator", 31, "current", "/disagreements"),
        v.Bar("held", 2, "error", "/items?state=held"),
        v.Bar("to be judged", 155, "todo", "/items?state=open"),
    )
    return v.DashboardView(
        headline="345 of 500 dealt items are finished. Two readers agree on 91 % of 345 questions [88 %, 94 %].",
        next=v.NextStep("/people", "Let people begin", "They have finished the training and wait for you."),
        population="345 items judged twice, accepted or not.",
        as_of="20 Nov 2026, 12:04",
        stages=(
            v.Stage("Judging", bars, "345 of 500 items have both readings"),
            v.Stage(
                "Adjudication",
                (v.Bar("settled", 58, "done"), v.Bar("waiting", 31, "current")),
                "the oldest waits for 2 days",
            ),
            v.Stage("Training", (v.Bar("let in", 4, "done"), v.Bar("waiting for you", 1, "current")), ""),
        ),
        todo=(
            v.NavLink("To adjudicate", "/disagreements", count="31"),
            v.NavLink("Held", "/items?state=held", count="2"),
            v.NavLink("Left open", "/items?state=left", count="14"),
            v.NavLink("Could not be judged", "/items?state=returned", count="3"),
        ),
        overall=(
            _agreement("Question", 345, 0.91, 0.71, 0.84, 0.075),
            _agreement("Answer", 912, 0.869, 0.643, 0.76, 0.09),
        ),
        types=types,
        people=people,
        pairs=pairs,
        weeks=tuple(
            v.Week(f"wk {40 + n}", 40 + n, r, r - 0.06, min(1, r + 0.05))
            for n, r in enumerate((0.82, 0.86, 0.9, 0.88, 0.93, 0.91))
        ),
        policies=(
            v.PolicyRow(
                "Everything twice",
                "The published protocol: two people read each item.",
                "1,240",
                1.0,
                "–",
                True,
            ),
            v.PolicyRow(
                "What machines doubt",
                "People read an item when the oracle or the model is unsure, or they differ.",
                "402",
                0.324,
                "12 of 861",
            ),
            v.PolicyRow(
                "Blind audit of one in ten",
                "Machines decide; people read a tenth without being told which.",
                "129",
                0.104,
                "31 of 861",
            ),
        ),
        policy_note="Computed from the items that have all readings, with the median minutes of each stage.",
        methods=(
            "Intervals: Wilson for raw agreement; for α, 2,000 bootstrap draws of whole recordings.",
            "Answers count only where both people found the question right.",
        ),
        training=(("Ana", 0.94, 0.91), ("Ben", 0.88, 0.9), ("Chioma", 0.71, None)),
    )


def _item() -> v.ItemView:
    return v.ItemView(
        pid="i-44",
        activity="Cucumber Raita",
        kind="next step",
        question="What should I do next?",
        statements=(
            "You should add the chopped zucchini to the whisked curd.",
            "Take a tomato.",
            "Chop the other half of the zucchini.",
            "You could add the salt now.",
        ),
        sources=("generated", "generated", "generated", "written by Ana"),
        final=(_wrong(), _right(), _right(), v.JudgementAnswer("")),
        judgements=(
            v.Judgement(
                "Ana Ruiz",
                "person",
                "19 Nov, 10:12",
                _right(),
                (_wrong(), _right(), _right()),
                ("You could add the salt now.",),
                "I was not sure whether the half counts.",
                "2.1 min",
                pid="a1",
            ),
            v.Judgement(
                "Ben Okoro",
                "person",
                "19 Nov, 15:40",
                _right(),
                (_right(), _right(), _right()),
                (),
                "",
                "1.4 min",
                pid="a2",
            ),
            v.Judgement(
                "Task graph",
                "oracle",
                "18 Nov",
                _right("asks for the next step"),
                (
                    _wrong("step 3 is not done"),
                    _right("nothing stands before it"),
                    v.JudgementAnswer("unsure", "half of the step was done"),
                ),
            ),
            v.Judgement(
                "small-model",
                "model",
                "18 Nov",
                _right("", ".93"),
                (_wrong("", ".71"), _right("", ".88"), _right("", ".64")),
            ),
        ),
        adjudication=v.Judgement(
            "Dele",
            "adjudicator",
            "20 Nov, 09:00",
            v.JudgementAnswer(""),
            (_wrong(), v.JudgementAnswer(""), v.JudgementAnswer(""), _wrong("salt comes after the curd")),
        ),
        state="Held: a dispute",
        tone="error",
        facts=(
            v.Field("Recording", "17_40, up to 07:53"),
            v.Field("Stratum", "next step, with earlier mistakes"),
            v.Field("Candidate", "17_40_5_next-2"),
            v.Field("Guideline", "version 3"),
        ),
        history=(
            v.Event("18 Nov, 08:00", "Carla", "dealt it to Ana and Ben"),
            v.Event("19 Nov, 10:12", "Ana", "judged it"),
            v.Event("19 Nov, 15:40", "Ben", "judged it"),
            v.Event("20 Nov, 09:00", "Dele", "settled the open statements"),
        ),
        card=replace(WORK.card, graph=graph_view(), parts=MOMENT_PARTS),
        held="The adjudicator says: both readers accepted “Take a tomato”, but the tomato is on the table already.",
        returned=(v.Event("18 Nov", "Chioma", "The recording does not play."),),
        before="/items/a",
        after="/items/c",
    )


ROLES = (
    v.Choice("annotator", "annotator", True),
    v.Choice("adjudicator", "adjudicator"),
    v.Choice("coordinator", "coordinator"),
)


def _people() -> v.PeopleView:
    return v.PeopleView(
        (
            v.PersonRow(
                "p1",
                "Ana Ruiz",
                "ana",
                "ana@example.org",
                "annotator",
                ROLES,
                "",
                False,
                152,
                200,
                "today, 12:04",
                0.94,
            ),
            v.PersonRow(
                "p2", "Ben Okoro", "ben", "", "annotator", ROLES, "", False, 200, 200, "yesterday", 0.88
            ),
            v.PersonRow(
                "p3",
                "Chioma Eze",
                "chioma",
                "c.eze@example.org",
                "annotator",
                ROLES,
                "waits for you",
                True,
                0,
                0,
                "today",
                0.71,
            ),
            v.PersonRow(
                "p4", "Dele Adeyemi", "dele", "", "adjudicator", ROLES, "", False, 58, 89, "today", 0.97
            ),
            v.PersonRow(
                "p5",
                "Carla Voss",
                "carla",
                "",
                "coordinator",
                (),
                "",
                False,
                0,
                0,
                "now",
                None,
                "active",
                True,
            ),
            v.PersonRow(
                "p6", "Eun-ji Park", "eunji", "", "annotator", (), "", False, 81, 81, "", 0.9, "left"
            ),
        ),
        (v.PendingInvite("v1", "annotator", "fynn@example.org", "Carla Voss", "27 Nov"),),
        ROLES,
        "https://studio.example/invite/4y7mQ2V0z9c1kLr8sT3uWbXeYhNpA6dF",
        "a new annotator",
    )


def _deal(preview: bool) -> v.DealView:
    people = tuple(v.Choice(p, p, p != "Eun-ji") for p in ("Ana", "Ben", "Chioma", "Dele", "Eun-ji"))
    base = v.DealView(
        waiting=155,
        policies=(
            v.Choice("twice", "Everything twice", True, "the published protocol"),
            v.Choice(
                "doubt", "What machines doubt", False, "the oracle or the model is unsure, or they differ"
            ),
            v.Choice("audit", "A blind audit share", False, "one item in ten, and nobody is told which"),
        ),
        people=people,
        strata=(
            v.Choice("type", "question type", True),
            v.Choice("noisy", "earlier mistakes or none", True),
            v.Choice("activity", "activity"),
        ),
        constraints=(
            v.Choice("own", "recordings that the person appears in", True),
            v.Choice("language", "texts in a language that the person does not read"),
        ),
        capacity=0,
        seed=7,
    )
    if not preview:
        return base
    names = ("Ana", "Ben", "Chioma", "Dele")
    rows = tuple(
        v.DealRow(f"{a} and {b}", 26, (4, 3, 3, 4, 3, 3, 3, 3))
        for n, a in enumerate(names)
        for b in names[n + 1 :]
    )
    return replace(
        base,
        headers=("next", "missing", "order", "timing", "measure", "temperature", "technique", "preparation"),
        rows=rows,
        loads=tuple(v.Moved(n, 100 + k, 177 + k) for k, n in enumerate(names)),
        spread="Each pair gets 25 or 26 items, and within each type the pairs differ by one at most.",
        digest="ab12",
    )


def _doors() -> dict[str, tuple[str, v.Shell, object]]:
    """Pages whose views live beside their handlers."""
    from proctor.studio.pages.account import StartView
    from proctor.studio.pages.demo import Cast, DemoView

    cast = (
        Cast("ana", "Ana Ruiz", "Annotator", "has judged half of her items"),
        Cast("farid", "Farid Haddad", "Owner", "sees progress and agreement, invites people, deals items"),
    )
    return {
        "start": ("start", PUBLIC, StartView("/start/x", "Ana Ruiz", "13:04 today")),
        "demo": ("demo", PUBLIC, DemoView(cast)),
    }


def pages() -> dict[str, tuple[str, v.Shell, object]]:
    """Return ``name -> (template, shell, view)`` for every page and variant."""
    sessions = (
        v.SessionRow("s1", "Chromium on Linux", "today, 08:55", "", True),
        v.SessionRow("s2", "Safari on iPad", "12 Nov", "yesterday"),
    )
    keys = tuple(
        v.KeyBinding(name, label, key)
        for name, label, key in (
            ("submit", "Submit and next", "Ctrl+Enter"),
            ("yes", "Yes", "y"),
            ("no", "No", "n"),
            ("add", "Add own answer", "a"),
            ("graph", "Graph on the full screen", "g"),
            ("steps", "List of steps", "t"),
            ("cant", "Can't judge", "f"),
            ("undo", "Undo", "z"),
        )
    )
    found: dict[str, tuple[str, v.Shell, object]] = {
        "signin": ("signin", PUBLIC, v.SigninView()),
        "signin-error": (
            "signin",
            PUBLIC,
            v.SigninView("ana", "/", "Name and password do not fit together."),
        ),
        "invite": (
            "invite",
            PUBLIC,
            v.InviteView(
                "/invite/x",
                "Carla Voss",
                "annotator",
                "You watch short clips and judge questions about them.",
                "27 November",
                errors=(v.Field("handle", "This name is taken. Choose another."),),
            ),
        ),
        "setup": ("setup", PUBLIC, v.SetupView("/setup/x", "13:04 today")),
        "consent": (
            "consent",
            ANA,
            v.ConsentView(
                2,
                Markup(
                    "<p>You take part in a study of questions about procedures. Your judgements may be published under a random code.</p><ul><li>You can stop at any time.</li><li>Clips show people at work in kitchens.</li></ul>"
                ),
            ),
        ),
        "guideline": ("guideline", ANA, v.GuidelineView(3, "14 Nov 2026", GUIDELINE)),
        "guideline-changed": (
            "guideline",
            ANA,
            v.GuidelineView(3, "14 Nov 2026", GUIDELINE, changed=DIFF, previous=2),
        ),
        "home": (
            "home",
            replace(ANA, flash="Saved."),
            v.HomeView(
                "Ana",
                (
                    v.Task(
                        "judge",
                        "Judge questions and answers",
                        "Watch, judge the question, then its answers.",
                        "/next",
                        "Go on judging",
                        152,
                        200,
                        48,
                    ),
                    v.Task(
                        "adjudicate",
                        "Adjudicate",
                        "Decide what two readers saw differently. Who wrote what is hidden.",
                        "/next",
                        "Go on deciding",
                        12,
                        0,
                        31,
                    ),
                ),
                recent=ITEMS[:3],
                guideline_changed="/guideline",
            ),
        ),
        "home-empty": (
            "home",
            ANA,
            v.HomeView("Ana", finished="200 items in 6 h 52 min. That was the whole batch."),
        ),
        "home-gate": (
            "home",
            ANA,
            v.HomeView(
                "Ana",
                gate="Your training is done. A coordinator looks at it and lets you begin; this page then has a button “Begin judging”.",
            ),
        ),
        "home-owner": (
            "home",
            ANA,
            v.HomeView(
                "Ana",
                todo=(v.NextStep("/dashboard", "Follow the progress", "How far everybody is."),),
                steps=(
                    v.Step("Texts", "As Proctor brings them.", "done", "/guidelines", "Read the texts"),
                    v.Step("People", "Nobody else is here yet.", "next", "/people", "Invite people"),
                    v.Step("Deal", "248 of 248 items have not been dealt.", "later", "/deal", "Deal items"),
                ),
            ),
        ),
        "feedback": (
            "feedback",
            ANA,
            v.FeedbackView(
                "Cucumber Raita",
                3,
                20,
                (
                    v.FeedbackRow(
                        "Question",
                        "What should I do next?",
                        "right",
                        "right",
                        "It needs the recording, to know what was done, and the recipe, to know what follows.",
                    ),
                    v.FeedbackRow(
                        "Answer 1",
                        "You should add the chopped zucchini to the curd.",
                        "right",
                        "wrong",
                        "Only one half was chopped, so the step before is not finished.",
                    ),
                    v.FeedbackRow(
                        "Answer 2", "Take a tomato.", "right", "right", "Nothing stands before this step."
                    ),
                ),
                ("You could add the salt now.",),
                "You agree with the reference on 8 of 9 statements so far.",
                "/w/next",
                "Next training item",
                "/w/k3v9x2",
            ),
        ),
        "my": (
            "my",
            ANA,
            v.MyView(
                "ana",
                "Ana Ruiz",
                "auto",
                True,
                keys,
                (v.Choice("", "As the project has it", True), v.Choice("de", "Deutsch")),
                sessions,
                2,
                "3 Nov 2026",
                True,
                False,
            ),
        ),
        "dashboard": ("dashboard", CARLA, _dashboard()),
        "dashboard-empty": (
            "dashboard",
            CARLA,
            v.DashboardView(
                population="No item has been judged twice yet.",
                as_of="20 Nov 2026, 12:04",
                stages=(v.Stage("Judging", (), "nothing is dealt"),),
                todo=(),
            ),
        ),
        "disagreements": (
            "disagreements",
            CARLA,
            v.DisagreementsView(
                FILTERS, ITEMS, v.Page(1, 5, 31, "", "?page=2"), "31 of 345 items judged twice"
            ),
        ),
        "disagreements-empty": (
            "disagreements",
            CARLA,
            v.DisagreementsView(FILTERS, (), v.Page(0, 0, 0), "0 of 345 items judged twice"),
        ),
        "items": (
            "items",
            CARLA,
            v.ItemsView(FILTERS[:1], "zucchini", ITEMS, v.Page(26, 30, 500, "?page=1", "?page=3")),
        ),
        "item": ("item", CARLA, _item()),
        "people": ("people", CARLA, _people()),
        "people-leave": (
            "people_change",
            CARLA,
            v.PeopleChangeView(
                "leave",
                "Ana Ruiz",
                "/people/p1/leave",
                7,
                (
                    "48 open items move to others; 152 finished ones stay.",
                    "Pairs then differ by 3 items at most, loads by 6.",
                    "Ana is signed out everywhere; drafts are kept for you to see.",
                ),
                (
                    v.Moved("Ana Ruiz", 200, 152),
                    v.Moved("Ben Okoro", 200, 216),
                    v.Moved("Dele Adeyemi", 180, 212),
                ),
            ),
        ),
        "people-annul": (
            "people_change",
            CARLA,
            v.PeopleChangeView(
                "annul",
                "Ana Ruiz",
                "/people/p1/annul",
                7,
                (
                    "152 judgements become void. Their rows are kept.",
                    "152 places open again and go to other people.",
                ),
                (),
                "Agreement and accepted answers are computed anew. This cannot be undone.",
            ),
        ),
        "deal": ("deal", CARLA, _deal(False)),
        "deal-preview": ("deal", CARLA, _deal(True)),
        "training": (
            "training",
            CARLA,
            v.TrainingView(
                (
                    v.TrainingItem(
                        "t1",
                        "What should I do next?",
                        "Cucumber Raita",
                        "next step",
                        "right",
                        "It needs both sources.",
                        (
                            ("Take a tomato.", "right", "Nothing stands before it."),
                            ("Add the zucchini.", "wrong", ""),
                        ),
                        0.83,
                        6,
                    ),
                    v.TrainingItem(
                        "t2",
                        "What colour is the bowl?",
                        "Herb Omelet",
                        "next step",
                        "wrong",
                        "The recording alone is enough.",
                        (),
                        None,
                        0,
                    ),
                ),
                0.8,
            ),
        ),
        "guidelines": (
            "guidelines",
            CARLA,
            v.GuidelinesView(
                "guideline",
                (v.Choice("guideline", "Guideline", True), v.Choice("consent", "Consent")),
                "## A right answer\n\nIt is true at that moment.\n",
                3,
                (
                    v.DocumentVersion(3, "14 Nov 2026", "Carla Voss", "Nearly right is wrong.", True),
                    v.DocumentVersion(
                        2, "3 Nov 2026", "Carla Voss", "Examples added.", href="/guidelines?version=2"
                    ),
                ),
                DIFF,
                "",
                GUIDELINE,
                "4 of 5 people have read version 3",
            ),
        ),
        "exports": (
            "exports",
            CARLA,
            v.ExportsView(
                (
                    v.Choice(
                        "published",
                        "Published JSON",
                        True,
                        "accepted questions in the shape of the published benchmark",
                    ),
                    v.Choice(
                        "rows",
                        "Raw rows, JSONL",
                        False,
                        "every response that was ever submitted, one in each line",
                    ),
                    v.Choice(
                        "csv",
                        "Table, CSV",
                        False,
                        "for spreadsheets; cells that begin like a formula are marked",
                    ),
                ),
                (
                    v.ExportRow(
                        "20 Nov, 12:00",
                        "Carla Voss",
                        "Published JSON",
                        "1.2 MB",
                        "9f31c07ab2de4410",
                        "/exports/e1",
                    ),
                    v.ExportRow(
                        "3 Nov, 09:14",
                        "Carla Voss",
                        "Raw rows, JSONL",
                        "8.4 MB",
                        "77ab00912cde33f1",
                        "",
                        True,
                    ),
                ),
                "312 accepted questions with 861 answers are ready",
            ),
        ),
        "events": (
            "events",
            CARLA,
            v.EventsView(
                FILTERS[:1],
                (
                    v.Event("20 Nov, 12:04:11", "Ana Ruiz", "submitted an item", "/items/a", "a91f…07"),
                    v.Event("20 Nov, 12:00:02", "Carla Voss", "made an export", "/exports", "77c0…1b"),
                    v.Event("20 Nov, 11:58:40", "Ben Okoro", "signed in", "", "03de…f2"),
                ),
                v.Page(1, 3, 1842, "", "?page=2"),
                "The chain of 1,842 events holds from the first to the last.",
            ),
        ),
        "events-broken": (
            "events",
            CARLA,
            v.EventsView(
                (),
                (),
                v.Page(0, 0, 0),
                "The chain breaks at event 512: somebody changed the store by hand.",
                False,
            ),
        ),
        "message": (
            "message",
            ANA,
            v.MessageView(
                "You are signed out", "Everything that you submitted is kept.", "/signin", "Sign in again"
            ),
        ),
    }
    found |= _doors()
    for status, sentence, cause, action in ERRORS:
        found[f"error-{status}"] = (
            "error",
            ANA if status != 429 else PUBLIC,
            v.ErrorView(
                status,
                sentence,
                cause,
                action,
                errors=(v.Field("note", "at most 4,000 characters"),) if status == 422 else (),
            ),
        )
    for name, view in work_views().items():
        found[name] = ("work", ANA, view)
    for name, task in task_views().items():
        found[name] = ("task", ANA, task)
    return found


ERRORS = (
    (
        400,
        "This request makes no sense here.",
        "The address or the browser's headers are not those of this studio.",
        "Back to the work",
    ),
    (
        403,
        "This came from another site.",
        "A form may be sent only from the studio's own pages.",
        "Open the studio",
    ),
    (
        404,
        "There is nothing here.",
        "The address is wrong, or what it named is not yours to see.",
        "Back to the work",
    ),
    (
        409,
        "Somebody was faster.",
        "This was changed after you opened it. Both versions are kept.",
        "Look at it again",
    ),
    (413, "That is too much at once.", "A form may hold at most one megabyte.", "Go back"),
    (
        422,
        "Something is missing or does not fit.",
        "Nothing was saved from this form.",
        "Go back and mend it",
    ),
    (429, "Too many tries in a short time.", "Wait a minute; then it works again.", "Try again"),
    (
        500,
        "Something broke on our side.",
        "It is written down. What you had filled in is on this device.",
        "Try again",
    ),
)
