// Step of the tour: a streamed answer through the guardrail, printed as it arrives.

import { expectMasked, expectStatus } from './expectation.js'
import { chatWith, openChat, readAnswer, textIn } from './llm-call.js'
import type { Model } from './parties.js'
import type { Print } from './print.js'

const PROMPT = 'Tell me about streams.'

/** url: the gateway's chat completions. Rejects as takeTour() does. */
export async function maskedStream(url: string, model: Model, print: Print): Promise<void> {
  print.step('An answer as a stream; the model speaks a few letters at a time')
  const chat = chatWith(PROMPT, true)
  print.request('POST', url, chat)
  const began = performance.now()
  const response = await openChat(url, chat)
  if (response.status !== 200) expectStatus('a stream', await readAnswer(response), 200)
  print.answer(200, 'the text as it came, after so many seconds; an address cut in five is masked:')
  let [whole, isSpeaking] = ['', true]
  for await (const text of wordsOf(textsOf(response))) {
    if (isSpeaking && !model.isSpeaking()) {
      isSpeaking = false
      print.text('      (the model has said its last word)')
    }
    whole += text
    print.received((performance.now() - began) / 1000, text.trim())
  }
  expectMasked('the stream', whole)
}

/** Yields whole words: an incomplete word waits for its rest. */
async function* wordsOf(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = ''
  for await (const text of texts) {
    const words = /^[^]*(?:\s|[.!?]$)/.exec(rest + text)?.[0] ?? ''
    rest = (rest + text).slice(words.length)
    if (words !== '') yield words
  }
  if (rest !== '') yield rest
}

/** Yields the model's text as it arrives; chunks that arrive together are joined. */
async function* textsOf(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of response.body ?? []) {
    const events = (rest + decoder.decode(bytes as Uint8Array, { stream: true })).split('\n\n')
    rest = events.pop() ?? ''
    const text = events.map((event) => textOfEvent(event.replace(/^data: /, ''))).join('')
    if (text !== '') yield text
  }
}

const textOfEvent = (data: string): string =>
  data === '[DONE]' ? '' : textIn(JSON.parse(data) as unknown)
