"""Gold rows among the questions, and the progress of the annotators."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.crowd import AnnotatorModel
from oneof.labeling.annotators import answer_rate, measure_progress
from oneof.labeling.answers.log import Entry
from oneof.labeling.answers.state import AnswerState
from oneof.labeling.content.table import LabelTable
from oneof.labeling.quality import wilson
from oneof.labeling.session import LabelingSession
from tests.labeling.conftest import CLASSES, make_rows
from tests.labeling.serving import Client, serving
from tests.labeling.test_agreement import answer

ROWS, TRUTH = make_rows(300)
GOLD = {row: CLASSES[TRUTH[row]] for row in range(30)}


def begin(**options: Any) -> LabelingSession:
    settings = {"classes": CLASSES, "strategy": "random", "refit_every": 50, "gold": GOLD, "random_state": 0}
    return LabelingSession(ROWS, **(settings | options))


def answer_all(session: LabelingSession, name: str, n: int, *, error: bool = False) -> list[Any]:
    """Answer questions correctly, or with a wrong label."""
    questions = []
    for _ in range(n):
        question = session.ask(name)
        session.answer(question, CLASSES[(TRUTH[question.row] + error) % 3])
        questions.append(question)
    return questions


def test_one_question_of_each_interval_is_a_gold_row() -> None:
    """Exactly one of each 20 questions is a gold row, at positions and in an order that differ between annotators."""
    with begin(annotations_per_item=2) as session:
        positions, orders = {}, {}
        for name in ("Ann", "Bob"):
            questions = answer_all(session, name, 200)
            is_gold = np.array([question.purpose == "gold" for question in questions])
            assert is_gold.reshape(10, 20).sum(axis=1).tolist() == [1] * 10
            assert {question.row for question in questions if question.row in GOLD} == {
                question.row for question, gold in zip(questions, is_gold, strict=True) if gold
            }
            positions[name] = np.flatnonzero(is_gold).tolist()
            orders[name] = [questions[i].row for i in positions[name]]
            assert len(set(orders[name])) == 10
        assert positions["Ann"] != positions["Bob"]
        assert orders["Ann"] != orders["Bob"]
        assert len({position % 20 for position in positions["Ann"]}) > 1


def test_a_gold_row_is_asked_once_of_an_annotator_and_then_no_more() -> None:
    """If all gold rows are answered, or are open elsewhere, the question is another row."""
    with begin(gold={5: GOLD[5]}, gold_interval=2) as session:
        rows = [question.row for question in answer_all(session, "Ann", 20)]
        assert rows.count(5) == 1
    with begin(gold={5: GOLD[5]}, gold_interval=1) as session:
        assert session.ask("Ann").row == 5
        assert session.ask("Bob").row != 5


def test_gold_rows_keep_their_known_labels(tmp_path: Path) -> None:
    """Wrong answers to gold rows change neither the sets, nor the weights, nor an export, and are not trained on."""
    table = LabelTable(pl.DataFrame({"x": ROWS[:, 0]}), "kind")
    with begin(gold_interval=2, table=table) as session:
        answer_all(session, "Ann", 60, error=True)
        answer_all(session, "Bob", 60, error=True)
        for combination in ("votes", "model"):
            candidates = session.candidates(combination)
            assert [candidates.to_sets()[row] for row in GOLD] == [{label} for label in GOLD.values()]
            path = session.export(tmp_path / f"{combination}.parquet", combination=combination)
            assert pl.read_parquet(path)["kind"].explode().to_list()[:30] == list(GOLD.values())
        assert session._training_input().candidates.is_unlabeled[:30].all()
        assert session.agreement().n_conflicts == 0
        assert not set(session._training_input().remaining) & set(GOLD)
        assert session.n_remaining() == 270 - sum(entry.row not in GOLD for entry in session.answers.log())


def test_known_labels_of_the_table_are_not_shown() -> None:
    """A gold row with an exact label in the table is asked without it; a partial set is shown as in the table."""
    start = [{label} for label in GOLD.values()] + [set(CLASSES[:2])] * 270
    with begin(y=start, gold=GOLD | {40: "owl"}) as session:
        assert session.answers.start[:30].all()
        assert session.answers.start[40].tolist() == [True, True, False]
        assert session.candidates().is_exact[:30].all()


def test_the_accuracy_on_gold_rows() -> None:
    """It counts first answers that contain the known label, with Wilson's interval."""
    with begin(gold_interval=1) as session:
        for i in range(20):
            question = session.ask("Ann")
            truth = CLASSES[TRUTH[question.row]]
            labels = [truth] if i < 12 else [truth, CLASSES[(TRUTH[question.row] + 1) % 3]]
            if i >= 15:
                labels = [CLASSES[(TRUTH[question.row] + 1) % 3]]
            if i == 19:
                session.dont_know(question)
            else:
                session.answer(question, labels)
        wrong = session.answers.log()[16].row
        session.answer(session.question_for(wrong, "Ann", purpose="informed review"), GOLD[wrong])
        [ann] = session.progress()
        assert (ann.gold.n_rows, ann.gold.n_correct) == (19, 15)
        assert (ann.gold.low, ann.gold.high) == wilson(15, 19)
        assert ann.gold.rate == 15 / 19
        assert (ann.n_answers, ann.n_sets, ann.n_unknown, ann.n_skipped) == (20, 3, 1, 0)


def test_known_labels_determine_the_accuracies() -> None:
    """The model of the annotators has the known labels, also of one annotator alone."""
    with begin(gold_interval=1) as session:
        answer_all(session, "Ann", 20)
        answer_all(session, "Bob", 20, error=True)
        estimates = {one.name: one for one in session.agreement().annotators}
        model = AnnotatorModel().fit(session.annotator_answers(), GOLD)
        for j, name in enumerate(model.annotators_):
            assert estimates[name].accuracy == pytest.approx(model.accuracy_[j], abs=1e-6)
        assert estimates["Ann"].accuracy > 0.8
        assert estimates["Bob"].accuracy < 0.2
    with begin(gold_interval=1) as session:
        answer_all(session, "Ann", 10)
        assert session.agreement().annotators[0].accuracy > 0.8


def test_a_gold_row_looks_like_any_other_row() -> None:
    """A question about a gold row has a prediction of a model that is fitted without it, also in the second answer."""
    with begin(gold_interval=5) as session:
        answer_all(session, "Ann", 100)
        answer_all(session, "Bob", 100)
        for name in ("Bob", "Cem"):
            questions = []
            while not questions or questions[-1].purpose != "gold":
                questions += answer_all(session, name, 1)
            assert all(question.proba is not None for question in questions)
            assert questions[-1].score is questions[0].score is None
        rates = [session.snapshot.proba[row, TRUTH[row]] for row in GOLD]
        assert np.mean(rates) < 1 - 1e-6


def test_the_progress_of_each_annotator() -> None:
    """Numbers of answers, sets and skips are those of the entries that stand; the rate is that of the last hour."""
    entries = [
        ("Ann", 0, "one of", (0,), 0.0, "query"),
        ("Ann", 1, "one of", (0, 1), 7200.0, "query"),
        ("Ann", 2, "unknown", (), 7300.0, "query"),
        ("Ann", 3, "skip", (), 7400.0, "query"),
        ("Ann", 4, "one of", (1,), 7500.0, "query"),
        ("Bob", 5, "one of", (1,), 7000.0, "import"),
        ("Cem", 6, "skip", (), 7100.0, "query"),
    ]
    state = AnswerState()
    for number, (name, row, kind, labels, at, purpose) in enumerate(entries, 1):
        state.add(Entry(str(number), name, row, kind, labels, purpose=purpose, at=at, number=number))
    state.add(Entry("undo", "Ann", 4, "undo", undoes=5, at=7600.0, number=8))
    ann, bob, cem = measure_progress(state, {}, 3, now=9000.0)
    assert (ann.name, ann.n_answers, ann.n_sets, ann.n_unknown, ann.n_skipped) == ("Ann", 3, 1, 1, 1)
    assert ann.rate == pytest.approx(2 / 1800 * 3600)
    assert ann.seconds_since_last == 1700.0
    assert (bob.n_answers, bob.rate, bob.seconds_since_last) == (1, None, None)
    assert (cem.n_answers, cem.n_skipped, cem.rate) == (0, 1, None)
    assert (ann.gold.n_rows, ann.gold.rate, ann.gold.low, ann.gold.high) == (0, None, 0.0, 1.0)


def test_a_rate_needs_two_answers_and_a_minute() -> None:
    assert answer_rate([0.0], now=100.0) is None
    assert answer_rate([0.0, 30.0], now=59.0) is None
    assert answer_rate([0.0, 30.0], now=60.0) == 120.0


# -- Agreement, reviews, gold rows and progress over HTTP, for annotators and for the lead ---------------------------


CROWD_ROWS, CROWD_TRUTH = make_rows(80)
CROWD_GOLD = {row: CLASSES[CROWD_TRUTH[row]] for row in range(20)}


def begin_crowd(**options: Any) -> LabelingSession:
    settings = {"classes": CLASSES, "strategy": "random", "random_state": 0}
    return LabelingSession(CROWD_ROWS, **(settings | options))


def test_no_endpoint_gives_annotators_the_answers_and_statistics_of_others() -> None:
    """No response at the link of the annotators has the name or an answer of another, or an accuracy; the lead's have.

    Rows in dispute are the same for both.
    """
    with begin_crowd(gold=CROWD_GOLD, combination="model") as session:
        for row in range(24):
            label = CLASSES[row % 3]
            answer(session, row, Ann=label, Bob_Secret=label, Cem_Secret="owl")
        with serving(session) as server:
            texts, found = {}, {}
            for link in (server.link, server.lead_link):
                client, identity = Client(link), {"annotator": "Ann", "window": "w"}
                asked = client.post("api/ask", identity)
                replies = [asked, client.answer(asked.json()["question"], "one of", [0])]
                replies += [
                    client.post("api/open", identity | {"row": 1, "purpose": purpose})
                    for purpose in ("free", "review", "informed review")
                ]
                replies += [client.post("api/undo", identity | {"key": link[-8:]}), client.get("api/session")]
                replies += [client.post("api/agreement", {"annotator": "Ann"})]
                assert {reply.status for reply in replies} == {200}
                texts[link], found[link] = b"".join(reply.body for reply in replies), replies[-1].json()
                exports = {
                    client.get(f"api/export.{suffix}{query}").status
                    for suffix in ("csv", "parquet")
                    for query in ("", "?combination=votes", "?combination=model")
                }
                is_lead = replies[-2].json()["is_lead"]
                assert is_lead == (link == server.lead_link)
                assert exports == ({200} if is_lead else {403})
                rates = {one["name"]: one["gold"] and one["gold"]["rate"] for one in found[link]["progress"]}
                assert rates == ({one.name: one.gold.rate for one in session.progress()} if is_lead else {"Ann": None})
            for secret in (b"_Secret", b"accuracy", b"n_equal", b"n_correct"):
                assert secret not in texts[server.link]
                assert secret in texts[server.lead_link]
        agreement = session.agreement()
    annotator, lead = found.values()
    assert [one["row"] for one in annotator["conflicts"]] == [one["row"] for one in lead["conflicts"]] != []
    assert all(one["answers"] == [] and one["label"] is None for one in annotator["conflicts"])
    assert all(len(one["answers"]) == one["n_answers"] == 3 for one in lead["conflicts"])
    assert annotator["statistics"] is None
    statistics = lead["statistics"]
    assert (statistics["alpha"], statistics["alpha_interval"]) == (agreement.alpha, list(agreement.alpha_interval))
    assert statistics["annotators"] == [one._asdict() for one in agreement.annotators]
    assert statistics["pairs"]["names"] == ["Ann", "Bob_Secret", "Cem_Secret"]
    for name in ("n_shared", "n_equal", "n_compatible"):
        assert np.array_equal(statistics["pairs"][name], getattr(agreement.pairs, name))
    assert statistics["confused"] == [one._asdict() for one in agreement.pairs.confused]


def test_a_session_of_one_annotator_is_exported_at_both_links() -> None:
    """The link of the annotators exports the table until a second annotator has answered, or if there are gold rows."""
    with begin_crowd() as session, serving(session) as server:
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
    with begin_crowd(gold=CROWD_GOLD) as session, serving(session) as server:
        assert Client(server.link).get("api/export.csv").status == 403
        assert Client(server.lead_link).get("api/export.csv").status == 200


def test_the_answers_of_others_are_sent_only_if_asked_for() -> None:
    """A review has no answers of others; an informed review has them, named for the lead only, and is logged."""
    with begin_crowd() as session:
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
    with (
        begin_crowd(gold=CROWD_GOLD, gold_interval=3) as session,
        serving(session) as server,
    ):
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
