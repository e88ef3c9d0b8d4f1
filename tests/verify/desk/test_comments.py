"""Questions to the coordinators on both databases: who sees which thread, what opens and closes it, and what is kept."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest
from tests.studio import roundwork

from proctor.verify.desk import browse, comments, people, rounds, work
from proctor.verify.desk.browse import Narrow
from proctor.verify.desk.events import check_chain
from proctor.verify.desk.records import GoneError, InvalidError
from proctor.verify.desk.withdrawal import withdraw_consent


class Talk:
    """An item with two annotators and an adjudicator, coordinators, and an owner."""

    def __init__(self, bench: Any, a_pair: Any) -> None:
        self.bench = bench
        bench.sync(a_pair("c1", "Stir.", "Pour."))
        self.ana, self.ben = bench.hire("ana", "ben")
        (self.edda,) = bench.hire("edda", role="adjudicator")
        self.cora, self.cleo = bench.hire("cora", "cleo", role="coordinator")
        (self.olga,) = bench.hire("olga", role="owner")
        self.anas, _ = bench.give("c1", self.ana, self.ben)
        self.about = bench.desk.read(lambda c: comments.find_about(c, bench.item("c1").pid))

    def ask(self, person: Any, text: str) -> Any:
        return self.bench.do(comments.ask, self.about, person, text)

    def reply(self, person: Any, text: str, **more: Any) -> None:
        self.bench.do(comments.reply, self.about, person, text, **more)

    def own(self, person: Any) -> list[str]:
        return [c.text for c in self.read(comments.own_thread, self.about, person).comments]

    def read(self, function: Any, *args: Any, **more: Any) -> Any:
        return self.bench.desk.read(lambda c: function(c, *args, **more))

    def seen(self, person: Any) -> dict[str, tuple[str, ...]]:
        threads = self.read(comments.all_threads, self.about, person)
        return {t.name: tuple(c.text for c in t.comments) for t in threads}


@pytest.fixture
def talk(bench: Any, a_pair: Any) -> Talk:
    return Talk(bench, a_pair)


def test_each_sees_their_own_thread_and_coordinators_all(talk: Talk) -> None:
    for person in (talk.ana, talk.ben, talk.edda):
        talk.ask(person, f"{person.name} asks")
        talk.reply(talk.cora, f"To {person.name}", to=person.pid)
    talk.reply(talk.cora, "Ana is wrong here")
    for person in (talk.ana, talk.ben, talk.edda):
        assert talk.own(person) == [f"{person.name} asks", f"To {person.name}"]
        for to in (talk.ben.pid, ""):
            with pytest.raises(GoneError):
                talk.reply(person, "I answer", to=to)
        with pytest.raises(GoneError):
            talk.seen(person)
    everything = {n: (f"{n} asks", f"To {n}") for n in ("Ana", "Ben", "Edda")} | {"": ("Ana is wrong here",)}
    for person in (talk.cora, talk.cleo, talk.olga):
        assert talk.own(person) == []  # nobody began one as somebody who judges
        assert talk.seen(person) == everything
    # A note stays the coordinators', whatever becomes of who wrote it.
    talk.bench.do(people.set_role, talk.cora, "annotator", actor=talk.olga.pid)
    cora = talk.bench.see(people.by_id, talk.cora.id)
    assert talk.own(cora) == []
    with pytest.raises(GoneError):
        talk.seen(cora)


def test_a_question_waits_until_it_is_answered_and_a_new_one_opens_it_again(talk: Talk) -> None:
    def waits() -> list[tuple[str, str]]:
        assert talk.read(comments.count_open) == len(talk.read(comments.open_threads))
        return [(w.who, w.text) for w in talk.read(comments.open_threads)]

    item = talk.bench.item("c1")
    talk.reply(talk.cora, "a note waits for nobody")
    assert waits() == []
    talk.ask(talk.ana, "Is the lid part of it?")
    talk.ask(talk.ben, "What is a ladle?")
    assert waits() == [("Ana", "Is the lid part of it?"), ("Ben", "What is a ladle?")]
    assert talk.read(comments.open_by_item, [item.id, 99]) == {item.id: 2}
    for narrow in (Narrow(asked=True), Narrow(asked=True, state="judging", stratum="next")):
        assert [one.pid for one in talk.read(browse.page_items, narrow, ["next"])] == [item.pid]
        assert talk.read(browse.count_items_up_to, narrow, ["next"]) == 1
    talk.reply(talk.cora, "Let me ask", to=talk.ana.pid)  # not the answer yet
    assert [who for who, _ in waits()] == ["Ben", "Ana"]
    talk.reply(talk.cleo, "It is.", to=talk.ana.pid, close=True)
    talk.reply(talk.cleo, "", to=talk.ben.pid, close=True)
    assert (waits(), talk.own(talk.ben)) == ([], ["What is a ladle?"])
    talk.reply(talk.cora, "And the ladle, too.", to=talk.ana.pid)  # a word more opens nothing
    assert waits() == []
    (answer,) = talk.bench.see(comments.answers_for, talk.ana)
    assert answer[:2] == (talk.anas, "Is the lid part of it?")
    assert talk.bench.see(comments.answers_for, talk.ben) == []  # closed without a word
    talk.ask(talk.ana, "And the spoon?")
    assert waits() == [("Ana", "And the spoon?")]
    assert talk.bench.see(comments.answers_for, talk.ana) == []
    kinds = Counter(e.kind for e in talk.bench.rows("events"))
    assert (kinds["comment.closed"], kinds["comment.added"]) == (1, 7)
    assert talk.read(check_chain).broken is None


def test_nothing_is_edited_and_limits_hold(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    talk.ask(talk.ana, "  one\r\ntwo ")
    talk.ask(talk.ana, "one\ntwo")  # the same, sent again
    assert talk.own(talk.ana) == ["one\ntwo"]
    for text in ("", " \n", "x" * 4_001, "a\x00b"):
        with pytest.raises(InvalidError):
            talk.ask(talk.ana, text)
    monkeypatch.setattr(comments, "MAX_COMMENTS", 2)
    talk.ask(talk.ana, "x" * 4_000)
    with pytest.raises(InvalidError, match="at most 2"):
        talk.ask(talk.ana, "three")
    with pytest.raises(GoneError):
        talk.reply(talk.cora, "nobody asked", to=talk.ben.pid)
    assert len(talk.bench.rows("comments")) == 2


def test_withdrawal_empties_texts_and_ends_the_waiting(talk: Talk) -> None:
    talk.ask(talk.ana, "My name is Ana, is that right?")
    talk.reply(talk.cora, "Yes", to=talk.ana.pid, close=False)
    talk.ask(talk.ben, "Mine stays")
    talk.bench.do(withdraw_consent, talk.ana, actor=talk.ana.pid)
    assert [w.text for w in talk.read(comments.open_threads)] == ["Mine stays"]
    assert talk.seen(talk.olga)[people.WITHDRAWN_NAME] == ("", "Yes")


def test_tasks_of_rounds_have_threads_of_their_own(talk: Talk) -> None:
    desk = talk.bench.desk
    first, other = (
        roundwork.begin(desk, "mark", roundwork.make_tasks("mark", 1, prefix=n), name=n, wanted=2)
        for n in ("r1", "r2")
    )
    batch = talk.bench.do(rounds.open_batch, first, talk.ana)
    pid = talk.read(rounds.count_batch, batch).following
    about = talk.read(comments.about_assignment, talk.read(work.own_assignment, pid, talk.ana))
    talk.bench.do(comments.ask, about, talk.ana, "about the task")
    talk.ask(talk.ana, "about the item")
    assert talk.own(talk.ana) == ["about the item"]
    assert talk.read(comments.own_thread, about, talk.ana).comments[0].text == "about the task"
    assert talk.read(comments.own_thread, about, talk.ben).comments == ()
    waiting = talk.read(comments.open_threads, round_id=first.id)
    assert [(w.name, w.round, w.text) for w in waiting] == [("r10", first.pid, "about the task")]
    assert talk.read(comments.open_threads, round_id=other.id) == []
    # After the work was submitted one may still ask.
    raw = msgspec.Raw(msgspec.json.encode(roundwork.sheet_of("mark", "")))
    talk.bench.do(work.submit, pid, talk.ana, sheet=raw, rev=0, key="key-12345", active_ms=1)
    talk.bench.do(comments.reply, about, talk.cora, "so", to=talk.ana.pid, close=True)
    assert talk.read(comments.count_open) == 1
    talk.bench.do(comments.ask, about, talk.ana, "after it")
    assert talk.read(comments.find_about, about.pid)[3:] == ("r10", first.pid)
    assert talk.read(comments.count_open) == 2
