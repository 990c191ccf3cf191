"""Pictures of tensor parallelism: two layers one behind the other between f and g."""
