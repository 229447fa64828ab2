"""Warnings that name the line of the user's program that caused them.

``warnings.warn`` counts frames (``stacklevel``), and the count changes with every decorator and every helper function.
:func:`warn_user` goes by the packages of the frames instead.
"""

from __future__ import annotations

import sys
import warnings

# The package itself, the libraries whose methods call its estimators, and the wrappers of the standard library.
PASSED_OVER = frozenset(
    {"kernelsketch", "sklearn", "joblib", "pyspark", "contextlib", "functools"}
    | {"imblearn", "mapie", "mlflow", "optuna", "optuna_integration", "shap", "skrub"}
)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that names the first frame outside of kernelsketch and the libraries that call it.

    If there is no such frame, the warning names the outermost one.
    """
    frame = sys._getframe(1)
    while str(frame.f_globals.get("__name__")).partition(".")[0] in PASSED_OVER and frame.f_back is not None:
        frame = frame.f_back
    names = frame.f_globals
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=names.get("__name__") or "<unknown>",
        registry=names.setdefault("__warningregistry__", {}),
    )
