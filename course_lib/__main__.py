"""`python -m course_lib ...` is the same as `course ...`; torchrun starts a student's program this way."""

from course_lib.cli import main

if __name__ == "__main__":
    main()
