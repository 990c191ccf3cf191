"""What the page trains, in several precisions."""
