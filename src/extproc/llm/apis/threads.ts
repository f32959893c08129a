// Reads threads of OpenAI's assistants: messages, runs and their steps, in whole replies and in events with deltas.

import {
  asArray,
  asObject,
  type JsonObjectNode,
  member,
  present,
} from '../../../kit/json/members.js'
import type { Work } from '../../../kit/turns.js'
import {
  eventTexts,
  indexOf,
  repeated,
  spokenAt,
  type TextsAndEnds,
  together,
} from '../text/event-texts.js'
import { formOf } from '../text/form.js'
import type { FoundText, Source } from '../text/found-text.js'
import { OF_REPLY } from '../text/settings.js'
import { sweepObject } from '../text/sweep.js'
import { besideEvent } from './beside.js'

/** The form of messages, runs, steps, threads and assistants. */
export const THREADS = formOf(
  {
    reply: {
      content: 'inner',
      tools: 'definition',
      instructions: 'text',
      step_details: 'inner',
      required_action: 'inner',
    },
    content: { text: 'inner', refusal: 'text', image_url: 'inner' },
    text: { value: 'text', annotations: 'inner' },
    image_url: { url: 'file' },
    'step_details delta submit_tool_outputs': { tool_calls: 'inner', step_details: 'inner' },
    required_action: { submit_tool_outputs: 'inner' },
    tool_calls: { function: 'inner', code_interpreter: 'inner', file_search: 'open' },
    function: { arguments: 'jsonCall', output: 'result' },
    code_interpreter: { input: 'call', outputs: 'inner' },
    outputs: { logs: 'text', image: 'inner' },
  },
  OF_REPLY,
  {
    reply: {
      id: 'assistant_id thread_id run_id attachments',
      word: 'status role',
      open: 'incomplete_details last_error tool_resources truncation_strategy step_details',
    },
    content: { open: 'image_file' },
    'image_file image': { id: 'file_id', word: 'detail' },
    image_url: { word: 'detail' },
    annotations: { open: 'file_citation file_path' },
    'file_citation file_path': { id: 'file_id' },
    step_details: { open: 'message_creation' },
    message_creation: { id: 'message_id' },
    tool_calls: { id: 'id' },
    function: { name: 'name' },
    last_error: { type: 'code' },
    tool_resources: { open: 'code_interpreter file_search' },
    'code_interpreter file_search': { id: 'file_ids vector_store_ids' },
  },
)

/** What an event with a delta has beside it. It defines no tools. */
const BESIDE_DELTA = formOf({}, OF_REPLY)
/** What a delta has beside its parts. */
const IN_DELTA = formOf(
  {},
  {
    '': { type: 'type' },
    reply: { word: 'role', open: 'step_details' },
    step_details: { open: 'message_creation' },
    message_creation: { id: 'message_id' },
  },
)

const OBJECT = /^(?:thread(?:\.[\w.]+)?|assistant)$/

/** Returns what kind of object of threads it is; undefined: another. */
export function threadObject(body: JsonObjectNode): string | undefined {
  const object = body.members.get('object')
  return object?.type === 'string' && OBJECT.test(object.value) ? object.value : undefined
}

/** object: what threadObject() returns. */
export function* readThreadEvent(
  json: Source,
  root: JsonObjectNode,
  object: string,
): Work<TextsAndEnds> {
  const isDelta = object.endsWith('.delta')
  const given = present(member(root, 'delta'))
  const message = isDelta && given !== undefined ? asObject(given, 'a delta') : root
  const [read, texts] = yield* readParts(json, message)
  const beside = isDelta
    ? yield* readBesideDelta(json, message, root, read)
    : yield* besideEvent(root, spokenAt(json, 'event'), read, THREADS)
  const continuing = texts.map((text) => ({ ...text, continues: true }))
  if (isDelta) return together([eventTexts(continuing, isSaid), beside])
  const isOver = object === 'thread.message' && texts.length > 0
  return together([
    { texts: repeated(texts), ends: [] },
    beside,
    { texts: [], ends: isOver || object === 'thread.run' ? [''] : [] },
  ])
}

/** Whether deltas continue it: all but annotations. */
const isSaid = (channel: string): boolean => !channel.includes(' annotations ')

function* readBesideDelta(
  json: Source,
  delta: JsonObjectNode,
  root: JsonObjectNode,
  read: readonly string[],
): Work<TextsAndEnds> {
  return together([
    yield* besideEvent(delta, spokenAt(json, 'delta'), read, IN_DELTA),
    yield* besideEvent(root, spokenAt(json, 'event'), ['delta'], BESIDE_DELTA),
  ])
}

/** Returns the members that are read here: parts of a message, or calls of a step. */
function* readParts(
  json: Source,
  message: JsonObjectNode,
): Work<readonly [readonly string[], readonly FoundText[]]> {
  const content = present(member(message, 'content'))
  const details = present(member(message, 'step_details'))
  const calls = details && present(member(asObject(details, 'details'), 'tool_calls'))
  const found: FoundText[] = []
  if (content !== undefined) yield* readItems(json, content, 'content', found)
  if (calls !== undefined) yield* readItems(json, calls, 'tool_calls', found)
  if (calls !== undefined && details?.type === 'object')
    yield* sweepObject(details, 'step_details', spokenAt(json, 'details'), THREADS, found, {
      skip: CALLS,
    })
  return [['content', ...(calls === undefined ? [] : ['step_details'])], found]
}

const CALLS: ReadonlySet<string> = new Set(['tool_calls'])

/** Each item has its number, or is at its number. */
function* readItems(
  json: Source,
  node: Parameters<typeof asArray>[0],
  owner: 'content' | 'tool_calls',
  out: FoundText[],
): Work<void> {
  for (const [at, given] of asArray(node, owner).items.entries()) {
    if (json.pace.isDue()) yield
    const item = asObject(given, owner)
    const index = indexOf(json, member(item, 'index'), at)
    yield* sweepObject(item, owner, spokenAt(json, `${owner} ${index}`), THREADS, out)
  }
}
