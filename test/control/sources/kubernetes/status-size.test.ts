// The size of a status: the API server refuses an object of more than 1.5 MB, and would do so at each retry.

import { expect, test } from 'vitest'
import { statusFor } from '../../../../src/control/sources/kubernetes/status.js'
import type { Condition } from '../../../../src/model/status.js'

const CONTEXT = {
  controllerName: 'policy.gatehouse.dev/gatehouse',
  now: '2026-01-01T00:00:00Z',
}

/** An HTTPRoute with so many parents, and what is said about each. */
function statusOf(parents: number, message: string): { readonly text: string; messages: string[] } {
  const sections = Array.from({ length: parents }, (_, index) => `s-${String(index)}`)
  const object = {
    metadata: { name: 'r', namespace: 'default', generation: 1 },
    spec: { parentRefs: sections.map((sectionName) => ({ name: 'gw', sectionName })) },
  }
  const conditions = sections.flatMap((section): readonly Condition[] =>
    [
      { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'Route accepted' } as const,
      { type: 'ResolvedRefs', status: 'False', reason: 'BackendNotFound', message } as const,
    ].map((condition) => ({
      ...condition,
      ancestor: { namespace: 'default', name: 'gw' },
      section,
    })),
  )
  const status = statusFor(object, { kind: 'HTTPRoute', conditions }, CONTEXT)
  const text = JSON.stringify(status)
  const messages = [...text.matchAll(/"message":"([^"]*)"/g)].map(([, found = '']) => found)
  return { text, messages }
}

test('32 parents with long messages have room: each message keeps its beginning', () => {
  const { text, messages } = statusOf(32, `Service a not found. ${'x'.repeat(40_000)}`)
  expect(text.length).toBeLessThan(256 * 1024)
  expect(messages.filter((message) => message === 'Route accepted')).toHaveLength(32)
  const long = messages.filter((message) => message.startsWith('Service a not found. xx'))
  expect(long).toHaveLength(32)
  for (const message of long) {
    expect(message).toHaveLength(3072)
    expect(message.endsWith('…')).toBe(true)
  }
})

test('one message has as many characters as the API allows', () => {
  const { messages } = statusOf(1, 'x'.repeat(40_000))
  expect(messages.map(({ length }) => length)).toEqual(['Route accepted'.length, 32_768])
})

test('a status that has room is written in full', () => {
  const message = 'x'.repeat(5_000)
  expect(statusOf(32, message).messages.filter((found) => found === message)).toHaveLength(32)
})

test('no message ends within a character', () => {
  const [, message = ''] = statusOf(1, `x${'😀'.repeat(20_000)}`).messages
  expect(message).toBe(`x${'😀'.repeat(16_383)}…`)
  const [, even = ''] = statusOf(1, '😀'.repeat(20_000)).messages
  expect(even).toBe(`${'😀'.repeat(16_383)}…`)
})
