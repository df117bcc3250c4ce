"""Output on the terminal: tables, notes, JSON, exit codes and progress."""
