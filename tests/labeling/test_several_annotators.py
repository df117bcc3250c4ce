"""Agreement, reviews, gold rows and progress over HTTP, for annotators and for the lead."""

from typing import Any

import numpy as np

from oneof.labeling.session import LabelingSession
from tests.labeling.conftest import CLASSES, make_rows
from tests.labeling.serving import Client, serving
from tests.labeling.test_agreement import answer

ROWS, TRUTH = make_rows(80)
GOLD = {row: CLASSES[TRUTH[row]] for row in range(20)}


def begin(**options: Any) -> LabelingSession:
    settings = {"classes": CLASSES, "strategy": "random", "random_state": 0}
    return LabelingSession(ROWS, **(settings | options))


def test_annotators_do_not_see_the_answers_in_dispute() -> None:
    """The response has the rows and numbers only; the lead has the answers, and all rows."""
    with begin() as session:
        for row in range(12):
            answer(session, row, Ann=CLASSES[row % 3], Bob=CLASSES[row % 3], Cem="owl")
        with serving(session) as server:
            annotator, lead = (
                Client(link).post("api/agreement", {"annotator": "Ann"}).json()
                for link in (server.link, server.lead_link)
            )
            assert [Client(link).get("api/session").json()["is_lead"] for link in (server.link, server.lead_link)] == [
                False,
                True,
            ]
        agreement = session.agreement()
    assert [one["row"] for one in annotator["conflicts"]] == [one["row"] for one in lead["conflicts"]]
    assert all(one["answers"] == [] and one["label"] is None for one in annotator["conflicts"])
    assert all(len(one["answers"]) == one["n_answers"] == 3 for one in lead["conflicts"])
    for response in (annotator, lead):
        assert response["alpha"] == agreement.alpha
        assert response["alpha_interval"] == list(agreement.alpha_interval)
        assert response["pairs"]["names"] == ["Ann", "Bob", "Cem"]
        for name in ("n_shared", "n_equal", "n_compatible"):
            assert np.array_equal(response["pairs"][name], getattr(agreement.pairs, name))
        assert response["confused"] == [one._asdict() for one in agreement.pairs.confused]


def test_the_answers_of_others_are_sent_only_if_asked_for() -> None:
    """A review has no answers of others; an informed review has them, and is logged."""
    with begin() as session:
        answer(session, 3, Ann="finch", Bob="owl", Cem=["owl", "wren"])
        with serving(session) as server:
            client = Client(server.link)
            opened = {"annotator": "Ann", "window": "w", "row": 3}
            for purpose in ("free", "review"):
                question = client.post("api/open", opened | {"purpose": purpose}).json()["question"]
                assert (question["purpose"], question["others"]) == (purpose, [])
            question = client.post("api/open", opened | {"purpose": "informed review"}).json()["question"]
            assert question["others"] == [
                {"annotator": "Bob", "kind": "one of", "labels": [1], "degree": None},
                {"annotator": "Cem", "kind": "one of", "labels": [1, 2], "degree": None},
            ]
            assert client.answer(question, "one of", [1]).status == 200
            for purpose in ("gold", "query", None, ["review"], 3):
                assert client.post("api/open", opened | {"purpose": purpose}).status == 400
        assert session.answers.log()[-1].purpose == "informed review"


def test_a_gold_question_is_like_any_other() -> None:
    """It has the same fields and the purpose of a query; the number of remaining rows decreases with it."""
    with begin(gold=GOLD, gold_interval=3) as session, serving(session) as server:
        client = Client(server.link)
        questions, remaining, is_gold = [], [], []
        response = client.post("api/ask", {"annotator": "Ann", "window": "w"}).json()
        for _ in range(24):
            questions.append(response["question"])
            remaining.append(response["state"]["n_remaining"])
            is_gold.append(session.get_question(response["question"]["id"]).purpose == "gold")
            response = client.answer(response["question"], "one of", [0]).json()
        assert sum(is_gold) == 8
        assert {question["purpose"] for question in questions} <= {"query", "check"}
        assert {frozenset(question) for question in questions} == {frozenset(questions[0])}
        assert all(question["purpose"] == "query" for question, gold in zip(questions, is_gold, strict=True) if gold)
        assert all(question["candidates"] is None for question in questions)
        assert remaining == list(range(80, 56, -1))


def test_only_the_lead_sees_the_accuracy_on_gold_rows() -> None:
    with begin(gold=GOLD, gold_interval=2) as session:
        for name in ("Ann", "Bob"):
            for _ in range(10):
                question = session.ask(name)
                session.answer(question, CLASSES[TRUTH[question.row]])
        with serving(session) as server:
            annotator, lead = (
                Client(link).post("api/agreement", {"annotator": "Ann"}).json()["progress"]
                for link in (server.link, server.lead_link)
            )
    assert [one["gold"] for one in annotator] == [None, None]
    assert [(one["name"], one["n_answers"]) for one in annotator] == [("Ann", 10), ("Bob", 10)]
    assert [one["gold"]["n_rows"] for one in lead] == [5, 5]
    assert [one["gold"]["rate"] for one in lead] == [1.0, 1.0]
