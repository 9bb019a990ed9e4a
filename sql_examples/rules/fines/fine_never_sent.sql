-- A fine that is paid though it was never sent.
PATTERN SEQ('Create Fine' f, !'Send Fine' s, 'Payment' p)
MATCHES FIRST
RETURN f.amount AS amount, p.paymentamount AS paid
