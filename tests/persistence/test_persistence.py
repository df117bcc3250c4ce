"""Model files: a loaded model equals the saved one, and invalid files are errors."""

import io
import json
import re
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import calibration
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import get_tags

import oneof
from oneof import CLPL, AvgPerceptron, MaxPegasos, persistence
from oneof.crowd import CrowdClassifier
from oneof.errors import InputError, InputTypeError, ModelFileError
from oneof.persistence import FORMAT_VERSION, SavedModel, load, save
from oneof.persistence.vocabularies import restore_vocabularies, with_compact_vocabularies
from tests.fixtures.write_models import FOLDER, PRESENT, predictions

ESTIMATORS = [name for name in oneof._LAZY_NAMES if hasattr(getattr(oneof, name), "fit")]


@pytest.fixture
def rows() -> tuple[np.ndarray, list[list[str]]]:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(40, 5))
    return X, [["a", "b"] if x[0] > 0 else ["c"] for x in X]


@pytest.fixture
def model_file(rows: Any, tmp_path: Path) -> Path:
    X, y = rows
    path = tmp_path / "model.skops"
    pipeline = make_pipeline(StandardScaler(), AvgPerceptron()).fit(X, y)
    save(path, SavedModel(pipeline, ["a", "b", "c"], [("x", "number")], ["label"], "AvgPerceptron", {"rows": 40}))
    return path


def test_a_loaded_model_equals_the_saved_one(model_file: Path, rows: Any) -> None:
    """A loaded model has the same description and the same predictions as the saved one."""
    X, y = rows
    model = load(model_file)
    pipeline = make_pipeline(StandardScaler(), AvgPerceptron()).fit(X, y)
    assert (model.classes, model.columns, model.label_columns) == (["a", "b", "c"], [("x", "number")], ["label"])
    assert (model.method, model.summary, model.oneof_version) == ("AvgPerceptron", {"rows": 40}, oneof.__version__)
    np.testing.assert_array_equal(model.pipeline.decision_function(X), pipeline.decision_function(X))


@pytest.mark.parametrize("weighted", [False, True], ids=["sets", "weights"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_public_estimator_can_be_saved(name: str, weighted: bool, rows: Any, tmp_path: Path) -> None:
    """The loaded estimator has the same predictions, and partial_fit continues from the same state."""
    kind = getattr(oneof, name)
    X, y = rows
    if weighted:
        sets = oneof.CandidateSets.from_sets(y)
        y = oneof.CandidateSets.from_weights(np.where(sets.mask, [1.0, 0.5, 0.9], [0.1, 0.2, 0.0]), sets.classes)
    X = np.abs(X) if get_tags(kind()).input_tags.positive_only else X
    fitted = kind().fit(X, y)
    save(tmp_path / "m.skops", fitted)
    loaded = load(tmp_path / "m.skops")
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    assert loaded.classes_.tolist() == ["a", "b", "c"]
    for attribute in ("label_distributions_", "transduction_"):
        if hasattr(fitted, attribute):
            np.testing.assert_array_equal(getattr(loaded, attribute), getattr(fitted, attribute))
    if hasattr(kind, "partial_fit"):
        np.testing.assert_array_equal(loaded.partial_fit(X, y).coef_, fitted.partial_fit(X, y).coef_)


def test_the_training_rows_are_not_in_the_file(rows: Any, tmp_path: Path) -> None:
    """A linear model refers to the rows of fit, but its file has no array of that size."""
    X, y = rows
    save(tmp_path / "m.skops", MaxPegasos().fit(X, y))
    with zipfile.ZipFile(tmp_path / "m.skops") as archive:
        arrays = [np.load(io.BytesIO(archive.read(n))) for n in archive.namelist() if n.endswith(".npy")]
        assert "_fitted_on" not in archive.read("schema.json").decode()
    assert arrays
    assert max(array.size for array in arrays) < X.size
    with pytest.raises(oneof.errors.InputError, match="not available"):
        load(tmp_path / "m.skops").disambiguate()


def test_a_changed_byte_is_an_error_or_has_no_effect(model_file: Path, rows: Any) -> None:
    """Checksums cover every member: a file with one changed byte is an error, or gives the same model."""
    X, _ = rows
    good = load(model_file).pipeline.decision_function(X)
    data = model_file.read_bytes()
    n_errors = 0
    for index in range(0, len(data), 37):
        model_file.write_bytes(data[:index] + bytes([data[index] ^ 0x55]) + data[index + 1 :])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                again = load(model_file)
        except ModelFileError:
            n_errors += 1
        else:
            np.testing.assert_array_equal(again.pipeline.decision_function(X), good)
    assert n_errors > 0.5 * len(range(0, len(data), 37))


@pytest.mark.parametrize("name", ["m.pkl", "m.PKL", "m.pickle", "m.joblib", "m.pkl.gz", "v1.2.joblib.z"])
def test_the_suffix_of_a_pickle_is_refused(tmp_path: Path, name: str) -> None:
    """No file is written whose name promises a pickle; a file of another name can be loaded by any name."""
    model = CLPL().fit([[0.0], [1.0]], ["finch", "wren"])
    with pytest.raises(InputError, match=rf"^the name {re.escape(name)} is that of a pickle, .* end in \.skops"):
        save(tmp_path / name, model)
    assert not list(tmp_path.iterdir())
    for other in ("m", "m.pkl.skops", "v1.2", "m.zip"):
        save(tmp_path / other, model)
    (tmp_path / "m.zip").rename(tmp_path / name)
    assert load(tmp_path / name).predict([[2.0]]).tolist() == ["wren"]


def test_models_that_cannot_be_loaded_are_not_saved(tmp_path: Path, rows: Any) -> None:
    """Functions are not trusted, so a pipeline with one is an error, and no file is written."""
    y = [s[0] for s in rows[1]]
    for first, X, message in (
        (FunctionTransformer(_double), rows[0], "_double"),
        (TfidfVectorizer(tokenizer=str.split, token_pattern=None), y, "cannot be saved"),
    ):
        with pytest.raises(InputTypeError, match=message):
            save(tmp_path / "m.skops", make_pipeline(first, LogisticRegression()).fit(X, y))
    with pytest.raises(InputTypeError, match="must be a fitted estimator"):
        save(tmp_path / "m.skops", {"a": 1})
    with pytest.raises(InputTypeError, match="LogisticRegression is not fitted"):
        save(tmp_path / "m.skops", LogisticRegression())
    assert list(tmp_path.iterdir()) == []


def test_models_of_annotators_name_the_classifier_to_save(tmp_path: Path) -> None:
    """The answers are not saved; the classifier is, and predicts the same labels."""
    X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]]
    answers = [["a", "a"], ["a", None], ["a", "b"], [None, "a"], ["b", "b"], ["b", "a"], ["b", None], ["b", "b"]]
    model = CrowdClassifier(random_state=0).fit(X, answers)
    with pytest.raises(InputTypeError, match=r"CrowdClassifier cannot be saved.*`model.estimator_`"):
        save(tmp_path / "m.skops", model)
    with pytest.raises(InputTypeError, match=r"AnnotatorModel cannot be saved.*`posterior_`"):
        save(tmp_path / "m.skops", model.annotator_model_)
    assert list(tmp_path.iterdir()) == []
    save(tmp_path / "m.skops", model.estimator_)
    assert load(tmp_path / "m.skops").predict(X).tolist() == model.predict(X).tolist()


def _double(X: Any) -> Any:
    return 2 * X


def test_another_version_of_scikit_learn_is_a_warning(
    tmp_path: Path, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model loads, with a warning that names both versions."""
    real = persistence.version
    with monkeypatch.context() as patch:
        patch.setattr(persistence, "version", lambda name: "1.5.0" if name == "scikit-learn" else real(name))
        save(tmp_path / "m.skops", AvgPerceptron().fit(*rows))
    with pytest.warns(UserWarning, match=r"written with scikit-learn 1\.5\.0, and"):
        load(tmp_path / "m.skops")


@pytest.mark.parametrize(
    "method", ["sigmoid", "isotonic", *["temperature"] * hasattr(calibration, "_TemperatureScaling")]
)
def test_calibrated_classifiers_are_saved(rows: Any, tmp_path: Path, method: str) -> None:
    """A model that scikit-learn has calibrated on checked rows has the same probabilities after saving and loading."""
    X, labels = rows[0], np.where(rows[0][:, 0] > 0, "a", "c")
    model = CalibratedClassifierCV(FrozenEstimator(oneof.PLEM().fit(X, labels)), method=method).fit(X, labels)
    save(tmp_path / "model.skops", model)
    np.testing.assert_array_equal(load(tmp_path / "model.skops").predict_proba(X), model.predict_proba(X))


# -- Vocabularies of text columns in model files ---------------------------------------------------------------------


TEXTS = ["an owl calls at night", "the wren calls", "an owl \u2603 again", 'a "quoted" finch\u2028sings']
LABELS = ["owl", "wren", "owl", "finch"]
TABLE = np.array([[text, text[::-1]] for text in TEXTS], dtype=object)


def make_model() -> Any:
    columns = [("one", TfidfVectorizer(max_features=6), 0), ("two", CountVectorizer(analyzer="char"), 1)]
    return make_pipeline(ColumnTransformer(columns), CLPL()).fit(TABLE, LABELS)


def vocabularies(model: Any) -> list[dict[str, int]]:
    return [fitted.vocabulary_ for _, fitted, _ in model[0].transformers_]


def test_a_loaded_vocabulary_is_the_saved_one(tmp_path: Path) -> None:
    """Terms, columns and predictions are equal, and saving leaves the model itself unchanged."""
    model = make_model()
    before = [dict(one) for one in vocabularies(model)]
    save(tmp_path / "m.skops", model)
    assert vocabularies(model) == before
    loaded = load(tmp_path / "m.skops")
    assert vocabularies(loaded) == before
    np.testing.assert_array_equal(loaded.decision_function(TABLE), model.decision_function(TABLE))
    save(tmp_path / "again.skops", loaded)
    assert vocabularies(load(tmp_path / "again.skops")) == before


def test_the_number_of_objects_does_not_grow_with_the_terms(tmp_path: Path) -> None:
    """A file has as many members and entries for 3,000 terms as for 3, since loading takes time for each of them."""
    sizes = []
    for n in (3, 3000):
        texts = [" ".join(f"term{i}" for i in range(n)), "another text"]
        save(tmp_path / "m.skops", make_pipeline(CountVectorizer(), CLPL()).fit(texts, ["a", "b"]))
        with zipfile.ZipFile(tmp_path / "m.skops") as archive:
            sizes.append((len(archive.namelist()), archive.read("schema.json").count(b"__loader__")))
    assert sizes[0] == sizes[1]


def test_files_with_dicts_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model whose vocabulary is stored as a dict is loaded unchanged."""
    model = make_model()
    with monkeypatch.context() as patch:
        patch.setattr(persistence, "with_compact_vocabularies", lambda estimator: estimator)
        save(tmp_path / "m.skops", model)
    assert vocabularies(load(tmp_path / "m.skops")) == vocabularies(model)


@pytest.mark.parametrize("text", ["{}", "[1]", '["a", "a"]', '["a"', "[" * 100_000])
def test_a_damaged_vocabulary_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A text that is not a list of different terms is an error that names the file."""
    fitted = make_pipeline(CountVectorizer(), CLPL()).fit(TEXTS, LABELS)
    fitted[0].vocabulary_ = text
    with monkeypatch.context() as patch:
        patch.setattr(persistence, "with_compact_vocabularies", lambda estimator: estimator)
        save(tmp_path / "m.skops", fitted)
    with pytest.raises(
        ModelFileError, match=rf"^{re.escape(str(tmp_path))}.* is damaged: a vocabulary .*Fit the model"
    ):
        load(tmp_path / "m.skops")


def test_other_vocabularies_are_unchanged() -> None:
    """A dict that is not from each term to a column from 0 is stored as it is, and shared objects remain shared."""
    for vocabulary in ({"a": 0, "b": 2}, {"a": 0, 3: 1}, {"a": "b"}):
        fitted = CountVectorizer().fit(["a text"])
        fitted.vocabulary_ = vocabulary
        assert with_compact_vocabularies(fitted) is fitted
    shared = CountVectorizer().fit(["a text"])
    first, second = with_compact_vocabularies([shared, shared])
    assert first is second
    assert first.vocabulary_ == '["text"]'
    names = DictVectorizer().fit([{"span": 1.0, "mass": 2.0}])
    before = dict(names.vocabulary_)
    copied = with_compact_vocabularies({"names": [names]})
    restore_vocabularies(copied)
    assert copied["names"][0].vocabulary_ == before


# -- Stored models: those of the present format load and predict the same, those of older formats are errors ---------


STORED = sorted(PRESENT.glob("*.skops"))


@pytest.mark.parametrize("path", STORED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_stored_model_has_the_same_predictions(path: Path) -> None:
    """Labels are equal, and scores are equal up to rounding; another version of scikit-learn causes only a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", re.escape(str(path)), UserWarning)
        model = load(path)
    expected, current = json.loads((path.parent / "predictions.json").read_text())[path.stem], predictions(model)
    assert current["labels"] == expected["labels"]
    np.testing.assert_allclose(current["scores"], expected["scores"], rtol=1e-6, atol=1e-7)


def test_every_estimator_is_stored() -> None:
    """The folder of the present format has every estimator; `python -m tests.fixtures.write_models` writes it."""
    known = {path.stem for path in STORED}
    public = [getattr(oneof, name) for name in oneof._LAZY_NAMES]
    assert {value.__name__ for value in public if hasattr(value, "fit")} <= known
    assert sum(path.stat().st_size for path in STORED) < 40_000 * len(STORED)


def test_models_of_other_formats_are_errors(tmp_path: Path, rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence names the file, the number of its format and the remedy, for any types in the file."""
    older = sorted(path for path in FOLDER.glob("*/*.skops") if path.parent != PRESENT)
    assert older
    newer = tmp_path / f"format-{FORMAT_VERSION + 1}" / "model.skops"
    newer.parent.mkdir()
    monkeypatch.setattr(persistence, "FORMAT_VERSION", FORMAT_VERSION + 1)
    save(newer, AvgPerceptron().fit(*rows))
    monkeypatch.undo()
    for path in (*older, newer):
        number = path.parent.name.removeprefix("format-")
        message = f"^{re.escape(str(path))} has format {number}, .* reads the format {FORMAT_VERSION}[.] "
        with pytest.raises(ModelFileError, match=message + ("Fit the model again" if path in older else "")):
            load(path)
