// Servers whose certificates take long to verify, trusted or not: nothing else waits for them.

import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createCallRemote, systemLookup } from '../../../../src/kit/http/http-call.js'
import { certificateChain } from '../../../support/certificate-chain.js'
import { selfSigned } from '../../../support/certificates.js'
import { countTurns } from '../../../support/count-turns.js'
import { tlsLanes } from '../../../support/tls.js'
import { at, closeAfterEach, closing, serve } from '../support/servers.js'

closeAfterEach()

/** A tenth of a second or more to verify. */
const slow = certificateChain('idp.example', 95)
const quick = selfSigned('idp.example')

interface Identity {
  readonly cert: string
  readonly key: string
}

/** Returns a caller for each lane. */
function callers() {
  const lanes = tlsLanes()
  closing.push(() => Promise.resolve(lanes.close()))
  const callerOf = (connectTls: typeof lanes.usual) => {
    const call = createCallRemote({ lookup: systemLookup, connectTls })
    return async (port: number, authority: string): Promise<boolean> => {
      const tls = {
        hostname: 'idp.example',
        subjectAltNames: [],
        authorities: { pem: authority },
      }
      const target = at(port, { url: 'https://idp.example/', tls })
      return (await call(target, { method: 'GET', timeoutMs: 60_000 })).ok
    }
  }
  return { usual: callerOf(lanes.usual), strangers: callerOf(lanes.strangers) }
}

const serveAs = (tls: Identity): Promise<number> =>
  serve((_request, response) => response.end('{}'), { tls })

const MANY = 16

/**
 * Whether a call to the quick server ends before the last of many calls to the slow one, which have begun before. In one
 * thread it ends after all of them.
 */
async function endsEarly(
  callSlow: (port: number) => Promise<boolean>,
  callQuick: (port: number) => Promise<boolean>,
): Promise<boolean> {
  const [{ port, greeted }, quickPort] = [await serveSlowly(), await serveAs(quick)]
  expect(await callQuick(quickPort)).toBe(true)
  for (let calls = 0; calls < 2; calls++) expect(await callSlow(port)).toBe(true)
  let ended = 0
  const before = greeted()
  const all = Array.from({ length: MANY }, () => callSlow(port).finally(() => (ended += 1)))
  while (greeted() === before) await nextTurn()
  await callQuick(quickPort)
  const isEarly = ended < MANY
  expect(await Promise.all(all)).not.toContain(false)
  return isEarly
}

/** Starts the slow server; greeted() counts the handshakes that have begun. */
async function serveSlowly() {
  let greeted = 0
  const SNICallback = (_name: string, callback: (error: null) => void): void => {
    greeted += 1
    callback(null)
  }
  const server = createServer({ ...slow, SNICallback }, (_request, response) => response.end('{}'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => new Promise((resolve) => server.close(resolve)))
  return { port: (server.address() as AddressInfo).port, greeted: () => greeted }
}

test.each([
  ['trusted', slow.root, true],
  ['not trusted', quick.cert, false],
])('a long chain that is %s does not hold this thread', async (_case, authority, isTrusted) => {
  const { usual } = callers()
  const [slowPort, quickPort] = [await serveAs(slow), await serveAs(quick)]
  expect(await usual(quickPort, quick.cert)).toBe(true)
  const usually = await countTurns(() => usual(quickPort, quick.cert))
  const { result, turns } = await countTurns(() => usual(slowPort, authority))
  expect(turns).toBeGreaterThan(4 * usually.turns)
  expect(result).toBe(isTrusted)
})

test('a peer that was slow once does not hold up the connections to others', async () => {
  const { usual } = callers()
  const isEarly = await endsEarly(
    (port) => usual(port, slow.root),
    (port) => usual(port, quick.cert),
  )
  expect(isEarly).toBe(true)
})

test('what strangers name does not hold up what resources name', async () => {
  const { usual, strangers } = callers()
  const isEarly = await endsEarly(
    (port) => strangers(port, slow.root),
    (port) => usual(port, quick.cert),
  )
  expect(isEarly).toBe(true)
})
