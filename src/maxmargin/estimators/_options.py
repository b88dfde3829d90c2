"""How a fit is done: the parameters of a machine that solvers, proofs and folds look at."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin._types import RowData
from maxmargin._validation import cache_bytes
from maxmargin.backends import KernelGram, backend_for, effective_threads
from maxmargin.estimators._turns import Turn
from maxmargin.kernels import Kernel
from maxmargin.solvers import AIM, Watch

if TYPE_CHECKING:
    from maxmargin.backends import NumbaBackend


@dataclass(frozen=True)
class FitOptions:
    """How to solve and prove, whatever the problem; a parameter that a machine does not have is as here."""

    tol: float = 1e-3
    gap_tol: float | None = None
    max_iter: int = -1
    solver: str = "auto"
    certify: bool | str = False
    time_limit: float | None = None
    device: str = "auto"
    n_jobs: int | None = None
    cache_size: float | str = "auto"
    random_state: Any = None

    @classmethod
    def of(cls, machine: object) -> FitOptions:
        """The options that a machine's parameters say."""
        names = [field.name for field in fields(cls)]
        return cls(**{name: getattr(machine, name) for name in names if hasattr(machine, name)})

    @property
    def threads(self) -> int:
        """Threads that the fit may use."""
        return effective_threads(self.n_jobs)

    @property
    def memory(self) -> int:
        """Bytes of kernel values that may be kept."""
        return cache_bytes(self.cache_size)

    @property
    def backend(self) -> NumbaBackend:
        """Where the fit computes: the one look at ``device``."""
        return backend_for(self.device)

    def gram(self, kernel: Kernel, X: RowData, dtype: type | None = np.float64, sharing: int = 1) -> KernelGram:
        """The Gram matrix of the rows, in memory that is shared by so many."""
        return self.backend.gram(kernel, X, cache_bytes=self.memory // sharing, threads=self.threads, dtype=dtype)

    def watch(self, turn: Turn) -> Watch:
        """Stopping rules of a kernel machine's task in its turn."""
        return turn.watch(AIM * self.tol, self.gap_tol, self.max_iter)
