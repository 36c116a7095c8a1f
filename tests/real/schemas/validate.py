"""Do documents fulfil their schemas?

    validate.py SCHEMA DOCUMENT [SCHEMA DOCUMENT]...

A schema is JSON Schema or, as `.xsd`, XML Schema; a document that ends in `.jsonl` is one per line, and each must be what
`items` of `findings` is in the schema (`$defs/finding`), or the whole schema where it has no such part. Prints a line for
each thing that is wrong; the exit code is 1 where there is any.
"""

import json
import sys

import jsonschema
import xmlschema


def wrong_json(schema, document):
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    for error in validator(schema, format_checker=validator.FORMAT_CHECKER).iter_errors(document):
        yield f"{error.json_path}: {error.message[:300]}"


def wrong(schema, document):
    if schema.endswith(".xsd"):
        for error in xmlschema.XMLSchema(schema).iter_errors(document):
            yield f"{error.path}: {error.reason}"
        return
    with open(schema, encoding="utf-8") as file:
        rules = json.load(file)
    with open(document, encoding="utf-8") as file:
        if not document.endswith(".jsonl"):
            yield from wrong_json(rules, json.load(file))
            return
        lines = [json.loads(line) for line in file]
    if not lines:
        yield "no line"
    part = "finding" if "finding" in rules.get("$defs", {}) else None
    if part:
        rules = {"$schema": rules["$schema"], "$defs": rules["$defs"], "$ref": f"#/$defs/{part}"}
    for number, line in enumerate(lines, 1):
        for message in wrong_json(rules, line):
            yield f"line {number}: {message}"


def main():
    pairs = list(zip(sys.argv[1::2], sys.argv[2::2]))
    found = [f"{document}: {message}" for schema, document in pairs for message in wrong(schema, document)]
    print("\n".join(found[:50]))
    print(f"{len(pairs)} documents, {len(found)} faults", file=sys.stderr)
    sys.exit(1 if found or not pairs else 0)


if __name__ == "__main__":
    main()
