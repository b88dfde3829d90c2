"""A neutral arena for kernel and linear machines: the same problems, the same proof, side by side in one run.

    python -m benchmarks.arena --sets digits breast_cancer --gap 1e-6

Every competitor fits in a process of its own and is then judged by `maxmargin.certify`, in float64. With ``--gap`` its
``tol`` is tightened until that certificate is good enough, or until it gets no better: its floor.

**A competitor** is one file in ``competitors/`` that defines

- ``NAME``, and ``TASKS``, the tasks it knows out of ``svc nusvc svr oneclass linear-hinge linear-squared-hinge``;
- ``available() -> str | None``: why it cannot run here, or None;
- ``make(task, params, tol) -> estimator``, unfitted; ``tol=None`` is its own default;
- ``cast(X, task) -> X``: the data type and layout in which it is at its best;
- ``note(model) -> str``: what a reader should know of this fit, or "";
- if need be ``cannot(task, params) -> str | None``: why it does not solve this very problem, or None.

Linear machines deliver weights only. They are judged by their objective against a proven lower bound of the problem,
the dual value of a certified solution that is found once per case: ``linear.py`` and ``bound.py``.

**A data set** is one file in ``sets/`` that defines ``NAME``, ``BUNDLED`` (whether an installed package carries it),
``CASES`` and ``load(source, rows) -> Split``, where ``source(name)`` gives the published arrays of the folder named by
``--data``. That folder holds a ``load.py`` with ``load(name) -> X_train, y_train, X_test, y_test``.

All values are rounded to float32 and gamma is fixed to a number before anyone sees them, so that competitors in float32
and in float64 solve one problem.
"""
