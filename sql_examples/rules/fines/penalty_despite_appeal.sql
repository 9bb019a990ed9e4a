-- A penalty between an appeal and its result.
PATTERN SEQ('Send Appeal to Prefecture' a, !'Receive Result Appeal from Prefecture' r, 'Add penalty' p)
MATCHES FIRST
