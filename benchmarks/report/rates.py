"""The computer's rates."""

from __future__ import annotations

from typing import Any

from benchmarks.report.markdown import table


def rates(computer: dict[str, Any]) -> str:
    """Everything `benchmarks.computer` measured."""
    lines = [[f"matrix product, {where}", f"{value:.0f} GFLOP/s"] for where, value in computer["gemm"].items()]
    lines += [
        [f"exponential, {where}", f"{value:.2f} ns per value"] for where, value in computer["exponential"].items()
    ]
    lines += [[f"fused tile, {d} dense features", f"{ns:.2f} ns per value"] for d, ns in computer["dense"].items()]
    lines += [[f"fused tile, {k} non-zeros", f"{ns:.2f} ns per value"] for k, ns in computer["sparse"].items()]
    read, write, touch = (computer["memory"][k] for k in ("read", "write", "first_touch"))
    lines += [["memory read", f"{read:.1f} GB/s"], ["memory written", f"{write:.1f} GB/s"]]
    lines += [["first touch of fresh memory", f"{touch:.2f} s per GB"]]
    return f"{computer['threads']} threads.\n\n{table(['what', 'rate'], lines)}"
