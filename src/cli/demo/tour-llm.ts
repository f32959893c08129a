// Last part of the tour: what a guardrail webhook does to prompts and replies, printed as it happens.

import { expectMasked, expectStatus, UnexpectedAnswer } from './expectation.js'
import { chatWith, openChat, readAnswer, textIn } from './llm-call.js'
import type { Model } from './parties.js'
import type { Print } from './print.js'
import { maskedStream } from './tour-llm-stream.js'

const PROMPT = 'I am bob@example.com. What do you know about me?'
const BLOCKED_PROMPT = 'The password is swordfish.'

/** origin: origin of the gateway. Rejects as takeTour() does. */
export async function takeLlmTour(origin: string, model: Model, print: Print): Promise<void> {
  const url = `${origin}/v1/chat/completions`
  print.heading('The tour: what a guardrail webhook does to LLM traffic')
  await maskedPrompt(url, model, print)
  await blockedPrompt(url, model, print)
  await maskedStream(url, model, print)
}

async function maskedPrompt(url: string, model: Model, print: Print): Promise<void> {
  print.step('A prompt with an e-mail address in it')
  const chat = chatWith(PROMPT)
  print.request('POST', url, chat)
  const answer = await readAnswer(await openChat(url, chat))
  expectStatus('a prompt with an address', answer, 200)
  const reply = textIn(answer.body)
  expectMasked('the prompt at the model', model.lastPrompt())
  expectMasked('the reply', reply)
  print.answer(200, 'the webhook has masked the address, and another that the model gave away:')
  print.detail('the model got', model.lastPrompt())
  print.detail('the client gets', reply)
}

async function blockedPrompt(url: string, model: Model, print: Print): Promise<void> {
  print.step('A prompt with a word that the webhook blocks')
  const chat = chatWith(BLOCKED_PROMPT)
  print.request('POST', url, chat)
  const answer = await readAnswer(await openChat(url, chat))
  expectStatus('a prompt with a blocked word', answer, 403)
  if (model.lastPrompt() === BLOCKED_PROMPT)
    throw new UnexpectedAnswer('expected that the model is not asked, but it was')
  print.answer(403, "with the webhook's own words; the model was not asked:")
  print.text(String(answer.body))
}
