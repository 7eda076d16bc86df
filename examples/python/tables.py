"""Tables of pandas, polars, pyarrow and duckdb: in as they are, out to each."""

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa

import cdevice

halves = [pd.DataFrame({"city": ["Oslo", "Lima"], "t": [4.5, 19.0]}), pd.DataFrame({"city": ["Pune"], "t": [31.5]})]
batch = cdevice.asarray(pd.concat(halves, ignore_index=True))  # its chunks are joined
print(batch)

warm = cdevice.asarray(duckdb.sql("select 'Cairo' as city, 28.0::double as t union all select 'Perth', 24.5"))
warm = cdevice.asarray(warm.to_pylist(), schema=batch.schema)  # other string types: joined are arrays of one type
both = cdevice.concat([batch, warm])
print(both.num_rows, "rows,", both.schema["t"].type)

named = both.rename({"t": "celsius"})
print(pl.DataFrame(named).select(pl.col("celsius").max()).item(), pa.table(named).num_rows, "rows in pyarrow")
print(pd.DataFrame.from_arrow(named).groupby("city").celsius.sum().round(1).to_dict())
fahrenheit = cdevice.record_batch({"city": named["city"], "fahrenheit": named["celsius"].to_numpy() * 1.8 + 32})
print(fahrenheit.to_pylist()[0])
try:
    named["kelvin"]
except KeyError as e:
    print("KeyError:", e)
