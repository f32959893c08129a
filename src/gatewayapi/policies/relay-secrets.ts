// Reads the Secrets and files that a relay refers to: its sealing keys and the secret of its client at the provider.

import { err, ok, type Result } from '../../result.js'
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

/** Returns the key as base64url of 32 bytes. */
export function readSealingKey(
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
export function keyOfFile({ reader }: Context, file: string): Result<string, string> {
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
