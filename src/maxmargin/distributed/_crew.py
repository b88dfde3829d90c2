"""Calls on the partitions of a fit, wherever they are: what is sent, what comes back, and what happens to faults.

A :class:`Crew` knows the partitions of one fit as Dask futures: the rows of each and its :class:`Seat`. A call is one
task for every partition, on the worker that has its rows. Messages are packed here, so that every byte that the
driver sends or gets is counted. A worker that goes takes nothing with it that cannot be made again: Dask makes the rows
again from their own graph, and a seat that has lost its state says so (:class:`Lost`), for the solver to rebuild it.
"""

from __future__ import annotations

import pickle
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from maxmargin.distributed._tasks import Lost, add_pair, packed, perform, share
from maxmargin.exceptions import ClusterError

#: Messages of more bytes are sent to every worker once, not with every task.
LARGE_MESSAGE = 2**16
#: Seconds between two looks at who is still there, and how long to wait for a worker when there is none.
LOOK_EVERY, MUSTER = 0.25, 30.0
#: Seconds that results may take to come before it is asked whether their workers are still there; then twice as long.
GATHERED_IN = 2.0
#: Seconds for which a worker may be paused.
PAUSED_FOR = 120.0
#: Seconds for which workers may do nothing, while rows are missing, before it is said that nobody makes them again.
LOST_FOR = 10.0
LOST_ROWS = (
    "the rows of partition {} were lost with their worker and cannot be made again: they were sent to it (scatter), "
    "not computed or read there. Read or compute them on the workers, or keep them on several (client.replicate)"
)
#: How often one call is made again for a partition whose worker went.
ATTEMPTS = 8


class Exchanged(NamedTuple):
    """Bytes of messages and how many calls they belong to."""

    sent: int = 0
    received: int = 0
    calls: int = 0


@dataclass
class Traffic:
    """What the driver sent and got, by operation."""

    by_operation: dict[str, Exchanged] = field(default_factory=dict)

    def note(self, name: str, sent: int = 0, received: int = 0, calls: int = 0) -> None:
        """Something was sent, or came."""
        known = self.by_operation.get(name, Exchanged())
        self.by_operation[name] = Exchanged(known.sent + sent, known.received + received, known.calls + calls)

    @property
    def total(self) -> Exchanged:
        """Of all operations."""
        return Exchanged(*(sum(column) for column in zip(*self.by_operation.values(), strict=True)))

    def copy(self) -> Traffic:
        return Traffic(dict(self.by_operation))


@dataclass
class Crew:
    """The partitions of one fit; their order is the order of all sums."""

    client: Any
    rows: list[Any]  # futures of the rows of each partition
    seats: list[Any]  # futures of their seats
    traffic: Traffic = field(default_factory=Traffic)
    owners: list[str] = field(default_factory=list)
    faults: int = 0  # calls that were made again
    paused: dict[str, float] = field(default_factory=dict)  # workers, and since when
    lock: Any = field(default_factory=threading.Lock)  # several tasks call side by side

    def __len__(self) -> int:
        return len(self.seats)

    def call(self, name: str, *arguments: Any, only: Sequence[int] | None = None) -> list[Any]:
        """What the operation called ``name`` returns for every partition (of ``only``), in their order.

        ``arguments`` are the same for all; one that is a :class:`Apart` has a value for each partition.
        """
        numbers = list(range(len(self))) if only is None else list(only)
        common = pickle.dumps([None if isinstance(a, Apart) else a for a in arguments], protocol=5)
        apart = {
            p: pickle.dumps([(k, a.values[p]) for k, a in enumerate(arguments) if isinstance(a, Apart)], protocol=5)
            for p in numbers
        }
        with self.lock:
            self.traffic.note(name, calls=1)
        pending: dict[int, Any] = {}
        results: dict[int, Any] = {}
        attempts = dict.fromkeys(numbers, 0)
        try:
            while len(results) < len(numbers):
                missing = [p for p in numbers if p not in results and p not in pending]
                if missing:
                    self._submit(name, common, apart, missing, attempts, pending)
                self._collect(name, pending, results)
        finally:
            for future in pending.values():
                future.release()
        return [results[p] for p in numbers]

    def total(self, name: str, *arguments: Any) -> Any:
        """The sum of an operation's results over all partitions, added up on the workers; see :func:`in_tree`."""
        message = pickle.dumps(list(arguments), protocol=5)
        for attempt in range(ATTEMPTS):
            with self.lock:
                if attempt or not self.owners:
                    self._find_owners()
                self.faults += attempt > 0
                self.traffic.note(name, sent=len(message) * len(self), calls=1)
            submit = self._submitted
            level = [
                submit(share, name, message, p, seat, rows, workers=[self.owners[p]], pure=False)
                for p, (seat, rows) in enumerate(zip(self.seats, self.rows, strict=True))
            ]
            tasks = list(level)
            while len(level) > 1:
                pairs = [level[k : k + 2] for k in range(0, len(level), 2)]
                level = [submit(add_pair, *pair, pure=False) if len(pair) > 1 else pair[0] for pair in pairs]
                tasks += level
            root = submit(packed, level[0], pure=False)
            try:
                values = self._gathered([root], self.owners) if self._comes(root) else None
                if values is not None:
                    with self.lock:
                        self.traffic.note(name, received=len(values[0]))
                    return pickle.loads(values[0])
            finally:
                for future in (*tasks, root):
                    future.release()
        raise ClusterError(f"workers went {ATTEMPTS} times while their shares of a sum were added up")

    def _comes(self, root: Any) -> bool:
        """Wait for a result; False where a worker went that it needs."""
        while not self._wait([root]):
            present = self._present()
            if not all(owner in present for owner in self.owners):
                return False
        if root.status == "error":
            error: Any = root.exception()
            raise ClusterError(f"{type(error).__name__}: {error}") from error
        return root.status == "finished"

    def close(self) -> None:
        """The fit is over: workers drop what they kept for it."""
        try:
            if self.client.status == "running" and len(self.owners) == len(self):
                present = self._present()
                names = [p for p, owner in enumerate(self.owners) if owner in present]
                self.call("close", only=names)
        except Exception as error:  # the fit's own error, or its model, matters more than some memory
            del error
        for future in [*self.rows, *self.seats]:
            future.release()
        self.rows, self.seats = [], []

    # -- one round of tasks -----------------------------------------------------------------------------------

    def _submit(
        self,
        name: str,
        common: bytes,
        apart: dict[int, bytes],
        numbers: list[int],
        attempts: dict[int, int],
        pending: dict,
    ) -> None:
        with self.lock:
            if not self.owners or any(attempts[p] for p in numbers):
                self._find_owners()
        message = common
        owners = sorted({self.owners[p] for p in numbers})
        if len(common) > LARGE_MESSAGE:
            message = self._guarded(lambda: self.client.scatter(common, workers=owners, broadcast=True, hash=False))
        with self.lock:
            self.traffic.note(name, sent=len(common) * len(owners) + sum(len(apart[p]) for p in numbers))
            self.faults += sum(attempts[p] > 0 for p in numbers)
        for p in numbers:
            attempts[p] += 1
            if attempts[p] > ATTEMPTS:
                raise ClusterError(
                    f"partition {p} lost its worker {ATTEMPTS} times during one call; the cluster loses workers faster "
                    "than it finishes their work"
                )
            pending[p] = self._submitted(
                perform, name, message, apart[p], self.seats[p], self.rows[p],
                key=f"maxmargin-{name}-{p}-{uuid.uuid4().hex}", workers=[self.owners[p]], pure=False,
            )  # fmt: skip

    def _submitted(self, *given: Any, **options: Any) -> Any:
        """A task."""
        return self._guarded(partial(self.client.submit, *given, **options))

    def _collect(self, name: str, pending: dict[int, Any], results: dict[int, Any]) -> None:
        """Results of the tasks that have ended; those of workers that went are taken off ``pending``."""
        all_ended = self._wait(list(pending.values()))
        done = {p: future for p, future in pending.items() if future.status == "finished"}
        for p, future in list(pending.items()):
            if future.status == "error":
                self._raise(p, future.exception())
            if future.status in ("cancelled", "lost"):
                del pending[p]
        if done:
            values = self._gathered(list(done.values()), [self.owners[p] for p in done])
            with self.lock:
                self.traffic.note(name, received=sum(map(len, values or [])))
            for p, value in zip(done, values or [], strict=False):
                results[p] = pickle.loads(value)
            for p in done:
                pending.pop(p).release()
        present = set() if all_ended else self._present()
        for p in [p for p in pending if not all_ended and self.owners[p] not in present]:
            pending.pop(p).cancel(force=True)

    def _gathered(self, futures: list[Any], owners: list[str]) -> list[bytes] | None:
        """Results of tasks that have ended; None where they went with their worker.

        Dask's own call would wait for such a task to be made again, on the worker that it was meant for.
        """

        async def gather() -> Any:
            return await self.client.gather(futures, asynchronous=True)

        patience = GATHERED_IN
        while True:
            try:
                return self._guarded(partial(self.client.sync, gather, callback_timeout=patience))
            except CancelledError:
                return None
            except TimeoutError:
                present, patience = self._present(), 2 * patience
                if not all(owner in present for owner in owners):
                    return None

    def _wait(self, futures: list[Any]) -> bool:
        """Until all have ended, or it is time to look who is still there; whether all have."""
        from dask.distributed import wait

        if not futures:
            return True
        try:
            self._guarded(lambda: wait(futures, timeout=LOOK_EVERY))
        except (TimeoutError, CancelledError):
            return False
        return True

    def _present(self) -> set[str]:
        """Addresses of the workers that are there; an error names one that Dask has had paused for long."""
        workers, now = self._guarded(lambda: self.client.scheduler_info(n_workers=-1))["workers"], time.monotonic()
        paused = {address for address, own in workers.items() if own.get("status") == "paused"}
        self.paused = {address: self.paused.get(address, now) for address in paused}
        for address, since in self.paused.items():
            if now - since > PAUSED_FOR:
                raise ClusterError(
                    f"worker {address} is paused since {PAUSED_FOR:.0f} s, because its memory is full; give workers "
                    "more memory, make the partitions smaller, or have Dask spill earlier "
                    "(distributed.worker.memory.target)"
                )
        return set(workers)

    def _find_owners(self) -> None:
        """Which worker has the rows of each partition; those that nobody has are waited for: Dask makes them again."""
        known: dict[int, str] = {}
        mustered = idle = time.monotonic()
        while True:
            present, now = self._present(), time.monotonic()
            for p, rows in enumerate(self.rows):
                if rows.status == "error":
                    self._raise(p, rows.exception())
                if rows.status == "cancelled":
                    raise ClusterError(LOST_ROWS.format(p))
            held = self._guarded(lambda: self.client.who_has(self.rows))
            known = {}
            for p, rows in enumerate(self.rows):
                places = [a for a in sorted(held.get(rows.key, ())) if a in present]
                if places:
                    kept = p < len(self.owners) and self.owners[p] in places
                    known[p] = self.owners[p] if kept else places[0]
            missing = [p for p in range(len(self)) if p not in known]
            if not missing:
                self.owners = [known[p] for p in range(len(self))]
                return
            if present:
                mustered = now
            if not present or self._is_busy():
                idle = now
            if now - mustered > MUSTER:
                raise ClusterError(
                    f"there is no worker since {MUSTER:.0f} s, and partition {missing[0]} has nowhere to be; start one "
                    "(dask worker SCHEDULER-ADDRESS) and fit again, with warm_start=True and a checkpoint to go on"
                )
            if now - idle > LOST_FOR:
                raise ClusterError(LOST_ROWS.format(missing[0]))
            self._wait([self.rows[p] for p in missing])
            time.sleep(0.05)

    def _is_busy(self) -> bool:
        """Whether the scheduler has given anybody work that is not done; a worker that hangs is dropped by Dask."""
        return any(self._guarded(self.client.processing).values())

    def _guarded(self, question: Callable[[], Any]) -> Any:
        """An answer of the scheduler, or words on why there is none."""
        if self.client.status != "running":
            raise scheduler_gone(self.client)
        try:
            return question()
        except (TimeoutError, CancelledError):
            if self.client.status == "running":
                raise
            raise scheduler_gone(self.client) from None
        except Exception as error:
            if self.client.status == "running" and not isinstance(error, OSError):
                raise
            raise scheduler_gone(self.client) from error

    def _raise(self, p: int, error: BaseException) -> None:
        if type(error).__name__ == "KilledWorker":
            raise ClusterError(
                f"the worker of partition {p} died again and again while it computed (out of memory, most likely); "
                "give workers more memory, or make the partitions smaller"
            ) from error
        said = str(error)
        raise (
            type(error)(f"partition {p}: {said}")
            if _is_plain(error)
            else ClusterError(f"partition {p}: {type(error).__name__}: {said}")
        ) from error


class Apart:
    """An argument that has a value for each partition."""

    def __init__(self, values: Any):
        self.values = values


def _is_plain(error: BaseException) -> bool:
    return type(error) in (ValueError, TypeError)


def scheduler_gone(client: Any) -> ClusterError:
    return ClusterError(
        f"the scheduler at {client.scheduler.address if client.scheduler else 'its address'} is gone or was restarted, "
        "and with it everything that its workers had; connect a new Client and fit again (with warm_start=True, a "
        "model that was saved to checkpoint=PATH goes on from there)"
    )


# -- sums in a tree -------------------------------------------------------------------------------------------------


def in_tree(crew: Crew, name: str, *arguments: Any, large: bool) -> Any:
    """The sum of what an operation returns for every partition (a tuple; its last value is a maximum), pair by pair.

    The same pairs are added whether the driver adds them or, where they are ``large``, the workers that have them, so
    that only one comes back. A list of partitions where some have lost their state.
    """
    if large:
        return crew.total(name, *arguments)
    level: list[Any] = [[p] if isinstance(own, Lost) else own for p, own in enumerate(crew.call(name, *arguments))]
    while len(level) > 1:
        level = [add_pair(*level[k : k + 2]) if k + 1 < len(level) else level[k] for k in range(0, len(level), 2)]
    return level[0]
