"""Pictures of machines: decisions, losses, gaps, dual variables, paths, probabilities, kernels and projections.

Every display has class methods that compute what it shows and draw it (``from_estimator``, ``from_predictions``, ...),
a method ``plot(ax)`` that draws it again, and the axes, the figure and the artists as attributes (``ax_``, ``figure_``,
``lines_``, ...). They need matplotlib, which is loaded when the first one is drawn: ``pip install "maxmargin[plot]"``.
"""

from maxmargin.plotting._decision import DecisionDisplay
from maxmargin.plotting._gap import GapDisplay
from maxmargin.plotting._gram import GramDisplay
from maxmargin.plotting._losses import LossDisplay, SubgradientDisplay
from maxmargin.plotting._path import PathDisplay
from maxmargin.plotting._pegasos import PegasosDisplay
from maxmargin.plotting._perceptron import PerceptronDisplay
from maxmargin.plotting._projection import ProjectionDisplay
from maxmargin.plotting._reliability import ReliabilityDisplay
from maxmargin.plotting._saddle import SaddleDisplay
from maxmargin.plotting._support import SupportDisplay

__all__ = [
    "DecisionDisplay",
    "GapDisplay",
    "GramDisplay",
    "LossDisplay",
    "PathDisplay",
    "PegasosDisplay",
    "PerceptronDisplay",
    "ProjectionDisplay",
    "ReliabilityDisplay",
    "SaddleDisplay",
    "SubgradientDisplay",
    "SupportDisplay",
]
