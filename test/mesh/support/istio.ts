// Runs a real istiod with a real API server, and an Envoy as one of its gateways: a mesh before Gatehouse is added.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseAllDocuments, stringify } from 'yaml'
import { type EnvoyChild, startEnvoy } from '../../../src/cli/run-envoy/child.js'
import type { Logger } from '../../../src/kit/logger.js'
import { ADDRESS, type ApiServer } from '../../../testing/api-server.js'
import { eventually } from '../../../testing/eventually.js'
import { endpointSlice } from '../../kubernetes/support/objects.js'
import { apiServerFor } from '../../kubernetes/support/shared-api-server.js'
import { startTcpProxy, type TcpProxy } from '../../kubernetes/support/tcp-proxy.js'
import { envoyPath } from '../../support/envoy.js'
import { furtherDefinitions } from './definitions.js'

/** Where the Gateway listens. */
export const PORT = 8090
/** The host name of a Service of the tests' namespace. */
export const hostOf = (service: string): string => `${service}.default.svc.cluster.local`

const GATEWAY_API = 'gateway.networking.k8s.io/v1'

export interface Istio {
  readonly api: ApiServer
  /** Creates or replaces the objects of a YAML text. */
  applyText(text: string): Promise<void>
  /** Makes a Service, at its own port, that leads to a port of 127.0.0.1. Resolves to its port. */
  service(name: string, port: number): Promise<number>
  log(): Promise<string>
  close(): Promise<void>
}

/** An HTTPRoute for one path prefix to a Service of the tests' namespace. */
export const route = (
  name: string,
  path: string,
  service: string,
  port: number,
  more: object = {},
): object => ({
  apiVersion: GATEWAY_API,
  kind: 'HTTPRoute',
  metadata: { name, namespace: 'default' },
  spec: {
    parentRefs: [{ name: 'edge' }],
    rules: [
      {
        matches: [{ path: { type: 'PathPrefix', value: path } }],
        backendRefs: [{ name: service, port }],
        ...more,
      },
    ],
  },
})

/**
 * Resolves when istiod is ready and the Gateway's Envoy has been started.
 * @param environment in addition to the settings of all tests.
 */
export async function startIstio(
  mesh: object = {},
  environment: Readonly<Record<string, string>> = {},
): Promise<Istio> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-istio-'))
  const api = await apiServerFor()
  const proxies: TcpProxy[] = []
  const closing: (() => Promise<unknown>)[] = [() => api.close()]
  const close = async (): Promise<void> => {
    for (const end of closing.reverse()) await end()
    await Promise.all(proxies.map((proxy) => proxy.close()))
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await api.apply(...furtherDefinitions('GATEHOUSE_TEST_ISTIO_DEFINITIONS'))
    // A new kind is served a moment later.
    await eventually(() => api.apply(...GATEWAY))
    await showPod(api)
    await showAddress(api)
    const istiod = await startIstiod(api, folder, mesh, environment)
    closing.push(() => istiod.close())
    const envoy = await startGateway()
    closing.push(() => envoy.stop())
    return {
      api,
      close,
      log: () => readFile(istiod.log, 'utf8'),
      applyText: async (text) =>
        api.apply(...parseAllDocuments(text).map((document) => document.toJS() as object)),
      service: async (name, port) => {
        const proxy = await startTcpProxy(ADDRESS, { host: '127.0.0.1', port })
        proxies.push(proxy)
        await api.apply(...serviceTo(name, proxy.port))
        return proxy.port
      },
    }
  } catch (failure) {
    await close()
    throw failure
  }
}

/** A Service, and its endpoint on this machine, at the same port. */
export const serviceTo = (name: string, port: number, protocol = 'http'): readonly object[] => [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { ports: [{ name: 'http', port, appProtocol: protocol }] },
  },
  endpointSlice(name, [{ address: ADDRESS, port }]),
]

/** The platform team's own Gateway. */
export const edge = {
  apiVersion: GATEWAY_API,
  kind: 'Gateway',
  metadata: { name: 'edge', namespace: 'default' },
  spec: {
    gatewayClassName: 'istio',
    addresses: [{ type: 'Hostname', value: hostOf('edge') }],
    listeners: [{ name: 'http', protocol: 'HTTP', port: PORT }],
  },
}

/** The pod of the Gateway. */
export const gatewayPod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'edge-1', labels: { 'gateway.networking.k8s.io/gateway-name': 'edge' } },
  spec: { containers: [{ name: 'envoy', image: 'envoy' }] },
}

/** The Gateway and its pod. */
const GATEWAY: readonly object[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'istio-system' } },
  {
    apiVersion: GATEWAY_API,
    kind: 'GatewayClass',
    metadata: { name: 'istio' },
    spec: { controllerName: 'istio.io/gateway-controller' },
  },
  ...serviceTo('edge', PORT),
  edge,
  gatewayPod,
]

/** Reports the pod as running, which a kubelet would do. */
export const showPod = (api: ApiServer): Promise<unknown> =>
  api.call('PATCH', '/api/v1/namespaces/default/pods/edge-1/status', {
    status: {
      phase: 'Running',
      podIP: ADDRESS,
      podIPs: [{ ip: ADDRESS }],
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  })

/** Reports the address of a Gateway's Service, which a load balancer's controller would do. */
export async function showAddress(
  api: ApiServer,
  service = 'edge',
  namespace = 'default',
): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/services/${service}`
  await api.call('PATCH', path, { spec: { type: 'LoadBalancer' } })
  const status = { loadBalancer: { ingress: [{ ip: ADDRESS }] } }
  await api.call('PATCH', `${path}/status`, { status })
}

/** Ports that istiod listens on; nothing else is in the tests' network namespace. */
const XDS = '127.0.0.1:15010'
const READY = '127.0.0.1:15080'

/** Resolves when istiod is ready. It keeps its files in the folder. */
export async function startIstiod(
  api: ApiServer,
  folder: string,
  mesh: object,
  environment: Readonly<Record<string, string>> = {},
) {
  const config = join(folder, 'mesh.yaml')
  const log = join(folder, 'istiod.log')
  await writeFile(config, stringify({ ...MESH, ...mesh }))
  const flags = [
    'discovery',
    '--kubeconfig',
    await api.kubeconfig(),
    '--meshConfig',
    config,
    '--grpcAddr',
    XDS,
    '--httpAddr',
    READY,
    '--httpsAddr',
    '127.0.0.1:15017',
    '--monitoringAddr',
    '127.0.0.1:15014',
    '--secureGRPCAddr',
    '',
    '--ctrlz_port',
    '0',
  ]
  const child = spawn(
    'sh',
    ['-c', 'log="$1"; shift; exec "$@" > "$log" 2>&1', 'sh', log].concat(
      process.env['GATEHOUSE_TEST_ISTIOD'] ?? 'istiod',
      flags,
    ),
    { cwd: folder, stdio: 'ignore', env: { ...process.env, ...ISTIOD, ...environment } },
  )
  const close = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  try {
    await eventually(async () => {
      if ((await fetch(`http://${READY}/ready`)).status !== 200) throw new Error('not ready')
    }, 90_000)
  } catch (failure) {
    await close()
    throw new Error(`${String(failure)}\n${(await readFile(log, 'utf8')).slice(-2_000)}`)
  }
  return { log, close }
}

const MESH = {
  enablePrometheusMerge: false,
  enableAutoMtls: false,
  defaultConfig: { discoveryAddress: XDS },
}

/** Settings that switch off extensions that only Istio's own Envoy has, and controllers that need a whole cluster. */
const ISTIOD = {
  POD_NAMESPACE: 'istio-system',
  POD_NAME: 'istiod-1',
  CLUSTER_ID: 'Kubernetes',
  PILOT_ENABLE_METADATA_EXCHANGE: 'false',
  PILOT_ENABLE_ALPN_FILTER: 'false',
  ENABLE_LEADER_ELECTION: 'false',
  PILOT_ENABLE_GATEWAY_API_DEPLOYMENT_CONTROLLER: 'false',
  PILOT_ENABLE_ANALYSIS: 'false',
  INJECTION_WEBHOOK_CONFIG_NAME: '',
  VALIDATION_WEBHOOK_CONFIG_NAME: '',
}

const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

/** Starts the Envoy of the Gateway's pod, as istiod knows it. */
export const startGateway = (): Promise<EnvoyChild> =>
  startEnvoy({
    envoyPath: envoyPath(),
    logger: silent,
    concurrency: 2,
    bootstrap: {
      node: {
        id: `router~${ADDRESS}~edge-1.default~default.svc.cluster.local`,
        cluster: 'edge.default',
        metadata: {
          NAMESPACE: 'default',
          CLUSTER_ID: 'Kubernetes',
          ISTIO_VERSION: '1.31.0',
          NAME: 'edge-1',
          SERVICE_ACCOUNT: 'default',
          INSTANCE_IPS: ADDRESS,
          LABELS: { 'gateway.networking.k8s.io/gateway-name': 'edge' },
        },
      },
      dynamic_resources: {
        lds_config: { ads: {}, resource_api_version: 'V3' },
        cds_config: { ads: {}, resource_api_version: 'V3' },
        ads_config: {
          api_type: 'GRPC',
          transport_api_version: 'V3',
          grpc_services: [{ envoy_grpc: { cluster_name: 'xds-grpc' } }],
        },
      },
      static_resources: { clusters: [ISTIOD_CLUSTER] },
    },
  })

const HTTP_OPTIONS = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions'

const ISTIOD_CLUSTER = {
  name: 'xds-grpc',
  type: 'STATIC',
  connect_timeout: '1s',
  typed_extension_protocol_options: {
    [HTTP_OPTIONS]: {
      '@type': `type.googleapis.com/${HTTP_OPTIONS}`,
      explicit_http_config: { http2_protocol_options: {} },
    },
  },
  load_assignment: {
    cluster_name: 'xds-grpc',
    endpoints: [
      {
        lb_endpoints: [
          {
            endpoint: { address: { socket_address: { address: '127.0.0.1', port_value: 15_010 } } },
          },
        ],
      },
    ],
  },
}
