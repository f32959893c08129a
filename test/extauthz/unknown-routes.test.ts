// Checks for unknown routes: each is denied, and a flood of them leaves few lines in the log. The routes of other Gateways are
// unknown to an Envoy that serves one.

import { describe, expect, test } from 'vitest'
import { RetainedTable } from '../../src/control/publish/retained-table.js'
import { buildAuthzTable, type CompiledEntry } from '../../src/extauthz/authz-table.js'
import { createCheck } from '../../src/extauthz/check.js'
import { createCheckService } from '../../src/extauthz/check-service.js'
import { createDecisionLog } from '../../src/kit/decision-log.js'
import type { AuthzEntry } from '../../src/model/authz-entry.js'
import type { Peer } from '../../src/wire/grpc/peer.js'
import { recordingLogger } from '../wire/grpc/recording-logger.js'
import { available, checkRequest, jwt, NOW, sign, signingKey } from './helpers.js'

const CALL = { isCancelled: () => false, deadline: Infinity }

test('a flood of them leaves few lines in the log, whatever they name', () => {
  const { logger, lines } = recordingLogger()
  const check = createCheck({
    table: () => buildAuthzTable([]),
    refetchKeySet: () => Promise.resolve({ isAnswered: true, isOlder: false }),
    keySetAnswers: () => 1,
    now: () => 0,
    logger,
    metrics: { observe: () => undefined, audited: () => undefined },
  })
  for (let i = 0; i < 1000; i++) {
    void check(checkRequest({ key: 'default/gone/0' }), CALL)
    void check(checkRequest({ key: null }), CALL)
    void check(Buffer.from('not a message'), CALL)
  }
  expect(lines.map(({ fields }) => fields)).toEqual([
    { reason: 'unknown-route', key: 'default/gone/0', leftOut: 0 },
    { reason: 'unknown-route', leftOut: 0 },
    { reason: 'malformed-check', leftOut: 0 },
  ])
  for (let i = 0; i < 1000; i++) void check(checkRequest({ key: `${'x'.repeat(5000)}${i}` }), CALL)
  for (let i = 0; i < 1000; i++) void check(checkRequest({ key: `${i}` }), CALL)
  expect(lines.length).toBeLessThan(300)
  expect(JSON.stringify(lines).length).toBeLessThan(50_000)
})

describe('an Envoy that serves one Gateway', () => {
  const ENTRY: AuthzEntry = {
    key: 'shop/app/0',
    route: 'shop/app',
    gateways: ['shop/gw', 'shop/two'],
    paths: [{ type: 'PathPrefix', value: '/' }],
  }

  function createService(gatewayOf?: (peer: Peer) => string | undefined, entry = ENTRY) {
    const { logger, lines } = recordingLogger()
    const table = new RetainedTable<CompiledEntry>()
    table.replace(buildAuthzTable([entry]), [], 0)
    const observed: string[] = []
    const decided: object[] = []
    const service = createCheckService({
      table: () => table,
      gatewayOf,
      logger,
      now: () => NOW * 1000,
      refetchKeySet: () => Promise.resolve({ isAnswered: true, isOlder: false }),
      keySetAnswers: () => 1,
      metrics: {
        observe: (route, decision, reason) => void observed.push(`${route} ${decision} ${reason}`),
        audited: () => undefined,
      },
      decisions: createDecisionLog({
        claims: [],
        now: () => 0,
        choice: { refusals: true, oneAllowedOf: 0 },
        write: (_message, fields) => void decided.push(fields),
      }),
    })
    const { Check } = service.methods
    if (Check?.type !== 'unary') throw new Error('Check is unary')
    const peer: Peer = { type: 'tcp', address: '10.0.0.1', hasCertificate: false }
    const ask = async (key: string, headers: readonly (readonly [string, string])[] = []) =>
      Buffer.from(
        await Check.handle(checkRequest({ key, headers }), { ...CALL, peer, metadata: () => [] }),
      ).toString('hex')
    return { ask, lines, observed, decided }
  }

  test.each(['shop/gw', 'shop/two'])('asks about the routes of %s', async (gateway) => {
    const { ask, observed } = createService(() => gateway)
    await ask('shop/app/0')
    expect(observed).toEqual(['shop/app allow allowed'])
  })

  test.each(['bank/gw', ''])(
    'gets for a route of others what it gets for none: "%s"',
    async (gateway) => {
      const { ask, observed, lines, decided } = createService(() => gateway)
      expect(await ask('shop/app/0')).toBe(await ask('shop/none/0'))
      expect(observed).toEqual(['unknown deny unknown-route', 'unknown deny unknown-route'])
      expect(lines[0]?.fields).toEqual({
        reason: 'unknown-route',
        key: 'shop/app/0',
        gateway,
        leftOut: 0,
      })
      expect(decided[0]).toMatchObject({ route: 'unknown', key: 'shop/app/0', gateway })
    },
  )

  test('is told apart from callers with other rights, who ask about every route', async () => {
    for (const { ask, observed } of [createService(() => undefined), createService()]) {
      await ask('shop/app/0')
      expect(observed).toEqual(['shop/app allow allowed'])
    }
  })

  test('is refused with a token that is remembered for the Envoys of the route', async () => {
    const key = await signingKey()
    const headers = [['authorization', `Bearer ${await sign(key)}`]] as const
    let gateway = 'shop/gw'
    const { ask, observed } = createService(() => gateway, {
      ...ENTRY,
      jwt: jwt(available(key.jwk)),
    })
    for (let i = 0; i < 3; i++) await ask('shop/app/0', headers)
    gateway = 'bank/gw'
    await ask('shop/app/0', headers)
    gateway = 'shop/two'
    await ask('shop/app/0', headers)
    expect(observed).toEqual([
      ...Array<string>(3).fill('shop/app allow allowed'),
      'unknown deny unknown-route',
      'shop/app allow allowed',
    ])
  })
})
