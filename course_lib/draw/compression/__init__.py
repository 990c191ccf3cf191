"""Pictures of compressed gradients."""
