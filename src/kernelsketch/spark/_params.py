"""LocalParams: Spark ML parameters that are read from the signature of a scikit-learn class."""

from __future__ import annotations

from inspect import signature
from typing import Any, ClassVar

from pyspark.ml.param import Param, Params, TypeConverters

from ..exceptions import InputError, InputTypeError, Setting


def _to_views(value: Any) -> Any:
    return TypeConverters.toListInt(value) if hasattr(value, "__len__") else TypeConverters.toInt(value)


_BY_NAME = {
    "center": TypeConverters.toListFloat,
    "gamma": TypeConverters.toFloat,
    "n_features": TypeConverters.toInt,
    "n_partitions": TypeConverters.toInt,
    "views": _to_views,
}
_BY_TYPE = {
    bool: TypeConverters.toBoolean,
    int: TypeConverters.toInt,
    float: TypeConverters.toFloat,
    str: TypeConverters.toString,
}


class LocalParams(Params):
    """Spark parameters with the names and defaults of a single-machine class, and a few additional ones.

    A subclass sets ``_local``, the single-machine class; ``_without``, its parameters that have no use on a cluster;
    and ``_own``, a table of additional parameters (name to default and one line of text).
    """

    _local: ClassVar[Any]
    _without: ClassVar[frozenset[str]]
    _own: ClassVar[dict[str, tuple[Any, str]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_local" not in cls.__dict__:
            return
        for name, default in cls.local_defaults().items():
            text = cls._own[name][1] if name in cls._own else f"{name} of kernelsketch.{cls._local.__name__}"
            setattr(cls, name, Param(Params._dummy(), name, text, _converter(name, default)))

    def __init__(self, **given: Any) -> None:
        super().__init__()
        self._setDefault(**self.local_defaults())
        self.setParams(**given)

    @classmethod
    def local_defaults(cls) -> dict[str, Any]:
        """Return the names and defaults of all parameters, those of the scikit-learn class first."""
        theirs = {name: p.default for name, p in signature(cls._local).parameters.items() if name not in cls._without}
        return {**theirs, **{name: default for name, (default, _) in cls._own.items()}}

    def setParams(self, **given: Any) -> Any:  # noqa: N802  (Spark's name)
        """Set parameters by name.

        Parameters
        ----------
        **given
            Values by parameter name. None is allowed only for parameters whose default is None.

        Returns
        -------
        self
        """
        for name, value in given.items():
            if not self.hasParam(name):
                known = ", ".join(sorted(param.name for param in self.params))
                raise InputTypeError(f"{type(self).__name__} has no parameter {name!r}: its parameters are {known}.")
            param = self.getParam(name)
            if value is not None:
                self._set(**{name: value})  # raises an error that names the parameter if the type is wrong
            elif self._defaultParamMap.get(param) is None:
                self.clear(param)
            else:
                raise InputError(
                    Setting(name, None),
                    " cannot be used on a cluster, where all workers must use the same value: set a value.",
                )
        return self

    def local_values(self) -> dict[str, Any]:
        """Return the values of the parameters of the scikit-learn class."""
        theirs = signature(self._local).parameters
        return {name: self.getOrDefault(name) for name in self.local_defaults() if name in theirs}

    def check_option(self, name: str, allowed: tuple[str, ...]) -> str:
        value = str(self.getOrDefault(name))
        if value not in allowed:
            raise InputError(Setting(name), f" must be one of {', '.join(map(repr, allowed))}, got {value!r}.")
        return value


def _converter(name: str, default: Any) -> Any:
    return _BY_NAME.get(name) or _BY_TYPE[type(default)]
