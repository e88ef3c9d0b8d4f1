"""A local model that gives each token of a text its vector."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from proctor.errors import MissingExtraError
from proctor.metrics.errors import MetricInputError

__all__ = [
    "LAYERS",
    "BertEncoder",
    "EncodedText",
    "default_layer",
    "load_bert_encoder",
]


LAYERS: Final[Mapping[str, int]] = {
    "albert-xxlarge-v2": 8,
    "bart-base": 6,
    "bart-large": 10,
    "bart-large-mnli": 11,
    "bert-base-chinese": 8,
    "bert-base-multilingual-cased": 9,
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "deberta-base": 9,
    "deberta-base-mnli": 9,
    "deberta-large": 16,
    "deberta-large-mnli": 18,
    "deberta-v2-xlarge-mnli": 17,
    "deberta-v2-xxlarge-mnli": 22,
    "deberta-v3-base": 9,
    "deberta-v3-large": 12,
    "deberta-v3-small": 4,
    "deberta-v3-xsmall": 10,
    "deberta-xlarge": 18,
    "deberta-xlarge-mnli": 40,
    "distilbert-base-uncased": 5,
    "distilroberta-base": 5,
    "mdeberta-v3-base": 10,
    "mpnet-base": 8,
    "roberta-base": 10,
    "roberta-large": 17,
    "roberta-large-mnli": 19,
    "xlm-roberta-base": 9,
    "xlm-roberta-large": 17,
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
