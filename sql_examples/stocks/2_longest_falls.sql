-- Whose price fell for three months in a row or longer most often, and how deep? Strict contiguity takes neighbouring
-- months only; a fall of five months holds three of three, two of four and itself. (The first month is before the fall.)

SELECT symbol, trends, deepest
FROM (
  FROM stocks ORDER BY month
  PATTERN stocks{3,} S
  WHERE strict_contiguity AND S.price > NEXT(S).price
  GROUP BY symbol
  RETURN symbol, COUNT(*) AS trends, MIN(S.price) AS deepest
)
ORDER BY trends DESC, symbol;

-- Result:
-- | symbol | trends | deepest |
-- | --- | --- | --- |
-- | AMZN | 59 | 5.97 |
-- | IBM | 54 | 63.86 |
-- | MSFT | 43 | 15.81 |
-- | AAPL | 32 | 7.16 |
-- | GOOG | 29 | 180.51 |
