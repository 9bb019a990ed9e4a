-- Two payments of the same amount within a day.
PATTERN SEQ('Payment' p, 'Payment' q)
WHERE q.paymentamount = p.paymentamount
WITHIN 1 day
MATCHES NON OVERLAPPING
RETURN p.paymentamount AS amount
