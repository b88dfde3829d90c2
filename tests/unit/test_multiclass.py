"""Schemes for many classes: their tasks, their decisions, their distributions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.multiclass import CodeWords, Fired, OneVsOne, OneVsRest, _ovo, make_scheme, make_words
from tests.laws import examples

NAMES = [("ovo", None), ("ovr", None), ("code", "one-hot"), ("code", "random"), ("code", "exhaustive")]
law = examples(50)


def scheme_of(name, words, k):
    return make_scheme(name, k, words, seed=1)


@pytest.mark.parametrize(("name", "words"), NAMES)
@given(data=st.data())
@law
def test_tasks_have_two_sides_and_the_right_rows(name, words, data):
    k = data.draw(st.integers(2, 7))
    label = np.concatenate([np.arange(k), data.draw(st.lists(st.integers(0, k - 1), max_size=20))]).astype(int)
    scheme = scheme_of(name, words, k)
    tasks = scheme.tasks(label)
    assert len(tasks) == (1 if k == 2 else {"ovo": k * (k - 1) // 2, "ovr": k}.get(name, len(tasks)))
    for task in tasks:
        assert set(task.sign) == {-1.0, 1.0}
        assert len(task.rows) == len(task.sign)
        if name != "ovo":
            np.testing.assert_array_equal(task.rows, np.arange(len(label)))
        for m in range(k):  # a class is on one side of a task, whole
            assert len(set(task.sign[label[task.rows] == m])) <= 1


@pytest.mark.parametrize(("name", "words"), NAMES)
@given(data=st.data())
@law
def test_perfect_machines_decide_right(name, words, data):
    k = data.draw(st.integers(3, 7))
    label = np.arange(k)
    scheme = scheme_of(name, words, k)
    tasks, rng = scheme.tasks(label), np.random.default_rng(data.draw(st.integers(0, 99)))
    scores = np.zeros((k, len(tasks)))
    for number, task in enumerate(tasks):
        size = rng.uniform(0.5, 2.0, k)
        side = np.where(rng.random(k) < 0.5, -1.0, 1.0) * 0.1  # rows of other pairs get any answer
        side[task.rows] = task.sign
        scores[:, number] = size * side
    np.testing.assert_array_equal(scheme.classes_of(scores), label)
    p = np.array([[0.999 if s > 0.2 else 0.001 if s < -0.2 else 0.5 for s in row] for row in scores])
    q = scheme.distribution(p)
    np.testing.assert_allclose(q.sum(axis=1), 1.0)
    np.testing.assert_array_equal(q.argmax(axis=1), label)


@given(st.integers(0, 10_000))
@law
def test_one_hot_words_decide_as_one_vs_all_does(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(3, 8))
    scores = rng.normal(size=(30, k))
    one_hot, ovr = scheme_of("code", "one-hot", k), OneVsRest(k)
    np.testing.assert_array_equal(one_hot.classes_of(scores), ovr.classes_of(scores))
    fired = one_hot.fired(scores)
    assert fired == ovr.fired(scores)
    assert sum(fired) == 30
    assert fired.none == np.sum((scores <= 0).all(axis=1))


@given(st.integers(0, 10_000))
@law
def test_one_hot_words_may_come_in_any_order(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(3, 8))
    order, scores = rng.permutation(k), rng.normal(size=(30, k))  # machine number j claims class order[j]
    words = np.zeros((k, k), dtype=int)
    words[order, np.arange(k)] = 1
    shuffled, ovr = CodeWords(k, make_words(words, k, 0)), OneVsRest(k)
    np.testing.assert_array_equal(shuffled.claimed, order)
    by_class = scores[:, np.argsort(order)]
    assert shuffled.fired(scores) == ovr.fired(by_class)
    np.testing.assert_array_equal(shuffled.classes_of(scores), ovr.classes_of(by_class))
    p = rng.random((30, k))
    np.testing.assert_array_equal(shuffled.distribution(p), ovr.distribution(p[:, np.argsort(order)]))
    words[order[0], 1] = 1
    assert CodeWords(k, make_words(words, k, 0)).claimed is None


@pytest.mark.parametrize(("name", "words"), NAMES)
@given(data=st.data())
@law
def test_packed_coefficients_come_back(name, words, data):
    k = data.draw(st.integers(2, 5))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    label = np.concatenate([np.arange(k), rng.integers(0, k, 10)])
    scheme = scheme_of(name, words, k)
    tasks = scheme.tasks(label)
    coefs = [rng.normal(size=len(task.rows)) for task in tasks]
    table = scheme.pack(coefs, label)
    for one, other in zip(scheme.unpack(table, label), coefs, strict=True):
        np.testing.assert_array_equal(one, other)
    columns = scheme.per_task(table, label)
    for number, (task, coef) in enumerate(zip(tasks, coefs, strict=True)):
        expected = np.zeros(len(label))
        expected[task.rows] = coef
        np.testing.assert_array_equal(columns[:, number], expected)


def test_ties_of_votes_are_broken_by_the_scores():
    scores = np.array([[1.0, -2.0, 3.0]])  # 0 beats 1, 2 beats 0, 1 beats 2: a vote each
    assert OneVsOne(3).classes_of(scores) == [1]  # sums: -1, 2, -1


def test_consistent_pairs_couple_to_the_distribution_they_came_from():
    p = np.random.default_rng(0).dirichlet(np.ones(4), size=20)
    scheme = OneVsOne(4)
    r = np.column_stack([p[:, a] / (p[:, a] + p[:, b]) for a, b in scheme.pairs])
    np.testing.assert_allclose(scheme.couple(r), p, atol=1e-9)


def test_rows_are_coupled_in_parts_and_each_by_itself(monkeypatch):
    p, scheme = np.random.default_rng(0).uniform(0.01, 0.99, (20, 6)), OneVsOne(4)
    whole = scheme.couple(p)
    monkeypatch.setattr(_ovo, "SYSTEM_VALUES", 3 * 4**2)
    np.testing.assert_array_equal(scheme.couple(p), whole)
    np.testing.assert_allclose(np.vstack([scheme.couple(row[None]) for row in p]), whole, rtol=1e-13)
    assert scheme.couple(p[:0]).shape == (0, 4)


@pytest.mark.parametrize("words", ["one-hot", "random", "exhaustive"])
def test_consistent_bits_couple_to_the_distribution_they_came_from(words):
    p = np.random.default_rng(0).dirichlet(np.ones(5), size=20)
    scheme = scheme_of("code", words, 5)
    bits = p @ (scheme.words > 0)
    np.testing.assert_allclose(scheme.couple(bits), p, atol=1e-9)


# -- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [3, 4, 5, 10])
def test_exhaustive_words_have_every_bit_once(k):
    words = make_words("exhaustive", k, 0)
    assert words.shape == (k, 2 ** (k - 1) - 1)
    columns = {tuple(bit * bit[0]) for bit in words.T}
    assert len(columns) == words.shape[1]


@pytest.mark.parametrize("k", [3, 5, 26, 200])
def test_random_words_differ_and_every_bit_has_two_sides(k):
    words = make_words("random", k, 3)
    assert len(np.unique(words, axis=0)) == k
    assert ((words == 1).any(axis=0) & (words == -1).any(axis=0)).all()
    np.testing.assert_array_equal(words, make_words("random", k, 3))
    assert words.shape[1] <= 10 * np.ceil(np.log2(k)) or k <= 4


def test_words_of_zeros_and_ones_are_words_of_signs():
    given_words = [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
    np.testing.assert_array_equal(make_words(given_words, 3, 0), 2.0 * np.array(given_words) - 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([[1, 0], [1, 0], [0, 1]], "classes 0 and 1 the same word"),
        ([[1, 1], [1, 0], [1, 0]], "classes 1 and 2 the same word"),
        ([[1, 1, 0], [1, 0, 1], [1, 0, 0]], "bit 0 of code_words is the same for all classes"),
        ([[1, 0], [0, 1]], "a line for each of the 3 classes"),
        ([[1, 0, 2], [0, 1, 2], [0, 0, 1]], "may have 0 and 1, or -1 and \\+1"),
        ([[], [], []], "a column per bit"),
        ([1, 0, 1], "a column per bit"),
    ],
)
def test_words_that_cannot_work_are_refused(words, message):
    with pytest.raises(ValueError, match=message):
        make_words(words, 3, 0)


def test_too_many_classes_for_exhaustive_words():
    with pytest.raises(ValueError, match="1000 classes have"):
        make_words("exhaustive", 1000, 0)


def test_only_machines_for_single_classes_may_all_say_no():
    for scheme in (OneVsOne(3), OneVsRest(2), CodeWords(3, make_words("exhaustive", 3, 0))):
        with pytest.raises(ValueError, match="one machine for each of three classes"):
            scheme.fired(np.zeros((2, 3)))
    assert OneVsRest(3).fired(np.array([[1, 1, -1], [-1, -1, -1], [1, -1, -1.0]])) == Fired(1, 1, 1)
