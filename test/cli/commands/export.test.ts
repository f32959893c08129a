// translate --for a mesh in a CI job: it prints all manifests or none, and each reason with its location.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { translate } from '../../../src/cli/commands/translate.js'
import { parseCommandLine } from '../../../src/ops/settings/settings.js'

const CASES = resolve(import.meta.dirname, '../../golden/export')

let folder: string
beforeAll(async () => (folder = await mkdtemp(join(tmpdir(), 'gatehouse-export-'))))
afterAll(() => rm(folder, { recursive: true, force: true }))

const exported = (name: string, ...flags: readonly string[]) =>
  exportedFor('envoy-gateway', name, flags)

/** Exports for Istio, by default with the address of a Service. */
const exportedForIstio = (
  name: string,
  flags: readonly string[] = ['--connect', 'gatehouse.gatehouse.svc.cluster.local:18000'],
) => exportedFor('istio', name, flags)

async function exportedFor(mesh: string, name: string, flags: readonly string[]) {
  const path = join(CASES, mesh, `${name}.yaml`)
  const [input = ''] = (await readFile(path, 'utf8')).split('--- # Output')
  return exportedText(mesh, name, input, flags)
}

async function exportedText(mesh: string, name: string, input: string, flags: readonly string[]) {
  const file = join(folder, `${name}.yaml`)
  await writeFile(file, input)
  const line = parseCommandLine(['translate', '--for', mesh, file, ...flags], {})
  if (line.type !== 'settings') throw new Error(JSON.stringify(line))
  let out = ''
  let err = ''
  const code = await translate(line.settings, {
    out: (text) => (out += text),
    err: (text) => (err += text),
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    stop: new AbortController().signal,
    atExit: () => undefined,
  })
  return { code, out, err: err.replaceAll(folder, 'DIR') }
}

test('what can be carried is printed whole, without a word on stderr', async () => {
  const { code, out, err } = await exported('an-mcp-route')
  expect({ code, err }).toEqual({ code: 0, err: '' })
  const kinds = parseAllDocuments(out).map((document) => (document.toJS() as { kind: string }).kind)
  expect(kinds.sort()).toEqual([
    'Backend',
    'Backend',
    'BackendTrafficPolicy',
    'ClientTrafficPolicy',
    'EnvoyExtensionPolicy',
    'HTTPRoute',
    'SecurityPolicy',
    'SecurityPolicy',
  ])
})

test('what cannot be carried is named with its place, and nothing is printed', async () => {
  const { code, out, err } = await exported('refused-rules-that-read-mcp')
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toMatch(
    /^DIR\/refused-rules-that-read-mcp\.yaml:\d+: HTTPRoute default\/mcp: rules read mcp, and Envoy Gateway hands bodies to ext_authz as text/,
  )
})

test('a policy that is not valid is named as check names it', async () => {
  const { code, out, err } = await exported('refused-broken-policy-and-missing-gateway')
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toContain('ProxyPolicy default/mcp: Accepted=False (Invalid)')
})

test('a policy that is not valid does not hide that the Gateway does not exist', async () => {
  const { err } = await exported('refused-broken-policy-and-missing-gateway')
  expect(err).toMatch(/HTTPRoute default\/\w+: .*Gateway default\/\w+ not found/)
})

const CONNECT = ['--connect', 'gatehouse.gatehouse.svc.cluster.local:18000']
const CLASS = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: { name: edge }
spec: { controllerName: example.com/proxy }
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: edge }
spec: { gatewayClassName: edge, listeners: [{ name: http, port: 80, protocol: HTTP }] }
`
const routeNamed = (name: string): string => `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: ${name} }
spec:
  parentRefs: [{ name: edge }]
  rules: [{ matches: [{ path: { type: PathPrefix, value: /${name} } }] }]
`
const POLICY = `---
apiVersion: policy.gatehouse.dev/v1alpha1
kind: ProxyPolicy
metadata: { name: shop }
spec:
  targetRefs: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, name: shop }]
  traffic: { authorization: { policy: { matchExpressions: ['true'] } } }
`

test('notes say which HTTPRoutes stay open, and which Gateways another controller may serve', async () => {
  const input = CLASS + routeNamed('shop') + routeNamed('open') + POLICY
  const { code, out, err } = await exportedText('istio', 'notes', input, CONNECT)
  expect([code, out.includes('kind: EnvoyFilter')]).toEqual([0, true])
  expect(err).toBe(
    'DIR/notes.yaml:7: note: Gateway default/edge is of example.com/proxy: the manifests protect its routes only if that is Istio\n' +
      'note: 1 of 2 HTTPRoutes have no policy, and stay as they are\n',
  )
})

test('a folder without policies is noted, as one that was named by mistake', async () => {
  const { code, out, err } = await exportedText(
    'istio',
    'empty',
    CLASS + routeNamed('shop'),
    CONNECT,
  )
  expect({ code, out, err }).toEqual({
    code: 0,
    out: '',
    err: 'note: no HTTPRoute has a policy: there is nothing to apply\n',
  })
})

test('sealed routes get a secret of their own each time, or that of the folder', async () => {
  const sealOf = (text: string) => /x-gatehouse-passed\n +value: (.*)/.exec(text)?.[1] ?? ''
  const [one, other] = [
    await exported('sealed-mcp-route', '--sealed'),
    await exported('sealed-mcp-route', '--sealed'),
  ]
  expect(sealOf(one.out)).toMatch(/^[\w-]{43}$/)
  expect(one.out).toContain(`stringData:\n  seal: ${sealOf(one.out)}\n`)
  expect(sealOf(other.out)).not.toBe(sealOf(one.out))
  const known = await exported('sealed-route-that-is-protected-and-guarded', '--sealed')
  expect(sealOf(known.out)).toBe('0123456789abcdef0123456789abcdef')
  expect(known.out).not.toContain('kind: Secret')
})

test.each([
  ['--connect unix:/run/g.sock', 'expected HOST:PORT in --connect'],
  ['--connect gatehouse.example:18000', '--closed is missing'],
])('%s is not enough', async (flags, sentence) => {
  const { code, out, err } = await exported('an-mcp-route', ...flags.split(' '))
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toContain(sentence)
})

test('an address that names a Service is referred to as one', async () => {
  const { code, out } = await exported(
    'an-mcp-route',
    '--connect',
    'gatehouse.infra.svc.cluster.local:18000',
    '--closed',
    '10.0.0.9:18009',
  )
  const kinds = parseAllDocuments(out).map((document) => (document.toJS() as { kind: string }).kind)
  expect([code, kinds.filter((kind) => kind === 'Backend')]).toEqual([0, ['Backend']])
  expect(out).toMatch(/kind: Service\n +namespace: infra\n/)
})

test('for Istio, everything is printed that is needed, without a word on stderr', async () => {
  const { code, out, err } = await exportedForIstio('an-mcp-route')
  expect({ code, err }).toEqual({ code: 0, err: '' })
  const kinds = parseAllDocuments(out).map((document) => (document.toJS() as { kind: string }).kind)
  expect(kinds.sort()).toEqual(['EnvoyFilter', 'HTTPRoute', 'Service'])
  expect(out).toContain('cluster_name: outbound|18000||gatehouse.gatehouse.svc.cluster.local')
})

test('for Istio, names that occur twice are named with their place, and nothing is printed', async () => {
  const { code, out, err } = await exportedForIstio('refused-names-that-occur-twice')
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toMatch(/yaml:\d+: HTTPRoute default\/api: Istio names a rule of it and one of/)
})

test.each([[], ['--connect', '10.0.0.5:18000'], ['--connect', 'gatehouse:18000']])(
  'Istio knows no cluster for %j',
  async (...flags) => {
    const { code, out, err } = await exportedForIstio('an-mcp-route', flags)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain('expected the full name of a Service in --connect')
  },
)
