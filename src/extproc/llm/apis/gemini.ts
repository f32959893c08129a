// Reads Gemini's generateContent: contents of requests, and candidates of replies. Every name has two spellings, as in
// all JSON of protobuf.

import type { JsonNode } from '../../../kit/json/json-node.js'
import { asObject, type JsonObjectNode, member, present } from '../../../kit/json/members.js'
import type { Work } from '../../../kit/turns.js'
import type { Entry } from '../text/conversation.js'
import { formOf, type Holds } from '../text/form.js'
import type { At, FoundText, Source } from '../text/found-text.js'
import { entriesOf, messageEntries, roleOf } from '../text/message.js'
import { OF_CONTENTS } from '../text/settings.js'
import { sweepObject } from '../text/sweep.js'

/** Arguments are an object or, in a stream, single values that grow. */
const CALL: Readonly<Record<string, Holds>> = { args: 'jsonCall', partialArgs: 'inner' }
const RESPONSE: Readonly<Record<string, Holds>> = { response: 'json', parts: 'result' }

/** The form of contents. */
export const CONTENTS = formOf(
  {
    content: { parts: 'inner' },
    parts: {
      text: 'text',
      inlineData: 'inner',
      inline_data: 'inner',
      functionCall: 'inner',
      function_call: 'inner',
      toolCall: 'inner',
      tool_call: 'inner',
      functionResponse: 'inner',
      function_response: 'inner',
      toolResponse: 'inner',
      tool_response: 'inner',
      executableCode: 'inner',
      executable_code: 'inner',
      codeExecutionResult: 'result',
      code_execution_result: 'result',
    },
    'inlineData inline_data': { data: 'file' },
    'functionCall function_call toolCall tool_call': CALL,
    partialArgs: { stringValue: 'call' },
    'functionResponse function_response toolResponse tool_response': RESPONSE,
  },
  OF_CONTENTS,
)

/** Accepts a single item in place of a list. otherwise: the role of items that name none. */
export function* readContents(
  node: JsonNode,
  json: Source,
  otherwise: string,
): Work<readonly Entry[]> {
  const parts: (readonly Entry[])[] = []
  for (const item of node.type === 'array' ? node.items : [node]) {
    if (json.pace.isDue()) yield
    const content = asObject(item, 'a content')
    const given = geminiRole(content, otherwise)
    // What a system instruction names as its role, which servers ignore, must be a role all the same.
    const role = otherwise === 'system' ? otherwise : given
    const found: FoundText[] = []
    yield* sweepContent(content, { json, role, toolRole: 'tool' }, found)
    parts.push(yield* messageEntries(json, found, role))
  }
  return parts.flat()
}

/** Reads a content. */
export const sweepContent = (content: JsonObjectNode, at: At, out: FoundText[]): Work<void> =>
  sweepObject(content, 'content', at, CONTENTS, out, { skip: ROLE })

const ROLE: ReadonlySet<string> = new Set(['role'])
const CONTENT: ReadonlySet<string> = new Set(['content'])

/** Returns the role by its name in the other APIs. */
export function geminiRole(content: JsonObjectNode, otherwise: string): string {
  const role = roleOf(content, otherwise)
  return role === 'model' ? 'assistant' : role
}

/** Reads the candidates of a whole reply. */
export function* readCandidates(node: JsonNode, json: Source): Work<readonly Entry[]> {
  const parts: (readonly Entry[])[] = []
  for (const item of node.type === 'array' ? node.items : [node]) {
    if (json.pace.isDue()) yield
    const candidate = asObject(item, 'a candidate')
    const given = present(member(candidate, 'content'))
    const content = given === undefined ? undefined : asObject(given, 'content')
    const role = content === undefined ? 'assistant' : geminiRole(content, 'model')
    const at: At = { json, role, toolRole: role }
    const found: FoundText[] = []
    if (content !== undefined) yield* sweepContent(content, at, found)
    yield* sweepObject(candidate, 'candidates', at, CONTENTS, found, { skip: CONTENT, first: 0 })
    parts.push(
      content === undefined
        ? yield* entriesOf(json, found)
        : yield* messageEntries(json, found, role),
    )
  }
  return parts.flat()
}
