"""The linear partial-label SVM over blocks, by mixing the weights of dual ascent."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from oneof.distributed.blocks import RowBlock, RowBlocks, block_error_context
from oneof.distributed.reduction import compute, map_persist, persist, shared, tree_sum, delayed_task
from oneof.errors import InputError
from oneof.estimators.plsvm import PLSVM
from oneof.kernels import Kernel
from oneof.solvers.feature_spaces import FeatureSpace
from oneof.solvers.plsvm import PLSVMProblem, PLSVMSolution, solve_cccp
from oneof.solvers.plsvm.mixing import BlockDuals, Share, go_on, start
from oneof.solvers.plsvm.problem import Trace
from oneof.typing import Floats

ENOUGH = 20
"""It ends where so many rounds have lowered the objective by less than as many times `tol` of it, and the gap by less
than a fifth."""


@dataclass(frozen=True)
class _BlockProblem:
    """A block with its own problem."""

    number: int
    problem: PLSVMProblem


def check_plsvm(machine: PLSVM) -> None:
    """Raise if a parameter cannot be used."""
    machine._check_parameters()
    if machine.kernel != "linear":
        raise InputError(f'kernel={machine.kernel!r} is not possible over blocks of rows: choose "linear".')
    if machine.solver != "cccp":
        raise InputError(
            f'solver={machine.solver!r} is not possible over blocks of rows: choose "cccp", or MaxPegasos, which goes '
            "down the same objective row by row."
        )


def fit_plsvm(machine: PLSVM, blocks: RowBlocks) -> None:
    """Fit a machine; of one block, by the ordinary solver."""
    blocks = blocks.labeled
    problems = map_persist(blocks.blocks, _problem, float(machine.lam), bool(machine.fit_intercept))
    if len(problems) == 1:
        found = compute(delayed_task(_solve, problems[0], machine.max_iter, machine.tol))
    else:
        found = _mix(machine, problems, blocks.n_labeled)
    blocks.set_input_attributes(machine)
    machine._keep_trace(found)
    # Only gamma is worked out from rows, and the linear kernel has none.
    no_rows = np.zeros((0, blocks.metadata[0].n_features))
    kernel = Kernel.of("linear", no_rows, gamma="auto", degree=machine.degree, coef0=machine.coef0)
    machine._set_linear(found.weights.astype(blocks.dtype, copy=False), kernel)


def _mix(machine: PLSVM, problems: list[Any], n_rows: int) -> PLSVMSolution:
    """Make rounds until no row chooses anew and the duality gap is at most `tol` times the objective."""
    lam, trace = float(machine.lam), Trace()
    trace.add(1.0)  # of W = 0
    duals, weights = _round([delayed_task(_start, own, nout=2) for own in problems])[:2]
    best, lowest, converged, n_iter = weights, 1.0, False, 0
    last, momentum, highest, gaps = weights, 1.0, -np.inf, [np.inf]
    while True:
        following = 0.5 + (0.25 + momentum**2) ** 0.5
        beta = (momentum - 1.0) / following
        common = shared((weights, weights + beta * (weights - last), beta))
        made = [delayed_task(_go_on, own, dual, common, n_iter, nout=2) for own, dual in zip(problems, duals)]
        moved, ahead, seen = _round(made)
        penalty = 0.5 * lam * float(np.vdot(weights, weights))
        objective, dual = seen.losses / n_rows + penalty, seen.taus / n_rows - penalty
        gap = np.inf if seen.n_changed else objective - dual
        # Where the dual falls, or a row chooses anew, momentum has led astray.
        momentum = 1.0 if dual < highest or seen.n_changed else following
        highest = dual
        if objective < lowest:
            best, lowest = weights, objective
        trace.add(lowest)
        converged = gap <= machine.tol * objective
        gaps.append(min(gap, gaps[-1]))
        trail = trace.objective[-1 - ENOUGH] if n_iter >= ENOUGH else np.inf
        level = trail - lowest < ENOUGH * machine.tol * lowest and gaps[-1] > 0.8 * gaps[-1 - ENOUGH]
        if converged or n_iter == machine.max_iter or level:
            break
        duals, last, weights, n_iter = moved, weights, ahead, n_iter + 1
    return PLSVMSolution(best, np.array(trace.objective), np.array(trace.seconds), n_iter, converged)


def _round(made: list[Any]) -> tuple[list[Any], Floats, Share]:
    """Return what each block holds after a round, the mean of the weights by rows, and the sums."""
    total = tree_sum([share for _, share in made], Share.__add__)
    *duals, total = persist([*(dual for dual, _ in made), total])
    found = compute(total)
    return duals, found.weights / found.n_rows, found


def _problem(block: RowBlock, lam: float, has_constant: bool) -> _BlockProblem:
    with block_error_context(block.number):
        rows, mask = block.labeled_rows()
        space = FeatureSpace(rows.astype(np.float64, copy=False), has_constant=has_constant)
        return _BlockProblem(block.number, PLSVMProblem(space, mask, lam))


def _solve(own: _BlockProblem, max_iter: int, tol: float) -> PLSVMSolution:
    return solve_cccp(own.problem, random=np.random.default_rng(0), max_iter=max_iter, tol=tol)


def _start(own: _BlockProblem) -> tuple[BlockDuals, Share]:
    return start(own.problem, np.random.default_rng([own.number]))


def _go_on(
    own: _BlockProblem, duals: BlockDuals, weights: tuple[Floats, Floats, float], done: int
) -> tuple[BlockDuals, Share]:
    return go_on(own.problem, duals, *weights, np.random.default_rng([own.number, done]))
