"""The tiny encoder and what it is given: places, spans, missing pictures, what cannot be read."""

from __future__ import annotations

import itertools
import random
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from proctor.datasets.synthetic_manuals import TASKS, make_step  # noqa: E402
from proctor.errors import UserError  # noqa: E402
from proctor.learn.sequencing.berson import BersonHead  # noqa: E402
from proctor.learn.sequencing.data import Shown  # noqa: E402
from proctor.learn.sequencing.encoder import Description, Steps  # noqa: E402
from proctor.learn.sequencing.encoders import open_encoder, rebuild  # noqa: E402
from proctor.learn.sequencing.encoders.tokenizers import WordTokenizer  # noqa: E402
from proctor.learn.sequencing.inputs import Inputs  # noqa: E402
from proctor.procedure.manual import Sequence, SequenceStep  # noqa: E402

PAIRS = torch.tensor([(a, b) for a in range(5) for b in range(5) if a != b])


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pictures")


@pytest.fixture(scope="module")
def sequences(root: Path) -> list[Sequence]:
    rng = random.Random(0)
    made: list[list[SequenceStep]] = [[] for _ in range(60)]
    for number, stage in itertools.product(range(60), range(5)):
        step, name = make_step(TASKS[number % 4], stage, rng), f"{number}-{stage}.png"
        (root / name).write_bytes(step.png)
        made[number].append(SequenceStep(str(stage), step.text, (name,)))
    return [Sequence(f"s{number}", "Some work", tuple(steps)) for number, steps in enumerate(made)]


def texts(sequences: list[Sequence]) -> list[str]:
    return [step.text for sequence in sequences for step in sequence.steps]


@pytest.mark.parametrize(("shown", "parameters"), [("text", 112_704), ("image", 104_256), ("both", 116_416)])
def test_a_group_is_encoded_alike_whoever_is_beside_it(
    sequences: list[Sequence], root: Path, shown: Shown, parameters: int
) -> None:
    encoder = open_encoder("tiny", shown, texts(sequences)).eval()
    assert sum(p.numel() for p in encoder.parameters()) == parameters
    inputs = Inputs.read(sequences, encoder, root)
    assert inputs.dropped == ()
    steps = inputs.take(inputs.rows["s3"])
    whole = encoder(steps, PAIRS)
    assert whole.pooled.shape == (20, 64)
    assert whole.span.shape == (20, 2, whole.hidden.shape[1])
    order = torch.randperm(20, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(encoder(steps, PAIRS[order]).hidden, whole.hidden[order], atol=1e-5)
    for pair in (0, 7, 19):
        alone = encoder(steps, PAIRS[pair : pair + 1])
        length = alone.hidden.shape[1]
        assert torch.allclose(alone.hidden[0], whole.hidden[pair, :length], atol=1e-5)
        assert torch.equal(alone.span[0], whole.span[pair, :, :length])
        assert not whole.span[pair, :, length:].any()
    again = rebuild(encoder.description)
    again.load_state_dict(encoder.state_dict())
    assert torch.equal(again.eval()(steps, PAIRS).hidden, whole.hidden)


def test_with_bersons_head_the_synthetic_configuration_has_267_076_parameters(
    sequences: list[Sequence],
) -> None:
    encoder = open_encoder("tiny", "both", texts(sequences))
    assert encoder.tokenizer is not None
    assert encoder.tokenizer.size == 64 + 4 + 1  # words, special ones, one bucket of unknown words
    unused = 2 * 64  # of the released head: a normalisation before the first attention
    assert sum(p.numel() for m in (encoder, BersonHead(64)) for p in m.parameters()) + unused == 267_076


def test_places_and_spans_of_both(sequences: list[Sequence], root: Path) -> None:
    encoder = open_encoder("tiny", "both", texts(sequences)).eval()
    tokens = torch.tensor([[1, 9, 9, 2], [1, 2, 0, 0], [1, 7, 2, 0]])
    steps = Steps(tokens, torch.zeros(3, 3, 8, 8), torch.tensor([True, False, True]))
    found = encoder(steps, torch.tensor([[0, 1], [1, 0], [1, 2]]))
    assert found.hidden.shape == (3, 10, 64)
    assert found.token_at.tolist()[0] == [[0, 1, 2, 3], [4, 5, -1, -1]]
    assert found.patch_at.tolist()[0] == [[6, 7, 8, 9], [-1] * 4]
    assert found.patch_at.tolist()[1] == [[-1] * 4, [6, 7, 8, 9]]
    assert found.span[0].nonzero().tolist() == [[0, p] for p in (1, 2, 3, 6, 7, 8, 9)] + [[1, 4], [1, 5]]
    assert found.span[2].nonzero().tolist() == [[0, 1], *([1, p] for p in range(2, 9))]
    assert found.patch_in.shape == (3, 4, 64)
    hidden = encoder(steps.having(masked=torch.tensor([[True, False, False, False]] * 3)), PAIRS[:1] * 0)
    assert torch.equal(hidden.patch_in, found.patch_in)  # what they were before anything was hidden
    with pytest.raises(UserError, match="6 steps are to be encoded together, but the encoder has 5 slots"):
        encoder(steps, torch.zeros(1, 6, dtype=torch.long))


@pytest.mark.parametrize(("group", "length"), [(2, 218), (5, 545)])
def test_rows_are_as_long_as_in_the_paper(group: int, length: int) -> None:
    encoder = open_encoder("tiny:28", "both", ["a a"]).eval()
    tokens = torch.full((5, 60), 4)
    tokens[:, 0], tokens[:, -1] = 1, 2
    found = encoder(Steps(tokens, torch.zeros(5, 3, 28, 28)), torch.arange(group)[None])
    assert (encoder.tower.cells, encoder.tower.features) == ((7, 7), 48)
    shapes = [getattr(found, name).shape for name in ("hidden", "token_at", "patch_at")]
    assert shapes == [(1, length, 64), (1, group, 60), (1, group, 49)]
    assert found.span.sum(2).tolist() == [[108, *[109] * (group - 1)]]


def test_a_picture_that_is_missing_is_not_looked_at() -> None:
    encoder = open_encoder("tiny", "image", ()).eval()
    images = torch.full((2, 3, 8, 8), 0.5)
    images[1] = torch.nan
    given = Steps(images=images, seen=torch.tensor([True, False]))
    found = encoder(given, torch.tensor([[0, 1], [1, 1]]))
    assert found.hidden.isfinite().all()
    assert found.span.sum(2).tolist() == [[4, 1], [1, 1]]  # its mark stands for it
    assert encoder(given, torch.zeros(0, 2, dtype=torch.long)).pooled.shape == (0, 64)


def test_what_cannot_be_shown_is_counted(root: Path, sequences: list[Sequence], tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    frames = [image.new("RGB", (8, 8), colour) for colour in ("red", "green", "blue")]
    frames[0].save(tmp_path / "film.gif", save_all=True, append_images=frames[1:], duration=100)
    image.new("RGBA", (30, 10), (200, 100, 0, 0)).save(tmp_path / "clear.png")
    image.new("L", (3, 50), 77).save(tmp_path / "grey.png")
    (tmp_path / "broken.png").write_bytes(b"\x89PNG no")
    pages = [image.new("1", (1, 1)), image.new("1", (9000, 9000))]
    pages[0].save(tmp_path / "bomb.tif", save_all=True, append_images=pages[1:], compression="group4")
    names = ("film.gif", "clear.png", "grey.png", "broken.png", "none.png", "../outside.png", "bomb.tif")
    steps = (*(SequenceStep(n, n, (n, "other.png")) for n in names), SequenceStep("long", "word " * 100))
    encoder = open_encoder("tiny", "both", ("word",) * 2)
    inputs = Inputs.read([Sequence("a", "", steps)], encoder, tmp_path)
    assert [d.reason for d in inputs.dropped] == ["no_image", "missing", "outside", "unreadable"]
    assert "9,000 × 9,000 pixels" in inputs.dropped[3].detail
    taken = inputs.take(inputs.rows["a"])
    assert taken.seen.tolist() == [True] * 3 + [False] * 5
    assert taken.tokens.shape == (8, 60)
    assert inputs.take(inputs.rows["a"][:1]).tokens.shape == (1, 4)
    assert taken.images[0, :, 4, 4].tolist() == pytest.approx([0, 128, 0], abs=2)  # the middle frame
    assert taken.images[1, :, 4, 4].tolist() == [200, 100, 0]
    assert taken.images[2].unique().tolist() == [77]
    with pytest.raises(UserError, match="'a' is there twice"):
        Inputs.read([Sequence("a", "", ())] * 2, encoder, tmp_path)


def test_words_are_numbered_by_frequency_and_unknown_ones_by_hash() -> None:
    tokenizer = WordTokenizer.of(["b a a", "b, A! c d e"], most=2, buckets=2)
    assert tokenizer.words == ("a", "b")
    assert tokenizer.size == 4 + 2 + 2
    assert tokenizer.identity == WordTokenizer.of(["b, A! c d e", "b a a"], most=2, buckets=2).identity
    assert tokenizer.identity != WordTokenizer.of(["a a"]).identity
    first, second = tokenizer.encode("Zebra a Zebra zoo", 60), tokenizer.encode("zebra", 60)
    assert first[:3] == [1, second[1], 4]
    assert first[3] == second[1] >= 6
    assert tokenizer.encode("", 60) == [1, 2]
    assert len(tokenizer.encode("a " * 99, 60)) == 60
    assert tokenizer.is_special(torch.tensor([0, 1, 2, 3, 4])).tolist() == [True] * 4 + [False]
    start = time.process_time()
    assert len(tokenizer.encode("x" * 10_000_000, 60)) == 60
    assert time.process_time() - start < 1


@pytest.mark.parametrize("spec", ["tiny:7", "tiny:x", "tiny:0", "tiny:400", "huge", ":x", "t:x"])
def test_what_is_no_encoder_is_refused(spec: str) -> None:
    with pytest.raises(UserError):
        open_encoder(spec, "both", ())
    with pytest.raises(UserError):
        rebuild(Description("huge", "both"))
