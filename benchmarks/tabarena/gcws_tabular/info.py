"""What TabArena's registry reads: the class, its configurations, and where its results belong."""

from __future__ import annotations

from tabarena.models._method_metadata import MethodMetadata
from tabarena.models._model_info import ModelInfo

from .hpo import gen_gcws_tabular
from .model import GCWSTabularModel

gcws_tabular_method_metadata = MethodMetadata.config(
    method="GCWSTabular",
    ag_key=GCWSTabularModel.ag_key,
    compute="cpu",
    is_bag=True,
    can_hpo=True,
    config_default="GCWSTabular_c1_BAG_L1",
    display_name="GCWSTabular (kernelsketch)",
    verified=False,  # until its authors and TabArena have both run it
)
gcws_tabular_info = ModelInfo(
    model_cls=GCWSTabularModel,
    search_space=gen_gcws_tabular,
    method_metadata=gcws_tabular_method_metadata,
    pip_extra=("kernelsketch",),
)
