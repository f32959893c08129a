// The chart as Helm installs it: its notes, its own test, and what the Prometheus operator and the autoscaler get.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import type { AnyObject } from '../../testing/api-call.js'
import type { ApiServer } from '../../testing/api-server.js'
import { CHART, helm, type HelmAnswer, render, ROOT, template } from './support/chart.js'
import { apiServerFor } from './support/shared-api-server.js'

const ENVOYS = [
  {
    gateway: 'shop/gateway',
    ports: [
      { name: 'http', port: 80 },
      { name: 'https', port: 443 },
    ],
  },
]

const ofKind = (objects: readonly AnyObject[], kind: string): AnyObject | undefined =>
  objects.find((each) => each.kind === kind)

describe('helm', () => {
  let api: ApiServer
  let kubeconfig: string

  const run = (...args: readonly string[]): HelmAnswer =>
    helm(...args, '--namespace', 'gatehouse', '--kubeconfig', kubeconfig)

  beforeAll(async () => {
    api = await apiServerFor()
    kubeconfig = await api.kubeconfig()
  })

  afterAll(() => api.close())

  test('installs, upgrades and removes it, and says each time how it is used', () => {
    const flags = ['--create-namespace', '--skip-crds']
    const installed = run('install', 'gatehouse', CHART, ...flags)
    expect(installed.stderr).toBe('')
    expect(installed.stdout).toContain(
      'kubectl --namespace gatehouse rollout status deployment/gatehouse',
    )
    expect(installed.stdout).toContain('helm test gatehouse --namespace gatehouse')
    expect(installed.stdout).toContain('No Envoy is installed')
    expect(installed.stdout).toContain('is open to everybody: set requirePolicy')
    expect(installed.stdout).toContain('The gRPC address has no TLS')

    const values = ['--set-json', `envoys=${JSON.stringify(ENVOYS)}`, '--set', 'requirePolicy=true']
    const upgraded = run('upgrade', 'gatehouse', CHART, ...values)
    expect(upgraded.stderr).toBe('')
    expect(upgraded.stdout).toContain('shop/gateway, on 80, 443')
    expect(upgraded.stdout).toContain('A route without a ProxyPolicy answers 503.')

    const sidecar = run('upgrade', 'gatehouse', CHART, '--set', 'mode=sidecar')
    expect(sidecar.stdout).toContain('Its Envoys serve every Gateway of the class gatehouse.')
    expect(sidecar.stdout).not.toContain('The gRPC address has no TLS')

    const mesh = run('upgrade', 'gatehouse', CHART, '--set', 'mesh=istio')
    expect(mesh.stderr).toBe('')
    expect(mesh.stdout).toContain('It protects routes of Istio')
    expect(mesh.stdout).toContain('once its condition Enforced is True')
    expect(mesh.stdout).not.toMatch(/No Envoy is installed|of the class|tls\.secretName/)

    expect(run('uninstall', 'gatehouse')).toMatchObject({ status: 0 })
  })
})

interface TestPod {
  readonly containers: readonly { readonly command: readonly string[] }[]
}

/** Does what the pod of `helm test` does, at another address. */
async function runTestPod(url: string): Promise<{ code: unknown; printed: string }> {
  const pod = ofKind(render({}), 'Pod')
  const [, ...args] = (pod?.['spec'] as TestPod).containers[0]?.command ?? []
  expect(args.at(-1)).toBe('http://gatehouse.default.svc.cluster.local:18001/readyz')
  const child = spawn(process.execPath, [...args.slice(0, -1), url])
  const printed: string[] = []
  child.stdout.on('data', (bytes: Buffer) => printed.push(bytes.toString()))
  child.stderr.on('data', (bytes: Buffer) => printed.push(bytes.toString()))
  const [code] = (await once(child, 'close')) as unknown[]
  return { code, printed: printed.join('') }
}

test.each([
  [200, 0],
  [503, 1],
])('helm test sees an answer %i and ends with %i', async (status, code) => {
  const server = createServer((_, reply) => reply.writeHead(status).end('no Gateway'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/readyz`
  expect(await runTestPod(url)).toEqual({ code, printed: `${url}: ${String(status)} no Gateway\n` })

  server.close()
  server.closeAllConnections()
  const gone = await runTestPod(url)
  expect(gone.code).toBe(1)
  expect(gone.printed).toContain(`${url} cannot be reached: connect ECONNREFUSED`)
})

test('the ServiceMonitor finds the Service of Gatehouse, and not those of its Envoys', () => {
  const objects = render({ 'serviceMonitor.create': true, envoys: ENVOYS })
  const monitor = ofKind(objects, 'ServiceMonitor')?.['spec'] as {
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> }
    readonly endpoints: readonly { readonly port: string }[]
  }
  const labelsOf = ({ metadata }: AnyObject): Readonly<Record<string, string>> =>
    (metadata as { readonly labels?: Readonly<Record<string, string>> }).labels ?? {}
  const wanted = Object.entries(monitor.selector.matchLabels)
  const found = objects.filter(
    (object) =>
      object.kind === 'Service' &&
      wanted.every(([name, value]) => labelsOf(object)[name] === value),
  )
  expect(found.map(({ metadata }) => metadata.name)).toEqual(['gatehouse'])
  const { ports } = found[0]?.['spec'] as { readonly ports: readonly { readonly name: string }[] }
  expect(ports.map(({ name }) => name)).toContain(monitor.endpoints[0]?.port)
  expect(ofKind(render({}), 'ServiceMonitor')).toBeUndefined()
})

test('the PrometheusRule has the alerts of the rules file', () => {
  const rule = ofKind(render({ 'prometheusRule.create': true }), 'PrometheusRule')
  const file = readFileSync(resolve(ROOT, 'deploy/prometheus/gatehouse-rules.yaml'), 'utf8')
  expect(rule?.['spec']).toEqual(parse(file))
  expect(ofKind(render({}), 'PrometheusRule')).toBeUndefined()
})

describe('an autoscaled Gatehouse', () => {
  test('leaves the number of replicas to the autoscaler', () => {
    const objects = render({ 'autoscaling.create': true })
    expect(ofKind(objects, 'HorizontalPodAutoscaler')?.['spec']).toMatchObject({
      scaleTargetRef: { kind: 'Deployment', name: 'gatehouse' },
      minReplicas: 2,
      maxReplicas: 8,
    })
    expect(ofKind(objects, 'Deployment')?.['spec']).not.toHaveProperty('replicas')
    expect(ofKind(render({}), 'Deployment')?.['spec']).toHaveProperty('replicas', 2)
  })

  test.each([
    [{ 'autoscaling.minReplicas': 9 }, 'autoscaling.minReplicas is above autoscaling.maxReplicas'],
    [{ 'resources.requests': null }, 'autoscaling needs resources.requests.cpu'],
  ])('is refused with %j', (values, sentence) => {
    const { status, stderr } = template({ 'autoscaling.create': true, ...values })
    expect(status).not.toBe(0)
    expect(stderr).toContain(sentence)
  })
})
