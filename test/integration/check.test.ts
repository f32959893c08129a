// `gatehouse check` as a person or a CI job runs it: a configuration that cannot work exits 1; a remark exits 0, or 1
// with --strict.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  API_GROUP,
  gateway,
  httpRoute,
  mcpRoute,
  proxyBackend,
  proxyPolicy,
  rule,
  toYaml,
} from '../support/resources.js'

const ROOT = resolve(import.meta.dirname, '../..')
const KEYS = JSON.stringify({
  keys: [{ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }],
})
const [PRM, AS] = [
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-authorization-server',
]

let folder: string
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'gatehouse-check-'))))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Case {
  readonly route?: object
  /** Fields of jwtAuthentication.mcp. */
  readonly mcp?: object
  readonly issuer?: string
  /** HTTPRoutes of the policy. */
  readonly targets?: readonly string[]
  readonly more?: readonly object[]
}

const ISSUER = 'https://idp.example/o/mcp/'
const PATHS = [PRM, AS]
const exactly = (...paths: readonly string[]): object =>
  httpRoute('mcp', {
    rules: [
      {
        matches: paths.map((value) => ({ path: { type: 'Exact', value } })),
        backendRefs: [{ group: API_GROUP, kind: 'ProxyBackend', name: 'server' }],
      },
    ],
  })
const at = (resource: string): object => ({ resourceMetadata: { resource } })

function policy(targets: readonly string[], traffic: object): object {
  const { spec, ...rest } = proxyPolicy('mcp', '', traffic)
  const targetRefs = targets.map((name) => ({
    group: 'gateway.networking.k8s.io',
    kind: 'HTTPRoute',
    name,
  }))
  return { ...rest, spec: { ...spec, targetRefs } }
}

/** Exit code, and what is printed of the policy. */
function check(
  { route, mcp, issuer, targets = ['mcp'], more = [] }: Case,
  ...flags: readonly string[]
) {
  const provider = { issuer: issuer ?? ISSUER, audiences: ['mcp'], jwks: { inline: KEYS } }
  const documents = [
    gateway([8080]),
    proxyBackend('server', { host: '127.0.0.1', port: 3001 }),
    route ?? mcpRoute('mcp', 'server', '/mcp', { hostnames: ['mcp.example', 'localhost'] }),
    policy(targets, {
      jwtAuthentication: {
        providers: [provider],
        mcp: {
          clientId: 'mcp',
          metadataIssuer: 'Gateway',
          corsHeaders: 'AsWritten',
          allowedOrigins: ['https://app.example'],
          ...mcp,
        },
      },
    }),
    ...more,
  ]
  writeFileSync(join(folder, 'resources.yaml'), toYaml(...documents))
  const { status, stdout } = spawnSync(
    process.execPath,
    ['dist/main.js', 'check', ...flags, folder],
    { cwd: ROOT, encoding: 'utf8', timeout: 30_000 },
  )
  return { status, stdout }
}

test('what is as it should be is exit code 0, with --strict too', () => {
  expect(check({}, '--strict')).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/\n4 resources read; all is well\n$/) as string,
  })
})

const CANNOT_WORK: readonly (readonly [string, Case, string])[] = [
  [
    'a route without the well-known matches',
    { route: httpRoute('mcp', { rules: [rule('/mcp', 'server')] }) },
    `does not match ${PRM}/mcp and ${AS}/mcp: clients cannot log in`,
  ],
  [
    'a route with Exact matches without that of the registration',
    { route: exactly('/mcp', `${PRM}/mcp`, `${AS}/mcp`) },
    `does not match ${AS}/mcp/client-registration: clients cannot log in`,
  ],
  [
    'a route of clients that log in at the provider, without the resource metadata',
    {
      route: exactly('/mcp', `${AS}/mcp`, `${AS}/mcp/client-registration`),
      mcp: { authorizationServer: 'Provider' },
    },
    `does not match ${PRM}/mcp: clients cannot log in`,
  ],
  [
    'a resource whose documents the route does not match',
    { mcp: at('https://mcp.example/other') },
    `does not match ${PATHS.map((path) => `${path}/other`).join(' and ')}: clients cannot log in`,
  ],
  [
    'a resource on loopback of a route for other host names',
    {
      route: mcpRoute('mcp', 'server', '/mcp', { hostnames: ['mcp.example'] }),
      mcp: at('http://localhost:8080/mcp'),
    },
    'resource http://localhost:8080/mcp is of this machine, but HTTPRoute default/mcp serves mcp.example: clients cannot log in',
  ],
  [
    'a relay whose route has no Exact match for its callback and tokens',
    {
      route: exactly(
        '/mcp',
        `${PRM}/mcp`,
        `${AS}/mcp`,
        `${AS}/mcp/client-registration`,
        `${AS}/mcp/authorize`,
      ),
      mcp: { authorizationServer: 'Relay', ...at('https://mcp.example/mcp') },
    },
    `does not match ${AS}/mcp/callback and ${AS}/mcp/token: clients cannot log in`,
  ],
  [
    'IdpOne without a clientId',
    { mcp: { provider: 'IdpOne', clientId: undefined } },
    'Client registration is refused: mcp.clientId is not set, and IdpOne does not register clients',
  ],
  [
    'IdpTwo without a clientId, at an issuer that is none of its own',
    { mcp: { provider: 'IdpTwo', clientId: undefined } },
    "Client registration is refused: mcp.clientId is not set, and the issuer is not one of IdpTwo's",
  ],
  [
    'a rule that is refused beside one that is not',
    {
      more: [
        httpRoute('odd', {
          rules: [
            rule('/good', 'server'),
            rule('/odd', 'server', {
              filters: [
                {
                  type: 'ExtensionRef',
                  extensionRef: { group: 'x.example', kind: 'Odd', name: 'odd' },
                },
              ],
            }),
          ],
        }),
      ],
    },
    'PartiallyInvalid=True',
  ],
]

test.each(CANNOT_WORK)('%s cannot work: exit code 1', (_name, written, sentence) => {
  const { status, stdout } = check(written)
  expect(stdout).toContain(sentence)
  expect(stdout).not.toContain('all is well')
  expect(status).toBe(1)
})

const MAY_BE_MEANT: readonly (readonly [string, Case, string])[] = [
  [
    'a resource of another host',
    { mcp: at('https://public.example/mcp') },
    'resource https://public.example/mcp is of another host, but HTTPRoute default/mcp serves mcp.example, localhost: that needs a proxy that changes Host',
  ],
  [
    'a resource of another path, whose documents are there',
    {
      route: exactly('/mcp', `${PRM}/public`, `${AS}/public`, `${AS}/public/client-registration`),
      mcp: at('https://mcp.example/public'),
    },
    'has a path that HTTPRoute default/mcp does not match: that needs a proxy that changes paths',
  ],
  [
    'a resource on loopback at another port',
    { mcp: at('http://localhost:9999/mcp') },
    'resource http://localhost:9999/mcp has a scheme and port that no listener of HTTPRoute default/mcp has: that needs a forwarded port',
  ],
  [
    'clients that log in at the provider, without documents for older ones',
    { route: exactly('/mcp', `${PRM}/mcp`), mcp: { authorizationServer: 'Provider' } },
    'clients that do not know resource metadata cannot log in',
  ],
  [
    'IdpTwo without a clientId',
    {
      issuer: 'https://api.idp.example/v1/apps/agentic/P1/S1',
      mcp: { provider: 'IdpTwo', clientId: undefined },
    },
    'registration is passed on to IdpTwo, which refuses it without a management key',
  ],
  ['no allowedOrigins', { mcp: { allowedOrigins: undefined } }, 'mcp.allowedOrigins is not set'],
  [
    'a route that no Gateway is asked to serve',
    { more: [httpRoute('lost', { parentRefs: [], rules: [rule('/lost', 'server')] })] },
    'HTTPRoute default/lost: it has no parentRefs: no Gateway serves it',
  ],
]

test.each(MAY_BE_MEANT)(
  '%s may be meant: a remark and exit code 0, with --strict 1',
  (_name, written, sentence) => {
    const { status, stdout } = check(written)
    expect(stdout.split('\n').find((line) => line.includes(sentence))).toMatch(/^\S+: note: /)
    expect(stdout).toContain('all is well')
    expect(status).toBe(0)
    const strict = check(written, '--strict')
    expect(strict.stdout).toContain(sentence)
    expect(strict.stdout).toMatch(/in what they mean, [1-9] remarks? \(--strict\)\n$/)
    expect(strict.status).toBe(1)
  },
)

test('documents that another route of the policy has are there', () => {
  const written: Case = {
    route: httpRoute('mcp', { rules: [rule('/mcp', 'server')] }),
    mcp: at('https://mcp.example/mcp'),
    more: [
      httpRoute('documents', {
        rules: [rule(`${PRM}/mcp`, 'server'), rule(`${AS}/mcp`, 'server')],
      }),
    ],
  }
  expect(check(written).status).toBe(1)
  expect(check({ ...written, targets: ['mcp', 'documents'] }, '--strict')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('all is well') as string,
  })
})
