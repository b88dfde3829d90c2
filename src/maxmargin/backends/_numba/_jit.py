"""How functions are compiled here: cached on disk, without the GIL, with vectorisable arithmetic.

Also the pieces of LLVM that Numba does not offer by itself: a maximum that vectorises, a bit cast, and an
exponential made of both.
"""

from __future__ import annotations

import signal
import sys
import threading
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import event
from numba.extending import intrinsic, overload

from maxmargin._validation import address_space
from maxmargin.backends._numba._kept_code import keep, warn_once

#: Sums may be reordered; NaN and infinity keep their meaning (forbidden moves have slope +-inf).
FASTMATH = {"reassoc", "contract", "arcp", "nsz"}
#: Bytes of a limited address space that LLVM may take for one function.
ROOM = 2**26

NOTICE = (
    "maxmargin: compiling the inner loops that this needs for this computer, once (5 to 10 seconds for a first fit); "
    "later runs load them from disk."
)


class _Notice(event.Listener):
    """Says once per process that compilation is under way; cached functions trigger no event."""

    said = False

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if not self.said and (function.__module__ or "").startswith("maxmargin."):
            print(NOTICE, file=sys.stderr, flush=True)
            _Notice.said = True

    def on_end(self, event: Any) -> None:
        """Nothing to do when a compilation ends."""


event.register("numba:compile", _Notice())


def jit(function: Any) -> Any:
    """Compile ``function`` on first use; without a writable cache directory it is compiled in every process."""
    return _compiled(function, {})


def inner(function: Any) -> Any:
    """:func:`jit` for functions that only compiled code calls: nothing is compiled that takes Python's arguments."""
    return _compiled(function, {"no_cpython_wrapper": True})


def _compiled(function: Any, more: dict[str, Any]) -> Any:
    options = {"nogil": True, "fastmath": FASTMATH, "error_model": "numpy", "no_cfunc_wrapper": True, **more}
    try:
        return _uninterrupted(keep(numba.njit(cache=True, **options)(function)))
    except RuntimeError as error:  # Numba found no directory it may write to
        warn_once(error)
        return _uninterrupted(numba.njit(**options)(function))


def _uninterrupted(dispatcher: Any) -> Any:
    """Have Ctrl-C wait while Numba compiles or loads: its lock would stay taken, and later fits wait for it forever."""
    compile_for_args = dispatcher._compile_for_args

    def compile_whole(*args: Any, **keywords: Any) -> Any:
        _require_room()
        with _InterruptLater():
            return compile_for_args(*args, **keywords)

    dispatcher._compile_for_args = compile_whole
    return dispatcher


def _require_room() -> None:
    """MemoryError where LLVM could find no room to load or compile a function: it would abort the process."""
    left = address_space()
    if left < ROOM:
        raise MemoryError(
            f"{left / 2**20:.0f} MB of address space are left, and loading compiled code may take {ROOM / 2**20:.0f}; "
            "take fewer rows, or raise the limit (ulimit -v)"
        )


class _InterruptLater:
    """A Ctrl-C inside this block is what it was before it, but at the end. Signals are the main thread's alone."""

    def __enter__(self) -> None:
        self._pressed: list[tuple[int, Any]] = []
        self._before: Any = None
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, lambda *pressed: self._pressed.append(pressed))

    def __exit__(self, *error: object) -> None:
        if self._before is None:
            return
        signal.signal(signal.SIGINT, self._before)
        if self._pressed and callable(self._before):
            self._before(*self._pressed[0])


def _call_llvm(name: str) -> Any:
    def generate(context, builder, signature, args):
        kind = args[0].type
        full = f"llvm.{name}.{'f64' if isinstance(kind, ir.DoubleType) else 'f32'}"
        function = builder.module.globals.get(full)
        if function is None:
            function = ir.Function(builder.module, ir.FunctionType(kind, [kind, kind]), full)
        return builder.call(function, args, fastmath=("nnan", "nsz"))

    return generate


@intrinsic
def fmax(typing_context, a, b):  # pragma: no cover - compiled
    """max(a, b) in a form LLVM vectorises, also as a reduction."""
    return a(a, a), _call_llvm("maxnum")


@intrinsic
def fmin(typing_context, a, b):  # pragma: no cover - compiled
    """min(a, b) in a form LLVM vectorises, also as a reduction."""
    return a(a, a), _call_llvm("minnum")


@intrinsic
def _as_float(typing_context, bits):  # pragma: no cover - compiled
    """The float whose bits these are."""
    result = types.float64 if bits == types.int64 else types.float32

    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], ir.DoubleType() if result == types.float64 else ir.FloatType())

    return result(bits), generate


def exp(x: Any) -> Any:
    """Stand-in for the compiled exponential below."""
    return np.exp(x)


_LOG2E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.693145751953125, 1.42860682030941723212e-6  # Cody and Waite's split of ln 2
# Taylor coefficients 1/i!, highest first; |r| <= ln(2)/2 leaves a relative error below 2e-8 (7) and 4e-18 (13)
_C32 = tuple(np.float32(1.0 / np.prod(np.arange(1.0, i + 1))) for i in range(7, -1, -1))
_C64 = tuple(float(1.0 / np.prod(np.arange(1.0, i + 1))) for i in range(13, -1, -1))


@overload(exp, inline="never")
def _exp(x):
    """e^x = 2^k e^r with k = round(x / ln 2): a polynomial and an exponent field, so that loops vectorise."""
    if x == types.float32:
        c0, c1, c2, c3, c4, c5, c6, c7 = _C32
        log2e, high, low = np.float32(_LOG2E), np.float32(_LN2_HIGH), np.float32(_LN2_LOW)
        small, large, half = np.float32(-87.0), np.float32(88.0), np.float32(0.5)

        def exp32(x):
            y = fmin(fmax(x, small), large)
            k = np.floor(y * log2e + half)
            r = (y - k * high) - k * low
            p = ((((((c0 * r + c1) * r + c2) * r + c3) * r + c4) * r + c5) * r + c6) * r + c7
            value = p * _as_float(np.int32((np.int32(k) + np.int32(127)) << np.int32(23)))
            value = value if x >= small else np.float32(0.0)
            return value if x <= large else np.float32(np.inf)

        return exp32
    d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13 = _C64

    def exp64(x):
        y = fmin(fmax(x, -708.0), 709.0)
        k = np.floor(y * _LOG2E + 0.5)
        r = (y - k * _LN2_HIGH) - k * _LN2_LOW
        p = ((((((d0 * r + d1) * r + d2) * r + d3) * r + d4) * r + d5) * r + d6) * r + d7
        p = (((((p * r + d8) * r + d9) * r + d10) * r + d11) * r + d12) * r + d13
        value = p * _as_float(np.int64((np.int64(k) + np.int64(1023)) << np.int64(52)))
        value = value if x >= -708.0 else 0.0
        return value if x <= 709.0 else np.inf

    return exp64
