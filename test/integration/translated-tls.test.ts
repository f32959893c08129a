// What `envoy --mode validate` cannot show: certificates by server name towards clients, and names checked towards backends.

import { once } from 'node:events'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { UpstreamTls } from '../../src/model/destination.js'
import { freePort } from '../../testing/ports.js'
import { type Backend, startBackend } from '../support/backend.js'
import { selfSigned } from '../support/certificates.js'
import { send } from '../support/http.js'
import { chain, destination, forward, ir, route } from '../support/ir.js'
import { startTranslated, type TranslatedEnvoy } from '../support/translated-envoy.js'

const exact = selfSigned('a.example')
const wildcard = selfSigned('*.wild.example')
const ofBackend = selfSigned('backend.example', 'spiffe://cluster/backend')
const stranger = selfSigned('backend.example')

let backend: Backend
let port: number
let envoy: TranslatedEnvoy

const to = (hostname: string, more: Partial<UpstreamTls> = {}): UpstreamTls => ({
  hostname,
  subjectAltNames: [],
  authorities: { pem: ofBackend.cert },
  ...more,
})

const UPSTREAMS: Readonly<Record<string, UpstreamTls>> = {
  right: to('backend.example'),
  'other-name': to('other.example'),
  'other-authority': to('backend.example', { authorities: { pem: stranger.cert } }),
  system: to('backend.example', { authorities: 'System' }),
  uri: to('any.example', { subjectAltNames: [{ type: 'URI', value: 'spiffe://cluster/backend' }] }),
  'other-uri': to('backend.example', {
    subjectAltNames: [{ type: 'URI', value: 'spiffe://cluster/other' }],
  }),
}

const secret = (name: string, pair: typeof exact) => ({
  name: `default/${name}`,
  certificateChain: pair.cert,
  privateKey: pair.key,
})

beforeAll(async () => {
  ;[backend, port] = await Promise.all([startBackend('tls', { tls: ofBackend }), freePort()])
  const routes = Object.keys(UPSTREAMS).map((name) => route(`/${name}`, forward(name)))
  const https = (name: string, serverName: string) =>
    chain(`default/gw/${String(port)}/${name}`, routes, {
      serverNames: [serverName],
      certificates: [`default/${name}`],
    })
  envoy = await startTranslated(
    ir({
      port,
      chains: [https('exact', 'a.example'), https('wildcard', '*.wild.example')],
      destinations: Object.entries(UPSTREAMS).map(([name, tls]) =>
        destination(name, backend.port, { tls }),
      ),
      certificates: [secret('exact', exact), secret('wildcard', wildcard)],
    }),
  )
})

afterAll(async () => {
  await envoy.close()
  await backend.close()
})

const get = (path: string, servername = 'a.example', ca = exact.cert) =>
  send(`https://127.0.0.1:${String(port)}`, path, { tls: { servername, ca } })

test('each server name gets its own certificate', async () => {
  expect((await get('/right')).body).toBe('tls')
  expect((await get('/right', 'x.wild.example', wildcard.cert)).body).toBe('tls')
})

test('a server name without a listener is not served', async () => {
  await expect(get('/right', 'other.example')).rejects.toThrow()
})

test('HTTP/2 is offered, TLS 1.1 is not', async () => {
  const options = { port, host: '127.0.0.1', servername: 'a.example', ca: exact.cert }
  const socket = connectTls({ ...options, ALPNProtocols: ['h2', 'http/1.1'] })
  await once(socket, 'secureConnect')
  expect(socket.alpnProtocol).toBe('h2')
  socket.destroy()
  const old = (): Promise<TLSSocket> => {
    const attempt = connectTls({ ...options, minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' })
    return once(attempt, 'secureConnect').then(() => attempt)
  }
  await expect(old()).rejects.toThrow()
})

test.each(['right', 'uri'])('a backend whose certificate is right is reached: %s', async (path) => {
  expect(await get(`/${path}`)).toMatchObject({ status: 200, body: 'tls' })
  expect(backend.requests.at(-1)?.headers['x-forwarded-proto']).toBe('https')
})

test.each(['other-name', 'other-authority', 'system', 'other-uri'])(
  'a backend whose certificate is wrong is not: %s',
  async (path) => {
    expect((await get(`/${path}`)).status).toBe(503)
  },
)
