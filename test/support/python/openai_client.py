"""OpenAI's official Python client, driven by one test: the gateway's origin in argv, a question per line on stdin.

{"path": route, "api": "chat" | "responses", "stream": bool, "prompt": text} is answered with one line on stdout:
{"text": text} or {"error": class, "status": number or null, "text": what came before it}.
"""

import json
import sys

import openai


def chat(client, prompt, stream):
    messages = [{"role": "user", "content": prompt}]
    answer = client.chat.completions.create(model="m", messages=messages, stream=stream)
    if not stream:
        yield answer.choices[0].message.content
        return
    for chunk in answer:
        for choice in chunk.choices:
            yield choice.delta.content or ""


def responses(client, prompt, stream):
    answer = client.responses.create(model="m", input=prompt, stream=stream)
    if not stream:
        yield answer.output_text
        return
    for event in answer:
        if event.type == "response.output_text.delta":
            yield event.delta


APIS = {"chat": chat, "responses": responses}


def ask(origin, question):
    base_url = f"{origin}{question['path']}/v1"
    client = openai.OpenAI(base_url=base_url, api_key="k", max_retries=0, timeout=30)
    text = ""
    try:
        for part in APIS[question["api"]](client, question["prompt"], question["stream"]):
            text += part
    except openai.OpenAIError as error:
        status = getattr(error, "status_code", None)
        return {"error": type(error).__name__, "status": status, "text": text}
    return {"text": text}


for line in sys.stdin:
    print(json.dumps(ask(sys.argv[1], json.loads(line))), flush=True)
