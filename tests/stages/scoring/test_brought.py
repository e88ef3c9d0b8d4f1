"""Families of other packages stand after ours and never in place of one."""

from importlib.metadata import EntryPoint

import pytest

from proctor.errors import UserError
from proctor.stages import scoring
from proctor.stages.scoring.options import TextSettings


def test_a_name_of_ours_stays_ours(monkeypatch):
    theirs = [EntryPoint(name, f"no_such_package:{name}", scoring.ENTRY_POINTS) for name in ("text", "aim")]
    monkeypatch.setattr(
        scoring,
        "entry_points",
        lambda *, group, name=None: [e for e in theirs if name in (None, e.name)],
    )
    families = scoring.all_families()
    assert list(families) == [*scoring.FAMILIES, "aim"]
    assert families["text"] == scoring.FAMILIES["text"]
    assert scoring.settings_of("text") is TextSettings
    with pytest.raises(UserError, match="the family 'aim' of an unknown package cannot be loaded"):
        scoring.settings_of("aim")
