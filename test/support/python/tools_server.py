"""An MCP server of the official Python SDK: port in argv; a line on stdout for every tool that it executes, after "ready"."""

import sys
import threading
import time

from mcp.server.mcpserver import MCPServer

server = MCPServer("tools")


@server.tool()
def allowed() -> str:
    print("executed allowed", flush=True)
    return "done"


@server.tool()
def forbidden() -> str:
    print("executed forbidden", flush=True)
    return "done"


threading.Thread(target=lambda: (sys.stdin.read(), sys.exit()), daemon=True).start()
server.run("streamable-http", port=int(sys.argv[1]), json_response=True, stateless_http=True)
