"""PL-ECOC by its definition, row by row and class by class (Zhang, Yu & Tang 2017)."""

import math


def sides(mask, code):
    """Return for each row the side on which its whole set lies, or 0."""
    out = []
    for candidates in mask:
        found = {int(code[k]) for k in range(len(code)) if candidates[k]}
        out.append(found.pop() if len(found) == 1 else 0)
    return out


def performance(margins, mask, codes):
    """Return the share of the rows with k in their set on which coding l has the sign of class k; rows sum to 1."""
    n, K, L = len(mask), len(codes), len(codes[0])
    H = []
    for k in range(K):
        holding = [i for i in range(n) if mask[i][k]]
        right = [[(1 if margins[i][j] > 0 else -1) == codes[k][j] for i in holding] for j in range(L)]
        shares = [sum(r) / len(r) if r else 1.0 for r in right]
        H.append([share / sum(shares) if sum(shares) else 1 / L for share in shares])
    return H


def loss(h, k, codes, H):
    """Return the loss of class k on a row with margins h."""
    return sum(H[k][j] * math.exp(-h[j] * codes[k][j]) for j in range(len(h)))


def losses(margins, codes, H):
    """Return the loss of each class on each row."""
    return [[loss(h, k, codes, H) for k in range(len(H))] for h in margins]
