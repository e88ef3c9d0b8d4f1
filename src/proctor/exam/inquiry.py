"""What a question asks for: which steps it names, in which role, and what sort of answer it wants.

A reader of short English questions in general form. Steps are found by any grammatical form of their text; what is
left of the question then shows its structure ("After A, can I B?", "Did I leave out A or B?"). Nothing here knows
who wrote the question, its type or its answers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from proctor.exam.reading import (
    FAMILY,
    Vocabulary,
    asks_for_amount,
    asks_for_count,
    is_yes_no,
    plain_text,
    read_question,
    stem,
)
from proctor.procedure.graph import TaskGraph
from proctor.procedure.inflect import word_list
from proctor.procedure.phrase import parse_phrase

__all__ = ["Inquiry", "Wish", "read_inquiry"]

Wish = Literal[
    "count", "figure", "remedy", "more", "less", "whole", "order-free", "without", "instruction", "plain"
]
"""``count``: how many steps. ``figure``: how much, how long. ``remedy``: what to do about it. ``more``, ``less``: was it
too much, too little (or too early: less). ``whole``: is everything done. ``order-free``: does the order of two steps
matter. ``without``: may a step be left out. ``instruction``: how it should have been. ``plain``: anything else."""


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question, read.

    Attributes:
        wish: what sort of answer is wanted.
        yes_no: a yes or no can answer it.
        choice: it offers several steps ("A or B").
        asked: ids of the steps it asks about; steps with the same text come together.
        before: ids of the step that something is to come before ("... before stirring").
        back: it looks back at what should have been done.
        precedes: it asks what had to come before the step just done.
        follows: it asks before what the step just done had to come.
        verbs: stems of actions that it narrows the answer to ("anything to add").
        things: stems of things that it narrows the answer to ("with the bracket").
    """

    wish: Wish
    yes_no: bool
    choice: bool
    asked: tuple[str, ...]
    before: tuple[str, ...]
    back: bool
    precedes: bool
    follows: bool
    verbs: frozenset[str]
    things: frozenset[str]


# -- steps in the question -------------------------------------------------------------------------------------

_BRACKETS = re.compile(r"[<>]")
_MARK = re.compile(r"<(\d+)>")
_DONE_BEFORE_IT = re.compile(
    r"(?:\bafter|\b(?:i|we) just|\bnow that (?:i|we)(?:'ve| have)|\bonce (?:i|we)(?:'ve| have)|\b(?:finished|through|done) with"
    r"|\b(?:when|while)(?: (?:i|we))?(?: (?:was|were))?|^(?:i|we)(?:'ve| have)|[.!?:,] (?:i|we)'ve) $"
)
_REFERENCE = re.compile(r"\b(?:before(?: (?:i|we))?|precede|ahead of|prior to) $")


@lru_cache(maxsize=256)
def _forms(graph: TaskGraph) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """All forms of all steps, long ones first, with the steps that have them."""
    found: dict[str, list[str]] = {}
    for step in graph.actions:
        p = parse_phrase(step.text)
        whole = (p.imperative, p.gerund, p.past, p.participle)
        brief = (p.brief, p.brief_gerund, p.brief_past, p.brief_participle)
        for form in {plain_text(f).strip() for f in (*whole, *brief)}:
            if form:
                found.setdefault(form, []).append(step.id)
    return tuple(sorted(((f, tuple(ids)) for f, ids in found.items()), key=lambda x: (-len(x[0]), x[0])))


def _mark_steps(plain: str, graph: TaskGraph) -> tuple[str, list[tuple[str, ...]]]:
    """Put a mark in place of each step text."""
    marked, steps = plain, list[tuple[str, ...]]()
    for form, ids in _forms(graph):
        if form in marked:
            # A single word ("stirring") means the step only where the question refers to it as one.
            lead = (
                "" if " " in form else r"\b(?:before|after|precede|ahead of|of|for|to|when|while|was|were) "
            )
            mark = f"<{len(steps)}>"
            pattern = rf"({lead})(?<![\w<]){re.escape(form)}(?![\w>])"
            marked = re.sub(pattern, rf"\g<1>{mark}", marked)
            steps.append(ids)
    return marked, steps


# -- structure -------------------------------------------------------------------------------------------------

_REMEDY = re.compile(
    r"\bwhat (?:do|can|should|could|must) (?:i|we) (?:do (?:now|about)|change about)|\bhow (?:do|can|could|should|would) (?:i|we)"
    r" (?:\w+ ){0,2}?(?:fix|correct|make up|put|recover|get back|repair|mend|rescue|save|undo)\b|\bbest way to (?:get|recover|fix|mend)"
)
_MORE = re.compile(
    r"\btoo (?:much|many|large|big|long|hot|high|fast|late)\b|\b(?:more|longer|later|higher|hotter) than\b|\b(?:go|went|gone|run) (?:over|past|beyond)\b"
    r"|\bstopped (?:\w+ )?(?:sooner|earlier)\b|\bless (?:heat|time|of)\b|\boverdue\b|\blate\b|\b(?:done|come) (?:\w+ ){0,3}?(?:sooner|earlier)\b|\bfurther up\b"
)
_LESS = re.compile(
    r"\btoo (?:little|few|small|short|low|cold|slow|soon|early)\b|\b(?:less|fewer|shorter|lower|sooner|earlier) than\b|\b(?:stay|stayed|kept|keep|fall|fell) (?:below|under|short)\b"
    r"|\b(?:not|n't) (?:\w+ )?enough\b|\bmore (?:heat|time|of)\b|\bfor longer\b|\bpremature\b|\bahead of (?:my|our)sel\w+|\bwaited\b|\bheld off\b|\bfurther down\b"
)
_WHOLE = re.compile(
    r"\b(?:everything|complete|finished|done|all (?:the |my |our )?(?:\w+ )?steps|the end of|stop here|call it|last (?:thing|step|one)|whole thing)\b"
)
_LEFT = re.compile(r"\b(?:left|else|more|remaining|another|still (?:open|have|need|something))\b")
_ORDER_FREE = re.compile(
    r"\bmatter\b|\bfixed order\b|\b(?:have|has|must|need|needs) (?:\S+ ){0,3}?come (?:first|before)|\b(?:have|need) to <\d+> before (?:i|we) <"
)
_WITHOUT = re.compile(
    r"\bwithout\b|\b(?:leave|leaving|skip|skipping) (?:out )?<|\b(?:haven't|didn't|did not|have not) <|\balthough\b"
)
_PERMITS = re.compile(r"\b(?:can|could|may|might)\b|\bis it (?:okay|ok|fine|all right|alright|possible)\b")
_INSTRUCTION = re.compile(
    r"\b(?:should|supposed|meant|proper|right way|instructions? (?:ask|call|give|say|tell)|correct (?:way|thing)|instead|would (?:have been|be) (?:the )?(?:right|correct))\b"
)
_DIFFERENTLY = re.compile(r"\b(?:attention|different(?:ly)?|wrong|off|careful)\b")
_BACK = re.compile(
    r"\b(?:forg[eo]t\w*|miss\w*|skip\w*|overlook\w*|neglect\w*|(?:left?|leave|leaving) (?:\S+ ){0,2}?out|slip\w*|jump\w* over|(?:should|ought) (?:\S+ ){0,2}?have|already|by now"
    r"|before (?:now|this|getting)|so far|go back|fail\w* to|(?:was|were) (?:i|we) supposed|did (?:i|we) have to|necessary to)\b"
)
_PRECEDES = re.compile(
    r"\bbefore (?:<|this|that|the step|doing|i|we)|\bprecede|\bahead of\b|\bwait(?:ed)? for\b|\b(?:had to|should have|have to) come before\b|\bdepends? on"
)
_FOLLOWS = re.compile(
    r"\bbefore which\b|\bshould (?:this|the) (?:\w+ )?have come before|\bhave waited\b(?! with)|\btoo soon,? before|\bone have come before|\bcome before\?"
)
_WH = re.compile(r"\b(?:what|which|who|where|why|when|how)\b")
_CLAUSE_START = re.compile(
    r"(?:^|[,:;] |\b(?:so|and|but|tell me|tell us) )(?=(?:what|which|where|why|when|how|with what|before which|for how|in what|is|are|was|were|am|do|does|did|have|has|had|should|shall"
    r"|can|could|will|would|must|may|might|ought|i'd|we'd|i'm about|we're about)\b)"
)


def _main_part(marked: str) -> str:
    """Cut prefaces off: the sentences that ask, and those that tell a plan, from their first clause that does."""
    kept = []
    for sentence in re.split(r"(?<=[.!?])\s+", marked):
        asks = sentence.endswith("?")
        plans = "<" in sentence and re.search(
            r"\b(?:about to|'d like to|could|didn't|haven't|not sure|want to|one of)\b", sentence
        )
        if asks or plans:
            kept.append(sentence)
    return " ".join(kept) or marked


@lru_cache(maxsize=20_000)
def read_inquiry(question: str, graph: TaskGraph) -> Inquiry:
    """Read a question about an activity; any text is fine."""
    plain = " ".join(_BRACKETS.sub(" ", plain_text(question)).split())
    marked, steps = _mark_steps(plain, graph)
    main = _main_part(marked)
    asked, before = _roles(main, steps)
    clause = _CLAUSE_START.search(main)
    narrow = main[clause.end() :] if clause else main  # without a preface
    if not asked and not before:
        asked = _recognise(narrow, graph)
    yes_no = is_yes_no(main)
    choice = bool(
        re.search(r"<\d+>(?:,)?(?: now)?,? or (?:to |do i |do we |is it |whether to )?<", main)
    ) or bool(re.search(r"one of these.{0,400}?<\d+>.{0,400}?<\d+>", main))
    wish = _wish(narrow, marked, asked, before, yes_no=yes_no)
    verbs, things = _narrowed(narrow, graph)
    return Inquiry(
        wish=wish,
        yes_no=yes_no and not (choice and wish != "order-free"),
        choice=choice and wish != "order-free",
        asked=asked,
        before=before,
        back=bool(_BACK.search(main)),
        precedes=bool(_PRECEDES.search(main)),
        follows=bool(_FOLLOWS.search(main)),
        verbs=verbs,
        things=things,
    )


def _roles(main: str, steps: list[tuple[str, ...]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    asked, before = list[str](), list[str]()
    for match in _MARK.finditer(main):
        ids = steps[int(match[1])]
        lead = main[: match.start()][-40:]
        if _DONE_BEFORE_IT.search(lead):
            continue
        refers = _REFERENCE.search(lead) or main.startswith(" depends", match.end())
        (before if refers else asked).extend(ids)
    return tuple(dict.fromkeys(asked)), tuple(i for i in dict.fromkeys(before) if i not in asked)


_SUBORDINATE = re.compile(r"\b(?:after|before|while|when|now that|once|since|because)\b[^,?.!]*")


def _recognise(plain: str, graph: TaskGraph) -> tuple[str, ...]:
    """The one step that a question in other words speaks of, with its verb; empty when none or several fit."""
    content = read_question(_SUBORDINATE.sub(" ", plain))
    found = Vocabulary.of(graph).recognise(content, 0.75)
    acts = [i for i in found if stem(parse_phrase(graph[i].text).verb) in content]
    return tuple(acts) if len(acts) == 1 else ()


def _wish(main: str, marked: str, asked: tuple[str, ...], before: tuple[str, ...], *, yes_no: bool) -> Wish:
    wh = bool(_WH.search(main)) and not yes_no
    if asks_for_count(main):
        return "count"
    if not yes_no and _REMEDY.search(marked):
        return "remedy"
    if len({*asked, *before}) > 1 and _ORDER_FREE.search(marked):
        return "order-free"
    if asked and _PERMITS.search(main) and _WITHOUT.search(marked):
        return "without"
    if wh and asks_for_amount(main):
        return "figure"
    if wh and _INSTRUCTION.search(main) and not _DIFFERENTLY.search(main):
        return "instruction"
    if yes_no and _MORE.search(main):
        return "more"
    if yes_no and _LESS.search(main):
        return "less"
    if yes_no and _WHOLE.search(main) and not _LEFT.search(main):
        return "whole"
    return "plain"


_GENERAL = frozenset(
    stem(w)
    for w in word_list(
        "do make need step thing part time anything something way order right case point moment move further "
        "leave skip forget miss precede"
    )
)


def _narrowed(narrow: str, graph: TaskGraph) -> tuple[frozenset[str], frozenset[str]]:
    """Actions and things that the question itself names, outside of the steps in it."""
    rest = _MARK.sub(" ", _SUBORDINATE.sub(" ", narrow))
    known = Vocabulary.of(graph)
    content = read_question(rest) - _GENERAL
    verbs = frozenset(w for w in content if w in FAMILY)
    return verbs, frozenset(w for w in content - verbs if known.knows(w))
