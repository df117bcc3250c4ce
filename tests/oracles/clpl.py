"""The CLPL objective, row by row and class by class."""

from tests.oracles.levels import level_sets


def objective(W, b, X, weights, C, sample_weight):
    """Return 1/2 ||W||^2 + C sum_i c_i sum_j m_ij [psi(mean over set j) + sum outside psi(-s)], over level sets j."""

    def psi(u):
        return max(0.0, 1.0 - u) ** 2

    total = 0.5 * sum(float(w) ** 2 for row in W for w in row)
    for x, row, weight in zip(X, weights, sample_weight, strict=True):
        s = [sum(float(a) * float(v) for a, v in zip(w, x, strict=True)) + float(c) for w, c in zip(W, b, strict=True)]
        for mass, candidates in level_sets(row):
            loss = psi(sum(s[k] for k in candidates) / len(candidates))
            loss += sum(psi(-s[k]) for k in range(len(s)) if k not in candidates)
            total += C * float(weight) * mass * loss
    return total
