"""Docstrings of the searches: their own parameters, then those of the machine, in the machine's words."""

from __future__ import annotations

import inspect
import re
from typing import Any

LISTS = {
    "C": "Costs to try, positive.",
    "gamma": "Widths to try, as the machine's ``gamma`` takes them; numbers, 'scale' or 'auto'.",
    "nu": "Values of nu to try, in (0, 1].",
    "lam": "Strengths lambda to try, positive.",
    "ridge": "Ridges lambda to try, at least 0.",
}
DEFAULTS = {
    "C": "None: eight to ten of them, as multiples of (spread of y) / mean k(x, x), then more around the best.",
    "gamma": "None: seven around 1 / (features * variance), for kernels that have a width to choose, then more.",
    "nu": "None: eight from 0.1 to 0.8, then more around the best.",
    "lam": "None: eleven from 1e-6 to 0.1, then more around the best.",
    "ridge": "None: seven from 1e-4 to 100, as multiples of mean k(x, x), then more around the best.",
}

OWN = """param_grid : dict, list of dicts or None, default=None
    Further parameters of the machine to try: lists of values by name, also kernels (``kernel``) and what is inside
    them (``kernel__left__gamma`` of a sum). Of several dicts each is a grid of its own.
cv : int, splitter or iterable, default=None
    As in scikit-learn: the number of folds (None: 5, stratified for classifiers), a splitter, or pairs of row numbers.
scoring : str, callable or None, default=None
    Any scorer of scikit-learn's, larger is better. None: the share of rows that are right, or R^2.
scale : bool, default=False
    Centre the features and divide them by their standard deviation; learned from the training rows of each fold alone.
refit : bool, default=True
    Whether to fit the winner to all rows.
one_standard_error : bool, default=False
    Take, of the cells within one standard error of the best, the one with the {simplest} {strength}.
drop : bool, default=True
    Whether cells that lose by more than chance on the first two folds are dropped; their scores are nan and
    ``cv_results_['status']`` says why. False: every cell is solved tight on all folds.
error_score : 'raise' or float, default='raise'
    'raise': values of the grid that make no sense, and errors on the way, are errors. A number (nan): their cells are
    left out and the rest goes on.
time_limit : float or None, default=None
    Seconds after which the search ends; the best of what it has found is fitted within them, but for closed forms of
    least squares that would end later.
n_jobs : int or None, default=None
    Threads. None: all cores, or one inside a worker of joblib's.
verbose : int, default=0
    Show a progress bar with the best score so far."""

ATTRIBUTES = """cv_results_ : dict of arrays
    scikit-learn's table of all cells, with their certified relative gap (``gap``, ``split0_gap``, ...), the time they
    took (``mean_fit_time``) and what became of them (``status``).
best_params_, best_score_, best_index_ : dict, float, int
    The winner, its mean score in cross-validation, and its place in ``cv_results_``.
best_estimator_ : estimator
    The winner, fitted to all rows; with ``scale=True`` a kernel machine in a Pipeline after its scaler.
method_ : str
    What the cells shared: 'one stored matrix per kernel', 'rows laid out once per fold', 'leave-one-out in closed form'
    or nothing, 'one fit per cell' (kernel matrices beyond ``cache_size``, stochastic machines, calibrations, nu).
refit_time_ : float
    Seconds that this fit took.
n_splits_, scorer_, n_features_in_, feature_names_in_
    As in scikit-learn.
classes_, certificate_
    Of the fitted winner."""


def search_docstring(
    machine: type[Any], strength: str, lists: dict[str, str], passed: tuple[str, ...], text: str
) -> str:
    """The docstring of a search: ``text`` (a summary, and an example) around the parameters and attributes.

    A parameter that the machine's docstring does not describe is left out: no docstring may break an import.
    """
    summary, _, example = inspect.cleandoc(text).partition("\nExamples\n")
    theirs = _entries(machine)
    named = {parameter: "ridge" if parameter == "lam" and "kernel" in theirs else parameter for parameter in LISTS}
    own = [
        f"{name} : list of values or None, default=None\n    {LISTS[named[parameter]]} {DEFAULTS[named[parameter]]}"
        for name, parameter in lists.items()
    ]
    search = OWN.replace("{strength}", strength).replace("{simplest}", "least" if strength == "C" else "largest")
    parameters = "\n".join([*own, search, *(theirs[name] for name in passed if name in theirs)])
    return (
        f"{summary.rstrip()}\n\nParameters\n----------\n{parameters}\n\n"
        f"Attributes\n----------\n{ATTRIBUTES}\n\nExamples\n{example}"
    )


def _entries(machine: type[Any]) -> dict[str, str]:
    """What a machine's docstring says of each of its parameters."""
    section = (inspect.getdoc(machine) or "").partition("Parameters\n----------\n")[2].partition("\nAttributes\n")[0]
    parts = re.split(r"^(?=[a-z]\w*(?:, \w+)* : )", section, flags=re.MULTILINE | re.IGNORECASE)
    entries = {}
    for part in parts:
        if " : " in part:
            names, _, rest = part.rstrip().partition(" : ")
            entries.update({name: f"{name} : {rest}" for name in names.split(", ")})
    return entries
