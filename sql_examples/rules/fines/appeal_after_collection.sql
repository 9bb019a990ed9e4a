-- An appeal that comes after the fine has gone to credit collection.
PATTERN SEQ('Send for Credit Collection' c, 'Insert Date Appeal to Prefecture' a)
MATCHES FIRST
