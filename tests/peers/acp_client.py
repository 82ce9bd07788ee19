"""An editor with the Python client of ACP: a session that is prompted, left, and loaded again. usage: acp_client.py HOLON FOLDER"""

import asyncio
import os
import sys

import acp

HOLON, FOLDER = sys.argv[1:3]


class Editor(acp.Client):
    def __init__(self):
        self.updates = []

    async def session_update(self, session_id, update, **_):
        self.updates.append(update)

    def __getattr__(self, name):
        async def refuse(*_, **__):
            raise acp.RequestError.method_not_found(name)

        return refuse


def told(updates):
    return "".join(
        update.content.text for update in updates if getattr(update, "session_update", "") == "agent_message_chunk"
    )


async def with_agent(work):
    editor = Editor()
    async with acp.spawn_agent_process(lambda _: editor, HOLON, "acp", env=dict(os.environ)) as (agent, _):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        return await work(agent, editor)


async def first(agent, editor):
    session = (await agent.new_session(cwd=FOLDER, mcp_servers=[])).session_id
    ended = await agent.prompt(session_id=session, prompt=[acp.text_block("hello")])
    assert ended.stop_reason == "end_turn", ended
    assert "scripted model" in told(editor.updates), editor.updates
    return session


async def main():
    session = await with_agent(first)

    async def again(agent, editor):
        await agent.load_session(session_id=session, cwd=FOLDER, mcp_servers=[])
        assert "scripted model" in told(editor.updates), editor.updates

    await with_agent(again)
    print("done")


asyncio.run(main())
