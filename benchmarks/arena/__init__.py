"""A neutral arena for kernel machines: the same problems, the same proof, side by side in one run.

    python -m benchmarks.arena --sets digits breast_cancer --gap 1e-6

Every competitor fits in a process of its own and is then judged by `maxmargin.certify`, in float64. With ``--gap`` its
``tol`` is tightened until that certificate is good enough, or until it gets no better: its floor.

**A competitor** is one file in ``competitors/`` that defines

- ``NAME``, and ``TASKS``, the tasks it knows out of ``svc nusvc svr oneclass``;
- ``available() -> str | None``: why it cannot run here, or None;
- ``make(task, params, tol) -> estimator``, unfitted; ``tol=None`` is its own default;
- ``cast(X) -> X``: the data type and layout in which it is at its best;
- ``note(model) -> str``: what a reader should know of this fit, or "".

**A data set** is one file in ``sets/`` that defines ``NAME``, ``BUNDLED`` (whether an installed package carries it),
``CASES`` and ``load(source, rows) -> Split``, where ``source(name)`` gives the published arrays of the folder named by
``--data``. That folder holds a ``load.py`` with ``load(name) -> X_train, y_train, X_test, y_test``.

All values are rounded to float32 and gamma is fixed to a number before anyone sees them, so that competitors in float32
and in float64 solve one problem.
"""
