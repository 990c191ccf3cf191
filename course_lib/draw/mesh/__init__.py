"""Pictures of ranks on a mesh."""
