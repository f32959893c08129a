// Keys of relays from --relay-key-file, which a keyRef may name, and which relays without a keyRef use. Without the flag
// `run` creates one, `serve` none.

import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import type { TranslatorOptions } from '../../control/translate/world/context.js'
import type { RelayKeys } from '../../control/translate/world/world.js'
import { errorText, GatehouseError } from '../../kit/errors.js'
import type { Logger } from '../../kit/logger.js'
import type { Settings } from '../../ops/settings/settings.js'

/** The settings that relay keys depend on. */
export type RelayKeySettings = Pick<Settings, 'command' | 'relayKeyFile'>
/** The translator's option for relay keys. */
export type RelayKeyOption = Pick<TranslatorOptions, 'relayKeys'>

/** Relay keys that are kept up to date. */
export interface FollowedRelayKeys {
  /** The translator's option, which always returns the latest keys. */
  readonly option: RelayKeyOption
  readonly close: () => void
}

/** What following the files needs. */
export interface FollowRelayKeysDeps {
  readonly logger: Logger
  /** Called when the keys have changed. */
  readonly onChange: () => void
  /** How often the files are read again, in milliseconds; default 10,000. */
  readonly rereadMs?: number
}

const KEY_BYTES = 32
const REREAD_MS = 10_000

/** Reads or creates the keys once. @throws GatehouseError when a file holds no key. */
export function relayKeys(settings: RelayKeySettings): RelayKeyOption {
  const keys = initialKeys(settings)
  return keys === undefined ? {} : { relayKeys: () => keys }
}

/**
 * Reads the keys now and their files at intervals. While a file is unusable the last good keys of all files stay in
 * use, and it is logged. @throws GatehouseError when a file holds no key at the start.
 */
export function followRelayKeys(
  settings: RelayKeySettings,
  { logger, onChange, rereadMs = REREAD_MS }: FollowRelayKeysDeps,
): FollowedRelayKeys {
  const files = settings.relayKeyFile
  if (files.length === 0) return { option: relayKeys(settings), close: () => undefined }
  let current = initialKeys(settings) ?? NO_KEYS
  let lastReason: string | undefined
  const reread = async (): Promise<void> => {
    try {
      const keys = await Promise.all(files.map(readKey))
      lastReason = undefined
      if (keys.join() === current.keys.join()) return
      current = ofFiles(files, keys)
      logger.info({ files: files.length }, 'reloaded the keys of --relay-key-file')
      onChange()
    } catch (error) {
      const reason = errorText(error)
      if (reason !== lastReason)
        logger.warn({ reason }, 'relay key not usable; the previous keys stay in use')
      lastReason = reason
    }
  }
  let reading: Promise<void> | undefined
  const timer = setInterval(() => {
    reading ??= reread().finally(() => (reading = undefined))
  }, rereadMs)
  timer.unref()
  return { option: { relayKeys: () => current }, close: () => clearInterval(timer) }
}

const NO_KEYS: RelayKeys = { keys: [], files: [], areOwn: false }

const ofFiles = (paths: readonly string[], keys: readonly string[]): RelayKeys => ({
  keys,
  files: paths.map((path) => basename(path)),
  areOwn: false,
})

function initialKeys({ command, relayKeyFile }: RelayKeySettings): RelayKeys | undefined {
  if (relayKeyFile.length > 0) return ofFiles(relayKeyFile, relayKeyFile.map(readKeyAtStart))
  // If each replica created its own key, none could read what another has sealed.
  if (command === 'serve') return undefined
  return { keys: [randomBytes(KEY_BYTES).toString('base64url')], files: [], areOwn: true }
}

function readKeyAtStart(file: string): string {
  let bytes
  try {
    bytes = readFileSync(file)
  } catch (error) {
    throw unreadable(file, error)
  }
  return keyInFile(file, bytes)
}

const readKey = async (file: string): Promise<string> =>
  keyInFile(
    file,
    await readFile(file).catch((error: unknown) => {
      throw unreadable(file, error)
    }),
  )

function keyInFile(file: string, bytes: Buffer): string {
  if (bytes.length === KEY_BYTES) return bytes.toString('base64url')
  const text = bytes.toString('latin1').trim()
  const decoded = /^[0-9a-f]{64}$/i.test(text)
    ? Buffer.from(text, 'hex')
    : Buffer.from(/^[\w+/-]{43}=?$/.test(text) ? text : '', 'base64')
  if (decoded.length === KEY_BYTES) return decoded.toString('base64url')
  throw new KeyFileError(
    `--relay-key-file ${file} is not a key: expected ${KEY_BYTES} bytes, raw, hexadecimal or base64 (openssl rand -out FILE ${KEY_BYTES})`,
  )
}

const unreadable = (file: string, error: unknown): KeyFileError =>
  new KeyFileError(`--relay-key-file ${file} cannot be read: ${errorText(error)}`)

class KeyFileError extends GatehouseError {
  readonly code = 'relay_key_file'
}
