// Where the Envoy binary is: as told, on PATH, or installed once per user; and that it is one we can work with.

import { EnvoyNotFound } from './envoy-not-found.js'
import { cacheFolder, installedEnvoy, installEnvoy } from './install-envoy.js'
import type { CommandTies } from './run-command.js'
import { formatVersion, judgeVersion, readVersion } from './version.js'

export interface FindEnvoyOptions extends CommandTies {
  /** --envoy. */
  readonly explicit?: string
  /** ENVOY_PATH, XDG_CACHE_HOME. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Told what takes long, and what speaks against the Envoy that was found. */
  readonly onNote?: (sentence: string) => void
}

/** A path, or a name on PATH, that can be spawned. Rejects with EnvoyNotFound, or with the signal's reason. */
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
