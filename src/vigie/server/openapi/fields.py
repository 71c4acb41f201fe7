"""Schemas and refusals that several routes share."""

from __future__ import annotations

from vigie.server.openapi.words import STRING, Schema, items, refused

WHOLE: Schema = {"type": "integer"}
LABELS: Schema = {"type": "object", "additionalProperties": STRING}
OBJECTS: Schema = items({"type": "object"})
TIME: Schema = {"type": "string", "format": "moment"}  # seconds since 1970, or RFC 3339
DURATION: Schema = {"type": "string", "format": "span"}  # seconds, or such as 1h30m
COUNTS: Schema = {"type": "integer", "minimum": 0}

BAD = refused("A parameter cannot be understood; the message names it.")
TOO_MUCH = refused("The query could not be carried out, for example because it holds too many samples.")
ASKING = {400: BAD, 422: TOO_MUCH}
