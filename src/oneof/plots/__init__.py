"""Pictures of candidate sets and of what a method makes of them.

The numbers behind every picture come from `oneof.plots.counts`, which needs no matplotlib; matplotlib itself (the extra
`plots`) is imported when something is drawn.
"""

from oneof.plots.figures import plot_class_frequencies, plot_cooccurrence, plot_decisions, plot_set_sizes
from oneof.plots.learning_curve import LearningCurveLike, plot_learning_curve

__all__ = [
    "LearningCurveLike",
    "plot_class_frequencies",
    "plot_cooccurrence",
    "plot_decisions",
    "plot_learning_curve",
    "plot_set_sizes",
]
