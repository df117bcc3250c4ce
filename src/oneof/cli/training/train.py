"""Training on a table: the held-out estimate, the fit, and the folder that `oneof fit` writes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.cli.answers.annotators import (
    ANNOTATORS_FILE,
    fit_crowd,
    held_out_labels,
    summarize_annotators,
    write_annotators,
)
from oneof.cli.answers.annotators import to_dict as annotators_to_dict
from oneof.cli.auditing.issues import count_folds, describe_rest, find_issues
from oneof.cli.auditing.issues import summarize as summarize_issues
from oneof.cli.output.progress import ProgressFactory, Steps
from oneof.cli.prediction.sets import (
    MIN_CHECKED_ROWS,
    REPORT_COVERAGE,
    evaluate_calibration,
    find_checked_rows,
    held_out_calibration,
    to_dict,
)
from oneof.cli.tables.facts import TableFacts, describe_prepared
from oneof.cli.tables.first_labels import measure_first_labels, named_classes, written_weights
from oneof.cli.tables.gold import check_unchecked_rows
from oneof.cli.training import calibration as calibration_steps
from oneof.cli.training.corrected import Audit, compare_corrected
from oneof.cli.training.files import command_line, summarize, write_labels, write_model, write_report
from oneof.cli.training.headline import (
    describe_checked_rows,
    describe_lists,
    describe_noise,
    describe_training_labels,
    describe_weights,
    held_out_accuracy,
    make_headline,
    share_lists,
)
from oneof.cli.training.headline import to_dict as headline_to_dict
from oneof.cli.training.suspects import (
    describe_correction,
    find_suspects,
    has_predictions_of_all_rows,
    has_suspects,
)

if TYPE_CHECKING:
    from oneof.cli.tables.inputs import PreparedTable
    from oneof.cli.tables.read_options import ReadOptions
    from oneof.comparison import Comparison, LearningCurve
    from oneof.comparison.folds import Task
    from oneof.report import AnnotatorSummary, Headline

HELD_OUT = "estimating the rates on held-out rows"
COMPARING = "comparing methods"
CURVE = "measuring the learning curve"
AUDIT = "looking for wrong labels"
RATES = "estimating the rates of the corrected fit"
FINAL = "fitting all rows"
WRITING = "writing the model and the report"
"""The steps of a fit, with `HELD_OUT` of one method, or `COMPARING` of several."""
CURVE_FRACTIONS = (0.1, 0.2, 0.4, 0.7)
MAX_CURVE_ROWS = 4_000
"""The sizes of the learning curve are these fractions of the training rows, of at most this number, and all rows."""
OUTPUTS = ("model.skops", "training_labels.csv", "report.html", "summary.json")


@dataclass(frozen=True)
class TrainingResult:
    """Result of `train`: the summary for JSON, the comparison of methods, the output folder, and the annotators."""

    summary: dict[str, Any]
    comparison: "Comparison"
    headline: "Headline"
    notes: list[str]
    folder: Path
    annotators: "AnnotatorSummary | None" = None

    @property
    def is_headline_pooled(self) -> bool:
        """Whether the headline is a rate of all held-out rows whose mean over the folds is printed differently."""
        result, name = self.comparison.results[0], self.headline.measure
        mean = {"accuracy": result.accuracy, "covering rate": result.covering_rate}.get(name)
        return mean is not None and f"{mean:.1%}" != f"{self.headline.value:.1%}"


def train(
    path: Path,
    read_options: "ReadOptions",
    *,
    method: str,
    folder: Path,
    folds: int | None,
    budget: float | None,
    seed: int,
    noise_rate: float | str | None = None,
    class_weight: str | None = None,
    calibrates: bool = False,
    progress_factory: ProgressFactory,
    note: Callable[[str], None] | None = None,
    show_facts: Callable[[TableFacts], None] | None = None,
) -> TrainingResult:
    """Select a method, fit it on all rows of a table, and write model, labels, report and summary into a folder.

    The scores in the summary are computed on held-out rows, even if one method is requested by name. With a noise rate,
    a number or "auto", the model is fitted to the corrected weights of an audit. With `calibrates`, its probabilities
    are scaled by the temperature of the held-out rows with a true or checked label, if it lowers their log loss. `note`
    is called with each sentence for the user, before the fits that the sentence announces, and `show_facts` with the
    facts of the table, before all of them.
    """
    import numpy as np

    from oneof.cli.tables.inputs import prepare
    from oneof.cli.tables.methods import describe_comparison, is_default_method, resolve_methods, split_method
    from oneof.comparison.folds import check_task, fit_with_class_weights, make_folds
    from oneof.comparison.methods import DEFAULT_METHOD
    from oneof.errors import InputError
    from oneof.estimators.base import Disambiguation
    from oneof.files import atomic_directory, check_not_input, check_writable
    from oneof.model_selection.temperature import scale_proba

    notes: list[str] = []

    def add_note(sentence: str) -> None:
        notes.append(sentence)
        announce(sentence)

    def announce(sentence: str) -> None:
        if note is not None:
            note(sentence)

    check_writable(folder)
    inputs = [path] if read_options.answers is None else [path, read_options.answers.path]
    check_not_input((folder / name for name in (*OUTPUTS, ANNOTATORS_FILE)), inputs)
    prepared = prepare(path, read_options)
    if noise_rate is not None:
        check_unchecked_rows(prepared.candidates, prepared.is_checked, "remove --noise-rate")
    named = method.lower() != "auto"
    methods, method_notes = resolve_methods(prepared, method if named else DEFAULT_METHOD, seed, class_weight)
    if prepared.has_rest and isinstance(noise_rate, float):
        raise InputError(
            f"--noise-rate {noise_rate:g} cannot be used with --rest: lists with a rest exclude no label, so that the "
            "fraction of wrong ones is estimated. Use --noise-rate auto."
        )
    rest_notes = [] if noise_rate is None else describe_rest(read_options, prepared)
    for sentence in (*prepared.notes, *method_notes, *rest_notes):
        add_note(sentence)
    if not named:
        add_note(f"{DEFAULT_METHOD} is fitted without a comparison; --method best compares all methods.")
    frame, candidates, truth = prepared.frame, prepared.candidates, prepared.truth
    first_labels, has_shared_lists = measure_first_labels(prepared), share_lists(prepared)
    n_unlabeled = int(candidates.is_unlabeled.sum())
    if not named and 2 * n_unlabeled > len(candidates):
        add_note(
            f"{DEFAULT_METHOD} ignores the {n_unlabeled:,} unlabeled rows; --method best compares methods that use "
            "them."
        )
    task = check_task(frame, candidates, truth, class_weight)
    splits = make_folds(task, "auto" if folds is None else folds, seed, prepared.groups)
    codes = calibration_steps.checked_codes(candidates, truth, prepared.is_checked)
    checked_rows = calibration_steps.count_rows(codes, splits, candidates, truth, prepared.is_checked)
    if calibrates:
        calibration_steps.check_enough(checked_rows, methods)
    if show_facts is not None:
        show_facts(describe_prepared(prepared, read_options))
    is_default = DEFAULT_METHOD in methods and prepared.answers is None
    steps = Steps(progress_factory, _titles(len(methods), corrects=noise_rate is not None, audits=is_default))
    if len(methods) > 1:
        announce(describe_comparison(len(methods), budget))
    comparison, curve = _compare(prepared, methods, task, splits, budget, seed, steps=steps, add_note=add_note)
    crowd = annotators = issues = posterior = sets = expected_coverage = proba = guarantee = None
    if prepared.answers is None:
        fitted_to = candidates
        if noise_rate is not None:
            rate = None if isinstance(noise_rate, str) else noise_rate
            with steps.step(AUDIT) as bar:
                auditor = method if is_default_method(method) else "auto"
                name, issues = find_issues(
                    prepared, auditor, folds=count_folds(prepared), seed=seed, noise_rate=rate, progress=bar
                )
            add_note(describe_correction(issues, name))
            if issues.n_changed:
                fitted_to = issues.corrected()
                with steps.step(RATES) as bar:
                    audit = Audit(prepared, auditor, rate, seed)
                    comparison, sentence = compare_corrected(comparison, task, splits, audit, progress=bar)
                add_note(sentence)
            else:
                steps.skip(RATES)
        if issues is not None:
            posterior = issues.posterior
        for sentence in (
            *describe_lists(comparison, has_shared_lists=has_shared_lists),
            *describe_checked_rows(comparison, candidates, truth),
        ):
            add_note(sentence)
        with steps.step(FINAL):
            model = fit_with_class_weights(comparison.best_estimator, frame, fitted_to, class_weight)
        if issues is None and has_suspects(model[-1]):
            if has_predictions_of_all_rows(comparison, candidates):
                auditor = method if is_default_method(method) else "auto"
                with steps.step(AUDIT) as bar:
                    issues = find_suspects(prepared, auditor, seed=seed, progress=bar)
            else:
                steps.skip(AUDIT)
                add_note("wrong labels are not searched for, since one split is held out: run `oneof audit`.")
        decisions = model[-1].disambiguate()  # training rows: neighbor methods exclude the row itself
        if noise_rate is None:
            written = written_weights(prepared) if candidates.is_weighted.any() else None
            for sentence in describe_training_labels(decisions, candidates, truth, written):
                add_note(sentence)
    else:
        add_note(
            f"the held-out estimate is approximate: it is that of {comparison.best_method} fitted to weights by the "
            "answers of all rows. The model is fitted with the accuracies of the annotators in turn."
        )
        add_note(
            "in training_labels.csv, the candidates have weights by the answers alone; label and confidence are "
            "estimated from the answers and the features."
        )
        with steps.step(FINAL) as bar:
            crowd = fit_crowd(comparison.best_estimator, frame, prepared.answers, seed, bar)
            proba, posterior = held_out_labels(crowd, comparison, frame, candidates, splits)
        annotators = summarize_annotators(crowd, prepared.answers)
        model = crowd.estimator_
        decisions = Disambiguation(crowd.transduction_, crowd.label_distributions_.max(axis=1))
    confidences = calibration_steps.evaluate(comparison, codes, proba, seed)
    is_calibrated = calibrates and confidences is not None and confidences.lowers_loss
    if confidences is not None:
        name = comparison.best_method
        add_note(calibration_steps.describe(confidences, name, calibrates=calibrates, rows=checked_rows))
        if is_calibrated:
            model = calibration_steps.scale_model(model, confidences.temperature)
            measured = comparison.results[0].probabilities if proba is None else proba
            proba = None if measured is None else scale_proba(measured, confidences.temperature)
    elif calibrates:
        add_note(calibration_steps.describe_failure(comparison))
    fitted = None if crowd is None or proba is None else model.predict_proba(frame)[comparison.held_out_rows]
    calibration = held_out_calibration(comparison, candidates, seed, posterior, truth, proba, fitted)
    if calibration is not None:
        of_groups = comparison.n_groups is not None
        sets, expected_coverage, guarantee = evaluate_calibration(
            calibration, candidates, truth, posterior, of_groups=of_groups
        )
    given = None if prepared.answers is None else prepared.answers.answers
    checked = prepared.is_checked
    # Without the accuracy of any source, the answers do not determine that of the predictions either.
    is_unknown = annotators is not None and bool(np.isnan(annotators.accuracy).all())
    accuracy = None
    if not is_unknown:
        accuracy = held_out_accuracy(
            comparison,
            candidates,
            given,
            checked,
            named_classes(prepared),
            has_shared_lists=has_shared_lists,
        )
    headline = make_headline(
        comparison, candidates, accuracy, is_unknown=is_unknown or has_shared_lists, leaks=prepared.leaks
    )
    if noise_rate is None and accuracy is not None:
        for sentence in (*describe_rest(read_options, prepared), *describe_weights(prepared, accuracy)):
            add_note(sentence)
    n_checked = len(find_checked_rows(comparison, candidates, truth))
    has_sets = given is None and calibration is not None and not prepared.has_rest
    if noise_rate is None and has_sets and n_checked < MIN_CHECKED_ROWS:
        for sentence in describe_noise(issues or accuracy, has_checked=checked is not None):
            add_note(sentence)
    summary = summarize(prepared, read_options, comparison, curve) | headline_to_dict(headline, accuracy)
    summary |= {"parameters": split_method(method)[1], "class_weight": class_weight, "notes": notes}
    summary |= {"first_labels": None if first_labels is None else first_labels._asdict()}
    summary |= {"confidences": calibration_steps.to_dict(confidences, is_calibrated=is_calibrated)}
    if crowd is not None and annotators is not None:
        summary |= {"answers": annotators_to_dict(annotators, crowd)}
    if sets is not None:
        nominal = {"nominal_coverage": REPORT_COVERAGE, "expected_coverage": expected_coverage, "guarantee": guarantee}
        summary |= {"prediction_sets": nominal | to_dict(sets)}
    if noise_rate is not None and issues is not None:
        summary |= {"audit": summarize_issues(issues, prepared)}
    command = command_line(
        path,
        read_options,
        method=method,
        folder=folder,
        folds=folds,
        budget=budget,
        seed=seed,
        noise_rate=noise_rate,
        class_weight=class_weight,
        calibrates=calibrates,
    )
    with steps.step(WRITING), atomic_directory(folder) as stage:
        model_file, labels_file, report_file, summary_file = (stage / name for name in OUTPUTS)
        write_model(model_file, model, prepared, read_options, summary, calibration)
        write_labels(labels_file, prepared, decisions)
        write_report(
            report_file,
            prepared,
            (comparison, curve, decisions),
            command=command,
            named=named,
            annotators=annotators,
            sets=sets,
            expected_coverage=expected_coverage,
            guarantee=guarantee,
            issues=issues,
            headline=headline,
            first_labels=first_labels,
            n_corrected=None if noise_rate is None or issues is None else issues.n_changed,
        )
        if annotators is not None:
            write_annotators(stage / ANNOTATORS_FILE, annotators)
        summary_file.write_text(dumps(summary, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        files = sorted(file.name for file in stage.iterdir())
    summary |= {"files": [str(folder / name) for name in files]}
    return TrainingResult(summary, comparison, headline, notes, folder, annotators)


def _titles(n_methods: int, *, corrects: bool, audits: bool) -> list[str]:
    """Return the titles of the steps of a fit, which corrects labels, or audits them after the fit."""
    correction = [AUDIT, RATES] if corrects else []
    audit = [AUDIT] if audits and not corrects else []
    return [COMPARING if n_methods > 1 else HELD_OUT, CURVE, *correction, FINAL, *audit, WRITING]


def _compare(
    prepared: "PreparedTable",
    methods: Mapping[str, Any],
    task: "Task",
    splits: Sequence[Any],
    budget: float | None,
    seed: int,
    *,
    steps: Steps,
    add_note: Callable[[str], None],
) -> "tuple[Comparison, LearningCurve | None]":
    """Return the comparison of the methods, and the learning curve of the best one; None after an interruption."""
    from oneof.comparison import compare, learning_curve

    frame, candidates, truth = prepared.frame, prepared.candidates, prepared.truth
    several = len(methods) > 1
    with steps.step(COMPARING if several else HELD_OUT, each_name=several) as bar:
        comparison = compare(
            frame,
            candidates,
            methods,
            cv=splits,
            groups=prepared.groups,
            truth=truth,
            class_weight=task.class_weight,
            budget=budget,
            refit=False,
            keep_predictions="labeled",
            random_state=seed,
            progress=bar,
        )
    if comparison.is_interrupted:
        n_compared = sum(result.error is None and result.incomplete is None for result in comparison.results)
        add_note(
            f"the comparison was interrupted; {comparison.best_method} is the best of {n_compared} "
            f"method{'s' * (n_compared != 1)} and is fitted without a learning curve. A second Ctrl-C ends without a "
            "model."
        )
        return comparison, None
    with steps.step(CURVE) as bar:
        curve = learning_curve(
            methods[comparison.best_method],
            frame,
            candidates,
            truth=truth,
            train_sizes=CURVE_FRACTIONS,
            max_rows=MAX_CURVE_ROWS,
            last=comparison.results[0],
            cv=splits,
            groups=prepared.groups,
            class_weight=task.class_weight,
            random_state=seed,
            progress=bar,
        )
    return comparison, curve
