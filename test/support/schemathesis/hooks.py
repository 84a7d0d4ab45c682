"""What valid input may be answered with, in place of Schemathesis' own check, which knows statuses only.

A refusal has to be one that the run expects (schemathesis.faults.test.ts names them). That the operation documents its
code under its status is judged by Schemathesis' own checks of answers against the document.
"""
import os
import re

import schemathesis

EXPECTED_CODES = frozenset(os.environ["EXPECTED_CODES"].split())
MAY_SUCCEED = os.environ["MAY_SUCCEED"] == "true"

# Rules that a JSON schema cannot say: input may fit the schema and break them. Any other INVALID_PARAMS is wrong.
RULES_BEYOND_SCHEMAS = {
    r"/body/imageUrls?(/\d+)?": r"must be the objectKey of an upload grant; .*",
    r"/body/modelVersion": r"must be one of .*",
    r"/body/(callbackUrl|targetUrl)": r"must .*",
    # What is on sale is configuration; what an order needs depends on its kind.
    r"/body/(packId|plan|interval)": r"(is required of kind .*|must be .*)",
    r"/headers/idempotency-key": r"was used with another body; .*",
    # Of people: whether a text is one's own password, a code of now, a live token is no rule of the schema.
    r"/body/(password|currentPassword)": r"is not your password",
    r"/body/(password|newPassword)": r"is too easy to guess: .*",
    r"/body/code": r"is not the code that the app shows now|is not valid, .*",
    r"/body/token": r"is not valid, or no longer",
    r"/body/(newEmail|email)": r"is your own|is yours already",
    r"/body/timeZone": r"must be an IANA time zone, .*",
    r"/body/avatarUrl": r"must be an https address",
    r"/body/locale": r"must be BCP 47, .*",
    r"/body/preferences/\d+/email": r"cannot be switched off for this event",
    r"/query/cursor": r"must (be the nextCursor of a page|not come together with page)",
    r"/query/(startDate|endDate)": r"must be a date, YYYY-MM-DD, or an ISO 8601 timestamp",
    r"/query/endDate": r"must not lie before startDate",
    r"/body/expiresAt": r"must lie in the future",
    # Whether a user is a member of the team of the path is no rule of the schema.
    r"/body/limits/\d+/userId": r"must (be a member|not be named twice)",
    r"/body/since": r"must be a date, YYYY-MM-DD, or an ISO 8601 timestamp",
}


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
