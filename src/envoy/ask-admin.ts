// Envoy's admin interface, over TCP or a Unix socket: one question → its answer.

import { request, type RequestOptions } from 'node:http'

const TIMEOUT_MS = 2_000

export interface AdminAnswer {
  readonly status: number
  readonly text: string
}

/** address: "http://127.0.0.1:19000" or "unix:PATH". undefined: nobody answers, or not within 2 s. */
export const askAdmin = (
  address: string,
  path: string,
  method = 'GET',
): Promise<AdminAnswer | undefined> =>
  new Promise((resolve) => {
    const fail = (): void => resolve(undefined)
    const asked = request({ ...placeOf(address), path, method, agent: false }, (response) => {
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

function placeOf(address: string): RequestOptions {
  if (address.startsWith('unix:')) return { socketPath: address.slice('unix:'.length) }
  const { hostname, port } = new URL(address)
  return { host: hostname.replace(/^\[|\]$/g, ''), port }
}
