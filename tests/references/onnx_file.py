"""What the tests of the ONNX export share: write a model, run the file anew, compare on rows of the test's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from maxmargin.io import export_onnx


def run(path: Path, feeds: Any) -> dict[str, np.ndarray]:
    """All outputs of a file; ``feeds`` is X, or a dictionary of columns."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    feeds = feeds if isinstance(feeds, dict) else {"X": np.asarray(feeds, dtype=np.float64)}
    return dict(zip(names, map(np.asarray, session.run(names, feeds)), strict=True))


def decided(model: Any, rows: Any) -> np.ndarray:
    """Rows with one best class; of others (level pieces of an isotonic calibration) rounding decides."""
    values = model.predict_proba(rows) if hasattr(model, "predict_proba") else model.decision_function(rows)
    if values.ndim == 1:
        return np.abs(values) > 1e-9 * np.abs(values).max()
    best = np.sort(values, axis=1)[:, -2:]
    return best[:, 1] - best[:, 0] > 1e-12


def assert_same(model: Any, rows: Any, found: dict[str, np.ndarray]) -> None:
    """The file's outputs are the model's, labels exactly where a row has one best class."""
    if "prediction" in found:
        assert set(found) == {"prediction"}
        np.testing.assert_allclose(found["prediction"], model.predict(rows), rtol=1e-8, atol=1e-10)
        return
    expected = model.predict(rows)
    assert found["label"].dtype.kind == ("O" if expected.dtype.kind in "OU" else expected.dtype.kind)
    sure = decided(model, rows)
    assert sure.mean() > 0.9
    assert found["label"][sure].tolist() == expected[sure].tolist()
    np.testing.assert_allclose(found["scores"], model.decision_function(rows), rtol=1e-8, atol=1e-10)
    assert ("probabilities" in found) == hasattr(model, "predict_proba")
    if "probabilities" in found:
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), rtol=1e-7, atol=1e-10)


def exported(model: Any, folder: Path, rows: Any, feeds: Any = None, sample: Any = None) -> dict[str, np.ndarray]:
    """Export (checked on rows made from the model), run on ``rows`` and compare."""
    path = folder / "model.onnx"
    export_onnx(model, path, sample)
    found = run(path, rows if feeds is None else feeds)
    assert_same(model, rows, found)
    return found
