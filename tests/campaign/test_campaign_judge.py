"""The campaign's judge can fail a certificate: an honest one passes, and ten planted faults are seen."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.campaign.arithmetic import DIGITS, FRACTIONS, LONG
from tests.campaign.better_points import better_points, polished, solve
from tests.campaign.definite import eigen
from tests.campaign.judge import Claim, definition, judge
from tests.campaign.true_kernels import gram
from tests.campaign.true_primals import Candidate, Question, primal

FOLDER = Path(__file__).parent
#: Everything that decides; the accused and the commands know the library.
JUDGES = ("arithmetic", "true_kernels", "true_primals", "judge", "better_points", "published", "generate")


@pytest.mark.parametrize("name", JUDGES)
def test_the_judge_imports_nothing_of_the_library(name: str) -> None:
    tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    modules = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    modules += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    known = {f"tests.campaign.{other}" for other in JUDGES}
    assert modules
    assert not [m for m in modules if m.startswith("maxmargin") or (m.startswith("tests") and m not in known)]


# -- an honest certificate, and ten that are not -------------------------------------------------------------------


def honest(kind: str) -> tuple[Question, Candidate, Claim]:
    """A soft margin without intercept, a rough point of it, and bounds rounded outwards from 60 digits."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((12, 2)) + (1000.0 if kind == "far" else 0.0)
    t = np.where(X[:, 0] - X[0, 0] + 0.5 * rng.standard_normal(12) > 0, 1.0, -1.0)
    cost = 2.0 ** rng.integers(-1, 2, 12)
    spec = ("linear",) if kind == "far" else ("rbf", 0.7)
    question = Question("svc", X, t, cost, spec, options={"fit_intercept": False})
    K = question.K(LONG).astype(np.float64)
    alpha = np.zeros(12)
    for _ in range(6):  # rounds of coordinate ascent
        for i in range(12):
            alpha[i] = np.clip(alpha[i] + (1 - t[i] * (K[i] @ (t * alpha))) / K[i, i], 0, cost[i])
    model = Candidate(t * alpha, 0.0)
    with DIGITS.within():
        beta = DIGITS.array(model.coef)
        top = primal(DIGITS, question, model)
        bottom = DIGITS.array(alpha).sum() - beta @ question.K(DIGITS) @ beta / 2
        gap = top - bottom
    high, low = np.nextafter(float(top), np.inf), np.nextafter(float(bottom), -np.inf)
    gap = np.nextafter(float(gap), np.inf)
    return question, model, Claim(high, low, gap, gap / max(abs(high), abs(low)))


@pytest.mark.parametrize("kind", ["near", "far"])
@pytest.mark.parametrize("exact", [DIGITS, None])
def test_an_honest_certificate_passes(kind: str, exact: Any) -> None:
    question, model, claim = honest(kind)
    assert judge(question, model, better_points(question, [model]), claim, exact) == []


def test_an_honest_certificate_passes_in_fractions() -> None:
    question, model, claim = honest("far")
    assert judge(question, model, better_points(question, [model]), claim, FRACTIONS, always=True) == []


def scaled(claim: Claim, **factors: float) -> Claim:
    return claim._replace(**{name: getattr(claim, name) * factor for name, factor in factors.items()})


def other_coef(model: Candidate, at: int, factor: float) -> Candidate:
    coef = model.coef.copy()
    coef[at] *= factor
    return Candidate(coef, model.intercept)


PLANTED: dict[str, Any] = {
    "the intercept is shifted": lambda q, m, c: (q, Candidate(m.coef, 0.25), c),
    "one alpha is above C": lambda q, m, c: (q, other_coef(m, int(np.argmax(np.abs(m.coef) / q.cost)), 3.0), c),
    "a coefficient has the wrong sign": lambda q, m, c: (q, other_coef(m, int(np.argmax(np.abs(m.coef))), -1.0), c),
    "a support vector is forgotten": lambda q, m, c: (q, other_coef(m, int(np.argmax(np.abs(m.coef))), 0.0), c),
    "the kernel is wider": lambda q, m, c: (replace(q, spec=("rbf", 0.8), matrices={}), m, c),
    "the weight of a row is not what was paid": lambda q, m, c: (replace(q, cost=q.cost * 2), m, c),
    "a label is turned": lambda q, m, c: (replace(q, target=q.target * np.where(np.arange(12) == 5, -1, 1)), m, c),
    "the primal is lowered": lambda q, m, c: (q, m, scaled(c, primal=1 - 1e-12)),
    "the dual is raised": lambda q, m, c: (q, m, c._replace(dual=c.primal * (1 - 1e-12))),
    "the gap is halved": lambda q, m, c: (q, m, scaled(c, gap=0.4, relative_gap=0.4)),
    "the relative gap is understated": lambda q, m, c: (q, m, scaled(c, relative_gap=1 - 1e-9)),
    "the dual is not finite": lambda q, m, c: (q, m, c._replace(dual=-np.inf)),
    "the gap is negative": lambda q, m, c: (q, m, scaled(c, gap=-1.0, relative_gap=-1.0)),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_seen(fault: str) -> None:
    question, model, claim = PLANTED[fault](*honest("near"))
    assert judge(question, model, better_points(question, [model]), claim)


def test_at_least_ten_faults_are_planted() -> None:
    assert len(PLANTED) >= 10


def test_a_model_without_a_margin_has_no_finite_primal() -> None:
    question = Question("hard", np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), np.ones(2), ("linear",))
    claim = Claim(0.5, 0.5, 0.0, 0.0)
    assert judge(question, Candidate(np.array([0.5, -0.5])), [], claim) == []
    assert judge(question, Candidate(np.array([-0.5, 0.5])), [], claim)


def test_an_intercept_that_follows_from_the_weights_is_taken_without_its_rounding() -> None:
    X, center, scale = np.array([[1.0], [2.0], [4.0]]), np.array([7 / 3]), np.array([1.25])
    options = {"fit_intercept": False, "loss": ("squared",), "penalty": ("l2",), "scale": scale, "center": center}
    question = Question("linear", X, np.array([1.0, 0.0, 2.0]), np.ones(3), options=options)
    published = Candidate(np.array([0.1]), -0.1 * 7 / 3 + 1e-6)
    assert primal(LONG, question, published) != primal(LONG, question, Candidate(published.coef, tied=True))
    (point,) = better_points(question, [published])
    with DIGITS.within():
        w = DIGITS.array(point.coef)
        rows = (DIGITS.array(X) - DIGITS.array(center)) / DIGITS.array(scale)
        residual = rows @ (w * DIGITS.array(scale)) - DIGITS.array(question.target)
        expected = (w * DIGITS.array(scale)) @ (w * DIGITS.array(scale)) / 2 + residual @ residual
        assert abs(primal(DIGITS, question, point) - expected) < abs(expected) * DIGITS.rounding


# -- the arithmetics agree -----------------------------------------------------------------------------------------

SPECS = [
    ("linear",), ("poly", 3, 0.5, 0.25), ("rbf", 0.3), ("rbf-sigma", 1.3), ("exponential", 0.4), ("matern", 0.5, 1.2),
    ("matern", 1.5, 0.7), ("matern", 2.5, 0.7), ("rational", 1.7, 0.9), ("laplacian", 0.5), ("chi2", 0.6), ("cosine",),
    ("form", [[2.0, 1.0], [1.0, 1.0]]), ("sigmoid", 0.3, -0.1), ("constant", 2.0), ("exp", ("rbf", 0.5)),
    ("sum", ("linear",), ("rbf", 0.5)), ("product", ("linear",), ("cosine",)), ("power", ("linear",), 3),
    ("polynomial", ("linear",), (0.5, 0.0, 2.0)), ("over", 0.5, ("poly", 2, 1.0, 1.0)), ("warp", ("linear",), "halves"),
    ("of", ("rbf", 0.5), "first two"), ("callable", "least"),
]  # fmt: skip


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec[0])
def test_kernels_are_the_library_s_but_for_rounding(spec: tuple[Any, ...]) -> None:
    from tests.campaign.accused import library_kernel

    X = np.abs(np.random.default_rng(0).standard_normal((5, 2))) + 0.1
    true = gram(LONG, spec, X, X)
    with DIGITS.within():
        apart = np.abs(DIGITS.array(true) - gram(DIGITS, spec, X, X)).max()
    assert float(apart) < 1e-17 * (1 + np.abs(true).max())
    made = library_kernel(spec)
    values = made(X, X)
    assert np.abs(values - true).max() < 1e-7 * (1 + np.abs(true).max())  # roots of rounded distances are this far off


def test_decimals_refuse_floats() -> None:
    with pytest.raises(TypeError), DIGITS.within():
        DIGITS.array(np.ones(2)) * 0.5


def test_long_doubles_become_decimals_without_loss() -> None:
    value = np.longdouble(1) / 3 * np.longdouble(2) ** -2000
    assert LONG.array([value])[0] == value
    over, under = value.as_integer_ratio()
    with DIGITS.within():
        assert abs(DIGITS.array([value])[0] * under - over) < 1


# -- better points are better --------------------------------------------------------------------------------------


def test_the_face_is_better_than_the_model() -> None:
    question, model, _ = honest("near")
    before, after = (primal(LONG, question, point) for point in (model, polished(question, model)))
    assert after < before


def test_elimination_solves_and_leaves_open_what_is_singular() -> None:
    A = LONG.array(np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0]]))
    x = solve(A, LONG.array(np.array([3.0, 3.0, 0.0])))
    assert np.abs(x - np.array([1.0, 1.0, 0.0])).max() < 1e-18


def test_eigenvalues_are_right_to_the_last_digits() -> None:
    rng = np.random.default_rng(1)
    L = LONG.array(np.round(8 * rng.standard_normal((6, 4))))
    values, vectors = eigen(L @ L.T)  # of rank 4
    assert np.abs((vectors * values) @ vectors.T - L @ L.T).max() < 1e-16
    assert np.abs(np.sort(values)[:2]).max() < 1e-16


def test_the_definition_of_the_relative_gap() -> None:
    assert definition(Claim(2.0, 1.0, 1.0, 0.5)) == []
    assert definition(Claim(2.0, 1.0, 1.0, 0.4))
    assert definition(Claim(2.0, 1.0, 1.0, 0.6))
