"""What is known of a model from its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proctor.corpus.embed.embedder import E5, PLAIN, Prefixes
from proctor.corpus.embed.local_models import find_prefixes, fingerprint, max_tokens, read_config
from proctor.errors import UserError


def make(folder: Path, **files: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in files.items():
        (folder / f"{name}.json").write_text(json.dumps(value))
    return folder


def test_prefixes_come_from_the_models_own_configuration(tmp_path: Path) -> None:
    own = {"prompts": {"query": "ask: ", "document": "text: "}}
    folder = make(tmp_path / "e5-large", config_sentence_transformers=own)
    assert find_prefixes(folder) == Prefixes("ask: ", "text: ")
    only = make(tmp_path / "bge", config_sentence_transformers={"prompts": {"query": "ask: ", "passage": ""}})
    assert find_prefixes(only) == Prefixes("ask: ", "")


@pytest.mark.parametrize(
    ("name", "original", "expected"),
    [
        ("e5-large-v2", "", E5),
        ("multilingual-e5-small", "", E5),
        ("model", "intfloat/e5-base", E5),
        ("hive5", "x", PLAIN),
        ("e50", "x", PLAIN),
        ("all-MiniLM-L6-v2", "nreimers/MiniLM", PLAIN),
    ],
)
def test_or_from_its_name(tmp_path: Path, name: str, original: str, expected: Prefixes) -> None:
    folder = make(
        tmp_path / name,
        config={"_name_or_path": original},
        config_sentence_transformers={"prompts": {"query": "", "document": ""}},
    )
    assert find_prefixes(folder) == expected


def test_a_text_is_as_long_as_the_model_says_and_512_tokens_at_most(tmp_path: Path) -> None:
    assert max_tokens(make(tmp_path / "a")) == 512
    assert max_tokens(make(tmp_path / "b", config={"max_position_embeddings": 8192})) == 512
    assert max_tokens(make(tmp_path / "c", sentence_bert_config={"max_seq_length": 256})) == 256
    assert max_tokens(make(tmp_path / "d", sentence_bert_config={"max_seq_length": "x"})) == 512


def test_the_fingerprint_knows_every_file_and_not_the_folders_name(tmp_path: Path) -> None:
    one, two = make(tmp_path / "one", config={"a": 1}), make(tmp_path / "two", config={"a": 1})
    (two / "README.md").write_text("not part of the model")
    assert fingerprint(one) == fingerprint(two)
    assert len({fingerprint(one), fingerprint(make(tmp_path / "three", config={"a": 2}))}) == 2


def test_a_broken_configuration_is_told(tmp_path: Path) -> None:
    folder = make(tmp_path, config=[1])
    with pytest.raises(UserError, match="not a JSON object"):
        read_config(folder, "config.json")
    (folder / "config.json").write_text("{")
    with pytest.raises(UserError, match="not valid JSON"):
        find_prefixes(folder)
    assert read_config(folder, "gone.json") == {}
