"""The information that the answer of a source would give about the label of a row.

The row has the posterior mu, and the source the confusion matrix theta. The mutual information of the label and the
answer, in nats, is

    H(sum_k mu_k theta_k) - sum_k mu_k H(theta_k).
"""

import numpy as np

from oneof.likelihoods import entropy
from oneof.typing import Floats

BLOCK_ENTRIES = 20_000_000


def answer_information(posterior: Floats, confusion: Floats) -> Floats:
    """Return the information of each pair of a row and a source, (n, J).

    Parameters
    ----------
    posterior : ndarray of shape (n, K)
    confusion : ndarray of shape (J, K, K)
        theta, from true class to answer.
    """
    J, K, _ = confusion.shape
    conditional = posterior @ np.asarray(entropy(confusion.reshape(-1, K))).reshape(J, K).T
    information = np.empty((len(posterior), J))
    block = max(1, BLOCK_ENTRIES // max(J * K, 1))
    mixture = confusion.transpose(1, 0, 2).reshape(K, J * K)
    for start in range(0, len(posterior), block):
        answers = (posterior[start : start + block] @ mixture).reshape(-1, K)
        information[start : start + block] = np.asarray(entropy(answers)).reshape(-1, J)
    return np.maximum(information - conditional, 0.0)
