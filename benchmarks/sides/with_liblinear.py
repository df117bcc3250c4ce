"""How liblinear runs its race, through its own Python interface; the rows are in its own structure beforehand."""

import numpy as np
from arrays import formed, read
from judging import crammer_singer, squared_hinge
from liblinear.liblinearutil import parameter, problem, train
from worker import afresh


def linear(data, kind, tol, C=None, lam=None):
    """Solve with `-s kind`: 4 is Crammer and Singer's problem, 1 and 2 are one squared hinge a class."""
    X, y = formed(read(data, "X"), "csr64"), read(data, "y").astype(np.int64)
    C = C or 1 / (lam * len(y))
    given = problem(y.astype(np.float64), X)
    options = f"-s {kind} -c {C:.17g} -e {tol:g} -B -1 -q"

    def judge(model):
        labels = np.array(model.get_labels())
        weights = np.zeros((len(labels), X.shape[1]))
        flat = np.ctypeslib.as_array(model.w, (X.shape[1] * len(labels),))
        weights[labels] = flat.reshape(X.shape[1], len(labels)).T
        if kind == 4:
            return {"objective": crammer_singer(X, y, weights, lam)}
        return {"objective": squared_hinge(X, y, weights, C)}

    return afresh, lambda _: train(given, parameter(options)), judge
