// Compares modification times: whether a generated file is older than its sources.

import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** Returns the modification time in milliseconds; 0 if the path does not exist. */
export const modified = (path) =>
  existsSync(join(root, path)) ? statSync(join(root, path)).mtimeMs : 0

/** Whether `made` is older than anything in `from`. Paths are relative to the project. */
export const isStale = (made, from) => modified(made) < Math.max(...from.map(newestBelow))

/** Returns the last modification time at or below the path, except of generated files. */
function newestBelow(path) {
  const full = join(root, path)
  if (path === join('src', 'grpc', 'generated') || !existsSync(full)) return 0
  if (!statSync(full).isDirectory()) return modified(path)
  return Math.max(modified(path), ...readdirSync(full).map((name) => newestBelow(join(path, name))))
}
