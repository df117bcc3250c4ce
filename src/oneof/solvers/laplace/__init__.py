"""Laplace approximation of Gaussian processes on candidate sets."""
