"""Detection rules of other systems, written as rules of sparkcep: text in, text out, without Spark."""
