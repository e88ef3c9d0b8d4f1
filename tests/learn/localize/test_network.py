"""The network of ActionFormer: its size, its attention, and that padding is nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")

from proctor.learn.localize.network import PyramidNetwork, local_attention  # noqa: E402
from proctor.learn.localize.targets import Pyramid  # noqa: E402


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def size(*modules: torch.nn.Module) -> int:
    return sum(p.numel() for m in modules for p in m.parameters())


def test_it_is_as_large_as_the_published_one() -> None:
    with torch.device("meta"):
        network = PyramidNetwork(1024, 353)
    assert round(size(network) / 1e6, 2) == 34.51
    assert size(network) == 34_514_795
    assert round(size(network.entry, network.stem, network.branch) / 1e6, 2) == 30.81
    assert round(size(network.classes) / 1e6, 2) == 2.12
    assert round((size(network.ends) + network.scales.numel()) / 1e6, 2) == 1.58


def test_before_anything_is_learned() -> None:
    network = PyramidNetwork(4, 5, hidden=8, levels=3, heads=2, unseen=torch.tensor([1, 4]))
    bias = network.classes.last.bias
    assert bias is not None
    rare = -math.log((1 - 1e-6) / 1e-6)
    assert bias.tolist() == pytest.approx([-math.log(99), rare, -math.log(99), -math.log(99), rare])
    assert float(network.normaliser) == 250
    with pytest.raises(ValueError, match="no network of 6 channels, 4 heads"):
        PyramidNetwork(4, 5, hidden=6)


@pytest.mark.parametrize("rows", [1, 4, 31, 32, 33, 75])
@pytest.mark.parametrize("padded", [False, True])
def test_local_attention_is_dense_attention_with_a_mask(rows: int, padded: bool) -> None:
    torch.manual_seed(rows)
    query, key, value = (torch.randn(2, rows, 8, requires_grad=True) for _ in range(3))
    gap = None
    if padded:
        gap = torch.arange(rows)[None, :, None] >= torch.tensor([rows, max(1, rows - 6)])[:, None, None]
    found = local_attention(query, key, value, gap, heads=2)
    q, k, v = (x.view(2, rows, 2, 4).transpose(1, 2) for x in (query, key, value))
    scores = q @ k.transpose(2, 3) / math.sqrt(4)
    if gap is not None:
        scores = scores.masked_fill(gap[:, None, :, 0][:, :, None], -1e4)
    place = torch.arange(rows)
    scores = scores.masked_fill((place[:, None] - place).abs() > 4, -math.inf)
    dense = (scores.softmax(-1) @ v).transpose(1, 2).reshape(2, rows, 8)
    real = torch.ones(2, rows, 1, dtype=torch.bool) if gap is None else ~gap
    assert torch.allclose(found * real, dense * real, atol=1e-6)
    wanted = torch.autograd.grad((dense * real).square().sum(), [query, key, value], retain_graph=True)
    for mine, theirs in zip(
        torch.autograd.grad((found * real).square().sum(), [query, key, value]), wanted, strict=True
    ):
        assert torch.allclose(mine, theirs, atol=1e-5)


@pytest.mark.parametrize("rows", [1, 2, 37, 64, 101])
def test_padding_and_other_items_change_nothing(rows: int) -> None:
    torch.manual_seed(rows)
    network = PyramidNetwork(6, 3, hidden=16, levels=5, heads=2).eval()
    for p in network.parameters():  # also norms and scales have something to say
        torch.nn.init.normal_(p, std=0.3)
    x = torch.randn(1, rows, 6)
    alone = network(x, torch.ones(1, rows, dtype=torch.bool))
    assert alone.real.sum() == Pyramid(5, rows).counts.sum()
    batch = torch.randn(2, 128, 6)  # what lies in the padding is not looked at
    batch[0, :rows] = x[0]
    mask = torch.arange(128) < torch.tensor([[rows], [128]])
    beside = network(batch, mask)
    real = beside.real[0]
    assert real.sum() == alone.real.sum()
    assert torch.allclose(beside.logits[0, real], alone.logits[0, alone.real[0]], atol=1e-5)
    assert torch.allclose(beside.offsets[0, real], alone.offsets[0, alone.real[0]], atol=1e-5)
    assert alone.logits[0, alone.real[0]].std() > 0.05
    assert (
        Pyramid(5, 128).time[real.numpy()].tolist() == Pyramid(5, rows).time[alone.real[0].numpy()].tolist()
    )


def test_each_level_sees_its_neighbourhood_only() -> None:
    torch.manual_seed(0)
    network = PyramidNetwork(4, 2, hidden=8, levels=2, heads=2).eval()
    for p in network.parameters():
        torch.nn.init.normal_(p, std=0.5)
    x = torch.randn(1, 128, 4)
    other = x.clone()
    other[0, 64] += 5
    mask = torch.ones(1, 128, dtype=torch.bool)
    changed = (network(x, mask).logits - network(other, mask).logits).abs().sum(2)[0] > 1e-7
    first = changed[:128].nonzero()[:, 0]
    # two convolutions, two blocks of a convolution and four neighbours, three convolutions
    reach = 2 + 2 * (1 + 4) + 3
    assert (int(first.min()), int(first.max())) == (64 - reach, 64 + reach)


def test_longer_recordings_stretch_the_table_of_positions() -> None:
    network = PyramidNetwork(2, 2, hidden=4, levels=1, heads=1, stem=0)
    table = network.positions
    assert table.shape == (4096, 4)
    assert table[7].tolist() == pytest.approx(
        [math.sin(7) / 2, math.cos(7) / 2, math.sin(0.07) / 2, math.cos(0.07) / 2], abs=1e-6
    )
    stretched = network._positions(torch.zeros(1, 8192, 4))
    assert stretched[101].tolist() == pytest.approx((0.75 * table[50] + 0.25 * table[51]).tolist(), abs=1e-5)
    assert torch.equal(network._positions(torch.zeros(1, 5, 4)), table[:5])


def test_in_bf16_it_says_about_the_same() -> None:
    torch.manual_seed(0)
    network = PyramidNetwork(6, 3, hidden=16, levels=4, heads=2).eval()
    x, mask = torch.randn(2, 50, 6), torch.arange(50) < torch.tensor([[50], [31]])
    exact = network(x, mask)
    with torch.autocast("cpu", torch.bfloat16):
        short = network(x, mask)
    assert short.logits.dtype == torch.float32
    assert torch.allclose(short.logits, exact.logits, atol=0.1)
    (short.logits.sum() + short.offsets.sum()).backward()
