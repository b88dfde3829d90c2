"""Code written for scikit-learn, unchanged, with maxmargin's machines: ``python -m maxmargin.accel script.py``."""

from maxmargin.accel._patch import patch_sklearn, patched_sklearn, unpatch_sklearn

__all__ = ["patch_sklearn", "patched_sklearn", "unpatch_sklearn"]
