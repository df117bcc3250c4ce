"""Every reader of files, tested with files that were changed, cut, spliced or made as attacks."""
