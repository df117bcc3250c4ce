"""The types that a model file may contain."""

_PROCESS_KERNELS = (
    *("CompoundKernel", "ConstantKernel", "DotProduct", "ExpSineSquared", "Exponentiation", "Matern", "PairwiseKernel"),
    *("Product", "RBF", "RationalQuadratic", "Sum", "WhiteKernel"),
)
TRUSTED: tuple[str, ...] = (
    "builtins.range",  # columns of a view
    "oneof.estimators.clpl.CLPL",
    "oneof.estimators.local_global_consistency.LocalGlobalConsistency",
    "oneof.estimators.gaussian_em.GaussianEM",
    "oneof.solvers.generative.covariances.Covariances",
    "oneof.solvers.generative.gaussian.GaussianParameters",
    "oneof.solvers.generative.gaussian.Units",
    "oneof.estimators.graph_logistic.GraphLogisticRegression",
    "oneof.estimators.view_features.ViewFeatures",
    "oneof.estimators.view_model.ViewModel",
    "oneof.estimators.harmonic_field.HarmonicField",
    "oneof.estimators.ipal.IPAL",
    "oneof.estimators.loo_kernels.GivenKernel",
    "oneof.estimators.loo_kernels.PrecomputedGram",
    "oneof.estimators.loo_ridge.LOORidge",
    "oneof.kernels.feature_maps.Angle",
    "oneof.kernels.feature_maps.GaussianRank",
    "oneof.kernels.feature_maps.ScaledUnitRows",
    "oneof.kernels.feature_maps.Standard",
    "oneof.kernels.feature_maps.UnitRows",
    "oneof.kernels.radial.MappedKernel",
    "oneof.solvers.loo_ridge.left_out.Dual",
    "oneof.solvers.loo_ridge.model.KernelModel",
    "oneof.solvers.loo_ridge.model.StackedModel",
    "oneof.estimators.multinomial_em.MultinomialEM",
    "oneof.estimators.pegasos.AvgPegasos",
    "oneof.estimators.pegasos.MaxPegasos",
    "oneof.estimators.perceptron.AvgPerceptron",
    "oneof.estimators.perceptron.MaxPerceptron",
    "oneof.estimators.plecoc.PLECOC",
    "oneof.estimators.plem.PLEM",
    "oneof.estimators.plgp.PLGP",
    "oneof.solvers.laplace.landmarks.NystroemFeatures",
    "oneof.solvers.laplace.posterior.LaplacePosterior",
    "oneof.solvers.laplace.weight_posterior.WeightPosterior",
    "oneof.solvers.laplace.weights.WeightCovariance",
    "oneof.estimators.plknn.PLKNN",
    "oneof.estimators.plsvm.PLSVM",
    "oneof.estimators.spectral_graph_transducer.SpectralGraphTransducer",
    "oneof.estimators.transductive_svm.TransductiveSVM",
    "oneof.estimators.markov_walk.MarkovWalk",
    "oneof.graphs.gaussian_process.PrecomputedKernel",
    "oneof.graphs.graph.Graph",  # plain arrays and parameters: the rows of fit without an index of them
    "oneof.graphs.graph.Weighting",
    "oneof.graphs.neighbors.Neighborhood",  # rows among which neighbors are sought, without their index
    "oneof.kernels.svc.Kernel",
    "oneof.stream.encoder.StreamEncoder",
    "oneof.stream.encoder.Moments",
    "oneof.text.StemTokenizer",
    "oneof.solvers.online.OnlineState",  # for partial_fit
    *(f"sklearn.gaussian_process.kernels.{name}" for name in _PROCESS_KERNELS),
    "scipy.sparse._csr.csr_array",  # rows stored by a method; see `_check_sparse`
    "scipy.sparse._csr.csr_matrix",
    "numpy.dtype",  # SimpleImputer and OneHotEncoder store the type of their input
)
"""The trusted types besides those that skops trusts by default."""
