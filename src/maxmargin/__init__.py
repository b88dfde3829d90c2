"""maxmargin: support vector and kernel machines that are exact, fast, and carry a proof of optimality.

Importing the package loads nothing heavy: every public name is imported when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from maxmargin._version import __version__

if TYPE_CHECKING:
    from maxmargin import (
        accel,
        certificates,
        distributed,
        exceptions,
        inspection,
        io,
        kernels,
        losses,
        penalties,
        plotting,
        problems,
        selection,
    )
    from maxmargin.accel import patch_sklearn, patched_sklearn, unpatch_sklearn
    from maxmargin.certificates import Certificate, certify
    from maxmargin.estimators import (
        LSSVC,
        SGDSVC,
        SVC,
        SVDD,
        SVR,
        KernelDiscriminantAnalysis,
        KernelLeastSquares,
        KernelPegasosSVC,
        KernelPerceptron,
        LinearClassifier,
        LinearRegressor,
        LinearSVC,
        LinearSVR,
        NuSVC,
        NuSVR,
        OneClassSVM,
        PegasosSVC,
        Perceptron,
    )
    from maxmargin.exceptions import NotSeparableError
    from maxmargin.maps import NystroemMap, PolynomialMap, RandomFourierMap
    from maxmargin.selection import (
        SGDSVCCV,
        SVCCV,
        SVRCV,
        KernelLeastSquaresCV,
        LinearClassifierCV,
        LinearRegressorCV,
        LinearSVCCV,
        LinearSVRCV,
        NuSVCCV,
        NuSVRCV,
        PegasosSVCCV,
        l1_min_c,
        regularization_path,
    )

_HOMES = {
    "Certificate": "certificates",
    "KernelDiscriminantAnalysis": "estimators",
    "KernelLeastSquares": "estimators",
    "KernelPegasosSVC": "estimators",
    "KernelPerceptron": "estimators",
    "LSSVC": "estimators",
    "LinearClassifier": "estimators",
    "LinearRegressor": "estimators",
    "LinearSVC": "estimators",
    "LinearSVR": "estimators",
    "NotSeparableError": "exceptions",
    "NuSVC": "estimators",
    "NuSVR": "estimators",
    "OneClassSVM": "estimators",
    "PegasosSVC": "estimators",
    "Perceptron": "estimators",
    "SGDSVC": "estimators",
    "SVC": "estimators",
    "SVDD": "estimators",
    "SVR": "estimators",
    "NystroemMap": "maps",
    "PolynomialMap": "maps",
    "RandomFourierMap": "maps",
    "certify": "certificates",
    "KernelLeastSquaresCV": "selection",
    "LinearClassifierCV": "selection",
    "LinearRegressorCV": "selection",
    "LinearSVCCV": "selection",
    "LinearSVRCV": "selection",
    "NuSVCCV": "selection",
    "NuSVRCV": "selection",
    "PegasosSVCCV": "selection",
    "SGDSVCCV": "selection",
    "SVCCV": "selection",
    "SVRCV": "selection",
    "l1_min_c": "selection",
    "patch_sklearn": "accel",
    "patched_sklearn": "accel",
    "regularization_path": "selection",
    "unpatch_sklearn": "accel",
}
_MODULES = (
    "accel",
    "certificates",
    "distributed",
    "exceptions",
    "inspection",
    "io",
    "kernels",
    "losses",
    "maps",
    "penalties",
    "plotting",
    "problems",
    "selection",
)

__all__ = [
    "LSSVC",
    "SGDSVC",
    "SGDSVCCV",
    "SVC",
    "SVCCV",
    "SVDD",
    "SVR",
    "SVRCV",
    "Certificate",
    "KernelDiscriminantAnalysis",
    "KernelLeastSquares",
    "KernelLeastSquaresCV",
    "KernelPegasosSVC",
    "KernelPerceptron",
    "LinearClassifier",
    "LinearClassifierCV",
    "LinearRegressor",
    "LinearRegressorCV",
    "LinearSVC",
    "LinearSVCCV",
    "LinearSVR",
    "LinearSVRCV",
    "NotSeparableError",
    "NuSVC",
    "NuSVCCV",
    "NuSVR",
    "NuSVRCV",
    "NystroemMap",
    "OneClassSVM",
    "PegasosSVC",
    "PegasosSVCCV",
    "Perceptron",
    "PolynomialMap",
    "RandomFourierMap",
    "__version__",
    "accel",
    "certificates",
    "certify",
    "distributed",
    "exceptions",
    "inspection",
    "io",
    "kernels",
    "l1_min_c",
    "losses",
    "maps",
    "patch_sklearn",
    "patched_sklearn",
    "penalties",
    "plotting",
    "problems",
    "regularization_path",
    "selection",
    "unpatch_sklearn",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"maxmargin.{name}")
    if name in _HOMES:
        return getattr(importlib.import_module(f"maxmargin.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'maxmargin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
