"""The exercises of chapter 13, three dimensions: places, groups, memory, work, time, a planner, a norm with bugs."""
