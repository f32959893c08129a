// A route may have thousands of regular expressions: at most one is compiled between two yields.

import { RE2JS } from '@bufbuild/re2'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createTranslator } from '../../src/gatewayapi/translator.js'
import { collectResources } from '../../src/resources/decode/resource-set.js'
import { decodeFile } from '../../src/resources/files/file-record.js'
import { kindsOf } from '../../src/resources/kinds/kinds.js'
import { snapshotWork } from '../../src/snapshot/build-snapshot.js'
import type { Work } from '../../src/turns.js'
import { API_GROUP, backendRef, gateway, httpRoute, proxyBackend } from '../support/resources.js'
import { OPTIONS } from '../support/translate-case.js'

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
  onTestFinished(() => compile.mockRestore())
  for (let most = 0; ;) {
    const before = compile.mock.calls.length
    const step = work.next()
    most = Math.max(most, compile.mock.calls.length - before)
    if (step.done === true) return { value: step.value, most, all: compile.mock.calls.length }
  }
}

test('the patterns of a route are compiled one at a time, each once', () => {
  const files = documents.map((document) =>
    decodeFile(Buffer.from(JSON.stringify(document)), 'f', KINDS),
  )
  expect(files.flatMap(({ problems }) => problems)).toEqual([])
  const { resources } = collectResources(files.flatMap((file) => file.resources))
  const translated = measured(createTranslator(OPTIONS).translationWork(resources, new Map()))
  expect([translated.most, translated.all]).toEqual([1, COUNT])
  const built = measured(snapshotWork(translated.value.ir, XDS))
  expect(built.most).toBeLessThanOrEqual(1)
  expect(translated.value.ir.destinations).toHaveLength(1)
})

test('the patterns beside MCP paths are not compiled again for each rule', () => {
  const names = Array.from({ length: COUNT / 2 }, (_, index) => String(index))
  const documents = [
    gateway([8080]),
    proxyBackend('backend', { host: '127.0.0.1', port: 1 }),
    httpRoute('mcp', {
      rules: Array.from({ length: 10 }, (_, rule) => ({
        matches: [
          { path: { type: 'PathPrefix', value: `/mcp-${String(rule)}` } },
          ...names
            .slice((rule * COUNT) / 20, ((rule + 1) * COUNT) / 20)
            .map((name) => ({ path: { type: 'RegularExpression', value: `/mcp/${name}/[0-9]+` } })),
        ],
        backendRefs: [backendRef('backend')],
      })),
    }),
    {
      apiVersion: `${API_GROUP}/v1alpha1`,
      kind: 'ProxyPolicy',
      metadata: { name: 'mcp' },
      spec: {
        targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'mcp' }],
        traffic: {
          jwtAuthentication: {
            mode: 'Strict',
            providers: [
              { issuer: 'https://idp.example', audiences: ['a'], jwks: { inline: '{"keys":[]}' } },
            ],
            mcp: {},
          },
        },
      },
    },
  ]
  const files = documents.map((document) =>
    decodeFile(Buffer.from(JSON.stringify(document)), 'f', KINDS),
  )
  expect(files.flatMap(({ problems }) => problems)).toEqual([])
  const { resources } = collectResources(files.flatMap((file) => file.resources))
  const { value, all } = measured(createTranslator(OPTIONS).translationWork(resources, new Map()))
  expect(value.ir.authz).toHaveLength(10)
  expect(all).toBeLessThanOrEqual(10 * names.length)
})
