// The CRDs in a real API server: what `gatehouse check` rejects is rejected on apply, with the same message.

import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AnyObject, ApiError } from '../../testing/api-call.js'
import type { ApiServer } from '../../testing/api-server.js'
import { MAIN } from '../../testing/program.js'
import { API_GROUP, toYaml } from '../support/resources.js'
import { inNamespace, service } from './support/objects.js'
import { apiServerFor } from './support/shared-api-server.js'

let api: ApiServer
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-test-'))
  api = await apiServerFor()
})

afterAll(async () => {
  await api.close()
  await rm(folder, { recursive: true, force: true })
})

const ours = (kind: string, spec: object): AnyObject => ({
  apiVersion: `${API_GROUP}/v1alpha1`,
  kind,
  metadata: { name: 'it' },
  spec,
})

const ROUTE = { group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'app' }
const SERVICE = { group: '', kind: 'Service', name: 'hook' }
const PROXY_BACKEND = { group: API_GROUP, kind: 'ProxyBackend', name: 'hook' }
const REMOTE = { remote: { backendRef: { name: 'idp', port: 443 }, jwksPath: '/keys' } }
const provider = (more: object = {}) => ({
  issuer: 'https://idp',
  audiences: ['a'],
  jwks: REMOTE,
  ...more,
})
const jwt = (jwtAuthentication: object) =>
  ours('ProxyPolicy', { targetRefs: [ROUTE], traffic: { jwtAuthentication } })
const relayed = (keyRef: object) =>
  jwt({
    mcp: { authorizationServer: 'Relay', relay: { keyRef: [keyRef] } },
    providers: [provider()],
  })
function guarded(headers: object, backendRef: object = {}) {
  const webhook = { backendRef: { name: 'hook', port: 80, ...backendRef }, headers }
  return ours('ProxyPolicy', {
    targetRefs: [ROUTE],
    backend: { ai: { promptGuard: { response: [{ webhook }] } } },
  })
}
const parameters = (...env: object[]) => ours('ProxyParameters', { env })

const REFUSED: readonly (readonly [string, AnyObject])[] = [
  [
    'backend.http may not be used with the target HTTPRoute',
    ours('ProxyPolicy', { targetRefs: [ROUTE], backend: { http: { requestTimeout: '1s' } } }),
  ],
  [
    'traffic may not be used with the target Service',
    ours('ProxyPolicy', {
      targetRefs: [SERVICE],
      traffic: { authorization: { policy: { matchExpressions: ['true'] } } },
    }),
  ],
  [
    'backend.ai may not be used with the target ProxyBackend',
    ours('ProxyPolicy', { targetRefs: [PROXY_BACKEND], backend: { ai: {} } }),
  ],
  [
    'target GRPCRoute gw of group "gateway.networking.k8s.io" is not known; expected HTTPRoute, Gateway or ListenerSet of gateway.networking.k8s.io, Service of the core group or ProxyBackend of policy.gatehouse.dev',
    ours('ProxyPolicy', { targetRefs: [{ ...ROUTE, kind: 'GRPCRoute', name: 'gw' }] }),
  ],
  [
    'backend.http may not be used with the target Gateway',
    ours('ProxyPolicy', {
      targetRefs: [{ ...ROUTE, kind: 'Gateway', name: 'gw' }],
      backend: { http: { requestTimeout: '1s' } },
    }),
  ],
  [
    'targetRefs: sectionName is for the targets Gateway and ListenerSet, not for HTTPRoute',
    ours('ProxyPolicy', { targetRefs: [{ ...ROUTE, sectionName: 'http' }] }),
  ],
  [
    'jwtAuthentication.mcp requires exactly one provider',
    jwt({ mcp: {}, providers: [provider(), provider({ issuer: 'https://other' })] }),
  ],
  [
    'jwtAuthentication.mcp requires mode Strict, not Optional',
    jwt({ mcp: {}, mode: 'Optional', providers: [provider()] }),
  ],
  [
    'jwtAuthentication.mcp requires audiences',
    jwt({ mcp: {}, providers: [{ issuer: 'https://idp', jwks: REMOTE }] }),
  ],
  [
    'jwks: expected exactly one of remote and inline; both are set',
    jwt({ providers: [provider({ jwks: { ...REMOTE, inline: '{"keys":[]}' } })] }),
  ],
  [
    'jwks: expected exactly one of remote and inline; neither is set',
    jwt({ providers: [provider({ jwks: {} })] }),
  ],
  ['mcp.relay.keyRef: expected exactly one of name and file', relayed({ key: 'key' })],
  [
    'mcp.relay.keyRef: key is the member of a Secret; a file has none',
    relayed({ file: 'relay.key', key: 'key' }),
  ],
  [
    'jwks.remote.jwksPath is needed; only with mcp.provider IdpTwo is it derived',
    jwt({
      providers: [provider({ jwks: { remote: { backendRef: { name: 'idp', port: 443 } } } })],
    }),
  ],
  [
    'authorization.policy.matchExpressions is empty; at least one expression is needed',
    ours('ProxyPolicy', {
      targetRefs: [ROUTE],
      traffic: { authorization: { policy: { matchExpressions: [] } } },
    }),
  ],
  ['this header frames the request and cannot be set', guarded({ 'Content-Length': '"1"' })],
  ['this is not a header name', guarded({ 'x y': '"1"' })],
  [
    'this key cannot be used here: is too long, expected at most 256 characters',
    guarded({ ['x'.repeat(257)]: '"1"' }),
  ],
  [
    'backendRef kind Deployment of group "apps" is not known; expected Service of the core group or ProxyBackend of policy.gatehouse.dev',
    guarded({}, { group: 'apps', kind: 'Deployment' }),
  ],
  ['needs a port', guarded({}, { port: undefined })],
  [
    'backend.ai.promptGuard and traffic.jwtAuthentication.mcp exclude each other: the route refuses all traffic',
    ours('ProxyPolicy', {
      targetRefs: [ROUTE],
      traffic: { jwtAuthentication: { mcp: {}, providers: [provider()] } },
      backend: { ai: { promptGuard: {} } },
    }),
  ],
  [
    'backend.ai.promptGuard and backend.mcp.guard exclude each other: the route refuses all traffic',
    ours('ProxyPolicy', {
      targetRefs: [ROUTE],
      backend: { ai: { promptGuard: {} }, mcp: { guard: {} } },
    }),
  ],
  [
    'backend.mcp may not be used with the target ProxyBackend',
    ours('ProxyPolicy', { targetRefs: [PROXY_BACKEND], backend: { mcp: { guard: {} } } }),
  ],
  [
    'jwks.remote.jwksPath "/the keys" is not a path',
    jwt({
      providers: [provider({ jwks: { remote: { ...REMOTE.remote, jwksPath: '/the keys' } } })],
    }),
  ],
  [
    'is not an http or https URL, which jwtAuthentication.mcp needs',
    jwt({ mcp: {}, providers: [provider({ issuer: 'idp.example' })] }),
  ],
  [
    "IdpTwo's issuers are https://HOST/v1/apps/agentic/PROJECT_ID/SERVER_ID",
    jwt({ mcp: { provider: 'IdpTwo' }, providers: [provider({ jwks: {} })] }),
  ],
  [
    'requestTimeout must be at least 1ms',
    ours('ProxyPolicy', { targetRefs: [SERVICE], backend: { http: { requestTimeout: '0s' } } }),
  ],
  [
    'GUARDRAIL_WEBHOOK_MAX_CONNECTION is not known; expected one of GUARDRAIL_WEBHOOK_MAX_CONNECTIONS, GUARDRAIL_WEBHOOK_KEEPALIVE_SECONDS',
    parameters({ name: 'GUARDRAIL_WEBHOOK_MAX_CONNECTION', value: '1' }),
  ],
  [
    'GUARDRAIL_WEBHOOK_MAX_CONNECTIONS is set twice',
    parameters(
      { name: 'GUARDRAIL_WEBHOOK_MAX_CONNECTIONS', value: '1' },
      { name: 'GUARDRAIL_WEBHOOK_MAX_CONNECTIONS', value: '2' },
    ),
  ],
  [
    'GUARDRAIL_WEBHOOK_KEEPALIVE_SECONDS is "90000"; expected a whole number from 0 to 86400',
    parameters({ name: 'GUARDRAIL_WEBHOOK_KEEPALIVE_SECONDS', value: '90000' }),
  ],
]

/**
 * Writes each object to a file of its own, in a namespace of its own. Returns what `gatehouse check` says of each, by one run
 * for all of them.
 */
async function saidByCheck(objects: readonly AnyObject[]): Promise<readonly string[]> {
  const fileOf = (index: number): string => join(folder, `${String(index)}.yaml`)
  for (const [index, object] of objects.entries()) {
    const all = [service('hook'), service('idp', 443), object]
    const placed = all.map((each) => inNamespace(`case-${String(index)}`, each))
    await writeFile(fileOf(index), toYaml(...placed))
  }
  const run = promisify(execFile)(process.execPath, [MAIN, 'check', folder])
  const { code, stdout, stderr } = (await run.catch((error: unknown) => error)) as {
    readonly code?: number
    readonly stdout: string
    readonly stderr: string
  }
  expect(code).toBe(1)
  const lines = `${stdout}${stderr}`.split('\n')
  return objects.map((_, index) =>
    lines.filter((line) => line.startsWith(`${fileOf(index)}:`)).join('\n'),
  )
}

async function saidByApiServer(object: AnyObject): Promise<string> {
  try {
    await api.apply(object)
  } catch (error) {
    if (error instanceof ApiError && error.status === 422) return error.message
    throw error
  }
  return 'it was taken'
}

describe('what is refused', () => {
  let said: readonly string[]

  beforeAll(async () => {
    said = await saidByCheck(REFUSED.map(([, object]) => object))
  })

  test.each(REFUSED.map((row, index) => [...row, index] as const))(
    '%s',
    async (sentence, object, index) => {
      expect(said[index]).toContain(sentence)
      expect(await saidByApiServer(object)).toContain(sentence)
    },
  )
})

describe('what is good', () => {
  test('is taken, IdpTwo without a path of its keys too', async () => {
    await api.apply(
      jwt({
        mcp: { provider: 'IdpTwo' },
        providers: [provider({ jwks: {}, issuer: 'https://idp/v1/apps/agentic/P/S' })],
      }),
      parameters({ name: 'GUARDRAIL_WEBHOOK_KEEPALIVE_SECONDS', value: '0' }),
      {
        ...ours('ProxyPolicy', {
          targetRefs: [SERVICE, PROXY_BACKEND],
          backend: { http: { requestTimeout: '5s' } },
        }),
        metadata: { name: 'deadline' },
      },
    )
  })
})
