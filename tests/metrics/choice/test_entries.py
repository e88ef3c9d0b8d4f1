from proctor.metrics.choice.marks import METRICS


def test_entries_of_the_catalogue():
    assert {m.name for m in METRICS} >= {"choice_accuracy", "letter_balance", "blind_pass_probability"}
    assert all(m.family == "answer" for m in METRICS)
