"""``maxmargin inspect`` and ``maxmargin certify``: what is in a model file, and its proof, recomputed from the data."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import FixedThresholdClassifier

from maxmargin import inspection
from maxmargin.certificates import certify_tasks
from maxmargin.cli._data import BUILT_IN, checksum_of, find_target, read_source
from maxmargin.cli._errors import InputError
from maxmargin.cli._models import Model, as_trained, load_model, rows_for
from maxmargin.cli._print import Screen, counted, figure, listed
from maxmargin.cli._proof import Goal, goal_of, proof_of, support_of
from maxmargin.multiclass import MARGIN
from maxmargin.report import Margins

#: Parameters of a machine that say how it was fitted rather than what it is.
UNINTERESTING = ("verbose", "n_jobs", "cache_size", "warm_start", "dual", "intercept_scaling", "shrinking", "device")


def inspect(path: Path, data: str | None, screen: Screen, **how: Any) -> int:
    """Print what a model is, and with its data what the training rows are to it."""
    model = load_model(path, data=data)
    machine = model.machine
    data = data or found_again(model)
    rows = None if data is None else training_rows(model, data, None, **how)
    support, statuses = read_rows(model, rows)
    screen.title(f"{path.name}: {type(machine).__name__}")
    pairs = about(model)
    screen.pairs(pairs)
    if rows is None:
        screen.notice("Zones, statuses and the rows that decide need the data: maxmargin inspect MODEL DATA")
    if support is not None:
        show_support(screen, support, statuses)
    if screen.for_program:
        found: dict[str, Any] = {"model": str(path), **dict(pairs), "zones": None, "statuses": None, "deciding": None}
        if support is not None:
            found.update(zones=support.zones, statuses=statuses, deciding=support.deciding)
        if hasattr(machine, "certificates_"):
            found["proof"] = proof_of(machine.certificates_, goal_of(machine))
        screen.document(found)
    return 0


def found_again(model: Model) -> str | None:
    """The data by the name that the model remembers, if they are at hand and the same."""
    name = model.record.get("data")
    if name is None:
        return None
    if model.record.get("built_in"):
        return str(name) if name in BUILT_IN else None
    beside = [folder / str(name) for folder in (Path.cwd(), model.path.parent)]
    same = (file for file in beside if file.is_file() and checksum_of(file) == model.record.get("sha256"))
    return next(map(str, same), None)


def about(model: Model) -> list[tuple[str, str]]:
    """What a model is, line by line."""
    machine, record = model.machine, model.record
    pairs = [("file", f"{model.kind} model, {model.path.stat().st_size:,} bytes")]
    if record:
        rows = counted(len(record.get("train_rows", ())), "row")
        pairs.append(("trained on", f"{rows} of {record.get('data')} ({record.get('created', 'time unknown')})"))
        pairs.append(("target", f"{record.get('target')} ({record.get('task')})"))
        names = [column["name"] for column in record.get("columns", ())]
        pairs.append(("columns", listed(names, 8) if names else f"{record.get('features')} features"))
        if record.get("verdict"):
            pairs.append(("verdict", record["verdict"]))
        metrics = record.get("metrics", {})
        pairs.append(
            ("on test rows", ", ".join(f"{name} {figure(value)}" for name, value in list(metrics.items())[:3]))
        )
    if model.whole is not machine:
        steps = [type(step).__name__ for _, step in model.whole.steps[:-1]]
        pairs.append(("before it", " -> ".join(steps) or "nothing"))
    if isinstance(model.answering, FixedThresholdClassifier):
        pairs.append(("cut", f"score {figure(model.answering.threshold)}; the hyperplane has 0"))
    pairs.append(("kernel", str(getattr(machine, "kernel_", "linear"))))
    if record.get("importance"):
        needed = [f"{one['name']} {figure(one['loss'])}" for one in record["importance"]]
        what = f"loss of {record['importance'][0]['metric']} when shuffled"
        pairs.append(("looks at", f"{listed(needed, 6)} ({what})"))
    pairs.append(("parameters", parameters(machine)))
    if hasattr(machine, "classes_"):
        pairs.append(("classes", listed([str(label) for label in machine.classes_], 12)))
    if hasattr(machine, "support_"):
        pairs.append(("support vectors", f"{len(machine.support_):,}"))
    if getattr(machine, "certificates_", None):
        pairs.append(("proof", proof_of(machine.certificates_, goal_of(machine)).sentence))
    return pairs


def parameters(machine: Any) -> str:
    """Parameters that differ from their defaults."""
    import inspect as python

    defaults = {name: p.default for name, p in python.signature(type(machine).__init__).parameters.items()}
    own = {name: value for name, value in machine.get_params(deep=False).items() if name not in UNINTERESTING}
    changed = {name: value for name, value in own.items() if repr(value) != repr(defaults.get(name))}
    return ", ".join(f"{name}={value!r}" for name, value in changed.items()) or "the defaults"


def read_rows(model: Model, rows: TrainingRows | None) -> tuple[Margins | None, dict[str, int]]:
    """What the training rows are to the machine."""
    machine = model.machine
    single = getattr(machine, "multiclass_", None) in MARGIN
    unnamed = (np.asarray(getattr(machine, "support_", -1)) < 0).any()  # LIBSVM's files do not say which rows they were
    if rows is None or unnamed or single:
        return None, {}
    support = support_of(machine, rows.X, rows.y, rows.rows, None, [])
    if not hasattr(machine, "classes_"):
        return support, {}
    counts = inspection.status(machine, rows.X, rows.y).counts()
    return support, {name: number for name, number in counts.items() if number}


def show_support(screen: Screen, support: Margins, statuses: dict[str, int]) -> None:
    """Zones, statuses and the heaviest rows."""
    screen.title("Where the training rows lie")
    screen.grid(["zone", "rows"], [[zone, f"{number:,}"] for zone, number in support.zones.items()], right=(1,))
    if statuses:
        screen.title("What they are to the machine (a row counts once in every two-class problem)")
        screen.grid(["status", "rows"], [[name, f"{number:,}"] for name, number in statuses.items()], right=(1,))
    screen.title("Rows that decide most")
    lines = [
        [f"{line['row']:,}", str(line["label"]), figure(line["coefficient"]), figure(line["margin"])]
        for line in support.deciding
    ]
    screen.grid(["row of the file (from 0)", "answer", "coefficient", "margin"], lines, right=(0, 2, 3))


# -- ``maxmargin certify``: the proof, recomputed from the data by code that shares nothing with the solvers --------


class Claim(NamedTuple):
    """What is asked of ``certify``, besides the model and the data."""

    C: float | None = None
    target: str | None = None
    changed: bool = False
    unsafe: bool = False
    max_gap: float | None = None  # the model's own goal where nothing is asked


def certify(path: Path, data: str, claim: Claim, screen: Screen, **how: Any) -> int:
    """Print the certificate of a model; the exit code is 1 where there is no proof, or one that misses the goal."""
    if claim.max_gap is not None and not 0 <= claim.max_gap < 1:
        raise InputError(f"--max-gap {claim.max_gap:g} is a relative gap; take one from 0 to below 1, such as 1e-3")
    model = load_model(path, claim.unsafe, data)
    found = training_rows(model, data, claim.target, claim.changed, **how)
    goal = goal_of(model.machine) if claim.max_gap is None else Goal(np.inf, claim.max_gap)
    proof = proof_of(certify_tasks(model.machine, found.X, found.y, C=claim.C), goal)
    checked = "the file is the one that the model was trained on" if found.checked else "the file's checksum is unknown"
    screen.title(f"{path.name}, {len(found.y):,} training rows of {data}")
    screen.pairs(
        [
            ("data", f"SHA-256: {checked}" if model.record else "all rows of the file; the model remembers none"),
            ("tasks", str(proof.tasks)),
            ("primal", f"{proof.primal:.9g}"),
            ("dual", f"{proof.dual:.9g}"),
            ("gap", f"{proof.gap:.3g} ({proof.relative_gap:.3g} relative)"),
            ("KKT violation", f"{proof.kkt:.3g}"),
            ("says", proof.sentence),
        ]
    )
    if screen.for_program:
        screen.document(
            {"model": str(path), "data": data, "checked": found.checked, "rows": len(found.y), "proof": proof}
        )
    return 0 if proof.finished else 1


# -- The rows that a model was trained on, found again in its data --------------------------------------------------


class TrainingRows(NamedTuple):
    """Training rows as the machine saw them, their answers and their numbers in the file."""

    X: Any
    y: np.ndarray
    rows: np.ndarray
    checked: bool  # whether the file is known to be the one that the model was trained on


def training_rows(model: Model, data: str, target: str | None, changed: bool = False, **how: Any) -> TrainingRows:
    """Read the data that a model was trained on; another file than that is refused unless ``changed``."""
    record = model.record
    source = read_source(data, **as_trained(model, how))
    checked = record.get("sha256") == source.checksum
    if record and not checked and not changed:
        raise InputError(
            f"{data} is not the file that {model.path} was trained on: that was {record.get('data')!r} with SHA-256 "
            f"{str(record.get('sha256'))[:12]}..., and this one has {source.checksum[:12]}... If it differs in nothing "
            "that matters, say --changed"
        )
    name, _ = find_target(source.table, target or record.get("target"))
    rows = np.asarray(record.get("train_rows", np.flatnonzero(source.table.known(name))), dtype=np.int64)
    if len(rows) and rows.max() >= len(source.table):
        raise InputError(
            f"{data} has {len(source.table):,} rows, and the model was trained on row {rows.max():,} of it"
        )
    table = source.table.take(rows).with_dates(record.get("dates", {}))
    X, _ = rows_for(model, table)
    return TrainingRows(model.encoded(X), answers_like(model, table[name]), rows, checked)


def answers_like(model: Model, column: np.ndarray) -> np.ndarray:
    """Answers in the type of the model's classes."""
    classes = getattr(model.machine, "classes_", None)
    if classes is None:
        return column
    if classes.dtype.kind in "iu" and column.dtype != object:
        return column.astype(classes.dtype)
    return column.astype(str) if classes.dtype.kind in "UO" else column
