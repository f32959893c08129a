// What the tests see of the cluster: its API, its pods, and releases of the chart.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { AnyObject } from '../../../testing/api-call.js'
import { type ApiClient, apiClient } from '../../../testing/api-client.js'
import { eventually } from '../../../testing/eventually.js'
import { CHART } from '../../kubernetes/support/chart.js'
import { ADMIN, KUBECONFIG, SERVER } from './programs.js'

export const api: ApiClient = apiClient(SERVER, ADMIN)

/** A pod that is not being deleted. */
export interface Pod {
  readonly name: string
  readonly address: string
  readonly phase: string
  readonly isReady: boolean
  /** Restarts of all its containers. */
  readonly restarts: number
}

interface RawPod {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string }
  readonly status: {
    readonly phase: string
    readonly podIP?: string
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
    readonly containerStatuses?: readonly { readonly restartCount: number }[]
    readonly initContainerStatuses?: readonly { readonly restartCount: number }[]
  }
}

/**
 * Returns the pods of a namespace.
 * @param component value of their label app.kubernetes.io/component; default: all pods.
 */
export async function podsOf(namespace: string, component?: string): Promise<readonly Pod[]> {
  const selector =
    component === undefined ? '' : `?labelSelector=app.kubernetes.io/component%3D${component}`
  const list = await api.call('GET', `/api/v1/namespaces/${namespace}/pods${selector}`)
  return (list as unknown as { items: readonly RawPod[] }).items
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata, status }) => ({
      name: metadata.name,
      address: status.podIP ?? '',
      phase: status.phase,
      isReady: (status.conditions ?? []).some(
        (condition) => condition.type === 'Ready' && condition.status === 'True',
      ),
      restarts: [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])]
        .map(({ restartCount }) => restartCount)
        .reduce((sum, count) => sum + count, 0),
    }))
}

/** Resolves to the pods of the namespace when there are that many and all are ready. */
export const readyPods = (
  namespace: string,
  count: number,
  timeoutMs = 120_000,
): Promise<readonly Pod[]> =>
  eventually(async () => {
    const pods = await podsOf(namespace)
    if (pods.length !== count || !pods.every(({ isReady }) => isReady))
      throw new Error(`${String(count)} ready pods were expected: ${JSON.stringify(pods)}`)
    return pods
  }, timeoutMs)

export type Values = Readonly<Record<string, unknown>>

/** A release of the chart, called gatehouse. */
export interface Release {
  /** Changes values, with the defaults for the rest; resolves when every pod has been replaced as far as needed. */
  upgrade(values: Values): Promise<void>
  /** Removes all Gateways too. */
  uninstall(): Promise<void>
}

/** Installs the chart in the namespace, and does not wait for its pods. */
export async function install(namespace: string, values: Values): Promise<Release> {
  const where = ['--namespace', namespace, '--kubeconfig', KUBECONFIG]
  const withImage = (values: Values): Values => ({ ...values, image: { tag: 'latest' } })
  await helm(withImage(values), 'install', 'gatehouse', CHART, '--create-namespace', ...where)
  return {
    upgrade: async (values) => {
      const rest = ['--wait', '--timeout', '5m', ...where]
      await helm(withImage(values), 'upgrade', 'gatehouse', CHART, ...rest)
    },
    uninstall: async () => {
      // The next release finds no status of this one.
      await removeGateways()
      await run(HELM, ['uninstall', 'gatehouse', '--wait', ...where])
      await eventually(async () => {
        if ((await podsOf(namespace)).length > 0) throw new Error('some pods are still there')
      }, 120_000)
    },
  }
}

const run = promisify(execFile)

const HELM = process.env['GATEHOUSE_TEST_HELM'] ?? 'helm'

/** Runs helm with values on its stdin. */
async function helm(values: Values, ...args: readonly string[]): Promise<void> {
  const running = run(HELM, [...args, '--values', '-'])
  running.child.stdin?.end(JSON.stringify(values))
  await running
}

const GATEWAY_API = 'gateway.networking.k8s.io/v1'

/** Removes all Gateways. Resolves when the Envoys that Gatehouse created for them have gone. */
async function removeGateways(): Promise<void> {
  const itemsOf = async (path: string): Promise<readonly AnyObject[]> => {
    const list = await api.call('GET', path)
    return (list as unknown as { items: readonly AnyObject[] }).items
  }
  const gateways = await itemsOf(`/apis/${GATEWAY_API}/gateways`)
  const identity = { apiVersion: GATEWAY_API, kind: 'Gateway' }
  await api.delete(...gateways.map(({ metadata }) => ({ ...identity, metadata })))
  const selector = 'labelSelector=app.kubernetes.io/managed-by%3Dgatehouse'
  await eventually(async () => {
    const left = [
      ...(await itemsOf(`/api/v1/services?${selector}`)),
      ...(await itemsOf(`/api/v1/pods?${selector}`)),
    ]
    if (left.length > 0) throw new Error(`${String(left.length)} objects of Envoys are still there`)
  }, 120_000)
}

/** Resolves to the first address in the Gateway's status. */
export const addressOf = (name: string, namespace = 'default'): Promise<string> =>
  eventually(async () => {
    const { status } = await api.get(GATEWAY_API, 'Gateway', name, namespace)
    const { addresses = [] } = (status ?? {}) as { addresses?: readonly { value: string }[] }
    const [first] = addresses
    if (first === undefined) throw new Error(`Gateway ${name} has no address`)
    return first.value
  }, 60_000)
