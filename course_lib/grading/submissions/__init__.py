"""What students hand in: notebooks read without trust, a folder of them graded, grades as tables and files."""
