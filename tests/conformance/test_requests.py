"""Requests that are none, or for nothing that is there."""

from __future__ import annotations

import io
import json

from .api import Api
from .objects import config


async def test_a_body_that_is_no_json_is_refused(api: Api) -> None:
    refused = await api.ask("POST", api.path("configmaps"), b"{")
    assert (refused.code, refused.reason) == (400, "BadRequest")


async def test_yaml_is_read(api: Api) -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: z}\n"
    made = await api.ask("POST", api.path("configmaps"), text, content="application/yaml")
    assert (made.code, made.body["data"]) == (201, {"x": "z"})


async def test_an_unknown_format_is_415(api: Api) -> None:
    refused = await api.ask("POST", api.path("widgets"), b"x", content="text/plain")
    assert (refused.code, refused.reason) == (415, "UnsupportedMediaType")


async def test_missing_is_404_and_says_what(api: Api) -> None:
    missing = await api.get(api.path("widgets", "none"))
    assert (missing.code, missing.reason) == (404, "NotFound")
    assert missing.message == 'widgets.conformance.example.com "none" not found'
    assert missing.body["details"] == {
        "name": "none",
        "group": "conformance.example.com",
        "kind": "widgets",
    }


async def test_an_unknown_resource_is_404(api: Api) -> None:
    for path in ("/apis/nobody.example.com/v1/things", "/api/v1/things"):
        missing = await api.get(path)
        assert missing.code == 404


async def test_a_method_that_is_not_served_is_405(api: Api) -> None:
    refused = await api.ask("POST", api.path("configmaps", "a"), config())
    assert (refused.code, refused.reason) == (405, "MethodNotAllowed")


async def test_a_body_of_four_megabytes_is_413(api: Api) -> None:
    text = json.dumps(config(data={"x": "y" * (4 << 20)})).encode()
    refused = await api.ask("POST", api.path("configmaps"), io.BytesIO(text))
    assert (refused.code, refused.reason) == (413, "RequestEntityTooLarge")
    assert refused.message == "Request entity too large: limit is 3145728"


async def test_a_limit_that_is_no_number_is_400(api: Api) -> None:
    refused = await api.get(api.path("configmaps"), limit="x")
    assert (refused.code, refused.reason) == (400, "BadRequest")
