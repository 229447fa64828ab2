"""What the commands do, one file per command: from checked options to files and printed results."""
