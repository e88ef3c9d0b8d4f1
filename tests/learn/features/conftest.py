"""What tests of backbones need."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def _torchvision_without_its_operators(request: pytest.FixtureRequest) -> None:
    """PyPI's torchvision is compiled for CUDA; with PyTorch for the processor it lacks operators that no backbone uses.

    It registers something for two of them when it is imported, and fails; so these are declared.
    """
    if "backbones" not in request.module.__name__:
        return
    torch = pytest.importorskip("torch")
    if not hasattr(torch.version, "cuda") or torch.version.cuda is None:
        library = torch.library.Library("torchvision", "FRAGMENT")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        request.config.stash[_KEPT] = library


_KEPT = pytest.StashKey[object]()
