"""Models in files: one documented format, written in one step and read without running anything."""

from __future__ import annotations

import os
import warnings
from typing import Any

from maxmargin import _version
from maxmargin.exceptions import ModelFileError
from maxmargin.io._archive import MAX_BYTES, Archive, new_archive


def save(model: Any, path: str | os.PathLike[str], record: dict[str, Any] | None = None) -> None:
    """Write a model, and what there is to say about it, to a file.

    The file is a zip of JSON and ``.npy`` parts, described in ``docs/files.md``. It appears whole or not at all: after
    an error, or a crash, what was there under that name still is.

    Parameters
    ----------
    model : estimator
        Any estimator of maxmargin, fitted or not, or a scikit-learn pipeline of known transformers around one.
        Functions (a callable kernel, ``FunctionTransformer``, a scorer of one's own) are refused: a file holds data.
    path : str or path-like
        The file; ``.mm`` by custom.
    record : dict, optional
        Where the model comes from: anything made of numbers, texts, lists, dicts and arrays. :func:`load_record` reads
        it without the model.

    Raises
    ------
    ModelFileError
        If a part of the model cannot be stored as data; the message names the part.
    OSError
        If the file cannot be written, for example because the disk is full.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC, io
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC().fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     io.save(model, Path(folder, "iris.mm"), record={"data": "iris", "rows": 150})
    ...     same = io.load(Path(folder, "iris.mm"))
    ...     print(io.load_record(Path(folder, "iris.mm")))
    {'data': 'iris', 'rows': 150}
    >>> bool((same.predict(X) == model.predict(X)).all()), same.certificate_ == model.certificate_
    (True, True)
    """
    import sklearn

    from maxmargin.io._codec import Encoder

    if not hasattr(model, "get_params") or isinstance(model, type):
        raise ModelFileError(f"model is a {type(model).__name__}; save takes an estimator or a pipeline", path)
    if record is not None and type(record) is not dict:
        raise ModelFileError(f"record is a {type(record).__name__}; it must be a dict", path)
    about = {"maxmargin": _version.__version__, "scikit-learn": sklearn.__version__}
    with new_archive(path, about) as writer:
        writer.json("model.json", Encoder(writer.array, path).value(model))
        if record is not None:
            writer.json("record.json", Encoder(writer.array, path).value(record, "record"))


def load(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Any:
    """The model in a file that :func:`save` wrote.

    Loading runs no code: the file names classes from a fixed list, and gives their attributes as data, which are
    checked before anything is made of them. So a file from a stranger can do no harm beyond a wrong prediction.

    Parameters
    ----------
    path : str or path-like
        The file.
    max_bytes : int, default=4 GiB
        Larger files are refused.

    Returns
    -------
    estimator
        As it was saved: the same predictions to the last bit, parameters, certificates and history.

    Raises
    ------
    ModelFileError
        If the file is damaged, not a model file, of a newer format, or holds what no model file should.

    Examples
    --------
    See :func:`save`.
    """
    from maxmargin.io._codec import Decoder

    with Archive(path, max_bytes) as archive:
        _warn_of_another_version(archive)
        if "model.json" not in archive:
            raise ModelFileError("there is no part model.json", archive.path)
        model = Decoder(archive.array, archive.path, "model.json").value(archive.json("model.json"))
    if not hasattr(model, "get_params"):
        raise ModelFileError("the file holds no estimator", archive.path, "model.json")
    return model


def load_record(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> dict[str, Any] | None:
    """What :func:`save` was told about a model, without the model.

    Parameters
    ----------
    path : str or path-like
        The file.
    max_bytes : int, default=4 GiB
        Larger files are refused.

    Returns
    -------
    dict or None
        The ``record``; None if there is none.

    Raises
    ------
    ModelFileError
        As :func:`load`.

    Examples
    --------
    See :func:`save`.
    """
    from maxmargin.io._codec import Decoder

    with Archive(path, max_bytes) as archive:
        if "record.json" not in archive:
            return None
        record = Decoder(archive.array, archive.path, "record.json").value(archive.json("record.json"))
    if type(record) is not dict:
        raise ModelFileError("the record is no dict", archive.path, "record.json")
    return record


def _warn_of_another_version(archive: Archive) -> None:
    """scikit-learn promises nothing for what another of its versions fitted."""
    import sklearn

    said = str(archive.manifest.get("scikit-learn", ""))[:20]
    if said.split(".")[:2] != sklearn.__version__.split(".")[:2]:
        warnings.warn(
            f"{archive.path} was written with scikit-learn {said or '(unknown)'}, and this is {sklearn.__version__}; "
            "predictions may differ. Install that version, or train the model again",
            UserWarning,
            stacklevel=3,
        )
