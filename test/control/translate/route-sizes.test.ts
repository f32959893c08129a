// One HTTPRoute whose rules Envoy would need a gigabyte for: they refuse, and say why. Ordinary ones are never too large.

import { expect, test } from 'vitest'
import { collectResources } from '../../../src/control/schema/decode/resource-set.js'
import { createTranslator } from '../../../src/control/translate/translator.js'
import type { Route } from '../../../src/model/route.js'
import { decoded } from '../../support/decoded.js'
import {
  backendRef,
  gateway,
  httpRoute,
  prefix,
  proxyBackend,
  proxyPolicy,
} from '../../support/resources.js'
import { OPTIONS } from '../../support/translate-case.js'

const HOSTS = Array.from({ length: 16 }, (_, index) => `host-${String(index)}.example`)

/** Filters of so many characters, at most 64 KiB. */
const headersOf = (characters: number): readonly object[] => [
  {
    type: 'RequestHeaderModifier',
    requestHeaderModifier: {
      set: Array.from({ length: 16 }, (_, index) => ({
        name: `x-${String(index)}`,
        value: 'v'.repeat(characters / 16),
      })),
    },
  },
]

const matchesOf = (count: number, path: string): readonly object[] =>
  Array.from({ length: count }, (_, index) => prefix(`${path}-${String(index)}`))

function translate(
  rules: readonly object[],
  hostnames: readonly string[] = HOSTS,
  policies: readonly object[] = [],
) {
  const documents = [
    ...policies,
    gateway([8080]),
    proxyBackend('app', { host: '192.0.2.1', port: 80 }),
    httpRoute('large', { hostnames, rules }),
  ]
  const { ir, statuses } = createTranslator(OPTIONS).translate(
    collectResources(documents.flatMap(decoded)).resources,
    new Map(),
  )
  const hosts = ir.gateways
    .flatMap(({ listeners }) => listeners)
    .flatMap(({ chains }) => chains)
    .flatMap(({ virtualHosts }) => virtualHosts)
  const routes: readonly Route[] = hosts.flatMap((host) => host.routes)
  const status = statuses.find(({ kind }) => kind === 'HTTPRoute')
  return { routes, conditions: status?.conditions }
}

const forwards = (routes: readonly Route[], path: string): number =>
  routes.filter(
    ({ match, action }) => match.path.value.startsWith(path) && action.type === 'forward',
  ).length

const size = (routes: readonly Route[]): number =>
  routes.reduce((sum, route) => sum + JSON.stringify(route).length, 0)

test('a rule of a megabyte with 64 matches and 16 hosts refuses, the others of its HTTPRoute do not', () => {
  const { routes, conditions } = translate([
    {
      matches: matchesOf(64, '/large'),
      backendRefs: Array.from({ length: 16 }, () => ({
        ...backendRef('app'),
        filters: headersOf(64_000),
      })),
    },
    { matches: matchesOf(4, '/small'), backendRefs: [backendRef('app')] },
  ])
  expect(forwards(routes, '/large')).toBe(0)
  expect(forwards(routes, '/small')).toBe(4 * HOSTS.length)
  expect(size(routes)).toBeLessThan(16 * 1024 * 1024)
  expect(conditions).toContainEqual(
    expect.objectContaining({
      type: 'PartiallyInvalid',
      status: 'True',
      message: expect.stringMatching(
        /^rules\[0\]: it is too large for Envoy: .* make \d{3,4} MB, and the HTTPRoute may make 16; use fewer/,
      ) as string,
    }),
  )
})

test('only the largest rules refuse: the others are within the bound without them', () => {
  const { routes } = translate([
    {
      matches: matchesOf(64, '/large'),
      filters: headersOf(32_000),
      backendRefs: [backendRef('app')],
    },
    ...Array.from({ length: 3 }, (_, index) => ({
      matches: matchesOf(64, `/middle-${String(index)}`),
      filters: headersOf(4_000),
      backendRefs: [backendRef('app')],
    })),
  ])
  expect(forwards(routes, '/large')).toBe(0)
  expect(forwards(routes, '/middle')).toBe(3 * 64 * HOSTS.length)
})

test('CORS is not repeated by a rule that refuses', () => {
  const origins = Array.from(
    { length: 64 },
    (_, index) => `https://${'o'.repeat(230)}-${String(index)}.example`,
  )
  const cors = { type: 'CORS', cors: { allowOrigins: origins } }
  const { routes } = translate([
    {
      matches: matchesOf(64, '/cors'),
      filters: [cors, ...headersOf(32_000)],
      backendRefs: [backendRef('app')],
    },
  ])
  expect(forwards(routes, '/cors')).toBe(0)
  expect(size(routes)).toBeLessThan(1024 * 1024)
})

test('the same rule for one host is served', () => {
  const { routes, conditions } = translate(
    [
      {
        matches: matchesOf(64, '/large'),
        filters: headersOf(64_000),
        backendRefs: [backendRef('app')],
      },
    ],
    ['host.example'],
  )
  expect(forwards(routes, '/large')).toBe(64)
  expect(conditions).toContainEqual(expect.objectContaining({ type: 'Accepted', status: 'True' }))
})

test('16 rules with 8 matches each, for 16 hosts, are served with headers of 4 KB', () => {
  const { routes } = translate(
    Array.from({ length: 16 }, (_, index) => ({
      matches: matchesOf(8, `/rule-${String(index)}`),
      filters: headersOf(4_000),
      backendRefs: [backendRef('app')],
    })),
  )
  expect(forwards(routes, '/rule')).toBe(16 * 8 * HOSTS.length)
})

/** So many matches with 16 patterns each, of some 500 instructions. */
const patternsOf = (count: number, path: string): readonly object[] =>
  Array.from({ length: count }, (_, index) => ({
    ...prefix(`${path}-${String(index)}`),
    headers: Array.from({ length: 16 }, (_header, at) => ({
      name: `x-${String(at)}`,
      type: 'RegularExpression',
      value: '[acegikmoqsuwy]{490}',
    })),
  }))

/** 3,840 patterns of a similar kind took 320 MB of Envoy for each host. */
test('patterns count with the size of their programs, and a rule that refuses has none', () => {
  const { routes, conditions } = translate([
    { matches: patternsOf(60, '/patterns'), backendRefs: [backendRef('app')] },
    { matches: [prefix('/small')], backendRefs: [backendRef('app')] },
  ])
  expect(forwards(routes, '/patterns')).toBe(0)
  expect(forwards(routes, '/small')).toBe(HOSTS.length)
  expect(routes.filter(({ match }) => match.headers.length > 0)).toEqual([])
  expect(conditions).toContainEqual(
    expect.objectContaining({
      type: 'PartiallyInvalid',
      message: expect.stringMatching(
        /^rules\[0\]: it is too large for Envoy: .* make 2\d\d MB/,
      ) as string,
    }),
  )
})

const ALL_LARGE = [
  {
    matches: matchesOf(64, '/large'),
    filters: headersOf(64_000),
    backendRefs: [backendRef('app')],
  },
  {
    matches: [
      prefix('/a'),
      { path: { type: 'Exact', value: '/b' } },
      { ...prefix('/a'), method: 'GET' },
    ],
    filters: headersOf(64_000),
    backendRefs: Array.from({ length: 16 }, () => ({
      ...backendRef('app'),
      filters: headersOf(64_000),
    })),
  },
]

const refusedPaths = (routes: readonly Route[]): readonly string[] => [
  ...new Set(
    routes
      .filter(({ action }) => action.type === 'refuse')
      .map(({ match }) => `${match.path.type} ${match.path.value}`),
  ),
]

test('a protected rule that refuses covers all of its paths with a few matches', () => {
  const policy = proxyPolicy('locked', 'large', {
    jwtAuthentication: {
      providers: [{ issuer: 'https://idp.example', jwks: { inline: '{"keys":[]}' } }],
    },
  })
  const { routes } = translate(ALL_LARGE, HOSTS, [policy])
  expect(refusedPaths(routes)).toEqual(['Exact /b', 'RegularExpression /large-.*', 'PathPrefix /a'])
  expect(forwards(routes, '/')).toBe(0)
})

test('one without a policy that has many paths covers none of those of others', () => {
  const { routes } = translate(ALL_LARGE)
  expect(refusedPaths(routes)).toEqual(['Exact /b', 'PathPrefix /a'])
  expect(forwards(routes, '/')).toBe(0)
})

test('ordinary patterns are served', () => {
  const matches = Array.from({ length: 64 }, (_, index) => ({
    path: {
      type: 'RegularExpression',
      value: `/api/v[0-9]+/users/[a-z0-9-]{1,36}/${String(index)}`,
    },
  }))
  const { routes } = translate([{ matches, backendRefs: [backendRef('app')] }])
  expect(forwards(routes, '/api')).toBe(64 * HOSTS.length)
})
