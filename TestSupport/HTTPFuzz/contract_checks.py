"""What the HTTP fuzzer checks and asks beyond the OpenAPI document: contract §1, and spec §13 on secrets.

From the environment: WHISPER_FUZZ_SECRETS, tokens that no answer may hold, one on a line; WHISPER_FUZZ_KNOWN, a JSON
object that names things that exist, by the parameter that asks for them; WHISPER_FUZZ_SEED.
"""

import json
import os
import random
import re

import schemathesis

SECRETS = os.environ["WHISPER_FUZZ_SECRETS"].split("\n")
KNOWN = json.loads(os.environ["WHISPER_FUZZ_KNOWN"])
RANDOM = random.Random(int(os.environ["WHISPER_FUZZ_SEED"]))

CODES = {
    400: {"INVALID_PAYLOAD"},
    401: {"NOT_REGISTERED"},
    403: {"FORBIDDEN", "USER_BANNED"},
    404: {"NOT_FOUND"},
    405: {"NOT_FOUND"},
    408: {"INVALID_PAYLOAD"},
    412: {"INVALID_PAYLOAD"},
    413: {"INVALID_PAYLOAD"},
    414: {"INVALID_PAYLOAD"},
    429: {"RATE_LIMITED"},
    431: {"INVALID_PAYLOAD"},
}
# Shorter texts could stand in a message by chance.
REPEATED_MIN = 12
UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
WHISPER_ID = re.compile(r"WSP(-[A-Z2-7]{4}){3}")


@schemathesis.hook
def before_call(ctx, case, kwargs):
    """Every other well-formed id becomes one that exists: a random one never does, and whatever comes behind the
    look-up would not be seen."""
    for place in (case.path_parameters, case.query, case.body):
        if not isinstance(place, dict):
            continue
        for name, known in KNOWN.items():
            value = place.get(name)
            form = WHISPER_ID if name == "whisperId" else UUID
            if isinstance(value, str) and form.fullmatch(value) and RANDOM.random() < 0.5:
                place[name] = known
    if isinstance(case.body, (dict, list)):
        write_integers(case.body)


def write_integers(value):
    """JSON Schema takes 10.0 for an integer. Contract §13 does not, and no schema can say that: it is written as 10."""
    for place, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
        if isinstance(inner, float) and inner.is_integer():
            value[place] = int(inner)
        elif isinstance(inner, (dict, list)):
            write_integers(inner)


@schemathesis.check
def contract_error(ctx, response, case):
    """A failure has the contract's body, with a code that belongs to its status, and says when to come back."""
    status = response.status_code
    if status < 400 or (case.path == "/ready" and status == 503):
        return
    kind = (response.headers.get("content-type") or [""])[0]
    assert kind.split(";")[0] == "application/json", f"{status} with a body of type {kind!r}"
    body = response.json()
    # A reason stands where a client may need it (contract §20.1).
    assert isinstance(body, dict) and set(body) - {"reason"} == {"error", "message"}, f"{status} with another body: {body}"
    expected = CODES.get(status, {"INTERNAL_ERROR"} if status >= 500 else set())
    assert body["error"] in expected, f"{status} with the code {body['error']}"
    assert isinstance(body["message"], str) and body["message"], f"{status} without words"
    if status == 429:
        assert (response.headers.get("retry-after") or [""])[0].isdigit(), "429 without Retry-After"


@schemathesis.check
def no_secret_comes_back(ctx, response, case):
    """No token, the caller's own included, in any part of an answer."""
    authorization = response.request.headers.get("Authorization") or ""
    presented = authorization.split(" ", 1)[-1].strip()
    secrets = SECRETS + ([presented] if len(presented) >= REPEATED_MIN else [])
    answer = (response.content or b"") + repr(dict(response.headers)).encode()
    for secret in secrets:
        assert secret.encode() not in answer, "a token stands in the answer"


@schemathesis.check
def messages_repeat_nothing(ctx, response, case):
    """What an error says never repeats what was sent."""
    if response.status_code < 400:
        return
    try:
        # The code of the error may have been sent by chance: it is a word of the fuzzer.
        message = response.json()["message"]
    except (ValueError, TypeError, KeyError):
        message = (response.content or b"").decode("utf-8", "replace")
    for place in (case.path_parameters, case.query, case.headers, case.body):
        for value in strings(place):
            assert value not in message, f"a value that was sent stands in the answer: {message}"


def strings(value):
    if isinstance(value, str):
        if len(value) >= REPEATED_MIN:
            yield value
    elif isinstance(value, dict) or hasattr(value, "items"):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)
