"""Encoders from local folders: texts alone, pictures alone, or both in a single stream.

Features of pictures come from a network that gives a grid of them, or were made before. Source: Wu et al. 2022, Section 4.1
(RoBERTa, CLIP and ResNet, VisualBERT and CLIP-ViL).
"""

from __future__ import annotations

import inspect
import math
from pathlib import Path
from typing import Any, Final, Literal, cast

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from proctor.corpus.embed.local_models import read_config
from proctor.corpus.picture import PictureError
from proctor.errors import UserError
from proctor.learn.features.backbones import Preparation, load_library, load_pretrained, open_network
from proctor.learn.sequencing.encoder import Description, Tokenizer, Tower
from proctor.learn.sequencing.encoders.stream import Patches, Places, Reader, SingleStream, Transformer
from proctor.learn.sequencing.encoders.tokenizers import FolderTokenizer
from proctor.learn.sequencing.inputs import picture_file
from proctor.learn.sequencing.training import Protocol

__all__ = ["image_encoder", "open_pictures", "text_encoder"]

_WIDEST: Final = 768
"""Of encoders of pictures alone, as in the paper's code."""
_CELLS: Final = 25
"""Rows and columns that have embeddings in CLIP-ViL."""
_IMAGENET: Final = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


class _Network(Tower):
    """The last grid of a network: tokens of a vision transformer without its class token, or maps of a ResNet.

    Normalisation over batches stays as it was learned, so that what is seen of a picture does not depend on the others.
    """

    def __init__(self, network: Any, preparation: Preparation, protocol: Protocol) -> None:
        super().__init__()
        self.network = getattr(network, "vision_model", network)
        if isinstance(getattr(network, "fc", None), nn.Linear):  # of torchvision, which gives classes alone
            maps = [layer for name, layer in network.named_children() if name not in ("avgpool", "fc")]
            self.network = nn.Sequential(*maps)
        size = preparation.crop or preparation.size
        self.pixels = high, wide = size if isinstance(size, tuple) else (size, size)
        # The paper's code takes the colours of ImageNet for every network.
        self.normal(*(_IMAGENET if protocol == "code" else (preparation.mean, preparation.std)))
        patch = getattr(getattr(self.network, "config", None), "patch_size", None)
        embedding = getattr(self.network, "patch_embed", None)  # of timm
        self.cells = tuple(getattr(embedding, "grid_size", (0, 0)))
        if isinstance(patch, int):
            self.cells = high // patch, wide // patch
        self.eval()
        with torch.no_grad():
            found = self._run(torch.zeros(1, 3, high, wide))
        self.features, self.cells = found.shape[3], (found.shape[1], found.shape[2])

    def train(self, mode: bool = True) -> _Network:
        super().train(mode)
        for module in self.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                module.eval()
        return self

    def forward(self, images: Tensor) -> Tensor:
        return self._run(self.normalised(images)).flatten(1, 2)

    def _run(self, pixels: Tensor) -> Tensor:
        """Return features, shape [M, rows, columns, v]."""
        network = self.network
        if hasattr(network, "config"):
            found: Tensor = network(pixel_values=pixels).last_hidden_state
        else:
            found = getattr(network, "forward_features", network)(pixels)
        if found.ndim == 4:  # channels come first but in the Swin family of timm
            return found if getattr(network, "output_fmt", "") == "NHWC" else found.permute(0, 2, 3, 1)
        high, wide = self.cells
        if not 0 < high * wide <= found.shape[1]:  # patches that the network has merged
            high, wide = _grid(found.shape[1])
        return found[:, found.shape[1] - high * wide :].reshape(len(found), high, wide, -1)


class _Grids(Tower):
    """Features of pictures that were made before: an ``.npy`` file for each, of rows, or rows and columns, of v numbers.

    ``a/b.jpg`` has its features in ``a/b.npy`` or ``a/b.jpg.npy``. Where a picture has fewer rows than others (regions that a
    detector found), its first row, of the whole picture, fills the gap.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder, self.read = folder, self._read
        shapes = {_array(file).shape for file in sorted(folder.rglob("*.npy"))}
        widths = {shape[-1:] for shape in shapes}
        if len(widths) != 1 or not all(len(shape) in (2, 3) and min(shape) > 0 for shape in shapes):
            raise UserError(
                "its features are not of one width." if shapes else "there are no features.",
                where=str(folder),
                hint="give .npy files of rows (w, v) or of a grid (rows, columns, v), all of one model",
            )
        ((self.features,),) = widths
        whole: tuple[int, ...] = next(iter(shapes))[:-1] if len(shapes) == 1 else ()
        most = max(math.prod(shape[:-1]) for shape in shapes)
        self.cells = (whole[0], whole[1]) if len(whole) == 2 else _grid(most)

    def _read(self, name: str) -> Tensor:
        """Return the features of a picture, shape [w, v], or raise a PictureError."""
        picture = Path(name)
        file = picture_file(self.folder, f"{name}.npy", f"{picture.parent / picture.stem}.npy")
        rows = torch.from_numpy(np.array(_array(file), np.float32)).flatten(0, -2)
        if not bool(rows.isfinite().all()):
            raise PictureError("unreadable", "its features are not finite", name)
        return torch.cat([rows, rows[:1].expand(self.cells[0] * self.cells[1] - len(rows), -1)])


def _array(file: Path) -> NDArray[Any]:
    try:
        found: NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)
        if found.dtype.kind not in "fiu":
            raise ValueError(f"they are of the kind {found.dtype}")
    except (OSError, ValueError, EOFError) as error:
        raise UserError(f"these are no features: {error}.", where=str(file), hint="remove the file") from None
    return found


def _grid(cells: int) -> tuple[int, int]:
    """Return rows and columns: a square where it is one, else a single row."""
    side = math.isqrt(cells)
    return (side, side) if side * side == cells else (1, cells)


def open_pictures(place: str, protocol: Protocol) -> Tower:
    """Open what gives features of pictures: the folder of a network, for torchvision with ``@NAME`` behind it, or of features.

    A UserError is raised if the folder is neither, a MissingExtraError without the library.
    """
    written, _, name = place.partition("@")
    folder = Path(written).expanduser()
    if not written or not folder.is_dir():
        hint = "models are not downloaded; name a local folder"
        raise UserError("there is no such folder.", where=written, hint=hint)
    config = read_config(folder, "config.json")
    library: Literal["timm", "torchvision", "transformers"] = "torchvision"
    if "model_type" in config or "architecture" in config:
        library = "transformers" if "model_type" in config else "timm"
    elif not name:
        return _Grids(folder)
    return _Network(*open_network(library, folder, name), protocol)


class _FolderReader(Reader):
    """Gives embeddings to a transformer, which adds its own positions and segments to them, LayerNorm and dropout.

    Text has the positions that it would have alone. Pictures share one: that of padding, which is zero, where the model has such
    (RoBERTa, whose first is 2), else 0. Segments, where the model has two, tell steps apart, or texts and pictures.
    """

    def __init__(self, folder: Path, tokenizer: Tokenizer, pictures: bool) -> None:
        super().__init__()
        _, model, _ = load_pretrained(load_library("transformers"), folder, "AutoModel")
        takes = inspect.signature(model.forward).parameters
        reads = "inputs_embeds" in takes and not getattr(model.config, "is_encoder_decoder", False)
        rows, width = model.get_input_embeddings().weight.shape if reads else (0, 0)
        wrong = ""
        if not rows or width != model.config.hidden_size:
            wrong = f"a model of the kind {model.config.model_type!r} reads no texts, writes them, or is narrower at its embeddings."
        elif rows < tokenizer.size:
            wrong = f"the checkpoint is of another tokenizer: it knows {rows} tokens, the tokenizer {tokenizer.size}."
        if wrong:
            hint = "take a model of the families of BERT or RoBERTa, with its own tokenizer in the folder"
            raise UserError(wrong, where=str(folder), hint=hint)
        self.model, self.pictures, self.width = model, pictures, int(width)
        table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
        self.shared = getattr(table, "padding_idx", None) or 0
        self.first = self.shared + 1 if self.shared else 0
        self.placed = "position_ids" in takes
        self.segmented = "token_type_ids" in takes and getattr(model.config, "type_vocab_size", 0) >= 2
        self.longest = int(getattr(model.config, "max_position_embeddings", 2**31)) - self.first

    def embed(self, tokens: Tensor, groups: Tensor) -> Tensor:
        return cast(Tensor, self.model.get_input_embeddings()(tokens)[groups])

    def forward(self, rows: Tensor, present: Tensor, text: Tensor, owner: Tensor) -> Tensor:
        if rows.shape[1] > self.longest and (long := int(text.sum(1).max())) > self.longest:
            raise UserError(
                f"{long} tokens are to be encoded together, but the model has {self.longest} positions.",
                hint="encode fewer steps together, or fewer tokens of each",
            )
        given: dict[str, Tensor] = {"inputs_embeds": rows, "attention_mask": present.long()}
        if self.placed:
            places = self.first + torch.arange(rows.shape[1], device=rows.device)
            given["position_ids"] = torch.where(text, places, self.shared)
        if self.segmented:
            given["token_type_ids"] = ((~text if self.pictures else owner > 0) & present).long()
        return cast(Tensor, self.model(**given).last_hidden_state)


def text_encoder(
    folder: Path,
    description: Description,
    tower: Tower | None = None,
    places: Places = "features",
    **how: bool,
) -> SingleStream:
    """Open a transformer of texts from its folder, which may see pictures of a tower beside them; ``how`` is given to ``SingleStream``.

    A group of texts alone is its pooled [CLS] (dense, tanh), with pictures its raw [CLS]. A UserError is raised if there is none.
    """
    tokenizer = FolderTokenizer(folder)
    reader = _FolderReader(folder, tokenizer, tower is not None)
    patches = dense = None
    if tower is None:  # takes the model's own pooler out of it, where it has one
        own = getattr(getattr(reader.model, "pooler", None), "dense", None)
        reader.model.pooler = None
        dense = nn.Sequential(own or nn.Linear(reader.width, reader.width), nn.Tanh())
    else:
        cells = max(_CELLS, tower.cells[0]), max(_CELLS, tower.cells[1])
        patches = Patches(tower.features, reader.width, cells, places=places, kind=not reader.segmented)
    said = msgspec.structs.replace(description, identity=tokenizer.identity)
    return SingleStream(reader, reader.width, tokenizer, tower, patches, said, dense=dense, **how)


def image_encoder(tower: Tower, description: Description, fusion_layers: int = 2) -> SingleStream:
    """Make an encoder of pictures alone: a small transformer over [CLS] and the pictures of a group; without layers their mean."""
    width = min(_WIDEST, tower.features)
    heads = next(h for h in range(max(1, width // 64), 0, -1) if width % h == 0)
    reader = Transformer(2, width, fusion_layers, heads, 4 * width)
    patches = Patches(tower.features, width, tower.cells, normed=True)
    dense, mean = nn.Linear(width, width), fusion_layers == 0
    return SingleStream(reader, width, None, tower, patches, description, dense=dense, mean=mean)
