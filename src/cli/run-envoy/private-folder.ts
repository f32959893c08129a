// Creates a folder that only this user can enter, for the sockets and files of one run. It is removed at the end of the
// run or, if the owner was killed, at the start of a later one.

import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { errorText } from '../../kit/errors.js'
import { askAdmin } from './ask-admin.js'

/** A folder that exists until the process ends. */
export interface PrivateFolder {
  readonly path: string
  remove(): Promise<void>
  /** Removes the folder synchronously, for a sudden end of the process. */
  removeNow(): void
}

/** Sockets in the folder of `run`; their paths must fit a sun_path. */
export const GATEHOUSE_SOCKET = 'gatehouse.sock'
/** Name of the socket of Envoy's admin address. */
export const ENVOY_ADMIN_SOCKET = 'envoy-admin.sock'
/** Socket that the owner listens on for as long as it lives. */
const OWNER_SOCKET = 'owner.sock'

const LONGEST_SOCKET = ENVOY_ADMIN_SOCKET
/** Longest path of a socket: sun_path of macOS, which is 4 bytes shorter than that of Linux, without its NUL. */
const MAX_SOCKET_BYTES = 103

const OURS = /^gatehouse-(run|demo)-/

/** Removes the folders of killed owners, then creates one. Rejects with a message for a person. */
export async function createPrivateFolder(purpose: 'run' | 'demo'): Promise<PrivateFolder> {
  const parent = tmpdir()
  const prefix = join(parent, `gatehouse-${purpose}-`)
  const tooLong = Buffer.byteLength(join(`${prefix}XXXXXX`, LONGEST_SOCKET)) - MAX_SOCKET_BYTES
  if (tooLong > 0)
    throw new Error(
      `${parent} is too long by ${tooLong} bytes for the Unix sockets in it: set TMPDIR to a shorter folder`,
    )
  try {
    await removeLeftFolders(parent)
    return await newFolder(prefix)
  } catch (error) {
    throw new Error(
      `no private folder can be made in ${parent}: set TMPDIR to a folder that can be written to (${errorText(error)})`,
      { cause: error },
    )
  }
}

async function newFolder(prefix: string): Promise<PrivateFolder> {
  // mkdtemp creates it with mode 0700.
  const path = await mkdtemp(prefix)
  const owner = createServer((socket) => socket.destroy())
  try {
    await once(owner.listen(join(path, OWNER_SOCKET)), 'listening')
  } catch (error) {
    await rm(path, { recursive: true, force: true })
    throw error
  }
  return privateFolder(path, owner.unref())
}

const privateFolder = (path: string, owner: Server): PrivateFolder => ({
  path,
  async remove() {
    owner.close()
    await rm(path, { recursive: true, force: true })
  },
  removeNow: () => rmSync(path, { recursive: true, force: true }),
})

async function removeLeftFolders(parent: string): Promise<void> {
  const names = (await readdir(parent)).filter((name) => OURS.test(name))
  await Promise.all(names.map((name) => removeIfLeft(join(parent, name))))
}

/** Removes the folder if its owner is gone. Never rejects: a folder that stays does no harm. */
async function removeIfLeft(folder: string): Promise<void> {
  try {
    if (!(await isLeft(folder))) return
    await endEnvoy(join(folder, ENVOY_ADMIN_SOCKET))
    await rm(folder, { recursive: true, force: true })
  } catch {
    return
  }
}

/** Age up to which a folder without an owner's socket is kept: its owner may not listen yet. */
const YOUNG_MS = 60_000

/** Whether the owner is gone. Asks its socket: a process id means nothing where containers share the parent folder. */
async function isLeft(folder: string): Promise<boolean> {
  const found = await lstat(folder)
  if (!found.isDirectory() || found.uid !== userInfo().uid) return false
  const answer = await knock(join(folder, OWNER_SOCKET))
  return answer === 'ECONNREFUSED' || (answer === 'ENOENT' && Date.now() - found.mtimeMs > YOUNG_MS)
}

const knock = (socketPath: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    const socket = connect(socketPath)
    socket.once('connect', () => {
      socket.destroy()
      resolve(undefined)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code))
  })

const ENVOY_END_MS = 2_000

/** Ends an Envoy whose keeper was killed too; it still holds its ports. */
async function endEnvoy(adminSocket: string): Promise<void> {
  const deadline = Date.now() + ENVOY_END_MS
  while ((await knock(adminSocket)) === undefined && Date.now() < deadline) {
    await askAdmin({ type: 'unix', path: adminSocket }, '/quitquitquit', 'POST')
    await delay(10)
  }
}
