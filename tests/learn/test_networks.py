"""The three published networks: sizes, masks, fusion."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from proctor.errors import UserError

torch = pytest.importorskip("torch")
from proctor.learn.networks import FIXED_WEIGHTS, StepNetwork, sinusoids  # noqa: E402


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(3)
    yield
    torch.set_num_threads(before)


def size(network: StepNetwork) -> int:
    return sum(p.numel() for p in network.parameters())


def test_sizes_are_the_published_ones() -> None:
    with torch.device("meta"):
        assert size(StepNetwork([1024], "v1")) == 525_313
        assert size(StepNetwork([1024], "v2")) == 8_925_185
        assert size(StepNetwork([400], "v1")) == 400 * 512 + 512 + 513
        assert size(StepNetwork([1024], "v1", outputs=7)) == 525_313 + 6 * 513
    layer = 4 * 2048**2 + 4 * 2048 + 2 * 2048 * 2048 + 2048 + 2048 + 4 * 2048
    assert size(StepNetwork([1024, 1024], "v3")) == layer + 525_313
    assert size(StepNetwork([8, 8], "v3", fusion="learned")) == size(StepNetwork([8, 8], "v3")) + 2


@pytest.mark.parametrize(("width", "heads"), [(400, 8), (24, 8), (53, 1), (30, 6)])
def test_any_width_has_heads(width: int, heads: int) -> None:
    network = StepNetwork([width], "v2")
    assert network.encoder is not None
    assert network.encoder.self_attn.num_heads == heads
    assert network(torch.randn(2, 3, width)).shape == (2, 3, 1)


@pytest.mark.parametrize("variant", ["v1", "v2", "v3"])
@pytest.mark.parametrize("positions", ["none", "sinusoidal"])
def test_padding_changes_nothing(variant: str, positions: str) -> None:
    network = StepNetwork([16, 16], variant, outputs=2, positions=positions).eval()  # type: ignore[arg-type]
    x = torch.randn(1, 5, 32)
    padded = torch.cat([x, torch.randn(1, 4, 32) * 100], 1)
    mask = torch.arange(9)[None] < 5
    for context in (torch.no_grad(), torch.enable_grad()):
        with context:
            alone, together = network(x), network(padded, mask)
        assert torch.allclose(alone, together[:, :5], atol=1e-5)
    if variant != "v1":
        assert not torch.allclose(alone, network(padded)[:, :5], atol=1e-2)  # the mask does something


def test_the_transformer_knows_the_order_only_by_positions() -> None:
    x = torch.randn(1, 6, 16)
    for positions, same in (("none", True), ("sinusoidal", False)):
        network = StepNetwork([16], "v2", positions=positions).eval()  # type: ignore[arg-type]
        with torch.no_grad():
            assert torch.allclose(network(x).flip(1), network(x.flip(1)), atol=1e-5) is same


def test_sinusoids_of_vaswani() -> None:
    found = sinusoids(3, 4)
    assert found.shape == (3, 4)
    assert found[2].tolist() == pytest.approx([0.909297, -0.416147, 0.019999, 0.9998], abs=1e-5)
    assert sinusoids(2, 5).shape == (2, 5)


@pytest.mark.parametrize("several", [2, 3, 4])
def test_fixed_weights_of_modalities(several: int) -> None:
    network = StepNetwork([8] * several, "v3")
    assert network.weights().tolist() == pytest.approx(FIXED_WEIGHTS[several])
    parts = torch.randn(2, 3, 8 * several)
    by_hand = sum(w * p for w, p in zip(FIXED_WEIGHTS[several], parts.split(8, -1), strict=True))
    assert torch.allclose(network._fused(parts, None), by_hand, atol=1e-6)


def test_learned_weights_begin_with_the_published_and_learn() -> None:
    network = StepNetwork([8, 8], "v3", fusion="learned", modality_dropout=0.4)
    assert network.weights().tolist() == pytest.approx([0.65, 0.35])
    network(torch.randn(4, 5, 16)).sum().backward()
    assert network.learned is not None
    assert network.learned.grad is not None
    assert network.learned.grad.abs().sum() > 0


def test_modality_dropout_keeps_one_and_is_off_when_evaluated() -> None:
    network = StepNetwork([8, 8, 8], "v3", modality_dropout=0.9)
    kept = network._kept(torch.zeros(400, 1, 24))
    assert kept is not None
    assert kept.sum(1).min() == 1
    assert 0 < kept.mean() < 0.6
    one = torch.zeros(1, 3)
    one[0, 1] = 1
    parts = torch.randn(1, 2, 24)
    assert torch.allclose(network._fused(parts, one), parts[..., 8:16], atol=1e-6)
    assert network.eval()._kept(torch.zeros(4, 1, 24)) is None


def test_modalities_of_different_widths_are_refused() -> None:
    with pytest.raises(UserError, match="1024, 400"):
        StepNetwork([1024, 400], "v3")
    with pytest.raises(UserError, match="5 modalities"):
        StepNetwork([8] * 5, "v3")
    assert StepNetwork([8] * 5, "v3", fusion="learned").weights().tolist() == pytest.approx([0.2] * 5)
    assert StepNetwork([8, 4], "v2")(torch.randn(1, 2, 12)).shape == (1, 2, 1)
