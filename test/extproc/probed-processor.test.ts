// Probes of a mesh's controller at a guarded route: they never reach the guard, and only a true one gets a proof.

import { describe, expect, test } from 'vitest'
import { withProbes } from '../../src/extproc/process-service.js'
import type { HeadersPart } from '../../src/extproc/session/process-message.js'
import type { Processor } from '../../src/extproc/session/processor.js'
import { OwnEnding } from '../../src/kit/ending.js'
import { createProbeSigns } from '../../src/kit/probe-signs.js'
import { PROBE_HEADER, PROBED_HEADER } from '../../src/model/names.js'

const signs = createProbeSigns(
  () => new Uint8Array(32).fill(3),
  () => 0,
)
const question = signs.ask() ?? ''
const proof = signs.prove(question, 'ext_proc', ['default/app/0']) ?? ''

const part = (headers: Readonly<Record<string, string>>): HeadersPart => ({
  headers: new Map(Object.entries(headers).map(([name, value]) => [name, [value]])),
  endOfStream: true,
})

function processor() {
  const phases: string[] = []
  const sent: string[] = []
  const seen = (phase: string) => (): void => void phases.push(phase)
  const inner: Processor = {
    requestHeaders: seen('requestHeaders'),
    requestBody: seen('requestBody'),
    requestTrailers: seen('requestTrailers'),
    responseHeaders: seen('responseHeaders'),
    responseBody: seen('responseBody'),
    responseTrailers: seen('responseTrailers'),
    isDone: () => false,
  }
  const send = (bytes: Uint8Array): void => void sent.push(Buffer.from(bytes).toString('latin1'))
  const probed = withProbes(inner, { send, signal: new OwnEnding() }, signs, 'default/app/0')
  return { probed, phases, sent }
}

describe('a probe', () => {
  test('is refused with a proof before the guard sees any of it', () => {
    const { probed, phases, sent } = processor()
    void probed.requestHeaders(part({ [PROBE_HEADER]: question }), {})
    void probed.requestBody({ body: Buffer.from('{}'), endOfStream: true })
    void probed.requestTrailers()
    expect(phases).toEqual([])
    expect(sent).toHaveLength(1)
    expect(sent[0]).toContain(`${question} - ${proof}`)
    expect(probed.isDone()).toBe(true)
  })

  test('that ext_authz has refused gets the second proof', () => {
    const { probed, phases, sent } = processor()
    void probed.responseHeaders(part({ [PROBED_HEADER]: `${question} first -` }), {})
    void probed.responseBody({ body: Buffer.from('{}'), endOfStream: true })
    expect(phases).toEqual([])
    expect(sent[0]).toContain(`${question} first ${proof}`)
  })

  test.each(['abc.def', '', `${question},${question}`])('of %j is refused without one', (text) => {
    const { probed, phases, sent } = processor()
    void probed.requestHeaders(part({ [PROBE_HEADER]: text }), {})
    expect(phases).toEqual([])
    expect(sent).toHaveLength(1)
    expect(sent[0]).not.toContain(PROBED_HEADER)
  })
})

test('anything else is left to the guard', () => {
  const { probed, phases, sent } = processor()
  void probed.requestHeaders(part({ ':path': '/' }), {})
  void probed.responseHeaders(part({ [PROBED_HEADER]: 'no answer' }), {})
  expect(phases).toEqual(['requestHeaders', 'responseHeaders'])
  expect(sent).toEqual([])
  expect(probed.isDone()).toBe(false)
})
