// An API server that answers as the test says, over plain HTTP, and a client for it.

import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import {
  createKubernetesClient,
  type KubernetesClient,
} from '../../src/control/sources/kubernetes/client.js'

/** Starts the server for the current test. */
export async function clientOfStub(answer: RequestListener): Promise<KubernetesClient> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-stub-api-'))
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await rm(folder, { recursive: true })
  })
  const file = join(folder, 'kubeconfig')
  await writeFile(file, kubeconfigOf(`http://127.0.0.1:${String(port)}`))
  vi.stubEnv('KUBECONFIG', file)
  try {
    return createKubernetesClient()
  } finally {
    vi.unstubAllEnvs()
  }
}

const kubeconfigOf = (server: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'stub',
    clusters: [{ name: 'stub', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'stub', user: {} }],
    contexts: [{ name: 'stub', context: { cluster: 'stub', user: 'stub' } }],
  })
