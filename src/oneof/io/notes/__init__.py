"""Notes about tables: findings, units below the header, numbers that mean a missing value, and new values."""
