// Writes tokens as a kubelet does: AtomicWriter of Kubernetes, pkg/volume/util.

import { mkdir, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Writes the file "token" of the folder. The file is a link through "..data" that is made once; a renewal replaces
 * "..data" alone, so that a reader finds the old token or the new one at any moment, and never none.
 */
export async function writeToken(folder: string, token: string): Promise<void> {
  const version = `..${String(performance.now())}`
  await mkdir(join(folder, version), { recursive: true })
  await writeFile(join(folder, version, 'token'), token)
  await symlink(version, join(folder, '..next'))
  await rename(join(folder, '..next'), join(folder, '..data'))
  await symlink('..data/token', join(folder, 'token')).catch(ignoreExisting)
}

function ignoreExisting(failure: NodeJS.ErrnoException): void {
  if (failure.code !== 'EEXIST') throw failure
}
