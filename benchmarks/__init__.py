"""What `make bench` measures: launching, all-reduce, a data-parallel step, the simulator and the tests, side by side with their peers."""
