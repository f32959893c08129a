// Address of a gRPC server: whether it is local, and the file of a Unix socket.

import { chmod, lstat, stat, unlink } from 'node:fs/promises'
import { connect } from 'node:net'
import { dirname } from 'node:path'

/** Address on which a gRPC server listens. Port 0: any free port. */
export type GrpcAddress =
  | { readonly type: 'unix'; readonly path: string }
  | { readonly type: 'tcp'; readonly host: string; readonly port: number }

/** Whether an address is unreachable from other machines. */
export const isLocalHost = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^(::ffff:)?127(\.\d{1,3}){3}$/.test(host)

/** Removes the socket file of a dead process. @throws {Error} it is in use or no socket, or its folder is missing. */
export async function clearStaleSocket(path: string): Promise<void> {
  const folder = await stat(dirname(path)).catch(() => undefined)
  if (folder?.isDirectory() !== true)
    throw new Error(`${path} cannot be made: ${dirname(path)} is no folder`)
  const stats = await lstat(path).catch(() => undefined)
  if (stats === undefined) return
  if (!stats.isSocket()) throw new Error(`${path} exists and is not a socket`)
  if (await isListening(path)) throw new Error(`${path} is in use by another process`)
  await unlink(path)
}

/** Restricts a socket to its owner and group: in a pod, Envoy runs as another user and shares a group (fsGroup). */
export const restrictSocket = (path: string): Promise<void> => chmod(path, 0o660)

const isListening = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'ECONNREFUSED'))
  })
