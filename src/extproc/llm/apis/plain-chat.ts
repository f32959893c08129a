// Reads chat completions that hold nothing but texts and settings, as most bodies do, in one pass. The result is that of
// the general readers, which read every other body.

import { type JsonNode, span } from '../../../kit/json/json-node.js'
import type { JsonObjectNode } from '../../../kit/json/members.js'
import { Pace } from '../../../kit/turns.js'
import type { Entry } from '../text/conversation.js'
import { type Form, holdsOf } from '../text/form.js'
import { REQUEST } from '../text/request-settings.js'
import { isShaped } from '../text/shapes.js'
import { IN_REPLY } from './beside.js'
import { MESSAGES } from './messages.js'

/** Members of a request that hold no text when they are scalars or have the shape of a setting. */
const OF_REQUEST: ReadonlySet<string> = new Set([
  'model',
  'stream',
  'temperature',
  'top_p',
  'top_k',
  'n',
  'seed',
  'user',
  'store',
  'max_tokens',
  'max_completion_tokens',
  'presence_penalty',
  'frequency_penalty',
  'reasoning_effort',
  'service_tier',
  'verbosity',
  'safety_identifier',
  'prompt_cache_key',
  'top_logprobs',
  'parallel_tool_calls',
])
/** The same for a reply. */
const OF_REPLY: ReadonlySet<string> = new Set([
  'id',
  'object',
  'created',
  'model',
  'system_fingerprint',
  'service_tier',
])
const OF_USAGE: ReadonlySet<string> = new Set([
  'prompt_tokens',
  'completion_tokens',
  'total_tokens',
  'cached_tokens',
  'audio_tokens',
  'reasoning_tokens',
  'accepted_prediction_tokens',
  'rejected_prediction_tokens',
])
const DETAILS: ReadonlySet<string> = new Set(['prompt_tokens_details', 'completion_tokens_details'])
/** Members of a reply's message that are null or empty when it has nothing but text. */
const OF_MESSAGE: ReadonlySet<string> = new Set([
  'refusal',
  'annotations',
  'tool_calls',
  'function_call',
  'audio',
  'reasoning_content',
])
const ROLES: ReadonlySet<string> = new Set(['system', 'developer', 'user', 'assistant'])

/** More messages or choices are left to the general readers, which let other work run. */
const MOST_ITEMS = 64

/** Returns the entries of a request, or undefined if it may hold anything but texts and settings. */
export function plainRequest(root: JsonNode): readonly Entry[] | undefined {
  const body = plainObject(root)
  const items = itemsOf(body?.members.get('messages'))
  if (body === undefined || items === undefined) return undefined
  for (const [name, node] of body.members)
    if (name !== 'messages' && !(OF_REQUEST.has(name) && isSilent(node, REQUEST, 'request', name)))
      return undefined
  return entriesOf(items, (item) => messageOf(item, NOTHING_ELSE))
}

/** Does the same for a reply. */
export function plainReply(root: JsonNode): readonly Entry[] | undefined {
  const body = plainObject(root)
  const items = itemsOf(body?.members.get('choices'))
  if (body === undefined || items === undefined) return undefined
  for (const [name, node] of body.members) {
    if (name === 'choices') continue
    const isPlain =
      name === 'usage'
        ? isUsage(node)
        : OF_REPLY.has(name) && isSilent(node, IN_REPLY, 'reply', name)
    if (!isPlain) return undefined
  }
  return entriesOf(items, choiceOf)
}

/** An object whose names are in lower case. */
const plainObject = (node: JsonNode | undefined): JsonObjectNode | undefined =>
  node?.type === 'object' && node.unusual === undefined ? node : undefined

const itemsOf = (node: JsonNode | undefined): readonly JsonNode[] | undefined =>
  node?.type === 'array' && node.isCut !== true && node.items.length <= MOST_ITEMS
    ? node.items
    : undefined

/** undefined: not every item is plain. */
function entriesOf(
  items: readonly JsonNode[],
  entryOf: (item: JsonNode) => Entry | undefined,
): readonly Entry[] | undefined {
  const entries: Entry[] = []
  for (const item of items) {
    const entry = entryOf(item)
    if (entry === undefined) return undefined
    entries.push(entry)
  }
  return entries
}

const NOTHING_ELSE: ReadonlySet<string> = new Set()

/** empty: members beside role and content that it may have if they are empty. */
function messageOf(node: JsonNode | undefined, empty: ReadonlySet<string>): Entry | undefined {
  const message = plainObject(node)
  const role = message?.members.get('role')
  const content = message?.members.get('content')
  if (message === undefined || role?.type !== 'string' || content?.type !== 'string')
    return undefined
  if (!ROLES.has(role.value)) return undefined
  if (message.members.size > 2)
    for (const [name, value] of message.members)
      if (name !== 'role' && name !== 'content' && !(empty.has(name) && isEmpty(value)))
        return undefined
  return {
    kind: 'text',
    role: role.value,
    content: content.value,
    place: span(content),
    form: 'string',
  }
}

function choiceOf(node: JsonNode): Entry | undefined {
  const choice = plainObject(node)
  if (choice === undefined) return undefined
  for (const [name, value] of choice.members) {
    const isPlain =
      name === 'message' ||
      (name === 'index' && isScalar(value)) ||
      (name === 'logprobs' && value.type === 'null') ||
      (name === 'finish_reason' && isSilent(value, MESSAGES, 'choices', name))
    if (!isPlain) return undefined
  }
  return messageOf(choice.members.get('message'), OF_MESSAGE)
}

const isScalar = ({ type }: JsonNode): boolean =>
  type === 'number' || type === 'null' || type === 'boolean'

const isEmpty = (node: JsonNode): boolean =>
  node.type === 'null' || (node.type === 'array' && node.isCut !== true && node.items.length === 0)

/** owner: the name of the member that contains the object. */
const isSilent = (node: JsonNode, form: Form, owner: string, name: string): boolean =>
  node.type === 'string'
    ? isShaped(holdsOf(form, undefined, owner, name), node.value, PACE) === true
    : isScalar(node)

/** The pace of strings that are too short to need one. */
const PACE = new Pace()

function isUsage(node: JsonNode): boolean {
  const usage = plainObject(node)
  if (usage === undefined) return false
  for (const [name, value] of usage.members)
    if (!(DETAILS.has(name) ? isCounts(value) : OF_USAGE.has(name) && isScalar(value))) return false
  return true
}

function isCounts(node: JsonNode): boolean {
  if (node.type === 'null') return true
  const counts = plainObject(node)
  if (counts === undefined) return false
  for (const [name, value] of counts.members)
    if (!(OF_USAGE.has(name) && isScalar(value))) return false
  return true
}
