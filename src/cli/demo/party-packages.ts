// Finds the npm packages of the demo's parties beside Gatehouse in a checkout, or installs them once for this user.

import { createHash } from 'node:crypto'
import { access, cp, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ownFile } from '../../kit/own-files.js'
import { type CommandResult, type CommandTies, runCommand } from '../run-envoy/run-command.js'

/** Returns the path of a package's module. Throws when there is no such package. */
export type ResolvePackage = (specifier: string) => string

/** Where packages are looked for and installed. */
export interface PartyPackagesOptions extends CommandTies {
  /** Environment variables; XDG_CACHE_HOME is read. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Called with notes about slow steps. */
  readonly note: (sentence: string) => void
}

const LIST = fileURLToPath(ownFile('config/demo-parties/'))
/** Names of the files here and when installed: npm does not publish files named package-lock.json. */
const FILES = { 'package.json': 'package.json', 'npm-shrinkwrap.json': 'package-lock.json' }
const PARTIES = ['oidc-provider', '@modelcontextprotocol/server-everything/dist/index.js']
const INSTALL_TIMEOUT_MS = 600_000

/** Resolves the packages beside Gatehouse itself, as in a checkout. */
export const ownPackages: ResolvePackage = createRequire(import.meta.url).resolve

/** Rejects with a message for a person when they are missing and cannot be installed, or with the signal's reason. */
export async function findPartyPackages(options: PartyPackagesOptions): Promise<ResolvePackage> {
  if (resolvesAll(ownPackages)) return ownPackages
  const lock = await readFile(join(LIST, 'npm-shrinkwrap.json'))
  const version = createHash('sha256').update(lock).digest('hex').slice(0, 16)
  const cache = options.environment['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  const folder = join(cache, 'gatehouse/demo-parties', version)
  if (!(await isThere(folder))) await install(folder, options)
  return createRequire(join(folder, 'package.json')).resolve
}

function resolvesAll(resolve: ResolvePackage): boolean {
  try {
    PARTIES.forEach((specifier) => resolve(specifier))
    return true
  } catch {
    return false
  }
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** Installs the packages. The folder appears complete or not at all, even if two processes install at once. */
async function install(folder: string, options: PartyPackagesOptions): Promise<void> {
  options.note(
    `installing the demo's identity provider and MCP server into ${folder} (25 MB, once)`,
  )
  await mkdir(dirname(folder), { recursive: true })
  const scratch = await mkdtemp(`${folder}.`)
  try {
    for (const [from, to] of Object.entries(FILES)) await cp(join(LIST, from), join(scratch, to))
    await npmInstall(scratch, options)
    await rename(scratch, folder).catch(async (error: unknown) => {
      if (!(await isThere(folder))) throw error
    })
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

async function npmInstall(folder: string, ties: CommandTies): Promise<void> {
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  let result: CommandResult
  try {
    result = await runCommand('npm', ['ci', '--prefix', folder, ...flags], INSTALL_TIMEOUT_MS, ties)
  } catch {
    ties.signal?.throwIfAborted()
    throw new Error(`${NEEDED} npm is missing: install it, it comes with Node`)
  }
  if (result.code === 0) return
  const [reason = ''] = result.stderr.split('\n').filter((line) => line.trim() !== '')
  throw new Error(
    `${NEEDED} npm could not install them (${reason}): check the network or the proxy`,
  )
}

const NEEDED = "the demo's identity provider and MCP server are not installed, and"
