"""Data parallelism: every rank trains the whole model on its part of each batch."""
