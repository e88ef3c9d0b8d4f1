"""BERTScore: each token of one text finds its nearest token of the other, by the cosine of contextual vectors.

Conventions: precision is the weighted mean, over the tokens of the candidate, of the best cosine with a token of the
reference; recall the same over the tokens of the reference; F1 their harmonic mean. Beginning and end marks ([CLS],
[SEP]) weigh nothing, but can be found by other tokens: so does the published implementation, on which its numbers
stand. Weights are 1, or inverse document frequencies counted on the references. A text without tokens scores 0.

The numbers depend on the model, its layer, the tokenizer, and on rescaling: all of them are in the signature. The
model is a folder on this machine; nothing is ever downloaded. ``greedy_match`` needs NumPy only and takes vectors of
any origin; ``bert_score`` needs the packages of the extra ``bertscore`` (torch, transformers), imported when called.

Differences from the package ``bert-score`` 0.3.13: cosines below 0 are kept (there the best one of a padded row is at
least 0); of several references the one with the best F1 gives all three values (there each value takes its own best);
RoBERTa's first word is read as inside of a text, as in the published numbers (with transformers 5 the package loses
that space without a word, which moves its values; given a tokenizer that keeps it, both agree).

References: Zhang et al. 2020; SMMQG (microsoft/deberta-xlarge-mnli, F1).
"""

from __future__ import annotations

import csv
import hashlib
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.errors import MissingExtraError
from proctor.metrics.catalogue import Entries
from proctor.metrics.errors import MetricInputError

__all__ = [
    "LAYERS",
    "METRICS",
    "Baseline",
    "BertEncoder",
    "BertScores",
    "EncodedText",
    "Floats",
    "Match",
    "bert_score",
    "default_layer",
    "greedy_match",
    "inverse_document_frequency",
    "load_bert_encoder",
    "read_baseline",
    "rescale",
]


# Greedy matching of token vectors, and the weights of tokens: NumPy only.

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Match:
    """Precision, recall and F1 of one pair of texts; -1 to 1, or below after rescaling."""

    precision: float
    recall: float
    f1: float


def greedy_match(
    reference_vectors: ArrayLike,
    candidate_vectors: ArrayLike,
    *,
    reference_weights: ArrayLike | None = None,
    candidate_weights: ArrayLike | None = None,
) -> Match:
    """Match the tokens of two texts greedily by cosine.

    Args:
        reference_vectors: shape (tokens, dimensions), not all 0 in a row; any lengths.
        candidate_vectors: shape (tokens, dimensions).
        reference_weights: shape (tokens,), not negative; all 1 when not given. A token of weight 0 counts nothing,
            but other tokens can find it.
        candidate_weights: shape (tokens,).

    Returns:
        The three values. All are 0 when a text has no token with a weight. F1 is 0 when precision or recall is not
        positive, because no harmonic mean is defined there.

    Raises:
        MetricInputError: if shapes do not fit, a number is not finite, a row has length 0, or a weight is negative.

    Reference: Zhang et al. 2020, section 3.
    """
    a, b = _unit(reference_vectors, "reference"), _unit(candidate_vectors, "candidate")
    wa, wb = (
        _weights(reference_weights, len(a), "reference"),
        _weights(candidate_weights, len(b), "candidate"),
    )
    if not wa.sum() or not wb.sum():
        return Match(0.0, 0.0, 0.0)
    if a.shape[1] != b.shape[1]:
        raise MetricInputError(f"vectors of {a.shape[1]} and {b.shape[1]} dimensions cannot be compared")
    cosines = np.clip(a @ b.T, -1.0, 1.0)
    recall = float(cosines.max(axis=1) @ wa / wa.sum())
    precision = float(cosines.max(axis=0) @ wb / wb.sum())
    f1 = 2 * precision * recall / (precision + recall) if precision > 0 and recall > 0 else 0.0
    return Match(precision, recall, f1)


def _unit(vectors: ArrayLike, what: str) -> Floats:
    table = np.asarray(vectors, dtype=np.float64)
    if not table.size:
        return np.zeros((0, table.shape[-1] if table.ndim == 2 else 0))
    if table.ndim != 2:
        raise MetricInputError(f"{what}: vectors of shape (tokens, dimensions) are wanted, got {table.shape}")
    length = np.linalg.norm(table, axis=1, keepdims=True)
    bad = np.flatnonzero(~np.isfinite(length) | (length == 0))
    if bad.size:
        raise MetricInputError(f"{what}: the vector of token {bad[0]} has length {length[bad[0], 0]:g}")
    unit: Floats = table / length
    return unit


def _weights(weights: ArrayLike | None, tokens: int, what: str) -> Floats:
    if weights is None:
        return np.ones(tokens)
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (tokens,):
        raise MetricInputError(f"{what}: {tokens} tokens have weights of shape {values.shape}")
    if not np.isfinite(values).all() or (values < 0).any():
        raise MetricInputError(f"{what}: weights must be finite and not negative")
    return values


def inverse_document_frequency(documents: Sequence[Sequence[int]]) -> tuple[dict[int, float], float]:
    """Weigh tokens by how few texts hold them: ln((N + 1) / (n + 1)) of N texts, n of which hold the token.

    Args:
        documents: token ids of each reference text.

    Returns:
        Weights by token id, and the weight of a token that no text holds, ln(N + 1).

    Reference: Zhang et al. 2020, section 3 (plus-one smoothing).
    """
    n = len(documents)
    counts = Counter(token for document in documents for token in set(document))
    return {token: math.log((n + 1) / (count + 1)) for token, count in counts.items()}, math.log(n + 1)


# Rescaling by the values of unrelated sentences.


@dataclass(frozen=True, slots=True)
class Baseline:
    """Values of unrelated sentences, which rescaling moves to 0 (1 stays 1); one for each of the three values."""

    precision: float
    recall: float
    f1: float


def rescale(match: Match, baseline: Baseline) -> Match:
    """Move each value so that its baseline becomes 0 and 1 stays 1; F1 by its own baseline, as published."""
    return Match(
        (match.precision - baseline.precision) / (1 - baseline.precision),
        (match.recall - baseline.recall) / (1 - baseline.recall),
        (match.f1 - baseline.f1) / (1 - baseline.f1),
    )


def read_baseline(path: Path, layer: int) -> Baseline:
    """Read the baseline of a layer from a file as published: a heading ``LAYER,P,R,F``, one line a layer.

    Raises:
        MetricInputError: if the file cannot be read, has another form, or lacks the layer.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(file)]
        found = next((row for row in rows if row["LAYER"] == layer), None)
        values = None if found is None else [found[key] for key in ("P", "R", "F")]
    except (OSError, KeyError, TypeError, ValueError, AttributeError, csv.Error) as error:
        raise MetricInputError(
            f"the baseline {path} cannot be read ({type(error).__name__}: {error})",
            "a table with the columns LAYER,P,R,F is wanted",
        ) from None
    if values is None:
        raise MetricInputError(f"the baseline {path} has no layer {layer}, only {len(rows)} others")
    if not all(math.isfinite(v) and v < 1 for v in values):
        raise MetricInputError(f"the baseline {path} must be below 1 at layer {layer}, got {values}")
    return Baseline(*values)


# A local model that gives each token of a text its vector.

_BEST_LAYERS: Final = """
    albert-xxlarge-v2 8, bart-base 6, bart-large 10, bart-large-mnli 11, bert-base-chinese 8,
    bert-base-multilingual-cased 9, bert-base-uncased 9, bert-large-uncased 18, deberta-base 9,
    deberta-base-mnli 9, deberta-large 16, deberta-large-mnli 18, deberta-v2-xlarge-mnli 17,
    deberta-v2-xxlarge-mnli 22, deberta-v3-base 9, deberta-v3-large 12, deberta-v3-small 4,
    deberta-v3-xsmall 10, deberta-xlarge 18, deberta-xlarge-mnli 40, distilbert-base-uncased 5,
    distilroberta-base 5, mdeberta-v3-base 10, mpnet-base 8, roberta-base 10, roberta-large 17,
    roberta-large-mnli 19, xlm-roberta-base 9, xlm-roberta-large 17
    """
LAYERS: Final[Mapping[str, int]] = {
    model: int(layer) for model, layer in (line.split() for line in _BEST_LAYERS.split(","))
}
"""The layer that agreed best with people on WMT16, by the last part of the model's name (published with the package)."""

_PREFIXED: Final = frozenset({"roberta", "gpt2"})
"""Kinds of models whose tokenizer needs a space before the first word, to see it as inside of a text."""
_SHIFTED: Final = frozenset({"roberta", "xlm-roberta", "camembert", "longformer", "mpnet"})
"""Kinds of models that spend the first two positions on padding."""
_EXTRA: Final = "bertscore"
_FINGERPRINT_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class EncodedText:
    """Token ids of a text, marks of beginning and end included, and their vectors, shape (tokens, dimensions)."""

    ids: tuple[int, ...]
    vectors: NDArray[np.float32]


class BertEncoder:
    """A local model that gives each token of a text its vector; made by ``load_bert_encoder``.

    Args:
        name: of the model, for the signature.
        layer: from which the vectors are taken; 0 is the embedding before the first one.
        marks: ids of beginning and end marks, which weigh nothing.
        tokenise: text to token ids, cut to what the model takes, and whether it was cut.
        run: batch of token ids of any lengths to vectors of each.
        note: what to beware of.
    """

    def __init__(
        self,
        name: str,
        layer: int,
        marks: frozenset[int],
        tokenise: Callable[[str], tuple[tuple[int, ...], bool]],
        run: Callable[[Sequence[Sequence[int]]], list[NDArray[np.float32]]],
        note: str = "",
    ) -> None:
        self.name = name
        self.layer = layer
        self.marks = marks
        self.tokenise = tokenise
        self.run = run
        self.note = note

    def encode(self, texts: Sequence[str], *, batch: int = 64) -> dict[str, EncodedText]:
        """Return ids and vectors of each different text; the order of the texts changes nothing."""
        ids = {text: self.tokenise(text)[0] for text in set(texts)}
        ordered = sorted(ids, key=lambda text: (len(ids[text]), text))
        out: dict[str, EncodedText] = {}
        for first in range(0, len(ordered), batch):
            chosen = ordered[first : first + batch]
            vectors = self.run([ids[text] for text in chosen])
            out.update((t, EncodedText(ids[t], v)) for t, v in zip(chosen, vectors, strict=True))
        return out


def default_layer(*names: str) -> int | None:
    """Return the layer tuned for a model, by its name or the path it lies at; None when it is not known."""
    for name in names:
        for part in reversed(Path(name).parts):
            if (layer := LAYERS.get(part.rsplit("--", 1)[-1].lower())) is not None:
                return layer
    return None


def load_bert_encoder(model: Path, *, layer: int | None = None, device: str = "cpu") -> BertEncoder:
    """Load a model from a folder as ``save_pretrained`` writes it.

    Args:
        model: folder with ``config.json``, weights and tokenizer; nothing is downloaded, no code of the folder is run.
        layer: whose vectors are used; by default the tuned one of a known model, else the last.
        device: of torch, ``cpu`` or ``cuda``.

    Raises:
        MissingExtraError: if torch or transformers is not installed.
        MetricInputError: if the folder is no such model, lacks weights, or the layer does not exist.
    """
    _require_folder(model)
    torch, transformers = _package("torch"), _package("transformers")
    with _explained(model):
        config = transformers.AutoConfig.from_pretrained(str(model), local_files_only=True)
        prefix = {"add_prefix_space": True} if config.model_type in _PREFIXED else {}
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(model), local_files_only=True, **prefix)
        network = _load_network(transformers, model)
    depth = int(config.num_hidden_layers)
    tuned = default_layer(str(getattr(config, "_name_or_path", "")), str(model))
    if layer is None and tuned is not None and tuned <= depth:
        layer = tuned
    note = "" if layer is not None else f"the tuned layer of {model.name} is not known: the last one is used"
    layer = depth if layer is None else layer
    if isinstance(layer, bool) or not 0 <= layer <= depth:
        raise MetricInputError(f"{model.name} has the layers 0 to {depth}, asked for {layer}")
    with _explained(model):
        network = _without_layers_above(network, layer).to(device).eval()
    limit = _longest(tokenizer, config)
    marks = frozenset(i for i in (tokenizer.cls_token_id, tokenizer.sep_token_id) if i is not None)

    def tokenise(text: str) -> tuple[tuple[int, ...], bool]:
        whole = tokenizer(text.strip(), add_special_tokens=True, truncation=False, verbose=False)["input_ids"]
        if limit is None or len(whole) <= limit:
            return tuple(whole), False
        cut = tokenizer(text.strip(), add_special_tokens=True, truncation=True, max_length=limit)["input_ids"]
        return tuple(cut), True

    padding = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0

    def run(batch: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        return _run(torch, network, batch, layer, padding, device)

    return BertEncoder(f"{model.name}@{_fingerprint(model)}", layer, marks, tokenise, run, note)


def _require_folder(model: Path) -> None:
    hint = "give the folder of a downloaded model; nothing is downloaded here"
    if not model.is_dir():
        raise MetricInputError(f"there is no folder {model}", hint)
    if not (model / "config.json").is_file():
        raise MetricInputError(f"{model} is no model: it has no config.json", hint)


def _package(name: str) -> Any:
    """Import a package of the extra; it is typed as anything, so that type checks do not need it installed."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtraError(name, _EXTRA, "BERTScore") from None


class _explained:  # noqa: N801 (used as a function)
    """Turn what transformers says about a broken folder into an error with the folder's name."""

    def __init__(self, model: Path) -> None:
        self.model = model

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, MetricInputError | MissingExtraError):
            lines = str(error).strip().splitlines() or [""]
            raise MetricInputError(
                f"the model in {self.model} cannot be loaded ({type(error).__name__}: {lines[0][:200]})",
                "check that the folder is complete and the device exists, and load it once with transformers itself",
            ) from error


def _load_network(transformers: Any, model: Path) -> Any:
    """Load the weights; those that are not in the folder would be random numbers, and the score with them."""
    logging = transformers.utils.logging
    shown, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        network, report = transformers.AutoModel.from_pretrained(
            str(model), local_files_only=True, output_loading_info=True, dtype="float32"
        )
    finally:
        logging.set_verbosity(verbosity)
        if shown:
            logging.enable_progress_bar()
    missing = sorted(key for key in report["missing_keys"] if not key.startswith("pooler"))
    if missing:
        raise MetricInputError(
            f"the model in {model} lacks {len(missing)} weights, {missing[0]} for one",
            "give the folder of the whole model, not of a head or an adapter",
        )
    return network.get_encoder() if getattr(network.config, "is_encoder_decoder", False) else network


def _without_layers_above(network: Any, layer: int) -> Any:
    """Cut off what is not used; models of another build run whole and give the layer from their hidden states."""
    stack = getattr(getattr(network, "encoder", None), "layer", None)
    if stack is not None and 0 < layer < len(stack):
        network.encoder.layer = stack[:layer]
    return network


def _longest(tokenizer: Any, config: Any) -> int | None:
    """Tokens that the model takes, marks included; None when there is no limit."""
    stated = int(tokenizer.model_max_length)
    if stated < 10**9:
        return stated
    places = getattr(config, "max_position_embeddings", None)
    if not places or places < 0:
        return None
    return int(places) - (2 if config.model_type in _SHIFTED else 0)


def _run(
    torch: Any, network: Any, batch: Sequence[Sequence[int]], layer: int, padding: int, device: str
) -> list[NDArray[np.float32]]:
    width = max(map(len, batch))
    ids = np.full((len(batch), width), padding, dtype=np.int64)
    mask = np.zeros((len(batch), width), dtype=np.int64)
    for row, tokens in enumerate(batch):
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
    with torch.inference_mode():
        out = network(
            input_ids=torch.from_numpy(ids).to(device),
            attention_mask=torch.from_numpy(mask).to(device),
            output_hidden_states=True,
        )
    vectors = out.hidden_states[layer].float().cpu().numpy()
    return [np.array(vectors[row, : len(tokens)]) for row, tokens in enumerate(batch)]


def _fingerprint(model: Path) -> str:
    """Name the files of a folder by eight digits: names, sizes, and both ends of each, so that gigabytes take no time."""
    digest = hashlib.sha256()
    for path in sorted(model.iterdir()):
        if path.is_file() and path.suffix in {".json", ".safetensors", ".bin", ".txt", ".model"}:
            with path.open("rb") as file:
                size = path.stat().st_size
                digest.update(f"{path.name}|{size}|".encode())
                digest.update(file.read(_FINGERPRINT_BYTES))
                file.seek(max(0, size - _FINGERPRINT_BYTES))
                digest.update(file.read(_FINGERPRINT_BYTES))
    return digest.hexdigest()[:8]


# BERTScore of pairs of texts.

_CHUNK: Final = 16
"""Batches whose vectors are held in memory at a time."""


@dataclass(frozen=True, slots=True)
class BertScores:
    """Values of each pair of texts, in the order given, and what they depend on.

    Attributes:
        matches: one for each pair.
        parameters: of the signature: model with fingerprint, layer, weights, rescaling.
        truncated: texts that were longer than the model takes, and were cut.
        note: what to beware of.
    """

    matches: tuple[Match, ...]
    parameters: Mapping[str, str]
    truncated: int = 0
    note: str = ""


def bert_score(
    references: Sequence[str | Sequence[str]],
    candidates: Sequence[str],
    model: Path | str | BertEncoder,
    *,
    layer: int | None = None,
    idf: bool = False,
    baseline: Path | None = None,
    batch: int = 64,
    device: str = "cpu",
    step: Callable[[], None] | None = None,
) -> BertScores:
    """Compute BERTScore of candidates against their references with a local model.

    Args:
        references: of each candidate one text, or several alternatives: the one with the best F1 counts.
        candidates: parallel to ``references``.
        model: folder of a model, or an encoder that was loaded before (then ``layer`` and ``device`` are its own).
        layer: see ``load_bert_encoder``.
        idf: weigh tokens by inverse document frequency over all references.
        baseline: file for rescaling, see ``read_baseline``.
        batch: texts run at a time.
        device: of torch.
        step: called once per pair of texts that is done, for a progress bar.

    Returns:
        Values by pair; the order of the pairs changes nothing.

    Raises:
        MissingExtraError: if torch or transformers is not installed.
        MetricInputError: if lengths differ, a candidate has no reference, something is not a text, the model cannot
            be loaded, or all tokens of a text weigh 0 by ``idf``.

    Reference: Zhang et al. 2020; SMMQG uses microsoft/deberta-xlarge-mnli (layer 40).
    """
    pairs = _pairs(references, candidates)
    if batch < 1:
        raise MetricInputError(f"a batch has at least one text, got {batch}")
    encoder = (
        model
        if isinstance(model, BertEncoder)
        else load_bert_encoder(Path(model), layer=layer, device=device)
    )
    base = None if baseline is None else read_baseline(baseline, encoder.layer)
    tokens = {text: encoder.tokenise(text) for pair in pairs for text in pair[1:]}
    weigh = _weigher([tokens[reference][0] for _, reference, _ in pairs] if idf else None, encoder.marks)
    ordered = sorted(pairs, key=lambda p: (max(len(tokens[t][0]) for t in p[1:]), p[1:], p[0]))
    best: dict[int, Match] = {}
    size = batch * _CHUNK
    for chunk in (ordered[first : first + size] for first in range(0, len(ordered), size)):
        encoded = encoder.encode([text for pair in chunk for text in pair[1:]], batch=batch)
        for i, reference, candidate in chunk:
            match = _match(encoded[reference], encoded[candidate], weigh)
            match = match if base is None else rescale(match, base)
            if i not in best or _rank(match) > _rank(best[i]):
                best[i] = match
            if step is not None:
                step()
    return BertScores(
        matches=tuple(best[i] for i in range(len(candidates))),
        parameters={
            "layer": str(encoder.layer),
            "model": encoder.name.replace("|", "_") or "unnamed",
            "references": "best-f1",
            "rescaled": "no" if baseline is None else baseline.name.replace("|", "_"),
            "weights": "idf" if idf else "one",
        },
        truncated=sum(cut for _, cut in tokens.values()),
        note=encoder.note,
    )


def _pairs(
    references: Sequence[str | Sequence[str]], candidates: Sequence[str]
) -> list[tuple[int, str, str]]:
    if isinstance(references, str) or isinstance(candidates, str):
        raise MetricInputError(
            "references and candidates are lists of texts, got one text", "put it into a list"
        )
    if len(references) != len(candidates):
        raise MetricInputError(f"references of {len(references)} items for {len(candidates)} candidates")
    pairs = []
    for i, (given, candidate) in enumerate(zip(references, candidates, strict=True)):
        alternatives = (given,) if isinstance(given, str) else given
        if not alternatives:
            raise MetricInputError(
                f"candidate {i} has no reference", "give at least one, or leave the item out"
            )
        for reference in alternatives:
            _require_text(reference, i)
            _require_text(candidate, i)
            pairs.append((i, reference, candidate))
    return pairs


def _require_text(value: object, item: int) -> None:
    if not isinstance(value, str):
        raise MetricInputError(
            f"item {item}: a text is wanted, got {value!r}",
            "an answer that was not given has failed: leave it out",
        )


def _weigher(
    documents: Sequence[Sequence[int]] | None, marks: frozenset[int]
) -> Callable[[EncodedText], Floats]:
    known, unseen = inverse_document_frequency(documents) if documents is not None else ({}, 1.0)

    def weigh(text: EncodedText) -> Floats:
        weights = np.array([0.0 if t in marks else known.get(t, unseen) for t in text.ids])
        if documents is not None and not weights.any() and any(t not in marks for t in text.ids):
            raise MetricInputError(
                "all tokens of a text weigh 0, because every reference holds them", "score without idf"
            )
        return weights

    return weigh


def _match(reference: EncodedText, candidate: EncodedText, weigh: Callable[[EncodedText], Floats]) -> Match:
    return greedy_match(
        reference.vectors,
        candidate.vectors,
        reference_weights=weigh(reference),
        candidate_weights=weigh(candidate),
    )


def _rank(match: Match) -> tuple[float, float, float]:
    return match.f1, match.recall, match.precision


# The metrics of this family, for the catalogue.

_entry: Final = Entries("answer", "bert_score")

METRICS: Final = (
    _entry(
        "bert_score",
        "BERTScore",
        "Harmonic mean of the mean best cosine of each answer token and of each reference token.",
        range="-1 to 1; unrelated texts are far above 0 unless rescaled",
        signature="layer:40|model:deberta-xlarge-mnli@0123abcd|references:best-f1|rescaled:no|value:f1|"
        "weights:one",
        citation="Zhang et al. 2020; SMMQG",
        traps="Model, layer and rescaling change everything. SMMQG Table 7 prints tau 0.50 (p 0.11) with its judge; its "
        "own Table 6 has 8 discordant pairs: 0.4286 (p 0.179). Negation hardly lowers it.",
    ),
)
