"""`python -m course_lib.storage.object_store FOLDER`: see `server`."""

from course_lib.storage.object_store.server import main

main()
