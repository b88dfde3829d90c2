"""Dot products with the sums kept in registers, written in LLVM's own vectors: what loops over arrays cannot promise.

One side of a tile is a *panel*: ``LINES`` bytes of consecutive rows laid out feature by feature, so that one value of
the other side meets a whole vector of them. Sixteen float32 or eight float64 values make a vector (512 bits; narrower
machines split it).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from maxmargin.backends._numba._jit import jit

#: Bytes of a vector, rows of the dense side multiplied at a time, and vectors a sparse row is multiplied with.
VECTOR, ROWS, WIDE = 64, 8, 4
_INT = ir.IntType(64)


def lanes(dtype: Any) -> int:
    """Values in a vector."""
    return VECTOR // np.dtype(dtype).itemsize


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
    zero, contract = ir.Constant(vector, None), ("contract",)
    before, body, after = builder.block, builder.append_basic_block("sum"), builder.append_basic_block("summed")
    builder.cbranch(builder.icmp_signed("<", first, last), body, after)
    builder.position_at_end(body)
    k = builder.phi(_INT)
    sums = [builder.phi(vector) for _ in range(count)]
    added = [
        builder.fadd(builder.fmul(a, b, flags=contract), total, flags=contract)
        for (a, b), total in zip(terms(k), sums, strict=True)
    ]
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


@intrinsic
def dense_dots(typing_context, A, a, d, panel, p, out, o, stride):  # pragma: no cover - compiled
    """out[o + r stride + l] = sum_k A[a + r d + k] panel[p + k lanes + l] for ROWS rows r and all lanes l."""

    def generate(context, builder, signature, args):
        vector = _vector(signature.args[0].dtype)
        d, stride, lanes = args[2], args[7], ir.Constant(_INT, vector.count)
        rows = [
            _at(context, builder, signature.args[0], args[0], builder.add(args[1], builder.mul(d, _INT(r))))
            for r in range(ROWS)
        ]
        line = _at(context, builder, signature.args[3], args[3], args[4])

        def terms(k):
            b = _load(builder, builder.gep(line, [builder.mul(k, lanes)]), vector)
            return [(_spread(builder, builder.gep(row, [k]), vector), b) for row in rows]

        for r, total in enumerate(_sum_loop(builder, _INT(0), d, vector, ROWS, terms)):
            place = builder.add(args[6], builder.mul(stride, _INT(r)))
            _store(builder, total, _at(context, builder, signature.args[5], args[5], place))
        return context.get_dummy_value()

    index = types.intp
    return types.void(A, index, index, panel, index, out, index, index), generate


@intrinsic
def sparse_dots(typing_context, columns, values, first, last, panel, p, out, o):  # pragma: no cover - compiled
    """out[o + l] = sum_j values[j] panel[p + columns[j] w + l], j = first..last - 1, for w = WIDE vectors of lanes."""

    def generate(context, builder, signature, args):
        vector = _vector(signature.args[1].dtype)
        width = ir.Constant(_INT, WIDE * vector.count)
        columns = _at(context, builder, signature.args[0], args[0], _INT(0))
        values = _at(context, builder, signature.args[1], args[1], _INT(0))
        corner = _at(context, builder, signature.args[4], args[4], args[5])

        def terms(j):
            column = builder.load(builder.gep(columns, [j]))
            column = builder.sext(column, _INT) if column.type.width < 64 else column
            line = builder.gep(corner, [builder.mul(column, width)])
            a = _spread(builder, builder.gep(values, [j]), vector)
            return [(a, _load(builder, builder.gep(line, [_INT(v * vector.count)]), vector)) for v in range(WIDE)]

        for v, total in enumerate(_sum_loop(builder, args[2], args[3], vector, WIDE, terms)):
            place = builder.add(args[7], _INT(v * vector.count))
            _store(builder, total, _at(context, builder, signature.args[6], args[6], place))
        return context.get_dummy_value()

    index = types.intp
    return types.void(columns, values, index, index, panel, index, out, index), generate


@jit
def aligned(size, like):
    """A flat array of zeros that begins at a multiple of VECTOR bytes, so that no load crosses a cache line."""
    memory = np.zeros(size + VECTOR, like.dtype)
    first = (-memory.ctypes.data % VECTOR) // memory.itemsize
    return memory[first : first + size]
