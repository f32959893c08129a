// Keys that relays without a keyRef seal with, from --relay-key-file. Without the flag `run` creates one, `serve` none.

import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { errorText, GatehouseError } from '../errors.js'
import type { TranslatorOptions } from '../gatewayapi/world/context.js'
import type { Settings } from '../settings.js'

const KEY_BYTES = 32

/** Reads the keys once: a new key needs a new process. @throws GatehouseError when a file holds no key. */
export function relayKeys({
  command,
  relayKeyFile,
}: Pick<Settings, 'command' | 'relayKeyFile'>): Pick<TranslatorOptions, 'relayKeys'> {
  if (relayKeyFile.length > 0)
    return { relayKeys: { keys: relayKeyFile.map(readKey), areOwn: false } }
  // If each replica created its own key, none could read what another has sealed.
  if (command === 'serve') return {}
  return { relayKeys: { keys: [randomBytes(KEY_BYTES).toString('base64url')], areOwn: true } }
}

function readKey(file: string): string {
  const bytes = read(file)
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

function read(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new KeyFileError(`--relay-key-file ${file} cannot be read: ${errorText(error)}`)
  }
}

class KeyFileError extends GatehouseError {
  readonly code = 'relay_key_file'
}
