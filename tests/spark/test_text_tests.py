"""Address ranges as regular expressions of Java's, beside what Python's ``ipaddress`` says of the same texts."""

from __future__ import annotations

import ipaddress
import random

from pyspark.sql import SparkSession

RANGES, ADDRESSES = 40, 25


def random_range(rnd: random.Random) -> str:
    if rnd.random() < 0.4:
        return f"{ipaddress.IPv4Address(rnd.getrandbits(32))}/{rnd.randint(0, 32)}"
    groups = [rnd.choice([0, 0, 0, 1, 0xFFFF, rnd.getrandbits(16), rnd.getrandbits(8)]) for _ in range(8)]
    return f"{ipaddress.IPv6Address(sum(g << (16 * n) for n, g in enumerate(groups)))}/{rnd.randint(0, 128)}"


def spellings(rnd: random.Random, value: int, version: int) -> list[str]:
    """Texts of an address, and texts near to one."""
    if version == 4:
        text = str(ipaddress.IPv4Address(value))
        return [text, f"{text}\n", f"0{text}", text.replace(".", ".0", 1), f"::ffff:{text}", f"{text}%a"]
    groups = [(value >> (112 - 16 * n)) & 0xFFFF for n in range(8)]
    texts = [rnd.choice(["%x", "%04x", "%X"]) % g for g in groups]
    tail = str(ipaddress.IPv4Address(value & 0xFFFFFFFF))
    short = str(ipaddress.IPv6Address(value))
    out = [
        short,
        ":".join(texts),
        ":".join([*texts[:6], tail]),
        f"{short}%eth0",
        f"{short}%",
        f"{short}\n",
        f":{short}",
    ]
    zeros = [(i, j) for i in range(8) for j in range(i + 1, 9) if not any(groups[i:j])]
    if zeros:
        i, j = rnd.choice(zeros)
        out.append(f"{':'.join(texts[:i])}::{':'.join(texts[j:])}")
        if j <= 6:
            out.append(f"{':'.join(texts[:i])}::{':'.join([*texts[j:6], tail])}")
    return out


def is_in(text: str, network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> bool:
    try:
        return ipaddress.ip_address(text) in network
    except ValueError:
        return False


def test_ranges_hold_the_addresses_that_python_says(spark: SparkSession) -> None:
    rnd = random.Random(20)
    ranges = [random_range(rnd) for _ in range(RANGES)]
    networks = [ipaddress.ip_network(text, strict=False) for text in ranges]
    texts: list[str] = []
    for network in networks:
        first, width = int(network.network_address), 1 << network.max_prefixlen
        for _ in range(ADDRESSES):
            value = rnd.choice(
                [first + rnd.randrange(network.num_addresses), (first - 1) % width, rnd.randrange(width)]
            )
            texts += spellings(rnd, value, network.version)
    items = ", ".join(f"cidr_match(x, '{text}') AS c{n}" for n, text in enumerate(ranges))
    spark.createDataFrame([(text,) for text in texts], "x string").createOrReplaceTempView("address_texts")
    rows = spark.sql(f"SELECT x, {items} FROM address_texts").collect()
    held = 0
    for row in rows:
        for n, network in enumerate(networks):
            assert row[n + 1] == is_in(row.x, network), (row.x, ranges[n])
            held += row[n + 1]
    assert held > len(rows)
    assert {row.x for row in rows} == set(texts)


def test_braces_in_text_that_spark_formats(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, "{x}"), (2, "{{x}}"), (3, "x")], "id int, p string")
    found = spark.sql("SELECT id FROM {d} WHERE wildcard_match(p, '{{x}}')", d=frame).collect()
    assert [row.id for row in found] == [1]
