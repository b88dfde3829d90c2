"""Kernel least squares: one matrix per kernel serves every fold and every lam.

Cells whose lam is not far below what a low-rank factor of the matrix leaves are solved together, all folds and lam in
the same conjugate-gradient steps; the others by a Cholesky factor each, folds side by side. Both are exact to rounding.
For lam = 0, and kernels that are not positive semidefinite, one eigendecomposition per fold serves all lam; for
leave-one-out, one per kernel.
"""

from __future__ import annotations

import copy
import threading
import time
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.backends import backend_for, blas_threads
from maxmargin.estimators import KernelLeastSquares
from maxmargin.estimators.interface import DIRECT_ROWS, Machine, Training, fitted_scaling, scaled
from maxmargin.selection._trainer import Line, SearchInput, Trained, Trainer
from maxmargin.solvers import eigenvalues
from maxmargin.solvers.least_squares import Eigen, LeastSquaresSolution, solve_eigen
from maxmargin.solvers.least_squares_folds import Systems, pivoted_factor, solve_rows, solve_together

#: Fewest rows for which cells are solved together, and the most outputs: a Cholesky factor serves all outputs.
TOGETHER_ROWS, TOGETHER_OUTPUTS = 1000, 8
#: Most columns of the low-rank factor, as a share of the rows. It ends before where it leaves little of the diagonal
#: (in the mean, as a share of the least lam), and serves every lam of which it does not leave too much.
MOST_COLUMNS, LITTLE, TOO_MUCH = 0.2, 0.01, 0.5
#: Runs of neighbours up to which a part of the matrix is copied run by run.
FEW_STRETCHES = 4


def can_share_kernel(machine: Machine, strengths: list[float], data: SearchInput) -> bool:
    """Whether the machine solves its system on the whole matrix, so that folds are parts of one matrix."""
    if type(machine) is not KernelLeastSquares or not np.isfinite(strengths).all():
        return False
    direct = machine.solver in ("auto", "eigen") or (machine.solver == "cholesky" and min(strengths) > 0)
    return direct and machine.n_landmarks is None and len(data.kept) <= DIRECT_ROWS


def leaves_one_out(data: SearchInput) -> bool:
    """Whether every fold is one row, held out from all others."""
    n = len(data.kept)
    alone = all(len(fold.held) == 1 and len(np.unique(fold.train)) == len(fold.train) == n - 1 for fold in data.folds)
    return alone and not any(fold.held[0] in fold.train for fold in data.folds)


class LeastSquaresTrainer(Trainer):
    """Folds are parts of one matrix; with ``scale`` every fold has a matrix of its own, of rows scaled by its own."""

    method = "one stored matrix per kernel"

    def __init__(self, machine: Machine, data: SearchInput, threads: int, scale: bool):
        self.machine, self.data, self.threads, self.scale = machine, data, threads, scale
        self.at_once = 1 if scale else len(data.folds)
        self.order = data.kept[np.argsort(_first_fold(data), kind="stable")]  # held-out rows are neighbours
        self.place = np.full(len(data.y), -1, dtype=np.intp)
        self.place[self.order] = np.arange(len(self.order))
        self.root = np.sqrt(data.weight[self.order])[:, None]
        self.Y = self.root * data.y[self.order].reshape(len(self.order), -1)
        self._lines: list[tuple[dict[str, Any], dict[tuple[float, int], FloatArray]]] = []
        self._stored: tuple[dict[str, Any], int | None, FloatArray] | None = None

    def line(self, params, folds):
        known = next((known for given, known in self._lines if _same(given, params)), None)
        if known is None:
            known = {}
            self._lines.append((params, known))
        return _Line(self, params, folds, known)

    def system(self, params: dict[str, Any], fold: int | None) -> FloatArray:
        """D K D of these parameters' kernel, D the roots of the weights; the last one is kept."""
        if self._stored is None or self._stored[1] != fold or not _same(self._stored[0], params):
            self._stored = None
            machine = copy.copy(self.machine).set_params(**params)
            K = self._values(machine, fold)
            if not np.isfinite(K).all():
                raise ValueError("the kernel matrix is not finite; scale the features, for example with StandardScaler")
            if self.data.weighted:
                K *= self.root
                K *= self.root.T
            self._stored = (params, fold, K)
        return self._stored[2]

    def _values(self, machine: Machine, fold: int | None) -> FloatArray:
        X, rows, n = self.data.X, self.order, len(self.order)
        if machine._precomputed:
            return np.array(X[np.ix_(rows, rows)], dtype=np.float64)
        if fold is not None:
            train = self.data.folds[fold].train
            X = scaled(X, fitted_scaling(X[train], self.data.weight[train]))
        some = _safe_indexing(X, rows)
        kernel = machine._resolve_kernel(Training(some, None, self.data.weight[rows], np.arange(n), n))
        return backend_for(machine.device).gram(kernel, some, threads=self.threads).matrix(heeds=True)


class LeftOutTrainer(LeastSquaresTrainer):
    """Leave-one-out: one eigendecomposition per kernel gives every fold of every lam."""

    method = "leave-one-out in closed form"

    def line(self, params, folds):
        found = super().line(params, folds)
        return _LeftOutLine(self, params, folds, found.known)


class _Line(Line):
    """Predictions of held-out rows by (lam, fold): those ``known`` are kept from one pass of the search to the next."""

    def __init__(self, trainer: LeastSquaresTrainer, params: dict[str, Any], folds: list[int], known: Any):
        self.trainer, self.params, self.folds = trainer, params, folds
        self.known: dict[tuple[float, int], FloatArray] = known
        self.machine = copy.copy(trainer.machine).set_params(**params)
        self.lock, self.eigen = threading.Lock(), dict[int, Eigen]()

    def system(self) -> FloatArray:
        with self.lock:
            return self.trainer.system(self.params, self.folds[0] if self.trainer.scale else None)

    def _eigen(self, K: FloatArray, Y: FloatArray, lam: float, known: Eigen) -> LeastSquaresSolution:
        """As the machine itself would solve it; weights are in K already."""
        given = self.machine.rank_tol
        cut = len(K) * np.finfo(float).eps if given is None else float(given)
        return solve_eigen(K, Y, np.ones(len(K)), lam, cut, known)

    def expect(self, strengths):
        Y, data = self.trainer.Y, self.trainer.data
        missing = [lam for lam in strengths if lam > 0 and any((lam, fold) not in self.known for fold in self.folds)]
        folds = [fold for fold in self.folds if len(np.unique(data.folds[fold].train)) == len(data.folds[fold].train)]
        few = len(Y) < TOGETHER_ROWS or Y.shape[1] > TOGETHER_OUTPUTS
        if few or self.machine.solver != "auto" or not missing or not folds:
            return
        K, threads = self.system(), self.trainer.threads
        F, left = pivoted_factor(K, LITTLE * min(missing), int(MOST_COLUMNS * len(K)), threads)
        lams = [lam for lam in missing if left <= TOO_MUCH * lam]
        if not lams or not F.size:
            return
        masks = np.zeros((len(K), len(folds)), dtype=bool)
        for column, fold in enumerate(folds):
            masks[self.trainer.place[data.folds[fold].train], column] = True
        tasks = Systems(np.repeat(masks, len(lams), axis=1), np.tile(lams, len(folds)))
        scores, solved = solve_together(K, Y, F, tasks, threads)
        cells = [(lam, fold) for fold in folds for lam in lams]
        for place in np.flatnonzero(solved):
            self._keep(*cells[place], scores[:, place])

    def _keep(self, lam: float, fold: int, scores: FloatArray) -> None:
        """Remember the predictions of a fold's held-out rows, from D f of all rows."""
        rows = self.trainer.place[self.trainer.data.folds[fold].held]
        self.known[lam, fold] = scores[rows] / self.trainer.root[rows]

    def train(self, fold, strength, gap):
        began = time.perf_counter()
        if (strength, fold) not in self.known:
            self._solve(fold, strength)
        data, seconds = self.trainer.data, time.perf_counter() - began
        return Trained(data.held_out(fold, self.machine, None, self.known[strength, fold]), float("nan"), seconds)

    def _solve(self, fold: int, lam: float) -> None:
        """One fold, one lam: by Cholesky, or by an eigendecomposition that serves all lam."""
        K, Y = self.system(), self.trainer.Y
        train = np.sort(self.trainer.place[self.trainer.data.folds[fold].train])
        a = None
        if lam > 0 and self.machine.solver != "eigen" and fold not in self.eigen:
            a = solve_rows(_part(K, train), Y[train], lam)
        if a is None:
            own = _part(K, train)
            if fold not in self.eigen:
                self.eigen[fold] = eigenvalues(own)
            a = self._eigen(own, Y[train], lam, self.eigen[fold]).coef
        rows = self.trainer.place[self.trainer.data.folds[fold].held]
        self.known[lam, fold] = (_cross(K, rows, train) @ a) / self.trainer.root[rows]


class _LeftOutLine(_Line):
    def expect(self, strengths):
        missing = [lam for lam in strengths if any((lam, fold) not in self.known for fold in self.folds)]
        if not missing:
            return
        K, Y = self.system(), self.trainer.Y
        with blas_threads(self.trainer.threads):
            known = eigenvalues(K)
            for lam in missing:
                scores = Y - self._eigen(K, Y, lam, known).left_out
                for fold in range(len(self.trainer.data.folds)):
                    self._keep(lam, fold, scores)


def _first_fold(data: SearchInput) -> IntArray:
    """Of every row that counts, the first fold that holds it out."""
    first = np.full(len(data.y), len(data.folds))
    for number in reversed(range(len(data.folds))):
        first[data.folds[number].held] = number
    return first[data.kept]


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether parameters are equal; kernels with arrays inside that cannot be compared are not."""
    try:
        return bool(one == other)
    except ValueError:
        return False


def _stretches(rows: IntArray) -> list[slice]:
    """Ascending row numbers as stretches of neighbours."""
    edges = np.flatnonzero(np.diff(rows) != 1) + 1
    return [slice(int(part[0]), int(part[-1]) + 1) for part in np.split(rows, edges) if len(part)]


def _part(K: FloatArray, rows: IntArray) -> FloatArray:
    """A copy of K on these rows, ascending: copying stretches is many times faster than single values."""
    return _cross(K, rows, rows)


def _cross(K: FloatArray, lines: IntArray, columns: IntArray) -> Array:
    stretches = _stretches(columns)
    if len(stretches) > FEW_STRETCHES or len(_stretches(lines)) > FEW_STRETCHES:
        return K[np.ix_(lines, columns)]
    return np.block([[K[a, b] for b in stretches] for a in _stretches(lines)])
