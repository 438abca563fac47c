"""What users write: the problem file, its parts, and how it is read."""
