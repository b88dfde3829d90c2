"""Dot products, and Gaussians of them, in registers, written in LLVM's own vectors: what loops cannot promise.

One side of a tile is a *panel*: consecutive rows laid out feature by feature, so that one value of the other side meets
whole vectors of them. Sixteen float32 or eight float64 values make a vector (512 bits; narrower machines split it).
"""

from __future__ import annotations

from math import factorial, log
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from maxmargin.backends._numba._jit import inner
from maxmargin.backends._rows import PANEL

#: Bytes of a vector; dense rows multiplied at a time, and with how many vectors; with how many a sparse row is.
VECTOR, ROWS, PAIR, WIDE = 64, 8, PANEL // 64, 4
_INT = ir.IntType(64)


def _vector(kind: Any) -> ir.VectorType:
    return ir.VectorType(ir.FloatType() if kind == types.float32 else ir.DoubleType(), VECTOR * 8 // kind.bitwidth)


def _at(context: Any, builder: Any, kind: Any, array: Any, offset: Any) -> Any:
    """Pointer to element ``offset`` of a flat array."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [offset])


def _load(builder: Any, pointer: Any, vector: ir.VectorType) -> Any:
    return builder.load(builder.bitcast(pointer, vector.as_pointer()), align=4)


def _store(builder: Any, value: Any, pointer: Any) -> None:
    builder.store(value, builder.bitcast(pointer, value.type.as_pointer()), align=4)


def _spread(builder: Any, pointer: Any, vector: ir.VectorType) -> Any:
    """The value at ``pointer`` in every lane."""
    nothing = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(nothing, builder.load(pointer), ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(ir.IntType(32), vector.count), None))


def _sum_loop(builder: Any, first: Any, last: Any, vector: ir.VectorType, count: int, terms: Any) -> list[Any]:
    """``count`` vector sums over k = first..last - 1 of the (a, b) products that ``terms(k)`` gives."""
    zero = ir.Constant(vector, None)
    before, body, after = builder.block, builder.append_basic_block("sum"), builder.append_basic_block("summed")
    builder.cbranch(builder.icmp_signed("<", first, last), body, after)
    builder.position_at_end(body)
    k = builder.phi(_INT)
    sums = [builder.phi(vector) for _ in range(count)]
    added = [_add_product(builder, a, b, total) for (a, b), total in zip(terms(k), sums, strict=True)]
    following = builder.add(k, ir.Constant(_INT, 1))
    for phi, start, later in [(k, first, following), *((s, zero, a) for s, a in zip(sums, added, strict=True))]:
        phi.add_incoming(start, before)
        phi.add_incoming(later, body)
    builder.cbranch(builder.icmp_signed("<", following, last), body, after)
    builder.position_at_end(after)
    results = [builder.phi(vector) for _ in range(count)]
    for phi, total in zip(results, added, strict=True):
        phi.add_incoming(zero, before)
        phi.add_incoming(total, body)
    return results


class _Float(NamedTuple):
    """What e^x needs to know of a type of numbers."""

    bits: int
    fraction: int  # bits of the mantissa
    bias: int
    least: float  # e^x is 0 below
    degree: int  # |r| <= ln(2)/2 leaves a relative error below 2e-8 (7) and 4e-18 (13)


_FLOATS = {ir.FloatType(): _Float(32, 23, 127, -87.0, 7), ir.DoubleType(): _Float(64, 52, 1023, -708.0, 13)}


def _call(builder: Any, name: str, *values: Any, flags: tuple[str, ...] = ()) -> Any:
    """LLVM's own function ``name`` of vectors."""
    kind = values[0].type
    full = f"llvm.{name}.v{kind.count}f{_FLOATS[kind.element].bits}"
    function = builder.module.globals.get(full)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(kind, [kind] * len(values)), full)
    return builder.call(function, values, fastmath=flags)


def _add_product(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """a b + c, rounded once where the machine can."""
    return builder.fadd(builder.fmul(a, b, flags=("contract",)), c, flags=("contract",))


def _exp(builder: Any, x: Any) -> Any:
    """e^x = 2^k e^r with k = round(x / ln 2), for x <= 0: what :func:`._jit.exp` is for loops."""
    kind, form = x.type, _FLOATS[x.type.element]
    whole = ir.VectorType(ir.IntType(form.bits), kind.count)

    def all_of(value: Any, vector: ir.VectorType = kind) -> Any:
        return ir.Constant(vector, [value] * kind.count)

    y = _call(builder, "maxnum", x, all_of(form.least), flags=("nnan", "nsz"))
    k = _call(builder, "floor", _add_product(builder, y, all_of(1 / log(2)), all_of(0.5)))
    r = _add_product(builder, k, all_of(-log(2)), y)  # k ln 2 is off by u |x|, as the exponent is anyway
    value = all_of(1 / factorial(form.degree))
    for i in range(form.degree - 1, -1, -1):
        value = _add_product(builder, value, r, all_of(1 / factorial(i)))
    exponent = builder.add(builder.fptosi(k, whole), all_of(form.bias, whole))
    power = builder.bitcast(builder.shl(exponent, all_of(form.fraction, whole)), kind)
    return builder.select(builder.fcmp_ordered(">=", x, all_of(form.least)), builder.fmul(value, power), all_of(0.0))


def _gaussian(builder: Any, product: Any, s: Any, t: Any, rate: Any) -> Any:
    """exp(rate max(0, s + t - 2 product)), rate <= 0."""
    square = _add_product(builder, ir.Constant(product.type, [-2.0] * product.type.count), product, builder.fadd(s, t))
    square = _call(builder, "maxnum", square, ir.Constant(product.type, None), flags=("nnan", "nsz"))
    return _exp(builder, builder.fmul(rate, square))


class _Norms(NamedTuple):
    """Where the squared norms of rows s[i + r] and columns t[j + l] are, and the rate of a Gaussian."""

    s: Any
    t: Any
    rate: Any

    @staticmethod
    def of(context: Any, builder: Any, kinds: Any, args: Any) -> _Norms | None:
        """From the arguments s, i, t, j, rate of an intrinsic (the first element of an array, or None: no Gaussian)."""
        if isinstance(kinds[4], types.NoneType):
            return None
        s, t = (_at(context, builder, kinds[k], args[k], args[k + 1]) for k in (0, 2))
        return _Norms(s, t, _at(context, builder, kinds[4], args[4], _INT(0)))

    def value(self, builder: Any, product: Any, row: int, vector: int) -> Any:
        """The Gaussian of the products of a row with a vector of columns."""
        kind = product.type
        s = _spread(builder, builder.gep(self.s, [_INT(row)]), kind)
        t = _load(builder, builder.gep(self.t, [_INT(vector * kind.count)]), kind)
        return _gaussian(builder, product, s, t, _spread(builder, self.rate, kind))


def _dense(context: Any, builder: Any, kinds: Any, args: Any, norms: _Norms | None) -> Any:
    """The values of ROWS rows and a panel, as :func:`dense_values` wants them."""
    vector = _vector(kinds[0].dtype)
    d, stride, lanes = args[2], args[7], ir.Constant(_INT, PAIR * vector.count)
    rows = [
        _at(context, builder, kinds[0], args[0], builder.add(args[1], builder.mul(d, _INT(r)))) for r in range(ROWS)
    ]
    line = _at(context, builder, kinds[3], args[3], args[4])

    def terms(k: Any) -> Any:
        corner = builder.mul(k, lanes)
        columns = [builder.gep(line, [builder.add(corner, _INT(v * vector.count))]) for v in range(PAIR)]
        b = [_load(builder, column, vector) for column in columns]
        return [(a, own) for a in (_spread(builder, builder.gep(row, [k]), vector) for row in rows) for own in b]

    for number, total in enumerate(_sum_loop(builder, _INT(0), d, vector, ROWS * PAIR, terms)):
        r, v = divmod(number, PAIR)
        value = total if norms is None else norms.value(builder, total, r, v)
        place = builder.add(builder.add(args[6], builder.mul(stride, _INT(r))), _INT(v * vector.count))
        _store(builder, value, _at(context, builder, kinds[5], args[5], place))
    return context.get_dummy_value()


@intrinsic
def dense_values(typing_context, A, a, d, panel, p, out, o, stride, s, i, t, j, rate):  # pragma: no cover - compiled
    """out[o + r stride + l] = v = sum_k A[a + r d + k] panel[p + k lanes + l] for ROWS rows r and all lanes l.

    With a ``rate``, exp(rate[0] max(0, s[i + r] + t[j + l] - 2 v)) in its place.
    """

    def generate(context, builder, signature, args):
        norms = _Norms.of(context, builder, signature.args[8:], args[8:])
        return _dense(context, builder, signature.args, args, norms)

    index = types.intp
    return types.void(A, index, index, panel, index, out, index, index, s, index, t, index, rate), generate


def _sparse(context: Any, builder: Any, kinds: Any, args: Any, norms: _Norms | None) -> Any:
    """The values of a sparse row and WIDE vectors of columns."""
    vector = _vector(kinds[1].dtype)
    width = ir.Constant(_INT, WIDE * vector.count)
    columns = _at(context, builder, kinds[0], args[0], _INT(0))
    values = _at(context, builder, kinds[1], args[1], _INT(0))
    corner = _at(context, builder, kinds[4], args[4], args[5])

    def terms(j: Any) -> Any:
        column = builder.load(builder.gep(columns, [j]))
        column = builder.sext(column, _INT) if column.type.width < 64 else column
        line = builder.gep(corner, [builder.mul(column, width)])
        a = _spread(builder, builder.gep(values, [j]), vector)
        return [(a, _load(builder, builder.gep(line, [_INT(v * vector.count)]), vector)) for v in range(WIDE)]

    for v, total in enumerate(_sum_loop(builder, args[2], args[3], vector, WIDE, terms)):
        value = total if norms is None else norms.value(builder, total, 0, v)
        place = builder.add(args[7], _INT(v * vector.count))
        _store(builder, value, _at(context, builder, kinds[6], args[6], place))
    return context.get_dummy_value()


@intrinsic
def sparse_values(
    typing_context, columns, values, first, last, panel, p, out, o, s, i, t, j, rate
):  # pragma: no cover - compiled
    """out[o + l] = v = sum_j values[j] panel[p + columns[j] w + l], j = first..last - 1, for w = WIDE vectors of lanes.

    With a ``rate``, exp(rate[0] max(0, s[i] + t[j + l] - 2 v)) in its place.
    """

    def generate(context, builder, signature, args):
        norms = _Norms.of(context, builder, signature.args[8:], args[8:])
        return _sparse(context, builder, signature.args, args, norms)

    index = types.intp
    return types.void(columns, values, index, index, panel, index, out, index, s, index, t, index, rate), generate


@intrinsic
def add_rows(typing_context, weights, w, step, block, o, stride, sums, p):  # pragma: no cover - compiled
    """sums[p + l] += sum_r weights[w + r step] block[o + r stride + l] for ROWS rows r, in order, and a vector l."""

    def generate(context, builder, signature, args):
        kinds = signature.args
        vector = _vector(kinds[0].dtype)
        place = _at(context, builder, kinds[6], args[6], args[7])
        total = _load(builder, place, vector)
        for r in range(ROWS):
            at = builder.add(args[1], builder.mul(args[2], _INT(r)))
            weight = _spread(builder, _at(context, builder, kinds[0], args[0], at), vector)
            row = _at(context, builder, kinds[3], args[3], builder.add(args[4], builder.mul(args[5], _INT(r))))
            total = _add_product(builder, weight, _load(builder, row, vector), total)
        _store(builder, total, place)
        return context.get_dummy_value()

    index = types.intp
    return types.void(weights, index, index, block, index, index, sums, index), generate


@inner
def aligned(size, like):
    """A flat array of zeros that begins at a multiple of VECTOR bytes, so that no load crosses a cache line."""
    memory = np.zeros(size + VECTOR, like.dtype)
    first = (-memory.ctypes.data % VECTOR) // memory.itemsize
    return memory[first : first + size]
