-- Credit collection without a penalty before it.
PATTERN SEQ('Create Fine' f, !'Add penalty' n, 'Send for Credit Collection' c)
MATCHES FIRST
