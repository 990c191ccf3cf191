"""What `make bench` measures: ours and its peers, side by side in the same run, one module for each section."""
