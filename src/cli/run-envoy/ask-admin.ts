// Sends a request to Envoy's admin interface, over TCP or a Unix socket.

import { request, type RequestOptions } from 'node:http'

const TIMEOUT_MS = 2_000

/** An answer of Envoy's admin interface. */
export interface AdminAnswer {
  readonly status: number
  readonly text: string
}

/** Address of an Envoy's admin interface. */
export type AdminPlace =
  | { readonly type: 'tcp'; readonly host: string; readonly port: number }
  | { readonly type: 'unix'; readonly path: string }

/** Resolves with undefined if there is no answer within 2 s. */
export const askAdmin = (
  place: AdminPlace,
  path: string,
  method = 'GET',
): Promise<AdminAnswer | undefined> =>
  new Promise((resolve) => {
    const fail = (): void => resolve(undefined)
    const asked = request({ ...socketOf(place), path, method, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', fail)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8')
        resolve({ status: response.statusCode ?? 0, text })
      })
    })
    const timer = setTimeout(() => asked.destroy(), TIMEOUT_MS)
    asked.on('error', fail)
    asked.on('close', () => {
      clearTimeout(timer)
      fail()
    })
    asked.end()
  })

const socketOf = (place: AdminPlace): RequestOptions =>
  place.type === 'unix' ? { socketPath: place.path } : { host: place.host, port: place.port }
