"""The official Python client, driven by one test: URL, redirect URI, the URL of its metadata document (or ""), further calls as JSON
([[name, arguments], ...]) and what it knows of its client as JSON (or null) in argv; JSON lines on stdout.

{"visit": URL} asks for the callback URL on stdin; {"call": "METHOD path status"} is a call to the gateway;
the last line is {"tools": [...], "echo": text, "more": [text, ...]} or {"error": text}.
"""

import asyncio
import json
import sys
from urllib.parse import parse_qs, urlparse

import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata


def say(**line):
    print(json.dumps(line), flush=True)


class Storage:
    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info


async def read_callback():
    line = await asyncio.to_thread(sys.stdin.readline)
    query = parse_qs(urlparse(line.strip()).query)
    return AuthorizationCodeResult(
        code=query["code"][0],
        state=query.get("state", [None])[0],
        iss=query.get("iss", [None])[0],
    )


async def ask_to_visit(url):
    say(visit=url)


def recorder(origin):
    async def record(response):
        request = response.request
        if str(request.url).startswith(origin):
            say(call=f"{request.method} {request.url.path} {response.status_code}")

    return record


async def run(url, redirect_uri, metadata_url, more="[]", known="null"):
    metadata = OAuthClientMetadata(
        client_name="gatehouse tests",
        redirect_uris=[redirect_uri],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",
    )
    storage = Storage()
    if known != "null":
        storage.client = OAuthClientInformationFull.model_validate_json(known)
    auth = OAuthClientProvider(
        url, metadata, storage, ask_to_visit, read_callback, client_metadata_url=metadata_url or None
    )
    parts = urlparse(url)
    hooks = {"response": [recorder(f"{parts.scheme}://{parts.netloc}/")]}
    async with httpx2.AsyncClient(auth=auth, event_hooks=hooks, timeout=30) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            tools = await client.list_tools()
            echo = await client.call_tool("echo", {"message": "hi"})
            texts = []
            for name, arguments in json.loads(more):
                texts.append((await client.call_tool(name, arguments)).content[0].text)
            say(tools=[tool.name for tool in tools.tools], echo=echo.content[0].text, more=texts)


def causes(error):
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(causes(cause) for cause in error.exceptions)
    return f"{type(error).__name__}: {error}"


try:
    asyncio.run(run(*sys.argv[1:]))
except BaseException as error:
    say(error=causes(error))
