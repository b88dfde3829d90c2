"""``maxmargin train --cluster``: the parts of a large table are read, trained on and tested where the workers are."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import maxmargin
from maxmargin import distributed, io
from maxmargin.cli._errors import InputError, check_writable
from maxmargin.cli._options import TrainOptions
from maxmargin.cli._print import Screen
from maxmargin.cli._proof import goal_of, proof_of

#: Rows that the parameters are chosen on, and rows up to which the kernel is a Gaussian unless another is asked for.
SAMPLE, KERNEL_ROWS = 4000, 100_000
#: Different targets up to which whole numbers are classes.
MOST_CLASSES = 50
#: Options that a cluster does not know.
ELSEWHERE = (
    *("report", "calibration", "scoring", "time_column", "group", "test", "threshold", "cost"),
    *("format", "header", "separator", "decimal", "encoding"),
)


def train_on_cluster(data: list[str], cluster: str, options: TrainOptions, screen: Screen) -> int:
    """Train a model of the parts of a table; the exit code."""
    began = time.perf_counter()
    for name in ELSEWHERE:
        if getattr(options, name) is not None:
            flag = "sep" if name == "separator" else name.replace("_", "-")
            raise InputError(f"--{flag} is there without --cluster only; leave one of them out")
    if options.keep or options.drop:
        raise InputError("--keep and --drop are there without --cluster only; all columns but the target are used")
    out = options.out or Path(Path(data[0]).name.split(".")[0] + ".mm")
    check_writable(out, "--out", *data)
    with client_of(cluster) as client:
        X, y, names = distributed.read_parts(data if len(data) > 1 else data[0], options.target)
        train, test, sizes = divided(client, X, y, options)
        sample = gathered(client, train, sizes, options.seed)
        machine, chosen = pick(sample, sum(sizes), options, client)
        screen.line(f"{len(X)} parts, {sum(sizes):,} training rows, {sample[0].shape[1]} columns", "bold")
        screen.pairs([("machine", type(machine).__name__), *((name, f"{value}") for name, value in chosen.items())])
        model = machine.fit([part[0] for part in train], [part[1] for part in train])
        right = client.gather(client.compute([delayed_score(model.ordinary(), part) for part in test]))
        score, tested = mean_score(right, hasattr(model, "classes_"))
    if names is not None and all(isinstance(name, str) for name in names):
        model.feature_names_in_ = names
    io.save(model, out)
    what = "accuracy" if hasattr(model, "classes_") else "R^2"
    screen.title(f"Results on {tested:,} test rows")
    screen.pairs([(what, f"{score:.4g}")])
    screen.title("The proof")
    screen.paragraph(proof_of(model.certificates_, goal_of(model)).sentence)
    screen.line(f"{time.perf_counter() - began:.1f} s")
    screen.line(f"model   {out.resolve()}")
    if screen.for_program:
        certificate = model.certificate_
        screen.document({
            "model": str(out.resolve()), "machine": type(machine).__name__, "parameters": chosen, what: score,
            "rows": {"train": sum(sizes), "test": tested}, "version": maxmargin.__version__,
            "proof": {"holds": certificate.holds, "relative_gap": certificate.relative_gap},
        })  # fmt: skip
    return 0


@contextlib.contextmanager
def client_of(cluster: str) -> Iterator[Any]:
    """A client of the scheduler at an address, or of workers on this computer."""
    try:
        from dask.distributed import Client, LocalCluster
    except ImportError as error:
        raise InputError("--cluster needs Dask: pip install 'maxmargin[dask]'") from error
    if cluster == "local":
        with LocalCluster(threads_per_worker=1, processes=True, dashboard_address=None) as own, Client(own) as client:
            yield client
        return
    try:
        client = Client(cluster, timeout=10)
    except (OSError, ValueError) as error:
        raise InputError(f"--cluster {cluster}: no scheduler answers there ({error}); give tcp://HOST:PORT") from error
    with client:
        yield client


def divided(client: Any, X: list[Any], y: list[Any], options: TrainOptions) -> tuple[list[Any], list[Any], list[int]]:
    """(parts to train on, parts to test on, training rows of each), divided where they are, by the seed."""
    from dask import delayed

    both = [delayed(halves)(rows, own, options, number) for number, (rows, own) in enumerate(zip(X, y, strict=True))]
    both = client.persist(both)
    train, test = [part[0] for part in both], [part[1] for part in both]
    sizes = client.gather(client.compute([delayed(height)(part) for part in train]))
    if not sum(sizes):
        raise InputError("there are no rows to train on")
    return train, test, sizes


def height(part: Any) -> int:
    """Number of rows."""
    return part[0].shape[0]


def halves(X: Any, y: Any, options: TrainOptions, number: int) -> tuple[Any, Any]:
    """((rows, targets) to train on, the same to test on) of one part."""
    held = np.random.default_rng([options.seed, number]).random(X.shape[0]) < options.test_size
    return (X[~held], y[~held]), (X[held], y[held])


def gathered(client: Any, train: list[Any], sizes: list[int], seed: int) -> tuple[Any, Any]:
    """A sample of the training rows, from every part as many as it has of all."""
    from dask import delayed

    share = min(1.0, SAMPLE / sum(sizes))
    parts = client.gather(client.compute([delayed(sampled)(part, share, [seed, k]) for k, part in enumerate(train)]))
    rows = [part[0] for part in parts]
    X = sp.csr_array(sp.vstack(rows, format="csr")) if sp.issparse(rows[0]) else np.concatenate(rows)
    return X, np.concatenate([part[1] for part in parts])


def sampled(part: Any, share: float, seed: list[int]) -> Any:
    """Some rows of one part."""
    chosen = np.random.default_rng([*seed, 1]).random(part[0].shape[0]) < share
    return part[0][chosen], part[1][chosen]


def pick(sample: tuple[Any, Any], n: int, options: TrainOptions, client: Any) -> tuple[Any, dict[str, Any]]:
    """(the machine, its parameters): what was not given is chosen on the sample."""
    X, y = sample
    values = np.unique(y)
    whole = y.dtype.kind not in "f" or bool((y == np.round(y)).all())
    task = options.task or ("classification" if whole and len(values) <= MOST_CLASSES else "regression")
    kernel = options.kernel or ("rbf" if n <= KERNEL_ROWS else "linear")
    linear, scale = kernel == "linear", options.scale is not False
    chosen: dict[str, Any] = {"scale": scale}
    for name in ("C", "time_limit", "multiclass"):
        if getattr(options, name) is not None:
            chosen[name] = getattr(options, name)
    if task == "classification" and options.class_weight == "balanced":
        chosen["class_weight"] = options.class_weight
    if not linear:
        chosen.update({"kernel": kernel, **({"gamma": options.gamma} if options.gamma is not None else {})})
    if options.epsilon is not None and not linear and task == "regression":
        chosen["epsilon"] = options.epsilon
    if options.tune and options.C is None and len(y) >= 10 * options.folds:
        chosen.update(tuned(X, y, task, linear, chosen, options))
    if linear:
        kind: Any = distributed.LinearSVC if task == "classification" else distributed.LinearRegressor
    else:
        kind = distributed.SVC if task == "classification" else distributed.SVR
    return kind(client=client, **chosen), chosen


def tuned(X: Any, y: Any, task: str, linear: bool, chosen: dict[str, Any], options: TrainOptions) -> dict[str, Any]:
    """What a search on the sample picks, on this computer."""
    searches = {
        ("classification", True): maxmargin.LinearSVCCV, ("classification", False): maxmargin.SVCCV,
        ("regression", True): maxmargin.LinearRegressorCV, ("regression", False): maxmargin.SVRCV,
    }  # fmt: skip
    given = {name: value for name, value in chosen.items() if name not in ("time_limit", "gamma")}
    if "gamma" in chosen:
        given["gammas"] = [chosen["gamma"]]
    search = searches[task, linear](cv=options.folds, refit=False, **given).fit(X, y)
    return dict(search.best_params_)


def delayed_score(model: Any, part: Any) -> Any:
    """What one part of the test rows adds to the score."""
    from dask import delayed

    return delayed(score_sums)(model, part)


def score_sums(model: Any, part: Any) -> tuple[float, ...]:
    """(rows, right answers), or of numbers (rows, squared errors, sum and sum of squares of the targets)."""
    X, y = part
    if not X.shape[0]:
        return 0.0, 0.0, 0.0, 0.0
    predicted = model.predict(X)
    if hasattr(model, "classes_"):
        return float(len(y)), float(np.sum(predicted == y)), 0.0, 0.0
    return float(len(y)), float(np.sum((predicted - y) ** 2)), float(np.sum(y)), float(np.sum(np.square(y)))


def mean_score(parts: list[tuple[float, ...]], classifies: bool) -> tuple[float, int]:
    """(accuracy or R^2, rows)."""
    n, first, total, squares = np.sum(parts, axis=0)
    if not n:
        return float("nan"), 0
    if classifies:
        return float(first / n), int(n)
    return float(1.0 - first / max(squares - total**2 / n, 1e-300)), int(n)
