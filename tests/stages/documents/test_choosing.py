"""What chooses candidates: the default, searches that are weak on a corpus, and no vectors where nobody needs them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from proctor.ask.documents.candidates import find_by_title
from proctor.corpus.collection import write_corpus
from proctor.corpus.source import Source, text_source
from proctor.errors import UserError
from proctor.stages.documents.generate import sampler_of, weak_search, with_embedder
from proctor.stages.documents.library import Library
from proctor.stages.documents.settings import DocumentsOptions
from proctor.workspace import Workspace


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Sixty pages that share their words but for a name; a seventh of them are about another page, too."""
    workspace = Workspace(tmp_path_factory.mktemp("choosing"))
    rng = np.random.default_rng(0)
    words = [f"w{n}" for n in range(300)]
    sources: list[Source] = []
    for n in range(60):
        body = " ".join(rng.choice(words, 60)) + (f" page{n + 1}" if n % 7 == 0 else "")
        sources.append(text_source(f"text:{n}", f"page{n}", body, doc_id=f"d{n}"))
    write_corpus(workspace.file("corpus"), sources)
    return workspace


def test_words_find_what_few_directions_cannot_and_that_is_said(workspace: Workspace) -> None:
    library = Library(workspace)
    assert find_by_title(library.corpus.sources, library.search("bm25")) == (60, 60)
    few = find_by_title(library.corpus.sources, library.search("lsa:2"))
    assert few.share < 0.8
    assert find_by_title(library.corpus.sources, library.search("bm25"), sample=20).tried == 20
    told = weak_search(library, "lsa:2")
    assert told.startswith(
        f"lsa:2 is weak on this corpus: of sources that are searched for by their own title, it has {few}"
    )
    assert "bm25 100 % (60 of 60)" in told
    assert "--embedder bm25+lsa:fill" in told
    assert weak_search(library, "bm25") == weak_search(library, "bm25+lsa:2:fill") == ""


def test_words_alone_build_no_vectors_and_vectors_fill_up_what_words_do_not_find(
    workspace: Workspace,
) -> None:
    library = Library(workspace)
    words = library.find("bm25")("page8", "text", 5).positions[0]
    assert [library.corpus.sources[at].id for at in words if at >= 0] == ["text:8", "text:7"]
    filled = library.find("bm25+lsa:8:fill")("page8", "text", 5).positions[0].tolist()
    assert filled[:2] == words[:2].tolist()
    assert len(set(filled) - {-1}) == 5

    one = library.find("bm25+lsa:8:fill")("page8", "text", 1).positions[0].tolist()
    assert one == words[:1].tolist()
    with pytest.MonkeyPatch.context() as patch:  # where words find enough, vectors are not asked
        patch.setattr(
            "proctor.stages.documents.library.embed_texts", lambda *_: pytest.fail("embedded in vain")
        )
        assert (
            library.search("bm25+lsa:8:fill")(["page8"], "text", 2).positions[0].tolist()
            == words[:2].tolist()
        )

    fresh = Library(Workspace(workspace.root))
    options = DocumentsOptions(embedder="bm25")
    before = set(workspace.root.rglob("*"))
    assert sampler_of(fresh, options) is None
    assert fresh.chooser("bm25") == "bm25"
    assert set(workspace.root.rglob("*")) == before
    with pytest.raises(
        UserError, match="seeds are weighed by vectors, and there are none with --embedder bm25"
    ):
        sampler_of(fresh, DocumentsOptions(embedder="bm25", beta=2.0))
    sampler = sampler_of(fresh, DocumentsOptions(embedder="bm25+lsa:8:fill", beta=2.0, k_seed=3))
    assert sampler is not None
    assert sampler.signature == "seeds|k=3|beta=2|scale=multiply"
    with pytest.raises(UserError, match="candidates cannot be reranked"):
        fresh.chooser("bm25~cross/x")


def test_who_chooses_where_nobody_is_named(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    assert with_embedder(workspace, DocumentsOptions()).embedder == "bm25+lsa:fill"
    assert with_embedder(workspace, DocumentsOptions(published=True)).embedder == "lsa"
    workspace.record("documents", settings={"embedder": "lsa"}, counts={})
    assert with_embedder(workspace, DocumentsOptions()).embedder == "lsa", (
        "what was begun goes on as it began"
    )
    assert with_embedder(workspace, DocumentsOptions(embedder="bm25")).embedder == "bm25"
    with pytest.raises(UserError, match="no floor can be put under them"):
        with_embedder(workspace, DocumentsOptions(embedder="bm25+lsa", floor=0.5))


def test_the_published_numbers_are_the_defaults_and_reach_the_pipeline() -> None:
    options = DocumentsOptions()
    assert (options.beta, options.k_seed, options.k_modality, options.num_entities) == (0.1, 5, 2, 1)
    made = DocumentsOptions(k_modality=3, num_entities=4, floor=0.2, include_seed=True).pipeline
    assert (made.k_modality, made.num_entities, made.floor, made.include_seed) == (3, 4, 0.2, True)
