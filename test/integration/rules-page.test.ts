// The policies of docs/rules.md answer what the tables below them say.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { bearer, send } from '../support/http.js'
import {
  jwt,
  protectedRoute,
  type ProtectedStack,
  sign,
  startProtectedStack,
} from '../support/protected-stack.js'
import { newKey } from '../support/tokens.js'

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/rules.md'), 'utf8')
const key = await newKey('k1')

interface Example {
  readonly name: string
  readonly traffic: object
  /** Claims, message and answer. */
  readonly rows: readonly (readonly [string, string, string])[]
}

const examples: readonly Example[] = [
  ...PAGE.matchAll(/```yaml\n# (\S+)\n([\s\S]*?)```\n\n((?:\|.*\n)+)/g),
].map(([, name = '', yaml = '', table = '']) => ({
  name,
  traffic: parse(yaml) as object,
  rows: [...table.matchAll(/^\| `(.+?)` +\| `(.+?)` +\| (\d.*?) +\|$/gm)].map(
    ([, claims = '', message = '', answer = '']) => [claims, message, answer] as const,
  ),
}))

let stack: ProtectedStack

beforeAll(async () => {
  stack = await startProtectedStack(
    ...examples.map(({ name, traffic }) =>
      protectedRoute(name, { jwtAuthentication: jwt([key]), ...traffic }),
    ),
  )
})
afterAll(() => stack.close())

test('the page has its examples', () => {
  expect(examples.map(({ name, rows }) => [name, rows.length > 1])).toEqual([
    ['scopes', true],
    ['allow-list', true],
    ['deny', true],
    ['arguments', true],
  ])
})

/** Returns the body of "METHOD [TOOL [ARGUMENTS]]". */
function bodyOf(message: string): string {
  const [, method, name, args] = /^(\S+)(?: (\S+))?(?: (\{.*\}))?$/.exec(message) ?? []
  const params =
    name === undefined ? {} : { params: { name, arguments: parse(args ?? '{}') as object } }
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, ...params })
}

describe.each(examples)('$name', ({ name, rows }) => {
  test.each(rows)('%s, %s: %s', async (claims, message, answer) => {
    const token = await sign(key, parse(claims) as object)
    const { status, headers } = await send(stack.origin, `/${name}`, {
      method: 'POST',
      headers: { ...bearer(token), 'content-type': 'application/json' },
      body: bodyOf(message),
    })
    const [, error, scopes] =
      /error="(.+?)", scope="(.+?)"/.exec(String(headers['www-authenticate'] ?? '')) ?? []
    const said = error === undefined ? '' : ` \`${error}\`: \`${String(scopes)}\``
    expect(`${String(status)}${said}`).toBe(answer)
  })
})
