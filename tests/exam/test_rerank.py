"""Reranking: orders read from replies, what a failure does, and each kind of reranker."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import MissingExtraError, UserError
from proctor.exam.predict_prompt import evaluation_prompts
from proctor.exam.rerank import (
    CrossEncoderReranker,
    EmbedderReranker,
    ModelReranker,
    RerankTask,
    read_order,
    rerank_run,
)
from proctor.exam.retrieval import Ranking, RetrievalRun
from proctor.llm.fence import FenceSecret
from proctor.llm.outcome import Failure, Refusal, Reply

SECRET = FenceSecret(b"the secret of the reranking tests")
PROMPTS = evaluation_prompts()
MODEL = "compat/toy@http://127.0.0.1:1/v1"
IDS = ("text:boat", "text:hurn", "text:vell", "table:depths")


@pytest.fixture
def run(lake_questions):
    rankings = [Ranking(qid=q.id, retriever="bm25", ids=IDS, scores=(4, 3, 2, 1)) for q in lake_questions]
    rankings[2] = Ranking(qid="q3", retriever="bm25", failure="timeout: too slow")
    rankings[3] = Ranking(qid="q4", retriever="bm25")
    return RetrievalRun(
        retriever="bm25", signature="ranking|corpus:x|depth:100|retriever:bm25", rankings=tuple(rankings)
    )


class Scores:
    """A reranker with given scores."""

    name, settings, embedders = "given", {"by": "test"}, frozenset({"e"})

    def __init__(self, *scores):
        self.scores = scores
        self.tasks = []

    def rerank(self, tasks):
        self.tasks = list(tasks)
        return [self.scores for _ in tasks]


def test_the_first_hits_get_a_new_order_and_the_rest_stays(run, lake_questions, lakes):
    reranker = Scores(1.0, 5.0)
    found = rerank_run(run, lake_questions, lakes, reranker, depth=2)
    assert found.retriever == "bm25 > given"
    assert found.rankings[0].ids == ("text:hurn", "text:boat", "text:vell", "table:depths")
    assert found.rankings[0].scores == ()
    assert [task.question.id for task in reranker.tasks] == ["q1", "q2"]
    assert [s.id for s in reranker.tasks[0].sources] == ["text:boat", "text:hurn"]
    assert found.rankings[2].failure == "timeout: too slow"
    assert found.rankings[3].ids == ()
    assert {r.retriever for r in found.rankings} == {"bm25 > given"}
    assert found.embedders == ("e",)
    assert "rerank.depth:2" in found.signature
    assert "rerank.by:test" in found.signature


def test_equal_scores_keep_the_old_order(run, lake_questions, lakes):
    found = rerank_run(run, lake_questions, lakes, Scores(1.0, 1.0, 1.0, 1.0))
    assert found.rankings[0].ids == IDS


@pytest.mark.parametrize("scores", [(float("nan"), 1.0, 1.0, 1.0), (1.0,) * 9])
def test_scores_that_are_none_fail_the_ranking(scores, run, lake_questions, lakes):
    found = rerank_run(run, lake_questions, lakes, Scores(*scores))
    assert found.rankings[0].failure.startswith("rerank:")
    assert found.rankings[0].ids == ()


def test_what_cannot_be_reranked(run, lake_questions, lakes):
    with pytest.raises(UserError, match="at least one hit"):
        rerank_run(run, lake_questions, lakes, Scores(), depth=0)
    with pytest.raises(UserError, match="do not fit"):
        rerank_run(run, lake_questions[:2], lakes, Scores())


# -- another embedder ------------------------------------------------------------------------------------------


class Letters:
    """Embeds a text by its first letters; counts what it was asked."""

    name, dimension = "letters", 26

    def __init__(self):
        self.asked = []

    def embed(self, texts, role):
        self.asked.append((role, len(texts)))
        rows = np.full((len(texts), 26), 0.01, dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                if word[0].isascii() and word[0].isalpha():
                    rows[row, ord(word[0]) - 97] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_another_embedder_embeds_every_source_once(run, lake_questions, lakes):
    embedder = Letters()
    found = rerank_run(run, lake_questions, lakes, EmbedderReranker(embedder))
    assert embedder.asked == [("passage", 4), ("query", 2)]
    assert sorted(found.rankings[0].ids) == sorted(IDS)
    assert found.embedders == ("letters",)
    texts = [lakes.get(i) for i in IDS]
    from proctor.corpus.source import render_source

    passages = embedder.embed([render_source(s) for s in texts], "passage")
    query = embedder.embed([lake_questions[0].text], "query")[0]
    wanted = [IDS[n] for n in sorted(range(4), key=lambda n: -float(passages[n] @ query))]
    assert list(found.rankings[0].ids) == wanted
    assert EmbedderReranker(embedder).rerank([]) == []


# -- a language model ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "order"),
    [
        ("2, 1, 3", (2, 1, 3)),
        ("[3] > [1] > [2]", (3, 1, 2)),
        ("Here is the order:\n\n**3, 2**\n", (3, 2)),
        ("1, 1, 2", (1, 2)),
        ("Final ranking: Source 3, source 1 and source 2.", (3, 1, 2)),
        ("<think>4, 4</think>3", (3,)),
        ("First 2, then others.\n1, 2, 3\nThat is all.", (1, 2, 3)),
    ],
)
def test_orders(reply, order):
    assert read_order(reply, 3) == order


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "none of them",
        "4, 1",
        "0",
        "1, 99999999999999999999",
        "Of all 3 sources, 2 are useful.",
        "I take 2",
    ],
)
def test_no_orders(reply):
    assert read_order(reply, 3).startswith("no_order: ")


@given(st.permutations(range(1, 8)), st.sampled_from([", ", " > ", "\t", "; "]))
def test_whatever_separates_the_numbers(order, separator):
    assert read_order(separator.join(map(str, order)), 7) == tuple(order)


class Port:
    """Answers by a function of the request and how often it was asked."""

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def __call__(self, requests):
        for request in requests:
            self.asked.append(request)
            yield request, self.answer(request)


def model(port):
    return ModelReranker(MODEL, PROMPTS, SECRET, port)


def test_a_model_orders_in_one_call_a_question(run, lake_questions, lakes):
    port = Port(lambda request: Reply(text="4, 2"))
    found = rerank_run(run, lake_questions, lakes, model(port))
    assert found.rankings[0].ids == ("table:depths", "text:hurn", "text:boat", "text:vell")
    assert len(port.asked) == 2
    prompt = port.asked[0].messages[-1].text
    assert "Source 4, a table:" in prompt
    assert "Vell | 88 m" in prompt
    assert "all 4 sources" in prompt
    assert "rerank.template:source-rerank@1" in found.signature


def test_what_cannot_be_read_is_repaired_once(run, lake_questions, lakes):
    def answer(request):
        return Reply(text="2, 1, 3, 4" if len(request.messages) > 2 else "the second one")

    port = Port(answer)
    found = rerank_run(run, lake_questions, lakes, model(port))
    assert found.rankings[0].ids[0] == "text:hurn"
    assert len(port.asked) == 4
    stubborn = rerank_run(run, lake_questions, lakes, model(Port(lambda r: Reply(text="7, 8"))))
    assert stubborn.rankings[0].failure == "no_order: there is no source 7 among 4"


@pytest.mark.parametrize(
    ("outcome", "code"),
    [(Refusal(text="no"), "refusal"), (Failure(kind="budget", message="spent"), "budget")],
)
def test_a_call_that_failed_fails_the_ranking(outcome, code, run, lake_questions, lakes):
    found = rerank_run(run, lake_questions, lakes, model(Port(lambda r: outcome)))
    assert found.rankings[0].failure.startswith(f"{code}: ")
    assert found.rankings[0].ids == ()


def test_a_run_that_ends_early_fails_what_was_not_asked(run, lake_questions, lakes):
    found = rerank_run(run, lake_questions, lakes, model(lambda requests: iter(())))
    assert found.rankings[0].failure.startswith("cancelled: ")


def test_a_model_that_repeats_its_prompt_has_given_no_order(run, lake_questions, lakes):
    port = Port(lambda request: Reply(text=request.messages[-1].text))
    found = rerank_run(run, lake_questions, lakes, model(port))
    assert found.rankings[0].failure.startswith("no_order: ")
    assert "commas: 2, 1, 3" in port.asked[-1].messages[-1].text


def test_estimates_know_the_requests(lake_questions, lakes):
    task = RerankTask(lake_questions[0], tuple(lakes.sources[:2]))
    asked = model(Port(None)).requests([task])
    assert len(asked) == 1
    assert asked[0].parameters.temperature == 0.0


# -- a cross-encoder -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory):
    """A tiny cross-encoder with random weights, made here: nothing is downloaded."""
    pytest.importorskip("sentence_transformers")
    transformers = pytest.importorskip("transformers")
    import torch

    folder = tmp_path_factory.mktemp("models") / "tiny"
    folder.mkdir()
    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "lake",
        "boat",
        "##s",
        "the",
        "when",
        "reservoir",
        "rowing",
    ]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"))
        tokenizer.save_pretrained(folder)
        torch.manual_seed(0)
        config = transformers.BertConfig(
            vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=16, num_labels=1, max_position_embeddings=64,
        )  # fmt: skip
        transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return folder


@pytest.mark.filterwarnings("ignore")
def test_a_cross_encoder_reads_question_and_source_together(cross_encoder, run, lake_questions, lakes):
    reranker = CrossEncoderReranker(cross_encoder, batch=2)
    assert reranker.name == "cross-encoder/tiny"
    task = RerankTask(lake_questions[0], tuple(lakes.sources[:3]))
    alone, both = reranker.rerank([task]), reranker.rerank([task, RerankTask(lake_questions[1], ())])
    assert len(alone[0]) == 3
    assert alone[0] == pytest.approx(both[0], abs=1e-5)
    assert both[1] == ()
    assert reranker.rerank([]) == []
    found = rerank_run(run, lake_questions, lakes, reranker)
    scores = reranker.rerank([RerankTask(lake_questions[0], tuple(lakes.get(i) for i in IDS))])[0]
    assert list(found.rankings[0].ids) == [IDS[n] for n in sorted(range(4), key=lambda n: -scores[n])]


@pytest.mark.filterwarnings("ignore")
def test_a_folder_without_a_model_is_told(tmp_path):
    pytest.importorskip("sentence_transformers")
    with pytest.raises(UserError, match="no folder of a model"):
        CrossEncoderReranker(tmp_path / "gone")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="cannot be loaded"):
        CrossEncoderReranker(tmp_path / "empty")


def test_without_the_package_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match="sentence-transformers"):
        CrossEncoderReranker(tmp_path)
