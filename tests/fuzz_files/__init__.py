"""Every reader of files against files that were changed, cut, spliced and made to harm."""
