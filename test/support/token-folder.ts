// Writes tokens as a kubelet does.

import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Writes the file "token" of the folder: the link to the folder with the file is replaced. */
export async function writeToken(folder: string, token: string): Promise<void> {
  const version = `..${String(performance.now())}`
  await mkdir(join(folder, version), { recursive: true })
  await writeFile(join(folder, version, 'token'), token)
  await symlink(version, join(folder, '..next'))
  await rename(join(folder, '..next'), join(folder, '..data'))
  await rm(join(folder, 'token'), { force: true })
  await symlink('..data/token', join(folder, 'token'))
}
