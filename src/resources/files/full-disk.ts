// When a file that is written in place counts as complete: never if its disk is full, as it may be cut short for good.

import { statfs } from 'node:fs/promises'

/** Returns performance.now(); Infinity if there is no room on the disk of the file, which a later write must replace. */
export const writtenSince = async (path: string): Promise<number> =>
  (await isOnFullDisk(path)) ? Infinity : performance.now()

/** False if the file system does not say: some count no blocks. */
async function isOnFullDisk(path: string): Promise<boolean> {
  try {
    const { blocks, bavail } = await statfs(path)
    return blocks > 0 && bavail === 0
  } catch {
    return false
  }
}
