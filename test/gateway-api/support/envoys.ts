// Deploys an Envoy for each Gateway, as docs/kubernetes.md tells an administrator to do by hand: a Deployment, its
// bootstrap, and a Service with the label that names the Gateway.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { ApiServer } from '../../../testing/api-server.js'
import { MAIN } from '../../../testing/program.js'
import { type Loop, startLoop } from './loop.js'

interface Gateway {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly uid: string }
  readonly spec: {
    readonly gatewayClassName: string
    readonly addresses?: readonly { readonly value?: string }[]
  }
}

export interface EnvoysOptions {
  readonly api: ApiServer
  /** gRPC address of Gatehouse. */
  readonly grpc: string
  readonly gatewayClass: string
  /** Folder for the log. */
  readonly folder: string
  /** Addresses of the network that Gateways may ask for. */
  readonly staticAddresses: readonly string[]
}

/** Looks for new Gateways until it is closed. The garbage collector removes the objects of deleted ones. */
export function deployEnvoys({ api, grpc, gatewayClass, ...options }: EnvoysOptions): Loop {
  const known = new Set<string>()
  const look = async (): Promise<void> => {
    const list = await api.call('GET', '/apis/gateway.networking.k8s.io/v1/gateways')
    const gateways = (list as unknown as { readonly items: readonly Gateway[] }).items
    for (const gateway of gateways) {
      const { metadata, spec } = gateway
      if (spec.gatewayClassName !== gatewayClass || known.has(metadata.uid)) continue
      known.add(metadata.uid)
      const { namespace, name } = metadata
      const flags = ['--gateway', `${namespace}/${name}`, '--connect', grpc]
      const command = [MAIN, 'bootstrap', ...flags]
      const bootstrap = execFileSync(process.execPath, command, { encoding: 'utf8' })
      await api.apply(...objectsFor(gateway, bootstrap, options.staticAddresses))
    }
  }
  return startLoop(look, join(options.folder, 'envoys.log'))
}

function objectsFor(
  { metadata, spec }: Gateway,
  bootstrap: string,
  staticAddresses: readonly string[],
): readonly object[] {
  const labels = { 'gateway.networking.k8s.io/gateway-name': metadata.name }
  const owner = {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    name: metadata.name,
    uid: metadata.uid,
  }
  const own = {
    name: `envoy-${metadata.name}`,
    namespace: metadata.namespace,
    labels,
    ownerReferences: [owner],
  }
  const container = {
    name: 'envoy',
    image: 'envoy',
    command: ['envoy', '--config-path', '/etc/envoy/bootstrap.yaml', '--disable-hot-restart'],
    volumeMounts: [{ name: 'bootstrap', mountPath: '/etc/envoy' }],
  }
  const externalIPs = (spec.addresses ?? [])
    .map(({ value = '' }) => value)
    .filter((value) => staticAddresses.includes(value))
  const volumes = [{ name: 'bootstrap', configMap: { name: own.name } }]
  return [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: own, data: { 'bootstrap.yaml': bootstrap } },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: own,
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [container], volumes } },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: own,
      spec: {
        clusterIP: 'None',
        selector: labels,
        externalIPs,
        ports: [{ name: 'http', port: 80 }],
      },
    },
  ]
}
