#!/usr/bin/python3
"""The signature of each request, by botocore: an implementation that shares nothing with ours.

Reads lines of tab-separated words: access key, secret key, token, region, service, date, method, URL,
content type ("-" for none), SHA-256 of the body. Prints the value of Authorization for each.
"""
import datetime
import sys
import types

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials


class Signer(botocore.auth.SigV4Auth):
    """Signs with the digest it is told, as if it had seen the body."""

    def __init__(self, digest, *args):
        super().__init__(*args)
        self.digest = digest

    def payload(self, request):
        return self.digest


def at(date):
    """botocore asks the clock; ours is told the time."""
    moment = datetime.datetime.strptime(date, "%Y%m%dT%H%M%SZ")

    class Clock(datetime.datetime):
        @classmethod
        def utcnow(cls):
            return moment

    return types.SimpleNamespace(datetime=Clock, timedelta=datetime.timedelta)


def main():
    for line in sys.stdin:
        access, secret, token, region, service, date, method, url, kind, digest = line.rstrip("\n").split("\t")
        botocore.auth.datetime = at(date)
        headers = {"X-Amz-Content-SHA256": digest}
        if kind != "-":
            headers["Content-Type"] = kind
        request = AWSRequest(method=method, url=url, headers=headers)
        keys = Credentials(access, secret, None if token == "-" else token)
        Signer(digest, keys, service, region).add_auth(request)
        print(request.headers["Authorization"], flush=True)


main()
