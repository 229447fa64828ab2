"""The configurations that TabArena tries: the default first, then random ones of this space."""

from __future__ import annotations

from autogluon.common.space import Categorical, Int
from tabarena.utils.config_utils import ConfigGenerator

from .model import GCWSTabularModel

SEARCH_SPACE = {"effort": Categorical("thorough", "default"), "random_state": Int(0, 2**31 - 1)}

gen_gcws_tabular = ConfigGenerator(model_cls=GCWSTabularModel, manual_configs=[{}], search_space=SEARCH_SPACE)
