import json

import pytest


@pytest.fixture
def files(tmp_path):
    gt, pred = tmp_path / "gt.jsonl", tmp_path / "pred.jsonl"
    gt.write_text(
        "\n".join(
            json.dumps(
                {
                    "id": f"q{i}",
                    "answers": ["Add the salt.", "salt"],
                    "recording": f"r{i % 6}",
                    "type": "ab"[i % 2],
                }
            )
            for i in range(12)
        )
    )
    pred.write_text(
        "\n".join(
            json.dumps({"id": f"q{i}", "response": ["salt", "the milk"][i % 3 == 0]}) for i in range(11)
        )
    )
    return "--gt", gt, "--pred", pred


@pytest.fixture
def letters(tmp_path):
    gt, pred = tmp_path / "mc.csv", tmp_path / "letters.csv"
    gt.write_text("id,options,gold\n" + "".join(f"q{i},salt|milk|eggs,{'ABC'[i % 3]}\n" for i in range(9)))
    pred.write_text(
        "id,response\n" + "".join(f"q{i},The answer is {'AB'[i % 2]}.\n" for i in range(8)) + "q8,hm\n"
    )
    return "--gt", gt, "--pred", pred


def test_the_table(proctor, files):
    outcome = proctor("score", "answer", *files, "--slice", "type", "--resamples", "100")
    assert outcome.status == 0, outcome.err
    for text in (
        "EM",
        "F1",
        "ROUGE-1",
        "type=a",
        "always 'add salt'",
        "without response 1",
        "tokeniser:ascii",
    ):
        assert text in outcome.out


def test_json(proctor, files):
    outcome = proctor(
        "score", "answer", *files, "--metric", "exact", "--metric", "rougel", "--json", "--resamples", "0"
    )
    assert outcome.status == 0, outcome.err
    result = outcome.json
    assert result["family"] == "answer"
    assert result["exact_match"] == pytest.approx(7 / 11)
    assert [s["metric"] for s in result["scores"]] == ["EM", "ROUGE-L", "EM", "EM", "ROUGE-L"]
    assert result["scores"][0]["failed"] == 1


def test_choices(proctor, letters):
    outcome = proctor("score", "answer", *letters, "--choices", "--json", "--resamples", "100")
    assert outcome.status == 0, outcome.err
    result = outcome.json
    assert result["unparsed"] == 1
    assert result["right"] + result["wrong"] == 8
    assert [f["title"] for f in result["figures"]] == [
        "Gold and predicted letters",
        "Accuracy by gold letter",
    ]
    text = proctor("score", "answer", *letters, "--resamples", "100")
    for part in ("Accuracy", "guessing (chance)", "always A (chance)", "letters unparsed 1"):
        assert part in text.out


def test_latex_and_page(proctor, letters, tmp_path):
    outcome = proctor("score", "answer", *letters, "--latex", "--resamples", "0")
    assert r"\toprule" in outcome.out
    page = tmp_path / "page.html"
    assert proctor("score", "answer", *letters, "--report", page, "--resamples", "0").status == 0
    assert "Gold and predicted letters" in page.read_text()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--metric", "bleu"), "no metric 'bleu'"),
        (("--metric", "bertscore"), "--model"),
        (("--metric", "bertscore", "--model", "no/such/folder"), "no folder no/such/folder"),
        (("--choices",), "options with a gold letter"),
        (("--cluster", "colour"), "no column 'colour'"),
        (("--confidence", "2"), "between 0 and 1"),
    ],
)
def test_what_the_user_can_fix(proctor, files, more, message):
    outcome = proctor("score", "answer", *files, *more)
    assert outcome.status == 2
    assert message in outcome.err
    assert "Traceback" not in outcome.err
