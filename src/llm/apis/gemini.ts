// Gemini's generateContent: contents of requests and candidates of replies. Every name has two spellings, as in all
// JSON of protobuf.

import type { JsonNode } from '../json/json-text.js'
import { asObject, type JsonObjectNode, member, present } from '../json/members.js'
import type { Entry } from '../text/conversation.js'
import { entriesOf, messageEntries, roleOf } from '../text/message.js'
import type { At, SaidText, Source } from '../text/said.js'
import { formOf, type Holds, sweepObject } from '../text/sweep.js'

/** Arguments are an object, or in a stream come one by one, as their values grow. */
const CALL: Readonly<Record<string, Holds>> = { args: 'jsonCall', partialArgs: 'inner' }
const RESPONSE: Readonly<Record<string, Holds>> = { response: 'json', parts: 'result' }

export const CONTENTS = formOf({
  '': {
    ...{ parts: 'inner', text: 'text', inlineData: 'inner', inline_data: 'inner' },
    ...{ functionCall: 'inner', function_call: 'inner', toolCall: 'inner', tool_call: 'inner' },
    ...{ functionResponse: 'inner', function_response: 'inner' },
    ...{ toolResponse: 'inner', tool_response: 'inner' },
    ...{ executableCode: 'inner', executable_code: 'inner' },
    ...{ codeExecutionResult: 'result', code_execution_result: 'result' },
  },
  inlineData: { data: 'file' },
  inline_data: { data: 'file' },
  functionCall: CALL,
  function_call: CALL,
  toolCall: CALL,
  tool_call: CALL,
  partialArgs: { stringValue: 'call' },
  functionResponse: RESPONSE,
  function_response: RESPONSE,
  toolResponse: RESPONSE,
  tool_response: RESPONSE,
})

/** One item is taken for a list of it. otherwise: the role of those that name none. */
export const readContents = (node: JsonNode, json: Source, otherwise: string): readonly Entry[] =>
  (node.type === 'array' ? node.items : [node]).flatMap((item) => {
    const content = asObject(item, 'a content')
    const role = otherwise === 'system' ? otherwise : geminiRole(content, otherwise)
    const said: SaidText[] = []
    sweepContent(content, { json, role, toolRole: 'tool' }, said)
    return messageEntries(said, role)
  })

export const sweepContent = (content: JsonObjectNode, at: At, out: SaidText[]): void =>
  sweepObject(content, 'content', at, CONTENTS, out, { skip: ROLE })

const ROLE: ReadonlySet<string> = new Set(['role'])
const CONTENT: ReadonlySet<string> = new Set(['content'])

/** As the other APIs name it. */
export function geminiRole(content: JsonObjectNode, otherwise: string): string {
  const role = roleOf(content, otherwise)
  return role === 'model' ? 'assistant' : role
}

/** The candidates of a whole reply. */
export const readCandidates = (node: JsonNode, json: Source): readonly Entry[] =>
  (node.type === 'array' ? node.items : [node]).flatMap((item) => {
    const candidate = asObject(item, 'a candidate')
    const given = present(member(candidate, 'content'))
    const content = given === undefined ? undefined : asObject(given, 'content')
    const role = content === undefined ? 'assistant' : geminiRole(content, 'model')
    const at: At = { json, role, toolRole: role }
    const said: SaidText[] = []
    if (content !== undefined) sweepContent(content, at, said)
    sweepObject(candidate, 'candidates', at, CONTENTS, said, { skip: CONTENT, first: 0 })
    return content === undefined ? entriesOf(said) : messageEntries(said, role)
  })
