import numpy as np
import pytest


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "questions.csv"
    path.write_text(
        "id,question,type,recording\n"
        + "".join(
            f"q{i},{'Did I' if i % 3 else 'What should I'} do step {i}?,{'ab'[i % 2]},r{i % 6}\n"
            for i in range(24)
        )
    )
    return path


def test_the_table(proctor, file):
    outcome = proctor("score", "text", file, "--slice", "type", "--resamples", "100")
    assert outcome.status == 0, outcome.err
    for text in ("words", "tokens", "TTR", "HD-D", "distinct-2", "type=a", "vocabulary", "texts 24"):
        assert text in outcome.out


def test_json_with_vectors(proctor, file, tmp_path):
    np.save(tmp_path / "v.npy", np.random.default_rng(0).normal(size=(24, 5)))
    outcome = proctor("score", "text", file, "--vectors", tmp_path / "v.npy", "--json", "--resamples", "0")
    assert outcome.status == 0, outcome.err
    result = outcome.json
    assert result["family"] == "text"
    assert result["first_words"] == {"did": 16, "what": 8}
    assert -1 <= result["mean_pairwise_cosine"] <= 1
    assert {"nearest_cosine", "near_duplicates", "type_token_ratio", "distinct_n1"} <= set(result)


def test_latex_and_page(proctor, file, tmp_path):
    assert r"\toprule" in proctor("score", "text", file, "--latex", "--resamples", "0").out
    page = tmp_path / "page.html"
    assert proctor("score", "text", file, "--report", page, "--resamples", "0").status == 0
    assert "First words of question" in page.read_text()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--column", "x"), "no column 'x'"),
        (("--vectors", "none.npy"), "numpy.save"),
        (("--threshold", "3"), "between -1 and 1"),
        (("--confidence", "0"), "between 0 and 1"),
        (("--slice", "x"), "no column 'x'"),
    ],
)
def test_what_the_user_can_fix(proctor, file, tmp_path, more, message):
    np.save(tmp_path / "v.npy", np.ones((24, 2)))
    extra = () if "--vectors" in more else ("--vectors", tmp_path / "v.npy")
    outcome = proctor("score", "text", file, *extra, *more)
    assert outcome.status == 2
    assert message in outcome.err
    assert "Traceback" not in outcome.err
