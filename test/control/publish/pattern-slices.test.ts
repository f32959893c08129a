// A route may have thousands of regular expressions: at most one is compiled or matched between two yields.

import { RE2JS } from '@bufbuild/re2'
import { expect, onTestFinished, test, vi } from 'vitest'
import { snapshotWork } from '../../../src/control/publish/build-snapshot.js'
import { collectResources } from '../../../src/control/schema/decode/resource-set.js'
import { kindsOf } from '../../../src/control/schema/kinds/kinds.js'
import { decodeFile } from '../../../src/control/sources/files/file-record.js'
import { createTranslator } from '../../../src/control/translate/translator.js'
import type { Work } from '../../../src/kit/turns.js'
import {
  API_GROUP,
  backendRef,
  gateway,
  httpRoute,
  proxyBackend,
  proxyPolicy,
} from '../../support/resources.js'
import { OPTIONS } from '../../support/translate-case.js'

const XDS = { listenAddress: '0.0.0.0', trustedHops: 0, systemCaFile: '/ca.pem', accessLog: false }
const KINDS = kindsOf(API_GROUP)
/** More than are remembered. */
const COUNT = 600

const documents = [
  gateway([8080]),
  proxyBackend('backend', { host: '127.0.0.1', port: 1 }),
  httpRoute('many', {
    rules: Array.from({ length: 15 }, (_, rule) => ({
      matches: Array.from({ length: COUNT / 30 }, (_none, match) => ({
        path: { type: 'RegularExpression', value: `/${String(rule)}/${String(match)}/[0-9]{20}` },
        headers: [
          { type: 'RegularExpression', name: 'x', value: `${String(rule)}-${String(match)}{30}` },
        ],
      })),
      backendRefs: [backendRef('backend')],
    })),
  }),
]

function measured<T>(work: Work<T>) {
  const compile = vi.spyOn(RE2JS, 'compile')
  const match = vi.spyOn(RE2JS.prototype, 'test')
  onTestFinished(() => {
    compile.mockRestore()
    match.mockRestore()
  })
  for (let [most, mostMatched] = [0, 0]; ;) {
    const [before, matched] = [compile.mock.calls.length, match.mock.calls.length]
    const step = work.next()
    most = Math.max(most, compile.mock.calls.length - before)
    mostMatched = Math.max(mostMatched, match.mock.calls.length - matched)
    if (step.done === true)
      return { value: step.value, most, mostMatched, all: compile.mock.calls.length }
  }
}

function resourcesOf(...all: readonly object[]) {
  const files = all.map((document) => decodeFile(Buffer.from(JSON.stringify(document)), 'f', KINDS))
  expect(files.flatMap(({ problems }) => problems)).toEqual([])
  return collectResources(files.flatMap((file) => file.resources)).resources
}

test('the patterns of a route are compiled one at a time, each once', () => {
  const resources = resourcesOf(...documents)
  const translated = measured(createTranslator(OPTIONS).translationWork(resources, new Map()))
  expect([translated.most, translated.all]).toEqual([1, COUNT])
  const built = measured(snapshotWork(translated.value.ir, XDS))
  expect(built.most).toBeLessThanOrEqual(1)
  expect(translated.value.ir.destinations).toHaveLength(1)
})

/** A route with ten MCP paths beside patterns. */
function mcpRoute(count: number, patternOf: (name: string) => string): object {
  const names = Array.from({ length: count }, (_, index) => String(index))
  return httpRoute('mcp', {
    rules: Array.from({ length: 10 }, (_, rule) => ({
      matches: [
        { path: { type: 'PathPrefix', value: `/mcp-${String(rule)}` } },
        ...names
          .slice((rule * count) / 10, ((rule + 1) * count) / 10)
          .map((name) => ({ path: { type: 'RegularExpression', value: patternOf(name) } })),
      ],
      backendRefs: [backendRef('backend')],
    })),
  })
}

const mcpPolicy = (name: string, mcp: object) =>
  proxyPolicy(name, 'mcp', {
    jwtAuthentication: {
      mode: 'Strict',
      providers: [
        { issuer: 'https://idp.example', audiences: ['a'], jwks: { inline: '{"keys":[]}' } },
      ],
      mcp,
    },
  })

test('the patterns beside MCP paths are not compiled again for each rule', () => {
  const resources = resourcesOf(
    ...documents.slice(0, 2),
    mcpRoute(COUNT / 2, (name) => `/mcp/${name}/[0-9]+`),
    mcpPolicy('mcp', {}),
  )
  const { value, all } = measured(createTranslator(OPTIONS).translationWork(resources, new Map()))
  expect(value.ir.authz).toHaveLength(10)
  expect(all).toBeLessThanOrEqual(3 * (COUNT / 2))
})

test.each([
  ['that no document matches', {}, (name: string) => `/mcp/${name}/[0-9]+`],
  ['that all documents match', {}, (name: string) => `/[^${name}]*`],
  ['of a mesh', { mesh: 'envoy-gateway' } as const, (name: string) => `/mesh/${name}/[0-9]+`],
])('patterns beside MCP paths, %s, are matched one at a time', (_, options, patternOf) => {
  const resources = resourcesOf(
    {
      ...gateway([8080]),
      spec: { ...gateway([8080]).spec, ...('mesh' in options && { gatewayClassName: 'other' }) },
    },
    proxyBackend('backend', { host: '127.0.0.1', port: 1 }),
    mcpRoute('mesh' in options ? COUNT : 50, patternOf),
    mcpPolicy('a-policy', {}),
    // Loses, and reports which routes match its resource.
    mcpPolicy('b-policy', { resourceMetadata: { resource: 'https://mcp.example/other' } }),
  )
  const translator = createTranslator({ ...OPTIONS, ...options })
  const { value, most, mostMatched } = measured(translator.translationWork(resources, new Map()))
  expect(Math.max(most, mostMatched)).toBe(1)
  expect(value.ir.authz.length).toBeGreaterThanOrEqual(10)
})
