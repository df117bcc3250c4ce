"""Products with the Hessians of the rows' losses -log sum_k v_ik p_ik, by one pass over the cache lines of each row.

The set is left with probability o = 1 - sum_k v_ik p_ik. With r = p - q a row's Hessian is

    H = (diag p - p p^T) - (diag q - q q^T),    H v = r * (v - p^T v) - q (r^T v).

Its negative part is o (diag q - q q^T): H + o (diag q - q q^T) = diag p - p p^T - (1 - o) (diag q - q q^T) is positive
semidefinite, since p is a mixture of q, with weight 1 - o, and of the distribution outside the set. It is closer to H
than the Hessian diag p - p p^T of EM.
"""

from oneof.jit import compiled
from oneof.typing import Floats

BLOCK = 512
"""Number of rows whose entries of a class are processed together, so that they remain in the cache."""


def multiply_hessians(excess: Floats, inside: Floats, added: Floats, values: Floats) -> None:
    """Replace `values`, (n, K), by the products of each row with H + a (diag q - q q^T).

    Parameters
    ----------
    excess, inside : ndarray of shape (n, K)
        r and q, in the memory layout of `values`.
    added : ndarray of shape (n,)
        a: 0 for the Hessian, o for its positive part.
    values : ndarray of shape (n, K)
    """
    if values.flags.c_contiguous:
        _multiply_by_row(excess, inside, added, values)
    else:
        _multiply_by_class(excess.T, inside.T, added, values.T)


@compiled
def _multiply_by_row(excess, inside, added, values):  # type: ignore[no-untyped-def]
    n, n_classes = values.shape
    for i in range(n):
        r, q, v = excess[i], inside[i], values[i]
        difference = mean = values.dtype.type(0)  # r^T v and q^T v
        for k in range(n_classes):
            difference += r[k] * v[k]
            mean += q[k] * v[k]
        for k in range(n_classes):
            centered = v[k] - mean
            v[k] = r[k] * (centered - difference) + q[k] * (added[i] * centered - difference)


@compiled
def _multiply_by_class(excess, inside, added, values):  # type: ignore[no-untyped-def]
    n_classes, n = values.shape
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        a = added[start:stop]
        difference, mean = a * 0, a * 0
        for k in range(n_classes):
            r, q, v = excess[k, start:stop], inside[k, start:stop], values[k, start:stop]
            for i in range(stop - start):
                difference[i] += r[i] * v[i]
                mean[i] += q[i] * v[i]
        for k in range(n_classes):
            r, q, v = excess[k, start:stop], inside[k, start:stop], values[k, start:stop]
            for i in range(stop - start):
                centered = v[i] - mean[i]
                v[i] = r[i] * (centered - difference[i]) + q[i] * (a[i] * centered - difference[i])
