"""Options of the commands: what each takes and what `--help` says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

TrainData = Annotated[
    list[str],
    typer.Argument(
        help="A file (CSV, TSV, Excel, JSON, Parquet, Arrow, svmlight, npz; also .gz, .bz2, .xz), - for stdin, "
        "or the name of a built-in set: digits, iris, breast_cancer, wine, diabetes. "
        "With --cluster a folder, or any number of Parquet or svmlight files."
    ),
]
Cluster = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler that trains, or local for one on this computer.")
]
Target = Annotated[str | None, typer.Option(help="Column to predict.")]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model: .mm, or LIBSVM's or LIBLINEAR's .model.")]
Data = Annotated[str, typer.Argument(metavar="DATA", help="A file of data, or the name of a built-in set.")]
Out = Annotated[Path | None, typer.Option(help="Where to save the model; the data's name with .mm by default.")]
Report = Annotated[Path | None, typer.Option(help="Write a page about the run, one HTML file.")]
Kernel = Annotated[str | None, typer.Option(help="linear, rbf, poly or sigmoid.")]
C = Annotated[float | None, typer.Option("--C", help="Cost of errors.")]
Gamma = Annotated[float | None, typer.Option(help="Width of the kernel.")]
Epsilon = Annotated[float | None, typer.Option(help="Regression: errors up to this cost nothing.")]
Tune = Annotated[bool, typer.Option("--tune/--no-tune", help="Choose what is not given by cross-validation.")]
Multiclass = Annotated[str | None, typer.Option(help="ovo, ovr, code, crammer-singer or weston-watkins.")]
Calibration = Annotated[str | None, typer.Option(help="Probabilities: none, sigmoid, isotonic or venn-abers.")]
ClassWeight = Annotated[str | None, typer.Option(help="balanced: rare classes count as much as common ones; or none.")]
Threshold = Annotated[
    float | None, typer.Option(help="Of two classes: the score from which on a row counts as the second one.")
]
Cost = Annotated[
    str | None, typer.Option(help="Of two classes: 10:1 if missing a row of the rarer costs ten false alarms.")
]
Scale = Annotated[bool | None, typer.Option("--scale/--no-scale", help="Scale columns to unit variance.")]
Task = Annotated[str | None, typer.Option(help="classification or regression.")]
Keep = Annotated[list[str] | None, typer.Option(help="Column that must not be left out; may be repeated.")]
Drop = Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")]
TestSize = Annotated[float, typer.Option(help="Share of the rows to test on.")]
Folds = Annotated[int, typer.Option(help="Folds of the cross-validation.")]
Scoring = Annotated[str | None, typer.Option(help="scikit-learn's scorer to choose by, such as f1_macro.")]
TimeLimit = Annotated[float | None, typer.Option(help="Seconds for tuning and training.")]
Seed = Annotated[int, typer.Option(help="Of the split, the folds and the calibration.")]
Device = Annotated[str, typer.Option(help="auto or cpu.")]
Certify = Annotated[
    str, typer.Option(help="auto, or full: a proof by code that shares nothing with the solver, at its price.")
]
Code = Annotated[bool, typer.Option("--code/--no-code", help="Print the Python that does the same.")]
Json = Annotated[
    bool, typer.Option("--json", help="One JSON document on standard output; text goes to standard error.")
]
Format = Annotated[
    str | None,
    typer.Option(help="csv, svmlight, json, jsonl, xlsx, parquet, arrow, npz, if its name does not tell."),
]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether the first line of a CSV holds names.")
]
TimeColumn = Annotated[
    str | None, typer.Option(help="Column of dates or numbers: test on the latest rows, learn from earlier ones.")
]
Group = Annotated[str | None, typer.Option(help="Column of groups that are not torn apart, such as patients.")]
Test = Annotated[str | None, typer.Option(help="A second file to test on, instead of a share of the rows.")]
Sep = Annotated[str | None, typer.Option(help="CSV: what stands between cells: one character, or tab or space.")]
Decimal = Annotated[str | None, typer.Option(help="CSV: the sign for decimals, . or a comma.")]
Encoding = Annotated[str | None, typer.Option(help="CSV: such as utf-8, utf-16 or latin-1.")]


def separator_named(sep: str | None) -> str | None:
    """The character that a name stands for."""
    return {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "bar": "|"}.get(sep or "", sep)


def reading(format: Any, header: Any, sep: str | None, decimal: Any, encoding: Any) -> dict[str, Any]:
    """How a file is to be read, by the reader's names."""
    separator = separator_named(sep)
    return {"format": format, "header": header, "separator": separator, "decimal": decimal, "encoding": encoding}
