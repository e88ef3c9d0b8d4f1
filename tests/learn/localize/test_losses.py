"""Losses of ActionFormer: golden values."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from proctor.learn.localize.losses import NORMALISER, diou, focal, normaliser_after  # noqa: E402


@pytest.mark.parametrize(
    ("logit", "wanted", "loss"),
    [(0.0, 1.0, 0.0433217), (0.0, 0.0, 0.1299651), (2.0, 1.0, 0.000450891), (2.0, 0.0, 1.2375586)],
)
def test_focal(logit: float, wanted: float, loss: float) -> None:
    assert float(focal(torch.tensor(logit), torch.tensor(wanted))) == pytest.approx(loss, rel=1e-5)


@pytest.mark.parametrize(
    ("found", "wanted", "loss"),
    [((2, 3), (1, 4), 0.3611111), ((1, 1), (3, 5), 0.765625), ((2, 3), (2, 3), 0)],
)
def test_diou(found: tuple[float, float], wanted: tuple[float, float], loss: float) -> None:
    pair = [torch.tensor([x], dtype=torch.float32) for x in (found, wanted)]
    assert diou(*pair).tolist() == pytest.approx([loss], abs=1e-6)


def test_what_has_no_length_gives_numbers() -> None:
    found = torch.zeros(2, 2, requires_grad=True)
    loss = diou(found, torch.tensor([[0.0, 0.0], [1.0, 2.0]]))
    assert loss.tolist() == pytest.approx([1.0, 1 + (0.5 / 3) ** 2])
    loss.sum().backward()
    assert found.grad is not None
    assert torch.isfinite(found.grad).all()


def test_the_running_number_of_points() -> None:
    first = normaliser_after(torch.tensor(NORMALISER), 50)
    assert float(first) == pytest.approx(230.0)
    assert float(normaliser_after(first, 0)) == pytest.approx(207.1)
