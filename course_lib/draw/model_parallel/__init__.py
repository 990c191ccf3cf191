"""Pictures of model parallelism: who holds what of a layer, and which rows of a picture cross."""
