// Clients that begin bodies and never end them.

import { type ClientHttp2Session, connect } from 'node:http2'

export interface BegunBodies {
  readonly path: string
  readonly count: number
  /** Bytes that are announced; nine tenths of them are sent. */
  readonly bytes: number
  readonly headers?: Record<string, string>
}

/** Begins the bodies on one connection. answered: called with each status. */
export function beginBodies(
  origin: string,
  { path, count, bytes, headers = {} }: BegunBodies,
  answered: (status: number) => void,
): ClientHttp2Session {
  const session = connect(origin)
  for (let index = 0; index < count; index += 1) {
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/json',
      'content-length': String(bytes),
      ...headers,
    })
    stream.on('error', () => undefined)
    stream.on('response', (fields) => answered(Number(fields[':status'])))
    stream.write(Buffer.alloc(bytes * 0.9, ' '))
  }
  return session
}
