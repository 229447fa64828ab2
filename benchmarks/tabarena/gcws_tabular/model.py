"""The tabular models of kernelsketch as a model of AutoGluon, which is what TabArena runs."""

from __future__ import annotations

from time import monotonic

from autogluon.core.models import AbstractModel

BUDGET_SHARE = 0.9  # of the time limit; the rest is for saving and scoring


class GCWSTabularModel(AbstractModel):
    """``GCWSTabularClassifier`` or ``GCWSTabularRegressor``, by the problem type.

    Both take categories and gaps as they are, so nothing is encoded or filled before. They split off folds of their own
    training rows to choose settings and to calibrate probabilities; the validation rows that AutoGluon gives are left
    to AutoGluon, whose bagging scores the model with them.
    """

    ag_key = "GCWS"
    ag_name = "GCWSTabular"
    ag_priority = 65
    seed_name = "random_state"
    _supported_problem_types = ["binary", "multiclass", "regression"]  # noqa: RUF012
    _default_auxiliary_params_extra = {"valid_raw_types": ["int", "float", "category"]}  # noqa: RUF012
    default_resources_physical_cores_only = True

    def _fit(self, X, y, time_limit=None, num_cpus=1, **rest):
        """Fit on ``num_cpus`` threads. The time limit is the model's budget: it lowers the effort only if it has to."""
        start = monotonic()
        from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor

        kind = GCWSTabularRegressor if self.problem_type == "regression" else GCWSTabularClassifier
        X = self.preprocess(X, y=y, is_train=True)
        budget = None if time_limit is None else max(0.1, BUDGET_SHARE * (time_limit - (monotonic() - start)))
        self.model = kind(**self._get_model_params(), budget=budget, n_jobs=int(num_cpus)).fit(X, y)

    def _set_default_params(self):
        self._set_default_param_value("effort", "default")

    def _more_tags(self):
        return {"can_refit_full": True}  # nothing depends on validation rows
