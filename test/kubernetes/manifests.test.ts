// The manifests in deploy/: Helm accepts the chart, and the API server accepts its objects.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import type { AnyObject } from '../../testing/api-call.js'
import { type ApiServer, definitions } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { create, lint, objectsOf, render, ROOT, template } from './support/chart.js'
import { containerNamed } from './support/pod.js'
import { apiServerFor } from './support/shared-api-server.js'

const ENVOYS = [{ gateway: 'shop/gateway', replicas: 3, ports: [{ name: 'https', port: 443 }] }]
const TLS = { secretName: 'server', clientSecretName: 'client' }

const DIGEST = `sha256:${'0'.repeat(64)}`

const CASES: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
  ['central', {}],
  ['sidecar', { mode: 'sidecar', 'sidecar.gateway': 'shop/gateway' }],
  ['some namespaces', { namespaces: ['shop', 'bank'], references: 'all' }],
  ['mutual TLS with Envoys', { tls: TLS, envoys: ENVOYS }],
  ['Envoys without TLS', { envoys: [...ENVOYS, { ...ENVOYS[0], gateway: 'bank/gateway' }] }],
  ['an API group of its own', { apiGroup: 'policy.example.com', 'gatewayClass.name': 'own' }],
  [
    'single Secrets and ConfigMaps',
    { references: [{ namespace: 'shop', secrets: ['certificate'], configMaps: ['authority'] }] },
  ],
  [
    'everything else',
    {
      imagePullSecrets: ['registry'],
      'image.digest': DIGEST,
      'envoy.image.digest': DIGEST,
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      tolerations: [{ key: 'edge', operator: 'Exists' }],
      priorityClassName: 'system-cluster-critical',
      extraArgs: ['--trusted-hops=1'],
      extraEnv: [{ name: 'SSL_CERT_FILE', value: '/etc/ssl/certs/ca-certificates.crt' }],
      'networkPolicy.grpcFrom': [{ namespaceSelector: { matchLabels: { edge: 'yes' } } }],
      'serviceAccount.annotations': { 'example.com/role': 'reader' },
      'podLabels.team': 'edge',
      'autoscaling.create': true,
      statusLease: 'default/gatehouse',
    },
  ],
]

/** Labels of a Service by which Gateways get its addresses. */
function labelsOf({ metadata }: AnyObject): object {
  const { labels } = metadata as { readonly labels: Readonly<Record<string, string | undefined>> }
  return {
    name: labels['gateway.networking.k8s.io/gateway-name'],
    namespace: labels['policy.gatehouse.dev/gateway-namespace'],
    gatewayClass: labels['policy.gatehouse.dev/gateway-class'],
  }
}

function find(objects: readonly AnyObject[], kind: string, name: string): AnyObject {
  const found = objects.find((each) => each.kind === kind && each.metadata.name === name)
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`)
  return found
}

test.each([
  ['', true],
  ['shop/gateway', false],
])(
  'sidecars of the Gateway "%s" are told that an Envoy serves several: %s',
  (gateway, isShared) => {
    const objects = render({ mode: 'sidecar', 'sidecar.gateway': gateway })
    const { args = [] } = containerNamed(objects, 'gatehouse')
    expect(args.includes('--shared-envoys')).toBe(isShared)
  },
)

test('a collector and the decision log are flags, where they are set', () => {
  const collector = 'http://collector.monitoring:4318'
  const given = containerNamed(render({ otlp: collector, decisionLog: 'all:100' }), 'gatehouse')
  expect(given.args).toContain(`--otlp=${collector}`)
  expect(given.args).toContain('--decision-log=all:100')
  const { args = [] } = containerNamed(render({}), 'gatehouse')
  expect(args.filter((arg) => /^--(otlp|decision-log)/.test(arg))).toEqual([])
})

describe.each([
  ['by its tag', {}, 'envoyproxy/envoy:v1.40-latest'],
  ['by a digest', { 'envoy.image.digest': DIGEST }, `envoyproxy/envoy@${DIGEST}`],
  ['of a mirror', { 'envoy.image.repository': 'mirror/envoy' }, 'mirror/envoy:v1.40-latest'],
  // As in values of earlier versions.
  ['as one reference', { 'envoy.image': 'mirror/envoy:own' }, 'mirror/envoy:own'],
])("Envoy's image %s", (_, values, image) => {
  test('is that of the Envoys that the chart runs', () => {
    expect(lint(values)).toMatchObject({ status: 0 })
    const objects = render({ ...values, mode: 'sidecar' })
    expect(containerNamed(objects, 'envoy')).toMatchObject({ image })
  })

  test('is that of the Envoys that Gatehouse creates', () => {
    const objects = render({ ...values, envoys: { provision: true } })
    expect(find(objects, 'ProxyParameters', 'gatehouse')).toMatchObject({
      spec: { envoys: { image } },
    })
  })
})

test.each([['v1.40-latest'], ['sha256:0'], [DIGEST.toUpperCase()]])('"%s" is no digest', (digest) =>
  expect(lint({ 'envoy.image.digest': digest }).status).not.toBe(0),
)

test.each([[false], [true]])('requirePolicy: %s is a flag', (requirePolicy) => {
  const { args = [] } = containerNamed(render({ requirePolicy }), 'gatehouse')
  expect(args.includes('--require-policy')).toBe(requirePolicy)
})

describe('an API server', () => {
  let api: ApiServer

  beforeAll(async () => {
    api = await apiServerFor({ own: true, bare: true })
    const gatewayApi = definitions().filter(
      (each) => !(each as AnyObject).metadata.name?.endsWith('gatehouse.dev'),
    )
    await api.apply(...gatewayApi)
    await eventually(() => api.call('GET', '/apis/gateway.networking.k8s.io/v1/gatewayclasses'))
    for (const name of ['shop', 'bank', 'infra'])
      await api.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  })

  afterAll(() => api.close())

  test.each(CASES)('takes what the chart makes for %s', async (_, values) => {
    expect(lint(values)).toMatchObject({ status: 0 })
    const objects = render(values)
    expect(objects.length).toBeGreaterThan(8)
    for (const object of objects) await create(api, object, true)
  })

  test('takes deploy/kubernetes.yaml, document by document', async () => {
    for (const object of objectsOf(readFileSync(join(ROOT, 'deploy/kubernetes.yaml'), 'utf8')))
      await create(api, object)
    await eventually(() => api.call('GET', '/apis/policy.gatehouse.dev/v1alpha1/proxypolicies'))
  })

  test('takes what the chart makes for Envoys that Gatehouse creates', async () => {
    const values = { envoys: { provision: true, gateways: ENVOYS }, tls: TLS }
    expect(lint(values)).toMatchObject({ status: 0 })
    for (const object of render({
      ...values,
      fullnameOverride: 'other',
      'gatewayClass.name': 'other',
    }))
      await create(api, object, true)
  })

  test('takes the objects of docs/kubernetes.md', async () => {
    const text = readFileSync(join(ROOT, 'docs/kubernetes.md'), 'utf8')
    const objects = [...text.matchAll(/```yaml\n([\s\S]*?)```/g)]
      .flatMap(([, yaml = '']) => objectsOf(yaml))
      .filter(({ apiVersion }) => apiVersion !== undefined)
    expect(objects.length).toBeGreaterThan(5)
    for (const object of objects) await create(api, object)
  })
})

test('deploy/kubernetes.yaml is fresh', () => {
  const check = ['scripts/manifests.mjs', '--check']
  const { status, stderr } = spawnSync(process.execPath, check, { cwd: ROOT, encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})

describe('the chart', () => {
  test('runs as nobody, with nothing to write to, for longer than it drains', () => {
    const pods = [render({ envoys: ENVOYS, tls: TLS }), render({ mode: 'sidecar' })]
      .flat()
      .filter(({ kind }) => kind === 'Deployment')
      .map(({ spec }) => (spec as { template: { spec: PodSpec } }).template.spec)
    const containers = pods.flatMap(({ containers, initContainers = [] }) => [
      ...containers,
      ...initContainers,
    ])
    expect(containers).toHaveLength(4)
    for (const { securityContext } of containers)
      expect(securityContext).toMatchObject({
        runAsNonRoot: true,
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
    for (const { securityContext, terminationGracePeriodSeconds } of pods) {
      expect(securityContext).toMatchObject({ seccompProfile: { type: 'RuntimeDefault' } })
      expect(terminationGracePeriodSeconds).toBeGreaterThan(10)
    }
  })

  test('leads the Envoys of a Gateway to every replica, by mutual TLS where it is on', () => {
    const objects = render({ envoys: ENVOYS, tls: TLS })
    const { data } = find(objects, 'ConfigMap', 'gatehouse-shop-gateway-bootstrap') as AnyObject & {
      data: Record<string, string>
    }
    const bootstrap = parse(data['bootstrap.yaml'] ?? '') as Bootstrap
    expect(bootstrap.node.cluster).toBe('shop/gateway')
    const text = JSON.stringify(bootstrap.static_resources)
    expect(text).toContain('"address":"gatehouse.default.svc.cluster.local"')
    expect(text).toContain('"sni":"gatehouse.default.svc"')
    expect(JSON.stringify(bootstrap)).not.toMatch(/NODE_CLUSTER|\.invalid/)
    expect(find(objects, 'Service', 'gatehouse').spec).toMatchObject({ clusterIP: 'None' })
  })

  test.each([
    ['shop/gateway', { name: 'gateway', namespace: 'shop' }],
    [`shop/${'a'.repeat(64)}`, { name: undefined, namespace: undefined }],
  ])('labels the Service of the Envoys of %s with its name where that fits', (gateway, label) => {
    const central = render({ envoys: [{ ...ENVOYS[0], gateway }] })
    const sidecar = render({ mode: 'sidecar', 'sidecar.gateway': gateway })
    const services = [...central, ...sidecar].filter(
      ({ kind, metadata }) => kind === 'Service' && metadata.name !== 'gatehouse',
    )
    expect(services.map(labelsOf)).toEqual(
      Array.from({ length: 2 }, () => ({ ...label, gatewayClass: undefined })),
    )
  })

  test('labels the Service of sidecars that serve every Gateway with the class', () => {
    const objects = render({ mode: 'sidecar', 'gatewayClass.name': 'own' })
    expect(labelsOf(find(objects, 'Service', 'gatehouse-envoy'))).toEqual({
      name: undefined,
      namespace: undefined,
      gatewayClass: 'own',
    })
  })

  test('has no TCP port for gRPC or for the admin interface of Envoy in a sidecar', () => {
    const text = JSON.stringify(render({ mode: 'sidecar' }))
    expect(text).toContain('"--grpc=unix:/run/gatehouse/gatehouse.sock"')
    expect(text).toContain('path: /run/envoy/admin.sock')
    expect(text).not.toMatch(/18000|19000/)
  })

  test('lets in to the Envoys of Gateways by the ports of their listeners alone, and out to no cloud metadata', () => {
    const objects = render({ envoys: [...ENVOYS, { ...ENVOYS[0], gateway: 'bank/gateway' }] })
    const { spec } = find(objects, 'NetworkPolicy', 'gatehouse-envoys') as AnyObject & {
      spec: { podSelector: { matchLabels: Record<string, string> } }
    }
    expect(spec).toMatchObject({
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ ports: [{ port: 443 }] }],
    })
    expect(JSON.stringify(spec)).toContain('"except":["169.254.0.0/16"]')
    for (const { spec: deployment } of objects.filter(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name !== 'gatehouse',
    ))
      expect(deployment).toMatchObject({
        template: { metadata: { labels: spec.podSelector.matchLabels } },
      })
  })

  test('names the ports of a sidecar by their numbers, as older Services do not find them by name', () => {
    const objects = render({ mode: 'sidecar' })
    expect(find(objects, 'Service', 'gatehouse').spec).toMatchObject({
      ports: [{ name: 'admin', targetPort: 18_001 }],
    })
    expect(JSON.stringify(find(objects, 'NetworkPolicy', 'gatehouse').spec)).toContain(
      '"ports":[{"port":18001}]',
    )
  })

  test('passes the settings of Envoys that Gatehouse creates to it by parameters of the GatewayClass', () => {
    const envoy = { image: 'registry.example/envoy:2', resources: { limits: { cpu: 2 } } }
    const objects = render({ envoys: { provision: true, serviceType: 'ClusterIP' }, envoy })
    const { spec, metadata } = find(objects, 'ProxyParameters', 'gatehouse')
    expect(spec).toMatchObject({
      envoys: {
        image: 'registry.example/envoy:2',
        serviceType: 'ClusterIP',
        replicas: 2,
        resources: { limits: { cpu: '2', memory: '1Gi' } },
      },
    })
    expect(find(objects, 'GatewayClass', 'gatehouse').spec).toMatchObject({
      parametersRef: { kind: 'ProxyParameters', name: 'gatehouse', namespace: metadata.namespace },
    })
    const { args = [] } = containerNamed(objects, 'gatehouse')
    expect(args).toContain('--provision')
    expect(args.join(' ')).toMatch(/--connect=gatehouse\.\w+\.svc\.cluster\.local:18000/)
  })

  test('allows Gatehouse to create Deployments only where it creates Envoys', () => {
    const rulesOf = (values: object): string =>
      JSON.stringify(objectsOfKind(render({ ...values }), 'ClusterRole'))
    expect(rulesOf({})).not.toMatch(/deployments|"(create|patch|delete)"/)
    expect(rulesOf({ envoys: { provision: false } })).toBe(rulesOf({}))
    expect(rulesOf({ envoys: { provision: true } })).toContain('deployments')
  })

  test.each([
    [{ secretName: 'server' }, '/etc/gatehouse/tls/ca.crt'],
    [TLS, '/etc/gatehouse/connect/ca.crt'],
  ])('knows created Envoys by tokens where the gRPC address has TLS: %j', (tls, file) => {
    const objects = render({ envoys: { provision: true }, tls })
    const { args = [], volumeMounts = [] } = containerNamed(objects, 'gatehouse')
    expect(args).toContain('--connect-tls=gatehouse.default.svc')
    expect(args).toContain(`--connect-ca=${file}`)
    expect(volumeMounts.some(({ mountPath }) => file.startsWith(mountPath))).toBe(true)
    // The key of the Envoys that are listed stays with them.
    expect(JSON.stringify(find(objects, 'Deployment', 'gatehouse').spec)).not.toMatch(
      /"secretName":"client"(?!,"items":\[\{"key":"ca.crt")/,
    )
    expect(JSON.stringify(objectsOfKind(objects, 'ClusterRole'))).toContain('tokenreviews')
    const without = render({ envoys: { provision: true } })
    expect(JSON.stringify(objectsOfKind(without, 'ClusterRole'))).not.toContain('tokenreviews')
  })

  test('lets an annotation of a value win over its own', () => {
    const { stdout } = template({ podAnnotations: { 'prometheus.io/scrape': 'false' } })
    expect(stdout.match(/prometheus.io\/scrape: .*/g)).toEqual(['prometheus.io/scrape: "false"'])
  })

  test.each([
    [{ mode: 'both' }, /mode/],
    [{ replicsa: 3 }, /replicsa/],
    [{ envoys: ENVOYS, tls: { secretName: 'server' } }, /tls.clientSecretName/],
    [{ tls: { clientSecretName: 'client' } }, /the gRPC address has no TLS/],
    [{ envoys: ENVOYS, mode: 'sidecar' }, /envoys are of mode central/],
    [{ envoys: { provison: true } }, /provison/],
    [{ envoys: { provision: true }, mode: 'sidecar' }, /expected mode central/],
    [{ envoys: { provision: true }, mesh: 'envoy-gateway' }, /no mesh/],
    [{ envoys: { provision: true }, namespaces: ['shop'] }, /the release's namespace/],
    [
      { envoys: ['a/b-c', 'a-b/c'].map((gateway) => ({ ...ENVOYS[0], gateway })) },
      /those of a\/b-c and of a-b\/c would both be called gatehouse-a-b-c/,
    ],
    [{ namespaces: ['shop', 'shop'] }, /namespaces/],
    [
      {
        references: ['secrets', 'configMaps'].map((kind) => ({ namespace: 'shop', [kind]: ['a'] })),
      },
      /the namespace shop is there twice/,
    ],
  ])('refuses %j', (values, reason) => {
    const { status, stderr } = template(values)
    expect(status).not.toBe(0)
    expect(stderr).toMatch(reason)
  })
})

const objectsOfKind = (objects: readonly AnyObject[], kind: string): readonly AnyObject[] =>
  objects.filter((each) => each.kind === kind)

interface PodSpec {
  readonly containers: readonly { readonly securityContext: object }[]
  readonly initContainers?: readonly { readonly securityContext: object }[]
  readonly securityContext: object
  readonly terminationGracePeriodSeconds: number
}

interface Bootstrap {
  readonly node: { readonly cluster: string }
  readonly static_resources: object
}
