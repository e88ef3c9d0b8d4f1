import importlib
import itertools
import json
import math
import random
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from proctor.errors import MissingExtraError
from proctor.metrics import bert_score as encoder_module
from proctor.metrics.bert_score import (
    LAYERS,
    METRICS,
    Baseline,
    BertEncoder,
    EncodedText,
    Match,
    bert_score,
    default_layer,
    greedy_match,
    inverse_document_frequency,
    load_bert_encoder,
    read_baseline,
    rescale,
)
from proctor.metrics.errors import MetricInputError

E1, E2, E3 = np.eye(3)


def installed(name):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ImportError:
        pytest.skip(
            f"needs the package {name} (extra 'bertscore'): pip install torch transformers bert-score"
        )


# -- the core, in NumPy ----------------------------------------------------------------------------------------


def test_match_perfect_none_and_golden():
    assert greedy_match([E1, E2], [E2, 5 * E1]) == Match(1.0, 1.0, 1.0)
    assert greedy_match([E1], [E2]) == Match(0.0, 0.0, 0.0)
    match = greedy_match([E1, E2], [E1])
    assert (match.precision, match.recall, match.f1) == (1.0, 0.5, pytest.approx(2 / 3))


def test_match_weights():
    match = greedy_match([E1, E2], [E1, E3], reference_weights=[3, 1], candidate_weights=[1, 0])
    assert (match.precision, match.recall) == (1.0, 0.75)
    found = greedy_match([E1, E2], [E2], reference_weights=[1, 0])
    assert (found.precision, found.recall) == (1.0, 0.0)  # a token of weight 0 can be found


def test_match_negative_cosines_are_kept():
    assert greedy_match([E1], [-E1]) == Match(-1.0, -1.0, 0.0)


def test_match_empty():
    assert greedy_match([], [E1]) == Match(0.0, 0.0, 0.0)
    assert greedy_match(np.zeros((0, 3)), []) == Match(0.0, 0.0, 0.0)
    assert greedy_match([E1], [E1], reference_weights=[0]) == Match(0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([E1], [[1.0, 2.0]]), {}, "3 and 2 dimensions"),
        (([[0.0, 0.0]], [[1.0, 0.0]]), {}, "token 0 has length 0"),
        (([[1.0, math.nan]], [[1.0, 0.0]]), {}, "token 0 has length nan"),
        (([1.0, 2.0], [[1.0]]), {}, "tokens, dimensions"),
        (([E1], [E1]), {"reference_weights": [1, 2]}, "weights of shape"),
        (([E1], [E1]), {"candidate_weights": [-1]}, "not negative"),
        (([E1], [E1]), {"candidate_weights": [math.nan]}, "finite"),
    ],
)
def test_match_invalid(arguments, options, message):
    with pytest.raises(MetricInputError, match=message):
        greedy_match(*arguments, **options)


def vectors():
    shape = st.tuples(st.integers(1, 5), st.just(3))
    table = arrays(np.float64, shape, elements=st.integers(-3, 3).map(float))
    return table.filter(lambda t: t.any(axis=1).all())


@given(vectors(), vectors(), st.randoms())
def test_match_by_definition(a, b, rng):
    weights = [rng.randint(1, 3) for _ in a]
    cosine = [[x @ y / math.sqrt((x @ x) * (y @ y)) for y in b] for x in a]
    recall = sum(w * max(row) for w, row in zip(weights, cosine, strict=True)) / sum(weights)
    precision = sum(max(row[j] for row in cosine) for j in range(len(b))) / len(b)
    match = greedy_match(a, b, reference_weights=weights)
    assert (match.precision, match.recall) == pytest.approx((precision, recall), abs=1e-9)
    back = greedy_match(b, a, candidate_weights=weights)
    assert (back.precision, back.recall, back.f1) == pytest.approx((recall, precision, match.f1), abs=1e-9)
    order = list(range(len(b)))
    rng.shuffle(order)
    moved = greedy_match(a, 2 * b[order], reference_weights=weights)
    assert moved.f1 == pytest.approx(match.f1, abs=1e-9)
    assert -1 <= match.recall <= 1


def test_inverse_document_frequency():
    weights, unseen = inverse_document_frequency([[1, 2, 2], [1, 3]])
    assert weights == {1: 0.0, 2: math.log(3 / 2), 3: math.log(3 / 2)}
    assert unseen == math.log(3)
    assert inverse_document_frequency([]) == ({}, 0.0)


def test_rescale_moves_the_baseline_to_zero_and_keeps_one():
    base = Baseline(0.8, 0.6, 0.5)
    assert rescale(Match(0.8, 0.6, 0.5), base) == Match(0.0, 0.0, 0.0)
    assert rescale(Match(1.0, 1.0, 1.0), base) == Match(1.0, 1.0, 1.0)
    assert rescale(Match(0.7, 0.8, 0.75), base) == Match(*map(pytest.approx, (-0.5, 0.5, 0.5)))


def test_read_baseline(tmp_path):
    path = tmp_path / "base.tsv"
    path.write_text("LAYER,P,R,F\n0,0.3,0.3,0.3\n1,0.5,0.6,0.7\n")
    assert read_baseline(path, 1) == Baseline(0.5, 0.6, 0.7)
    with pytest.raises(MetricInputError, match="no layer 2"):
        read_baseline(path, 2)
    for text in (
        "",
        "LAYER,P\n1,0.5\n",
        "LAYER,P,R,F\n1,x,0,0\n",
        "LAYER,P,R,F\n1,1,0,0\n",
        "LAYER,P,R,F\n1,0\n",
    ):
        path.write_text(text)
        with pytest.raises(MetricInputError, match="baseline"):
            read_baseline(path, 1)
    with pytest.raises(MetricInputError, match="FileNotFoundError"):
        read_baseline(tmp_path / "none", 1)


@pytest.mark.parametrize(
    ("names", "layer"),
    [
        (("microsoft/deberta-xlarge-mnli",), 40),
        (("", "/models/roberta-large"), 17),
        (("/hub/models--bert-base-uncased/snapshots/abc",), 9),
        (("/hub/models--microsoft--deberta-xlarge-mnli/snapshots/abc",), 40),
        (("mine", "/models/other"), None),
    ],
)
def test_default_layer(names, layer):
    assert default_layer(*names) == layer


# -- the whole, with an encoder made by hand -------------------------------------------------------------------


def toy_encoder(calls=None):
    """Letters are tokens with a fixed vector each; 0 marks beginning and end."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(200, 4)).astype(np.float32)

    def tokenise(text):
        letters = [ord(c) for c in text if c != " "]
        return (0, *letters[:6], 0), len(letters) > 6

    def run(batch):
        if calls is not None:
            calls.append([len(ids) for ids in batch])
        return [table[list(ids)] for ids in batch]

    return BertEncoder("toy", 1, frozenset({0}), tokenise, run, note="made by hand")


def test_score_with_a_hand_made_encoder():
    scores = bert_score(["ab", ["cd", "ab"], "ab"], ["ab", "ba", ""], toy_encoder())
    assert [m.f1 for m in scores.matches] == pytest.approx([1.0, 1.0, 0.0])
    assert scores.parameters["layer"] == "1"
    assert scores.note == "made by hand"
    assert bert_score([], [], toy_encoder()).matches == ()


def test_score_ignores_the_order_of_pairs_and_the_batch():
    rng = random.Random(0)
    pairs = [
        ("".join(rng.choices("abcdef", k=rng.randint(1, 6))), "".join(rng.choices("abcdef", k=3)))
        for _ in range(70)
    ]
    expected = dict(zip(pairs, bert_score(*zip(*pairs, strict=True), toy_encoder()).matches, strict=True))
    rng.shuffle(pairs)
    found = bert_score(*zip(*pairs, strict=True), toy_encoder(), batch=1).matches
    assert dict(zip(pairs, found, strict=True)) == expected


def test_batches_are_small_and_of_like_length():
    calls = []
    bert_score(["a" * (1 + i % 5) + chr(98 + i) for i in range(20)], ["b"] * 20, toy_encoder(calls), batch=4)
    assert max(map(len, calls)) <= 4
    assert all(lengths == sorted(lengths) for lengths in calls)


def test_idf_counts_documents_once_and_refuses_when_nothing_weighs():
    scores = bert_score(["ab", "ac"], ["ab", "ac"], toy_encoder(), idf=True)
    assert [m.f1 for m in scores.matches] == pytest.approx([1.0, 1.0])
    assert scores.parameters["weights"] == "idf"
    with pytest.raises(MetricInputError, match="without idf"):
        bert_score(["ab"], ["ab"], toy_encoder(), idf=True)


def test_cut_texts_are_counted():
    assert bert_score(["abcdefgh"], ["ab"], toy_encoder()).truncated == 1


@pytest.mark.parametrize(
    ("references", "candidates", "message"),
    [
        (["a"], [], "1 items for 0 candidates"),
        ([[]], ["a"], "candidate 0 has no reference"),
        (["a"], [None], "item 0: a text is wanted, got None"),
        ([[3]], ["a"], "item 0: a text is wanted, got 3"),
        ("a", ["a"], "lists of texts"),
    ],
)
def test_score_invalid(references, candidates, message):
    with pytest.raises(MetricInputError, match=message):
        bert_score(references, candidates, toy_encoder())
    with pytest.raises(MetricInputError, match="batch"):
        bert_score(["a"], ["a"], toy_encoder(), batch=0)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(MetricInputError, match=r"no folder .*nothing is downloaded"):
        bert_score(["a"], ["a"], tmp_path / "microsoft" / "deberta")
    with pytest.raises(MetricInputError, match=r"no config\.json"):
        bert_score(["a"], ["a"], tmp_path)


def test_a_missing_package_names_the_extra(tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"'torch'(?s:.*)proctor-bench\[bertscore\]"):
        load_bert_encoder(tmp_path)


def test_the_module_needs_no_torch():
    """Importing and matching must not import the heavy packages."""
    code = (
        "import sys\nsys.modules['torch'] = sys.modules['transformers'] = None\n"
        "from proctor.metrics.bert_score import greedy_match\n"
        "assert greedy_match([[1.0, 0.0]], [[1.0, 0.0]]).f1 == 1.0"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# -- a real model, tiny and random -----------------------------------------------------------------------------

WORDS = ["add", "the", "salt", "milk", "pour", "stir", "eggs", "heat", "pan", "##s", "##ing", ",", ".", "un"]
SENTENCES = [
    ("add the salt", "add salt."),
    ("pour the milk, stir", "stirs the milk"),
    ("heat the pan", "heat the pan"),
    ("heating eggs in the pan for a long time .", "eggs"),
    ("unheats", "pour the milk pour the milk pour the milk"),
    ("stir", "heat"),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A BERT of three layers with random weights, as ``save_pretrained`` writes it."""
    torch, transformers = installed("torch"), installed("transformers")
    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    folder.mkdir()
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt"), model_max_length=32).save_pretrained(
            folder
        )
        transformers.BertModel(config).save_pretrained(folder)
    return folder


def package_scores(folder, references, candidates, **options):
    """What the package ``bert-score`` says about the same model."""
    package = installed("bert_score")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = package.score(
                candidates,
                references,
                model_type=str(folder),
                use_fast_tokenizer=True,
                device="cpu",
                nthreads=0,
                **options,
            )
        except (AttributeError, TypeError, ImportError) as error:
            pytest.skip(f"bert-score does not run with this transformers: {error!r}")
    return np.stack([part.numpy() for part in found], axis=1)


def ours(scores):
    return np.array([[m.precision, m.recall, m.f1] for m in scores.matches])


@pytest.mark.parametrize("layer", [1, 2, 3])
@pytest.mark.parametrize("idf", [False, True])
def test_equals_the_package(model, layer, idf):
    references, candidates = map(list, zip(*SENTENCES, strict=True))
    expected = package_scores(model, references, candidates, num_layers=layer, idf=idf)
    scores = bert_score(references, candidates, model, layer=layer, idf=idf, batch=2)
    assert ours(scores) == pytest.approx(expected, abs=2e-5)
    assert ours(scores)[2] == pytest.approx(1.0, abs=1e-6)


def test_equals_the_package_with_several_references_and_a_baseline(model, tmp_path):
    references = [["add the salt", "stir"], ["heat the pan"], ["milk", "eggs", "pour the milk"]]
    candidates = ["stirs", "heat", "pour milk"]
    expected = package_scores(model, references, candidates, num_layers=2)
    scores = bert_score(references, candidates, model, layer=2)
    assert ours(scores)[:, 2] == pytest.approx(expected[:, 2], abs=2e-5)
    path = tmp_path / "base.tsv"
    path.write_text("LAYER,P,R,F\n0,0.1,0.1,0.1\n1,0.2,0.2,0.2\n2,0.3,0.25,0.28\n3,0.4,0.4,0.4\n")
    flat = [r[0] for r in references]
    raw = ours(bert_score(flat, candidates, model, layer=2))
    scaled = ours(bert_score(flat, candidates, model, layer=2, baseline=path))
    assert scaled == pytest.approx((raw - [0.3, 0.25, 0.28]) / (1 - np.array([0.3, 0.25, 0.28])))
    installed("pandas")
    there = package_scores(
        model, flat, candidates, num_layers=2, rescale_with_baseline=True, baseline_path=str(path), lang="en"
    )
    assert scaled == pytest.approx(there, abs=5e-5)


def test_layers_of_the_package():
    package = installed("bert_score").utils.model2layers
    known = {name.rsplit("/", 1)[-1].lower(): layer for name, layer in package.items()}
    assert {name: known[name] for name in LAYERS} == dict(LAYERS)


def test_batches_and_padding_change_nothing(model):
    references, candidates = map(list, zip(*SENTENCES, strict=True))
    whole = ours(bert_score(references, candidates, model, batch=64))
    single = ours(bert_score(references, candidates, model, batch=1))
    assert whole == pytest.approx(single, abs=1e-5)
    turned = ours(bert_score(references[::-1], candidates[::-1], model, batch=64))
    assert (turned[::-1] == whole).all()


def test_reading_a_model(model):
    encoder = load_bert_encoder(model)
    assert encoder.layer == 3
    assert "last one" in encoder.note
    assert encoder.name.startswith("tiny-bert@")
    assert encoder.name == load_bert_encoder(model).name
    ids, cut = encoder.tokenise("heat " * 100)
    assert (len(ids), cut) == (32, True)
    text = encoder.encode(["salt", ""])["salt"]
    assert isinstance(text, EncodedText)
    assert text.vectors.shape == (3, 16)
    scores = bert_score(["", "salt", ""], ["salt", "  ", ""], encoder)
    assert [m.f1 for m in scores.matches] == [0.0, 0.0, 0.0]
    assert scores.truncated == 0


def test_layer_zero_has_no_context(model):
    encoder = load_bert_encoder(model, layer=0)
    found = encoder.encode(["salt milk", "salt pan"])
    assert (found["salt milk"].vectors[1] == found["salt pan"].vectors[1]).all()


def test_layers_out_of_range(model):
    for layer in (4, -1, True):
        with pytest.raises(MetricInputError, match="layers 0 to 3"):
            load_bert_encoder(model, layer=layer)


def test_broken_models_are_named(model, tmp_path):
    transformers = installed("transformers")
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "config.json").write_text(json.dumps({"model_type": "no such model"}))
    with pytest.raises(MetricInputError, match="cannot be loaded"):
        load_bert_encoder(broken)
    partial = tmp_path / "partial"
    partial.mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (partial / name).write_bytes((model / name).read_bytes())
    config = transformers.BertConfig.from_pretrained(model)
    config.num_hidden_layers = 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        transformers.BertModel(config).save_pretrained(partial)
    config.num_hidden_layers = 3
    config.save_pretrained(partial)
    with pytest.raises(MetricInputError, match=r"lacks \d+ weights, encoder\.layer\.2"):
        load_bert_encoder(partial)


def test_entries_of_the_catalogue():
    assert [m.name for m in METRICS] == ["bert_score"]
    assert list(itertools.chain([m.family for m in METRICS])) == ["answer"]


@pytest.mark.parametrize("kind", ["Roberta", "Deberta", "DistilBert"])
def test_cutting_off_upper_layers_changes_nothing(kind):
    """Other builds than BERT: the published model is a DeBERTa."""
    torch, transformers = installed("torch"), installed("transformers")
    sizes = {"vocab_size": 30, "hidden_size": 8, "num_hidden_layers": 3, "num_attention_heads": 2}
    if kind == "DistilBert":
        sizes = {"vocab_size": 30, "dim": 8, "n_layers": 3, "n_heads": 2, "hidden_dim": 16}
    more = {"relative_attention": True, "pos_att_type": "c2p|p2c"} if kind == "Deberta" else {}
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = getattr(transformers, f"{kind}Config")(**sizes, **more)
        network = getattr(transformers, f"{kind}Model")(config).eval()
        batch = [[5, 6, 7, 8], [9, 10]]
        whole = [encoder_module._run(torch, network, batch, layer, 1, "cpu") for layer in range(4)]
        for layer in (2, 1):
            network = encoder_module._without_layers_above(network, layer)
            for a, b in zip(
                encoder_module._run(torch, network, batch, layer, 1, "cpu"), whole[layer], strict=True
            ):
                assert a == pytest.approx(b, abs=1e-6)


def test_every_pair_is_reported():
    done = []
    bert_score(["ab", ["cd", "ab"]], ["ab", "ba"], toy_encoder(), step=lambda: done.append(1))
    assert len(done) == 3


def test_a_device_that_does_not_exist_is_named(model):
    with pytest.raises(MetricInputError, match="device exists"):
        load_bert_encoder(model, device="abacus")


@pytest.fixture(scope="module")
def roberta(tmp_path_factory):
    """Makes a tiny RoBERTa whose tokenizer was saved with or without the space before the first word."""
    torch, transformers, tokenizers = installed("torch"), installed("transformers"), installed("tokenizers")

    def make(prefix):
        folder = tmp_path_factory.mktemp("models") / "tiny-bpe"
        folder.mkdir()
        words = [text for pair in SENTENCES for text in pair]
        marks = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
        learner = tokenizers.ByteLevelBPETokenizer()
        learner.train_from_iterator(
            words * 3, vocab_size=300, min_frequency=1, special_tokens=marks, show_progress=False
        )
        learner.save_model(str(folder))
        torch.manual_seed(0)
        config = transformers.RobertaConfig(
            vocab_size=320,
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=42,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            transformers.RobertaTokenizerFast(
                vocab=str(folder / "vocab.json"),
                merges=str(folder / "merges.txt"),
                add_prefix_space=prefix,
                model_max_length=40,
            ).save_pretrained(folder)
            transformers.RobertaModel(config).save_pretrained(folder)
        return folder

    return make


def test_roberta_reads_the_first_word_as_inside_of_a_text(roberta):
    """As the published numbers do; a package on transformers 5 does so only if the tokenizer was saved like that."""
    references, candidates = map(list, zip(*SENTENCES, strict=True))
    with_space, without = roberta(True), roberta(False)
    scores = ours(bert_score(references, candidates, with_space, layer=1))
    assert ours(bert_score(references, candidates, without, layer=1)) == pytest.approx(scores, abs=1e-6)
    assert scores == pytest.approx(package_scores(with_space, references, candidates, num_layers=1), abs=2e-5)
    encoder = load_bert_encoder(without, layer=1)
    assert (
        encoder.tokenise("salt")[0][1:-1]
        == encoder.tokenise("add salt")[0][-1 - len(encoder.tokenise("salt")[0][1:-1]) : -1]
    )
