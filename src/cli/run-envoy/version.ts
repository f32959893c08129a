// Reads the version of an Envoy binary and judges whether Gatehouse works with it.

import { errorText } from '../../kit/errors.js'
import { err, ok, type Result } from '../../kit/result.js'
import { type CommandTies, runCommand } from './run-command.js'

/** A version of Envoy. */
export interface EnvoyVersion {
  readonly major: number
  readonly minor: number
  readonly patch: number
}

/** Version that is installed where no Envoy is found. */
export const PINNED_VERSION = '1.40.0'

/** Oldest supported minor: before ext_authz's error replies and the gRPC status_on_error, failures became 403. */
const OLDEST_MINOR = 37
/** Oldest minor without known vulnerabilities in the filters that Gatehouse uses. */
const RECOMMENDED_MINOR = 40

const VERSION_TIMEOUT_MS = 20_000

/** Returns MAJOR.MINOR.PATCH. */
export const formatVersion = ({ major, minor, patch }: EnvoyVersion): string =>
  `${major}.${minor}.${patch}`

/** text: what `envoy --version` prints: "… version: HASH/1.40.0/Clean/RELEASE/BoringSSL". */
export function parseVersion(text: string): EnvoyVersion | undefined {
  const match = /version: [0-9a-f]*\/(\d+)\.(\d+)\.(\d+)/.exec(text)
  if (match === null) return undefined
  return { major: Number(match[1]), minor: Number(match[2]), patch: Number(match[3]) }
}

/** Runs `envoy --version`. error: a sentence for a person. Rejects when ties.signal aborts. */
export async function readVersion(
  path: string,
  ties: CommandTies = {},
): Promise<Result<EnvoyVersion, string>> {
  try {
    const { stdout, code } = await runCommand(path, ['--version'], VERSION_TIMEOUT_MS, ties)
    const version = code === 0 ? parseVersion(stdout) : undefined
    return version === undefined
      ? err(`${path} is not an Envoy: it does not say its version`)
      : ok(version)
  } catch (error) {
    ties.signal?.throwIfAborted()
    return err(`${path} cannot be run: ${errorText(error)}`)
  }
}

/** Whether Gatehouse works with a version of Envoy. */
export type Suitability =
  | { readonly type: 'good' }
  /** Envoy works; sentence names what speaks against it. */
  | { readonly type: 'old'; readonly sentence: string }
  | { readonly type: 'refused'; readonly sentence: string }

const atLeast = (version: EnvoyVersion, minor: number): boolean =>
  version.major > 1 || (version.major === 1 && version.minor >= minor)

/** Judges a version by the oldest one that works and the oldest one that is recommended. */
export function judgeVersion(version: EnvoyVersion): Suitability {
  const found = `Envoy ${formatVersion(version)}`
  if (!atLeast(version, OLDEST_MINOR))
    return {
      type: 'refused',
      sentence: `${found} is too old: Gatehouse needs 1.${OLDEST_MINOR} or newer, best ${PINNED_VERSION}`,
    }
  if (atLeast(version, RECOMMENDED_MINOR)) return { type: 'good' }
  return {
    type: 'old',
    sentence: `${found} works, but has vulnerabilities that 1.${RECOMMENDED_MINOR} fixes: use ${PINNED_VERSION}`,
  }
}
