"""Kernel models of one linear system or eigenproblem, without tasks: least squares for numbers, discriminants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from maxmargin.estimators._fit import Family
from maxmargin.estimators._machine import Training
from maxmargin.kernels import require_consistent
from maxmargin.solvers import Record, Status

if TYPE_CHECKING:
    from maxmargin.estimators._kernel_model import KernelModel


class Solved(NamedTuple):
    """What the system came to; what rounding or too few steps have left of it, the model says itself."""

    model: Any
    history: tuple[Record, ...] = ()
    status: Status = Status.OPTIMAL


class OneSystem(Family[Solved]):
    """A fit that is one system: the machine solves it (``_solved``) and writes what it came to (``_write``)."""

    def __init__(self, machine: KernelModel, data: Training):
        self.machine, self.data = machine, data
        self.kernel = machine._resolve_kernel(data)
        require_consistent(self.kernel, data.X)

    def goal(self):
        return None

    def solve(self, reporter):
        return [Solved(self.machine._solved(self.data, self.kernel))]

    def prove(self, solutions):
        return []

    def write(self, draft, solutions, certificates, reached):
        draft.kernel_, draft.shape_fit_ = self.kernel, getattr(self.data.X, "shape", (self.data.n,))
        draft._write_scaling(self.data)
        draft._write(self.data, solutions[0].model)
