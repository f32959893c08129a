// A TCP relay between an Envoy and Gatehouse: counts the streams that Envoy opens, and can hold back Gatehouse's bytes
// or cut connections.

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { FrameReader } from '../../src/wire/http2/frame-reader.js'
import { FrameType } from '../../src/wire/http2/protocol.js'
import type { Transport } from './transports.js'

export interface GrpcRelay {
  /** The transport through the relay. */
  readonly transport: Transport
  /** The largest number of HEADERS frames that Envoy has sent on one connection. */
  mostStreams(): number
  /** Withholds everything that Gatehouse sends, SETTINGS included, until the returned function is called. */
  hold(): () => void
  /** Ends every open connection. Resolves when Envoy has closed them too: it uses them for no request any more. */
  cut(): Promise<void>
  close(): Promise<void>
}

export async function startGrpcRelay({ connection, flags }: Transport): Promise<GrpcRelay> {
  const { address } = connection
  if (address.type === 'unix') throw new Error('over TCP only')
  const sockets = new Set<Socket>()
  const envoys = new Map<Socket, Socket>()
  const counts: number[] = []
  let gate: Promise<void> = Promise.resolve()

  const server = createServer({ noDelay: true, pauseOnConnect: true }, (envoy) => {
    const gatehouse = connect({ host: address.host, port: address.port, noDelay: true })
    const at = counts.push(0) - 1
    const reader = new FrameReader(({ type }) => {
      if (type === FrameType.HEADERS) counts[at] = (counts[at] ?? 0) + 1
    })
    for (const [from, to] of [
      [envoy, gatehouse],
      [gatehouse, envoy],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
    envoys.set(envoy, gatehouse)
    envoy.on('close', () => envoys.delete(envoy))
    envoy.on('data', (bytes: Buffer) => reader.read(bytes, () => false))
    envoy.pipe(gatehouse)
    void gate.then(() => gatehouse.pipe(envoy))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const cut = async (): Promise<void> => {
    const closed = [...envoys].map(([envoy, gatehouse]) => {
      gatehouse.unpipe(envoy)
      return once(envoy.end(), 'close')
    })
    await Promise.all(closed)
  }
  return {
    transport: { connection: { ...connection, address: { ...address, port } }, flags },
    mostStreams: () => Math.max(0, ...counts),
    hold: () => {
      let release = (): void => {}
      gate = new Promise((resolve) => (release = resolve))
      return () => release()
    },
    cut,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await once(server.close(), 'close')
    },
  }
}
