"""A project of verification in the middle of its work, for ``tests.golden.store``: everybody in it is made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from proctor.generate.candidate import Candidate
from proctor.generate.instructional.record import FilterVerdict
from proctor.records import content_hash, read_jsonl, write_json, write_jsonl
from proctor.stages.studio import open_desk, sync_desk
from proctor.stages.studio_demo import _digest, _Weeks
from proctor.verify.desk import documents, flow, items, people, training, work
from proctor.verify.desk.records import Sheet
from proctor.verify.filter_verdict import filter_verdicts
from proctor.verify.store import VerdictStore


def weeks(bench: Path) -> None:
    """Three weeks of work by four annotators, newcomers who pass and fail, an adjudicator; then everything that goes on."""
    with open_desk(bench, seed=0, key=_digest(0, "key")) as desk:
        sync_desk(bench, desk)
        play = _Weeks(desk, 0, lambda: None)
        play.play()
        farid = play.people["farid"].pid
        automatic = documents.Protocol(training_required=True, gate="automatic", pass_at=0.8)
        play.write(lambda c: documents.set_protocol(desk, c, automatic, actor=farid))
        for handle, name, careful in (("gus", "Gus Moreau", True), ("hana", "Hana Sato", False)):
            newcomer(play, handle, name, careful=careful)
        guideline = desk.read(lambda c: documents.latest(c, "guideline"))
        assert guideline is not None
        body = guideline.body + "\n\nSay why, if you are not sure.\n"
        play.write(
            lambda c: documents.add(
                desk, c, "guideline", body, actor=farid, base=guideline.version, note="say why"
            )
        )
        protocol = desk.read(documents.protocol)
        for handle in ("ana", "ben"):  # a page that somebody left open, half filled in
            person = desk.read(lambda c, h=handle: people.by_handle(desk, c, h))
            pid = play.write(lambda c, p=person: flow.next_work(desk, c, p, protocol, "judge"))
            if pid is not None:
                sheet = Sheet(question="right", note="I have to look at this again.")
                play.write(lambda c, p=person, w=pid, s=sheet: work.save_draft(desk, c, w, p, sheet=s, client_id="tab", seq=1, base=0, active_ms=900))  # fmt: skip


def newcomer(play: Any, handle: str, name: str, *, careful: bool) -> None:
    """Somebody new does all of the training: as the reference says, or always the same."""
    desk, protocol = play.desk, play.desk.read(documents.protocol)
    person = play.write(lambda c: people.add(desk, c, handle=handle, name=name, role="annotator", actor=people.COMMAND_LINE, gate="training"))  # fmt: skip
    for kind, sign in (("consent", people.consent_given), ("guideline", people.guideline_ticked)):
        document = desk.read(lambda c, k=kind: documents.latest(c, k))
        play.write(lambda c, s=sign, d=document: s(desk, c, person, d.version))
    person = desk.read(lambda c: people.by_pid(desk, c, person.pid))
    lessons = {lesson.item.candidate.id: lesson.reference for lesson in desk.read(training.list_training)}
    for number in range(len(lessons)):
        pid = play.write(lambda c: flow.next_work(desk, c, person, protocol, "training"))
        item = desk.read(lambda c, w=pid: work.load_work(desk, c, w, person)).item
        right = lessons[item.candidate.id].sheet
        sheet = (
            right if careful else Sheet(question="right", answers=("wrong",) * len(item.candidate.answers))
        )
        play.write(lambda c, w=pid, s=sheet, n=number: work.submit(desk, c, w, person, sheet=s, rev=0, key=f"{handle}-{n}", protocol=protocol))  # fmt: skip
    play.write(lambda c: training.open_gate(desk, c, people.by_pid(desk, c, person.pid), protocol))


def machines(bench: Path) -> None:
    """Filters' verdicts beside everybody's."""
    by_id = {c.id: c for c in read_jsonl(bench / "candidates.jsonl", Candidate)}
    found = read_jsonl(bench / "filters.jsonl", FilterVerdict)
    with VerdictStore.open(bench / "verification.sqlite") as store:
        store.append_many(filter_verdicts(found, by_id, at="2026-11-20T12:00:00+00:00"))


def changes(bench: Path) -> None:
    """Candidates that change after people judged them: one that the studio has seen since, two that it has not, one gone."""
    path = bench / "candidates.jsonl"
    listed: list[items.Listed] = []

    def pick(state: str) -> str:
        with open_desk(bench) as desk:
            listed[:] = desk.read(lambda c: items.list_items(c, limit=1_000))
        return next(one.candidate_id for one in listed if one.state == state)

    def edit(names: tuple[str, ...], gone: tuple[str, ...] = ()) -> None:
        from msgspec.structs import replace

        found = [c for c in read_jsonl(path, Candidate) if c.id not in gone]
        write_jsonl(path, [replace(c, question=f"So far, {c.question[:1].lower()}{c.question[1:]}") if c.id in names else c for c in found])  # fmt: skip

    seen = pick("settled")
    edit((seen,))
    with open_desk(bench) as desk:
        sync_desk(bench, desk)
    changed, gone = (pick("settled"), pick("case")), pick("undealt")
    edit(changed, (gone,))
    write_json(bench / "known.json", {"seen": seen, "changed": changed, "gone": gone})


def hashes(bench: Path) -> dict[str, Any]:
    """Return the content hash of each candidate, and the hash that each annotator's verdict on it hangs on."""
    known = {c.id: content_hash(c) for c in read_jsonl(bench / "candidates.jsonl", Candidate)}
    with VerdictStore.open(bench / "verification.sqlite", create=False) as store:
        history = [stored.verdict for stored in store.history()]
    found: dict[str, Any] = {name: {"now": value, "verdicts": {}} for name, value in known.items()}
    for v in history:
        place = found.setdefault(v.candidate_id, {"now": None, "verdicts": {}})["verdicts"]
        place[f"{v.annotator} ({v.role}) {v.at}"] = v.candidate_hash
    return found
