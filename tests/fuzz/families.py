"""Families of fuzzed calls, except those of the estimators, with the public names that each one calls."""

from oneof import (
    CandidateSets,
    active,
    audit,
    conformal,
    crowd,
    datasets,
    diffusion_kernel,
    distributed,
    graphs,
    labeling,
    make_partial_labels,
    metrics,
    model_selection,
    multilabel,
    persistence,
    plots,
    regularized_laplacian_kernel,
    stream,
    text,
)
from oneof.comparison import (
    compare,
    default_estimators,
    learning_curve,
)
from tests.fuzz import (
    calls_on_blocks,
    calls_on_crowds,
    calls_on_files,
    calls_on_graphs,
    calls_on_learners,
    calls_on_sets,
)
from tests.fuzz.strategies import Family

FAMILIES = {
    "sets": Family(calls_on_sets.set_makers, 3.0, (CandidateSets,)),
    "judgments": Family(
        calls_on_sets.judgments,
        2.0,
        (
            metrics.ambiguous_zero_one_loss,
            metrics.covering_rate,
            metrics.exact_accuracy,
            metrics.approximated_accuracy,
        ),
    ),
    "class_weights": Family(calls_on_sets.class_weights, 1.0, (model_selection.compute_sample_weight,)),
    "calibrations": Family(calls_on_sets.calibrations, 1.0, (model_selection.calibrate_posteriors,)),
    "rankings": Family(
        calls_on_sets.rankings,
        1.0,
        (metrics.precision_recall_breakeven_point, metrics.win_tie_loss, metrics.paired_p_values),
    ),
    "hidings": Family(calls_on_sets.hidings, 2.0, (make_partial_labels,)),
    "scorings": Family(
        calls_on_sets.scorings,
        1.0,
        (
            model_selection.CandidateKFold,
            model_selection.CandidateGroupKFold,
            model_selection.Scorer,
            model_selection.covering_rate_scorer,
            model_selection.approximated_accuracy_scorer,
            model_selection.exact_accuracy_scorer,
        ),
    ),
    "kernels": Family(
        calls_on_graphs.kernels,
        2.0,
        (
            diffusion_kernel,
            regularized_laplacian_kernel,
            graphs.laplacian,
            graphs.check_affinity,
            graphs.PrecomputedKernel,
        ),
    ),
    "links": Family(calls_on_graphs.links, 1.0, (graphs.NeighborGraph, graphs.Graph)),
    "pictures": Family(
        calls_on_graphs.pictures,
        0.3,
        (
            plots.plot_set_sizes,
            plots.plot_weights,
            plots.plot_class_frequencies,
            plots.plot_cooccurrence,
            plots.plot_decisions,
            plots.plot_learning_curve,
        ),
    ),
    "queries": Family(
        calls_on_learners.queries,
        1.5,
        (active.query, active.query_subsets, active.simulate, active.local_density, active.AnswerModel),
    ),
    "comparisons": Family(calls_on_learners.comparisons, 0.7, (compare, learning_curve)),
    "held-out predictions": Family(calls_on_learners.held_out, 1.0, (model_selection.cross_val_predict,)),
    "audits": Family(calls_on_learners.audits, 1.0, (audit.find_label_issues,)),
    "listed issues": Family(calls_on_learners.listed_issues, 0.3, ()),
    "choices": Family(
        calls_on_learners.choices,
        1.0,
        (default_estimators,),
    ),
    "documents": Family(calls_on_learners.documents, 1.0, (multilabel.breakeven_score,)),
    "prediction sets": Family(
        calls_on_learners.prediction_sets, 1.0, (conformal.ConformalClassifier, conformal.evaluate_sets)
    ),
    "sessions": Family(calls_on_learners.sessions, 1.0, (labeling.LabelingSession,)),
    "answers": Family(calls_on_crowds.readings, 2.0, (crowd.Answers, crowd.apply_rules)),
    "agreement": Family(
        calls_on_crowds.agreements,
        1.0,
        (crowd.krippendorff_alpha, crowd.krippendorff_interval, crowd.pairwise_agreement),
    ),
    "annotators": Family(calls_on_crowds.annotators, 2.0, (crowd.AnnotatorModel,)),
    "crowds": Family(calls_on_crowds.crowds, 1.0, (crowd.CrowdClassifier,)),
    "texts": Family(calls_on_files.texts, 1.0, (text.make_vectorizer, text.StemTokenizer)),
    "single rows": Family(calls_on_files.single_rows, 1.0, (stream.RiverClassifier,)),
    "data sets": Family(
        calls_on_files.data_sets, 1.0, (datasets.load, datasets.list_datasets, datasets.dataset_info, datasets.load_mat)
    ),
    "streams": Family(
        calls_on_files.streams,
        1.0,
        (
            stream.fit_stream,
            stream.open_source,
            stream.read_batches,
            stream.StreamOptions,
            stream.Source,
            stream.CheckpointConfig,
        ),
    ),
    "models": Family(calls_on_files.models, 0.4, (persistence.save, persistence.load, labeling.LabelTable)),
    "blocks": Family(
        calls_on_blocks.blocks,
        0.4,
        (
            distributed.fit,
            distributed.predict,
            distributed.predict_proba,
            distributed.decision_function,
            distributed.disambiguate,
        ),
    ),
}
