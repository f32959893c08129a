// Istio with --require-policy: Envoys ask about every request of the Gateway, so that a route which Gatehouse's patches do
// not find is closed. Nothing follows the mesh here: the manifests stay as they were printed.

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { ADDRESS } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from '../support/backend.js'
import { type Gatehouse, startGatehouse } from '../support/gatehouse.js'
import { bearer, send } from '../support/http.js'
import { proxyPolicy } from '../support/resources.js'
import { keySet, newKey, signToken } from '../support/tokens.js'
import { edge, hostOf, type Istio, PORT, route, serviceTo, startIstio } from './support/istio.js'
import { translateFor } from './support/translate.js'

const ORIGIN = `http://127.0.0.1:${PORT}`
const GRPC_PORT = 18_005
const ISSUER = 'https://idp.example'
const PRM = '/.well-known/oauth-protected-resource/mcp'
/** Longest time that istiod and its Envoy take for a change, on a busy machine. */
const PATIENCE = 60_000

const key = await newKey('k1')
const provider = {
  issuer: ISSUER,
  audiences: ['mcp'],
  jwks: { inline: JSON.stringify(keySet(key)) },
}
const token = await signToken({ key, claims: { iss: ISSUER, aud: 'mcp' } })

let app: Backend
let mesh: Istio
let gatehouse: Gatehouse | undefined
let port: number

beforeAll(async () => {
  ;[app, mesh] = await Promise.all([startBackend('app'), startIstio()])
  port = await mesh.service('app', app.port)
  const routes = [route('app', '/app', 'app', port), route('mcp', '/mcp', 'app', port)]
  await mesh.api.apply(...serviceTo('gatehouse', GRPC_PORT, 'grpc'), ...routes)
  await answers('/app', 200)
  gatehouse = await startGatehouse({
    command: 'serve',
    resources: [
      edge,
      ...routes,
      proxyPolicy('app', 'app', { jwtAuthentication: { mode: 'Strict', providers: [provider] } }),
      proxyPolicy('mcp', 'mcp', {
        jwtAuthentication: {
          mode: 'Strict',
          providers: [provider],
          mcp: { resourceMetadata: { resource: `${ORIGIN}/mcp` } },
        },
      }),
    ],
    flags: ['--for', 'istio', '--require-policy', '--grpc', `${ADDRESS}:${String(GRPC_PORT)}`],
  })
  const connect = `${hostOf('gatehouse')}:${String(GRPC_PORT)}`
  await mesh.applyText(
    await translateFor('istio', '--require-policy', gatehouse.folder, '--connect', connect),
  )
  await answers('/app', 401)
  await answers(PRM, 200)
}, 300_000)

afterAll(async () => {
  await gatehouse?.close()
  await mesh.close()
  await app.close()
})

beforeEach(() => {
  app.requests.length = 0
})

/** Waits until a request without a token gets this status. */
const answers = (path: string, status: number): Promise<void> =>
  eventually(async () => {
    expect((await send(ORIGIN, path)).status).toBe(status)
  }, PATIENCE)

test('a token opens its route, and pages read the documents without one', async () => {
  expect((await send(ORIGIN, '/app', { headers: bearer(token) })).status).toBe(200)
  expect((await send(ORIGIN, '/mcp')).status).toBe(401)
  const page = { origin: 'https://app.example' }
  const document = await send(ORIGIN, PRM, { headers: page })
  expect(document).toMatchObject({
    status: 200,
    headers: { 'access-control-allow-origin': page.origin },
  })
  const preflight = { ...page, 'access-control-request-method': 'POST' }
  expect((await send(ORIGIN, PRM, { method: 'OPTIONS', headers: preflight })).status).toBe(200)
})

test('an HTTPRoute that Gatehouse does not know is closed', async () => {
  await mesh.api.apply(route('other', '/other', 'app', port))
  await answers('/other', 503)
  const call = { method: 'POST', body: 'a body of more than a byte' }
  expect((await send(ORIGIN, '/other', call)).status).toBe(503)
  expect(app.requests).toEqual([])
})

test('a rule with the name of the documents is not let in on other paths', async () => {
  const name = 'default.gatehouse-documents-mcp.0'
  for (const path of ['/other', '/mcp/files']) {
    await mesh.api.apply(route('other', path, 'app', port, { name }))
    await answers(path, 403)
  }
  expect(app.requests).toEqual([])
  expect((await send(ORIGIN, PRM)).status).toBe(200)
})

test('a rule that is renamed is closed while no patch has its name', async () => {
  const renamed = route('app', '/app', 'app', port, { name: 'renamed' })
  await mesh.api.apply(renamed)
  await answers('/app', 503)
  expect((await send(ORIGIN, '/app', { headers: bearer(token) })).status).toBe(503)
  expect(app.requests).toEqual([])
  await mesh.api.apply(route('app', '/app', 'app', port))
  await answers('/app', 401)
})
