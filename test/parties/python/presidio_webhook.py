"""A guardrail webhook whose detector is Presidio: masks e-mail addresses, card numbers and IP addresses.

No language model is needed for these: a blank pipeline cuts the text into words, and nothing is fetched.
"""

from typing import Annotated

import spacy
import tldextract
from fastapi import Body, FastAPI
from presidio_analyzer import AnalyzerEngine
from presidio_analyzer.nlp_engine import SpacyNlpEngine
from presidio_anonymizer import AnonymizerEngine
from pydantic import BaseModel

ENTITIES = ["EMAIL_ADDRESS", "CREDIT_CARD", "IP_ADDRESS"]

# The list of public suffixes that comes with the package, instead of one from the internet.
tldextract.tldextract.TLD_EXTRACTOR = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)


class BlankPipeline(SpacyNlpEngine):
    def __init__(self):
        super().__init__()
        self.nlp = {"en": spacy.blank("en")}


analyzer = AnalyzerEngine(nlp_engine=BlankPipeline(), supported_languages=["en"])
anonymizer = AnonymizerEngine()
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


def mask(message: Message) -> bool:
    """Whether there was something to mask."""
    found = analyzer.analyze(message.content, language="en", entities=ENTITIES)
    message.content = anonymizer.anonymize(message.content, found).text
    return found != []


def verdict(body: Prompt | Reply, messages: list[Message]) -> dict:
    masked = [mask(message) for message in messages]
    return {"action": {"body": body} if any(masked) else {"reason": "nothing found"}}


@app.post("/request")
def request(body: Annotated[Prompt, Body(embed=True)]) -> dict:
    return verdict(body, body.messages)


@app.post("/response")
def response(body: Annotated[Reply, Body(embed=True)]) -> dict:
    return verdict(body, [choice.message for choice in body.choices])
