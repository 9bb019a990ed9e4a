"""`sparkcep demo`: from nothing to matches on real flights, saying what it does while it does it."""

from __future__ import annotations

from sparkcep.cli.printing import print_table
from sparkcep.cli.timer import timed
from sparkcep.data.examples import folder, read_example
from sparkcep.data.flights import create_flights_view, flights_source
from sparkcep.session.machine.java import ensure_java
from sparkcep.session.machine.local import local_session

_NEXT = """
Where to go next
  sparkcep sql --flights -f {folder}/2_recovery.sql     more questions to the same flights
  sparkcep explain --flights -f {folder}/1_knock_on_delays.sql
  sparkcep sql -f quickstart.sql                        MATCH_RECOGNIZE on ten inline rows (in sql_examples/)
  In your own code:  import sparkcep; sparkcep.enable(); spark.sql("... MATCH_RECOGNIZE (...)")
"""


def run_demo() -> None:
    """Run the demo; raises SparkCepError with the fix where Java, Spark or the data is missing."""
    # What is missing is said before anything else.
    flights_source()
    example = read_example(folder("flights") / "1_knock_on_delays.sql")
    print("sparkcep finds patterns in event data with Spark SQL. This demo asks 336,776 real flights")
    print("(departures from New York in 2013) on which days an aircraft left later and later.\n")
    print(f"Using {ensure_java()}")
    with timed("Starting Spark", shows=False):
        spark = local_session()
    with timed("Loading the flights"):
        count = create_flights_view(spark).count()
    print(f"{count:,} departures of known aircraft are in the view `flights`.\n\n{example.sql}\n")
    with timed("Matching (the first query on a machine also compiles the kernels)"):
        frame = spark.sql(example.sql)
        rows = frame.collect()
    print()
    print_table(spark.createDataFrame(rows, frame.schema))
    with timed("\nThe same again, kernels compiled"):
        spark.sql(example.sql).collect()
    print(_NEXT.format(folder=folder("flights")), end="")
    spark.stop()
