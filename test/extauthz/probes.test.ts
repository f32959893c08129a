// Probes of a mesh's controller: a request with their header is never allowed, and only a true one gets a proof.

import { describe, expect, test } from 'vitest'
import { aboutRequest, createProbeSigns, type ProbeSigns } from '../../src/kit/probe-signs.js'
import { PROBE_HEADER, PROBED_HEADER } from '../../src/model/names.js'
import { checker, entry, KEY, NOW } from './helpers.js'

const probes = createProbeSigns(
  () => new Uint8Array(32).fill(3),
  () => NOW * 1000,
)

const broken: ProbeSigns = {
  ask: () => undefined,
  prove: () => {
    throw new Error('no proof')
  },
}

const ask = (headers: readonly (readonly [string, string])[], signs = probes, isAudited = false) =>
  checker([entry(isAudited ? { isAudited: true } : {})], { probes: signs }).check({
    host: 'app.example:8080',
    path: '/mcp',
    headers,
  })

const question = probes.ask() ?? ''

describe('a request with the header of a probe', () => {
  test('is denied although nothing else denies it, with the proof of its key, host and path', async () => {
    expect(await ask([])).toMatchObject({ status: 200 })
    const answer = await ask([[PROBE_HEADER, question]])
    expect(answer).toMatchObject({ status: 403 })
    const proof = probes.prove(question, 'ext_authz', aboutRequest(KEY, 'app.example', '/mcp'))
    expect(JSON.stringify(answer)).toContain(`${question} ${proof ?? ''} -`)
  })

  test.each([
    ['is made up', [[PROBE_HEADER, 'abc.def']]],
    ['is empty', [[PROBE_HEADER, '']]],
    [
      'is there twice',
      [
        [PROBE_HEADER, question],
        [PROBE_HEADER, question],
      ],
    ],
  ] as const)('that %s is denied without a proof', async (_, headers) => {
    const answer = await ask(headers)
    expect(answer).toMatchObject({ status: 403 })
    expect(JSON.stringify(answer)).not.toContain(PROBED_HEADER)
  })

  test('is denied if proving fails', async () => {
    expect(await ask([[PROBE_HEADER, question]], broken)).toMatchObject({
      status: 503,
    })
  })

  test('passes a documents route, where ext_proc denies it', async () => {
    const { check } = checker([entry({ servesDocuments: true })], { probes })
    const headers = [[PROBE_HEADER, question]] as const
    expect(await check({ path: '/mcp', headers })).toMatchObject({ status: 200 })
  })

  test('is denied on a route that is only audited too, without a proof, which a guard behind can add', async () => {
    const answer = await ask([[PROBE_HEADER, question]], probes, true)
    expect(answer).toMatchObject({ status: 403 })
    expect(JSON.stringify(answer)).toContain(`"${question} - -"`)
  })
})

test('without a mesh the header means nothing', async () => {
  const { check } = checker([entry({})])
  expect(await check({ headers: [[PROBE_HEADER, question]], path: '/mcp' })).toMatchObject({
    status: 200,
  })
})
