// gatehouse schema for a user: its output and exit code.

import { expect, test } from 'vitest'
import { schema } from '../../../src/cli/commands/schema.js'
import { createLogger } from '../../../src/kit/logger.js'
import { parseCommandLine } from '../../../src/ops/settings/settings.js'

async function run(...args: string[]) {
  const line = parseCommandLine(['schema', ...args], {})
  if (line.type !== 'settings') throw new Error(JSON.stringify(line))
  const out: string[] = []
  const err: string[] = []
  const code = await schema(line.settings, {
    out: (text) => out.push(text),
    err: (text) => err.push(text),
    logger: createLogger({ level: 'silent', pretty: false, write: () => true }),
    stop: new AbortController().signal,
    atExit: () => undefined,
  })
  return { code, out: out.join(''), err: err.join('') }
}

test('without a kind it prints the schema of every document', async () => {
  const { code, out } = await run()
  const { definitions } = JSON.parse(out) as { definitions: Record<string, unknown> }
  expect(code).toBe(0)
  expect(Object.keys(definitions)).toContain('ProxyPolicy')
  expect(Object.keys(definitions)).toContain('HTTPRoute')
})

test('it follows the API group, and takes the kind in any case', async () => {
  const { out } = await run('proxypolicy', '--api-group', 'example.org')
  expect(JSON.parse(out)).toMatchObject({
    title: 'ProxyPolicy',
    properties: { apiVersion: { enum: ['example.org/v1alpha1'] } },
  })
})

test('a kind that is misspelt is refused with the one that was meant', async () => {
  const { code, out, err } = await run('ProxyPolcy')
  expect([code, out]).toEqual([2, ''])
  expect(err).toBe(
    'gatehouse: "ProxyPolcy" is no kind with a schema; did you mean "ProxyPolicy"?\n',
  )
})

test('two kinds are too many', async () => {
  const { code, err } = await run('Gateway', 'HTTPRoute')
  expect(code).toBe(2)
  expect(err).toContain('"HTTPRoute" is too much')
})
