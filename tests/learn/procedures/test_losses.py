import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from proctor.learn.procedures.losses import c_idm, cycle_back, one_way  # noqa: E402

U, V = [(0, 0), (1, 0), (2, 1)], [(0.1, 0), (1, 0.2), (2, 0.8)]
SECONDS = (0.1, 0.4, 0.7)


def plain(u, v, s, tau=0.1):
    """The formula of the paper for one ordered pair, frame by frame."""
    total, means, variances = 0.0, [], []
    for row in u:
        alpha = np.exp(-((row - v) ** 2).sum(1) / (u.shape[1] * tau))
        near = (alpha / alpha.sum()) @ v
        beta = np.exp(-((near - u) ** 2).sum(1) / (u.shape[1] * tau))
        beta /= beta.sum()
        means.append(beta @ s)
        variances.append(beta @ (s - means[-1]) ** 2)
    for own, mean, variance in zip(s, means, variances, strict=True):
        total += (own - mean) ** 2 / (variance + 1e-8) + 0.001 * np.log(variance + 1e-8)
    return total / len(u), means, variances


def tensors(*rows, dtype=None):
    return tuple(torch.tensor(row, dtype=dtype or torch.float64) for row in rows)


def test_golden_cycle():
    """Peddi et al. 2024's code on frames 10, 40 and 70 of 100: in single precision, with nothing added to variances."""
    single = tensors([U], [V], [SECONDS], dtype=torch.float32)
    assert float(one_way(*single, not_zero=0.0)) == pytest.approx(9.822911e-4, rel=1e-7)
    value, means, variances = plain(np.array(U), np.array(V), np.array(SECONDS))
    assert means == pytest.approx([0.1056778, 0.3976697, 0.6998989], abs=1e-7)
    assert variances == pytest.approx([1.671112e-3, 7.415075e-4, 3.033357e-5], rel=3e-6)
    assert float(one_way(*tensors([U], [V], [SECONDS]))) == pytest.approx(value, rel=1e-9)


def test_golden_cycle_with_the_broadcast_of_the_released_code():
    found = one_way(*tensors([U], [V], [SECONDS]), not_zero=0.0, published=True)
    assert float(found) == pytest.approx(4.0652337, abs=5e-7)
    assert float(one_way(*tensors([U], [V], [SECONDS]), published=True)) == pytest.approx(4.0652337, abs=3e-6)


def test_several_videos_are_the_mean_of_all_ordered_pairs():
    rng = np.random.default_rng(0)
    z, s = rng.normal(size=(3, 5, 4)), np.sort(rng.random((3, 5)), axis=1)
    pairs = [plain(z[i], z[j], s[i])[0] for i in range(3) for j in range(3) if i != j]
    assert float(cycle_back(*tensors(z, s))) == pytest.approx(np.mean(pairs))
    with pytest.raises(ValueError, match="two videos"):
        cycle_back(*tensors(z[:1], s[:1]))


Z, FRAMES = [[(0, 0), (1, 0), (3, 0)]], [[0, 100, 600]]


def test_golden_c_idm():
    z, f = tensors(Z, FRAMES)
    assert float(c_idm(z, f, f / 1000)) == pytest.approx(1.9801980, abs=5e-8)
    twice = c_idm(z.repeat(2, 1, 1), f.repeat(2, 1), f.repeat(2, 1) / 1000)
    assert float(twice) == pytest.approx(1.9801980, abs=5e-8)


def test_c_idm_teaches_and_as_published_does_not():
    z, f = tensors(Z, FRAMES)
    z.requires_grad_()
    c_idm(z, f, f / 1000).backward()
    assert torch.isfinite(z.grad).all()
    assert z.grad[0, 1, 0] > 0.9  # drawn to its neighbour in time
    assert not c_idm(z, f, f / 1000, published=True).requires_grad


def test_equal_embeddings_have_finite_gradients():
    z = torch.zeros(2, 3, 4, dtype=torch.float64, requires_grad=True)
    f = torch.tensor([[0, 10, 900]] * 2)
    (c_idm(z, f, f / 1000.0) + cycle_back(z, f / 1000.0)).backward()
    assert torch.isfinite(z.grad).all()
