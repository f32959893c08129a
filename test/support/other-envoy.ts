// An Envoy that Gatehouse did not start, started by hand with the output of `gatehouse bootstrap`.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { startEnvoy } from '../../src/cli/run-envoy/child.js'
import { waitUntilLive } from '../../src/cli/run-envoy/wait-until-live.js'
import type { JsonObject } from '../../src/model/json.js'
import { freePort } from '../../testing/ports.js'
import { MAIN } from '../../testing/program.js'
import { envoyPath } from './envoy.js'

const LIVE_MS = 30_000
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

export interface OtherEnvoy {
  readonly pid: number
  /** Returns the value of a statistic; undefined if Envoy has none of that name. */
  stat(name: string): Promise<number | undefined>
  /** Returns the names of its listeners. */
  listeners(): Promise<readonly string[]>
  /** Returns the discovery types of the clusters that it got over ADS, e.g. EDS. */
  clusterTypes(): Promise<ReadonlySet<string>>
  stop(): Promise<void>
}

/**
 * Resolves when the Envoy's listeners are active.
 * @param grpc as in --grpc.
 * @param gateway NAMESPACE/NAME; absent for every Gateway.
 * @param main the main.js of the build whose bootstrap it gets.
 */
export async function startOtherEnvoy(
  grpc: string,
  gateway?: string,
  main = MAIN,
): Promise<OtherEnvoy> {
  const adminPort = await freePort()
  const adminAddress = `127.0.0.1:${String(adminPort)}`
  const args = ['bootstrap', '--grpc', grpc, '--envoy-admin', adminAddress]
  if (gateway !== undefined) args.push('--gateway', gateway)
  // Not in one turn: servers of tests that run beside this one must answer meanwhile.
  const { stdout: yaml } = await promisify(execFile)(process.execPath, [main, ...args])
  const child = await startEnvoy({
    envoyPath: envoyPath(),
    bootstrap: parse(yaml) as JsonObject,
    logger: quiet,
    concurrency: 1,
  })
  const admin = `http://${adminAddress}`
  const get = async (path: string): Promise<string> => (await fetch(admin + path)).text()
  await waitUntilLive(child, { type: 'tcp', host: '127.0.0.1', port: adminPort }, LIVE_MS)
  return {
    pid: child.pid,
    stat: async (name) => {
      const line = (await get('/stats')).split('\n').find((each) => each.startsWith(`${name}: `))
      return line === undefined ? undefined : Number(line.slice(name.length + 2))
    },
    listeners: async () => {
      const { listener_statuses: all = [] } = JSON.parse(await get('/listeners?format=json')) as {
        listener_statuses?: { name: string }[]
      }
      return all.map(({ name }) => name)
    },
    clusterTypes: async () => {
      const dump = await get('/config_dump?resource=dynamic_active_clusters')
      const { configs = [] } = JSON.parse(dump) as { configs?: { cluster: { type: string } }[] }
      return new Set(configs.map(({ cluster }) => cluster.type))
    },
    stop: async () => void (await child.stop()),
  }
}
