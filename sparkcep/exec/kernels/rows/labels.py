"""The column in which the rows of a match have their variables' names, while conditions that look at them are tested.

It is NULL at all rows that the match has not taken: before its first one, and behind its last.
"""

from __future__ import annotations

from sparkcep.exec.kernels.caching import inner
from sparkcep.exec.kernels.conditions.codes import U


@inner
def set_label(row, label, base, conditions, columns):
    """Give a row that is taken its variable's name, as its rank among the batch's texts."""
    cell = U(conditions.label_column * columns.rows + base + row)
    columns.ints[cell] = conditions.const_i[U(conditions.label_names + label)]
    columns.int_nulls[cell] = 0


@inner
def drop_label(row, base, conditions, columns):
    """Take a row's name back."""
    columns.int_nulls[U(conditions.label_column * columns.rows + base + row)] = 1


@inner
def drop_labels(row, base, rows, conditions, columns):
    """Take back the names that a search before left, of rows next to each other that begin or end at ``row``."""
    low = conditions.label_column * columns.rows + base
    at = row - 1
    while at >= 0 and columns.int_nulls[U(low + at)] == 0:
        columns.int_nulls[U(low + at)] = 1
        at -= 1
    at = row
    while at < rows and columns.int_nulls[U(low + at)] == 0:
        columns.int_nulls[U(low + at)] = 1
        at += 1
