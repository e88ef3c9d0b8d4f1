"""Named faults of the engine: a mistake in words, the text that makes it, and the tests that must notice.

``scripts/engine-faults`` puts each into a copy of the checkout and runs its tests. A fault belongs here if it would make a
published number, a verdict or a bill wrong without an error. The text that is replaced stands exactly once in its file.
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["FAULTS", "Fault"]


class Fault(NamedTuple):
    """One mistake.

    Attributes:
        name: in words.
        file: below ``src/proctor``.
        old: the text of today; once in the file.
        new: what stands in its place.
        tests: files below ``tests``, of which one must fail.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


_SYSTEMS: Final = ("exam/test_model_systems.py",)
_SCORES: Final = ("exam/test_scores.py", "exam/test_open_scores.py")
_LETTERS: Final = ("exam/test_choice_scores.py",)
_CASES: Final = ("verify/test_adjudicate.py",)
_BUILD: Final = ("release/test_build.py",)
_RUNS: Final = ("stages/test_runs.py",)

FAULTS: Final = (
    # -- who answers -----------------------------------------------------------------------------------------
    Fault(
        "equal calls are paid twice",
        "llm/converse.py",
        "            if not there:\n",
        "            if there is not None:\n",
        ("llm/test_converse.py",),
    ),
    Fault(
        "a caption that two questions share is asked for twice",
        "exam/predictor.py",
        "ask, known={}",
        "ask, known=None",
        _SYSTEMS,
    ),
    Fault(
        "a shared caption is counted as a call of every question that shows it",
        "exam/predictor.py",
        "in told if not call.shared]",
        "in told]",
        _SYSTEMS,
    ),
    Fault(
        "a dry run forgets the answers that come after captions",
        "exam/predictor.py",
        'self._assumed.get(r.key, "")',
        '""',
        _SYSTEMS,
    ),
    Fault(
        "what was answered is lost when the run is interrupted",
        "exam/predictor.py",
        "interrupted([done[asked.name] for asked in run.asked if asked.name in done])",
        "interrupted([])",
        ("exam/kinds/test_clip.py",),
    ),
    Fault(
        "what is too large is sent all the same",
        "exam/predictor.py",
        "self._excess(calls, asked, exhibit) if exhibit.media else None",
        "None",
        ("exam/kinds/test_clip.py",),
    ),
    Fault(
        "two questions with one id are answered as one",
        "exam/predictor.py",
        "if len({asked.name for asked in self.asked}) < len(self.asked):",
        "if not self.asked and items:",
        _SYSTEMS,
    ),
    Fault(
        "an empty reply is an answer",
        "exam/prediction.py",
        'return None if outcome.text.strip() else "empty: the model replied nothing"',
        "return None",
        _SYSTEMS,
    ),
    Fault(
        "what was shrunk is not said",
        "exam/fitting.py",
        'details={**exhibit.details, "shrunk": shrunk}',
        "details=exhibit.details",
        ("exam/kinds/test_clip_frames.py",),
    ),
    Fault(
        "every question gets the same random numbers",
        "exam/predict.py",
        'f"{seed}\\x00{item_id}"',
        'f"{seed}"',
        ("exam/test_predict.py",),
    ),
    Fault(
        "a floor guesses anew for the same question in another form",
        "exam/predict.py",
        "item.question.parent or item.id",
        "item.id",
        ("exam/test_predict.py",),
    ),
    Fault(
        "a floor learns from the item that it answers",
        "exam/floors.py",
        "counts.subtract(self.by_recording.get((type_, recording_id), {}))",
        "counts.subtract({})",
        ("exam/test_floors.py",),
    ),
    # -- what is shown ---------------------------------------------------------------------------------------
    Fault(
        "frames after the moment of the question are shown",
        "exam/kinds/moment.py",
        "    times = frame_times(view, end, steps)\n",
        "    times, end = frame_times(view, end + 2, steps), end + 2\n",
        _SYSTEMS,
    ),
    Fault(
        "replies that a rule reads go to the matcher as well",
        "exam/matching.py",
        "if choice_of(p, by_id[p.item_id]).rule in _UNREAD]",
        "if choice_of(p, by_id[p.item_id]).rule]",
        ("exam/test_matching.py",),
    ),
    Fault(
        "a match counts against what a rule reads",
        "exam/choice_scores.py",
        "if matched and choice.printed is None:",
        "if matched:",
        ("exam/test_matching.py",),
    ),
    Fault(
        "an option that there is not is matched",
        "exam/matching.py",
        "if said.score and said.rationale in LETTERS[:options] else",
        "if said.score else",
        ("stages/test_match_options.py",),
    ),
    Fault(
        "a frame is called by its time stamp",
        "exam/frames.py",
        "max(0, bisect_right(self.times(path)[0], frame.time + TIME_TOLERANCE) - 1)",
        "frame.pts",
        ("exam/test_frames.py",),
    ),
    Fault(
        "a frame that could not be described is passed over",
        "exam/kinds/moment.py",
        "if (why := why_no_reply(outcome))]:",
        "if (why := why_no_reply(outcome)) and outcome is not outcomes[-1]]:",
        _SYSTEMS,
    ),
    Fault(
        "who reads the annotated steps of a clip is not named privileged",
        "exam/kinds/clip.py",
        'return "the annotated steps" if self.view.kind == "steps" else ""',
        'return ""',
        _RUNS,
    ),
    Fault(
        "what people see of a clip leaves the steps out",
        "exam/kinds/clip.py",
        "return seen_hash(question, msgspec.convert(question.facts, ClipFacts).steps)",
        "return seen_hash(question)",
        ("exam/kinds/test_clip.py",),
    ),
    Fault(
        "a question that a retriever has not searched is answered without sources",
        "exam/kinds/documents.py",
        'return f"no_ranking: {view.retriever} has not searched for this question"',
        "return ()",
        ("exam/test_source_systems.py", "exam/kinds/test_documents.py"),
    ),
    Fault(
        "more of a ranking is shown than its view says",
        "exam/kinds/documents.py",
        "library.corpus, most=view.most)",
        "library.corpus)",
        ("exam/test_source_systems.py", "exam/kinds/test_documents.py"),
    ),
    # -- letters ---------------------------------------------------------------------------------------------
    Fault(
        "the rotation's letter is not mapped back",
        "exam/choice.py",
        "return LETTERS[order[LETTERS.index(shown)]]",
        "return shown",
        ("exam/test_choice_order.py", "exam/test_choice_reading.py"),
    ),
    Fault(
        "every rotation shows the first order",
        "exam/choice.py",
        "tuple(order[k:] + order[:k] for k",
        "tuple(order for _ in order for k",
        ("exam/test_choice_order.py",),
    ),
    Fault(
        "a reply that was cut off is searched for a letter to its end",
        "exam/choice.py",
        "if cut_off and rule not in _FROM_THE_BEGINNING:",
        "if cut_off and not rule:",
        ("exam/test_choice_reading.py",),
    ),
    Fault(
        "a run that lacks rotations counts in full",
        "exam/choice_scores.py",
        "asked = not circular or len(made) >= len(options[id_])",
        "asked = True",
        _LETTERS,
    ),
    Fault(
        "one right rotation is enough",
        "exam/choice_scores.py",
        "float(mark == 1.0)",
        "float(mark > 0.0)",
        _LETTERS,
    ),
    Fault(
        "a reply without a letter is left out instead of wrong",
        "exam/choice_scores.py",
        "float(choice.right) if text is None",
        "(float(choice.right) if choice.printed else None) if text is None",
        _LETTERS,
    ),
    # -- marking ---------------------------------------------------------------------------------------------
    Fault(
        "a failed prediction is marked wrong",
        "exam/marker.py",
        'return self._unmarked(prediction, f"prediction failed: {why}")',
        "return self._record(prediction, score=0, rationale=why)",
        _SYSTEMS,
    ),
    Fault(
        "a judge's reply without a mark counts as wrong",
        "exam/marker.py",
        "return self._unmarked(prediction, reading.failure, details)",
        "return self._record(prediction, score=0, details=details)",
        _SYSTEMS,
    ),
    Fault(
        "the yes of a binary rubric is half right",
        "exam/marker.py",
        "return 2 // _TOP[self.marker.scale]",
        "return 1",
        _SYSTEMS,
    ),
    Fault(
        "a repetition of the judge is the first one's call",
        "exam/marker.py",
        "draw=self.repeat",
        "draw=0",
        _SYSTEMS,
    ),
    Fault(
        "who floods the judge is left unmarked instead of wrong",
        "exam/marker.py",
        "return self._record(prediction, score=0, rationale=why)",
        "return self._unmarked(prediction, why)",
        _SYSTEMS,
    ),
    Fault(
        "the judge sees who answered",
        "exam/kinds/moment_marker.py",
        'prediction=prediction.answer or "",',
        'prediction=f"{prediction.predictor}: {prediction.answer}",',
        _SYSTEMS,
    ),
    Fault(
        "scores are made of the judge's last repetition",
        "stages/judge.py",
        "for who in reversed(judges):",
        "for who in judges:",
        _RUNS,
    ),
    Fault(
        "a person may mark an answer twice",
        "exam/judge_marks.py",
        "if name in seen[answer]:",
        "if name in people[name]:",
        ("exam/test_judge_calibration.py",),
    ),
    Fault(
        "where people are tied one of them is right",
        "exam/judge_marks.py",
        "ranked[0][1] > ranked[1][1]",
        "ranked[0][1] >= ranked[1][1]",
        ("exam/test_judge_calibration.py",),
    ),
    # -- scores ----------------------------------------------------------------------------------------------
    Fault(
        "a failure is counted as zero instead of left out",
        "exam/scores.py",
        "if p.answer is not None else None for p in asked",
        "if p.answer is not None else 0.0 for p in asked",
        _SCORES,
    ),
    Fault(
        "the mark of an answer that is no longer there counts",
        "exam/scores.py",
        " if p.answer is not None else None for p in asked",
        " for p in asked",
        _SCORES,
    ),
    Fault(
        "marks of two judges are averaged",
        "exam/scores.py",
        "if len(judges) > 1:",
        "if len(judges) > 2:",
        _SCORES,
    ),
    Fault(
        "the mean of styles weighs each by its questions",
        "exam/scores.py",
        "Score(math.fsum(values) / len(values), ",
        "Score(math.fsum((row.value or 0.0) * row.n for row in parts) / n, ",
        ("exam/test_document_scores.py", *_SCORES),
    ),
    Fault(
        "what was never asked is not counted as skipped",
        "exam/table.py",
        "skipped=len(inside) - len(asked),",
        "skipped=0,",
        _SCORES,
    ),
    Fault(
        "the cluster of a slice is the item",
        "exam/table.py",
        "[clusters[id_] for id_ in asked],",
        "list(asked),",
        _SCORES,
    ),
    Fault(
        "an answer that is there twice counts twice",
        "exam/table.py",
        "in turns.items() if n > 1]",
        "in turns.items() if n > 2]",
        _SCORES,
    ),
    Fault(
        "questions without a facet are a slice",
        "exam/measured.py",
        "item.question.facets.get(facet):",
        'item.question.facets.get(facet, "none"):',
        (*_SCORES, *_LETTERS),
    ),
    Fault(
        "a run that was judged before its answers changed is scored",
        "stages/score.py",
        'workspace.changed(f"judge/{name}")',
        "()",
        _RUNS,
    ),
    # -- runs ------------------------------------------------------------------------------------------------
    Fault(
        "an interrupted run asks what it has again",
        "stages/predict.py",
        "if item.id not in done][:limit]",
        "if item.id not in done or item][:limit]",
        _RUNS,
    ),
    Fault(
        "a failed answer is not asked for again",
        "stages/predict.py",
        "            and all(p.failure is None or (keep and is_settled(p.failure)) for p in made)\n",
        "",
        _RUNS,
    ),
    Fault(
        "answers to items that changed are gone on with",
        "stages/predict.py",
        "if there != info:",
        "if there.predictor != info.predictor:",
        _RUNS,
    ),
    Fault(
        "a model that sees nothing is a system like others",
        "stages/predict.py",
        'role="floor" if view.blind and who.function is None else "system",',
        'role="system",',
        _RUNS,
    ),
    Fault(
        "a dry run takes a failed call for paid",
        "llm/store.py",
        "calls.c.key.in_(some), calls.c.outcome.is_not(None))",
        "calls.c.key.in_(some))",
        ("llm/test_store.py",),
    ),
    Fault(
        "calls that are being made are pruned",
        "llm/store.py",
        "calls.c.key.not_in(select(claims.c.key))",
        "calls.c.key.is_not(None)",
        ("llm/test_store.py",),
    ),
    # -- people and releases ---------------------------------------------------------------------------------
    Fault(
        "a stale verdict is accepted",
        "verify/store.py",
        "elif verdict.candidate_hash and _under_today",
        "elif verdict.candidate_hash is None and _under_today",
        _BUILD,
    ),
    Fault(
        "one person counts twice",
        "verify/store.py",
        ".group_by(table.c.candidate_id, table.c.annotator, table.c.role)",
        ".group_by(table.c.sequence)",
        ("verify/test_store.py",),
    ),
    Fault(
        "a stale adjudication is accepted",
        "verify/adjudicate.py",
        "if verdict.case_hash and verdict.case_hash != case.hash:",
        "if verdict.case_hash and not case.hash:",
        _CASES,
    ),
    Fault(
        "an adjudicator overrules what was agreed",
        "verify/adjudicate.py",
        "value = case.question_init or adjudication.question.value",
        "value = adjudication.question.value",
        _CASES,
    ),
    Fault(
        "an answer that the adjudicator is unsure of passes",
        "verify/adjudicate.py",
        '    if value != "right":',
        '    if value == "wrong":',
        _CASES,
    ),
    Fault(
        "a vote of little confidence counts in full",
        "verify/adjudicate.py",
        'return "unsure" if unsure else verdict.value',
        "return verdict.value",
        _CASES,
    ),
    Fault(
        "adjudicators see the answers in the order of who wrote them",
        "verify/adjudicate.py",
        "    rng.shuffle(places)",
        '    if order == "published":\n        rng.shuffle(places)',
        _CASES,
    ),
    Fault(
        "machines that disagree about an answer settle it",
        "verify/policy.py",
        "if case.needs_adjudication:",
        "if case.question_init is None:",
        ("verify/test_policy.py",),
    ),
    Fault(
        "every seed audits the same items",
        "verify/policy.py",
        'f"audit\\x00{seed}\\x00{candidate_id}"',
        'f"audit\\x00{candidate_id}"',
        ("verify/test_policy.py",),
    ),
    Fault(
        "an upheld wrong option becomes a gold",
        "release/build.py",
        'if proposal is None or proposal.claim == "right":',
        "if True:",
        _BUILD,
    ),
    Fault(
        "what people still work on is let in",
        "release/build.py",
        "if question.id in unfinished and",
        "if question.id in () and",
        _BUILD,
    ),
    Fault(
        "an example gives one item too many",
        "release/build.py",
        "0 < rules.per_example <= taken.get(example, 0)",
        "0 < rules.per_example < taken.get(example, 0)",
        _BUILD,
    ),
    Fault(
        "the release ships a source whose licence forbids it",
        "release/folder.py",
        "{s.id: _only_named(s) for s in named}",
        "{s.id: s for s in named}",
        ("release/test_release_kinds.py", "release/test_folder.py"),
    ),
    # -- what models are shown -------------------------------------------------------------------------------
    Fault(
        "models are shown the tags of a data set's files",
        "procedure/showing.py",
        "render_step(text) if has_tag(text) else text",
        "text",
        ("procedure/test_showing.py",),
    ),
    Fault(
        "models are shown START and END as steps to be done",
        "procedure/showing.py",
        "    ends = (graph.start, graph.end)\n",
        "    return TaskGraph(graph.id, graph.name, graph.steps, graph.edges)\n",
        ("procedure/test_showing.py",),
    ),
    Fault(
        "the published protocol is asked in today's words",
        "ask/moment/promqa_prompt.py",
        'ask / "published" if published else None',
        "None",
        ("ask/moment/test_promqa_prompt.py", "ask/documents/test_verification.py"),
    ),
    Fault(
        "of two verdicts that contradict each other the last one counts",
        "ask/documents/verification.py",
        "if first is not None and first[1].casefold() != last[1].casefold():",
        "if first is None and last is None:",
        ("ask/documents/test_verification.py",),
    ),
)
