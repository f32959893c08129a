// Sockets on which the Envoy of `run` reaches Gatehouse: one for all workers and, with several workers, one for each,
// over which Envoy spreads its requests.

import { join } from 'node:path'
import type { GatehouseConnection } from '../../xds/bootstrap/gatehouse-clusters.js'
import type { GrpcListener } from '../servers/servers.js'
import { GATEHOUSE_SOCKET } from './private-folder.js'

const workerSocket = (worker: number): string => `worker-${worker}.sock`

const numbers = (workers: number): readonly number[] =>
  workers === 1 ? [] : Array.from({ length: workers }, (_, index) => index + 1)

/** Returns the sockets in the private folder. */
export const ownListeners = (folder: string, workers: number): readonly GrpcListener[] => [
  { address: { type: 'unix', path: join(folder, GATEHOUSE_SOCKET) } },
  ...numbers(workers).map((worker) => ({
    address: { type: 'unix', path: join(folder, workerSocket(worker)) } as const,
    worker,
  })),
]

/** Returns how Envoy reaches these sockets. */
export const ownConnection = (folder: string, workers: number): GatehouseConnection => ({
  address: { type: 'unix', path: join(folder, GATEHOUSE_SOCKET) },
  ...(workers > 1 && {
    workers: numbers(workers).map((worker) => ({
      type: 'unix',
      path: join(folder, workerSocket(worker)),
    })),
  }),
})
