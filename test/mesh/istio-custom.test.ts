// An AuthorizationPolicy with action CUSTOM in a real Istio mesh, in place of Gatehouse's own filter: what it checks,
// what pages in browsers lose, and that sealed routes stay closed without it.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import type { AnyObject } from '../../testing/api-call.js'
import { ADDRESS } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from '../support/backend.js'
import { type DocumentServer, startDocumentServer } from '../support/document-server.js'
import { type Gatehouse, startGatehouse } from '../support/gatehouse.js'
import { bearer, send } from '../support/http.js'
import { allow, proxyBackend, proxyPolicy, remoteJwks } from '../support/resources.js'
import { keySet, newKey, type SigningKey, signToken } from '../support/tokens.js'
import { edge, hostOf, type Istio, PORT, route, serviceTo, startIstio } from './support/istio.js'
import { translateFor } from './support/translate.js'

const ORIGIN = `http://127.0.0.1:${String(PORT)}`
const GRPC_PORT = 18_005
const ISSUER = 'https://idp.example'

let api: Backend
let idp: DocumentServer
let key: SigningKey
let mesh: Istio
let gatehouse: Gatehouse
let manifests: readonly AnyObject[]

beforeAll(async () => {
  key = await newKey('k1')
  ;[api, idp, mesh] = await Promise.all([
    startBackend(),
    startDocumentServer(),
    startIstio({
      extensionProviders: [
        {
          name: 'gatehouse',
          envoyExtAuthzGrpc: {
            service: hostOf('gatehouse'),
            port: GRPC_PORT,
            timeout: '2s',
            statusOnError: '503',
          },
        },
      ],
    }),
  ])
  idp.serve('/jwks', keySet(key))
  const port = await mesh.service('api', api.port)
  const routes = [route('api', '/api', 'api', port), route('public', '/public', 'api', port)]
  await mesh.api.apply(...serviceTo('gatehouse', GRPC_PORT, 'grpc'), ...routes)
  const policy = proxyPolicy('api', 'api', {
    jwtAuthentication: {
      mode: 'Strict',
      providers: [{ issuer: ISSUER, jwks: remoteJwks('idp', idp.port, '/jwks') }],
    },
    authorization: allow('true'),
  })
  gatehouse = await startGatehouse({
    command: 'serve',
    resources: [edge, ...routes, policy, proxyBackend('idp', idp)],
    flags: ['--for', 'istio', '--grpc', `${ADDRESS}:${String(GRPC_PORT)}`],
  })
  const printed = await translateFor(
    ...(['istio', gatehouse.folder, '--sealed', '--custom-provider', 'gatehouse'] as const),
    '--connect',
    `${hostOf('gatehouse')}:${String(GRPC_PORT)}`,
  )
  manifests = parseAllDocuments(printed).map((document) => document.toJS() as AnyObject)
  await gatehouse.write('seal.yaml', ...manifests.filter(({ kind }) => kind === 'Secret'))
  await eventually(async () => {
    expect((await send(ORIGIN, '/public')).status).toBe(200)
  }, 90_000)
  await restore()
}, 300_000)

afterAll(async () => {
  await gatehouse.close()
  await mesh.close()
  await Promise.all([api.close(), idp.close()])
})

const call = async (path: string) =>
  send(ORIGIN, path, { headers: bearer(await signToken({ key, claims: { iss: ISSUER } })) })

/** Applies the printed manifests, and waits until all of them are in force. */
async function restore(): Promise<void> {
  await mesh.api.apply(...manifests)
  await eventually(async () => {
    for (const path of ['/api', '/api/x']) {
      expect((await call(path)).status).toBe(200)
      expect((await send(ORIGIN, path)).status).toBe(401)
    }
  }, 60_000)
}

test('other routes are not asked about', async () => {
  expect((await send(ORIGIN, '/public')).status).toBe(200)
  expect((await send(ORIGIN, '/apiary')).status).toBe(404)
})

test('a page in a browser cannot read the challenge, and its preflight is refused', async () => {
  const origin = { origin: 'https://app.example' }
  const answer = await send(ORIGIN, '/api', { headers: origin })
  expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([401, undefined])
  const headers = { ...origin, 'access-control-request-method': 'POST' }
  expect((await send(ORIGIN, '/api', { method: 'OPTIONS', headers })).status).toBe(401)
})

describe('what opens other routes', () => {
  const one = (kind: string): AnyObject => {
    const found = manifests.find((manifest) => manifest.kind === kind)
    if (found === undefined) throw new Error(`no ${kind} was printed`)
    return found
  }
  const changed = (from: string, to: string): AnyObject => {
    const text = JSON.stringify(one('AuthorizationPolicy'))
    expect(text).toContain(from)
    return JSON.parse(text.replace(from, to)) as AnyObject
  }

  test.each<[string, () => Promise<void>, string, number]>([
    [
      'an AuthorizationPolicy that is deleted',
      () => mesh.api.delete(one('AuthorizationPolicy')),
      '/api',
      503,
    ],
    [
      'one that names another Gateway',
      () => mesh.api.apply(changed('"name":"edge"', '"name":"egde"')),
      '/api',
      503,
    ],
    [
      'one without the paths below',
      () => mesh.api.apply(changed('"/api","/api/*"', '"/api"')),
      '/api/x',
      503,
    ],
    [
      'one that names a provider that is not there',
      () => mesh.api.apply(changed('{"name":"gatehouse"}', '{"name":"gatehuose"}')),
      '/api',
      403,
    ],
    ['an EnvoyFilter that is deleted', () => mesh.api.delete(one('EnvoyFilter')), '/api', 503],
  ])('%s: nothing reaches a backend', async (_, change, path, status) => {
    await change()
    await eventually(async () => {
      expect((await call(path)).status).toBe(status)
    }, 60_000)
    api.requests.length = 0
    expect((await call(path)).status).toBe(status)
    expect((await send(ORIGIN, path)).status).not.toBe(200)
    expect(api.requests).toEqual([])
    await restore()
  })
})
