// Webhooks over TLS that break the connection at every point: the call fails at once or is answered, and the next one
// gets its own answer.

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions, type TLSSocket } from 'node:tls'
import { expect, test } from 'vitest'
import type { CallResult, PooledCall } from '../../../src/kit/http/webhook-call.js'
import { plainPools } from '../../extproc/support/guards.js'
import { selfSigned } from '../../support/certificates.js'
import { closeAfterEach, closing } from './support/servers.js'

closeAfterEach()

const pair = selfSigned('guard.example')

const answer = (body: string): string =>
  `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`

/** plain: the connection below TLS. */
type Step = (secure: TLSSocket, plain: Socket) => void

/** Starts a webhook that takes the steps in turn, one for each request; the last one goes for all that follow. */
async function webhook(steps: readonly Step[], options: TlsOptions = {}): Promise<number> {
  let requests = 0
  const secure = createTlsServer({ key: pair.key, cert: pair.cert, ...options })
  const open = new Set<Socket>()
  const plain = createServer((socket) => {
    // TLS has a connection of its own, so that the steps can write to this one.
    const inner = connect((secure.address() as AddressInfo).port, '127.0.0.1')
    for (const one of [socket, inner]) {
      open.add(one)
      one.on('error', () => undefined)
    }
    socket.pipe(inner).pipe(socket)
    secure.once('secureConnection', (given) => {
      given.on('error', () => undefined)
      given.on('data', () => {
        const step = steps[Math.min(requests, steps.length - 1)]
        requests += 1
        step?.(given, socket)
      })
    })
  })
  secure.on('tlsClientError', () => undefined)
  for (const server of [secure, plain]) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  }
  closing.push(async () => {
    for (const socket of open) socket.destroy()
    for (const server of [plain, secure]) await new Promise((resolve) => server.close(resolve))
  })
  return (plain.address() as AddressInfo).port
}

const call = (port: number): PooledCall => ({
  backend: 'guard',
  maxConnections: 1,
  keepAliveSeconds: 300,
  phase: 'request',
  target: {
    url: 'https://guard.example/',
    endpoints: { type: 'addresses', addresses: [{ ip: '127.0.0.1', port }] },
    tls: { hostname: 'guard.example', subjectAltNames: [], authorities: { pem: pair.cert } },
  },
  method: 'POST',
  path: '/',
  headers: { host: 'guard.example' },
  body: Buffer.from('prompt'),
  maxBytes: 1_000_000,
  timeoutMs: 5_000,
  signal: new AbortController().signal,
})

const textOf = (result: CallResult): string =>
  result.ok ? Buffer.concat(result.value.body).toString('latin1') : result.error.type

async function both(port: number): Promise<readonly [string, string]> {
  const pools = plainPools()
  closing.push(() => pools.close())
  const first = pools.call(call(port)).then(textOf)
  const second = first.then(() => pools.call(call(port))).then(textOf)
  return [await first, await second]
}

const says =
  (text: string): Step =>
  (secure) =>
    void secure.write(text)
const own = says(answer('own'))

test.each<[string, Step, string]>([
  ['resets at once', (_secure, plain) => void plain.resetAndDestroy(), 'broken'],
  [
    'resets within an answer',
    (secure, plain) =>
      secure.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\na', () => plain.resetAndDestroy()),
    'broken',
  ],
  [
    'closes within an answer',
    (secure) => secure.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\na'),
    'broken',
  ],
  [
    'sends no TLS within an answer',
    (secure, plain) =>
      secure.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\na', () =>
        plain.write('nonsense'.repeat(9)),
      ),
    'broken',
  ],
  ['answers twice in one record', says(answer('a') + answer('stolen')), 'a'],
  [
    'answers 64 KiB and once more',
    (secure) => {
      const head = answer('a'.repeat(65_000)).length - 65_000
      secure.write(answer('a'.repeat(65_536 - head)) + answer('stolen'))
    },
    'a',
  ],
])('a webhook that %s does not answer the next prompt by it', async (_name, step, expected) => {
  const [first, second] = await both(await webhook([step, own]))
  expect([first.slice(0, expected.length), second]).toEqual([expected, 'own'])
})

test.each(['TLSv1.2', 'TLSv1.3'] as const)(
  'a webhook that wants a certificate: none is sent (%s)',
  async (maxVersion) => {
    const port = await webhook([own], {
      requestCert: true,
      rejectUnauthorized: true,
      ca: pair.cert,
      maxVersion,
    })
    for (const result of await both(port)) expect(['broken', 'tls']).toContain(result)
  },
)

test('a webhook that closes as soon as TLS is agreed', async () => {
  const secure = createTlsServer({ key: pair.key, cert: pair.cert }, (socket) => socket.destroy())
  secure.listen(0, '127.0.0.1')
  await once(secure, 'listening')
  closing.push(() => new Promise((resolve) => secure.close(resolve)))
  for (const result of await both((secure.address() as AddressInfo).port))
    expect(['broken', 'tls']).toContain(result)
})
