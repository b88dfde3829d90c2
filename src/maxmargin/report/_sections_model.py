"""Sections about the machine itself: margins and slack, the certificate, support vectors."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from maxmargin.report._charts import margin_chart
from maxmargin.report._findings import Findings, Proof
from maxmargin.report._html import capped, charts, missing, section, table
from maxmargin.report._text import count, escaped, finite, foreign, number, rows, share

#: Most lines and columns of the table of deciding rows.
MOST_ROWS, MOST_FIELDS = 20, 12
#: What lying in a zone means for a row; other names are shown without a word.
MEANINGS = {
    "beyond its margin": "right, and safely so: the row has no part in the model",
    "on its margin": "right, and the margin rests on it",
    "inside the strip, right side": "right, but nearer than the margin: it has slack below 1",
    "on the hyperplane": "undecided",
    "inside the strip, wrong side": "wrong, by less than the margin",
    "on the other margin": "wrong, by the whole margin",
    "beyond the other margin": "wrong, by more than the margin: mislabelled, or unlike its class",
    "inside the tube": "closer than epsilon: the row has no part in the model",
    "on the tube": "exactly epsilon away: the model rests on it",
    "on its edge": "exactly epsilon away: the model rests on it",
    "outside the tube": "further off than epsilon: it has slack",
    "outside": "further off than epsilon: it has slack",
}


def margins(findings: Findings) -> str:
    """How the training rows lie."""
    title, support = "Margins and slack", findings.support
    if support is None:
        return section("margins", title, missing("The model has no margins that were looked at."))
    regression = findings.task == "regression"
    many = ""
    if findings.task == "many classes":
        own = " Every two-class problem counts its own rows."
        many = (
            own
            if np.ndim(support.margins) == 2
            else " A row counts by the smallest margin among its two-class problems."
        )
    said = (
        "<p>How far off each training row is, minus epsilon, up to which errors cost nothing. Rows below 0 lie inside "
        "the tube and cost nothing; the slack of the others is what they lie above it.</p>"
        if regression
        else "<p>The margin t·f(x) of a row is its score, counted positive on the side of its own class. At 1 and "
        "above a row costs nothing; below 1 its slack is 1 minus the margin; below 0 it is on the wrong side."
        f"{many}</p>"
    )
    values = finite(support.margins)
    # With many classes a row that has no part in a two-class problem has no margin there: nan.
    drawable = np.asarray(support.margins, dtype=np.float64).ravel()
    lost = int(np.sum(np.isinf(drawable) if findings.task == "many classes" else ~np.isfinite(drawable)))
    chart = margin_chart(values, regression) if len(values) else missing("There are no finite margins to draw.")
    note = f"<p>{count(lost)} margins are no finite numbers and not drawn.</p>" if lost else ""
    total = max(1, sum(support.zones.values()))
    lines = [(foreign(z, 60), count(n), share(n / total), MEANINGS.get(z, "–")) for z, n in support.zones.items()]
    zones = table("Zones of the training rows", ("zone", "rows", "share", "means"), lines, (1, 2)) if lines else ""
    return section("margins", title, said, charts(chart, zones), note)


def certificate(findings: Findings) -> str:
    """The proof, in a sentence and in figures."""
    title, proof = "The certificate", findings.proof
    if proof is None:
        text = "The model carries no certificate, so how far it is from optimal is not known."
        return section("certificate", title, missing(text))
    lines = [
        ("primal", number(proof.primal, 8), "the objective of this model: what training makes as small as it can"),
        ("dual", number(proof.dual, 8), "a lower bound: no model of this kind has a smaller objective"),
        ("gap", number(proof.gap, 3), "primal minus dual, summed row by row: the most that could still be gained"),
        ("relative gap", number(proof.relative_gap, 3), "the gap over the objective"),
        (
            "KKT violation",
            number(proof.kkt, 3),
            "the worst breach of the conditions of optimality, in units of the margin",
        ),
        ("holds", "yes" if proof.holds else "no", _holds(proof)),
        ("method", foreign(proof.method, 60), foreign(proof.how, 300)),
    ]
    if proof.tasks > 1:
        text = "two-class problems, each with its own certificate; the figures are the worst one's"
        lines.append(("problems", count(proof.tasks), text))
    kind = "proof" if proof.finished else "proof open"
    return section(
        "certificate",
        title,
        f'<p class="{kind}">{foreign(proof.sentence, 1000)}</p>',
        table("Figures of the certificate", ("figure", "value", "what it is"), lines, (1,)),
        _meaning(proof),
    )


def _holds(proof: Proof) -> str:
    if proof.holds:
        return "the dual point is feasible and everything finite, so the gap is a proof"
    return "a condition of the proof is not met, so the gap proves nothing"


def _finished(proof: Proof) -> str:
    if proof.finished:
        return "Training is finished."
    gain = f"up to {share(proof.relative_gap)} of the objective" if proof.relative_gap < 1 else "nobody knows how much"
    return f"Training stopped early: {gain} could still be gained by training longer."


def _meaning(proof: Proof) -> str:
    proves = (
        f"<p><strong>What it proves.</strong> {_finished(proof)} For these training rows, this kernel and these "
        "parameters no other model has an objective that is lower than the dual. It is "
        f"{foreign(proof.how, 300)}.{' ' + foreign(proof.price, 300) if proof.price else ''}</p>"
        if proof.holds
        else "<p><strong>What it proves.</strong> Nothing yet. The model may still be good, and the test results stand "
        "by themselves; but how far it is from the optimum of its own problem is not known.</p>"
    )
    return proves + (
        "<p><strong>What it does not prove.</strong> That the model is of any use: an optimal model of noise is "
        "optimal, too. Nor that it is right about new rows, or that the kernel, the "
        "parameters and the columns were well chosen. For these look at the <a href='#test'>test results</a>.</p>"
    )


def support(findings: Findings) -> str:
    """The rows that the model rests on."""
    title, found = "Support vectors", findings.support
    if found is None:
        return section("support", title, missing("The model was not asked for its support vectors."))
    part = found.vectors / max(1, found.rows)
    said = (
        f"<p>{count(found.vectors)} of {rows(found.rows)} ({share(part)}) are support vectors: the model depends on no "
        f"others, and training without the rest, with the same parameters, would give the same model."
        + (" That is nearly all of them: a smoother kernel or another C may generalise better." if part > 0.9 else "")
        + "</p>"
    )
    if not found.deciding:
        return section("support", title, said, missing("The deciding rows were not recorded."))
    shown = found.deciding[:MOST_ROWS]
    fields = list(dict.fromkeys(key for row in shown for key in row))
    heads = [escaped(key, 40) for key in fields[:MOST_FIELDS]]
    lines = [[_value(row.get(key, "–")) for key in fields[:MOST_FIELDS]] for row in shown]
    figures = [k for k, key in enumerate(fields[:MOST_FIELDS]) if all(_is_number(row.get(key)) for row in shown)]
    text = (
        "<p>Those with the largest coefficients pull hardest. Rows far on the wrong side are worth a look: they may be "
        "mislabelled.</p>"
    )
    more = capped(len(fields), MOST_FIELDS, "fields") + capped(len(found.deciding), len(shown), "rows")
    return section("support", title, said, text, table("The heaviest support vectors", heads, lines, figures), more)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _value(value: Any) -> str:
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(int(value))  # a row's number, or a count: without separators
    if _is_number(value):
        return "–" if math.isnan(value) else number(value)
    return foreign(value, 60)
