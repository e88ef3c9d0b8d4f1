"""The blocks: what they see, what they cannot see, and how many parameters they have."""

from __future__ import annotations

from typing import Literal

import pytest
import torch
from torch.nn import functional

from proctor.errors import UserError
from proctor.learn.anomaly.blocks import BLOCKS, BlockName, MaskedConvolution, PredictiveBlock


def _count(block: torch.nn.Module) -> int:
    return sum(p.numel() for p in block.parameters())


@pytest.mark.parametrize(
    ("name", "dimensions", "expected"),
    [
        ("sspcab", 2, 4 * (64 * 64 + 64) + (64 * 8 + 8) + (8 * 64 + 64)),
        ("sspcab", 1, 2 * (64 * 64 + 64) + (64 * 8 + 8) + (8 * 64 + 64)),
        ("ssmctb", 2, 4 * (64 * 64 + 64) + (64 + 64) + 64 * 64 + 64 * 3 * 320 + (320 * 64 + 64)),
        ("ssmctb", 1, 2 * (64 * 64 + 64) + (64 + 64) + 64 * 64 + 64 * 3 * 320 + (320 * 64 + 64)),
    ],
)
def test_parameters_counted_by_hand(name: BlockName, dimensions: Literal[1, 2], expected: int) -> None:
    assert _count(PredictiveBlock(name, 64, dimensions)) == expected


def test_parameters_at_the_width_of_the_last_layer_of_resnet50() -> None:
    assert (
        _count(PredictiveBlock("sspcab", 2048)) == 17_836_288
    )  # 4·(2048²+2048) + 2048·256+256 + 256·2048+2048
    assert (
        _count(PredictiveBlock("ssmctb", 2048)) == 16_998_592
    )  # 4·(2048²+2048) + 128 + 2048·64 + 64·960 + 320·64+64


@pytest.mark.parametrize(("kernel", "dilation"), [(1, 1), (2, 1), (1, 2), (3, 2)])
@pytest.mark.parametrize("dimensions", [1, 2])
def test_no_output_of_the_masked_convolution_depends_on_its_own_place(
    kernel: int, dilation: int, dimensions: Literal[1, 2]
) -> None:
    torch.manual_seed(0)
    block = MaskedConvolution(3, dimensions, kernel, dilation).double()
    for convolution in block.convolutions:
        torch.nn.init.uniform_(convolution.bias, 5, 6)  # type: ignore[arg-type]
        # far above 0, so that the ReLU hides nothing
    side = 11
    maps = torch.rand(1, 3, *(side,) * dimensions, dtype=torch.float64, requires_grad=True)
    out = block(maps)
    assert out.shape == maps.shape
    centre = (side // 2,) * dimensions
    (gradient,) = torch.autograd.grad(out[(0, slice(None), *centre)].sum(), maps)
    seen = {tuple(place) for place in (gradient[0].abs().sum(0) > 0).nonzero().tolist()}
    near = range(dilation + 1, dilation + kernel + 1)
    offsets = {sign * step for step in near for sign in (-1, 1)}
    corners = {(a,) for a in offsets} if dimensions == 1 else {(a, b) for a in offsets for b in offsets}
    assert seen == {tuple(c + o for c, o in zip(centre, offset, strict=True)) for offset in corners}


def test_each_view_has_its_own_weights_and_views_are_summed() -> None:
    torch.manual_seed(1)
    block = MaskedConvolution(2)
    maps = torch.rand(1, 2, 6, 6)
    by_hand = torch.zeros(1, 2, 6, 6)
    for convolution, (down, right) in zip(
        block.convolutions, ((-2, -2), (2, -2), (-2, 2), (2, 2)), strict=True
    ):
        for i in range(6):
            for j in range(6):
                y, x = i + down, j + right
                inside = 0 <= y < 6 and 0 <= x < 6
                value = maps[0, :, y, x] if inside else torch.zeros(2)
                by_hand[0, :, i, j] += convolution.weight[:, :, 0, 0] @ value + convolution.bias  # type: ignore[operator,index]
    assert torch.allclose(block(maps), functional.relu(by_hand), atol=1e-6)


@pytest.mark.parametrize("name", BLOCKS)
def test_attention_only_scales_channels_by_gates_between_0_and_1(name: BlockName) -> None:
    torch.manual_seed(2)
    block = PredictiveBlock(name, 16)
    maps = torch.rand(2, 16, 5, 5)
    hidden, out = block.masked(maps), block(maps)
    there = hidden > 1e-3
    gates = out[there] / hidden[there]
    assert 0 < gates.min() < gates.max() < 1
    ratios = torch.where(there, out / hidden.clamp(min=1e-9), torch.nan)
    assert torch.nan_to_num(ratios - ratios.nanmean((2, 3), keepdim=True)).abs().max() < 1e-5


def test_ssmctb_tells_channels_apart_by_their_position() -> None:
    torch.manual_seed(3)
    block = PredictiveBlock("ssmctb", 8)
    same = torch.ones(1, 8, 5, 5)
    gates = block.attention(same)[0, :, 0, 0]
    assert gates.std() > 1e-3
    torch.nn.init.zeros_(block.attention.position)  # type: ignore[arg-type]
    assert block.attention(same)[0, :, 0, 0].std() < 1e-6


def test_errors_are_means_of_squares_over_channels() -> None:
    torch.manual_seed(4)
    block = PredictiveBlock("sspcab", 8, 1)
    rows = torch.rand(2, 8, 9)
    errors = block.errors(rows)
    assert errors.shape == (2, 9)
    assert torch.allclose(errors.mean(), functional.mse_loss(block(rows), rows))
    assert errors[1, 4].item() == pytest.approx(((block(rows)[1, :, 4] - rows[1, :, 4]) ** 2).mean().item())


@pytest.mark.parametrize("shape", [(3, 8), (8, 3), (1, 1)])
def test_maps_on_which_a_place_sees_nothing_are_refused(shape: tuple[int, int]) -> None:
    block = PredictiveBlock("sspcab", 8)
    block(torch.rand(1, 8, 4, 4))
    with pytest.raises(UserError, match="at least 4"):
        block(torch.rand(1, 8, *shape))


def test_fewer_channels_than_the_ratio_are_refused() -> None:
    with pytest.raises(UserError, match="squeezed"):
        PredictiveBlock("sspcab", 7)
