"""What the machines of this package have in common: the ordinary machine's parameters, its model, and a cluster.

Their ``fit`` is the one sentence of all machines (:mod:`maxmargin.estimators._fit`); only the data and the family are
others. A fitted model is an ordinary one: it holds its support vectors, predicts without Dask, and files keep it as the
machine of one computer.
"""

from __future__ import annotations

import inspect
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import _fit_context
from sklearn.callback import with_callbacks

from maxmargin.distributed._client import client_of, worker_count
from maxmargin.distributed._crew import Crew
from maxmargin.distributed._facts import Facts, joined
from maxmargin.distributed._input import given, seated
from maxmargin.distributed._predict import lazily
from maxmargin.estimators.interface import Family, Training, check_target, fit, labels_of, leaves_no_trace

CLUSTER = """client : dask.distributed.Client, str or None, default=None
    The cluster, or the address of its scheduler; None is the current client.
checkpoint : str, path or None, default=None
    File of the last round's model if the cluster is lost during the fit. With ``warm_start=True`` a machine that is not
    fitted goes on from it, where it exists."""


class Spread(NamedTuple):
    """What is known of rows that nobody has in one place."""

    shape: tuple[int, int]
    dtype: Any
    sparse: bool


def on_cluster(cls: Any) -> Any:
    """Class decorator: the parameters of the machine of one computer, and ``client`` and ``checkpoint``."""
    machine = cls.__bases__[-1]
    own = inspect.signature(machine.__init__)
    keyword = inspect.Parameter.KEYWORD_ONLY
    more = [inspect.Parameter(name, keyword, default=None) for name in ("client", "checkpoint")]
    signature = own.replace(parameters=[*own.parameters.values(), *more])

    def __init__(self, *values, client=None, checkpoint=None, **parameters):
        machine.__init__(self, *values, **parameters)
        self.client, self.checkpoint = client, checkpoint

    __init__.__signature__ = signature  # type: ignore[attr-defined]  # what scikit-learn reads the parameters from
    cls.__init__ = __init__
    cls._parameter_constraints = {**machine._parameter_constraints, "client": [object],
                                  "checkpoint": [str, Path, None]}  # fmt: skip
    cls._ordinary = machine
    if cls.__doc__ and machine.__doc__:
        _, _, rest = machine.__doc__.partition("\n\n")
        before, _, after = rest.partition("\n\nAttributes\n")
        cls.__doc__ = (
            f"{cls.__doc__}\n\n{before}\n{CLUSTER}\n\nAttributes\n{after.partition(chr(10) * 2 + 'Examples')[0]}"
        )
    return cls


class OnCluster:
    """Mixin of the machines of this package; stands before the machine of one computer."""

    _ordinary: ClassVar[Any]
    client: Any
    checkpoint: Any

    if TYPE_CHECKING:  # what the decorator writes

        def __init__(self, *values: Any, client: Any = None, checkpoint: Any = None, **parameters: Any): ...

    @with_callbacks
    @leaves_no_trace
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Fit the machine to rows on a cluster.

        Parameters
        ----------
        X : dask array or data frame, list of delayed chunks or futures, path of a folder or files, or array
            Training rows. Paths name Parquet or svmlight files; arrays are divided among the workers.
        y : dask array or series, list of delayed chunks or futures, or array; for Parquet files a column's name
            Class labels or real targets, in the partitions of X.
        sample_weight : like y, optional
            Weight of each row: 2 is the row twice; rows of weight 0 or less are left out.

        Returns
        -------
        self
        """
        began = time.perf_counter()
        self._refuse()
        client = client_of(self.client)
        whole = given(X, y, sample_weight, worker_count(client))
        crew = seated(client, whole.parts)
        try:
            found = self._facts(crew)
            data = self._training(crew, found, whole.names, began)
            machine: Any = self
            return fit(machine, data, self._cluster_family(data, crew, found))
        finally:
            crew.close()

    def _refuse(self) -> None:
        """An error in words where the parameters ask for what there is on one computer only."""

    def _facts(self, crew: Crew) -> Facts:
        return joined(crew.call("facts", self._is_classifier))

    @property
    def _is_classifier(self) -> bool:
        return hasattr(self, "_new_scheme")

    def _training(self, crew: Crew, found: Facts, names: Any, began: float) -> Training:
        """What is known of the data; of rows, targets and weights nothing is here."""
        self.n_features_in_ = found.d
        self.__dict__.pop("feature_names_in_", None)
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = names
        X = Spread((found.n, found.d), found.dtype, found.sparse)
        nothing = np.zeros(0, dtype=np.intp)
        data = Training(X, None, np.zeros(0), nothing, found.n, began=began)
        if not self._is_classifier:
            return data
        machine: Any = self
        classes: Any = found.classes  # of a classifier's targets
        heavy: Any = found.by_class
        check_classes(machine, classes)
        by_class = Training(X, classes, heavy, np.arange(len(heavy)), len(heavy))
        labels = labels_of(by_class, machine.class_weight)
        return data._replace(extra=replace(labels, label=nothing, scheme=machine._new_scheme(len(labels.classes))))

    def _cluster_family(self, data: Training, crew: Crew, found: Facts) -> Family[Any]:
        """How the machine does the parts of a fit."""
        raise AssertionError("every machine has its own")

    def _parameters_alone(self) -> Any:
        """The machine of one computer with these parameters, which workers state their problems with."""
        machine: Any = self
        own = self._ordinary._get_param_names()
        return self._ordinary(**{k: v for k, v in machine.get_params(deep=False).items() if k in own})

    def _from_checkpoint(self) -> Any:
        if self.checkpoint is None or not Path(self.checkpoint).exists():
            return None
        from maxmargin.io import load

        return load(self.checkpoint)

    def predict(self, X):
        """As on one computer; of a Dask collection a lazy one."""
        return lazily(self, super().predict, "predict", X)  # type: ignore[misc]  # of the machine

    # -- an ordinary model ----------------------------------------------------------------------------------------

    def __sklearn_clone__(self):
        machine: Any = self
        return type(self)(**machine.get_params(deep=False))

    def __getstate__(self):
        state: Any = super().__getstate__()
        return {**state, "client": state["client"] if isinstance(state.get("client"), str) else None}

    def ordinary(self) -> Any:
        """The same model as a machine of one computer."""
        made = self._ordinary.__new__(self._ordinary)
        made.__dict__.update({k: v for k, v in vars(self).items() if k not in OWN})
        return made


#: Attributes that the machine of one computer does not have.
OWN = ("client", "checkpoint", "traffic_", "rounds_", "faults_")


def check_classes(machine: Any, classes: Any) -> None:
    """Refuse targets that are no classes; as on one computer."""
    y = check_target(machine, classes, len(classes))
    machine._validate_targets(np.concatenate([y, y]))
