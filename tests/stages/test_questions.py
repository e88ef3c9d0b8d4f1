"""Questions of every kind in one workspace, and questions from elsewhere."""

from __future__ import annotations

import zipfile
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from proctor.errors import UserError
from proctor.exam.question import (
    Choice,
    Open,
    Order,
    Ordering,
    Pick,
    Picture,
    Proposed,
    Question,
    Text,
    Words,
    check_questions,
)
from proctor.records import Dropped, read_json, read_jsonl, write_jsonl
from proctor.stages.questions import IMPORTED, import_questions, workspace_questions
from proctor.stages.upgrade.upgrade import upgrade
from proctor.workspace import Workspace

STORED = Path(__file__).parents[1] / "golden" / "stored"


def stored(store: str, home: Path) -> Workspace:
    with zipfile.ZipFile(STORED / store / "workspace.zip") as archive:
        archive.extractall(
            home, [n for n in archive.namelist() if "/media/" not in n and "/videos/" not in n]
        )
    return Workspace(Path(upgrade(home / "bench", home / "today").output))


@pytest.mark.parametrize("store", ["moment", "clips", "documents"])
def test_every_file_with_questions_is_read(store: str, tmp_path: Path) -> None:
    workspace = stored(store, tmp_path)
    found = workspace_questions(workspace)
    check_questions(found)
    counts = Counter((q.kind, q.form.__class__.__name__) for q in found)
    lines = {
        name: len((workspace.root / name).read_text().splitlines())
        if (workspace.root / name).is_file()
        else 0
        for name in ("candidates.jsonl", "open.jsonl", "choices.jsonl", "documents.jsonl", "questions.jsonl")
    }
    assert counts["moment", "Open"] == lines["candidates.jsonl"]
    assert (counts["clip", "Open"], counts["clip", "Choice"]) == (lines["open.jsonl"], lines["choices.jsonl"])
    assert 0 <= lines["documents.jsonl"] + lines["questions.jsonl"] - counts["documents", "Open"] <= 2
    for question in found:
        if isinstance(question.form, Choice):
            assert question.id == f"{question.parent}.choice"
        else:
            assert not question.parent
        assert all(p.claim in ("right", "wrong") for p in question.proposals)
    sets = Counter(q.provenance.get("set", "") for q in found if q.kind == "documents")
    assert sets["styled"] == lines["documents.jsonl"]


def test_an_example_that_occurs_twice_is_told_wherever_it_stands(tmp_path: Path) -> None:
    workspace = stored("moment", tmp_path)
    path = workspace.file("examples.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines, b'{"id":"nobody asks"}\n', b'{"id":"nobody asks"}\n']))
    with pytest.raises(UserError, match=f"its id is that of record {len(lines) + 1}, too"):
        workspace_questions(workspace)


def question(id_: str, **other: object) -> Question:
    usual = {
        "kind": "documents", "text": "Why?", "form": Open(need="all"),
        "proposals": (Proposed(value=Text(text="Because.")),),
    }  # fmt: skip
    return Question(id=id_, **{**usual, **other})


def test_questions_from_elsewhere_come_in_and_what_cannot_be_asked_is_listed(tmp_path: Path) -> None:
    file, workspace = tmp_path / "theirs.jsonl", Workspace(tmp_path / "bench")
    good = question("good")
    wrong = (Proposed(value=Pick(option=7)),)
    write_jsonl(
        file,
        [
            good,
            good,
            question("mute", proposals=()),
            question("off", form=Choice(options=("a", "b")), proposals=wrong),
            question("void", kind="moment"),
            question("steps", kind="clip", facts={"steps": 3}),
            question(
                "letters",
                form=Choice(options=tuple(map(str, range(27)))),
                proposals=(Proposed(value=Pick(option=26)),),
            ),
        ],
    )
    done = import_questions(file, workspace.root)
    assert (done.questions, done.kinds) == (1, {"documents": 1})
    assert workspace_questions(workspace) == [good]
    dropped = {d.id: d.reason for d in read_jsonl(workspace.file("import.dropped.jsonl"), Dropped)}
    unfit = dict.fromkeys(("off", "void", "steps", "letters"), "unfit")
    assert dropped == {"good": "id", "mute": "no_answer", **unfit}
    counts = read_json(workspace.file("stages.json"), dict[str, msgspec.Raw])
    assert "import" in counts
    write_jsonl(file, [question("good", text="Why not?"), question("more")])
    import_questions(file, workspace.root)  # once more: they take the others' place
    assert [q.text for q in read_jsonl(workspace.file(IMPORTED), Question)] == ["Why not?", "Why?"]


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (question("x", kind="smell"), "no kind of questions 'smell'"),
        (
            question("x", text=" "),
            "not one of 1 questions can be asked, the first: the question is empty\\.(?!\\.)",
        ),
    ],
)
def test_a_file_without_a_question_that_can_be_asked_is_refused(
    tmp_path: Path, made: Question, why: str
) -> None:
    write_jsonl(tmp_path / "theirs.jsonl", [made])
    with pytest.raises(UserError, match=why):
        import_questions(tmp_path / "theirs.jsonl", tmp_path / "bench")
    assert not (tmp_path / "bench" / IMPORTED).exists()


def test_the_task_graph_verifies_moments_alone_and_a_source_question_needs_no_facets(tmp_path: Path) -> None:
    from proctor.exam.kinds.documents import KIND
    from proctor.exam.question import Gold, Item
    from proctor.stages.verify import verify

    write_jsonl(tmp_path / "theirs.jsonl", [question("good")])
    import_questions(tmp_path / "theirs.jsonl", tmp_path / "bench")
    with pytest.raises(UserError, match="not one of 1 questions is about a moment"):
        verify(tmp_path / "bench")
    slices = KIND.slices([Item(question=question("good"), golds=(Gold(value=Text(text="Because.")),))])
    assert slices["all"] == ("all", ["good"])
    assert slices["style=none"] == ("style", ["good"])


STEPS = (Words(id="b", text="Pour."), Picture(id="a", path="a.png"))


@pytest.mark.parametrize(
    ("ids", "proposed", "why"),
    [
        (("b", "a"), Ordering(ids=("a", "b"), before=(("a", "b"),)), ""),
        (("b",), Ordering(ids=("b",)), "1 things into order"),
        (("b", "a", "b"), Ordering(ids=("a", "b")), "3 things into order, 2 of them different"),
        (("b", "c"), Ordering(ids=("b", "c")), "shows 'c'"),
        (("b", "a"), Ordering(ids=("a",)), "does not hold each of its things once"),
        (("b", "a"), Ordering(ids=("a", "b"), before=(("b", "a"),)), "breaks its own 'b' before 'a'"),
        (("b", "a"), Ordering(ids=("a", "b"), before=(("b", "x"),)), "not among its things"),
        (("b", "a"), Text(text="a, b"), "an order is proposed that is none"),
    ],
)
def test_what_is_put_into_order_is_shown_once_and_so_is_every_proposed_order(
    ids: tuple[str, ...], proposed: Ordering | Text, why: str
) -> None:
    asked = Question(
        id="q", kind="order", text="In which order?", form=Order(ids=ids), evidence=STEPS,
        proposals=(Proposed(value=proposed),),
    )  # fmt: skip
    if not why:
        check_questions([asked])
        return
    with pytest.raises(UserError, match=why):
        check_questions([asked])


def test_an_id_that_is_the_number_of_another_place_would_mislead() -> None:
    shown = (Words(id="2", text="Pour."), Words(id="1", text="Boil."))
    asked = Question(id="q", kind="order", text="?", form=Order(ids=("2", "1")), evidence=shown)
    with pytest.raises(UserError, match="presented as number 1 has the id '2'"):
        check_questions([asked])
