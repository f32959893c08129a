// The screen that a person sees at start-up: what is in it, in which order, and that nothing makes it long or unsafe.

import { expect, test } from 'vitest'
import { atOnce } from '../../../src/kit/turns.js'
import type { AuthzEntry } from '../../../src/model/authz-entry.js'
import type { Ir } from '../../../src/model/ir.js'
import {
  servedListeners,
  type ServedRoute,
  servedRoutes,
} from '../../../src/ops/admin/served-routes.js'
import { type StartReport, startScreen } from '../../../src/ops/admin/start-screen.js'
import { chain, forward, ir, path, route } from '../../support/ir.js'

const plain = { columns: 80, rows: 40, hasColour: false }

const served = (name: string, more: Partial<ServedRoute> = {}): ServedRoute => ({
  name,
  isOpen: false,
  isRefusing: false,
  guards: ['token'],
  places: { first: ['*/mcp'], count: 1 },
  ...more,
})

const report = (more: Partial<StartReport> = {}): StartReport => ({
  revision: 'r1',
  addresses: [
    ['status page', 'http://127.0.0.1:18001/'],
    ['gRPC', '127.0.0.1:18000'],
  ],
  listeners: [
    {
      gateway: 'default/gw',
      port: 8080,
      isTls: false,
      hosts: { first: ['*'], count: 1 },
    },
    {
      gateway: 'default/gw',
      port: 8443,
      isTls: true,
      hosts: { first: ['a.example', 'b.example', 'c.example'], count: 1003 },
    },
  ],
  routes: [served('default/mcp', { guards: ['token', 'rules', 'limits'] })],
  problems: [],
  missingKeySets: 0,
  more: 'http://127.0.0.1:18001/',
  next: [['all routes and problems', 'open http://127.0.0.1:18001/']],
  ...more,
})

const problem = (message: string, name = 'mcp') => ({
  resource: {
    apiVersion: 'policy.gatehouse.dev/v1alpha1',
    kind: 'ProxyPolicy',
    namespace: 'default',
    name,
    source: 'policy.yaml:3',
    conditions: [],
  },
  condition: { type: 'Accepted', status: 'False', reason: 'Invalid', message } as const,
})

test('it says what is served, where, and what guards it', () => {
  expect(startScreen(report(), plain)).toBe(`
Gatehouse serves configuration r1
  status page  http://127.0.0.1:18001/
  gRPC         127.0.0.1:18000

Listeners
  8080   http   default/gw  any host
  8443   https  default/gw  a.example, b.example, c.example and 1,000 more

No open routes, no problems

Routes (1)
  default/mcp  token, rules, limits  */mcp

Next
  all routes and problems  open http://127.0.0.1:18001/

`)
})

test('open routes and problems come before the other routes, and keys that are missing are counted', () => {
  const routes = [
    served('default/public', { isOpen: true, guards: ['limits'] }),
    served('default/broken', { isRefusing: true, guards: ['refuses', 'token'] }),
    served('default/mcp'),
  ]
  const problems = [
    problem('audiences are missing\nThe issuer is empty, and it must be the one in iss'),
  ]
  const screen = startScreen(report({ routes, problems, missingKeySets: 2 }), plain)
  expect(screen.slice(screen.indexOf('Open'), screen.indexOf('Next'))).toBe(
    `Open routes (1): no policy decides who may use them
  default/public  open, limits  */mcp

Problems (1)
  ProxyPolicy default/mcp (policy.yaml:3)
    Accepted=False (Invalid): audiences are missing. The issuer is empty, and
    it must be the one in iss

Key sets not fetched yet: 2
  Until they are, tokens that need them get 503.

Other routes (2)
  default/broken  refuses, token  */mcp
  default/mcp     token           */mcp

`,
  )
})

test('colours are extra: open is yellow, problems are red, and without colours the text is the same', () => {
  const routes = [served('default/public', { isOpen: true }), served('default/mcp')]
  const many = report({ routes, problems: [problem('odd')] })
  const coloured = startScreen(many, { ...plain, hasColour: true })
  expect(coloured).toContain('\u001b[33m  default/public  \u001b[0m')
  expect(coloured).toContain('\u001b[31m  ProxyPolicy default/mcp (policy.yaml:3)\u001b[0m')
  const stripped = coloured.replace(/\u001b\[\d+m/g, '')
  const trimmed = stripped.replace(/ +$/gm, '')
  expect(trimmed).toBe(startScreen(many, plain))
})

test('of thousands of routes, listeners and problems it shows some, and how many there are', () => {
  const numbers = Array.from({ length: 10_000 }, (_, index) => index)
  const routes = [
    ...numbers.map((index) => served(`default/open-${String(index)}`, { isOpen: true })),
    ...numbers.map((index) => served(`default/mcp-${String(index)}`)),
  ]
  const [listener] = report().listeners ?? []
  const listeners = numbers.flatMap(() => (listener === undefined ? [] : [listener]))
  const problems = numbers.map((index) => problem('x '.repeat(5_000), `mcp-${String(index)}`))
  const screen = startScreen(report({ routes, listeners, problems }), plain)
  const lines = screen.split('\n')
  expect(lines.length).toBeLessThan(60)
  expect(lines.filter((line) => line.length > plain.columns)).toEqual([])
  expect(lines.filter((line) => line.includes('more'))).toEqual([
    '  and 9,994 more',
    '  and 9,992 more: http://127.0.0.1:18001/',
    '  and 9,995 more: http://127.0.0.1:18001/',
    '  and 9,997 more: http://127.0.0.1:18001/',
  ])
})

test('a high terminal shows more routes than a low one', () => {
  const routes = Array.from({ length: 100 }, (_, index) => served(`default/mcp-${String(index)}`))
  const shown = (rows: number): number =>
    startScreen(report({ routes }), { ...plain, rows }).split('default/mcp-').length - 1
  expect([shown(10), shown(24), shown(30), shown(500)]).toEqual([3, 7, 13, 20])
})

test('lines fit the width, but a command is never cut', () => {
  const routes = [
    served('default/a-name-that-is-much-longer-than-a-third-of-the-line', {
      guards: ['token', 'rules', 'scopes', 'limits', 'guardrail'],
      places: { first: ['日本語.example/日本語'], count: 1 },
    }),
  ]
  const command = `gatehouse explain --admin 127.0.0.1:18001 --request "POST https://HOST/PATH"`
  const next = [['why', command]] as const
  const screen = startScreen(report({ routes, next }), { ...plain, columns: 40 })
  expect(screen).toContain('  default/a-…  token, rul…  日本語.exam…\n')
  expect(screen).toContain(command)
})

test('what a terminal could obey or hide is escaped', () => {
  const routes = [
    served('default/mcp', { places: { first: ['*/\u001b]0;x\u0007\u202eevil'], count: 1 } }),
  ]
  const problems = [problem('bad\u001b[2J\rgone')]
  const screen = startScreen(report({ routes, problems }), { ...plain, columns: 120 })
  expect(screen).toContain('*/\\u{1b}]0;x\\u{7}\\u{202e}evil')
  expect(screen).toContain('bad\\u{1b}[2J\\u{d}gone')
  expect(screen).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/)
})

test('no Gateway, no status page and a mesh are shown differently', () => {
  const { revision, addresses, routes, problems } = report()
  const mesh = { revision, addresses, routes, problems, missingKeySets: 0, next: [] }
  expect(startScreen(mesh, plain)).toContain('Listeners\n  those of the mesh\n')
  const none = startScreen(report({ listeners: [], routes: [], next: [] }), plain)
  expect(none).toContain('Listeners\n  none: no Gateway is in force\n')
  expect(none).not.toContain('Next')
})

const entry = (name: string, more: Partial<AuthzEntry> = {}): AuthzEntry => ({
  key: `${name}/0`,
  route: name,
  paths: [path('/mcp')],
  ...more,
})

const jwt = { mode: 'Strict', providers: [], forwardToken: false } as const
const limits = { local: [], maxBuckets: 1 }

const model = (): Ir => ({
  ...ir({
    port: 8080,
    chains: [
      {
        ...chain('default/gw/8080', []),
        virtualHosts: [
          {
            name: 'default/gw/8080/a.example',
            domains: ['a.example'],
            routes: [
              route('/mcp', forward('b'), {
                name: 'default/mcp/0/0',
                authz: 'default/mcp/0',
                limits,
              }),
              route('/.well-known/x', { type: 'answered' }, { name: 'default/mcp/0/0/documents' }),
              route('=/', forward('b'), { name: 'default/public/0/0' }),
              route('/bad', { type: 'refuse', status: 500, body: '' }, { name: 'default/bad/0/0' }),
            ],
          },
          {
            name: 'default/gw/8080/!misdirected',
            domains: ['other.example'],
            routes: [route('/', { type: 'misdirected' }, { name: 'misdirected' })],
          },
        ],
      },
    ],
    destinations: [],
  }),
  authz: [
    entry('default/mcp', {
      jwt,
      authorization: { deny: ['true'], require: [], allow: [], requiredScopes: [] },
    }),
    entry('default/tried', { isAudited: true, audit: { jwt } }),
  ],
  proc: [
    {
      type: 'guard',
      key: 'default/public/0',
      route: 'default/public',
      request: [],
      response: [],
    },
  ],
})

test('routes of the model are listed with what guards them, open ones first', () => {
  const open = new Set(['default/public', 'default/tried'])
  expect(atOnce(servedRoutes(model(), open))).toEqual([
    served('default/public', {
      isOpen: true,
      guards: ['guardrail'],
      places: { first: ['a.example/ (exactly)'], count: 1 },
    }),
    served('default/tried', {
      isOpen: true,
      guards: ['audit'],
      places: { first: ['/mcp'], count: 1 },
    }),
    served('default/bad', {
      isRefusing: true,
      guards: ['refuses'],
      places: { first: ['a.example/bad'], count: 1 },
    }),
    served('default/mcp', {
      guards: ['token', 'rules', 'limits'],
      places: { first: ['a.example/mcp'], count: 1 },
    }),
  ])
})

test('a listener has the hosts of its routes, not those of other listeners', () => {
  expect(atOnce(servedListeners(model()))).toEqual([
    {
      gateway: 'default/gw',
      port: 8080,
      isTls: false,
      hosts: { first: ['a.example'], count: 1 },
    },
  ])
})
