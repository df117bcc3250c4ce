"""Races of `oneof` against other libraries, each in its own environment: `table` runs them."""
