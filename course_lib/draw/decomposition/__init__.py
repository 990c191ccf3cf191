"""Pictures of tensor decompositions: what each format stores."""
