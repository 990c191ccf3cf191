"""Pictures of mixed precision: formats, gradients, and what a machine can do."""
