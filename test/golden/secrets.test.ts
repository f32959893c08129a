// Every golden case with a secret in each header value and expression literal: neither the config dump nor a condition
// shows one.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import type { Json, JsonObject, LazyJson } from '../../src/model/json.js'
import { dumpText } from '../../src/ops/admin/dump-text.js'
import { buildXds } from '../../src/xds/translator/build-xds.js'
import { dumpXds } from '../../src/xds/translator/dump-xds.js'
import { someRows } from '../support/some-rows.js'
import { translateCase } from '../support/translate-case.js'

const FOLDER = join(import.meta.dirname, 'translate')
const MARK = 's3cret'
const CASES = readdirSync(FOLDER)
  .map((file): [string, string] => [file, inputOf(readFileSync(join(FOLDER, file), 'utf8'))])
  // Theirs must stand alone on a line, which writing them anew does not keep.
  .filter(
    ([, input]) =>
      /headers:|set:|add:|matchExpressions:|when:|key:/.test(input) && !/<[A-Z_]+>/.test(input),
  )

function inputOf(text: string): string {
  return text.split('--- # Output\n')[0] ?? ''
}

/** value: what stands at the end of the path. */
function withSecrets(value: Json, path: readonly string[] = []): Json {
  const last = path.at(-1) ?? ''
  if (typeof value === 'string') {
    const list = path.at(-3) ?? ''
    if (last === 'value' && ['headers', 'set', 'add', 'queryParams'].includes(list)) return MARK
    const isRule = path.at(-2) === 'matchExpressions' || path.at(-3) === 'requiredScopes'
    if (isRule && last !== 'scopes') return `request.headers["x"] == "${MARK}"`
    if (path.at(-2) === 'headers' && path.at(-3) === 'webhook') return `"${MARK}"`
    if (path.includes('transformation') && ['set', 'add'].includes(path.at(-2) ?? ''))
      return `"${MARK}"`
    if (path.includes('rateLimit') && last === 'key') return `request.headers["x"] + "${MARK}"`
    return value
  }
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value))
    return value.map((item: Json, index) => withSecrets(item, [...path, String(index)]))
  // A Host is where a request goes.
  const { name } = value as JsonObject
  if (typeof name === 'string' && name.toLowerCase() === 'host') return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, withSecrets(member, [...path, key])]),
  )
}

const injected = (input: string): string =>
  input
    .split(/^---\n/m)
    .map((text) => stringify(withSecrets(parse(text) as Json)))
    .join('---\n')

const options = {
  listenAddress: '0.0.0.0', trustedHops: 0, accessLog: false,
  systemCaFile: '/etc/ssl/certs/ca-certificates.crt',
}

test.each(someRows(CASES))('%s', (_, input) => {
  const { ir, shown } = translateCase(injected(input))
  const dump = { ir, xds: dumpXds(buildXds(ir, options)) } as unknown as LazyJson
  const { status } = shown as { status?: Json }
  expect([...dumpText(dump), JSON.stringify(status ?? null)].join('')).not.toContain(MARK)
})

test('there are values to hide', () => {
  const reached = CASES.filter(([, input]) =>
    JSON.stringify(translateCase(injected(input)).ir).includes(MARK),
  )
  expect(reached.length).toBeGreaterThan(10)
})
