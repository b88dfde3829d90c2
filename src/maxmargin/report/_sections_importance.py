"""The section about what the model looks at: columns it needs, how it uses them, its weights."""

from __future__ import annotations

import math

import numpy as np

from maxmargin.report._findings import Effect, Findings, Importance, Weight
from maxmargin.report._html import capped, charts, missing, section, table
from maxmargin.report._svg import Chart, padded
from maxmargin.report._text import count, escaped, foreign, number, plain, rows

#: Most columns that have a bar, and weights that have a line.
MOST_BARS, MOST_WEIGHTS = 20, 30


def importance(findings: Findings) -> str:
    """Which columns the model needs, and what it makes of them."""
    title, found = "Importance", findings.importance
    if found is None or not found.names:
        return section(
            "importance", title, missing("What the model looks at was not measured: its columns have no names.")
        )
    said = (
        f"<p>How much worse the {escaped(found.metric)} on {rows(found.rows)} held back gets when a column is shuffled "
        f"({count(found.shuffles)} times), so that it says nothing any more. A column whose bar is no longer than its "
        "whisker may not be needed. Columns that say the same stand in for each other: shuffling one of them costs "
        "little.</p>"
    )
    effects = [
        _effect_chart(effect, found.response, k) for k, effect in enumerate(found.effects) if len(effect.values) > 1
    ]
    more = capped(found.columns, len(found.names), "columns")
    how = (
        "<h3>How it uses them</h3><p>The mean answer over training rows if one column had the same value in all of "
        "them, and nothing else changed.</p>"
        if effects
        else ""
    )
    return section(
        "importance", title, said, charts(_bars(found)), more, how, charts(*effects), _weights(found.weights)
    )


def _bars(found: Importance) -> str:
    means, spread = np.asarray(found.means), np.asarray(found.deviations)
    order = np.argsort(-means, kind="stable")[:MOST_BARS]
    chart = Chart(
        "importance",
        f"Loss of {plain(found.metric, 40)} without a column",
        "; ".join(f"{plain(found.names[k], 40)}: {number(means[k], 3)}" for k in order.tolist()),
        height=16 + 22.0 * len(order),
        left=150,
        right=90,
        top=4,
        bottom=12,
    )
    low = min(0.0, float((means - spread)[order].min()))
    x = chart.x(*padded(low, max(float((means + spread)[order].max()), low + 1e-12), 0.02))
    for place, k in enumerate(order.tolist()):
        top = chart.top + 22.0 * place
        chart.label(chart.left - 6, top + 15, found.names[k], chart.left - 14, "end")
        chart.rect("bar c1", x(min(0.0, means[k])), top + 4, x(max(0.0, means[k])), top + 18)
        chart.line("mark", x(means[k] - spread[k]), top + 11, x(means[k] + spread[k]), top + 11)
        chart.text(chart.width - chart.right + 8, top + 15, number(means[k], 3), "tick")
    return chart.render("The whiskers are one standard deviation of the shuffles.")


def _effect_chart(effect: Effect, response: str, place: int) -> str:
    numbers = all(isinstance(value, float) for value in effect.values)
    at = [float(v) for v in effect.values] if numbers else [float(k) for k in range(len(effect.values))]
    low, high = padded(min(effect.means), max(effect.means), 0.1)
    chart = Chart(
        f"effect-{place}",
        f"{plain(response[:1].upper() + response[1:], 60)} over {plain(effect.name, 60)}",
        "; ".join(
            f"{plain(value, 30)}: {number(mean, 3)}" for value, mean in zip(effect.values, effect.means, strict=True)
        ),
        right=30.0,
        bottom=44.0 if numbers else 60.0,
    )
    x, y = chart.x(*padded(at[0], at[-1], 0.06)), chart.y(low, high)
    chart.axes(x, y, plain(effect.name, 40), plain(response, 40), ticks=(numbers, True))
    if numbers:
        chart.path("curve c1", [(x(a), y(b)) for a, b in zip(at, effect.means, strict=True)])
    room = (chart.width - chart.left - chart.right) / len(at) - 6
    for a, value, mean in zip(at, effect.values, effect.means, strict=True):
        shown = number(value, 3) if numbers else plain(value, 30)
        chart.dot("point c1", x(a), y(mean), 3.5, f"{shown}: {number(mean, 3)}")
        if not numbers:
            chart.label(x(a), chart.height - chart.bottom + 18, shown, room, "middle")
    return chart.render()


def _weights(weights: list[Weight]) -> str:
    if not weights:
        return ""
    shown = weights[:MOST_WEIGHTS]
    lines = [
        (
            foreign(weight.name, 60),
            number(weight.value, 3),
            f"{number(weight.value - weight.margin, 3)} to {number(weight.value + weight.margin, 3)}"
            if math.isfinite(weight.margin)
            else "–",
        )
        for weight in shown
    ]
    text = (
        "<h3>Weights</h3><p>The model is a weighted sum of its columns, each scaled as it was for training. The "
        "intervals come from fits to training rows drawn anew; where 0 lies in one, even the sign is open.</p>"
    )
    body = table("Weights, largest first", ("column", "weight", "95 % interval"), lines, (1, 2))
    return text + body + capped(len(weights), len(shown), "weights")
