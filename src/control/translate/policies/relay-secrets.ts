// Reads the Secrets and files that a relay and bound sessions refer to: their sealing keys and the secret of the relay's
// client at the provider.

import { err, ok, type Result } from '../../../kit/result.js'
import type { RelaySpec } from '../../schema/kinds/relay.js'
import type { Context } from '../world/context.js'
import { keyIn, OWN_RELAY_KEYS } from '../world/world.js'

interface SecretRef {
  readonly name: string
  readonly key?: string | undefined
}

const KEY_BYTES = 32

/** Returns a member of a Secret in the policy's namespace, unchanged. */
export function readSecret(
  context: Context,
  namespace: string,
  { name, key }: SecretRef,
): Result<string, string> {
  const secret = context.reader.read('secrets', keyIn(namespace, name))
  if (secret === undefined) return err(`Secret ${namespace}/${name} not found`)
  const { data } = secret.spec
  const names = Object.keys(data)
  if (key === undefined && names.length !== 1)
    return err(`Secret ${namespace}/${name} has ${names.length} members: name one with "key"`)
  const text = data[key ?? names[0] ?? '']
  return text === undefined || text === ''
    ? err(`Secret ${namespace}/${name} has no member ${key ?? ''}`)
    : ok(text)
}

/** Sealing keys of a policy. */
export interface SealingKeys {
  /** 32 bytes each, base64url: the first seals, all open. At least one. */
  readonly keys: readonly string[]
  /** Whether they are made at each start. */
  readonly areOwn: boolean
}

/** Returns the keys that keyRef names, or those of the operator. The error is the end of a sentence about keyRef. */
export function readSealingKeys(
  context: Context,
  namespace: string,
  keyRef: RelaySpec['keyRef'],
): Result<SealingKeys, string> {
  if (keyRef === undefined) {
    const relayKeys = context.reader.read('relayKeys', OWN_RELAY_KEYS)
    return relayKeys === undefined || relayKeys.keys.length === 0
      ? err('is missing, and there is no --relay-key-file either')
      : ok(relayKeys)
  }
  const keys: string[] = []
  for (const { name, key: member, file } of keyRef) {
    if ((name === undefined) === (file === undefined))
      return err('expected exactly one of name and file')
    if (file !== undefined && member !== undefined)
      return err('key is the member of a Secret; a file has none')
    const key =
      name === undefined
        ? keyOfFile(context, file ?? '')
        : readSealingKey(context, namespace, { name, key: member })
    if (!key.ok) return key
    keys.push(key.value)
  }
  return ok({ keys, areOwn: false })
}

/** Returns the key as base64url of 32 bytes. */
function readSealingKey(
  context: Context,
  namespace: string,
  ref: SecretRef,
): Result<string, string> {
  const text = readSecret(context, namespace, ref)
  if (!text.ok) return text
  const bytes = keyBytes(text.value)
  return bytes === undefined
    ? err(
        `Secret ${namespace}/${ref.name} is not a key: expected ${KEY_BYTES} bytes, raw, hexadecimal or base64 (openssl rand -base64 32)`,
      )
    : ok(bytes.toString('base64url'))
}

/** Returns the key of a file that the operator offers; a policy cannot name any other (decision 10g). */
function keyOfFile({ reader }: Context, file: string): Result<string, string> {
  const { keys = [], files = [] } = reader.read('relayKeys', OWN_RELAY_KEYS) ?? {}
  const key = keys[files.indexOf(file)]
  if (key === undefined) return err(`no --relay-key-file has the name ${JSON.stringify(file)}`)
  return files.indexOf(file) === files.lastIndexOf(file)
    ? ok(key)
    : err(`several files of --relay-key-file have the name ${JSON.stringify(file)}`)
}

/** text: a member of a Secret, decoded as Latin-1 if it is not UTF-8. */
function keyBytes(text: string): Buffer | undefined {
  const trimmed = text.trim()
  const raw = Buffer.from(text, [...text].every((one) => one <= '\xff') ? 'latin1' : 'utf8')
  if (raw.length === KEY_BYTES) return raw
  if (/^[0-9a-f]{64}$/i.test(trimmed)) return Buffer.from(trimmed, 'hex')
  const decoded = /^[\w+/-]{43}=?$/.test(trimmed) ? Buffer.from(trimmed, 'base64') : undefined
  return decoded?.length === KEY_BYTES ? decoded : undefined
}
