// The store with its real clock, timers and sockets, against a server that is late, rotates its keys and disappears.

import { afterEach, beforeAll, expect, test } from 'vitest'
import { createRemoteStore, type RemoteStore } from '../../../src/kit/http/remote-store.js'
import type { UpstreamTls } from '../../../src/model/destination.js'
import type { RemoteState, WantedDocument } from '../../../src/model/remote-target.js'
import { type KeyPair, selfSigned } from '../../support/certificates.js'
import { type DocumentServer, json, startDocumentServer } from '../../support/document-server.js'
import { callRemote, closeAfterEach } from './support/servers.js'

closeAfterEach()

let pair: KeyPair
beforeAll(() => {
  pair = selfSigned('idp.example')
})

const closing: { close(): Promise<void> }[] = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((one) => one.close()))
})

const keySet = (kid: string) => ({ keys: [{ kid, kty: 'RSA' }] })

async function start(tls?: UpstreamTls, serverTls?: KeyPair) {
  const server: DocumentServer = await startDocumentServer(
    serverTls === undefined ? {} : { tls: serverTls },
  )
  let changed = (_state: RemoteState) => {}
  const store: RemoteStore = createRemoteStore({
    callRemote,
    now: () => Date.now(),
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    metrics: { keySetFetch() {} },
    onChange: (state) => changed(state),
  })
  closing.push(store, server)
  const wanted: WantedDocument = {
    id: 'keys',
    kind: 'KeySet',
    targets: [
      {
        url: 'https://idp.example/jwks',
        endpoints: { type: 'name', host: 'localhost', port: server.port },
        ...(tls === undefined ? {} : { tls }),
      },
    ],
  }
  /** The document as it is told of next. */
  const next = () =>
    new Promise<RemoteState>((resolve) => (changed = resolve)).then((state) => state.get('keys'))
  return { server, store, next, want: () => store.want([wanted]) }
}

test('a provider that comes late, rotates its keys and revokes them', async () => {
  const { server, store, next, want } = await start()
  const missing = next()
  want()
  expect((await missing)?.error).toBe('HTTP 404')
  const late = next()
  server.serve('/jwks', keySet('a'))
  expect(await late).toMatchObject({ document: keySet('a') })
  server.serve('/jwks', keySet('b'))
  await store.refetch('keys')
  expect(store.state().get('keys')?.document).toEqual(keySet('b'))
  expect(server.requests.every(({ host }) => host === 'idp.example')).toBe(true)
})

test('a redirect is not followed, and what it leads to is never a document', async () => {
  const { server, next, want } = await start()
  server.serve('/elsewhere', keySet('evil'))
  server.serve('/jwks', (_request, response) =>
    response.writeHead(302, { location: '/elsewhere' }).end(),
  )
  const told = next()
  want()
  expect(await told).toMatchObject({ error: 'HTTP 302: redirects are not followed' })
  expect(server.requests.map(({ path }) => path)).not.toContain('/elsewhere')
})

test('an error page that holds a key set is no key set', async () => {
  const { server, next, want } = await start()
  server.serve('/jwks', json(keySet('evil'), 500))
  const told = next()
  want()
  expect(await told).toMatchObject({ error: 'HTTP 500' })
})

test('an untrusted certificate is reported by name and code only', async () => {
  const tls: UpstreamTls = { hostname: 'idp.example', subjectAltNames: [], authorities: 'System' }
  const { server, next, want } = await start(tls, pair)
  server.serve('/jwks', keySet('a'))
  const told = next()
  want()
  expect(await told).toMatchObject({
    error: 'TLS to idp.example failed (DEPTH_ZERO_SELF_SIGNED_CERT)',
  })
  expect(server.requests).toEqual([])
})

test('over TLS with the right authority', async () => {
  const authorities = { pem: pair.cert }
  const { server, next, want } = await start(
    { hostname: 'idp.example', subjectAltNames: [], authorities },
    pair,
  )
  server.serve('/jwks', keySet('a'))
  const told = next()
  want()
  expect(await told).toMatchObject({ document: keySet('a') })
})

test('closing ends a call that hangs, at once', async () => {
  const { server, store, want } = await start()
  const asked = new Promise<unknown>((resolve) => {
    server.serve('/jwks', (request) => {
      request.socket.on('close', () => resolve('closed'))
      void store.close()
    })
  })
  want()
  expect(await asked).toBe('closed')
  expect(store.state().get('keys')).toBeUndefined()
})
