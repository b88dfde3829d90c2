"""The estimators: scikit-learn's contract, thin over problems and solvers.

Each is imported when first used, so that a process which fits one of them does not wait for the others.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxmargin.estimators._classifiers import SVC, NuSVC
    from maxmargin.estimators._discriminant import KernelDiscriminantAnalysis
    from maxmargin.estimators._kernel_pegasos import KernelPegasosSVC
    from maxmargin.estimators._kernel_perceptron import KernelPerceptron
    from maxmargin.estimators._least_squares import KernelLeastSquares
    from maxmargin.estimators._linear_any import LinearClassifier, LinearRegressor
    from maxmargin.estimators._linear_svm import LinearSVC, LinearSVR
    from maxmargin.estimators._lssvc import LSSVC
    from maxmargin.estimators._one_class import SVDD, OneClassSVM
    from maxmargin.estimators._pegasos import PegasosSVC
    from maxmargin.estimators._perceptron import Perceptron
    from maxmargin.estimators._regressors import SVR, NuSVR
    from maxmargin.estimators._sgd import SGDSVC

_HOMES = {
    "LSSVC": "_lssvc",
    "SGDSVC": "_sgd",
    "SVC": "_classifiers",
    "SVDD": "_one_class",
    "SVR": "_regressors",
    "KernelDiscriminantAnalysis": "_discriminant",
    "KernelLeastSquares": "_least_squares",
    "KernelPegasosSVC": "_kernel_pegasos",
    "KernelPerceptron": "_kernel_perceptron",
    "LinearClassifier": "_linear_any",
    "LinearRegressor": "_linear_any",
    "LinearSVC": "_linear_svm",
    "LinearSVR": "_linear_svm",
    "NuSVC": "_classifiers",
    "NuSVR": "_regressors",
    "OneClassSVM": "_one_class",
    "PegasosSVC": "_pegasos",
    "Perceptron": "_perceptron",
}

__all__ = [
    "LSSVC",
    "SGDSVC",
    "SVC",
    "SVDD",
    "SVR",
    "KernelDiscriminantAnalysis",
    "KernelLeastSquares",
    "KernelPegasosSVC",
    "KernelPerceptron",
    "LinearClassifier",
    "LinearRegressor",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "PegasosSVC",
    "Perceptron",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"maxmargin.estimators.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'maxmargin.estimators' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
