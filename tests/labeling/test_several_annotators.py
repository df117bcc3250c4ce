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
    """The response has the rows and numbers only; the lead has the answers, all rows, and the statistics."""
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
    assert annotator["statistics"] is None
    statistics = lead["statistics"]
    assert statistics["alpha"] == agreement.alpha
    assert statistics["alpha_interval"] == list(agreement.alpha_interval)
    assert statistics["annotators"] == [one._asdict() for one in agreement.annotators]
    assert statistics["pairs"]["names"] == ["Ann", "Bob", "Cem"]
    for name in ("n_shared", "n_equal", "n_compatible"):
        assert np.array_equal(statistics["pairs"][name], getattr(agreement.pairs, name))
    assert statistics["confused"] == [one._asdict() for one in agreement.pairs.confused]


def test_no_endpoint_gives_annotators_the_statistics_of_others() -> None:
    """No response at the link of the annotators has the name of another annotator or an accuracy; the lead has both."""
    with begin(gold=GOLD, combination="model") as session:
        for row in range(24):
            label = CLASSES[row % 3]
            answer(session, row, Ann=label, Bob_Secret=label, Cem_Secret="owl")
        with serving(session) as server:
            texts = {}
            for link in (server.link, server.lead_link):
                client, identity = Client(link), {"annotator": "Ann", "window": "w"}
                asked = client.post("api/ask", identity)
                replies = [asked, client.answer(asked.json()["question"], "one of", [0])]
                replies += [
                    client.post("api/open", identity | {"row": 1, "purpose": purpose})
                    for purpose in ("free", "review", "informed review")
                ]
                replies += [client.post("api/undo", identity | {"key": link[-8:]}), client.get("api/session")]
                agreement = client.post("api/agreement", {"annotator": "Ann"})
                replies += [agreement]
                assert {reply.status for reply in replies} == {200}
                exports = {
                    client.get(f"api/export.{suffix}{query}").status
                    for suffix in ("csv", "parquet")
                    for query in ("", "?combination=votes", "?combination=model")
                }
                assert exports == ({200} if link == server.lead_link else {403})
                texts[link] = b"".join(reply.body for reply in replies)
                assert [one["name"] for one in agreement.json()["progress"]] == (
                    ["Ann", "Bob_Secret", "Cem_Secret"] if link == server.lead_link else ["Ann"]
                )
            for secret in (b"_Secret", b"accuracy", b"n_equal", b"n_correct"):
                assert secret not in texts[server.link]
                assert secret in texts[server.lead_link]


def test_a_session_of_one_annotator_is_exported_at_both_links() -> None:
    """The link of the annotators exports the table until a second annotator has answered, or if there are gold rows."""
    with begin() as session, serving(session) as server:
        client = Client(server.link)
        answer(session, 0, Ann="owl")
        identity = {"annotator": "Ann", "window": "w"}
        assert client.post("api/ask", identity).json()["state"]["can_export"]
        assert client.get("api/export.csv").status == 200
        answer(session, 1, Bob="owl")
        assert not client.post("api/ask", identity).json()["state"]["can_export"]
        reply = client.get("api/export.csv")
        assert (reply.status, reply.body[:27]) == (403, b"Only the link of the lead e")
        assert Client(server.lead_link).get("api/export.csv").status == 200
    with begin(gold=GOLD) as session, serving(session) as server:
        assert Client(server.link).get("api/export.csv").status == 403
        assert Client(server.lead_link).get("api/export.csv").status == 200


def test_the_answers_of_others_are_sent_only_if_asked_for() -> None:
    """A review has no answers of others; an informed review has them, named for the lead only, and is logged."""
    with begin() as session:
        answer(session, 3, Ann="finch", Bob="owl", Cem=["owl", "wren"])
        with serving(session) as server:
            client = Client(server.link)
            opened = {"annotator": "Ann", "window": "w", "row": 3}
            for purpose in ("free", "review"):
                question = client.post("api/open", opened | {"purpose": purpose}).json()["question"]
                assert (question["purpose"], question["others"]) == (purpose, [])
            question = client.post("api/open", opened | {"purpose": "informed review"}).json()["question"]
            answers = [{"kind": "one of", "labels": labels, "degree": None} for labels in ([1], [1, 2])]
            assert question["others"] == [{"annotator": None} | one for one in answers]
            named = Client(server.lead_link).post("api/open", opened | {"purpose": "informed review"}).json()
            assert named["question"]["others"] == [
                {"annotator": name} | one for name, one in zip(("Bob", "Cem"), answers, strict=True)
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
    assert [(one["name"], one["n_answers"], one["gold"]) for one in annotator] == [("Ann", 10, None)]
    assert [one["gold"]["n_rows"] for one in lead] == [5, 5]
    assert [one["gold"]["rate"] for one in lead] == [1.0, 1.0]
