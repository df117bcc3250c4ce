"""Models of annotators: the labels of rows and the errors of the sources of answers, by EM.

Reading order:

1. `dawid_skene`: the answers as a sparse matrix of rows and (source, answer) pairs; sources that are rules, and the
   rates of their votes; EM for the labels, the confusion matrices, the coins and the rules.
2. `accuracy`: the accuracy of each source, and in each class, with intervals, a test of equal accuracies, and the
   sources whose accuracy the answers identify; pairs of sources that agree more often than the model expects; the
   expected information of an answer.
3. `agreement`: Krippendorff's alpha, and Cohen's kappa of each pair.
4. `reliability`: the reliability of answers that state how certain the annotator is.
5. `temper`: powers that calibrate a classifier and the answers by each other.
"""
