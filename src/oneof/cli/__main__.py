"""``python -m oneof.cli``."""

from oneof.cli import main

if __name__ == "__main__":
    main()
