// Clients that begin bodies and never end them.

import { type ClientHttp2Session, connect } from 'node:http2'

export interface BegunBodies {
  readonly path: string
  readonly count: number
  /** Bytes that are announced; nine tenths of them are sent. */
  readonly bytes: number
  readonly headers?: Record<string, string>
}

/**
 * Bytes of the bodies of one connection. Envoy gives the bytes of streams that it has reset back to the connection late, or not at all:
 * with more bodies than its window has room for (24 MiB), the last of them would wait for that.
 */
const PER_CONNECTION = 8 * 1024 * 1024

/**
 * Begins the bodies. Returns a function that closes their connections.
 * @param answered called with each status.
 */
export function beginBodies(
  origin: string,
  { path, count, bytes, headers = {} }: BegunBodies,
  answered: (status: number) => void,
): () => void {
  const sessions: ClientHttp2Session[] = []
  const share = Math.floor(PER_CONNECTION / bytes)
  for (let index = 0; index < count; index += 1) {
    if (index % share === 0) sessions.push(connect(origin))
    const stream = sessions.at(-1)?.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/json',
      'content-length': String(bytes),
      ...headers,
    })
    stream?.on('error', () => undefined)
    stream?.on('response', (fields) => answered(Number(fields[':status'])))
    stream?.write(Buffer.alloc(bytes * 0.9, ' '))
  }
  return () => {
    for (const session of sessions) session.destroy()
  }
}
