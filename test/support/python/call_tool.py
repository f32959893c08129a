"""The official Python client calls one tool: URL and name in argv; {"text": ...} or {"error": ...} on stdout."""

import asyncio
import json
import sys

from mcp import Client


async def main(url, name):
    async with Client(url) as client:
        result = await client.call_tool(name, {"a": 1, "b": 2, "message": "hi"})
        return {"text": " ".join(part.text for part in result.content)}


try:
    print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
except Exception as error:
    print(json.dumps({"error": repr(error)}))
