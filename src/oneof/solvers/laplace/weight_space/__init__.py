"""The mode and the posterior over the weights of features, whose cost does not grow with the square of the rows.

Reading order: `mode` (the search for the mode), `preconditioner` (of its Newton steps), `posterior` (for rows that are
distributed over blocks).
"""
