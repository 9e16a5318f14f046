"""Answers SQL in Spark: reads a JSON object with jars, settings and queries, and prints the rows of each as JSON."""

import json
import sys

from pyspark.sql import SparkSession

asked = json.load(sys.stdin)
building = SparkSession.builder.master("local[1]").config("spark.jars", ",".join(asked["jars"]))
for name, value in asked["settings"].items():
    building = building.config(name, value)
session = building.getOrCreate()
print(json.dumps([[list(row) for row in session.sql(query).collect()] for query in asked["queries"]]))
