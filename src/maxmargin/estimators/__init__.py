"""The estimators: scikit-learn's contract, thin over problems and solvers."""

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
