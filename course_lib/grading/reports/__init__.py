"""From the grades to pages for people: one for each student, one about the class, and tables for learning platforms."""
