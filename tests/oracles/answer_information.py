"""Literal oracle of the information of an answer: all answers are enumerated, with the gradient of each."""

import itertools

import numpy as np


def answer_probabilities(exact, pair, distractors):
    """Return P(A | k) for every answer, (n_answers, K): single labels, pairs, and one answer without information."""
    K = len(distractors)
    rows = [exact * np.eye(K)[k] for k in range(K)]
    for i, j in itertools.combinations(range(K), 2):
        row = np.zeros(K)
        row[i], row[j] = pair * distractors[i, j], pair * distractors[j, i]
        rows.append(row)
    rows = np.array(rows)
    return np.vstack([rows, 1.0 - rows.sum(axis=0)])


def mean_curvature(p, answers):
    """Return sum_A g_A g_A^T / p_A over the first K - 1 classes, with g_A the gradient of p_A by the scores."""
    K = len(p)
    total = np.zeros((K, K))
    for b in answers:
        p_answer = sum(b[k] * p[k] for k in range(K))
        if p_answer > 0:
            # The derivative of p_k by the score c is p_k (1[k = c] - p_c).
            gradient = np.array([sum(b[k] * p[k] * ((k == c) - p[c]) for k in range(K)) for c in range(K)])
            total += np.outer(gradient, gradient) / p_answer
    return total[:-1, :-1]
