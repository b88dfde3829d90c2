"""Fits of the library on the campaign's problems, and scikit-learn's beside them; the only module that imports it."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import sklearn.svm
from sklearn.exceptions import ConvergenceWarning

import maxmargin
from maxmargin import kernels, losses, penalties
from tests.campaign.published import Problem
from tests.campaign.true_kernels import GIVEN, Spec, gram

#: Seconds after which a fit is to end by itself.
TIME_LIMIT = 5.0
#: What a fit may raise on hostile data: it has said what is wrong instead of delivering a model.
REFUSALS = (ValueError, TypeError, maxmargin.NotSeparableError)
#: Parameters of a problem that are not the estimator's.
OURS = ("loss pair", "penalty pair")


class Fit(NamedTuple):
    """A fitted model or the words in which it was refused, and whether it warned of a missed goal."""

    model: Any
    refusal: str
    warned: bool


def fit(problem: Problem, configuration: dict[str, Any]) -> Fit:
    """The library's answer."""
    options = dict(configuration)
    layout, dtype = options.pop("layout", "dense"), options.pop("dtype", None)
    X = problem.X if dtype is None else problem.X.astype(dtype)
    if layout == "sparse" and (problem.spec is None or takes_sparse(problem.spec)):
        X = sp.csr_array(X)
    try:
        model = estimator(problem, options)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            model.fit(X, problem.y, sample_weight=problem.weight)
    except REFUSALS as error:
        return Fit(None, f"{type(error).__name__}: {error}", False)
    return Fit(model, "", any(issubclass(w.category, ConvergenceWarning) for w in heard))


def estimator(problem: Problem, options: dict[str, Any]) -> Any:
    """The estimator that the problem names."""
    params = {name: value for name, value in problem.params.items() if name not in OURS}
    machine = getattr(maxmargin, problem.machine)
    if problem.spec is not None:
        limit = {} if problem.machine == "LSSVC" else {"time_limit": TIME_LIMIT}
        return machine(kernel=library_kernel(problem.spec), n_jobs=1, **limit, **params, **options)
    loss, penalty = problem.params["loss pair"], problem.params["penalty pair"]
    if problem.machine in ("LinearClassifier", "LinearRegressor"):
        params["loss"] = losses.LOSSES[loss[0]](*loss[1:])
        params["penalty"] = None if penalty[0] == "none" else penalties.PENALTIES[penalty[0]](*penalty[1:])
    else:
        params |= {"loss": loss[0], "penalty": penalty[0]}
    return machine(n_jobs=1, time_limit=TIME_LIMIT, **params, **options)


def takes_sparse(spec: Spec) -> bool:
    """Whether rows of the kernel may be sparse: the functions that the generator hands in take arrays."""
    return spec[0] not in ("precomputed", "callable", "warp", "of") and all(
        takes_sparse(part) for part in spec[1:] if isinstance(part, tuple) and isinstance(part[0], str)
    )


def library_kernel(spec: Spec) -> Any:
    """The kernel in the library's own terms."""
    name, *options = spec
    if name in ("sum", "product"):
        left, right = (library_kernel(part) for part in options)
        return left + right if name == "sum" else left * right
    if name in MADE:
        return MADE[name](library_kernel(options[0]), *options[1:])
    return SIMPLE[name](*options)


MADE: dict[str, Any] = {
    "power": lambda k, p: k**p,
    "exp": lambda k: k.exp(),
    "polynomial": lambda k, c: k.polynomial(c),
    "warp": lambda k, f: k.warp(GIVEN[f]),
    "of": lambda k, f: k.of(GIVEN[f]),
}
SIMPLE: dict[str, Any] = {
    "linear": kernels.Linear,
    "poly": lambda degree, coef0, gamma: kernels.Polynomial(degree, coef0, gamma),
    "rbf": lambda gamma: kernels.Gaussian(gamma=gamma),
    "rbf-sigma": lambda sigma: kernels.Gaussian(sigma=sigma),
    "exponential": kernels.Exponential,
    "matern": kernels.Matern,
    "rational": kernels.RationalQuadratic,
    "laplacian": kernels.Laplacian,
    "chi2": kernels.ChiSquared,
    "cosine": kernels.Cosine,
    "form": lambda A: kernels.QuadraticForm(np.array(A)),
    "constant": kernels.Constant,
    "sigmoid": kernels.Sigmoid,
    "over": lambda gamma, inner: kernels.Gaussian(gamma=gamma, over=library_kernel(inner)),
    "precomputed": lambda: "precomputed",
    "callable": lambda name: GIVEN[name],
}


def peer(problem: Problem) -> Any:
    """scikit-learn's machine for the same problem, from the kernel matrix in float64; None where it has none."""
    params = problem.params
    if problem.spec is None or not params.get("fit_intercept", True) or "multiclass" in params:
        return None
    if problem.machine not in ("SVC", "SVR", "OneClassSVM") or not np.isfinite(params.get("C", 1.0)):
        return None
    from tests.campaign.arithmetic import LONG

    with np.errstate(all="ignore"):
        K = gram(LONG, problem.spec, problem.X, problem.X, problem.X).astype(np.float64)
    if not np.isfinite(K).all():
        return None
    known = {name: params[name] for name in ("C", "nu", "epsilon", "class_weight") if name in params}
    model = getattr(sklearn.svm, problem.machine)(kernel="precomputed", tol=1e-6, max_iter=20_000, **known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(K, problem.y, sample_weight=problem.weight)
        except ValueError:
            return None
    kept = np.arange(len(problem.y)) if problem.weight is None else np.flatnonzero(np.asarray(problem.weight) > 0)
    model.support_ = kept[model.support_]  # scikit-learn counts the rows of positive weight only
    return model
