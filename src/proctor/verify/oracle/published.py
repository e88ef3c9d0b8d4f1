"""Published ProMQA examples as rows to measure the oracle on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from proctor.ask.moment.promqa import PromqaExample, to_example
from proctor.errors import UserError
from proctor.procedure.graph import TaskGraph
from proctor.verify.oracle.annotator import Oracle
from proctor.verify.oracle.evaluation import AnswerRow

__all__ = ["adjudicated_labels", "answer_rows", "graphs_by_key"]


def adjudicated_labels(published: PromqaExample) -> tuple[bool | None, ...]:
    """Return for each machine answer whether it was accepted in the end; None where nobody settled it.

    The shuffled list of the adjudication holds machine and human answers; equal machine answers are taken in
    order. A rejected question drops all its answers.
    """
    case = published.adjudication
    judge = case.judge
    asked = case.init.question if case.init.question is not None else judge.question if judge else None
    settled: dict[str, list[bool | None]] = defaultdict(list)
    for k, (text, tag) in enumerate(zip(case.answers, case.answer_tags, strict=True)):
        if tag == "machine":
            value = case.init.answers[k]
            if value is None and judge is not None and k < len(judge.answers):
                value = judge.answers[k]
            settled[text].append(value)
    labels: list[bool | None] = []
    for text in published.verification.answers:
        value = settled[text].pop(0) if settled[text] else None
        labels.append(None if asked is None or value is None else value and asked)
    return tuple(labels)


def answer_rows(
    examples: Sequence[PromqaExample],
    graph_of: Callable[[str], TaskGraph | None],
    oracle: Oracle,
    *,
    where: str = "examples",
    step: Callable[[], None] = lambda: None,
) -> tuple[list[AnswerRow], list[str]]:
    """Let the oracle judge every machine answer of published examples.

    Args:
        examples: as read.
        graph_of: activity name to its task graph, None when there is none.
        oracle: the judge.
        where: file name for messages.
        step: called after each example.

    Returns:
        The rows, and the ids of answers that nobody settled and that are left out.

    Raises:
        UserError: if a recipe has no graph, or a performed step is not in it.
    """
    rows: list[AnswerRow] = []
    unsettled: list[str] = []
    for published in examples:
        graph = graph_of(published.activity_name)
        if graph is None:
            raise UserError(
                f"there is no task graph for the recipe '{published.activity_name}'.",
                where=f"{where}: {published.question_id}",
                hint="give the annotations folder that holds task_graphs/ of this recipe",
            )
        example = to_example(published, graph)
        for i, label in enumerate(adjudicated_labels(published)):
            row_id = f"{published.question_id}#{i}"
            if label is None:
                unsettled.append(row_id)
                continue
            answer = published.verification.answers[i]
            decision = oracle.decide(published.question, answer, example, graph)
            ground = decision.ground
            rows.append(
                AnswerRow(
                    id=row_id,
                    question_id=published.question_id,
                    type=published.type,
                    intent=decision.question.intent,
                    cluster=published.recording_id,
                    group=published.activity_name,
                    label=label,
                    probability=decision.probability,
                    humans=tuple(j.answers[i] if j.question else None for j in published.verification.judges),
                    lean=ground.lean if ground else None,
                    rule=ground.name if ground else "unreadable",
                    reason=decision.reason,
                    question=published.question,
                    answer=answer,
                )
            )
        step()
    return rows, unsettled


def graphs_by_key(
    graphs: Mapping[str, TaskGraph], key: Callable[[str], str]
) -> Callable[[str], TaskGraph | None]:
    """Return a look-up of graphs by activity name through a key function."""
    return lambda name: graphs.get(key(name))
