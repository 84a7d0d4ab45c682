"""Checks responses to valid input by error code. Schemathesis' own check knows statuses only.

The run expects certain codes (schemathesis.faults.test.ts). Schemathesis checks that the document declares them.
"""
import os
import re

import schemathesis

EXPECTED_CODES = frozenset(os.environ["EXPECTED_CODES"].split())
MAY_SUCCEED = os.environ["MAY_SUCCEED"] == "true"

# Rules that a JSON schema cannot express. Any other INVALID_PARAMS for valid input is an error.
RULES_BEYOND_SCHEMAS = {
    r"/body/imageUrls?(/\d+)?": r"must be the objectKey of an upload grant; .*",
    r"/body/modelVersion": r"must be one of .*",
    r"/body/(callbackUrl|targetUrl)": r"must .*",
    # Configuration sets the offers, and the kind of an order its required fields.
    r"/body/(packId|plan|interval)": r"(is required for kind .*|must be .*)",
    r"/headers/idempotency-key": r"was used with another body; .*",
    # Schemas cannot check the user's own password, a current code or a live token.
    r"/body/(password|currentPassword)": r"is not your password",
    r"/body/(password|newPassword)": r"is too easy to guess: .*|must differ from the current password",
    r"/body/code": r"is not the current code of the app|is wrong or was already used|is required because .*",
    r"/body/token": r"is invalid or has expired",
    r"/body/(newEmail|email)": r"is your own address|is already your address",
    r"/body/timeZone": r"must be an IANA time zone, .*",
    r"/body/avatarUrl": r"must be an https address",
    r"/body/locale": r"must be BCP 47, .*",
    r"/body/preferences/\d+/email": r"cannot be switched off for this event",
    r"/query/cursor": r"must be the nextCursor of a page|cannot be combined with page",
    r"/query/(startDate|endDate)": r"must be a date, YYYY-MM-DD, or an ISO 8601 timestamp",
    r"/query/endDate": r"must not be before startDate",
    r"/body/output/roi/(right|bottom)": r"must be more than (left|top)",
    r"/query/eventTypes": r"has .*, which is not an event",
    r"/body/expiresAt": r"must be in the future",
    r"/body/allowedNetworks/\d+": r"(?s).* must be an address or a network, .*",
    r"/body": r"must have either password or code",
    r"/query/after": r"is no entry of this log, .*",
    # Schemas cannot check membership in the team of the path.
    r"/body/limits/\d+/userId": r"must (be a member|not be named twice)",
    r"/body/(since|until)": r"must be a date, YYYY-MM-DD, or an ISO 8601 timestamp",
    r"/body/until": r"must not be before since",
    r"/body/headers": r"must be at most 10 headers",
    r"/body/headers/.*": r"is set by the service or the connection; .*",
}


@schemathesis.hook
def filter_query(_ctx, query):
    # D2: an empty query value counts as absent, so it is no invalid value. An object or list may be sent as one.
    return not any(value == "" or isinstance(value, (dict, list)) for value in (query or {}).values())


@schemathesis.check
def valid_input_is_answered_as_expected(_ctx, response, case):
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    if response.status_code < 400:
        assert MAY_SUCCEED, f"Valid input was accepted; expected: {', '.join(sorted(EXPECTED_CODES))}"
        return
    error = response.json()["error"]
    assert error["code"] in EXPECTED_CODES, (
        f"Valid input was refused as {error['code']}; expected: {', '.join(sorted(EXPECTED_CODES))}"
    )
    if error["code"] == "INVALID_PARAMS":
        unexplained = [issue for issue in error["details"]["issues"] if not is_beyond_schemas(issue)]
        assert not unexplained, f"Valid input was refused by a rule that the document could say: {unexplained}"


def is_beyond_schemas(issue):
    return any(
        re.fullmatch(path, issue["path"]) and re.fullmatch(message, issue["message"])
        for path, message in RULES_BEYOND_SCHEMAS.items()
    )
