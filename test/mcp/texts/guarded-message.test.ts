// The texts of MCP messages: a secret in any string or new member is shown or makes the message unreadable, settings
// are not shown, and a change affects only its own place.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { applyEdits, readJsonText } from '../../../src/json/json-text.js'
import { editsOf } from '../../../src/llm/text/conversation.js'
import {
  type AskedCalls,
  askedCalls,
  type GuardedMessage,
  NOTHING_ASKED,
  readClientMessages,
  readServerMessages,
} from '../../../src/mcp/texts/guarded-message.js'
import { atOnce, Pace } from '../../../src/turns.js'

function jsonOf(text: string) {
  const json = readJsonText(text)
  if (!json.ok) throw new Error(json.error)
  return json.value
}

type From = 'client' | 'server'

/** undefined: the text cannot be read. */
function messagesOf(
  from: From,
  text: string,
  asked: AskedCalls = NOTHING_ASKED,
): readonly GuardedMessage[] | undefined {
  const json = jsonOf(text)
  const read = atOnce(
    from === 'client' ? readClientMessages(json) : readServerMessages(json, asked),
  )
  return read.ok ? read.value : undefined
}

const shown = (from: From, message: object, asked?: AskedCalls): readonly string[] | undefined =>
  messagesOf(from, JSON.stringify({ jsonrpc: '2.0', ...message }), asked)?.flatMap(({ entries }) =>
    entries.map(({ role, content }) => `${role}: ${content}`),
  )

const META = {
  progressToken: 'p-1',
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'client', version: '1.0' },
}

/** Messages with the members of all revisions. */
const RECORDED: Readonly<Record<string, readonly [From, object]>> = {
  call: [
    'client',
    {
      id: 1,
      method: 'tools/call',
      params: { name: 'fetch', arguments: { a: 'x', b: [{ c: 'y' }], n: 1 }, _meta: META },
    },
  ],
  prompt: [
    'client',
    { id: 1, method: 'prompts/get', params: { name: 'p', arguments: { a: 'x' } } },
  ],
  complete: [
    'client',
    {
      id: 1,
      method: 'completion/complete',
      params: { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: 'x' } },
    },
  ],
  retried: [
    'client',
    {
      id: 2,
      method: 'tools/call',
      params: {
        name: 'fetch',
        arguments: {},
        inputResponses: { k: { action: 'accept', content: { type: 'text' } } },
        requestState: 'abc=',
      },
    },
  ],
  elicited: ['client', { id: 's', result: { action: 'accept', content: { name: 'bob', age: 3 } } }],
  sampled: [
    'client',
    {
      id: 's',
      result: {
        ...{ role: 'assistant', model: 'm', stopReason: 'endTurn' },
        content: [{ type: 'tool_use', id: 't', name: 'x', input: { q: 'z' } }],
      },
    },
  ],
  cancelled: [
    'client',
    { method: 'notifications/cancelled', params: { requestId: 1, reason: 'no' } },
  ],
  result: [
    'server',
    {
      id: 1,
      result: {
        content: [
          { type: 'text', text: 'hello', annotations: { audience: ['user'], priority: 1 } },
          { type: 'image', mimeType: 'image/png', data: 'aGVsbG8=' },
          { type: 'resource_link', uri: 'file:///a', name: 'a', title: 'A file', size: 1 },
          { type: 'resource', resource: { uri: 'file:///a', mimeType: 'text/plain', text: 'x' } },
          { type: 'resource', resource: { uri: 'file:///b', blob: 'aGVsbG8=' } },
        ],
        structuredContent: { a: 'x', data: 'aGVsbG8', id: '1', nested: { type: 'y' } },
        ...{ isError: false, resultType: 'complete', _meta: { trace: 'abc' } },
      },
    },
  ],
  initialize: [
    'server',
    {
      id: 0,
      result: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: 's', version: '1', title: 'Server', icons: [{ src: 'https://a/b' }] },
        instructions: 'call fetch first',
      },
    },
  ],
  error: ['server', { id: 1, error: { code: -1, message: 'it failed', data: { why: 'x' } } }],
  log: [
    'server',
    { method: 'notifications/message', params: { level: 'info', logger: 'l', data: 'aGVsbG8' } },
  ],
  sampling: [
    'server',
    {
      id: 's',
      method: 'sampling/createMessage',
      params: {
        messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }],
        modelPreferences: { hints: [{ name: 'claude' }] },
        ...{ systemPrompt: 'be kind', includeContext: 'none', stopSequences: ['stop here'] },
      },
    },
  ],
  elicitation: [
    'server',
    {
      id: 's',
      method: 'elicitation/create',
      params: {
        mode: 'form',
        message: 'your name?',
        requestedSchema: {
          type: 'object',
          properties: { name: { type: 'string', format: 'email', title: 'Name' } },
          required: ['name'],
        },
      },
    },
  ],
  other: ['server', { detail: 'not found' }],
}

const SECRET = 'a hidden secret'

type Step = string | number

/** Paths of all strings, or of all objects, in a value. */
function pathsOf(value: unknown, what: 'strings' | 'objects', at: readonly Step[] = []): Step[][] {
  const own =
    what === 'strings'
      ? typeof value === 'string'
      : typeof value === 'object' && !Array.isArray(value)
  const below =
    typeof value !== 'object' || value === null
      ? []
      : Object.entries(value).flatMap(([name, inner]) =>
          pathsOf(inner, what, [...at, Array.isArray(value) ? Number(name) : name]),
        )
  return [...(own ? [[...at]] : []), ...below]
}

/** A copy with another value at the path. */
function changed(
  value: unknown,
  path: readonly Step[],
  change: (old: unknown) => unknown,
): unknown {
  const [step, ...rest] = path
  if (step === undefined) return change(value)
  if (Array.isArray(value))
    return value.map((item: unknown, index) =>
      index === step ? changed(item, rest, change) : item,
    )
  const object = value as Readonly<Record<string, unknown>>
  return { ...object, [step]: changed(object[step], rest, change) }
}

describe.each(Object.entries(RECORDED))('%s', (name, [from, recorded]) => {
  const whole = recorded
  const sees = (message: unknown): boolean => {
    const read = messagesOf(from, JSON.stringify({ jsonrpc: '2.0', ...(message as object) }))
    return (
      read === undefined ||
      read.some(({ entries }) => entries.some(({ content }) => content.includes(SECRET)))
    )
  }

  test('a secret in place of any string is shown, or the message cannot be read', () => {
    const strings = pathsOf(whole, 'strings').filter((path) => path.join() !== 'id')
    const hidden = strings.filter((path) => !sees(changed(whole, path, () => SECRET)))
    expect(hidden).toEqual([])
  })

  test('a secret in a new member, value or name, is shown, or the message cannot be read', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...pathsOf(whole, 'objects')),
        fc.constantFrom<(old: object) => object>(
          (old) => ({ ...old, extra: SECRET }),
          (old) => ({ ...old, name: SECRET }),
          (old) => ({ ...old, data: SECRET }),
          (old) => ({ ...old, tokens: [SECRET] }),
          (old) => ({ ...old, extra: [[{ deep: SECRET }]] }),
          // The tools of a sampling request are definitions.
          (old) => ({ ...old, [name === 'sampling' ? 'notes' : 'tools']: [{ about: SECRET }] }),
          (old) => ({ ...old, extra: { [SECRET]: 1 } }),
        ),
        (path, add) => {
          expect(sees(changed(whole, path, (old) => add(old as object)))).toBe(true)
        },
      ),
    )
  })

  test('a change reaches its place alone', () => {
    const text = JSON.stringify({ jsonrpc: '2.0', ...whole }, undefined, 1)
    const entries = (messagesOf(from, text) ?? []).flatMap((message) => message.entries)
    for (const [index, { content, isJson }] of entries.entries()) {
      const contents = entries.map((entry, at) =>
        at !== index ? entry.content : isJson === true ? '{}' : `${content}!`,
      )
      const edits = atOnce(editsOf(entries, contents, new Pace()))
      expect(edits).toHaveLength(1)
      const again = (messagesOf(from, atOnce(applyEdits(text, edits, new Pace()))) ?? []).flatMap(
        (message) => message.entries,
      )
      if (isJson !== true) expect(again.map((entry) => entry.content)).toEqual(contents)
    }
  })
})

test('settings are silent, data is not', () => {
  expect(shown('client', RECORDED['call']?.[1] ?? {})).toEqual([
    'tool_argument: x',
    'tool_argument: y',
  ])
  expect(shown('server', RECORDED['result']?.[1] ?? {})).toEqual([
    ...['tool: hello', 'tool: A file', 'tool: x', 'tool: x', 'tool: aGVsbG8', 'tool: 1', 'tool: y'],
  ])
  expect(shown('server', RECORDED['sampling']?.[1] ?? {})).toEqual([
    ...['user: hi', 'system: be kind', 'tool: stop here'],
  ])
})

describe('definitions', () => {
  const asked = (method: string): AskedCalls =>
    askedCalls(jsonOf(JSON.stringify({ jsonrpc: '2.0', id: 1, method })))
  const list = { id: 1, result: { tools: [{ name: 't', description: 'a tool' }], note: 'n n' } }

  test('are not shown in the answer to a request for them, and are elsewhere', () => {
    expect(shown('server', list, asked('tools/list'))).toEqual(['tool: n n'])
    expect(shown('server', list, asked('tools/call'))).toEqual(['tool: a tool', 'tool: n n'])
    expect(shown('server', list)).toEqual(['tool: a tool', 'tool: n n'])
  })

  test('are shown where two requests have one id', () => {
    const twice = ['tools/list', 'tools/call'].map((method) => ({ jsonrpc: '2.0', id: 1, method }))
    expect(shown('server', list, askedCalls(jsonOf(JSON.stringify(twice))))).toContain(
      'tool: a tool',
    )
  })
})

describe('where webhooks inspect', () => {
  const inspected = (message: object, method: string): readonly string[] => {
    const asked = askedCalls(jsonOf(JSON.stringify({ jsonrpc: '2.0', id: 1, method })))
    const json = jsonOf(JSON.stringify({ jsonrpc: '2.0', id: 1, result: message }))
    const read = atOnce(readServerMessages(json, asked, { tools: true, files: true }))
    if (!read.ok) throw new Error(read.error)
    return read.value.flatMap(({ entries }) =>
      entries.map(({ kind, role, content }) => `${kind} ${role}: ${content}`),
    )
  }

  test('tools, definitions are shown', () => {
    const tools = [
      { name: 't', description: 'a tool', inputSchema: { properties: { a: { title: 'an a' } } } },
    ]
    expect(inspected({ tools }, 'tools/list')).toEqual([
      'definition tool_definition: a tool',
      'definition tool_definition: an a',
    ])
    const prompts = [{ name: 'p', description: 'a prompt' }]
    expect(inspected({ prompts }, 'prompts/list')).toEqual(['definition tool_definition: a prompt'])
  })

  test('files, those whose bytes are text are shown', () => {
    const blob = Buffer.from('a note').toString('base64')
    expect(inspected({ contents: [{ uri: 'a:b', blob }] }, 'resources/read')).toEqual([
      'file tool: a note',
    ])
    const image = { type: 'image', mimeType: 'image/png', data: 'iVBORw0KGgoAAAANSUhEUg==' }
    expect(inspected({ content: [image] }, 'tools/call')).toEqual([])
  })
})

test('a message whose members are spelt in another case cannot be read', () => {
  for (const name of ['Result', 'ID', 'Method', 'JSONRPC', 'Params'])
    expect(messagesOf('server', `{"jsonrpc":"2.0","id":1,"${name}":{}}`)).toBeUndefined()
})

test('more messages than are read cannot be read', () => {
  const many = Array.from({ length: 1001 }, (_, id) => ({ jsonrpc: '2.0', id, result: {} }))
  expect(messagesOf('server', JSON.stringify(many))).toBeUndefined()
})
