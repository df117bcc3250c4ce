"""The types that a model file may contain."""

from oneof.lazy import read_stub

_PARTS = {
    "oneof.conformal.conformal_classifier": ("ConformalClassifier",),
    "oneof.estimators.graph_logistic": ("ViewFeatures", "ViewModel"),
    "oneof.graphs.builder": ("Graph", "NeighborGraph"),  # plain arrays and parameters
    "oneof.graphs.kernels": ("PrecomputedKernel",),
    "oneof.graphs.neighbors": ("NeighborIndex",),  # rows of fit, without the search index
    "oneof.io.encoder": ("Encoder",),
    "oneof.kernels.feature_maps": ("L2Normalize", "MaxAbsL2", "NormalQuantiles", "Spherical", "Standard"),
    "oneof.kernels.mapped": ("CallableKernel", "KernelSum", "MappedKernel", "PrecomputedGram"),
    "oneof.kernels.nystroem": ("NystroemFeatures",),
    "oneof.kernels.svc": ("Kernel",),
    "oneof.model_selection.temperature": ("TemperatureScaledClassifier",),
    "oneof.solvers.conformal": ("Calibration",),
    "oneof.solvers.generative.gaussian": ("Covariances", "GaussianParameters", "Standardizer"),
    "oneof.solvers.laplace.posterior": ("LaplacePosterior",),
    "oneof.solvers.laplace.covariance": ("WeightCovariance",),
    "oneof.solvers.loo_ridge.loo_operators": ("DualCoefficients",),
    "oneof.solvers.loo_ridge.solve": ("KernelModel",),
    "oneof.solvers.online": ("OnlineState",),  # for partial_fit
    "oneof.stream.encoder": ("Moments", "StreamEncoder"),
    "oneof.text": ("StemTokenizer",),
    "sklearn.calibration": ("_CalibratedClassifier", "_SigmoidCalibration", "_TemperatureScaling"),
    "sklearn.ensemble._hist_gradient_boosting.predictor": ("TreePredictor",),  # see `loaded_arrays`
    "sklearn.tree._tree": ("Tree",),
    "scipy.sparse._csr": ("csr_array", "csr_matrix"),  # rows stored by a method; see `_check_sparse`
    "numpy": ("dtype",),  # SimpleImputer and OneHotEncoder store the type of their input
    "builtins": ("range",),  # columns of a view
    "sklearn.gaussian_process.kernels": (
        *("CompoundKernel", "ConstantKernel", "DotProduct", "ExpSineSquared", "Exponentiation", "Matern", "RBF"),
        *("PairwiseKernel", "Product", "RationalQuadratic", "Sum", "WhiteKernel"),
    ),
}
"""The types of the parts of estimators, by module."""
_PUBLIC = read_stub("oneof").items()
TRUSTED: tuple[str, ...] = (
    *(f"{module}.{name}" for name, module in _PUBLIC if module.startswith("oneof.estimators.")),
    *(f"{module}.{name}" for module, names in _PARTS.items() for name in names),
)
"""Trusted types, the public estimators and their parts, in addition to those that skops trusts by default."""
