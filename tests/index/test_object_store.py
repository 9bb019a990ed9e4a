"""What `deltalake` is told of an object store, and where an index path is refused; without a store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from sparkcep import SparkCepError
from sparkcep.index.object_store import is_own_server, options_of
from sparkcep.index.path import index_path
from sparkcep.index.snapshots import _unreadable
from sparkcep.index.storage import Location, busy
from sparkcep.index.storage_errors import cause_of, classed

S3 = {"spark.hadoop.fs.s3a.access.key": "all", "spark.hadoop.fs.s3a.secret.key": "hush"}


@pytest.mark.parametrize(
    ("settings", "uri", "expected"),
    [
        (S3, "s3a://b/x", {"AWS_ACCESS_KEY_ID": "all", "AWS_SECRET_ACCESS_KEY": "hush"}),
        (S3, "gs://b/x", {}),
        (
            {**S3, "spark.hadoop.fs.s3a.bucket.b.access.key": "own", "spark.hadoop.fs.s3a.bucket.c.access.key": "no"},
            "s3a://b/x",
            {"AWS_ACCESS_KEY_ID": "own", "AWS_SECRET_ACCESS_KEY": "hush"},
        ),
        (
            {"spark.hadoop.fs.s3a.endpoint": "minio:9000", "spark.hadoop.fs.s3a.connection.ssl.enabled": "false"},
            "s3a://b/x",
            {"AWS_ENDPOINT_URL": "http://minio:9000", "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"},
        ),
        (
            {"spark.hadoop.fs.s3a.endpoint": "s3.eu-west-1.amazonaws.com"},
            "s3a://b/x",
            {"AWS_ENDPOINT_URL": "https://s3.eu-west-1.amazonaws.com"},
        ),
        (
            {**S3, "spark.sparkcep.index.storage.aws_access_key_id": "mine", "spark.sparkcep.index.storage.new": "1"},
            "s3://b/x",
            {"AWS_SECRET_ACCESS_KEY": "hush", "aws_access_key_id": "mine", "new": "1"},
        ),
        (
            {
                "spark.hadoop.fs.azure.account.key.acc.dfs.core.windows.net": "own",
                "spark.hadoop.fs.azure.account.key": "all",
                "spark.hadoop.fs.azure.account.oauth2.client.endpoint": "https://login.microsoftonline.com/t/oauth2/token",
            },
            "abfss://c@acc.dfs.core.windows.net/x",
            {"AZURE_STORAGE_ACCOUNT_NAME": "acc", "AZURE_STORAGE_ACCOUNT_KEY": "own", "AZURE_STORAGE_TENANT_ID": "t"},
        ),
    ],
)
def test_options(settings: Mapping[str, str], uri: str, expected: Mapping[str, str]) -> None:
    assert dict(options_of(settings, uri)) == expected


@pytest.mark.parametrize(
    ("options", "uri", "text"),
    [
        ({"AWS_ENDPOINT_URL": "http://minio:9000"}, "s3://b/x", "AWS_ALLOW_HTTP = true allows it"),
        ({"AWS_S3_ALLOW_UNSAFE_RENAME": "true"}, "s3://b/x", "AWS_S3_LOCKING_PROVIDER = dynamodb names a lock"),
        ({"conditional_put": "disabled"}, "s3://b/x", "lets one commit overwrite another"),
        ({}, "s3://key:hush@b/x", "user's name or secret"),
    ],
)
def test_refused_options(options: Mapping[str, str], uri: str, text: str) -> None:
    with pytest.raises(SparkCepError) as raised:
        options_of({f"spark.sparkcep.index.storage.{k}": v for k, v in options.items()}, uri)
    assert raised.value.error_class == "CEP_INDEX_STORAGE_OPTION"
    assert text in str(raised.value)
    assert "hush" not in str(raised.value)


def test_a_named_lock_allows_what_conditional_put_would_have_to_do() -> None:
    own = {"AWS_S3_ALLOW_UNSAFE_RENAME": "true", "AWS_S3_LOCKING_PROVIDER": "dynamodb"}
    assert dict(options_of({f"spark.sparkcep.index.storage.{k}": v for k, v in own.items()}, "s3://b/x")) == own


def test_whose_server_it_is() -> None:
    assert is_own_server({"AWS_ENDPOINT_URL": "https://minio:9000"})
    assert not is_own_server({"AWS_ENDPOINT_URL": "https://s3.eu-west-1.amazonaws.com"})
    assert not is_own_server({})


def test_secrets_are_in_no_repr() -> None:
    location = Location("s3a://b/x", options_of(S3, "s3a://b/x"))
    assert "hush" not in f"{location} {location!r} {location.child('y')!r}"


@pytest.mark.parametrize(
    "text",
    [
        "Generic MicrosoftAzure error: GET https://a.dfs.core.windows.net/c/x?sv=2024&sig=hush%3D&se=1: 403",
        "Generic S3 error: GET https://b/x?X-Amz-Credential=hush/20261123&X-Amz-Signature=hush&x=1",
        "Generic S3 error: 403 <Error><AWSAccessKeyId>hush</AWSAccessKeyId><SignatureProvided>hush</SignatureProvided>",
    ],
)
def test_secrets_are_in_no_error(text: str) -> None:
    error = classed(OSError(text))
    assert error is not None
    assert "hush" not in str(error)
    assert "..." in str(error)


def test_secrets_are_in_no_reason() -> None:
    text = "Generic S3 error: PUT https://b/x?X-Amz-Credential=hush&X-Amz-Signature=hush: already exists"
    shown = [str(busy(text)), str(_unreadable(Location("s3a://b/x"), KeyError(text))), cause_of(ValueError(text))]
    for said in shown:
        assert "hush" not in said
        assert "X-Amz-Signature=..." in said


@pytest.mark.parametrize(
    ("value", "allowed"), [("true", True), ("TRUE", True), ("1", True), ("false", False), ("", False)]
)
def test_the_environment_may_allow_http(monkeypatch: pytest.MonkeyPatch, value: str, allowed: bool) -> None:
    monkeypatch.setenv("AWS_ALLOW_HTTP", value)
    settings = {"spark.sparkcep.index.storage.AWS_ENDPOINT_URL": "http://minio:9000"}
    if allowed:
        assert dict(options_of(settings, "s3://b/x")) == {"AWS_ENDPOINT_URL": "http://minio:9000"}
    else:
        with pytest.raises(SparkCepError, match="not encrypted"):
            options_of(settings, "s3://b/x")
    with pytest.raises(SparkCepError, match="not encrypted"):  # what the session says wins
        options_of(settings | {"spark.sparkcep.index.storage.AWS_ALLOW_HTTP": "false"}, "s3://b/x")


@pytest.mark.parametrize(
    ("path", "master", "text"),
    [
        ("indexes", "spark://host:7077", "a relative path"),
        ("indexes", "yarn", "a relative path"),
        ("indexes", None, "a relative path"),
        ("file:indexes", "spark://host:7077", "a relative path"),
        ("file:./indexes", "yarn", "a relative path"),
        ("file://indexes/of/mine", "local[2]", "names no directory of this machine"),
        ("dbfs:/indexes", "local[2]", "files of DBFS"),
        ("/dbfs/indexes", "local[2]", "files of DBFS"),
    ],
)
def test_refused_paths(path: str, master: str | None, text: str) -> None:
    known: dict[str, Any] = {"spark.sparkcep.index.path": path, "spark.master": master}
    spark = Mock(conf=Mock(get=known.get))
    with pytest.raises(SparkCepError) as raised:
        index_path(spark)
    assert raised.value.error_class == "CEP_INDEX_PATH"
    assert text in str(raised.value)
    assert "SET spark.sparkcep.index.path to " in str(raised.value)


def test_a_port_is_no_secret() -> None:
    assert options_of({}, "hdfs://namenode:8020/indexes") == ()


@pytest.mark.parametrize("path", ["/shared/indexes", "file:/shared/indexes", "file:///shared/indexes"])
def test_absolute_paths(path: str) -> None:
    spark = Mock(conf=Mock(get={"spark.sparkcep.index.path": path, "spark.master": "yarn"}.get))
    assert index_path(spark).uri == "/shared/indexes"


@pytest.mark.parametrize("path", ["indexes", "file:indexes", "file:./indexes"])
def test_relative_paths_are_below_where_the_session_runs(path: str) -> None:
    """Not below the root."""
    spark = Mock(conf=Mock(get={"spark.sparkcep.index.path": path, "spark.master": "local[*]"}.get))
    assert index_path(spark).uri == str(Path.cwd() / "indexes")
