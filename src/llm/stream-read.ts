// The data of one event of a streamed reply → what it says, by the form that it has (decision 18). A form that is not
// known is an error, never an event without texts.

import { err, ok, type Result } from '../result.js'
import type { LlmApi } from './api.js'
import { UnreadableForm } from './conversation.js'
import { readJsonText, type JsonText } from './json-text.js'
import { asObject, member, type JsonObjectNode } from './members.js'
import { apiOfError, readErrorEvent } from './stream-error-event.js'
import type { Repeat, StreamEvent } from './stream-event.js'
import { readChatChunk } from './stream-openai-chat.js'
import { readCompletionChunk } from './stream-openai-completions.js'
import type { Said, SaidText } from './stream-said.js'

/** data: of one event, "[DONE]" apart. The error is a sentence without any text of it. */
export function readStreamEvent(data: string): Result<StreamEvent, string> {
  const json = readJsonText(data)
  if (!json.ok) return err(`an event of the stream cannot be read: ${json.error}`)
  try {
    return ok(read(json.value))
  } catch (error) {
    if (error instanceof UnreadableForm) return err(error.message)
    throw error
  }
}

function read(json: JsonText): StreamEvent {
  const root = asObject(json.root, 'an event')
  const [api, said] = readForm(json.text, root)
  const texts = said.texts.toSorted((a, b) => a.place.start - b.place.start)
  return {
    api,
    json,
    pieces: texts.filter(({ isRepeat }) => isRepeat !== true),
    repeats: texts.filter(({ isRepeat }) => isRepeat === true).map(asRepeat),
    ends: said.ends,
  }
}

const asRepeat = ({ isRepeat: _, ...repeat }: SaidText): Repeat => repeat

type Form = readonly [LlmApi, Said]

function readForm(json: string, root: JsonObjectNode): Form {
  const marks = ['choices', 'candidates'].filter((name) => member(root, name) !== undefined)
  if (marks.length > 1) throw new UnreadableForm('an event is of two forms at once')
  if (marks[0] === 'choices') return readChoicesForm(json, root)
  const api = apiOfError(root)
  if (api !== undefined) return [api, readErrorEvent(root)]
  throw new UnreadableForm('an event of the stream is of a form that is not known')
}

function readChoicesForm(json: string, root: JsonObjectNode): Form {
  const choices = member(root, 'choices')
  const has = (name: string): boolean =>
    choices?.type === 'array' &&
    choices.items.some((choice) => choice.type === 'object' && choice.members.has(name))
  const object = member(root, 'object')
  const isText = object?.type === 'string' && object.value === 'text_completion'
  return !has('delta') && !has('message') && (isText || has('text'))
    ? ['openai-completions', readCompletionChunk(json, root)]
    : ['openai-chat', readChatChunk(json, root)]
}
