"""The plan of a fit: the facts of a table with labels, and the time of each step."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oneof.cli.auditing.issues import count_folds
from oneof.cli.tables.times import AUDIT, COMPARING, CURVE, FINAL, HELD_OUT, RATES, WRITE_SECONDS, WRITING

if TYPE_CHECKING:
    from oneof.cli.tables.inputs import PreparedTable
    from oneof.cli.tables.plan import Plan
    from oneof.cli.tables.read_options import ReadOptions


def make_plan(
    prepared: "PreparedTable",
    read_options: "ReadOptions",
    methods: Mapping[str, Any],
    task: Any,
    splits: Sequence[Any],
    budget: float | None,
    seed: int,
    noise_rate: float | str | None = None,
) -> "Plan":
    """Return the facts of a table with the methods and the time of their fit."""
    from oneof.cli.tables.methods import resolve_methods
    from oneof.cli.tables.times import (
        count_audit_fits,
        count_audit_models,
        count_fits,
        count_fits_of_rounds,
        estimate_noise_seconds,
        estimate_seconds,
        find_faster_methods,
    )
    from oneof.comparison.methods import DEFAULT_METHOD

    facts = describe_prepared(prepared, read_options)
    facts = replace(facts, noise_rate=noise_rate, class_weight=task.class_weight)
    if len(methods) > 1:
        titles = [COMPARING, CURVE, *[AUDIT, RATES] * (noise_rate is not None), FINAL]
        titles += [AUDIT] * (noise_rate is None and facts.answers is None and DEFAULT_METHOD in methods)
        seconds_of = dict.fromkeys(titles) | {WRITING: WRITE_SECONDS}
        best = f"the best of {len(methods)} methods"
        return replace(facts, method=best, limit_minutes=budget, step_seconds=seconds_of)
    [(name, estimator)] = methods.items()
    n, test, candidates = len(task.candidates), splits[0][1], task.candidates
    n_fits, n_fits_of_one_split = (count_fits([len(train) for train, _ in parts], n) for parts in (splits, splits[:1]))
    n_audit_fits = 0
    is_audited = noise_rate is not None or (name == DEFAULT_METHOD and facts.answers is None)
    if is_audited:
        is_grouped = prepared.groups is not None
        n_audit_fits = count_audit_fits(candidates, count_folds(prepared), is_default=True, is_grouped=is_grouped)
    total = sum(n_fits.values()) + n_audit_fits * (name == DEFAULT_METHOD)
    seconds = estimate_seconds(estimator, task, test, total, seed)
    fit_seconds = None if seconds is None else seconds / total
    steps: dict[str, float | None] = {
        step: None if fit_seconds is None else number * fit_seconds for step, number in n_fits.items()
    }
    has_proba = hasattr(estimator, "predict_proba")
    noise_seconds = estimate_noise_seconds(candidates, seed) if is_audited or has_proba else 0.0
    if is_audited:
        audit_fit_seconds = fit_seconds
        if n_audit_fits and name != DEFAULT_METHOD:
            [auditor] = resolve_methods(prepared, DEFAULT_METHOD, seed)[0].values()
            audit_fit_seconds = estimate_seconds(auditor, task, test, 1, seed)
        n_models = count_audit_models(candidates) if n_audit_fits else 1
        steps[AUDIT] = n_audit_fits * (audit_fit_seconds or 0.0) + n_models * noise_seconds
    if noise_rate is not None:  # before the final fit
        share = sum(len(train) for train, _ in splits) / n
        audit_seconds = steps[AUDIT] or 0.0
        steps[RATES] = None if fit_seconds is None else share * (audit_seconds + fit_seconds)
        steps[FINAL] = steps.pop(FINAL)
    steps[WRITING] = WRITE_SECONDS + noise_seconds * has_proba  # for the estimated accuracy
    facts = replace(facts, method=name, step_seconds=steps)
    if fit_seconds is None:
        return facts
    seconds = sum(value or 0.0 for value in steps.values())
    n_fits_of_rounds = count_fits_of_rounds() + n_fits[HELD_OUT]  # with the held-out predictions of the last labels
    if facts.answers is not None:
        steps[FINAL] = fit_seconds * n_fits_of_rounds  # the bar includes the rounds
    faster: tuple[tuple[str, float], ...] = ()  # with a noise rate, most of the time is that of the audits
    if noise_rate is None:
        faster = find_faster_methods(prepared, task, test, sum(n_fits.values()), seconds, seed)
        faster = tuple(method for method in faster if method[0] != name)
    saved = fit_seconds * (sum(n_fits.values()) - sum(n_fits_of_one_split.values()))
    return replace(
        facts,
        seconds=seconds,
        faster=faster,
        one_split_seconds=seconds - saved if len(splits) > 1 else None,
        round_seconds=None if facts.answers is None else fit_seconds * n_fits_of_rounds,
    )


def describe_prepared(prepared: "PreparedTable", read_options: "ReadOptions") -> "Plan":
    """Return the facts of a table with labels."""
    from oneof.cli.tables.first_labels import describe_first_labels, measure_first_labels, written_weights
    from oneof.cli.tables.plan import AnswerFacts, GroupFacts, describe

    weights = written_weights(prepared) if prepared.candidates.is_weighted.any() else None
    if weights is not None and prepared.is_checked is not None:
        weights[prepared.is_checked] = prepared.candidates.weights[prepared.is_checked]
    facts = describe(
        prepared.table,
        prepared.columns,
        prepared.frame,
        labels=read_options.label_columns,
        candidates=prepared.candidates,
        weights=weights,
        exclude=sorted(read_options.text_columns),
    )
    if prepared.is_posterior:
        facts = replace(facts, largest="the largest probability")
    facts = replace(facts, first_labels="".join(describe_first_labels(measure_first_labels(prepared))).rstrip("."))
    if prepared.n_groups is not None:
        facts = replace(facts, groups=GroupFacts(str(read_options.groups), prepared.n_groups))
    if prepared.answers is None or read_options.answers is None:
        return facts
    given = prepared.answers.answers
    return replace(facts, answers=AnswerFacts(str(read_options.answers.path), given.n_answers, len(given.annotators)))
