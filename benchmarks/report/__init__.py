"""Markdown tables from what the arena, `benchmarks.scaling` and `benchmarks.computer` wrote as JSON.

    python -m benchmarks.report arena.json --scaling scaling.json --computer computer.json --into docs/performance.md

A table named NAME takes the place of whatever stands between ``<!-- table: NAME -->`` and ``<!-- end -->`` in a page.
"""
