// Files → whether what was made from them is older than they are.

import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** Milliseconds; 0: it does not exist. */
export const modified = (path) =>
  existsSync(join(root, path)) ? statSync(join(root, path)).mtimeMs : 0

/** Paths are relative to the project. */
export const isStale = (made, from) => modified(made) < Math.max(...from.map(newestBelow))

/** The last change of anything at or below the path, but of what is itself generated. */
function newestBelow(path) {
  const full = join(root, path)
  if (path === join('src', 'grpc', 'generated') || !existsSync(full)) return 0
  if (!statSync(full).isDirectory()) return modified(path)
  return Math.max(modified(path), ...readdirSync(full).map((name) => newestBelow(join(path, name))))
}
