"""Oracle of PL-ECOC, with loops over rows and classes (Zhang, Yu & Tang 2017)."""

import math


def code_targets(mask, code):
    """Return for each row the side of its full set, or 0."""
    out = []
    for candidates in mask:
        sides = {int(code[k]) for k in range(len(code)) if candidates[k]}
        out.append(sides.pop() if len(sides) == 1 else 0)
    return out


def code_weights(margins, mask, codes):
    """Return the fraction of rows with candidate k for which coding l has the sign of class k; rows sum to 1."""
    n, K, L = len(mask), len(codes), len(codes[0])
    H = []
    for k in range(K):
        containing = [i for i in range(n) if mask[i][k]]
        hits = [[(1 if margins[i][j] > 0 else -1) == codes[k][j] for i in containing] for j in range(L)]
        fractions = [sum(r) / len(r) if r else 1.0 for r in hits]
        H.append([fraction / sum(fractions) if sum(fractions) else 1 / L for fraction in fractions])
    return H


def loss(h, k, codes, H):
    """Return the loss of class k on a row with margins h."""
    return sum(H[k][j] * math.exp(-h[j] * codes[k][j]) for j in range(len(h)))


def losses(margins, codes, H):
    """Return the loss of each class on each row."""
    return [[loss(h, k, codes, H) for k in range(len(H))] for h in margins]
