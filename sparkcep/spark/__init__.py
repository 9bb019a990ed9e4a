"""What Spark is and does, by any release: its plans, errors, jobs, executors, tasks. Knows nothing of patterns."""
