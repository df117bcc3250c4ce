"""Online classifiers and the linear PLSVM over blocks: each round averages the weights of the blocks.

The online classifiers use iterative parameter mixing, with a round for each of their epochs. With one block the state
of the solver passes from round to round, and the weights are identical to those of the ordinary `fit`.

PLSVM averages the weights of dual ascent (`oneof.solvers.plsvm.cocoa`). A single block uses the ordinary solver.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneof.distributed.blocks import RowBlock, RowBlocks, block_error_context
from oneof.distributed.reduction import compute, delayed_task, map_persist, map_reduce, persist, shared, tree_sum
from oneof.errors import InputError
from oneof.estimators.online._base import OnlineClassifier
from oneof.estimators.svm.plsvm import PLSVM
from oneof.kernels import Kernel
from oneof.solvers.feature_spaces import FeatureSpace
from oneof.solvers.online import MixUpdate, OnlineState, average_updates, local_state, weighted_update
from oneof.solvers.plsvm import PLSVMProblem, PLSVMSolution, solve_cccp
from oneof.solvers.plsvm.cocoa import BlockDuals, BlockUpdate, start, step
from oneof.solvers.plsvm.problem import Trace
from oneof.typing import Floats
from oneof.validation import check_positive, check_random_state

STAGNATION_ROUNDS = 20
"""Number of rounds of the stagnation test of PLSVM.

PLSVM stops if these rounds reduce the objective by less than `STAGNATION_ROUNDS * tol` times its value, and the duality
gap by less than a fifth."""

EpochSolver = Callable[..., OnlineState]


def check_online(classifier: OnlineClassifier) -> None:
    """Raise if a parameter is invalid."""
    classifier._make_solver()
    check_positive("n_epochs", classifier.n_epochs, integer=True)


def fit_online(classifier: OnlineClassifier, blocks: RowBlocks) -> None:
    """Fit a classifier in `n_epochs` rounds."""
    blocks = blocks if len(blocks.blocks) == 1 else blocks.labeled
    solver, random_state = classifier._make_solver(), check_random_state(classifier.random_state)
    state = OnlineState.zeros(
        len(blocks.classes),
        blocks.metadata[0].n_features + bool(classifier.fit_intercept),
        dtype=blocks.dtype,
        average=bool(classifier.average),
    )
    for epoch in range(classifier.n_epochs):
        seeds = _seeds(random_state, blocks) if classifier.shuffle else [None for _ in blocks.blocks]
        if len(blocks.blocks) == 1:
            state = map_reduce(blocks.blocks, _run_epoch, solver, state, seeds[0])
        else:
            mix, shared_solver = shared(state), shared(solver)
            updates = [
                delayed_task(_epoch_update, block, shared_solver, mix, seed, epoch * metadata.n_rows)
                for block, seed, metadata in zip(blocks.blocks, seeds, blocks.metadata)
            ]
            total = compute(tree_sum(updates, _add_updates))
            if isinstance(total, InputError):
                raise total
            state = average_updates(state, total)
    blocks.set_input_attributes(classifier)
    classifier._set_fitted_attributes(state)


def _seeds(random_state: np.random.RandomState, blocks: RowBlocks) -> list[Any]:
    """Return the seed of each block's row order; for one block, the generator of the ordinary `fit`."""
    if len(blocks.blocks) == 1:
        before = copy.deepcopy(random_state)
        random_state.permutation(blocks.n_rows)
        return [before]
    return random_state.randint(np.iinfo(np.int32).max, size=len(blocks.blocks)).tolist()


def _run_epoch(block: RowBlock, solver: EpochSolver, state: OnlineState, seed: Any) -> OnlineState:
    order = None if seed is None else check_random_state(seed).permutation(block.X.shape[0])
    with block_error_context(block.number):
        return solver(block.X, block.evidence, initial=state, order=order)


def _epoch_update(
    block: RowBlock, solver: EpochSolver, mix: OnlineState, seed: Any, n_processed: int
) -> MixUpdate | InputError:
    try:
        end = _run_epoch(block, solver, local_state(mix, n_processed), seed)
    except InputError as error:
        return error
    return weighted_update(end, int(block.labeled.sum()), block.X.shape[0])


def _add_updates(a: MixUpdate | InputError, b: MixUpdate | InputError) -> MixUpdate | InputError:
    """Return the sum, or the error of the first block that has one."""
    if isinstance(a, InputError):
        return a
    return b if isinstance(b, InputError) else a + b


def check_plsvm(model: PLSVM) -> None:
    """Raise if a parameter is invalid."""
    model._check_parameters()
    if model.kernel != "linear":
        raise InputError(f'`kernel` must be "linear" over blocks of rows; got {model.kernel!r}.')
    if model.solver != "cccp":
        raise InputError(
            f'`solver` must be "cccp" over blocks of rows; got {model.solver!r}. MaxPegasos minimizes the same '
            "objective row by row."
        )


def fit_plsvm(model: PLSVM, blocks: RowBlocks) -> None:
    """Fit a model; a single block uses the ordinary solver."""
    blocks = blocks.labeled
    problems = map_persist(blocks.blocks, _problem, float(model.lam), bool(model.fit_intercept))
    if len(problems) == 1:
        solution = compute(delayed_task(_solve, problems[0], model.max_iter, model.tol))
    else:
        solution = _average_dual_ascent(model, problems, blocks.n_labeled)
    blocks.set_input_attributes(model)
    model._store_trace(solution)
    # Only gamma depends on the rows, and the linear kernel does not use it.
    no_rows = np.zeros((0, blocks.metadata[0].n_features))
    kernel = Kernel.from_rows("linear", no_rows, gamma="auto", degree=model.degree, coef0=model.coef0)
    model._set_linear(solution.weights.astype(blocks.dtype, copy=False), kernel)


@dataclass(frozen=True)
class _BlockProblem:
    """Problem of the rows of one block."""

    number: int
    problem: PLSVMProblem


def _average_dual_ascent(model: PLSVM, problems: list[Any], n_rows: int) -> PLSVMSolution:
    """Iterate until no row changes its candidate and the duality gap is at most `tol` times the objective."""
    lam, trace = float(model.lam), Trace()
    trace.add(1.0)  # objective of W = 0
    duals, weights = _run_round([delayed_task(_start, problem, nout=2) for problem in problems])[:2]
    best, lowest, converged, n_iter = weights, 1.0, False, 0
    last, momentum, highest_dual, gaps = weights, 1.0, -np.inf, [np.inf]
    while True:
        next_momentum = 0.5 + (0.25 + momentum**2) ** 0.5
        beta = (momentum - 1.0) / next_momentum
        common = shared((weights, weights + beta * (weights - last), beta))
        tasks = [delayed_task(_step, own, dual, common, n_iter, nout=2) for own, dual in zip(problems, duals)]
        next_duals, next_weights, sums = _run_round(tasks)
        penalty = 0.5 * lam * float(np.vdot(weights, weights))
        objective, dual = sums.losses / n_rows + penalty, sums.taus / n_rows - penalty
        gap = np.inf if sums.n_changed else objective - dual
        # Restart the momentum if the dual decreases or a row changes its candidate.
        momentum = 1.0 if dual < highest_dual or sums.n_changed else next_momentum
        highest_dual = dual
        if objective < lowest:
            best, lowest = weights, objective
        trace.add(lowest)
        converged = gap <= model.tol * objective
        gaps.append(min(gap, gaps[-1]))
        former = trace.objective[-1 - STAGNATION_ROUNDS] if n_iter >= STAGNATION_ROUNDS else np.inf
        stagnates = (
            former - lowest < STAGNATION_ROUNDS * model.tol * lowest and gaps[-1] > 0.8 * gaps[-1 - STAGNATION_ROUNDS]
        )
        if converged or n_iter == model.max_iter or stagnates:
            break
        duals, last, weights, n_iter = next_duals, weights, next_weights, n_iter + 1
    return PLSVMSolution(best, np.array(trace.objective), np.array(trace.times), n_iter, converged)


def _run_round(tasks: list[Any]) -> tuple[list[Any], Floats, BlockUpdate]:
    """Return the dual variables of each block after a round, the mean of the weights by rows, and the sums."""
    total = tree_sum([update for _, update in tasks], BlockUpdate.__add__)
    *duals, total = persist([*(dual for dual, _ in tasks), total])
    sums = compute(total)
    return duals, sums.weights / sums.n_rows, sums


def _problem(block: RowBlock, lam: float, has_constant: bool) -> _BlockProblem:
    with block_error_context(block.number):
        rows, evidence = block.labeled_rows()
        space = FeatureSpace(rows.astype(np.float64, copy=False), has_constant=has_constant)
        return _BlockProblem(block.number, PLSVMProblem(space, evidence, lam))


def _solve(own: _BlockProblem, max_iter: int, tol: float) -> PLSVMSolution:
    return solve_cccp(own.problem, rng=np.random.default_rng(0), max_iter=max_iter, tol=tol)


def _start(own: _BlockProblem) -> tuple[BlockDuals, BlockUpdate]:
    return start(own.problem, np.random.default_rng([own.number]))


def _step(
    own: _BlockProblem, duals: BlockDuals, weights: tuple[Floats, Floats, float], n_iter: int
) -> tuple[BlockDuals, BlockUpdate]:
    return step(own.problem, duals, *weights, np.random.default_rng([own.number, n_iter]))
