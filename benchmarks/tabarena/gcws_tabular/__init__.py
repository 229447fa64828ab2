"""The folder of this model in TabArena's ``models``."""

from __future__ import annotations

from .hpo import gen_gcws_tabular
from .info import gcws_tabular_info, gcws_tabular_method_metadata

__all__ = ["gcws_tabular_info", "gcws_tabular_method_metadata", "gen_gcws_tabular"]
