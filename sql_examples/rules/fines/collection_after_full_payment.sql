-- Credit collection of a fine that had been paid whole, in one payment or in several.
PATTERN SEQ('Create Fine' f, 'Payment'+ p[], 'Send for Credit Collection' c)
WHERE sum(p[].paymentamount) >= f.amount
MATCHES FIRST
RETURN f.amount AS amount, sum(p[].paymentamount) AS paid, count(p[].pos) AS payments
