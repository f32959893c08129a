// What the API server counts of the watches that it has served.

import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { get } from 'node:https'
import { text } from 'node:stream/consumers'
import { ADDRESS, ADMIN, type ApiServer } from '../../../testing/api-server.js'

/** Resolves to the number of watches that have ended, of all clients. @param resource the plural of the kind. */
export async function endedWatches({ port }: ApiServer, resource: string): Promise<number> {
  const call = get(`https://${ADDRESS}:${String(port)}/metrics`, {
    headers: { authorization: `Bearer ${ADMIN}` },
    rejectUnauthorized: false,
  })
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  const series = (await text(response))
    .split('\n')
    .filter((line) => line.startsWith('apiserver_request_total{'))
    .filter((line) => line.includes(`resource="${resource}"`) && line.includes('verb="WATCH"'))
  return series.reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' '))), 0)
}
