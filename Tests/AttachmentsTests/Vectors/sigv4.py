"""Writes sigv4.json: requests for S3 signed by botocore's own signers, at a fixed time.

    python3 sigv4.py > sigv4.json
"""
import datetime
import json
import sys

import botocore.auth
import botocore.compat
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

NOW = datetime.datetime(2026, 11, 21, 4, 5, 6, tzinfo=datetime.timezone.utc)

# The clock that botocore's signers ask.
botocore.auth.get_current_datetime = lambda remove_tzinfo=True: NOW.replace(tzinfo=None) if remove_tzinfo else NOW

CREDENTIALS = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
KEY = "att/2026/11/0f8fad5b-d9cb-469f-a165-70867728950e.bin"
OCTETS = "application/octet-stream"

# name, region, method, scheme, host, path, query, headers, life (presigned) or body (signed in headers)
REQUESTS = [
    ("upload, path style", "us-east-1", "PUT", "https://", "s3.us-east-1.amazonaws.com", f"/bucket/{KEY}", [],
     [("Content-Length", "123456"), ("Content-Type", OCTETS)], 900, None),
    ("upload, virtual style", "eu-central-1", "PUT", "https://", "bucket.s3.eu-central-1.amazonaws.com", f"/{KEY}", [],
     [("Content-Length", "1"), ("Content-Type", OCTETS)], 900, None),
    ("upload, loopback and port", "us-east-1", "PUT", "http://", "127.0.0.1:9000", f"/b/{KEY}", [],
     [("Content-Length", "50000000"), ("Content-Type", OCTETS)], 1, None),
    ("part", "us-east-1", "PUT", "https://", "objects.example:8443", f"/bucket/{KEY}",
     [("partNumber", "3"), ("uploadId", "a/b+c=d~e.f-g_h i")],
     [("Content-Length", "5242880"), ("Content-Type", OCTETS)], 900, None),
    ("download", "us-west-2", "GET", "https://", "s3.us-west-2.amazonaws.com", f"/bucket/{KEY}", [], [], 300, None),
    ("download, odd name", "us-west-2", "GET", "https://", "s3.us-west-2.amazonaws.com",
     "/bucket/att/a b+c%20ä(1)'!*~.bin", [], [], 604800, None),
    ("size", "us-east-1", "HEAD", "https://", "s3.us-east-1.amazonaws.com", f"/bucket/{KEY}", [], [], None, ""),
    ("removal", "us-east-1", "DELETE", "http://", "127.0.0.1:9000", f"/bucket/{KEY}", [], [], None, ""),
    ("list", "us-east-1", "GET", "https://", "bucket.s3.amazonaws.com", "/",
     [("list-type", "2"), ("max-keys", "1000"), ("prefix", "att/"), ("continuation-token", "1/+=&?#ü")], [], None, ""),
    ("beginning of parts", "us-east-1", "POST", "https://", "s3.amazonaws.com", f"/bucket/{KEY}", [("uploads", "")],
     [("Content-Type", OCTETS)], None, ""),
    ("joining", "us-east-1", "POST", "https://", "s3.amazonaws.com", f"/bucket/{KEY}", [("uploadId", "abc.DEF")], [], None,
     "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber></Part></CompleteMultipartUpload>"),
]


def encoded(path):
    # What botocore's serializer hands to its signer: everything but unreserved characters and slashes in percents.
    return botocore.compat.quote(path, safe="/~")


def vector(name, region, method, scheme, host, path, query, headers, life, body):
    url = f"{scheme}{host}{encoded(path)}"
    if query:
        url += "?" + "&".join(
            f"{botocore.compat.quote(k, safe='-_.~')}={botocore.compat.quote(v, safe='-_.~')}" for k, v in query)
    data = None if body is None else body.encode()
    request = AWSRequest(method=method, url=url, headers=dict(headers), data=data or b"")
    made = {"name": name, "region": region, "method": method, "scheme": scheme, "host": host, "path": path,
            "query": [list(pair) for pair in query], "headers": [list(pair) for pair in headers]}
    if life is not None:
        botocore.auth.S3SigV4QueryAuth(CREDENTIALS, "s3", region, expires=life).add_auth(request)
        return made | {"life": life, "url": request.url}
    botocore.auth.S3SigV4Auth(CREDENTIALS, "s3", region).add_auth(request)
    names = ("X-Amz-Date", "X-Amz-Content-SHA256", "Authorization")
    return made | {"body": body, "signed": {n: request.headers[n] for n in names}}


json.dump(
    {"time": int(NOW.timestamp() * 1000), "accessKey": CREDENTIALS.access_key, "secretKey": CREDENTIALS.secret_key,
     "requests": [vector(*entry) for entry in REQUESTS]},
    sys.stdout, indent=2, ensure_ascii=False)
print()
