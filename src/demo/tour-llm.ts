// The tour's last part: what a guardrail webhook does to prompts and replies, printed as it happens.

import { expectMasked, expectStatus, UnexpectedAnswer } from './expectation.js'
import { chatWith, openChat, readAnswer, textIn } from './llm-call.js'
import type { Print } from './print.js'
import { maskedStream } from './tour-llm-stream.js'

const PROMPT = 'I am bob@example.com. What do you know about me?'
const BLOCKED_PROMPT = 'The password is swordfish.'

/** origin: the gateway's. lastPrompt: what reached the model. Rejects as takeTour does. */
export async function takeLlmTour(
  origin: string,
  lastPrompt: () => string,
  print: Print,
): Promise<void> {
  const url = `${origin}/v1/chat/completions`
  print.heading('The tour: what a guardrail webhook does to LLM traffic')
  await maskedPrompt(url, lastPrompt, print)
  await blockedPrompt(url, lastPrompt, print)
  await maskedStream(url, print)
}

async function maskedPrompt(url: string, lastPrompt: () => string, print: Print): Promise<void> {
  print.step('A prompt with an e-mail address in it')
  const chat = chatWith(PROMPT)
  print.request('POST', url, chat)
  const answer = await readAnswer(await openChat(url, chat))
  expectStatus('a prompt with an address', answer, 200)
  const reply = textIn(answer.body)
  expectMasked('the prompt at the model', lastPrompt())
  expectMasked('the reply', reply)
  print.answer(200, 'the webhook has masked the address, and another that the model gave away:')
  print.detail('the model got', lastPrompt())
  print.detail('the client gets', reply)
}

async function blockedPrompt(url: string, lastPrompt: () => string, print: Print): Promise<void> {
  print.step('A prompt with a word that the webhook blocks')
  const chat = chatWith(BLOCKED_PROMPT)
  print.request('POST', url, chat)
  const answer = await readAnswer(await openChat(url, chat))
  expectStatus('a prompt with a blocked word', answer, 403)
  if (lastPrompt() === BLOCKED_PROMPT)
    throw new UnexpectedAnswer('expected that the model is not asked, but it was')
  print.answer(403, "with the webhook's own words; the model was not asked:")
  print.text(String(answer.body))
}
