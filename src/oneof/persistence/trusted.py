"""The types that a model file may contain."""

_PROCESS_KERNELS = (
    *("CompoundKernel", "ConstantKernel", "DotProduct", "ExpSineSquared", "Exponentiation", "Matern", "PairwiseKernel"),
    *("Product", "RBF", "RationalQuadratic", "Sum", "WhiteKernel"),
)
TRUSTED: tuple[str, ...] = (
    "builtins.range",  # columns of a view
    "oneof.conformal.conformal_classifier.ConformalClassifier",
    "oneof.solvers.conformal.Calibration",
    "oneof.estimators.wrappers.candidate_em.CandidateEM",
    "oneof.estimators.candidate_stacking.CandidateStacking",
    "oneof.estimators.linear.clpl.CLPL",
    "oneof.estimators.graph.local_global_consistency.LocalGlobalConsistency",
    "oneof.estimators.generative.gaussian_em.GaussianEM",
    "oneof.solvers.generative.gaussian.Covariances",
    "oneof.solvers.generative.gaussian.GaussianParameters",
    "oneof.solvers.generative.gaussian.Standardizer",
    "oneof.estimators.graph_logistic.graph_logistic.GraphLogisticRegression",
    "oneof.estimators.graph_logistic._views.ViewFeatures",
    "oneof.estimators.graph_logistic._views.ViewModel",
    "oneof.estimators.graph.harmonic_field.HarmonicField",
    "oneof.estimators.neighbors.ipal.IPAL",
    "oneof.estimators.loo_ridge.LOORidge",
    "oneof.kernels.feature_maps.L2Normalize",
    "oneof.kernels.feature_maps.MaxAbsL2",
    "oneof.kernels.feature_maps.NormalQuantiles",
    "oneof.kernels.feature_maps.Spherical",
    "oneof.kernels.feature_maps.Standard",
    "oneof.kernels.mapped.CallableKernel",
    "oneof.kernels.mapped.KernelSum",
    "oneof.kernels.mapped.MappedKernel",
    "oneof.kernels.mapped.PrecomputedGram",
    "oneof.solvers.loo_ridge.loo_operators.DualCoefficients",
    "oneof.solvers.loo_ridge.solve.KernelModel",
    "oneof.estimators.generative.multinomial_em.MultinomialEM",
    "oneof.estimators.online.pegasos.AvgPegasos",
    "oneof.estimators.online.pegasos.MaxPegasos",
    "oneof.estimators.online.perceptron.AvgPerceptron",
    "oneof.estimators.online.perceptron.MaxPerceptron",
    "oneof.estimators.wrappers.plecoc.PLECOC",
    "oneof.estimators.linear.plem.PLEM",
    "oneof.estimators.gaussian_process.plgp.PLGP",
    "oneof.kernels.nystroem.NystroemFeatures",
    "oneof.solvers.laplace.posterior.LaplacePosterior",
    "oneof.solvers.laplace.posterior_covariance.WeightCovariance",
    "oneof.estimators.neighbors.plknn.PLKNN",
    "oneof.estimators.svm.plsvm.PLSVM",
    "oneof.estimators.graph.spectral_graph_transducer.SpectralGraphTransducer",
    "oneof.estimators.svm.transductive_svm.TransductiveSVM",
    "oneof.estimators.graph.markov_walk.MarkovWalk",
    "oneof.estimators.graph.poisson_learning.PoissonLearning",
    "oneof.graphs.kernels.PrecomputedKernel",
    "oneof.graphs.builder.Graph",  # plain arrays and parameters
    "oneof.graphs.builder.NeighborGraph",
    "oneof.graphs.neighbors.NeighborIndex",  # rows of fit, without the search index
    "oneof.io.encoder.Encoder",
    "oneof.kernels.svc.Kernel",
    "oneof.model_selection.temperature.TemperatureScaledClassifier",
    "oneof.stream.encoder.StreamEncoder",
    "oneof.stream.encoder.Moments",
    "oneof.text.StemTokenizer",
    "oneof.solvers.online.OnlineState",  # for partial_fit
    *(f"sklearn.gaussian_process.kernels.{name}" for name in _PROCESS_KERNELS),
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.calibration._TemperatureScaling",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",  # see `loaded_arrays`
    "sklearn.tree._tree.Tree",
    "scipy.sparse._csr.csr_array",  # rows stored by a method; see `_check_sparse`
    "scipy.sparse._csr.csr_matrix",
    "numpy.dtype",  # SimpleImputer and OneHotEncoder store the type of their input
)
"""Trusted types, in addition to those that skops trusts by default."""
