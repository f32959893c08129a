// Finds a suitable Envoy binary: the configured one, one on PATH, or one installed once per user.

import { EnvoyNotFound } from './envoy-not-found.js'
import { cacheFolder, installedEnvoy, installEnvoy } from './install-envoy.js'
import type { CommandTies } from './run-command.js'
import { formatVersion, judgeVersion, readVersion } from './version.js'

/** Where an Envoy is looked for. */
export interface FindEnvoyOptions extends CommandTies {
  /** Value of --envoy. */
  readonly explicit?: string
  /** Environment variables; ENVOY_PATH and XDG_CACHE_HOME are read. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Called with notes: the Envoy in use, what speaks against it, and slow steps. */
  readonly onNote?: (sentence: string) => void
}

/** Resolves with a path, or a name on PATH, to spawn. Rejects with EnvoyNotFound or with the signal's reason. */
export async function findEnvoy(options: FindEnvoyOptions = {}): Promise<string> {
  const note = options.onNote ?? (() => undefined)
  const told = options.explicit ?? options.environment?.['ENVOY_PATH']
  if (told !== undefined && told !== '') return suitable(told, note, options)
  if ((await readVersion('envoy', options)).ok) return suitable('envoy', note, options)
  const folder = cacheFolder(options.environment?.['XDG_CACHE_HOME'])
  return (await installedEnvoy(folder)) ?? installEnvoy(folder, note, options)
}

async function suitable(
  path: string,
  note: (sentence: string) => void,
  ties: CommandTies,
): Promise<string> {
  const version = await readVersion(path, ties)
  if (!version.ok) throw new EnvoyNotFound(version.error)
  const judgement = judgeVersion(version.value)
  if (judgement.type === 'refused') throw new EnvoyNotFound(`${path}: ${judgement.sentence}`)
  if (judgement.type === 'old') note(`${path}: ${judgement.sentence}`)
  else note(`using Envoy ${formatVersion(version.value)} (${path})`)
  return path
}
