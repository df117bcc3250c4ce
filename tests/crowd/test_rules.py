"""Rules vote for labels or sets, and their votes have rates instead of confusion matrices."""

import pandas as pd
import pytest

from oneof.crowd import apply_rules
from oneof.errors import InputError, InputTypeError


def votes_spam(text):
    return "spam" if "free" in text else None


def votes_two(text):
    return {"ham", "question"} if len(text) < 8 else None


TEXTS = ["free money now", "lunch?", "free one", "hello you all"]


def test_votes_are_answers_of_annotators_who_select_rows():
    answers = apply_rules([votes_spam, votes_two], TEXTS)
    assert answers.annotators.tolist() == ["votes_spam", "votes_two"]
    assert answers.select_rows
    assert len(answers) == 4
    assert answers.n_answers == 3
    frame = pd.DataFrame({"text": TEXTS})
    assert apply_rules({"a": lambda row: votes_spam(row["text"])}, frame, classes=["ham", "spam"]).n_answers == 2


def test_repeated_names_are_numbered_and_rules_without_votes_are_omitted():
    with pytest.warns(UserWarning, match="annotators without informative answers are omitted: '<lambda>'"):
        answers = apply_rules([votes_spam, votes_spam, lambda _: None], TEXTS, classes=["ham", "spam"])
    assert answers.annotators.tolist() == ["votes_spam", "votes_spam_2"]


def test_invalid_rules_are_errors():
    def broken(row):
        return row["missing"]

    with pytest.raises(InputError, match="row 0: rule 'broken' raised TypeError"):
        apply_rules([broken], TEXTS)
    with pytest.raises(InputError, match="no rule votes on any row"):
        apply_rules([lambda _: None], TEXTS)
    with pytest.raises(InputError, match="at least one rule"):
        apply_rules([], TEXTS)
    with pytest.raises(InputTypeError, match="must be functions of a row"):
        apply_rules(["spam"], TEXTS)
