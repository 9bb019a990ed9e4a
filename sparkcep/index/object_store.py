"""What `deltalake` is told of an object store: options of the session, and what Spark itself was told of the store.

``spark.sparkcep.index.storage.<option>`` is handed on as it is; it wins over what is read from Hadoop's keys, of which
those of a bucket or an account win over those of all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from sparkcep.errors import PatternIndexError
from sparkcep.settings import INDEX_STORAGE_PREFIX
from sparkcep.spark.plan import session_settings

_HADOOP = "spark.hadoop."
#: Hadoop's keys of S3, without `fs.s3a.` or `fs.s3a.bucket.BUCKET.`, and delta-rs's names for them.
_S3 = {
    "access.key": "AWS_ACCESS_KEY_ID",
    "secret.key": "AWS_SECRET_ACCESS_KEY",
    "session.token": "AWS_SESSION_TOKEN",
    "endpoint": "AWS_ENDPOINT_URL",
    "endpoint.region": "AWS_REGION",
}
#: Hadoop's keys of Azure, which may end in an account.
_AZURE = {
    "fs.azure.account.key": "AZURE_STORAGE_ACCOUNT_KEY",
    "fs.azure.sas.fixed.token": "AZURE_STORAGE_SAS_KEY",
    "fs.azure.account.oauth2.client.id": "AZURE_STORAGE_CLIENT_ID",
    "fs.azure.account.oauth2.client.secret": "AZURE_STORAGE_CLIENT_SECRET",
    "fs.azure.account.oauth2.msi.tenant": "AZURE_STORAGE_TENANT_ID",
}
_GOOGLE = {"fs.gs.auth.service.account.json.keyfile": "GOOGLE_SERVICE_ACCOUNT"}
#: The region that Hadoop takes for a server of one's own.
_REGION = "us-east-1"

#: What switches an option on, by delta-rs.
_TRUE = ("1", "true", "on", "yes", "y")

Options = tuple[tuple[str, str], ...]


def store_options(spark: SparkSession, uri: str) -> Options:
    """Options of `deltalake` for a URI.

    Raises:
        PatternIndexError: CEP_INDEX_STORAGE_OPTION, see :func:`options_of`.
    """
    return options_of(session_settings(spark), uri)


def options_of(settings: Mapping[str, str], uri: str) -> Options:
    """Options of `deltalake` for a URI, from a session's settings.

    Raises:
        PatternIndexError: CEP_INDEX_STORAGE_OPTION, an endpoint without encryption that nothing allows, an option that
            lets one commit overwrite another, or secrets in the URI.
    """
    parts = urlsplit(uri)
    user, at, _ = parts.netloc.rpartition("@")
    # Azure's container stands before the @; what has a colon is a password behind a name.
    if at and (parts.scheme in ("s3", "s3a", "s3n") or ":" in user):
        raise _refused(
            "CEP_INDEX_STORAGE_OPTION",
            "The index's URI holds a user's name or secret.",
            "give them as Hadoop's or sparkcep's settings instead",
        )
    known = {k.removeprefix(_HADOOP): v for k, v in settings.items() if k.startswith(_HADOOP) and v}
    own = {k.removeprefix(INDEX_STORAGE_PREFIX): v for k, v in settings.items() if k.startswith(INDEX_STORAGE_PREFIX)}
    found: dict[str, str] = {}
    if parts.scheme in ("s3", "s3a", "s3n"):
        found = dict(_of_s3(known, parts.netloc))
    elif parts.scheme in ("abfs", "abfss", "wasb", "wasbs"):
        found = dict(_of_azure(known, parts.netloc.rpartition("@")[2]))
    elif parts.scheme == "gs":
        found = {name: known[key] for key, name in _GOOGLE.items() if key in known}
    # The same option may be written in several ways.
    given = {k.casefold() for k in own}
    options = {k: v for k, v in found.items() if k.casefold() not in given} | own
    _check(options)
    return tuple(sorted(options.items()))


def _of_s3(known: Mapping[str, str], bucket: str) -> Iterator[tuple[str, str]]:
    def value(key: str) -> str | None:
        return known.get(f"fs.s3a.bucket.{bucket}.{key}") or known.get(f"fs.s3a.{key}")

    encrypted = value("connection.ssl.enabled") != "false"
    for key, name in _S3.items():
        found = value(key)
        if found is None:
            continue
        if key == "endpoint":
            if "://" not in found:
                found = f"http{'s' if encrypted else ''}://{found}"
            if not value("endpoint.region") and not _is_amazon(found):
                yield "AWS_REGION", _REGION
        yield name, found
    if not encrypted:
        yield "AWS_ALLOW_HTTP", "true"


def _of_azure(known: Mapping[str, str], host: str) -> Iterator[tuple[str, str]]:
    def value(key: str) -> str | None:
        return known.get(f"{key}.{host}") or known.get(key)

    yield "AZURE_STORAGE_ACCOUNT_NAME", host.partition(".")[0]
    for key, name in _AZURE.items():
        if found := value(key):
            yield name, found
    # https://login.microsoftonline.com/TENANT/oauth2/token
    endpoint = value("fs.azure.account.oauth2.client.endpoint")
    if endpoint and (tenant := urlsplit(endpoint).path.strip("/").partition("/")[0]):
        yield "AZURE_STORAGE_TENANT_ID", tenant


def _check(options: Mapping[str, str]) -> None:
    value = {k.casefold().removeprefix("aws_"): v for k, v in options.items()}
    endpoint = value.get("endpoint_url") or value.get("endpoint") or ""
    # As deltalake reads it, which knows the environment's variables too.
    allowed = value.get("allow_http") or os.environ.get("AWS_ALLOW_HTTP", "")
    if endpoint.startswith("http://") and allowed.casefold() not in _TRUE:
        raise _refused(
            "CEP_INDEX_STORAGE_OPTION",
            f"The storage's endpoint {endpoint.partition('@')[2] or endpoint} is not encrypted.",
            f"SET {INDEX_STORAGE_PREFIX}AWS_ALLOW_HTTP = true allows it",
        )
    unsafe = value.get("s3_allow_unsafe_rename", "").casefold() == "true" or "allow_unsafe_rename" in {
        k.removeprefix("mount_") for k in value
    }
    off = value.get("conditional_put", "").casefold() == "disabled"
    if (unsafe or off) and not has_lock(options):
        raise _refused(
            "CEP_INDEX_STORAGE_OPTION",
            "An option lets one commit overwrite another, and two refreshers would lose events.",
            f"without it stores commit by conditional put; where a store has none, {LOCK}",
        )


#: What stands in for conditional put, in words.
LOCK = f"{INDEX_STORAGE_PREFIX}AWS_S3_LOCKING_PROVIDER = dynamodb names a lock"


def has_lock(options: Mapping[str, str]) -> bool:
    """Whether commits take a lock besides."""
    return any(k.casefold() == "aws_s3_locking_provider" and v.casefold() == "dynamodb" for k, v in options.items())


def is_own_server(options: Mapping[str, str]) -> bool:
    """Whether the store is a server that speaks S3, and may lack conditional put."""
    found = [v for k, v in options.items() if k.casefold() in ("aws_endpoint_url", "aws_endpoint", "endpoint_url")]
    return any(not _is_amazon(endpoint) for endpoint in found)


def _is_amazon(endpoint: str) -> bool:
    host = urlsplit(endpoint).hostname or ""
    return re.search(r"(^|\.)amazonaws\.com(\.cn)?$", host) is not None


def _refused(error_class: str, sentence: str, hint: str) -> PatternIndexError:
    return PatternIndexError(error_class, sentence, blame="name", hint=hint)
