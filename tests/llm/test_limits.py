"""Who takes which kind of media at all; what is too much of it is in ``test_tokens``."""

import pytest

from proctor.errors import UserError
from proctor.llm.limits import Excess, takes


@pytest.mark.parametrize(
    ("model", "video", "image"),
    [
        ("google/gemini-2.5-pro", True, True),
        ("google/gemini-2.5-pro@http://127.0.0.1:1", True, True),
        ("compat/qwen@http://127.0.0.1:1/v1", True, True),
        ("anyllm/google/gemini-2.5-pro", True, True),
        ("openai/gpt-4o", False, True),
        ("anthropic/claude-sonnet-4-5", False, True),
        ("anyllm/anthropic/claude-sonnet-4-5", False, True),
        ("transformers/Qwen/Qwen2-VL-7B", False, True),
        ("human/ana.jsonl", True, True),
    ],
)
def test_who_takes_video(model: str, video: bool, image: bool) -> None:
    assert takes(model, "video/mp4") is video
    assert takes(model, "image/jpeg") is image


def test_what_is_no_model_is_an_error() -> None:
    with pytest.raises(UserError, match="is not the name of a model"):
        takes("gpt", "video/mp4")


def test_an_excess_says_what_how_much_and_where() -> None:
    assert (
        str(Excess(what="request_bytes", value=3_000, limit=2_000)) == "3,000 bytes, at most 2,000 are taken"
    )
    assert str(Excess(what="image_edge", value=9, limit=8, detail="part 2, image/png")) == (
        "9 pixels (part 2, image/png), at most 8 are taken"
    )
