"""The official Python client drives agents of a runtime. usage: mcp_client.py HOLON"""

import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main():
    server = StdioServerParameters(command=sys.argv[1], args=["mcp", "serve"], env=dict(os.environ))
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        tools = await session.list_tools()
        assert any(tool.name == "prompt_agent" for tool in tools.tools), tools
        answer = await session.call_tool("prompt_agent", {"agent": "main", "text": "hello", "wait_ms": 30000})
        assert "scripted model" in answer.content[0].text, answer
    print("done")


asyncio.run(main())
