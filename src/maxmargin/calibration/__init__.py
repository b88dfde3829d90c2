"""From scores to probabilities: Platt's sigmoid per pair of classes, pairs coupled to one distribution."""

from maxmargin.calibration._sigmoid import couple_pairs, fit_sigmoid, sigmoid, stratified_folds

__all__ = ["couple_pairs", "fit_sigmoid", "sigmoid", "stratified_folds"]
