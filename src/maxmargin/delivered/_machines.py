"""Which machine a model is: ours, or another library's of the same name."""

from __future__ import annotations

from typing import Any

#: Kernel machines that solve a problem of their own.
KERNEL = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "SVDD", "LSSVC")
#: Kernel machines whose coefficients are dual variables on average only.
STOCHASTIC = ("KernelPegasosSVC",)
#: Kernel machines that publish a line of coefficients per task, whatever the scheme.
ONLINE = (*STOCHASTIC, "KernelPerceptron")
#: Linear machines with an optimum.
LINEAR_CLASSIFIERS = ("LinearSVC", "LinearClassifier", "PegasosSVC", "SGDSVC")
LINEAR_REGRESSORS = ("LinearSVR", "LinearRegressor")
LINEAR = (*LINEAR_CLASSIFIERS, "Perceptron", *LINEAR_REGRESSORS)
#: Machines whose scores are not those of two-class tasks.
WITHOUT_SCHEME = (
    "SVR", "NuSVR", "OneClassSVM", "SVDD", *LINEAR_REGRESSORS, "KernelLeastSquares", "KernelDiscriminantAnalysis"
)  # fmt: skip
EVERY = (*KERNEL, *ONLINE, *LINEAR, "KernelLeastSquares", "KernelDiscriminantAnalysis")

#: Scores of a one-class machine this close to its offset, relatively, are on the boundary.
ON_BOUNDARY = 1e-9


def machine_of(model: Any, known: tuple[str, ...] = EVERY) -> str | None:
    """The name of the machine if it is one of those, also for models of classes derived from it."""
    return next((c.__name__ for c in type(model).__mro__ if c.__name__ in known), None)


def is_ours(model: Any) -> bool:
    """Whether maxmargin has fitted it; scikit-learn's count rows and break ties in another way."""
    return any(c.__module__.startswith("maxmargin.") for c in type(model).__mro__)


def has_scheme(model: Any) -> bool:
    """Whether the model's scores are those of two-class tasks, or of classes in one problem."""
    return machine_of(model) not in (None, *WITHOUT_SCHEME)


def is_stochastic(model: Any) -> bool:
    """Whether the model is one of the stochastic kernel machines."""
    return machine_of(model, STOCHASTIC) is not None


def is_approximation(model: Any) -> bool:
    """Whether the model is a machine fitted on landmarks."""
    return hasattr(model, "landmark_coef_")


def scheme_name(model: Any) -> str:
    """How many classes became tasks: scikit-learn's kernel machines are all-vs-all, its linear ones one-vs-all."""
    known = getattr(model, "multiclass_", None) or getattr(model, "multi_class", None)
    return str(known or ("ovr" if machine_of(model, LINEAR) else "ovo")).replace("_", "-")
