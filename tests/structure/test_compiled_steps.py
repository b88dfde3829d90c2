"""What a compiled loop calls at every step counts no references: each takes longer than the arithmetic of a short row.

Numba counts the references to an array that a function takes and leaves by more than one way. Scalars have none.
"""

import numba
import numpy as np
import pytest

from maxmargin.backends._numba import coordinate, dual_coordinate, smo
from maxmargin.backends._numba._jit import FASTMATH

ROW, TABLE, GAIN = np.zeros(4), np.zeros((2, 4)), np.zeros(4, np.float32)
STEPS = {
    smo.rise: (0.0, 1.0, 0.0, True),
    smo.fall: (0.0, -1.0, 0.0, True),
    smo.extremes: (ROW, TABLE, TABLE, 0),
    smo.find: (ROW, TABLE, 0, 1.0),
    smo.best_partner: (ROW, TABLE, 0, 0.0, 1.0, TABLE, ROW, 0, 1.0, GAIN),
    smo.curvature: (1.0, 1.0, 0.5),
    smo.pair_step: (0.1, 0.0, 1.0, 0.0, -1.0),
    smo.move: (ROW, TABLE, 0, 1, 0.1),
    coordinate.slopes: (0.0, 0.1, -1.0, 1.0, 0.0),
    coordinate.select: (ROW, ROW, ROW, ROW, ROW, 0.0, True),
    coordinate.step_one: (0.0, 1.0, 0.1, -1.0, 1.0),
    coordinate.room: (0.0, 1.0, -1.0, 1.0),
    coordinate.shift: (TABLE, ROW, ROW, 0, 0.1),
    dual_coordinate.slopes: (0.1, 0.0, -1.0, 1.0, 0.0),
    dual_coordinate.moved: (0.1, 0.0, 1.0, -1.0, 1.0, 0.0),
}


def references(function, arguments) -> int:
    """How often the code of a function itself counts one."""
    compiled = numba.njit(nogil=True, fastmath=FASTMATH, error_model="numpy")(function)
    compiled(*arguments)
    (code,) = compiled.inspect_llvm().values()
    return code.split("\ndefine ")[1].count("@NRT_incref")


@pytest.mark.parametrize(
    "step", STEPS, ids=lambda step: f"{step.py_func.__module__.rpartition('.')[2]}.{step.__name__}"
)
def test_a_step_counts_no_references(step):
    assert references(step.py_func, STEPS[step]) == 0


def test_the_count_sees_what_it_looks_for():
    def two_ways_out(k, values, bound):
        values[k] = 1.0
        if values[k] < bound[k]:
            if bound[k] > 2:
                values[k] = 2.0
            elif bound[k] > 3:
                bound[k] = 3.0
        return values if bound[k] > 5 else bound

    assert references(two_ways_out, (0, ROW, ROW)) > 0
