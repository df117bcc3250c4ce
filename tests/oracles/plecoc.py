"""Oracle of PL-ECOC, with loops over rows and classes (Zhang, Yu & Tang 2017)."""

import math

from tests.oracles.levels import level_sets


def code_targets(weights, code):
    """Return for each row the side of its full set, or 0; with weights, the sum over level sets, times the masses."""
    out = []
    for row in weights:
        target = 0
        for mass, candidates in level_sets(row):
            sides = {int(code[k]) for k in candidates}
            target += mass * sides.pop() if len(sides) == 1 else 0
        out.append(target)
    return out


def code_weights(margins, weights, codes):
    """Return the fraction of rows with candidate k for which coding l has the sign of class k; rows sum to 1.

    A row with weights counts as its level sets, with their masses.
    """
    n, K, L = len(weights), len(codes), len(codes[0])
    sets = [(i, mass, candidates) for i in range(n) for mass, candidates in level_sets(weights[i])]
    H = []
    for k in range(K):
        containing = [(i, mass) for i, mass, candidates in sets if k in candidates]
        total = sum(mass for _, mass in containing)
        hits = [[mass * ((1 if margins[i][j] > 0 else -1) == codes[k][j]) for i, mass in containing] for j in range(L)]
        fractions = [sum(r) / total if total else 1.0 for r in hits]
        H.append([fraction / sum(fractions) if sum(fractions) else 1 / L for fraction in fractions])
    return H


def loss(h, k, codes, H):
    """Return the loss of class k on a row with margins h."""
    return sum(H[k][j] * math.exp(-h[j] * codes[k][j]) for j in range(len(h)))


def losses(margins, codes, H):
    """Return the loss of each class on each row."""
    return [[loss(h, k, codes, H) for k in range(len(H))] for h in margins]
