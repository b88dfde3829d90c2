"""Choosing C, lambda and the kernel by cross-validation, inside the solver (M20)."""

from __future__ import annotations

from maxmargin.selection._public import SVCCV, SVRCV, LinearSVCCV, LinearSVRCV

__all__ = ["SVCCV", "SVRCV", "LinearSVCCV", "LinearSVRCV"]
