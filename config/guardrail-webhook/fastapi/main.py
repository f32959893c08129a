"""The guardrail webhook in FastAPI: pip install -r requirements.txt && uvicorn main:app --port 8000"""

import re
from typing import Annotated

from fastapi import Body, FastAPI
from pydantic import BaseModel

EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
BLOCKED = re.compile(r"\bswordfish\b", re.IGNORECASE)
app = FastAPI()


class Message(BaseModel):
    role: str
    content: str


class Prompt(BaseModel):
    messages: list[Message]


class Choice(BaseModel):
    message: Message


class Reply(BaseModel):
    choices: list[Choice]


def verdict(body: Prompt | Reply, messages: list[Message]) -> dict:
    """Changes the messages of the body where they stand."""
    if any(BLOCKED.search(message.content) for message in messages):
        text = "Blocked: there is a word that may not pass."
        return {"action": {"body": text, "status_code": 403}}
    if not any(EMAIL.search(message.content) for message in messages):
        return {"action": {}}
    for message in messages:
        message.content = EMAIL.sub("[email]", message.content)
    return {"action": {"body": body}}


@app.post("/request")
async def request(body: Annotated[Prompt, Body(embed=True)]) -> dict:
    return verdict(body, body.messages)


@app.post("/response")
async def response(body: Annotated[Reply, Body(embed=True)]) -> dict:
    return verdict(body, [choice.message for choice in body.choices])
