// A mesh's Gateways and HTTPRoutes: Gatehouse serves their tables and takes over nothing else.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { collectResources } from '../../../src/control/schema/decode/resource-set.js'
import { kindsOf } from '../../../src/control/schema/kinds/kinds.js'
import { decodeFile } from '../../../src/control/sources/files/file-record.js'
import { createTranslator } from '../../../src/control/translate/translator.js'
import { API_GROUP } from '../../support/resources.js'
import { OPTIONS } from '../../support/translate-case.js'

const CASE = join(import.meta.dirname, '../../golden/export/envoy-gateway/an-mcp-route.yaml')
const [input = ''] = readFileSync(CASE, 'utf8').split('--- # Output')
const { resources } = collectResources(
  decodeFile(Buffer.from(input), 'case.yaml', kindsOf(API_GROUP)).resources,
)

test('policies have a status on the Gateway of the mesh; its own objects have none from Gatehouse', () => {
  const { statuses } = createTranslator({ ...OPTIONS, mesh: 'envoy-gateway' }).translate(
    resources,
    new Map(),
  )
  const said = statuses.filter(({ conditions }) => conditions.length > 0)
  expect(said.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
    'ProxyBackend idp',
    'ProxyPolicy mcp',
  ])
  const policy = said[1]?.conditions.map(({ type, status, ancestor }) => ({
    type,
    status,
    ancestor,
  }))
  const ancestor = { namespace: 'default', name: 'eg' }
  expect(policy).toContainEqual({ type: 'Accepted', status: 'True', ancestor })
})

test('a BackendTLSPolicy on a backend of the mesh is the business of the mesh', () => {
  const policy = `
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: { name: mcp-server }
spec:
  targetRefs: [{ group: gateway.envoyproxy.io, kind: Backend, name: mcp-server }]
  validation: { hostname: mcp.example, wellKnownCACertificates: System }`
  const decoded = decodeFile(Buffer.from(policy), 'tls.yaml', kindsOf(API_GROUP))
  const { resources: own } = collectResources(decoded.resources)
  const { statuses } = createTranslator({ ...OPTIONS, mesh: 'envoy-gateway' }).translate(
    { ...resources, backendTlsPolicies: own.backendTlsPolicies },
    new Map(),
  )
  const status = statuses.find(({ kind }) => kind === 'BackendTLSPolicy')
  expect(status?.conditions).toEqual([])
})

test('key sets are wanted, and no Envoy is configured', () => {
  const { ir, wanted, attachedRoutes } = createTranslator({
    ...OPTIONS,
    mesh: 'envoy-gateway',
  }).translate(resources, new Map())
  expect(wanted.map(({ kind }) => kind).sort()).toEqual(['Discovery', 'KeySet'])
  expect([ir.gateways, ir.destinations, ir.certificates]).toEqual([[], [], []])
  expect(attachedRoutes.size).toBe(0)
})

test('without --for the Gateway is left alone, and its routes have no tables', () => {
  const { ir, mesh } = createTranslator(OPTIONS).translate(resources, new Map())
  expect([ir.gateways, ir.authz, ir.proc, mesh]).toEqual([[], [], [], undefined])
})

test('where a policy is required, a route without one cannot be exported', () => {
  const options = { ...OPTIONS, mesh: 'envoy-gateway', requirePolicy: true } as const
  const { mesh } = createTranslator(options).translate(
    { ...resources, proxyPolicies: [] },
    new Map(),
  )
  expect(mesh?.map(({ problems }) => problems)).toEqual([
    ['no policy decides who may use it, and one is required'],
  ])
})

describe.each(['envoy-gateway', 'istio'] as const)('where %s requires policies', (mesh) => {
  const options = { ...OPTIONS, mesh, requirePolicy: true } as const

  test('the HTTPRoute of documents that an export has made needs none', () => {
    const documents = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: gatehouse-documents-mcp }
spec:
  parentRefs: [{ name: eg }]
  rules: [{ matches: [{ path: { value: /.well-known/oauth-protected-resource/mcp } }] }]`
    const decoded = decodeFile(Buffer.from(documents), 'documents.yaml', kindsOf(API_GROUP))
    const { resources: made } = collectResources(decoded.resources)
    const httpRoutes = [...resources.httpRoutes, ...made.httpRoutes]
    expect(httpRoutes).toHaveLength(2)
    const translated = createTranslator(options).translate({ ...resources, httpRoutes }, new Map())
    expect(translated.mesh?.map(({ name, problems }) => [name, problems])).toEqual([['mcp', []]])
  })

  test('the key of the documents lets nobody in on other paths', () => {
    const { ir } = createTranslator(options).translate(resources, new Map())
    const open = ir.authz.filter(({ servesDocuments }) => servesDocuments === true)
    const paths = open.flatMap((entry) => entry.paths.map((path) => JSON.stringify(path)))
    expect(paths.filter((path) => !path.includes('/.well-known/'))).toEqual([])
    expect(open).toHaveLength(mesh === 'istio' ? 1 : 0)
  })
})

describe('the cookies of a relay', () => {
  const relayCase = readFileSync(CASE.replace('route.yaml', 'route-with-a-relay.yaml'), 'utf8')
  const [withRelay = ''] = relayCase.split('--- # Output')

  const beside = (name: string, namespace: string, more: string): string => `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: ${name}, namespace: ${namespace} }
spec:
  parentRefs: [{ name: eg, namespace: default }]
  ${more}
  rules: [{ matches: [{ path: { value: /${name} } }], backendRefs: [{ name: shop, port: 80 }] }]
`

  const rulesOn = (route: string): string => `---
apiVersion: policy.gatehouse.dev/v1alpha1
kind: ProxyPolicy
metadata: { name: ${route} }
spec:
  targetRefs: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, name: ${route} }]
  traffic: { authorization: { policy: { matchExpressions: ['true'] } } }
`

  /** Returns the remark of the relay's policy about cookies, after each of the changes. */
  const remarks = (...texts: readonly string[]): readonly (string | undefined)[] => {
    const translator = createTranslator({ ...OPTIONS, mesh: 'envoy-gateway' })
    return texts.map((text) => {
      const file = Buffer.from(withRelay.replace('port: 8080 }', `${FROM_ALL} }`) + text)
      const decoded = decodeFile(file, 'case.yaml', kindsOf(API_GROUP))
      expect(decoded.problems).toEqual([])
      const now = collectResources(decoded.resources).resources
      const { statuses } = translator.translate(now, new Map())
      const policy = statuses.find(({ kind, name }) => kind === 'ProxyPolicy' && name === 'mcp')
      const [accepted] = policy?.conditions ?? []
      return accepted?.message.split('\n').find((line) => line.startsWith('Browsers send'))
    })
  }
  const FROM_ALL = 'port: 8080, allowedRoutes: { namespaces: { from: All } }'
  const ON_HOST = 'hostnames: [mcp.example]'
  const shop = beside('shop', 'default', ON_HOST)

  test('reach the backends of routes of its host that no policy checks: the condition says so', () => {
    const [none, one, two, foreign, checked] = remarks(
      '',
      shop,
      shop + beside('blog', 'other', ON_HOST),
      beside('blog', 'other', ON_HOST),
      shop + rulesOn('shop'),
    )
    expect([none, checked]).toEqual([undefined, undefined])
    expect(one).toContain(' that no policy checks (1, such as default/shop), and their backends ')
    expect(two).toContain(' (2, such as default/shop), ')
    expect(foreign).toContain(' of mcp.example that no policy checks (1), ')
  })

  test('reach no route of another name, nor one that another virtual host hides', () => {
    const hostnames = ['', 'hostnames: ["*.example"]', 'hostnames: [shop.example]']
    expect(remarks(...hostnames.map((more) => beside('shop', 'default', more)))).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })
})
