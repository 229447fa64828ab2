"""A few rounds of `make soak`, so that it works when it is needed."""

import pytest

from . import _files
from .run import PARTS, one_round


@pytest.mark.parametrize("part", [name for name in PARTS if name != "kills"])
@pytest.mark.parametrize("seed", range(3))
def test_rounds(part, seed, tmp_path):
    assert one_round(part, seed, tmp_path) > 0


@pytest.mark.slow
def test_kills(tmp_path, monkeypatch):
    """Without a pause: each command is killed as it starts. The soak kills at random moments."""
    monkeypatch.setattr(_files, "LONGEST_PAUSE", 0)
    for seed in range(3):
        one_round("kills", seed, tmp_path)
