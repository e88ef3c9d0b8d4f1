"""Which test reproduces which number of promqa.json, and what is left for other rooms.

The file counts 401 examples; 195 of them are shared (examples_dev.json), so that figures over all of them are recomputed
from the counts of the file, and the text statistics on the shared part in metrics/test_text_statistics.py.
"""

import math

import pytest

from proctor.metrics.interval import wilson_interval

pytestmark = pytest.mark.shared

AGREEMENT = "metrics/test_agreement.py::test_published_numbers_are_those_of_the_file"
HERE = "golden/test_expected_promqa.py::"

COVERED = {
    "verification.per_pair": AGREEMENT,
    "verification.question_agreement_on_401": AGREEMENT,
    "verification.question_agreement_mean_of_pairs": AGREEMENT,
    "verification.answer_agreement_pooled": AGREEMENT,
    "verification.answer_agreement_mean_of_pairs": AGREEMENT,
    "verification.answer_kappa": AGREEMENT,
    "verification.question_conflicts": "metrics/test_krippendorff.py::test_published_counts_are_those_of_the_file",
    "verification.machine_answers": f"{HERE}test_volumes_of_answers",
    "verification.machine_kept": f"{HERE}test_volumes_of_answers",
    "verification.human_written": f"{HERE}test_volumes_of_answers",
    "verification.human_kept": f"{HERE}test_volumes_of_answers",
    "verification.adjudicator_written": f"{HERE}test_volumes_of_answers",
    "statistics.answer_tags": f"{HERE}test_volumes_of_answers",
    "statistics.answers_per_question": f"{HERE}test_volumes_of_answers",
    "statistics.approval": f"{HERE}test_shares_of_approved_questions",
    "statistics.n": f"{HERE}test_shares_of_approved_questions",
    "statistics.by_type": f"{HERE}test_shares_of_approved_questions",
    "statistics.clean": f"{HERE}test_shares_of_approved_questions",
    "statistics.noisy": f"{HERE}test_shares_of_approved_questions",
    "statistics.next_with_target": f"{HERE}test_shares_of_approved_questions",
    "statistics.next_without_target": f"{HERE}test_shares_of_approved_questions",
    "statistics.missing_with_target": f"{HERE}test_shares_of_approved_questions",
    "statistics.missing_without_target": f"{HERE}test_shares_of_approved_questions",
}
WORDS = (
    "cannot be computed here: 195 of the 401 questions are shared; on these metrics/test_text_statistics.py"
    "::test_words_of_the_published_questions counts 8.9 tokens and 7.8 words"
)
CARD = "counts over all 401 examples: belong to the statistics of the benchmark, and 195 examples are shared"
ELSEWHERE = {
    "sources": "identity of a file",
    "captaincook4d": "counts of annotations: belong to the readers of data sets (tests/datasets) and their lint",
    "creation": "examples derived from annotations: belong to tests/ask/moment/test_promqa.py",
    "ablations": "wrong rules of derivation: belong to tests/ask/moment/test_promqa.py",
    "sampling": "sampling of examples: belongs to tests/ask/moment/test_sample.py",
    "subset500": "sampling of examples: belongs to tests/ask/moment and tests/verify",
    "generation": "parsing of generations: belongs to tests/ask",
    "verification.adjudication_block_rebuilt": "the verification app: belongs to tests/verify",
    "verification.shuffle_seed": "a seed: belongs to tests/verify",
    "verification.init_ok": "the verification app: belongs to tests/verify",
    "verification.needs_adjudication_ok": "the verification app: belongs to tests/verify",
    "verification.merge_ok": "the verification app: belongs to tests/verify",
    "verification.adjudicated": "the verification app: belongs to tests/verify",
    "statistics.recipes": CARD,
    "statistics.recordings": CARD,
    "statistics.steps_per_recipe_weighted": CARD,
    "statistics.steps_per_recipe_unweighted": CARD,
    "statistics.steps_per_recording": CARD,
    "statistics.clip_seconds_mean": CARD,
    "statistics.clip_seconds_min": CARD,
    "statistics.clip_seconds_max": CARD,
    "statistics.words_per_question_spacy": WORDS,
    "statistics.words_per_answer_spacy": WORDS,
    "statistics.words_per_question_whitespace": WORDS,
    "statistics.words_per_answer_whitespace": WORDS,
}
# ProMQA, Table 12.
APPROVAL = {
    "missing": 0.82, "next": 0.88, "order": 0.77, "measurement": 0.81, "preparation": 0.58, "technique": 0.43,
    "temperature": 0.62, "timing": 0.76,
}  # fmt: skip


@pytest.fixture(scope="module")
def expected(shared_expected):
    return shared_expected("promqa")


def test_every_number_is_accounted_for(account, expected):
    assert account(expected, COVERED, ELSEWHERE) == []


def test_volumes_of_answers(expected):
    """324 kept by both and 46 by the adjudicator of 493; 75 and 87 per cent kept; 744 answers in all."""
    found, tags = expected["verification"], expected["statistics"]["answer_tags"]
    both, neither, open_ = 324, 82, 87
    assert both + neither + open_ == found["machine_answers"]
    assert both + 46 == found["machine_kept"] == tags["machine"]
    assert round(100 * found["machine_kept"] / found["machine_answers"]) == 75
    assert sum((166, 152, 43, 16, 11, 10, 5, 4)) == found["human_written"]
    assert round(100 * found["human_kept"] / found["human_written"]) == 87
    assert (tags["annotator"], tags["adjudicator"]) == (found["human_kept"], found["adjudicator_written"])
    people = tags["annotator"] + tags["adjudicator"]
    assert (people, people + tags["machine"]) == (374, 744)
    assert round(100 * people / tags["machine"]) == 101
    assert expected["statistics"]["answers_per_question"] == pytest.approx(744 / 401, abs=1e-12)
    assert 1 * 205 + 2 * 126 + 3 * 35 + 4 * 16 + 5 * 9 + 6 * 4 + 7 + 8 * 4 + 10 == 744
    kept = [pair["kept"] for pair in found["per_pair"].values()]
    assert sum(kept) == 401
    rates = [pair["a_agree"] / pair["a_total"] for pair in found["per_pair"].values()]
    assert (round(min(rates), 3), round(max(rates), 3)) == (0.786, 0.933)


def test_the_kappa_of_all_answers_follows_from_the_counts(expected):
    """324 yes/yes, 82 no/no and 61 either way: κ is 0.643 where the 61 are split evenly, the least of all splits."""
    yes, no, mixed = 324, 82, 61
    n = yes + no + mixed
    assert n == sum(pair["a_total"] for pair in expected["verification"]["per_pair"].values())
    kappas = []
    for first in range(mixed + 1):
        a, b = (yes + first) / n, (yes + mixed - first) / n
        chance = a * b + (1 - a) * (1 - b)
        kappas.append(((yes + no) / n - chance) / (1 - chance))
    assert round(min(kappas), 3) <= expected["verification"]["answer_kappa"] <= round(max(kappas), 3)
    assert max(kappas) - min(kappas) < 0.03


def test_agreement_on_all_500_questions_lies_between_bounds(expected):
    """380 of the 401 kept questions agree; whatever the 99 rejected ones did, it is 0.76 to 0.958."""
    agreed = round(expected["verification"]["question_agreement_on_401"] * 401)
    assert agreed == 380
    assert (agreed / 500, (agreed + 99) / 500) == (0.76, 0.958)
    assert math.floor(0.87 * 500) - agreed == 55


def test_shares_of_approved_questions(expected):
    found = expected["statistics"]
    assert found["approval"].keys() == APPROVAL.keys() == found["by_type"].keys()
    for kind, (kept, shown) in found["approval"].items():
        interval = wilson_interval(kept, shown)
        share = kept / shown
        assert abs(share - APPROVAL[kind]) <= 0.00501, kind  # 10/16 = 0.625 is printed as 0.62
        assert interval.low < share < interval.high
        assert kept == found["by_type"][kind]
    assert sum(found["by_type"].values()) == found["clean"] + found["noisy"] == found["n"] == 401
    assert sum(shown for _, shown in found["approval"].values()) == 500
    assert round(401 / 500, 2) == 0.8
    for kind in ("next", "missing"):
        assert found[f"{kind}_with_target"] + found[f"{kind}_without_target"] == found["by_type"][kind]
