"""What of scikit-learn a model file can hold around a machine: pipelines, encoders, scalers, selectors, splitters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn import compose, decomposition, feature_selection, impute, model_selection, pipeline, preprocessing
from sklearn.base import BaseEstimator
from sklearn.feature_extraction import text

from maxmargin.io._registry import Entry, check_array

PER_FEATURE = {
    "MinMaxScaler": ("scale_", "min_", "data_min_", "data_max_", "data_range_"),
    "MaxAbsScaler": ("max_abs_", "scale_"),
    "RobustScaler": ("center_", "scale_"),
    "StandardScaler": ("mean_", "var_", "scale_"),
    "PowerTransformer": ("lambdas_",),
    "Normalizer": (),
    "Binarizer": (),
    "PolynomialFeatures": (),
    "QuantileTransformer": (),
    "KBinsDiscretizer": (),
    "LabelEncoder": (),
}
#: Attributes besides parameters and those per feature.
OTHERS = {
    "MinMaxScaler": ("n_samples_seen_",),
    "MaxAbsScaler": ("n_samples_seen_",),
    "StandardScaler": ("n_samples_seen_",),
    "PowerTransformer": ("_scaler",),
    "PolynomialFeatures": ("_min_degree", "_max_degree", "n_output_features_", "_n_out_full", "_n_features_out"),
    "QuantileTransformer": ("n_quantiles_",),
    "KBinsDiscretizer": ("bin_edges_", "_encoder"),
}
SHAPES = {
    "QuantileTransformer": {"references_": "f[points]", "quantiles_": "f[points,features]"},
    "KBinsDiscretizer": {"n_bins_": "i[features]"},
    "LabelEncoder": {"classes_": "*[classes]"},
}
SPLITTERS = {
    "KFold": (),
    "StratifiedKFold": (),
    "GroupKFold": (),
    "StratifiedGroupKFold": (),
    "LeaveOneOut": (),
    "ShuffleSplit": ("test_size", "train_size", "_default_test_size"),
    "StratifiedShuffleSplit": ("test_size", "train_size", "_default_test_size"),
    "TimeSeriesSplit": ("max_train_size", "test_size", "gap"),
}
SCORE_FUNCTIONS = ("f_classif", "f_regression", "chi2", "mutual_info_classif", "mutual_info_regression", "r_regression")


def functions() -> dict[str, Callable[..., Any]]:
    """The functions that a file may name."""
    return {f"sklearn.feature_selection.{name}": getattr(feature_selection, name) for name in SCORE_FUNCTIONS}


def entries() -> list[Entry]:
    """All of them, under their public names."""
    return [*_pipelines(), *_preprocessing(), *_encoders(), *_features(), *_splitters()]


def _entry(module: Any, name: str, shapes: Any = None, others: Sequence[str] = (), review: Any = None) -> Entry:
    return Entry(f"{module.__name__}.{name}", getattr(module, name), shapes or {}, frozenset(others), review=review)


def _preprocessing() -> list[Entry]:
    return [
        _entry(preprocessing, name, {**dict.fromkeys(arrays, "f[features]"), **SHAPES.get(name, {})},
               OTHERS.get(name, ()))
        for name, arrays in PER_FEATURE.items()
    ]  # fmt: skip


def _pipelines() -> list[Entry]:
    columns = (
        "_columns", "_transformer_to_input_indices", "_remainder", "sparse_output_", "transformers_", "output_indices_",
        "_transformers_feature_names_out",
    )  # fmt: skip
    target = ("_training_dim", "transformer_", "regressor_")
    return [
        _entry(pipeline, "Pipeline", review=_pipeline),
        _entry(pipeline, "FeatureUnion", review=_union),
        _entry(compose, "ColumnTransformer", None, columns, _columns),
        _entry(compose, "TransformedTargetRegressor", None, target),
        _entry(model_selection, "FixedThresholdClassifier", None, ("estimator_",), _cut),
        _entry(compose, "make_column_selector", None, ("pattern", "dtype_include", "dtype_exclude")),
    ]


def _encoders() -> list[Entry]:
    known = ("categories_", "_infrequent_enabled", "_infrequent_indices", "_default_to_infrequent_mappings")
    one_hot = (*known, "_drop_idx_after_grouping", "drop_idx_", "_n_features_outs")
    missing = {"features_": "i[.]"}
    return [
        _entry(preprocessing, "OneHotEncoder", None, one_hot, _one_hot),
        _entry(preprocessing, "OrdinalEncoder", None, (*known, "_missing_indices"), _categories),
        _entry(impute, "SimpleImputer", {"statistics_": "*[features]"}, ("_fit_dtype", "_fill_dtype", "indicator_")),
        _entry(impute, "MissingIndicator", missing, ("_n_features", "_precomputed"), _missing),
    ]


def _features() -> list[Entry]:
    spectrum = ("explained_variance_", "explained_variance_ratio_", "singular_values_")
    parts = {"components_": "f[parts,features]", **dict.fromkeys(spectrum, "f[parts]")}
    chosen = {"scores_": "f[features]", "pvalues_": "f[features]"}
    solved = ("_fit_svd_solver", "noise_variance_", "n_samples_", "n_components_")
    vocabulary = ("fixed_vocabulary_", "vocabulary_")
    return [
        _entry(decomposition, "PCA", {**parts, "mean_": "f[features]"}, solved),
        _entry(decomposition, "TruncatedSVD", parts),
        _entry(feature_selection, "SelectKBest", chosen),
        _entry(feature_selection, "SelectPercentile", chosen),
        _entry(feature_selection, "VarianceThreshold", {"variances_": "f[features]"}),
        _entry(text, "CountVectorizer", None, vocabulary, _vectorizer),
        _entry(text, "TfidfVectorizer", None, (*vocabulary, "_tfidf"), _vectorizer),
        _entry(text, "TfidfTransformer", {"idf_": "f[features]"}),
    ]


def _splitters() -> list[Entry]:
    shared = ("n_splits", "shuffle", "random_state")
    return [_entry(model_selection, name, None, (*shared, *own), review=_splitter) for name, own in SPLITTERS.items()]


# -- what shapes cannot say -----------------------------------------------------------------------------------------


def _pipeline(value: Any) -> None:
    if value.memory is not None:
        raise ValueError("memory keeps pickles on a disk, which a model file must not point at; set memory=None")
    _named_steps(value.steps, 2)


def _cut(value: Any) -> None:
    """A classifier inside, and a threshold that a score can be compared with."""
    for inside in (value.estimator, getattr(value, "estimator_", value.estimator)):
        if not isinstance(inside, BaseEstimator):
            raise ValueError("there is no estimator inside the threshold")
    if value.threshold != "auto" and not np.isfinite(value.threshold):
        raise ValueError(f"threshold is {value.threshold!r}")


def _union(value: Any) -> None:
    _named_steps(value.transformer_list, 2)


def _columns(value: Any) -> None:
    for steps in (value.transformers, getattr(value, "transformers_", [])):
        _named_steps(steps, 3)


def _named_steps(steps: Any, width: int) -> None:
    """(name, estimator, ...) of every step."""
    for step in steps:
        sound = isinstance(step, tuple | list) and len(step) == width and isinstance(step[0], str)
        if not sound or not (step[1] is None or isinstance(step[1], BaseEstimator | str)):
            raise ValueError(f"a step is {str(step)[:100]}, not a name and an estimator")


def _categories(value: Any) -> list[int]:
    """The number of categories of every feature, infrequent ones taken together; codes stay within it."""
    if not hasattr(value, "categories_"):
        return []
    mappings = getattr(value, "_default_to_infrequent_mappings", None) or [None] * len(value.categories_)
    if not isinstance(value.categories_, list) or not len(value.categories_) == value.n_features_in_ == len(mappings):
        raise ValueError("there are not categories for every feature")
    counts = []
    for categories, mapping in zip(value.categories_, mappings, strict=True):
        sizes: dict[str, int] = {}
        check_array("categories_", categories, "*[n]", sizes)
        if mapping is None:
            counts.append(len(categories))
            continue
        check_array("infrequent categories", mapping, "i[n]", sizes)
        if len(mapping) and (int(mapping.min()) < 0 or int(mapping.max()) >= len(mapping)):
            raise ValueError("an infrequent category has no column")
        counts.append(int(mapping.max(initial=-1)) + 1)
    return counts


def _one_hot(value: Any) -> None:
    """The columns that are written must be those that there are."""
    counts = _categories(value)
    if not hasattr(value, "categories_"):
        return
    dropped = value._drop_idx_after_grouping
    if dropped is not None:
        if not isinstance(dropped, np.ndarray) or dropped.shape != (len(counts),):
            raise ValueError("there is not a dropped category for every feature")
        for i, index in enumerate(dropped):
            if index is not None and not (isinstance(index, int | np.integer) and 0 <= index < counts[i]):
                raise ValueError(f"category {index!r} of feature {i} cannot be dropped")
            counts[i] -= index is not None
    if not isinstance(value._n_features_outs, list) or [int(n) for n in value._n_features_outs] != counts:
        raise ValueError("the categories do not make as many columns as the encoder says")


def _missing(value: Any) -> None:
    features = getattr(value, "features_", np.zeros(0, dtype=int))
    if len(features) and (int(features.min()) < 0 or int(features.max()) >= value._n_features):
        raise ValueError("a feature with missing values is none of the features")


def _vectorizer(value: Any) -> None:
    """Texts only, and every word has a column of its own."""
    if value.input != "content":
        raise ValueError(f"input={value.input!r} reads files by name; a model file holds vectorizers of texts only")
    for words in (getattr(value, "vocabulary_", None), value.vocabulary):
        if words is None or (words is value.vocabulary and not isinstance(words, dict)):
            continue
        if not isinstance(words, dict) or not all(isinstance(word, str) for word in words):
            raise ValueError("a vocabulary must be a dict of words")
        if sorted(int(column) for column in words.values()) != list(range(len(words))):
            raise ValueError("the words of a vocabulary must be numbered from 0, each once")
    if hasattr(value, "_tfidf") and not isinstance(value._tfidf, text.TfidfTransformer):
        raise ValueError("_tfidf is no TfidfTransformer")


def _splitter(value: Any) -> None:
    if not isinstance(getattr(value, "n_splits", 2), int):
        raise ValueError(f"n_splits={value.n_splits!r} is no number")
