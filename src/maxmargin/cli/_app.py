"""The command line: commands, options, and what every command does when something goes wrong."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

import maxmargin
from maxmargin.cli import _arguments as arguments
from maxmargin.cli._errors import FAILED, close_quietly, exit_code_of, trace_of, words_of
from maxmargin.cli._print import Screen
from maxmargin.playground import PORT

app = typer.Typer(
    name="maxmargin",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Support vector machines with a proof: from a file of data to a trained, tuned, certified model.\n\n"
    "Start with `maxmargin train digits`, or `maxmargin train mine.csv --target column --report report.html`.",
)


def run() -> int:
    """Run the command and see that what it printed has arrived; the exit code."""
    code = run_command()
    try:
        sys.stdout.flush()
    except OSError as error:  # what was printed did not arrive; a reader that has gone is told nothing
        close_quietly()
        if code == 0 and not isinstance(error, BrokenPipeError):
            with contextlib.suppress(OSError):
                print(words_of(error), file=sys.stderr)
        code = code or FAILED
    try:
        sys.stderr.flush()
    except OSError:
        close_quietly(sys.stderr)
    return code


def run_command() -> int:
    """Parse the command line and run the command; the exit code."""
    try:
        app(standalone_mode=True)
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
            return 2
        return int(ended.code or 0)
    return 0


def version(asked: bool) -> None:
    """Print the version and end."""
    if asked:
        print(maxmargin.__version__)
        raise typer.Exit


@app.callback()
def about(
    asked: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of all commands."""


def guarded(work: Callable[[Screen], int | None], for_program: bool = False) -> None:
    """Run a command's work; errors become a sentence and an exit code."""
    screen = Screen(for_program)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what matters is said in words
            code = work(screen) or 0
    except BrokenPipeError:
        close_quietly()
        raise typer.Exit(1) from None
    except (Exception, KeyboardInterrupt) as error:
        code, words = exit_code_of(error), words_of(error)
        with contextlib.suppress(OSError):  # where this is printed may be what failed
            screen.error(trace_of(error) + words)
            if for_program:
                screen.document({"error": words, "exit_code": code})
    if code:
        raise typer.Exit(code)


@app.command("train")
def train_command(
    data: arguments.TrainData,
    target: arguments.Target = None,
    out: arguments.Out = None,
    report: arguments.Report = None,
    kernel: arguments.Kernel = None,
    C: arguments.C = None,
    gamma: arguments.Gamma = None,
    epsilon: arguments.Epsilon = None,
    tune: arguments.Tune = True,
    multiclass: arguments.Multiclass = None,
    calibration: arguments.Calibration = None,
    class_weight: arguments.ClassWeight = None,
    threshold: arguments.Threshold = None,
    cost: arguments.Cost = None,
    scale: arguments.Scale = None,
    task: arguments.Task = None,
    keep: arguments.Keep = None,
    drop: arguments.Drop = None,
    test_size: arguments.TestSize = 0.2,
    folds: arguments.Folds = 5,
    scoring: arguments.Scoring = None,
    time_column: arguments.TimeColumn = None,
    group: arguments.Group = None,
    test: arguments.Test = None,
    time_limit: arguments.TimeLimit = None,
    seed: arguments.Seed = 0,
    device: arguments.Device = "auto",
    certify: arguments.Certify = "auto",
    format: arguments.Format = None,
    header: arguments.Header = None,
    sep: arguments.Sep = None,
    decimal: arguments.Decimal = None,
    encoding: arguments.Encoding = None,
    cluster: arguments.Cluster = None,
    code: arguments.Code = True,
    json: arguments.Json = False,
) -> None:
    """Train, tune, test and certify a model of a table, and save it.

    Every choice is printed with its reason and the option that changes it.

    Examples:

    - `maxmargin train digits --report digits.html`

    - `maxmargin train people.csv --target buys --out people.mm`

    - `maxmargin train a9a.svm.xz --kernel linear --time-limit 60`

    - `maxmargin train big/*.parquet --target clicked --cluster tcp://scheduler:8786`
    """
    given = {**locals(), "keep": keep or [], "drop": drop or []}
    guarded(lambda screen: start_training(screen, given), json)


def start_training(screen: Screen, given: dict[str, Any]) -> int:
    """Check the options of ``train`` and run it."""
    from maxmargin.cli._errors import InputError
    from maxmargin.cli._options import TrainOptions, read_cost
    from maxmargin.cli._train import train

    given = {**given, "cost": read_cost(given["cost"]), "separator": arguments.separator_named(given["sep"])}
    names = [field.name for field in fields(TrainOptions)]
    options = TrainOptions(**{name: given[name] for name in names})
    if given["cluster"] is not None:
        from maxmargin.cli._cluster import train_on_cluster

        return train_on_cluster(given["data"], given["cluster"], options, screen)
    if len(given["data"]) > 1:
        raise InputError(f"one file at a time, got {len(given['data'])}; several are parts of a table with --cluster")
    return train(given["data"][0], options, screen, given["code"])


@app.command("predict")
def predict_command(
    model: arguments.Model,
    data: arguments.Data,
    out: Annotated[Path | None, typer.Option(help="CSV to write; standard output if left out or -.")] = None,
    coverage: Annotated[
        float | None, typer.Option(help="Also sets of classes that hold the truth this often, such as 0.95.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Also the columns that decided about every row.")] = False,
    format: arguments.Format = None,
    header: arguments.Header = None,
    sep: arguments.Sep = None,
    decimal: arguments.Decimal = None,
    encoding: arguments.Encoding = None,
    json: arguments.Json = False,
) -> None:
    """Answers for the rows of a file of any size.

    The first column is `prediction`; scores, and of a calibrated model probabilities, follow. Columns are found by
    their names; the target may be there or not.

    Examples:

    - `maxmargin predict people.mm new.csv --out answers.csv`

    - `maxmargin predict digits.mm digits --coverage 0.99 | head`
    """

    def work(screen: Screen) -> int:
        from maxmargin.cli._predict import Wish, predict

        return predict(
            model,
            data,
            out,
            Wish(coverage, explain),
            screen,
            **arguments.reading(format, header, sep, decimal, encoding),
        )

    if json and (out is None or str(out) == "-"):
        raise typer.BadParameter("--json needs --out: standard output cannot hold both")
    guarded(work, json)


@app.command("inspect")
def inspect_command(
    model: arguments.Model,
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="Its training data; found by name if they are at hand.")
    ] = None,
    format: arguments.Format = None,
    header: arguments.Header = None,
    sep: arguments.Sep = None,
    decimal: arguments.Decimal = None,
    encoding: arguments.Encoding = None,
    json: arguments.Json = False,
) -> None:
    """What a model is: kernel, parameters, certificate, zones, statuses, and the rows that decide.

    Example: `maxmargin inspect digits.mm`
    """

    def work(screen: Screen) -> int:
        from maxmargin.cli._inspect import inspect

        return inspect(model, data, screen, **arguments.reading(format, header, sep, decimal, encoding))

    guarded(work, json)


@app.command("certify")
def certify_command(
    model: arguments.Model,
    data: arguments.Data,
    C: Annotated[float | None, typer.Option("--C", help="The cost, for LIBSVM's files, which do not store it.")] = None,
    target: arguments.Target = None,
    changed: Annotated[bool, typer.Option("--changed", help="Accept a file with another checksum.")] = False,
    unsafe_pickle: Annotated[
        bool, typer.Option("--unsafe-pickle", help="Load a pickled scikit-learn model, running the code in it.")
    ] = False,
    max_gap: Annotated[
        float | None, typer.Option(help="Relative gap to be proven; by default what the model was trained to.")
    ] = None,
    format: arguments.Format = None,
    header: arguments.Header = None,
    sep: arguments.Sep = None,
    decimal: arguments.Decimal = None,
    encoding: arguments.Encoding = None,
    json: arguments.Json = False,
) -> None:
    """Recompute the proof of a model from the data that it was trained on.

    A model of `maxmargin train` remembers its training rows and the checksum of their file. The exit code is 1 if
    there is no proof, or if it misses the goal: what the model was trained to, or --max-gap.

    Examples:

    - `maxmargin certify people.mm people.csv`

    - `maxmargin certify a9a.model a9a.svm --C 1`
    """

    def work(screen: Screen) -> int:
        from maxmargin.cli._inspect import Claim, certify

        claim = Claim(C, target, changed, unsafe_pickle, max_gap)
        return certify(model, data, claim, screen, **arguments.reading(format, header, sep, decimal, encoding))

    guarded(work, json)


@app.command("convert")
def convert_command(
    source: Annotated[str, typer.Argument(help="A model or a file of data.")],
    out: Annotated[Path, typer.Argument(help="Where to write; its ending is the format.")],
    target: arguments.Target = None,
    features: Annotated[int, typer.Option(help="Of LIBSVM's training data, if more than its file mentions.")] = 0,
    format: arguments.Format = None,
    header: arguments.Header = None,
    sep: arguments.Sep = None,
    decimal: arguments.Decimal = None,
    encoding: arguments.Encoding = None,
    json: arguments.Json = False,
) -> None:
    """Models between .mm, LIBSVM's and LIBLINEAR's .model and .onnx; data between tables and svmlight.

    Examples:

    - `maxmargin convert people.mm people.onnx`

    - `maxmargin convert people.csv people.svm --target buys`
    """

    def work(screen: Screen) -> int:
        from maxmargin.cli._convert import convert

        return convert(
            source, out, target, features, screen, **arguments.reading(format, header, sep, decimal, encoding)
        )

    guarded(work, json)


@app.command("compare")
def compare_command(
    data: arguments.Data,
    target: arguments.Target = None,
    kernel: Annotated[str | None, typer.Option(help="linear, rbf, poly or sigmoid.")] = None,
    C: Annotated[float | None, typer.Option("--C", help="Cost of errors.")] = None,
    gamma: Annotated[float | None, typer.Option(help="Width of the kernel.")] = None,
    tune: Annotated[
        bool, typer.Option("--tune/--no-tune", help="Choose what is not given by cross-validation.")
    ] = True,
    seed: Annotated[int, typer.Option(help="Of the split and the folds.")] = 0,
    format: arguments.Format = None,
    header: arguments.Header = None,
    sep: arguments.Sep = None,
    decimal: arguments.Decimal = None,
    encoding: arguments.Encoding = None,
    json: arguments.Json = False,
) -> None:
    """The same machine by maxmargin and by scikit-learn: time, score and certified gap on your data.

    Example: `maxmargin compare people.csv --target buys`
    """

    def work(screen: Screen) -> int:
        from maxmargin.cli._compare import compare
        from maxmargin.cli._options import TrainOptions

        options = TrainOptions(
            target=target, kernel=kernel, C=C, gamma=gamma, tune=tune, seed=seed,
            **arguments.reading(format, header, sep, decimal, encoding),
            calibration="none",
        )  # fmt: skip
        return compare(data, options, screen)

    guarded(work, json)


@app.command("datasets")
def datasets_command(json: arguments.Json = False) -> None:
    """The built-in sets, which stand where a file does."""

    def work(screen: Screen) -> int:
        from maxmargin.cli._doctor import datasets

        return datasets(screen)

    guarded(work, json)


@app.command("doctor")
def doctor_command(json: arguments.Json = False) -> None:
    """Versions, back ends, threads, memory plan, extras, and a fit to see whether all is well."""

    def work(screen: Screen) -> int:
        from maxmargin.cli._doctor import doctor

        return doctor(screen)

    guarded(work, json)


@app.command("playground")
def playground_command(
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = PORT,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    host: Annotated[str, typer.Option(help="Address to listen on; the default is this computer only.")] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A further name by which browsers may call; may be repeated.")
    ] = None,
) -> None:
    """See a support vector machine think: a page in the browser, computed by the library.

    Example: `maxmargin playground`
    """

    def work(screen: Screen) -> None:
        from maxmargin.playground import serve

        serve(host, port, open_browser=browser, allow_hosts=allow_host or [])

    guarded(work)
