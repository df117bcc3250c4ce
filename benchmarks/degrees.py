"""Degrees of certainty in a labeling session: the gain in accuracy, and the estimated reliabilities."""

from dataclasses import replace

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from benchmarks.active_labeling import load_rows
from oneof.labeling import LabelingSession
from oneof.labeling.answers.degrees import PRIOR_MEANS, fit_degrees
from oneof.labeling.answers.log import DEGREES

POINTS = (100, 200, 400)
"""Numbers of answers."""
ARMS = ("without degrees", "prior means", "learned", "learned, no predictions", "learned, 30 known labels", "true")
RELIABILITY = {
    ("Ann", "sure"): 0.95,
    ("Ann", "probably"): 0.75,
    ("Ann", "guess"): 0.3,
    ("Bob", "sure"): 0.8,
    ("Bob", "probably"): 0.4,
    ("Bob", "guess"): 0.05,
}
"""q: Ann is as certain as she says, Bob overstates."""
SHARE_TWICE = 0.2
"""Share of the rows that both annotators answer."""


def draw_answers(X, y, rng):
    """Return the degree and the label of each row's answer by annotator: errors are those of logistic regression.

    Rows are sorted by the cross-validated probability of the true class, with noise. The easiest half has "sure", the
    next 30 % "probably". A wrong label is drawn in proportion to the probabilities, as people confuse similar classes.
    """
    proba = cross_val_predict(LogisticRegression(max_iter=500), X, y, cv=3, method="predict_proba")
    margin = np.log(proba[np.arange(len(y)), y])
    answers = {}
    for name in ("Ann", "Bob"):
        rank = np.argsort(np.argsort(-margin - rng.normal(size=len(y)) * margin.std())) / len(y)
        degree = np.digitize(rank, [0.5, 0.8])
        for row in range(len(y)):
            stated = DEGREES[degree[row]]
            other = proba[row] ** 0.5  # flatter, so that the model does not make the same errors always
            other[y[row]] = 0
            q = RELIABILITY[name, stated]
            right = rng.random() < q + (1 - q) / len(other)
            answers[name, row] = stated, int(y[row] if right else rng.choice(len(other), p=other / other.sum()))
    return answers


def degrees(draws=5):
    """Print the accuracy on held-out digits with degrees ignored, with their prior means, and learned.

    Two annotators answer rows drawn at random in a session, a fifth of them both. Every fifth row is a check, whose
    prediction is stored. The last arms have no predictions, 30 rows with known labels, and the true reliabilities. All
    arms fit the default model of the session to the same answers.
    """
    accuracy = np.zeros((draws, len(ARMS), len(POINTS)))
    errors = {arm: [] for arm in ARMS[1:5]}
    covered = {arm: [] for arm in ARMS[2:5]}
    for seed in range(draws):
        X, y, X_test, y_test = load_rows("digits", seed)
        rng = np.random.default_rng(seed)
        said = draw_answers(X, y, rng)
        options = {"strategy": "random", "refit_every": 20, "prefetch": 20, "random_state": seed}
        with LabelingSession(X, classes=np.arange(10), **options) as session:
            n = 0
            while n < POINTS[-1]:
                name = "AnnBob"[3 * rng.integers(2) :][:3]
                question = session.ask(name)
                names = (name, *({"Ann", "Bob"} - {name} if rng.random() < SHARE_TWICE else ()))
                for one in names:
                    degree, label = said[one, question.row]
                    asked = question if one == name else session.question_for(question.row, one)
                    session.answer(asked, label, degree=degree)
                    n += 1
                    if n in POINTS:
                        fits = fits_of(session, y, rng)
                        for arm, candidates in enumerate(candidates_of(session, fits)):
                            model = session._learner.prepare().fit(X, candidates)
                            accuracy[seed, arm, POINTS.index(n)] = (model.predict(X_test) == y_test).mean()
            for arm, fit in fits.items():
                for one in fit.reliabilities:
                    if one.annotator is not None:
                        q = RELIABILITY[one.annotator, one.degree]
                        prior = PRIOR_MEANS[one.degree]
                        errors[arm].append((prior if arm == "prior means" else one.reliability) - q)
                        if arm in covered:
                            covered[arm].append(one.low <= q <= one.high)
        print(f"draw {seed}: {np.round(100 * accuracy[seed, :, -1], 1).tolist()}", flush=True)
    print(f"accuracy in percent after {', '.join(map(str, POINTS))} answers, {draws} draws")
    for arm, values in zip(ARMS, 100 * accuracy.swapaxes(0, 1)):
        spread = values.std(axis=0, ddof=1) if draws > 1 else np.zeros(len(POINTS))
        print(f"| {arm} | " + " | ".join(f"{m:.1f} ± {s:.1f}" for m, s in zip(values.mean(axis=0), spread)) + " |")
    for arm, values in errors.items():
        words = f"; in the interval {np.mean(covered[arm]):.2f}" if arm in covered else ""
        print(f"reliability, {arm}: mean error {np.mean(values):+.3f}, absolute {np.mean(np.abs(values)):.3f}{words}")


def fits_of(session, y, rng):
    """Return the estimated reliabilities of the arms."""
    answered = session.answers.current_answers()
    learned = session._combined.current()
    known = {int(row): int(y[row]) for row in rng.choice(list(answered), 30, replace=False)}
    alone = fit_degrees(answered, 10)
    named = fit_degrees(answered, 10, known=known)
    pairs = [(name, entry.degree) for _, said in sorted(answered.items()) for name, entry in said.items()]
    prior = replace(alone, reliability=np.array([PRIOR_MEANS[degree] for _, degree in pairs]))
    return dict(zip(ARMS[1:5], (prior, learned, alone, named)))


def candidates_of(session, fits):
    """Yield the candidate sets of all arms."""
    votes = session.answers.candidates()
    yield votes
    for fit in fits.values():
        yield fit.weigh(votes, all_rows=False)
    answered = session.answers.current_answers()
    pairs = [(name, entry.degree) for _, said in sorted(answered.items()) for name, entry in said.items()]
    true = replace(fit, reliability=np.array([RELIABILITY[pair] for pair in pairs]))
    yield true.weigh(votes, all_rows=False)
