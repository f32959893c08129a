// The claims of docs/rules.md about its expressions hold.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type Attributes, lazyValue } from '../../../src/extauthz/cel/attributes.js'
import { readMcpRequest } from '../../../src/extauthz/mcp/http-message.js'
import { mcpAttributes } from '../../../src/extauthz/rules/mcp-attributes.js'
import { atOnce } from '../../../src/kit/turns.js'
import type { JsonObject } from '../../../src/model/json.js'
import { run } from './helpers.js'

const text = readFileSync(join(import.meta.dirname, '../../../docs/rules.md'), 'utf8')

interface Sample extends Pick<NonNullable<Attributes['request']>, 'method' | 'host' | 'scheme'> {
  readonly pathAndQuery: string
  readonly version: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly source: { readonly address: string; readonly port: number }
  readonly jwt: JsonObject
  readonly body: string
}

const { jwt, source, headers, body, ...request } = parse(
  /```yaml\n([\s\S]*?)```/.exec(text)?.[1] ?? '',
) as Sample
const message = atOnce(
  readMcpRequest({
    method: request.method,
    headers: new Map([['content-type', 'application/json']]),
    body: Buffer.from(body),
  }),
)
const [call] = message.ok ? message.value.calls : []
const attributes: Attributes = {
  jwt: lazyValue(jwt),
  mcp: call && mcpAttributes(call),
  source,
  request: { ...request, headers: new Map(Object.entries(headers)) },
}
const rows = [...text.matchAll(/^\| `(.+?)` +\| (true|false|fails) +\|$/gm)].map(
  ([, expression = '', result = '']) => [expression.replaceAll('\\|', '|'), result] as const,
)

describe('docs/rules.md', () => {
  test('has its examples', () => expect(rows.length).toBeGreaterThan(30))

  test.each(rows)('%s: %s', (expression, result) => {
    const got = run(expression, attributes)
    expect(typeof got === 'string' && !got.startsWith('load:') ? 'fails' : String(got)).toBe(result)
  })
})
