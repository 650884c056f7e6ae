#!/usr/bin/python3
"""Judges frames by the generated JSON Schemas, with a validator that knows nothing of the project.

    whisper-contract frames SEED COUNT | judge.py docs/schemas
    judge.py docs/schemas FILE

Reads one JSON object on a line: side, frame (text) and isValid, the contract's own verdict. Exits with 1 if the two
disagree anywhere. What JSON Schema cannot say, because it speaks of values and not of their spelling, is done here before
asking it; docs/protocol.md lists it at its end.
"""
import collections
import json
import pathlib
import re
import sys

import jsonschema

DEPTH_MAX = 16


class NotJSON(Exception):
    pass


class NotAnInteger:
    """A number written with fraction or exponent, which is no integer here even if its value is whole."""

    def __init__(self, text):
        pass


class Members(dict):
    """An object that remembers what was written: all members, and which were given twice."""

    def __init__(self, pairs):
        super().__init__(pairs)
        self.written = pairs
        counts = collections.Counter(name for name, _ in pairs)
        self.twice = {name for name, count in counts.items() if count > 1}


def refuse(word):
    raise NotJSON(word)


def depth(value):
    if isinstance(value, dict):
        return 1 + max((depth(member) for _, member in value.written), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth, value), default=0)
    return 0


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, member in value.written:
            yield name
            yield from strings(member)
    elif isinstance(value, list):
        for element in value:
            yield from strings(element)


def read(text):
    try:
        value = json.loads(text, object_pairs_hook=Members, parse_float=NotAnInteger, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise NotJSON from error
    if depth(value) > DEPTH_MAX or any("\ud800" <= scalar <= "\udfff" for text in strings(value) for scalar in text):
        raise NotJSON
    return value


def properties(validator, known, instance, schema):
    if isinstance(instance, Members) and instance.twice & known.keys():
        yield jsonschema.ValidationError("given twice")
    yield from STANDARD["properties"](validator, known, instance, schema)


def property_names(validator, names, instance, schema):
    if isinstance(instance, Members) and instance.twice:
        yield jsonschema.ValidationError("given twice")
    yield from STANDARD["propertyNames"](validator, names, instance, schema)


def pattern(validator, expression, instance, schema):
    # ECMA-262, as JSON Schema has it: `$` is the end, not the place before a last line feed.
    if isinstance(instance, str) and not re.search(re.sub(r"\$$", r"\\Z", expression), instance):
        yield jsonschema.ValidationError("pattern")


def differ(validator, pairs, instance, schema):
    for a, b in pairs:
        if isinstance(instance, dict) and a in instance and instance.get(a) == instance.get(b):
            yield jsonschema.ValidationError("the same")


STANDARD = jsonschema.Draft202012Validator.VALIDATORS
Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    {"properties": properties, "propertyNames": property_names, "pattern": pattern, "x-differ": differ},
)


def load(folder):
    validators = {}
    for side in ("client", "server"):
        for path in sorted((folder / side).glob("*.json")):
            schema = json.loads(path.read_text(encoding="utf-8"))
            jsonschema.Draft202012Validator.check_schema(schema)
            validator = Validator(schema)
            for example in schema["examples"]:
                validator.validate(example)
            validators[side, path.stem] = validator
    return validators


def is_valid(text, side, validators):
    try:
        frame = read(text)
    except NotJSON:
        return False
    if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
        return False
    validator = validators.get((side, frame["type"]))
    return validator is not None and validator.is_valid(frame)


def main():
    validators = load(pathlib.Path(sys.argv[1]))
    counts = collections.Counter()
    for line in open(sys.argv[2], encoding="utf-8") if len(sys.argv) > 2 else sys.stdin:
        case = json.loads(line)
        verdict = is_valid(case["frame"], case["side"], validators)
        counts["valid" if case["isValid"] else "invalid"] += 1
        if verdict != case["isValid"]:
            counts["disagreements"] += 1
            if counts["disagreements"] <= 20:
                print(f"schema says {verdict}, contract says {case.get('violation', 'valid')}: {case['frame'][:1000]}")
    print(f"{counts['valid']} valid, {counts['invalid']} invalid, {counts['disagreements']} disagreements")
    if counts["disagreements"] or not counts["valid"] or not counts["invalid"]:
        sys.exit(1)


main()
