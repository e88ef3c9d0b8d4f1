"""Questions of every kind at one desk: shown, judged by two, decided where they differ, and let into a benchmark."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from tests.exam.outside.test_pictures import installed  # noqa: F401 - a fixture

from proctor.corpus.source import image_source, table_source
from proctor.exam.card import GENERAL
from proctor.exam.question import (
    Choice,
    Footage,
    Open,
    Pick,
    Picture,
    Proposed,
    Question,
    Source,
    Text,
    gold_texts,
)
from proctor.media.paint import encode_png
from proctor.release.build import build_items
from proctor.verify.desk import documents
from proctor.verify.desk.items import load_sources, sync_items
from proctor.verify.store import latest_verdicts

OPTIONS = ("Stir it", "Pour it", "Leave it")
QUESTIONS = (
    Question(
        id="clip", kind="clip", text="What comes next?", form=Choice(options=OPTIONS), cluster="d/v",
        evidence=(Footage(recording="v", start=3.0, end=9.0),), facets={"category": "ordering"},
        facts={"steps": ["0.0 to 4.0 s: boil <b>water</b>"], "goal": "make tea"},
        proposals=tuple(Proposed(value=Pick(option=n), claim="right" if n == 1 else "wrong") for n in range(3)),
    ),
    Question(
        id="documents", kind="documents", text="How much flour?", form=Open(need="all"), facets={"style": "factual"},
        evidence=(Source(id="t1"),), proposals=(Proposed(value=Text(text="200 g", cites=("t1",))),),
    ),
    Question(
        id="picture", kind="picture", text="What colour is the wall?", form=Open(), cluster="red",
        evidence=(Picture(path="red.png", caption="A red wall."),),
        proposals=(Proposed(value=Text(text="Red.")), Proposed(value=Text(text="Green."))),
    ),
)  # fmt: skip
WALL = encode_png(np.full((24, 32, 3), (200, 30, 30), np.uint8))
TABLE = table_source("t1", "Amounts", ("what", "how much"), (("flour", "200 g <i>"),))


@pytest.fixture
def hall(office: Any, installed: Any) -> Any:  # noqa: F811
    office.studio.library.corpus = None
    office.do(sync_items, QUESTIONS, {}, sources=(TABLE,), actor="cli")
    texts = dict.fromkeys(("clip", "documents", "picture"), GENERAL.guideline)
    office.do(documents.ensure_defaults, texts)
    return office


def test_every_kind_is_shown_judged_decided_and_let_in(hall: Any, words: Any) -> None:
    from proctor.corpus.collection import Corpus
    from proctor.verify.desk import flow, people, roster, work
    from proctor.verify.desk.records import Sheet
    from proctor.verify.policy import POLICIES

    hall.studio.library.corpus = Corpus(hall.desk.read(load_sources).values())
    ana, ben, edda = hall.hire("ana"), hall.hire("ben"), hall.hire("edda", role="adjudicator")
    plan = hall.desk.read(lambda c: roster.plan_deal(hall.desk, c, [ana, ben], POLICIES[0]))
    hall.do(roster.apply_deal, plan, actor="cli")
    said = {
        "clip": (("right", "right", "right"), ("right", "right", "right")),
        "documents": (("right",), ("right",)),
        "picture": (("right", "wrong"), ("right", "right")),
    }
    protocol = hall.desk.read(documents.protocol)
    for n, person in enumerate((ana, ben)):
        while pid := hall.do(flow.next_work, person, protocol, "judge"):
            item = hall.desk.read(lambda c, p=pid, who=person: work.load_work(hall.desk, c, p, who)).item
            kind = item.question.kind
            first = hall.get(person, f"/w/{pid}")
            assert (
                first.headers["location"] == f"/guideline?kind={kind}"
            )  # each kind has a guideline of its own
            assert "judge questions that are to become an exam" in words(
                hall.get(person, f"/guideline?kind={kind}")
            )
            hall.do(people.guideline_ticked, person, 1, kind)
            person = hall.now(person)
            page = hall.get(person, f"/w/{pid}")
            assert page.status_code == 200
            shown = words(page)
            if kind == "clip":
                assert "boil &lt;b&gt;water" in page.text  # what is known of a clip is text
                assert shown.count("meant to be wrong") == 2
                assert "Your answers" not in shown  # nobody adds an option
            elif kind == "documents":
                assert "200 g &lt;i&gt;" in page.text
                assert "Amounts" in shown
            else:
                assert "A red wall." in shown
            assert GENERAL.criteria[0].text in shown
            sheet = Sheet(question="right", answers=said[kind][n])
            hall.do(work.submit, pid, person, sheet=sheet, rev=0, key=f"key-{pid}-{n}", protocol=protocol)
    states = {row.candidate_id: (row.state, row.agreement) for row in hall.rows("items")}
    assert states == {
        "clip": ("settled", "same"),
        "documents": ("settled", "same"),
        "picture": ("case", "answers"),
    }
    case = hall.do(flow.next_work, edda, protocol, "adjudicate")
    decided = Sheet(answers=("wrong",))
    hall.do(work.submit, case, edda, sheet=decided, rev=0, key="key-edda-1", protocol=protocol)
    items, dropped = build_items(QUESTIONS, hall.desk.read(latest_verdicts))
    assert dropped == []
    assert {item.id: gold_texts(item) if item.id != "clip" else item.golds[0].value for item in items} == {
        "clip": Pick(option=1), "documents": ("200 g",), "picture": ("Red.",)
    }  # fmt: skip
    assert [item.golds[0].approved_by for item in items] == ["annotator"] * 3


def test_pictures_are_shown_to_whom_they_are_given_and_nothing_else_is_sent(hall: Any) -> None:
    from proctor.corpus.collection import Corpus
    from proctor.verify.desk import flow, people, roster
    from proctor.verify.policy import POLICIES

    root = hall.studio.library.root = hall.studio.settings.folder / "bench"
    root.mkdir()
    (root / "corpus").mkdir()
    (root / "red.png").write_bytes(WALL)
    (root / "corpus" / "wall.png").write_bytes(WALL)
    (root / "evil.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
    (root.parent / "outside.png").write_bytes(WALL)
    parts = (
        Picture(path="red.png", caption="A <red> wall."), Picture(path="evil.svg"), Picture(path="../outside.png"),
        Picture(path=str(root / "red.png")), Picture(path="gone.png"), Source(id="i1"), Source(id="t1"),
    )  # fmt: skip
    question = msgspec.structs.replace(QUESTIONS[2], evidence=parts)
    hall.studio.library.corpus = Corpus((TABLE, image_source("i1", "A wall.", "wall.png")), root / "corpus")
    hall.do(sync_items, (question,), {}, actor="cli")
    ana, ben, carla = hall.hire("ana"), hall.hire("ben"), hall.hire("carla", role="coordinator")
    for person in (ana, ben):
        hall.do(people.guideline_ticked, person, 1, "picture")
    plan = hall.desk.read(lambda c: roster.plan_deal(hall.desk, c, [ana, ben], POLICIES[0]))
    hall.do(roster.apply_deal, plan, actor="cli")
    pid = hall.do(flow.next_work, ana, hall.desk.read(documents.protocol), "judge")
    page = hall.get(ana, f"/w/{pid}").text
    shown = [n for n in range(len(parts)) if f'src="/w/{pid}/picture?part={n}"' in page]
    assert shown == [0, 1, 5]
    assert "A &lt;red&gt; wall." in page
    assert "leads out of the folder" in page
    for who, place in ((ana, f"/w/{pid}"), (carla, f"/items/{hall.item('picture').pid}")):
        for part in ("0", "5"):
            sent = hall.get(who, f"{place}/picture", part=part)
            assert (sent.status_code, sent.content) == (200, WALL)
            assert sent.headers["content-type"] == "image/png"
            assert sent.headers["x-content-type-options"] == "nosniff"
        for part in ("1", "2", "3", "4", "6", "7", "-1", "x", "../red.png", ""):
            sent = hall.get(who, f"{place}/picture", part=part)
            assert sent.status_code == 404, part
            assert b"svg" not in sent.content
            assert str(root).encode() not in sent.content
    assert (
        hall.get(ben, f"/w/{pid}/picture", part="0").status_code == 404
    )  # it is hers, and his has another address
    assert hall.get(ana, f"/items/{hall.item('picture').pid}/picture", part="0").status_code == 404


def test_an_option_that_is_not_upheld_keeps_the_question_out(hall: Any) -> None:
    from proctor.verify.verdict import AnswerVerdict, Verdict

    question = QUESTIONS[0]

    def says(*values: Any) -> Verdict:
        return Verdict(
            candidate_id="clip", annotator="ana", annotator_kind="human", at="2026-01-01T00:00:00Z",
            question=AnswerVerdict("right"), answers=tuple(map(AnswerVerdict, values)),
        )  # fmt: skip

    assert build_items([question], [says("right", "right", "wrong")])[1][0].reason == "answer-not-accepted"
    (item,), _ = build_items([question], [says("right", "right", "right")])
    assert [gold.value for gold in item.golds] == [Pick(option=1)]
