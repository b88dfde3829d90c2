"""Searches whose cells are trained on a cluster.

The search itself, its grid, its race and its refit are those of one computer, step by step. What is done elsewhere is
training: before a pass all its lines are handed out, one task for a line, and the pass then takes each result where it
would have trained. So the results are those of one computer, and cells that the race drops later in the same pass were
trained in vain, but beside the others. The data are sent to every worker once.
"""

from __future__ import annotations

import pickle
import uuid
import warnings
from concurrent.futures import CancelledError
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from maxmargin import selection
from maxmargin.backends import single_threaded_blas
from maxmargin.distributed._client import client_of
from maxmargin.distributed._crew import ATTEMPTS, LOOK_EVERY, Traffic, scheduler_gone
from maxmargin.distributed._input import are_chunks, is_collection
from maxmargin.distributed._machine import on_cluster
from maxmargin.distributed._predict import lazily
from maxmargin.exceptions import ClusterError
from maxmargin.selection.interface import (
    FIRST_FOLDS,
    CrossValidated,
    Line,
    Scorer,
    Search,
    SearchInput,
    Trained,
    Trainer,
)

_trainers: dict[str, tuple[Trainer, Scorer]] = {}


class Job(NamedTuple):
    """One line in some folds."""

    params: tuple[tuple[str, Any], ...]
    folds: tuple[int, ...]
    strengths: tuple[float, ...]
    gap: float | None


class Scored(NamedTuple):
    """What a cell of one fold came to: score and parts, or an error."""

    score: float
    parts: Any
    gap: float
    seconds: float
    error: BaseException | None = None


class Kept(NamedTuple):
    """What every worker is sent once: how to make the trainer of one computer, and the data."""

    name: str
    make: Any  # of (machine, data, scorer)
    machine: Any
    data: SearchInput
    scoring: Any


def train_line(kept: Kept, job: Job) -> bytes:
    """Train a line on a worker, fold by fold, at growing strengths; the scores of all its cells."""
    if kept.name not in _trainers:
        _trainers.clear()  # one search at a time keeps its matrices
        scorer = Scorer(kept.machine, kept.scoring)
        _trainers[kept.name] = kept.make(kept.machine, kept.data, scorer), scorer
    trainer, scorer = _trainers[kept.name]
    found: dict[tuple[int, float], Scored] = {}
    with single_threaded_blas(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        at_once = max(1, trainer.at_once)
        for first in range(0, len(job.folds), at_once):
            folds = list(job.folds[first : first + at_once])
            line = trainer.line(dict(job.params), folds)
            line.expect(list(job.strengths))
            for strength in job.strengths:
                for fold in folds:
                    found[fold, strength] = _trained(line, scorer, fold, strength, job.gap)
    return pickle.dumps(found, protocol=5)


def _trained(line: Line, scorer: Scorer, fold: int, strength: float, gap: float | None) -> Scored:
    try:
        trained = line.train(fold, strength, gap)
        score, parts = scorer(trained.held, wants_parts=gap is not None and fold < FIRST_FOLDS)
    except Exception as error:
        return Scored(np.nan, np.empty(0), np.nan, 0.0, error)
    return Scored(score, parts, trained.gap, trained.seconds)


class ClusterTrainer(Trainer):
    """Lines that were handed out."""

    method = "on a cluster"

    def __init__(self, client: Any, local: Trainer, kept: Kept):
        self.client, self.local, self.kept = client, local, kept
        self.machine, self.data, self.at_once = local.machine, local.data, local.at_once
        self.loosens = local.loosens
        self.method = f"{local.method}, on a cluster"  # type: ignore[misc]  # of this one
        self.jobs: dict[tuple[Any, ...], tuple[Job, Any]] = {}
        self.traffic, self.sent = Traffic(), None

    def hand_out(self, jobs: list[Job]) -> None:
        """Begin to train these lines."""
        for job in jobs:
            self.jobs[job.params, job.folds, job.gap] = job, self._submit(job)

    def _submit(self, job: Job) -> Any:
        if self.sent is None:
            packed = pickle.dumps(self.kept, protocol=5)
            self.sent = self.client.scatter(packed, broadcast=True, hash=False)
            self.traffic.note("data", len(packed) * len(self.client.scheduler_info(n_workers=-1)["workers"]), calls=1)
        self.traffic.note("line", calls=1)
        return self.client.submit(train_packed, self.sent, job, key=f"maxmargin-line-{uuid.uuid4().hex}", pure=False)

    def line(self, params, folds):
        return ClusterLine(self, tuple(sorted(params.items())), tuple(folds))

    def result(self, key: tuple[Any, ...]) -> dict[tuple[int, float], Scored]:
        """The scores of a line; if the data went with a worker they are sent again."""
        from dask.distributed import wait

        from maxmargin._stop import heed

        for _ in range(ATTEMPTS):
            job, future = self.jobs[key]
            while future.status == "pending":
                heed()
                if self.client.status != "running":
                    raise scheduler_gone(self.client)
                try:
                    wait([future], timeout=LOOK_EVERY)
                except (TimeoutError, CancelledError):
                    continue
            if future.status == "error":
                error: BaseException = future.exception()
                raise error
            try:
                value = self.client.gather(future)
                self.traffic.note("line", received=len(value))
                return pickle.loads(value)
            except CancelledError:
                self.sent = None
                self.jobs[key] = job, self._submit(job)
        raise ClusterError(f"the workers that trained a line went {ATTEMPTS} times")

    def close(self) -> None:
        """Nothing that was handed out is wanted any more."""
        if self.client.status == "running":
            self.client.cancel([future for _, future in self.jobs.values()], force=True)
        self.jobs.clear()


def train_packed(kept: bytes, job: Job) -> bytes:
    """:func:`train_line` of what was sent."""
    return train_line(pickle.loads(kept), job)


class ClusterLine(Line):
    """The cells of a line that was handed out."""

    def __init__(self, trainer: ClusterTrainer, params: tuple[Any, ...], folds: tuple[int, ...]):
        self.trainer, self.params, self.folds = trainer, params, folds
        self.known: dict[float | None, dict[tuple[int, float], Scored]] = {}

    def train(self, fold, strength, gap):
        if gap not in self.known:
            self.known[gap] = self.trainer.result((self.params, self.folds, gap))
        own = self.known[gap][fold, strength]
        if own.error is not None:
            raise own.error
        return Trained(own, own.gap, own.seconds)  # type: ignore[arg-type]  # the scorer below knows


class ClusterSearch(Search):
    """A search whose passes are handed out before they begin, and whose scores come with what was trained."""

    def __init__(self, *given: Any):
        super().__init__(*given)
        known: Any = _known_score
        self.scorer = known

    def _pass(self, what, cells, folds, gap, ends_lines=False):
        assert isinstance(self.trainer, ClusterTrainer)  # a ClusterSearch has no other
        if self._stopped():
            return super()._pass(what, cells, folds, gap, ends_lines)
        jobs = []
        for number in sorted({cell.line for cell in cells if cell.open}):
            line = sorted((c for c in cells if c.line == number and c.open), key=lambda cell: cell.strength)
            params = tuple(sorted(self.apply(line[0].params).items()))
            strengths, at_once = tuple(cell.strength for cell in line), self.trainer.at_once
            jobs += [
                Job(params, tuple(folds[first : first + at_once]), strengths, gap)
                for first in range(0, len(folds), at_once)
            ]
        self.trainer.hand_out(jobs)
        return super()._pass(what, cells, folds, gap, ends_lines)


class SearchOnCluster(CrossValidated):
    """Mixin of the searches of this package."""

    client: Any
    checkpoint: Any
    _ordinary: ClassVar[Any]
    _search_class = ClusterSearch

    def fit(self, X, y, sample_weight=None, groups=None):
        """Search the grid on the cluster, then fit the winner to all rows, here.

        Parameters
        ----------
        X : array-like, sparse matrix, or dask array or data frame, of shape (n_samples, n_features)
            Training rows; every worker gets all of them.
        y : array-like or dask array or series of shape (n_samples,)
            Class labels or real targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row.
        groups : array-like of shape (n_samples,), optional
            For splitters that keep groups together.

        Returns
        -------
        self
        """
        self._client = client_of(self.client)
        try:
            return super().fit(*(_here(given) for given in (X, y, sample_weight, groups)))
        finally:
            trainer = self.__dict__.pop("_cluster_trainer", None)
            if trainer is not None:
                trainer.close()
            del self._client

    def _trainer(self, machine, data, cells, scorer):
        local = super()._trainer(machine, data, cells, scorer)
        threads = 1
        kept = Kept(uuid.uuid4().hex, _Maker(type(local), self._strength, threads, self._scales_here), machine, data,
                    self.scoring)  # fmt: skip
        self._cluster_trainer = ClusterTrainer(self._client, local, kept)
        return self._cluster_trainer

    def predict(self, X):
        """Prediction of the fitted winner for every row; of a Dask collection a lazy one."""
        return lazily(self, super().predict, "predict", X)

    def ordinary(self) -> Any:
        """The same search as one of one computer."""
        made = self._ordinary.__new__(self._ordinary)
        made.__dict__.update({k: v for k, v in vars(self).items() if k not in ("client", "checkpoint", "traffic_")})
        return made

    def __getstate__(self):
        state = super().__getstate__()
        return {**state, "client": state["client"] if isinstance(state.get("client"), str) else None}

    def __sklearn_clone__(self):
        return type(self)(**self.get_params(deep=False))


class _Maker(NamedTuple):
    """Makes the trainer that one computer would have, on a worker."""

    kind: type
    strength: str
    threads: int
    scale: bool

    def __call__(self, machine: Any, data: SearchInput, scorer: Any) -> Trainer:
        import inspect

        names = inspect.signature(self.kind.__init__).parameters  # type: ignore[misc]  # of the class, on purpose
        known = {"machine": machine, "data": data, "threads": self.threads, "scale": self.scale}
        return self.kind(**{k: v for k, v in {**known, "strength": self.strength}.items() if k in names})


def _known_score(held: Scored, wants_parts: bool) -> tuple[float, Any]:
    """What the worker has scored."""
    return held.score, held.parts


def _here(values: Any) -> Any:
    """A collection as an array in this process."""
    if is_collection(values):
        values = values.compute()
    elif are_chunks(values):
        raise ValueError("a search takes arrays or Dask collections, not lists of chunks; every worker gets all rows")
    return values


@on_cluster
class SVCCV(SearchOnCluster, selection.SVCCV):
    """SVC with C and the kernel's parameters chosen by cross-validation, whose cells are trained on a Dask cluster."""
