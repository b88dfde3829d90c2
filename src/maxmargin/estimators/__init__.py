"""The estimators: scikit-learn's contract, thin over problems and solvers."""

from maxmargin.estimators._classifiers import SVC, NuSVC
from maxmargin.estimators._linear_any import LinearClassifier, LinearRegressor
from maxmargin.estimators._linear_svm import LinearSVC, LinearSVR
from maxmargin.estimators._one_class import SVDD, OneClassSVM
from maxmargin.estimators._regressors import SVR, NuSVR

__all__ = [
    "SVC",
    "SVDD",
    "SVR",
    "LinearClassifier",
    "LinearRegressor",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
]
