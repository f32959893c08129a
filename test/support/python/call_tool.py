"""The official Python client lists the tools and calls one: URL, name and perhaps an access token in argv.

{"tools": [...], "text": ...} or {"tools": [...], "error": ...} on stdout.
"""

import asyncio
import json
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


def causes(error):
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(causes(cause) for cause in error.exceptions)
    return repr(error)


async def main(said, url, name, token=None):
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            said["tools"] = [tool.name for tool in (await client.list_tools()).tools]
            result = await client.call_tool(name, {"a": 1, "b": 2, "message": "hi"})
            said["text"] = " ".join(part.text for part in result.content)


said = {}
try:
    asyncio.run(main(said, *sys.argv[1:]))
except BaseException as error:
    said["error"] = causes(error)
print(json.dumps(said))
