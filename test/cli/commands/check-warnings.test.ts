// What `gatehouse check` warns of: what is accepted, and hardly meant.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { reportCheck } from '../../../src/cli/commands/check.js'
import { translateOffline } from '../../../src/cli/commands/offline.js'
import { parseCommandLine } from '../../../src/ops/settings/settings.js'
import {
  allow,
  API_GROUP,
  type Document,
  gateway,
  httpRoute,
  proxyBackend,
  proxyPolicy,
  rule,
  toYaml,
} from '../../support/resources.js'

let folder: string
beforeAll(async () => (folder = await mkdtemp(join(tmpdir(), 'gatehouse-warnings-'))))
afterAll(() => rm(folder, { recursive: true, force: true }))

async function checked(path: string, ...flags: readonly string[]) {
  const line = parseCommandLine(['check', path, ...flags], {})
  if (line.type !== 'settings') throw new Error(JSON.stringify(line))
  const { text, isGood } = reportCheck(await translateOffline(line.settings), line.settings)
  return { text: text.replaceAll(folder, 'DIR'), isGood }
}

const BASE = [
  gateway([8080]),
  proxyBackend('server', { host: '127.0.0.1', port: 3001 }),
  httpRoute('mcp', { rules: [rule('/mcp', 'server')] }),
]
const service = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { ports: [{ port: 80 }] },
})
const guarded = (more: object): object => ({
  apiVersion: `${API_GROUP}/v1alpha1`,
  kind: 'ProxyPolicy',
  metadata: { name: 'guard' },
  spec: {
    targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'mcp' }],
    ...more,
  },
})

/** Warnings of documents beside a Gateway, a backend and a route, without their place. */
async function warnings(...documents: readonly object[]): Promise<readonly string[]> {
  await writeFile(join(folder, 'all.yaml'), toYaml(...BASE, ...documents))
  const { text, isGood } = await checked(folder)
  expect(isGood).toBe(true)
  const found = text.split('\n').filter((line) => line.includes(': warning: '))
  const strict = await checked(folder, '--strict')
  expect(strict.isGood).toBe(found.length === 0)
  if (found.length > 0) expect(text).not.toContain('all is well')
  for (const line of found) expect(line).toMatch(/^DIR\/all\.yaml:\d+:1: warning: \w+ \S+\/\S+: \S/)
  return found.map((line) => line.replace(/^\S+ warning: /, ''))
}

const policy = (traffic: object): Document => proxyPolicy('mcp', 'mcp', traffic)
const withAction = (action: string, ...rules: readonly string[]): Document =>
  policy({ authorization: { action, policy: { matchExpressions: rules } } })

describe('check warns of', () => {
  const OPEN = /^HTTPRoute default\/mcp: it is open, as no policy decides who may use it/

  test('an open route, each one of them', async () => {
    const routes = Array.from({ length: 30 }, (_, index) =>
      httpRoute(`open-${index}`, { rules: [rule(`/open-${index}`, 'server')] }),
    )
    const found = await warnings(...routes, policy({ authorization: allow('true') }))
    expect(found).toHaveLength(30)
    expect(found[0]).toMatch(/^HTTPRoute default\/open-0: it is open/)
  })

  test('a policy that decides nothing', async () => {
    const found = await warnings(guarded({}), { ...policy({}), metadata: { name: 'empty' } })
    expect(found).toEqual([
      expect.stringMatching(OPEN),
      'ProxyPolicy default/empty: it decides nothing, as none of its fields asks for anything',
      'ProxyPolicy default/guard: it decides nothing, as none of its fields asks for anything',
    ])
  })

  test.each([
    ['Allow', 'mcp.tool.name in ["echo", "search"]'],
    ['Allow', 'mcp.tool.name == "echo" && "x" in jwt.groups'],
    ['Allow', 'mcp.tool.arguments.path == "/tmp"'],
    ['Require', 'mcp.tool.name in ["echo"]'],
    ['Deny', 'mcp.tool.name != "echo"'],
  ])('rules that refuse initialize: %s %s', async (action, source) => {
    expect(await warnings(withAction(action, source))).toContainEqual(
      expect.stringMatching(
        `^ProxyPolicy default/mcp: its rules \\(${action}\\) refuse initialize on HTTPRoute default/mcp, so that no MCP client can connect: `,
      ),
    )
  })

  test.each([
    ['Allow', ['mcp.method != "tools/call" || mcp.tool.name == "echo"']],
    ['Allow', ['mcp.tool.name == "echo"', 'mcp.method == "initialize"']],
    ['Allow', ['mcp.tool.name == "echo"', '"x" in request.headers']],
    ['Allow', ['request.path == "/mcp"']],
    ['Deny', ['mcp.tool.name == "echo"']],
    ['Require', ['mcp.method != "tools/call" || "x" in request.headers']],
  ])('no rules that let initialize in: %s %j', async (action, sources) => {
    const found = await warnings(withAction(action, ...sources))
    expect(found.filter((line) => line.includes('initialize'))).toEqual([])
  })

  test('a claim that stands as a rule', async () => {
    expect(await warnings(policy({ authorization: allow('jwt.groups') }))).toEqual([
      'ProxyPolicy default/mcp: matchExpressions[0]: jwt.groups is compared with nothing, and counts against the caller unless it is true or false: for a list write "x" in jwt.groups, for a text jwt.groups == "x", for true or false jwt.groups == true',
    ])
  })

  test('a rate limit by the text of a token', async () => {
    const limited = (key: string): Document =>
      policy({
        authorization: allow('true'),
        rateLimit: { local: [{ requests: 1, per: '1m', key }] },
      })
    expect(await warnings(limited('request.headers["authorization"]'))).toEqual([
      'ProxyPolicy default/mcp: rateLimit.local[0].key: a caller can write one token in several ways, and so has several buckets: key by claims, such as jwt.sub',
    ])
    for (const key of ['jwt.sub', 'request.headers["x-team"]'])
      expect(await warnings(limited(key))).toEqual([])
  })

  test.each([
    ['promptGuard', 'ai', { group: '', kind: 'Service', name: 'hook' }],
    ['mcp.guard', 'mcp', { group: '', kind: 'Service', name: 'hook' }],
    ['promptGuard', 'ai', { group: API_GROUP, kind: 'ProxyBackend', name: 'outside' }],
  ])('a webhook of %s (%s) without a deadline, on %j', async (field, group, target) => {
    const webhook = { webhook: { backendRef: { ...target, port: 80 } } }
    const guard = { request: [webhook], response: [webhook] }
    const documents = [
      service('hook'),
      proxyBackend('outside', { host: '127.0.0.1', port: 80 }),
      guarded({
        traffic: { authorization: allow('true') },
        backend: { [group]: group === 'ai' ? { promptGuard: guard } : { guard } },
      }),
    ]
    const host = target.kind === 'Service' ? 'hook.default.svc.cluster.local' : '127.0.0.1'
    const lacks = (phase: string): string =>
      `ProxyPolicy default/guard: ${field}.${phase}[0].webhook has no deadline, so that a request waits for http://${host}/${phase} as long as its client does: set backend.http.requestTimeout in a ProxyPolicy that targets its backend`
    expect(await warnings(...documents)).toEqual([lacks('request'), lacks('response')])
    const deadline = {
      ...guarded({
        targetRefs: [target],
        backend: { http: { requestTimeout: '2s' } },
      }),
      metadata: { name: 'deadline' },
    }
    expect(await warnings(...documents, deadline)).toEqual([])
  })
})

test('a provider of https that is asked without TLS: a warning, and none with a BackendTLSPolicy', async () => {
  const jwt = (issuer: string): Document =>
    policy({
      jwtAuthentication: {
        providers: [
          {
            issuer,
            audiences: ['mcp'],
            jwks: {
              remote: {
                backendRef: { group: '', kind: 'Service', name: 'hook', port: 80 },
                jwksPath: '/keys',
              },
            },
          },
        ],
      },
    })
  const found = await warnings(service('hook'), jwt('https://idp.example/a'))
  expect(found).toEqual([
    expect.stringMatching(
      /^ProxyPolicy default\/mcp: Over plain HTTP: the provider https:\/\/idp\.example\/a is asked for its keys and documents without TLS, as no BackendTLSPolicy targets its backend/,
    ),
  ])
  expect(await warnings(service('hook'), jwt('http://idp.example/a'))).toEqual([])
  const tls = {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'BackendTLSPolicy',
    metadata: { name: 'hook' },
    spec: {
      targetRefs: [{ group: '', kind: 'Service', name: 'hook' }],
      validation: { hostname: 'idp.example', wellKnownCACertificates: 'System' },
    },
  }
  expect(await warnings(service('hook'), jwt('https://idp.example/a'), tls)).toEqual([])
})

test('a resource within a List is named with its column', async () => {
  const items = [...BASE].map((one) => ({ ...one }))
  await writeFile(
    join(folder, 'all.yaml'),
    `apiVersion: v1\nkind: List\nitems: ${JSON.stringify(items)}\n`,
  )
  expect((await checked(folder)).text).toMatch(
    /all\.yaml:3:\d{2,}: warning: HTTPRoute default\/mcp: /,
  )
})
