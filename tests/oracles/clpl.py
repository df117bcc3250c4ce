"""The CLPL objective, row by row and class by class."""


def objective(W, b, X, mask, C, sample_weight):
    """Return 1/2 ||W||^2 + C sum_i w_i [psi(mean over the set) + sum outside psi(-s)], over labeled rows."""

    def psi(u):
        return max(0.0, 1.0 - u) ** 2

    total = 0.5 * sum(float(w) ** 2 for row in W for w in row)
    for x, candidates, weight in zip(X, mask, sample_weight, strict=True):
        if all(candidates):
            continue
        s = [sum(float(a) * float(v) for a, v in zip(w, x, strict=True)) + float(c) for w, c in zip(W, b, strict=True)]
        inside = [s[k] for k in range(len(s)) if candidates[k]]
        loss = psi(sum(inside) / len(inside)) + sum(psi(-s[k]) for k in range(len(s)) if not candidates[k])
        total += C * float(weight) * loss
    return total
