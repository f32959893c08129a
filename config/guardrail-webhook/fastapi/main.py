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
    # The number of its message, if that has several texts.
    message: int | None = None


class Prompt(BaseModel):
    messages: list[Message]


class Choice(BaseModel):
    message: Message


class Reply(BaseModel):
    choices: list[Choice]


def joined(messages: list[Message]) -> list[str]:
    """The texts of each message that has several, as a model reads them."""
    texts: dict[int, str] = {}
    for one in messages:
        if one.message is not None:
            texts[one.message] = texts.get(one.message, "") + one.content
    return list(texts.values())


def reject(text: str) -> dict:
    return {"action": {"body": text, "status_code": 403}}


def verdict(body: Prompt | Reply, messages: list[Message]) -> dict:
    """Changes the messages of the body where they stand."""
    texts = [message.content for message in messages]
    if any(BLOCKED.search(text) for text in texts + joined(messages)):
        return reject("Blocked: there is a word that may not pass.")
    for message in messages:
        message.content = EMAIL.sub("[email]", message.content)
    if any(EMAIL.search(text) for text in joined(messages)):
        return reject("Blocked: an address is in two parts.")
    if texts == [message.content for message in messages]:
        return {"action": {}}
    return {"action": {"body": body}}


@app.post("/request")
async def request(body: Annotated[Prompt, Body(embed=True)]) -> dict:
    return verdict(body, body.messages)


@app.post("/response")
async def response(body: Annotated[Reply, Body(embed=True)]) -> dict:
    return verdict(body, [choice.message for choice in body.choices])
