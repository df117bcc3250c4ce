"""Tests of the types that users see."""
