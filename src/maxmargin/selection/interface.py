"""What a search on a cluster uses of the searches: public inside the package, and only there."""

from __future__ import annotations

from maxmargin.selection._run import FIRST_FOLDS, Search
from maxmargin.selection._scoring import Scorer
from maxmargin.selection._search import CrossValidated
from maxmargin.selection._trainer import Line, SearchInput, Trained, Trainer

__all__ = ["FIRST_FOLDS", "CrossValidated", "Line", "Scorer", "Search", "SearchInput", "Trained", "Trainer"]
