"""Reproduction of the published examples, and that the comparison can fail."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from proctor.ask.moment.derive import PUBLISHED, derive_examples
from proctor.ask.moment.promqa import PromqaExample, read_promqa
from proctor.cli.reproduce import ReproduceSettings, reproduce_promqa
from proctor.datasets.captaincook4d import DATASET
from proctor.errors import UserError
from proctor.exam.kinds.example import Example
from proctor.release.reproduce import (
    MECHANICAL_FIELDS,
    compare_adjudication,
    compare_fields,
    compare_parsing,
    differences,
)


@pytest.fixture(scope="module")
def published(shared_data: Path) -> list[PromqaExample]:
    return read_promqa(shared_data / "promqa/examples_dev.json")


@pytest.fixture(scope="module")
def derived(shared_data: Path) -> dict[str, Example]:
    read = DATASET.read(shared_data / "captaincook4d", "published")
    return {
        e.id: e for e in derive_examples(read.recordings, read.graphs, PUBLISHED) if isinstance(e, Example)
    }


def test_every_field_of_every_example(published: list[PromqaExample], derived: dict[str, Example]) -> None:
    outcome = compare_fields(published, derived)
    assert (outcome.examples, outcome.absent) == (195, ())
    assert outcome.all_fields.equal == 195
    counts = {name: (c.n, c.equal) for name, c in outcome.fields.items()}
    assert counts == {
        "previous_steps": (195, 195),
        "current_step": (195, 195),
        "next_steps": (77, 77),
        "missing_steps": (71, 71),
        "error_description": (47, 47),
        "is_noisy": (195, 195),
        "end_time": (195, 195),
    }


def test_parsing_and_adjudication(published: list[PromqaExample]) -> None:
    case, merged = compare_adjudication(published)
    assert [c.equal for c in (compare_parsing(published), case, merged)] == [195, 195, 195]


@pytest.mark.parametrize("field", MECHANICAL_FIELDS)
def test_a_changed_field_is_noticed(
    published: list[PromqaExample], derived: dict[str, Example], field: str
) -> None:
    one = next(p for p in published if getattr(p, field) and p.previous_steps)
    value = getattr(one, field)
    other = (
        not value
        if isinstance(value, bool)
        else value[::-1] + ("x" if isinstance(value, str) else value[:1])
        if isinstance(value, str | tuple)
        else msgspec.structs.replace(value, step_id=999)
    )
    changed = msgspec.structs.replace(one, **{field: other})
    assert compare_fields([changed], derived).fields[field].different == (one.question_id,)
    assert list(differences(changed, derived[one.question_id])) == [field]


def test_list_order_counts(published: list[PromqaExample], derived: dict[str, Example]) -> None:
    one = next(p for p in published if p.next_steps is not None and len(p.next_steps) > 1)
    turned = msgspec.structs.replace(one, next_steps=tuple(reversed(one.next_steps or ())))
    assert compare_fields([turned], derived).fields["next_steps"].equal == 0


def test_an_example_that_is_not_derived_is_absent(
    published: list[PromqaExample], derived: dict[str, Example]
) -> None:
    stranger = msgspec.structs.replace(published[0], question_id="77_7_7_next")
    outcome = compare_fields([stranger], derived)
    assert outcome.absent == ("77_7_7_next",)
    assert outcome.all_fields.equal == 0


def test_a_changed_answer_is_noticed(published: list[PromqaExample]) -> None:
    origin = dict(published[0].origin)
    changed = msgspec.structs.replace(published[0], origin={**origin, "answers": ["something else"]})
    assert compare_adjudication([changed])[1].different == (published[0].question_id,)


def test_corrected_lists_five_differences_with_reasons(shared_data: Path) -> None:
    result = reproduce_promqa(
        shared_data / "captaincook4d", shared_data / "promqa/examples_dev.json", "corrected"
    )
    assert set(result["reasons"]) == {
        "16_35_19_order",
        "29_28_4_next",
        "29_28_4_preparation",
        "29_28_8_technique",
        "29_5_4_next",
    }
    assert "earlier mistake" in result["reasons"]["16_35_19_order"]
    assert "spatula" in result["reasons"]["29_5_4_next"]


def test_an_unknown_mode(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="one of published, corrected"):
        ReproduceSettings(annotations=tmp_path, examples=tmp_path, corrections="both")  # type: ignore[arg-type]
