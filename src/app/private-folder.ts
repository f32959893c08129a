// A folder that only this user can enter: for the Unix socket between our Envoy and us.

import { rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface PrivateFolder {
  /** Of the socket; short enough for a sun_path. */
  readonly socketPath: string
  remove(): Promise<void>
  /** For the sudden end of the process. */
  removeNow(): void
}

export async function createPrivateFolder(): Promise<PrivateFolder> {
  // mkdtemp makes it 0700.
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-'))
  return {
    socketPath: join(folder, 'gatehouse.sock'),
    remove: () => rm(folder, { recursive: true, force: true }),
    removeNow: () => rmSync(folder, { recursive: true, force: true }),
  }
}
