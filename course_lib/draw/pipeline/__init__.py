"""Pictures of pipelines: which rank does what when, and where it has nothing to do."""
