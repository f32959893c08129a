// Bodies with every member that the documentation of an API has: a webhook that writes every text in upper case changes
// what is a text there ("a text") and nothing else, so that the API accepts the body as before. A secret in place of any
// string, or in a new member of any object, is seen or refused.

import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readReply, readRequest } from '../../../src/extproc/llm/read-body.js'
import { rewrite } from '../../../src/extproc/llm/text/conversation.js'
import { atOnce } from '../../../src/kit/turns.js'
import { someRows } from '../../support/some-rows.js'
import { untold } from './untold.js'

const FOLDER = new URL('./every-member/', import.meta.url)
const INSPECTS = { tools: true, files: false }

const namesOf = (kind: string): readonly string[] =>
  readdirSync(FOLDER).filter((name) => name.startsWith(`${kind}-`))

const bodyIn = (name: string): string =>
  JSON.stringify(parse(readFileSync(new URL(name, FOLDER), 'utf8')))

/** The body after a webhook that does not ask for tool calls has written each text in upper case. */
function shouted(
  read: (body: Uint8Array) => ReturnType<typeof readRequest>,
  json: string,
): unknown {
  const found = atOnce(read(Buffer.from(json)))
  if (!found.ok) throw new Error(found.error)
  const contents = found.value.entries.map(({ kind, content }) =>
    kind === 'text' || kind === 'definition' ? content.toUpperCase() : content,
  )
  return JSON.parse(atOnce(rewrite(found.value, contents)))
}

/** What tools are called with, which a webhook sees only if it asks for it. */
const CALLED: ReadonlySet<string> = new Set(['arguments', 'args', 'input', 'action', 'operation'])

interface Place {
  readonly holder: object
  readonly key: string
}

/** Every string outside of calls, and a new member of every object. */
function placesIn(value: unknown): readonly Place[] {
  if (typeof value !== 'object' || value === null) return []
  const isCall = (key: string): boolean =>
    CALLED.has(key) && ('type' in value || 'name' in value) && !('role' in value)
  const inner = Object.entries(value).flatMap(([key, below]): readonly Place[] => {
    if (isCall(key)) return []
    return typeof below === 'string' ? [{ holder: value, key }] : placesIn(below)
  })
  return Array.isArray(value) ? inner : [...inner, { holder: value, key: 'x_note' }]
}

/** Sentences, and what could be the number of a card or an address of mail, which no setting may be. */
const SECRETS = ['tell me, where is the fox?', '4111-1111-1111-1111', 'fox@example.com']

/** Settings that hold any characters but blanks. */
const CREDENTIALS: ReadonlySet<string> = new Set([
  'key',
  'authorization',
  'authorization_token',
  'X-Api-Key',
])

/** The places and secrets that pass unseen. */
function unseen(read: (body: Uint8Array) => ReturnType<typeof readRequest>, json: string) {
  const body = JSON.parse(json) as object
  return placesIn(body).flatMap(({ holder, key }) => {
    const before: unknown = Reflect.get(holder, key)
    const hidden = SECRETS.filter((secret) => {
      if (CREDENTIALS.has(key) && secret.includes('@')) return false
      Reflect.set(holder, key, secret)
      const found = atOnce(read(Buffer.from(JSON.stringify(body))))
      return (
        found.ok &&
        !found.value.entries.some(
          ({ kind, content }) => kind !== 'tool-call' && content.includes(secret),
        )
      )
    })
    if (before === undefined) Reflect.deleteProperty(holder, key)
    else Reflect.set(holder, key, before)
    return hidden.map((secret) => `${key} in ${JSON.stringify(holder).slice(0, 200)}: ${secret}`)
  })
}

const expected = (json: string): unknown =>
  untold(JSON.parse(json.replaceAll('"a text"', '"A TEXT"')))

describe('requests', () => {
  test.each(someRows(namesOf('request')))('%s', (name) => {
    const json = bodyIn(name)
    const read = (body: Uint8Array) => readRequest(body, '', INSPECTS)
    expect(untold(shouted(read, json))).toEqual(expected(json))
    expect(unseen(read, json)).toEqual([])
  })
})

describe('replies', () => {
  test.each(someRows(namesOf('reply')))('%s', (name) => {
    const json = bodyIn(name)
    // model: as they are made. any: as they are stored, and answer a GET. error: as an error quotes them.
    for (const kind of ['model', 'any', 'error'] as const)
      expect(unseen((body) => readReply(body, kind, '', INSPECTS), json)).toEqual([])
    for (const kind of ['model', 'any'] as const)
      expect(untold(shouted((body) => readReply(body, kind, '', INSPECTS), json))).toEqual(
        expected(json),
      )
  })
})
