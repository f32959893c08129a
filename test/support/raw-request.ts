// Sends bytes that no HTTP client would send, and returns the head of the answer.

import { connect } from 'node:net'

export interface RawAnswer {
  /** 0 if the connection was closed without an answer. */
  readonly status: number
  /** Status line and headers as received. */
  readonly head: string
}

/** Sends a request head of these lines. Resolves at the end of the answer's head. */
export function rawRequest(origin: string, ...lines: readonly string[]): Promise<RawAnswer> {
  return rawBytes(origin, Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'))
}

export function rawBytes(origin: string, request: Buffer): Promise<RawAnswer> {
  const { hostname, port } = new URL(origin)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    let received = ''
    const finish = (): void => {
      const [head = ''] = received.split('\r\n\r\n')
      const [, status = '0'] = /^HTTP\/1\.1 (\d+)/.exec(head) ?? []
      socket.destroy()
      resolve({ status: Number(status), head })
    }
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text
      if (received.includes('\r\n\r\n')) finish()
    })
    socket.on('close', finish)
    socket.on('error', finish)
    socket.write(request)
  })
}
