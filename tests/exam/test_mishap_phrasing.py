import pytest

from proctor.exam.mishap import as_sentence, join_words


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("sand it", "Sand it."), (" Sand it. ", "Sand it."), ("sand it...", "Sand it."), ("", "."), ("3", "3.")],
)
def test_sentence(text, sentence):
    assert as_sentence(text) == sentence


def test_join():
    assert join_words(["a"]) == "a"
    assert join_words(["a", "b"]) == "a and b"
    assert join_words(["a", "b", "c"], "or") == "a, b or c"
    with pytest.raises(IndexError):
        join_words([])
