// Reads requests of every API: the members of a body, in the order in which webhooks see them. Members that its API
// lacks come last, in the order of the body (decision 19).

import type { JsonNode } from '../../../kit/json/json-node.js'
import {
  asArray,
  asString,
  type JsonObjectNode,
  member,
  present,
} from '../../../kit/json/members.js'
import type { Work } from '../../../kit/turns.js'
import type { Entry } from '../text/conversation.js'
import { type Form, type Holds, holdsOf } from '../text/form.js'
import type { At, FoundText, Source } from '../text/found-text.js'
import { entriesOf, numberedParts } from '../text/message.js'
import { GEMINI_REQUEST, REQUEST } from '../text/request-settings.js'
import { expectPlainNames, sweepMember } from '../text/sweep.js'
import { expectNoTokens, expectReadable, isPrompt } from '../text/vectors.js'
import { readEntries } from './entries.js'
import { readContents } from './gemini.js'
import { readBlocks, readMessages } from './messages.js'
import { readItems, readKeptPrompt } from './responses-items.js'

/** Kinds of bodies, each of which is read in its own way. */
export type Family =
  | 'messages'
  | 'completions'
  | 'input'
  | 'embeddings'
  | 'gemini'
  | 'conversation'
  | 'interaction'
  | 'thread'

/** json: the body that is read. */
type Reader = (node: JsonNode, json: Source) => Work<readonly Entry[]>

const beside =
  (role: string, holds?: Holds, form: Form = REQUEST) =>
  (name: string): Reader =>
    function* (node, json) {
      const found: FoundText[] = []
      const at: At = { json, role, toolRole: 'tool' }
      yield* sweepMember(node, { name, holds }, at, form, found)
      return yield* entriesOf(json, found)
    }

/** Members that servers put into a prompt, besides messages and input: vLLM, llama.cpp, Ollama, Anthropic. */
const BESIDE: Readonly<Record<string, (name: string) => Reader>> = {
  template: beside('system', 'texts'),
  input_prefix: beside('user', 'texts'),
  input_suffix: beside('user', 'texts'),
  input_extra: beside('user', 'texts'),
  documents: beside('user', 'texts'),
  chat_template: beside('system', 'texts'),
  chat_template_kwargs: beside('system', 'texts'),
  previous_input_messages: beside('user'),
  compaction: beside('system', 'open'),
  context_management: beside('system', 'open'),
}
/** Definitions of tools; webhooks are not shown them. */
const DEFINITIONS: Readonly<Record<Family, readonly string[]>> = {
  messages: ['tools', 'functions', 'toolConfig'],
  completions: [],
  input: ['tools'],
  embeddings: [],
  gemini: ['tools'],
  conversation: ['tools'],
  interaction: ['tools'],
  thread: ['tools'],
}

const strings = (what: string, role = 'user'): Reader =>
  function* (node, json) {
    // Lists of tokens contain numbers, not strings.
    const items = node.type === 'string' ? [node] : asArray(node, what).items
    for (const item of items) {
      if (json.pace.isDue()) yield
      asString(item, what)
    }
    return yield* beside(role, 'text')(what)(node, json)
  }

const instructions: Reader = (node, json) =>
  node.type === 'array'
    ? readItems(node, 'instructions', { json, role: 'system', toolRole: 'tool' })
    : strings('instructions', 'system')(node, json)

const input: Reader = (node, json) =>
  node.type === 'string'
    ? strings('input')(node, json)
    : readItems(node, 'input', { json, role: 'user', toolRole: 'tool' })

const contents =
  (otherwise: string): Reader =>
  (node, json) =>
    readContents(node, json, otherwise)

const blocks =
  (name: string, role: string): Reader =>
  (node, json) =>
    readBlocks(node, name, json, role)

type Members = Readonly<Record<string, Reader>>

const besideOf = (): Members =>
  Object.fromEntries(Object.entries(BESIDE).map(([name, reader]) => [name, reader(name)]))

/** Member → its reader, in the order of the entries. */
const FAMILIES: Readonly<Record<Family, Members>> = {
  messages: {
    system: blocks('system', 'system'),
    messages: readMessages,
    prediction: blocks('prediction', 'assistant'),
    ...besideOf(),
  },
  completions: {
    system: blocks('system', 'system'),
    prompt: strings('a prompt'),
    suffix: strings('a suffix'),
    ...besideOf(),
  },
  input: { instructions, prompt: readKeptPrompt, ...besideOf(), input },
  embeddings: { input: strings('an input'), ...besideOf() },
  conversation: { instructions, ...besideOf(), inputs: readEntries },
  interaction: {
    system_instruction: strings('a system instruction', 'system'),
    ...besideOf(),
    input: readEntries,
  },
  thread: {
    instructions,
    additional_instructions: beside('system', 'text')('additional_instructions'),
    additional_messages: readMessages,
    content: blocks('content', 'user'),
    ...besideOf(),
    tool_outputs: beside('tool', 'open')('tool_outputs'),
  },
  gemini: {
    systemInstruction: contents('system'),
    system_instruction: contents('system'),
    contents: contents('user'),
    ...besideOf(),
  },
}

const IN_ORDER: ReadonlyMap<Members, readonly (readonly [string, Reader])[]> = new Map(
  Object.values(FAMILIES).map((members) => [members, Object.entries(members)]),
)

export function* readMembers(
  body: JsonObjectNode,
  family: Family,
  json: Source,
): Work<readonly Entry[]> {
  yield* expectNoVectors(body, json)
  yield* expectPlainNames(body, json)
  const known = FAMILIES[family]
  const form = family === 'gemini' ? GEMINI_REQUEST : REQUEST
  const parts: (readonly Entry[])[] = []
  for (const [name, read] of IN_ORDER.get(known) ?? []) {
    const node = present(member(body, name))
    if (node !== undefined) parts.push(yield* read(node, json))
    // A model completes both as one text.
    if (family === 'completions' && name === 'suffix')
      parts.push(numberedParts(json, parts.splice(has(body, 'system') ? 1 : 0).flat()))
  }
  for (const [name, node] of body.members) {
    if (json.pace.isDue()) yield
    if (Object.hasOwn(known, name) || isSilent(node)) continue
    if (!NUMBERS.test(name)) yield* expectNoTokens(name, node, json)
    const isDefinition = DEFINITIONS[family].includes(name)
    const holds = isDefinition ? 'definition' : holdsOf(form, undefined, 'request', name)
    const read = beside('user', holds, form)(name)
    parts.push(yield* read(node, json))
  }
  return parts.flat()
}

const has = (body: JsonObjectNode, name: string): boolean =>
  present(member(body, name)) !== undefined

/** Whether a value contains no string: null, a boolean or a number. */
const isSilent = ({ type }: JsonNode): boolean =>
  type === 'null' || type === 'boolean' || type === 'number'

/** Settings that are lists of numbers: tokens that a model may or may not say, and KoboldCpp's order of samplers. */
const NUMBERS =
  /^(?:logit_bias|token_ids_logprob|(?:stop|allowed|bad|banned|eos|end|preserved|logprob|bootstrap)_\w+|sampler_order)$/

/** Rejects prompts as vectors or tokens, such as Ollama's context of an earlier reply. */
function* expectNoVectors(body: JsonObjectNode, json: Source): Work<void> {
  for (const [name, node] of body.members)
    if (isPrompt(name)) yield* expectReadable(name, node, json)
}
