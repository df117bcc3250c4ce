"""The commands, one file each: an option list, the work in a few steps, and the output."""
