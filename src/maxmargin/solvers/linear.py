"""Which solver a linear model gets: by shape, loss and penalty, or by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxmargin.backends import Design
from maxmargin.losses import LOSSES, Loss, Quadratic
from maxmargin.penalties import PENALTIES, Penalty
from maxmargin.problems import LinearProblem
from maxmargin.solvers.dual_coordinate import DualCoordinate
from maxmargin.solvers.features import FeatureSets
from maxmargin.solvers.head_start import HeadStart
from maxmargin.solvers.primal_dual import PrimalDual
from maxmargin.solvers.semismooth import DIRECT, DIRECT_DENSE, SemismoothNewton
from maxmargin.solvers.subgradient import Subgradient

if TYPE_CHECKING:
    from maxmargin.backends import NumbaBackend

#: What a user may pass as ``solver`` of a linear machine.
LINEAR_NAMES = ("auto", "newton", "dual-coordinate", "primal-dual", "subgradient")

#: Rows per column from which a dense design is tall.
TALL = 4


def make_linear_solver(name: str, problem: LinearProblem, design: Design, backend: NumbaBackend, seed: int = 0) -> Any:
    """The solver called ``name`` if it can minimise this loss and penalty; 'auto' picks the fastest that can."""
    loss, penalty = problem.loss, problem.penalty
    require_convex(loss, penalty)
    quadratic = isinstance(loss, Quadratic) and penalty.name == "l2"
    if name == "dual-coordinate" and not quadratic:
        raise ValueError(
            f"solver 'dual-coordinate' takes the penalty 'l2' and a loss with a quadratic dual, got {loss.name!r} with "
            f"{penalty.name!r}; use solver='auto'"
        )
    if name == "newton" and not penalty.separable:
        raise ValueError(f"solver 'newton' takes penalties made of |w_j| and w_j^2, got {penalty.name!r}; use 'auto'")
    if name == "subgradient":
        return Subgradient()
    if name == "primal-dual" or not penalty.separable:
        return PrimalDual(SemismoothNewton(backend) if penalty.separable and design.d <= DIRECT else None)
    if name == "dual-coordinate" or (name == "auto" and quadratic and design.d > DIRECT and not _tall(design)):
        return DualCoordinate(backend, seed)
    if penalty.absolute > 0 and design.d > DIRECT:
        return FeatureSets(SemismoothNewton(backend))
    newton = SemismoothNewton(backend)
    kinked = name == "auto" and quadratic and not loss.smooth and not design.streamed
    return HeadStart(DualCoordinate(backend, seed), newton) if kinked else newton


def require_convex(loss: Loss, penalty: Penalty) -> None:
    """Refuse a pair that has no certified minimum, with the reason and what works."""
    if not (loss.convex and penalty.convex):
        raise ValueError(
            f"loss {loss.name!r} with penalty {penalty.name!r} cannot be minimised: "
            f"{loss.name if not loss.convex else penalty.name} is not convex. What works is any of the losses "
            f"{_names(LOSSES)} with any of the penalties {_names(PENALTIES)}."
        )


def _tall(design: Design) -> bool:
    """Whether Newton's equations are quickly formed beside the many passes that dual coordinates need."""
    return design.streamed or (not design.sparse and TALL * design.d <= design.n and design.d <= DIRECT_DENSE)


def _names(kinds: dict[str, Any]) -> str:
    return ", ".join(name for name, kind in kinds.items() if kind.convex)
