// Reads the data of one event of a streamed reply, by its form (decision 18). An unknown form is an error, never an
// event without texts.

import { type JsonText, readJsonTextInTurns } from '../../kit/json/json-text.js'
import { asObject, type JsonObjectNode, member } from '../../kit/json/members.js'
import { UnreadableForm } from '../../kit/json/unreadable-form.js'
import { isOwnPart, ownPart } from '../../kit/own-text.js'
import { err, ok, type Result } from '../../kit/result.js'
import type { Work } from '../../kit/turns.js'
import { anythingIn } from './apis/beside.js'
import { isImageEvent, readImageEvent } from './apis/images.js'
import { isAgUiEvent, readAgUiEvent } from './apis/stream-ag-ui.js'
import { isAiSdkEvent, readAiSdkEvent } from './apis/stream-ai-sdk.js'
import { isMessageEvent, readMessageEvent } from './apis/stream-anthropic.js'
import { readChunk } from './apis/stream-choices.js'
import { isCohereEvent, readCohereEvent } from './apis/stream-cohere.js'
import { isConversationEvent, readConversationEvent } from './apis/stream-conversations.js'
import { GEMINI_MARKS, readGeminiChunk } from './apis/stream-gemini.js'
import { isInteractionEvent, readInteractionEvent } from './apis/stream-interactions.js'
import { isOllamaEvent, readOllamaEvent } from './apis/stream-ollama.js'
import { readResponseEvent } from './apis/stream-openai-responses.js'
import { readThreadEvent, threadObject } from './apis/threads.js'
import type { LlmApi } from './text/api.js'
import { beside, spokenAt, type TextsAndEnds } from './text/event-texts.js'
import {
  type FoundText,
  type Inspects,
  INSPECTS_NEITHER,
  type Source,
  sourceOf,
} from './text/found-text.js'
import { apiOfError } from './text/stream-error-event.js'
import type { Piece, Repeat, StreamEvent } from './text/stream-event.js'
import { LOG_PROBABILITIES } from './text/tokens.js'
import { usageOf } from './text/usage.js'

/** How the events of a reply are read. */
export interface ReadAs {
  readonly inspects: Inspects
  /** Whether the client is known to have asked for one choice alone. */
  readonly isOneChoice: boolean
}

/** Texts and tool calls alone, of any number of choices. */
export const READ_TEXTS: ReadAs = { inspects: INSPECTS_NEITHER, isOneChoice: false }

/** data: of one event other than "[DONE]". The error is a sentence without any text of it. */
export function* readStreamEvent(
  data: string,
  readAs = READ_TEXTS,
): Work<Result<StreamEvent, string>> {
  const json = yield* readJsonTextInTurns(data, { outlined: LOG_PROBABILITIES })
  if (!json.ok) return err(`an event of the stream cannot be read: ${json.error}`)
  try {
    return ok(yield* read(json.value, readAs))
  } catch (error) {
    if (error instanceof UnreadableForm) return err(error.message)
    throw error
  }
}

function* read(json: JsonText, { inspects, isOneChoice }: ReadAs): Work<StreamEvent> {
  const root = asObject(json.root, 'an event')
  const source = sourceOf(json.text, inspects, { isOneChoice })
  const [api, found] = yield* readForm(source, root)
  const texts = found.texts.toSorted((a, b) => a.place.start - b.place.start)
  const pieces: Piece[] = []
  const repeats: Repeat[] = []
  for (const text of texts) {
    if (source.pace.isDue()) yield
    const own = withOwnText(text, json.text)
    if (own.isRepeat === true) repeats.push(yield* asRepeat(own))
    else pieces.push(own)
  }
  const type = typeOf(root)
  return {
    api,
    json: { text: json.text },
    pieces,
    repeats: ofPieces(repeats, pieces),
    ends: found.ends,
    companions: source.companions,
    usage: usageOf(json),
    ...(type !== undefined && { type }),
  }
}

/** Arguments that are no JSON can be a part of a call alone. */
function* asRepeat({ isRepeat: _, ...repeat }: FoundText): Work<Repeat> {
  if (repeat.kind !== 'tool-call' || repeat.form !== 'string' || repeat.isJson !== true)
    return repeat
  const { isJson, ...other } = repeat
  return (yield* readJsonTextInTurns(repeat.text)).ok ? { ...other, isJson } : other
}

/** Tells repeats of pieces of the same event. */
function ofPieces(repeats: readonly Repeat[], pieces: readonly Piece[]): readonly Repeat[] {
  if (repeats.length === 0 || pieces.length === 0) return repeats
  const indexes = new Map(pieces.map(({ channel }, index) => [channel, index]))
  return repeats.map((repeat) => {
    const ofPiece = indexes.get(repeat.channel) ?? -1
    const piece = pieces[ofPiece]
    return piece?.text === repeat.text && piece.kind === repeat.kind && piece.form === 'string'
      ? { ...repeat, ofPiece }
      : repeat
  })
}

function typeOf(root: JsonObjectNode): string | undefined {
  const type = member(root, 'type')
  return type?.type === 'string' ? type.value.slice(0, LONGEST_TYPE) : undefined
}

/** Longer names of types are compared by their beginning. */
const LONGEST_TYPE = 128

/** What a channel says is kept until the reply ends, and its event may have megabytes beside it. */
const withOwnText = (found: FoundText, data: string): FoundText =>
  isOwnPart(found.text, data) && isOwnPart(found.role, data)
    ? found
    : { ...found, text: ownPart(found.text, data), role: ownPart(found.role, data) }

type Form = readonly [LlmApi, TextsAndEnds]

function* readForm(json: Source, root: JsonObjectNode): Work<Form> {
  const has = (name: string): boolean => member(root, name) !== undefined
  const isGemini = GEMINI_MARKS.some(has)
  if (has('choices') && isGemini) throw new UnreadableForm('an event is of two forms at once')
  if (has('choices')) return yield* readChoicesForm(json, root)
  if (isGemini) return ['gemini', yield* readGeminiChunk(json, root)]
  return yield* readTypedForm(json, root)
}

function* readTypedForm(json: Source, root: JsonObjectNode): Work<Form> {
  const type = typeOf(root)
  if (type?.startsWith('response.') === true)
    return ['openai-responses', yield* readResponseEvent(json, root, type)]
  if (type !== undefined && isMessageEvent(type))
    return ['anthropic-messages', yield* readMessageEvent(json, root, type)]
  if (type !== undefined) {
    const other = yield* readOtherTyped(json, root, type)
    if (other !== undefined) return other
  }
  const thread = threadObject(root)
  if (thread !== undefined) return ['openai-threads', yield* readThreadEvent(json, root, thread)]
  if (isInteractionEvent(root))
    return ['gemini-interactions', yield* readInteractionEvent(json, root)]
  if (isOllamaEvent(root)) return ['ollama', yield* readOllamaEvent(json, root)]
  const api = apiOfError(root)
  if (api !== undefined) return [api, yield* anything(root, json)]
  return [apiOfType(root, type), yield* anything(root, json)]
}

/** Returns the API of an event in no form that is known. Frames without a type are sent between the chunks of chats. */
function apiOfType(root: JsonObjectNode, type: string | undefined): LlmApi {
  if (type === undefined) return 'openai-chat'
  return member(root, 'sequence_number') === undefined ? 'anthropic-messages' : 'openai-responses'
}

/** Returns undefined for an event of another type. */
function* readOtherTyped(json: Source, root: JsonObjectNode, type: string): Work<Form | undefined> {
  if (isImageEvent(type)) return ['openai-images', yield* readImageEvent(json, root)]
  if (isCohereEvent(type)) return ['cohere', yield* readCohereEvent(json, root, type)]
  if (isAiSdkEvent(type, root)) return ['ai-sdk', yield* readAiSdkEvent(json, root, type)]
  if (isConversationEvent(type))
    return ['mistral-conversations', yield* readConversationEvent(json, root, type)]
  if (isAgUiEvent(type)) return ['ag-ui', yield* readAgUiEvent(json, root, type)]
  return undefined
}

function* readChoicesForm(json: Source, root: JsonObjectNode): Work<Form> {
  const choices = member(root, 'choices')
  const has = (name: string): boolean =>
    choices?.type === 'array' &&
    choices.items.some((choice) => choice.type === 'object' && choice.members.has(name))
  const object = member(root, 'object')
  const isText = object?.type === 'string' && object.value === 'text_completion'
  return !has('delta') && !has('message') && (isText || has('text'))
    ? ['openai-completions', yield* readChunk(json, root)]
    : ['openai-chat', yield* readChunk(json, root)]
}

function* anything(root: JsonObjectNode, json: Source): Work<TextsAndEnds> {
  const at = spokenAt(json, 'event')
  return yield* beside(yield* anythingIn(root, at), root, at)
}
