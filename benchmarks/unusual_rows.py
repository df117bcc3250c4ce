"""Rows unlike those of training: false alarms on random splits, and texts in other languages that are found."""

import os
from pathlib import Path

import numpy as np
import polars as pl

import oneof
from oneof.archives import unpack_texts
from oneof.io import Column, make_encoder
from oneof.io.notes.unusual_rows import describe_rows, find_unusual_rows

TEXTS = ("lf_trec", "lf_youtube", "lf_chemprot", "news20_raw")
SIZES = (60, 300, 1500)
N_NEW = 500
NORMS = ("dermatology", "birdsong", "segment", "wdbc")
FOREIGN = {
    "German": (
        "Das Wetter war gestern so schlecht, dass wir den ganzen Tag zu Hause geblieben sind.",
        "Wer hat das Telefon erfunden?",
        "Bitte abonniert meinen neuen Kanal, danke!",
        "Die Ergebnisse der Untersuchung zeigen, dass das Medikament die Schmerzen in wenigen Stunden lindert.",
        "In welcher Stadt steht der Kölner Dom?",
        "Ich finde dieses Lied einfach wunderschön und höre es jeden Morgen.",
        "Der Zug nach Hamburg hat heute leider etwa zwanzig Minuten Verspätung.",
        "Wie viele Menschen leben in Österreich?",
    ),
    "French": (
        "Il a fait si mauvais hier que nous sommes restés toute la journée à la maison.",
        "Qui a inventé le téléphone ?",
        "Abonnez-vous à ma nouvelle chaîne, merci !",
        "Les résultats de l'étude montrent que le médicament soulage la douleur en quelques heures.",
        "Dans quelle ville se trouve la tour Eiffel ?",
        "Cette chanson est magnifique et je l'écoute tous les matins.",
        "Le train pour Lyon a malheureusement vingt minutes de retard aujourd'hui.",
        "Combien de personnes vivent en Belgique ?",
    ),
    "Spanish": (
        "Ayer hizo tan mal tiempo que nos quedamos todo el día en casa.",
        "¿Quién inventó el teléfono?",
        "¡Suscríbanse a mi nuevo canal, gracias!",
        "Los resultados del estudio muestran que el medicamento alivia el dolor en pocas horas.",
        "¿En qué ciudad está la Alhambra?",
        "Esta canción es preciosa y la escucho todas las mañanas.",
        "El tren a Sevilla lleva hoy unos veinte minutos de retraso.",
        "¿Cuántas personas viven en Uruguay?",
    ),
}


def unusual_rows(draws=10):
    """Print the rows of random splits that are unusual, and the texts in other languages that are found.

    English texts, by the number of training rows, with up to 500 new rows: the fraction of unusual new rows; the
    fraction of those that have a known word; and the fraction of eight German, French and Spanish texts that are found.
    Numbers as vectors: the fraction of rows, and the number of splits, with a norm far from those of training.
    """
    foreign = pl.DataFrame({"text": [text for texts in FOREIGN.values() for text in texts]})
    print(f"{'':20s} unusual  known word  {'  '.join(FOREIGN)}")
    for name in TEXTS:
        texts = _load_texts(name)
        for size in SIZES:
            numbers = []
            for draw in range(draws):
                order = np.random.default_rng(draw).permutation(len(texts))[: size + N_NEW]
                train, new = np.split(texts[order], [size])
                columns = [Column("text", "text")]
                find = _Limits(pl.DataFrame({"text": train.tolist()}), columns)
                rows = find(pl.DataFrame({"text": new.tolist()}))
                vectorizer = find.encoder.transformers_[0][1]
                n_known = np.diff(vectorizer.transform(new[rows]).indptr).astype(bool).sum() if len(rows) else 0
                found = np.isin(np.arange(foreign.height), find(foreign)).reshape(len(FOREIGN), -1).mean(axis=1)
                numbers.append([len(rows) / len(new), n_known / len(new), *found])
            unusual, known, *shares = np.mean(numbers, axis=0)
            listed = "  ".join(f"{share:{len(language)}.2f}" for language, share in zip(FOREIGN, shares, strict=True))
            print(f"{name:12s} {size:6d}  {unusual:7.4f}  {known:10.4f}  {listed}", flush=True)
    for name in ("lognormal", *NORMS):
        fractions = []
        for draw in range(40):
            rng = np.random.default_rng(draw)
            X = np.exp(rng.normal(size=(200, 1))) * rng.normal(size=(200, 16))
            if name != "lognormal":
                values = np.asarray(oneof.datasets.load(name).X, dtype=float)
                X = values[rng.permutation(len(values))[:200]]
            columns = [Column(f"a[{j}]", "number") for j in range(X.shape[1])]
            frame = pl.DataFrame(X, schema=[column.name for column in columns])
            fractions.append(len(_Limits(frame[:150], columns)(frame[150:])) / 50)
        print(f"{name:12s} norms: {np.mean(fractions):.4f} of the rows, {np.count_nonzero(fractions)} of 40 splits")


class _Limits:
    """The rows that are unusual, given a training table."""

    def __init__(self, train, columns):
        self.columns, self.encoder = columns, make_encoder(columns).fit(train)
        self.limits = describe_rows(train, columns, self.encoder, ["a"])

    def __call__(self, frame):
        """Return the unusual rows of a table."""
        found = find_unusual_rows(frame, self.columns, self.encoder, self.limits)
        return sorted({row for unusual in found for row in unusual.rows})


def _load_texts(name):
    with np.load(Path(os.environ["ONEOF_DATA"]) / f"{name}.npz") as archive:
        return np.array(unpack_texts(archive["text"], archive["text_offsets"]), dtype=object)
