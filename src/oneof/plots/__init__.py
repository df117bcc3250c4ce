"""Figures of candidate sets, disambiguated labels and learning curves.

Reading order: `counts` (the numbers of every figure, without matplotlib), `style` (the palette), `figures` and
`learning_curve` (the figures), `svg` (inline SVG for HTML pages). Matplotlib (the extra `plots`) is imported when a
figure is drawn.
"""

from oneof.plots.figures import plot_class_frequencies, plot_cooccurrence, plot_decisions, plot_set_sizes, plot_weights
from oneof.plots.learning_curve import LearningCurveLike, plot_learning_curve

__all__ = [
    "LearningCurveLike",
    "plot_class_frequencies",
    "plot_cooccurrence",
    "plot_decisions",
    "plot_learning_curve",
    "plot_set_sizes",
    "plot_weights",
]
