-- A judge is asked where the prefecture never was.
PATTERN SEQ(!'Insert Date Appeal to Prefecture' p, 'Appeal to Judge' j)
MATCHES FIRST
