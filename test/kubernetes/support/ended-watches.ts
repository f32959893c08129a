// What the API server counts of the watches that it has served.

import { textOf } from '../../../testing/api-call.js'
import { ADDRESS, ADMIN, type ApiServer } from '../../../testing/api-server.js'

/** Resolves to the number of watches that have ended, of all clients. @param resource the plural of the kind. */
export async function endedWatches({ port }: ApiServer, resource: string): Promise<number> {
  const server = `https://${ADDRESS}:${String(port)}`
  const metrics = await textOf({ server, token: ADMIN, method: 'GET', path: '/metrics' })
  const series = metrics
    .split('\n')
    .filter((line) => line.startsWith('apiserver_request_total{'))
    .filter((line) => line.includes(`resource="${resource}"`) && line.includes('verb="WATCH"'))
  return series.reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' '))), 0)
}
