"""The ONNX export, one concern per module; what it needs is imported when the first model is exported.

``_graph`` writes nodes and holds columns on their way; ``_kernels``, ``_decisions``, ``_machines``, ``_encoders`` and
``_steps`` translate; ``_inputs`` makes inputs and rows to check with, and ``_write`` does it all in order and compares.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def export_onnx(
    model: Any, path: str | os.PathLike[str], sample: Any = None, names: Sequence[str] | None = None
) -> None:
    """Write a fitted model as an ONNX file that predicts exactly what the model predicts.

    The graph is made of elementary operators in float64 (operator set 19, no custom ones). Before the file is written,
    it is run in onnxruntime on the rows of ``sample`` and compared with the model: labels must be the same, and scores
    agree to 1e-9 of the largest (at most 1e-6, where large terms cancel in them and float64 has no more digits). A
    label may differ only where the two best classes cannot be told apart in float64, of which a warning tells.
    Otherwise :class:`~maxmargin.exceptions.ExportError` names the worst row and both predictions, and no file is
    written.

    Parameters
    ----------
    model : estimator
        A fitted classifier, regressor or outlier detector of maxmargin, a search over one, or a scikit-learn
        ``Pipeline`` that ends with one. Kernels that are Python functions are refused; with
        ``kernel='precomputed'`` the input is a row of kernel values with all training rows.
    path : str or path-like
        The file to write; one that exists is replaced, as a whole and at the end.
    sample : array-like, sparse matrix or DataFrame of shape (n_samples, n_features), default=None
        Rows to compare on. None makes some from the model: its support vectors, rows around them, and where the steps
        of a pipeline take them missing values and unknown categories.
    names : sequence of str, default=None
        Names of the columns; each is then an input of its own under its name. By default those of the table that the
        model was fitted to.

    Raises
    ------
    ExportError
        The model has a part that cannot be exported, or the exported graph would predict something else.
    ImportError
        The packages of ``pip install maxmargin[onnx]`` are missing.

    Notes
    -----
    Inputs: ``X``, float64 of shape (rows, n_features). If a pipeline takes columns of text, or was fitted to a table
    of which it uses some columns only: one input of shape (rows, 1) for every column that it uses, float64 or string,
    under the column's name (``x0``, ``x1``, ... without one). Missing text is the empty string.

    Outputs: ``label`` and ``scores``, or ``prediction`` for regressors, of the shapes that ``predict`` and
    ``decision_function`` have; ``probabilities`` if the model is calibrated; ``projection`` for
    :class:`~maxmargin.KernelDiscriminantAnalysis`. Rows that the model refuses (NaN, infinity, unknown categories with
    ``handle_unknown='error'``) have scores of NaN.

    Examples
    --------
    >>> import os, tempfile
    >>> import onnxruntime
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> from maxmargin.io import export_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.onnx")
    ...     export_onnx(model, path)
    ...     session = onnxruntime.InferenceSession(path)
    >>> label, scores = session.run(None, {"X": X})
    >>> bool((label == model.predict(X)).all())
    True
    """
    missing = [name for name in ("onnx", "onnxruntime") if find_spec(name) is None]
    if missing:
        raise ImportError(f"export_onnx needs the package {' and '.join(missing)}: pip install maxmargin[onnx]")
    file = Path(path)
    if file.is_dir():
        raise IsADirectoryError(f"{file} is a folder; give the name of a file, such as model.onnx")
    if not file.parent.is_dir():
        raise FileNotFoundError(f"the folder {file.parent} does not exist; make it first")
    from maxmargin.io._onnx._write import write_onnx

    write_onnx(model, file, sample, names)
