"""Losses of a linear classifier of many classes, with their gradients; the page shows the source of these.

Scores F (n, classes) with F_im = w_m . x_i + b_m, and labels 0 .. classes - 1. Every loss gives (L_i of every row,
dL_i/dF_im); at a kink one of the subgradients, that of the flat side.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import logsumexp, softmax

from maxmargin.losses import Hinge, Loss
from maxmargin.problems import CrammerSingerProblem, WestonWatkinsProblem

LossOfScores = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def one_vs_all(F, label, loss: Loss = Hinge()):  # noqa: B008 - losses are frozen values
    """Every class against the rest: the sum over m of loss(t_im, f_im), where t_im = 1 for the row's class, else -1."""
    t = np.where(np.arange(F.shape[1]) == label[:, None], 1.0, -1.0)
    return loss.value(t, F).sum(axis=1), loss.subgradient(t, F)


def weston_watkins(F, label):
    """Every rival counts: the sum over m != y of max(0, 1 + f_m - f_y)."""
    problem = WestonWatkinsProblem(label, np.ones(len(F)), F.shape[1])
    G = (problem.shortfalls(F) > 0).astype(float)
    G[np.arange(len(F)), label] = -G.sum(axis=1)
    return problem.slack(F), G


def crammer_singer(F, label):
    """The worst rival counts: max(0, 1 + max_{m != y} f_m - f_y), the structured loss whose cost of an error is 1."""
    problem = CrammerSingerProblem(label, np.ones(len(F)), F.shape[1])
    losses, G = problem.slack(F), np.zeros_like(F)
    short = np.flatnonzero(losses > 0)
    G[short, problem.shortfalls(F).argmax(axis=1)[short]] = 1.0
    G[short, label[short]] = -1.0
    return losses, G


def softmax_loss(F, label):
    """Minus the logarithm of the probability of the row's class: log sum_m e^{f_m} - f_y."""
    rows, P = np.arange(len(F)), softmax(F, axis=1)
    P[rows, label] -= 1.0
    return logsumexp(F, axis=1) - F[rows, label], P


def risk(X, label, W, b, lam, loss):
    """(mean loss + lam/2 ||W||^2, loss of every row, gradient in W, gradient in b); biases are not penalised."""
    losses, G = loss(X @ W.T + b, label)
    return losses.mean() + lam / 2 * np.sum(W**2), losses, G.T @ X / len(X) + lam * W, G.mean(axis=0)


def margins(F: np.ndarray, label: np.ndarray, loss: str) -> np.ndarray:
    """The margins that a loss looks at, (n, 1 or more): t_im f_im, or how far a row's class is above its rivals."""
    rows = np.arange(len(F))
    if loss == "one-vs-all":
        return np.where(np.arange(F.shape[1]) == label[:, None], F, -F)
    ahead = F[rows, label][:, None] - F
    rivals = ahead[np.arange(F.shape[1]) != label[:, None]].reshape(len(F), -1)
    return rivals if loss == "weston-watkins" else rivals.min(axis=1, keepdims=True)
