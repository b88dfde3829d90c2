"""The cluster that a fit uses: the client that was given or is current, and workers that can do the work."""

from __future__ import annotations

from typing import Any

from maxmargin._version import __version__
from maxmargin.exceptions import ClusterError

HOW = """from dask.distributed import Client
client = Client()                       # this computer; or Client("tcp://scheduler:8786") for a cluster"""

#: Seconds within which workers say which maxmargin they have.
ANSWER = 60.0


def require_dask() -> None:
    """An error in words where Dask is not installed."""
    try:
        import dask.distributed  # noqa: F401  # to learn whether it is there
    except ImportError as error:
        raise ImportError("maxmargin.distributed needs Dask: pip install 'maxmargin[dask]'") from error


def client_of(given: Any) -> Any:
    """The client given, one for the address given, or the current one; its workers have this maxmargin."""
    require_dask()
    from dask.distributed import Client, get_client

    client = given
    if isinstance(given, str):
        client = Client(given, set_as_default=False)
    elif given is None:
        try:
            client = get_client()
        except ValueError:
            raise ClusterError(f"there is no Dask client. Two lines make one:\n\n{HOW}\n") from None
    if client.status != "running":
        raise ClusterError(f"the Dask client is {client.status}, not running. Two lines make a new one:\n\n{HOW}\n")
    require_workers(client)
    return client


def require_workers(client: Any) -> None:
    """Name the workers without maxmargin, or with another version of it."""

    async def ask() -> Any:
        return await client.run(eval, "__import__('maxmargin').__version__", on_error="return", asynchronous=True)

    try:
        answers = client.sync(ask, callback_timeout=ANSWER)
    except TimeoutError:
        raise ClusterError(f"the workers do not answer within {ANSWER:.0f} s; look whether they are alive") from None
    for worker, answer in sorted(answers.items()):
        if isinstance(answer, ModuleNotFoundError):
            raise ClusterError(
                f"worker {worker} has no maxmargin ({answer}); install maxmargin=={__version__} on all workers, for "
                "example with dask.distributed.PipInstall"
            )
        if isinstance(answer, OSError):  # it went while it was asked
            continue
        if isinstance(answer, BaseException):
            raise ClusterError(f"worker {worker} cannot import maxmargin: {type(answer).__name__}: {answer}")
        if answer != __version__:
            raise ClusterError(
                f"worker {worker} has maxmargin {answer}, and this process has {__version__}; install the same version"
            )


def worker_count(client: Any) -> int:
    """How many workers there are."""
    return max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
