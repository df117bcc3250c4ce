"""Vocabularies of text columns in model files."""

import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

from oneof import CLPL, persistence
from oneof.errors import ModelFileError
from oneof.persistence import load, save
from oneof.persistence.vocabularies import restore_vocabularies, with_compact_vocabularies

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
