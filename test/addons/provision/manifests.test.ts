// The objects of the Envoys that Gatehouse creates for a Gateway.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { ADMIN_SCRIPT, envoyManifests } from '../../../src/addons/provision/manifests.js'
import type { ProvisionedGateway } from '../../../src/model/provisioned-gateway.js'

test("the script for Envoy's admin interface is that of the chart", () => {
  const file = resolve(import.meta.dirname, '../../../deploy/helm/gatehouse/files/admin.pl')
  expect(ADMIN_SCRIPT).toBe(readFileSync(file, 'utf8'))
})

const gateway: ProvisionedGateway = {
  namespace: 'shop',
  name: 'gw',
  objectName: 'gw-gatehouse',
  labels: { team: 'shop', 'sidecar.istio.io/inject': 'true' },
  annotations: {
    note: 'a',
    'sidecar.istio.io/proxyImage': 'evil.example/miner:1',
    'service.beta.kubernetes.io/aws-load-balancer-internal': 'true',
  },
  ports: [8080],
  image: 'registry.example/envoy:1',
  serviceType: 'LoadBalancer',
  resources: {},
}

interface Labelled {
  readonly metadata: {
    readonly labels: Readonly<Record<string, string>>
    readonly annotations: Readonly<Record<string, string>>
  }
}

test('labels and annotations that other controllers read reach the Service alone', () => {
  const [account, map, service, deployment] = envoyManifests(gateway, {
    address: { type: 'tcp', host: 'gatehouse.gatehouse.svc', port: 18_000 },
    release: 'gatehouse',
  })
  const { template } = deployment?.spec as { readonly template: Labelled }
  for (const part of [account, map, deployment, template]) {
    const { labels, annotations } = part?.metadata ?? {}
    expect(labels).toMatchObject({ team: 'shop', 'app.kubernetes.io/name': 'envoy' })
    expect(annotations).toMatchObject({ note: 'a' })
    const prefixed = [...Object.keys(labels ?? {}), ...Object.keys(annotations ?? {})]
    expect(prefixed.filter((key) => /istio|beta/.test(key))).toEqual([])
  }
  expect(service?.metadata).toMatchObject({
    labels: gateway.labels,
    annotations: gateway.annotations,
  })
})
