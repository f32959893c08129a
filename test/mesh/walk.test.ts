// The walk of docs/mesh.md, from an empty API server, for each mesh: the commands of the page in bash, with kubectl and
// helm. Three things are done here instead of a cluster: a mesh's charts (`install`), pods (support/walk/walk-cluster.ts)
// and the address of the Gateway.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { AnyObject } from '../../testing/api-call.js'
import { ADDRESS, type ApiServer, startApiServer } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { send } from '../support/http.js'
import {
  applyDefinitions,
  furtherDefinitions,
  gatewayApiDefinitions,
} from './support/definitions.js'
import { startEnvoyGateway } from './support/envoy-gateway.js'
import {
  gatewayPod,
  serviceTo,
  showAddress,
  showPod,
  startGateway,
  startIstiod,
} from './support/istio.js'
import {
  gatehousePod,
  mcpServerPod,
  type Pod,
  runDeployment,
  showAvailable,
} from './support/walk/walk-cluster.js'
import { type MeshName, stepsFor } from './support/walk/walk-page.js'
import { startWalkShell } from './support/walk/walk-shell.js'

/** Longest time between the steps of a walk, on a busy machine. */
const PATIENCE = 240_000

const closing: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A Deployment as a mesh's chart creates it. */
function deployment(namespace: string, name: string): object {
  const labels = { app: name }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name, image: name }] } },
    },
  }
}

const namespaceNamed = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name },
})

async function installEnvoyGateway(api: ApiServer): Promise<void> {
  const namespace = 'envoy-gateway-system'
  const further = furtherDefinitions('GATEHOUSE_TEST_ENVOY_GATEWAY_DEFINITIONS')
  await applyDefinitions(api, [...gatewayApiDefinitions(), ...further])
  await api.apply(namespaceNamed(namespace), deployment(namespace, 'envoy-gateway'))
  const mesh = await startEnvoyGateway(api)
  closing.push(() => mesh.close())
  await showAvailable(api, namespace, 'envoy-gateway')
}

async function installIstio(api: ApiServer, args: string): Promise<void> {
  const namespace = 'istio-system'
  if (args.includes(' istio/base ')) {
    await api.apply(namespaceNamed(namespace))
    return applyDefinitions(api, furtherDefinitions('GATEHOUSE_TEST_ISTIO_DEFINITIONS'))
  }
  await api.apply(deployment(namespace, 'istiod'))
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-walk-istio-'))
  closing.push(() => rm(folder, { recursive: true }))
  const istiod = await startIstiod(api, folder, {})
  closing.push(() => istiod.close())
  await showAvailable(api, namespace, 'istiod')
}

/** Runs the Envoy of the walk's Gateway, and reports its address, as Envoy Gateway and a load balancer's controller do. */
async function showEnvoyGatewayGateway(api: ApiServer): Promise<void> {
  const namespace = 'envoy-gateway-system'
  const name = 'envoy-default-edge'
  const labels = {
    'gateway.envoyproxy.io/owning-gateway-namespace': 'default',
    'gateway.envoyproxy.io/owning-gateway-name': 'edge',
  }
  // In Host mode, Envoy Gateway has started the Envoy itself.
  const objects = [...serviceTo(name, 80), deployment(namespace, name)] as AnyObject[]
  await api.apply(
    ...objects.map(({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, namespace, labels: { ...labels, ...labelsOf(metadata) } },
    })),
  )
  await listening()
  await showAvailable(api, namespace, name)
  await showAddress(api, name, namespace)
}

const labelsOf = (metadata: object): object =>
  (metadata as { readonly labels?: object }).labels ?? {}

/** Runs the Envoy of the walk's Gateway, and reports its address, as a kubelet and a load balancer's controller do. */
async function showIstioGateway(api: ApiServer): Promise<void> {
  await api.apply(...serviceTo('edge-istio', 80), gatewayPod)
  await showPod(api)
  const envoy = await startGateway()
  closing.push(() => envoy.stop())
  await listening()
  await showAddress(api, 'edge-istio')
}

/** Waits for the route at the Envoy, before which its pod would not be ready. */
const listening = (): Promise<void> =>
  eventually(async () => {
    expect((await send(`http://${ADDRESS}`, '/mcp')).status).not.toBe(404)
  }, PATIENCE)

/** Closes the pod at the end of the test. */
async function running(starting: Promise<Pod>): Promise<Pod> {
  const pod = await starting
  closing.push(() => pod.close())
  return pod
}

interface Mesh {
  readonly name: MeshName
  readonly install: (api: ApiServer, args: string) => Promise<void>
  readonly showGateway: (api: ApiServer) => Promise<void>
}

const meshes: readonly Mesh[] = [
  { name: 'envoy-gateway', install: installEnvoyGateway, showGateway: showEnvoyGatewayGateway },
  { name: 'istio', install: installIstio, showGateway: showIstioGateway },
]

test.each(meshes)(
  'the walk for $name',
  { timeout: 2 * PATIENCE },
  async ({ name, install, showGateway }) => {
    const api = await startApiServer({ bare: true })
    closing.push(() => api.close())
    const shell = await startWalkShell(await api.kubeconfig(), (args) => install(api, args))
    closing.push(() => shell.close())
    const cluster = Promise.all([
      runDeployment(api, 'default', 'mcp-server', () => running(mcpServerPod())),
      runDeployment(api, 'gatehouse', 'gatehouse', (one) => running(gatehousePod(api, one))),
      eventually(() => api.get('gateway.networking.k8s.io/v1', 'Gateway', 'edge'), PATIENCE).then(
        () => showGateway(api),
      ),
    ])
    const steps = stepsFor(name)
    expect(steps.map(({ promised }) => promised)).toEqual([
      [],
      ['200'],
      [],
      [],
      ['True', '401', '200', 'authorization_servers'],
    ])
    const walk = async (): Promise<void> => {
      for (const { title, commands, promised } of steps) {
        const output = await shell.run(commands)
        expect(output, title).toMatch(new RegExp(promised.join('[^]*')))
      }
    }
    await Promise.all([cluster, walk()])
  },
)
