// Replaces and crashes pods.

import { expect } from 'vitest'
import { eventually } from '../../../testing/eventually.js'
import { api, type Pod, podsOf } from './cluster.js'
import { containerd } from './programs.js'

interface Deployment {
  readonly metadata: { readonly generation: number }
  readonly spec: { readonly replicas: number }
  readonly status: Readonly<Record<string, number>>
}

const deploymentPath = (namespace: string, name: string): string =>
  `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`

/** Replaces every pod of a Deployment, as `kubectl rollout restart`, and resolves when the old ones have ended. */
export async function restart(namespace: string, deployment: string): Promise<void> {
  const annotations = { 'test/restarted': new Date().toISOString() }
  const path = deploymentPath(namespace, deployment)
  await api.call('PATCH', path, { spec: { template: { metadata: { annotations } } } })
  await settled(namespace, deployment)
}

/** Resolves when a Deployment has only current pods, all of them ready. */
export const settled = (namespace: string, deployment: string): Promise<void> =>
  eventually(async () => {
    const path = deploymentPath(namespace, deployment)
    const { metadata, spec, status } = (await api.call('GET', path)) as unknown as Deployment
    const { observedGeneration, replicas, updatedReplicas, readyReplicas } = status
    const counts = [replicas, updatedReplicas, readyReplicas]
    const isCurrent =
      observedGeneration === metadata.generation &&
      counts.every((count) => count === spec.replicas) &&
      (status['terminatingReplicas'] ?? 0) === 0
    if (!isCurrent) throw new Error(`${deployment} is not rolled out: ${JSON.stringify(status)}`)
  }, 240_000)

interface ContainerStatus {
  readonly name: string
  readonly containerID: string
}

/** Kills the first process of a container with SIGKILL. Resolves when it runs again and its pod is ready. */
export async function crash(namespace: string, pod: string, container: string): Promise<void> {
  const before = await podOf(namespace, pod)
  const { status } = await api.get('v1', 'Pod', pod, namespace)
  const { containerStatuses = [], initContainerStatuses = [] } = status as {
    containerStatuses?: readonly ContainerStatus[]
    initContainerStatuses?: readonly ContainerStatus[]
  }
  const found = [...containerStatuses, ...initContainerStatuses].find(
    ({ name }) => name === container,
  )
  const id = found?.containerID.replace('containerd://', '') ?? ''
  containerd('tasks', 'kill', '--signal', 'SIGKILL', id)
  await eventually(async () => {
    const { restarts, isReady } = await podOf(namespace, pod)
    expect({ restarts, isReady }).toEqual({ restarts: before.restarts + 1, isReady: true })
  }, 120_000)
}

async function podOf(namespace: string, name: string): Promise<Pod> {
  const pod = (await podsOf(namespace)).find((each) => each.name === name)
  if (pod === undefined) throw new Error(`Pod ${name} is gone`)
  return pod
}
