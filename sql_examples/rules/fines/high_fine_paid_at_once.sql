-- A fine of more than 100 euros that is paid within ten days.
PATTERN SEQ('Create Fine' f, 'Payment' p)
WHERE f.amount > 100 AND p.paymentamount >= f.amount
WITHIN 10 days
MATCHES FIRST
RETURN f.amount AS amount
