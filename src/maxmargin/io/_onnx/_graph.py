"""A graph of ONNX operators under construction: a thin layer over ``onnx.helper`` in which tensors are names."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from maxmargin import __version__
from maxmargin._types import Array
from maxmargin.exceptions import ExportError

#: Operator set: the first one in which ``Equal`` compares strings; onnxruntime 1.15 and later run it.
OPSET = 19
#: Version of the file format that belongs to it.
IR_VERSION = 9
#: Bytes of constants that fit into a file, with room for the nodes.
MOST_BYTES = 2**31 - 2**24

DOUBLE, INT64, STRING, BOOL = TensorProto.DOUBLE, TensorProto.INT64, TensorProto.STRING, TensorProto.BOOL


class Graph:
    """Nodes, constants, inputs and outputs; methods return the name of the tensor they make. Numbers are float64."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._count = 0

    def _new(self, stem: str) -> str:
        self._count += 1
        return f"maxmargin/{stem}_{self._count}"  # no column of a table is likely to have such a name

    # -- tensors ----------------------------------------------------------------------------------------------

    def constant(self, value: Any) -> str:
        """A constant; Python and NumPy numbers become float64, whole numbers only if they are an integer array."""
        array = np.asarray(value)
        if array.dtype.kind in "OU":
            array = array.astype(object)
        elif array.dtype.kind == "f" or array.ndim == 0:
            array = array.astype(np.float64)
        name = self._new("c")
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name))
        return name

    def input(self, name: str, kind: int, width: int) -> str:
        """An input of shape (rows, width)."""
        self._inputs.append(helper.make_tensor_value_info(name, kind, ["rows", width]))
        return name

    def output(self, name: str, tensor: str, kind: int, width: int | None) -> None:
        """Publish a tensor of shape (rows,), or (rows, width), under a name."""
        self._nodes.append(helper.make_node("Identity", [tensor], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, kind, ["rows"] if width is None else ["rows", width]))

    # -- operators --------------------------------------------------------------------------------------------

    def op(self, kind: str, *inputs: Any, **attributes: Any) -> str:
        """A node with one output; inputs that are no tensor names become constants."""
        names = [tensor if isinstance(tensor, str) else self.constant(tensor) for tensor in inputs]
        name = self._new(kind.lower())
        self._nodes.append(helper.make_node(kind, names, [name], **attributes))
        return name

    def product(self, left: Any, right: Any) -> str:
        """The product of two matrices.

        By Gemm: onnxruntime would fuse a MatMul with a factor beside it, which it then keeps in float32.
        """
        return self.op("Gemm", left, right)

    def affine(self, tensor: str, a: Any, b: Any) -> str:
        """a * tensor + b."""
        return self.op("Add", self.op("Mul", tensor, a), b)

    def number(self, condition: str) -> str:
        """1.0 where a condition holds and 0.0 elsewhere."""
        return self.op("Cast", condition, to=DOUBLE)

    def take(self, tensor: str, columns: Any) -> str:
        """Some columns of a matrix."""
        return self.op("Gather", tensor, np.asarray(columns, dtype=np.int64), axis=1)

    def reduce(self, kind: str, tensor: str, axis: int = 1, keep: bool = True) -> str:
        """'Sum', 'SumSquare', 'L1' or 'Max' along an axis."""
        return self.op(f"Reduce{kind}", tensor, np.array([axis]), keepdims=int(keep))

    def join(self, tensors: list[str]) -> str:
        """Matrices side by side."""
        return tensors[0] if len(tensors) == 1 else self.op("Concat", *tensors, axis=1)

    def vector(self, column: str) -> str:
        """(rows, 1) as (rows,)."""
        return self.op("Squeeze", column, np.array([1]))

    # -- the whole --------------------------------------------------------------------------------------------

    def model(self, properties: dict[str, str], hidden: tuple[str, ...] = ()) -> Any:
        """The finished model, without the outputs ``hidden``."""
        size = sum(constant.ByteSize() for constant in self._constants)
        if size > MOST_BYTES:
            raise ExportError(
                f"the model's constants take {size / 2**30:.1f} GB, more than the 2 GB that an ONNX file may have; use "
                "fewer support vectors (a smaller C, or fewer rows) or a linear machine on NystroemMap"
            )
        shown = [value for value in self._outputs if value.name not in hidden]
        nodes = [node for node in self._nodes if node.output[0] not in hidden]
        graph = helper.make_graph(nodes, "maxmargin", self._inputs, shown, self._constants)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="maxmargin",
            producer_version=__version__,
        )
        helper.set_model_props(model, properties)
        onnx.checker.check_model(model)
        return model


def tensor_kind(array: Array) -> int:
    """The ONNX type of a constant made of an array."""
    return {"f": DOUBLE, "i": INT64, "O": STRING, "b": BOOL}[array.dtype.kind]


# -- Columns on their way through a graph: one matrix of numbers, or numbers and text side by side ------------------


class Columns(NamedTuple):
    """A tensor (rows, width) of numbers, or of text."""

    tensor: str
    width: int
    text: bool = False


class Table:
    """Parts side by side; if there are several, each is one column."""

    def __init__(self, parts: list[Columns]):
        self.parts = parts

    @classmethod
    def of(cls, tensor: str, width: int) -> Table:
        """A matrix of numbers."""
        return cls([Columns(tensor, width)])

    @property
    def width(self) -> int:
        return sum(part.width for part in self.parts)

    def column(self, graph: Graph, j: int) -> Columns:
        """Column j by itself."""
        if len(self.parts) == 1 and self.parts[0].width > 1:
            part = self.parts[0]
            return Columns(graph.take(part.tensor, [j]), 1, part.text)
        return self.parts[j]

    def take(self, graph: Graph, columns: list[int]) -> Table:
        """Some columns, in that order."""
        if len(self.parts) == 1 and self.parts[0].width > 1:
            part = self.parts[0]
            if columns == list(range(part.width)):
                return self
            return Table([Columns(graph.take(part.tensor, columns), len(columns), part.text)])
        return Table([self.parts[j] for j in columns])

    def numbers(self, graph: Graph, wanted_by: str) -> str:
        """All columns as one matrix of numbers."""
        if any(part.text for part in self.parts):
            raise ExportError(
                f"{wanted_by} would get columns of text in the exported graph; encode them first, with OneHotEncoder "
                "or OrdinalEncoder"
            )
        return graph.join([part.tensor for part in self.parts])


def joined(graph: Graph, tables: list[Table], wanted_by: str) -> Table:
    """Tables side by side: one matrix where all are numbers, single columns otherwise."""
    tables = [table for table in tables if table.width]
    if not any(part.text for table in tables for part in table.parts):
        tensors = [table.numbers(graph, wanted_by) for table in tables]
        return Table.of(graph.join(tensors), int(np.sum([table.width for table in tables])))
    return Table([table.column(graph, j) for table in tables for j in range(table.width)])
