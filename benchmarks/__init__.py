"""What `make bench` measures: launching, all-reduce, the simulator and the tests, side by side with their peers."""
