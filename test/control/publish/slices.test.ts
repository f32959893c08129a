// A translation of many resources in slices: what is done between two yields does not grow with their number. Work is
// counted: resources read, messages encoded and decoded, hashes, compiled rules.

import type * as cryptoType from 'node:crypto'
import type * as protobufType from '@bufbuild/protobuf'
import { describe, expect, test, vi } from 'vitest'
import { type Snapshot, snapshotWork } from '../../../src/control/publish/build-snapshot.js'
import type { DecodedResource } from '../../../src/control/schema/decode/decode.js'
import { collectResources } from '../../../src/control/schema/decode/resource-set.js'
import { kindsOf } from '../../../src/control/schema/kinds/kinds.js'
import { decodeFile } from '../../../src/control/sources/files/file-record.js'
import { createTranslator } from '../../../src/control/translate/translator.js'
import type * as ruleType from '../../../src/extauthz/cel/rule.js'
import type * as valueType from '../../../src/extauthz/cel/value.js'
import type * as rulesType from '../../../src/extauthz/rules/compile-rules.js'
import type { Work } from '../../../src/kit/turns.js'
import {
  API_GROUP,
  backendRef,
  type Document,
  gateway,
  httpRoute,
  prefix,
  proxyBackend,
} from '../../support/resources.js'
import { OPTIONS } from '../../support/translate-case.js'

const done = vi.hoisted(() => ({ hashes: 0, messages: 0, rules: 0, expressions: 0 }))

vi.mock('node:crypto', async (original) => {
  const crypto = await original<typeof cryptoType>()
  const hash = ((...args: Parameters<typeof crypto.hash>) => {
    done.hashes += 1
    return crypto.hash(...args)
  }) as typeof crypto.hash
  return { ...crypto, hash }
})

vi.mock('@bufbuild/protobuf', async (original) => {
  const protobuf = await original<typeof protobufType>()
  const toBinary = ((...args: Parameters<typeof protobuf.toBinary>) => {
    done.messages += 1
    return protobuf.toBinary(...args)
  }) as typeof protobuf.toBinary
  const fromBinary = ((...args: Parameters<typeof protobuf.fromBinary>) => {
    done.messages += 1
    return protobuf.fromBinary(...args)
  }) as typeof protobuf.fromBinary
  return { ...protobuf, toBinary, fromBinary }
})

vi.mock('../../../src/extauthz/rules/compile-rules.js', async (original) => {
  const rules = await original<typeof rulesType>()
  const compileRules: typeof rules.compileRules = (...args) => {
    done.rules += 1
    return rules.compileRules(...args)
  }
  return { ...rules, compileRules }
})

vi.mock('../../../src/extauthz/cel/value.js', async (original) => {
  const value = await original<typeof valueType>()
  const compileValue: typeof value.compileValue = (...args) => {
    done.expressions += 1
    return value.compileValue(...args)
  }
  return { ...value, compileValue }
})

vi.mock('../../../src/extauthz/cel/rule.js', async (original) => {
  const rule = await original<typeof ruleType>()
  const compileRule: typeof rule.compileRule = (...args) => {
    done.expressions += 1
    return rule.compileRule(...args)
  }
  return { ...rule, compileRule }
})

const XDS = { listenAddress: '0.0.0.0', trustedHops: 0, systemCaFile: '/ca.pem', accessLog: false }
const KINDS = kindsOf(API_GROUP)
/** Several chunks of 64 each. */
const COUNT = 400
/** Maximum cost of one route with its backend and its policy; a chunk of 64 costs many times as much. */
const MOST = { resources: 6, hashes: 6, messages: 10, rules: 1, expressions: 1 }

/** The members that a translation of the kind reads. */
const MEMBERS: Readonly<Record<string, string>> = { HTTPRoute: 'rules', ProxyPolicy: 'traffic' }

/** Resources that were read since the last call. */
const touched = new Set<string>()

function watched(document: Document): DecodedResource {
  const { resources, problems } = decodeFile(Buffer.from(JSON.stringify(document)), 'f', KINDS)
  const [decoded] = resources
  if (decoded === undefined) throw new Error(problems[0]?.message)
  const { kind, metadata, spec } = decoded.resource
  const member = MEMBERS[kind]
  if (member === undefined || typeof spec !== 'object' || spec === null) return decoded
  const value: unknown = spec[member as keyof typeof spec]
  const get = (): unknown => {
    touched.add(`${kind} ${metadata.name}`)
    return value
  }
  const read = Object.defineProperty({ ...spec }, member, { enumerable: true, get })
  return { ...decoded, resource: { ...decoded.resource, spec: read } }
}

const policy = (name: string, kind: string, target: string, traffic: object): Document => ({
  apiVersion: `${API_GROUP}/v1alpha1`,
  kind: 'ProxyPolicy',
  metadata: { name },
  spec: {
    targetRefs: [{ group: 'gateway.networking.k8s.io', kind, name: target }],
    traffic,
  },
})

const ruleOf = (rule: string): object => ({
  authorization: { policy: { matchExpressions: [rule] } },
})

const tokensFor = (audience: string): object => ({
  jwtAuthentication: {
    mode: 'Strict',
    providers: [
      { issuer: 'https://idp.example', audiences: [audience], jwks: { inline: '{"keys":[]}' } },
    ],
  },
})

function documents(hostOf: (index: number) => string): readonly DecodedResource[] {
  return [...Array(COUNT).keys()].flatMap((index) => {
    const name = `route-${String(index)}`
    const backend = `backend-${String(index)}`
    return [
      watched(proxyBackend(backend, { host: '127.0.0.1', port: 1 + index })),
      watched(
        httpRoute(name, {
          hostnames: [hostOf(index)],
          rules: [{ matches: [prefix(`/${name}`)], backendRefs: [backendRef(backend)] }],
        }),
      ),
      watched(policy(name, 'HTTPRoute', name, ruleOf(`request.headers["x"] == "${name}"`))),
    ]
  })
}

interface Longest {
  readonly resources: number
  readonly hashes: number
  readonly messages: number
  readonly rules: number
  readonly expressions: number
}

/** Runs work to its end. Returns its result and the maximum cost between two yields. */
function measured<T>(work: Work<T>): { readonly value: T; readonly longest: Longest } {
  let longest: Longest = { resources: 0, hashes: 0, messages: 0, rules: 0, expressions: 0 }
  for (;;) {
    touched.clear()
    const before = { ...done }
    const step = work.next()
    longest = {
      resources: Math.max(longest.resources, touched.size),
      hashes: Math.max(longest.hashes, done.hashes - before.hashes),
      messages: Math.max(longest.messages, done.messages - before.messages),
      rules: Math.max(longest.rules, done.rules - before.rules),
      expressions: Math.max(longest.expressions, done.expressions - before.expressions),
    }
    if (step.done === true) return { value: step.value, longest }
  }
}

function expectShort(longest: Longest): void {
  for (const [what, most] of Object.entries(MOST))
    expect(longest[what as keyof Longest], what).toBeLessThanOrEqual(most)
}

describe.each([
  ['each with a host of its own', (index: number) => `host-${String(index)}.example`],
  ['on one host', () => 'one.example'],
])('hundreds of routes, %s', (_, hostOf) => {
  const own = documents(hostOf)
  const all = (audience: string) => [
    watched(gateway([8080])),
    ...own,
    watched(policy('of-the-gateway', 'Gateway', 'gw', tokensFor(audience))),
  ]

  test('are translated and built in short steps, at the start and when a policy changes all', () => {
    const translator = createTranslator(OPTIONS)
    let snapshot: Snapshot | undefined
    for (const audience of ['before', 'after']) {
      const { resources } = collectResources(all(audience))
      const translated = measured(translator.translationWork(resources, new Map()))
      expectShort(translated.longest)
      done.rules = 0
      const built = measured(snapshotWork(translated.value.ir, XDS, snapshot))
      expectShort(built.longest)
      expect(done.rules).toBe(COUNT)
      expect(built.value.authzTable.size).toBe(COUNT)
      snapshot = built.value
    }
  })
})

test('a policy with hundreds of rules is checked and compiled one rule at a time', () => {
  const rules = Array.from({ length: 200 }, (_, index) => `mcp.tool.name == "${String(index)}"`)
  const { resources } = collectResources([
    watched(gateway([8080])),
    ...documents(() => 'one.example').slice(0, 2),
    watched(
      policy('rules', 'HTTPRoute', 'route-0', {
        authorization: { policy: { matchExpressions: rules } },
        ...tokensFor('audience'),
      }),
    ),
  ])
  done.expressions = 0
  const translated = measured(createTranslator(OPTIONS).translationWork(resources, new Map()))
  expect([done.expressions, translated.longest.expressions]).toEqual([rules.length, 1])
  const { value, longest } = measured(snapshotWork(translated.value.ir, XDS))
  expect([done.expressions, longest.expressions]).toEqual([2 * rules.length, 1])
  expect(value.authzTable.get(translated.value.ir.authz[0]?.key ?? '')?.rules?.allow).toHaveLength(
    rules.length,
  )
})

test('headers and keys of limits are checked and compiled one expression at a time', () => {
  const headers = (what: string, count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [
        `x-${what}-${String(index)}`,
        `jwt.sub + "${what}${String(index)}"`,
      ]),
    )
  const webhooks = ['one', 'two'].map((name) => ({
    webhook: { backendRef: backendRef('backend-0'), headers: headers(name, 60) },
  }))
  const { resources } = collectResources([
    watched(gateway([8080])),
    ...documents(() => 'one.example').slice(0, 2),
    watched(
      policy('values', 'HTTPRoute', 'route-0', {
        ...tokensFor('audience'),
        rateLimit: {
          local: [0, 1].map((index) => ({
            requests: 1,
            per: '1m',
            key: `jwt.sub + "${String(index)}"`,
          })),
        },
        transformation: {
          request: { set: headers('set', 16), add: headers('add', 16) },
          response: { set: headers('answer', 16) },
        },
      }),
    ),
    watched({
      apiVersion: `${API_GROUP}/v1alpha1`,
      kind: 'ProxyPolicy',
      metadata: { name: 'guard' },
      spec: {
        targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'route-0' }],
        backend: { ai: { promptGuard: { request: webhooks } } },
      },
    }),
  ])
  done.expressions = 0
  const translated = measured(createTranslator(OPTIONS).translationWork(resources, new Map()))
  expect([done.expressions, translated.longest.expressions]).toEqual([2 + 3 * 16 + 2 * 60, 1])
  const { longest } = measured(snapshotWork(translated.value.ir, XDS))
  expect([done.expressions, longest.expressions]).toEqual([2 * (2 + 3 * 16 + 2 * 60), 1])
})
