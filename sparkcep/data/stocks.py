"""Monthly prices of five stocks, 2000 to 2010 (package vega_datasets), as the view that the stocks examples query."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv as pa_csv

from sparkcep.data.packages import package_file

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_VIEW = """
SELECT symbol, to_date(date, 'MMM d yyyy') AS month, CAST(price AS DECIMAL(10,2)) AS price,
       CASE symbol WHEN 'AMZN' THEN 'retail' WHEN 'GOOG' THEN 'internet' ELSE 'computers' END AS sector
FROM {stocks}
"""


def stocks_source() -> Path:
    """The path of the stock prices in the package vega_datasets, a CSV file.

    Raises:
        SparkCepError: the package is not installed (CEP_DEMO_DATA_MISSING).
    """
    return package_file(
        "vega_datasets", "_data", "stocks.csv", missing="The stock prices (package vega_datasets) are not installed."
    )


def stocks_table() -> pa.Table:
    """The package's table, unchanged.

    Raises:
        SparkCepError: the package is not installed (CEP_DEMO_DATA_MISSING).
    """
    return pa_csv.read_csv(stocks_source())


def create_stocks_view(spark: SparkSession, name: str = "stocks") -> DataFrame:
    """Create the temporary view that the examples query, and return it.

    Raises:
        SparkCepError: the package is not installed (CEP_DEMO_DATA_MISSING).
    """
    raw = spark.createDataFrame(stocks_table().to_pylist(), "symbol string, date string, price double")
    frame = spark.sql(_VIEW, stocks=raw)
    frame.createOrReplaceTempView(name)
    return frame
