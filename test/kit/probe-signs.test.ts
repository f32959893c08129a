// Questions and proofs of probes: only replicas that share the secret make them, for a minute.

import { describe, expect, test } from 'vitest'
import { aboutRequest, createProbeSigns, readProbeAnswer } from '../../src/kit/probe-signs.js'

const SECRET = new Uint8Array(32).fill(7)

const signsAt = (now: number, secret: Uint8Array | undefined = SECRET) =>
  createProbeSigns(
    () => secret,
    () => now,
  )

const ABOUT = aboutRequest('default/app/0', 'App.example:8080', '/app')

describe('a question', () => {
  const question = signsAt(1_000_000).ask() ?? ''

  test('is proven by each replica with the same words', () => {
    const proof = signsAt(1_000_000).prove(question, 'ext_authz', ABOUT)
    expect(proof).toMatch(/^[\w-]{43}$/)
    const other = signsAt(1_059_000)
    expect(other.prove(question, 'ext_authz', ['default/app/0', 'app.example', '/app'])).toBe(proof)
  })

  test.each([
    ['another server', 'ext_proc', ABOUT],
    ['another key', 'ext_authz', aboutRequest('default/other/0', 'app.example', '/app')],
    ['another path', 'ext_authz', aboutRequest('default/app/0', 'app.example', '/app/x')],
    ['another host', 'ext_authz', aboutRequest('default/app/0', 'other.example', '/app')],
  ] as const)('has another proof for %s', (_, role, about) => {
    const signs = signsAt(1_000_000)
    expect(signs.prove(question, role, about)).not.toBe(signs.prove(question, 'ext_authz', ABOUT))
  })

  test.each([
    ['is older than a minute', signsAt(1_061_000), question],
    ['comes from the future', signsAt(900_000), question],
    ['has another secret', signsAt(1_000_000, new Uint8Array(32)), question],
    ['is made up', signsAt(1_000_000), 'abc.def'],
    ['is empty', signsAt(1_000_000), ''],
    ['is changed', signsAt(1_000_000), question.replace(/^./, 'z')],
    ['is long', signsAt(1_000_000), `${question}${'a'.repeat(100_000)}`],
  ])('that %s is not proven', (_, signs, text) => {
    expect(signs.prove(text, 'ext_authz', ABOUT)).toBeUndefined()
  })
})

test('without the secret, nothing is asked and nothing proven', () => {
  const signs = createProbeSigns(
    () => undefined,
    () => 0,
  )
  expect(signs.ask()).toBeUndefined()
  expect(signs.prove(signsAt(0).ask() ?? '', 'ext_authz', ABOUT)).toBeUndefined()
})

test.each(['', 'a', 'a b', 'a b c d'])('%j is no answer', (text) => {
  expect(readProbeAnswer(text)).toBeUndefined()
})
