"""Precision and recall along a ranking, in exact fractions."""

from fractions import Fraction


def break_even(truth, scores):
    """Follow the ranking from one distinct score to the next until precision and recall are equal.

    A fraction s of tied rows contains s times their positives. After t true positives among m rows, precision is t/m
    and recall t/R; they are equal at m = R (or t = 0).
    """
    truth, scores = [int(y) for y in truth], list(scores)
    positives = sum(truth)
    n_retrieved, n_relevant = Fraction(0), Fraction(0)
    for score in sorted(set(scores), reverse=True):
        tied = [y for y, s in zip(truth, scores) if s == score]
        fraction = min(Fraction(1), (positives - n_retrieved) / len(tied))
        n_retrieved, n_relevant = n_retrieved + fraction * len(tied), n_relevant + fraction * sum(tied)
        precision, recall = n_relevant / n_retrieved, n_relevant / positives
        if n_retrieved == positives:
            assert precision == recall
            return precision
    raise AssertionError("a ranking of all rows contains its first R rows")
