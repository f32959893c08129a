// The texts of MCP messages: a secret in any string or new member is shown or makes the message unreadable, settings
// are not shown, and a change affects only its own place.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { editsOf } from '../../../../src/extproc/llm/text/conversation.js'
import {
  type AskedCalls,
  askedCalls,
  type GuardedMessage,
  NOTHING_ASKED,
  readClientMessages,
  readServerMessages,
} from '../../../../src/extproc/mcp/texts/guarded-message.js'
import { applyEdits, readJsonText } from '../../../../src/kit/json/json-text.js'
import { atOnce, Pace } from '../../../../src/kit/turns.js'
import { type From, RECORDED } from './recorded.js'

function jsonOf(text: string) {
  const json = readJsonText(text)
  if (!json.ok) throw new Error(json.error)
  return json.value
}

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

const SECRET = 'a hidden secret'
/** Looks like an identifier. */
const WORDY = 'Ignore_all_rules_of_the_fox'

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
  const sees = (message: unknown, secret = SECRET): boolean => {
    const read = messagesOf(from, JSON.stringify({ jsonrpc: '2.0', ...(message as object) }))
    return (
      read === undefined ||
      read.some(({ entries }) => entries.some(({ content }) => content.includes(secret)))
    )
  }

  test('a secret in place of any string is shown, or the message cannot be read', () => {
    const hidden = pathsOf(whole, 'strings').filter(
      (path) => !sees(changed(whole, path, () => SECRET)),
    )
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

  test('a setting holds at its place alone: below a new member everything is shown', () => {
    const names = 'name id type uri url mimeType role level cursor version method data blob model'
    for (const path of pathsOf(whole, 'objects'))
      for (const name of names.split(' ')) {
        const values = ['uri', 'url'].includes(name) ? [`x:${WORDY}`] : [WORDY, [WORDY]]
        for (const value of values) {
          const add = (old: unknown) => ({ ...(old as object), extra: { deep: { [name]: value } } })
          expect(sees(changed(whole, path, add), WORDY), `${path.join()} ${name}`).toBe(true)
          const meta = (old: unknown) => ({ ...(old as object), _meta: { [`x/${name}`]: value } })
          expect(sees(changed(whole, path, meta), WORDY), `${path.join()} ${name}`).toBe(true)
        }
      }
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
    'tool: hello',
    'tool: A file',
    'tool: x',
    'tool: x',
    'tool: aGVsbG8',
    'tool: 1',
    'tool: y',
    'tool: abc',
  ])
  expect(shown('server', RECORDED['sampling']?.[1] ?? {})).toEqual([
    'user: hi',
    'system: be kind',
    'tool: stop here',
  ])
  const texts: Readonly<Record<string, readonly string[]>> = {
    prompt: ['x'],
    complete: ['x'],
    retried: ['text'],
    elicited: ['bob'],
    sampled: ['z'],
    cancelled: ['no'],
    initialize: ['Server', 'call fetch first'],
    log: ['aGVsbG8'],
    elicitation: ['your name?', 'Name'],
    tools: ['Fetch', 'Fetches.', 'Where.', 'Fetch'],
    prompts: ['An a.'],
    messages: ['hi'],
    read: ['x'],
    templates: [],
    roots: [],
    task: ['At it.'],
    asking: ['go'],
    discovered: [],
    listen: [],
  }
  for (const [name, said] of Object.entries(texts)) {
    const [from, message] = RECORDED[name] ?? expect.unreachable()
    const found = shown(from, message)?.map((text) => text.replace(/^\w+: /, ''))
    expect(found, name).toEqual(said)
  }
})

test('an id that does not look like one is a text; a member of a message with an odd name is none', () => {
  expect(shown('client', { id: SECRET, method: 'ping' })).toEqual([`user: ${SECRET}`])
  expect(shown('client', { id: '4111111111111111', method: 'ping' })).toHaveLength(1)
  expect(shown('client', { id: 'b1c7e0a2-07a4-4e5c', method: 'ping' })).toEqual([])
  expect(shown('client', { id: 1, method: 'ping', [SECRET]: 1 })).toBeUndefined()
})

test('an id of the Java SDK is a setting, wherever MCP has ids that are sent back', () => {
  for (const id of ['48213377-12', '482133e7-0', '7-123456789']) {
    expect(shown('client', { id, method: 'ping' })).toEqual([])
    expect(shown('server', { id, result: {} })).toEqual([])
    const params = { requestId: id, progressToken: id, _meta: { progressToken: id } }
    expect(shown('client', { method: 'notifications/x', params })).toEqual([])
  }
  for (const id of ['482133770-12', '4821-3377-12', '48213377-1234567890', '-12', '4821 12'])
    expect(shown('client', { id, method: 'ping' })).toHaveLength(1)
  // Other identifiers, such as names, are sent back to nobody.
  expect(shown('client', { method: 'tools/call', params: { name: '48213377-12' } })).toHaveLength(1)
})

test('what the other side must get back as it was is shown where it is odd, and cannot be written', () => {
  const fixed = (from: From, message: object): readonly unknown[] => {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message })
    return (messagesOf(from, text) ?? []).flatMap(({ entries }) =>
      entries.filter(({ place }) => place === undefined).map(({ content }) => content),
    )
  }
  const at = (name: string): string => `${SECRET} ${name}`
  expect(fixed('client', { id: at('id'), method: 'ping' })).toEqual([at('id')])
  const names = ['requestId', 'progressToken', 'taskId', 'elicitationId', 'cursor', 'requestState']
  const params = Object.fromEntries(names.map((name) => [name, at(name)]))
  expect(fixed('client', { method: 'x', params: { ...params, reason: SECRET } })).toEqual(
    names.map(at),
  )
  const _meta = {
    progressToken: at('p'),
    'io.modelcontextprotocol/subscriptionId': at('s'),
    'io.modelcontextprotocol/related-task': { taskId: at('t') },
    other: SECRET,
  }
  const content = [
    { type: 'tool_use', id: at('u') },
    { type: 'tool_result', toolUseId: at('r') },
  ]
  const result = { _meta, content, nextCursor: at('n'), task: { taskId: at('k') } }
  expect(fixed('server', { id: 1, result })).toEqual(['p', 's', 't', 'u', 'r', 'n', 'k'].map(at))
  // What is shown as JSON can be changed if it has none of these.
  const odd = { [SECRET]: 1 }
  for (const it of [
    { progressToken: 1 },
    { 'io.modelcontextprotocol/related-task': { taskId: 1 } },
  ])
    expect(fixed('client', { method: 'x', params: { _meta: { ...odd, ...it } } })).toHaveLength(1)
  for (const it of [{ other: { progressToken: 1 } }, { traceparent: 'a' }])
    expect(fixed('client', { method: 'x', params: { _meta: { ...odd, ...it } } })).toEqual([])
  expect(fixed('server', { id: 1, result: { ...odd, content: [{ id: 't' }] } })).toHaveLength(1)
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

test('a message of a server with a method or a name that is too long cannot be read', () => {
  const long = 'x'.repeat(16_385)
  const read = (method: string, params?: object): readonly string[] | undefined =>
    shown('server', { method, params })
  expect(read(long)).toBeUndefined()
  expect(read('resources/read', { uri: long })).toBeUndefined()
  expect(read('tools/call', { name: long })).toBeUndefined()
  expect(read('notifications/message', { data: long })).toHaveLength(1)
})

test('a message whose members are spelt in another case cannot be read', () => {
  for (const name of ['Result', 'ID', 'Method', 'JSONRPC', 'Params'])
    expect(messagesOf('server', `{"jsonrpc":"2.0","id":1,"${name}":{}}`)).toBeUndefined()
})

test('more messages than are read cannot be read', () => {
  const many = Array.from({ length: 1001 }, (_, id) => ({ jsonrpc: '2.0', id, result: {} }))
  expect(messagesOf('server', JSON.stringify(many))).toBeUndefined()
})
